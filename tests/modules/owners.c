/* SPDX-License-Identifier: BSD-3-Clause */
/* owners.c - objects of one module that another module uses: timers, filters, commands, shared
 * functions. It is loaded twice, as NAME and under another name (loadmodule owners.so NAME); objects of
 * the other one are passed as numbers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "valkeymodule.h"

typedef ValkeyModuleCtx Ctx;
typedef ValkeyModuleString Text;
#define LARGE         4096
#define COMMAND(name) static int name(Ctx *ctx, Text **argv, int argc)

static const char *ownersText(const Text *s) {
    return ValkeyModule_StringPtrLen(s, NULL);
}

static int replyNumber(Ctx *ctx, unsigned long long n) {
    char digits[32];
    snprintf(digits, sizeof digits, "%llu", n);
    return ValkeyModule_ReplyWithCString(ctx, digits);
}

static unsigned long long numberOf(const Text *s) {
    return strtoull(ownersText(s), NULL, 10);
}

/* ---- Timers ---- */

static int fired;

static void onTimer(Ctx *ctx, void *data) {
    (void)ctx, (void)data;
    fired++;
}

/* NAME.timer create MS | stop ID | info ID | fired */
COMMAND(timer) {
    if (argc < 2) return ValkeyModule_WrongArity(ctx);
    const char *what = ownersText(argv[1]);
    if (!strcmp(what, "fired")) return ValkeyModule_ReplyWithLongLong(ctx, fired);
    if (argc < 3) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleTimerID id = numberOf(argv[2]);
    if (!strcmp(what, "create")) {
        id = ValkeyModule_CreateTimer(ctx, (mstime_t)numberOf(argv[2]), onTimer, NULL);
        return replyNumber(ctx, id);
    }
    int code = !strcmp(what, "stop") ? ValkeyModule_StopTimer(ctx, id, NULL)
                                     : ValkeyModule_GetTimerInfo(ctx, id, NULL, NULL);
    return ValkeyModule_ReplyWithLongLong(ctx, code);
}

/* ---- Filters ---- */

static int filtered;

/* The argument of ECHO becomes a large one. */
static void onCommand(ValkeyModuleCommandFilterCtx *filter) {
    static char large[LARGE];
    filtered++;
    if (strcasecmp(ownersText(ValkeyModule_CommandFilterArgGet(filter, 0)), "echo")) return;
    ValkeyModule_CommandFilterArgReplace(filter, 1, ValkeyModule_CreateString(NULL, large, LARGE));
    ValkeyModule_CommandFilterArgInsert(filter, 2, ValkeyModule_CreateString(NULL, large, LARGE));
    ValkeyModule_CommandFilterArgDelete(filter, 2);
}

/* NAME.filter add | remove ID | calls */
COMMAND(filter) {
    if (argc < 2) return ValkeyModule_WrongArity(ctx);
    const char *what = ownersText(argv[1]);
    if (!strcmp(what, "calls")) return ValkeyModule_ReplyWithLongLong(ctx, filtered);
    if (!strcmp(what, "add"))
        return replyNumber(ctx, (uintptr_t)ValkeyModule_RegisterCommandFilter(ctx, onCommand, 0));
    if (argc < 3) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleCommandFilter *f = (ValkeyModuleCommandFilter *)(uintptr_t)numberOf(argv[2]);
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_UnregisterCommandFilter(ctx, f));
}

/* ---- Strings ---- */

