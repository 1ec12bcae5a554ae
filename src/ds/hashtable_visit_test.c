/* SPDX-License-Identifier: BSD-3-Clause */
/* hashtable_visit_test.c - tests of hashtableVisit: ranges of positions against a model, and walks by ranges
 * over a table that changes in between. With --bench it measures a walk.
 *
 * The model knows for each id whether its item is in the table, and how often it was visited in this walk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "ds/hashtable_private.h"

#define MAX_IDS 12000

struct visitItem {
    uint64_t id;
    uint32_t seen;
    bool present, stays;
};

static struct visitItem items[MAX_IDS];
static uint64_t hashed; /* calls of a type's hash function */

static struct str hashtableVisitTestKey(const void *entry) {
    return strN((const char *)&((const struct visitItem *)entry)->id, sizeof(uint64_t));
}
static uint64_t hashtableVisitTestHash(struct str key) {
    hashed++;
    return hashBytes(key.ptr, key.len);
}
static uint64_t hashtableVisitTestId(struct str key) {
    uint64_t id;
    memcpy(&id, key.ptr, sizeof(id));
    return id;
}
/* Returns only five different hashes. */
static uint64_t hashtableVisitTestFewHash(struct str key) {
    return (hashtableVisitTestId(key) % 5 + 1) * 0x2badcafe5eed1234ULL;
}
/* All positions are in the last 64th. */
static uint64_t hashtableVisitTestTopHash(struct str key) {
    return hashBytes(key.ptr, key.len) | 0xfc00000000000000ULL;
}
/* Three quarters of the positions are in one part of 1/32, as of a client that chooses what it keeps. */
static uint64_t hashtableVisitTestPartHash(struct str key) {
    uint64_t hash = hashBytes(key.ptr, key.len);
    return hash & 3 ? hash >> 5 | 0x5000000000000000ULL : hash;
}
/* Positions next to the borders of subs: the low bits are all 0, or all 1. */
static uint64_t hashtableVisitTestBorderHash(struct str key) {
    uint64_t hash = hashBytes(key.ptr, key.len), low = (1ULL << (40 + hash % 16)) - 1;
    return hash & 0x100000 ? hash | low : hash & ~low;
}
static uint64_t hashtableVisitTestOrderedHash(struct str key) {
    return hashtableVisitTestId(key) * (UINT64_MAX / MAX_IDS);
}

#define TYPE(fn)                                                                                             \
    { .entryKey = hashtableVisitTestKey, .hash = (fn) }
static const struct hashtableType types[] = {
    TYPE(hashtableVisitTestHash),     TYPE(hashtableVisitTestFewHash),    TYPE(hashtableVisitTestTopHash),
    TYPE(hashtableVisitTestPartHash), TYPE(hashtableVisitTestBorderHash), TYPE(hashtableVisitTestOrderedHash),
};
#define TYPES (sizeof types / sizeof *types)

static uint64_t hashtableVisitTestPosition(const hashtable *ht, uint64_t id) {
    return hashtablePosition(ht, hashtableHash(ht, hashtableVisitTestKey(&items[id])));
}

static void hashtableVisitTestPut(hashtable *ht, uint64_t id) {
    if (items[id].present) return;
    items[id].present = true;
    assert_true(hashtableAdd(ht, &items[id]));
}
static void hashtableVisitTestTake(hashtable *ht, uint64_t id) {
    if (!items[id].present || items[id].stays) return;
    items[id].present = false;
    assert_ptr_equal(hashtablePop(ht, hashtableVisitTestKey(&items[id])), &items[id]);
}

static void hashtableVisitTestStart(hashtable *ht, const struct hashtableType *type, uint64_t n) {
    for (uint64_t id = 0; id < MAX_IDS; id++) items[id] = (struct visitItem){.id = id};
    hashtableInit(ht, type);
    if (type->hash != hashtableVisitTestHash) ht->salt = 0; /* hashes have to be positions */
    for (uint64_t id = 0; id < n; id++) hashtableVisitTestPut(ht, id);
}

/* --- One range --- */

struct visited {
    const hashtable *ht;
    uint64_t from, to, count;
    unsigned ignored;
};

static void hashtableVisitTestNote(void *priv, void *entry, uint64_t position) {
    struct visited *v = priv;
    struct visitItem *item = entry;
    assert_true(item->present);
    item->seen++;
    v->count++;
    uint64_t exact = hashtableVisitTestPosition(v->ht, item->id);
    assert_true(position == exact >> v->ignored << v->ignored);
    assert_true(position >= v->from && position < v->to);
}

