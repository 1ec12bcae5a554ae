/* SPDX-License-Identifier: BSD-3-Clause */
/* node.c - the engine in the environment: what it asks for is done here, and it is told what happens; see
 * cluster.h.
 *
 * Within a turn of the loop messages and commands change the topology; at its end, before any reply leaves,
 * the engine does what it has put off (nodes.conf first of all), and the links are flushed. */
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

/* This holds what a message of the bus has caused in the middle of a script or of a load, and is done at the
 * end of the turn: until then the data stands still. */
static struct {
    struct slotSet slots;              /* to be emptied */
    bool slots_any, follow, full_sync; /* full_sync: as nodeEnvFollow got it */
} put_off;

/* ---- What the engine asks for: links, file, chance ---- */

static struct busLink *nodeEnvConnect(void *w, const char *ip, uint16_t bus_port) {
    (void)w;
    if (cluster_debug.no_reconnection) return NULL;
    return busLinkConnect(ip, bus_port);
}
static void nodeEnvClose(void *w, struct busLink *link) {
    (void)w;
    busLinkClose(link);
}
static void nodeEnvSend(void *w, struct busLink *link, const char *bytes, size_t len) {
    (void)w;
    busLinkSend(link, bytes, len);
}

static void nodeEnvSave(void *w, bool sync) {
    (void)w;
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

static uint64_t nodeEnvRandom(void *w) {
    (void)w;
    return randomU64();
}
static void nodeEnvLog(void *w, int level, const char *line) {
    (void)w;
    serverLog(level, "%s", line);
}

/* ---- Replication ---- */

static struct engineReplication nodeEnvReplication(void *w) {
    (void)w;
    const struct replicationControl *r = &replication_control;
    struct engineReplication now = {.offset = r->offset(), .link_up = roleIsReplica() && r->linkIsUp()};
    now.whole = r->dataWhole(&now.data_ms);
    return now;
}

/* A primary whose address is not known is followed when it is found: this is called again then. */
static void nodeEnvFollow(void *w, struct clusterNode *primary, bool full_sync) {
    (void)w;
    const struct replicationControl *r = &replication_control;
    if (!primary) {
        r->becomePrimary();
        return;
    }
    if (busyNow()) { /* what the script has written so far has not been propagated */
        put_off.follow = true;
        put_off.full_sync |= full_sync;
        return;
    }
    bool known = *primary->ip;
    if (known)
        r->follow(strOf(primary->ip), dial_settings.replication_tls ? primary->tls_port : primary->tcp_port);
    /* The link to the same address may have been left as it is, and be up. */
    if (full_sync && !(known && r->linkIsUp())) r->setDataWhole(false);
}

static void nodeEnvPause(void *w, int64_t until_ms) {
    (void)w;
    if (until_ms)
        pauseClients(PAUSE_FAILOVER, PAUSE_WRITES, until_ms);
    else
        unpauseClients(PAUSE_FAILOVER);
}

/* ---- Data ---- */

static uint64_t nodeEnvKeysInSlot(void *w, int slot) {
    (void)w;
    return slotKeys(slot);
}
static void nodeEnvDeleteSlot(void *w, int slot) {
    (void)w;
    if (!turnIsNested()) {
        slotDropKeys(slot);
        return;
    }
    slotSetAdd(&put_off.slots, slot);
    put_off.slots_any = true;
}

/* The topology may have changed since: a slot may be ours again, and a replica leaves its data to its
 * primary.
 */
static void nodeDoPutOff(void) {
    struct clusterNode *me = clusterMyself();
    if (put_off.slots_any && nodeIsPrimary(me)) {
        for (int slot = 0; slot < KEY_SLOTS; slot++) {
            if (slotSetHas(&put_off.slots, slot) && clusterTopology()->owner[slot] != me) slotDropKeys(slot);
        }
    }
    bool follow = put_off.follow && nodeIsReplica(me), full_sync = put_off.full_sync;
    memset(&put_off, 0, sizeof put_off);
    if (follow) nodeEnvFollow(NULL, me->primary, full_sync);
}
static void nodeEnvSlotsChanged(void *w) {
    (void)w;
    migrationSlotsChanged();
    redirectRecheck();
    slotStatsRecheck();
}
static void nodeEnvStateChanged(void *w, bool ok) {
    (void)w, (void)ok;
    redirectRecheck();
}
static bool nodeEnvSlotGranted(void *w, int slot, const struct clusterNode *to) {
    (void)w;
    return migrationGranted(slot, to);
}

/* ---- What is not about the cluster itself ---- */

static void nodeEnvPublished(void *w, struct clusterNode *by, bool shard, struct str channel,
                             struct str message) {
    (void)w, (void)by;
    if (shard)
        pubsubPublishShard(channel, message);
    else
        pubsubPublish(channel, message);
}
static void nodeEnvModule(void *w, struct clusterNode *by, uint64_t id, uint8_t type, struct str payload) {
    (void)w;
    if (cluster_view_message) cluster_view_message(by->id, id, type, payload);
}

/* What a client of ours publishes. */
static bool nodeToCluster(bool shard, struct str channel, struct str message) {
    if (!cluster_enabled) return false;
    enginePublish(&cluster_engine, shard, channel, message, clusterNow());
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
    .keysInSlot = nodeEnvKeysInSlot,
    .deleteSlot = nodeEnvDeleteSlot,
    .slotsChanged = nodeEnvSlotsChanged,
    .stateChanged = nodeEnvStateChanged,
    .slotGranted = nodeEnvSlotGranted,
    .published = nodeEnvPublished,
    .moduleMessage = nodeEnvModule,
    .log = nodeEnvLog,
};

/* ---- What happens in the environment ---- */

static bool nodeLinkAccepts(void) {
    return !(db_loading && nodeIsPrimary(clusterMyself()));
}
static void nodeLinkUp(struct busLink *link) {
    engineLinkUp(&cluster_engine, link, clusterNow());
}
static void nodeLinkDown(struct busLink *link) {
    engineLinkDown(&cluster_engine, link, clusterNow());
}
/* A message that DEBUG has us not hear, and maybe its link with it. */
static bool nodeDropped(struct busLink *link) {
    if (!cluster_debug.close_on_drop) return true;
    nodeLinkDown(link);
    return false;
}
static bool nodeLinkMessage(struct busLink *link, const uint8_t *packet, uint32_t len) {
    if (__builtin_expect(clusterDebugDrops(packet), 0)) return nodeDropped(link);
    return engineReceive(&cluster_engine, link, packet, len, clusterNow());
}
static const struct busLinkHandlers link_handlers = {nodeLinkAccepts, nodeLinkUp, nodeLinkDown,
                                                     nodeLinkMessage};

static void nodeTick(void) {
    if (!cluster_enabled || !clusterMyself()) return;
    links_over_limit += (uint64_t)busLinksEnforceLimit((size_t)cluster_settings.link_limit);
    busLinksDropStrangers(handshakeTimeout(&cluster_engine));
    engineTick(&cluster_engine, clusterNow());
}

static void nodeEndOfTurn(void) {
    if (!cluster_enabled || !clusterMyself()) return;
    if (put_off.slots_any || put_off.follow) nodeDoPutOff();
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

static struct str nodeMyId(void) {
    return strN(clusterMyself()->id, NODE_ID_LEN);
}
static bool nodeKnows(struct str id) {
    const struct clusterNode *n = topologyFind(clusterTopology(), id.ptr);
    return n && !(n->flags & NODE_HANDSHAKE);
}
static const struct clusterMembership membership = {nodeMyId, nodeKnows};

void nodeStart(void) {
    struct engineSettings settings = cluster_engine.settings; /* directives have been read into it */
    engineInit(&cluster_engine, &env, NULL, clusterNow());
    cluster_engine.settings = settings;
    clusterSettingsApply();
    if (nodesFileLoad(clusterTopology())) {
        serverLog(LL_NOTICE, "The cluster configuration is loaded; the ID of this node is %s",
                  clusterMyself()->id);
    } else {
        engineCreated(&cluster_engine);
        serverLog(LL_NOTICE, "There is no cluster configuration yet; this new node gets the ID %s",
                  clusterMyself()->id);
    }
    clusterSettingsApply();
    cluster_membership = &membership;
    nodeEnvSave(NULL, true);
    /* An RDB file tells where in its primary's stream it stands, and a replica goes on from there. */
    if (clusterMyself()->primary && !persistenceAofOn()) nodeEnvFollow(NULL, clusterMyself()->primary, false);
    nodeStartBus();
}

/* Files of a replica hold what its primary had; or, when it had just moved, what that of another shard had.
 */
static bool nodeHasKeysOf(const struct clusterNode *primary) {
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (clusterTopology()->owner[slot] == primary && slotKeys(slot)) return true;
    }
    return false;
}

void nodeDataLoaded(void) {
    struct clusterNode *primary = clusterMyself()->primary;
    cluster_engine.started_ms = clusterNow();
    migrationDataLoaded();
    if (primary) {
        nodeEnvFollow(NULL, primary, false);
        replication_control.setDataWhole(nodeHasKeysOf(primary));
    } else {
        slotsOfKeysFound();
    }
    engineTodo(&cluster_engine, TODO_STATE);
}

void nodeInit(void) {
    cronRegister(nodeTick, ENGINE_TICK_MS);
    beforeSleepRegister(nodeEndOfTurn);
    pubsub_to_cluster = nodeToCluster;
    configOnResetStat(nodeResetStats);
    memoryAddPart(MEMORY_CLUSTER_LINKS, busLinksMemory);
}
