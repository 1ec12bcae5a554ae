/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_change.c - CLUSTER's subcommands that change something; see cluster_commands.h. Each checks all
 * arguments before it changes anything. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/num.h"
#include "client/client_log.h"
#include "client/reply.h"
#include "cluster/cluster_commands.h"
#include "cluster/nodes_file.h"
#include "cluster/slot_keys.h"
#include "data/keyspace/db.h"

/* Returns the client's name for the log, valid until the next call. */
static const char *clusterChangeRequester(struct client *c) {
    static sds name;
    sdsfree(name);
    name = clientLogName(c, sdsempty());
    return name;
}

/* ---- Nodes ---- */

void clusterMeetCommand(struct client *c) {
    struct str ip = c->argv[2], port_arg = c->argv[3];
    int64_t port, bus_port;
    if (c->argc > 5) {
        replySubcommandError(c);
        return;
    }
    if (!string2ll(port_arg, &port)) {
        replyErrorFmt(c, "ERR Invalid base port specified: %.*s", (int)port_arg.len, port_arg.ptr);
        return;
    }
    if (port <= 0 || port > UINT16_MAX) {
        replyError(c, "ERR Port number is out of range");
        return;
    }
    bus_port = port + BUS_PORT_OFFSET;
    if (c->argc == 5 && !string2ll(c->argv[4], &bus_port)) {
        replyErrorFmt(c, "ERR Invalid bus port specified: %.*s", (int)c->argv[4].len, c->argv[4].ptr);
        return;
    }
    if (bus_port <= 0 || bus_port > UINT16_MAX) {
        replyError(c, "ERR Cluster bus port number is out of range");
        return;
    }
    char address[NODE_IP_LEN] = "";
    if (ip.len < sizeof address) memcpy(address, ip.ptr, ip.len);
    enum meetVerdict verdict =
        engineMeet(&cluster_engine, address, (uint16_t)port, (uint16_t)bus_port, clusterNow());
    if (verdict == MEET_NO_ADDRESS) {
        replyErrorFmt(c, "ERR Invalid node address specified: %.*s:%.*s", (int)ip.len, ip.ptr,
                      (int)port_arg.len, port_arg.ptr);
        return;
    }
    serverLog(LL_NOTICE, "CLUSTER MEET %s:%d was called by '%s'", address, (int)port,
              clusterChangeRequester(c));
    replyOk(c);
}

void clusterForgetCommand(struct client *c) {
    struct topology *t = clusterTopology();
    struct str id = c->argv[2];
    struct clusterNode *n = id.len == NODE_ID_LEN ? topologyFind(t, id.ptr) : NULL;
    if (!n && id.len == NODE_ID_LEN && topologyIsForgotten(t, id.ptr, clusterNow())) {
        replyOk(c);
        return;
    }
    if (!n) {
        replyErrorFmt(c, "ERR Unknown node %.*s", (int)id.len, id.ptr);
    } else if (n == t->myself) {
        replyError(c, "ERR I tried hard but I can't forget myself...");
    } else if (n == t->myself->primary) {
        replyError(c, "ERR Can't forget my master!");
    } else {
        serverLog(LL_NOTICE, "CLUSTER FORGET %s was called by '%s'", n->id, clusterChangeRequester(c));
        engineForget(&cluster_engine, n, clusterNow());
        replyOk(c);
    }
}

/* Returns whether this node may become a replica: it would lose slots and keys. */
static bool clusterChangeIsEmpty(void) {
    for (int i = 0; i < dbCount(); i++) {
        if (keyspaceShownSize(&dbGet(i)->keyspace)) return false;
    }
    return clusterMyself()->slot_count == 0;
}

static void clusterChangeLeaveShard(struct client *c) {
    if (nodeIsReplica(clusterMyself())) {
        serverLog(LL_NOTICE, "This node stops replicating and becomes a primary without slots");
        dbEmpty(NULL, true);
        engineLeaveShard(&cluster_engine);
    }
    replyOk(c);
}

