/* SPDX-License-Identifier: BSD-3-Clause */
/* module_call_handlers.c - CallArgv: calls a command and passes its reply to handlers, element by element.
 * It is exported by name, outside of the table of valkeymodule.h, for modules that run scripts. */
#include <errno.h>

#include "base/zmalloc.h"
#include "module/module_call.h"
#include "module/module_call_reply.h"

int VM_CallArgv(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString **argv, int argc, int flags,
                const ValkeyModuleReplyHandlers *handlers, void *hctx);
int VM_CallArgvAbort(void *handle);

/* ---- Passing a reply to handlers ---- */

#define CALL_HANDLER(handlers, what, ...)                                                                    \
    if ((handlers)->what) (handlers)->what(__VA_ARGS__)

static void moduleCallHandlersPass(const ValkeyModuleReplyHandlers *h, void *hctx,
                                   struct ValkeyModuleCallReply *r);

static void moduleCallHandlersPassElements(const ValkeyModuleReplyHandlers *h, void *hctx,
                                           struct ValkeyModuleCallReply *r, size_t each) {
    for (size_t i = 0; i < r->count * each; i++) moduleCallHandlersPass(h, hctx, &r->elements[i]);
}

static void moduleCallHandlersPassNull(const ValkeyModuleReplyHandlers *h, void *hctx,
                                       const struct ValkeyModuleCallReply *r) {
    char type = r->proto.ptr[0];
    if (type == '$') {
        CALL_HANDLER(h, nullBulkString, hctx);
    } else if (type == '*') {
        CALL_HANDLER(h, nullArray, hctx);
    } else {
        CALL_HANDLER(h, null, hctx);
    }
}

static void moduleCallHandlersPassText(const ValkeyModuleReplyHandlers *h, void *hctx,
                                       const struct ValkeyModuleCallReply *r) {
    struct str s = r->text;
    if (r->proto.ptr[0] == '+') {
        CALL_HANDLER(h, simpleString, hctx, s.ptr, s.len);
    } else {
        CALL_HANDLER(h, bulkString, hctx, s.ptr, s.len);
    }
}

static void moduleCallHandlersPassAttribute(const ValkeyModuleReplyHandlers *h, void *hctx,
                                            struct ValkeyModuleCallReply *r) {
    CALL_HANDLER(h, attributeStart, hctx, r->count);
    moduleCallHandlersPassElements(h, hctx, r, 2);
    CALL_HANDLER(h, attributeEnd, hctx);
}

static void moduleCallHandlersPass(const ValkeyModuleReplyHandlers *h, void *hctx,
                                   struct ValkeyModuleCallReply *r) {
    if (r->attribute) moduleCallHandlersPassAttribute(h, hctx, r->attribute);
    switch (r->type) {
    case VALKEYMODULE_REPLY_ARRAY_NULL:
    case VALKEYMODULE_REPLY_NULL: moduleCallHandlersPassNull(h, hctx, r); break;
    case VALKEYMODULE_REPLY_SIMPLE_STRING:
    case VALKEYMODULE_REPLY_STRING: moduleCallHandlersPassText(h, hctx, r); break;
    case VALKEYMODULE_REPLY_ERROR: CALL_HANDLER(h, error, hctx, r->text.ptr, r->text.len); break;
    case VALKEYMODULE_REPLY_INTEGER: CALL_HANDLER(h, integer, hctx, r->integer); break;
    case VALKEYMODULE_REPLY_BOOL: CALL_HANDLER(h, boolVal, hctx, (int)r->integer); break;
    case VALKEYMODULE_REPLY_DOUBLE: CALL_HANDLER(h, doubleVal, hctx, r->real); break;
    case VALKEYMODULE_REPLY_BIG_NUMBER: CALL_HANDLER(h, bigNumber, hctx, r->text.ptr, r->text.len); break;
    case VALKEYMODULE_REPLY_VERBATIM_STRING:
        CALL_HANDLER(h, verbatimString, hctx, r->text.ptr, r->text.len, r->format);
        break;
    case VALKEYMODULE_REPLY_ARRAY:
        CALL_HANDLER(h, arrayStart, hctx, r->count);
        moduleCallHandlersPassElements(h, hctx, r, 1);
        CALL_HANDLER(h, arrayEnd, hctx);
        break;
    case VALKEYMODULE_REPLY_SET:
        CALL_HANDLER(h, setStart, hctx, r->count);
        moduleCallHandlersPassElements(h, hctx, r, 1);
        CALL_HANDLER(h, setEnd, hctx);
        break;
    case VALKEYMODULE_REPLY_MAP:
        CALL_HANDLER(h, mapStart, hctx, r->count);
        moduleCallHandlersPassElements(h, hctx, r, 2);
        CALL_HANDLER(h, mapEnd, hctx);
        break;
    default: CALL_HANDLER(h, replyParsingError, hctx); break;
    }
}

