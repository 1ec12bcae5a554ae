/* SPDX-License-Identifier: BSD-3-Clause */
/* values.c - keys and their values through the module interface; for tests/unit/modules/values.tcl.
 * Every command calls one function and replies [what it returned, errno, its output]. */
#include <errno.h>
#include <string.h>

#include "valkeymodule.h"

#define COMMAND(name) static int name(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc)
#define WANT(n)                                                                                              \
    if (argc < (n)) return ValkeyModule_WrongArity(ctx)

static const char *valuesText(ValkeyModuleString *s) {
    return ValkeyModule_StringPtrLen(s, NULL);
}
static long long valuesNumber(ValkeyModuleString *s) {
    long long n = 0;
    ValkeyModule_StringToLongLong(s, &n);
    return n;
}
static double valuesReal(ValkeyModuleString *s) {
    double d = 0;
    ValkeyModule_StringToDouble(s, &d);
    return d;
}

/* "r", "w", "rw", and letters for flags: t NOTOUCH, n NONOTIFY, s NOSTATS, x NOEXPIRE, e NOEFFECTS */
static ValkeyModuleKey *openKey(ValkeyModuleCtx *ctx, ValkeyModuleString *name, const char *how) {
    int mode = 0;
    for (; *how; how++) {
        if (*how == 'r') mode |= VALKEYMODULE_READ;
        if (*how == 'w') mode |= VALKEYMODULE_WRITE;
        if (*how == 't') mode |= VALKEYMODULE_OPEN_KEY_NOTOUCH;
        if (*how == 'n') mode |= VALKEYMODULE_OPEN_KEY_NONOTIFY;
        if (*how == 's') mode |= VALKEYMODULE_OPEN_KEY_NOSTATS;
        if (*how == 'x') mode |= VALKEYMODULE_OPEN_KEY_NOEXPIRE;
        if (*how == 'e') mode |= VALKEYMODULE_OPEN_KEY_NOEFFECTS;
    }
    return ValkeyModule_OpenKey(ctx, name, mode);
}

static const char *errorName(int e) {
    return e == 0         ? "-"
           : e == EINVAL  ? "EINVAL"
           : e == ENOTSUP ? "ENOTSUP"
           : e == EBADF   ? "EBADF"
           : e == EDOM    ? "EDOM"
           : e == ENOENT  ? "ENOENT"
           : e == EFBIG   ? "EFBIG"
           : e == ERANGE  ? "ERANGE"
                          : "other";
}

static int valuesReplyResult(ValkeyModuleCtx *ctx, long long result) {
    const char *why = errorName(errno);
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithLongLong(ctx, result);
    return ValkeyModule_ReplyWithCString(ctx, why);
}
static int cameString(ValkeyModuleCtx *ctx, ValkeyModuleString *s) {
    const char *why = errorName(errno);
    ValkeyModule_ReplyWithArray(ctx, 2);
    if (s)
        ValkeyModule_ReplyWithString(ctx, s);
    else
        ValkeyModule_ReplyWithNull(ctx);
    return ValkeyModule_ReplyWithCString(ctx, why);
}

/* ---- Keys ---- */

/* values.key HOW KEY: [open, type, length, ttl is there, name, db] */
COMMAND(keyInfo) {
    WANT(3);
    ValkeyModuleKey *key = openKey(ctx, argv[2], valuesText(argv[1]));
    ValkeyModule_ReplyWithArray(ctx, 6);
    ValkeyModule_ReplyWithLongLong(ctx, key != NULL);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_KeyType(key));
    ValkeyModule_ReplyWithLongLong(ctx, (long long)ValkeyModule_ValueLength(key));
    mstime_t left = key ? ValkeyModule_GetExpire(key) : -2, when = key ? ValkeyModule_GetAbsExpire(key) : -2;
    ValkeyModule_ReplyWithLongLong(ctx, (left > 0) + 2 * (when > 0) - 4 * (left < 0));
    const ValkeyModuleString *name = ValkeyModule_GetKeyNameFromModuleKey(key);
    if (name)
        ValkeyModule_ReplyWithString(ctx, (ValkeyModuleString *)name);
    else
        ValkeyModule_ReplyWithNull(ctx);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_GetDbIdFromModuleKey(key));
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

