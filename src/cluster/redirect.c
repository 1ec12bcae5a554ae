/* SPDX-License-Identifier: BSD-3-Clause */
/* redirect.c - see redirect.h.
 *
 * A request runs on the node that has its keys: all of them must be of one slot that this node owns. While a
 * slot is handed over key by key, the source runs requests of which it still has all keys, and the target
 * runs those of clients that sent ASKING. */
#include "cluster/redirect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/key_slot.h"
#include "base/num.h"
#include "base/version.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "cluster/cluster_commands.h"
#include "cluster/migration_jobs.h"
#include "cluster/topology_file.h"
#include "command/admission.h"
#include "command/blocking.h"
#include "command/call.h"
#include "command/command.h"
#include "command/declared_keys.h"
#include "command/multi.h"
#include "command/pubsub.h"
#include "command/script_running.h"
#include "commands/cmd_connection.h"
#include "commands/cmd_transactions.h"
#include "data/keyspace/db.h"
#include "registry/cron.h"

#define ASKING_CRON_MS 1000

enum verdict { RUNS_HERE, CROSS_SLOT, UNBOUND, DOWN, DOWN_READS_ONLY, MOVED, ASK, TRY_AGAIN };

struct route {
    int slot;         /* -1: no keys */
    struct str first; /* the first key */
    int missing, present;
    bool several;             /* there are others than the first */
    bool cross, open;         /* cross: more than one slot; open: the slot is migrating or importing */
    bool channel;             /* the keys are shard channels */
    bool queued;              /* it will wait for EXEC, and only then does it matter which keys exist */
    struct clusterNode *node; /* the target of MOVED and ASK */
    struct db *db;            /* the database that a transaction has selected; NULL: the client's */
};

/* ---- The keys ---- */

static bool redirectKeyExists(struct db *db, struct str key) {
    struct declaredKeys none; /* a script around this request need not have declared the key */
    declaredKeysBegin(&none, NULL);
    bool there =
        lookupKey(db, key, LOOKUP_NOTOUCH | LOOKUP_NOSTATS | LOOKUP_NONOTIFY | LOOKUP_NOEXPIRE) != NULL;
    declaredKeysEnd(&none);
    return there;
}

static void redirectAddKey(struct route *route, struct client *c, struct str key, int slot, bool channel) {
    if (route->slot < 0) {
        route->slot = slot;
        route->first = key;
        route->open = slotFindOpen(clusterTopology(), slot) != NULL;
        route->channel = channel;
    }
    route->cross |= slot != route->slot;
    if (!route->open || channel || route->queued || route->cross) return;
    route->several |= !strEq(key, route->first);
    if (redirectKeyExists(route->db ? route->db : c->db, key))
        route->present++;
    else
        route->missing++;
}

/* Returns the slot of the request's n-th key. Most keys have been hashed, and the hash contains the slot. */
static int redirectSlotOfKey(const struct request *r, int n, struct str key) {
    bool hashed =
        n < r->key_count && r->key_hashes[n].key.ptr == key.ptr && r->key_hashes[n].key.len == key.len;
    return hashed ? keyHashSlot(r->key_hashes[n].hash) : keySlot(key);
}

static void redirectAddRequest(struct route *route, struct client *c, const struct request *r) {
    const struct keyRef *only = &r->cmd->only_key;
    if (only->pos > 0 && only->pos < r->argc) {
        struct str key = r->argv[only->pos];
        redirectAddKey(route, c, key, redirectSlotOfKey(r, 0, key), false);
        return;
    }
    struct keyRef *keys = NULL;
    int count = commandGetRoutes(r->cmd, r->argv, r->argc, &keys);
    for (int i = 0; i < count; i++) {
        struct str key = r->argv[keys[i].pos];
        redirectAddKey(route, c, key, redirectSlotOfKey(r, i, key), r->cmd->flags & CMD_PUBSUB);
    }
    zfree(keys);
}

/* Adds the requests queued for EXEC. Each is looked up in the database that a SELECT before it selects. */
static void redirectAddQueued(struct route *route, struct client *c) {
    const struct request *r;
    int64_t db;
    for (int i = 0; (r = multiQueued(c, i)); i++) {
        if (r->cmd->spec->proc == selectCommand && string2ll(r->argv[1], &db) && dbGet(db))
            route->db = dbGet(db);
        redirectAddRequest(route, c, r);
    }
}

/* ---- The common case ---- */

