/* replication.c - see replication.h. */
#include "repl/replication.h"

#include "command/command.h"
#include "commands/replication.h"
#include "data/role.h"
#include "repl/failover.h"
#include "repl/full_sync.h"
#include "repl/history.h"
#include "repl/link.h"
#include "repl/link_stream.h"
#include "repl/link_wire.h"
#include "repl/receive.h"
#include "repl/replicas.h"
#include "repl/rules.h"
#include "repl/settings.h"

static void wire(void) {
    replica_hooks = (struct replicaHooks){
        .requestSnapshot = fullSyncRequest,
        .forgetSnapshot = fullSyncForget,
        .writeSnapshot = fullSyncWrite,
        .hasSnapshotOutput = fullSyncHasOutput,
        .joinChannels = fullSyncJoinChannels,
        .waitingPsync = fullSyncWaitingPsync,
        .heldPlaces = fullSyncPlaces,
        .isFailingOver = failoverRunning,
        .primaryIsDown = linkIsDown,
        .becomePrimary = linkBecomePrimary,
        .acknowledge = linkStreamAck,
    };
}

static int replicasOnline(void) {
    return replicasWith(0, false);
}

static void giveControl(void) {
    replication_control = (struct replicationControl){
        .offset = historyOffset,
        .linkIsUp = linkIsUp,
        .dataMs = linkDataMs,
        .isEncrypted = wireIsEncrypted,
        .follow = linkFollowQuietly,
        .becomePrimary = linkBecomePrimary,
        .replicas = replicasOnline,
        .successor = replicasSuccessor,
    };
}

void replicationInit(void) {
    commandRegister(commandsReplication);
    wire();
    giveControl();
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

void replicationStart(void) {
    rulesStart();
    linkStart();
}
