/* SPDX-License-Identifier: BSD-3-Clause */
/* receive_load.c - loads a snapshot from our primary into memory. Part of receive_private.h.
 *
 *     file or socket ──▶ rio ──▶ rdbLoadStream ──▶ the databases         emptied when magic and version
 *                         │                                              have been accepted
 *                         │                    └─▶ keyspaces, functions  beside those in use; exchanged with
 *                         ▼                                              them when all is loaded
 *                     every 2 MiB, and whenever the socket has nothing: a nested turn serves clients
 *
 * Loading is one function call, which returns when the data are in place or loading has failed. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "command/loading.h"
#include "data/child.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "data/server_state/persistence.h"
#include "registry/server_events.h"
#include "repl/history.h"
#include "repl/receive_private.h"
#include "repl/repl_settings.h"
#include "repl/replicas.h"

#define WAIT_MS 100 /* most time before plan.keepAlive and the time-out are checked */

bool replica_lazy_flush;

/* ---- Where the bytes come from ---- */

static ssize_t receiveLoadFromConnection(void *priv, char *p, size_t n) {
    const struct rioReader *io = priv;
    if (receiving.size > 0 && n > (uint64_t)receiving.size - receiving.got)
        n = (size_t)((uint64_t)receiving.size - receiving.got);
    int64_t since_ms = 0;
    for (;;) {
        ssize_t got = n ? receiveRead(p, n) : 0;
        if (got >= 0 || (errno != EAGAIN && errno != EINTR)) return got;
        if (!since_ms) since_ms = mstime(); /* time before this point is not the primary's */
        if (mstime() - since_ms > repl_timeout_s * 1000) {
            errno = ETIMEDOUT;
            return -1;
        }
        receiveSendKeepAlive();
        loadingProgress(rioPhysicalOffset(io));
        loadingWait(WAIT_MS);
    }
}

/* Wakes the loop: clients are served until there is input. */
static void receiveLoadOnReadable(struct connection *conn) {
    (void)conn;
}

static void receiveLoadReportProgress(struct rioReader *io) {
    receiveSendKeepAlive();
    loadingProgress(rioPhysicalOffset(io));
    if (receiving.cancelled) rioFail(io, "the synchronization was given up");
}

/* ---- The old data ---- */

/* A child that saves the old data would overwrite the new. */
static void receiveLoadStopSaving(void) {
    persistence.aofStop();
    if (childRunning() != CHILD_RDB) return;
    serverLog(
        LL_NOTICE,
        "The snapshot received from the primary is about to be loaded, so the background save in process "
        "%ld is stopped and its temporary file deleted",
        (long)childPid());
    childKill();
}

static void receiveLoadEmptyAll(void) {
    dbEmptyAll(replica_lazy_flush, receiveSendKeepAlive);
    rdbSectionsEmpty();
}

static void receiveLoadAccepted(void *priv) {
    bool *flushed = priv;
    serverLog(LL_NOTICE, "RDB signature and version check passed. Flushing old data");
    *flushed = true;
    receiveLoadStopSaving();
    replicasDropHistory();
    receiveLoadEmptyAll();
}

/* ---- Keyspaces beside those in use ---- */

static void receiveLoadDropBeside(struct keyspace **beside) {
    serverLog(LL_NOTICE, "The dataset loaded so far is freed in the background");
    for (int i = 0; i < dbCount(); i++) keyspaceRelease(beside[i], true);
    rdbSectionsExchange(false);
}

static void receiveLoadExchange(struct keyspace **beside) {
    receive_on_replace();
    receiveLoadStopSaving();
    replicasDropHistory();
    serverLog(LL_NOTICE, "The loaded dataset takes the place of the old one");
    for (int i = 0; i < dbCount(); i++) {
        struct db *db = dbGet(i);
        if (!beside[i] && !keyspaceSize(&db->keyspace)) continue;
        if (!beside[i]) beside[i] = keyspaceCreate();
        dbExchange(db, beside[i]);
    }
    rdbSectionsExchange(true);
    serverLog(LL_NOTICE, "The old dataset is freed in the background");
    for (int i = 0; i < dbCount(); i++) keyspaceRelease(beside[i], true);
}

/* ---- Loading ---- */

/* Reads what follows the dataset. */
static bool receiveLoadReadEnd(struct rioReader *io) {
    char mark[RECEIVE_MARK];
    if (receiving.size > 0) {
        while (!rioAtEnd(io)) rioView(io, (size_t)(io->end - io->at));
        return true; /* rioAtEnd is also true after an error, which does not matter here */
    }
    if (!rioRead(io, mark, sizeof mark) || memcmp(mark, receiving.mark, sizeof mark) != 0) {
        serverLog(LL_WARNING, "The end mark of the streamed snapshot is wrong");
        return false;
    }
    receiving.rest = sdsnewlen(io->at, (size_t)(io->end - io->at));
    return true;
}

