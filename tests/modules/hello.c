/* SPDX-License-Identifier: BSD-3-Clause */
/* hello.c - the smallest module, as shown at the head of valkeymodule.h. */
#include "valkeymodule.h"

static int helloReply(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    (void)argv;
    if (argc != 1) return ValkeyModule_WrongArity(ctx);
    return ValkeyModule_ReplyWithSimpleString(ctx, "hello");
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    (void)argv, (void)argc;
    if (ValkeyModule_Init(ctx, "example", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    return ValkeyModule_CreateCommand(ctx, "example.hello", helloReply, "readonly fast", 0, 0, 0);
}
