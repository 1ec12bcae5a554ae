/* SPDX-License-Identifier: BSD-3-Clause */
/* zbtree_test.c - the B+ tree against a naive sorted array, under random operations.
 *
 *   MODEL_OPS=n   number of operations (default 1,000,000); 10000000 for the long run, 50000 under
 * valgrind
 *   SEED=n        repeat a run; the seed is printed
 *   --bench       ns per operation and bytes per member compared to the skiplist, instead of the tests
 *
 * Members are numbered, so that the model finds out at once which are present. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "base/model_ops.h"
#include "base/random.h"
#include "ds/hashtable.h"
#include "ds/zbtree_private.h"

/* ---- Members ---- */

#define UNIVERSE   32768
#define MEMBER_MAX 700

static struct str memberOf[UNIVERSE];
static uint64_t hashOf[UNIVERSE];
#define ID_SLOTS (4 * UNIVERSE)
static unsigned idSlots[ID_SLOTS]; /* by hash: the member's number, plus 1 */

/* Makes members of all kinds: empty, binary, with shared prefixes, around the longest that is stored
 * inline, and usual ones. */
static size_t makeMember(char *buf, unsigned id) {
    size_t len;
    if (id == 0) return 0;
    switch (id % 8) {
    case 0: memcpy(buf, &id, 2), buf[2] = '\0'; return 3;
    case 1: memcpy(buf, "\0\xff\0\xff", 4), memcpy(buf + 4, &id, 2); return 6;
    case 2:
        len = 10 + id % 61;
        memset(buf, 'a', len);
        return len + (size_t)sprintf(buf + len, "%u", id);
    case 3:
        if (id % 128 > 8) return (size_t)sprintf(buf, "user:%u:profile", id);
        len = 240 + id % 21;
        memset(buf, 'b', len);
        memcpy(buf + 100, &id, 2);
        return len;
    case 4:
        if (id % 256 != 4) return (size_t)sprintf(buf, "%u", id);
        len = 400 + id % 200;
        memset(buf, 'c', len);
        return len + (size_t)sprintf(buf + len, "%u", id);
    default: return (size_t)sprintf(buf, "member:%u", id);
    }
}

static void makeUniverse(void) {
    char buf[MEMBER_MAX];
    for (unsigned id = 0; id < UNIVERSE; id++) {
        size_t len = makeMember(buf, id);
        char *own = zmalloc(len + 1);
        memcpy(own, buf, len);
        memberOf[id] = strN(own, len);
        hashOf[id] = hashBytes(own, len);
        size_t at = hashOf[id] % ID_SLOTS;
        while (idSlots[at]) at = (at + 1) % ID_SLOTS;
        idSlots[at] = id + 1;
    }
}

static void freeUniverse(void) {
    for (unsigned id = 0; id < UNIVERSE; id++) zfree((char *)memberOf[id].ptr);
}

/* ---- The model: members in order, and which are present ---- */

struct zbtModelEntry {
    struct zscore score;
    unsigned id;
};
static struct zbtModelEntry model[UNIVERSE];
static size_t modelLen;
static bool present[UNIVERSE];
static struct zscore scoreOf[UNIVERSE];
static zbtree *tree;

static bool zbtreeTestIsBefore(const struct zbtModelEntry *e, struct zscore score, struct str member) {
    int order = zscoreCompare(e->score, score);
    return order ? order < 0 : strCmp(memberOf[e->id], member) < 0;
}

