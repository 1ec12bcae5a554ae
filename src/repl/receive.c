/* SPDX-License-Identifier: BSD-3-Clause */
/* receive.c - the course of receiving a snapshot; see receive.h and receive_private.h.
 *
 *     HEADER ─┬─ disk ────▶ FILE ─▶ SYNCING ─┬─▶ LOAD ─▶ done(true)
 *             └─ diskless ───────────────────┘
 *        any error: FAILED ─▶ done(false)
 *
 * Handlers of the connection may run within a turn, so they only change the state; LOAD and FAILED are
 * handled before the loop sleeps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/num.h"
#include "client/client.h"
#include "data/keyspace/db.h"
#include "data/server_state/persistence.h"
#include "data/server_state/role.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "repl/history.h"
#include "repl/receive_private.h"
#include "repl/repl_settings.h"

#define HEADER_MAX    1024
#define KEEP_ALIVE_MS 1000
#define AOF_TRIES     10
#define AOF_RETRY_MS  1000

struct receiving receiving;
void (*receive_on_replace)(void);
static struct receivePlan next_plan; /* starts when the cancelled one has ended; conn NULL: none */
static char header[HEADER_MAX];
static size_t header_len;
static int aof_tries_left; /* 0: the append-only file is on, or is not configured */

/* ---- Helpers for all parts ---- */

ssize_t receiveRead(void *buf, size_t n) {
    if (receiving.cancelled) {
        errno = ECANCELED;
        return -1;
    }
    ssize_t got = connRead(receiving.plan.conn, buf, n);
    if (got > 0) {
        if (receiving.size >= 0) receiving.got += (uint64_t)got;
        receiving.io_ms = mstime();
        replstats.net_in += (uint64_t)got;
        clientstats.net_in += (uint64_t)got;
    }
    return got;
}

void receiveFail(void) {
    connSetReadHandler(receiving.plan.conn, NULL);
    receiving.state = RECEIVE_FAILED;
}

static bool receiveDirectiveWantsDisk(void) {
    switch (repl_diskless_load) {
    case DISKLESS_LOAD_DISABLED: return true;
    case DISKLESS_LOAD_WHEN_EMPTY:
        for (int i = 0; i < dbCount(); i++) {
            if (keyspaceSize(&dbGet(i)->keyspace)) return true;
        }
        return false;
    default: return false;
    }
}

/* Returns why modules need the data on disk before they are loaded; NULL: they do not. */
static const char *receiveModulesWantDisk(void) {
    return rdb_modules.wantDisk ? rdb_modules.wantDisk(repl_diskless_load == DISKLESS_LOAD_SWAPDB) : NULL;
}

static bool receiveWantsDisk(void) {
    return receiveDirectiveWantsDisk() || receiveModulesWantDisk();
}

/* `what` names the part that could not be read. */
void receiveFailDownload(const char *what) {
    if (receiveWantsDisk())
        serverLog(LL_WARNING, "The snapshot from the primary is lost: reading its %s failed", what);
    receiveFail();
}

void receiveSendKeepAlive(void) {
    int64_t now_ms = mstime();
    if (now_ms < receiving.keep_alive_due_ms) return;
    receiving.keep_alive_due_ms = now_ms + KEEP_ALIVE_MS;
    if (receiving.plan.keepAlive && !receiving.cancelled) receiving.plan.keepAlive();
}

/* ---- The header ---- */

static void receiveStartBody(void) {
    bool disk = receiveWantsDisk();
    const char *where = disk ? "disk" : "the loader";
    receiving.got = 0;
    receiving.beside = !disk && repl_diskless_load == DISKLESS_LOAD_SWAPDB;
    if (!receiveDirectiveWantsDisk() && disk)
        serverLog(LL_NOTICE, "The snapshot is not loaded from the socket because there are modules that %s",
                  receiveModulesWantDisk());
    if (disk) serverLog(LL_NOTICE, "The snapshot from the primary is written to disk by a thread");
    if (receiving.size == 0)
        serverLog(LL_NOTICE, "A snapshot of unknown length comes from the primary and goes to %s", where);
    else
        serverLog(LL_NOTICE, "A snapshot of %lld bytes comes from the primary and goes to %s",
                  (long long)receiving.size, where);
    if (!disk) {
        connSetReadHandler(receiving.plan.conn, NULL);
        receiving.state = RECEIVE_LOAD;
    } else if (!receiveFileOpen()) {
        receiveFail();
    }
}

