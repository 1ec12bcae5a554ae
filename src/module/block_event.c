/* SPDX-License-Identifier: BSD-3-Clause */
/* block_event.c - blocking a client in a subscriber to the keyspace event that its command causes. The
 * command runs to its end; its reply is held back until the module unblocks the client.
 *
 *     handler ──▶ event ──▶ BlockClient      the command ends: it has run, is counted, is propagated
 *        └─────────────────────────────────▶ its output is taken back and the client is blocked
 *                                            unblocked or timed out: the output, then replies of callbacks */
#include <errno.h>
#include <limits.h>

#include "base/clock.h"
#include "client/client.h"
#include "client/push.h"
#include "client/reply.h"
#include "command/blocking.h"
#include "command/call.h"
#include "command/command.h"
#include "command/declared_keys.h"
#include "module/block.h"
#include "module/lock.h"
#include "module/parts.h"

/* The handle that the running command got in an event, or NULL. */
static struct ValkeyModuleBlockedClient *holding;

/* ---- Unblocking ---- */

static void blockEventCallBack(struct client *c, struct ValkeyModuleBlockedClient *bc, ValkeyModuleCmdFunc fn,
                               unsigned flag) {
    if (!fn) return;
    struct ValkeyModuleCtx ctx;
    struct stringArgs args;
    struct declaredKeys no_declared_keys;
    const struct request *r = blockedRequest(c);
    contextOpen(&ctx, bc->module, c, flag);
    ctx.blocked = bc;
    stringArgsOpen(&args, r->argv, r->argc);
    declaredKeysBegin(&no_declared_keys, NULL);
    fn(&ctx, args.argv, args.argc);
    declaredKeysEnd(&no_declared_keys);
    stringArgsClose(&args);
    contextFinishReplies(&ctx);
    contextClose(&ctx);
}

static void blockEventUnblocked(struct client *c) {
    struct ValkeyModuleBlockedClient *bc = blockedOwner(c);
    moduleUnitBegin();
    replyRaw(c, bc->held_reply, sdslen(bc->held_reply));
    if (blocking_end.reason == BLOCKING_RESUMED) {
        blockEventCallBack(c, bc, bc->reply, CTX_BLOCKED_REPLY);
        threadReplySend(&bc->thread_reply, c);
    } else {
        bc->disconnected = NULL;
        if (blocking_end.reason == BLOCKING_TIMEOUT)
            blockEventCallBack(c, bc, bc->timeout, CTX_BLOCKED_TIMEOUT);
    }
    moduleUnitEnd();
}

/* ---- When the command ends ---- */

/* Removes the reply of the command from the client's output and returns it. */
static sds blockEventTakeReply(struct client *c) {
    uint64_t n = pushOutputTotal(c) - c->out.reply_from;
    if (!n) return sdsempty();
    sds all = replyChainToSds(c), reply;
    size_t before = sdslen(all) > n ? sdslen(all) - n : 0;
    reply = sdsnewlen(all + before, sdslen(all) - before);
    replyRaw(c, all, before);
    sdsfree(all);
    return reply;
}

static void blockEventCommandDone(struct client *c) {
    struct ValkeyModuleBlockedClient *bc = holding;
    if (!bc || bc->client != c) return; /* a nested command of another client */
    holding = NULL;
    callHookIdle(blockEventCommandDone, true);
    if (c->flags & CLIENT_CLOSE_ASAP) {
        moduleBlockDetach(c, bc);
        return;
    }
    struct blockingOptions options = {.deadline_ms = bc->deadline_ms,
                                      .uninterruptible = !bc->timeout,
                                      .on_end = blockEventUnblocked,
                                      .owner = bc,
                                      .on_unblocked = moduleBlockDetach};
    bc->held_reply = blockEventTakeReply(c);
    blockForHandler(c, NULL, 0, &options);
}

/* ---- Blocking ---- */

/* Returns the errno if the client cannot be blocked, else 0. */
static int blockEventRefusal(const struct ValkeyModuleCtx *ctx) {
    const struct call *call = call_running;
    const struct client *c = ctx->client;
    if (!c || ctx->flags & CTX_BORROWED || !c->conn || !call || call->client != c) return EINVAL;
    if (c->flags & CLIENT_IN_EXEC || call->origin != ORIGIN_CLIENT) return EINVAL;
    bool waits = c->blocked || holding || c->cmd->flags & CMD_BLOCKING;
    return waits || c->flags & (CLIENT_PRIMARY | CLIENT_REPLICA | CLIENT_DENY_BLOCKING) ? ENOTSUP : 0;
}

struct ValkeyModuleBlockedClient *moduleBlockInEvent(struct ValkeyModuleCtx *ctx, ValkeyModuleCmdFunc reply,
                                                     ValkeyModuleCmdFunc timeout,
                                                     void (*free_privdata)(struct ValkeyModuleCtx *, void *),
                                                     int64_t timeout_ms) {
    errno = blockEventRefusal(ctx);
    if (!errno && timeout_ms > LLONG_MAX - mstime()) errno = EINVAL;
    if (errno) return NULL;
    struct ValkeyModuleBlockedClient *bc = holding = moduleBlockCreate(ctx);
    bc->reply = reply;
    bc->timeout = timeout;
    bc->free_privdata = free_privdata;
    bc->deadline_ms = timeout_ms ? mstime() + timeout_ms : 0;
    bc->client = ctx->client;
    callHookIdle(blockEventCommandDone, false);
    return bc;
}

void blockEventPartInit(void) {
    callAddHook(CALL_DONE, blockEventCommandDone, true);
}
