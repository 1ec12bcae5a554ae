/* SPDX-License-Identifier: BSD-3-Clause */
/* configs.c - directives of modules; for tests/unit/modules/configs.tcl. Each setter and each apply
 * function records its calls.
 *
 * Arguments of the load: `unloaded` (without LoadConfigs), `fail` (OnLoad fails), `null` (a string
 * without default), `vain` (invalid directives). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "valkeymodule.h"

static char notes[8192];

static void configsNote(const char *what, const char *name, const char *value) {
    size_t n = strlen(notes);
    snprintf(notes + n, sizeof notes - n, "%s%s %s %s", n ? "; " : "", what, name, value);
}

static void noteNumber(const char *name, long long value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    configsNote("set", name, text);
}

/* ---- Values ---- */

static long long number_of[3];
static unsigned long long unsigned_of[2];
static int bool_of[5], enum_of[2];
static ValkeyModuleString *string_of[3];

static int configsRefuse(ValkeyModuleString **err, const char *why) {
    *err = ValkeyModule_CreateString(NULL, why, strlen(why));
    return VALKEYMODULE_ERR;
}

static long long getNumber(const char *name, void *value) {
    (void)name;
    return *(long long *)value;
}
static int setNumber(const char *name, long long to, void *value, ValkeyModuleString **err) {
    noteNumber(name, to);
    if (to == 13) return configsRefuse(err, "thirteen is no good");
    if (to == 14) return VALKEYMODULE_ERR;
    *(long long *)value = to;
    return VALKEYMODULE_OK;
}
static unsigned long long getUnsigned(const char *name, void *value) {
    (void)name;
    return *(unsigned long long *)value;
}
static int setUnsigned(const char *name, unsigned long long to, void *value, ValkeyModuleString **err) {
    (void)err;
    noteNumber(name, (long long)to);
    *(unsigned long long *)value = to;
    return VALKEYMODULE_OK;
}
static int getInt(const char *name, void *value) {
    (void)name;
    return *(int *)value;
}
static int setInt(const char *name, int to, void *value, ValkeyModuleString **err) {
    (void)err;
    noteNumber(name, to);
    *(int *)value = to;
    return VALKEYMODULE_OK;
}
static ValkeyModuleString *getString(const char *name, void *value) {
    (void)name;
    return *(ValkeyModuleString **)value;
}
static int setString(const char *name, ValkeyModuleString *to, void *value, ValkeyModuleString **err) {
    ValkeyModuleString **at = value;
    const char *text = to ? ValkeyModule_StringPtrLen(to, NULL) : "(none)";
    configsNote("set", name, text);
    if (!strcmp(text, "bad")) return configsRefuse(err, "bad is bad");
    if (*at) ValkeyModule_FreeString(NULL, *at);
    if (to) ValkeyModule_RetainString(NULL, to);
    *at = to;
    return VALKEYMODULE_OK;
}

static int configsApply(ValkeyModuleCtx *ctx, void *value, ValkeyModuleString **err) {
    (void)ctx;
    configsNote("apply", value == &number_of[0] ? "number" : value ? "something" : "nothing", "");
    if (value == &number_of[0] && number_of[0] == 100)
        return configsRefuse(err, "a hundred cannot be applied");
    return VALKEYMODULE_OK;
}

/* ---- Commands ---- */

/* configs.notes: what was called since the last time. */
static int tellNotes(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithCString(ctx, notes);
    notes[0] = '\0';
    return VALKEYMODULE_OK;
}

/* Invalid registrations, and the expected errors. */
static void noteAttempt(const char *name, int result) {
    char text[64];
    snprintf(text, sizeof text, "%d %s", result,
             result == VALKEYMODULE_OK ? ""
             : errno == EINVAL         ? "EINVAL"
             : errno == EALREADY       ? "EALREADY"
             : errno == EBUSY          ? "EBUSY"
                                       : "another error");
    configsNote("try", name, text);
}

/* configs.late: registers a directive after the load. */
static int tryLate(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    (void)argv, (void)argc;
    errno = 0;
    noteAttempt("late",
                ValkeyModule_RegisterBoolConfig(ctx, "late", 1, 0, getInt, setInt, NULL, &bool_of[4]));
    errno = 0;
    noteAttempt("load", ValkeyModule_LoadConfigs(ctx));
    return tellNotes(ctx, argv, argc);
}

/* configs.args ARG ...: the arguments of the load are these from now on */
static int setArguments(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_UpdateRuntimeArgs(ctx, argv, argc));
}

/* ---- Loading ---- */

static const char *words[] = {"none", "one", "two", "four", "ten"};
static const int bits[] = {0, 1, 2, 4, 10};
static const int values[] = {0, 1, 2, 4, 10};

#define NUMBER(name, def, flags, min, max, at, fn)                                                           \
    ValkeyModule_RegisterNumericConfig(ctx, name, def, flags, min, max, getNumber, setNumber, fn, at)
#define BOOL(name, def, flags, at)                                                                           \
    ValkeyModule_RegisterBoolConfig(ctx, name, def, flags, getInt, setInt, configsApply, at)

