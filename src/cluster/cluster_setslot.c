/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_setslot.c - CLUSTER SETSLOT: slots that are handed over key by key, by whoever asks for it.
 *
 * A primary that has replicas tells them first, by the stream of its data, and does it itself when all of
 * them have it: whichever of them takes over knows, then, what is open, and who owns what.
 *
 *     SETSLOT ──▶ argued ──▶ propagated ──▶ the client waits ──▶ argued anew ──▶ done, OK
 *                                                 └── time is over ──▶ -NOREPLICAS, nothing done here
 *
 * (Replicas that come later get what is open with the data: setslotInit.) */
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
    struct clusterNode *node; /* not for STABLE */
    int64_t timeout_ms;       /* 0: for ever */
};

/* ---- What is asked, and whether it can be done ---- */

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
        replyError(c, "ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP");
        return false;
    }
    return true;
}

/* Words that are none of ours are passed over, as 9.1 does. */
static bool clusterSetslotParseTimeout(struct client *c, const struct str *argv, int argc,
                                       struct setslot *s) {
    s->timeout_ms = REPLICAS_TIMEOUT_MS;
    for (int i = s->verb == STABLE ? 4 : 5; i < argc; i++) {
        if (!strIs(argv[i], "timeout")) continue;
        if (++i == argc) {
            replyError(c, "ERR Missing timeout value");
            return false;
        }
        if (!argLongLong(c, argv[i], &s->timeout_ms, "ERR timeout is not an integer or out of range"))
            return false;
        if (s->timeout_ms >= 0) continue;
        replyError(c, "ERR timeout is negative");
        return false;
    }
    return true;
}

/* A node that is known; its error is worded by who asks. */
static bool clusterSetslotParseNode(struct client *c, struct str id, const char *fmt, struct setslot *s) {
    s->node = id.len == NODE_ID_LEN ? topologyFind(clusterTopology(), id.ptr) : NULL;
    if (!s->node) replyErrorFmt(c, fmt, (int)id.len, id.ptr);
    return s->node;
}

/* Migrating to it, or importing from it. Whose the slot is has been checked by our primary when the command
 * is its: we may learn of that later, by the bus. */
static bool clusterSetslotParseOther(struct client *c, const struct str *argv, struct setslot *s) {
    struct topology *t = clusterTopology();
    struct clusterNode *mine = nodeShardPrimary(t->myself);
    bool owned = t->owner[s->slot] == mine, told = c->flags & CLIENT_PRIMARY;
    if (s->verb == MIGRATING && !owned && !told) {
        replyErrorFmt(c, "ERR I'm not the owner of hash slot %d", s->slot);
        return false;
    }
    if (s->verb == IMPORTING && owned && !told) {
        replyErrorFmt(c, "ERR I'm already the owner of hash slot %d", s->slot);
        return false;
    }
    if (!clusterSetslotParseNode(c, argv[4], "ERR I don't know about node %.*s", s)) return false;
    if (s->node == mine) {
        replyError(c, "ERR Target node is myself");
        return false;
    }
    if (nodeIsReplica(s->node)) replyError(c, "ERR Target node is not a master");
    return !nodeIsReplica(s->node);
}

static bool clusterSetslotParseOwner(struct client *c, const struct str *argv, struct setslot *s) {
    struct topology *t = clusterTopology();
    if (!clusterSetslotParseNode(c, argv[4], "ERR Unknown node %.*s", s)) return false;
    if (nodeIsReplica(s->node)) {
        replyError(c, "ERR Target node is not a master");
        return false;
    }
    bool leaves_keys = t->owner[s->slot] == t->myself && s->node != t->myself && slotKeys(s->slot);
    if (leaves_keys)
        replyErrorFmt(
            c, "ERR Can't assign hashslot %d to a different node while I still hold keys for this hash slot.",
            s->slot);
    return !leaves_keys;
}

/* False: it cannot be done, which has been answered. */
static bool clusterSetslotArgue(struct client *c, const struct str *argv, int argc, struct setslot *s) {
    int64_t slot;
    if (migrationRunning(false) || migrationRunning(true)) { /* of any slots */
        replyError(c,
                   migrationRunning(false) ? "ERR Slot import in progress." : "ERR Slot export in progress.");
        return false;
    }
    if (!string2ll(argv[2], &slot) || slot < 0 || slot >= KEY_SLOTS) {
        replyError(c, "ERR Invalid or out of range slot");
        return false;
    }
    s->slot = (int)slot;
    if (!clusterSetslotParseVerb(c, argv, argc, s) || !clusterSetslotParseTimeout(c, argv, argc, s))
        return false;
    if (s->verb == STABLE) return true;
    return s->verb == NODE ? clusterSetslotParseOwner(c, argv, s) : clusterSetslotParseOther(c, argv, s);
}

/* ---- Doing it ---- */