void clusterReplicateCommand(struct client *c) {
    if (c->argc != 3) {
        if (c->argc == 4 && strIs(c->argv[2], "no") && strIs(c->argv[3], "one"))
            clusterChangeLeaveShard(c);
        else
            replySubcommandError(c);
        return;
    }
    struct clusterNode *n = clusterParseNodeArg(c, c->argv[2]), *me = clusterMyself();
    if (!n) return;
    if (n == me) {
        replyError(c, "ERR Can't replicate myself");
    } else if (nodeIsReplica(n)) {
        replyError(c, "ERR I can only replicate a master, not a replica.");
    } else if (nodeIsPrimary(me) && !clusterChangeIsEmpty()) {
        replyError(c, "ERR To set a master the node must be empty and without assigned slots.");
    } else {
        if (me->primary != n) engineFollow(&cluster_engine, n, true);
        replyOk(c);
    }
}

void clusterFailoverCommand(struct client *c) {
    enum failoverKind kind = FAILOVER_ASK;
    bool by_primary = c->flags & CLIENT_PRIMARY && c->argc == 5 && strIs(c->argv[2], "force") &&
                      strIs(c->argv[3], "replicaid");
    if (by_primary) {
        if (!strEq(c->argv[4], strN(clusterMyself()->id, NODE_ID_LEN))) return;
        kind = FAILOVER_FORCE;
    } else if (c->flags & CLIENT_PRIMARY) {
        return; /* 9.1.2 got this from its own primary, and propagates it together with keys */
    } else if (c->argc == 3 && strIs(c->argv[2], "force"))
        kind = FAILOVER_FORCE;
    else if (c->argc == 3 && strIs(c->argv[2], "takeover"))
        kind = FAILOVER_TAKEOVER;
    else if (c->argc != 2) {
        replySyntaxError(c);
        return;
    }
    struct clusterNode *me = clusterMyself(), *primary = me->primary;
    if (nodeIsPrimary(me)) {
        replyError(c, "ERR You should send CLUSTER FAILOVER to a replica");
    } else if (!primary) {
        replyError(c, "ERR I'm a replica but my master is unknown to me");
    } else if (kind == FAILOVER_ASK && (nodeHasFailed(primary) || !primary->connected)) {
        replyError(c, "ERR Master is down or failed, please use CLUSTER FAILOVER FORCE");
    } else {
        static const char *const words[] = {"Manual failover", "Forced failover", "Takeover"};
        const char *origin = by_primary ? "primary" : "user";
        serverLog(LL_NOTICE, "%s %s request accepted (%s request from '%s').", words[kind], origin, origin,
                  clusterChangeRequester(c));
        engineFailover(&cluster_engine, kind, clusterNow());
        replyOk(c);
    }
}

void clusterResetCommand(struct client *c) {
    bool hard = c->argc == 3 && strIs(c->argv[2], "hard");
    if (c->argc > 3) {
        replySubcommandError(c);
        return;
    }
    if ((c->argc == 3 && !hard && !strIs(c->argv[2], "soft"))) {
        replySyntaxError(c);
        return;
    }
    bool keys = false;
    for (int i = 0; i < dbCount(); i++) keys |= keyspaceShownSize(&dbGet(i)->keyspace) > 0;
    if (nodeIsPrimary(clusterMyself()) && keys) {
        replyError(c, "ERR CLUSTER RESET can't be called with master nodes containing keys");
        return;
    }
    if (nodeIsReplica(clusterMyself())) dbEmpty(NULL, true);
    serverLog(LL_NOTICE, "CLUSTER RESET was called by '%s'", clusterChangeRequester(c));
    engineReset(&cluster_engine, hard, clusterNow());
    replyOk(c);
}

/* ---- Epochs, the file ---- */

void clusterBumpepochCommand(struct client *c) {
    bool bumped = engineBumpEpoch(&cluster_engine, clusterNow());
    sds s = sdscatprintf(sdsempty(), "%s %llu", bumped ? "BUMPED" : "STILL",
                         (unsigned long long)clusterMyself()->config_epoch);
    replyStatus(c, s);
    sdsfree(s);
}

