/* SPDX-License-Identifier: BSD-3-Clause */
/* quicklist_test.c - the quicklist against an array of strings under random operations, with every small
 * limit and with compression; its cursors, which delete and turn around; loading of damaged nodes.
 *
 * All of it happens while saves (quicklist_save.h) of the list begin, go on and end, early or not: each reads
 * exactly the elements that the list had at its beginning.
 *
 *   MODEL_OPS=n   number of operations (default 1,000,000)
 *   SEED=n        repeat a run; the seed is printed */
#include "ds/quicklist.h"

#include <limits.h>
#include <lzf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "ds/quicklist_private.h"
#include "ds/quicklist_save.h"

#define MODEL_MAX 400
#define CHECK_OPS 8   /* operations between checks of all invariants */
#define FRESH_OPS 600 /* operations between new lists with other limits */
#define TEXT_MAX  10000

static struct str model[MODEL_MAX];
static size_t model_len;
static struct quicklist *ql;
static char texts[4][TEXT_MAX]; /* compressible, not compressible, ... */

/* ---- The model ---- */

static void quicklistTestModelPut(size_t at, struct str s) {
    char *p = zmalloc(s.len + 1);
    if (s.len) memcpy(p, s.ptr, s.len);
    memmove(&model[at + 1], &model[at], (model_len - at) * sizeof model[0]);
    model[at] = strN(p, s.len);
    model_len++;
}

static void quicklistTestModelTake(size_t at, size_t count) {
    for (size_t i = at; i < at + count; i++) zfree((char *)model[i].ptr);
    memmove(&model[at], &model[at + count], (model_len - at - count) * sizeof model[0]);
    model_len -= count;
}

static struct str quicklistTestRandomText(char *buf) {
    uint64_t r = randomBelow(100);
    if (r < 30) return strN(buf, ll2string(buf, (int64_t)randomU64() >> randomBelow(64)));
    if (r < 32) return strN(buf, 0);
    size_t max = r < 80 ? 20 : r < 95 ? 200 : r < 99 ? 3000 : TEXT_MAX;
    size_t len = (size_t)randomBelow(max + 1);
    return strN(texts[randomBelow(4)] + randomBelow(TEXT_MAX - len + 1), len);
}

static struct str valueText(const struct lpValue *v, char *buf) {
    return v->sval ? strN(v->sval, v->slen) : strN(buf, ll2string(buf, v->lval));
}

static void assertOn(const struct qlCursor *cur, size_t at) {
    char buf[LP_INTBUF_SIZE];
    struct lpValue v;
    qlValue(cur, &v);
    assert_true(at < model_len && strEq(valueText(&v, buf), model[at]));
}

static void quicklistTestCompareAll(void) {
    struct qlCursor cur;
    size_t at = 0;
    qlCursorStart(&cur, ql, QL_HEAD);
    for (; qlNext(&cur); at++) assertOn(&cur, at);
    assert_int_equal(at, model_len);
    while (qlPrev(&cur)) assertOn(&cur, --at);
    assert_int_equal(at, 0);
    qlCursorClose(&cur);
}

/* ---- Saves ---- */

static struct qlSave *save;
static struct quicklist *saved; /* the list that is being saved, which may have been replaced */
static struct str old[MODEL_MAX];
static size_t old_len, old_at; /* the elements at the beginning; how many have been compared */
static unsigned char *in_part; /* a copy of the present node, which was looked at and not taken */
static size_t in_part_len;
static uint64_t saves_complete, saves_early;

static struct qlSave *quicklistTestSaveOf(const struct quicklist *l) {
    return l == saved ? save : NULL;
}

static bool quicklistTestEachMarked(const struct quicklist *l) {
    for (const struct qlNode *n = l->head; n; n = n->next)
        if (n->mark != l->mark) return false;
    return true;
}

