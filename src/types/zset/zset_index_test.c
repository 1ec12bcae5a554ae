/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_index_test.c - all encodings of sorted sets against a naive model: an array that is sorted after each
 * change. The same random operations run on each; every search, step, rank, range and scan must agree with
 * the model, and the containers' own invariants hold after each step. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/cmd_sorted_set.h"
#include "ds/zbtree.h"
#include "registry/config.h"
#include "types/zset/zset_commands.h"
#include "types/zset/zset_private.h"

/* zsetInit() registers these; the commands themselves are above this layer. */
const struct commandSpec commandsSortedSet[] = {{0}};

#define MODEL_MAX        100
#define NAME_SIZE        24
#define LISTPACK_ENTRIES 40

/* ---- The model ---- */

struct zsetPair {
    char name[NAME_SIZE];
    struct zscore score;
};
static struct zsetPair model[MODEL_MAX];
static size_t count;

static struct str zsetIndexTestNameOf(const struct zsetPair *p) {
    return strOf(p->name);
}

static int zsetIndexTestComparePairs(const void *a, const void *b) {
    const struct zsetPair *x = a, *y = b;
    int order = zscoreCompare(x->score, y->score);
    return order ? order : strCmp(zsetIndexTestNameOf(x), zsetIndexTestNameOf(y));
}

static struct zsetPair *zsetIndexTestModelFind(struct str name) {
    for (size_t i = 0; i < count; i++)
        if (strEq(zsetIndexTestNameOf(&model[i]), name)) return &model[i];
    return NULL;
}

static void zsetIndexTestModelPut(struct str name, struct zscore score) {
    struct zsetPair *p = zsetIndexTestModelFind(name);
    if (!p) {
        p = &model[count++];
        memcpy(p->name, name.ptr, name.len + 1);
    }
    p->score = score;
    qsort(model, count, sizeof *model, zsetIndexTestComparePairs);
}

static void modelErase(size_t at, size_t n) {
    memmove(model + at, model + at + n, (count - at - n) * sizeof *model);
    count -= n;
}

/* ---- Checks ---- */

static bool isSame(struct zscore a, struct zscore b) {
    return zscoreCompare(a, b) == 0;
}

static void checkInvariants(struct zsetRef z) {
    if (z.index == &zsetSkiplist) {
        struct zset *zs = z.ptr;
        zslVerify(&zs->list);
        hashtableVerify(&zs->members);
        assert_int_equal(hashtableSize(&zs->members), zslGetLength(&zs->list));
    } else if (z.index == &zsetBtree) {
        zbtVerify(z.ptr);
    } else {
        assert_true(lpValidate(z.ptr, lpBytes(z.ptr), true, NULL, NULL));
    }
}

static void checkElement(struct zsetRef z, const struct zsetPlace *p, const struct zsetPair *want) {
    struct zsetElement e;
    z.index->read(z.ptr, p, &e);
    assert_true(strEq(e.member, zsetIndexTestNameOf(want)));
    assert_true(isSame(e.score, want->score));
    assert_true(isSame(p->score, want->score));
}

static void checkIterators(struct zsetRef z) {
    struct zsetIterator up = zsetIterate(z, count / 3), down = zsetIterateDown(z);
    struct zsetElement e;
    for (size_t i = count / 3; i < count; i++) {
        assert_true(zsetNext(&up, &e));
        assert_true(strEq(e.member, zsetIndexTestNameOf(&model[i])) && isSame(e.score, model[i].score));
    }
    assert_false(zsetNext(&up, &e));
    for (size_t i = count; i--;) {
        assert_true(zsetNext(&down, &e));
        assert_true(strEq(e.member, zsetIndexTestNameOf(&model[i])) && isSame(e.score, model[i].score));
    }
    assert_false(zsetNext(&down, &e));
}

static void zsetIndexTestCheckAll(struct zsetRef z) {
    struct zsetPlace p;
    checkIterators(z);
    assert_int_equal(zsetLength(z), count);
    for (size_t i = 0; i < count; i++) {
        assert_true(zsetFind(z, zsetIndexTestNameOf(&model[i]), &p));
        uint64_t hash = hashBytes(model[i].name, zsetIndexTestNameOf(&model[i]).len);
        struct zsetPlace again;
        assert_true(zsetFindHashed(z, zsetIndexTestNameOf(&model[i]), hash, &again));
        assert_true(again.at == p.at && isSame(again.score, p.score));
        checkElement(z, &p, &model[i]);
        assert_int_equal(z.index->rank(z.ptr, &p), i);
        assert_true(z.index->atRank(z.ptr, i, &p));
        checkElement(z, &p, &model[i]);
        assert_int_equal(z.index->step(z.ptr, &p, i % 2), i % 2 || i + 1 < count);
        if (p.at) checkElement(z, &p, &model[i % 2 ? i - 1 : i + 1]);
    }
    assert_false(zsetFind(z, STR("no such member"), &p));
    assert_false(z.index->atRank(z.ptr, count, &p));
}

