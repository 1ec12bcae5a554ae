/* SPDX-License-Identifier: BSD-3-Clause */
/* api_thread.c - contexts for a module's own threads, and the lock that they take.
 *
 * Without the lock such a context replies, into its blocked client's own text, and that is all. With it, it
 * is like any other: it borrows a client when it needs one, and what it propagates between Lock and Unlock is
 * one unit. */
#include <errno.h>

#include "base/zmalloc.h"
#include "client/client.h"
#include "data/keyspace/db.h"
#include "module/block.h"
#include "module/lock.h"
#include "module/parts.h"
#include "net/ae.h"

static struct ValkeyModuleCtx *apiThreadNewContext(struct module *m) {
    moduleThreadEnters();
    struct ValkeyModuleCtx *ctx = zmalloc(sizeof *ctx);
    contextOpen(ctx, m, NULL, CTX_THREAD);
    return ctx;
}

struct ValkeyModuleCtx *vmGetThreadSafeContext(struct ValkeyModuleBlockedClient *bc) {
    struct ValkeyModuleCtx *ctx = apiThreadNewContext(bc ? bc->module : NULL);
    if (!bc) return ctx;
    ctx->thread_reply = &bc->thread_reply;
    ctx->dbid = bc->dbid;
    return ctx;
}

struct ValkeyModuleCtx *vmGetDetachedThreadSafeContext(struct ValkeyModuleCtx *ctx) {
    return apiThreadNewContext(ctx->module);
}

static void apiThreadFreeContext(void *arg) {
    contextClose(arg);
    zfree(arg);
}

/* It may be called with the lock or without; what it has borrowed can only be given back with it. Its replies
 * are at their end now, as the blocked client may be let go any time. */
void vmFreeThreadSafeContext(struct ValkeyModuleCtx *ctx) {
    if (ctx->postponed) contextRepliesEnd(ctx);
    ctx->thread_reply = NULL;
    bool alone = !ctx->client && !ctx->autos;
    if (alone || moduleLockIsMine())
        apiThreadFreeContext(ctx);
    else
        mainTell(apiThreadFreeContext, ctx);
}

void vmThreadSafeContextLock(struct ValkeyModuleCtx *ctx) {
    (void)ctx;
    moduleThreadEnters();
    moduleLockTake();
    moduleUnitBegin();
}

int vmThreadSafeContextTryLock(struct ValkeyModuleCtx *ctx) {
    (void)ctx;
    moduleThreadEnters();
    if (!moduleLockTry()) {
        errno = EBUSY;
        return VALKEYMODULE_ERR;
    }
    moduleUnitBegin();
    return VALKEYMODULE_OK;
}

/* What the section has made ready, the main thread goes on with: files, replicas, clients that waited. */
void vmThreadSafeContextUnlock(struct ValkeyModuleCtx *ctx) {
    (void)ctx;
    moduleUnitEnd();
    moduleLockGive();
    aeWakeup(server_el);
}
