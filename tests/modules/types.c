/* SPDX-License-Identifier: BSD-3-Clause */
/* types.c - data types of modules; for tests/unit/modules/types.tcl. Three types have the callbacks of
 * three versions of the struct: typesfull (5), typesmidd (3), typesbase (1). Calls are recorded and
 * returned by types.events.
 *
 * Arguments of the load: "careful" checks for errors while it reads; "without" makes no types. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "valkeymodule.h"

#define COMMAND(name) static int name(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc)

enum { FULL, MIDD, BASE, KINDS };
static const char *const names[KINDS] = {"typesfull", "typesmidd", "typesbase"};
static ValkeyModuleType *types[KINDS];

struct vec {
    size_t n;
    long long *items;
    ValkeyModuleString *note;
    double d;
    float f;
    long double ld;
};

/* ---- Notes ---- */

static char events[65536];
static atomic_int freed;
static bool quiet_effort = true;

static void typesAddEvent(const char *fmt, ...) {
    size_t at = strlen(events);
    va_list ap;
    va_start(ap, fmt);
    if (at < sizeof events - 300) vsnprintf(events + at, 300, fmt, ap);
    va_end(ap);
}

static const char *typesText(const ValkeyModuleString *s) {
    return s ? ValkeyModule_StringPtrLen(s, NULL) : "-";
}

/* ---- Values ---- */

static struct vec *vecNew(size_t n) {
    struct vec *v = ValkeyModule_Calloc(1, sizeof *v);
    v->n = n;
    v->items = ValkeyModule_Calloc(n + 1, sizeof *v->items);
    return v;
}

static void vecFree(void *value) {
    struct vec *v = value;
    if (v->note) ValkeyModule_FreeString(NULL, v->note);
    ValkeyModule_Free(v->items);
    ValkeyModule_Free(v);
    freed++;
}

static struct vec *vecCopy(const struct vec *from) {
    struct vec *v = vecNew(from->n);
    memcpy(v->items, from->items, from->n * sizeof *v->items);
    if (from->note) v->note = ValkeyModule_CreateStringFromString(NULL, from->note);
    v->d = from->d, v->f = from->f, v->ld = from->ld;
    return v;
}

static bool load_fails;
static void *vecLoad(ValkeyModuleIO *io, int encver) {
    typesAddEvent("load %s %d v%d;", typesText(ValkeyModule_GetKeyNameFromIO(io)),
                  ValkeyModule_GetDbIdFromIO(io), encver);
    if (load_fails) return NULL;
    size_t n = ValkeyModule_LoadUnsigned(io);
    if (ValkeyModule_IsIOError(io) || n > 1000000) return NULL;
    struct vec *v = vecNew(n);
    for (size_t i = 0; i < n; i++) v->items[i] = ValkeyModule_LoadSigned(io);
    v->note = ValkeyModule_LoadString(io);
    size_t len = 0;
    char *bytes = ValkeyModule_LoadStringBuffer(io, &len);
    v->d = ValkeyModule_LoadDouble(io);
    v->f = ValkeyModule_LoadFloat(io);
    v->ld = ValkeyModule_LoadLongDouble(io);
    bool whole = !ValkeyModule_IsIOError(io) && len == 4 && memcmp(bytes, "a\0b\0", 4) == 0;
    ValkeyModule_Free(bytes);
    if (whole) return v;
    ValkeyModule_LogIOError(io, "warning", "types: not whole");
    vecFree(v);
    return NULL;
}

static void vecSave(ValkeyModuleIO *io, void *value) {
    struct vec *v = value;
    typesAddEvent("save %s %d;", typesText(ValkeyModule_GetKeyNameFromIO(io)),
                  ValkeyModule_GetDbIdFromIO(io));
    ValkeyModule_SaveUnsigned(io, v->n);
    for (size_t i = 0; i < v->n; i++) ValkeyModule_SaveSigned(io, v->items[i]);
    ValkeyModule_SaveString(io, v->note);
    ValkeyModule_SaveStringBuffer(io, "a\0b\0", 4);
    ValkeyModule_SaveDouble(io, v->d);
    ValkeyModule_SaveFloat(io, v->f);
    ValkeyModule_SaveLongDouble(io, v->ld);
}