static size_t zbtreeTestModelPlace(struct zscore score, struct str member) {
    size_t low = 0, high = modelLen;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (zbtreeTestIsBefore(&model[mid], score, member))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void zbtreeTestModelPut(unsigned id, struct zscore score) {
    size_t at = zbtreeTestModelPlace(score, memberOf[id]);
    memmove(&model[at + 1], &model[at], (modelLen - at) * sizeof *model);
    model[at] = (struct zbtModelEntry){score, id};
    modelLen++;
    present[id] = true;
    scoreOf[id] = score;
}

static void zbtreeTestModelTake(size_t at, size_t count) {
    for (size_t i = at; i < at + count; i++) present[model[i].id] = false;
    memmove(&model[at], &model[at + count], (modelLen - at - count) * sizeof *model);
    modelLen -= count;
}

/* ---- Random keys: each epoch has a kind of scores ---- */

enum scores {
    DENSE,
    EQUAL,
    RISING,
    FALLING,
    STAMPS,
    FRACTIONS,
    DECIMALS,
    SCALED_LIMIT,
    REALS,
    BELOW_ZERO,
    NARROW_LIMIT,
    HUGE_INTEGERS,
    ANYTHING,
    SCORE_KINDS
};
static enum scores kind;
static double tide;

static double zbtreeTestRandomScore(void) {
    static const double odd[] = {0.0,    -0.0, INFINITY,           -INFINITY,        1e-300,
                                 -1e300, 0.1,  4503599627370497.5, 9007199254740994, -9007199254740992};
    switch (kind == ANYTHING ? randomBelow(ANYTHING) : kind) {
    case DENSE: return (double)randomBelow(3000) - 1000;
    case EQUAL: return randomBelow(2) ? 0.0 : -0.0;
    case RISING: return tide += (double)randomBelow(4);
    case FALLING: return tide -= (double)randomBelow(4);
    case STAMPS: return 1.7e12 + (double)randomBelow(1000000000);
    case FRACTIONS: return (double)randomBelow(5000) / 4;
    case DECIMALS: /* few have many decimals */
        return ((double)randomBelow(100000) - 50000) /
               (randomBelow(10) ? 10 : zbt_units[randomBelow(ZBT_SCALES)]);
    case SCALED_LIMIT: return (1e15 + (double)randomBelow(1000) - 500) / zbt_units[randomBelow(3)];
    case REALS: return randomBelow(500) ? randomDouble() : randomDouble() * 1e9;
    case BELOW_ZERO: return -1e6 - randomDouble() * (double)(randomBelow(100) ? 1 : 1000);
    case NARROW_LIMIT: return (randomBelow(8) ? 9e15 : 9007199254740992.0) + (double)randomBelow(100) - 50;
    default:
        return randomBelow(4) ? (double)((int64_t)randomU64() >> (10 + randomBelow(20)))
                              : odd[randomBelow(sizeof odd / sizeof *odd)];
    }
}

/* To the tree a rest is a number that decides between equal values, whatever the value is. In half of the
 * epochs there is none. */
static bool rests;

static struct zscore zbtreeTestRestOn(double value) {
    static const int some[] = {1, -1, 2, ZSCORE_REST_MAX, -ZSCORE_REST_MAX};
    return (struct zscore){value, rests && randomBelow(2) ? some[randomBelow(5)] : 0};
}

static unsigned randomAbsent(void) {
    unsigned id;
    do id = (unsigned)randomBelow(UNIVERSE);
    while (present[id]);
    return id;
}

/* ---- Operations: each changes both and compares the results ---- */

static void zbtreeTestExpectAt(struct zbtPos p, size_t at) {
    assert_true(strEq(zbtMember(p), memberOf[model[at].id]));
    assert_int_equal(zscoreCompare(zbtScore(p), model[at].score), 0);
    assert_true(signbit(zbtValue(p)) == signbit(model[at].score.value));
}

static struct zbtPos zbtreeTestFind(size_t at) {
    struct zbtPos p;
    unsigned id = model[at].id;
    p = zbtFind(tree, memberOf[id], hashOf[id]);
    assert_non_null(p.leaf);
    zbtreeTestExpectAt(p, at);
    return p;
}

static void zbtreeTestOpInsert(void) {
    if (modelLen >= UNIVERSE / 2) return;
    unsigned id = randomAbsent();
    struct zscore score = zbtreeTestRestOn(zbtreeTestRandomScore());
    assert_null(zbtFind(tree, memberOf[id], hashOf[id]).leaf);
    if (zbtreeTestModelPlace(score, memberOf[id]) == modelLen && randomBelow(2))
        tree = zbtAppend(tree, score, memberOf[id]);
    else
        tree = zbtInsert(tree, score, memberOf[id], hashOf[id]);
    zbtreeTestModelPut(id, score);
}

static size_t randomPlace(void) {
    switch (randomBelow(6)) {
    case 0: return 0;
    case 1: return modelLen - 1;
    default: return randomBelow(modelLen);
    }
}

static void opErase(void) {
    if (!modelLen) return;
    size_t at = randomPlace();
    tree = zbtErase(tree, zbtreeTestFind(at), hashOf[model[at].id]);
    zbtreeTestModelTake(at, 1);
}

static void zbtreeTestOpUpdate(void) {
    if (!modelLen) return;
    size_t at = randomBelow(modelLen);
    struct zbtModelEntry e = model[at];
    switch (randomBelow(5)) {
    case 0: e.score.value += 1; break;
    case 1: e.score.value -= randomBelow(2) ? 1 : 1e-3; break;
    case 2: e.score.value += (double)randomBelow(200) - 100; break;
    case 3: e.score = zbtreeTestRestOn(e.score.value); break;
    default: e.score = zbtreeTestRestOn(zbtreeTestRandomScore());
    }
    tree = zbtUpdate(tree, zbtreeTestFind(at), e.score, hashOf[e.id]);
    zbtreeTestModelTake(at, 1);
    zbtreeTestModelPut(e.id, e.score);
    zbtreeTestFind(zbtreeTestModelPlace(e.score, memberOf[e.id]));
}

static void zbtreeTestOpRank(void) {
    struct zbtPos p;
    assert_false(zbtAtRank(tree, modelLen, &p));
    assert_false(zbtAtRank(tree, UINT64_MAX, &p));
    if (!modelLen) return;
    size_t at = randomPlace();
    assert_int_equal(zbtRank(tree, zbtreeTestFind(at)), at);
    assert_true(zbtAtRank(tree, at, &p));
    zbtreeTestExpectAt(p, at);
    bool back = randomBelow(2);
    for (int i = 0; i < 20; i++, at += back ? -1ul : 1) {
        zbtreeTestExpectAt(p, at);
        bool more = zbtStep(&p, back);
        assert_int_equal(more, back ? at > 0 : at + 1 < modelLen);
        if (!more) break;
    }
}

static void expectSought(bool found, struct zbtPos p, bool exists, size_t at, uint64_t rank) {
    assert_int_equal(found, exists);
    if (!exists) return;
    zbtreeTestExpectAt(p, at);
    assert_int_equal(zbtRank(tree, p), at);
    assert_int_equal(rank, at);
}

static struct zscore scoreNear(void) {
    struct zscore near = modelLen ? model[randomBelow(modelLen)].score : zscoreOf(0);
    if (randomBelow(2)) return zbtreeTestRestOn(zbtreeTestRandomScore());
    return randomBelow(2) ? near : zbtreeTestRestOn(near.value);
}

static void zbtreeTestOpScoreRange(void) {
    struct zscore min = scoreNear(), max = scoreNear();
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
    struct zbtPos p = {0};
    uint64_t rank;
    bool found = zbtSeekScore(tree, &r, false, &p, &rank);
    expectSought(found, p, from < to, from, rank);
    found = zbtSeekScore(tree, &r, true, &p, &rank);
    expectSought(found, p, from < to, to - 1, rank);
    if (from >= to) return;
    bool last = randomBelow(2);
    size_t at = from + randomBelow(to - from), end = last ? to - 1 : from;
    p = zbtreeTestFind(at);
    if (zbtSeekScoreFrom(&p, &r, last)) zbtreeTestExpectAt(p, end);
}

static struct zlexBound zbtreeTestRandomBound(void) {
    struct zlexBound b = {ZLEX_VALUE, randomBelow(2), {NULL, 0}};
    uint64_t which = randomBelow(8);
    if (which < 2) b.kind = which ? ZLEX_MAX : ZLEX_MIN;
    if (b.kind == ZLEX_VALUE)
        b.value = memberOf[which < 5 && modelLen ? model[randomBelow(modelLen)].id : randomBelow(UNIVERSE)];
    return b;
}

static bool zbtreeTestAboveMin(struct str m, const struct zlexBound *b) {
    if (b->kind != ZLEX_VALUE) return b->kind == ZLEX_MIN;
    return b->exclusive ? strCmp(m, b->value) > 0 : strCmp(m, b->value) >= 0;
}
static bool zbtreeTestBelowMax(struct str m, const struct zlexBound *b) {
    if (b->kind != ZLEX_VALUE) return b->kind == ZLEX_MAX;
    return b->exclusive ? strCmp(m, b->value) < 0 : strCmp(m, b->value) <= 0;
}

static void zbtreeTestOpLexRange(void) {
    struct zlexRange r = {zbtreeTestRandomBound(), zbtreeTestRandomBound()};
    if (modelLen &&
        zscoreCompare(model[0].score,
                      model[modelLen - 1].score)) { /* the range has no meaning here, but must be harmless */
        struct zbtPos p;
        uint64_t rank;
        zbtSeekLex(tree, &r, randomBelow(2), &p, &rank);
        return;
    }
    size_t from = 0, to = modelLen;
    while (from < modelLen && !zbtreeTestAboveMin(memberOf[model[from].id], &r.min)) from++;
    while (to > 0 && !zbtreeTestBelowMax(memberOf[model[to - 1].id], &r.max)) to--;
    struct zbtPos p = {0};
    uint64_t rank;
    bool found = zbtSeekLex(tree, &r, false, &p, &rank);
    expectSought(found, p, from < to, from, rank);
    found = zbtSeekLex(tree, &r, true, &p, &rank);
    expectSought(found, p, from < to, to - 1, rank);
}

static void opEraseRange(void) {
    uint64_t rank = randomBelow(modelLen + 2), count = randomBelow(randomBelow(4) ? 20 : modelLen + 5);
    if (randomBelow(modelLen + 50) == 0) count = UINT64_MAX;
    tree = zbtEraseRange(tree, rank, count);
    if (rank >= modelLen) return;
    zbtreeTestModelTake(rank, count > modelLen - rank ? modelLen - rank : count);
}

/* ---- SCAN, with changes between the calls ---- */

static bool throughout[UNIVERSE], scanned[UNIVERSE];

static void onScan(void *priv, struct str member, struct zscore score) {
    struct zbtPos p;
    (void)priv;
    p = zbtFind(tree, member, hashBytes(member.ptr, member.len));
    assert_non_null(p.leaf);
    assert_int_equal(zscoreCompare(zbtScore(p), score), 0);
    for (size_t at = zbtreeTestModelPlace(score, member); at < modelLen; at++) {
        if (!strEq(memberOf[model[at].id], member)) continue;
        scanned[model[at].id] = true;
        return;
    }
    fail();
}

static void zbtreeTestRandomStep(size_t target);

static void opScan(size_t target) {
    uint64_t cursor = 0, between = randomBelow(3), calls = 0;
    memcpy(throughout, present, sizeof present);
    memset(scanned, 0, sizeof scanned);
    do {
        cursor = zbtScan(tree, cursor, onScan, NULL);
        assert_true(cursor < 1ull << 53);
        for (uint64_t i = 0; i < between && calls < 500; i++) {
            zbtreeTestRandomStep(target);
            if (randomBelow(8) == 0) opEraseRange();
            for (unsigned id = 0; id < UNIVERSE; id++) throughout[id] &= present[id];
        }
        assert_true(++calls < 1000000);
    } while (cursor);
    for (unsigned id = 0; id < UNIVERSE; id++) assert_true(scanned[id] || !throughout[id]);
}

/* ---- Walks, with changes between their steps ---- */

static struct zbtWalk walk;
static bool walking, wanted[UNIVERSE], passed[UNIVERSE];
static struct zscore wantedScore[UNIVERSE];
static unsigned walkRate, walksWhole, walksEnded; /* rate: steps in 256 changes */

static unsigned zbtreeTestIdOf(struct str member) {
    size_t at = hashBytes(member.ptr, member.len) % ID_SLOTS;
    while (idSlots[at] && !strEq(memberOf[idSlots[at] - 1], member)) at = (at + 1) % ID_SLOTS;
    assert_true(idSlots[at]);
    return idSlots[at] - 1;
}

static void onPass(struct zbtWalk *w, const struct zbtLeaf *l) {
    assert_ptr_equal(w, &walk);
    for (unsigned i = 0; i < l->count; i++) {
        struct zbtPos p = {(struct zbtLeaf *)l, i};
        unsigned id = zbtreeTestIdOf(zbtMember(p));
        struct zscore score = zbtScore(p);
        assert_true(wanted[id] && !passed[id]);
        assert_memory_equal(&score.value, &wantedScore[id].value, sizeof score.value);
        assert_int_equal(score.rest, wantedScore[id].rest);
        passed[id] = true;
    }
}

static void zbtreeTestBeginWalk(void) {
    memcpy(wanted, present, sizeof present);
    memcpy(wantedScore, scoreOf, sizeof scoreOf);
    memset(passed, 0, sizeof passed);
    walk = (struct zbtWalk){.pass = onPass};
    zbtWalkStart(tree, &walk);
    walkRate = (unsigned)randomBelow(3) ? (unsigned)randomBelow(64) : (unsigned)randomBelow(256);
    walking = true;
}

/* Ends the walk, early or (whole) at its end. */
static void zbtreeTestEndWalk(bool whole) {
    if (!walking) return;
    while (whole && zbtWalkStep(tree)) {
    }
    for (unsigned id = 0; whole && id < UNIVERSE; id++) assert_true(passed[id] == wanted[id]);
    zbtWalkEnd(tree);
    walking = false;
    whole ? walksWhole++ : walksEnded++;
}

/* A leaf that is freed keeps its contents for a while: without this, a walk could go on there unseen. */
static void zbtreeTestWalkIsInTree(void) {
    const struct zbtLeaf *l = tree->last;
    while (l && l != walk.next) l = l->prev;
    assert_ptr_equal(l, walk.next);
}

static void zbtreeTestOpWalk(void) {
    if (!walking && modelLen > ZBT_WALK_MIN && randomBelow(500) == 0) zbtreeTestBeginWalk();
    if (!walking) return;
    zbtreeTestWalkIsInTree();
    if (randomBelow(256) < walkRate && !zbtWalkStep(tree)) zbtreeTestEndWalk(true);
    if (randomBelow(4000) == 0) zbtreeTestEndWalk(randomBelow(2));
}

/* ---- Comparing the whole ---- */

static void zbtreeTestCompareAll(zbtree *t) {
    struct zbtPos p = {NULL, 0};
    assert_int_equal(zbtLength(t), modelLen);
    bool more = zbtAtRank(t, 0, &p);
    for (size_t i = 0; i < modelLen; i++, more = zbtStep(&p, false)) {
        assert_true(more);
        zbtreeTestExpectAt(p, i);
    }
    assert_false(more);
}

static void zbtreeTestVerifyAll(void) {
    zbtVerify(tree);
    zbtreeTestCompareAll(tree);
}

/* Replaces the tree by its copy. */
static void opCopy(void) {
    zbtree *copy = zbtCopy(tree);
    zbtreeTestEndWalk(randomBelow(2));
    zbtFree(tree);
    tree = copy;
    zbtreeTestVerifyAll();
}

/* Replaces the tree by one that is built of the model. */
static void opBuild(void) {
    static struct zsetItem items[UNIVERSE];
    for (size_t i = 0; i < modelLen; i++)
        items[i] = (struct zsetItem){memberOf[model[i].id], model[i].score, i % 2 ? hashOf[model[i].id] : 0};
    zbtreeTestEndWalk(randomBelow(2));
    zbtFree(tree);
    tree = zbtBuild(items, modelLen);
    zbtreeTestVerifyAll();
}

static void zbtreeTestClearBoth(void) {
    zbtreeTestEndWalk(randomBelow(2));
    zbtFree(tree);
    tree = zbtCreate(randomBelow(4) ? 0 : randomBelow(10000));
    zbtreeTestModelTake(0, modelLen);
    zbtreeTestVerifyAll();
}

/* Grows and shrinks around a size that changes from epoch to epoch. */
static void zbtreeTestRandomStep(size_t target) {
    uint64_t op = randomBelow(100);
    if (op < 50) {
        if (modelLen < target || randomBelow(3) == 0)
            zbtreeTestOpInsert();
        else
            opErase();
        if (modelLen > 2 * target && randomBelow(100) == 0) opEraseRange();
    } else if (op < 70) {
        zbtreeTestOpUpdate();
    } else if (op < 80) {
        zbtreeTestOpRank();
    } else if (op < 82) {
        zbtreeTestOpScoreRange();
    } else if (op < 84) {
        zbtreeTestOpLexRange();
    } else if (op < 90) {
        opErase();
    }
}

static void zbtreeTestRunModel(long ops) {
    static const size_t targets[] = {0, 1, 10, 100, 130, 300, 1000, 3000, 12000};
    size_t target = 0;
    tree = zbtCreate(0);
    for (long i = 0; i < ops; i++) {
        if (i % 20000 == 0) {
            target = targets[randomBelow(sizeof targets / sizeof *targets)];
            kind = randomBelow(SCORE_KINDS);
            rests = randomBelow(2);
            tide = 0;
            if (randomBelow(2) && kind != ANYTHING) zbtreeTestClearBoth();
        }
        zbtreeTestRandomStep(target);
        zbtreeTestOpWalk();
        if (randomBelow(modelLen + 4) < 2) zbtreeTestVerifyAll();
        if (randomBelow(20000) == 0) opCopy();
        if (randomBelow(20000) == 0) opBuild();
        if (randomBelow(40000) == 0) opScan(target);
    }
    zbtreeTestVerifyAll();
    zbtreeTestEndWalk(true);
    zbtFree(tree);
    zbtreeTestModelTake(0, modelLen);
}

static void zbtreeTestModel(void **state) {
    (void)state;
    zbtreeTestRunModel((long)modelOps());
    printf("walks: %u to the end, %u ended early\n", walksWhole, walksEnded);
}

/* The map keeps so few bits of a leaf's number that many leaves share them, as in trees of more than
 * 2^24 leaves. */
static void testFewIds(void **state) {
    (void)state;
    for (unsigned bits = 1; bits < 8; bits += 2) {
        zbtMapUseIdBits(bits);
        zbtreeTestRunModel((long)modelOps() / 8);
    }
    zbtMapUseIdBits(24);
}

/* Many walks in a row are ended early, so that epochs come round; each whole one passes all the same. */
static void testWalksEndedEarly(void **state) {
    (void)state;
    kind = FRACTIONS;
    tree = zbtCreate(0);
    while (modelLen < 3000) zbtreeTestOpInsert();
    for (unsigned early = 120; early < 135; early++) {
        for (unsigned i = 0; i < early; i++) {
            zbtreeTestBeginWalk();
            for (uint64_t steps = randomBelow(100) ? 0 : randomBelow(10); steps; steps--) {
                zbtWalkStep(tree);
                zbtreeTestOpUpdate();
            }
            zbtVerify(tree);
            zbtreeTestEndWalk(false);
        }
        zbtreeTestBeginWalk();
        zbtreeTestOpInsert();
        opErase();
        zbtreeTestEndWalk(true);
    }
    zbtFree(tree);
    zbtreeTestModelTake(0, modelLen);
}

/* A whole set goes away while it is walked, all at once and one by one, and comes back. */
static void testWalkOfRemoved(void **state) {
    (void)state;
    kind = REALS;
    for (unsigned i = 0; i < 2 * SCORE_KINDS; i++) {
        kind = i / 2;
        tree = zbtCreate(randomBelow(2) * 5000);
        while (modelLen < 3000) zbtreeTestOpInsert();
        zbtreeTestBeginWalk();
        for (uint64_t steps = randomBelow(30); steps && zbtWalkStep(tree); steps--) {
        }
        if (i % 2) {
            while (modelLen) opErase();
        } else {
            tree = zbtEraseRange(tree, 0, modelLen);
            zbtreeTestModelTake(0, modelLen);
        }
        zbtreeTestVerifyAll();
        while (modelLen < randomBelow(3000)) zbtreeTestOpInsert();
        zbtreeTestEndWalk(true);
        zbtreeTestVerifyAll();
        zbtFree(tree);
        zbtreeTestModelTake(0, modelLen);
    }
}

static void zbtreeTestEraseAt(size_t at) {
    struct zbtPos p;
    assert_true(zbtAtRank(tree, at, &p));
    tree = zbtErase(tree, p, hashOf[model[at].id]);
    zbtreeTestModelTake(at, 1);
}

/* A leaf is joined to the one before it, which the walk has not passed, or (every second time) has come to.
 * All others are nearly full. */
static void testWalkJoinsLeafBefore(void **state) {
    (void)state;
    unsigned joined = 0;
    kind = FRACTIONS;
    for (unsigned i = 0; i < 100; i++) {
        struct zbtPos p, before;
        tree = zbtCreate(0);
        while (modelLen < 5000) zbtreeTestOpInsert();
        opBuild();
        size_t at = 1000 + randomBelow(2000);
        zbtAtRank(tree, at, &p);
        at -= p.slot;
        for (unsigned n = p.leaf->prev->count * 3u / 10; n; n--) zbtreeTestEraseAt(--at);
        zbtreeTestBeginWalk();
        zbtAtRank(tree, at - 1, &before);
        while (i % 2 && walk.next != before.leaf) zbtWalkStep(tree);
        for (uint64_t leaves = tree->leaves; tree->leaves == leaves;) zbtreeTestEraseAt(at);
        if (zbtAtRank(tree, at, &p) && zbtAtRank(tree, at - 1, &before) && p.leaf == before.leaf) {
            assert_true(i % 2 == 0 || walk.next == p.leaf);
            joined++;
        }
        zbtreeTestEndWalk(true);
        zbtreeTestVerifyAll();
        zbtFree(tree);
        zbtreeTestModelTake(0, modelLen);
    }
    assert_true(joined > 50);
}

/* A tree that is built of items takes about the memory of one to which they were appended; and it can be
 * changed. */
static void testBuild(void **state) {
    (void)state;
    for (unsigned i = 0; i < 20 * SCORE_KINDS; i++) {
        size_t most = i % 4 ? randomBelow(300) : randomBelow(12000);
        kind = i % SCORE_KINDS;
        tide = 0;
        tree = zbtCreate(0);
        while (modelLen < most) zbtreeTestOpInsert();
        zbtree *appended = zbtCreate(0);
        for (size_t k = 0; k < modelLen; k++)
            appended = zbtAppend(appended, model[k].score, memberOf[model[k].id]);
        opBuild();
        size_t slack = zbtMemory(appended, 0) / (tree->form == ZBT_MAPPED ? 4 : 16) + 512;
        if (tree->form != appended->form) slack += 12 * modelLen; /* one leaf more, and there is a map */
        assert_true(tree->leaves <= appended->leaves * 17 / 16 + 2);
        assert_true(zbtMemory(tree, 0) <= zbtMemory(appended, 0) + slack);
        zbtFree(appended);
        for (unsigned k = 0; k < 500; k++) zbtreeTestRandomStep(modelLen);
        zbtreeTestVerifyAll();
        zbtFree(tree);
        zbtreeTestModelTake(0, modelLen);
    }
}

/* The first score has a rest, and the tree takes every form on its way. */
static void testRestsWhileGrowing(void **state) {
    (void)state;
    const struct zscoreRange only = {.min = 0x1p53, .max = 0x1p53};
    zbtree *t = zbtCreate(0);
    t = zbtInsert(t, (struct zscore){0x1p53, 1}, memberOf[0], hashOf[0]);
    for (unsigned id = 1; id < UNIVERSE; id++) {
        struct zbtPos p;
        uint64_t rank = 0;
        t = zbtInsert(t, zscoreOf(-(double)id), memberOf[id], hashOf[id]);
        assert_true(zbtHasRests(t));
        assert_false(zbtSeekScore(t, &only, false, &p, &rank));
    }
    zbtFree(t);
}

/* A new leaf at either end begins with a score that its neighbour, of tenths, could not have. */
static void testScaleOfNewLeaf(void **state) {
    (void)state;
    for (unsigned n = 1; n < 400; n++) {
        zbtree *t = zbtCreate(0);
        for (unsigned i = 0; i < n; i++) t = zbtAppend(t, zscoreOf(i / 10.0), memberOf[i]);
        t = zbtAppend(t, zscoreOf(n + 0.25), memberOf[n]);
        t = zbtPrepend(t, zscoreOf(-0.25), memberOf[n + 1], hashOf[n + 1]);
        assert_true(zbtValue(zbtFind(t, memberOf[n], hashOf[n])) == n + 0.25);
        assert_true(zbtValue(zbtFind(t, memberOf[n + 1], hashOf[n + 1])) == -0.25);
        zbtFree(t);
    }
}

/* Bounds that are no integers of 64 bits, of ranges of whole scores and of tenths. */
static void testFarBounds(void **state) {
    (void)state;
    static const double far[] = {1e16, 1e19, 1e30};
    for (unsigned i = 0; i < 6; i++) {
        zbtree *t = zbtCreate(0);
        for (unsigned id = 0; id < 100; id++)
            t = zbtAppend(t, zscoreOf(i < 3 ? id : id / 10.0), memberOf[id]);
        double x = far[i % 3];
        const struct zscoreRange all = {.min = -x, .max = x}, above = {.min = x, .max = INFINITY},
                                 below = {.min = -INFINITY, .max = -x};
        struct zbtPos p;
        uint64_t rank;
        assert_false(zbtSeekScore(t, &above, false, &p, &rank));
        assert_false(zbtSeekScore(t, &below, true, &p, &rank));
        assert_true(zbtSeekScore(t, &all, false, &p, &rank) && rank == 0);
        assert_true(zbtSeekScore(t, &all, true, &p, &rank) && rank == 99);
        zbtFree(t);
    }
}

/* Ranges of all sizes go, from few elements to nearly all, with a map and without. */
static void testEraseRanges(void **state) {
    (void)state;
    for (unsigned i = 0; i < 40 * SCORE_KINDS; i++) {
        kind = i % SCORE_KINDS;
        tree = zbtCreate(0);
        while (modelLen < 3000) zbtreeTestOpInsert();
        uint64_t rank = randomBelow(4) ? randomBelow(modelLen) : 0, count = randomBelow(modelLen - rank + 1);
        tree = zbtEraseRange(tree, rank, count);
        zbtreeTestModelTake(rank, count);
        zbtreeTestVerifyAll();
        for (unsigned k = 0; k < 100; k++) zbtreeTestRandomStep(modelLen);
        zbtreeTestVerifyAll();
        zbtFree(tree);
        zbtreeTestModelTake(0, modelLen);
    }
}

/* ---- How scores are stored ---- */

/* Returns the width of the leaf with these scores. */
static unsigned zbtreeTestWidthFor(const double *scores, unsigned n) {
    char text[32];
    zbtree *t = zbtCreate(0);
    for (unsigned i = 0; i < n; i++) {
        struct str member = strN(text, (size_t)sprintf(text, "%u", i));
        t = zbtInsert(t, zscoreOf(scores[i]), member, hashBytes(member.ptr, member.len));
    }
    zbtVerify(t);
    unsigned width = t->first->width;
    for (unsigned i = 0; i < n; i++) {
        struct str member = strN(text, (size_t)sprintf(text, "%u", i));
        double score = zbtValue(zbtFind(t, member, hashBytes(member.ptr, member.len)));
        assert_memory_equal(&score, &scores[i], sizeof score);
        for (unsigned past = 0; past < 2; past++) { /* the first slot from there on, by a naive search */
            struct zscoreRange r = {.min = scores[i], .max = INFINITY, .minex = past};
            uint64_t rank = 0, left = 0;
            struct zbtPos p;
            for (unsigned k = 0; k < n; k++)
                left += scores[k] < scores[i] || (past && scores[k] == scores[i]);
            assert_int_equal(zbtSeekScore(t, &r, false, &p, &rank), left < n);
            if (left < n) assert_int_equal(rank, left);
        }
    }
    zbtFree(t);
    return width;
}
#define WIDTH_FOR(...)                                                                                       \
    zbtreeTestWidthFor((double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double))

static void zbtreeTestWidths(void **state) {
    (void)state;
    assert_int_equal(WIDTH_FOR(1, 2, 3), 1);
    assert_int_equal(WIDTH_FOR(1, 2, 1000), 2);
    assert_int_equal(WIDTH_FOR(-1e9, 0, 1), 4);
    assert_int_equal(WIDTH_FOR(0, 2.5, -3, 1e-1), 1);
    assert_int_equal(WIDTH_FOR(0.5, 0.50001, 0.500001), 1);
    assert_int_equal(WIDTH_FOR(0.01, 0.07, 655.35), 2);
    assert_int_equal(WIDTH_FOR(19.99, -1e6, 0.3), 4);
    assert_int_equal(WIDTH_FOR(1e8 + 0.125, 1e8 - 0.000001), 4);
    assert_int_equal(WIDTH_FOR(0.1, 0.2, 0.1 + 0.2), 7); /* the sum is not 0.3 */
    assert_int_equal(WIDTH_FOR(0.5, 0.50001, 0.5000001), 5);
    assert_int_equal(WIDTH_FOR(0.5, 0.5005, 0.5000001), 6);
    assert_int_equal(WIDTH_FOR(0.5, 0.9, 0.2500001), 7);
    assert_int_equal(WIDTH_FOR(-0.5, -0.5000001, -0.50001), 5);
    assert_int_equal(WIDTH_FOR(-1e9 - 0.5, -1e12, -1e10), 7);
    assert_int_equal(WIDTH_FOR(1e14 + 0.5, 1e14), 5);  /* too large for tenths */
    assert_int_equal(WIDTH_FOR(1e15, 1e15 + 1e10), 5); /* integers, too far apart for 4 bytes */
    assert_int_equal(WIDTH_FOR(INFINITY, 1e308, 1.7e308), 7);
    assert_int_equal(WIDTH_FOR(-INFINITY, -1e308), 7);
    assert_int_equal(WIDTH_FOR(-INFINITY, INFINITY, 0.5), 8);
    assert_int_equal(WIDTH_FOR(-1e-7, 0.5), 8);
    assert_int_equal(WIDTH_FOR(0.0, 0.5, -0.0), 8); /* equal, but to be distinguished */
    assert_int_equal(WIDTH_FOR(5e-324, -5e-324, 0.0, -0.0), 8);
    assert_int_equal(WIDTH_FOR(5e-324, 1e-320), 5);
}

/* Empties at one end and fills at the other, like a queue or a window of time. */
static void zbtreeTestQueue(void **state) {
    (void)state;
    struct zbtPos p;
    for (int direction = 0; direction < 4; direction++) {
        bool up = direction & 1, back = direction & 2;
        tree = zbtCreate(0);
        for (int i = 0; i < UNIVERSE; i++) {
            unsigned id = (unsigned)i;
            tree = zbtInsert(tree, zscoreOf(up ? i : -i), memberOf[id], hashOf[id]);
            if (i >= 5000) {
                assert_true(zbtAtRank(tree, back ? zbtLength(tree) - 1 : 0, &p));
                struct str member = zbtMember(p);
                tree = zbtErase(tree, p, hashBytes(member.ptr, member.len));
            }
            if (i % 512 == 0) zbtVerify(tree);
        }
        while (zbtLength(tree)) {
            assert_true(zbtAtRank(tree, 0, &p));
            struct str member = zbtMember(p);
            tree = zbtErase(tree, p, hashBytes(member.ptr, member.len));
            if (zbtLength(tree) % 64 == 0) zbtVerify(tree);
        }
        zbtFree(tree);
    }
}

/* ---- The map in every order ---- */

#define CHAIN_BOUND 60 /* some 20 in most states; thousands if entries came in the order of hashes */

/* Returns the buckets that the longest search reads. */
static uint32_t longestChain(const zbtree *t) {
    const struct zbtMap *m = zbtMapOf(t);
    uint32_t longest = 0;
    for (const struct zbtLeaf *l = m ? t->first : NULL; l; l = l->next) {
        for (unsigned i = 0; i < l->count; i++) {
            struct str member = zbtMemberIn(l, zbtSlot(l, i));
            uint64_t hash = hashBytes(member.ptr, member.len);
            const struct zbtPart *p = zbtMapPart(m, l, hash);
            uint32_t at = zbtMapHome(m, p, hash), length = 1;
            for (;; length++, at = zbtMapNext(p, at)) {
                const struct zbtBucket *b = &p->table[at];
                uint32_t mask = zbtMatchTag(b, zbtTag(hash));
                while (mask && zbtIdAt(m, b, (unsigned)__builtin_ctz(mask)) != l->id) mask &= mask - 1;
                if (mask) break;
            }
            if (length > longest) longest = length;
        }
    }
    return longest;
}

static unsigned order[UNIVERSE];
static size_t ordered;

static void onOrder(void *priv, struct str member, struct zscore score) {
    (void)priv, (void)member;
    order[ordered++] = (unsigned)score.value; /* scores are ids in this test */
}

static void eraseId(zbtree **t, unsigned id) {
    struct zbtPos p = zbtFind(*t, memberOf[id], hashOf[id]);
    assert_non_null(p.leaf);
    *t = zbtErase(*t, p, hashOf[id]);
}

/* A tree is filled in the order of another one's scan, and emptied in that of its own scan. */
static void testScanOrder(void **state) {
    (void)state;
    zbtree *from = zbtCreate(0), *to = zbtCreate(0);
    for (unsigned id = 0; id < UNIVERSE; id++) from = zbtInsert(from, zscoreOf(id), memberOf[id], hashOf[id]);
    ordered = 0;
    uint64_t cursor = 0;
    do cursor = zbtScan(from, cursor, onOrder, NULL);
    while (cursor && ordered < UNIVERSE);
    assert_int_equal(ordered, UNIVERSE);
    for (size_t i = 0; i < UNIVERSE; i++) {
        to = zbtInsert(to, zscoreOf(order[i]), memberOf[order[i]], hashOf[order[i]]);
        if (i % 500 == 0) assert_in_range(longestChain(to), 0, CHAIN_BOUND);
    }
    for (size_t i = 0; i < UNIVERSE; i++) {
        eraseId(&from, order[i]);
        if (i % 500 == 0) assert_in_range(longestChain(from), 0, CHAIN_BOUND);
    }
    do {
        ordered = 0;
        cursor = zbtScan(to, cursor, onOrder, NULL);
        for (size_t i = 0; i < ordered; i++) eraseId(&to, order[i]);
        if (randomBelow(50) == 0) assert_in_range(longestChain(to), 0, CHAIN_BOUND);
    } while (cursor);
    assert_int_equal(zbtLength(to), 0);
    zbtFree(from);
    zbtFree(to);
}

/* A tree shrinks to one leaf, whose map is dropped, and grows again, while a scan is in the middle. */
static void testScanAcrossMaps(void **state) {
    enum { ROUNDS = 20, KEPT = 20 };
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        zbtree *t = zbtCreate(0);
        for (unsigned id = 0; id < UNIVERSE; id++) t = zbtInsert(t, zscoreOf(id), memberOf[id], hashOf[id]);
        bool seen[UNIVERSE] = {false};
        uint64_t cursor = 0;
        for (ordered = 0; ordered < UNIVERSE / 2;) cursor = zbtScan(t, cursor, onOrder, NULL);
        for (size_t i = 0; i < ordered; i++) seen[order[i]] = true;
        unsigned first = (unsigned)randomBelow(UNIVERSE - KEPT);
        t = zbtEraseRange(t, first + KEPT, UNIVERSE);
        t = zbtEraseRange(t, 0, first);
        assert_int_equal(zbtLength(t), KEPT);
        for (unsigned id = 0; id < UNIVERSE; id++)
            if (id < first || id >= first + KEPT) t = zbtInsert(t, zscoreOf(id), memberOf[id], hashOf[id]);
        while (cursor) {
            ordered = 0;
            cursor = zbtScan(t, cursor, onOrder, NULL);
            for (size_t i = 0; i < ordered; i++) seen[order[i]] = true;
        }
        for (unsigned id = first; id < first + KEPT; id++) assert_true(seen[id]);
        zbtFree(t);
    }
}

