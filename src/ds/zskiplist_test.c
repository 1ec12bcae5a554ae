/* SPDX-License-Identifier: BSD-3-Clause */
/* zskiplist_test.c - the skiplist against a naive sorted array, under random operations.
 *
 *   MODEL_OPS=n   number of operations (default 1,000,000)
 *   SEED=n        repeat a run; the seed is printed
 *   --bench       ns per operation and bytes per member instead of the tests */
#include "ds/zskiplist.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "base/zmalloc.h"

/* ---- The model: an array of entries in order ---- */

#define MODEL_MAX  4096
#define MEMBER_MAX 4200 /* from 4095 bytes on, the length is stored separately */

struct zslModelEntry {
    struct zscore score;
    struct str member; /* owned */
    zskiplistNode *node;
};
static struct zslModelEntry model[MODEL_MAX];
static size_t modelLen;
static zskiplist list;

static int entryCmp(struct zscore sa, struct str a, struct zscore sb, struct str b) {
    int order = zscoreCompare(sa, sb);
    return order ? order : strCmp(a, b);
}

static size_t zskiplistTestModelPlace(struct zscore score, struct str member) {
    size_t i = 0;
    while (i < modelLen && entryCmp(model[i].score, model[i].member, score, member) < 0) i++;
    return i;
}

static bool zskiplistTestModelHas(struct str member) {
    for (size_t i = 0; i < modelLen; i++)
        if (strEq(model[i].member, member)) return true;
    return false;
}

static void zskiplistTestModelPut(size_t at, struct zslModelEntry e) {
    memmove(&model[at + 1], &model[at], (modelLen - at) * sizeof(model[0]));
    model[at] = e;
    modelLen++;
}

static void zskiplistTestModelTake(size_t at, size_t count, bool freeMembers) {
    for (size_t i = at; freeMembers && i < at + count; i++) zfree((char *)model[i].member.ptr);
    memmove(&model[at], &model[at + count], (modelLen - at - count) * sizeof(model[0]));
    modelLen -= count;
}

/* ---- Random keys ---- */

static double zskiplistTestRandomScore(void) {
    static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, 1e-300, -1e300, 0.1, 4503599627370497.5};
    switch (randomBelow(4)) {
    case 0: return odd[randomBelow(sizeof(odd) / sizeof(odd[0]))];
    case 1: return (double)randomBelow(8) - 4; /* many duplicates */
    case 2: return (double)randomBelow(1000);
    default: return (randomDouble() - 0.5) * 1e6;
    }
}

/* Makes a member that is empty, binary, long, or has a shared prefix. */
static size_t randomMember(char *buf) {
    size_t len = 0;
    switch (randomBelow(4)) {
    case 0:
        len = randomBelow(4);
        for (size_t i = 0; i < len; i++) buf[i] = (char)randomBelow(256);
        return len;
    case 1: return (size_t)sprintf(buf, "member:%u", (unsigned)randomBelow(10000));
    case 2:
        len = randomBelow(40);
        memset(buf, 'a', len);
        if (len && randomBelow(2)) buf[len - 1] = (char)randomBelow(256);
        return len;
    default:
        len = randomBelow(randomBelow(32) ? 300 : MEMBER_MAX);
        for (size_t i = 0; i < len; i++) buf[i] = (char)('a' + (i % 50 ? 0 : randomBelow(3)));
        return len;
    }
}

/* To the list a rest is a number that decides between equal values, whatever the value is. In half of the
 * epochs there is none. */
static bool rests;

static struct zscore zskiplistTestRestOn(double value) {
    static const int some[] = {1, -1, 2, ZSCORE_REST_MAX, -ZSCORE_REST_MAX};
    return (struct zscore){value, rests && randomBelow(2) ? some[randomBelow(5)] : 0};
}

static struct zslModelEntry randomEntry(char *buf) {
    return (struct zslModelEntry){zskiplistTestRestOn(zskiplistTestRandomScore()),
                                  strN(buf, randomMember(buf)), NULL};
}

static struct str zskiplistTestOwnCopy(struct str s) {
    char *p = zmalloc(s.len + 1);
    if (s.len) memcpy(p, s.ptr, s.len);
    return strN(p, s.len);
}