static void quicklistTestOpSaveBegin(void) {
    if (save || !model_len) return;
    for (old_len = 0; old_len < model_len; old_len++) {
        size_t len = model[old_len].len;
        char *p = zmalloc(len + 1);
        if (len) memcpy(p, model[old_len].ptr, len);
        old[old_len] = strN(p, len);
    }
    old_at = 0;
    save = qlSaveBegin(ql, NULL, NULL);
    saved = ql;
    for (const struct qlNode *n = ql->head; n; n = n->next) assert_true(n->mark != ql->mark);
}

static void quicklistTestSaveEnd(void) {
    if (!save) return;
    qlSaveEnd(save);
    for (const struct qlNode *n = saved->head; n; n = n->next) assert_true(n->mark <= saved->mark);
    if (old_at == old_len || !saved->watched) assert_true(!saved->watched && quicklistTestEachMarked(saved));
    if (old_at == old_len)
        saves_complete++;
    else
        saves_early++;
    for (size_t i = 0; i < old_len; i++) zfree((char *)old[i].ptr);
    zfree(in_part);
    in_part = NULL;
    if (saved != ql) qlFree(saved);
    save = NULL;
    saved = NULL;
}

static void quicklistTestCompareOld(struct str s) {
    assert_true(old_at < old_len && strEq(s, old[old_at]));
    old_at++;
}

static void quicklistTestCompareNode(const struct qlNodeView *n) {
    unsigned char *data = zmalloc(n->length);
    char buf[LP_INTBUF_SIZE];
    if (n->compressed)
        assert_int_equal(lzf_decompress(n->bytes.ptr, (unsigned)n->bytes.len, data, (unsigned)n->length),
                         n->length);
    else
        memcpy(data, n->bytes.ptr, n->length);
    if (n->plain)
        quicklistTestCompareOld(strN((const char *)data, n->length));
    else
        for (unsigned char *p = lpFirst(data); p; p = lpNext(data, p))
            quicklistTestCompareOld(lpView(p, buf));
    zfree(data);
}

/* Looks at some nodes; the last one may be taken by a later call, and must be the same then. */
static void quicklistTestOpSaveStep(void) {
    struct qlNodeView n;
    if (!save) return;
    for (uint64_t todo = 1 + randomBelow(4); todo--;) {
        enum qlSaveStep step = qlSaveCurrent(save, &n);
        if (step == QL_SAVE_SKIPPED) continue;
        if (step == QL_SAVE_DONE) {
            assert_int_equal(old_at, old_len);
            quicklistTestSaveEnd();
            return;
        }
        if (in_part) assert_true(strEq(n.bytes, strN((const char *)in_part, in_part_len)));
        zfree(in_part);
        in_part = NULL;
        if (!todo && randomBelow(2)) {
            in_part_len = n.bytes.len;
            in_part = memcpy(zmalloc(in_part_len), n.bytes.ptr, in_part_len);
            return;
        }
        quicklistTestCompareNode(&n);
        qlSaveAdvance(save);
    }
}

/* Some saves are left to their end; and of long lists, marks are left behind. */
static void quicklistTestOpSaveEarly(void) {
    if (randomBelow(4)) quicklistTestSaveEnd();
}

/* The list is replaced: it lives on until the save has ended. */
static void quicklistTestDropList(struct quicklist *now) {
    if (ql != saved) qlFree(ql);
    ql = now;
}

/* ---- Operations ---- */

static void opPush(void) {
    char buf[LONG_STR_SIZE];
    struct str s = quicklistTestRandomText(buf);
    enum qlEnd end = randomBelow(2) ? QL_HEAD : QL_TAIL;
    if (model_len == MODEL_MAX) return;
    quicklistTestModelPut(end == QL_HEAD ? 0 : model_len, s);
    qlPush(ql, s, end);
}

/* Sometimes many, which are short then. */
static void quicklistTestOpPrependMany(void) {
    char bufs[64][LONG_STR_SIZE];
    struct str s[64];
    size_t count = randomBelow(randomBelow(4) ? 6 : 64);
    if (model_len + count > MODEL_MAX) return;
    for (size_t i = 0; i < count; i++) {
        s[i] = quicklistTestRandomText(bufs[i]);
        if (count > 6 && s[i].len > 50) s[i].len = 50;
        quicklistTestModelPut(0, s[i]);
    }
    qlPrependMany(ql, s, count);
}