/* values.do WHAT KEY [number] */
COMMAND(doIt) {
    WANT(3);
    const char *what = valuesText(argv[1]);
    long long n = argc > 3 ? valuesNumber(argv[3]) : 0, got = -7;
    mstime_t idle = -7;
    if (!strcmp(what, "exists"))
        return valuesReplyResult(ctx, ValkeyModule_KeyExists(ctx, argv[2]) + (errno = 0));
    if (!strcmp(what, "signal"))
        return valuesReplyResult(ctx, ValkeyModule_SignalModifiedKey(ctx, argv[2]) + (errno = 0));
    ValkeyModuleKey *key = openKey(ctx, argv[2], what[0] == '-' ? "r" : "w");
    if (!key) return ValkeyModule_ReplyWithError(ctx, "ERR no key");
    if (what[0] == '-') what++;
    errno = 0;
    if (!strcmp(what, "delete"))
        valuesReplyResult(ctx, ValkeyModule_DeleteKey(key));
    else if (!strcmp(what, "unlink"))
        valuesReplyResult(ctx, ValkeyModule_UnlinkKey(key));
    else if (!strcmp(what, "expire"))
        valuesReplyResult(ctx, ValkeyModule_SetExpire(key, n));
    else if (!strcmp(what, "expireat"))
        valuesReplyResult(ctx, ValkeyModule_SetAbsExpire(key, n));
    else if (!strcmp(what, "ttl"))
        valuesReplyResult(ctx, ValkeyModule_GetExpire(key));
    else if (!strcmp(what, "truncate"))
        valuesReplyResult(ctx, ValkeyModule_StringTruncate(key, (size_t)n));
    else if (!strcmp(what, "setlru"))
        valuesReplyResult(ctx, ValkeyModule_SetLRU(key, n));
    else if (!strcmp(what, "setlfu"))
        valuesReplyResult(ctx, ValkeyModule_SetLFU(key, n));
    else if (!strcmp(what, "getlru")) {
        int e = ValkeyModule_GetLRU(key, &idle);
        valuesReplyResult(ctx, e ? -100 : idle);
    } else if (!strcmp(what, "getlfu")) {
        int e = ValkeyModule_GetLFU(key, &got);
        valuesReplyResult(ctx, e ? -100 : got);
    } else {
        ValkeyModule_ReplyWithError(ctx, "ERR what?");
    }
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

COMMAND(databases) {
    WANT(2);
    int was = ValkeyModule_GetSelectedDb(ctx);
    int selected = ValkeyModule_SelectDb(ctx, (int)valuesNumber(argv[1]));
    ValkeyModuleString *any = ValkeyModule_RandomKey(ctx);
    ValkeyModule_ReplyWithArray(ctx, 4);
    ValkeyModule_ReplyWithLongLong(ctx, was);
    ValkeyModule_ReplyWithLongLong(ctx, selected);
    ValkeyModule_ReplyWithLongLong(ctx, (long long)ValkeyModule_DbSize(ctx));
    if (any)
        ValkeyModule_ReplyWithString(ctx, any), ValkeyModule_FreeString(ctx, any);
    else
        ValkeyModule_ReplyWithNull(ctx);
    return VALKEYMODULE_OK;
}

/* ---- Strings ---- */

COMMAND(stringSet) {
    WANT(4);
    ValkeyModuleKey *key = openKey(ctx, argv[2], valuesText(argv[1]));
    errno = 0;
    if (!key) return ValkeyModule_ReplyWithError(ctx, "ERR no key");
    valuesReplyResult(ctx, ValkeyModule_StringSet(key, argv[3]));
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

/* values.dma HOW KEY [offset bytes] */
COMMAND(dma) {
    WANT(3);
    size_t len, n;
    int writes = strchr(valuesText(argv[1]), 'w') != NULL;
    ValkeyModuleKey *key = openKey(ctx, argv[2], valuesText(argv[1]));
    if (!key) return ValkeyModule_ReplyWithError(ctx, "ERR no key");
    char *p = ValkeyModule_StringDMA(key, &len, writes ? VALKEYMODULE_WRITE : VALKEYMODULE_READ);
    if (!p) {
        ValkeyModule_ReplyWithNull(ctx);
    } else {
        if (argc > 4) {
            const char *bytes = ValkeyModule_StringPtrLen(argv[4], &n);
            memcpy(p + valuesNumber(argv[3]), bytes, n);
        }
        ValkeyModule_ReplyWithStringBuffer(ctx, p, len);
    }
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

/* ---- Lists: values.list HOW KEY WHAT [index] [value] ---- */

COMMAND(list) {
    WANT(4);
    const char *what = valuesText(argv[3]);
    long index = argc > 4 ? (long)valuesNumber(argv[4]) : 0;
    ValkeyModuleString *value = argc > 5 ? argv[5] : NULL;
    ValkeyModuleKey *key = openKey(ctx, argv[2], valuesText(argv[1]));
    if (!key) return ValkeyModule_ReplyWithError(ctx, "ERR no key");
    errno = 0;
    if (!strcmp(what, "lpush"))
        valuesReplyResult(ctx, ValkeyModule_ListPush(key, VALKEYMODULE_LIST_HEAD, value));
    else if (!strcmp(what, "rpush"))
        valuesReplyResult(ctx, ValkeyModule_ListPush(key, VALKEYMODULE_LIST_TAIL, value));
    else if (!strcmp(what, "set"))
        valuesReplyResult(ctx, ValkeyModule_ListSet(key, index, value));
    else if (!strcmp(what, "insert"))
        valuesReplyResult(ctx, ValkeyModule_ListInsert(key, index, value));
    else if (!strcmp(what, "delete"))
        valuesReplyResult(ctx, ValkeyModule_ListDelete(key, index));
    else {
        ValkeyModuleString *s = !strcmp(what, "lpop")   ? ValkeyModule_ListPop(key, VALKEYMODULE_LIST_HEAD)
                                : !strcmp(what, "rpop") ? ValkeyModule_ListPop(key, VALKEYMODULE_LIST_TAIL)
                                                        : ValkeyModule_ListGet(key, index);
        cameString(ctx, s);
        if (s) ValkeyModule_FreeString(ctx, s);
    }
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

/* values.listwalk KEY STEP: all of it by index, in steps, both ways */
COMMAND(listWalk) {
    WANT(3);
    ValkeyModule_AutoMemory(ctx);
    ValkeyModuleKey *key = openKey(ctx, argv[1], "rw");
    long len = (long)ValkeyModule_ValueLength(key), step = (long)valuesNumber(argv[2]), n = 0;
    ValkeyModule_ReplyWithArray(ctx, VALKEYMODULE_POSTPONED_LEN);
    for (long i = 0; i < len; i += step, n++) ValkeyModule_ReplyWithString(ctx, ValkeyModule_ListGet(key, i));
    for (long i = -1; i >= -len; i -= step, n++)
        ValkeyModule_ReplyWithString(ctx, ValkeyModule_ListGet(key, i));
    ValkeyModule_ReplySetArrayLength(ctx, n);
    return VALKEYMODULE_OK;
}

/* ---- Sorted sets: values.zset HOW KEY WHAT ... ---- */

static int zsetFlags(const char *s) {
    return (strstr(s, "nx") ? VALKEYMODULE_ZADD_NX : 0) | (strstr(s, "xx") ? VALKEYMODULE_ZADD_XX : 0) |
           (strstr(s, "gt") ? VALKEYMODULE_ZADD_GT : 0) | (strstr(s, "lt") ? VALKEYMODULE_ZADD_LT : 0);
}

COMMAND(zset) {
    WANT(5);
    const char *what = valuesText(argv[3]);
    ValkeyModuleKey *key = openKey(ctx, argv[2], valuesText(argv[1]));
    int flags = argc > 6 ? zsetFlags(valuesText(argv[6])) : 0, result, gone = -7;
    if (!key) return ValkeyModule_ReplyWithError(ctx, "ERR no key");
    double score = 0;
    if (!strcmp(what, "add") || !strcmp(what, "incr")) {
        double by = argc > 5 ? valuesReal(argv[5]) : 0;
        if (argc > 5 && !strcmp(valuesText(argv[5]), "nan")) by = __builtin_nan("");
        result = what[0] == 'a' ? ValkeyModule_ZsetAdd(key, by, argv[4], &flags)
                                : ValkeyModule_ZsetIncrby(key, by, argv[4], &flags, &score);
        ValkeyModule_ReplyWithArray(ctx, 3);
        ValkeyModule_ReplyWithLongLong(ctx, result);
        ValkeyModule_ReplyWithLongLong(ctx, flags);
        ValkeyModule_ReplyWithDouble(ctx, score);
    } else if (!strcmp(what, "rem")) {
        result = ValkeyModule_ZsetRem(key, argv[4], &gone);
        ValkeyModule_ReplyWithArray(ctx, 2);
        ValkeyModule_ReplyWithLongLong(ctx, result);
        ValkeyModule_ReplyWithLongLong(ctx, result ? 0 : gone);
    } else {
        result = ValkeyModule_ZsetScore(key, argv[4], &score);
        ValkeyModule_ReplyWithArray(ctx, 2);
        ValkeyModule_ReplyWithLongLong(ctx, result);
        ValkeyModule_ReplyWithDouble(ctx, score);
    }
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

/* values.zrange KEY score|lex first|last MIN MAX minex maxex: from there on, to its end */
COMMAND(zrange) {
    WANT(8);
    ValkeyModule_AutoMemory(ctx);
    ValkeyModuleKey *key = openKey(ctx, argv[1], "r");
    if (!key) return ValkeyModule_ReplyWithError(ctx, "ERR no key");
    int last = !strcmp(valuesText(argv[3]), "last"), minex = (int)valuesNumber(argv[6]),
        maxex = (int)valuesNumber(argv[7]);
    int result;
    if (!strcmp(valuesText(argv[2]), "score"))
        result = last ? ValkeyModule_ZsetLastInScoreRange(key, valuesReal(argv[4]), valuesReal(argv[5]),
                                                          minex, maxex)
                      : ValkeyModule_ZsetFirstInScoreRange(key, valuesReal(argv[4]), valuesReal(argv[5]),
                                                           minex, maxex);
    else
        result = last ? ValkeyModule_ZsetLastInLexRange(key, argv[4], argv[5])
                      : ValkeyModule_ZsetFirstInLexRange(key, argv[4], argv[5]);
    if (result != VALKEYMODULE_OK) return ValkeyModule_ReplyWithError(ctx, "ERR no range");
    long n = 0;
    ValkeyModule_ReplyWithArray(ctx, VALKEYMODULE_POSTPONED_LEN);
    while (!ValkeyModule_ZsetRangeEndReached(key)) {
        double score;
        ValkeyModuleString *e = ValkeyModule_ZsetRangeCurrentElement(key, &score);
        ValkeyModule_ReplyWithString(ctx, e);
        ValkeyModule_ReplyWithDouble(ctx, score);
        n += 2;
        if (last)
            ValkeyModule_ZsetRangePrev(key);
        else
            ValkeyModule_ZsetRangeNext(key);
    }
    ValkeyModule_ZsetRangeStop(key);
    ValkeyModule_ReplySetArrayLength(ctx, n);
    return VALKEYMODULE_OK;
}

/* ---- Hashes: values.hash HOW KEY WHAT flags [field value [field value]]; "-" deletes ---- */

COMMAND(hashSet) {
    WANT(6);
    const char *letters = valuesText(argv[3]);
    int flags = (strchr(letters, 'n') ? VALKEYMODULE_HASH_NX : 0) |
                (strchr(letters, 'x') ? VALKEYMODULE_HASH_XX : 0) |
                (strchr(letters, 'c') ? VALKEYMODULE_HASH_CFIELDS : 0) |
                (strchr(letters, 'a') ? VALKEYMODULE_HASH_COUNT_ALL : 0) |
                (strchr(letters, '?') ? 1 << 12 : 0);
    ValkeyModuleKey *key = openKey(ctx, argv[2], valuesText(argv[1]));
    ValkeyModuleString *value[2];
    void *field[2] = {argv[4], argc > 6 ? argv[6] : NULL};
    value[0] = strcmp(valuesText(argv[5]), "-") ? argv[5] : VALKEYMODULE_HASH_DELETE;
    value[1] = argc > 7 ? strcmp(valuesText(argv[7]), "-") ? argv[7] : VALKEYMODULE_HASH_DELETE : NULL;
    if (flags & VALKEYMODULE_HASH_CFIELDS) {
        field[0] = (void *)valuesText(argv[4]);
        if (field[1]) field[1] = (void *)valuesText(argv[6]);
    }
    errno = 0;
    if (field[1])
        valuesReplyResult(ctx,
                          ValkeyModule_HashSet(key, flags, field[0], value[0], field[1], value[1], NULL));
    else
        valuesReplyResult(ctx, ValkeyModule_HashSet(key, flags, field[0], value[0], NULL));
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

COMMAND(hashGet) {
    WANT(4);
    ValkeyModuleKey *key = openKey(ctx, argv[1], "r");
    ValkeyModuleString *a = NULL, *b = NULL;
    if (!key) return ValkeyModule_ReplyWithError(ctx, "ERR no key");
    int exists = -7;
    int result = ValkeyModule_HashGet(key, VALKEYMODULE_HASH_NONE, argv[2], &a, argv[3], &b, NULL);
    ValkeyModule_HashGet(key, VALKEYMODULE_HASH_EXISTS | VALKEYMODULE_HASH_CFIELDS, valuesText(argv[2]),
                         &exists, NULL);
    ValkeyModule_ReplyWithArray(ctx, 4);
    ValkeyModule_ReplyWithLongLong(ctx, result);
    if (a)
        ValkeyModule_ReplyWithString(ctx, a), ValkeyModule_FreeString(ctx, a);
    else
        ValkeyModule_ReplyWithNull(ctx);
    if (b)
        ValkeyModule_ReplyWithString(ctx, b), ValkeyModule_FreeString(ctx, b);
    else
        ValkeyModule_ReplyWithNull(ctx);
    ValkeyModule_ReplyWithLongLong(ctx, exists);
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

/* ---- Streams ---- */

/* values.xadd HOW KEY ID|* [field value ...] */
COMMAND(streamAdd) {
    WANT(4);
    ValkeyModuleKey *key = openKey(ctx, argv[2], valuesText(argv[1]));
    ValkeyModuleStreamID id = {0};
    int automatic = !strcmp(valuesText(argv[3]), "*");
    if (!automatic) ValkeyModule_StringToStreamID(argv[3], &id);
    errno = 0;
    int result = ValkeyModule_StreamAdd(key, automatic ? VALKEYMODULE_STREAM_ADD_AUTOID : 0, &id, argv + 4,
                                        (argc - 4) / 2);
    const char *why = errorName(errno);
    ValkeyModule_ReplyWithArray(ctx, 3);
    ValkeyModule_ReplyWithLongLong(ctx, result);
    ValkeyModule_ReplyWithCString(ctx, why);
    if (automatic)
        ValkeyModule_ReplyWithLongLong(ctx, id.ms > 0);
    else {
        ValkeyModuleString *s = ValkeyModule_CreateStringFromStreamID(ctx, &id);
        ValkeyModule_ReplyWithString(ctx, s);
        ValkeyModule_FreeString(ctx, s);
    }
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

/* values.xdo KEY del|maxlen|~maxlen|minid ARG */
COMMAND(streamDo) {
    WANT(4);
    const char *what = valuesText(argv[2]);
    ValkeyModuleKey *key = openKey(ctx, argv[1], "w");
    ValkeyModuleStreamID id = {0};
    ValkeyModule_StringToStreamID(argv[3], &id);
    errno = 0;
    if (!strcmp(what, "del"))
        valuesReplyResult(ctx, ValkeyModule_StreamDelete(key, &id));
    else if (!strcmp(what, "maxlen"))
        valuesReplyResult(ctx, ValkeyModule_StreamTrimByLength(key, 0, valuesNumber(argv[3])));
    else if (!strcmp(what, "~maxlen"))
        valuesReplyResult(ctx, ValkeyModule_StreamTrimByLength(key, VALKEYMODULE_STREAM_TRIM_APPROX,
                                                               valuesNumber(argv[3])));
    else
        valuesReplyResult(ctx, ValkeyModule_StreamTrimByID(key, 0, &id));
    ValkeyModule_CloseKey(key);
    return VALKEYMODULE_OK;
}

/* values.xwalk KEY flags START|. END|. : flags e exclusive, r reverse, d delete each second one */
COMMAND(streamWalk) {
    WANT(5);
    ValkeyModule_AutoMemory(ctx);
    const char *letters = valuesText(argv[2]);
    ValkeyModuleKey *key = openKey(ctx, argv[1], "rw");
    ValkeyModuleStreamID start, end, id;
    int has_start = strcmp(valuesText(argv[3]), ".") != 0, has_end = strcmp(valuesText(argv[4]), ".") != 0;
    if (has_start) ValkeyModule_StringToStreamID(argv[3], &start);
    if (has_end) ValkeyModule_StringToStreamID(argv[4], &end);
    int flags = (strchr(letters, 'e') ? VALKEYMODULE_STREAM_ITERATOR_EXCLUSIVE : 0) |
                (strchr(letters, 'r') ? VALKEYMODULE_STREAM_ITERATOR_REVERSE : 0);
    errno = 0;
    if (ValkeyModule_StreamIteratorStart(key, flags, has_start ? &start : NULL, has_end ? &end : NULL))
        return valuesReplyResult(ctx, 1);
    long n = 0, fields;
    ValkeyModule_ReplyWithArray(ctx, VALKEYMODULE_POSTPONED_LEN);
    for (int i = 0; ValkeyModule_StreamIteratorNextID(key, &id, &fields) == VALKEYMODULE_OK; i++) {
        ValkeyModule_ReplyWithString(ctx, ValkeyModule_CreateStringFromStreamID(ctx, &id));
        n++;
        ValkeyModuleString *f, *v;
        while (ValkeyModule_StreamIteratorNextField(key, &f, &v) == VALKEYMODULE_OK) {
            ValkeyModule_ReplyWithString(ctx, f);
            ValkeyModule_ReplyWithString(ctx, v);
            n += 2;
        }
        if (strchr(letters, 'd') && i % 2) ValkeyModule_StreamIteratorDelete(key);
    }
    ValkeyModule_ReplyWithCString(ctx, errorName(errno));
    ValkeyModule_StreamIteratorStop(key);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_StreamIteratorStop(key));
    ValkeyModule_ReplyWithCString(ctx, errorName(errno));
    ValkeyModule_ReplySetArrayLength(ctx, n + 3);
    return VALKEYMODULE_OK;
}

/* ---- Scans ---- */

struct scan {
    ValkeyModuleCtx *ctx;
    long n;
};
static void sawKey(ValkeyModuleCtx *ctx, ValkeyModuleString *name, ValkeyModuleKey *key, void *priv) {
    struct scan *s = priv;
    ValkeyModule_ReplyWithString(ctx, name);
    ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_KeyType(key));
    s->n += 2;
}
COMMAND(scan) {
    (void)argv, (void)argc;
    struct scan s = {ctx, 0};
    ValkeyModuleScanCursor *cursor = ValkeyModule_ScanCursorCreate();
    ValkeyModule_ReplyWithArray(ctx, VALKEYMODULE_POSTPONED_LEN);
    while (ValkeyModule_Scan(ctx, cursor, sawKey, &s)) {
    }
    errno = 0;
    int again = ValkeyModule_Scan(ctx, cursor, sawKey, &s);
    ValkeyModule_ReplyWithLongLong(ctx, again * 10 + (errno == ENOENT));
    ValkeyModule_ScanCursorRestart(cursor);
    ValkeyModule_ScanCursorDestroy(cursor);
    ValkeyModule_ReplySetArrayLength(ctx, s.n + 1);
    return VALKEYMODULE_OK;
}

static void sawElement(ValkeyModuleKey *key, ValkeyModuleString *field, ValkeyModuleString *value,
                       void *priv) {
    struct scan *s = priv;
    (void)key;
    ValkeyModule_ReplyWithString(s->ctx, field);
    if (value)
        ValkeyModule_ReplyWithString(s->ctx, value);
    else
        ValkeyModule_ReplyWithNull(s->ctx);
    s->n += 2;
}
COMMAND(scanKey) {
    WANT(2);
    struct scan s = {ctx, 0};
    ValkeyModuleKey *key = openKey(ctx, argv[1], "r");
    ValkeyModuleScanCursor *cursor = ValkeyModule_ScanCursorCreate();
    ValkeyModule_ReplyWithArray(ctx, VALKEYMODULE_POSTPONED_LEN);
    errno = 0;
    while (key && ValkeyModule_ScanKey(key, cursor, sawElement, &s)) {
    }
    ValkeyModule_ReplyWithCString(ctx, errorName(errno));
    ValkeyModule_ScanCursorDestroy(cursor);
    ValkeyModule_CloseKey(key);
    ValkeyModule_ReplySetArrayLength(ctx, s.n + 1);
    return VALKEYMODULE_OK;
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    static const struct {
        const char *name;
        ValkeyModuleCmdFunc fn;
    } commands[] = {
        {"values.key", keyInfo},       {"values.do", doIt},          {"values.db", databases},
        {"values.set", stringSet},     {"values.dma", dma},          {"values.list", list},
        {"values.listwalk", listWalk}, {"values.zset", zset},        {"values.zrange", zrange},
        {"values.hset", hashSet},      {"values.hget", hashGet},     {"values.xadd", streamAdd},
        {"values.xdo", streamDo},      {"values.xwalk", streamWalk}, {"values.scan", scan},
        {"values.scankey", scanKey},
    };
    (void)argv, (void)argc;
    if (ValkeyModule_Init(ctx, "values", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (ValkeyModule_CreateCommand(ctx, commands[i].name, commands[i].fn, "write deny-oom", 0, 0, 0))
            return VALKEYMODULE_ERR;
    }
    return VALKEYMODULE_OK;
}