/* NAME.strings N: strings that the context would free are retained, held, and freed. */
COMMAND(strings) {
    static char large[LARGE];
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    ValkeyModule_AutoMemory(ctx);
    for (unsigned long long i = numberOf(argv[1]); i > 0; i--) {
        Text *s = ValkeyModule_CreateString(ctx, large, LARGE);
        ValkeyModule_RetainString(ctx, s); /* the context forgets it */
        ValkeyModule_HoldString(ctx, s);   /* and has a reference again */
        ValkeyModule_FreeString(NULL, s);
        s = ValkeyModule_CreateString(NULL, large, LARGE);
        ValkeyModule_RetainString(NULL, s);
        ValkeyModule_FreeString(NULL, s);
        ValkeyModule_FreeString(NULL, s);
    }
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* ---- Keys that are open for reading only ---- */

static int writesToList(ValkeyModuleKey *key, Text *text) {
    Text *popped = ValkeyModule_ListPop(key, VALKEYMODULE_LIST_HEAD);
    return (popped != NULL) + 2 * !ValkeyModule_ListPush(key, VALKEYMODULE_LIST_TAIL, text) +
           4 * !ValkeyModule_ListSet(key, 0, text) + 8 * !ValkeyModule_ListInsert(key, 0, text) +
           16 * !ValkeyModule_ListDelete(key, 0);
}

static int writesToStream(ValkeyModuleKey *key, Text *text) {
    ValkeyModuleStreamID id = {1, 1};
    Text *pair[] = {text, text};
    ValkeyModule_StreamIteratorStart(key, 0, NULL, NULL);
    int done = ValkeyModule_StreamIteratorNextID(key, &id, NULL) != VALKEYMODULE_OK;
    done += 2 * !ValkeyModule_StreamIteratorDelete(key);
    ValkeyModule_StreamIteratorStop(key);
    return done + 4 * !ValkeyModule_StreamAdd(key, VALKEYMODULE_STREAM_ADD_AUTOID, NULL, pair, 1) +
           8 * !ValkeyModule_StreamDelete(key, &id) + 16 * (ValkeyModule_StreamTrimByLength(key, 0, 0) >= 0) +
           32 * (ValkeyModule_StreamTrimByID(key, 0, &id) >= 0);
}

static int writesToZset(ValkeyModuleKey *key, Text *text) {
    int gone = 0;
    double score = 0;
    return !ValkeyModule_ZsetAdd(key, 5, text, NULL) +
           2 * !ValkeyModule_ZsetIncrby(key, 5, text, NULL, &score) +
           4 * !ValkeyModule_ZsetRem(key, text, &gone) + 8 * gone;
}

static int writesToHash(ValkeyModuleKey *key, Text *text) {
    static const char value[] = "value";
    return ValkeyModule_HashSet(key, VALKEYMODULE_HASH_COUNT_ALL, text, text, NULL) +
           2 * !ValkeyModule_HashSetStringRef(key, text, value, sizeof value - 1);
}

/* NAME.write KEY MEMBER: which functions that write have had their way with such a key, as bits. */
COMMAND(write) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_READ);
    int done = 0;
    switch (ValkeyModule_KeyType(key)) {
    case VALKEYMODULE_KEYTYPE_LIST: done = writesToList(key, argv[2]); break;
    case VALKEYMODULE_KEYTYPE_STREAM: done = writesToStream(key, argv[2]); break;
    case VALKEYMODULE_KEYTYPE_ZSET: done = writesToZset(key, argv[2]); break;
    case VALKEYMODULE_KEYTYPE_HASH: done = writesToHash(key, argv[2]); break;
    default: done = !ValkeyModule_StringTruncate(key, 1);
    }
    done += 100 * !ValkeyModule_StringSet(key, argv[2]) + 200 * !ValkeyModule_SetExpire(key, 5000) +
            400 * !ValkeyModule_SetAbsExpire(key, 5000) + 1000 * !ValkeyModule_DeleteKey(key) +
            2000 * !ValkeyModule_UnlinkKey(key);
    ValkeyModule_CloseKey(key);
    return ValkeyModule_ReplyWithLongLong(ctx, done);
}

/* ---- Descriptors ---- */

static void onReady(int fd, void *data, int mask) {
    (void)fd, (void)data, (void)mask;
}

/* NAME.sockets: how many of the server's sockets it may watch, once it has tried to take all out of the loop.
 */
COMMAND(sockets) {
    (void)argv, (void)argc;
    int watched = 0;
    struct stat st;
    for (int fd = 3; fd < 100; fd++) {
        if (fstat(fd, &st) != 0 || !S_ISSOCK(st.st_mode)) continue;
        ValkeyModule_EventLoopDel(fd, VALKEYMODULE_EVENTLOOP_READABLE | VALKEYMODULE_EVENTLOOP_WRITABLE);
        watched +=
            ValkeyModule_EventLoopAdd(fd, VALKEYMODULE_EVENTLOOP_READABLE, onReady, NULL) == VALKEYMODULE_OK;
    }
    return ValkeyModule_ReplyWithLongLong(ctx, watched);
}