/* ---- Bytes ---- */

static struct str zbtreeTestMemberName(char *buf, size_t i) {
    return strN(buf, (size_t)sprintf(buf, "member:%zu", i));
}

static size_t *shuffledUpTo(size_t n) {
    size_t *a = zmalloc(n * sizeof *a);
    for (size_t i = 0; i < n; i++) {
        size_t j = randomBelow(i + 1);
        a[i] = a[j];
        a[j] = i;
    }
    return a;
}

static double bytesPerMember(size_t n, const size_t *order, double unit) {
    char buf[32];
    size_t before = zmallocUsedMemory();
    zbtree *t = zbtCreate(0);
    for (size_t i = 0; i < n; i++) {
        size_t k = order ? order[i] : i;
        struct str member = zbtreeTestMemberName(buf, k);
        t = zbtInsert(t, zscoreOf((double)k * unit), member, hashBytes(member.ptr, member.len));
    }
    size_t used = zmallocUsedMemory() - before, told = zbtMemory(t, 0);
    assert_in_range(told, used - used / 50, used + used / 50);
    zbtVerify(t);
    zbtFree(t);
    assert_int_equal(zmallocUsedMemory(), before);
    return (double)used / (double)n;
}

/* Computes means over several orders if one is not enough: a thousand members are only some ten leaves. */
static void shuffledBytes(size_t n, double *integers, double *doubles) {
    size_t orders = n < 10000 ? 10000 / n : 1;
    *integers = *doubles = 0;
    for (size_t i = 0; i < orders; i++) {
        size_t *order = shuffledUpTo(n);
        *integers += bytesPerMember(n, order, 1) / (double)orders;
        *doubles += bytesPerMember(n, order, 1 / 7.0) / (double)orders;
        zfree(order);
    }
}

