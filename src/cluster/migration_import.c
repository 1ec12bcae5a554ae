/* SPDX-License-Identifier: BSD-3-Clause */
/* migration_import.c - the target of a migration: a client that brings keys of slots which are another node's
 * still. What it sends runs as if our primary had sent it; nothing is replied.
 *
 * Nobody sees those keys before the slots are ours: migration_track.c. Keys that were brought for nothing are
 * deleted, also where our replicas have them. */
#include <string.h>

#include "base/assert.h"
#include "base/key_slot.h"
#include "base/log.h"
#include "base/num.h"
#include "client/reply.h"
#include "cluster/cluster_commands.h"
#include "cluster/migration_jobs.h"
#include "cluster/migration_private.h"
#include "cluster/slot_keys.h"
#include "command/call.h"
#include "command/command.h"
#include "command/data_hooks.h"
#include "command/propagate.h"
#include "command/wait.h"
#include "data/keyspace/db.h"
#include "data/lifetime/evict.h"
#include "data/notify.h"
#include "data/server_state/persistence.h"
#include "net/resp.h"

int migration_links;
static void migrationImportAfterCall(struct client *c);

/* NULL: the client is not the link of a migration. */
static struct migrationJob *importOf(const struct client *c) {
    if (!migration_links) return NULL;
    listForEach(&migration_jobs, it) {
        struct migrationJob *job = listEntry(it, struct migrationJob, node);
        if (job->client_id && job->client_id == c->id) return job;
    }
    return NULL;
}

bool migrationIsLink(const struct client *c) {
    return importOf(c) != NULL;
}

static void migrationImportForgetLink(struct migrationJob *job, const struct client *c) {
    if (!job->client_id) return;
    if (c) migration_traffic.imported += c->net_in - job->net_in_before;
    job->client_id = 0;
    if (--migration_links) return;
    callHookIdle(migrationImportAfterCall, true);
    client_brings_slots = NULL;
}

/* ---- What is said ---- */

static void migrationImportSay(struct migrationJob *job, const char *word) {
    struct client *c = importClient(job);
    if (!c || c->flags & CLIENT_CLOSE_ASAP) return;
    struct str argv[] = {STR("CLUSTER"), STR("SYNCSLOTS"), strOf(word)};
    char text[128];
    char *end = respWriteRequest(text, 3, argv);
    c->flags &= ~(uint32_t)CLIENT_REPLY_OFF;
    replyRaw(c, text, (size_t)(end - text));
    c->flags |= CLIENT_REPLY_OFF;
}

/* ---- What is done ---- */

/* The source has stopped writing, and all it has written is here. */
static void migrationImportAskReplicas(struct migrationJob *job) {
    job->brought = propagateOffset();
    if (clusterReplicasOnline() && wait_sources.askReplicas) wait_sources.askReplicas();
    engineReserveEpoch(&cluster_engine, clusterNow());
}

/* One of them has to have it before the slots are ours: it may be asked to take our place. */
static bool migrationImportReplicasBehind(const struct migrationJob *job) {
    return clusterReplicasOnline() && !wait_sources.replicas(job->brought, false);
}

/* And most voters have to know that we are about to claim: who is cut off from them would claim what is
 * served elsewhere, and win it back when nobody remembers. Also the source, which keeps its epoch from now
 * on: else its last word from before the claim might be greater, and we give the slots up as it gives them to
 * us. */
static bool migrationImportOthersKnow(const struct migrationJob *job) {
    struct engine *e = &cluster_engine;
    const struct clusterNode *source = topologyFind(&e->t, job->source);
    bool reserved_epoch = engineEpochReserved(e) && source && engineReservationKnownBy(e, source);
    if (!reserved_epoch) engineReserveEpoch(e, clusterNow());
    return reserved_epoch && !jobsLeave();
}

