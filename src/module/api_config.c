/* SPDX-License-Identifier: BSD-3-Clause */
/* api_config.c - directives of modules.
 *
 *     the file, LOADEX ──▶ pending ──▶ LoadConfigs ─┐
 *     CONFIG SET ──▶ registry/config.h ──▶ apiConfigSetText ─┴─▶ apiConfigReadText ──▶ the module's setter
 *     CONFIG GET, REWRITE ◀── registry ◀── apiConfigGetText ◀── the module's getter
 *
 * The module owns the value, so the registry knows such a directive as a SPECIAL one. Conversion between
 * words and numbers is left to the registry by means of a second directive, `typed`, which is not registered,
 * says what kind of value it is, and has the variable `value`. Only unsigned numbers and sets of words are
 * converted here. */
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "ds/hashtable.h"
#include "module/api.h"
#include "module/module_config.h"
#include "module/parts.h"
#include "registry/config.h"

#define REASON_MAX 255 /* bytes of a module's error text */

#define FLAGS_KNOWN                                                                                          \
    (VALKEYMODULE_CONFIG_IMMUTABLE | VALKEYMODULE_CONFIG_SENSITIVE | VALKEYMODULE_CONFIG_HIDDEN |            \
     VALKEYMODULE_CONFIG_PROTECTED | VALKEYMODULE_CONFIG_DENY_LOADING | VALKEYMODULE_CONFIG_MEMORY |         \
     VALKEYMODULE_CONFIG_BITFLAGS | VALKEYMODULE_CONFIG_UNSIGNED)
#define FLAGS_OF_NUMBERS (VALKEYMODULE_CONFIG_MEMORY | VALKEYMODULE_CONFIG_UNSIGNED)

enum moduleConfigKind { KIND_BOOL, KIND_NUMBER, KIND_UNSIGNED, KIND_STRING, KIND_ENUM };

struct moduleConfigValue {
    bool b;
    int e;
    int64_t i;
    uint64_t u;
    struct ValkeyModuleString
        *s; /* NULL: none. A value read from text owns it; a getter's value belongs to the module */
};

/* An apply function and its data. Directives with the same function and data share one. */
struct moduleApply {
    struct configApply apply; /* first member: the registry passes it */
    struct moduleApply *next;
    struct module *module;
    ValkeyModuleConfigApplyFunc fn;
    void *priv;
};

struct moduleConfig {
    struct moduleConfig *next; /* in order of registration */
    struct module *module;
    enum moduleConfigKind kind;
    unsigned flags; /* VALKEYMODULE_CONFIG_... */
    sds name;       /* module.name */
    const char *short_name;
    struct configDirective shown, typed;
    struct moduleConfigValue value; /* the variable of typed */
    struct moduleConfigValue def;
    uint64_t unsigned_min, unsigned_max;
    union {
        ValkeyModuleConfigGetBoolFunc b;
        ValkeyModuleConfigGetNumericFunc i;
        ValkeyModuleConfigGetUnsignedNumericFunc u;
        ValkeyModuleConfigGetStringFunc s;
        ValkeyModuleConfigGetEnumFunc e;
    } get;
    union {
        ValkeyModuleConfigSetBoolFunc b;
        ValkeyModuleConfigSetNumericFunc i;
        ValkeyModuleConfigSetUnsignedNumericFunc u;
        ValkeyModuleConfigSetStringFunc s;
        ValkeyModuleConfigSetEnumFunc e;
    } set;
    void *priv;
};

static struct moduleConfig *module_configs;
static struct moduleApply *applies;
static const struct module *unloaded_configs; /* has registered directives without LoadConfigs after them */

/* ---- From text to values ---- */

static struct moduleConfig *apiConfigFromDirective(const struct configDirective *shown) {
    return (struct moduleConfig *)((char *)shown - offsetof(struct moduleConfig, shown));
}

static bool apiConfigReadUnsigned(const struct moduleConfig *mc, struct str word, uint64_t *u,
                                  const char **err) {
    bool memory = mc->flags & VALKEYMODULE_CONFIG_MEMORY;
    *err = memory ? "argument must be a memory value" : "argument couldn't be parsed as an unsigned number";
    if (!(memory ? memtoull(word, u) : string2ull(word, u))) return false;
    *err = NULL;
    if (*u >= mc->unsigned_min && *u <= mc->unsigned_max) return true;
    *err = configReason("argument must be between %llu and %llu inclusive",
                        (unsigned long long)mc->unsigned_min, (unsigned long long)mc->unsigned_max);
    return false;
}