static void hashtableVisitTestRange(const hashtable *ht, uint64_t from, uint64_t to, unsigned ignored) {
    struct visited v = {.ht = ht, .from = from, .to = to, .ignored = ignored};
    hashtableVisit(ht, from, to, ignored, hashtableVisitTestNote, &v);
}

/* Returns a random multiple of 2^ignored, often next to an item's position. */
static uint64_t hashtableVisitTestBorder(const hashtable *ht, unsigned ignored) {
    uint64_t at = randomU64() >> (64 - POSITION_BITS);
    if (randomBelow(2)) at = hashtableVisitTestPosition(ht, randomBelow(MAX_IDS));
    at = at >> ignored << ignored;
    if (randomBelow(3) == 0) at += 1ULL << ignored;
    return randomBelow(20) ? at : randomBelow(2) ? 0 : POSITION_END;
}

/* Compares a range with the model: each item in it is visited once, and no other. */
static void hashtableVisitTestCheckRange(const hashtable *ht, uint64_t ids) {
    unsigned ignored = (unsigned)randomBelow(POSITION_BITS + 1);
    uint64_t from = hashtableVisitTestBorder(ht, ignored), to = hashtableVisitTestBorder(ht, ignored);
    if (randomBelow(3) == 0) to = from < POSITION_END ? from + (1ULL << ignored) : from;
    if (from > to) {
        uint64_t t = from;
        from = to;
        to = t;
    }
    for (uint64_t id = 0; id < ids; id++) items[id].seen = 0;
    hashtableVisitTestRange(ht, from, to, ignored);
    for (uint64_t id = 0; id < ids; id++) {
        uint64_t at = hashtableVisitTestPosition(ht, id) >> ignored << ignored;
        assert_int_equal(items[id].seen, items[id].present && at >= from && at < to);
    }
}

static void testVisitRanges(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1, 5, 9, 10, 70, 300, 1000, 2500};
    for (size_t t = 0; t < TYPES; t++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            hashtable ht;
            hashtableVisitTestStart(&ht, &types[t], sizes[s]);
            for (uint64_t i = 0; i < 20 + modelShare(200); i++) hashtableVisitTestCheckRange(&ht, sizes[s]);
            hashtablePause(&ht); /* tails */
            for (uint64_t id = sizes[s]; id < 3 * sizes[s]; id++) hashtableVisitTestPut(&ht, id);
            for (uint64_t i = 0; i < 20 + modelShare(60); i++)
                hashtableVisitTestCheckRange(&ht, 3 * sizes[s]);
            hashtableResume(&ht);
            hashtableDestroy(&ht);
        }
    }
}

static void testEmpty(void **state) {
    (void)state;
    hashtable ht;
    hashtableVisitTestStart(&ht, &types[0], 0);
    hashtableVisitTestRange(&ht, 0, POSITION_END, 0);
    hashtableVisitTestPut(&ht, 1);
    hashtableVisitTestTake(&ht, 1);
    hashtableVisitTestRange(&ht, 0, POSITION_END, 40);
    assert_int_equal(items[1].seen, 0);
    hashtableDestroy(&ht);
}

/* --- Walks --- */

/* Changes many items at a time, so that the table is resized, split and joined. Ids from `low` on come and
 * go. */
static void hashtableVisitTestChange(hashtable *ht, uint64_t low, uint64_t high) {
    uint64_t n = randomBelow(4) ? randomBelow(20) : randomBelow(high - low);
    bool add = randomBelow(2);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t id = low + randomBelow(high - low);
        if (add)
            hashtableVisitTestPut(ht, id);
        else
            hashtableVisitTestTake(ht, id);
    }
}

/* Walks over all positions in ranges of random lengths, in their order, while the table changes and is paused
 * at times. Each item that is there all the time must be visited once, and no item twice unless it left. */
static void hashtableVisitTestWalk(const struct hashtableType *type, uint64_t kept, uint64_t most,
                                   unsigned level) {
    hashtable ht;
    unsigned ignored = POSITION_BITS - level;
    bool paused = false;
    hashtableVisitTestStart(&ht, type, kept + randomBelow(most - kept));
    for (uint64_t id = 0; id < kept; id++) items[id].stays = true;
    for (uint64_t range = 0, ranges = 1ULL << level; range < ranges;) {
        uint64_t n = 1 + randomBelow(randomBelow(2) ? 4 : ranges / 8 + 1);
        if (n > ranges - range) n = ranges - range;
        hashtableVisitTestRange(&ht, range << ignored, (range + n) << ignored, ignored);
        range += n;
        hashtableVisitTestChange(&ht, kept, most);
        if (randomBelow(8)) continue;
        if (paused)
            hashtableResume(&ht);
        else
            hashtablePause(&ht);
        paused = !paused;
    }
    for (uint64_t id = 0; id < kept; id++) assert_int_equal(items[id].seen, 1);
    for (uint64_t id = kept; id < most; id++) assert_in_range(items[id].seen, 0, 1);
    if (paused) hashtableResume(&ht);
    hashtableVerify(&ht);
    hashtableDestroy(&ht);
}