/* Passes the raw bytes to the module, then the elements unless the module declines. Takes bytes over. */
static void moduleCallHandlersPassReply(const ValkeyModuleReplyHandlers *h, void *hctx,
                                        struct ValkeyModuleCtx *ctx, sds bytes) {
    if (!h->onRespAvailable || h->onRespAvailable(hctx, ctx, bytes, sdslen(bytes))) {
        struct ValkeyModuleCallReply *r = callReplyNew(ctx, bytes, true);
        callReplyParse(r);
        moduleCallHandlersPass(h, hctx, r);
        callReplyFree(r);
    } else {
        sdsfree(bytes);
    }
}

/* ---- Blocked commands ---- */

struct waitingCall {
    ValkeyModuleReplyHandlers handlers;
    void *hctx;
};

static void moduleCallHandlersFinish(void *priv, struct module *m, struct callOutcome *outcome) {
    const struct waitingCall *call = priv;
    struct ValkeyModuleCtx ctx;
    contextOpen(&ctx, m, NULL, 0);
    ctx.dbid = outcome->dbid;
    contextClient(&ctx);
    moduleCallHandlersPassReply(&call->handlers, call->hctx, &ctx, outcome->reply);
    contextClose(&ctx);
}

static void moduleCallHandlersWait(struct ValkeyModuleCtx *ctx, struct client *c,
                                   const ValkeyModuleReplyHandlers *h, void *hctx) {
    struct promise *p = promiseNew(ctx->module, c);
    struct waitingCall *call = zmalloc(sizeof *call);
    *call = (struct waitingCall){*h, hctx};
    promiseSetListener(p, moduleCallHandlersFinish, call);
    if (h->onBlocked) h->onBlocked(hctx, ctx, p);
    promiseRelease(p);
}

/* Aborts a call that is still blocked. The handle is invalid afterwards. */
int VM_CallArgvAbort(void *handle) {
    return handle && promiseAbort(handle) ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
}

/* ---- CallArgv ---- */

int VM_CallArgv(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString **argv, int argc, int flags,
                const ValkeyModuleReplyHandlers *handlers, void *hctx) {
    static const ValkeyModuleReplyHandlers no_handlers = {.version = VALKEYMODULE_REPLY_HANDLERS_VERSION};
    const ValkeyModuleReplyHandlers *h = handlers ? handlers : &no_handlers;
    if (argc < 1 || h->version != VALKEYMODULE_REPLY_HANDLERS_VERSION) {
        errno = EINVAL;
        return VALKEYMODULE_ERR;
    }
    struct str *v = stringViews(argv, (size_t)argc);
    struct callOutcome outcome;
    moduleCall(ctx, v, argc, (unsigned)flags, &outcome);
    zfree(v);
    if (outcome.what == CALL_BLOCKED)
        moduleCallHandlersWait(ctx, outcome.client, h, hctx);
    else if (handlers)
        moduleCallHandlersPassReply(h, hctx, ctx, outcome.reply ? outcome.reply : sdsempty());
    else
        sdsfree(outcome.reply);
    errno = outcome.error;
    return outcome.what == CALL_FAILED ? VALKEYMODULE_ERR : VALKEYMODULE_OK;
}