static int emit_wrong;
static void vecRewrite(ValkeyModuleIO *io, ValkeyModuleString *key, void *value) {
    struct vec *v = value;
    bool in_order = !strcmp(typesText(key), typesText(ValkeyModule_GetKeyNameFromIO(io))) &&
                    ValkeyModule_GetDbIdFromIO(io) >= 0;
    if (!in_order || !ValkeyModule_GetContextFromIO(io)) return;
    if (emit_wrong == 1) ValkeyModule_EmitAOF(io, "no.such.command", "s", key);
    if (emit_wrong == 2) ValkeyModule_EmitAOF(io, "types.set", "s?", key);
    ValkeyModule_EmitAOF(io, "types.set", "csb", names[FULL], key, typesText(v->note),
                         (size_t)strlen(typesText(v->note)));
    for (size_t i = 0; i < v->n; i++) ValkeyModule_EmitAOF(io, "types.push", "sl", key, v->items[i]);
}

static void vecDigest(ValkeyModuleDigest *md, void *value) {
    struct vec *v = value;
    for (size_t i = 0; i < v->n; i++) ValkeyModule_DigestAddLongLong(md, v->items[i]);
    ValkeyModule_DigestEndSequence(md);
    ValkeyModule_DigestAddStringBuffer(md, typesText(v->note), strlen(typesText(v->note)));
    ValkeyModule_DigestEndSequence(md);
    typesAddEvent("digest %s %d;", typesText(ValkeyModule_GetKeyNameFromDigest(md)),
                  ValkeyModule_GetDbIdFromDigest(md));
}

static size_t vecMemory(const void *value) {
    return 1000000 + ((const struct vec *)value)->n;
}
static size_t vecMemory2(ValkeyModuleKeyOptCtx *ctx, const void *value, size_t samples) {
    typesAddEvent("memory %s %s %d %d %zu;", typesText(ValkeyModule_GetKeyNameFromOptCtx(ctx)),
                  typesText(ValkeyModule_GetToKeyNameFromOptCtx(ctx)), ValkeyModule_GetDbIdFromOptCtx(ctx),
                  ValkeyModule_GetToDbIdFromOptCtx(ctx), samples);
    return vecMemory(value);
}

static size_t vecEffort(ValkeyModuleString *key, const void *value) {
    if (!quiet_effort) typesAddEvent("effort %s;", typesText(key));
    return ((const struct vec *)value)->n;
}
static size_t vecEffort2(ValkeyModuleKeyOptCtx *ctx, const void *value) {
    if (!quiet_effort)
        typesAddEvent("effort2 %s %d;", typesText(ValkeyModule_GetKeyNameFromOptCtx(ctx)),
                      ValkeyModule_GetDbIdFromOptCtx(ctx));
    return ((const struct vec *)value)->n;
}

static void vecUnlink(ValkeyModuleString *key, const void *value) {
    typesAddEvent("unlink %s %zu;", typesText(key), ((const struct vec *)value)->n);
}
static void vecUnlink2(ValkeyModuleKeyOptCtx *ctx, const void *value) {
    typesAddEvent("unlink2 %s %d %zu;", typesText(ValkeyModule_GetKeyNameFromOptCtx(ctx)),
                  ValkeyModule_GetDbIdFromOptCtx(ctx), ((const struct vec *)value)->n);
}

/* Values of 13 elements cannot be copied. */
static void *vecCopyTo(ValkeyModuleString *from, ValkeyModuleString *to, const void *value) {
    const struct vec *v = value;
    typesAddEvent("copy %s %s;", typesText(from), typesText(to));
    return v->n == 13 ? NULL : vecCopy(v);
}
static void *vecCopyTo2(ValkeyModuleKeyOptCtx *ctx, const void *value) {
    const struct vec *v = value;
    typesAddEvent("copy2 %s %s %d %d;", typesText(ValkeyModule_GetKeyNameFromOptCtx(ctx)),
                  typesText(ValkeyModule_GetToKeyNameFromOptCtx(ctx)), ValkeyModule_GetDbIdFromOptCtx(ctx),
                  ValkeyModule_GetToDbIdFromOptCtx(ctx));
    return v->n == 13 ? NULL : vecCopy(v);
}

/* ---- Defragmentation ---- */

static long long defrag_calls, defrag_late, defrag_globals, defrag_bad;

