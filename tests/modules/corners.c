/* SPDX-License-Identifier: BSD-3-Clause */
/* corners.c - rare and wrong uses of the module interface. corners.told returns notes about them.
 *
 * Arguments of the load: `fails` (it makes a type, a timer and a job, and is not loaded), `refuses` (its
 * directive refuses its own default). */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "valkeymodule.h"

typedef ValkeyModuleCtx Ctx;
typedef ValkeyModuleString Text;
#define COMMAND(name) static int name(Ctx *ctx, Text **argv, int argc)

static const char *cornersText(const Text *s) {
    return ValkeyModule_StringPtrLen(s, NULL);
}
static const char *errorName(int e) {
    return e == 0         ? "-"
           : e == EINVAL  ? "EINVAL"
           : e == ENOTSUP ? "ENOTSUP"
           : e == EDOM    ? "EDOM"
           : e == ENOENT  ? "ENOENT"
                          : "other";
}

static char notes[50][160];
static int note_count;

static void cornersNote(const char *what, const char *more) {
    if (note_count < 50) snprintf(notes[note_count++], sizeof notes[0], "%s %s", what, more);
}

/* corners.told: the notes since its last call */
COMMAND(tell) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithArray(ctx, note_count);
    for (int i = 0; i < note_count; i++) ValkeyModule_ReplyWithCString(ctx, notes[i]);
    note_count = 0;
    return VALKEYMODULE_OK;
}

/* corners.arity ONE */
COMMAND(arity) {
    (void)argv;
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* ---- Replies ---- */

/* corners.postponed: an attribute with a postponed length, before a number (RESP3) */
COMMAND(postponed) {
    (void)argv, (void)argc;
    bool shown = ValkeyModule_ReplyWithAttribute(ctx, VALKEYMODULE_POSTPONED_LEN) == VALKEYMODULE_OK;
    for (int i = 0; shown && i < 4; i++) ValkeyModule_ReplyWithLongLong(ctx, i);
    if (shown) ValkeyModule_ReplySetAttributeLength(ctx, 2);
    return ValkeyModule_ReplyWithLongLong(ctx, 5);
}

/* corners.untold: a length of nothing that was begun */
COMMAND(untold) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithSimpleString(ctx, "OK");
    ValkeyModule_ReplySetArrayLength(ctx, 1);
    ValkeyModule_ReplySetMapLength(ctx, 1);
    ValkeyModule_ReplySetSetLength(ctx, 1);
    return VALKEYMODULE_OK;
}

/* corners.open: begins a collection, and sets no length */
COMMAND(leftOpen) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithArray(ctx, VALKEYMODULE_POSTPONED_LEN);
    ValkeyModule_ReplyWithLongLong(ctx, 1);
    return VALKEYMODULE_OK;
}

/* ---- Contexts without a client that waits for a reply ---- */

static void fromTimer(Ctx *ctx, void *data) {
    (void)data;
    errno = 0;
    ValkeyModuleBlockedClient *bc = ValkeyModule_BlockClient(ctx, NULL, NULL, NULL, 0);
    cornersNote("block", bc ? "held" : errorName(errno));
    errno = 0;
    ValkeyModuleCallReply *r = ValkeyModule_Call(ctx, "GET", "Cc", "k");
    cornersNote("call as nobody", r ? "reply" : errorName(errno));
    r = ValkeyModule_Call(ctx, "GET", "CEc", "k");
    size_t len = 0;
    const char *error = r ? ValkeyModule_CallReplyStringPtr(r, &len) : "";
    char line[150];
    snprintf(line, sizeof line, "%.*s", (int)len, error);
    cornersNote("and its error", line);
    if (r) ValkeyModule_FreeCallReply(r);
    ValkeyModule_ReplyWithLongLong(ctx, 1); /* to no client */
}