/* ---- Operations: each changes both and compares the results ---- */

static void zskiplistTestOpInsert(void) {
    char buf[MEMBER_MAX + 32];
    struct zslModelEntry e = randomEntry(buf);
    if (modelLen == MODEL_MAX || zskiplistTestModelHas(e.member)) return;
    e.node = zslInsert(&list, e.score, e.member);
    e.member = zskiplistTestOwnCopy(e.member);
    zskiplistTestModelPut(zskiplistTestModelPlace(e.score, e.member), e);
}

static void opAppend(void) {
    char buf[MEMBER_MAX + 32];
    struct zslModelEntry e = randomEntry(buf);
    if (modelLen == MODEL_MAX || zskiplistTestModelHas(e.member)) return;
    if (zskiplistTestModelPlace(e.score, e.member) != modelLen) {
        e.score.value = model[modelLen - 1].score.value + 1;
        if (zskiplistTestModelPlace(e.score, e.member) != modelLen) return;
    }
    e.node = zslAppend(&list, e.score, e.member);
    e.member = zskiplistTestOwnCopy(e.member);
    zskiplistTestModelPut(modelLen, e);
}

static void opPrepend(void) {
    char buf[MEMBER_MAX + 32];
    struct zslModelEntry e = randomEntry(buf);
    if (modelLen == MODEL_MAX || zskiplistTestModelHas(e.member)) return;
    if (zskiplistTestModelPlace(e.score, e.member) != 0) {
        e.score.value = model[0].score.value - 1;
        if (zskiplistTestModelPlace(e.score, e.member) != 0) return;
    }
    e.node = zslPrepend(&list, e.score, e.member);
    e.member = zskiplistTestOwnCopy(e.member);
    zskiplistTestModelPut(0, e);
}

static void zskiplistTestOpDelete(void) {
    if (!modelLen) return;
    size_t where = randomBelow(4);
    size_t at = where == 0 ? 0 : where == 1 ? modelLen - 1 : randomBelow(modelLen);
    zslDelete(&list, model[at].node);
    zskiplistTestModelTake(at, 1, true);
}

static void zskiplistTestOpUpdate(void) {
    if (!modelLen) return;
    size_t at = randomBelow(modelLen);
    struct zslModelEntry e = model[at];
    switch (randomBelow(4)) {
    case 0: e.score.value += 1e-3; break; /* often stays in place */
    case 1: e.score.value -= 1; break;
    case 2: e.score = zskiplistTestRestOn(e.score.value); break;
    default: e.score = zskiplistTestRestOn(zskiplistTestRandomScore());
    }
    e.node = zslUpdateScore(&list, e.node, e.score);
    assert_int_equal(zscoreCompare(zslGetNodeScore(e.node), e.score), 0);
    assert_true(strEq(zslGetNodeElement(e.node), e.member));
    zskiplistTestModelTake(at, 1, false);
    zskiplistTestModelPut(zskiplistTestModelPlace(e.score, e.member), e);
}

static void zskiplistTestOpRank(void) {
    if (!modelLen) return;
    size_t at = randomBelow(modelLen);
    assert_int_equal(zslGetRank(&list, model[at].node), at);
    assert_ptr_equal(zslGetByRank(&list, at), model[at].node);
    assert_ptr_equal(zslGetByRank(&list, 0), model[0].node);
    assert_ptr_equal(zslGetByRank(&list, modelLen - 1), model[modelLen - 1].node);
    assert_null(zslGetByRank(&list, modelLen));
    assert_null(zslGetByRank(&list, UINT64_MAX));
}

static void expectNode(zskiplistNode *got, uint64_t rank, bool exists, size_t at) {
    if (!exists) {
        assert_null(got);
        return;
    }
    assert_ptr_equal(got, model[at].node);
    assert_int_equal(rank, at);
}