static int vecDefrag(ValkeyModuleDefragCtx *ctx, ValkeyModuleString *key, void **value) {
    struct vec *v = *value;
    unsigned long at = 0;
    bool late = ValkeyModule_DefragCursorGet(ctx, &at) == VALKEYMODULE_OK;
    defrag_calls++;
    defrag_late += late;
    if (late != (ValkeyModule_DefragCursorSet(ctx, at + 1) == VALKEYMODULE_OK)) defrag_bad++;
    if (!late && ValkeyModule_DefragShouldStop(ctx)) defrag_bad++;
    if (ValkeyModule_GetDbIdFromDefragCtx(ctx) != 9) defrag_bad++;
    if (strncmp(typesText(ValkeyModule_GetKeyNameFromDefragCtx(ctx)), "d", 1) != 0) defrag_bad++;
    if (strcmp(typesText(key), typesText(ValkeyModule_GetKeyNameFromDefragCtx(ctx))) != 0) defrag_bad++;
    if (late && at < 3) return 1;
    void *now = ValkeyModule_DefragAlloc(ctx, v);
    if (now) *value = v = now;
    now = ValkeyModule_DefragAlloc(ctx, v->items);
    if (now) v->items = now;
    ValkeyModuleString *note = ValkeyModule_DefragValkeyModuleString(ctx, v->note);
    if (note) v->note = note;
    return 0;
}

static void *global_block;
static void defragGlobal(ValkeyModuleDefragCtx *ctx) {
    void *now = ValkeyModule_DefragAlloc(ctx, global_block);
    if (now) global_block = now;
    defrag_globals++;
}

/* ---- Kept aside ---- */

static ValkeyModuleString *aside[2]; /* before the keys, behind them */

static void asideSave(ValkeyModuleIO *io, int when) {
    ValkeyModuleString *s = aside[when == VALKEYMODULE_AUX_AFTER_RDB];
    if (s) ValkeyModule_SaveString(io, s);
}
static void asideSaveAlways(ValkeyModuleIO *io, int when) {
    ValkeyModule_SaveSigned(io, when);
}
static int asideLoad(ValkeyModuleIO *io, int encver, int when) {
    ValkeyModuleString **s = &aside[when == VALKEYMODULE_AUX_AFTER_RDB];
    typesAddEvent("aside v%d %d;", encver, when);
    if (*s) ValkeyModule_FreeString(NULL, *s);
    *s = ValkeyModule_LoadString(io);
    return ValkeyModule_IsIOError(io) ? VALKEYMODULE_ERR : VALKEYMODULE_OK;
}
static int asideLoadAlways(ValkeyModuleIO *io, int encver, int when) {
    (void)encver;
    return ValkeyModule_LoadSigned(io) == when ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
}

/* ---- Commands ---- */

static struct vec *vecOpen(ValkeyModuleCtx *ctx, ValkeyModuleString *name, int mode, ValkeyModuleKey **key) {
    *key = ValkeyModule_OpenKey(ctx, name, mode);
    ValkeyModuleType *type = ValkeyModule_ModuleTypeGetType(*key);
    for (int i = 0; i < KINDS; i++) {
        if (type && type == types[i]) return ValkeyModule_ModuleTypeGetValue(*key);
    }
    return NULL;
}

/* types.set TYPE KEY NOTE [NUMBER ...] */
COMMAND(set) {
    if (argc < 4) return ValkeyModule_WrongArity(ctx);
    int kind = 0;
    while (kind < KINDS && strcmp(names[kind], typesText(argv[1])) != 0) kind++;
    if (kind == KINDS) return ValkeyModule_ReplyWithError(ctx, "ERR no such type");
    struct vec *v = vecNew((size_t)argc - 4);
    for (int i = 4; i < argc; i++) ValkeyModule_StringToLongLong(argv[i], &v->items[i - 4]);
    v->note = ValkeyModule_CreateStringFromString(NULL, argv[3]);
    v->d = 0.1, v->f = 2.5f, v->ld = 1.0L / 3;
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[2], VALKEYMODULE_WRITE);
    int code = ValkeyModule_ModuleTypeSetValue(key, types[kind], v);
    ValkeyModule_CloseKey(key);
    if (ValkeyModule_ReplicateVerbatim) ValkeyModule_ReplicateVerbatim(ctx);
    return ValkeyModule_ReplyWithLongLong(ctx, code);
}