/* The model finds the slice by looking at each pair. */
static bool isWithin(const struct zsetPair *p, const struct zsetRange *r) {
    return zscoreGteMin(p->score, &r->score) && zscoreLteMax(p->score, &r->score);
}

static void checkSlice(struct zsetRef z, const struct zsetRange *r) {
    struct zsetSlice s;
    size_t first = 0, n = 0;
    while (first < count && !isWithin(&model[first], r)) first++;
    while (first + n < count && isWithin(&model[first + n], r)) n++;
    size_t skip = (size_t)r->offset < n ? (size_t)r->offset : n, left = n - skip;
    if (r->limit >= 0 && (size_t)r->limit < left) left = (size_t)r->limit;
    zsetSliceOf(z, r, &s);
    assert_int_equal(s.count, left);
    if (left) assert_int_equal(s.rank, r->reverse ? first + n - skip - left : first + skip);
}

/* While `beyond`, most scores are integers beyond 2^53, near to each other, and with rests. */
static bool beyond;

static struct zscore zsetIndexTestRandomScore(void) {
    static const int64_t around[] = {1ll << 53, -(1ll << 53), (1ll << 62) + 5000, INT64_MAX - 4,
                                     INT64_MIN + 4};
    if (!beyond || randomBelow(8) == 0) return zscoreOf((double)randomBelow(40) / 4 - 3);
    return zscoreOfInteger(around[randomBelow(5)] + ((int64_t)randomBelow(9) - 4));
}

static struct zscoreRange zsetIndexTestRandomRange(void) {
    struct zscore min = zsetIndexTestRandomScore(), max = zsetIndexTestRandomScore();
    return (struct zscoreRange){min.value,      max.value,         randomBelow(2),
                                randomBelow(2), (int16_t)min.rest, (int16_t)max.rest};
}

static void checkRandomSlices(struct zsetRef z) {
    for (int i = 0; i < 20; i++) {
        struct zsetRange r = {.by = ZRANGE_SCORE, .reverse = randomBelow(2), .limit = -1};
        r.score = zsetIndexTestRandomRange();
        r.offset = (int64_t)randomBelow(10);
        if (randomBelow(2)) r.limit = (int64_t)randomBelow(40);
        checkSlice(z, &r);
    }
}

static void markSeen(void *priv, const struct zsetElement *e) {
    bool *seen = priv;
    struct zsetPair *p = zsetIndexTestModelFind(e->member);
    assert_non_null(p);
    assert_true(isSame(p->score, e->score));
    seen[p - model] = true;
}

static void markNumber(void *priv, const struct zsetElement *e) {
    unsigned char *seen = priv;
    seen[(size_t)e->score.value] = 1;
}

static void checkScan(struct zsetRef z) {
    bool seen[MODEL_MAX] = {false};
    uint64_t cursor = 0;
    do cursor = z.index->scan(z.ptr, cursor, markSeen, seen);
    while (cursor);
    for (size_t i = 0; i < count; i++) assert_true(seen[i]);
}

static void checkCopy(struct zsetRef z) {
    struct zsetRef copy = {z.index->copy(z.ptr), z.index};
    checkInvariants(copy);
    zsetIndexTestCheckAll(copy);
    copy.ptr = copy.index->eraseRange(copy.ptr, 0, count); /* the original must not change */
    assert_int_equal(zsetLength(copy), 0);
    copy.index->destroy(copy.ptr);
    zsetIndexTestCheckAll(z);
}

/* ---- Random operations ---- */

static struct str zsetIndexTestRandomName(char *buf) {
    static const char *const prefixes[] = {"", "-", "m:", "a longer member "};
    const char *prefix = prefixes[randomBelow(4)];
    size_t len = strlen(prefix);
    memcpy(buf, prefix, len);
    return strN(buf, len + ull2string(buf + len, randomBelow(40)));
}

static void putRandom(struct zsetRef *z) {
    char buf[NAME_SIZE];
    struct zsetPlace p;
    struct str name = zsetIndexTestRandomName(buf);
    struct zscore score = zsetIndexTestRandomScore();
    bool known = zsetFind(*z, name, &p);
    assert_int_equal(known, zsetIndexTestModelFind(name) != NULL);
    if (!known && count == MODEL_MAX) return;
    z->ptr = known ? z->index->update(z->ptr, name, score, &p) : z->index->insert(z->ptr, name, score, &p);
    zsetIndexTestModelPut(name, score);
}

static void eraseRandom(struct zsetRef *z) {
    char buf[NAME_SIZE];
    struct zsetPlace p;
    struct str name = zsetIndexTestRandomName(buf);
    struct zsetPair *known = zsetIndexTestModelFind(name);
    assert_int_equal(zsetFind(*z, name, &p), known != NULL);
    if (!known) return;
    z->ptr = z->index->erase(z->ptr, &p);
    modelErase((size_t)(known - model), 1);
}

