/* SPDX-License-Identifier: BSD-3-Clause */
/* api_type.c - data types of modules: their creation, their values in keys, and the hooks by which the
 * server uses them (module_type.h). module_io.c has the hooks for files. */
#include <string.h>

#include "base/num.h"
#include "base/read_phase.h"
#include "base/zmalloc.h"
#include "data/digest.h"
#include "data/rdb/rdb.h"
#include "module/events.h"
#include "module/module_key.h"
#include "module/module_type.h"
#include "module/parts.h"

#define NAME_LENGTH 9

struct ValkeyModuleType *module_types;

/* ---- Names and numbers ---- */

uint64_t moduleTypeId(const char *name, int version) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint64_t id = 0;
    if (strlen(name) != NAME_LENGTH || version < 0 || version > TYPE_VERSION_MAX) return 0;
    for (int i = 0; i < NAME_LENGTH; i++) {
        const char *letter = strchr(letters, name[i]);
        if (!letter) return 0;
        id = id << 6 | (uint64_t)(letter - letters);
    }
    return id << TYPE_VERSION_BITS | (uint64_t)version;
}

struct ValkeyModuleType *moduleTypeById(uint64_t id) {
    struct ValkeyModuleType *t = module_types;
    while (t && t->id >> TYPE_VERSION_BITS != id >> TYPE_VERSION_BITS) t = t->next;
    return t;
}

static struct ValkeyModuleType *apiTypeByName(struct str name) {
    struct ValkeyModuleType *t = module_types;
    while (t && !strIs(name, t->name)) t = t->next;
    return t;
}

int moduleFindDb(const struct object *o) {
    struct str key = objectKey(o);
    for (int i = 0; i < dbCount(); i++) {
        if (dbFind(dbGet(i), key) == o) return i;
    }
    return -1;
}

/* ---- Creation ---- */

/* The struct's size in each of its versions. */
static size_t apiTypeMethodsSize(uint64_t version) {
    static const size_t sizes[] = {
        0,
        offsetof(ValkeyModuleTypeMethods, aux_load),
        offsetof(ValkeyModuleTypeMethods, free_effort),
        offsetof(ValkeyModuleTypeMethods, mem_usage2),
        offsetof(ValkeyModuleTypeMethods, aux_save2),
        sizeof(ValkeyModuleTypeMethods),
    };
    uint64_t newest = sizeof sizes / sizeof *sizes - 1;
    return sizes[version < newest ? version : newest];
}

struct ValkeyModuleType *vmCreateDataType(struct ValkeyModuleCtx *ctx, const char *name, int encver,
                                          ValkeyModuleTypeMethods *methods) {
    uint64_t id = name ? moduleTypeId(name, encver) : 0;
    if (!ctx->module || !ctx->module->loading || !id || !methods || !methods->version) return NULL;
    if (apiTypeByName(strOf(name))) return NULL;
    struct ValkeyModuleType **end = &module_types, *t = zcalloc(1, sizeof *t);
    notifyEnableKeyLeft();
    t->module = ctx->module;
    t->id = id;
    memcpy(t->name, name, NAME_LENGTH + 1);
    memcpy(&t->methods, methods, apiTypeMethodsSize(methods->version));
    while (*end) end = &(*end)->next;
    return *end = t;
}

static const char *apiTypeObjection(struct module *m) {
    for (const struct ValkeyModuleType *t = module_types; t; t = t->next) {
        if (t->module == m) return "the module exports one or more module-side data types, can't unload";
    }
    return NULL;
}

/* Frees types of a module that is unloaded because its OnLoad failed. No value of them exists. */
static void apiTypeDropTypes(struct module *m) {
    moduleListRemoveIf(struct ValkeyModuleType, t, module_types, t->module == m) {
        zfree(t);
    }
}

/* ---- Values ---- */

struct value moduleValueCreate(const struct ValkeyModuleType *type, void *value) {
    struct moduleValue *v = zmalloc(sizeof *v);
    *v = (struct moduleValue){type, value};
    return valuePtr(OBJ_MODULE, 0, v);
}

void moduleValueFree(const struct ValkeyModuleType *type, void *value) {
    if (type->methods.free) type->methods.free(value);
}

static struct moduleValue *apiTypeValueOfKey(struct ValkeyModuleKey *key) {
    struct object *o = key ? moduleKeyObject(key) : NULL;
    return o && o->type == OBJ_MODULE ? moduleValueOf(o) : NULL;
}

int vmModuleTypeSetValue(struct ValkeyModuleKey *key, struct ValkeyModuleType *mt, void *value) {
    if (!moduleKeyIsWritable(key) || key->walk != WALK_NONE || !mt) return VALKEYMODULE_ERR;
    dbSet(key->db, moduleKeyName(key), moduleValueCreate(mt, value), false);
    return VALKEYMODULE_OK;
}