/* Parses several words; each of them has to be known. */
static bool apiConfigReadBits(struct moduleConfig *mc, struct str text, int *bits, const char **err) {
    int n;
    bool ok = true;
    sds *words = sdssplitlen(text.ptr, text.len, " ", 1, &n);
    *bits = 0;
    for (int i = 0; i < n && ok; i++) {
        ok = configParse(&mc->typed, sdsview(words[i]), err);
        *bits |= mc->value.e;
    }
    sdsfreesplitres(words, n);
    return ok && n ? true : configParse(&mc->typed, STR(""), err) && false;
}

/* Parses a value. If it has a string, the caller releases it. */
static bool apiConfigReadText(struct moduleConfig *mc, struct str text, struct moduleConfigValue *v,
                              const char **err) {
    *v = (struct moduleConfigValue){0};
    if (mc->kind == KIND_STRING) {
        v->s = stringNew(text);
        return true;
    }
    if (mc->kind == KIND_UNSIGNED) return apiConfigReadUnsigned(mc, text, &v->u, err);
    if (mc->kind == KIND_ENUM && mc->flags & VALKEYMODULE_CONFIG_BITFLAGS)
        return apiConfigReadBits(mc, text, &v->e, err);
    if (!configParse(&mc->typed, text, err)) return false;
    *v = mc->value;
    return true;
}

static struct moduleConfigValue apiConfigGetValue(const struct moduleConfig *mc) {
    struct moduleConfigValue v = {0};
    switch (mc->kind) {
    case KIND_BOOL: v.b = mc->get.b(mc->short_name, mc->priv) != 0; break;
    case KIND_NUMBER: v.i = mc->get.i(mc->short_name, mc->priv); break;
    case KIND_UNSIGNED: v.u = mc->get.u(mc->short_name, mc->priv); break;
    case KIND_STRING: v.s = mc->get.s(mc->short_name, mc->priv); break;
    case KIND_ENUM: v.e = mc->get.e(mc->short_name, mc->priv); break;
    }
    return v;
}

static bool apiConfigSameString(const struct ValkeyModuleString *a, const struct ValkeyModuleString *b) {
    return a == b || (a && b && strEq(stringText(a), stringText(b)));
}

static bool apiConfigSameValue(const struct moduleConfigValue *a, const struct moduleConfigValue *b) {
    return a->b == b->b && a->e == b->e && a->i == b->i && a->u == b->u && apiConfigSameString(a->s, b->s);
}

/* Returns the reason that a module has given, or NULL. Releases its string. */
static const char *apiConfigTakeReason(struct ValkeyModuleString *reason) {
    if (!reason) return NULL;
    struct str text = stringText(reason);
    const char *err = configReason("%.*s", (int)(text.len < REASON_MAX ? text.len : REASON_MAX), text.ptr);
    stringRelease(reason);
    return err;
}

static bool apiConfigSetValue(const struct moduleConfig *mc, const struct moduleConfigValue *v,
                              const char **err) {
    struct ValkeyModuleString *reason = NULL;
    int result = VALKEYMODULE_OK;
    switch (mc->kind) {
    case KIND_BOOL: result = mc->set.b(mc->short_name, v->b, mc->priv, &reason); break;
    case KIND_NUMBER: result = mc->set.i(mc->short_name, v->i, mc->priv, &reason); break;
    case KIND_UNSIGNED: result = mc->set.u(mc->short_name, v->u, mc->priv, &reason); break;
    case KIND_STRING: result = mc->set.s(mc->short_name, v->s, mc->priv, &reason); break;
    case KIND_ENUM: result = mc->set.e(mc->short_name, v->e, mc->priv, &reason); break;
    }
    const char *why = apiConfigTakeReason(reason);
    if (result != VALKEYMODULE_OK) *err = why;
    return result == VALKEYMODULE_OK;
}

/* Sets a value unless it is the present one. */
static bool apiConfigSetText(struct moduleConfig *mc, struct str text, const char **err) {
    struct moduleConfigValue v, now;
    if (!apiConfigReadText(mc, text, &v, err)) return false;
    now = apiConfigGetValue(mc);
    bool ok = apiConfigSameValue(&v, &now) || apiConfigSetValue(mc, &v, err);
    if (v.s) stringRelease(v.s);
    return ok;
}