static void eraseRandomRange(struct zsetRef *z) {
    if (!count) return;
    size_t at = randomBelow(count), n = 1 + randomBelow(count - at < 8 ? count - at : 8);
    z->ptr = z->index->eraseRange(z->ptr, at, n);
    modelErase(at, n);
}

static void testRandomOperations(void **state) {
    struct zsetRef z = {.index = *state};
    z.ptr = z.index->create(0);
    count = 0;
    for (int step = 0; step < 4000; step++) {
        if (step % 500 == 0) beyond = randomBelow(2);
        switch (randomBelow(12)) {
        case 0: eraseRandomRange(&z); break;
        case 1:
        case 2: eraseRandom(&z); break;
        default: putRandom(&z);
        }
        checkInvariants(z);
        if (step % 20) continue;
        zsetIndexTestCheckAll(z);
        checkRandomSlices(z);
        checkScan(z);
        checkCopy(z);
    }
    beyond = false;
    assert_true(z.index->memory(z.ptr, 0) > count * sizeof(double));
    assert_true(z.index->allocations(z.ptr) >= 1);
    z.index->destroy(z.ptr);
}

/* ---- Another index ---- */

/* Whichever index is dropped has the first elements of the model, or all. */
static void checkBeginning(struct zsetRef z) {
    struct zsetIterator it = zsetIterate(z, 0);
    struct zsetElement e;
    size_t n = 0;
    for (; zsetNext(&it, &e); n++) {
        assert_true(n < count);
        assert_true(strEq(e.member, zsetIndexTestNameOf(&model[n])) && isSame(e.score, model[n].score));
    }
    assert_int_equal(n, zsetLength(z));
}

static bool changeOrConvert(struct zsetRef *z) {
    size_t wanted = 1 + randomBelow(4);
    switch (randomBelow(9)) {
    case 0: eraseRandomRange(z); return false;
    case 1: eraseRandom(z); return false;
    case 2:
    case 3: return zsetConvertingStep(*z, wanted) < wanted;
    default: putRandom(z); return false;
    }
}

/* Random operations on sets that are being converted, to the end or not. */
static void testConverting(void **state) {
    const struct zsetIndex *from = *state, *to = from == &zsetBtree ? &zsetSkiplist : &zsetBtree;
    unsigned complete = 0;
    for (int round = 0; round < 300; round++) {
        struct zsetRef z = {from->create(0), from}, dropped;
        bool all = false;
        count = 0;
        beyond = randomBelow(2);
        for (unsigned i = (unsigned)randomBelow(200); i > 0; i--) putRandom(&z);
        z = zsetConvertingBegin(z, to);
        assert_ptr_equal(zsetConvertingOld(z).index, from);
        for (unsigned steps = (unsigned)randomBelow(300); steps > 0 && !all; steps--) {
            all = changeOrConvert(&z);
            if (steps % 16) continue;
            zsetIndexTestCheckAll(z);
            checkRandomSlices(z);
            checkScan(z);
        }
        complete += all;
        z = zsetConvertingEnd(z, !all, &dropped);
        assert_ptr_equal(z.index, all ? to : from);
        assert_true(!all || zsetLength(dropped) == count);
        checkInvariants(z);
        checkInvariants(dropped);
        zsetIndexTestCheckAll(z);
        checkBeginning(dropped);
        zsetFree(dropped);
        zsetFree(z);
    }
    beyond = false;
    assert_in_range(complete, 30, 299);
}

/* A scan that began with one index goes on with the other: nothing is left out. */
static void testScanOverConversion(void **state) {
    enum { MANY = 20000 };
    const struct zsetIndex *from = *state, *to = from == &zsetBtree ? &zsetSkiplist : &zsetBtree;
    struct zsetRef z = {from->create(0), from}, dropped;
    unsigned char *seen = zcalloc(MANY, 1);
    char name[NAME_SIZE];
    for (unsigned i = 0; i < MANY; i++)
        z.ptr = z.index->append(z.ptr, strN(name, ull2string(name, i)), zscoreOf(i));
    uint64_t cursor = 0;
    for (unsigned calls = 0; calls < 300; calls++) {
        cursor = z.index->scan(z.ptr, cursor, markNumber, seen);
        assert_int_equal(cursor & 1, from == &zsetBtree);
    }
    memset(seen, 0, MANY); /* what has been passed may be passed again, and here all is */
    z = zsetConvertingBegin(z, to);
    while (zsetConvertingStep(z, 100) == 100) {
    }
    z = zsetConvertingEnd(z, false, &dropped);
    zsetFree(dropped);
    do cursor = z.index->scan(z.ptr, cursor, markNumber, seen);
    while (cursor);
    for (unsigned i = 0; i < MANY; i++) assert_int_equal(seen[i], 1);
    zsetFree(z);
    zfree(seen);
}