static void zskiplistTestOpScoreRange(void) {
    struct zscore min = zskiplistTestRestOn(zskiplistTestRandomScore()),
                  max = zskiplistTestRestOn(randomBelow(8) ? zskiplistTestRandomScore() : min.value);
    if (zscoreCompare(min, max) > 0 && randomBelow(4)) {
        struct zscore t = min;
        min = max;
        max = t;
    }
    struct zscoreRange r = {min.value,      max.value,         randomBelow(2),
                            randomBelow(2), (int16_t)min.rest, (int16_t)max.rest};
    size_t from = 0, to = modelLen;
    while (from < modelLen && zscoreCompare(model[from].score, min) < r.minex) from++;
    while (to > 0 && zscoreCompare(model[to - 1].score, max) > -r.maxex) to--;
    if (zscoreRangeEmpty(&r)) assert_true(from >= to);
    uint64_t rank = 0;
    zskiplistNode *n = zslFirstInScoreRange(&list, &r, &rank);
    expectNode(n, rank, from < to, from);
    n = zslLastInScoreRange(&list, &r, &rank);
    expectNode(n, rank, from < to, to - 1);
    assert_ptr_equal(n, zslLastInScoreRange(&list, &r, NULL));
}

static struct zlexBound zskiplistTestRandomBound(char *buf) {
    struct zlexBound b = {ZLEX_VALUE, randomBelow(2), strN(buf, 0)};
    uint64_t kind = randomBelow(8);
    if (kind == 0) b.kind = ZLEX_MIN;
    if (kind == 1) b.kind = ZLEX_MAX;
    if (b.kind == ZLEX_VALUE && kind < 4 && modelLen)
        b.value = model[randomBelow(modelLen)].member;
    else
        b.value.len = randomMember(buf);
    return b;
}

static bool zskiplistTestAboveMin(struct str m, const struct zlexBound *b) {
    if (b->kind != ZLEX_VALUE) return b->kind == ZLEX_MIN;
    return b->exclusive ? strCmp(m, b->value) > 0 : strCmp(m, b->value) >= 0;
}
static bool zskiplistTestBelowMax(struct str m, const struct zlexBound *b) {
    if (b->kind != ZLEX_VALUE) return b->kind == ZLEX_MAX;
    return b->exclusive ? strCmp(m, b->value) < 0 : strCmp(m, b->value) <= 0;
}

/* Compares lex ranges, which only make sense while all scores are equal; the driver makes such lists. */
static void zskiplistTestOpLexRange(void) {
    char bufMin[MEMBER_MAX + 32], bufMax[MEMBER_MAX + 32];
    struct zlexRange r = {zskiplistTestRandomBound(bufMin), zskiplistTestRandomBound(bufMax)};
    size_t from = 0, to = modelLen;
    while (from < modelLen && !zskiplistTestAboveMin(model[from].member, &r.min)) from++;
    while (to > 0 && !zskiplistTestBelowMax(model[to - 1].member, &r.max)) to--;
    if (zlexRangeEmpty(&r)) assert_true(from >= to);
    uint64_t rank = 0;
    zskiplistNode *n = zslFirstInLexRange(&list, &r, &rank);
    expectNode(n, rank, from < to, from);
    n = zslLastInLexRange(&list, &r, &rank);
    expectNode(n, rank, from < to, to - 1);
    assert_ptr_equal(n, zslLastInLexRange(&list, &r, NULL));
}

struct deletion {
    size_t from, seen;
};
static void zskiplistTestOnDelete(void *priv, zskiplistNode *n) {
    struct deletion *d = priv;
    assert_ptr_equal(n, model[d->from + d->seen].node);
    assert_true(strEq(zslGetNodeElement(n), model[d->from + d->seen].member));
    d->seen++;
}

static void zskiplistTestOpDeleteRange(void) {
    struct deletion d = {randomBelow(modelLen + 2), 0};
    uint64_t count = randomBelow(modelLen + 1) > 20 ? randomBelow(10) : randomBelow(modelLen + 5);
    if (randomBelow(4) == 0 && modelLen > 3) d.from = modelLen - 3;
    if (randomBelow(modelLen + 50) == 0) count = UINT64_MAX;
    size_t expected = d.from >= modelLen ? 0 : count > modelLen - d.from ? modelLen - d.from : count;
    bool tell = randomBelow(2);
    assert_int_equal(zslDeleteRangeByRank(&list, d.from, count, tell ? zskiplistTestOnDelete : NULL, &d),
                     expected);
    if (tell) assert_int_equal(d.seen, expected);
    if (expected) zskiplistTestModelTake(d.from, expected, true);
}

