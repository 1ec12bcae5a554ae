/* SPDX-License-Identifier: BSD-3-Clause */
/* call.c - commands that a module runs and replicates; for tests/unit/modules/call.tcl. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "valkeymodule.h"

#define COMMAND(name) static int name(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc)
#define WANT(n)                                                                                              \
    if (argc < (n)) return ValkeyModule_WrongArity(ctx)

/* Symbols that the server exports beside the table of functions. */
extern int VM_CallArgv(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc, int flags,
                       const ValkeyModuleReplyHandlers *handlers, void *hctx);
extern int VM_CallArgvAbort(void *handle);
extern int VM_ReplyRaw(ValkeyModuleCtx *ctx, const char *bytes, size_t len);

static const char *callText(ValkeyModuleString *s) {
    return ValkeyModule_StringPtrLen(s, NULL);
}
static int callTextIs(ValkeyModuleString *s, const char *word) {
    return strcmp(callText(s), word) == 0;
}

static const char *errorName(int e) {
    static const struct {
        int number;
        const char *name;
    } names[] = {{0, "-"},           {ENOTSUP, "ENOTSUP"}, {EBADF, "EBADF"},      {ENOENT, "ENOENT"},
                 {EINVAL, "EINVAL"}, {ESPIPE, "ESPIPE"},   {ENOSPC, "ENOSPC"},    {EACCES, "EACCES"},
                 {EPERM, "EPERM"},   {EROFS, "EROFS"},     {ENETDOWN, "ENETDOWN"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].number == e) return names[i].name;
    }
    return "other";
}

/* "-" stands for no letters at all. */
static void callMakeFormat(char *dst, ValkeyModuleString *letters, const char *behind) {
    sprintf(dst, "%s%s", callTextIs(letters, "-") ? "" : callText(letters), behind);
}

static ValkeyModuleCallReply *callRunCommand(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    char fmt[64];
    callMakeFormat(fmt, argv[0], "v");
    errno = -1;
    return ValkeyModule_Call(ctx, callText(argv[1]), fmt, argv + 2, (size_t)argc - 2);
}

/* (9.1.2 ends of NULL.) */
static void freeReply(ValkeyModuleCallReply *r) {
    if (r) ValkeyModule_FreeCallReply(r);
}

/* ---- Replies ---- */

static void tellTree(ValkeyModuleCtx *ctx, ValkeyModuleCallReply *r);

static void tellPairs(ValkeyModuleCtx *ctx, ValkeyModuleCallReply *r, size_t count) {
    for (size_t i = 0; i < count; i++) {
        ValkeyModuleCallReply *key = NULL, *value = NULL;
        if (ValkeyModule_CallReplyMapElement(r, i, &key, &value)) continue;
        tellTree(ctx, key);
        tellTree(ctx, value);
    }
}

/* [type, length, what it holds ...] */
static void tellTree(ValkeyModuleCtx *ctx, ValkeyModuleCallReply *r) {
    int type = ValkeyModule_CallReplyType(r);
    size_t length = ValkeyModule_CallReplyLength(r), len;
    const char *format, *p;
    char line[64];
    ValkeyModule_ReplyWithArray(ctx, VALKEYMODULE_POSTPONED_LEN);
    ValkeyModule_ReplyWithLongLong(ctx, type);
    ValkeyModule_ReplyWithLongLong(ctx, (long long)length);
    long count = 2;
    switch (type) {
    case VALKEYMODULE_REPLY_INTEGER:
        ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplyInteger(r));
        count++;
        break;
    case VALKEYMODULE_REPLY_BOOL:
        ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplyBool(r));
        count++;
        break;
    case VALKEYMODULE_REPLY_DOUBLE:
        snprintf(line, sizeof line, "%.17g", ValkeyModule_CallReplyDouble(r));
        ValkeyModule_ReplyWithCString(ctx, line);
        count++;
        break;
    case VALKEYMODULE_REPLY_BIG_NUMBER:
        p = ValkeyModule_CallReplyBigNumber(r, &len);
        ValkeyModule_ReplyWithStringBuffer(ctx, p, len);
        count++;
        break;
    case VALKEYMODULE_REPLY_VERBATIM_STRING:
        p = ValkeyModule_CallReplyVerbatim(r, &len, &format);
        ValkeyModule_ReplyWithStringBuffer(ctx, format, 3);
        ValkeyModule_ReplyWithStringBuffer(ctx, p, len);
        count += 2;
        break;
    case VALKEYMODULE_REPLY_STRING:
    case VALKEYMODULE_REPLY_SIMPLE_STRING:
    case VALKEYMODULE_REPLY_ERROR:
        p = ValkeyModule_CallReplyStringPtr(r, &len);
        ValkeyModule_ReplyWithStringBuffer(ctx, p, len);
        count++;
        break;
    case VALKEYMODULE_REPLY_ARRAY:
    case VALKEYMODULE_REPLY_SET:
        for (size_t i = 0; i < length; i++, count++) {
            tellTree(ctx, type == VALKEYMODULE_REPLY_SET ? ValkeyModule_CallReplySetElement(r, i)
                                                         : ValkeyModule_CallReplyArrayElement(r, i));
        }
        break;
    case VALKEYMODULE_REPLY_MAP:
        tellPairs(ctx, r, length);
        count += 2 * (long)length;
        break;
    }
    ValkeyModule_ReplySetArrayLength(ctx, count);
}