/* Returns whether the hashed keys are all keys of the request. */
static inline bool redirectAllAreHashed(const struct request *r) {
    const struct serverCommand *cmd = r->cmd;
    if (__builtin_expect(cmd->only_key.pos > 0, 1)) return r->key_count == 1;
    if (!r->key_count || cmd->flags & (CMD_MOVABLE_KEYS | CMD_PUBSUB)) return false;
    if (cmd->spec->getkeys || cmd->spec->key_spec_count != 1) return false;
    int last = cmd->last_key < 0 ? r->argc + cmd->last_key : cmd->last_key;
    return cmd->first_key + (int64_t)r->key_count * cmd->key_step > last;
}

/* Returns true if all keys are known to be of one slot that belongs to this node alone, so that nothing has
 * to be decided. */
static inline bool redirectIsOf(const struct clusterNode *node, const struct request *r) {
    if (!redirectAllAreHashed(r) || clusterTopology()->open_count || !engineIsClusterOk(&cluster_engine))
        return false;
    int slot = keyHashSlot(r->key_hashes[0].hash);
    for (int i = 1; i < r->key_count; i++) {
        if (keyHashSlot(r->key_hashes[i].hash) != slot) return false;
    }
    debugAssert(keySlot(r->key_hashes[0].key) == slot);
    return slotSetHas(&node->slots, slot);
}
static inline bool redirectIsLocal(const struct request *r) {
    return redirectIsOf(clusterTopology()->myself, r);
}

/* ---- The decision ---- */

static bool redirectReadsFromReplica(const struct client *owner, uint64_t flags, const struct route *route) {
    if (route->channel) return true;
    return owner->flags & CLIENT_READONLY && !(flags & CMD_WRITE);
}

/* Returns whether the request writes to another database. The slot is the same there, but keys are searched
 * in one database only. */
static bool redirectChangesDatabase(const struct client *c, const struct request *r) {
    const char *name = r->cmd->spec->name;
    if (strcmp(name, "move") == 0) return true;
    if (strcmp(name, "copy") != 0) return false;
    int64_t db;
    for (int i = 3; i + 1 < r->argc; i++) {
        if (strIs(r->argv[i], "db") && (!string2ll(r->argv[i + 1], &db) || db != c->db->id)) return true;
    }
    return false;
}

static enum verdict redirectDecideWhileDown(uint64_t flags, const struct route *route) {
    if (engineIsClusterOk(&cluster_engine)) return RUNS_HERE;
    if (route->channel) return cluster_settings.pubsub_when_down ? RUNS_HERE : DOWN;
    if (!cluster_settings.reads_when_down) return DOWN;
    return flags & CMD_WRITE ? DOWN_READS_ONLY : RUNS_HERE;
}

/* Decides about a slot that is being handed over. RUNS_HERE: nothing special about this request;
 * *here: it runs on this node although another one owns the slot. A replica that accepts reads
 * decides like its primary. */
static enum verdict redirectDecideWhileOpen(struct client *owner, const struct request *r,
                                            struct route *route, bool *here) {
    const struct openSlot *open = slotFindOpen(clusterTopology(), route->slot);
    if (!open) return RUNS_HERE;
    const struct clusterNode *myself = clusterMyself();
    bool migrating = open->to && (route->node == myself ||
                                  (owner->flags & CLIENT_READONLY && route->node == myself->primary));
    if (!migrating && !open->from) return RUNS_HERE;
    if (strcmp(r->cmd->spec->name, "migrate") == 0 && nodeIsPrimary(myself)) {
        *here = true;
        return RUNS_HERE;
    }
    if (redirectChangesDatabase(owner, r)) return TRY_AGAIN;
    if (migrating) {
        if (!route->missing) return RUNS_HERE;
        if (route->present) return TRY_AGAIN;
        route->node = open->to;
        return ASK;
    }
    bool asking = owner->flags & CLIENT_ASKING || r->cmd->flags & CMD_ASKING;
    if (route->node == myself || !asking) return RUNS_HERE;
    if (route->several && route->missing) return TRY_AGAIN;
    *here = true;
    return RUNS_HERE;
}