void clusterSetConfigEpochCommand(struct client *c) {
    struct topology *t = clusterTopology();
    int64_t epoch;
    if (!argLongLong(c, c->argv[2], &epoch, NULL)) return;
    if (epoch < 0) {
        replyErrorFmt(c, "ERR Invalid config epoch specified: %lld", (long long)epoch);
    } else if (t->count > 1) {
        replyError(c,
                   "ERR The user can assign a config epoch only when the node does not know any other node.");
    } else if (t->myself->config_epoch) {
        replyError(c, "ERR Node config epoch is already non-zero");
    } else {
        t->myself->config_epoch = (uint64_t)epoch;
        if (t->current_epoch < (uint64_t)epoch) t->current_epoch = (uint64_t)epoch;
        engineAddTodo(&cluster_engine, TODO_SAVE | TODO_STATE);
        replyOk(c);
    }
}

void clusterSaveconfigCommand(struct client *c) {
    if (nodesFileSave(clusterTopology(), true))
        replyOk(c);
    else
        replyErrorFmt(c, "ERR error saving the cluster node config: %s", strerror(errno));
}

/* ---- Slots ---- */

bool clusterParseSlotArg(struct client *c, struct str arg, int *slot) {
    int64_t n;
    if (!string2ll(arg, &n) || n < 0 || n >= KEY_SLOTS)
        return replyError(c, "ERR Invalid or out of range slot");
    *slot = (int)n;
    return true;
}

/* Adds the slot to `requested` if it may be added to this node (or removed), and is named once. */
static bool clusterChangeRequestSlot(struct client *c, struct slotSet *requested, int slot, bool add) {
    bool owned = clusterTopology()->owner[slot] != NULL;
    if (add && owned) return replyErrorFmt(c, "ERR Slot %d is already busy", slot);
    if (!add && !owned) return replyErrorFmt(c, "ERR Slot %d is already unassigned", slot);
    if (slotSetHas(requested, slot)) return replyErrorFmt(c, "ERR Slot %d specified multiple times", slot);
    slotSetAdd(requested, slot);
    return true;
}

static void clusterChangeApplySlots(struct client *c, const struct slotSet *requested, bool add) {
    struct topology *t = clusterTopology();
    slotSetForEach(requested, slot) {
        slotSetImporting(t, slot, NULL);
        slotAssign(t, slot, add ? t->myself : NULL);
    }
    engineAddTodo(&cluster_engine, TODO_SAVE | TODO_STATE | TODO_SLOTS);
    replyOk(c);
}

static void clusterChangeSlotsCommand(struct client *c, bool ranges, bool add) {
    struct slotSet requested = {{0}};
    if (ranges && c->argc % 2) {
        replyErrorFmt(c, "ERR wrong number of arguments for 'cluster|%s' command",
                      add ? "addslotsrange" : "delslotsrange");
        return;
    }
    for (int i = 2; i < c->argc; i += 1 + ranges) {
        int first, last;
        if (!clusterParseSlotArg(c, c->argv[i], &first)) return;
        last = first;
        if (ranges && !clusterParseSlotArg(c, c->argv[i + 1], &last)) return;
        if (first > last) {
            replyErrorFmt(c, "ERR start slot number %d is greater than end slot number %d", first, last);
            return;
        }
        for (; first <= last; first++) {
            if (!clusterChangeRequestSlot(c, &requested, first, add)) return;
        }
    }
    clusterChangeApplySlots(c, &requested, add);
}

void clusterAddslotsCommand(struct client *c) {
    clusterChangeSlotsCommand(c, false, true);
}
void clusterAddslotsrangeCommand(struct client *c) {
    clusterChangeSlotsCommand(c, true, true);
}
void clusterDelslotsCommand(struct client *c) {
    clusterChangeSlotsCommand(c, false, false);
}
void clusterDelslotsrangeCommand(struct client *c) {
    clusterChangeSlotsCommand(c, true, false);
}

void clusterFlushslotsCommand(struct client *c) {
    for (int i = 0; i < dbCount(); i++) {
        if (!keyspaceShownSize(&dbGet(i)->keyspace)) continue;
        replyError(c, "ERR DB must be empty to perform CLUSTER FLUSHSLOTS.");
        return;
    }
    struct slotSet mine = clusterMyself()->slots;
    clusterChangeApplySlots(c, &mine, false);
}