/* ---- Calls ---- */

/* [errno, type, bytes]; without a reply [errno] */
static void callReplyWithReply(ValkeyModuleCtx *ctx, ValkeyModuleCallReply *r) {
    int why = errno;
    ValkeyModule_ReplyWithArray(ctx, r ? 3 : 1);
    ValkeyModule_ReplyWithCString(ctx, errorName(why));
    if (!r) return;
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplyType(r));
    size_t len;
    const char *bytes = ValkeyModule_CallReplyProto(r, &len);
    ValkeyModule_ReplyWithStringBuffer(ctx, bytes, len);
}

/* call.do LETTERS COMMAND ARG ... */
COMMAND(callDo) {
    WANT(3);
    ValkeyModuleCallReply *r = callRunCommand(ctx, argv + 1, argc - 1);
    callReplyWithReply(ctx, r);
    freeReply(r);
    return VALKEYMODULE_OK;
}

/* call.tree LETTERS COMMAND ARG ... */
COMMAND(callTree) {
    WANT(3);
    ValkeyModule_AutoMemory(ctx);
    ValkeyModuleCallReply *r = callRunCommand(ctx, argv + 1, argc - 1);
    if (!r) return ValkeyModule_ReplyWithError(ctx, errorName(errno));
    tellTree(ctx, r);
    return VALKEYMODULE_OK;
}

/* call.pass LETTERS COMMAND ARG ... */
COMMAND(callPass) {
    WANT(3);
    ValkeyModule_AutoMemory(ctx);
    ValkeyModuleCallReply *r = callRunCommand(ctx, argv + 1, argc - 1);
    if (!r) return ValkeyModule_ReplyWithError(ctx, errorName(errno));
    if (ValkeyModule_ReplyWithCallReply(ctx, r)) return ValkeyModule_ReplyWithError(ctx, "ERR not passed on");
    return VALKEYMODULE_OK;
}

/* call.pass_element INDEX LETTERS COMMAND ARG ... */
COMMAND(callPassElement) {
    WANT(4);
    long long index;
    ValkeyModule_AutoMemory(ctx);
    ValkeyModule_StringToLongLong(argv[1], &index);
    ValkeyModuleCallReply *r = callRunCommand(ctx, argv + 2, argc - 2);
    ValkeyModuleCallReply *e = ValkeyModule_CallReplyArrayElement(r, (size_t)index);
    if (!e) return ValkeyModule_ReplyWithError(ctx, "ERR no element");
    if (ValkeyModule_ReplyWithCallReply(ctx, e)) return ValkeyModule_ReplyWithError(ctx, "ERR not passed on");
    return VALKEYMODULE_OK;
}

/* One argument of every kind. */
COMMAND(callArguments) {
    ValkeyModule_AutoMemory(ctx);
    ValkeyModuleString *s = ValkeyModule_CreateString(ctx, "s\0tring", 7);
    ValkeyModuleCallReply *r = ValkeyModule_Call(ctx, "RPUSH", "!sccblvc3", argv[0], "cstring", "",
                                                 "bu\0ffer", (size_t)7, -42LL, argv, (size_t)argc, "last");
    callReplyWithReply(ctx, r);
    r = ValkeyModule_Call(ctx, "RPUSH", "ss", argv[0], s);
    return VALKEYMODULE_OK;
}

