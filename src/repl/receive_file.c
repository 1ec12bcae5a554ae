/* SPDX-License-Identifier: BSD-3-Clause */
/* receive_file.c - a snapshot from our primary onto the disk. Part of receive_private.h.
 *
 *     socket ──▶ | held | what comes now ... |  ──▶ temp-<time>.<pid>.rdb ──▶ fdatasync, on a thread,
 *                                                                            every SYNC_BYTES
 *
 * Where the end is marked, the last bytes are held back until it is clear that they are not the mark's
 * beginning.
 *
 * The file has no name before it is whole and has been loaded, where the file system can do that: nothing is
 * left of it then, however this process ends.
 *
 * A disk that is slower than the network must not stop the server: what the thread has not brought to the
 * disk yet is limited, beyond that nothing more is read. */
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

#define BUFFER         (64 * 1024)
#define READS_PER_TURN 16
#define SYNC_BYTES     (8 * 1024 * 1024)
#define UNSYNCED_MAX   (8 * SYNC_BYTES)

static struct {
    int fd;   /* -1: there is no file */
    sds path; /* that it will have for a moment, or has already */
    bool named;
    char *buf;
    size_t held;      /* bytes at the beginning of buf that may be the mark's */
    uint64_t written; /* bytes */
    uint64_t asked;   /* of them, those that a job was told to sync */
    bool paused;      /* nothing is read */
    unsigned number;  /* of this file, of all there have been: jobs of earlier ones may still run */
} file = {.fd = -1};

/* From the thread. */
static atomic_uint syncs_pending;
static atomic_uint failed_number; /* the file that could not be synced... */
static atomic_int failed_errno;   /* ...and why */

int receiveFile(void) {
    return file.fd;
}

/* ---- Syncing ---- */

struct syncJob {
    int fd; /* its own */
    unsigned number;
};

static void receiveFileSyncOnThread(void *arg) {
    struct syncJob *job = arg;
    if (fdatasync(job->fd) != 0 && errno != EINVAL) {
        atomic_store(&failed_errno, errno);
        atomic_store(&failed_number, job->number);
    }
    close(job->fd);
    zfree(job);
    atomic_fetch_sub(&syncs_pending, 1);
    aeWakeup(server_el);
}

static void receiveFileNoteWriteError(int code) {
    serverLog(LL_WARNING, "Writing the snapshot from the primary to its temporary file failed: %s",
              strerror(code));
    receiveFail();
}

static void receiveFileStartSync(void) {
    int fd = fcntl(file.fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        receiveFileNoteWriteError(errno);
        return;
    }
    struct syncJob *job = zmalloc(sizeof *job);
    *job = (struct syncJob){.fd = fd, .number = file.number};
    file.asked = file.written;
    atomic_fetch_add(&syncs_pending, 1);
    bioSubmit(BIO_CLOSE_FILE, receiveFileSyncOnThread, job);
}

/* ---- Bytes ---- */

static bool receiveFilePut(size_t n) {
    if (fdWriteAll(file.fd, strN(file.buf, n))) {
        file.written += n;
        return true;
    }
    receiveFileNoteWriteError(errno);
    return false;
}

static void receiveFileWhole(void) {
    connSetReadHandler(receiving.plan.conn, NULL);
    serverLog(LL_NOTICE, "The snapshot from the primary has arrived");
    receiving.state = RECEIVE_SYNCING;
    receiveFileStartSync();
}

/* n bytes stand in the buffer, those that were held included. */
static bool receiveFileTakeMarked(size_t n) {
    const char *mark = memmem(file.buf, n, receiving.mark, RECEIVE_MARK);
    if (mark) {
        const char *behind = mark + RECEIVE_MARK;
        if (!receiveFilePut((size_t)(mark - file.buf))) return false;
        receiving.rest = sdsnewlen(behind, (size_t)(file.buf + n - behind));
        receiveFileWhole();
        return false;
    }
    size_t held = n < RECEIVE_MARK ? n : RECEIVE_MARK - 1;
    if (!receiveFilePut(n - held)) return false;
    memmove(file.buf, file.buf + n - held, held);
    file.held = held;
    return true;
}

static bool receiveFileTakeCounted(size_t n) {
    if (!receiveFilePut(n)) return false;
    if (file.written < (uint64_t)receiving.size) return true;
    receiveFileWhole();
    return false;
}

/* False: nothing more, for now or for ever. */
static bool receiveFileReadSome(void) {
    bool marked = receiving.size == 0;
    size_t want = BUFFER - file.held;
    if (!marked && want > (uint64_t)receiving.size - file.written)
        want = (size_t)((uint64_t)receiving.size - file.written);
    ssize_t n = receiveRead(file.buf + file.held, want);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) {
        serverLog(LL_WARNING, "Reading the snapshot from the primary failed: %s",
                  n == 0 ? "connection lost" : strerror(errno));
        receiveFailDownload("payload");
        return false;
    }
    return marked ? receiveFileTakeMarked(file.held + (size_t)n) : receiveFileTakeCounted((size_t)n);
}

static void receiveFileReadHandler(struct connection *conn) {
    (void)conn;
    for (int i = 0; i < READS_PER_TURN; i++) {
        if (!receiveFileReadSome()) break;
    }
    bool due = file.written - file.asked >= SYNC_BYTES && !atomic_load(&syncs_pending);
    if (due && receiving.state == RECEIVE_FILE) receiveFileStartSync();
}

/* ---- Around ---- */

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
    file.written = file.asked = 0;
    file.paused = false;
    file.number++;
    receiving.state = RECEIVE_FILE;
    connSetReadHandler(receiving.plan.conn, receiveFileReadHandler);
    return true;
}

/* One job at a time, which syncs all that has been written before it runs. */
static void receiveFilePauseOrGoOn(bool syncing) {
    bool pause = syncing && file.written - file.asked >= UNSYNCED_MAX;
    if (pause) receiving.io_ms = mstime(); /* it is not the primary that is slow */
    if (pause == file.paused) return;
    file.paused = pause;
    connSetReadHandler(receiving.plan.conn, pause ? NULL : receiveFileReadHandler);
}

void receiveFileStep(void) {
    bool syncing = atomic_load(&syncs_pending) > 0;
    if (file.number == atomic_load(&failed_number)) {
        receiveFileNoteWriteError(atomic_load(&failed_errno));
    } else if (receiving.state == RECEIVE_FILE) {
        receiveFilePauseOrGoOn(syncing);
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
    file.fd = -1;
    file.buf = NULL;
    file.path = NULL;
    file.named = false;
}

static bool receiveFileGiveName(void) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file.fd);
    unlink(file.path); /* of a process that had our number, within this second */
    return linkat(AT_FDCWD, link, AT_FDCWD, file.path, AT_SYMLINK_FOLLOW) == 0;
}

const char *receiveFileName(void) {
    if (!file.named) file.named = receiveFileGiveName();
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
