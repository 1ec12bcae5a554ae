/* SPDX-License-Identifier: BSD-3-Clause */
/* node.c - see node.h.
 *
 * Within a turn of the loop, messages and commands change the topology. At its end, before any reply leaves,
 * the engine does what it has put off (saving nodes.conf first), and the links are flushed. */
#include "cluster/node.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/num.h"
#include "base/random.h"
#include "cluster/bus_links.h"
#include "cluster/cluster_debug.h"
#include "cluster/cluster_settings.h"
#include "cluster/migration_jobs.h"
#include "cluster/nodes_file.h"
#include "cluster/redirect.h"
#include "cluster/slot_keys.h"
#include "cluster/slot_stats.h"
#include "cluster/state.h"
#include "command/busy.h"
#include "command/loading.h"
#include "command/pause.h"
#include "command/pubsub.h"
#include "command/turn.h"
#include "data/keyspace/db.h"
#include "data/server_state/cluster_view.h"
#include "data/server_state/persistence.h"
#include "data/server_state/role.h"
#include "net/dial.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/memory_report.h"

#define RELOG_SAVE_MS 30000

enum saveBehavior { SAVE_SYNC, SAVE_BEST_EFFORT };

static uint64_t links_over_limit; /* closed since the start, or CONFIG RESETSTAT */
static int64_t save_logged_ms;

/* Effects of a bus message that arrived in the middle of a script or of loading. They wait until the end of
 * the turn, because the data must not change before. */
static struct {
    struct slotSet slots;              /* whose keys are deleted */
    bool slots_any, follow, full_sync; /* full_sync: the argument of nodeEnvFollow */
} deferred;

/* ---- Environment of the engine: links, file, random numbers ---- */

static struct busLink *nodeEnvConnect(void *ctx, const char *ip, uint16_t bus_port) {
    (void)ctx;
    if (cluster_debug.no_reconnection) return NULL;
    return busLinkConnect(ip, bus_port);
}
static void nodeEnvClose(void *ctx, struct busLink *link) {
    (void)ctx;
    busLinkClose(link);
}
static void nodeEnvSend(void *ctx, struct busLink *link, const char *bytes, size_t len) {
    (void)ctx;
    busLinkSend(link, bytes, len);
}

static void nodeEnvSave(void *ctx, bool sync) {
    (void)ctx;
    if (nodesFileSave(clusterTopology(), sync)) return;
    if (cluster_settings.save_behavior == SAVE_SYNC) {
        serverLog(LL_WARNING, "Fatal: can't update cluster config file.");
        exit(1);
    }
    if (clusterNow() - save_logged_ms < RELOG_SAVE_MS) return;
    save_logged_ms = clusterNow();
    serverLog(LL_WARNING,
              "Cluster config updated even though writing the cluster config file to disk failed.");
}

static uint64_t nodeEnvRandom(void *ctx) {
    (void)ctx;
    return randomU64();
}
static void nodeEnvLog(void *ctx, int level, const char *line) {
    (void)ctx;
    serverLog(level, "%s", line);
}

/* ---- Replication ---- */

static struct engineReplication nodeEnvReplication(void *ctx) {
    (void)ctx;
    const struct replicationControl *r = &replication_control;
    struct engineReplication now = {.offset = r->offset(), .link_up = roleIsReplica() && r->linkIsUp()};
    now.whole = r->dataWhole(&now.data_ms);
    return now;
}

/* If the primary's address is unknown, this is called again when it becomes known. */
static void nodeEnvFollow(void *ctx, struct clusterNode *primary, bool full_sync) {
    (void)ctx;
    const struct replicationControl *r = &replication_control;
    if (!primary) {
        r->becomePrimary();
        return;
    }
    if (busyIsActive()) { /* the writes of the script so far have not been propagated yet */
        deferred.follow = true;
        deferred.full_sync |= full_sync;
        return;
    }
    bool known = *primary->ip;
    if (known)
        r->follow(strOf(primary->ip), dial_settings.replication_tls ? primary->tls_port : primary->tcp_port);
    /* A link to the same address may have been left untouched, and be up. */
    if (full_sync && !(known && r->linkIsUp())) r->setDataWhole(false);
}

static void nodeEnvPause(void *ctx, int64_t until_ms) {
    (void)ctx;
    if (until_ms)
        pauseClients(PAUSE_FAILOVER, PAUSE_WRITES, until_ms);
    else
        unpauseClients(PAUSE_FAILOVER);
}