/* call.raw FORMAT COMMAND: the format as it is, with no arguments */
COMMAND(callRaw) {
    WANT(3);
    errno = -1;
    ValkeyModuleCallReply *r = ValkeyModule_Call(ctx, callText(argv[2]), callText(argv[1]));
    callReplyWithReply(ctx, r);
    freeReply(r);
    return VALKEYMODULE_OK;
}

/* The reply is a string: [type, string] */
COMMAND(callString) {
    WANT(3);
    ValkeyModule_AutoMemory(ctx);
    ValkeyModuleCallReply *r = callRunCommand(ctx, argv + 1, argc - 1);
    ValkeyModuleString *s = ValkeyModule_CreateStringFromCallReply(r);
    return s ? ValkeyModule_ReplyWithString(ctx, s) : ValkeyModule_ReplyWithNull(ctx);
}

/* Looked at as what it is not. */
COMMAND(callWrong) {
    WANT(3);
    ValkeyModule_AutoMemory(ctx);
    ValkeyModuleCallReply *r = callRunCommand(ctx, argv + 1, argc - 1), *k, *v;
    char line[64];
    size_t len = 0;
    const char *format;
    ValkeyModule_ReplyWithArray(ctx, 12);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplyInteger(r));
    snprintf(line, sizeof line, "%g", ValkeyModule_CallReplyDouble(r));
    ValkeyModule_ReplyWithCString(ctx, line);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplyBool(r));
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplyStringPtr(r, &len) != NULL);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplyBigNumber(r, &len) != NULL);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplyVerbatim(r, &len, &format) != NULL);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplyArrayElement(r, 0) != NULL);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplySetElement(r, 0) != NULL);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplyMapElement(r, 0, &k, &v));
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplyAttribute(r) != NULL);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplyArrayElement(r, 1000000) != NULL);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_CallReplyType(NULL));
    return VALKEYMODULE_OK;
}

/* call.db DB COMMAND ARG ...: [what it replied, the database behind it] */
COMMAND(callDb) {
    WANT(3);
    long long db;
    ValkeyModule_StringToLongLong(argv[1], &db);
    ValkeyModule_SelectDb(ctx, (int)db);
    ValkeyModuleCallReply *r = ValkeyModule_Call(ctx, callText(argv[2]), "v", argv + 3, (size_t)argc - 3);
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithCallReply(ctx, r);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetSelectedDb(ctx));
    freeReply(r);
    return VALKEYMODULE_OK;
}

/* How long it is, or all strings in it together. */
static long long callReplyLengthOf(ValkeyModuleCallReply *r) {
    size_t count = ValkeyModule_CallReplyLength(r), len;
    if (ValkeyModule_CallReplyType(r) != VALKEYMODULE_REPLY_ARRAY) return (long long)count;
    long long total = 0;
    for (size_t i = 0; i < count; i++) {
        const char *s = ValkeyModule_CallReplyStringPtr(ValkeyModule_CallReplyArrayElement(r, i), &len);
        if (s) total += (long long)len;
    }
    return total;
}

/* A loop within the server, for measuring: call.loop COUNT COMMAND ARG ... */
COMMAND(callLoop) {
    WANT(3);
    long long count, total = 0;
    ValkeyModule_StringToLongLong(argv[1], &count);
    for (; count > 0; count--) {
        ValkeyModuleCallReply *r = ValkeyModule_Call(ctx, callText(argv[2]), "v", argv + 3, (size_t)argc - 3);
        total += callReplyLengthOf(r);
        freeReply(r);
    }
    return ValkeyModule_ReplyWithLongLong(ctx, total);
}

/* ---- What is replicated ---- */