/* Parses a whole line without its end. Returns false when it is not valid here, which has been logged. */
static bool receiveParseHeader(struct str line) {
    int64_t size;
    if (line.ptr[0] == '-') {
        serverLog(LL_WARNING, "The primary answered the request for a synchronization with an error: %.*s",
                  (int)line.len - 1, line.ptr + 1);
    } else if (line.ptr[0] != '$') {
        serverLog(
            LL_WARNING,
            "The primary should announce the length of the snapshot with '$', but sent '%.*s'. Are host "
            "and port those of a primary?",
            (int)line.len, line.ptr);
    } else if (line.len == 5 + RECEIVE_MARK && memcmp(line.ptr, "$EOF:", 5) == 0) {
        memcpy(receiving.mark, line.ptr + 5, RECEIVE_MARK);
        receiving.size = 0;
        return true;
    } else if (string2ll(strN(line.ptr + 1, line.len - 1), &size) && size > 0) {
        receiving.size = size;
        return true;
    } else {
        serverLog(LL_WARNING,
                  "The primary announced the length of the snapshot as '%.*s', which is not valid",
                  (int)line.len, line.ptr);
    }
    return false;
}

static void receiveOnLine(void) {
    if (header_len && header[header_len - 1] == '\r') header_len--;
    struct str line = strN(header, header_len);
    header_len = 0;
    if (!line.len) return; /* a sign of life of a primary that is not ready yet */
    if (receiveParseHeader(line))
        receiveStartBody();
    else
        receiveFailDownload("metadata");
}

/* Reads byte by byte, as what comes after the line must stay in the socket. */
static void receiveOnHeaderReadable(struct connection *conn) {
    (void)conn;
    while (receiving.state == RECEIVE_HEADER) {
        char byte;
        ssize_t n = receiveRead(&byte, 1);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0 || header_len == HEADER_MAX) {
            serverLog(LL_WARNING, "Reading the length of the snapshot from the primary failed: %s",
                      n < 0    ? strerror(errno)
                      : n == 0 ? "connection lost"
                               : "the line is too long");
            receiveFailDownload("metadata");
        } else if (byte == '\n') {
            receiveOnLine();
        } else {
            header[header_len++] = byte;
        }
    }
}

/* ---- The append-only file ---- */

/* `rdb` names a file with exactly what is in memory; NULL: there is none. */
static void receiveRestartAof(const char *rdb) {
    aof_tries_left = 0;
    if (!persistenceAofOn() || persistence.aofRestart(rdb)) return;
    aof_tries_left = AOF_TRIES - 1;
}

static void receiveRetryAof(void) {
    if (!aof_tries_left || receiving.state == RECEIVE_LOAD) return;
    if (!persistenceAofOn() || persistence.aofRestart(NULL)) {
        aof_tries_left = 0;
        return;
    }
    if (--aof_tries_left) return;
    serverLog(
        LL_WARNING,
        "The synchronization with the primary is complete, but the append-only file cannot be turned on, "
        "so the server exits");
    exit(1);
}

/* A failed synchronization has left the append-only file off; it is needed again as a primary. */
static void receiveOnRole(bool replica) {
    if (!replica) receiveRestartAof(NULL);
}

/* ---- The end ---- */

/* The file has been loaded, and the append-only file had no use for it. It becomes our RDB file, unless files
 * are not to be kept here. */
static void receiveKeepFile(void) {
    if (rdb_del_sync_files && !persistence.hasSavePoints() && !persistenceAofOn())
        serverLog(LL_NOTICE,
                  "The RDB file received from the primary is deleted, as this replica has no persistence");
    else
        receiveFileKeep(persistence.rdbPath());
}

