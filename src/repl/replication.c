/* SPDX-License-Identifier: BSD-3-Clause */
/* replication.c - see replication.h. */
#include "repl/replication.h"

#include "command/command.h"
#include "commands/cmd_replication.h"
#include "data/server_state/role.h"
#include "repl/ack_pause.h"
#include "repl/failover.h"
#include "repl/full_sync.h"
#include "repl/full_sync_direct.h"
#include "repl/history.h"
#include "repl/link.h"
#include "repl/link_stream.h"
#include "repl/link_wire.h"
#include "repl/receive.h"
#include "repl/repl_settings.h"
#include "repl/repl_throttle.h"
#include "repl/replicas.h"
#include "repl/rules.h"
#include "repl/sync_gate.h"

static void replicationSetReplicaHooks(void) {
    replica_hooks = (struct replicaHooks){
        .requestSnapshot = fullSyncRequest,
        .forgetSnapshot = fullSyncForget,
        .writeSnapshot = fullSyncWrite,
        .hasSnapshotOutput = fullSyncHasOutput,
        .snapshotAwaitsMain = syncDirectIsWaiting,
        .mainReadsStream = syncDirectMainReads,
        .countAwaitedMains = syncDirectCountAwaited,
        .countKeptReaders = syncDirectCountReaders,
        .limitKeptStream = syncDirectLimit,
        .dropKeptStream = syncDirectDropAll,
        .isFailingOver = failoverRunning,
        .primaryIsDown = linkIsDown,
        .becomePrimary = linkBecomePrimary,
        .acknowledge = linkStreamAck,
    };
}

static int replicationCountOnline(void) {
    return replicasCountAcked(0, false);
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

/* IDs are random, so a part of one is unique enough. */
static uint64_t replicationHistoryNumber(void) {
    uint64_t number = 0;
    for (int i = 0; i < 16; i++) number = number << 4 | (uint64_t)charHexDigit(history.id[i]);
    return number;
}

static void replicationSetControl(void) {
    replication_control = (struct replicationControl){
        .offset = historyOffset,
        .linkIsUp = linkIsUp,
        .dataWhole = linkDataIsWhole,
        .setDataWhole = linkSetDataWhole,
        .follow = linkFollowUnlessSame,
        .becomePrimary = linkBecomePrimary,
        .holdAcks = ackPauseForElection,
        .history = replicationHistoryNumber,
        .replicas = replicationCountOnline,
        .successor = replicasSuccessor,
        .describe = replicationDescribe,
        .forget = replicasDropHistory,
    };
}

void replicationInit(void) {
    commandRegister(commandsReplication);
    replicationSetReplicaHooks();
    replicationSetControl();
    replSettingsInit();
    historyInit();
    syncGateInit(rulesUpdate); /* before replicasInit: it requests acknowledgements, which that one sends */
    replicasInit();
    fullSyncInit();
    replThrottleInit();
    linkInit();
    receiveInit();
    failoverInit();
    link_failover_running = failoverRunning;
    rulesInit();
}

void replicationBegin(void) {
    rulesStart();
}

void replicationStart(void) {
    linkStart();
}