static void zbtreeTestBytes(void **state) {
    (void)state;
    static const struct {
        size_t n;
        double ordered, random, doubles;
    } budgets[] = {{129, 17, 18, 26},
                   {1000, 26, 27, 34},
                   {10000, 26, 28, 34},
                   {100000, 26, 28, 34},
                   {1000000, 26, 28, 34}};
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        size_t n = budgets[i].n;
        if (n > modelOps()) continue;
        double ordered = bytesPerMember(n, NULL, 1), random, doubles;
        shuffledBytes(n, &random, &doubles);
        printf("%8zu members: %5.1f bytes per member in order, %5.1f at random, %5.1f of doubles\n", n,
               ordered, random, doubles);
#ifndef ZBT_TEST_SHAPES
        assert_true(ordered <= budgets[i].ordered && random <= budgets[i].random);
        assert_true(doubles <= budgets[i].doubles);
#endif
    }
}

/* ---- Both instruction sets ---- */

static void findAll(void) {
    char text[32];
    zbtree *t = zbtCreate(0);
    for (unsigned n = 0; n < 400; n++) {
        for (unsigned k = 0; k < 400; k += 7) {
            struct str member = zbtreeTestMemberName(text, k);
            struct zbtPos p = zbtFind(t, member, hashBytes(member.ptr, member.len));
            assert_int_equal(p.leaf != NULL, k < n);
            if (k < n) assert_true(zbtValue(p) == k);
        }
        struct str member = zbtreeTestMemberName(text, n);
        t = zbtInsert(t, zscoreOf(n), member, hashBytes(member.ptr, member.len));
    }
    zbtFree(t);
}