static bool receiveLoadReadDataset(struct rdbReader *r, const struct rdbLoadOptions *options,
                                   bool from_file) {
    struct rdbLoadResult result;
    bool ok = rdbLoadStream(r, options, &result);
    receiving.replication = result.replication;
    if (!ok) {
        serverLog(LL_WARNING, "Internal error in RDB reading offset %llu: %s",
                  (unsigned long long)r->io.error_offset, r->io.error);
    } else if (!from_file) {
        ok = receiveLoadReadEnd(&r->io);
    }
    if (!ok && !receiving.cancelled)
        serverLog(LL_WARNING,
                  "Failed trying to load the PRIMARY synchronization DB from %s, check server logs.",
                  from_file ? "disk" : "socket");
    return ok;
}

/* Clients that wait for a key may find it now. */
static void receiveLoadSignalKeys(void) {
    for (int i = 0; i < dbCount(); i++) {
        if (keyspaceSize(&dbGet(i)->keyspace)) signalFlushedDb(i);
    }
}

static bool receiveLoadInPlace(struct rdbReader *r, struct rdbLoadOptions *options, bool from_file) {
    bool flushed = false;
    options->accepted = receiveLoadAccepted;
    options->priv = &flushed;
    loadingStart(EVENT_LOADS_PRIMARY, r->io.size == RIO_SIZE_UNKNOWN ? 0 : r->io.size);
    bool ok = receiveLoadReadDataset(r, options, from_file);
    if (!ok && flushed) {
        serverLog(LL_NOTICE, "The dataset loaded so far is discarded");
        receiveLoadEmptyAll();
    }
    loadingStop(ok);
    if (ok) receiveLoadSignalKeys();
    return ok;
}

static bool receiveLoadBeside(struct rdbReader *r, struct rdbLoadOptions *options) {
    bool same_history = historyIdEquals(receiving.plan.id, strOf(history.id));
    options->into = zcalloc((size_t)dbCount(), sizeof(struct keyspace *));
    serverEvent(SERVER_ASYNC_LOAD, EVENT_ASYNC_STARTED, NULL);
    loadingStartBeside(r->io.size == RIO_SIZE_UNKNOWN ? 0 : r->io.size, same_history);
    bool ok = receiveLoadReadDataset(r, options, false);
    if (ok)
        receiveLoadExchange(options->into);
    else
        receiveLoadDropBeside(options->into);
    serverEvent(SERVER_ASYNC_LOAD, ok ? EVENT_ASYNC_COMPLETED : EVENT_ASYNC_ABORTED, NULL);
    loadingStop(ok);
    zfree(options->into);
    return ok;
}

static bool receiveLoadFile(void) {
    int fd = receiveFileFd();
    struct stat st;
    if (fstat(fd, &st) != 0 || lseek(fd, 0, SEEK_SET) != 0) {
        serverLog(LL_WARNING, "Can't read the snapshot that has been received: %s", strerror(errno));
        return false;
    }
    struct rdbReader r = {0};
    struct rdbLoadOptions options = {.keep_expired = true};
    rioReaderInit(&r.io, rioSourceFd, &fd, (uint64_t)st.st_size);
    r.io.progress = receiveLoadReportProgress;
    bool ok = receiveLoadInPlace(&r, &options, true);
    rdbReaderFree(&r);
    return ok;
}

static bool receiveLoadConnection(void) {
    struct rdbReader r = {0};
    struct rdbLoadOptions options = {.keep_expired = true, .prefix = true};
    rioReaderInit(&r.io, receiveLoadFromConnection, &r.io,
                  receiving.size > 0 ? (uint64_t)receiving.size : RIO_SIZE_UNKNOWN);
    r.io.progress = receiveLoadReportProgress;
    connSetReadHandler(receiving.plan.conn, receiveLoadOnReadable);
    bool ok = receiving.beside ? receiveLoadBeside(&r, &options) : receiveLoadInPlace(&r, &options, false);
    rdbReaderFree(&r);
    return ok;
}

bool receiveLoad(void) {
    bool from_file = receiveFileFd() >= 0;
    if (from_file) serverLog(LL_NOTICE, "The snapshot from the primary is complete and is now loaded");
    if (!receiving.beside) receive_on_replace();
    serverLog(LL_NOTICE, "PRIMARY <-> REPLICA sync: Loading DB in memory");
    return from_file ? receiveLoadFile() : receiveLoadConnection();
}