/* ---- From values to text ---- */

/* Returns the name of the whole value if there is one, else the names of its bits. */
static sds apiConfigBitsText(const struct moduleConfig *mc, int bits) {
    sds text = sdsempty();
    int left = bits;
    for (const struct configEnum *e = mc->typed.names; e->name; e++) {
        if (e->value == bits) {
            sdsfree(text);
            return sdsnew(e->name);
        }
        if (!e->value || (bits & e->value) != e->value) continue;
        text = sdscatprintf(text, "%s%s", sdslen(text) ? " " : "", e->name);
        left &= ~e->value;
    }
    if (!left) return text;
    sdsfree(text);
    return sdsnew("unknown");
}

static sds apiConfigTextOf(struct moduleConfig *mc, const struct moduleConfigValue *v) {
    if (mc->kind == KIND_STRING) return v->s ? sdsnewstr(stringText(v->s)) : sdsempty();
    if (mc->kind == KIND_UNSIGNED) return sdscatprintf(sdsempty(), "%llu", (unsigned long long)v->u);
    if (mc->kind == KIND_ENUM && mc->flags & VALKEYMODULE_CONFIG_BITFLAGS) return apiConfigBitsText(mc, v->e);
    mc->value = *v;
    return configText(&mc->typed);
}

static sds apiConfigGetText(const struct configDirective *shown) {
    struct moduleConfig *mc = apiConfigFromDirective(shown);
    struct moduleConfigValue v = apiConfigGetValue(mc);
    return apiConfigTextOf(mc, &v);
}

/* Returns the value as a configuration file has it. */
static sds apiConfigGetLine(const struct configDirective *shown) {
    struct moduleConfig *mc = apiConfigFromDirective(shown);
    struct moduleConfigValue v = apiConfigGetValue(mc);
    int64_t bytes = mc->kind == KIND_UNSIGNED ? (int64_t)v.u : v.i;
    if (mc->flags & VALKEYMODULE_CONFIG_MEMORY && bytes >= 0) return configAppendMemory(sdsempty(), bytes);
    if (mc->kind == KIND_STRING && !v.s) return sdsempty();
    sds text = apiConfigTextOf(mc, &v);
    sds line = mc->kind == KIND_STRING ? sdscatrepr(sdsempty(), text, sdslen(text))
                                       : configAppendWords(sdsempty(), sdsview(text));
    sdsfree(text);
    return line;
}

static bool apiConfigSetFromRegistry(const struct configDirective *shown, int argc, const struct str *argv,
                                     const char **err) {
    (void)argc; /* always 1 */
    *err = NULL;
    return apiConfigSetText(apiConfigFromDirective(shown), argv[0], err);
}

/* ---- Applying ---- */

static bool apiConfigCallApply(struct configApply *a, const char **err) {
    struct moduleApply *ma = (struct moduleApply *)a;
    struct ValkeyModuleString *reason = NULL;
    struct ValkeyModuleCtx ctx;
    contextOpen(&ctx, ma->module, NULL, 0);
    bool ok = ma->fn(&ctx, ma->priv, &reason) == VALKEYMODULE_OK;
    contextClose(&ctx);
    const char *why = apiConfigTakeReason(reason);
    if (ok) return true;
    serverLog(LL_WARNING, "A module refused its new configuration, so the previous settings are restored");
    *err = why;
    return false;
}

static struct configApply *apiConfigApplyFor(struct module *m, ValkeyModuleConfigApplyFunc fn, void *priv) {
    if (!fn) return NULL;
    for (struct moduleApply *a = applies; a; a = a->next) {
        if (a->module == m && a->fn == fn && a->priv == priv) return &a->apply;
    }
    struct moduleApply *a = zmalloc(sizeof *a);
    *a = (struct moduleApply){
        .apply = {apiConfigCallApply}, .next = applies, .module = m, .fn = fn, .priv = priv};
    applies = a;
    return &a->apply;
}

/* ---- Registering ---- */

static bool apiConfigNameIsValid(const char *name) {
    for (const char *p = name; *p; p++) {
        if (isalnum((unsigned char)*p) || *p == '_' || *p == '-') continue;
        serverLog(LL_WARNING, "The character %c is not allowed in the name %s of a module's directive", *p,
                  name);
        return false;
    }
    return *name;
}