/* ---- Comparing the whole ---- */

static void zskiplistTestVerifyAll(void) {
    zslVerify(&list);
    assert_int_equal(zslGetLength(&list), modelLen);
    assert_ptr_equal(zslGetFirst(&list), modelLen ? model[0].node : NULL);
    assert_ptr_equal(zslGetTail(&list), modelLen ? model[modelLen - 1].node : NULL);
    zskiplistNode *n = zslGetFirst(&list), *prev = NULL;
    for (size_t i = 0; i < modelLen; i++, prev = n, n = zslGetNext(n)) {
        assert_ptr_equal(n, model[i].node);
        assert_ptr_equal(zslGetPrev(n), prev);
        assert_int_equal(zscoreCompare(zslGetNodeScore(n), model[i].score), 0);
        assert_true(strEq(zslGetNodeElement(n), model[i].member));
        assert_int_equal(zslGetRank(&list, n), i);
        assert_ptr_equal(zslGetByRank(&list, i), n);
        assert_true(zslGetNodeHeight(n) <= zslGetHeight(&list));
    }
    assert_null(n);
}

static void zskiplistTestClearBoth(void) {
    zslClear(&list);
    zskiplistTestModelTake(0, modelLen, true);
    zskiplistTestVerifyAll();
}

/* Grows and shrinks around a size that changes from epoch to epoch. */
static void zskiplistTestRandomStep(size_t target) {
    uint64_t op = randomBelow(100);
    if (op < 45) {
        if (modelLen < target || randomBelow(3) == 0)
            op % 5 == 0 ? opAppend() : op % 5 == 1 ? opPrepend() : zskiplistTestOpInsert();
        else
            zskiplistTestOpDelete();
    } else if (op < 65) {
        zskiplistTestOpUpdate();
    } else if (op < 75) {
        zskiplistTestOpRank();
    } else if (op < 90) {
        zskiplistTestOpScoreRange();
    } else if (op < 95) {
        zskiplistTestOpDelete();
    } else if (op < 97) {
        zskiplistTestOpDeleteRange();
    }
}

static void zskiplistTestModel(void **state) {
    (void)state;
    static const size_t targets[] = {0, 1, 3, 10, 30, 100, 400, 1500};
    long ops = (long)modelOps();
    size_t target = 0;
    zslInit(&list);
    for (long i = 0; i < ops; i++) {
        if (i % 5000 == 0) rests = randomBelow(2);
        if (i % 5000 == 0) target = targets[randomBelow(sizeof(targets) / sizeof(targets[0]))];
        zskiplistTestRandomStep(target);
        if (modelLen < 32 || randomBelow(modelLen) == 0) zskiplistTestVerifyAll();
        if (randomBelow(100000) == 0) zskiplistTestClearBoth();
    }
    zskiplistTestVerifyAll();
    zskiplistTestClearBoth();
    rests = false;
}

/* All scores equal, some of them -0.0: the order is that of the members. */
static void testLex(void **state) {
    (void)state;
    char buf[MEMBER_MAX + 32];
    long ops = (long)modelOps() / 10;
    zslInit(&list);
    for (long i = 0; i < ops; i++) {
        if (randomBelow(4) == 0 && modelLen < 300) {
            struct zslModelEntry e = {zscoreOf(randomBelow(2) ? 0.0 : -0.0), strN(buf, randomMember(buf)),
                                      NULL};
            if (zskiplistTestModelHas(e.member)) continue;
            e.node = zslInsert(&list, e.score, e.member);
            e.member = zskiplistTestOwnCopy(e.member);
            zskiplistTestModelPut(zskiplistTestModelPlace(e.score, e.member), e);
        } else if (randomBelow(8) == 0) {
            zskiplistTestOpDelete();
        } else {
            zskiplistTestOpLexRange();
        }
        if (modelLen < 32 || randomBelow(modelLen) == 0) zskiplistTestVerifyAll();
    }
    zskiplistTestClearBoth();
}

