/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync.c - see full_sync.h.
 *
 *     fullSyncRequest ─┬─ a child writes the file that it needs, and another replica
 *                      │  waits for it already                                          ─▶ joins that one
 *                      ├─ no child, and nobody else to be expected (repl-diskless-sync-delay) ─▶ start
 *                      └─ else it waits
 *     at each tick     the class of the one that waits first: start, when it is time */
#include "repl/full_sync.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "data/child.h"
#include "data/server_state/persistence.h"
#include "net/tls.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "repl/full_sync_direct.h"
#include "repl/full_sync_file.h"
#include "repl/full_sync_pipe.h"
#include "repl/history.h"
#include "repl/repl_settings.h"

#define SET              CONFIG_MODIFIABLE
#define TIMER_MS         1000
#define VERSION_OF_TODAY 0x090000 /* who is as new as this reads what Valkey 9 writes */

static int64_t delay_s, max_replicas;
static bool file_is_for_replicas; /* the child that writes one was started here */

/* ---- Classes: who can take the same bytes ---- */

struct syncClass {
    int version; /* of RDB */
    bool without_functions, without_keys, rdb_channel;
};

/* Who cannot tell the end of a stream by a mark gets the file as we write it for ourselves. Who has not told
 * its version may be as old as Redis 7.0. */
static int fullSyncVersionFor(const struct replicaClient *r) {
    if (!(r->capa & CAPA_EOF) || r->version >= VERSION_OF_TODAY) return RDB_VERSION_EXPIRING;
    return r->version ? RDB_VERSION : RDB_VERSION_REDIS_7;
}

static struct syncClass fullSyncClassOf(const struct replicaClient *r) {
    return (struct syncClass){fullSyncVersionFor(r), r->without_functions, r->without_keys, r->rdb_channel};
}

static bool fullSyncSameClass(struct syncClass a, struct syncClass b) {
    return a.version == b.version && a.without_functions == b.without_functions &&
           a.without_keys == b.without_keys && a.rdb_channel == b.rdb_channel;
}

static bool fullSyncNeedsSockets(struct syncClass class) {
    return class.version != RDB_VERSION_EXPIRING || class.without_functions || class.without_keys ||
           class.rdb_channel;
}

static bool fullSyncWaits(const struct replicaClient *r) {
    return r->state == REPLICA_WAIT_START && !(r->client->flags & CLIENT_CLOSE_ASAP);
}

static struct syncMembers fullSyncMembersOf(struct syncClass class) {
    struct syncMembers m = {zmalloc((replicas.length + 1) * sizeof *m.of), 0};
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (fullSyncWaits(r) && fullSyncSameClass(class, fullSyncClassOf(r))) m.of[m.count++] = r;
    }
    return m;
}

/* ---- The start ---- */

static bool fullSyncAllHave(struct syncMembers members, unsigned capa) {
    for (int i = 0; i < members.count; i++) {
        if (!(members.of[i]->capa & capa)) return false;
    }
    return true;
}

/* The transport checks what it carries, and they rely on it. */
static bool fullSyncNeedNoChecksum(struct syncMembers members) {
    for (int i = 0; i < members.count; i++) {
        if (!tlsIs(members.of[i]->client->conn)) return false;
    }
    return fullSyncAllHave(members, CAPA_SKIP_RDB_CHECKSUM);
}

static void fullSyncStartFailed(struct syncMembers members, const char *err) {
    serverLog(LL_WARNING, "The snapshot for replicas could not be started: %s", err);
    for (int i = 0; i < members.count; i++) {
        struct client *c = members.of[i]->client;
        replicaSend(members.of[i], "-ERR BGSAVE failed, replication can't continue\r\n");
        clientCloseAfterReply(c);
    }
}

static bool fullSyncStartChild(const struct syncPlan *plan, struct syncMembers members, bool sockets,
                               bool channels, const char **err) {
    if (!sockets) return persistence.saveInBackground(&plan->options, err);
    if (!(channels ? syncDirectStart : syncPipeStart)(plan, members, err)) return false;
    serverLog(LL_NOTICE, "Background RDB transfer started by pid %ld %s%s", (long)childPid(),
              channels ? "to direct socket to replica" : "to pipe through parent process",
              plan->options.without_checksum ? " while skipping RDB checksum for this transfer" : "");
    return true;
}

