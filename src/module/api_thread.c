/* SPDX-License-Identifier: BSD-3-Clause */
/* api_thread.c - contexts for threads of modules, and the lock that they take.
 *
 * Without the lock, such a context can only reply, into the text of its blocked client. With the lock it
 * is like any other: it borrows a client if it needs one, and what it propagates between Lock and Unlock
 * is one unit. */
#include <errno.h>

#include "base/zmalloc.h"
#include "client/client.h"
#include "data/keyspace/db.h"
#include "module/block.h"
#include "module/lock.h"
#include "module/parts.h"
#include "net/ae.h"

static struct ValkeyModuleCtx *apiThreadNewContext(struct module *m) {
    moduleThreadRegister();
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

/* Frees a context, with the lock or without. A borrowed client can only be returned with the lock, which the
 * main thread does then. Replies are finished now, as the blocked client may be unblocked at any time. */
void vmFreeThreadSafeContext(struct ValkeyModuleCtx *ctx) {
    if (ctx->postponed) contextFinishReplies(ctx);
    ctx->thread_reply = NULL;
    bool alone = !ctx->client && !ctx->autos;
    if (alone || moduleLockIsHeld())
        apiThreadFreeContext(ctx);
    else
        mainThreadPost(apiThreadFreeContext, ctx);
}

void vmThreadSafeContextLock(struct ValkeyModuleCtx *ctx) {
    (void)ctx;
    moduleThreadRegister();
    moduleLockTake();
    moduleUnitBegin();
}

int vmThreadSafeContextTryLock(struct ValkeyModuleCtx *ctx) {
    (void)ctx;
    moduleThreadRegister();
    if (!moduleLockTry()) {
        errno = EBUSY;
        return VALKEYMODULE_ERR;
    }
    moduleUnitBegin();
    return VALKEYMODULE_OK;
}

/* Wakes the main thread, which continues what the section has caused: files, replicas,
 * clients that waited. */
void vmThreadSafeContextUnlock(struct ValkeyModuleCtx *ctx) {
    (void)ctx;
    moduleUnitEnd();
    moduleLockRelease();
    aeWakeup(server_el);
}