/* Tests a queue: the positions of the ends are kept lazily, also through long runs at both ends. */
static void zskiplistTestQueue(void **state) {
    (void)state;
    char buf[32];
    zslInit(&list);
    for (int i = 0; i < 20000; i++) {
        struct str member = strN(buf, (size_t)sprintf(buf, "%d", i));
        zslAppend(&list, zscoreOf(i), member);
        if (i >= 100) zslDelete(&list, i % 3 ? zslGetFirst(&list) : zslGetTail(&list));
        if (i % 64 == 0) zslVerify(&list);
    }
    while (zslGetLength(&list)) {
        zslDelete(&list, zslGetTail(&list));
        zslVerify(&list);
    }
    assert_int_equal(zslGetHeight(&list), 1);
    zslPrepend(&list, zscoreOf(1), STR(""));
    zslInsert(&list, zscoreOf(2), STR(""));
    zslVerify(&list);
    assert_int_equal(zslGetRank(&list, zslGetTail(&list)), 1);
    zslClear(&list);
}

/* Heights are distributed as P = 1/4, and a node takes what the layout promises. */
static void testShape(void **state) {
    (void)state;
    long byHeight[ZSKIPLIST_MAXLEVEL + 1] = {0};
    long ample = 0; /* glibc adds a remainder that is too small for a block */
    char buf[32];
    zslInit(&list);
    for (int i = 0; i < 100000; i++)
        zslAppend(&list, zscoreOf(i), strN(buf, (size_t)sprintf(buf, "member:%09d", i)));
    for (zskiplistNode *n = zslGetFirst(&list); n; n = zslGetNext(n)) {
        byHeight[zslGetNodeHeight(n)]++;
        size_t bytes =
            22 + 11 * (size_t)(zslGetNodeHeight(n) - 1) + 16; /* 22, the levels above the lowest, 16 */
        assert_in_range(zslNodeMemory(n), bytes, zmallocGoodSize(bytes) + 16);
        ample += zslNodeMemory(n) > zmallocGoodSize(bytes);
    }
    assert_in_range(ample, 0, 1000);
    assert_in_range(byHeight[1], 74000, 76000);
    assert_in_range(byHeight[2], 18000, 19500);
    assert_in_range(byHeight[3], 4300, 5100);
    assert_in_range(zslGetHeight(&list), 6, ZSKIPLIST_MAXLEVEL); /* not cut off */
    zslVerify(&list);
    zslClear(&list);
}

/* Members whose length does not fit beside the height are added, removed and moved. */
static void testLongMembers(void **state) {
    (void)state;
    static const size_t lengths[] = {0, 1, 4093, 4094, 4095, 4096, 100000, 1 << 20};
    enum { LENGTHS = sizeof lengths / sizeof *lengths };
    zskiplistNode *nodes[LENGTHS];
    char *bytes = zmalloc(1 << 20);
    memset(bytes, 'x', 1 << 20);
    zslInit(&list);
    for (unsigned round = 0; round < 100; round++) { /* enough for nodes of most heights */
        size_t before = zmallocUsedMemory(), sum = 0;
        for (unsigned i = 0; i < LENGTHS; i++) {
            nodes[i] = zslInsert(&list, zscoreOf((double)(i * 3 % LENGTHS)), strN(bytes, lengths[i]));
            sum += lengths[i];
        }
        assert_in_range(zmallocUsedMemory() - before, sum, sum + sum / 4 + 2000);
        for (unsigned i = 0; i < LENGTHS; i++) {
            zslUpdateScore(&list, nodes[i], zscoreOf((double)(i * 5 % LENGTHS)));
            struct str member = zslGetNodeElement(nodes[i]);
            assert_int_equal(member.len, lengths[i]);
            assert_memory_equal(member.ptr, bytes, member.len);
        }
        zslVerify(&list);
        for (unsigned i = 0; i < LENGTHS; i++) zslDelete(&list, nodes[i]);
        assert_int_equal(zmallocUsedMemory(), before);
    }
    zfree(bytes);
}

