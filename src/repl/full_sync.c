/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync.c - see full_sync.h.
 *
 *     fullSyncRequest ─┬─ a child writes the file that r needs, and another replica
 *                      │  waits for it already                                          ─▶ joins that one
 *                      ├─ no child, and no wait for more replicas (repl-diskless-sync-delay) ─▶ start
 *                      └─ otherwise r waits
 *     at each tick     the class of the replica that waits first: start when its delay is over */
#include "repl/full_sync.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "data/child.h"
#include "data/forkless/forkless.h"
#include "data/server_state/persistence.h"
#include "net/tls.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "repl/full_sync_direct.h"
#include "repl/full_sync_file.h"
#include "repl/full_sync_pipe.h"
#include "repl/history.h"
#include "repl/repl_settings.h"

#define SET                CONFIG_MODIFIABLE
#define TIMER_MS           1000
#define EXPIRING_RDB_SINCE 0x090000 /* replicas of this version and later read RDB_VERSION_EXPIRING */
#define PATHS_RDB_SINCE    0x090200 /* and of this one RDB_VERSION_PATHS */

static int64_t delay_s, max_replicas;
static bool file_is_for_replicas;   /* the running child was started here and writes a file... */
static enum streamCodec file_codec; /* ...with this codec */

/* ---- Classes of replicas that can take the same bytes ---- */

struct syncClass {
    int version; /* of RDB */
    bool without_functions, without_keys, rdb_channel;
    enum streamCodec codec; /* around the dataset */
};

/* Replicas that read RDB_VERSION_EXPIRING need no class of their own when less would do. */
static int fullSyncAtLeastExpiring(int needed) {
    return needed > RDB_VERSION_EXPIRING ? needed : RDB_VERSION_EXPIRING;
}

/* Returns the lowest version that holds the dataset as we write it for ourselves. */
static int fullSyncOwnVersion(void) {
    return fullSyncAtLeastExpiring(rdbVersionNeeded());
}

static int fullSyncFileVersion(void) {
    return rdb_compatible_version ? rdb_compatible_version : fullSyncOwnVersion();
}

/* Returns whether r gets the version of our files: a replica that does not know the end mark, and, with
 * rdb-compatible-version, a tool that saves what it gets and a Redis, which does not send its version. */
static bool fullSyncTakesFileVersion(const struct replicaClient *r) {
    if (!(r->capa & CAPA_EOF)) return true;
    if (!rdb_compatible_version) return false;
    return r->rdb_only || (!r->version && rdb_compatible_version < RDB_VERSION_EXPIRING);
}

/* Returns the lowest version that holds the dataset for r, which has not sent its version: of Redis's, as
 * Valkey has sent its version since 8.0, or any for a tool that saves what it gets. */
static int fullSyncVersionUntold(const struct replicaClient *r) {
    int needed = rdbVersionForOthers();
    if (needed <= RDB_VERSION) return RDB_VERSION_REDIS_7;
    if (r->rdb_only) return needed;
    return needed == RDB_VERSION_EXPIRING ? RDB_VERSION_REDIS_74 : RDB_VERSION_REDIS_86;
}

/* Returns the RDB version for r. */
static int fullSyncVersionFor(const struct replicaClient *r) {
    if (fullSyncTakesFileVersion(r)) return fullSyncFileVersion();
    if (r->capa & CAPA_IDMP) return fullSyncOwnVersion();
    if (r->version >= PATHS_RDB_SINCE) return fullSyncAtLeastExpiring(rdbVersionForOthers());
    if (r->version >= EXPIRING_RDB_SINCE) return RDB_VERSION_EXPIRING;
    return r->version ? RDB_VERSION : fullSyncVersionUntold(r);
}

static struct syncClass fullSyncClassOf(const struct replicaClient *r) {
    enum streamCodec codec = r->capa & CAPA_EOF ? replicaCodec(r) : rdbFileCodec();
    return (struct syncClass){fullSyncVersionFor(r), r->without_functions, r->without_keys, r->rdb_channel,
                              codec};
}

static bool fullSyncSameClass(struct syncClass a, struct syncClass b) {
    return a.version == b.version && a.without_functions == b.without_functions &&
           a.without_keys == b.without_keys && a.rdb_channel == b.rdb_channel && a.codec == b.codec;
}

