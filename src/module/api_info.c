/* SPDX-License-Identifier: BSD-3-Clause */
/* api_info.c - modules in INFO: a line about each, and sections of their own.
 *
 *     # module_section        A function of the module is called with a ValkeyModuleInfoCtx and adds its
 *     module_field:value      sections one by one. For a section that was not requested, InfoAddSection
 *     module_dict:a=1,b=2     returns an error and the fields that follow are dropped. */

#include "base/assert.h"
#include "base/zmalloc.h"
#include "module/api.h"
#include "module/module_info.h"
#include "module/parts.h"
#include "module/shared_api.h"
#include "registry/info.h"

struct ValkeyModuleInfoCtx {
    const struct module *module;
    sds text;
    const struct str *wanted; /* names of requested sections; NULL: all */
    int wanted_count;
    bool in_section, in_dict;
    bool dict_is_empty; /* no field has been added yet */
};

/* Modules with a function, in the order of registration. */
struct informer {
    struct informer *next;
    const struct module *module;
    ValkeyModuleInfoFunc fn;
};
static struct informer *informers;

int vmRegisterInfoFunc(struct ValkeyModuleCtx *ctx, ValkeyModuleInfoFunc cb) {
    if (!ctx->module) return VALKEYMODULE_ERR;
    struct informer **at = &informers;
    while (*at && (*at)->module != ctx->module) at = &(*at)->next;
    if (!*at) {
        *at = zmalloc(sizeof **at);
        **at = (struct informer){.module = ctx->module};
    }
    (*at)->fn = cb;
    return VALKEYMODULE_OK;
}

/* ---- Adding sections and fields ---- */

static bool apiInfoIsWanted(const struct ValkeyModuleInfoCtx *ctx, struct str section) {
    for (int i = 0; i < ctx->wanted_count; i++) {
        if (strIs(ctx->wanted[i], section.ptr) || strIs(ctx->wanted[i], ctx->module->name)) return true;
    }
    return !ctx->wanted;
}

int vmInfoAddSection(struct ValkeyModuleInfoCtx *ctx, const char *name) {
    if (ctx->in_dict) vmInfoEndDictField(ctx);
    sds full = infoAppendName(sdsempty(), ctx->module->name);
    if (name) full = sdscat(sdscat(full, "_"), name);
    ctx->in_section = apiInfoIsWanted(ctx, sdsview(full));
    if (ctx->in_section) {
        if (sdslen(ctx->text)) ctx->text = sdscat(ctx->text, "\r\n");
        ctx->text = sdscat(sdscatstr(sdscat(ctx->text, "# "), sdsview(full)), "\r\n");
    }
    sdsfree(full);
    return ctx->in_section ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
}

static void apiInfoAddFieldName(struct ValkeyModuleInfoCtx *ctx, const char *field) {
    ctx->text = sdscat(infoAppendName(ctx->text, ctx->module->name), "_");
    ctx->text = sdscat(ctx->text, field);
    ctx->text = sdscat(ctx->text, ":");
}

int vmInfoBeginDictField(struct ValkeyModuleInfoCtx *ctx, const char *name) {
    if (ctx->in_dict) vmInfoEndDictField(ctx);
    if (!ctx->in_section) return VALKEYMODULE_ERR;
    sds clean = infoAppendName(sdsempty(), name);
    apiInfoAddFieldName(ctx, clean);
    sdsfree(clean);
    ctx->in_dict = ctx->dict_is_empty = true;
    return VALKEYMODULE_OK;
}

int vmInfoEndDictField(struct ValkeyModuleInfoCtx *ctx) {
    if (!ctx->in_dict) return VALKEYMODULE_ERR;
    ctx->text = sdscat(ctx->text, "\r\n");
    ctx->in_dict = false;
    return VALKEYMODULE_OK;
}

static int apiInfoAddField(struct ValkeyModuleInfoCtx *ctx, const char *field, struct str value) {
    if (!ctx->in_section) return VALKEYMODULE_ERR;
    if (ctx->in_dict) {
        if (!ctx->dict_is_empty) ctx->text = sdscat(ctx->text, ",");
        ctx->dict_is_empty = false;
        ctx->text = sdscat(sdscat(ctx->text, field), "=");
    } else {
        apiInfoAddFieldName(ctx, field);
    }
    ctx->text = sdscatstr(ctx->text, value);
    if (!ctx->in_dict) ctx->text = sdscat(ctx->text, "\r\n");
    return VALKEYMODULE_OK;
}