int vmModuleTypeReplaceValue(struct ValkeyModuleKey *key, struct ValkeyModuleType *mt, void *new_value,
                             void **old_value) {
    if (!moduleKeyIsWritable(key) || key->walk != WALK_NONE) return VALKEYMODULE_ERR;
    struct moduleValue *v = apiTypeValueOfKey(key);
    if (!v || v->type != mt) return VALKEYMODULE_ERR;
    if (old_value) *old_value = v->value;
    v->value = new_value;
    return VALKEYMODULE_OK;
}

struct ValkeyModuleType *vmModuleTypeGetType(struct ValkeyModuleKey *key) {
    const struct moduleValue *v = apiTypeValueOfKey(key);
    return v ? (struct ValkeyModuleType *)v->type : NULL;
}

void *vmModuleTypeGetValue(struct ValkeyModuleKey *key) {
    const struct moduleValue *v = apiTypeValueOfKey(key);
    return v ? v->value : NULL;
}

/* ---- The key of a value, for callbacks ---- */

struct ValkeyModuleKeyOptCtx {
    const struct object *o;
    int from_db, to_db; /* -1: none; DB_BY_OBJECT: not looked up yet */
    struct ValkeyModuleString *from, *to;
};

static struct ValkeyModuleKeyOptCtx apiTypeKeyContext(const struct object *o, int dbid) {
    return (struct ValkeyModuleKeyOptCtx){
        .o = o, .from_db = dbid, .to_db = -1, .from = stringNew(objectKey(o))};
}

static void apiTypeKeyContextFree(struct ValkeyModuleKeyOptCtx *k) {
    stringRelease(k->from);
    if (k->to) stringRelease(k->to);
}

const struct ValkeyModuleString *vmGetKeyNameFromOptCtx(struct ValkeyModuleKeyOptCtx *ctx) {
    return ctx->from;
}
const struct ValkeyModuleString *vmGetToKeyNameFromOptCtx(struct ValkeyModuleKeyOptCtx *ctx) {
    return ctx->to;
}
int vmGetDbIdFromOptCtx(struct ValkeyModuleKeyOptCtx *ctx) {
    if (ctx->from_db == DB_BY_OBJECT) ctx->from_db = moduleFindDb(ctx->o);
    return ctx->from_db;
}
int vmGetToDbIdFromOptCtx(struct ValkeyModuleKeyOptCtx *ctx) {
    return ctx->to_db;
}

/* ---- Hooks of the type ---- */

static const char *apiTypeNameHook(const struct object *o) {
    return moduleValueOf(o)->type->name;
}

static bool apiTypeHasNameHook(struct str name) {
    return apiTypeByName(name) != NULL;
}

static const char *apiTypeEncodingHook(const struct object *o) {
    (void)o;
    return "raw";
}

static void apiTypeFreeHook(struct value v) {
    struct moduleValue *mv = v.ptr;
    moduleValueFree(mv->type, mv->value);
    zfree(mv);
}

/* The value that was removed last, and its database: the effort to free it is computed after its removal. */
static struct {
    const struct moduleValue *value;
    int dbid;
} last_removed;

static size_t apiTypeEffortHook(const struct object *o) {
    const struct moduleValue *v = moduleValueOf(o);
    const ValkeyModuleTypeMethods *methods = &v->type->methods;
    if (!methods->free_effort2 && !methods->free_effort) return 1;
    struct ValkeyModuleKeyOptCtx k =
        apiTypeKeyContext(o, v == last_removed.value ? last_removed.dbid : DB_BY_OBJECT);
    size_t effort =
        methods->free_effort2 ? methods->free_effort2(&k, v->value) : methods->free_effort(k.from, v->value);
    apiTypeKeyContextFree(&k);
    return effort ? effort : SIZE_MAX; /* 0: always in the background */
}

static size_t apiTypeMemoryHook(const struct object *o, size_t samples) {
    const struct moduleValue *v = moduleValueOf(o);
    const ValkeyModuleTypeMethods *methods = &v->type->methods;
    size_t bytes = zmallocSize(v);
    if (readRefuses()) return 0; /* modules' functions run on the main thread */
    if (methods->mem_usage2) {
        struct ValkeyModuleKeyOptCtx k = apiTypeKeyContext(o, DB_BY_OBJECT);
        bytes += methods->mem_usage2(&k, v->value, samples);
        apiTypeKeyContextFree(&k);
    } else if (methods->mem_usage) {
        bytes += methods->mem_usage(v->value);
    }
    return bytes;
}

