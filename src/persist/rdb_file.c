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

/* Returns temp-<pid>.rdb beside `path`. */
static sds rdbFileTemporaryPath(const char *path, pid_t pid) {
    const char *slash = strrchr(path, '/');
    sds s = sdsnewlen(path, slash ? (size_t)(slash - path) + 1 : 0);
    return sdscatprintf(s, "temp-%d.rdb", (int)pid);
}

void rdbRemoveTemporary(const char *path, pid_t pid) {
    sds temporary = rdbFileTemporaryPath(path, pid);
    int64_t started_us = latencyTimerStart();
    unlink(temporary);
    latencyTimerEnd("rdb-unlink-temp-file", started_us);
    sdsfree(temporary);
}

static const char *rdbFileCurrentFolder(void) {
    static char buf[PATH_MAX];
    return getcwd(buf, sizeof buf) ? buf : "unknown";
}

static bool rdbFileWrite(int fd, const struct rdbSaveOptions *options) {
    struct rioFile file = {.fd = fd, .sync_bytes = rdb_incremental_fsync ? SYNC_BYTES : 0};
    struct rioWriter w;
    rioWriterInit(&w, rioSinkFile, &file);
    bool ok = rdbSaveStream(&w, options);
    int error_code = w.error;
    serverAssert(ok == !error_code); /* a failure has a reason */
    rioWriterFree(&w);
    if (ok && fsync(fd) == 0) return true;
    if (!ok) errno = error_code;
    return false;
}

static bool rdbFileSaveTo(const char *path, const char *temporary, const struct rdbSaveOptions *options) {
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        serverLog(LL_WARNING, "Opening the temporary RDB file %s in the directory %s failed: %s", temporary,
                  rdbFileCurrentFolder(), strerror(errno));
        return false;
    }
    bool ok = rdbFileWrite(fd, options);
    int error_code = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        error_code = errno;
    }
    errno = error_code;
    if (!ok) {
        serverLog(LL_WARNING, "Write error saving DB on disk: %s", rdbSaveErrorText(error_code));
        return false;
    }
    /* otherwise this image could replace a newer one of a server that was started after the parent */
    childNeedsParent();
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
    sds temporary = rdbFileTemporaryPath(path, getpid());
    serverEvent(SERVER_PERSISTENCE, childIs() ? EVENT_RDB : EVENT_RDB_AT_ONCE, NULL);
    bool ok = rdbFileSaveTo(path, temporary, options);
    int error_code = errno;
    if (!ok) unlink(temporary);
    sdsfree(temporary);
    serverEvent(SERVER_PERSISTENCE, ok ? EVENT_SAVED : EVENT_NOT_SAVED, NULL);
    errno = error_code;
    if (ok) serverLog(LL_NOTICE, "RDB file written to disk");
    return ok;
}

/* ---- Reading ---- */

static void rdbFileReportProgress(struct rioReader *io) {
    loadingProgressDecoded(rioPhysicalOffset(io), rioOffset(io));
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
    r.io.progress = rdbFileReportProgress;
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