/* corners.timer: see fromTimer */
COMMAND(timer) {
    (void)argv, (void)argc;
    ValkeyModule_CreateTimer(ctx, 1, fromTimer, NULL);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

static void cornersRunJob(Ctx *ctx, void *data) {
    ValkeyModuleCallReply *r = ValkeyModule_Call(ctx, "INCR", "c!", "jobs");
    if (r) ValkeyModule_FreeCallReply(r);
    cornersNote("job", data);
}

static void *inThread(void *data) {
    Ctx *ctx = ValkeyModule_GetThreadSafeContext(NULL);
    ValkeyModule_ThreadSafeContextLock(ctx);
    errno = 0;
    ValkeyModuleBlockedClient *bc = ValkeyModule_BlockClient(ctx, NULL, NULL, NULL, 0);
    cornersNote("in a thread", bc ? "held" : errorName(errno));
    ValkeyModule_AddPostNotificationJob(ctx, cornersRunJob, data, NULL);
    ValkeyModule_ThreadSafeContextUnlock(ctx);
    ValkeyModule_FreeThreadSafeContext(ctx);
    return NULL;
}

/* corners.thread */
COMMAND(thread) {
    (void)argv, (void)argc;
    pthread_t id;
    if (pthread_create(&id, NULL, inThread, "of a thread"))
        return ValkeyModule_ReplyWithError(ctx, "ERR no thread");
    pthread_detach(id);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* One call of each kind, in any context. Returns how many functions did not return OK. */
static int replyAll(Ctx *ctx) {
    int bad = 0;
    bad += ValkeyModule_ReplyWithArray(ctx, 20);
    bad += ValkeyModule_ReplyWithError(ctx, "ERR one\r\nline");
    bad += ValkeyModule_ReplyWithErrorFormat(ctx, "WRONG %d\n%s", 7, "of them");
    bad += ValkeyModule_ReplyWithCustomErrorFormat(ctx, 0, "QUIET %d", 8);
    bad += ValkeyModule_ReplyWithCustomErrorFormat(ctx, 1, "LOUD %d", 9);
    bad += ValkeyModule_ReplyWithNull(ctx);
    bad += ValkeyModule_ReplyWithNullArray(ctx);
    bad += ValkeyModule_ReplyWithEmptyArray(ctx);
    bad += ValkeyModule_ReplyWithEmptyString(ctx);
    bad += ValkeyModule_ReplyWithBool(ctx, 1);
    bad += ValkeyModule_ReplyWithDouble(ctx, -1.5);
    bad += ValkeyModule_ReplyWithLongDouble(ctx, 2.25L);
    bad += ValkeyModule_ReplyWithBigNumber(ctx, "123456789012345678901234567890", 30);
    bad += ValkeyModule_ReplyWithVerbatimString(ctx, "text", 4);
    bad += ValkeyModule_ReplyWithVerbatimStringType(ctx, "text", 4, "mkd");
    bad += ValkeyModule_ReplyWithSimpleString(ctx, "simple");
    bad += ValkeyModule_ReplyWithCString(ctx, "c");
    bad += ValkeyModule_ReplyWithStringBuffer(ctx, "a\0b", 3);
    bad += ValkeyModule_ReplyWithMap(ctx, 1);
    bad += ValkeyModule_ReplyWithLongLong(ctx, 1);
    bad += ValkeyModule_ReplyWithLongLong(ctx, 2);
    bad += ValkeyModule_ReplyWithSet(ctx, VALKEYMODULE_POSTPONED_LEN);
    bad += ValkeyModule_ReplyWithLongLong(ctx, 3);
    ValkeyModule_ReplySetSetLength(ctx, 1);
    bad += ValkeyModule_ReplyWithLongLong(ctx, 4);
    return bad;
}

/* corners.all: at once */
COMMAND(all) {
    (void)argv, (void)argc;
    char line[24];
    snprintf(line, sizeof line, "%d", replyAll(ctx));
    cornersNote("not well", line);
    return VALKEYMODULE_OK;
}

static void *repliesAside(void *data) {
    ValkeyModuleBlockedClient *bc = data;
    Ctx *ctx = ValkeyModule_GetThreadSafeContext(bc);
    int bad = replyAll(ctx);
    ValkeyModule_FreeThreadSafeContext(ctx);
    ValkeyModule_UnblockClient(bc, NULL);
    ctx = ValkeyModule_GetThreadSafeContext(NULL); /* without a client: it has no effect */
    bad += replyAll(ctx);
    ValkeyModule_ThreadSafeContextLock(ctx);
    char line[24];
    snprintf(line, sizeof line, "%d", bad);
    cornersNote("not well", line);
    ValkeyModule_ThreadSafeContextUnlock(ctx);
    ValkeyModule_FreeThreadSafeContext(ctx);
    return NULL;
}

/* corners.aside: by a thread, without the lock */
COMMAND(aside) {
    (void)argv, (void)argc;
    pthread_t id;
    ValkeyModuleBlockedClient *bc = ValkeyModule_BlockClient(ctx, NULL, NULL, NULL, 0);
    if (pthread_create(&id, NULL, repliesAside, bc)) {
        ValkeyModule_AbortBlock(bc);
        return ValkeyModule_ReplyWithError(ctx, "ERR no thread");
    }
    pthread_detach(id);
    return VALKEYMODULE_OK;
}

static int onReply(Ctx *ctx, Text **argv, int argc) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetBlockedClientHandle(ctx) ==
                                            ValkeyModule_GetBlockedClientPrivateData(ctx));
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetBlockedClientHandle(ctx) != NULL);
}