/* Runs the prefetching search, which has to end at the score. */
static unsigned fetchOne(double score) {
    struct zslFetch f;
    unsigned steps = 0;
    zslFetchBegin(&list, score, NAN, &f);
    while (zslFetchStep(&f)) {
        steps++;
    }
    assert_false(zslFetchStep(&f));
    const zskiplistNode *right = zslFetchPlace(&f), *left = right ? zslGetPrev(right) : zslGetTail(&list);
    assert_true(!right || zslGetNodeScore(right).value >= score);
    assert_true(!left || zslGetNodeScore(left).value < score);
    return steps;
}

/* Runs it for two scores: it has to end at the second, in fewer steps than two searches. */
static void zskiplistTestFetchTwo(double score, double other) {
    struct zslFetch f;
    unsigned steps = 0, one = fetchOne(score), two = fetchOne(other);
    zslFetchBegin(&list, score, other, &f);
    while (zslFetchStep(&f)) steps++;
    assert_false(zslFetchStep(&f));
    const zskiplistNode *right = zslFetchPlace(&f), *left = right ? zslGetPrev(right) : zslGetTail(&list);
    assert_true(!right || zslGetNodeScore(right).value >= other);
    assert_true(!left || zslGetNodeScore(left).value < other);
    assert_in_range(steps, two > one ? two : one, one + two);
}

/* Runs it for a range: it has to end `run` nodes behind the place, or at the last one in the range. */
static void zskiplistTestFetchRun(double from, double last, int run) {
    struct zslFetch f;
    struct zscoreRange r = {.min = from, .max = last};
    uint64_t rank, length = zslGetLength(&list);
    bool any = zslFirstInScoreRange(&list, &r, &rank) != NULL;
    zslFetchBeginRun(&list, from, last, run, &f);
    while (zslFetchStep(&f)) {
    }
    assert_false(zslFetchStep(&f));
    if (!any) return;
    for (int i = 1; i < run && rank < length && zslGetNodeScore(zslGetByRank(&list, rank)).value <= last; i++)
        rank++;
    assert_ptr_equal(zslFetchPlace(&f), zslGetByRank(&list, rank));
}

static void testFetch(void **state) {
    (void)state;
    char buf[32];
    zslInit(&list);
    fetchOne(0);
    for (int i = 0; i < 20000; i++) { /* each score twice */
        zslInsert(&list, zscoreOf((double)(i / 2)), strN(buf, (size_t)sprintf(buf, "member:%09d", i)));
        if (i % 100 == 0) fetchOne((double)randomBelow((uint64_t)i / 2 + 2) - 0.5);
    }
    unsigned steps = 0;
    for (int i = 0; i < 2000; i++) steps += fetchOne((double)randomBelow(10002) - (double)randomBelow(2));
    assert_in_range(steps / 2000, 4, 15); /* the few high nodes are not prefetched */
    fetchOne(INFINITY);
    fetchOne(-INFINITY);
    for (int i = 0; i < 2000; i++) {
        double score = (double)randomBelow(10002) - (double)randomBelow(2);
        zskiplistTestFetchTwo(score, score + (double)randomBelow(i % 2 ? 10 : 10000) + 1);
        zskiplistTestFetchRun(score, score + (double)randomBelow(20), 16);
    }
    zskiplistTestFetchRun(9990, INFINITY, 64);
    zslClear(&list);
}

/* ---- Benchmark ---- */