/* ---- Particular cases ---- */

static void testAppend(void **state) {
    struct zsetRef z = {.index = *state};
    z.ptr = z.index->create(MODEL_MAX);
    count = 0;
    for (int i = 0; i < MODEL_MAX; i++) {
        char name[NAME_SIZE] = "m";
        ll2string(name + 1, 1000 + i);
        zsetIndexTestModelPut(strOf(name), zscoreOf(i / 3));
    }
    for (size_t i = 0; i < count; i++)
        z.ptr = z.index->append(z.ptr, zsetIndexTestNameOf(&model[i]), model[i].score);
    checkInvariants(z);
    zsetIndexTestCheckAll(z);
    z.index->destroy(z.ptr);
}

/* Scores of all kinds come back equal; a listpack has no -0. */
static void testScores(void **state) {
    static const double scores[] = {-INFINITY, -1e300, -1e18,  -4.0e18,  -3.5,   -1,     5e-324, 0.1,
                                    1,         127,    128.25, 16777216, 4.1e18, 9.3e18, 1e300,  INFINITY};
    struct zsetRef z = {.index = *state};
    z.ptr = z.index->create(0);
    count = 0;
    for (size_t i = 0; i < sizeof scores / sizeof *scores; i++) {
        char name[NAME_SIZE] = "s";
        struct zsetPlace p;
        ll2string(name + 1, (int64_t)i);
        assert_false(zsetFind(z, strOf(name), &p));
        z.ptr = z.index->insert(z.ptr, strOf(name), zscoreOf(scores[i]), &p);
        zsetIndexTestModelPut(strOf(name), zscoreOf(scores[i]));
    }
    zsetIndexTestCheckAll(z);
    z.index->destroy(z.ptr);
}

static struct zsetSlice lexSlice(struct zsetRef z, struct zlexBound min, struct zlexBound max, bool reverse) {
    struct zsetSlice s;
    struct zsetRange r = {.by = ZRANGE_LEX, .reverse = reverse, .limit = -1, .lex = {.min = min, .max = max}};
    zsetSliceOf(z, &r, &s);
    return s;
}

static void testLexRanges(void **state) {
    struct zsetRef z = {.index = *state};
    z.ptr = z.index->create(0);
    for (const char *name = "abcdefg"; *name; name++)
        z.ptr = z.index->append(z.ptr, strN(name, 1), zscoreOf(0));
    const struct zlexBound low = {.kind = ZLEX_MIN}, high = {.kind = ZLEX_MAX};
    const struct zlexBound b = {ZLEX_VALUE, false, STR("b")}, afterB = {ZLEX_VALUE, true, STR("b")};
    const struct zlexBound e = {ZLEX_VALUE, false, STR("e")}, beforeE = {ZLEX_VALUE, true, STR("e")};
    for (int reverse = 0; reverse < 2; reverse++) {
        assert_int_equal(lexSlice(z, low, high, reverse).count, 7);
        assert_int_equal(lexSlice(z, b, e, reverse).count, 4);
        assert_int_equal(lexSlice(z, afterB, beforeE, reverse).count, 2);
        assert_int_equal(lexSlice(z, afterB, beforeE, reverse).rank, 2);
        assert_int_equal(lexSlice(z, e, b, reverse).count, 0);
        assert_int_equal(lexSlice(z, low, afterB, reverse).count, 1);
        assert_int_equal(lexSlice(z, high, low, reverse).count, 0);
    }
    z.index->destroy(z.ptr);
}

/* ---- Loading ---- */

static void setLarge(const struct zsetIndex *index) {
    const char *err;
    assert_true(configSet("zset-index", strOf(index->name), &err));
}

static void fillModel(size_t n, const char *prefix) {
    count = 0;
    for (size_t i = 0; i < n; i++) {
        char name[NAME_SIZE];
        size_t len = strlen(prefix);
        memcpy(name, prefix, len);
        ll2string(name + len, (int64_t)i);
        zsetIndexTestModelPut(strOf(name), zsetIndexTestRandomScore());
    }
}

/* Loads from the highest score down, with an element in the wrong place now and then. A second occurrence and
 * a score that is no number are refused. The limits decide whether it is a listpack. */