static void callReplicateStep(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    char fmt[64];
    if (callTextIs(argv[0], "verbatim")) {
        ValkeyModule_ReplicateVerbatim(ctx);
    } else if (callTextIs(argv[0], "write")) {
        ValkeyModuleKey *key = ValkeyModule_OpenKey(ctx, argv[1], VALKEYMODULE_WRITE);
        ValkeyModule_StringSet(key, argv[2]);
        ValkeyModule_CloseKey(key);
    } else if (callTextIs(argv[0], "replicate")) {
        callMakeFormat(fmt, argv[1], "v");
        int failed = ValkeyModule_Replicate(ctx, callText(argv[2]), fmt, argv + 3, (size_t)argc - 3);
        if (failed) freeReply(ValkeyModule_Call(ctx, "RPUSH", "cc", "failures", callText(argv[2])));
    } else if (callTextIs(argv[0], "call")) {
        freeReply(callRunCommand(ctx, argv + 1, argc - 1));
    }
}

static void callReplicateSteps(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc,
                               const char *between) {
    for (int from = 1, to; from < argc; from = to + 1) {
        for (to = from; to < argc && !callTextIs(argv[to], between);) to++;
        if (to > from) callReplicateStep(ctx, argv + from, to - from);
    }
}

/* call.steps STEP / STEP ...: verbatim, write KEY VALUE, replicate LETTERS COMMAND ARG ..., call LETTERS
 * COMMAND ARG ... */