/* What the child has is what we have now, and the stream goes on from here. */
static void fullSyncStart(struct syncClass class) {
    struct syncMembers members = fullSyncMembersOf(class);
    bool sockets = fullSyncAllHave(members, CAPA_EOF) && (repl_diskless_sync || fullSyncNeedsSockets(class));
    const char *err = NULL;
    struct syncPlan plan = {.options = {.version = sockets ? class.version : 0,
                                        .without_functions = class.without_functions,
                                        .without_keys = class.without_keys,
                                        .without_checksum = sockets && fullSyncNeedNoChecksum(members),
                                        .replication = &plan.replication}};
    historyOfSave(&plan.replication);
    randomHexChars(plan.mark, SYNC_MARK);
    serverLog(LL_NOTICE, "A snapshot for replicas begins: it is written to %s (%s)",
              sockets ? "the sockets of the replicas" : "disk",
              class.rdb_channel ? "dual channel" : "single channel");
    if (fullSyncStartChild(&plan, members, sockets, class.rdb_channel, &err)) {
        file_is_for_replicas = !sockets;
        for (int i = 0; i < members.count; i++) replicaSetup(members.of[i], historyOffset());
    } else {
        fullSyncStartFailed(members, err);
    }
    zfree(members.of);
}

/* ---- A request ---- */

/* Waits for the file that a child writes now. */
static bool fullSyncWaitsForFile(const struct replicaClient *r) {
    return r->state == REPLICA_WAIT_END && !r->transfer;
}

/* Whose snapshot would do for r as well? */
static const struct replicaClient *fullSyncWhoseFits(const struct replicaClient *r) {
    listForEach(&replicas, it) {
        const struct replicaClient *other = listEntry(it, struct replicaClient, node);
        if (fullSyncWaitsForFile(other) && (r->capa & other->capa) == other->capa &&
            fullSyncSameClass(fullSyncClassOf(r), fullSyncClassOf(other)) &&
            (!other->rdb_only || r->rdb_only))
            return other;
    }
    return NULL;
}

static void fullSyncAttach(struct replicaClient *r) {
    const struct replicaClient *other = fullSyncWhoseFits(r);
    if (!other) {
        serverLog(LL_NOTICE, "The running snapshot does not suit the replica, which waits for the next one");
        return;
    }
    if (replicaSetup(r, other->start_offset))
        serverLog(LL_NOTICE, "The replica waits for the end of the running snapshot");
}

static bool fullSyncToSockets(void) {
    return syncPipeRunning() || syncDirectRunning();
}

void fullSyncRequest(struct replicaClient *r) {
    serverAssert(r->state == REPLICA_WAIT_START && !r->transfer);
    if (fullSyncToSockets())
        serverLog(LL_NOTICE, "Current BGSAVE has socket target. Waiting for next BGSAVE for SYNC");
    else if (childRunning() == CHILD_RDB)
        fullSyncAttach(r);
    else if (repl_diskless_sync && r->capa & CAPA_EOF && delay_s)
        serverLog(LL_NOTICE,
                  "The snapshot waits for repl-diskless-sync-delay, so that more replicas can share it");
    else if (childRunning() != CHILD_NONE)
        serverLog(LL_NOTICE, "The snapshot for the replica waits for the end of another child process");
    else
        fullSyncStart(fullSyncClassOf(r));
}

/* ---- The file is there ---- */

static void fullSyncOnSaved(bool success) {
    if (success) syncFileMade(file_is_for_replicas);
    file_is_for_replicas = false;
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (!fullSyncWaitsForFile(r) || r->client->flags & CLIENT_CLOSE_ASAP) continue;
        if (!success)
            transferChildFailed(r);
        else if (!syncFileSend(r))
            transferFailed(r);
    }
}

/* ---- A replica is sent something, or goes ---- */

bool fullSyncWrite(struct replicaClient *r) {
    return !r->transfer || transferOf(r)->way->write(r);
}