static void migrationImportWaitForOthers(struct migrationJob *job) {
    bool behind = migrationImportReplicasBehind(job), reserved_epoch = migrationImportOthersKnow(job);
    int64_t waited_ms = clusterNow() - job->m.updated_ms;
    if (!reserved_epoch && waited_ms >= MIGRATION_VOTERS_MS)
        jobFail(job, "Other primaries did not answer in time");
    if (!reserved_epoch || (behind && waited_ms < MIGRATION_REPLICA_MS)) return;
    if (behind)
        serverLog(LL_NOTICE, "Slot migration %s goes on, though no replica has all that was brought.",
                  job->name);
    jobStep(job, EV_REPLICATED);
}

/* Our file has the keys before the cluster's has the slots: who is started again with these has those, too.
 */
static void migrationImportTakeSlots(struct migrationJob *job) {
    struct topology *t = clusterTopology();
    if (persistenceAofOn() && persistence.aofWrite) persistence.aofWrite();
    serverLog(LL_NOTICE, "Slots %s have moved from node %s to node %s", job->ranges, job->source,
              t->myself->id);
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (slotSetHas(&job->slots, slot)) slotAssign(t, slot, t->myself);
    }
    engineBumpEpoch(&cluster_engine, clusterNow());
    engineTodo(&cluster_engine, TODO_SAVE | TODO_SYNC | TODO_STATE | TODO_SLOTS | TODO_BROADCAST);
    importShow(job);
    importReportEnd(job);
}

void importDo(struct migrationJob *job, unsigned actions) {
    serverAssert(!job->m.export);
    if (actions & DO_SEND_ACK) migrationImportSay(job, "ACK");
    if (actions & DO_SEND_REQUEST_PAUSE) migrationImportSay(job, "REQUEST-PAUSE");
    if (actions & DO_ASK_REPLICAS) migrationImportAskReplicas(job);
    if (actions & DO_SEND_REQUEST_FAILOVER) migrationImportSay(job, "REQUEST-FAILOVER");
    if (actions & DO_TAKE_SLOTS) migrationImportTakeSlots(job);
    if (actions & DO_DELETE_KEYS) job->keys_to_delete = true;
    if (!(actions & DO_END) || !job->client_id) return;
    struct client *c = importClient(job);
    migrationImportForgetLink(job, c);
    if (c) clientClose(c);
}

/* Not within a command: the deletions are a change of their own. Who has become a replica in between leaves
 * them to its primary. */
void importEndOfTurn(struct migrationJob *job) {
    if (job->m.state == IMPORT_PAUSED) migrationImportWaitForOthers(job);
    if (job->m.state == IMPORT_GRANTED && !migration_debug.prevent_failover) jobStep(job, EV_MAY_CLAIM);
    if (!job->keys_to_delete || !trackMayChange()) return;
    job->keys_to_delete = false;
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        bool mine = clusterTopology()->owner[slot] == nodeShardPrimary(clusterMyself());
        if (slotSetHas(&job->slots, slot) && !mine) slotDeleteKeys(slot);
    }
    if (!migrationEnded(&job->m)) return;
    importShow(job);
    importReportEnd(job);
}

struct client *importClient(const struct migrationJob *job) {
    return job->client_id ? clientById(job->client_id) : NULL;
}

/* (When the link was last active does not tell: what we say ourselves counts there, too.) */
void importHeard(struct migrationJob *job) {
    const struct client *c = importClient(job);
    if (!c || c->net_in == job->net_in_counted) return;
    job->net_in_counted = c->net_in;
    job->m.received_ms = clusterNow();
}

/* ---- What happens to the client ---- */

static void migrationImportClientGone(struct client *c) {
    struct migrationJob *job = importOf(c);
    if (!job) return;
    migrationImportForgetLink(job, c);
    jobStep(job, EV_LOST);
}

static void migrationImportAfterCall(struct client *c) {
    struct migrationJob *job = importOf(c);
    if (!job) return;
    if (!(c->flags & CLIENT_ERROR)) return;
    serverLog(LL_WARNING, "A command of slot migration %s has failed: %s", job->name,
              c->cmd ? c->cmd->fullname : "?");
    jobFail(job, "Failed to process command during slot migration. Check logs for more information");
}