static bool apiConfigFlagsAreValid(enum moduleConfigKind kind, unsigned flags) {
    const char *why = NULL;
    if (flags & ~(unsigned)FLAGS_KNOWN)
        why = "A directive of a module has a flag that does not exist";
    else if (kind != KIND_NUMBER && kind != KIND_UNSIGNED && flags & FLAGS_OF_NUMBERS)
        why = "A directive of a module has a flag for numbers, but is none";
    else if (kind != KIND_ENUM && flags & VALKEYMODULE_CONFIG_BITFLAGS)
        why = "A directive of a module has a flag for enumerations, but is none";
    if (why) serverLog(LL_WARNING, "%s", why);
    return !why;
}

static unsigned apiConfigRegistryFlags(unsigned flags) {
    static const struct {
        unsigned flag, registry;
    } same[] = {{VALKEYMODULE_CONFIG_SENSITIVE, CONFIG_SENSITIVE},
                {VALKEYMODULE_CONFIG_HIDDEN, CONFIG_HIDDEN},
                {VALKEYMODULE_CONFIG_PROTECTED, CONFIG_PROTECTED},
                {VALKEYMODULE_CONFIG_DENY_LOADING, CONFIG_NOT_LOADING}};
    unsigned result = CONFIG_MODULE | (flags & VALKEYMODULE_CONFIG_IMMUTABLE ? 0 : CONFIG_MODIFIABLE);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        if (flags & same[i].flag) result |= same[i].registry;
    }
    return result;
}

static void apiConfigFreeConfig(struct moduleConfig *mc) {
    for (const struct configEnum *e = mc->typed.names; e && e->name; e++) zfree((char *)e->name);
    zfree((void *)mc->typed.names);
    if (mc->def.s) stringRelease(mc->def.s);
    zfree((char *)mc->shown.def_string);
    sdsfree(mc->name);
    zfree(mc);
}

/* Creates a directive, which apiConfigFinish registers. Returns NULL and sets errno if it is not allowed. */
static struct moduleConfig *apiConfigCreate(struct ValkeyModuleCtx *ctx, const char *name,
                                            enum moduleConfigKind kind, unsigned flags, void *priv) {
    errno = EBUSY;
    if (!ctx->module || !ctx->module->loading) return NULL;
    errno = EINVAL;
    if (!apiConfigFlagsAreValid(kind, flags) || !apiConfigNameIsValid(name)) return NULL;
    struct moduleConfig *mc = zcalloc(1, sizeof *mc);
    mc->module = ctx->module;
    mc->kind = kind;
    mc->flags = flags;
    mc->priv = priv;
    mc->name = sdscatprintf(sdsempty(), "%s.%s", ctx->module->name, name);
    mc->short_name = mc->name + sdslen(ctx->module->name) + 1;
    return mc;
}

static int apiConfigFinish(struct moduleConfig *mc, ValkeyModuleConfigApplyFunc apply) {
    sds def = apiConfigTextOf(mc, &mc->def);
    mc->shown = (struct configDirective){.name = mc->name,
                                         .type = CONFIG_TYPE_SPECIAL,
                                         .flags = apiConfigRegistryFlags(mc->flags),
                                         .like = &mc->typed,
                                         .short_name = mc->short_name,
                                         .def_string = zstrdup(def),
                                         .apply_with = apiConfigApplyFor(mc->module, apply, mc->priv),
                                         .set = apiConfigSetFromRegistry,
                                         .get = apiConfigGetText,
                                         .lines = apiConfigGetLine};
    sdsfree(def);
    if (!configAdd(&mc->shown)) {
        serverLog(LL_WARNING, "A directive named %s is registered already", mc->short_name);
        apiConfigFreeConfig(mc);
        errno = EALREADY;
        return VALKEYMODULE_ERR;
    }
    struct moduleConfig **end = &module_configs;
    while (*end) end = &(*end)->next;
    *end = mc;
    unloaded_configs = mc->module;
    return VALKEYMODULE_OK;
}