static bool seekRandom(struct qlCursor *cur, size_t *at) {
    int64_t index = (int64_t)randomBelow(model_len + 2) - (randomBelow(2) ? (int64_t)model_len + 1 : 0);
    bool there = qlCursorSeek(cur, ql, index);
    *at = (size_t)(index < 0 ? index + (int64_t)model_len : index);
    assert_int_equal(there, *at < model_len);
    if (there) assertOn(cur, *at);
    return there;
}

static void quicklistTestOpInsert(void) {
    char buf[LONG_STR_SIZE];
    struct qlCursor cur;
    size_t at;
    bool after = randomBelow(2);
    if (model_len == MODEL_MAX || !seekRandom(&cur, &at)) return;
    struct str s = quicklistTestRandomText(buf);
    quicklistTestModelPut(at + after, s);
    qlInsert(&cur, s, after);
}

static void quicklistTestOpReplace(void) {
    char buf[LONG_STR_SIZE];
    struct qlCursor cur;
    size_t at;
    if (!seekRandom(&cur, &at)) return;
    struct str s = quicklistTestRandomText(buf);
    quicklistTestModelTake(at, 1);
    quicklistTestModelPut(at, s);
    qlReplace(&cur, s);
}

static void quicklistTestOpDeleteRange(void) {
    uint64_t start = randomBelow(model_len + 2), num = randomBelow(4) ? randomBelow(4) : randomBelow(60);
    uint64_t left = start < model_len ? model_len - start : 0, expected = num < left ? num : left;
    assert_int_equal(qlDeleteRange(ql, start, num), expected);
    if (expected) quicklistTestModelTake(start, expected);
}

static void opPop(void) {
    bool tail = randomBelow(2);
    if (!model_len) return;
    quicklistTestModelTake(tail ? model_len - 1 : 0, 1);
    assert_int_equal(qlDeleteRange(ql, tail ? model_len : 0, 1), 1);
}

/* Walks, turns around and deletes at random. `gap`: the cursor is before element `at`, not on it. */
static void opWalk(void) {
    struct qlCursor cur;
    bool gap = true, forward = randomBelow(2), deletes = !randomBelow(4);
    size_t at = 0;
    if (randomBelow(2) && model_len) {
        at = randomBelow(model_len);
        assert_true(qlCursorSeek(&cur, ql, (int64_t)at));
        gap = false;
    } else {
        bool end = randomBelow(2);
        at = end ? model_len : 0;
        qlCursorStart(&cur, ql, end ? QL_TAIL : QL_HEAD);
    }
    for (uint64_t steps = randomBelow(40); steps--;) {
        if (!randomBelow(6)) forward = !forward;
        if (deletes && !gap && !randomBelow(3)) {
            qlDelete(&cur);
            quicklistTestModelTake(at, 1);
            gap = true;
        } else if (forward) {
            at += !gap;
            gap = at >= model_len;
            if (gap) at = model_len;
            assert_int_equal(qlNext(&cur), !gap);
        } else {
            bool there = at > 0;
            at -= there;
            gap = !there;
            assert_int_equal(qlPrev(&cur), there);
        }
        if (!gap) assertOn(&cur, at);
    }
    qlCursorClose(&cur);
}

static void opRuns(void) {
    struct qlCursor cur;
    size_t at;
    if (!seekRandom(&cur, &at)) return;
    do {
        assertOn(&cur, at);
        uint32_t n = qlRunLength(&cur);
        if (qlIsPlain(&cur)) {
            assert_int_equal(n, 1);
            at++;
            continue;
        }
        unsigned char *p = cur.p;
        for (; n; n--, at++, p = lpNext(cur.data, p)) assert_true(p && lpEqual(p, model[at]));
        assert_null(p);
    } while (qlNextNode(&cur));
    assert_int_equal(at, model_len);
    qlCursorClose(&cur);
}