static void migrationImportRefused(struct client *c) {
    struct migrationJob *job = importOf(c);
    if (!job) return;
    jobFail(job, evictLimit() && evictOutOfMemory()
                     ? "Ran out of memory (OOM) during slot import"
                     : "Failed to process command during slot migration. Check logs for more information");
}

/* What expires is the source's affair. */
static bool migrationImportLinkRuns(void) {
    const struct client *owner = migration_links ? callOwner() : NULL;
    return owner && migrationIsLink(owner);
}

static void importBegin(struct client *c, struct migrationJob *job) {
    job->client_id = c->id;
    job->net_in_before = c->net_in;
    c->bulk_sender = true;
    migration_links++;
    callHookIdle(migrationImportAfterCall, false);
    client_brings_slots = migrationIsLink;
}

/* ---- SYNCSLOTS ---- */

struct establish {
    struct str source, name;
    struct clusterNode *source_node, *owner; /* owner: of the slots, as we see it */
    struct slotSet slots;
    bool any;
};

/* Our primary says so, or a file. */
static bool migrationImportIsTold(const struct client *c) {
    return c->flags & (CLIENT_PRIMARY | CLIENT_FAKE);
}

static const char *migrationImportSourceObjection(const struct establish *e) {
    if (!e->source_node) return "ERR Target node does not know the source node";
    return e->source_node == clusterMyself() ? "ERR Source node is target node itself" : NULL;
}

static bool migrationImportEstablishSource(struct client *c, struct str id, struct establish *e) {
    e->source = id;
    if (id.len != NODE_ID_LEN) {
        replySyntaxError(c);
        return false;
    }
    e->source_node = topologyFind(clusterTopology(), id.ptr);
    const char *objection = migrationImportIsTold(c) ? NULL : migrationImportSourceObjection(e);
    if (objection) replyError(c, objection);
    return !objection;
}

static bool migrationImportEstablishName(struct client *c, struct str name, struct establish *e) {
    e->name = name;
    if (name.len != JOB_NAME_LEN) replySyntaxError(c);
    return name.len == JOB_NAME_LEN;
}

/* Those that we are told: whoever told us has checked whose they are. */
static int migrationImportRangesTold(struct client *c, int i, struct slotSet *slots) {
    for (int64_t a, b; i < c->argc && string2ll(c->argv[i], &a); i += 2) {
        if (i + 1 >= c->argc || !string2ll(c->argv[i + 1], &b) || a < 0 || b < a || b >= KEY_SLOTS) {
            replyError(c, "ERR Invalid or out of range slot");
            return -1;
        }
        for (int slot = (int)a; slot <= (int)b; slot++) slotSetAdd(slots, slot);
    }
    return i;
}

static int migrationImportEstablishRanges(struct client *c, int i, struct establish *e) {
    i = migrationImportIsTold(c) ? migrationImportRangesTold(c, i, &e->slots)
                                 : jobRangesParse(c, i, &e->slots, &e->owner);
    e->any = true;
    for (int slot = 0; i >= 0 && slot < KEY_SLOTS && !migrationImportIsTold(c); slot++) {
        bool mine = clusterTopology()->owner[slot] == clusterMyself();
        if (!slotSetHas(&e->slots, slot) || !migrationMoves(slot) || mine) continue;
        replyError(c, "ERR Slot is already being imported on the target by a different migration");
        return -1;
    }
    return i;
}

/* SOURCE id, NAME job and SLOTSRANGE a b ..., each once, in any order. */
static bool migrationImportEstablishParse(struct client *c, struct establish *e) {
    for (int i = 3; i < c->argc;) {
        bool more = i + 1 < c->argc;
        if (more && !e->source.ptr && strIs(c->argv[i], "source")) {
            if (!migrationImportEstablishSource(c, c->argv[i + 1], e)) return false;
            i += 2;
        } else if (more && !e->name.ptr && strIs(c->argv[i], "name")) {
            if (!migrationImportEstablishName(c, c->argv[i + 1], e)) return false;
            i += 2;
        } else if (!e->any && strIs(c->argv[i], "slotsrange")) {
            if ((i = migrationImportEstablishRanges(c, i + 1, e)) < 0) return false;
        } else {
            replySyntaxError(c);
            return false;
        }
    }
    if (e->source.ptr && e->name.ptr && e->any) return true;
    replySyntaxError(c);
    return false;
}