static enum verdict redirectDecide(struct client *c, const struct request *r, struct route *route) {
    struct client *owner = callOwner() ? callOwner() : c;
    uint64_t flags = commandFlags(c, r->cmd);
    bool here = false;
    if (route->slot < 0) return RUNS_HERE;
    route->node = clusterTopology()->owner[route->slot];
    if (route->cross) return CROSS_SLOT;
    if (!route->node) return UNBOUND;
    enum verdict verdict = redirectDecideWhileDown(flags, route);
    if (verdict != RUNS_HERE) return verdict;
    verdict = redirectDecideWhileOpen(owner, r, route, &here);
    if (verdict != RUNS_HERE || here || route->node == clusterMyself()) return verdict;
    if (route->node == clusterMyself()->primary && redirectReadsFromReplica(owner, flags, route))
        return RUNS_HERE;
    return MOVED;
}

/* ---- Replies ---- */

static void redirectReplyRedirection(struct client *c, const struct route *route, const char *word) {
    enum nodeLineAudience audience = (enum nodeLineAudience)clusterAudienceOf(c);
    const char *endpoint = clusterEndpoint(route->node, audience);
    replyErrorFmt(c, "%s %d %s:%d", word, route->slot, endpoint ? endpoint : "",
                  nodeClientPort(route->node, audience));
}

static void redirectReplyVerdict(struct client *c, enum verdict verdict, const struct route *route) {
    switch (verdict) {
    case CROSS_SLOT: replyError(c, "CROSSSLOT Keys in request don't hash to the same slot"); break;
    case UNBOUND: replyError(c, "CLUSTERDOWN Hash slot not served"); break;
    case DOWN: replyError(c, "CLUSTERDOWN The cluster is down"); break;
    case DOWN_READS_ONLY:
        replyError(c, "CLUSTERDOWN The cluster is down and only accepts read commands");
        break;
    case TRY_AGAIN: replyError(c, "TRYAGAIN Multiple keys request during rehashing of slot"); break;
    case MOVED: redirectReplyRedirection(c, route, "MOVED"); break;
    case ASK: redirectReplyRedirection(c, route, "ASK"); break;
    default: break;
    }
}

static void redirectReplyToScript(struct client *c, const struct request *r, enum verdict verdict) {
    admission_errno = verdict == DOWN ? ENETDOWN : verdict == DOWN_READS_ONLY ? EROFS : EPERM;
    if (verdict == DOWN)
        replyErrorFmt(c, "ERR Can not execute a command '%s' while the cluster is down", r->cmd->fullname);
    else if (verdict == DOWN_READS_ONLY)
        replyErrorFmt(c, "ERR Can not execute a write command '%s' while the cluster is down and readonly",
                      r->cmd->fullname);
    else
        replyError(c, "ERR Attempted to access a non local key in a cluster node");
}

/* A script must use one slot only, unless it declares otherwise. */
static bool redirectScriptUsesOneSlot(struct route *route) {
    struct call *call = call_running; /* becomes the script's call */
    while (call && call->client != script_run.caller) call = call->outer;
    if (route->slot < 0 || !call || call->slot == CALL_SLOT_ANY) return true;
    if (call->slot == CALL_SLOT_NONE_YET) {
        struct route declared = {.slot = -1};
        redirectAddRequest(&declared, call->client, call->request);
        call->slot = declared.slot >= 0 ? declared.slot : route->slot;
    }
    return call->slot == route->slot && !route->cross;
}

static enum admission redirectCheckCalled(struct client *c, struct request *r, enum requestOrigin origin) {
    struct route route = {.slot = -1};
    redirectAddRequest(&route, c, r);
    enum verdict verdict = redirectDecide(c, r, &route);
    if (verdict != RUNS_HERE) {
        redirectReplyToScript(c, r, verdict);
        return REFUSED;
    }
    if (origin == ORIGIN_MODULE || redirectScriptUsesOneSlot(&route)) return ADMITTED;
    admission_errno = EPERM;
    replyError(c, "ERR Script attempted to access keys that do not hash to the same slot");
    return REFUSED;
}

static bool redirect_disabled;

void redirectDisable(void) {
    redirect_disabled = true;
}

static __attribute__((noinline)) enum admission redirectCheckRoute(struct client *c, struct request *r,
                                                                   enum requestOrigin origin) {
    const struct client *owner = callOwner() ? callOwner() : c;
    if (redirect_disabled || callReplays() || (migration_links && migrationIsLink(owner))) return ADMITTED;
    if (origin == ORIGIN_SCRIPT || origin == ORIGIN_MODULE) return redirectCheckCalled(c, r, origin);
    struct route route = {.slot = -1};
    bool exec = r->cmd->spec->proc == execCommand;
    route.queued = c->flags & CLIENT_MULTI && !exec;
    redirectAddRequest(&route, c, r);
    if (exec) redirectAddQueued(&route, c);
    enum verdict verdict = redirectDecide(c, r, &route);
    if (verdict == RUNS_HERE) return ADMITTED;
    const char *prefix = reply_error_prefix; /* no prefix of EXEC's own errors */
    reply_error_prefix = NULL;
    redirectReplyVerdict(c, verdict, &route);
    reply_error_prefix = prefix;
    if (exec) multiReset(c);
    return REFUSED;
}