static void zsetIndexTestLoad(void **state) {
    const struct zsetIndex *large = *state;
    setLarge(large);
    for (size_t n = 0; n <= MODEL_MAX; n += 5) {
        for (int disorder = 0; disorder < 2; disorder++) {
            beyond = randomBelow(2);
            fillModel(n, disorder ? "member " : "12");
            struct zsetLoader l = zsetLoad(n);
            size_t skipped = disorder && n ? randomBelow(n) : n;
            for (size_t i = n; i--;)
                if (i != skipped)
                    assert_true(zsetLoadAdd(&l, zsetIndexTestNameOf(&model[i]), model[i].score));
            if (skipped < n)
                assert_true(zsetLoadAdd(&l, zsetIndexTestNameOf(&model[skipped]), model[skipped].score));
            if (n) assert_false(zsetLoadAdd(&l, zsetIndexTestNameOf(&model[n / 2]), zscoreOf(1000)));
            assert_false(zsetLoadAdd(&l, STR("new"), zscoreOf(NAN)));
            assert_ptr_equal(l.z.index, n <= LISTPACK_ENTRIES ? &zsetListpack : large);
            checkInvariants(l.z);
            zsetIndexTestCheckAll(l.z);
            zsetFree(l.z);
        }
    }
    beyond = false;
}

/* More elements than announced, or far fewer; and a member that is too long for a listpack. */
static void testLoadWrongSize(void **state) {
    const struct zsetIndex *large = *state;
    setLarge(large);
    fillModel(MODEL_MAX, "m");
    for (int i = 0; i < 3; i++) {
        struct zsetLoader l = zsetLoad((size_t[]){0, 3, SIZE_MAX}[i]);
        for (size_t k = count; k--;)
            assert_true(zsetLoadAdd(&l, zsetIndexTestNameOf(&model[k]), model[k].score));
        assert_ptr_equal(l.z.index, large);
        checkInvariants(l.z);
        zsetIndexTestCheckAll(l.z);
        zsetFree(l.z);
    }
    struct zsetLoader l = zsetLoad(2);
    assert_true(zsetLoadAdd(&l, STR("b"), zscoreOf(2)));
    assert_ptr_equal(l.z.index, &zsetListpack);
    assert_true(zsetLoadAdd(&l, STR("a member of more than sixty-four bytes, which no listpack may have"),
                            zscoreOf(1)));
    assert_ptr_equal(l.z.index, large);
    checkInvariants(l.z);
    assert_int_equal(zsetLength(l.z), 2);
    zsetFree(l.z);
}

/* Large sets: leaves and map of the B+ tree, several levels of the skiplist. From `ordered` on the elements
 * come in no order. */
static void zsetIndexTestLoadMany(const struct zsetIndex *index, int ordered, int64_t base) {
    enum { MANY = 20000 };
    setLarge(index);
    struct zsetLoader l = zsetLoad(randomBelow(2) * MANY);
    char name[NAME_SIZE];
    for (int n = 0; n < MANY; n++) {
        int i = n < ordered ? MANY - 1 - n : (int)((int64_t)(n - ordered) * 7919 % (MANY - ordered));
        struct str member = strN(name, ll2string(name, (int64_t)i * 7919 % 1000003));
        assert_true(zsetLoadAdd(&l, member, zscoreOfInteger(base + i / 2)));
        if (n % 100 == 0) assert_false(zsetLoadAdd(&l, member, zscoreOf(n)));
    }
    struct zsetRef z = zsetLoadEnd(&l);
    checkInvariants(z);
    assert_int_equal(zsetLength(z), MANY);
    struct zsetIterator it = zsetIterateDown(z);
    struct zsetElement e;
    for (int i = MANY; i--;) assert_true(zsetNext(&it, &e) && isSame(e.score, zscoreOfInteger(base + i / 2)));
    assert_false(zsetNext(&it, &e));
    zsetFree(z);
}

static void testLoadMany(void **state) {
    for (int exact = 0; exact < 2; exact++) {
        int64_t base = exact ? 1ll << 60 : 0;
        zsetIndexTestLoadMany(*state, 20000, base);
        zsetIndexTestLoadMany(*state, 10000, base);
        zsetIndexTestLoadMany(*state, 0, base);
    }
}

/* ---- Building, and adding many at once ---- */

static void zsetIndexTestBuild(void **state) {
    const struct zsetIndex *index = *state;
    static struct zsetItem items[MODEL_MAX];
    for (size_t n = 0; n <= MODEL_MAX; n++) {
        beyond = n % 4 == 1;
        fillModel(n, n % 3 ? "member " : "12");
        for (size_t i = 0; i < n; i++)
            items[i] = (struct zsetItem){zsetIndexTestNameOf(&model[i]), model[i].score, 0};
        struct zsetRef z = {index->build(items, n), index};
        checkInvariants(z);
        zsetIndexTestCheckAll(z);
        if (n) checkRandomSlices(z);
        z.index->destroy(z.ptr);
    }
    beyond = false;
}

/* Pairs are added to a set one by one and at once to another one, with members that come twice
 * and scores of -0. Results, encodings, and elements are equal. */
enum { MANY_PAIRS = 90 };
struct manyPairs {
    char names[MANY_PAIRS][80];
    struct str argv[2 * MANY_PAIRS];
    struct zscore scores[MANY_PAIRS];
    size_t count;
    int flags;
};

