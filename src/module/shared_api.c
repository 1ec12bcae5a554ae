/* SPDX-License-Identifier: BSD-3-Clause */
/* shared_api.c - functions that a module offers to others by name (ExportSharedAPI, GetSharedAPI).
 *
 * Users keep the address of such a function, so a module stays loaded while others use it. Each pair of user
 * and source is stored once, in order. */
#include "module/shared_api.h"

#include <string.h>

#include "base/zmalloc.h"
#include "module/api.h"
#include "module/parts.h"

struct sharedApi {
    struct sharedApi *next;
    const struct module *module;
    sds name;
    void *fn;
};
struct sharing {
    struct sharing *next;
    const struct module *user, *source;
};
static struct sharedApi *apis;
static struct sharing *sharings;

static struct sharedApi *sharedApiFindApi(const char *name) {
    struct sharedApi *a = apis;
    while (a && strcmp(a->name, name) != 0) a = a->next;
    return a;
}

int vmExportSharedAPI(struct ValkeyModuleCtx *ctx, const char *apiname, void *func) {
    if (!ctx->module || sharedApiFindApi(apiname)) return VALKEYMODULE_ERR;
    struct sharedApi *a = zmalloc(sizeof *a);
    *a = (struct sharedApi){.next = apis, .module = ctx->module, .name = sdsnew(apiname), .fn = func};
    apis = a;
    return VALKEYMODULE_OK;
}

void *vmGetSharedAPI(struct ValkeyModuleCtx *ctx, const char *apiname) {
    const struct sharedApi *a = sharedApiFindApi(apiname);
    if (!a || !ctx->module) return NULL;
    struct sharing **at = &sharings;
    while (*at && ((*at)->user != ctx->module || (*at)->source != a->module)) at = &(*at)->next;
    if (*at) return a->fn;
    *at = zmalloc(sizeof **at);
    **at = (struct sharing){.user = ctx->module, .source = a->module};
    return a->fn;
}

static sds sharedApiAddName(sds s, const struct module *m, size_t start) {
    return sdscatstr(sdslen(s) > start ? sdscat(s, "|") : s, sdsview(m->name));
}

sds sharedApiAppendUsers(sds s, const struct module *m) {
    size_t start = sdslen(s);
    for (const struct sharing *p = sharings; p; p = p->next) {
        if (p->source == m) s = sharedApiAddName(s, p->user, start);
    }
    return s;
}

sds sharedApiAppendSources(sds s, const struct module *m) {
    size_t start = sdslen(s);
    for (const struct sharing *p = sharings; p; p = p->next) {
        if (p->user == m) s = sharedApiAddName(s, p->source, start);
    }
    return s;
}

static const char *sharedApiIsUsed(struct module *m) {
    for (const struct sharing *p = sharings; p; p = p->next) {
        if (p->source == m && p->user != m)
            return "the module exports APIs used by other modules. Please unload them first and try again";
    }
    return NULL;
}

static void sharedApiRemoveApis(struct module *m) {
    moduleListRemoveIf(struct sharedApi, a, apis, a->module == m) {
        sdsfree(a->name);
        zfree(a);
    }
    moduleListRemoveIf(struct sharing, p, sharings, p->user == m || p->source == m) {
        zfree(p);
    }
}

void sharedApiPartInit(void) {
    moduleAddObjection(sharedApiIsUsed);
    moduleOnUnload(sharedApiRemoveApis);
}