static void opDup(void) {
    quicklistTestDropList(qlDup(ql));
}

static void quicklistTestAppendNode(void *priv, const struct qlNodeView *n) {
    struct quicklist *to = priv;
    unsigned char *data = zmalloc(n->length);
    if (n->compressed)
        assert_int_equal(lzf_decompress(n->bytes.ptr, (unsigned)n->bytes.len, data, (unsigned)n->length),
                         n->length);
    else
        memcpy(data, n->bytes.ptr, n->length);
    if (n->plain) {
        qlLoadPlain(to, strN((const char *)data, n->length));
        zfree(data);
    } else {
        assert_true(qlLoadListpack(to, data, n->length));
    }
}

static void opReload(void) {
    struct quicklist *loaded = qlNew(ql->fill, ql->depth);
    qlForEachNode(ql, quicklistTestAppendNode, loaded);
    quicklistTestDropList(loaded);
}

static void opConvert(void) {
    int64_t fill = ql->fill, depth = ql->depth;
    unsigned char *lp = qlToListpack(ql, qlLimitsOf(fill));
    if (!lp) return;
    assert_int_equal(lpLength(lp), model_len);
    quicklistTestDropList(qlFromListpack(lp, fill, depth));
}

/* Moves half of the allocations, overwrites the old ones, and counts the calls. */
static void *quicklistTestMoveSome(void *priv, void *ptr) {
    ++*(unsigned *)priv;
    if (randomBelow(2)) return NULL;
    size_t size = zmallocSize(ptr);
    void *now = memcpy(zmalloc(size), ptr, size);
    memset(ptr, 0xdb, size);
    zfree(ptr);
    return now;
}

/* Each allocation is passed once, however the calls are cut. */
static void opMove(void) {
    unsigned offers = 0;
    uint64_t cursor = 0;
    if (save) return;
    do ql = qlMove(ql, &cursor, 1 + (uint32_t)randomBelow(5), quicklistTestMoveSome, &offers);
    while (cursor);
    assert_int_equal(offers, 1 + 2 * ql->nodes);
}

static void freshList(void) {
    static const int64_t fills[] = {0, 1, 2, 3, 4, 7, 32, 100, -1, -2, -5, -9, INT64_MAX};
    struct quicklist *now = qlNew(fills[randomBelow(sizeof fills / sizeof fills[0])],
                                  randomBelow(4) ? (int64_t)randomBelow(4) : 0);
    quicklistTestModelTake(0, model_len);
    if (ql)
        quicklistTestDropList(now);
    else
        ql = now;
}

static void quicklistTestModel(void **state) {
    static const struct {
        unsigned weight;
        void (*run)(void);
    } ops[] = {{350, opPush},
               {20, quicklistTestOpPrependMany},
               {150, quicklistTestOpInsert},
               {100, quicklistTestOpReplace},
               {15, quicklistTestOpDeleteRange},
               {60, opPop},
               {150, opWalk},
               {20, opRuns},
               {2, opDup},
               {2, opReload},
               {5, opConvert},
               {10, opMove},
               {10, quicklistTestOpSaveBegin},
               {30, quicklistTestOpSaveStep},
               {3, quicklistTestOpSaveEarly}};
    uint64_t todo = modelOps();
    (void)state;
    size_t longest = 0;
    unsigned total = 0;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) total += ops[i].weight;
    for (uint64_t i = 0; i < todo; i++) {
        if (i % FRESH_OPS == 0) freshList();
        unsigned pick = (unsigned)randomBelow(total), op = 0;
        for (; pick >= ops[op].weight; op++) pick -= ops[op].weight;
        ops[op].run();
        assert_int_equal(ql->count, model_len);
        if (i % CHECK_OPS == 0) assert_true(qlCheck(ql));
        if (i % (4 * CHECK_OPS) == 0) quicklistTestCompareAll();
        longest = model_len > longest ? model_len : longest;
    }
    quicklistTestSaveEnd();
    assert_true(todo < 100000 || (saves_complete > 50 && saves_early > 20));
    assert_true(todo < 10000 || longest > 100); /* otherwise the mix of operations tests little */
    quicklistTestModelTake(0, model_len);
    qlFree(ql);
    ql = NULL;
}

