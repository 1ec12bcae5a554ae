/* SPDX-License-Identifier: BSD-3-Clause */
/* api_filter.c - command filters: functions of modules that see each request before its command is looked
 * up, and may change it.
 *
 *     request ──▶ the row of admission ──▶ strings ──▶ filter, filter ... ──▶ unchanged: it runs as it is
 *                 (idle without filters)                                 └──▶ another request runs instead
 *
 * Filters do not see a blocked command that runs again, nor the commands that EXEC runs: they have seen them
 * when they arrived. */
#include <string.h>

#include "base/zmalloc.h"
#include "client/client.h"
#include "command/admission.h"
#include "command/call.h"
#include "command/command.h"
#include "module/api.h"
#include "module/module_filter.h"
#include "module/parts.h"

struct ValkeyModuleCommandFilter {
    struct ValkeyModuleCommandFilter *next; /* in order of registration */
    struct module *module;
    ValkeyModuleCommandFilterFunc fn; /* NULL: unregistered while filters were running */
    int flags;
};

struct ValkeyModuleCommandFilterCtx {
    struct ValkeyModuleString **argv;
    int argc, room;
    bool changed;
    const struct client *client;
};

static struct ValkeyModuleCommandFilter *filters;
static int running; /* depth of nested runs of the filters */

/* ---- Arguments ---- */

int vmCommandFilterArgsCount(struct ValkeyModuleCommandFilterCtx *fctx) {
    return fctx->argc;
}

struct ValkeyModuleString *vmCommandFilterArgGet(struct ValkeyModuleCommandFilterCtx *fctx, int pos) {
    return pos >= 0 && pos < fctx->argc ? fctx->argv[pos] : NULL;
}

int vmCommandFilterArgInsert(struct ValkeyModuleCommandFilterCtx *fctx, int pos,
                             struct ValkeyModuleString *arg) {
    if (pos < 0 || pos > fctx->argc) return VALKEYMODULE_ERR;
    if (fctx->argc == fctx->room) {
        fctx->room = 2 * fctx->room + 4;
        fctx->argv = zrealloc(fctx->argv, (size_t)fctx->room * sizeof *fctx->argv);
    }
    memmove(fctx->argv + pos + 1, fctx->argv + pos, (size_t)(fctx->argc - pos) * sizeof *fctx->argv);
    fctx->argv[pos] = arg;
    fctx->argc++;
    fctx->changed = true;
    return VALKEYMODULE_OK;
}

int vmCommandFilterArgReplace(struct ValkeyModuleCommandFilterCtx *fctx, int pos,
                              struct ValkeyModuleString *arg) {
    if (pos < 0 || pos >= fctx->argc) return VALKEYMODULE_ERR;
    stringRelease(fctx->argv[pos]);
    fctx->argv[pos] = arg;
    fctx->changed = true;
    return VALKEYMODULE_OK;
}

int vmCommandFilterArgDelete(struct ValkeyModuleCommandFilterCtx *fctx, int pos) {
    if (pos < 0 || pos >= fctx->argc) return VALKEYMODULE_ERR;
    stringRelease(fctx->argv[pos]);
    fctx->argc--;
    memmove(fctx->argv + pos, fctx->argv + pos + 1, (size_t)(fctx->argc - pos) * sizeof *fctx->argv);
    fctx->changed = true;
    return VALKEYMODULE_OK;
}

unsigned long long vmCommandFilterGetClientId(struct ValkeyModuleCommandFilterCtx *fctx) {
    return fctx->client->id;
}

/* ---- Running ---- */

static void apiFilterFreeUnregistered(void) {
    if (running) return;
    moduleListRemoveIf(struct ValkeyModuleCommandFilter, f, filters, !f->fn) {
        zfree(f);
    }
    admissionIdle(RULE_FILTER, !filters);
}

static void apiFilterRunAll(struct ValkeyModuleCommandFilterCtx *fctx) {
    running++;
    for (struct ValkeyModuleCommandFilter *f = filters; f; f = f->next) {
        if (!f->fn) continue;
        bool own = f->flags & VALKEYMODULE_CMDFILTER_NOSELF && f->module->in_call;
        if (!own) f->fn(fctx);
    }
    running--;
}

struct request *moduleFilterApply(const struct client *c, const struct request *r) {
    if (!filters) return NULL;
    struct ValkeyModuleCommandFilterCtx fctx = {.argc = r->argc, .room = r->argc, .client = c};
    fctx.argv = zmalloc((size_t)r->argc * sizeof *fctx.argv);
    for (int i = 0; i < r->argc; i++) fctx.argv[i] = stringNew(r->argv[i]);
    apiFilterRunAll(&fctx);
    struct request *replacement = NULL;
    if (fctx.changed && fctx.argc) {
        struct str *views = stringViews(fctx.argv, (size_t)fctx.argc);
        struct request changed = {.argv = views, .argc = fctx.argc, .cmd = commandLookup(views, fctx.argc)};
        changed.unpropagated = r->unpropagated;
        replacement = requestCopy(&changed);
        zfree(views);
    }
    for (int i = 0; i < fctx.argc; i++) stringRelease(fctx.argv[i]);
    zfree(fctx.argv);
    return replacement;
}

static enum admission apiFilterCheckRequest(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (r == call_replacement) return ADMITTED; /* a filter has made it */
    struct request *replacement = moduleFilterApply(c, r);
    if (!replacement) return ADMITTED;
    call_replacement = replacement;
    return REPLACED;
}

/* ---- Registering ---- */

struct ValkeyModuleCommandFilter *vmRegisterCommandFilter(struct ValkeyModuleCtx *ctx,
                                                          ValkeyModuleCommandFilterFunc cb, int flags) {
    if (!ctx->module || !cb) return NULL;
    struct ValkeyModuleCommandFilter **end = &filters, *f = zmalloc(sizeof *f);
    while (*end) end = &(*end)->next;
    *f = (struct ValkeyModuleCommandFilter){.module = ctx->module, .fn = cb, .flags = flags};
    *end = f;
    admissionIdle(RULE_FILTER, false);
    return f;
}

/* Runs between calls, when no rule is being checked: a rule must not become idle during its own check. */
static void apiFilterFreeBetweenCalls(struct client *c) {
    (void)c;
    apiFilterFreeUnregistered();
    callHookIdle(apiFilterFreeBetweenCalls, true);
}

int vmUnregisterCommandFilter(struct ValkeyModuleCtx *ctx, struct ValkeyModuleCommandFilter *filter) {
    struct ValkeyModuleCommandFilter *f = filters;
    while (f && f != filter) f = f->next;
    if (!f || f->module != ctx->module) return VALKEYMODULE_ERR;
    f->fn = NULL;
    callHookIdle(apiFilterFreeBetweenCalls, false);
    return VALKEYMODULE_OK;
}

int moduleFilterCount(const struct module *m) {
    int count = 0;
    for (const struct ValkeyModuleCommandFilter *f = filters; f; f = f->next)
        count += f->module == m && f->fn;
    return count;
}

static void apiFilterRemoveFilters(struct module *m) {
    for (struct ValkeyModuleCommandFilter *f = filters; f; f = f->next) {
        if (f->module == m) f->fn = NULL;
    }
    callHookIdle(apiFilterFreeBetweenCalls, false);
    apiFilterFreeUnregistered();
}

void filterPartInit(void) {
    admissionFill(RULE_FILTER, apiFilterCheckRequest);
    admissionIdle(RULE_FILTER, true);
    callAddHook(BETWEEN_CALLS, apiFilterFreeBetweenCalls, true);
    moduleOnUnload(apiFilterRemoveFilters);
}