/* The caller is a script or a module: there is no link that could be a migration's, and each call needs a
 * reply. */
static bool importIsCalled(const struct client *c) {
    return !c->conn && !migrationImportIsTold(c);
}

static void importRefuseWord(struct client *c, struct str word) {
    sds upper = sdsnewstr(word);
    sdstoupper(upper);
    replyErrorFmt(c, "ERR CLUSTER SYNCSLOTS %s should only be used by slot migration clients", upper);
    sdsfree(upper);
}

static void migrationImportEstablish(struct client *c) {
    struct establish e = {.any = false};
    if (migrationImportIsTold(c)) {
        if (!migrationImportEstablishParse(c, &e)) return;
        trackBegin(e.name.ptr, &e.slots);
        changesCount(1);
        return;
    }
    if (!jobMayBegin(c) || !migrationImportEstablishParse(c, &e)) return;
    if (importIsCalled(c)) {
        importRefuseWord(c, c->argv[2]);
        return;
    }
    if (e.owner != e.source_node) {
        replyError(c, "ERR Target node does not agree about current slot ownership");
        return;
    }
    struct migrationJob *job = jobAdd(false, false, e.name.ptr, &e.slots, e.source.ptr, clusterMyself()->id);
    job->keys_to_delete = true; /* that an earlier import may have left, where a replica took over in it */
    importHide(job);
    importBegin(c, job);
    jobSend(job, EVENT_IMPORT_STARTED);
    changesCount(1); /* replicas and files have to know */
    replyOk(c);
    c->flags |= CLIENT_REPLY_OFF;
}

static const struct {
    const char *word;
    enum migrationEvent event;
} heard[] = {
    {"ack", MSG_ACK},
    {"snapshot-eof", MSG_SNAPSHOT_EOF},
    {"paused", MSG_PAUSED},
    {"failover-granted", MSG_GRANTED},
};
static const char *const others[] = {"request-pause", "request-failover"};

static void migrationImportFinish(struct client *c) {
    struct str name = {0}, state = {0}, message = {0};
    for (int i = 3; i + 1 < c->argc; i += 2) {
        if (strIs(c->argv[i], "name")) name = c->argv[i + 1];
        if (strIs(c->argv[i], "state")) state = c->argv[i + 1];
        if (strIs(c->argv[i], "message")) message = c->argv[i + 1];
    }
    if (name.len != JOB_NAME_LEN || !state.len) {
        replySyntaxError(c);
        return;
    }
    trackEnd(name.ptr, strIs(state, "success"), message);
    changesCount(1);
}

void clusterSyncslotsCommand(struct client *c) {
    struct str word = c->argv[2];
    if (strIs(word, "capa")) {
        if (importIsCalled(c)) replyNull(c);
        return;
    }
    if (strIs(word, "establish")) {
        migrationImportEstablish(c);
        return;
    }
    if (migrationImportIsTold(c)) {
        if (strIs(word, "finish")) migrationImportFinish(c);
        return;
    }
    struct migrationJob *job = importOf(c);
    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++) {
        if (!strIs(word, heard[i].word)) continue;
        if (job) jobStep(job, heard[i].event);
        if (job) return;
    }
    bool known = strIs(word, "finish");
    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++) known |= strIs(word, heard[i].word);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) known |= strIs(word, others[i]);
    if (!known) {
        replySyntaxError(c);
        return;
    }
    importRefuseWord(c, word);
}

void importInit(void) {
    clientOnFree(migrationImportClientGone);
    callAddHook(CALL_AFTER, migrationImportAfterCall, true);
    callOnRefused(migrationImportRefused);
    dbAddExpiryVeto(migrationImportLinkRuns);
}
