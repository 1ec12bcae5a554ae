/* SPDX-License-Identifier: BSD-3-Clause */
/* unsaved.c - a data type that cannot be saved to files; for tests/unit/modules/types.tcl. */
#include "valkeymodule.h"

static ValkeyModuleType *type;

static int unsavedSet(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_WRITE);
    ValkeyModule_ModuleTypeSetValue(key, type, ValkeyModule_Alloc(1));
    ValkeyModule_CloseKey(key);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    (void)argv, (void)argc;
    if (ValkeyModule_Init(ctx, "unsaved", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    ValkeyModuleTypeMethods methods = {.version = VALKEYMODULE_TYPE_METHOD_VERSION,
                                       .free = ValkeyModule_Free};
    type = ValkeyModule_CreateDataType(ctx, "unsaved-1", 0, &methods);
    return !type || ValkeyModule_CreateCommand(ctx, "unsaved.set", unsavedSet, "write", 1, 1, 1);
}