static void receiveComplete(void) {
    const char *rdb = receiveFileFd() >= 0 ? receiveFileName() : NULL;
    historyAdopt(receiving.plan.id, receiving.plan.offset);
    if (!rdb) dbstats.dirty++; /* no file has these data */
    receiveRestartAof(rdb);
    if (rdb && access(rdb, F_OK) == 0) receiveKeepFile();
    serverLog(LL_NOTICE, "The synchronization with the primary is complete");
}

static void receiveBegin(const struct receivePlan *plan) {
    receiving = (struct receiving){.plan = *plan, .state = RECEIVE_HEADER, .size = -1, .io_ms = mstime()};
    header_len = 0;
    connSetReadHandler(plan->conn, receiveOnHeaderReadable);
}

static void receiveBeginNext(void) {
    struct receivePlan plan = next_plan;
    next_plan.conn = NULL;
    if (plan.conn) receiveBegin(&plan);
}

static void receiveFinish(bool ok) {
    struct receiving ended = receiving;
    if (ok) receiveComplete();
    receiveFileDrop();
    if (ended.plan.conn) connSetReadHandler(ended.plan.conn, NULL);
    receiving = (struct receiving){0};
    if (!ended.cancelled) {
        struct str rest = ended.rest ? sdsview(ended.rest) : STR("");
        ended.plan.done(ok, rest, &ended.replication);
    }
    sdsfree(ended.rest);
    receiveBeginNext();
}

static void receiveStep(void) {
    if (__builtin_expect(receiving.state == RECEIVE_IDLE, 1)) return;
    if (receiving.state == RECEIVE_FILE || receiving.state == RECEIVE_SYNCING) receiveFileStep();
    /* It may be cancelled before it begins, in the same turn, and while it goes on. */
    if (receiving.state == RECEIVE_LOAD)
        receiveFinish(!receiving.cancelled && receiveLoad() && !receiving.cancelled);
    else if (receiving.state == RECEIVE_FAILED)
        receiveFinish(false);
}

/* ---- For link ---- */

void receiveStart(const struct receivePlan *plan) {
    serverAssert(plan->conn && plan->done && plan->offset <= HISTORY_OFFSET_MAX);
    if (receiving.state == RECEIVE_IDLE) {
        receiveBegin(plan);
        return;
    }
    serverAssert(receiving.cancelled && !next_plan.conn); /* the cancelled load has not ended yet */
    next_plan = *plan;
}

static void receiveCloseConnection(struct connection **conn) {
    if (*conn) connClose(*conn);
    *conn = NULL;
}

void receiveCancel(void) {
    receiveCloseConnection(&next_plan.conn);
    if (receiving.state == RECEIVE_IDLE) return;
    receiving.cancelled = true;
    receiveCloseConnection(&receiving.plan.conn);
    if (receiving.state != RECEIVE_LOAD) receiveFinish(false);
}

bool receiveRunning(void) {
    return receiving.state != RECEIVE_IDLE;
}

int64_t receiveLastIoMs(void) {
    return receiving.io_ms;
}

static sds receiveInfo(sds s) {
    if (receiving.state == RECEIVE_IDLE) return s;
    int64_t size = receiving.size, got = (int64_t)receiving.got;
    s = infoField(s, "master_sync_total_bytes:%lld", (long long)size);
    s = infoField(s, "master_sync_read_bytes:%lld", (long long)got);
    s = infoField(s, "master_sync_left_bytes:%lld", (long long)(size - got));
    s = infoField(s, "master_sync_perc:%.2f", size > 0 ? 100.0 * (double)got / (double)size : 0.0);
    return infoField(s, "master_sync_last_io_seconds_ago:%lld",
                     (long long)(mstime() - receiving.io_ms) / 1000);
}

void receiveInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("replica-lazy-flush", "slave-lazy-flush", CONFIG_MODIFIABLE, &replica_lazy_flush, true,
                    NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("replication", receiveInfo);
    roleOnChange(receiveOnRole);
    beforeSleepRegister(receiveStep);
    cronRegister(receiveRetryAof, AOF_RETRY_MS);
}
