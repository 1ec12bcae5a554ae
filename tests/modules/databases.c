/* SPDX-License-Identifier: BSD-3-Clause */
/* databases.c - the database of a module after an event, in a thread, in a timer, after a call. None of
 * them selects a database before it writes. */
#include <pthread.h>
#include <string.h>

#include "valkeymodule.h"

typedef ValkeyModuleCtx Ctx;
typedef ValkeyModuleString Text;

#define COMMAND(name) static int name(Ctx *ctx, Text **argv, int argc)

/* Counts `name` by a call and `name-replicated` by what is replicated only. */
static void databasesCountTwice(Ctx *ctx, const char *name) {
    char replicated[64];
    strcpy(replicated, name);
    strcat(replicated, "-replicated");
    ValkeyModule_Replicate(ctx, "INCR", "c", replicated);
    ValkeyModuleCallReply *reply = ValkeyModule_Call(ctx, "INCR", "c!", name);
    if (reply) ValkeyModule_FreeCallReply(reply);
}

static void workCallFirst(Ctx *ctx, const char *name) {
    ValkeyModuleCallReply *reply = ValkeyModule_Call(ctx, "INCR", "c!", name);
    if (reply) ValkeyModule_FreeCallReply(reply);
    databasesCountTwice(ctx, name);
}

/* ---- Behind events of keys "event..." ---- */

static void onJob(Ctx *ctx, void *data) {
    (void)data;
    databasesCountTwice(ctx, "job");
}

static void onJobCallFirst(Ctx *ctx, void *data) {
    (void)data;
    workCallFirst(ctx, "job");
}

static int onEvent(Ctx *ctx, int type, const char *event, Text *key) {
    (void)type;
    if (strncmp(ValkeyModule_StringPtrLen(key, NULL), "event", 5)) return VALKEYMODULE_OK;
    int call_first = strcmp(event, "new") != 0;
    return ValkeyModule_AddPostNotificationJob(ctx, call_first ? onJobCallFirst : onJob, NULL, NULL);
}

/* ---- Threads ---- */

static void *inThread(void *arg) {
    ValkeyModuleBlockedClient *bc = arg;
    Ctx *ctx = ValkeyModule_GetThreadSafeContext(bc);
    ValkeyModule_ThreadSafeContextLock(ctx);
    int resp3 = (ValkeyModule_GetContextFlags(ctx) & VALKEYMODULE_CTX_FLAGS_RESP3) != 0;
    workCallFirst(ctx, "thread");
    ValkeyModule_ThreadSafeContextUnlock(ctx);
    ValkeyModule_ReplyWithLongLong(ctx, 2 + resp3);
    ValkeyModule_FreeThreadSafeContext(ctx);
    ValkeyModule_UnblockClient(bc, bc);
    return NULL;
}

static void onFree(Ctx *ctx, void *data) {
    (void)data;
    databasesCountTwice(ctx, "freed");
}

/* databases.thread: replies when its thread is done, with its client's protocol as the thread sees it. */
COMMAND(thread) {
    (void)argv, (void)argc;
    pthread_t id;
    ValkeyModuleBlockedClient *bc = ValkeyModule_BlockClient(ctx, NULL, NULL, onFree, 0);
    if (pthread_create(&id, NULL, inThread, bc) == 0) pthread_detach(id);
    return VALKEYMODULE_OK;
}

static void *databasesDetachedThread(void *arg) {
    ValkeyModule_ThreadSafeContextLock(arg);
    databasesCountTwice(arg, "detached");
    ValkeyModule_ThreadSafeContextUnlock(arg);
    ValkeyModule_FreeThreadSafeContext(arg);
    return NULL;
}

COMMAND(detach) {
    (void)argv, (void)argc;
    pthread_t id;
    if (pthread_create(&id, NULL, databasesDetachedThread, ValkeyModule_GetDetachedThreadSafeContext(ctx)) ==
        0)
        pthread_detach(id);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* ---- Timers ---- */

static void onTimer(Ctx *ctx, void *data) {
    (void)data;
    Text *key = ValkeyModule_CreateString(ctx, "event-of-timer", 14);
    ValkeyModule_NotifyKeyspaceEvent(ctx, VALKEYMODULE_NOTIFY_GENERIC, "told", key);
    ValkeyModule_FreeString(ctx, key);
    databasesCountTwice(ctx, "timer");
}

/* databases.timer [DB]: from another database than the client's. */
COMMAND(timer) {
    long long db;
    if (argc > 1 && ValkeyModule_StringToLongLong(argv[1], &db) == VALKEYMODULE_OK)
        ValkeyModule_SelectDb(ctx, (int)db);
    ValkeyModule_CreateTimer(ctx, 1, onTimer, NULL);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* ---- Calls that wait ---- */

static void onUnblocked(Ctx *ctx, ValkeyModuleCallReply *reply, void *data) {
    (void)data;
    databasesCountTwice(ctx, "unblocked");
    ValkeyModule_FreeCallReply(reply);
}

/* databases.wait KEY */
COMMAND(waitFor) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleCallReply *reply = ValkeyModule_Call(ctx, "BLPOP", "Ksc!", argv[1], "0");
    if (ValkeyModule_CallReplyType(reply) == VALKEYMODULE_REPLY_PROMISE)
        ValkeyModule_CallReplyPromiseSetUnblockHandler(reply, onUnblocked, NULL);
    ValkeyModule_FreeCallReply(reply);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* databases.inner: calls databases.thread, which waits. */
COMMAND(inner) {
    (void)argv, (void)argc;
    ValkeyModuleCallReply *reply = ValkeyModule_Call(ctx, "databases.thread", "K");
    if (ValkeyModule_CallReplyType(reply) == VALKEYMODULE_REPLY_PROMISE)
        ValkeyModule_CallReplyPromiseSetUnblockHandler(reply, onUnblocked, NULL);
    ValkeyModule_FreeCallReply(reply);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

int ValkeyModule_OnLoad(Ctx *ctx, Text **argv, int argc) {
    (void)argv, (void)argc;
    if (ValkeyModule_Init(ctx, "databases", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    int events = VALKEYMODULE_NOTIFY_ALL | VALKEYMODULE_NOTIFY_NEW | VALKEYMODULE_NOTIFY_KEY_MISS;
    ValkeyModule_SubscribeToKeyspaceEvents(ctx, events, onEvent);
    return ValkeyModule_CreateCommand(ctx, "databases.thread", thread, "write", 0, 0, 0) ||
           ValkeyModule_CreateCommand(ctx, "databases.detach", detach, "write", 0, 0, 0) ||
           ValkeyModule_CreateCommand(ctx, "databases.timer", timer, "write", 0, 0, 0) ||
           ValkeyModule_CreateCommand(ctx, "databases.inner", inner, "write", 0, 0, 0) ||
           ValkeyModule_CreateCommand(ctx, "databases.wait", waitFor, "write", 1, 1, 1);
}
