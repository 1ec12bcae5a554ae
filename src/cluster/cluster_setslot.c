/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_setslot.c - CLUSTER SETSLOT: slots that are handed over key by key.
 *
 * A primary with replicas first sends the command to them in the stream of its data, and carries it out after
 * all of them have acknowledged it. So whichever of them takes over knows which slots are open, and their
 * owners.
 *
 *     SETSLOT ──▶ validated ──▶ propagated ──▶ the client waits ──▶ validated again ──▶ done, OK
 *                                                    └── time is over ──▶ -NOREPLICAS, nothing done here
 *
 * Replicas that connect later get the open slots with the data (setslotInit). */
#include "cluster/cluster_setslot.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/num.h"
#include "client/reply.h"
#include "cluster/cluster_commands.h"
#include "cluster/migration_jobs.h"
#include "cluster/slot_keys.h"
#include "command/blocking.h"
#include "command/command.h"
#include "command/propagate.h"
#include "command/request.h"
#include "command/wait.h"
#include "data/rdb/rdb.h"

#define REPLICAS_TIMEOUT_MS 2000

enum setslotVerb { MIGRATING, IMPORTING, NODE, STABLE };
struct setslot {
    enum setslotVerb verb;
    int slot;
    struct clusterNode *node; /* not used by STABLE */
    int64_t timeout_ms;       /* 0: no limit */
};

/* ---- Parsing and validation ---- */

static bool clusterSetslotParseVerb(struct client *c, const struct str *argv, int argc, struct setslot *s) {
    struct str verb = argv[3];
    if (strIs(verb, "migrating") && argc >= 5) {
        s->verb = MIGRATING;
    } else if (strIs(verb, "importing") && argc >= 5) {
        s->verb = IMPORTING;
    } else if (strIs(verb, "node") && argc >= 5) {
        s->verb = NODE;
    } else if (strIs(verb, "stable")) {
        s->verb = STABLE;
    } else {
        return replyError(c, "ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP");
    }
    return true;
}

/* Unknown words are ignored, as in 9.1. */
static bool clusterSetslotParseTimeout(struct client *c, const struct str *argv, int argc,
                                       struct setslot *s) {
    s->timeout_ms = REPLICAS_TIMEOUT_MS;
    for (int i = s->verb == STABLE ? 4 : 5; i < argc; i++) {
        if (!strIs(argv[i], "timeout")) continue;
        if (++i == argc) return replyError(c, "ERR Missing timeout value");
        if (!argLongLong(c, argv[i], &s->timeout_ms, "ERR timeout is not an integer or out of range"))
            return false;
        if (s->timeout_ms >= 0) continue;
        return replyError(c, "ERR timeout is negative");
    }
    return true;
}

/* Parses the id of a known node; the error message depends on the verb. */
static bool clusterSetslotParseNode(struct client *c, struct str id, const char *fmt, struct setslot *s) {
    s->node = id.len == NODE_ID_LEN ? topologyFind(clusterTopology(), id.ptr) : NULL;
    if (!s->node) replyErrorFmt(c, fmt, (int)id.len, id.ptr);
    return s->node;
}

/* Parses the node of MIGRATING or IMPORTING. If the command comes from this node's primary, the primary has
 * checked the owner, of which this node may learn later, by the bus. */
static bool clusterSetslotParseOther(struct client *c, const struct str *argv, struct setslot *s) {
    struct topology *t = clusterTopology();
    struct clusterNode *mine = nodeShardPrimary(t->myself);
    bool owned = t->owner[s->slot] == mine, from_primary = c->flags & CLIENT_PRIMARY;
    if (s->verb == MIGRATING && !owned && !from_primary)
        return replyErrorFmt(c, "ERR I'm not the owner of hash slot %d", s->slot);
    if (s->verb == IMPORTING && owned && !from_primary)
        return replyErrorFmt(c, "ERR I'm already the owner of hash slot %d", s->slot);
    if (!clusterSetslotParseNode(c, argv[4], "ERR I don't know about node %.*s", s)) return false;
    if (s->node == mine) return replyError(c, "ERR Target node is myself");
    if (nodeIsReplica(s->node)) replyError(c, "ERR Target node is not a master");
    return !nodeIsReplica(s->node);
}

