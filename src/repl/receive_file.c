/* SPDX-License-Identifier: BSD-3-Clause */
/* receive_file.c - writes a snapshot from our primary to disk. Part of receive_private.h.
 *
 *     socket ──▶ | held | new bytes ... |  ──▶ temp-<time>.<pid>.rdb ──▶ fdatasync, on a thread,
 *                                                                        every SYNC_BYTES
 *
 * When the end is marked, the last bytes are held back until it is clear that they are not
 * the beginning of the mark.
 *
 * The file is compressed as this server's rdbcompression says, whatever came (repl/recode.h), so that it may
 * become its RDB file.
 *
 * Where the file system allows it, the file has no name before it is complete and has been loaded, so nothing
 * is left of it however this process ends.
 *
 * A disk that is slower than the network must not stop the server: when too many bytes wait to
 * be synced, reading pauses. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "net/ae.h"
#include "registry/background.h"
#include "repl/receive_private.h"
#include "repl/recode.h"

#define BUFFER         (64 * 1024)
#define READS_PER_TURN 16
#define SYNC_BYTES     (8 * 1024 * 1024)
#define UNSYNCED_MAX   (8 * SYNC_BYTES)

static struct {
    int fd;   /* -1: there is no file */
    sds path; /* the temporary name, which it has if `named` */
    bool named;
    char *buf;
    size_t held;             /* bytes at the beginning of buf that may be part of the mark */
    uint64_t taken;          /* bytes of the snapshot that were handled */
    uint64_t written;        /* bytes written to the file */
    uint64_t sync_requested; /* bytes written when the last sync was started */
    struct recode *recode;   /* makes them what rdbcompression says */
    bool paused;
    unsigned number; /* the number of this file, as jobs of earlier ones may still run */
} file = {.fd = -1};

/* Results from the thread. */
static atomic_uint syncs_pending;
static atomic_uint failed_number; /* file.number of the file that could not be synced... */
static atomic_int failed_errno;   /* ...and why */

int receiveFileFd(void) {
    return file.fd;
}

/* ---- Syncing ---- */

struct snapshotSyncJob {
    int fd; /* a duplicate that the job closes */
    unsigned number;
};

static void receiveFileSyncOnThread(void *arg) {
    struct snapshotSyncJob *job = arg;
    if (fdatasync(job->fd) != 0 && errno != EINVAL) {
        atomic_store(&failed_errno, errno);
        atomic_store(&failed_number, job->number);
    }
    close(job->fd);
    zfree(job);
    atomic_fetch_sub(&syncs_pending, 1);
    aeWakeup(server_el);
}

static void receiveFileOnWriteError(int code) {
    serverLog(LL_WARNING, "Writing the snapshot from the primary to its temporary file failed: %s",
              strerror(code));
    receiveFail();
}

static void receiveFileStartSync(void) {
    int fd = fcntl(file.fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        receiveFileOnWriteError(errno);
        return;
    }
    struct snapshotSyncJob *job = zmalloc(sizeof *job);
    *job = (struct snapshotSyncJob){.fd = fd, .number = file.number};
    file.sync_requested = file.written;
    atomic_fetch_add(&syncs_pending, 1);
    bioSubmit(BIO_CLOSE_FILE, receiveFileSyncOnThread, job);
}

/* ---- Bytes ---- */

static void receiveFileOnCodeError(int code) {
    if (code != EBADMSG) {
        receiveFileOnWriteError(code);
        return;
    }
    serverLog(LL_WARNING, "The compressed snapshot from the primary is refused: %s",
              recodeError(file.recode));
    receiveFail();
}

static int receiveFileSink(void *priv, const char *bytes, size_t n) {
    (void)priv;
    if (!fdWriteAll(file.fd, strN(bytes, n))) return errno;
    file.written += n;
    return 0;
}

static bool receiveFileWrite(size_t n) {
    file.taken += n;
    int code = recodeWrite(file.recode, strN(file.buf, n));
    if (code) receiveFileOnCodeError(code);
    return !code;
}

static void receiveFileOnLastByte(void) {
    connSetReadHandler(receiving.plan.conn, NULL);
    int code = recodeEnd(file.recode);
    if (code) {
        receiveFileOnCodeError(code);
        return;
    }
    serverLog(LL_NOTICE, "The snapshot from the primary has arrived");
    receiving.state = RECEIVE_SYNCING;
    receiveFileStartSync();
}

/* Handles n bytes in the buffer, including those that were held. */
static bool receiveFileWriteMarked(size_t n) {
    const char *mark = memmem(file.buf, n, receiving.mark, RECEIVE_MARK);
    if (mark) {
        const char *behind = mark + RECEIVE_MARK;
        if (!receiveFileWrite((size_t)(mark - file.buf))) return false;
        receiving.rest = sdsnewlen(behind, (size_t)(file.buf + n - behind));
        receiveFileOnLastByte();
        return false;
    }
    size_t held = n < RECEIVE_MARK ? n : RECEIVE_MARK - 1;
    if (!receiveFileWrite(n - held)) return false;
    memmove(file.buf, file.buf + n - held, held);
    file.held = held;
    return true;
}