/* ---- Particular cases ---- */

static void quicklistTestLimits(void **state) {
    (void)state;
    const uint32_t bytes[] = {4096, 8192, 16384, 32768, 65536, 65536};
    for (int i = 0; i < 6; i++) assert_int_equal(qlLimitsOf(-1 - i).bytes, bytes[i]);
    assert_int_equal(qlLimitsOf(INT64_MIN).bytes, 65536);
    assert_int_equal(qlLimitsOf(0).count, 1);
    assert_int_equal(qlLimitsOf(128).count, 128);
    assert_int_equal(qlLimitsOf(128).bytes, 8192);
}

/* The bound holds and is close. */
static void testEntryBound(void **state) {
    (void)state;
    for (size_t len = 0; len < 70000; len += len < 5000 ? 1 : 977) {
        char *text = zmalloc(len + 1);
        memset(text, 'x', len);
        unsigned char *lp = lpAppend(lpNew(0), strN(text, len));
        size_t bytes = lpBytes(lp) - 7;
        assert_true(qlEntryBound(len) >= bytes && qlEntryBound(len) <= bytes + 3);
        lpFree(lp);
        zfree(text);
    }
}

/* Pushing fills nodes up to the limit: 100 elements at 4 a node take 25 nodes, from either end. */
static void testNodesAreFull(void **state) {
    (void)state;
    for (int end = QL_HEAD; end <= QL_TAIL; end++) {
        struct quicklist *l = qlNew(4, 0);
        for (int i = 0; i < 100; i++) qlPush(l, STR("element"), (enum qlEnd)end);
        assert_int_equal(l->nodes, 25);
        /* Inserting into full nodes must not leave many small nodes: half full on average is the worst. */
        for (int i = 0; i < 300; i++) {
            struct qlCursor cur;
            assert_true(qlCursorSeek(&cur, l, (int64_t)randomBelow(l->count)));
            qlInsert(&cur, STR("more"), i & 1);
        }
        assert_true(l->nodes <= 200);
        assert_true(qlCheck(l));
        qlFree(l);
    }
}

/* Replacing an element by one of its size in a full node keeps the nodes as they are. */
static void testReplaceInFullNode(void **state) {
    (void)state;
    struct quicklist *l = qlNew(-1, 0);
    while (l->nodes < 3) qlPush(l, STR("0123456789abcdef"), QL_TAIL);
    for (uint64_t i = 0; i < l->count; i++) {
        struct qlCursor cur;
        assert_true(qlCursorSeek(&cur, l, (int64_t)i));
        qlReplace(&cur, STR("fedcba9876543210"));
    }
    assert_int_equal(l->nodes, 3);
    qlFree(l);
}

/* As many nodes as when the elements are pushed one by one, none of them larger than the limit. */
static void quicklistTestPrependFillsNodes(void **state) {
    (void)state;
    struct str s[1000];
    for (int i = 0; i < 1000; i++) s[i] = STR("some text of 24 letters.");
    for (int64_t fill = -2; fill < 200; fill += 101) {
        struct quicklist *many = qlNew(fill, 0), *single = qlNew(fill, 0);
        qlPrependMany(many, s, 1000);
        for (int i = 0; i < 1000; i++) qlPush(single, s[i], QL_HEAD);
        assert_int_equal(many->nodes, single->nodes);
        assert_int_equal(many->count, 1000);
        assert_true(qlCheck(many));
        qlFree(many);
        qlFree(single);
    }
}