static bool clusterSetslotParseOwner(struct client *c, const struct str *argv, struct setslot *s) {
    struct topology *t = clusterTopology();
    if (!clusterSetslotParseNode(c, argv[4], "ERR Unknown node %.*s", s)) return false;
    if (nodeIsReplica(s->node)) return replyError(c, "ERR Target node is not a master");
    bool leaves_keys = t->owner[s->slot] == t->myself && s->node != t->myself && slotCountKeys(s->slot);
    if (leaves_keys)
        replyErrorFmt(
            c, "ERR Can't assign hashslot %d to a different node while I still hold keys for this hash slot.",
            s->slot);
    return !leaves_keys;
}

/* Returns false after an error has been replied. */
static bool clusterSetslotValidate(struct client *c, const struct str *argv, int argc, struct setslot *s) {
    int64_t slot;
    if (migrationIsRunning(false) || migrationIsRunning(true)) { /* of any slots */
        return replyError(c, migrationIsRunning(false) ? "ERR Slot import in progress."
                                                       : "ERR Slot export in progress.");
    }
    if (!string2ll(argv[2], &slot) || slot < 0 || slot >= KEY_SLOTS)
        return replyError(c, "ERR Invalid or out of range slot");
    s->slot = (int)slot;
    if (!clusterSetslotParseVerb(c, argv, argc, s) || !clusterSetslotParseTimeout(c, argv, argc, s))
        return false;
    if (s->verb == STABLE) return true;
    return s->verb == NODE ? clusterSetslotParseOwner(c, argv, s) : clusterSetslotParseOther(c, argv, s);
}

/* ---- Carrying it out ---- */

/* A primary that has lost its last slot becomes a replica of the new owner. */
static void clusterSetslotFollowNewOwner(struct clusterNode *to) {
    struct clusterNode *mine = nodeShardPrimary(clusterMyself());
    if (!mine || mine->slot_count || !cluster_engine.settings.allow_replica_migration) return;
    serverLog(LL_NOTICE, "The last slot of this primary has moved, so it becomes a replica of %s in shard %s",
              nodeLogName(to), to->shard_id);
    engineFollow(&cluster_engine, to, true);
}

/* Makes the node the owner. The node that has imported the slot takes an epoch that wins
 * against other claims. A slot without keys stops migrating even if this node keeps it, because
 * nothing is left to be moved. */
static void clusterSetslotAssign(const struct setslot *s) {
    struct topology *t = clusterTopology();
    struct clusterNode *me = t->myself, *mine = nodeShardPrimary(me);
    struct openSlot *open = slotFindOpen(t, s->slot);
    bool imported = open && open->from && s->node == mine, was_mine = t->owner[s->slot] == mine;
    serverLog(LL_NOTICE, "Slot %d now belongs to node %s in shard %s", s->slot, nodeLogName(s->node),
              s->node->shard_id);
    if ((was_mine && s->node != mine) || !slotCountKeys(s->slot)) slotSetMigrating(t, s->slot, NULL);
    if (s->node == mine) slotSetImporting(t, s->slot, NULL);
    slotAssign(t, s->slot, s->node);
    engineAddTodo(&cluster_engine, TODO_STATE);
    if (imported && nodeIsPrimary(me)) {
        if (engineBumpEpoch(&cluster_engine, clusterNow()))
            serverLog(LL_NOTICE, "This node takes a new configuration epoch after it has imported slot %d",
                      s->slot);
        engineAddTodo(&cluster_engine, TODO_BROADCAST);
    }
    if (was_mine && s->node != mine) clusterSetslotFollowNewOwner(s->node);
}

static void clusterSetslotApply(const struct setslot *s) {
    struct topology *t = clusterTopology();
    switch (s->verb) {
    case MIGRATING:
        serverLog(LL_NOTICE, "Slot %d is being migrated to node %s", s->slot, nodeLogName(s->node));
        slotSetMigrating(t, s->slot, s->node);
        break;
    case IMPORTING:
        serverLog(LL_NOTICE, "Slot %d is being imported from node %s", s->slot, nodeLogName(s->node));
        slotSetImporting(t, s->slot, s->node);
        break;
    case STABLE:
        serverLog(LL_NOTICE, "Slot %d is stable again, neither migrating nor importing", s->slot);
        slotSetMigrating(t, s->slot, NULL);
        slotSetImporting(t, s->slot, NULL);
        break;
    case NODE: clusterSetslotAssign(s); break;
    }
    engineAddTodo(&cluster_engine, TODO_SAVE | TODO_SLOTS);
}

