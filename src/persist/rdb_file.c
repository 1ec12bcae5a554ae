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

/* ---- Writing ---- */

static size_t rdbFileFolderLength(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static const char *rdbFileName(const char *path) {
    return path + rdbFileFolderLength(path);
}

/* Returns temp-<pid>.rdb beside `path`. */
static sds rdbFileTemporaryPath(const char *path, pid_t pid) {
    return sdscatprintf(sdsnewlen(path, rdbFileFolderLength(path)), "temp-%d.rdb", (int)pid);
}

/* While a thread writes a file, this process may write another one beside it. */
static sds rdbFileOwnTemporaryPath(const char *path) {
    if (!childInThread()) return rdbFileTemporaryPath(path, getpid());
    return sdscatprintf(sdsnewlen(path, rdbFileFolderLength(path)), "temp-bg-%d.rdb", (int)getpid());
}

void rdbRemoveTemporary(const char *path, pid_t pid) {
    sds temporary = rdbFileTemporaryPath(path, pid);
    int64_t started_us = latencyTimerStart();
    unlink(temporary);
    latencyTimerEnd("rdb-unlink-temp-file", started_us);
    sdsfree(temporary);
}

/* Logs that a call has failed, as errno says, with the folder of `path`. */
static void rdbFileLogFailed(const char *what, const char *path) {
    char cwd[PATH_MAX];
    int error_code = errno;
    size_t n = rdbFileFolderLength(path);
    const char *folder = n ? path : getcwd(cwd, sizeof cwd) ? cwd : "unknown";
    if (!n) n = strlen(folder) + 1;
    serverLog(LL_WARNING, "%s in the directory %.*s failed: %s", what, (int)n - 1, folder,
              strerror(error_code));
    errno = error_code;
}

static bool rdbFileWrite(int fd, const struct rdbSaveOptions *options, uint64_t sync_bytes) {
    struct rioFile file = {.fd = fd, .sync_bytes = sync_bytes};
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

/* Opens, writes, syncs and closes. False: errno, logged unless the save was cancelled. */
static bool rdbFileWriteTemporary(const char *temporary, const struct rdbSaveOptions *options,
                                  uint64_t sync_bytes) {
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        sds what = sdscatprintf(sdsempty(), "Opening the temporary RDB file %s", rdbFileName(temporary));
        rdbFileLogFailed(what, temporary);
        sdsfree(what);
        return false;
    }
    bool ok = rdbFileWrite(fd, options, sync_bytes);
    int error_code = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        error_code = errno;
    }
    if (!ok && !childIsCancelled())
        serverLog(LL_WARNING, "Write error saving DB on disk: %s", rdbSaveErrorText(error_code));
    errno = error_code;
    return ok;
}

/* A process whose parent has died must not replace the file of a server that was started after its parent;
 * nor may a thread that has been cancelled replace it. */
static bool rdbFileMayReplace(void) {
    childNeedsParent();
    if (childIsCancelled()) errno = ECANCELED;
    return !childIsCancelled();
}

static bool rdbFileReplace(const char *path, const char *temporary) {
    if (!rdbFileMayReplace()) return false;
    if (rename(temporary, path) != 0) {
        sds what = sdscatprintf(sdsempty(), "Renaming the temporary RDB file %s to %s",
                                rdbFileName(temporary), rdbFileName(path));
        rdbFileLogFailed(what, path);
        sdsfree(what);
        return false;
    }
    if (!fileSyncFolderOf(path)) {
        serverLog(LL_WARNING, "fsync of the directory that holds the RDB file failed: %s", strerror(errno));
        return false;
    }
    return true;
}

bool rdbSaveFile(const char *path, const struct rdbSaveOptions *options, uint64_t sync_bytes) {
    serverAssert(*path && options);
    sds temporary = rdbFileOwnTemporaryPath(path);
    bool report = !childInThread();
    if (report) serverEvent(SERVER_PERSISTENCE, childIs() ? EVENT_RDB : EVENT_RDB_AT_ONCE, NULL);
    bool ok = rdbFileWriteTemporary(temporary, options, sync_bytes) && rdbFileReplace(path, temporary);
    int error_code = errno;
    if (!ok) unlink(temporary);
    sdsfree(temporary);
    if (report) serverEvent(SERVER_PERSISTENCE, ok ? EVENT_SAVED : EVENT_NOT_SAVED, NULL);
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
