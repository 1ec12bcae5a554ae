/* SPDX-License-Identifier: BSD-3-Clause */
/* strings.c - strings, memory, dictionaries and replies of the module interface; for
 * tests/unit/modules/strings.tcl. Each command replies its findings, so that two servers can be
 * compared. */
#include <string.h>

#include "valkeymodule.h"

#define COMMAND(name) static int name(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc)

/* ---- Strings ---- */

static int replyAndFree(ValkeyModuleCtx *ctx, ValkeyModuleString *s) {
    ValkeyModule_ReplyWithString(ctx, s);
    ValkeyModule_FreeString(ctx, s);
    return VALKEYMODULE_OK;
}

/* strings.make KIND VALUE */
COMMAND(make) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    const char *kind = ValkeyModule_StringPtrLen(argv[1], NULL);
    long long ll = 0;
    unsigned long long ull = 0;
    double d = 0;
    long double ld = 0;
    ValkeyModuleStreamID id = {0};
    if (!strcmp(kind, "longlong") && !ValkeyModule_StringToLongLong(argv[2], &ll))
        return replyAndFree(ctx, ValkeyModule_CreateStringFromLongLong(ctx, ll));
    if (!strcmp(kind, "ulonglong") && !ValkeyModule_StringToULongLong(argv[2], &ull))
        return replyAndFree(ctx, ValkeyModule_CreateStringFromULongLong(ctx, ull));
    if (!strcmp(kind, "double") && !ValkeyModule_StringToDouble(argv[2], &d))
        return replyAndFree(ctx, ValkeyModule_CreateStringFromDouble(ctx, d));
    if (!strcmp(kind, "longdouble") && !ValkeyModule_StringToLongDouble(argv[2], &ld))
        return replyAndFree(ctx, ValkeyModule_CreateStringFromLongDouble(ctx, ld, 0));
    if (!strcmp(kind, "human") && !ValkeyModule_StringToLongDouble(argv[2], &ld))
        return replyAndFree(ctx, ValkeyModule_CreateStringFromLongDouble(ctx, ld, 1));
    if (!strcmp(kind, "streamid") && !ValkeyModule_StringToStreamID(argv[2], &id))
        return replyAndFree(ctx, ValkeyModule_CreateStringFromStreamID(ctx, &id));
    if (!strcmp(kind, "copy")) return replyAndFree(ctx, ValkeyModule_CreateStringFromString(ctx, argv[2]));
    if (!strcmp(kind, "printf"))
        return replyAndFree(ctx, ValkeyModule_CreateStringPrintf(
                                     ctx, "<%s|%d>", ValkeyModule_StringPtrLen(argv[2], NULL), argc));
    return ValkeyModule_ReplyWithError(ctx, "ERR not that");
}

/* strings.append TEXT PIECE ... */
COMMAND(append) {
    ValkeyModuleString *s = ValkeyModule_CreateString(ctx, "", 0);
    for (int i = 1; i < argc; i++) {
        size_t len;
        const char *piece = ValkeyModule_StringPtrLen(argv[i], &len);
        ValkeyModule_StringAppendBuffer(ctx, s, piece, len);
    }
    ValkeyModule_RetainString(NULL, s);
    int refused = ValkeyModule_StringAppendBuffer(ctx, s, "!", 1);
    ValkeyModule_FreeString(NULL, s);
    ValkeyModule_TrimStringAllocation(s);
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithString(ctx, s);
    ValkeyModule_ReplyWithLongLong(ctx, refused);
    ValkeyModule_FreeString(ctx, s);
    return VALKEYMODULE_OK;
}

COMMAND(compare) {
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_StringCompare(argv[1], argv[2]));
}

COMMAND(nothing) {
    (void)argv, (void)argc;
    size_t len;
    const char *text = ValkeyModule_StringPtrLen(NULL, &len);
    return ValkeyModule_ReplyWithStringBuffer(ctx, text, len);
}

/* Strings that outlive the command. */
static ValkeyModuleString *kept;
COMMAND(keep) {
    if (argc == 2) {
        if (kept) ValkeyModule_FreeString(NULL, kept);
        ValkeyModule_RetainString(ctx, argv[1]);
        kept = argv[1];
    }
    return kept ? ValkeyModule_ReplyWithString(ctx, kept) : ValkeyModule_ReplyWithNull(ctx);
}
COMMAND(hold) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    if (kept) ValkeyModule_FreeString(NULL, kept);
    kept = ValkeyModule_HoldString(NULL, argv[1]);
    return ValkeyModule_ReplyWithString(ctx, kept);
}
/* With AutoMemory, retained strings stay, and what is freed by hand is not freed twice. */
COMMAND(automatic) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    ValkeyModule_AutoMemory(ctx);
    for (int i = 0; i < 100; i++) {
        ValkeyModuleString *s = ValkeyModule_CreateStringFromLongLong(ctx, i);
        if (i % 3 == 0) ValkeyModule_FreeString(ctx, s);
    }
    ValkeyModuleString *s = ValkeyModule_CreateStringFromString(ctx, argv[1]);
    ValkeyModule_RetainString(ctx, s);
    if (kept) ValkeyModule_FreeString(NULL, kept);
    kept = s;
    ValkeyModule_HoldString(ctx, argv[1]);
    return ValkeyModule_ReplyWithString(ctx, kept);
}

