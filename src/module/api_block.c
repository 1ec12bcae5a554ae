/* SPDX-License-Identifier: BSD-3-Clause */
/* api_block.c - blocking the client of a command and unblocking it; see block.h. */
#include <errno.h>
#include <limits.h>

#include "base/clock.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/blocking.h"
#include "command/call.h"
#include "data/keyspace/db.h"
#include "module/block.h"
#include "module/lock.h"
#include "module/parts.h"
#include "types/types.h"

/* ---- Handles ---- */

struct ValkeyModuleBlockedClient *moduleBlockCreate(struct ValkeyModuleCtx *ctx) {
    struct ValkeyModuleBlockedClient *bc = zcalloc(1, sizeof *bc);
    bc->module = ctx->module;
    bc->dbid = ctx->client->db->id;
    bc->thread_reply.resp = ctx->client->resp;
    bc->module->blocked_clients++;
    return bc;
}

static void apiBlockFreePrivdata(struct ValkeyModuleBlockedClient *bc, struct client *c, bool disconnected) {
    if (!bc->privdata || !bc->free_privdata) return;
    struct ValkeyModuleCtx ctx;
    contextOpen(&ctx, bc->module, c, disconnected ? CTX_BLOCKED_DISCONNECTED : 0);
    ctx.blocked = bc;
    ctx.dbid = bc->dbid;
    bc->free_privdata(&ctx, bc->privdata);
    contextClose(&ctx);
}

static void apiBlockFinish(void *arg) {
    struct ValkeyModuleBlockedClient *bc = arg;
    struct client *c = bc->client;
    uint64_t id = c ? c->id : 0;
    bool disconnected = !c && !bc->served;
    if (!bc->on_keys) bc->privdata = bc->new_privdata;
    if (bc->aborted) bc->reply = NULL;
    moduleUnitBegin();
    if (c && bc->measured_us) blockedAddTime(c, bc->measured_us);
    if (c) blockingResume(c);
    /* If it was a client without connection, of a call that was blocked, it has been freed by now. */
    apiBlockFreePrivdata(bc, c ? clientById(id) : NULL, disconnected);
    moduleUnitEnd();
    threadReplyFree(&bc->thread_reply);
    bc->module->blocked_clients--;
    sdsfree(bc->held_reply);
    zfree(bc);
}

/* Has the main thread end the handle; only the first call has an effect. */
static void apiBlockUnblock(struct ValkeyModuleBlockedClient *bc) {
    if (!__atomic_exchange_n(&bc->unblocked, true, __ATOMIC_ACQ_REL)) mainThreadPost(apiBlockFinish, bc);
}

void moduleBlockDetach(struct client *c, void *whose) {
    struct ValkeyModuleBlockedClient *bc = whose;
    bc->client = NULL;
    bool by_itself = !__atomic_load_n(&bc->unblocked, __ATOMIC_ACQUIRE);
    if (by_itself && bc->disconnected) {
        struct ValkeyModuleCtx ctx;
        contextOpen(&ctx, bc->module, c, 0);
        ctx.blocked = bc;
        bc->disconnected(&ctx, bc);
        contextClose(&ctx);
    }
    if (by_itself && bc->on_keys) apiBlockUnblock(bc);
}

/* ---- The command runs again ---- */

static int apiBlockCall(struct ValkeyModuleCtx *ctx, ValkeyModuleCmdFunc fn, unsigned flag,
                        struct ValkeyModuleString **argv, int argc) {
    ctx->flags |= flag;
    return fn ? fn(ctx, argv, argc) : VALKEYMODULE_OK;
}

/* Runs the reply callback for a key that is ready. Returns false if the client goes on waiting. */
static bool apiBlockServe(struct ValkeyModuleCtx *ctx, struct ValkeyModuleBlockedClient *bc,
                          struct ValkeyModuleString **argv, int argc) {
    ctx->ready_key = stringNew(blocking_end.key);
    bool served = apiBlockCall(ctx, bc->reply, CTX_BLOCKED_REPLY, argv, argc) == VALKEYMODULE_OK;
    stringRelease(ctx->ready_key);
    ctx->ready_key = NULL;
    return served;
}

void moduleBlockRunCallback(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString **argv, int argc) {
    struct client *c = ctx->client;
    struct ValkeyModuleBlockedClient *bc = blockedOwner(c);
    ctx->blocked = bc;
    if (blocking_end.reason == BLOCKING_KEY) {
        bc->served = apiBlockServe(ctx, bc, argv, argc);
        if (bc->served)
            bc->disconnected = NULL;
        else
            c->flags |= CLIENT_BLOCKED;
    } else if (blocking_end.reason == BLOCKING_TIMEOUT || bc->on_keys) {
        bc->disconnected = NULL;
        apiBlockCall(ctx, bc->timeout, CTX_BLOCKED_TIMEOUT, argv, argc);
    } else {
        apiBlockCall(ctx, bc->reply, CTX_BLOCKED_REPLY, argv, argc);
        threadReplySend(&bc->thread_reply, c);
    }
}