/* Tests several levels with three elements a score: the ends of ranges, ranks, and the removal of
 * children. */
static void seekAndClimb(void) {
    enum { MANY = 9000 };
    char text[32];
    zbtree *t = zbtCreate(0);
    for (unsigned n = 0; n < MANY; n++) {
        struct str member = zbtreeTestMemberName(text, n);
        t = zbtInsert(t, zscoreOf((n * 7919u % MANY) / 3), member, hashBytes(member.ptr, member.len));
    }
    for (unsigned x = 0; x < MANY / 3; x++) {
        for (unsigned open = 0; open < 2; open++) {
            struct zscoreRange from = {.min = x, .max = INFINITY, .minex = open},
                               to = {.min = -INFINITY, .max = x, .maxex = open};
            struct zbtPos p;
            uint64_t rank, want = 3 * (x + open);
            assert_int_equal(zbtSeekScore(t, &from, false, &p, &rank), want < MANY);
            if (want < MANY) assert_true(rank == want && zbtRank(t, p) == want);
            want = 3 * (x + 1 - open);
            assert_int_equal(zbtSeekScore(t, &to, true, &p, &rank), want > 0);
            if (want > 0) assert_true(rank == want - 1 && zbtRank(t, p) == want - 1);
        }
    }
    while (zbtLength(t)) t = zbtEraseRange(t, zbtLength(t) / 3, 5 + zbtLength(t) / 50);
    zbtVerify(t);
    zbtFree(t);
}

