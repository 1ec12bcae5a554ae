/* SPDX-License-Identifier: BSD-3-Clause */
/* replication.c - see replication.h. */
#include "repl/replication.h"

#include "command/command.h"
#include "commands/cmd_replication.h"
#include "data/server_state/role.h"
#include "repl/failover.h"
#include "repl/full_sync.h"
#include "repl/history.h"
#include "repl/link.h"
#include "repl/link_stream.h"
#include "repl/link_wire.h"
#include "repl/receive.h"
#include "repl/repl_settings.h"
#include "repl/replicas.h"
#include "repl/rules.h"

static void replicationWire(void) {
    replica_hooks = (struct replicaHooks){
        .requestSnapshot = fullSyncRequest,
        .forgetSnapshot = fullSyncForget,
        .writeSnapshot = fullSyncWrite,
        .hasSnapshotOutput = fullSyncHasOutput,
        .joinChannels = fullSyncJoinChannels,
        .streamTaken = fullSyncStreamTaken,
        .waitingPsync = fullSyncWaitingPsync,
        .limitPlaces = fullSyncLimitPlaces,
        .heldPlaces = fullSyncPlaces,
        .isFailingOver = failoverRunning,
        .primaryIsDown = linkIsDown,
        .becomePrimary = linkBecomePrimary,
        .acknowledge = linkStreamAck,
    };
}

static int replicationReplicasOnline(void) {
    return replicasWith(0, false);
}

static void replicationDescribe(struct replicationState *now) {
    enum linkState link = primary_link.state;
    *now = (struct replicationState){
        .host = primary_link.host,
        .port = primary_link.host ? primary_link.port : 0,
        .id = history.id,
        .id2 = history.id2,
        .offset = historyOffset(),
        .offset2 = history.second_offset,
        .read_only = replica_read_only,
        .link = link == LINK_CONNECTED    ? REPLICATION_UP
                : link == LINK_TRANSFER   ? REPLICATION_TRANSFER
                : link == LINK_CONNECTING ? REPLICATION_CONNECTING
                                          : REPLICATION_DOWN,
    };
}

static void replicationGiveControl(void) {
    replication_control = (struct replicationControl){
        .offset = historyOffset,
        .linkIsUp = linkIsUp,
        .dataWhole = linkDataWhole,
        .setDataWhole = linkSetDataWhole,
        .follow = linkFollowQuietly,
        .becomePrimary = linkBecomePrimary,
        .replicas = replicationReplicasOnline,
        .successor = replicasSuccessor,
        .describe = replicationDescribe,
        .forget = replicasForget,
    };
}

void replicationInit(void) {
    commandRegister(commandsReplication);
    replicationWire();
    replicationGiveControl();
    settingsInit();
    historyInit();
    replicasInit();
    fullSyncInit();
    linkInit();
    receiveInit();
    failoverInit();
    link_is_handed_over = failoverRunning;
    rulesInit();
}

void replicationBegin(void) {
    rulesStart();
}

void replicationStart(void) {
    linkStart();
}