static void nodeEnvHoldAcks(void *ctx, bool hold) {
    (void)ctx;
    replication_control.holdAcks(hold);
}
static uint64_t nodeEnvHistory(void *ctx) {
    (void)ctx;
    return replication_control.history();
}

/* ---- Data ---- */

static uint64_t nodeEnvKeysInSlot(void *ctx, int slot) {
    (void)ctx;
    return slotCountKeys(slot);
}
static void nodeEnvDeleteSlot(void *ctx, int slot) {
    (void)ctx;
    if (!turnIsNested()) {
        slotDropKeys(slot);
        return;
    }
    slotSetAdd(&deferred.slots, slot);
    deferred.slots_any = true;
}

/* The topology may have changed since: a slot may belong to this node again, and a replica leaves
 * the data to its primary. */
static void nodeDoDeferred(void) {
    struct clusterNode *me = clusterMyself();
    if (deferred.slots_any && nodeIsPrimary(me)) {
        slotSetForEach(&deferred.slots, slot) {
            if (clusterTopology()->owner[slot] != me) slotDropKeys(slot);
        }
    }
    bool follow = deferred.follow && nodeIsReplica(me), full_sync = deferred.full_sync;
    memset(&deferred, 0, sizeof deferred);
    if (follow) nodeEnvFollow(NULL, me->primary, full_sync);
}
static void nodeEnvSlotsChanged(void *ctx) {
    (void)ctx;
    migrationSlotsChanged();
    redirectRecheck();
    slotStatsRecheck();
}
static void nodeEnvStateChanged(void *ctx, bool ok) {
    (void)ctx, (void)ok;
    redirectRecheck();
}
static bool nodeEnvSlotGranted(void *ctx, int slot, const struct clusterNode *to) {
    (void)ctx;
    return migrationHasGranted(slot, to);
}

/* ---- Messages that are not about the cluster itself ---- */

static void nodeEnvPublished(void *ctx, struct clusterNode *by, bool shard, struct str channel,
                             struct str message) {
    (void)ctx, (void)by;
    if (shard)
        pubsubPublishShard(channel, message);
    else
        pubsubPublish(channel, message);
}
static void nodeEnvModuleMessage(void *ctx, struct clusterNode *by, uint64_t id, uint8_t type,
                                 struct str payload) {
    (void)ctx;
    if (cluster_view_message) cluster_view_message(by->id, id, type, payload);
}

/* Sends what a client of this node publishes. */
static bool nodePublishToCluster(bool shard, struct str channel, struct str message) {
    if (!cluster_enabled) return false;
    engineSendPublish(&cluster_engine, shard, channel, message, clusterNow());
    return true;
}

static const struct engineEnv env = {
    .connect = nodeEnvConnect,
    .close = nodeEnvClose,
    .send = nodeEnvSend,
    .save = nodeEnvSave,
    .random = nodeEnvRandom,
    .replication = nodeEnvReplication,
    .follow = nodeEnvFollow,
    .pause = nodeEnvPause,
    .holdAcks = nodeEnvHoldAcks,
    .history = nodeEnvHistory,
    .keysInSlot = nodeEnvKeysInSlot,
    .deleteSlot = nodeEnvDeleteSlot,
    .slotsChanged = nodeEnvSlotsChanged,
    .stateChanged = nodeEnvStateChanged,
    .slotGranted = nodeEnvSlotGranted,
    .published = nodeEnvPublished,
    .moduleMessage = nodeEnvModuleMessage,
    .log = nodeEnvLog,
};

/* ---- Events for the engine ---- */

static bool nodeMayAcceptLink(void) {
    return !(db_loading && nodeIsPrimary(clusterMyself()));
}
static void nodeOnLinkUp(struct busLink *link) {
    engineLinkUp(&cluster_engine, link, clusterNow());
}
static void nodeOnLinkDown(struct busLink *link) {
    engineLinkDown(&cluster_engine, link, clusterNow());
}
/* Ignores a message, and closes its link if DEBUG says so. Returns false in that case. */
static bool nodeDropMessage(struct busLink *link) {
    if (!cluster_debug.close_on_drop) return true;
    nodeOnLinkDown(link);
    return false;
}
static bool nodeOnMessage(struct busLink *link, const uint8_t *packet, uint32_t len) {
    if (__builtin_expect(clusterDebugDrops(packet), 0)) return nodeDropMessage(link);
    return engineReceive(&cluster_engine, link, packet, len, clusterNow());
}
static const struct busLinkHandlers link_handlers = {nodeMayAcceptLink, nodeOnLinkUp, nodeOnLinkDown,
                                                     nodeOnMessage};