static bool fullSyncNeedsSockets(struct syncClass class) {
    return class.version != fullSyncFileVersion() || class.without_functions || class.without_keys ||
           class.rdb_channel || class.codec != rdbFileCodec();
}

static bool fullSyncWaits(const struct replicaClient *r) {
    return r->state == REPLICA_WAIT_START && !(r->client->flags & CLIENT_CLOSE_ASAP);
}

static struct syncMembers fullSyncMembersOf(struct syncClass class) {
    struct syncMembers m = {zmalloc((replicas.length + 1) * sizeof *m.at), 0};
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (fullSyncWaits(r) && fullSyncSameClass(class, fullSyncClassOf(r))) m.at[m.count++] = r;
    }
    return m;
}

/* ---- The start ---- */

static bool fullSyncAllHave(struct syncMembers members, unsigned capa) {
    for (int i = 0; i < members.count; i++) {
        if (!(members.at[i]->capa & capa)) return false;
    }
    return true;
}

/* Returns whether all members skip the checksum and the transport (TLS) checks what it carries. */
static bool fullSyncCanSkipChecksum(struct syncMembers members) {
    for (int i = 0; i < members.count; i++) {
        if (!tlsIs(members.at[i]->client->conn)) return false;
    }
    return fullSyncAllHave(members, CAPA_SKIP_RDB_CHECKSUM);
}

static void fullSyncStartFailed(struct syncMembers members, const char *err) {
    serverLog(LL_WARNING, "The snapshot for replicas could not be started: %s", err);
    for (int i = 0; i < members.count; i++) {
        struct client *c = members.at[i]->client;
        replicaSend(members.at[i], "-ERR BGSAVE failed, replication can't continue\r\n");
        clientCloseAfterReply(c);
    }
}

/* Starts a snapshot to sockets. A forked child has connections of two channels for itself. */
static bool fullSyncStartTransfer(const struct syncPlan *plan, struct syncMembers members, bool channels,
                                  const char **err) {
    bool direct = channels && !plan->forkless;
    if (!(direct ? syncDirectStart : syncPipeStart)(plan, members, err)) return false;
    serverLog(LL_NOTICE, "Background RDB transfer started by pid %ld %s%s", (long)childPid(),
              direct ? "to direct socket to replica" : "to pipe through parent process",
              plan->options.without_checksum ? " while skipping RDB checksum for this transfer" : "");
    for (int i = 0; channels && !direct && i < members.count; i++)
        syncDirectAnnounce(members.at[i], &plan->replication);
    return true;
}

/* Starts a child for all waiting replicas of this class. The stream goes on from the moment of its start. */
static void fullSyncStart(struct syncClass class) {
    static struct syncPlan plan; /* of the snapshot that started last: there is one at a time */
    struct syncMembers members = fullSyncMembersOf(class);
    bool sockets = fullSyncAllHave(members, CAPA_EOF) && (repl_diskless_sync || fullSyncNeedsSockets(class));
    const char *err = NULL;
    plan = (struct syncPlan){.options = {.version = sockets ? class.version : rdb_compatible_version,
                                         .codec = class.codec,
                                         .without_functions = class.without_functions,
                                         .without_keys = class.without_keys,
                                         .without_checksum = sockets && fullSyncCanSkipChecksum(members),
                                         .replication = &plan.replication},
                             .forkless = sockets && forklessWanted(CHILD_RDB)};
    historyDescribe(&plan.replication);
    randomHexChars(plan.mark, SYNC_MARK);
    serverLog(LL_NOTICE, "A snapshot for replicas begins: it is written to %s (%s)",
              sockets ? "the sockets of the replicas" : "disk",
              class.rdb_channel ? "dual channel" : "single channel");
    if (sockets ? fullSyncStartTransfer(&plan, members, class.rdb_channel, &err)
                : persistence.saveInBackground(&plan.options, &err)) {
        file_is_for_replicas = !sockets;
        file_codec = class.codec;
        for (int i = 0; i < members.count; i++) replicaBeginSnapshot(members.at[i], historyOffset());
    } else {
        fullSyncStartFailed(members, err);
    }
    zfree(members.at);
}

/* ---- A request ---- */