static int registerAll(ValkeyModuleCtx *ctx) {
    int failed = NUMBER("number", 5, 0, -5, 2000, &number_of[0], configsApply);
    failed |= NUMBER("bytes", 1024, VALKEYMODULE_CONFIG_MEMORY, 0, 3 << 20, &number_of[1], NULL);
    failed |=
        ValkeyModule_RegisterUnsignedNumericConfig(ctx, "unsigned", 7, VALKEYMODULE_CONFIG_UNSIGNED, 1, -1ull,
                                                   getUnsigned, setUnsigned, configsApply, &unsigned_of[0]);
    failed |=
        ValkeyModule_RegisterUnsignedNumericConfig(ctx, "ubytes", 2048, VALKEYMODULE_CONFIG_MEMORY, 0, -1ull,
                                                   getUnsigned, setUnsigned, configsApply, &unsigned_of[1]);
    failed |= BOOL("flag", 1, 0, &bool_of[0]);
    failed |= BOOL("fixed", 0, VALKEYMODULE_CONFIG_IMMUTABLE, &bool_of[1]);
    failed |= BOOL("Hidden", 0, VALKEYMODULE_CONFIG_HIDDEN, &bool_of[2]);
    failed |= BOOL("guarded", 0, VALKEYMODULE_CONFIG_PROTECTED, &bool_of[3]);
    failed |= BOOL("not-loading", 0, VALKEYMODULE_CONFIG_DENY_LOADING, &bool_of[4]);
    failed |= ValkeyModule_RegisterStringConfig(ctx, "text", "a default", 0, getString, setString,
                                                configsApply, &string_of[0]);
    failed |= ValkeyModule_RegisterStringConfig(ctx, "secret", "", VALKEYMODULE_CONFIG_SENSITIVE, getString,
                                                setString, NULL, &string_of[1]);
    failed |= ValkeyModule_RegisterEnumConfig(ctx, "bits", 3, VALKEYMODULE_CONFIG_BITFLAGS, words, bits, 4,
                                              getInt, setInt, configsApply, &enum_of[0]);
    failed |= ValkeyModule_RegisterEnumConfig(ctx, "word", 2, 0, words, values, 5, getInt, setInt, NULL,
                                              &enum_of[1]);
    return failed;
}

static void tryInVain(ValkeyModuleCtx *ctx) {
    static const struct {
        const char *name;
        unsigned flags;
    } attempts[] = {{"number", 0},
                    {"NUMBER", 0},
                    {"a b", 0},
                    {"a.b", 0},
                    {"", 0},
                    {"flags", 1u << 30},
                    {"bit2", 4},
                    {"units", VALKEYMODULE_CONFIG_MEMORY},
                    {"bitflags", VALKEYMODULE_CONFIG_BITFLAGS},
                    {"no sign", VALKEYMODULE_CONFIG_UNSIGNED}};
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        errno = 0;
        noteAttempt(attempts[i].name, BOOL(attempts[i].name, 0, attempts[i].flags, &bool_of[4]));
    }
    errno = 0;
    noteAttempt("num-bitflags",
                NUMBER("num-bitflags", 0, VALKEYMODULE_CONFIG_BITFLAGS, 0, 1, &number_of[1], NULL));
    errno = 0;
    noteAttempt("range", NUMBER("range", 5, 0, 10, 1, &number_of[2], NULL));
}

static void freeStrings(ValkeyModuleCtx *ctx) {
    for (size_t i = 0; i < sizeof string_of / sizeof *string_of; i++) {
        if (string_of[i]) ValkeyModule_FreeString(ctx, string_of[i]);
        string_of[i] = NULL;
    }
}

/* With directives; ERR when it fails, or is to fail. */
static int configsLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    if (ValkeyModule_Init(ctx, "configs", 1, VALKEYMODULE_APIVER_1) == VALKEYMODULE_ERR)
        return VALKEYMODULE_ERR;
    const char *how = argc ? ValkeyModule_StringPtrLen(argv[0], NULL) : "";
    if (ValkeyModule_CreateCommand(ctx, "configs.notes", tellNotes, "", 0, 0, 0) == VALKEYMODULE_ERR ||
        ValkeyModule_CreateCommand(ctx, "configs.late", tryLate, "", 0, 0, 0) == VALKEYMODULE_ERR ||
        ValkeyModule_CreateCommand(ctx, "configs.args", setArguments, "", 0, 0, 0) == VALKEYMODULE_ERR)
        return VALKEYMODULE_ERR;
    if (registerAll(ctx) != VALKEYMODULE_OK) return VALKEYMODULE_ERR;
    if (!strcmp(how, "null") &&
        ValkeyModule_RegisterStringConfig(ctx, "maybe", NULL, 0, getString, setString, NULL, &string_of[2]))
        return VALKEYMODULE_ERR;
    if (!strcmp(how, "vain")) tryInVain(ctx);
    if (strcmp(how, "unloaded") != 0 && ValkeyModule_LoadConfigs(ctx) == VALKEYMODULE_ERR)
        return VALKEYMODULE_ERR;
    return strcmp(how, "fail") ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    if (configsLoad(ctx, argv, argc) == VALKEYMODULE_OK) return VALKEYMODULE_OK;
    if (ValkeyModule_FreeString) freeStrings(ctx); /* there is no other end to a load that fails */
    return VALKEYMODULE_ERR;
}

int ValkeyModule_OnUnload(ValkeyModuleCtx *ctx) {
    freeStrings(ctx);
    return VALKEYMODULE_OK;
}
