/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster.c - the start and the end of the cluster module, and the table of CLUSTER's
 * subcommands; see cluster.h. */
#include "cluster/cluster.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "client/reply.h"
#include "cluster/cluster_commands.h"
#include "cluster/cluster_debug.h"
#include "cluster/cluster_setslot.h"
#include "cluster/cluster_settings.h"
#include "cluster/migration_jobs.h"
#include "cluster/node.h"
#include "cluster/nodes_file.h"
#include "cluster/redirect.h"
#include "cluster/slot_stats.h"
#include "cluster/view.h"
#include "command/command.h"
#include "command/propagate.h"
#include "commands/cmd_cluster.h"
#include "data/keyspace/db.h"
#include "data/server_state/role.h"
#include "registry/info.h"
#include "types/keys/dump.h"

static const struct {
    const char *name;
    clusterHandler *handler;
} handlers[] = {
    {"addslots", clusterAddslotsCommand},
    {"addslotsrange", clusterAddslotsrangeCommand},
    {"bumpepoch", clusterBumpepochCommand},
    {"count-failure-reports", clusterCountFailureReportsCommand},
    {"countkeysinslot", clusterCountkeysinslotCommand},
    {"delslots", clusterDelslotsCommand},
    {"delslotsrange", clusterDelslotsrangeCommand},
    {"failover", clusterFailoverCommand},
    {"flushslot", clusterFlushslotCommand},
    {"flushslots", clusterFlushslotsCommand},
    {"forget", clusterForgetCommand},
    {"getkeysinslot", clusterGetkeysinslotCommand},
    {"help", clusterHelpCommand},
    {"info", clusterInfoCommand},
    {"keyslot", clusterKeyslotCommand},
    {"links", clusterLinksCommand},
    {"meet", clusterMeetCommand},
    {"myid", clusterMyidCommand},
    {"myshardid", clusterMyshardidCommand},
    {"nodes", clusterNodesCommand},
    {"replicas", clusterReplicasCommand},
    {"replicate", clusterReplicateCommand},
    {"reset", clusterResetCommand},
    {"saveconfig", clusterSaveconfigCommand},
    {"set-config-epoch", clusterSetConfigEpochCommand},
    {"setslot", clusterSetslotCommand},
    {"shards", clusterShardsCommand},
    {"slaves", clusterReplicasCommand},
    {"slot-stats", clusterSlotStatsCommand},
    {"slots", clusterSlotsCommand},
    {"migrateslots", clusterMigrateslotsCommand},
    {"getslotmigrations", clusterGetslotmigrationsCommand},
    {"cancelslotmigrations", clusterCancelslotmigrationsCommand},
    {"syncslots", clusterSyncslotsCommand},
};

static const char err_disabled[] = "ERR This instance has cluster support disabled";

static clusterHandler *handler_of[COMMAND_IDS_MAX]; /* by the command's id */

static void clusterHandlersInit(void) {
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        sds fullname = sdscat(sdsnew("cluster|"), handlers[i].name);
        struct serverCommand *cmd = commandLookupName(strN(fullname, sdslen(fullname)));
        if (cmd) handler_of[cmd->id] = handlers[i].handler; /* a Sentinel does not have it */
        sdsfree(fullname);
    }
}

/* Runs all subcommands of CLUSTER. They need a cluster, except for KEYSLOT, which only computes. */
void clusterCommand(struct client *c) {
    clusterHandler *handler = handler_of[c->cmd->id];
    debugAssert(handler);
    if (cluster_enabled || handler == clusterKeyslotCommand)
        handler(c);
    else
        replyError(c, err_disabled);
}

void askingCommand(struct client *c) {
    if (!cluster_enabled) {
        replyError(c, err_disabled);
        return;
    }
    redirectAllowAsking(c);
    replyOk(c);
}

void readonlyCommand(struct client *c) {
    c->flags |= CLIENT_READONLY;
    replyOk(c);
}

void readwriteCommand(struct client *c) {
    c->flags &= ~(uint32_t)CLIENT_READONLY;
    replyOk(c);
}

/* ---- INFO ---- */

static sds clusterInfoCluster(sds s) {
    return infoField(s, "cluster_enabled:%d", cluster_enabled);
}
static sds clusterInfoSection(sds s) {
    return cluster_enabled ? clusterInfoText(s) : s;
}
/* A Sentinel knows no nodes, not even itself. */
size_t clusterConnections(void) {
    size_t nodes = (size_t)clusterTopology()->count;
    return nodes ? 2 * (nodes - 1) : 0;
}
static sds clusterInfoClients(sds s) {
    return infoField(s, "cluster_connections:%zu", clusterConnections());
}

void clusterInit(void) {
    clusterSettingsInit();
    nodeInit();
    redirectInit();
    slotStatsInit();
    clusterDebugInit();
    setslotInit();
    migrationJobsInit();
    viewInit();
    infoRegister("cluster", clusterInfoCluster);
    infoRegister("cluster_info", clusterInfoSection);
    infoRegister("clients", clusterInfoClients);
    commandRegister(commandsCluster);
    clusterHandlersInit();
}

void clusterBegin(void) {
    if (cluster_enabled) dbUseSlots(cluster_settings.databases);
}

void clusterStart(void) {
    if (!cluster_enabled) return;
    redirectStart();
    nodeStart();
    slotStatsRecheck();
    migrate_within_cluster = true;
}

void clusterDataLoaded(void) {
    if (cluster_enabled) nodeDataLoaded();
}

bool clusterMayExit(bool forced) {
    if (!cluster_enabled || !clusterMyself() || !nodeIsVoter(clusterMyself())) return true;
    serverLog(LL_WARNING, "This node is a voting primary; without it the cluster may lose its majority. %s",
              forced ? "It shuts down nevertheless." : "It does not shut down.");
    return forced;
}

/* Propagates to a replica which has all data that it is the primary from now on. */
static void clusterHandOver(uint64_t offset) {
    bool legacy;
    if (!nodeIsVoter(clusterMyself())) return;
    const char *id = replication_control.successor(offset, &legacy);
    if (legacy) {
        serverLog(LL_NOTICE, "Unable to perform auto failover on shutdown since there are legacy replicas.");
    } else if (!id) {
        serverLog(LL_NOTICE, "Unable to find a replica to perform the auto failover on shutdown.");
    } else {
        serverLog(LL_NOTICE, "This primary shuts down and hands its slots to replica %s", id);
        (void)propagateToReplicas(
            5, (struct str[]){STR("CLUSTER"), STR("FAILOVER"), STR("FORCE"), STR("REPLICAID"), strOf(id)});
    }
}

void clusterOnExit(bool hand_over, uint64_t offset) {
    if (!cluster_enabled || !clusterMyself()) return; /* a Sentinel is no node */
    if (hand_over) clusterHandOver(offset);
    serverLog(LL_NOTICE, "The cluster configuration file is saved before the server exits");
    (void)nodesFileSave(clusterTopology(), true);
}