/* Returns whether r waits for the file that a child is writing. */
static bool fullSyncWaitsForFile(const struct replicaClient *r) {
    return r->state == REPLICA_WAIT_END && !r->transfer;
}

/* Returns a replica whose running snapshot suits r as well; NULL: there is none. */
static const struct replicaClient *fullSyncFindSuitable(const struct replicaClient *r) {
    listForEach(&replicas, it) {
        const struct replicaClient *other = listEntry(it, struct replicaClient, node);
        if (fullSyncWaitsForFile(other) && (r->capa & other->capa) == other->capa &&
            fullSyncSameClass(fullSyncClassOf(r), fullSyncClassOf(other)) &&
            fullSyncClassOf(r).codec == file_codec && (!other->rdb_only || r->rdb_only))
            return other;
    }
    return NULL;
}

static void fullSyncJoinRunning(struct replicaClient *r) {
    const struct replicaClient *other = fullSyncFindSuitable(r);
    if (!other) {
        serverLog(LL_NOTICE, "The running snapshot does not suit the replica, which waits for the next one");
        return;
    }
    if (replicaBeginSnapshot(r, other->start_offset))
        serverLog(LL_NOTICE, "The replica waits for the end of the running snapshot");
}

static bool fullSyncSocketsInUse(void) {
    return syncPipeRunning() || syncDirectRunning();
}

void fullSyncRequest(struct replicaClient *r) {
    serverAssert(r->state == REPLICA_WAIT_START && !r->transfer);
    if (fullSyncSocketsInUse())
        serverLog(LL_NOTICE, "Current BGSAVE has socket target. Waiting for next BGSAVE for SYNC");
    else if (childRunning() == CHILD_RDB)
        fullSyncJoinRunning(r);
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
    if (success) syncFileNoteSaved(file_is_for_replicas);
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

/* ---- A replica is sent something, or leaves ---- */

bool fullSyncWrite(struct replicaClient *r) {
    return !r->transfer || !transferOf(r)->methods->write || transferOf(r)->methods->write(r);
}

bool fullSyncHasOutput(const struct replicaClient *r) {
    return r->transfer && transferOf(r)->methods->waits && transferOf(r)->methods->waits(r);
}

static bool fullSyncIsAnyWaitingForFile(const struct replicaClient *except) {
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (r != except && fullSyncWaitsForFile(r)) return true;
    }
    return false;
}

/* The child is stopped when its file was for replicas only and the last of them leaves. */
void fullSyncForget(struct replicaClient *r) {
    if (r->rdb_channel) syncDirectForget(r);
    if (r->transfer) {
        transferOf(r)->methods->leave(r);
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

/* ---- Jobs ---- */

static bool fullSyncIsDue(struct syncClass class, bool diskless) {
    int count = 0;
    int64_t first_ms = cmd_time_ms;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (!fullSyncWaits(r) || !fullSyncSameClass(class, fullSyncClassOf(r))) continue;
        count++;
        if (r->requested_ms < first_ms) first_ms = r->requested_ms;
    }
    return !diskless || (max_replicas && count >= max_replicas) || cmd_time_ms - first_ms >= delay_s * 1000;
}

static void fullSyncStartDue(void) {
    if (!replicas.length || childRunning() != CHILD_NONE || fullSyncSocketsInUse()) return;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (!fullSyncWaits(r)) continue;
        struct syncClass class = fullSyncClassOf(r);
        if (fullSyncIsDue(class, repl_diskless_sync)) fullSyncStart(class);
        return;
    }
}

/* Sends an empty line to replicas that wait, which shows them that the connection is alive, but not once
 * the header is on its way. */
static void fullSyncKeepAlive(void) {
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (fullSyncWaits(r) || (fullSyncWaitsForFile(r) && !(r->client->flags & CLIENT_CLOSE_ASAP)))
            replicaSend(r, "\n");
    }
}

static bool fullSyncHoldsOthers(const struct replicaClient *r) {
    const struct syncTransfer *t = r->transfer;
    return t && t->methods->holds_others && t->methods->waits(r) && !(r->client->flags & CLIENT_CLOSE_ASAP);
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
    cronRegister(fullSyncStartDue, 0);
    cronRegister(fullSyncTimer, TIMER_MS);
}