/* corners.handle: is the handle in the reply callback that of BlockClient? */
COMMAND(handle) {
    (void)argv, (void)argc;
    ValkeyModuleBlockedClient *bc = ValkeyModule_BlockClient(ctx, onReply, NULL, NULL, 0);
    return ValkeyModule_UnblockClient(bc, bc);
}

/* ---- INFO ---- */

static void cornersAddInfo(ValkeyModuleInfoCtx *ctx, int for_crash) {
    (void)for_crash;
    int bad = ValkeyModule_InfoAddFieldLongLong(ctx, "early", 1) == VALKEYMODULE_OK;
    if (ValkeyModule_InfoAddSection(ctx, NULL)) return;
    bad += ValkeyModule_InfoEndDictField(ctx) == VALKEYMODULE_OK;
    bad += ValkeyModule_InfoBeginDictField(ctx, "dict");
    bad += ValkeyModule_InfoAddFieldULongLong(ctx, "u", 2);
    bad += ValkeyModule_InfoAddFieldCString(ctx, "c", "text");
    bad += ValkeyModule_InfoAddFieldDouble(ctx, "d", 0.5);
    bad += ValkeyModule_InfoEndDictField(ctx);
    bad += ValkeyModule_InfoAddFieldLongLong(ctx, "bad", bad);
}

/* ---- Out of range ---- */

static void noteErrno(Ctx *ctx, long long result) {
    ValkeyModule_ReplyWithLongLong(ctx, result);
    ValkeyModule_ReplyWithCString(ctx, errorName(errno));
    errno = 0;
}

/* corners.list KEY INDEX VALUE */
COMMAND(list) {
    long long at;
    if (argc != 4 || ValkeyModule_StringToLongLong(argv[2], &at)) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_READ | VALKEYMODULE_WRITE);
    ValkeyModule_ReplyWithArray(ctx, 8);
    errno = 0;
    Text *s = ValkeyModule_ListGet(key, (long)at);
    noteErrno(ctx, s != NULL);
    if (s) ValkeyModule_FreeString(ctx, s);
    noteErrno(ctx, ValkeyModule_ListInsert(key, (long)at, argv[3]));
    noteErrno(ctx, ValkeyModule_ListSet(key, (long)at, argv[3]));
    noteErrno(ctx, ValkeyModule_ListDelete(key, (long)at));
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

/* corners.stream KEY: its iterator, without having begun */
COMMAND(stream) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleStreamID id;
    long fields;
    Text *field, *value;
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_READ | VALKEYMODULE_WRITE);
    ValkeyModule_ReplyWithArray(ctx, 8);
    errno = 0;
    noteErrno(ctx, ValkeyModule_StreamIteratorNextID(key, &id, &fields));
    noteErrno(ctx, ValkeyModule_StreamIteratorNextField(key, &field, &value));
    noteErrno(ctx, ValkeyModule_StreamIteratorDelete(key));
    noteErrno(ctx, ValkeyModule_StreamIteratorStop(key));
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

