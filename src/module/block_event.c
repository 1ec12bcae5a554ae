/* SPDX-License-Identifier: BSD-3-Clause */
/* block_event.c - a client whose command has caused an event of the keyspace, and is blocked by who is told
 * of it: the command goes on to its end, and its reply is held back until the module lets go.
 *
 *     handler ──▶ event ──▶ BlockClient      the end of the command: it has run, counts, is propagated
 *        └─────────────────────────────────▶ its output is taken back, its client waits
 *                                            let go, time over ...: the output, then what callbacks reply
 */
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

/* Of the command that runs; NULL: it is not held back. */
static struct ValkeyModuleBlockedClient *holding;

/* ---- The end of the wait ---- */

static void blockEventCallBack(struct client *c, struct ValkeyModuleBlockedClient *bc, ValkeyModuleCmdFunc fn,
                               unsigned flag) {
    if (!fn) return;
    struct ValkeyModuleCtx ctx;
    struct stringArgs args;
    struct declaredKeys nobodys;
    const struct request *r = blockedRequest(c);
    contextOpen(&ctx, bc->module, c, flag);
    ctx.blocked = bc;
    stringArgsOpen(&args, r->argv, r->argc);
    declaredKeysBegin(&nobodys, NULL);
    fn(&ctx, args.argv, args.argc);
    declaredKeysEnd(&nobodys);
    stringArgsClose(&args);
    contextRepliesEnd(&ctx);
    contextClose(&ctx);
}

static void blockEventEnds(struct client *c) {
    struct ValkeyModuleBlockedClient *bc = blockedOwner(c);
    moduleUnitBegin();
    replyRaw(c, bc->held, sdslen(bc->held));
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

/* ---- The end of the command ---- */

/* What it has replied. */
static sds blockEventTakeReply(struct client *c) {
    uint64_t n = pushOutputEver(c) - c->out.reply_from;
    if (!n) return sdsempty();
    sds all = replyChainToSds(c), reply;
    size_t before = sdslen(all) > n ? sdslen(all) - n : 0;
    reply = sdsnewlen(all + before, sdslen(all) - before);
    replyRaw(c, all, before);
    sdsfree(all);
    return reply;
}

static void blockEventCommandEnds(struct client *c) {
    struct ValkeyModuleBlockedClient *bc = holding;
    if (!bc || bc->client != c) return; /* one within it, of another client */
    holding = NULL;
    callHookIdle(blockEventCommandEnds, true);
    if (c->flags & CLIENT_CLOSE_ASAP) {
        blockedLeft(c, bc);
        return;
    }
    struct blockingOptions wish = {.deadline_ms = bc->deadline_ms,
                                   .uninterruptible = !bc->timeout,
                                   .on_end = blockEventEnds,
                                   .owner = bc,
                                   .on_unblocked = blockedLeft};
    bc->held = blockEventTakeReply(c);
    blockForHandler(c, NULL, 0, &wish);
}

/* ---- Blocking ---- */

/* errno of why it cannot be; 0: it can. */
static int blockEventWhyNot(const struct ValkeyModuleCtx *ctx) {
    const struct call *call = call_running;
    const struct client *c = ctx->client;
    if (!c || ctx->flags & CTX_BORROWED || !c->conn || !call || call->client != c) return EINVAL;
    if (c->flags & CLIENT_IN_EXEC || call->origin != ORIGIN_CLIENT) return EINVAL;
    bool waits = c->blocked || holding || c->cmd->flags & CMD_BLOCKING;
    return waits || c->flags & (CLIENT_PRIMARY | CLIENT_REPLICA | CLIENT_DENY_BLOCKING) ? ENOTSUP : 0;
}

struct ValkeyModuleBlockedClient *blockedInEvent(struct ValkeyModuleCtx *ctx, ValkeyModuleCmdFunc reply,
                                                 ValkeyModuleCmdFunc timeout,
                                                 void (*free_privdata)(struct ValkeyModuleCtx *, void *),
                                                 int64_t timeout_ms) {
    errno = blockEventWhyNot(ctx);
    if (!errno && timeout_ms > LLONG_MAX - mstime()) errno = EINVAL;
    if (errno) return NULL;
    struct ValkeyModuleBlockedClient *bc = holding = blockedNew(ctx);
    bc->reply = reply;
    bc->timeout = timeout;
    bc->free_privdata = free_privdata;
    bc->deadline_ms = timeout_ms ? mstime() + timeout_ms : 0;
    bc->client = ctx->client;
    callHookIdle(blockEventCommandEnds, false);
    return bc;
}

void blockEventPartInit(void) {
    callAddHook(CALL_DONE, blockEventCommandEnds, true);
}