/* ---- Blocking ---- */

/* Returns the error if the client cannot be blocked although it gets a handle, else NULL. */
static const char *apiBlockRefusal(const struct ValkeyModuleCtx *ctx, int64_t timeout_ms) {
    if (ctx->client->flags & CLIENT_SCRIPT) return "ERR Blocking module command called from Lua script";
    if (ctx->client->flags & CLIENT_IN_EXEC) return "ERR Blocking module command called from transaction";
    if (ctx->flags & CTX_BLOCKED_REPLY)
        return "ERR Blocking module command called from a Reply callback context";
    if (timeout_ms > LLONG_MAX - mstime()) return "ERR timeout is out of range";
    return NULL;
}

/* Checks that there is a client of a kind that can be blocked; sets errno. */
static bool apiBlockIsPossible(const struct ValkeyModuleCtx *ctx) {
    const struct client *c = ctx->client;
    if (!c || ctx->flags & (CTX_BORROWED | CTX_THREAD)) {
        errno = EINVAL;
        return false;
    }
    bool runs = call_running && call_running->client == c && c->request && ctx->flags & CTX_COMMAND;
    bool answers = c->flags & (CLIENT_SCRIPT | CLIENT_IN_EXEC) || ctx->flags & CTX_BLOCKED_REPLY;
    bool waits = c->blocked && !answers;
    bool normal = !(c->flags & (CLIENT_FAKE | CLIENT_PRIMARY | CLIENT_REPLICA | CLIENT_DENY_BLOCKING));
    if (runs && !waits && (normal || answers)) return true;
    errno = ENOTSUP;
    return false;
}

/* Strings, sets and hashes do not wake clients when they are written. */
static bool apiBlockTypeWakes(const struct object *o) {
    return o->type != OBJ_STRING && o->type != OBJ_SET && o->type != OBJ_HASH;
}

static void apiBlockWait(struct ValkeyModuleBlockedClient *bc, struct ValkeyModuleString **keys, int count,
                         int64_t timeout_ms, bool wake_on_delete) {
    struct blockingOptions options = {.deadline_ms = timeout_ms ? mstime() + timeout_ms : 0,
                                      .wake_on_delete = wake_on_delete,
                                      .uninterruptible = !bc->timeout,
                                      .accepts_value = apiBlockTypeWakes,
                                      .owner = bc,
                                      .on_unblocked = moduleBlockDetach};
    struct str *names = stringViews(keys, (size_t)count);
    blockForHandler(bc->client, names, count, &options);
    zfree(names);
}

void moduleBlockClient(struct ValkeyModuleBlockedClient *bc) {
    apiBlockWait(bc, NULL, 0, 0, false);
}

/* keys NULL: only UnblockClient ends the wait. */
static struct ValkeyModuleBlockedClient *
apiBlockClient(struct ValkeyModuleCtx *ctx, ValkeyModuleCmdFunc reply, ValkeyModuleCmdFunc timeout,
               void (*free_privdata)(struct ValkeyModuleCtx *, void *), long long timeout_ms,
               struct ValkeyModuleString **keys, int count, void *privdata, int flags) {
    if (!apiBlockIsPossible(ctx)) return NULL;
    struct ValkeyModuleBlockedClient *bc = moduleBlockCreate(ctx);
    bc->reply = reply;
    bc->timeout = timeout;
    bc->free_privdata = free_privdata;
    bc->privdata = privdata;
    bc->on_keys = keys != NULL;
    const char *error = apiBlockRefusal(ctx, timeout_ms);
    if (error) {
        replyError(ctx->client, error);
        return bc;
    }
    bc->client = ctx->client;
    apiBlockWait(bc, keys, count, timeout_ms, flags & VALKEYMODULE_BLOCK_UNBLOCK_DELETED);
    return bc;
}

struct ValkeyModuleBlockedClient *vmBlockClient(struct ValkeyModuleCtx *ctx,
                                                ValkeyModuleCmdFunc reply_callback,
                                                ValkeyModuleCmdFunc timeout_callback,
                                                void (*free_privdata)(struct ValkeyModuleCtx *, void *),
                                                long long timeout_ms) {
    if (ctx->flags & CTX_KEY_EVENT)
        return moduleBlockInEvent(ctx, reply_callback, timeout_callback, free_privdata, timeout_ms);
    return apiBlockClient(ctx, reply_callback, timeout_callback, free_privdata, timeout_ms, NULL, 0, NULL, 0);
}