static double zskiplistTestNow(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct zslBench {
    size_t lists, members;
    zskiplist *zsl;
    zskiplistNode **nodes; /* in order of member number */
    size_t *shuffled;
};

static struct str zskiplistTestMemberName(char *buf, size_t i) {
    return strN(buf, (size_t)sprintf(buf, "member:%zu", i));
}

static void benchFill(struct zslBench *b, bool inOrder, const char *what) {
    char buf[32];
    size_t total = b->lists * b->members, bytes = 0;
    double t = zskiplistTestNow();
    for (size_t i = 0; i < total; i++) {
        size_t k = inOrder ? i : b->shuffled[i], m = k % b->members;
        b->nodes[k] =
            zslInsert(&b->zsl[k / b->members], zscoreOf((double)m), zskiplistTestMemberName(buf, m));
    }
    t = zskiplistTestNow() - t;
    for (size_t i = 0; i < total; i++) bytes += zslNodeMemory(b->nodes[i]);
    bytes += b->lists * sizeof(zskiplist);
    printf("  %-22s %7.1f ns   %5.1f bytes per member\n", what, t / (double)total,
           (double)bytes / (double)total);
}

static void benchReads(struct zslBench *b) {
    size_t total = b->lists * b->members;
    uint64_t sum = 0, rank;
    double t = zskiplistTestNow();
    for (size_t i = 0; i < total; i++) {
        size_t k = b->shuffled[i];
        sum += zslGetRank(&b->zsl[k / b->members], b->nodes[k]);
    }
    printf("  %-22s %7.1f ns\n", "rank", (zskiplistTestNow() - t) / (double)total);
    t = zskiplistTestNow();
    for (size_t i = 0; i < total; i++) {
        size_t k = b->shuffled[i];
        sum += (uintptr_t)zslGetByRank(&b->zsl[k / b->members], k % b->members);
    }
    printf("  %-22s %7.1f ns\n", "by rank", (zskiplistTestNow() - t) / (double)total);
    t = zskiplistTestNow();
    for (size_t i = 0; i < total; i++) {
        size_t k = b->shuffled[i];
        struct zscoreRange r = {.min = (double)(k % b->members), .max = INFINITY};
        zslFirstInScoreRange(&b->zsl[k / b->members], &r, &rank);
        sum += rank;
    }
    printf("  %-22s %7.1f ns\n", "first in score range", (zskiplistTestNow() - t) / (double)total);
    t = zskiplistTestNow();
    for (size_t i = 0; i < b->lists; i++)
        for (zskiplistNode *n = zslGetFirst(&b->zsl[i]); n; n = zslGetNext(n))
            sum += zslGetNodeElement(n).len;
    printf("  %-22s %7.1f ns\n", "step", (zskiplistTestNow() - t) / (double)total);
    if (sum == 42) printf(" ");
}

static void benchWrites(struct zslBench *b) {
    size_t total = b->lists * b->members;
    double t = zskiplistTestNow();
    for (size_t i = 0; i < total; i++) {
        size_t k = b->shuffled[i];
        zslUpdateScore(&b->zsl[k / b->members], b->nodes[k], zscoreOf((double)randomBelow(b->members)));
    }
    printf("  %-22s %7.1f ns\n", "update score", (zskiplistTestNow() - t) / (double)total);
    t = zskiplistTestNow();
    for (size_t i = 0; i < total; i++) {
        size_t k = b->shuffled[i];
        zslDelete(&b->zsl[k / b->members], b->nodes[k]);
    }
    printf("  %-22s %7.1f ns\n", "delete", (zskiplistTestNow() - t) / (double)total);
}

static void zskiplistTestBench(size_t lists, size_t members) {
    size_t total = lists * members;
    struct zslBench b = {lists, members, zcalloc(lists, sizeof(zskiplist)), zmalloc(total * sizeof(void *)),
                         zmalloc(total * sizeof(size_t))};
    for (size_t i = 0; i < lists; i++) zslInit(&b.zsl[i]);
    for (size_t i = 0; i < total; i++) {
        size_t j = randomBelow(i + 1);
        b.shuffled[i] = b.shuffled[j];
        b.shuffled[j] = i;
    }
    printf("%zu x %zu members\n", lists, members);
    benchFill(&b, true, "insert in order");
    benchReads(&b);
    double t = zskiplistTestNow();
    for (size_t i = 0; i < lists; i++) zslClear(&b.zsl[i]);
    printf("  %-22s %7.1f ns\n", "clear", (zskiplistTestNow() - t) / (double)total);
    benchFill(&b, false, "insert at random");
    benchReads(&b);
    benchWrites(&b);
    zfree(b.zsl);
    zfree(b.nodes);
    zfree(b.shuffled);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        randomSeed(1);
        zskiplistTestBench(1, 129);
        zskiplistTestBench(8000, 129);
        zskiplistTestBench(1, 1000000);
        return 0;
    }
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zskiplistTestModel), cmocka_unit_test(testLex),
        cmocka_unit_test(zskiplistTestQueue), cmocka_unit_test(testShape),
        cmocka_unit_test(testFetch),          cmocka_unit_test(testLongMembers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