bool fullSyncHasOutput(const struct replicaClient *r) {
    return r->transfer && transferOf(r)->way->waits(r);
}

static bool fullSyncIsAnyWaitingForFile(const struct replicaClient *but) {
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (r != but && fullSyncWaitsForFile(r)) return true;
    }
    return false;
}

/* A file that was made for replicas only is of no use without them. */
void fullSyncForget(struct replicaClient *r) {
    if (r->rdb_channel) syncDirectGone(r);
    if (r->transfer) {
        transferOf(r)->way->leave(r);
        return;
    }
    if (!file_is_for_replicas || !fullSyncWaitsForFile(r)) return;
    if (persistence.hasSavePoints() || fullSyncIsAnyWaitingForFile(r)) return;
    serverLog(
        LL_NOTICE,
        "The last replica that waited for the snapshot is gone and nothing else needs it, so the snapshot "
        "is stopped");
    childStop();
}

bool fullSyncJoinChannels(struct replicaClient *main, uint64_t rdb_client_id) {
    if (!syncDirectIsWaiting(rdb_client_id)) return false;
    main->rdb_client_id = rdb_client_id;
    return true;
}

void fullSyncStreamTaken(const struct replicaClient *main) {
    serverAssert(main->rdb_client_id);
    syncDirectCame(main->rdb_client_id);
}

void fullSyncLimitPlaces(void) {
    syncDirectLimit();
}

size_t fullSyncWaitingPsync(void) {
    return syncDirectWaiting();
}

size_t fullSyncPlaces(void) {
    return syncDirectPlaces();
}

/* ---- Jobs ---- */

static bool fullSyncIsTime(struct syncClass class, bool diskless) {
    int count = 0;
    int64_t first_ms = cmd_time_ms;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (!fullSyncWaits(r) || !fullSyncSameClass(class, fullSyncClassOf(r))) continue;
        count++;
        if (r->asked_ms < first_ms) first_ms = r->asked_ms;
    }
    return !diskless || (max_replicas && count >= max_replicas) || cmd_time_ms - first_ms >= delay_s * 1000;
}

static void fullSyncStartWhenTime(void) {
    if (!replicas.length || childRunning() != CHILD_NONE || fullSyncToSockets()) return;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (!fullSyncWaits(r)) continue;
        struct syncClass class = fullSyncClassOf(r);
        if (fullSyncIsTime(class, repl_diskless_sync)) fullSyncStart(class);
        return;
    }
}

/* Something to read for those who wait: the connection is alive. Not once the header is on its way. */
static void fullSyncKeepAlive(void) {
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (fullSyncWaits(r) || (fullSyncWaitsForFile(r) && !(r->client->flags & CLIENT_CLOSE_ASAP)))
            replicaSend(r, "\n");
    }
}

static bool fullSyncHoldsOthers(const struct replicaClient *r) {
    const struct transfer *t = r->transfer;
    return t && t->way->holds_others && t->way->waits(r) && !(r->client->flags & CLIENT_CLOSE_ASAP);
}

static void fullSyncCutStalled(void) {
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (!fullSyncHoldsOthers(r) || cmd_time_ms - transferOf(r)->taken_ms <= repl_timeout_s * 1000)
            continue;
        serverLog(LL_WARNING, "Disconnecting timedout replica (full sync): %s", replicaName(r));
        clientClose(r->client);
    }
}

static bool fullSyncIsFileNeeded(void) {
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (fullSyncWaitsForFile(r) || r->state == REPLICA_SEND) return true;
    }
    return false;
}

static void fullSyncTimer(void) {
    fullSyncCutStalled();
    if (!fullSyncIsFileNeeded()) syncFileRemove();
    fullSyncKeepAlive();
    syncDirectExpire();
}

void fullSyncInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("repl-diskless-sync-delay", NULL, SET, &delay_s, 5, 0, INT32_MAX, NULL),
        CONFIG_INT("repl-diskless-sync-max-replicas", NULL, SET, &max_replicas, 0, 0, INT32_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    syncDirectInit();
    persistenceOnSaved(fullSyncOnSaved);
    cronRegister(fullSyncStartWhenTime, 0);
    cronRegister(fullSyncTimer, TIMER_MS);
}