static const char *apiTypeCopyHook(const struct object *o, const struct keyPlace *to, struct value *copy) {
    const struct moduleValue *v = moduleValueOf(o);
    const ValkeyModuleTypeMethods *methods = &v->type->methods;
    if (!methods->copy2 && !methods->copy) return "ERR not supported for this module key";
    struct ValkeyModuleKeyOptCtx k = apiTypeKeyContext(o, DB_BY_OBJECT);
    k.to = stringNew(to->key);
    k.to_db = to->dbid;
    void *made = methods->copy2 ? methods->copy2(&k, v->value) : methods->copy(k.from, k.to, v->value);
    apiTypeKeyContextFree(&k);
    if (!made) return "ERR module key failed to copy";
    *copy = moduleValueCreate(v->type, made);
    return NULL;
}

static int apiTypeDbOfKeyspace(const struct keyspace *ks) {
    for (int i = 0; i < dbCount(); i++) {
        if (&dbGet(i)->keyspace == ks) return i;
    }
    return -1;
}

static void apiTypeOnRemovedHook(struct keyspace *ks, const struct object *o) {
    const struct moduleValue *v = moduleValueOf(o);
    const ValkeyModuleTypeMethods *methods = &v->type->methods;
    last_removed.value = v;
    last_removed.dbid = apiTypeDbOfKeyspace(ks);
    if (!methods->unlink2 && !methods->unlink) return;
    struct ValkeyModuleKeyOptCtx k = apiTypeKeyContext(o, last_removed.dbid);
    if (methods->unlink2)
        methods->unlink2(&k, v->value);
    else
        methods->unlink(k.from, v->value);
    apiTypeKeyContextFree(&k);
}

/* A new value may have the address of the removed one. */
static void apiTypeOnAddedHook(struct keyspace *ks, const struct object *o) {
    (void)ks;
    if (last_removed.value == moduleValueOf(o)) last_removed.value = NULL;
}

/* ---- Digests ---- */

struct ValkeyModuleDigest {
    uint8_t ordered[20], unordered[20];
    const struct object *o;
    struct ValkeyModuleString *key;
};

void vmDigestAddStringBuffer(struct ValkeyModuleDigest *md, const char *ele, size_t len) {
    digestMix(md->ordered, strN(ele, len));
}

void vmDigestAddLongLong(struct ValkeyModuleDigest *md, long long ele) {
    char digits[LONG_STR_SIZE];
    digestMix(md->ordered, strN(digits, ll2string(digits, ele)));
}

void vmDigestEndSequence(struct ValkeyModuleDigest *md) {
    digestXorDigest(md->unordered, md->ordered);
    memset(md->ordered, 0, sizeof md->ordered);
}

const struct ValkeyModuleString *vmGetKeyNameFromDigest(struct ValkeyModuleDigest *dig) {
    return dig->key;
}
int vmGetDbIdFromDigest(struct ValkeyModuleDigest *dig) {
    return moduleFindDb(dig->o);
}

static void apiTypeDigestHook(const struct object *o, uint8_t digest[20]) {
    const struct moduleValue *v = moduleValueOf(o);
    if (!v->type->methods.digest) return;
    struct ValkeyModuleDigest md = {.o = o, .key = stringNew(objectKey(o))};
    v->type->methods.digest(&md, v->value);
    digestXorDigest(digest, md.unordered);
    stringRelease(md.key);
}

static uint8_t apiTypeRdbTypeHook(const struct object *o, int version) {
    (void)o, (void)version;
    return RDB_TYPE_MODULE_2;
}

static const struct objectType module_type = {
    .id = OBJ_MODULE,
    .name = "module",
    .nameOf = apiTypeNameHook,
    .hasName = apiTypeHasNameHook,
    .encodingName = apiTypeEncodingHook,
    .free = apiTypeFreeHook,
    .freeEffort = apiTypeEffortHook,
    .memoryUsage = apiTypeMemoryHook,
    .copyTo = apiTypeCopyHook,
    .digest = apiTypeDigestHook,
    .onAdded = apiTypeOnAddedHook,
    .onRemoved = apiTypeOnRemovedHook,
    .rdb_types = 1ull << RDB_TYPE_MODULE_2,
    .rdbType = apiTypeRdbTypeHook,
    .save = moduleTypeSave,
    .load = moduleTypeLoad,
    .rewrite = moduleTypeRewrite,
    .defrag = moduleTypeDefrag,
};

void typePartInit(void) {
    objectTypeRegister(&module_type);
    moduleAddObjection(apiTypeObjection);
    moduleOnUnload(apiTypeDropTypes);
    moduleIoInit();
    moduleDefragInit();
}