/* Who gives away his last slot follows. */
static void clusterSetslotLostLast(struct clusterNode *to) {
    struct clusterNode *mine = nodeShardPrimary(clusterMyself());
    if (!mine || mine->slot_count || !cluster_engine.settings.allow_replica_migration) return;
    serverLog(LL_NOTICE, "The last slot of this primary has moved, so it becomes a replica of %s in shard %s",
              nodeLogName(to), to->shard_id);
    engineFollow(&cluster_engine, to, true);
}

/* The slot is that node's from now on. Who gets one that he has imported takes an epoch that makes everybody
 * believe him. A slot without keys migrates no longer, even when it stays here: nothing is left to be moved.
 */
static void clusterSetslotAssign(const struct setslot *s) {
    struct topology *t = clusterTopology();
    struct clusterNode *me = t->myself, *mine = nodeShardPrimary(me);
    struct openSlot *open = slotOpen(t, s->slot);
    bool imported = open && open->from && s->node == mine, was_mine = t->owner[s->slot] == mine;
    serverLog(LL_NOTICE, "Slot %d now belongs to node %s in shard %s", s->slot, nodeLogName(s->node),
              s->node->shard_id);
    if ((was_mine && s->node != mine) || !slotKeys(s->slot)) slotSetMigrating(t, s->slot, NULL);
    if (s->node == mine) slotSetImporting(t, s->slot, NULL);
    slotAssign(t, s->slot, s->node);
    engineTodo(&cluster_engine, TODO_STATE);
    if (imported && nodeIsPrimary(me)) {
        if (engineBumpEpoch(&cluster_engine, clusterNow()))
            serverLog(LL_NOTICE, "This node takes a new configuration epoch after it has imported slot %d",
                      s->slot);
        engineTodo(&cluster_engine, TODO_BROADCAST);
    }
    if (was_mine && s->node != mine) clusterSetslotLostLast(s->node);
}

static void clusterSetslotCarryOut(const struct setslot *s) {
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
    engineTodo(&cluster_engine, TODO_SAVE | TODO_SLOTS);
}

/* ---- Behind the replicas ---- */

static void clusterSetslotGoOn(struct client *c, bool enough) {
    const struct request *r = blockedRequest(c);
    struct setslot s;
    if (!enough) {
        replyError(c, "NOREPLICAS Not enough good replicas to write.");
        return;
    }
    if (!clusterSetslotArgue(c, r->argv, r->argc, &s)) return; /* meanwhile something else has happened */
    clusterSetslotCarryOut(&s);
    replyOk(c);
}

void clusterSetslotCommand(struct client *c) {
    struct setslot s;
    bool obeys = c->flags & CLIENT_PRIMARY;
    if (nodeIsReplica(clusterMyself()) && !obeys) {
        replyError(c, "ERR Please use SETSLOT only with masters.");
        return;
    }
    if (!clusterSetslotArgue(c, c->argv, c->argc, &s)) return;
    /* A replica that is no node of the cluster (a tool that copies the data) has no use for it. */
    bool behind = !obeys && clusterMyself()->replica_count;
    if (behind) propagateForced();
    int replicas = behind ? clusterReplicasOnline() : 0;
    bool will_bump = s.verb == IMPORTING || (s.verb == NODE && s.node == clusterMyself());
    if (replicas && will_bump) engineReserveEpoch(&cluster_engine, clusterNow());
    if (replicas && !(c->flags & CLIENT_DENY_BLOCKING)) {
        waitThen(c, replicas, s.timeout_ms ? mstime() + s.timeout_ms : 0, clusterSetslotGoOn);
        return;
    }
    clusterSetslotCarryOut(&s);
    replyOk(c);
}

/* ---- What is open, for replicas that come later ---- */

/* N<id, for a slot that is imported, N>id, for one that migrates; one after the other. Empty when none is
 * open: the replica may have some open that have been closed since. */
static sds clusterSetslotStatesText(void) {
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

/* One of them; nodes that are not known are passed over. */
static void clusterSetslotStateLoad(struct str text) {
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

/* What was open here before is our primary's to say. */
static void clusterSetslotStatesLoad(struct str text) {
    struct topology *t = clusterTopology();
    if (!cluster_enabled || nodeIsPrimary(t->myself)) return;
    topologyCloseSlots(t);
    while (text.len) {
        const char *end = memchr(text.ptr, ',', text.len);
        size_t len = end ? (size_t)(end - text.ptr) : text.len;
        clusterSetslotStateLoad(strN(text.ptr, len));
        text = strN(text.ptr + len, text.len - len);
        if (end) text = strN(text.ptr + 1, text.len - 1);
    }
    engineTodo(&cluster_engine, TODO_SAVE | TODO_SLOTS);
}

void setslotInit(void) {
    static const struct rdbField field = {"cluster-slot-states", clusterSetslotStatesText,
                                          clusterSetslotStatesLoad};
    rdbFieldRegister(&field);
}