/* While there is a fork child the map grows late, does not shrink, and (FORBID) leaves its entries as
 * long as there is space; every member is found meanwhile. */
static bool isRehashing(const zbtree *t) {
    return zbtMapOf(t)->moving != 0;
}
/* Returns the fill of the fullest part. */
static double fillOf(const zbtree *t) {
    double fullest = 0;
    for (unsigned i = 0; i < ZBT_PARTS; i++) {
        const struct zbtPart *p = &zbtMapOf(t)->part[i];
        double fill = p->used / ((double)p->buckets * ZBT_BUCKET_SLOTS);
        if (fill > fullest) fullest = fill;
    }
    return fullest;
}
static void testPolicy(void **state) {
    char text[32];
    (void)state;
    for (int policy = HASHTABLE_RESIZE_AVOID; policy <= HASHTABLE_RESIZE_FORBID; policy++) {
        zbtree *t = zbtCreate(0);
        double fullest = 0;
        for (unsigned n = 0; n < 40000; n++) {
            struct str member = zbtreeTestMemberName(text, n);
            if (n == 3000) hashtableSetResizePolicy((enum hashtableResizePolicy)policy);
            t = zbtInsert(t, zscoreOf(n * 7919u % 40000), member, hashBytes(member.ptr, member.len));
            if (n > 3000 && !isRehashing(t) && fillOf(t) > fullest) fullest = fillOf(t);
            if (n % 4000 == 0) zbtVerify(t);
        }
        assert_true(fullest > 0.92); /* otherwise 0.85 */
        uint64_t slots = zbtMapSlots(zbtMapOf(t));
        hashtableSetResizePolicy((enum hashtableResizePolicy)policy);
        while (zbtLength(t) > 4000 && isRehashing(t)) t = zbtEraseRange(t, 5, 1);
        t = zbtEraseRange(t, 100, zbtLength(t) - 4000);
        if (policy == HASHTABLE_RESIZE_AVOID) assert_int_equal(zbtMapOf(t)->moving, 0);
        if (!isRehashing(t)) assert_true(zbtMapSlots(zbtMapOf(t)) >= slots);
        zbtVerify(t);
        hashtableSetResizePolicy(HASHTABLE_RESIZE_ALLOW);
        t = zbtEraseRange(t, 100, 2000);
        zbtVerify(t);
        zbtFree(t);
    }
}

