/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb_file.c - see rdb_file.h. */
#include "persist/rdb_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/file.h"
#include "base/log.h"
#include "command/loading.h"
#include "data/child.h"
#include "registry/latency.h"
#include "registry/server_events.h"

#define SYNC_BYTES (4 * 1024 * 1024) /* rdb-save-incremental-fsync */

bool rdb_incremental_fsync;

/* ---- Writing ---- */

/* temp-<pid>.rdb beside `path`. */
static sds rdbFileTemporaryFor(const char *path, pid_t pid) {
    const char *slash = strrchr(path, '/');
    sds s = sdsnewlen(path, slash ? (size_t)(slash - path) + 1 : 0);
    return sdscatprintf(s, "temp-%d.rdb", (int)pid);
}

void rdbRemoveTemporary(const char *path, pid_t pid) {
    sds temporary = rdbFileTemporaryFor(path, pid);
    int64_t started_us = latencyTimerStart();
    unlink(temporary);
    latencyTimerEnd("rdb-unlink-temp-file", started_us);
    sdsfree(temporary);
}

static const char *rdbFileCurrentFolder(void) {
    static char buf[PATH_MAX];
    return getcwd(buf, sizeof buf) ? buf : "unknown";
}

static bool rdbFileWriteFile(int fd, const struct rdbSaveOptions *options) {
    struct rioFile file = {.fd = fd, .sync_bytes = rdb_incremental_fsync ? SYNC_BYTES : 0};
    struct rioWriter w;
    rioWriterInit(&w, rioSinkFile, &file);
    bool ok = rdbSaveStream(&w, options);
    int problem = w.error;
    serverAssert(ok == !problem); /* who fails says why */
    rioWriterFree(&w);
    if (ok && fsync(fd) == 0) return true;
    if (!ok) errno = problem;
    return false;
}

static bool rdbFileSaveTo(const char *path, const char *temporary, const struct rdbSaveOptions *options) {
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        serverLog(LL_WARNING, "Opening the temporary RDB file %s in the directory %s failed: %s", temporary,
                  rdbFileCurrentFolder(), strerror(errno));
        return false;
    }
    bool ok = rdbFileWriteFile(fd, options);
    int problem = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        problem = errno;
    }
    errno = problem;
    if (!ok) {
        serverLog(LL_WARNING, "Write error saving DB on disk: %s", strerror(problem));
        return false;
    }
    childNeedsParent(); /* or this image replaces a newer one, of who was started in the parent's place */
    if (rename(temporary, path) != 0) {
        serverLog(LL_WARNING, "Renaming the temporary RDB file %s to %s in the directory %s failed: %s",
                  temporary, path, rdbFileCurrentFolder(), strerror(errno));
        return false;
    }
    if (!fileSyncFolderOf(path)) {
        serverLog(LL_WARNING, "fsync of the directory that holds the RDB file failed: %s", strerror(errno));
        return false;
    }
    return true;
}

bool rdbSaveFile(const char *path, const struct rdbSaveOptions *options) {
    serverAssert(*path && options);
    sds temporary = rdbFileTemporaryFor(path, getpid());
    serverEvent(SERVER_PERSISTENCE, childIs() ? EVENT_RDB : EVENT_RDB_AT_ONCE, NULL);
    bool ok = rdbFileSaveTo(path, temporary, options);
    int problem = errno;
    if (!ok) unlink(temporary);
    sdsfree(temporary);
    serverEvent(SERVER_PERSISTENCE, ok ? EVENT_SAVED : EVENT_NOT_SAVED, NULL);
    errno = problem;
    if (ok) serverLog(LL_NOTICE, "RDB file written to disk");
    return ok;
}

/* ---- Reading ---- */

static void rdbFileTellProgress(struct rioReader *io) {
    loadingProgress(rioOffset(io));
}

enum rdbFileResult rdbLoadFile(const char *path, const struct rdbLoadOptions *options, sds *error) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *error = NULL;
    if (fd < 0 && errno == ENOENT) return RDB_FILE_MISSING;
    if (fd < 0 || fstat(fd, &st) != 0) {
        *error = sdsnew(strerror(errno));
        if (fd >= 0) close(fd);
        return RDB_FILE_BAD;
    }
    serverAssert(!loadingActive());
    struct rdbReader r = {0};
    rioReaderInit(&r.io, rioSourceFd, &fd, S_ISREG(st.st_mode) ? (uint64_t)st.st_size : RIO_SIZE_UNKNOWN);
    r.io.progress = rdbFileTellProgress;
    loadingStart(EVENT_LOADS_RDB, (uint64_t)st.st_size);
    bool ok = rdbLoadStream(&r, options, NULL);
    loadingStop(ok);
    serverAssert(ok == !r.io.error);
    if (!ok)
        *error = sdscatprintf(sdsempty(), "Internal error in RDB reading offset %llu: %s",
                              (unsigned long long)r.io.error_offset, r.io.error);
    rdbReaderFree(&r);
    close(fd);
    return ok ? RDB_FILE_OK : RDB_FILE_BAD;
}