static bool redirectAdmitsRead(const struct client *c, const struct request *r) {
    const struct clusterNode *primary = clusterTopology()->myself->primary;
    return redirectIsLocal(r) || (primary && c->flags & CLIENT_READONLY && redirectIsOf(primary, r));
}

static enum admission redirectCheckSlot(struct client *c, struct request *r, enum requestOrigin origin) {
    if (__builtin_expect(origin == ORIGIN_CLIENT && redirectIsLocal(r), 1)) return ADMITTED;
    return redirectCheckRoute(c, r, origin);
}

/* ---- ASKING: valid for one command or one transaction ---- */

static bool any_asking; /* some client is asking, or was at the last check */

static void redirectForgetAsking(struct client *c) {
    if (c->flags & CLIENT_ASKING && !(c->flags & (CLIENT_MULTI | CLIENT_BLOCKED)) &&
        !(c->cmd && strcmp(c->cmd->spec->name, "asking") == 0))
        c->flags &= ~CLIENT_ASKING;
}

void redirectAllowAsking(struct client *c) {
    c->flags |= CLIENT_ASKING;
    if (any_asking) return;
    any_asking = true;
    callHookIdle(redirectForgetAsking, false);
}

static void redirectNoteAsking(void *priv, struct client *c) {
    (void)priv;
    any_asking |= (c->flags & CLIENT_ASKING) != 0;
}

/* Slots move rarely: at other times no hook runs after commands. */
static void redirectAskingCron(void) {
    if (!any_asking) return;
    any_asking = false;
    clientForEach(redirectNoteAsking, NULL);
    callHookIdle(redirectForgetAsking, !any_asking);
}

/* ---- Blocked clients and subscribers ---- */

static struct route recheck_route;
static enum verdict recheck_verdict;

static void redirectReplyMoved(struct client *c) {
    redirectReplyVerdict(c, recheck_verdict, &recheck_route);
}

/* A blocked client waits for missing keys, so it is not redirected because they are missing; and keys of an
 * importing slot may still come. */
static void redirectRecheckClient(void *priv, struct client *c) {
    (void)priv;
    const struct request *r = blockedRequest(c);
    if (!r || !r->cmd || !blockedForKeys(c) || c->flags & CLIENT_PRIMARY) return;
    recheck_route = (struct route){.slot = -1, .queued = true};
    redirectAddRequest(&recheck_route, c, r);
    recheck_verdict = redirectDecide(c, r, &recheck_route);
    if (recheck_verdict == RUNS_HERE) return;
    const struct openSlot *open = slotFindOpen(clusterTopology(), recheck_route.slot);
    if (recheck_verdict == MOVED && open && open->from) return;
    unblockWithReply(c, redirectReplyMoved);
}

static bool redirectChannelStays(struct str channel) {
    const struct clusterNode *owner = clusterTopology()->owner[keySlot(channel)], *myself = clusterMyself();
    return owner && (owner == myself || owner == myself->primary);
}

void redirectRecheck(void) {
    if (blockedClients()) clientForEach(redirectRecheckClient, NULL);
    pubsubUnsubscribeShards(redirectChannelStays);
}

/* ---- The start ---- */

void redirectInit(void) {
    admissionFill(RULE_CLUSTER, redirectCheckSlot);
    admissionFillRead(RULE_CLUSTER, redirectAdmitsRead);
    admissionIdle(RULE_CLUSTER, true);
    callAddHook(REQUEST_DONE, redirectForgetAsking, true);
    cronRegister(redirectAskingCron, ASKING_CRON_MS);
}

/* The roles of nodes are decided by the cluster. */
static void redirectRefuseReplicaof(void) {
    if (!roleIsReplica()) return;
    fprintf(stderr,
            "\n*** FATAL CONFIG FILE ERROR (Version %s) ***\n"
            "replicaof directive not allowed in cluster mode\n",
            VALKEY_VERSION);
    exit(1);
}

void redirectStart(void) {
    redirectRefuseReplicaof();
    admissionIdle(RULE_CLUSTER, false);
}