static void testInstructions(void **state) {
    (void)state;
    zbtUseAvx2(false);
    findAll();
    seekAndClimb();
    zbtUseAvx2(true);
    findAll();
    seekAndClimb();
}

/* ---- The upper halves of the vector registers, which slow down SSE code while they are dirty ---- */

#ifdef __x86_64__
#define XSTATE_LEAF 0xd
#define XGETBV_1    (1u << 2)
#define AVX_STATE   (1u << 2)

static bool canTell(void) {
    unsigned a = 0, b, c, d;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(XSTATE_LEAF, 1, &a, &b, &c, &d) &&
           a & XGETBV_1;
}

static bool upperHalvesAreDirty(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low & AVX_STATE;
}

/* Compilers insert vzeroupper only when they optimize, from -O2 on. */
__attribute__((target("avx2"), noinline)) static void addFour(double *to, const double *more) {
    _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), _mm256_loadu_pd(more)));
}

static bool compilerCleansUp(void) {
    double sums[4] = {1, 2, 3, 4};
    addFour(sums, sums);
    return !upperHalvesAreDirty();
}

#define CLEAN_AFTER(call)                                                                                    \
    do {                                                                                                     \
        __asm__ volatile("vzeroupper" ::: "memory");                                                         \
        call;                                                                                                \
        assert_false(upperHalvesAreDirty());                                                                 \
    } while (0)

