/* SPDX-License-Identifier: BSD-3-Clause */
/* module_call_handlers.c - CallArgv: a command whose reply is handed over piece by piece. Exported by its
 * name, not among the functions of valkeymodule.h: what runs scripts uses it. */
#include <errno.h>

#include "base/zmalloc.h"
#include "module/module_call.h"
#include "module/module_call_reply.h"

int VM_CallArgv(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString **argv, int argc, int flags,
                const ValkeyModuleReplyHandlers *handlers, void *hctx);
int VM_CallArgvAbort(void *handle);

/* ---- Piece by piece ---- */

#define TELL(handlers, what, ...)                                                                            \
    if ((handlers)->what) (handlers)->what(__VA_ARGS__)

static void moduleCallHandlersTell(const ValkeyModuleReplyHandlers *h, void *hctx,
                                   struct ValkeyModuleCallReply *r);

static void moduleCallHandlersTellElements(const ValkeyModuleReplyHandlers *h, void *hctx,
                                           struct ValkeyModuleCallReply *r, size_t each) {
    for (size_t i = 0; i < r->count * each; i++) moduleCallHandlersTell(h, hctx, &r->elements[i]);
}

static void moduleCallHandlersTellNull(const ValkeyModuleReplyHandlers *h, void *hctx,
                                       const struct ValkeyModuleCallReply *r) {
    char type = r->proto.ptr[0];
    if (type == '$') {
        TELL(h, nullBulkString, hctx);
    } else if (type == '*') {
        TELL(h, nullArray, hctx);
    } else {
        TELL(h, null, hctx);
    }
}

static void moduleCallHandlersTellText(const ValkeyModuleReplyHandlers *h, void *hctx,
                                       const struct ValkeyModuleCallReply *r) {
    struct str s = r->text;
    if (r->proto.ptr[0] == '+') {
        TELL(h, simpleString, hctx, s.ptr, s.len);
    } else {
        TELL(h, bulkString, hctx, s.ptr, s.len);
    }
}

static void moduleCallHandlersTellAttribute(const ValkeyModuleReplyHandlers *h, void *hctx,
                                            struct ValkeyModuleCallReply *r) {
    TELL(h, attributeStart, hctx, r->count);
    moduleCallHandlersTellElements(h, hctx, r, 2);
    TELL(h, attributeEnd, hctx);
}

static void moduleCallHandlersTell(const ValkeyModuleReplyHandlers *h, void *hctx,
                                   struct ValkeyModuleCallReply *r) {
    if (r->attribute) moduleCallHandlersTellAttribute(h, hctx, r->attribute);
    switch (r->type) {
    case VALKEYMODULE_REPLY_ARRAY_NULL:
    case VALKEYMODULE_REPLY_NULL: moduleCallHandlersTellNull(h, hctx, r); break;
    case VALKEYMODULE_REPLY_SIMPLE_STRING:
    case VALKEYMODULE_REPLY_STRING: moduleCallHandlersTellText(h, hctx, r); break;
    case VALKEYMODULE_REPLY_ERROR: TELL(h, error, hctx, r->text.ptr, r->text.len); break;
    case VALKEYMODULE_REPLY_INTEGER: TELL(h, integer, hctx, r->integer); break;
    case VALKEYMODULE_REPLY_BOOL: TELL(h, boolVal, hctx, (int)r->integer); break;
    case VALKEYMODULE_REPLY_DOUBLE: TELL(h, doubleVal, hctx, r->real); break;
    case VALKEYMODULE_REPLY_BIG_NUMBER: TELL(h, bigNumber, hctx, r->text.ptr, r->text.len); break;
    case VALKEYMODULE_REPLY_VERBATIM_STRING:
        TELL(h, verbatimString, hctx, r->text.ptr, r->text.len, r->format);
        break;
    case VALKEYMODULE_REPLY_ARRAY:
        TELL(h, arrayStart, hctx, r->count);
        moduleCallHandlersTellElements(h, hctx, r, 1);
        TELL(h, arrayEnd, hctx);
        break;
    case VALKEYMODULE_REPLY_SET:
        TELL(h, setStart, hctx, r->count);
        moduleCallHandlersTellElements(h, hctx, r, 1);
        TELL(h, setEnd, hctx);
        break;
    case VALKEYMODULE_REPLY_MAP:
        TELL(h, mapStart, hctx, r->count);
        moduleCallHandlersTellElements(h, hctx, r, 2);
        TELL(h, mapEnd, hctx);
        break;
    default: TELL(h, replyParsingError, hctx); break;
    }
}