static void testCompressionSaves(void **state) {
    (void)state;
    struct quicklist *plain = qlNew(-2, 0), *packed = qlNew(-2, 1);
    for (int i = 0; i < 20000; i++) {
        qlPush(plain, STR("the same again and again"), QL_TAIL);
        qlPush(packed, STR("the same again and again"), QL_TAIL);
    }
    assert_true(qlMemory(packed, 0) < qlMemory(plain, 0) / 5);
    assert_int_equal(qlUncompressedBytes(packed), qlUncompressedBytes(plain));
    /* Reading leaves everything compressed. */
    size_t before = qlMemory(packed, 0);
    struct qlCursor cur;
    qlCursorStart(&cur, packed, QL_HEAD);
    while (qlNext(&cur)) {
    }
    qlCursorClose(&cur);
    assert_int_equal(qlMemory(packed, 0), before);
    assert_true(qlCheck(packed));
    qlFree(plain);
    qlFree(packed);
}

static void testConversion(void **state) {
    (void)state;
    struct quicklist *l = qlNew(4, 0);
    for (int i = 0; i < 5; i++) qlPush(l, STR("x"), QL_TAIL);
    assert_null(qlToListpack(l, qlLimitsOf(4))); /* two nodes */
    qlDeleteRange(l, 4, 1);
    assert_null(qlToListpack(l, (struct qlLimits){8192, 3}));
    assert_null(qlToListpack(l, (struct qlLimits){18, 4})); /* 7 + 4 * 3 bytes */
    unsigned char *lp = qlToListpack(l, (struct qlLimits){19, 4});
    assert_non_null(lp);
    assert_int_equal(lpLength(lp), 4);
    assert_true(l->nodes == 0 && qlCheck(l));
    qlFree(l);
    l = qlFromListpack(lpDeleteRange(lp, 0, 4), 4, 0);
    assert_int_equal(l->nodes, 0);
    qlFree(l);
}

/* ---- Saves of long lists ---- */

/* A list of so many nodes that its marks are not put in order when a save ends early. Each of many saves
 * that end somewhere reads what the list had at its beginning, when marks are used up as well. */
static void quicklistTestEarlyEnds(void **state) {
    (void)state;
    char text[LONG_STR_SIZE], read[LP_INTBUF_SIZE];
    struct quicklist *l = qlNew(1, 0);
    uint64_t first = 0, end = 0, whole = 0, marked_anew = 0;
    for (; end < 3000; end++) qlPush(l, strN(text, ull2string(text, end)), QL_TAIL);
    for (int round = 0; round < 600; round++) {
        uint64_t expected = first, stop = end, ends_at = round % 90 == 89 ? UINT64_MAX : randomBelow(2000);
        struct qlNodeView n;
        uint8_t mark = l->mark;
        save = qlSaveBegin(saved = l, NULL, NULL);
        marked_anew += mark > 100 && l->mark == 1;
        while (ends_at-- && qlSaveCurrent(save, &n) == QL_SAVE_NODE) {
            unsigned char *p = lpFirst((unsigned char *)n.bytes.ptr);
            assert_true(strEq(lpView(p, read), strN(text, ull2string(text, expected))));
            expected++;
            qlSaveAdvance(save);
            if (randomBelow(64) || first + 2800 > end) continue;
            first += qlDeleteRange(l, 0, randomBelow(100)); /* before or behind the frontier */
        }
        if (expected == stop) whole++;
        qlSaveEnd(save);
        save = NULL;
        saved = NULL;
        for (; end < first + 3000; end++) qlPush(l, strN(text, ull2string(text, end)), QL_TAIL);
    }
    assert_true(whole > 3 && marked_anew > 1);
    qlFree(l);
}