static void zsetIndexTestRandomPairs(struct manyPairs *m) {
    static const int flags[] = {0,       0,       ZADD_NX,           ZADD_XX,
                                ZADD_GT, ZADD_LT, ZADD_XX | ZADD_GT, ZADD_XX | ZADD_LT};
    uint64_t universe = 20 + randomBelow(200);
    m->count = 4 + randomBelow(MANY_PAIRS - 3);
    m->flags = flags[randomBelow(sizeof flags / sizeof *flags)];
    for (size_t i = 0; i < m->count; i++) {
        char *name = m->names[i];
        size_t len = ull2string(name, randomBelow(universe));
        if (randomBelow(3) == 0) name[len++] = 'x';
        if (randomBelow(400) == 0) memset(name + len, 'y', 65), len += 65;
        m->argv[2 * i] = strN(name, len);
        m->scores[i] = randomBelow(10) ? zsetIndexTestRandomScore() : zscoreOf(-0.0);
        if (randomBelow(50) == 0) m->scores[i] = zscoreOf(randomBelow(2) ? INFINITY : 5e18);
    }
}

static void zsetIndexTestAddOneByOne(struct zsetRef *z, const struct manyPairs *m,
                                     struct zsetAddedCounts *counts) {
    *counts = (struct zsetAddedCounts){0};
    for (size_t i = 0; i < m->count; i++) {
        struct zscore score = m->scores[i];
        enum zsetAdded done = zsetAdd(z, m->argv[2 * i], &score, m->flags);
        counts->added += done == ZADD_ADDED;
        counts->updated += done == ZADD_UPDATED;
    }
}

static void zsetIndexTestCheckEqual(struct zsetRef a, struct zsetRef b) {
    struct zsetIterator x = zsetIterate(a, 0), y = zsetIterate(b, 0);
    struct zsetElement e, f;
    assert_ptr_equal(a.index, b.index);
    assert_int_equal(zsetLength(a), zsetLength(b));
    while (zsetNext(&x, &e)) {
        assert_true(zsetNext(&y, &f));
        assert_true(strEq(e.member, f.member) && isSame(e.score, f.score) &&
                    signbit(e.score.value) == signbit(f.score.value));
    }
}

static void testAddMany(void **state) {
    static struct manyPairs m;
    unsigned bulks = 0, converted = 0;
    setLarge(*state);
    for (unsigned i = 0; i < 3000; i++) {
        struct zsetAddedCounts one, many;
        beyond = i % 3 == 0;
        size_t announced = randomBelow(60);
        struct zsetRef a = zsetNew(announced, 0), b = {NULL, a.index};
        for (unsigned times = 1 + (unsigned)randomBelow(4); times; times--) {
            do zsetIndexTestRandomPairs(&m);
            while (!b.ptr && m.flags & ZADD_XX);
            zsetIndexTestAddOneByOne(&a, &m, &one);
            if (zsetAddsInBulk(b, m.count)) {
                const struct zsetIndex *before = b.index;
                many = zsetAddMany(&b, m.argv, m.scores, m.count, m.flags);
                bulks++;
                converted += b.index != before;
            } else {
                zsetIndexTestAddOneByOne(&b, &m, &many);
            }
            assert_int_equal(one.added, many.added);
            assert_int_equal(one.updated, many.updated);
            zsetIndexTestCheckEqual(a, b);
            checkInvariants(b);
        }
        zsetFree(a);
        zsetFree(b);
    }
    beyond = false;
    assert_true(bulks > 1000 && converted > 100);
}

/* ---- Sorting ---- */

/* The hash is the number of the item, by which it is known after sorting. */
static void zsetIndexTestRandomRun(struct zsetItems *items, size_t run) {
    static const char *const names[] = {"a", "b", "ab", "", "abcdefghij", "abcdefghik"};
    struct zsetItems sorted;
    zsetItemsInit(&sorted, 0);
    for (; run; run--) {
        struct zscore score = {(double)randomBelow(8) - 4, randomBelow(4) ? 0 : (int)randomBelow(3) - 1};
        zsetItemsAdd(&sorted, strOf(names[randomBelow(6)]), score, false);
    }
    zsetItemsSort(&sorted);
    for (size_t i = 0; i < sorted.count; i++) {
        struct zsetItem *item = zsetItemsAdd(items, sorted.item[i].member, sorted.item[i].score, false);
        item->hash = items->count;
    }
    zsetItemsFree(&sorted);
}

/* Items in one run, in two, which are merged, and in more. */
static void testSortItems(void **state) {
    (void)state;
    for (unsigned round = 0; round < 3000; round++) {
        struct zsetItems items;
        uint64_t sum = 0;
        zsetItemsInit(&items, randomBelow(2) ? 50 : 0);
        for (uint64_t runs = randomBelow(4); runs; runs--) zsetIndexTestRandomRun(&items, randomBelow(120));
        size_t n = items.count;
        zsetItemsSort(&items);
        assert_int_equal(items.count, n);
        for (size_t i = 0; i < n; i++) {
            const struct zsetItem *item = &items.item[i];
            sum += item->hash;
            if (!i) continue;
            int order = zscoreCompare(item[-1].score, item->score);
            assert_true(order < 0 || (!order && strCmp(item[-1].member, item->member) <= 0));
        }
        assert_int_equal(sum, n * (n + 1) / 2);
        zsetItemsFree(&items);
    }
}