static void testWalks(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 30 + modelShare(1500); i++) {
        const struct hashtableType *type = &types[i % TYPES];
        uint64_t kept = randomBelow(3) ? randomBelow(300) : randomBelow(2000);
        uint64_t most = kept + 1 + randomBelow(type->hash == hashtableVisitTestFewHash ? 1000 : 6000);
        hashtableVisitTestWalk(type, kept, most, 1 + (unsigned)randomBelow(12));
    }
}

/* While a range holds about one entry, no entry is read, except the few that are far from their home; also
 * not when the table becomes a fourth of what it was. */
static void testReadsNoEntries(void **state) {
    (void)state;
    hashtable ht;
    for (uint64_t n = 1000; n <= MAX_IDS; n = n * 5 / 4) {
        hashtableVisitTestStart(&ht, &types[0], n);
        unsigned level = 63 - (unsigned)__builtin_clzll(n), ignored = POSITION_BITS - level;
        struct visited v = {.ht = &ht, .to = POSITION_END, .ignored = ignored};
        for (uint64_t left = n; left >= n / 4; left -= n / 4) {
            for (uint64_t id = left; id < n; id++) hashtableVisitTestTake(&ht, id);
            uint64_t before = hashed;
            v.count = 0;
            hashtableVisit(&ht, 0, POSITION_END, ignored, hashtableVisitTestNote, &v);
            assert_int_equal(v.count, left);
            before += left; /* the callback hashes each */
            assert_true(hashed - before <= left / 8);
        }
        hashtableDestroy(&ht);
    }
}

/* --- Benchmark --- */

struct visitSum {
    uint64_t count, mixed;
};
static void hashtableVisitTestSum(void *priv, void *entry, uint64_t position) {
    struct visitSum *sum = priv;
    sum->count++;
    sum->mixed ^= position ^ (uintptr_t)entry;
}

static int64_t hashtableVisitTestCpuNs(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Walks over a table of n entries in steps of so many ranges of one entry; returns ns per entry. */
static double hashtableVisitTestTime(const hashtable *ht, uint64_t n, uint64_t step) {
    unsigned level = 63 - (unsigned)__builtin_clzll(n);
    struct visitSum sum = {0};
    int64_t start = hashtableVisitTestCpuNs();
    for (uint64_t range = 0; range < 1ULL << level; range += step) {
        uint64_t end = range + step < 1ULL << level ? range + step : 1ULL << level;
        hashtableVisit(ht, range << (POSITION_BITS - level), end << (POSITION_BITS - level),
                       POSITION_BITS - level, hashtableVisitTestSum, &sum);
    }
    double ns = (double)(hashtableVisitTestCpuNs() - start) / (double)n;
    if (sum.count != n) abort();
    return ns;
}

static int hashtableVisitTestBench(uint64_t most) {
    printf("| entries | ns per entry, by 4096 ranges | by 64 | by 1 |\n|---|---|---|---|\n");
    for (uint64_t n = 1000; n <= most; n *= 10) {
        hashtable ht;
        uint64_t *ids = zmalloc(n * sizeof(*ids));
        hashtableInit(&ht, &types[0]);
        for (uint64_t i = 0; i < n; i++) {
            ids[i] = i;
            hashtableAddUnchecked(&ht, &ids[i], hashBytes(&ids[i], sizeof(*ids)));
        }
        printf("| %llu | %.1f | %.1f | %.1f |\n", (unsigned long long)n, hashtableVisitTestTime(&ht, n, 4096),
               hashtableVisitTestTime(&ht, n, 64), hashtableVisitTestTime(&ht, n, 1));
        hashtableDestroy(&ht);
        zfree(ids);
    }
    return 0;
}

static int hashtableVisitTestSmallSegments(void **state) {
    (void)state;
    hashtableSetSegmentUnit(1);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--bench") == 0)
        return hashtableVisitTestBench(argc > 2 ? strtoull(argv[2], NULL, 10) : 10000000);
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testEmpty),
        cmocka_unit_test(testVisitRanges),
        cmocka_unit_test(testWalks),
        cmocka_unit_test(testReadsNoEntries),
    };
    int failed = cmocka_run_group_tests_name("segments as they are", tests, NULL, NULL);
    return failed +
           cmocka_run_group_tests_name("segments of 5 buckets", tests, hashtableVisitTestSmallSegments, NULL);
}