/* ---- Memory ---- */

COMMAND(memory) {
    (void)argv, (void)argc;
    size_t bad = 0;
    for (size_t n = 1; n < 5000; n = n * 3 / 2 + 1) {
        char *p = ValkeyModule_Alloc(n), *q = ValkeyModule_Calloc(n, 3), *t = ValkeyModule_TryAlloc(n);
        char *u = ValkeyModule_TryCalloc(2, n);
        memset(p, 'x', n);
        for (size_t i = 0; i < 3 * n; i++) bad += q[i] != 0;
        for (size_t i = 0; i < 2 * n; i++) bad += u[i] != 0;
        p = ValkeyModule_Realloc(p, 2 * n);
        t = ValkeyModule_TryRealloc(t, 3 * n);
        bad += p[n - 1] != 'x' || !t;
        bad += ValkeyModule_MallocSize(p) < 2 * n || ValkeyModule_MallocUsableSize(p) < 2 * n;
        if (n >= 16) bad += (uintptr_t)p % 16 != 0 || (uintptr_t)q % 16 != 0;
        ValkeyModule_Free(p), ValkeyModule_Free(q), ValkeyModule_Free(t), ValkeyModule_Free(u);
        char *a = ValkeyModule_PoolAlloc(ctx, n), *b = ValkeyModule_PoolAlloc(ctx, n);
        memset(a, 1, n), memset(b, 2, n);
        bad += a[n - 1] != 1 || (n >= 8 && (uintptr_t)b % 8 != 0);
    }
    ValkeyModule_Free(NULL);
    char *s = ValkeyModule_Strdup("text");
    bad += strcmp(s, "text") != 0;
    ValkeyModule_Free(s);
    bad += ValkeyModule_PoolAlloc(ctx, 0) != NULL;
    bad += ValkeyModule_TryAlloc((size_t)1 << 60) != NULL;
    ValkeyModuleString *string = ValkeyModule_CreateString(ctx, "abc", 3);
    bad += ValkeyModule_MallocSizeString(string) < 3;
    ValkeyModule_FreeString(ctx, string);
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithLongLong(ctx, (long long)bad);
    return ValkeyModule_ReplyWithDouble(ctx, ValkeyModule_GetUsedMemoryRatio() > 0);
}

/* ---- Dictionaries ---- */

static ValkeyModuleDict *dict;

/* strings.dict set|replace|get|del|size|clear ... */
COMMAND(dictionary) {
    if (argc < 2) return ValkeyModule_WrongArity(ctx);
    const char *what = ValkeyModule_StringPtrLen(argv[1], NULL);
    long long value = 0;
    if (argc > 3) ValkeyModule_StringToLongLong(argv[3], &value);
    if (!dict) dict = ValkeyModule_CreateDict(NULL);
    if (!strcmp(what, "set"))
        return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_DictSet(dict, argv[2], (void *)value));
    if (!strcmp(what, "replace"))
        return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_DictReplace(dict, argv[2], (void *)value));
    size_t len = 0;
    char *key = argc > 2 ? (char *)ValkeyModule_StringPtrLen(argv[2], &len) : NULL;
    if (!strcmp(what, "setc"))
        return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_DictSetC(dict, key, len, (void *)value));
    if (!strcmp(what, "replacec"))
        return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_DictReplaceC(dict, key, len, (void *)value));
    int missing = 7;
    void *found = NULL;
    if (!strcmp(what, "get") || !strcmp(what, "getc")) {
        found = what[3] ? ValkeyModule_DictGetC(dict, key, len, &missing)
                        : ValkeyModule_DictGet(dict, argv[2], &missing);
        ValkeyModule_ReplyWithArray(ctx, 2);
        ValkeyModule_ReplyWithLongLong(ctx, (long long)found);
        return ValkeyModule_ReplyWithLongLong(ctx, missing);
    }
    if (!strcmp(what, "del") || !strcmp(what, "delc")) {
        int gone = what[3] ? ValkeyModule_DictDelC(dict, key, len, &found)
                           : ValkeyModule_DictDel(dict, argv[2], &found);
        ValkeyModule_ReplyWithArray(ctx, 2);
        ValkeyModule_ReplyWithLongLong(ctx, gone);
        return ValkeyModule_ReplyWithLongLong(ctx, (long long)found);
    }
    if (!strcmp(what, "clear")) {
        ValkeyModule_FreeDict(NULL, dict);
        dict = NULL;
        return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
    }
    ValkeyModule_ReplyWithArray(ctx, 2);
    ValkeyModule_ReplyWithLongLong(ctx, (long long)ValkeyModule_DictSize(dict));
    return ValkeyModule_ReplyWithLongLong(ctx, ValkeyModule_MallocSizeDict(dict) > 0);
}

