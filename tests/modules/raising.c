/* SPDX-License-Identifier: BSD-3-Clause */
/* raising.c - a module whose thread changes two keys under the lock, with time between the changes: whoever
 * reads both must see them equal. */
#include <pthread.h>
#include <unistd.h>

#include "valkeymodule.h"

typedef ValkeyModuleCtx Ctx;
typedef ValkeyModuleString Text;

#define BETWEEN_US 300

static _Atomic long long rounds_left;

static void raisingSet(Ctx *ctx, const char *key, long long value) {
    ValkeyModuleCallReply *r = ValkeyModule_Call(ctx, "SET", "cl!", key, value);
    if (r) ValkeyModule_FreeCallReply(r);
}

static void *raisingRun(void *data) {
    (void)data;
    for (long long round = 1; rounds_left; round++, rounds_left--) {
        Ctx *ctx = ValkeyModule_GetThreadSafeContext(NULL);
        ValkeyModule_ThreadSafeContextLock(ctx);
        raisingSet(ctx, "raised:x", round);
        usleep(BETWEEN_US);
        raisingSet(ctx, "raised:y", round);
        ValkeyModule_ThreadSafeContextUnlock(ctx);
        ValkeyModule_FreeThreadSafeContext(ctx);
        usleep(BETWEEN_US);
    }
    return NULL;
}

/* raising.start ROUNDS */
static int raisingStart(Ctx *ctx, Text **argv, int argc) {
    long long rounds;
    pthread_t id;
    if (argc != 2 || ValkeyModule_StringToLongLong(argv[1], &rounds)) return ValkeyModule_WrongArity(ctx);
    rounds_left = rounds;
    if (pthread_create(&id, NULL, raisingRun, NULL)) return ValkeyModule_ReplyWithError(ctx, "ERR no thread");
    pthread_detach(id);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* raising.left: rounds that are still to come */
static int raisingLeft(Ctx *ctx, Text **argv, int argc) {
    (void)argv, (void)argc;
    return ValkeyModule_ReplyWithLongLong(ctx, rounds_left);
}

int ValkeyModule_OnLoad(Ctx *ctx, Text **argv, int argc) {
    (void)argv, (void)argc;
    if (ValkeyModule_Init(ctx, "raising", 1, VALKEYMODULE_APIVER_1) ||
        ValkeyModule_CreateCommand(ctx, "raising.start", raisingStart, "", 0, 0, 0) ||
        ValkeyModule_CreateCommand(ctx, "raising.left", raisingLeft, "", 0, 0, 0))
        return VALKEYMODULE_ERR;
    return VALKEYMODULE_OK;
}