static void testUpperHalves(void **state) {
    (void)state;
    if (!canTell() || !compilerCleansUp()) {
        printf("skipped: the processor does not tell, or the build does not care\n");
        skip();
    }
    enum { MANY = 9000 };
    char text[32];
    zbtree *t = zbtCreate(0);
    for (unsigned n = 0; n < MANY; n++) {
        struct str member = zbtreeTestMemberName(text, n);
        CLEAN_AFTER(t = zbtInsert(t, zscoreOf(n / 3), member, hashBytes(member.ptr, member.len)));
    }
    struct str member = zbtreeTestMemberName(text, MANY / 2);
    struct zscoreRange range = {.min = MANY / 6, .max = INFINITY};
    struct zbtPos p;
    uint64_t rank;
    CLEAN_AFTER(zbtFind(t, member, hashBytes(member.ptr, member.len)));
    CLEAN_AFTER(zbtSeekScore(t, &range, false, &p, &rank));
    CLEAN_AFTER(zbtSeekScore(t, &range, true, &p, &rank));
    CLEAN_AFTER(zbtRank(t, p));
    zbtFree(t);
}
#else
static void testUpperHalves(void **state) {
    (void)state;
    printf("skipped: not this processor's affair\n");
    skip();
}
#endif

#include "ds/zbtree_bench.h"

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--bench") == 0) {
        randomSeed(1);
        zbtreeTestBench(1, 129);
        zbtreeTestBench(8000, 129);
        zbtreeTestBench(1, 10000);
        zbtreeTestBench(1, 1000000);
        return 0;
    }
    modelSeed();
    makeUniverse();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testInstructions),
        cmocka_unit_test(testUpperHalves),
        cmocka_unit_test(testRestsWhileGrowing),
        cmocka_unit_test(testScaleOfNewLeaf),
        cmocka_unit_test(testFarBounds),
        cmocka_unit_test(testPolicy),
        cmocka_unit_test(zbtreeTestBytes),
        cmocka_unit_test(zbtreeTestQueue),
        cmocka_unit_test(testScanOrder),
        cmocka_unit_test(zbtreeTestModel),
        cmocka_unit_test(testFewIds),
        cmocka_unit_test(zbtreeTestWidths),
        cmocka_unit_test(testWalksEndedEarly),
        cmocka_unit_test(testWalkOfRemoved),
        cmocka_unit_test(testWalkJoinsLeafBefore),
        cmocka_unit_test(testBuild),
        cmocka_unit_test(testEraseRanges),
        cmocka_unit_test(testScanAcrossMaps),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    freeUniverse();
    return failed;
}