static bool receiveFileWriteCounted(size_t n) {
    if (!receiveFileWrite(n)) return false;
    if (file.taken < (uint64_t)receiving.size) return true;
    receiveFileOnLastByte();
    return false;
}

/* Returns false when there is nothing more to read, for now or for good. */
static bool receiveFileReadSome(void) {
    bool marked = receiving.size == 0;
    size_t want = BUFFER - file.held;
    if (!marked && want > (uint64_t)receiving.size - file.taken)
        want = (size_t)((uint64_t)receiving.size - file.taken);
    ssize_t n = receiveRead(file.buf + file.held, want);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) {
        serverLog(LL_WARNING, "Reading the snapshot from the primary failed: %s",
                  n == 0 ? "connection lost" : strerror(errno));
        receiveFailDownload("payload");
        return false;
    }
    return marked ? receiveFileWriteMarked(file.held + (size_t)n) : receiveFileWriteCounted((size_t)n);
}

static void receiveFileOnReadable(struct connection *conn) {
    (void)conn;
    for (int i = 0; i < READS_PER_TURN; i++) {
        if (!receiveFileReadSome()) break;
    }
    bool due = file.written - file.sync_requested >= SYNC_BYTES && !atomic_load(&syncs_pending);
    if (due && receiving.state == RECEIVE_FILE) receiveFileStartSync();
}

/* ---- The file ---- */

static int receiveFileOpenFile(void) {
    int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
    file.named = fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT);
    return file.named ? open(file.path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0644) : fd;
}

bool receiveFileOpen(void) {
    file.path = sdscatprintf(sdsempty(), "temp-%lld.%ld.rdb", (long long)time(NULL), (long)getpid());
    file.fd = receiveFileOpenFile();
    if (file.fd < 0) {
        serverLog(LL_WARNING, "Opening the temporary file for the snapshot from the primary failed: %s",
                  strerror(errno));
        receiveFileDrop();
        return false;
    }
    file.buf = zmalloc(BUFFER);
    file.held = 0;
    file.taken = file.written = file.sync_requested = 0;
    file.recode = recodeNew(rdbFileCodec(), rdb_checksum, receiveFileSink);
    file.paused = false;
    file.number++;
    receiving.state = RECEIVE_FILE;
    connSetReadHandler(receiving.plan.conn, receiveFileOnReadable);
    return true;
}

/* Only one job runs at a time; it syncs all that was written before it runs. */
static void receiveFileUpdatePause(bool syncing) {
    bool pause = syncing && file.written - file.sync_requested >= UNSYNCED_MAX;
    if (pause) receiving.io_ms = mstime(); /* the primary is not what is slow */
    if (pause == file.paused) return;
    file.paused = pause;
    connSetReadHandler(receiving.plan.conn, pause ? NULL : receiveFileOnReadable);
}

void receiveFileStep(void) {
    bool syncing = atomic_load(&syncs_pending) > 0;
    if (file.number == atomic_load(&failed_number)) {
        receiveFileOnWriteError(atomic_load(&failed_errno));
    } else if (receiving.state == RECEIVE_FILE) {
        receiveFileUpdatePause(syncing);
    } else if (!syncing) {
        serverLog(LL_NOTICE, "The snapshot from the primary is on disk");
        receiving.state = RECEIVE_LOAD;
    } else {
        receiving.io_ms = mstime();
    }
}

static void receiveFileCloseFile(void) {
    if (file.fd >= 0) close(file.fd);
    zfree(file.buf);
    sdsfree(file.path);
    recodeFree(file.recode);
    file.recode = NULL;
    file.fd = -1;
    file.buf = NULL;
    file.path = NULL;
    file.named = false;
}

static bool receiveFileLinkName(void) {
    char proc_path[64];
    snprintf(proc_path, sizeof proc_path, "/proc/self/fd/%d", file.fd);
    unlink(file.path); /* left by a process with our pid within this second */
    return linkat(AT_FDCWD, proc_path, AT_FDCWD, file.path, AT_SYMLINK_FOLLOW) == 0;
}

const char *receiveFileName(void) {
    if (!file.named) file.named = receiveFileLinkName();
    if (!file.named)
        serverLog(LL_WARNING, "The received RDB file cannot be named %s: %s", file.path, strerror(errno));
    return file.named ? file.path : NULL;
}

void receiveFileKeep(const char *path) {
    if (rename(file.path, path) == 0 && fileSyncFolderOf(path)) return;
    serverLog(LL_WARNING,
              "Failed trying to rename the temp DB into %s in PRIMARY <-> REPLICA synchronization: %s", path,
              strerror(errno));
}

void receiveFileDrop(void) {
    if (file.named) unlink(file.path);
    receiveFileCloseFile();
}