COMMAND(push) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleKey *key;
    struct vec *v = vecOpen(ctx, argv[1], VALKEYMODULE_WRITE, &key);
    if (v) {
        v->items = ValkeyModule_Realloc(v->items, (v->n + 2) * sizeof *v->items);
        ValkeyModule_StringToLongLong(argv[2], &v->items[v->n++]);
    }
    ValkeyModule_CloseKey(key);
    if (ValkeyModule_ReplicateVerbatim) ValkeyModule_ReplicateVerbatim(ctx);
    return ValkeyModule_ReplyWithLongLong(ctx, v ? (long long)v->n : -1);
}

COMMAND(get) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleKey *key;
    struct vec *v = vecOpen(ctx, argv[1], VALKEYMODULE_READ, &key);
    if (!v) {
        ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_KeyType(key));
    } else {
        ValkeyModule_ReplyWithArray(ctx, 4 + (long)v->n);
        ValkeyModule_ReplyWithString(ctx, v->note);
        ValkeyModule_ReplyWithDouble(ctx, v->d);
        ValkeyModule_ReplyWithDouble(ctx, v->f);
        ValkeyModule_ReplyWithLongLong(ctx, v->ld == 1.0L / 3);
        for (size_t i = 0; i < v->n; i++) ValkeyModule_ReplyWithLongLong(ctx, v->items[i]);
    }
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

/* types.misuse KEY: each must be refused. */
COMMAND(misuse) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    struct vec *v = vecNew(0), *old = NULL;
    ValkeyModuleKey *reads = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_READ);
    ValkeyModule_ReplyWithArray(ctx, 6);
    ValkeyModule_ReplyWithLongLong(ctx, reads ? ValkeyModule_ModuleTypeSetValue(reads, types[FULL], v) : 1);
    ValkeyModule_ReplyWithLongLong(
        ctx, reads ? ValkeyModule_ModuleTypeReplaceValue(reads, types[FULL], v, (void **)&old) : 1);
    ValkeyModule_CloseKey(reads);
    ValkeyModuleKey *writes = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_WRITE);
    ValkeyModuleType *other =
        ValkeyModule_ModuleTypeGetType(writes) == types[FULL] ? types[BASE] : types[FULL];
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_ModuleTypeReplaceValue(writes, other, v, (void **)&old));
    ValkeyModule_ReplyWithLongLong(ctx, old != NULL);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_ValueLength(writes) == 0);
    ValkeyModule_CloseKey(writes);
    ValkeyModuleTypeMethods methods = {.version = 1};
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CreateDataType(ctx, "too-latee", 0, &methods) != NULL);
    vecFree(v);
    return VALKEYMODULE_OK;
}

/* types.replace KEY NUMBER: its value becomes another one; how many elements the old one had. */
COMMAND(replace) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleKey *key;
    struct vec *was = vecOpen(ctx, argv[1], VALKEYMODULE_WRITE, &key), *v = vecNew(1), *old = NULL;
    ValkeyModule_StringToLongLong(argv[2], &v->items[0]);
    v->note = ValkeyModule_CreateString(NULL, "replaced", 8);
    int code =
        ValkeyModule_ModuleTypeReplaceValue(key, ValkeyModule_ModuleTypeGetType(key), v, (void **)&old);
    ValkeyModule_CloseKey(key);
    if (code != VALKEYMODULE_OK) {
        vecFree(v);
        return ValkeyModule_ReplyWithError(ctx, "ERR refused");
    }
    long long n = old == was ? (long long)old->n : -1;
    vecFree(old);
    return ValkeyModule_ReplyWithLongLong(ctx, n);
}