/* ---- Moving ---- */

/* Every allocation, or every other one, is moved, and the old bytes are overwritten. */
static size_t moves;
static void *zsetIndexTestMoveSome(void *priv, void *ptr) {
    if (moves++ % *(size_t *)priv) return NULL;
    size_t size = zmallocSize(ptr);
    void *now = size % 64 ? zmalloc(size) : zmallocAligned(64, size);
    memcpy(now, ptr, size);
    memset(ptr, 0xaa, size);
    zfree(ptr);
    return now;
}

/* Every third one has a rest. */
static struct zscore scoreOfNumber(int i) {
    return i % 3 ? zscoreOf(i) : zscoreOfInteger((1ll << 61) + i);
}

static void zsetIndexTestDefragAll(struct zsetRef *z, size_t every) {
    uint64_t cursor = 0;
    do z->ptr = z->index->defrag(z->ptr, &cursor, zsetIndexTestMoveSome, &every);
    while (cursor);
}

static void testDefrag(void **state) {
    char name[600];
    struct zsetPlace p;
    for (int many = 1; many < 20000; many *= 11) {
        struct zsetRef z = {.index = *state};
        if (z.index == &zsetListpack && many > 100) break;
        z.ptr = z.index->create(0);
        for (int i = 0; i < many; i++) {
            size_t len = ll2string(name, i);
            if (i % 50 == 7) memset(name + len, 'x', 400), len += 400; /* stored outside of the leaf */
            assert_false(zsetFind(z, strN(name, len), &p));
            z.ptr = z.index->insert(z.ptr, strN(name, len), scoreOfNumber(i * 7919 % many), &p);
        }
        for (size_t every = 1; every <= 3; every++) {
            moves = 0;
            zsetIndexTestDefragAll(&z, every);
            assert_true(every > 1 || moves >= z.index->allocations(z.ptr) / 2);
            checkInvariants(z);
        }
        assert_int_equal(zsetLength(z), many);
        for (int i = 0; i < many; i++) {
            size_t len = ll2string(name, i);
            if (i % 50 == 7) memset(name + len, 'x', 400), len += 400;
            assert_true(zsetFind(z, strN(name, len), &p));
            assert_true(isSame(p.score, scoreOfNumber(i * 7919 % many)));
            if (i % 3 == 0) z.ptr = z.index->erase(z.ptr, &p); /* it can be changed, and freed */
        }
        checkInvariants(z);
        z.index->destroy(z.ptr);
    }
}

static unsigned char *packOf(const char *const *text) {
    unsigned char *lp = lpNew(0);
    for (; *text; text++) lp = lpAppend(lp, strOf(*text));
    return lp;
}

static void testFromListpack(void **state) {
    static const char *const good[] = {"b", "-inf", "7", "1", "a", "1.5", "c", "1.5", NULL};
    static const char *const odd[] = {"a", "1", "b", NULL}, *const empty[] = {NULL};
    static const char *const text[] = {"a", "1", "b", "x", NULL}, *const nan[] = {"a", "nan", NULL};
    static const char *const twice[] = {"a", "1", "b", "2", "a", "3", NULL};
    static const char *const order[] = {"a", "2", "b", "1", NULL}, *const ties[] = {"b", "1", "a", "1", NULL};
    const struct zsetIndex *large = *state;
    struct zsetRef z;
    setLarge(large);
    for (int deep = 0; deep < 2; deep++) {
        assert_true(zsetFromListpack(packOf(good), deep, &z));
        assert_ptr_equal(z.index, &zsetListpack);
        assert_int_equal(zsetLength(z), 4);
        zsetFree(z);
        assert_false(zsetFromListpack(packOf(odd), deep, &z));
        assert_false(zsetFromListpack(packOf(empty), deep, &z));
        assert_false(zsetFromListpack(packOf(text), deep, &z));
        assert_false(zsetFromListpack(packOf(nan), deep, &z));
    }
    assert_false(zsetFromListpack(packOf(twice), true, &z));
    assert_false(zsetFromListpack(packOf(order), true, &z));
    assert_false(zsetFromListpack(packOf(ties), true, &z));

    fillModel(LISTPACK_ENTRIES + 1, "m");
    struct zsetRef lp = {lpNew(0), &zsetListpack};
    for (size_t i = 0; i < count; i++)
        lp.ptr = lp.index->append(lp.ptr, zsetIndexTestNameOf(&model[i]), model[i].score);
    assert_true(zsetFromListpack(lp.ptr, true, &z));
    assert_ptr_equal(z.index, large);
    zsetIndexTestCheckAll(z);
    zsetFree(z);
}

