/* SPDX-License-Identifier: BSD-3-Clause */
/* infos.c - sections of INFO, shared functions and load arguments; for tests/unit/modules/load.tcl.
 *
 * Loaded as `infos` it shows sections; as `infos NAME` it is a module of that name, which exports a
 * function "NAME.api"; `infos NAME USES` calls that of USES, too. With `refuse` as the last argument
 * OnUnload refuses. */
#include <string.h>

#include "valkeymodule.h"

static int refuses;
static char *api_name;
static int (*used)(int);

static int infosDouble(int n) {
    return 2 * n;
}

static void infosShow(ValkeyModuleInfoCtx *ctx, int for_crash) {
    if (for_crash) {
        ValkeyModule_InfoAddSection(ctx, "crash");
        ValkeyModule_InfoAddFieldCString(ctx, "state", "it crashed");
        return;
    }
    ValkeyModule_InfoAddFieldLongLong(ctx, "before-any-section", 1);
    if (ValkeyModule_InfoAddSection(ctx, "Numbers") == VALKEYMODULE_OK) {
        ValkeyModule_InfoAddFieldDouble(ctx, "double", 0.1);
        ValkeyModule_InfoAddFieldDouble(ctx, "large", 1e300);
        ValkeyModule_InfoAddFieldLongLong(ctx, "least", -9223372036854775807ll - 1);
        ValkeyModule_InfoAddFieldULongLong(ctx, "most", 18446744073709551615ull);
    }
    if (ValkeyModule_InfoAddSection(ctx, "texts") == VALKEYMODULE_OK) {
        ValkeyModuleString *s = ValkeyModule_CreateString(NULL, "a:b=c,#\r\nd", 10);
        ValkeyModule_InfoAddFieldString(ctx, "string", s);
        ValkeyModule_InfoAddFieldCString(ctx, "odd #name:\r\n,=", "odd #value:\r\n,=");
        ValkeyModule_InfoBeginDictField(ctx, "dict #:,=\r\n");
        ValkeyModule_InfoAddFieldLongLong(ctx, "a#:,=\r\n", 1);
        ValkeyModule_InfoAddFieldString(ctx, "b", s);
        ValkeyModule_InfoAddFieldCString(ctx, "c", "x y:#,=z");
        ValkeyModule_InfoAddFieldDouble(ctx, "d", 1.5);
        ValkeyModule_InfoAddFieldULongLong(ctx, "e", 2);
        ValkeyModule_InfoBeginDictField(ctx, "next");
        ValkeyModule_InfoAddFieldLongLong(ctx, "a", 1);
        ValkeyModule_InfoEndDictField(ctx);
        ValkeyModule_InfoEndDictField(ctx);
        ValkeyModule_InfoAddFieldLongLong(ctx, "after", 1);
        ValkeyModule_InfoBeginDictField(ctx, "empty");
        ValkeyModule_InfoEndDictField(ctx);
        ValkeyModule_InfoBeginDictField(ctx, "unended");
        ValkeyModule_InfoAddFieldLongLong(ctx, "a", 1);
        ValkeyModule_FreeString(NULL, s);
    }
    if (ValkeyModule_InfoAddSection(ctx, NULL) == VALKEYMODULE_OK)
        ValkeyModule_InfoAddFieldLongLong(ctx, "plain", 1);
    ValkeyModule_InfoAddSection(ctx, "odd #:\r\n");
    ValkeyModule_InfoAddFieldLongLong(ctx, "field", 1);
}

/* NAME.use N: by the function of another */
static int infosUse(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    long long n;
    if (argc != 2 || ValkeyModule_StringToLongLong(argv[1], &n)) return ValkeyModule_WrongArity(ctx);
    if (!used) return ValkeyModule_ReplyWithError(ctx, "ERR none");
    return ValkeyModule_ReplyWithLongLong(ctx, used((int)n));
}

/* NAME.crash */
static int infosCrash(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    (void)argv, (void)argc;
    ValkeyModule_Assert(1 == 2);
    return ValkeyModule_ReplyWithNull(ctx);
}

/* NAME.refuse 0|1 */
static int infosRefuse(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    refuses = !strcmp(ValkeyModule_StringPtrLen(argv[1], NULL), "1");
    return ValkeyModule_ReplyWithLongLong(ctx, refuses);
}

static int infosCreateCommand(ValkeyModuleCtx *ctx, const char *module, const char *name,
                              ValkeyModuleCmdFunc fn) {
    ValkeyModuleString *full = ValkeyModule_CreateStringPrintf(NULL, "%s.%s", module, name);
    int result = ValkeyModule_CreateCommand(ctx, ValkeyModule_StringPtrLen(full, NULL), fn, "", 0, 0, 0);
    ValkeyModule_FreeString(NULL, full);
    return result;
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    /* The name is needed before Init has got the functions. */
    int (*get_api)(const char *, void *) = *(void **)ctx;
    get_api("ValkeyModule_StringPtrLen", &ValkeyModule_StringPtrLen);
    const char *name = argc ? ValkeyModule_StringPtrLen(argv[0], NULL) : "infos";
    if (ValkeyModule_Init(ctx, name, 7, VALKEYMODULE_APIVER_1) == VALKEYMODULE_ERR) return VALKEYMODULE_ERR;
    ValkeyModule_SetModuleOptions(ctx, VALKEYMODULE_OPTIONS_HANDLE_IO_ERRORS |
                                           VALKEYMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED |
                                           VALKEYMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD);
    ValkeyModule_RegisterInfoFunc(ctx, infosShow);
    infosCreateCommand(ctx, name, "use", infosUse);
    infosCreateCommand(ctx, name, "crash", infosCrash);
    infosCreateCommand(ctx, name, "refuse", infosRefuse);
    ValkeyModuleString *api = ValkeyModule_CreateStringPrintf(ctx, "%s.api", name);
    api_name = ValkeyModule_Strdup(ValkeyModule_StringPtrLen(api, NULL));
    ValkeyModule_FreeString(ctx, api);
    if (ValkeyModule_ExportSharedAPI(ctx, api_name, infosDouble) == VALKEYMODULE_ERR ||
        ValkeyModule_ExportSharedAPI(ctx, api_name, infosDouble) == VALKEYMODULE_OK)
        return VALKEYMODULE_ERR;
    if (ValkeyModule_GetSharedAPI(ctx, "no such")) return VALKEYMODULE_ERR;
    if (argc > 1) {
        ValkeyModuleString *s =
            ValkeyModule_CreateStringPrintf(ctx, "%s.api", ValkeyModule_StringPtrLen(argv[1], NULL));
        used = ValkeyModule_GetSharedAPI(ctx, ValkeyModule_StringPtrLen(s, NULL));
        ValkeyModule_FreeString(ctx, s);
        if (!used) {
            ValkeyModule_Free(api_name);
            return VALKEYMODULE_ERR;
        }
    }
    return VALKEYMODULE_OK;
}

int ValkeyModule_OnUnload(ValkeyModuleCtx *ctx) {
    (void)ctx;
    if (!refuses) ValkeyModule_Free(api_name);
    return refuses ? VALKEYMODULE_ERR : VALKEYMODULE_OK;
}