/* types.through KEY [BYTES]: its value to a string and back; with BYTES, so many of the string. */
COMMAND(through) {
    if (argc < 2) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleKey *key;
    struct vec *v = vecOpen(ctx, argv[1], VALKEYMODULE_READ, &key);
    if (!v) return ValkeyModule_ReplyWithError(ctx, "ERR none");
    ValkeyModuleString *s = ValkeyModule_SaveDataTypeToString(ctx, v, types[FULL]);
    size_t len;
    const char *bytes = ValkeyModule_StringPtrLen(s, &len);
    long long part = (long long)len;
    if (argc > 2) ValkeyModule_StringToLongLong(argv[2], &part);
    ValkeyModuleString *less = ValkeyModule_CreateString(ctx, bytes, (size_t)part);
    struct vec *again = argc > 2 ? ValkeyModule_LoadDataTypeFromString(less, types[FULL])
                                 : ValkeyModule_LoadDataTypeFromStringEncver(less, types[FULL], 7);
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithString(ctx, s);
    ValkeyModule_ReplyWithLongLong(ctx, again ? (long long)again->n : -1);
    if (again) vecFree(again);
    ValkeyModule_FreeString(ctx, s);
    ValkeyModule_FreeString(ctx, less);
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

/* types.aside BEFORE BEHIND: is kept there, "-" nothing; without: what is. */
COMMAND(keepAside) {
    for (int i = 0; i < 2 && argc == 3; i++) {
        if (aside[i]) ValkeyModule_FreeString(NULL, aside[i]);
        aside[i] = strcmp(typesText(argv[1 + i]), "-")
                       ? ValkeyModule_CreateStringFromString(NULL, argv[1 + i])
                       : NULL;
    }
    ValkeyModule_ReplyWithArray(ctx, 2);
    for (int i = 0; i < 2; i++) ValkeyModule_ReplyWithCString(ctx, typesText(aside[i]));
    return VALKEYMODULE_OK;
}

/* types.switch WHAT NUMBER */
COMMAND(turn) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    long long n = 0;
    const char *what = typesText(argv[1]);
    ValkeyModule_StringToLongLong(argv[2], &n);
    if (!strcmp(what, "effort")) quiet_effort = !n;
    if (!strcmp(what, "loadfails")) load_fails = n;
    if (!strcmp(what, "emit")) emit_wrong = (int)n;
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

COMMAND(tellEvents) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithCString(ctx, events);
    events[0] = '\0';
    return VALKEYMODULE_OK;
}

COMMAND(tellFreed) {
    (void)argv, (void)argc;
    return ValkeyModule_ReplyWithLongLong(ctx, freed);
}

COMMAND(tellDefrag) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithArray(ctx, 4);
    ValkeyModule_ReplyWithLongLong(ctx, defrag_calls);
    ValkeyModule_ReplyWithLongLong(ctx, defrag_late);
    ValkeyModule_ReplyWithLongLong(ctx, defrag_globals);
    return ValkeyModule_ReplyWithLongLong(ctx, defrag_bad);
}

/* types.file save|load PATH FLAGS */
COMMAND(file) {
    if (argc != 4) return ValkeyModule_WrongArity(ctx);
    long long flags = 0;
    ValkeyModule_StringToLongLong(argv[3], &flags);
    ValkeyModuleRdbStream *s = ValkeyModule_RdbStreamCreateFromFile(typesText(argv[2]));
    errno = 0;
    int code = strcmp(typesText(argv[1]), "save") ? ValkeyModule_RdbLoad(ctx, s, (int)flags)
                                                  : ValkeyModule_RdbSave(ctx, s, (int)flags);
    int why = errno;
    ValkeyModule_RdbStreamFree(s);
    if (code == VALKEYMODULE_OK) return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
    return ValkeyModule_ReplyWithErrorFormat(ctx, "ERR %s", strerror(why));
}

/* types.ref KEY FIELD TEXT */
static char buffer[1000];
static size_t buffer_used;
COMMAND(ref) {
    if (argc != 4) return ValkeyModule_WrongArity(ctx);
    size_t len;
    const char *bytes = ValkeyModule_StringPtrLen(argv[3], &len);
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_WRITE);
    char *text_at = memcpy(buffer + buffer_used, bytes, len);
    buffer_used += len;
    int code = ValkeyModule_HashSetStringRef(key, argv[2], text_at, len);
    ValkeyModule_CloseKey(key);
    return ValkeyModule_ReplyWithLongLong(ctx, code);
}

/* types.retext - rewrites what the module keeps for hashes, in capitals */
COMMAND(retext) {
    (void)argv, (void)argc;
    for (size_t i = 0; i < buffer_used; i++) buffer[i] = (char)toupper((unsigned char)buffer[i]);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* types.isref KEY FIELD */
COMMAND(isRef) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_READ);
    int is = ValkeyModule_HashHasStringRef(key, argv[2]);
    ValkeyModule_CloseKey(key);
    return ValkeyModule_ReplyWithLongLong(ctx, is);
}