int vmRegisterBoolConfig(struct ValkeyModuleCtx *ctx, const char *name, int default_val, unsigned int flags,
                         ValkeyModuleConfigGetBoolFunc getfn, ValkeyModuleConfigSetBoolFunc setfn,
                         ValkeyModuleConfigApplyFunc applyfn, void *privdata) {
    struct moduleConfig *mc = apiConfigCreate(ctx, name, KIND_BOOL, flags, privdata);
    if (!mc) return VALKEYMODULE_ERR;
    mc->typed = (struct configDirective){.type = CONFIG_TYPE_BOOL, .var.b = &mc->value.b};
    mc->def.b = default_val != 0;
    mc->get.b = getfn;
    mc->set.b = setfn;
    return apiConfigFinish(mc, applyfn);
}

int vmRegisterNumericConfig(struct ValkeyModuleCtx *ctx, const char *name, long long default_val,
                            unsigned int flags, long long min, long long max,
                            ValkeyModuleConfigGetNumericFunc getfn, ValkeyModuleConfigSetNumericFunc setfn,
                            ValkeyModuleConfigApplyFunc applyfn, void *privdata) {
    struct moduleConfig *mc = apiConfigCreate(ctx, name, KIND_NUMBER, flags, privdata);
    if (!mc) return VALKEYMODULE_ERR;
    mc->typed = (struct configDirective){.type = CONFIG_TYPE_INT,
                                         .flags = flags & VALKEYMODULE_CONFIG_MEMORY ? CONFIG_MEMORY : 0,
                                         .var.i = &mc->value.i,
                                         .min = min,
                                         .max = max};
    mc->def.i = default_val;
    mc->get.i = getfn;
    mc->set.i = setfn;
    return apiConfigFinish(mc, applyfn);
}

int vmRegisterUnsignedNumericConfig(struct ValkeyModuleCtx *ctx, const char *name,
                                    unsigned long long default_val, unsigned int flags,
                                    unsigned long long min, unsigned long long max,
                                    ValkeyModuleConfigGetUnsignedNumericFunc getfn,
                                    ValkeyModuleConfigSetUnsignedNumericFunc setfn,
                                    ValkeyModuleConfigApplyFunc applyfn, void *privdata) {
    struct moduleConfig *mc = apiConfigCreate(ctx, name, KIND_UNSIGNED, flags, privdata);
    if (!mc) return VALKEYMODULE_ERR;
    mc->unsigned_min = min;
    mc->unsigned_max = max;
    mc->typed = (struct configDirective){
        .type = CONFIG_TYPE_INT, .flags = CONFIG_UNSIGNED, .min = (int64_t)min, .max = (int64_t)max};
    mc->def.u = default_val;
    mc->get.u = getfn;
    mc->set.u = setfn;
    return apiConfigFinish(mc, applyfn);
}

int vmRegisterStringConfig(struct ValkeyModuleCtx *ctx, const char *name, const char *default_val,
                           unsigned int flags, ValkeyModuleConfigGetStringFunc getfn,
                           ValkeyModuleConfigSetStringFunc setfn, ValkeyModuleConfigApplyFunc applyfn,
                           void *privdata) {
    struct moduleConfig *mc = apiConfigCreate(ctx, name, KIND_STRING, flags, privdata);
    if (!mc) return VALKEYMODULE_ERR;
    mc->typed = (struct configDirective){.type = CONFIG_TYPE_STRING};
    mc->def.s = default_val ? stringNew(strOf(default_val)) : NULL;
    mc->get.s = getfn;
    mc->set.s = setfn;
    return apiConfigFinish(mc, applyfn);
}

int vmRegisterEnumConfig(struct ValkeyModuleCtx *ctx, const char *name, int default_val, unsigned int flags,
                         const char **enum_values, const int *int_values, int num_enum_vals,
                         ValkeyModuleConfigGetEnumFunc getfn, ValkeyModuleConfigSetEnumFunc setfn,
                         ValkeyModuleConfigApplyFunc applyfn, void *privdata) {
    struct moduleConfig *mc = apiConfigCreate(ctx, name, KIND_ENUM, flags, privdata);
    if (!mc) return VALKEYMODULE_ERR;
    struct configEnum *names = zcalloc((size_t)num_enum_vals + 1, sizeof *names);
    for (int i = 0; i < num_enum_vals; i++)
        names[i] = (struct configEnum){zstrdup(enum_values[i]), int_values[i]};
    mc->typed = (struct configDirective){.type = CONFIG_TYPE_ENUM,
                                         .flags = flags & VALKEYMODULE_CONFIG_BITFLAGS ? CONFIG_MULTI_ARG : 0,
                                         .var.e = &mc->value.e,
                                         .names = names};
    mc->def.e = default_val;
    mc->get.e = getfn;
    mc->set.e = setfn;
    return apiConfigFinish(mc, applyfn);
}

