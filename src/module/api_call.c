/* SPDX-License-Identifier: BSD-3-Clause */
/* api_call.c - commands that a module runs, and what it replicates.
 *
 * Changes that a module's command makes are not propagated by themselves. Only calls with `!` and the
 * requests of this file are, in their order. */
#include <errno.h>
#include <stdarg.h>

#include "base/zmalloc.h"
#include "client/client.h"
#include "command/command.h"
#include "command/propagate.h"
#include "data/keyspace/db.h"
#include "module/module_call.h"
#include "module/module_call_format.h"
#include "module/module_call_reply.h"

/* ---- Call ---- */

static struct ValkeyModuleCallReply *apiCallMakeReply(struct ValkeyModuleCtx *ctx,
                                                      struct callOutcome *outcome, unsigned flags) {
    struct ValkeyModuleCallReply *r = NULL;
    bool exact = flags & VALKEYMODULE_CALL_ARGV_REPLY_EXACT;
    if (outcome->what == CALL_REPLIED)
        r = callReplyNew(ctx, outcome->reply, exact);
    else if (outcome->what == CALL_BLOCKED)
        r = callReplyPromise(ctx, promiseNew(ctx->module, outcome->client), exact);
    else
        return NULL;
    r->resp = outcome->resp;
    r->has_errors = outcome->has_errors;
    contextAutoAdd(ctx, AUTO_REPLY, r);
    return r;
}

struct ValkeyModuleCallReply *vmCall(struct ValkeyModuleCtx *ctx, const char *cmdname, const char *fmt, ...) {
    struct callArguments a;
    va_list ap;
    va_start(ap, fmt);
    bool read = callArgumentsParse(&a, cmdname, fmt, ap);
    va_end(ap);
    struct callOutcome outcome = {.what = CALL_FAILED, .error = EBADF};
    if (read || (a.flags & VALKEYMODULE_CALL_ARGV_RUN_AS_USER && !moduleCallFindUser(ctx)))
        moduleCall(ctx, a.argv, a.argc, a.flags, &outcome);
    struct ValkeyModuleCallReply *r = apiCallMakeReply(ctx, &outcome, a.flags);
    callArgumentsFree(&a);
    errno = outcome.error;
    return r;
}

/* ---- Promises ---- */

struct unblockHandler {
    ValkeyModuleOnUnblocked fn;
    void *priv;
    bool exact;
};

static void apiCallRunUnblockHandler(void *priv, struct module *m, struct callOutcome *outcome) {
    struct unblockHandler *handler = priv;
    struct ValkeyModuleCtx ctx;
    contextOpen(&ctx, m, NULL, 0);
    ctx.dbid = outcome->dbid;
    contextClient(&ctx);
    struct ValkeyModuleCallReply *r = callReplyNew(NULL, outcome->reply, handler->exact);
    r->resp = outcome->resp;
    r->has_errors = outcome->has_errors;
    handler->fn(&ctx, r, handler->priv);
    contextClose(&ctx);
}

void vmCallReplyPromiseSetUnblockHandler(struct ValkeyModuleCallReply *reply,
                                         ValkeyModuleOnUnblocked on_unblock, void *private_data) {
    if (!reply || !reply->promise || reply->handler) return;
    reply->handler = zmalloc(sizeof *reply->handler);
    *reply->handler = (struct unblockHandler){on_unblock, private_data, reply->exact};
    promiseSetListener(reply->promise, apiCallRunUnblockHandler, reply->handler);
}

int vmCallReplyPromiseAbort(struct ValkeyModuleCallReply *reply, void **private_data) {
    if (!reply || !reply->promise || !promiseAbort(reply->promise)) return VALKEYMODULE_ERR;
    if (private_data) *private_data = reply->handler ? reply->handler->priv : NULL;
    return VALKEYMODULE_OK;
}

/* ---- Replication ---- */

static void apiCallReplicate(struct ValkeyModuleCtx *ctx, int argc, const struct str *argv, unsigned but) {
    propagateModuleCommand(contextDb(ctx)->id, argc, argv, but);
    dbstats.dirty++;
}

int vmReplicate(struct ValkeyModuleCtx *ctx, const char *cmdname, const char *fmt, ...) {
    struct callArguments a;
    bool any = ctx->module && ctx->module->options & VALKEYMODULE_OPTIONS_SKIP_COMMAND_VALIDATION;
    if (!any && !commandLookupName(strOf(cmdname))) return VALKEYMODULE_ERR;
    va_list ap;
    va_start(ap, fmt);
    bool read = callArgumentsParse(&a, cmdname, fmt, ap);
    va_end(ap);
    if (read) apiCallReplicate(ctx, a.argc, a.argv, moduleCallExcludedSinks(a.flags));
    callArgumentsFree(&a);
    return read ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
}

/* Replicates the command of the client, whatever the module calls in between. */
int vmReplicateVerbatim(struct ValkeyModuleCtx *ctx) {
    const struct client *c = ctx->client;
    if (!c || !c->argv) return VALKEYMODULE_ERR;
    apiCallReplicate(ctx, c->argc, c->argv, 0);
    return VALKEYMODULE_OK;
}