COMMAND(callSteps) {
    callReplicateSteps(ctx, argv, argc, "/");
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}
/* The same with // between, for calls from there. */
COMMAND(callInner) {
    callReplicateSteps(ctx, argv, argc, "//");
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* ---- Promises ---- */

#define PROMISES 16
static struct {
    ValkeyModuleCallReply *promise;
    char name[32];
} promises[PROMISES];

static void logOutcome(ValkeyModuleCtx *ctx, const char *name, ValkeyModuleCallReply *r) {
    size_t len;
    const char *bytes = ValkeyModule_CallReplyProto(r, &len);
    ValkeyModuleCallReply *pushed = ValkeyModule_Call(ctx, "RPUSH", "!ccb", "outcomes", name, bytes, len);
    freeReply(pushed);
}

static void callOnReply(ValkeyModuleCtx *ctx, ValkeyModuleCallReply *r, void *priv) {
    size_t i = (size_t)priv;
    logOutcome(ctx, promises[i].name, r);
    freeReply(r);
    freeReply(promises[i].promise);
    promises[i].promise = NULL;
}

/* call.promise NAME LETTERS COMMAND ARG ...: PROMISE, or what call.do replies. Its outcome is added to
 * the list "outcomes". */
COMMAND(callPromise) {
    WANT(4);
    ValkeyModuleCallReply *r = callRunCommand(ctx, argv + 2, argc - 2);
    if (ValkeyModule_CallReplyType(r) != VALKEYMODULE_REPLY_PROMISE) {
        callReplyWithReply(ctx, r);
        freeReply(r);
        return VALKEYMODULE_OK;
    }
    size_t i = 0;
    while (promises[i].promise) i++;
    promises[i].promise = r;
    snprintf(promises[i].name, sizeof promises[i].name, "%s", callText(argv[1]));
    ValkeyModule_CallReplyPromiseSetUnblockHandler(r, callOnReply, (void *)i);
    return ValkeyModule_ReplyWithSimpleString(ctx, "PROMISE");
}

/* call.abort NAME */
COMMAND(callAbort) {
    WANT(2);
    for (size_t i = 0; i < PROMISES; i++) {
        if (!promises[i].promise || !callTextIs(argv[1], promises[i].name)) continue;
        void *priv = NULL;
        int failed = ValkeyModule_CallReplyPromiseAbort(promises[i].promise, &priv);
        ValkeyModule_FreeCallReply(promises[i].promise);
        promises[i].promise = NULL;
        return ValkeyModule_ReplyWithLongLong(ctx, failed ? -1 : (long long)((size_t)priv == i));
    }
    return ValkeyModule_ReplyWithNull(ctx);
}

/* ---- CallArgv ---- */

struct told {
    ValkeyModuleCtx *ctx;
    long count;
    int keeps; /* the raw bytes are enough */
};
static void *blocked_call;

static void callAddPart(void *hctx, const char *word, const char *s, size_t len) {
    struct told *told = hctx;
    if (!told->ctx) return;
    ValkeyModule_ReplyWithCString(told->ctx, word);
    ValkeyModule_ReplyWithStringBuffer(told->ctx, s, len);
    told->count += 2;
}
static void addNumber(void *hctx, const char *word, double n) {
    char line[64];
    callAddPart(hctx, word, line, (size_t)snprintf(line, sizeof line, "%.17g", n));
}
static void onNull(void *h) {
    callAddPart(h, "null", "", 0);
}
static void onNullBulk(void *h) {
    callAddPart(h, "null bulk", "", 0);
}
static void onNullArray(void *h) {
    callAddPart(h, "null array", "", 0);
}
static void onBulk(void *h, const char *s, size_t n) {
    callAddPart(h, "bulk", s, n);
}
static void onSimple(void *h, const char *s, size_t n) {
    callAddPart(h, "simple", s, n);
}
static void onVerbatim(void *h, const char *s, size_t n, const char *format) {
    callAddPart(h, "verbatim", format, 3);
    callAddPart(h, "of", s, n);
}
static void onError(void *h, const char *s, size_t n) {
    callAddPart(h, "error", s, n);
}
static void onInteger(void *h, long long n) {
    addNumber(h, "integer", (double)n);
}
static void onDouble(void *h, double d) {
    addNumber(h, "double", d);
}
static void onBig(void *h, const char *s, size_t n) {
    callAddPart(h, "big", s, n);
}
static void onBool(void *h, int b) {
    addNumber(h, "bool", b);
}
static void onArray(void *h, size_t n) {
    addNumber(h, "array", (double)n);
}
static void onArrayEnd(void *h) {
    callAddPart(h, "array ends", "", 0);
}
static void onMap(void *h, size_t n) {
    addNumber(h, "map", (double)n);
}
static void onMapEnd(void *h) {
    callAddPart(h, "map ends", "", 0);
}
static void onSet(void *h, size_t n) {
    addNumber(h, "set", (double)n);
}
static void onSetEnd(void *h) {
    callAddPart(h, "set ends", "", 0);
}
static void onAttribute(void *h, size_t n) {
    addNumber(h, "attribute", (double)n);
}
static void onAttributeEnd(void *h) {
    callAddPart(h, "attribute ends", "", 0);
}
static void onParsingError(void *h) {
    callAddPart(h, "parsing error", "", 0);
}
static void onBlocked(void *h, ValkeyModuleCtx *ctx, void *handle) {
    (void)ctx;
    blocked_call = handle;
    callAddPart(h, "blocked", "", 0);
    ((struct told *)h)->ctx = NULL;
}
static int onRaw(void *h, ValkeyModuleCtx *ctx, const char *bytes, size_t len) {
    struct told *told = h;
    callAddPart(h, "raw", bytes, len);
    if (!told->ctx) {
        ValkeyModuleCallReply *pushed = ValkeyModule_Call(ctx, "RPUSH", "!cb", "outcomes", bytes, len);
        freeReply(pushed);
        blocked_call = NULL;
    }
    return !told->keeps;
}
static const ValkeyModuleReplyHandlers handlers = {VALKEYMODULE_REPLY_HANDLERS_VERSION,
                                                   onNull,
                                                   onNullBulk,
                                                   onNullArray,
                                                   onBulk,
                                                   onSimple,
                                                   onVerbatim,
                                                   onError,
                                                   onInteger,
                                                   onDouble,
                                                   onBig,
                                                   onBool,
                                                   onAttribute,
                                                   onAttributeEnd,
                                                   onArray,
                                                   onArrayEnd,
                                                   onMap,
                                                   onMapEnd,
                                                   onSet,
                                                   onSetEnd,
                                                   onParsingError,
                                                   onBlocked,
                                                   onRaw};

/* call.argv HOW FLAGS COMMAND ARG ...: HOW is all, raw (which stops there), some (integers only), none or
 * newer (a version of the table that is not known) */
COMMAND(callArgv) {
    static struct told told;
    WANT(4);
    long long flags;
    ValkeyModule_StringToLongLong(argv[2], &flags);
    told = (struct told){.ctx = ctx, .keeps = callTextIs(argv[1], "raw")};
    ValkeyModuleReplyHandlers h = handlers;
    if (callTextIs(argv[1], "some")) h = (ValkeyModuleReplyHandlers){.version = 1, .integer = onInteger};
    if (callTextIs(argv[1], "newer")) h.version = 2;
    ValkeyModule_ReplyWithArray(ctx, VALKEYMODULE_POSTPONED_LEN);
    errno = -1;
    int failed =
        VM_CallArgv(ctx, argv + 3, argc - 3, (int)flags, callTextIs(argv[1], "none") ? NULL : &h, &told);
    const char *why = errorName(errno);
    ValkeyModule_ReplyWithLongLong(ctx, failed);
    ValkeyModule_ReplyWithCString(ctx, why);
    ValkeyModule_ReplySetArrayLength(ctx, told.count + 2);
    told.ctx = NULL;
    return VALKEYMODULE_OK;
}

COMMAND(callArgvAbort) {
    (void)argv, (void)argc;
    int failed = blocked_call ? VM_CallArgvAbort(blocked_call) : -1;
    blocked_call = NULL;
    return ValkeyModule_ReplyWithLongLong(ctx, failed);
}

/* call.replyraw BYTES */
COMMAND(callReplyRaw) {
    WANT(2);
    size_t len;
    const char *bytes = ValkeyModule_StringPtrLen(argv[1], &len);
    return VM_ReplyRaw(ctx, bytes, len);
}

/* Replies with one element of each type, so that Call has all of them to look at. */
COMMAND(callTypes) {
    (void)argv, (void)argc;
    ValkeyModule_ReplyWithArray(ctx, 13);
    ValkeyModule_ReplyWithLongLong(ctx, -7);
    ValkeyModule_ReplyWithSimpleString(ctx, "simple");
    ValkeyModule_ReplyWithCString(ctx, "bulk");
    ValkeyModule_ReplyWithNull(ctx);
    ValkeyModule_ReplyWithNullArray(ctx);
    ValkeyModule_ReplyWithDouble(ctx, 1.25);
    ValkeyModule_ReplyWithBool(ctx, 1);
    ValkeyModule_ReplyWithBigNumber(ctx, "123456789012345678901234567890", 30);
    ValkeyModule_ReplyWithVerbatimString(ctx, "verbatim", 8);
    ValkeyModule_ReplyWithMap(ctx, 1);
    ValkeyModule_ReplyWithCString(ctx, "key");
    ValkeyModule_ReplyWithLongLong(ctx, 1);
    ValkeyModule_ReplyWithSet(ctx, 1);
    ValkeyModule_ReplyWithCString(ctx, "member");
    ValkeyModule_ReplyWithEmptyArray(ctx);
    return ValkeyModule_ReplyWithError(ctx, "ERR inner");
}

COMMAND(callNoop) {
    (void)argv, (void)argc;
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

int ValkeyModule_OnUnload(ValkeyModuleCtx *ctx) {
    (void)ctx;
    for (size_t i = 0; i < PROMISES; i++) freeReply(promises[i].promise);
    return VALKEYMODULE_OK;
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    (void)argv, (void)argc;
    static const struct {
        const char *name;
        ValkeyModuleCmdFunc function;
        const char *flags;
    } commands[] = {{"call.do", callDo, "write"},
                    {"call.read", callDo, "readonly"},
                    {"call.stale", callDo, "readonly allow-stale"},
                    {"call.tree", callTree, "write"},
                    {"call.pass", callPass, "write"},
                    {"call.pass_element", callPassElement, "write"},
                    {"call.arguments", callArguments, "write"},
                    {"call.raw", callRaw, "write"},
                    {"call.string", callString, "write"},
                    {"call.wrong", callWrong, "write"},
                    {"call.db", callDb, "write"},
                    {"call.loop", callLoop, "write"},
                    {"call.steps", callSteps, "write"},
                    {"call.inner", callInner, "write"},
                    {"call.promise", callPromise, "write"},
                    {"call.abort", callAbort, "write"},
                    {"call.argv", callArgv, "write"},
                    {"call.argvabort", callArgvAbort, "write"},
                    {"call.replyraw", callReplyRaw, "readonly"},
                    {"call.types", callTypes, "readonly"},
                    {"call.noop", callNoop, "readonly fast"},
                    {"call.noscript", callNoop, "deny-script"}};
    if (ValkeyModule_Init(ctx, "call", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (ValkeyModule_CreateCommand(ctx, commands[i].name, commands[i].function, commands[i].flags, 0, 0,
                                       0))
            return VALKEYMODULE_ERR;
    }
    return VALKEYMODULE_OK;
}
