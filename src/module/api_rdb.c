/* SPDX-License-Identifier: BSD-3-Clause */
/* api_rdb.c - the whole dataset for modules: emptying it, writing it to a file, reading it from one. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sds.h"
#include "base/zmalloc.h"
#include "command/loading.h"
#include "command/script_running.h"
#include "data/child.h"
#include "data/keyspace/db.h"
#include "data/rdb/rdb.h"
#include "data/server_state/persistence.h"
#include "data/server_state/role.h"
#include "module/api.h"
#include "types/keys/generic.h"

struct ValkeyModuleRdbStream {
    sds path;
};

struct ValkeyModuleRdbStream *vmRdbStreamCreateFromFile(const char *filename) {
    struct ValkeyModuleRdbStream *stream = zmalloc(sizeof *stream);
    stream->path = sdsnew(filename);
    return stream;
}

void vmRdbStreamFree(struct ValkeyModuleRdbStream *stream) {
    sdsfree(stream->path);
    zfree(stream);
}

/* Sets errno to why, where 0 means success, and returns the result code. */
static int apiRdbResult(int why) {
    errno = why;
    return why ? VALKEYMODULE_ERR : VALKEYMODULE_OK;
}

int vmRdbSave(struct ValkeyModuleCtx *ctx, struct ValkeyModuleRdbStream *stream, int flags) {
    (void)ctx;
    if (flags || !stream) return apiRdbResult(EINVAL);
    return apiRdbResult(persistence.saveTo(stream->path));
}

/* Returns 0 or an errno. The check comes first, so that an unreadable file does not cost the present data. */
static int apiRdbCheckFile(const char *path) {
    char magic[RDB_MAGIC_LEN];
    struct rioReader io;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? ENOENT : EIO;
    rioReaderInit(&io, rioSourceFd, &fd, RIO_SIZE_UNKNOWN);
    rdbStartFrame(&io);
    bool readable = rioRead(&io, magic, sizeof magic) && rdbMagicReadable(magic);
    rioReaderFree(&io);
    close(fd);
    return readable ? 0 : EIO;
}

/* Replaces the dataset. Everything that depends on the old data is ended first: links to replicas, the
 * append-only file, a child that saves. Within a script it is refused, because the script's functions
 * are replaced, too. */
int vmRdbLoad(struct ValkeyModuleCtx *ctx, struct ValkeyModuleRdbStream *stream, int flags) {
    (void)ctx;
    if (flags || !stream || loadingActive() || script_run.name) return apiRdbResult(EINVAL);
    if (roleIsReplica()) return apiRdbResult(ENOTSUP);
    int why = apiRdbCheckFile(stream->path);
    if (why) {
        serverLog(LL_WARNING, "A module's RdbLoad cannot read %s: %s", stream->path, strerror(why));
        return apiRdbResult(why);
    }
    bool aof = persistenceAofOn();
    if (replication_control.forget) replication_control.forget();
    if (aof) persistence.aofStop();
    if (childRunning() == CHILD_RDB) childKill();
    dbEmpty(NULL, false);
    rdbSectionsEmpty();
    why = persistence.loadFrom(stream->path);
    if (aof) persistence.aofRestart(NULL);
    return apiRdbResult(why);
}

void vmResetDataset(int restart_aof, int async) {
    bool aof = restart_aof && persistenceAofOn();
    if (aof) persistence.aofStop();
    flushAll(async);
    if (aof) persistence.aofRestart(NULL);
}