/* A list that becomes a listpack is saved as it was. */
static void quicklistTestConversionIsSaved(void **state) {
    (void)state;
    struct quicklist *l = qlNew(-2, 0);
    struct qlNodeView n;
    qlPush(l, STR("old"), QL_TAIL);
    save = qlSaveBegin(saved = l, NULL, NULL);
    unsigned char *lp = lpDeleteRange(qlToListpack(l, qlLimitsOf(-2)), 0, 1);
    assert_int_equal(qlSaveCurrent(save, &n), QL_SAVE_NODE);
    assert_true(lpEqual(lpFirst((unsigned char *)n.bytes.ptr), STR("old")));
    qlSaveAdvance(save);
    assert_int_equal(qlSaveCurrent(save, &n), QL_SAVE_DONE);
    qlSaveEnd(save);
    save = NULL;
    saved = NULL;
    lpFree(lp);
    qlFree(l);
}

/* ---- Data from outside ---- */

static void testDamagedNodesAreRefused(void **state) {
    (void)state;
    unsigned refused = 0;
    for (int round = 0; round < 20000; round++) {
        char buf[LONG_STR_SIZE];
        unsigned char *lp = lpNew(0);
        for (uint64_t n = randomBelow(12); n--;) {
            struct str s = quicklistTestRandomText(buf);
            lp = lpAppend(lp, s.len > 300 ? strN(s.ptr, 300) : s);
        }
        size_t size = lpBytes(lp);
        /* An exact copy: ASan sees reads past its end. */
        unsigned char *bytes = memcpy(zmalloc(size), lp, size);
        for (uint64_t n = randomBelow(4); n--;)
            bytes[randomBelow(size)] ^= (unsigned char)(1 << randomBelow(8));
        size_t claimed = randomBelow(10) ? size : randomBelow(size);
        struct quicklist *l = qlNew(-2, (int64_t)randomBelow(2));
        qlPush(l, STR("before"), QL_TAIL);
        if (qlLoadListpack(l, bytes, claimed)) {
            struct qlCursor cur;
            struct lpValue v;
            assert_true(qlCheck(l) && l->count > 1);
            for (qlCursorStart(&cur, l, QL_TAIL); qlPrev(&cur);) qlValue(&cur, &v);
            qlCursorClose(&cur);
        } else {
            assert_int_equal(l->count, 1);
            zfree(bytes);
            refused++;
        }
        lpFree(lp);
        qlFree(l);
    }
    assert_true(refused > 5000);
}

/* More elements than a node can count. */
static void testHugeListpackIsSplit(void **state) {
    (void)state;
    struct quicklist *l = qlNew(-2, 0);
    unsigned char *lp = lpNew(0);
    for (int i = 0; i < 70000; i++) lp = lpAppendInt(lp, i % 100);
    assert_true(qlLoadListpack(l, lp, lpBytes(lp)));
    assert_int_equal(l->count, 70000);
    assert_true(l->nodes > 15 && qlCheck(l));
    struct qlCursor cur;
    struct lpValue v;
    assert_true(qlCursorSeek(&cur, l, 69999));
    qlValue(&cur, &v);
    assert_int_equal(v.lval, 99);
    qlCursorClose(&cur);
    qlFree(l);
}

int main(void) {
    modelSeed();
    zmallocThreadStart();
    ql_save_of = quicklistTestSaveOf;
    for (size_t i = 0; i < TEXT_MAX; i++) {
        texts[0][i] = 'a';
        texts[1][i] = (char)randomU64();
        texts[2][i] = "key value "[i % 10];
        texts[3][i] = (char)(i % 700 < 350 ? randomU64() : 0);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quicklistTestLimits),
        cmocka_unit_test(testEntryBound),
        cmocka_unit_test(testNodesAreFull),
        cmocka_unit_test(testReplaceInFullNode),
        cmocka_unit_test(testCompressionSaves),
        cmocka_unit_test(quicklistTestPrependFillsNodes),
        cmocka_unit_test(testConversion),
        cmocka_unit_test(testDamagedNodesAreRefused),
        cmocka_unit_test(testHugeListpackIsSplit),
        cmocka_unit_test(quicklistTestEarlyEnds),
        cmocka_unit_test(quicklistTestConversionIsSaved),
        cmocka_unit_test(quicklistTestModel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