/* corners.positions: a command reports keys outside of a key request */
COMMAND(positions) {
    (void)argv, (void)argc;
    ValkeyModule_KeyAtPos(ctx, 1);
    ValkeyModule_KeyAtPosWithFlags(ctx, 1, VALKEYMODULE_CMD_KEY_RO);
    ValkeyModule_ChannelAtPosWithFlags(ctx, 1, VALKEYMODULE_CMD_CHANNEL_SUBSCRIBE);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* corners.log LENGTH: a line of so many characters */
COMMAND(longLine) {
    long long n;
    if (argc != 2 || ValkeyModule_StringToLongLong(argv[1], &n)) return ValkeyModule_WrongArity(ctx);
    ValkeyModule_Log(ctx, "unheard of", "%0*d", (int)n, 7);
    ValkeyModule_Log(ctx, "notice", "%0*d", (int)n, 7);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* ---- A type with the first letter of all as its name ---- */

static ValkeyModuleType *type;

static void *cornersLoadValue(ValkeyModuleIO *io, int version) {
    (void)version;
    long long *n = ValkeyModule_Alloc(sizeof *n);
    *n = ValkeyModule_LoadSigned(io);
    double ignored = ValkeyModule_LoadDouble(io);
    if (!ValkeyModule_IsIOError(io) && ignored >= 0) return n;
    cornersNote("load", ValkeyModule_IsIOError(io) ? "fails" : "is refused");
    ValkeyModule_Free(n);
    return NULL;
}
static void cornersSaveValue(ValkeyModuleIO *io, void *value) {
    ValkeyModule_SaveSigned(io, *(long long *)value);
    ValkeyModule_SaveDouble(io, (double)*(long long *)value);
}
static void cornersRewriteValue(ValkeyModuleIO *io, Text *key, void *value) {
    if (*(long long *)value == 13) ValkeyModule_EmitAOF(io, "corners.nosuch", "s", key);
    if (*(long long *)value == 14) ValkeyModule_EmitAOF(io, "SET", "?", key);
    ValkeyModule_EmitAOF(io, "corners.put", "sl", key, *(long long *)value);
}
static void cornersFreeValue(void *value) {
    ValkeyModule_Free(value);
}

/* corners.put KEY NUMBER */
COMMAND(put) {
    long long n;
    if (argc != 3 || ValkeyModule_StringToLongLong(argv[2], &n)) return ValkeyModule_WrongArity(ctx);
    ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_WRITE);
    long long *value = ValkeyModule_Alloc(sizeof *value);
    *value = n;
    ValkeyModule_ModuleTypeSetValue(key, type, value);
    ValkeyModule_CloseKey(key);
    ValkeyModule_ReplicateVerbatim(ctx);
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* ---- Load ---- */

static long long getNumber(const char *name, void *data) {
    (void)name, (void)data;
    return 1;
}
static int setNumber(const char *name, long long value, void *data, Text **err) {
    (void)name, (void)value, (void)data;
    *err = ValkeyModule_CreateString(NULL, "never", 5);
    return VALKEYMODULE_ERR;
}

static bool makeType(Ctx *ctx) {
    ValkeyModuleTypeMethods methods = {.version = VALKEYMODULE_TYPE_METHOD_VERSION,
                                       .rdb_load = cornersLoadValue,
                                       .rdb_save = cornersSaveValue,
                                       .aof_rewrite = cornersRewriteValue,
                                       .free = cornersFreeValue};
    type = ValkeyModule_CreateDataType(ctx, "AAcorners", 3, &methods);
    return type != NULL;
}

int ValkeyModule_OnLoad(Ctx *ctx, Text **argv, int argc) {
    static const struct {
        const char *name;
        ValkeyModuleCmdFunc fn;
        const char *flags;
    } commands[] = {
        {"corners.all", all, ""},
        {"corners.aside", aside, ""},
        {"corners.handle", handle, ""},
        {"corners.told", tell, ""},
        {"corners.arity", arity, ""},
        {"corners.postponed", postponed, ""},
        {"corners.untold", untold, ""},
        {"corners.open", leftOpen, ""},
        {"corners.timer", timer, ""},
        {"corners.thread", thread, ""},
        {"corners.list", list, "write"},
        {"corners.stream", stream, "write"},
        {"corners.positions", positions, ""},
        {"corners.log", longLine, ""},
        {"corners.put", put, "write"},
    };
    if (ValkeyModule_Init(ctx, "corners", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (ValkeyModule_CreateCommand(ctx, commands[i].name, commands[i].fn, commands[i].flags, 0, 0, 0))
            return VALKEYMODULE_ERR;
    }
    ValkeyModule_SetModuleOptions(ctx, VALKEYMODULE_OPTIONS_HANDLE_IO_ERRORS);
    if (!makeType(ctx) || ValkeyModule_RegisterInfoFunc(ctx, cornersAddInfo)) return VALKEYMODULE_ERR;
    if (argc && !strcmp(cornersText(argv[0]), "fails")) {
        ValkeyModule_CreateTimer(ctx, 20, fromTimer, NULL);
        return VALKEYMODULE_ERR;
    }
    if (argc && !strcmp(cornersText(argv[0]), "refuses")) {
        ValkeyModule_RegisterNumericConfig(ctx, "number", 7, VALKEYMODULE_CONFIG_DEFAULT, 0, 10, getNumber,
                                           setNumber, NULL, NULL);
        return ValkeyModule_LoadConfigs(ctx);
    }
    return VALKEYMODULE_OK;
}