/* Bytes of a table slot when the table is emptiest. Builds for leak checkers keep addresses in it once
 * more. */
#ifdef LEAK_CHECKED
#define SLOT_BYTES_MAX 30
#else
#define SLOT_BYTES_MAX 14
#endif

/* Bytes per member beside the member itself, by its length: random doubles, added in the order of their
 * names. */
static void testBytesBeside(void **state) {
    enum { MANY = 20000, LONGEST = 300 };
    static const size_t lengths[] = {6, 10, 14, 20, 28, 36, 48, 200, LONGEST};
    const struct zsetIndex *index = *state;
    char name[LONGEST + 1];
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t len = lengths[i], before = zmallocUsedMemory();
        struct zsetRef z = {index->create(0), index};
        memset(name, 'x', sizeof name);
        for (unsigned k = 0; k < MANY; k++) {
            struct zsetPlace p;
            memcpy(name, (char[]){(char)k, (char)(k >> 8)}, 2);
            assert_false(zsetFind(z, strN(name, len), &p));
            z.ptr = index->insert(z.ptr, strN(name, len), zscoreOf(randomDouble()), &p);
        }
        double bytes = (double)(zmallocUsedMemory() - before) / MANY - (double)len;
        size_t reported = index->memory(z.ptr, 0), used = zmallocUsedMemory() - before;
        assert_in_range(reported, used - used / 50, used + used / 50);
        if (index == &zsetSkiplist) /* a node of height 1, a third of a level more, a slot of the table */
            assert_true(bytes <= (double)(zmallocGoodSize(24 + len) - len) + 8 + SLOT_BYTES_MAX);
        else if (len < LONGEST) /* 3 and 7 for the score; its part of leaf and map; a tenth is unused */
            assert_true(bytes <= 11 + 3 + 8.5 + (double)len / 8);
        checkInvariants(z);
        zsetFree(z);
        assert_int_equal(zmallocUsedMemory(), before);
    }
}

int main(void) {
    modelSeed();
    const char *err;
    union {
        const struct zsetIndex *index;
        void *state;
    } lp = {&zsetListpack}, sl = {&zsetSkiplist}, bt = {&zsetBtree};
    zsetInit();
    if (!configSet("zset-max-listpack-entries", STR("40"), &err)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(testRandomOperations, lp.state),
        cmocka_unit_test_prestate(testRandomOperations, sl.state),
        cmocka_unit_test_prestate(testAppend, lp.state),
        cmocka_unit_test_prestate(testAppend, sl.state),
        cmocka_unit_test_prestate(testScores, lp.state),
        cmocka_unit_test_prestate(testScores, sl.state),
        cmocka_unit_test_prestate(testLexRanges, lp.state),
        cmocka_unit_test_prestate(testLexRanges, sl.state),
        cmocka_unit_test_prestate(testRandomOperations, bt.state),
        cmocka_unit_test_prestate(testAppend, bt.state),
        cmocka_unit_test_prestate(testScores, bt.state),
        cmocka_unit_test_prestate(testLexRanges, bt.state),
        cmocka_unit_test_prestate(testConverting, sl.state),
        cmocka_unit_test_prestate(testConverting, bt.state),
        cmocka_unit_test_prestate(testScanOverConversion, sl.state),
        cmocka_unit_test_prestate(testScanOverConversion, bt.state),
        cmocka_unit_test_prestate(zsetIndexTestLoad, sl.state),
        cmocka_unit_test_prestate(zsetIndexTestLoad, bt.state),
        cmocka_unit_test_prestate(testLoadWrongSize, sl.state),
        cmocka_unit_test_prestate(testLoadWrongSize, bt.state),
        cmocka_unit_test_prestate(testLoadMany, sl.state),
        cmocka_unit_test_prestate(testLoadMany, bt.state),
        cmocka_unit_test_prestate(testFromListpack, sl.state),
        cmocka_unit_test_prestate(testFromListpack, bt.state),
        cmocka_unit_test_prestate(zsetIndexTestBuild, lp.state),
        cmocka_unit_test_prestate(zsetIndexTestBuild, sl.state),
        cmocka_unit_test_prestate(zsetIndexTestBuild, bt.state),
        cmocka_unit_test_prestate(testAddMany, sl.state),
        cmocka_unit_test_prestate(testAddMany, bt.state),
        cmocka_unit_test(testSortItems),
        cmocka_unit_test_prestate(testDefrag, lp.state),
        cmocka_unit_test_prestate(testDefrag, sl.state),
        cmocka_unit_test_prestate(testDefrag, bt.state),
        cmocka_unit_test_prestate(testBytesBeside, sl.state),
        cmocka_unit_test_prestate(testBytesBeside, bt.state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