/* strings.walk OP KEY next|prev [c|s] [stop-op stop-key]: keys and values from there on */
COMMAND(walk) {
    if (argc < 5 || !dict) return ValkeyModule_WrongArity(ctx);
    const char *op = ValkeyModule_StringPtrLen(argv[1], NULL);
    int back = ValkeyModule_StringPtrLen(argv[3], NULL)[0] == 'p';
    int bytes = ValkeyModule_StringPtrLen(argv[4], NULL)[0] == 'c';
    size_t len;
    char *key = (char *)ValkeyModule_StringPtrLen(argv[2], &len);
    ValkeyModuleDictIter *it = bytes ? ValkeyModule_DictIteratorStartC(dict, "^", NULL, 0)
                                     : ValkeyModule_DictIteratorStart(dict, "^", argv[2]);
    int sought = bytes ? ValkeyModule_DictIteratorReseekC(it, op, key, len)
                       : ValkeyModule_DictIteratorReseek(it, op, argv[2]);
    long n = 1;
    ValkeyModule_ReplyWithArray(ctx, VALKEYMODULE_POSTPONED_LEN);
    ValkeyModule_ReplyWithLongLong(ctx, sought);
    for (;;) {
        void *value = NULL;
        if (bytes) {
            char *k =
                back ? ValkeyModule_DictPrevC(it, &len, &value) : ValkeyModule_DictNextC(it, &len, &value);
            if (!k) break;
            ValkeyModule_ReplyWithStringBuffer(ctx, k, len);
        } else {
            ValkeyModuleString *k =
                back ? ValkeyModule_DictPrev(ctx, it, &value) : ValkeyModule_DictNext(ctx, it, &value);
            if (!k) break;
            ValkeyModule_ReplyWithString(ctx, k);
            ValkeyModule_FreeString(ctx, k);
        }
        ValkeyModule_ReplyWithLongLong(ctx, (long long)value);
        n += 2;
        if (argc < 7) continue;
        const char *until = ValkeyModule_StringPtrLen(argv[5], NULL);
        size_t stop_len;
        char *stop = (char *)ValkeyModule_StringPtrLen(argv[6], &stop_len);
        if (bytes ? ValkeyModule_DictCompareC(it, until, stop, stop_len) == VALKEYMODULE_OK
                  : ValkeyModule_DictCompare(it, until, argv[6]) == VALKEYMODULE_OK)
            break;
    }
    ValkeyModule_DictIteratorStop(it);
    ValkeyModule_ReplySetArrayLength(ctx, n);
    return VALKEYMODULE_OK;
}

/* ---- Replies ---- */

