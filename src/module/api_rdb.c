/* api_rdb.c - the whole dataset in the hands of modules: emptied, written to a file, read from one. */
#include <errno.h>
#include <unistd.h>

#include "base/sds.h"
#include "base/zmalloc.h"
#include "command/loading.h"
#include "command/script_running.h"
#include "data/child.h"
#include "data/db.h"
#include "data/persistence.h"
#include "data/rdb.h"
#include "data/role.h"
#include "module/api.h"
#include "types/generic.h"

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

static int fails(int why) {
    errno = why;
    return VALKEYMODULE_ERR;
}

int vmRdbSave(struct ValkeyModuleCtx *ctx, struct ValkeyModuleRdbStream *stream, int flags) {
    (void)ctx;
    if (flags || !stream) return fails(EINVAL);
    int why = persistence.saveTo(stream->path);
    return why ? fails(why) : VALKEYMODULE_OK;
}

/* Nothing that knows of the old data may go on with it: replicas, the append-only file, a child that saves;
 * nor a script, whose functions go. */
int vmRdbLoad(struct ValkeyModuleCtx *ctx, struct ValkeyModuleRdbStream *stream, int flags) {
    (void)ctx;
    if (flags || !stream || loadingActive() || script_run.name) return fails(EINVAL);
    if (roleIsReplica()) return fails(ENOTSUP);
    if (access(stream->path, F_OK) != 0) return fails(ENOENT);
    bool aof = persistenceAofOn();
    if (replication_control.forget) replication_control.forget();
    if (aof) persistence.aofStop();
    if (childRunning() == CHILD_RDB) childKill();
    dbEmpty(NULL, false);
    rdbSectionsEmpty();
    int why = persistence.loadFrom(stream->path);
    if (aof) persistence.aofRestart(NULL);
    return why ? fails(why) : VALKEYMODULE_OK;
}

void vmResetDataset(int restart_aof, int async) {
    bool aof = restart_aof && persistenceAofOn();
    if (aof) persistence.aofStop();
    flushAll(async);
    if (aof) persistence.aofRestart(NULL);
}