COMMAND(reset) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    ValkeyModule_ResetDataset(!strcmp(typesText(argv[1]), "1"), !strcmp(typesText(argv[2]), "1"));
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* ---- Loading ---- */

static bool makeTypes(ValkeyModuleCtx *ctx) {
    ValkeyModuleTypeMethods all = {
        .version = VALKEYMODULE_TYPE_METHOD_VERSION,
        .rdb_load = vecLoad,
        .rdb_save = vecSave,
        .aof_rewrite = vecRewrite,
        .mem_usage = vecMemory,
        .digest = vecDigest,
        .free = vecFree,
        .aux_load = asideLoad,
        .aux_save = asideSaveAlways,
        .aux_save_triggers = VALKEYMODULE_AUX_BEFORE_RDB | VALKEYMODULE_AUX_AFTER_RDB,
        .free_effort = vecEffort,
        .unlink = vecUnlink,
        .copy = vecCopyTo,
        .defrag = vecDefrag,
        .mem_usage2 = vecMemory2,
        .free_effort2 = vecEffort2,
        .unlink2 = vecUnlink2,
        .copy2 = vecCopyTo2,
        .aux_save2 = asideSave,
    };
    types[FULL] = ValkeyModule_CreateDataType(ctx, names[FULL], 7, &all);
    all.version = 3;
    all.aux_load = asideLoadAlways;
    types[MIDD] = ValkeyModule_CreateDataType(ctx, names[MIDD], 0, &all);
    all.version = 1;
    all.aux_save_triggers = 0;
    types[BASE] = ValkeyModule_CreateDataType(ctx, names[BASE], 1023, &all);
    bool refused = !ValkeyModule_CreateDataType(ctx, "short", 0, &all) &&
                   !ValkeyModule_CreateDataType(ctx, "typeslong1", 0, &all) &&
                   !ValkeyModule_CreateDataType(ctx, "types bad", 0, &all) &&
                   !ValkeyModule_CreateDataType(ctx, "typesmore", 1024, &all) &&
                   !ValkeyModule_CreateDataType(ctx, "typesmore", -1, &all);
    all.version = 0;
    refused = refused && !ValkeyModule_CreateDataType(ctx, "typesmore", 0, &all);
    return types[FULL] && types[MIDD] && types[BASE] && refused;
}

int ValkeyModule_OnUnload(ValkeyModuleCtx *ctx) {
    (void)ctx;
    ValkeyModule_Free(global_block);
    return VALKEYMODULE_OK;
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    static const struct {
        const char *name, *flags;
        ValkeyModuleCmdFunc fn;
        int key;
    } commands[] = {
        {"types.set", "write", set, 2},
        {"types.push", "write", push, 1},
        {"types.get", "readonly", get, 1},
        {"types.misuse", "write", misuse, 1},
        {"types.replace", "write", replace, 1},
        {"types.through", "readonly", through, 1},
        {"types.aside", "readonly", keepAside, 0},
        {"types.switch", "readonly", turn, 0},
        {"types.events", "readonly", tellEvents, 0},
        {"types.freed", "readonly", tellFreed, 0},
        {"types.defrag", "readonly", tellDefrag, 0},
        {"types.file", "readonly", file, 0},
        {"types.reset", "write", reset, 0},
        {"types.ref", "write", ref, 1},
        {"types.isref", "readonly", isRef, 1},
        {"types.retext", "write", retext, 0},
    };
    if (ValkeyModule_Init(ctx, "types", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        int key = commands[i].key;
        if (ValkeyModule_CreateCommand(ctx, commands[i].name, commands[i].fn, commands[i].flags, key, key,
                                       key > 0))
            return VALKEYMODULE_ERR;
    }
    bool makes = true;
    for (int i = 0; i < argc; i++) {
        if (!strcmp(typesText(argv[i]), "careful"))
            ValkeyModule_SetModuleOptions(ctx, VALKEYMODULE_OPTIONS_HANDLE_IO_ERRORS);
        if (!strcmp(typesText(argv[i]), "without")) makes = false;
    }
    global_block = ValkeyModule_Alloc(100);
    ValkeyModule_RegisterDefragFunc(ctx, defragGlobal);
    if (!makes || makeTypes(ctx)) return VALKEYMODULE_OK;
    ValkeyModule_Free(global_block);
    return VALKEYMODULE_ERR;
}