/* ---- Values whose module is not loaded yet ---- */

struct pendingConfig {
    sds name, value;
};
static struct str apiConfigPendingName(const void *entry) {
    return sdsview(((const struct pendingConfig *)entry)->name);
}
static void apiConfigFreePending(void *entry) {
    struct pendingConfig *p = entry;
    sdsfree(p->name);
    sdsfree(p->value);
    zfree(p);
}
static const struct hashtableType pending_type = {.entryKey = apiConfigPendingName,
                                                  .hash = hashStrNoCase,
                                                  .keyEqual = strEqNoCase,
                                                  .entryFree = apiConfigFreePending};
static struct hashtable *pending; /* NULL: none */

static struct pendingConfig *apiConfigTakePending(struct str name) {
    return pending ? hashtablePop(pending, name) : NULL;
}

void pendingConfigSet(struct str name, struct str value) {
    struct pendingConfig *old = apiConfigTakePending(name), *p = zmalloc(sizeof *p);
    if (old) apiConfigFreePending(old);
    *p = (struct pendingConfig){sdsnewstr(name), sdsnewstr(value)};
    if (!pending) pending = hashtableCreate(&pending_type);
    hashtableAdd(pending, p);
}

int pendingConfigCount(void) {
    return pending ? (int)hashtableSize(pending) : 0;
}

void pendingConfigsDrop(void) {
    if (pending) hashtableRelease(pending);
    pending = NULL;
}

void pendingConfigsLog(void) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, pending, false);
    while (hashtableNext(&it, &entry))
        serverLog(LL_WARNING, "No module has registered the directive %s",
                  ((struct pendingConfig *)entry)->name);
    hashtableStopIterator(&it);
}

/* ---- LoadConfigs ---- */

/* A string without a default is set only if there is a pending value. */
static bool apiConfigSetDefault(const struct moduleConfig *mc) {
    const char *err = NULL;
    if (mc->kind == KIND_STRING && !mc->def.s) return true;
    if (apiConfigSetValue(mc, &mc->def, &err)) return true;
    serverLog(LL_WARNING, "Setting the directive %s to its default failed: %s", mc->short_name,
              err ? err : "");
    return false;
}

static bool apiConfigSetPending(struct moduleConfig *mc, struct pendingConfig *p) {
    const char *err = NULL;
    bool ok = apiConfigSetText(mc, sdsview(p->value), &err);
    if (!ok) serverLog(LL_WARNING, "Setting the directive %s failed: %s", mc->name, err ? err : "");
    apiConfigFreePending(p);
    return ok;
}

int vmLoadConfigs(struct ValkeyModuleCtx *ctx) {
    if (!ctx->module || !ctx->module->loading) return VALKEYMODULE_ERR;
    bool ok = true;
    for (struct moduleConfig *mc = module_configs; mc && ok; mc = mc->next) {
        if (mc->module != ctx->module) continue;
        struct pendingConfig *p = apiConfigTakePending(sdsview(mc->name));
        ok = p ? apiConfigSetPending(mc, p) : apiConfigSetDefault(mc);
    }
    if (ok && unloaded_configs == ctx->module) unloaded_configs = NULL;
    return ok ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
}

static bool apiConfigCheckLoaded(struct module *m) {
    if (unloaded_configs != m) return true;
    serverLog(LL_WARNING,
              "The module did not call LoadConfigs, so its directives have no values and it is unloaded");
    return false;
}

/* ---- Unloading ---- */

static void apiConfigRemoveConfigs(struct module *m) {
    moduleListRemoveIf(struct moduleConfig, mc, module_configs, mc->module == m) {
        configRemove(&mc->shown);
        apiConfigFreeConfig(mc);
    }
    moduleListRemoveIf(struct moduleApply, a, applies, a->module == m) {
        zfree(a);
    }
    if (unloaded_configs == m) unloaded_configs = NULL;
}

void configPartInit(void) {
    moduleOnLoaded(apiConfigCheckLoaded);
    moduleOnUnload(apiConfigRemoveConfigs);
}