static int apiInfoAddPrinted(struct ValkeyModuleInfoCtx *ctx, const char *field, sds value) {
    int result = apiInfoAddField(ctx, field, sdsview(value));
    sdsfree(value);
    return result;
}

int vmInfoAddFieldString(struct ValkeyModuleInfoCtx *ctx, const char *field,
                         struct ValkeyModuleString *value) {
    return apiInfoAddField(ctx, field, stringText(value));
}

int vmInfoAddFieldCString(struct ValkeyModuleInfoCtx *ctx, const char *field, const char *value) {
    return apiInfoAddField(ctx, field, strOf(value));
}

int vmInfoAddFieldDouble(struct ValkeyModuleInfoCtx *ctx, const char *field, double value) {
    return apiInfoAddPrinted(ctx, field, sdscatprintf(sdsempty(), "%.17g", value));
}

int vmInfoAddFieldLongLong(struct ValkeyModuleInfoCtx *ctx, const char *field, long long value) {
    return apiInfoAddPrinted(ctx, field, sdscatprintf(sdsempty(), "%lld", value));
}

int vmInfoAddFieldULongLong(struct ValkeyModuleInfoCtx *ctx, const char *field, unsigned long long value) {
    return apiInfoAddPrinted(ctx, field, sdscatprintf(sdsempty(), "%llu", value));
}

/* ---- INFO ---- */

static sds apiInfoCollect(sds s, const struct str *wanted, int count, bool for_crash) {
    for (const struct informer *i = informers; i; i = i->next) {
        struct ValkeyModuleInfoCtx ctx = {
            .module = i->module, .text = s, .wanted = wanted, .wanted_count = count};
        i->fn(&ctx, for_crash);
        if (ctx.in_dict) vmInfoEndDictField(&ctx);
        s = ctx.text;
    }
    return s;
}

static sds apiInfoRequestedSections(sds s, const struct str *names, int count) {
    for (int i = 0; i < count; i++) {
        if (strIs(names[i], "everything") || strIs(names[i], "modules"))
            return apiInfoCollect(s, NULL, 0, false);
    }
    return count ? apiInfoCollect(s, names, count, false) : s;
}

sds moduleInfoForCrash(void) {
    return apiInfoCollect(sdsempty(), NULL, 0, true);
}

static sds apiInfoAddOptions(sds s, unsigned options) {
    static const struct {
        unsigned bit;
        const char *name;
    } shown[] = {{VALKEYMODULE_OPTIONS_HANDLE_IO_ERRORS, "handle-io-errors"},
                 {VALKEYMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD, "handle-repl-async-load"},
                 {VALKEYMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED, "no-implicit-signal-modified"},
                 {VALKEYMODULE_OPTIONS_HANDLE_ATOMIC_SLOT_MIGRATION, "handle-atomic-slot-migration"}};
    size_t start = sdslen(s);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (!(options & shown[i].bit)) continue;
        if (sdslen(s) > start) s = sdscat(s, "|");
        s = sdscat(s, shown[i].name);
    }
    return s;
}

static sds apiInfoModulesSection(sds s) {
    for (const struct module *m = modules; m; m = m->next) {
        s = infoAppendName(sdscat(s, "module:name="), m->name);
        s = sdscatprintf(s, ",ver=%d,api=%d,filters=%d,usedby=[", m->ver, m->apiver, moduleFilterCount(m));
        s = sharedApiAppendUsers(s, m);
        s = sharedApiAppendSources(sdscat(s, "],using=["), m);
        s = apiInfoAddOptions(sdscat(s, "],options=["), m->options);
        s = sdscat(s, "]\r\n");
    }
    return s;
}

static void apiInfoRemoveInformer(struct module *m) {
    moduleListRemoveIf(struct informer, i, informers, i->module == m) {
        zfree(i);
    }
}

void infoPartInit(void) {
    infoRegister("modules", apiInfoModulesSection);
    infoOnNames(apiInfoRequestedSections);
    moduleOnUnload(apiInfoRemoveInformer);
}
