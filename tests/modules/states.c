/* SPDX-License-Identifier: BSD-3-Clause */
/* states.c - functions of the interface in particular states of the server: a replica, out of memory,
 * without a link, with clients that wait; tests/unit/modules/states.tcl creates these states. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "valkeymodule.h"

typedef ValkeyModuleCtx Ctx;
typedef ValkeyModuleString Text;
#define COMMAND(name) static int name(Ctx *ctx, Text **argv, int argc)

static const char *statesText(const Text *s) {
    return ValkeyModule_StringPtrLen(s, NULL);
}

static int statesReplyPair(Ctx *ctx, const char *what, size_t len, int number) {
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithStringBuffer(ctx, what, len);
    return ValkeyModule_ReplyWithLongLong(ctx, number);
}

/* states.call FLAGS COMMAND ...: the bytes of the reply, and errno. "-": no flags. */
COMMAND(call) {
    if (argc < 3) return ValkeyModule_WrongArity(ctx);
    char format[32];
    snprintf(format, sizeof format, "%sv", strcmp(statesText(argv[1]), "-") ? statesText(argv[1]) : "");
    errno = 0;
    ValkeyModuleCallReply *reply =
        ValkeyModule_Call(ctx, statesText(argv[2]), format, argv + 3, (size_t)argc - 3);
    int problem = errno;
    if (!reply) return statesReplyPair(ctx, "none", 4, problem);
    size_t len;
    const char *bytes = ValkeyModule_CallReplyProto(reply, &len);
    statesReplyPair(ctx, bytes, len, problem);
    ValkeyModule_FreeCallReply(reply);
    return VALKEYMODULE_OK;
}

static int onReply(Ctx *ctx, Text **argv, int argc) {
    (void)argv, (void)argc;
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

static void onUnblocked(Ctx *ctx, ValkeyModuleCallReply *reply, void *bc) {
    (void)ctx;
    ValkeyModule_FreeCallReply(reply);
    if (bc) ValkeyModule_UnblockClient(bc, NULL);
}

/* states.wait KEY [BLOCK]: a call that waits for a list, and the client with it. */
COMMAND(waitFor) {
    if (argc < 2) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleBlockedClient *bc = argc > 2 ? ValkeyModule_BlockClient(ctx, onReply, NULL, NULL, 0) : NULL;
    ValkeyModuleCallReply *reply = ValkeyModule_Call(ctx, "BLPOP", "Ksc", argv[1], "0");
    if (ValkeyModule_CallReplyType(reply) == VALKEYMODULE_REPLY_PROMISE)
        ValkeyModule_CallReplyPromiseSetUnblockHandler(reply, onUnblocked, bc);
    ValkeyModule_FreeCallReply(reply);
    return bc ? VALKEYMODULE_OK : ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* states.file save|load PATH [FLAGS]: the result, and errno, which had another value. */
COMMAND(file) {
    if (argc < 3) return ValkeyModule_WrongArity(ctx);
    long long flags = 0;
    if (argc > 3) ValkeyModule_StringToLongLong(argv[3], &flags);
    ValkeyModuleRdbStream *stream = ValkeyModule_RdbStreamCreateFromFile(statesText(argv[2]));
    errno = EDOM;
    int code = strcmp(statesText(argv[1]), "save") ? ValkeyModule_RdbLoad(ctx, stream, (int)flags)
                                                   : ValkeyModule_RdbSave(ctx, stream, (int)flags);
    int problem = errno;
    ValkeyModule_RdbStreamFree(stream);
    return statesReplyPair(ctx, code == VALKEYMODULE_OK ? "OK" : "ERR", code == VALKEYMODULE_OK ? 2 : 3,
                           problem);
}

/* states.sizes FROM TO: of allocations of FROM to TO bytes. */
COMMAND(sizes) {
    long long from, to;
    if (argc != 3 || ValkeyModule_StringToLongLong(argv[1], &from) ||
        ValkeyModule_StringToLongLong(argv[2], &to))
        return ValkeyModule_WrongArity(ctx);
    ValkeyModule_ReplyWithArray(ctx, to - from + 1);
    for (; from <= to; from++) {
        char *p = ValkeyModule_Alloc((size_t)from);
        memset(p, 1, ValkeyModule_MallocUsableSize(p));
        ValkeyModule_ReplyWithLongLong(ctx, (long long)ValkeyModule_MallocSize(p));
        ValkeyModule_Free(p);
    }
    return VALKEYMODULE_OK;
}

int ValkeyModule_OnLoad(Ctx *ctx, Text **argv, int argc) {
    (void)argv, (void)argc;
    if (ValkeyModule_Init(ctx, "states", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    return ValkeyModule_CreateCommand(ctx, "states.call", call, "allow-stale", 0, 0, 0) ||
           ValkeyModule_CreateCommand(ctx, "states.wait", waitFor, "", 0, 0, 0) ||
           ValkeyModule_CreateCommand(ctx, "states.file", file, "", 0, 0, 0) ||
           ValkeyModule_CreateCommand(ctx, "states.sizes", sizes, "", 0, 0, 0);
}