static void nodeTick(void) {
    if (!cluster_enabled || !clusterMyself()) return;
    links_over_limit += (uint64_t)busLinksEnforceLimit((size_t)cluster_settings.link_limit);
    busLinksDropUnidentified(engineHandshakeTimeout(&cluster_engine));
    engineTick(&cluster_engine, clusterNow());
}

static void nodeEndOfTurn(void) {
    if (!cluster_enabled || !clusterMyself()) return;
    if (deferred.slots_any || deferred.follow) nodeDoDeferred();
    migrationJobsEndOfTurn();
    engineFlush(&cluster_engine, clusterNow());
    busLinksFlush();
}

uint64_t clusterLinksOverLimit(void) {
    return links_over_limit;
}

static void nodeResetStats(void) {
    cluster_engine.stats = (struct busStats){0};
    links_over_limit = 0;
}

/* ---- The start ---- */

#define BIND_MAX 16

static void nodeStartBus(void) {
    const char *addresses[BIND_MAX];
    int count = 0, words = 0;
    char err[256] = "";
    sds bind = configGet("bind");
    sds *list = bind ? sdssplitargs(bind, sdslen(bind), &words) : NULL;
    for (int i = 0; i < words && count < BIND_MAX; i++) addresses[count++] = list[i];
    if (count == 0) {
        addresses[count++] = "*";
        addresses[count++] = "-::*";
    }
    int port = clusterBusPort();
    if (port > UINT16_MAX) {
        serverLog(LL_WARNING,
                  "Cluster port number is out of range: it is the port + 10000, so that must be 55535 or "
                  "less. Or set cluster-port.");
        exit(1);
    }
    if (!busLinksListen(&link_handlers, addresses, count, port, cluster_engine.settings.tls, err,
                        sizeof err)) {
        serverLog(LL_WARNING, "Listening on port %d for the cluster bus failed, so the server exits. %s",
                  port, err);
        exit(1);
    }
    if (list) sdsfreesplitres(list, words);
    sdsfree(bind);
}

static struct str nodeGetMyId(void) {
    return strN(clusterMyself()->id, NODE_ID_LEN);
}
static bool nodeIsKnown(struct str id) {
    const struct clusterNode *n = topologyFind(clusterTopology(), id.ptr);
    return n && !(n->flags & NODE_HANDSHAKE);
}
static const struct clusterMembership membership = {nodeGetMyId, nodeIsKnown};

void nodeStart(void) {
    struct engineSettings settings = cluster_engine.settings; /* directives have been read into them */
    engineInit(&cluster_engine, &env, NULL, clusterNow());
    cluster_engine.settings = settings;
    clusterSettingsApply();
    if (nodesFileLoad(clusterTopology())) {
        serverLog(LL_NOTICE, "The cluster configuration is loaded; the ID of this node is %s",
                  clusterMyself()->id);
    } else {
        engineCreateMyself(&cluster_engine);
        serverLog(LL_NOTICE, "There is no cluster configuration yet; this new node gets the ID %s",
                  clusterMyself()->id);
    }
    clusterSettingsApply();
    engineStart(&cluster_engine);
    cluster_membership = &membership;
    nodeEnvSave(NULL, true);
    /* An RDB file contains its position in the primary's stream, from which a replica continues. */
    if (clusterMyself()->primary && !persistenceAofOn()) nodeEnvFollow(NULL, clusterMyself()->primary, false);
    nodeStartBus();
}

/* Returns whether the loaded data belongs to the shard of `primary`: a replica that had just moved may have
 * the data of another shard in its files. */
static bool nodeHasDataOf(const struct clusterNode *primary) {
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (clusterTopology()->owner[slot] == primary && slotCountKeys(slot)) return true;
    }
    return false;
}

void nodeDataLoaded(void) {
    struct clusterNode *primary = clusterMyself()->primary;
    cluster_engine.started_ms = clusterNow();
    migrationDataLoaded();
    if (primary) {
        nodeEnvFollow(NULL, primary, false);
        replication_control.setDataWhole(nodeHasDataOf(primary));
    } else {
        slotsReconcileKeys();
    }
    engineAddTodo(&cluster_engine, TODO_STATE);
}

void nodeInit(void) {
    cronRegister(nodeTick, ENGINE_TICK_MS);
    beforeSleepRegister(nodeEndOfTurn);
    turnAfterPriority(nodeEndOfTurn);
    pubsub_to_cluster = nodePublishToCluster;
    configOnResetStat(nodeResetStats);
    memoryAddPart(MEMORY_CLUSTER_LINKS, busLinksMemory);
}