/* ---- Jobs ---- */

static int jobs_run, adds_job;

static void onJob(Ctx *ctx, void *data) {
    (void)ctx, (void)data;
    jobs_run++;
}

/* NAME.jobs [add]: how many have run; from now on OnUnload adds one. */
COMMAND(jobs) {
    (void)argv;
    adds_job = argc > 1;
    return ValkeyModule_ReplyWithLongLong(ctx, jobs_run);
}

int ValkeyModule_OnUnload(Ctx *ctx) {
    if (adds_job) ValkeyModule_AddPostNotificationJob(ctx, onJob, NULL, NULL);
    return VALKEYMODULE_OK;
}

/* ---- Commands, shared functions ---- */

/* NAME.command NAME: is it one of its own? */
COMMAND(command) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetCommand(ctx, ownersText(argv[1])) != NULL);
}

/* NAME.shared export | use NAME. (9.1.2 keeps the name where it is: an argument would not do for the export.)
 */
COMMAND(shared) {
    if (argc < 2) return ValkeyModule_WrongArity(ctx);
    if (argc == 2)
        return ValkeyModule_ReplyWithLongLong(
            ctx, ValkeyModule_ExportSharedAPI(ctx, "function", (void *)(uintptr_t)&onTimer));
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetSharedAPI(ctx, ownersText(argv[2])) != NULL);
}

/* ---- Calls that wait ---- */

static int answered;

static void onAnswer(Ctx *ctx, ValkeyModuleCallReply *reply, void *data) {
    (void)ctx, (void)data;
    answered++;
    ValkeyModule_FreeCallReply(reply);
}

/* NAME.wait KEY | answered */
COMMAND(waitFor) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    if (!strcmp(ownersText(argv[1]), "answered")) return ValkeyModule_ReplyWithLongLong(ctx, answered);
    ValkeyModuleCallReply *reply = ValkeyModule_Call(ctx, "BLPOP", "Ksc", argv[1], "0");
    if (ValkeyModule_CallReplyType(reply) == VALKEYMODULE_REPLY_PROMISE)
        ValkeyModule_CallReplyPromiseSetUnblockHandler(reply, onAnswer, NULL);
    ValkeyModule_FreeCallReply(reply);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* ---- Children ---- */

/* NAME.fork | kill PID */
COMMAND(child) {
    if (argc == 1) {
        int pid = ValkeyModule_Fork(NULL, NULL);
        while (pid == 0) ValkeyModule_SendChildHeartbeat(0); /* until it is killed */
        return ValkeyModule_ReplyWithLongLong(ctx, pid);
    }
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_KillForkChild((int)numberOf(argv[2])));
}

/* NAME.replicate COMMAND */
COMMAND(replicate) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    return ValkeyModule_ReplyWithLongLong(
        ctx, ValkeyModule_Replicate(ctx, ownersText(argv[1]), "cc", "replicated", "1"));
}

int ValkeyModule_OnLoad(Ctx *ctx, Text **argv, int argc) {
    static const struct {
        const char *name;
        ValkeyModuleCmdFunc fn;
    } commands[] = {{"timer", timer},         {"filter", filter},   {"command", command},
                    {"shared", shared},       {"wait", waitFor},    {"child", child},
                    {"replicate", replicate}, {"strings", strings}, {"write", write},
                    {"sockets", sockets},     {"jobs", jobs}};
    /* Its name is an argument, which can be read only like this before the API is available. */
    int (*get_api)(const char *name, void *out) = *(int (**)(const char *, void *))ctx;
    get_api("ValkeyModule_StringPtrLen", (void *)&ValkeyModule_StringPtrLen);
    const char *name = argc ? ownersText(argv[0]) : "owners";
    if (ValkeyModule_Init(ctx, name, 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char full[64];
        snprintf(full, sizeof full, "%s.%s", name, commands[i].name);
        if (ValkeyModule_CreateCommand(ctx, full, commands[i].fn, "", 0, 0, 0)) return VALKEYMODULE_ERR;
    }
    if (argc > 1) ValkeyModule_CreateTimer(ctx, 1, onTimer, NULL);
    return argc > 1 ? VALKEYMODULE_ERR : VALKEYMODULE_OK; /* it does not want to be loaded */
}