/* ---- Waiting for replicas ---- */

static void clusterSetslotResume(struct client *c, bool enough) {
    const struct request *r = blockedRequest(c);
    struct setslot s;
    if (!enough) {
        replyError(c, "NOREPLICAS Not enough good replicas to write.");
        return;
    }
    if (!clusterSetslotValidate(c, r->argv, r->argc, &s)) return; /* something else has changed meanwhile */
    clusterSetslotApply(&s);
    replyOk(c);
}

void clusterSetslotCommand(struct client *c) {
    struct setslot s;
    bool from_primary = c->flags & CLIENT_PRIMARY;
    if (nodeIsReplica(clusterMyself()) && !from_primary) {
        replyError(c, "ERR Please use SETSLOT only with masters.");
        return;
    }
    if (!clusterSetslotValidate(c, c->argv, c->argc, &s)) return;
    /* A replica that is no node of the cluster (a tool that copies the data) does not need the command. */
    bool replicated = !from_primary && clusterMyself()->replica_count;
    if (replicated) propagateForce();
    int replicas = replicated ? clusterReplicasOnline() : 0;
    bool will_bump = s.verb == IMPORTING || (s.verb == NODE && s.node == clusterMyself());
    if (replicas && will_bump) engineReserveEpoch(&cluster_engine, clusterNow());
    if (replicas && !(c->flags & CLIENT_DENY_BLOCKING)) {
        waitForReplicas(c, replicas, s.timeout_ms ? mstime() + s.timeout_ms : 0, clusterSetslotResume);
        return;
    }
    clusterSetslotApply(&s);
    replyOk(c);
}

/* ---- Open slots for replicas that connect later ---- */

/* Returns N<id, for an importing slot and N>id, for a migrating one, one after the other. The text is empty
 * if none is open, because the replica may have open slots that were closed since. */
static sds clusterSetslotSaveStates(void) {
    const struct topology *t = clusterTopology();
    if (!cluster_enabled) return NULL;
    sds s = sdsempty();
    for (int i = 0; i < t->open_count; i++) {
        const struct openSlot *open = &t->open[i];
        if (open->from) s = sdscatprintf(s, "%d<%s,", open->slot, open->from->id);
        if (open->to) s = sdscatprintf(s, "%d>%s,", open->slot, open->to->id);
    }
    return s;
}

/* Loads one entry; entries with unknown nodes are ignored. */
static void clusterSetslotLoadState(struct str text) {
    struct topology *t = clusterTopology();
    size_t digits = 0;
    int64_t slot;
    while (digits < text.len && text.ptr[digits] != '<' && text.ptr[digits] != '>') digits++;
    if (digits + 1 + NODE_ID_LEN != text.len || !string2ll(strN(text.ptr, digits), &slot)) return;
    struct clusterNode *n = topologyFind(t, text.ptr + digits + 1);
    if (!n || slot < 0 || slot >= KEY_SLOTS) return;
    if (text.ptr[digits] == '<')
        slotSetImporting(t, (int)slot, n);
    else
        slotSetMigrating(t, (int)slot, n);
}

/* Replaces the open slots of a replica by those of its primary. */
static void clusterSetslotLoadStates(struct str text) {
    struct topology *t = clusterTopology();
    if (!cluster_enabled || nodeIsPrimary(t->myself)) return;
    topologyCloseSlots(t);
    while (text.len) {
        const char *end = memchr(text.ptr, ',', text.len);
        size_t len = end ? (size_t)(end - text.ptr) : text.len;
        clusterSetslotLoadState(strN(text.ptr, len));
        text = strN(text.ptr + len, text.len - len);
        if (end) text = strN(text.ptr + 1, text.len - 1);
    }
    engineAddTodo(&cluster_engine, TODO_SAVE | TODO_SLOTS);
}

void setslotInit(void) {
    static const struct rdbField field = {"cluster-slot-states", clusterSetslotSaveStates,
                                          clusterSetslotLoadStates};
    rdbFieldRegister(&field);
}