/* strings.reply KIND */
COMMAND(reply) {
    if (argc < 2) return ValkeyModule_WrongArity(ctx);
    const char *kind = ValkeyModule_StringPtrLen(argv[1], NULL);
#define CASE(name, call)                                                                                     \
    if (!strcmp(kind, name)) return call
    CASE("empty", ValkeyModule_ReplyWithEmptyString(ctx));
    CASE("cstring", ValkeyModule_ReplyWithCString(ctx, "c string"));
    CASE("verbatim", ValkeyModule_ReplyWithVerbatimString(ctx, "some\r\ntext", 10));
    CASE("verbatimtype", ValkeyModule_ReplyWithVerbatimStringType(ctx, "# head", 6, "md"));
    CASE("null", ValkeyModule_ReplyWithNull(ctx));
    CASE("nullarray", ValkeyModule_ReplyWithNullArray(ctx));
    CASE("emptyarray", ValkeyModule_ReplyWithEmptyArray(ctx));
    CASE("true", ValkeyModule_ReplyWithBool(ctx, 5));
    CASE("false", ValkeyModule_ReplyWithBool(ctx, 0));
    CASE("double", ValkeyModule_ReplyWithDouble(ctx, 3.25));
    CASE("inf", ValkeyModule_ReplyWithDouble(ctx, VALKEYMODULE_POSITIVE_INFINITE));
    CASE("-inf", ValkeyModule_ReplyWithDouble(ctx, VALKEYMODULE_NEGATIVE_INFINITE));
    CASE("nan", ValkeyModule_ReplyWithDouble(ctx, __builtin_nan("")));
    CASE("longdouble", ValkeyModule_ReplyWithLongDouble(ctx, 0.1L));
    CASE("bignumber", ValkeyModule_ReplyWithBigNumber(ctx, "123456789012345678901", 21));
    CASE("error", ValkeyModule_ReplyWithError(ctx, "MINE an\r\nerror"));
    CASE("dasherror", ValkeyModule_ReplyWithError(ctx, "-DASH\r\nx"));
    CASE("worderror", ValkeyModule_ReplyWithError(ctx, "WORD"));
    CASE("errorformat", ValkeyModule_ReplyWithErrorFormat(ctx, "MINE %d %s", 4, "words"));
    CASE("silenterror", ValkeyModule_ReplyWithCustomErrorFormat(ctx, 0, "SILENT %d", 1));
    CASE("customerror", ValkeyModule_ReplyWithCustomErrorFormat(ctx, 1, "CUSTOM %d", 1));
    CASE("nothing", VALKEYMODULE_OK);
    if (!strcmp(kind, "map") || !strcmp(kind, "latemap")) {
        ValkeyModule_ReplyWithMap(ctx, kind[0] == 'm' ? 2 : VALKEYMODULE_POSTPONED_LEN);
        for (int i = 0; i < 4; i++) ValkeyModule_ReplyWithLongLong(ctx, i);
        if (kind[0] == 'l') ValkeyModule_ReplySetMapLength(ctx, 2);
        return VALKEYMODULE_OK;
    }
    if (!strcmp(kind, "set") || !strcmp(kind, "lateset")) {
        ValkeyModule_ReplyWithSet(ctx, kind[0] == 's' ? 2 : VALKEYMODULE_POSTPONED_LEN);
        for (int i = 0; i < 2; i++) ValkeyModule_ReplyWithLongLong(ctx, i);
        if (kind[0] == 'l') ValkeyModule_ReplySetSetLength(ctx, 2);
        return VALKEYMODULE_OK;
    }
    if (!strcmp(kind, "attribute") || !strcmp(kind, "lateattribute")) {
        long len = kind[0] == 'a' ? 1 : VALKEYMODULE_POSTPONED_LEN;
        if (ValkeyModule_ReplyWithAttribute(ctx, len) != VALKEYMODULE_OK)
            return ValkeyModule_ReplyWithSimpleString(ctx, "no attributes here");
        ValkeyModule_ReplyWithSimpleString(ctx, "name");
        ValkeyModule_ReplyWithSimpleString(ctx, "value");
        if (kind[0] == 'l') ValkeyModule_ReplySetAttributeLength(ctx, 1);
        return ValkeyModule_ReplyWithSimpleString(ctx, "with an attribute");
    }
    if (!strcmp(kind, "nested")) {
        ValkeyModule_ReplyWithArray(ctx, VALKEYMODULE_POSTPONED_ARRAY_LEN);
        for (int i = 0; i < 3; i++) {
            ValkeyModule_ReplyWithArray(ctx, VALKEYMODULE_POSTPONED_LEN);
            for (int j = 0; j < 1000 * i; j++) ValkeyModule_ReplyWithCString(ctx, "0123456789abcdef");
            ValkeyModule_ReplySetArrayLength(ctx, 1000 * i);
        }
        ValkeyModule_ReplySetArrayLength(ctx, 3);
        return VALKEYMODULE_OK;
    }
    return ValkeyModule_ReplyWithError(ctx, "ERR no such kind");
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    static const struct {
        const char *name;
        ValkeyModuleCmdFunc fn;
    } commands[] = {
        {"strings.make", make},      {"strings.append", append}, {"strings.compare", compare},
        {"strings.null", nothing},   {"strings.keep", keep},     {"strings.hold", hold},
        {"strings.auto", automatic}, {"strings.memory", memory}, {"strings.dict", dictionary},
        {"strings.walk", walk},      {"strings.reply", reply},
    };
    (void)argv, (void)argc;
    if (ValkeyModule_Init(ctx, "strings", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (ValkeyModule_CreateCommand(ctx, commands[i].name, commands[i].fn, "readonly", 0, 0, 0))
            return VALKEYMODULE_ERR;
    }
    return VALKEYMODULE_OK;
}

int ValkeyModule_OnUnload(ValkeyModuleCtx *ctx) {
    if (kept) ValkeyModule_FreeString(ctx, kept);
    return VALKEYMODULE_OK;
}