/* The raw bytes first: who wants no more says so. Takes them over. */
static void moduleCallHandlersHandOver(const ValkeyModuleReplyHandlers *h, void *hctx,
                                       struct ValkeyModuleCtx *ctx, sds bytes) {
    if (!h->onRespAvailable || h->onRespAvailable(hctx, ctx, bytes, sdslen(bytes))) {
        struct ValkeyModuleCallReply *r = callReplyNew(ctx, bytes, true);
        callReplyParse(r);
        moduleCallHandlersTell(h, hctx, r);
        callReplyFree(r);
    } else {
        sdsfree(bytes);
    }
}

/* ---- Commands that wait ---- */

struct waitingCall {
    ValkeyModuleReplyHandlers handlers;
    void *hctx;
};

static void moduleCallHandlersTellModule(void *priv, struct module *m, struct callOutcome *outcome) {
    const struct waitingCall *call = priv;
    struct ValkeyModuleCtx ctx;
    contextOpen(&ctx, m, NULL, 0);
    ctx.dbid = outcome->dbid;
    contextClient(&ctx);
    moduleCallHandlersHandOver(&call->handlers, call->hctx, &ctx, outcome->reply);
    contextClose(&ctx);
}

static void moduleCallHandlersWait(struct ValkeyModuleCtx *ctx, struct client *c,
                                   const ValkeyModuleReplyHandlers *h, void *hctx) {
    struct promise *p = promiseNew(ctx->module, c);
    struct waitingCall *call = zmalloc(sizeof *call);
    *call = (struct waitingCall){*h, hctx};
    promiseTell(p, moduleCallHandlersTellModule, call);
    if (h->onBlocked) h->onBlocked(hctx, ctx, p);
    promiseRelease(p);
}

/* Of a call that has not been answered yet: its handle is no longer good then. */
int VM_CallArgvAbort(void *handle) {
    return handle && promiseAbort(handle) ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
}

/* ---- CallArgv ---- */

static struct str *moduleCallHandlersViews(struct ValkeyModuleString **argv, int argc) {
    struct str *v = zmalloc((size_t)argc * sizeof *v);
    for (int i = 0; i < argc; i++) v[i] = stringText(argv[i]);
    return v;
}

int VM_CallArgv(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString **argv, int argc, int flags,
                const ValkeyModuleReplyHandlers *handlers, void *hctx) {
    static const ValkeyModuleReplyHandlers nobody = {.version = VALKEYMODULE_REPLY_HANDLERS_VERSION};
    const ValkeyModuleReplyHandlers *h = handlers ? handlers : &nobody;
    if (argc < 1 || h->version != VALKEYMODULE_REPLY_HANDLERS_VERSION) {
        errno = EINVAL;
        return VALKEYMODULE_ERR;
    }
    unsigned how = (unsigned)flags;
    struct str *v = moduleCallHandlersViews(argv, argc);
    struct callOutcome outcome;
    moduleCall(ctx, v, argc, how, &outcome);
    zfree(v);
    if (outcome.what == CALL_WAITS)
        moduleCallHandlersWait(ctx, outcome.client, h, hctx);
    else if (handlers)
        moduleCallHandlersHandOver(h, hctx, ctx, outcome.reply ? outcome.reply : sdsempty());
    else
        sdsfree(outcome.reply);
    errno = outcome.error;
    return outcome.what == CALL_FAILED ? VALKEYMODULE_ERR : VALKEYMODULE_OK;
}
