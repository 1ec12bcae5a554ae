/* SPDX-License-Identifier: BSD-3-Clause */
/* forkless.c - what a module has to do with snapshots without a fork: the option that it supports them, a key
 * that is open while one is to start, events, and a file that it saves itself.
 *
 *     loadmodule forkless.so [supported]      declares that it supports them
 *     forkless.open KEY VALUE                 BGSAVE while KEY is open for writing, then sets it
 *     forkless.events                         the events of persistence so far; "-" before one that was not on the
 *                                             main thread
 *     forkless.save PATH                      saves the dataset to a file
 *     forkless.text KEY TEXT                  overwrites the beginning of a string where it is
 *     forkless.truncate KEY LENGTH
 *     forkless.signal KEY                     says that a key has changed, without opening it */
#include <pthread.h>
#include <string.h>

#include "valkeymodule.h"

static pthread_t main_thread;
static char events[256];

static void forkOnEvent(ValkeyModuleCtx *ctx, ValkeyModuleEvent event, uint64_t which, void *data) {
    (void)ctx, (void)event, (void)data;
    static const char *const names[] = {"rdb", "aof", "save", "ended", "failed", "aof-at-once"};
    if (!pthread_equal(main_thread, pthread_self())) strncat(events, "-", sizeof events - strlen(events) - 1);
    strncat(events, names[which], sizeof events - strlen(events) - 1);
    strncat(events, " ", sizeof events - strlen(events) - 1);
}

static int forkEvents(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithCString(ctx, events);
    events[0] = '\0';
    return VALKEYMODULE_OK;
}

static int forkOpen(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_WRITE);
    ValkeyModuleCallReply *reply = ValkeyModule_Call(ctx, "BGSAVE", "");
    if (reply) ValkeyModule_FreeCallReply(reply);
    ValkeyModule_StringSet(key, argv[2]);
    ValkeyModule_CloseKey(key);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

static int forkSave(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleRdbStream *stream =
        ValkeyModule_RdbStreamCreateFromFile(ValkeyModule_StringPtrLen(argv[1], NULL));
    int result = ValkeyModule_RdbSave(ctx, stream, 0);
    ValkeyModule_RdbStreamFree(stream);
    return ValkeyModule_ReplyWithLongLong(ctx, result);
}

static int forkText(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    size_t room, length;
    const char *text = ValkeyModule_StringPtrLen(argv[2], &length);
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_WRITE);
    char *bytes = ValkeyModule_StringDMA(key, &room, VALKEYMODULE_WRITE);
    if (bytes && room >= length) memcpy(bytes, text, length);
    ValkeyModule_CloseKey(key);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

static int forkTruncate(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    long long length;
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    if (ValkeyModule_StringToLongLong(argv[2], &length) != VALKEYMODULE_OK)
        return ValkeyModule_ReplyWithError(ctx, "ERR no length");
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_WRITE);
    int result = ValkeyModule_StringTruncate(key, (size_t)length);
    ValkeyModule_CloseKey(key);
    return ValkeyModule_ReplyWithLongLong(ctx, result);
}

static int forkSignal(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_SignalModifiedKey(ctx, argv[1]));
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    (void)argv;
    if (ValkeyModule_Init(ctx, "forktest", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    main_thread = pthread_self();
    if (argc) ValkeyModule_SetModuleOptions(ctx, VALKEYMODULE_OPTIONS_HANDLE_FORKLESS);
    ValkeyModule_SubscribeToServerEvent(ctx, ValkeyModuleEvent_Persistence, forkOnEvent);
    return ValkeyModule_CreateCommand(ctx, "forkless.open", forkOpen, "write", 1, 1, 1) ||
           ValkeyModule_CreateCommand(ctx, "forkless.events", forkEvents, "", 0, 0, 0) ||
           ValkeyModule_CreateCommand(ctx, "forkless.save", forkSave, "", 0, 0, 0) ||
           ValkeyModule_CreateCommand(ctx, "forkless.text", forkText, "write", 1, 1, 1) ||
           ValkeyModule_CreateCommand(ctx, "forkless.truncate", forkTruncate, "write", 1, 1, 1) ||
           ValkeyModule_CreateCommand(ctx, "forkless.signal", forkSignal, "write", 1, 1, 1);
}