struct ValkeyModuleBlockedClient *
vmBlockClientOnKeysWithFlags(struct ValkeyModuleCtx *ctx, ValkeyModuleCmdFunc reply_callback,
                             ValkeyModuleCmdFunc timeout_callback,
                             void (*free_privdata)(struct ValkeyModuleCtx *, void *), long long timeout_ms,
                             struct ValkeyModuleString **keys, int numkeys, void *privdata, int flags) {
    struct ValkeyModuleString *none = NULL;
    return apiBlockClient(ctx, reply_callback, timeout_callback, free_privdata, timeout_ms,
                          keys ? keys : &none, keys && numkeys > 0 ? numkeys : 0, privdata, flags);
}

struct ValkeyModuleBlockedClient *vmBlockClientOnKeys(struct ValkeyModuleCtx *ctx,
                                                      ValkeyModuleCmdFunc reply_callback,
                                                      ValkeyModuleCmdFunc timeout_callback,
                                                      void (*free_privdata)(struct ValkeyModuleCtx *, void *),
                                                      long long timeout_ms, struct ValkeyModuleString **keys,
                                                      int numkeys, void *privdata) {
    return vmBlockClientOnKeysWithFlags(ctx, reply_callback, timeout_callback, free_privdata, timeout_ms,
                                        keys, numkeys, privdata, VALKEYMODULE_BLOCK_UNBLOCK_DEFAULT);
}

void vmSignalKeyAsReady(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *key) {
    signalKeyReadyForHandlers(contextClient(ctx)->db, stringText(key));
}

/* ---- Unblocking, from any thread ----
 *
 * A handle is NULL if BlockClient has refused, and not every module checks that. */

int vmUnblockClient(struct ValkeyModuleBlockedClient *bc, void *privdata) {
    if (!bc) {
        errno = EINVAL;
        return VALKEYMODULE_ERR;
    }
    if (bc->on_keys && !bc->timeout) {
        errno = ENOTSUP;
        return VALKEYMODULE_ERR;
    }
    bc->new_privdata = privdata;
    apiBlockUnblock(bc);
    return VALKEYMODULE_OK;
}

int vmAbortBlock(struct ValkeyModuleBlockedClient *bc) {
    if (bc) bc->aborted = true;
    return vmUnblockClient(bc, NULL);
}

void vmSetDisconnectCallback(struct ValkeyModuleBlockedClient *bc, ValkeyModuleDisconnectFunc callback) {
    if (bc) bc->disconnected = callback;
}

/* ---- State of a blocked client ---- */

int vmIsBlockedReplyRequest(struct ValkeyModuleCtx *ctx) {
    return (ctx->flags & CTX_BLOCKED_REPLY) != 0;
}
int vmIsBlockedTimeoutRequest(struct ValkeyModuleCtx *ctx) {
    return (ctx->flags & CTX_BLOCKED_TIMEOUT) != 0;
}
int vmBlockedClientDisconnected(struct ValkeyModuleCtx *ctx) {
    return (ctx->flags & CTX_BLOCKED_DISCONNECTED) != 0;
}
struct ValkeyModuleString *vmGetBlockedClientReadyKey(struct ValkeyModuleCtx *ctx) {
    return ctx->ready_key;
}
struct ValkeyModuleBlockedClient *vmGetBlockedClientHandle(struct ValkeyModuleCtx *ctx) {
    return ctx->blocked;
}
void *vmGetBlockedClientPrivateData(struct ValkeyModuleCtx *ctx) {
    return ctx->blocked ? ctx->blocked->privdata : NULL;
}
void *vmBlockClientGetPrivateData(struct ValkeyModuleBlockedClient *bc) {
    return bc ? bc->privdata : NULL;
}
void vmBlockClientSetPrivateData(struct ValkeyModuleBlockedClient *bc, void *privdata) {
    if (bc) bc->privdata = privdata;
}

/* ---- Time that threads have spent for a client ---- */

int vmBlockedClientMeasureTimeStart(struct ValkeyModuleBlockedClient *bc) {
    if (!bc) return VALKEYMODULE_ERR;
    bc->measured_from = (uint64_t)monotonicUs();
    return VALKEYMODULE_OK;
}

int vmBlockedClientMeasureTimeEnd(struct ValkeyModuleBlockedClient *bc) {
    if (!bc || !bc->measured_from) return VALKEYMODULE_ERR;
    bc->measured_us += (uint64_t)monotonicUs() - bc->measured_from;
    bc->measured_from = 0;
    return VALKEYMODULE_OK;
}

/* ---- Unloading ---- */

static const char *apiBlockHasBlockedClients(struct module *m) {
    return m->blocked_clients
               ? "the module has blocked clients. Please wait for them to be unblocked and try again"
               : NULL;
}

void blockPartInit(void) {
    moduleAddObjection(apiBlockHasBlockedClients);
}
