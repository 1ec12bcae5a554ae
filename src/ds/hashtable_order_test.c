/* SPDX-License-Identifier: BSD-3-Clause */
/* hashtable_order_test.c - hash tables in every order: filled in the order of another table, emptied in
 * the order of a scan, of a listing, of positions. In no order may a lookup visit many buckets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "base/read_phase.h"
#include "base/zmalloc.h"
#include "ds/hashtable_private.h"

#define MOST 60000
/* Buckets that the longest lookup may visit: some 10 in most states, now and then up to 80 in a segment
 * that is 31/32 full. In the order of positions there would be thousands. */
#define PROBE_BOUND 150

static uint64_t ids[MOST], order[MOST];
static size_t ordered;
static size_t most = MOST; /* entries of the largest tables */
static uint32_t unit;      /* unit of segments; 0 is the normal one */
static bool seen[MOST];

static struct str hashtableOrderTestIdKey(const void *entry) {
    return strN(entry, sizeof(uint64_t));
}
static const struct hashtableType type = {.entryKey = hashtableOrderTestIdKey};
static const size_t sizes[] = {1, 9, 10, 60, 1000, 10000, MOST};
#define SIZES (sizeof sizes / sizeof *sizes)

static void hashtableOrderTestAdd(hashtable *ht, uint64_t id) {
    assert_true(hashtableAdd(ht, &ids[id]));
}
static void hashtableOrderTestTake(hashtable *ht, uint64_t id) {
    assert_ptr_equal(hashtablePop(ht, hashtableOrderTestIdKey(&ids[id])), &ids[id]);
}
static void hashtableOrderTestFill(hashtable *ht, size_t n) {
    hashtableInit(ht, &type);
    for (uint64_t id = 0; id < n; id++) hashtableOrderTestAdd(ht, id);
}
static void hashtableOrderTestBounded(hashtable *ht) {
    assert_in_range(hashtableLongestProbe(ht), 0, PROBE_BOUND);
}

/* Returns whether to check now: often for small tables, rarely for large ones. */
static bool timeToCheck(size_t done, size_t n) {
    return n < 2000 ? done % 16 == 0 : done % (n / 16) == 0;
}

/* ---- Orders ---- */

static void hashtableOrderTestNote(void *priv, void *entry) {
    (void)priv;
    order[ordered++] = *(uint64_t *)entry;
}

static void inScanOrder(hashtable *ht) {
    uint64_t cursor = 0;
    ordered = 0;
    do cursor = hashtableScan(ht, cursor, hashtableOrderTestNote, NULL);
    while (cursor);
}
static void inListingOrder(hashtable *ht) {
    struct hashtableIterator it;
    void *entry;
    ordered = 0;
    hashtableInitIterator(&it, ht, true);
    while (hashtableNext(&it, &entry)) hashtableOrderTestNote(NULL, entry);
    hashtableStopIterator(&it);
}
static void inRandomOrder(hashtable *ht) {
    inListingOrder(ht);
    for (size_t i = ordered; i > 1; i--) {
        size_t j = randomBelow(i);
        uint64_t t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
}
typedef void orderFn(hashtable *ht);
static orderFn *const orders[] = {inScanOrder, inListingOrder, inRandomOrder};

static void emptyInOrder(hashtable *ht, size_t n) {
    for (size_t i = 0; i < n; i++) {
        hashtableOrderTestTake(ht, order[i]);
        if (timeToCheck(i, n)) hashtableOrderTestBounded(ht);
    }
    assert_int_equal(hashtableSize(ht), 0);
}

static void testEmptyInOrder(void **state) {
    (void)state;
    for (size_t s = 0; s < SIZES && sizes[s] <= most; s++) {
        for (size_t o = 0; o < 3; o++) {
            hashtable ht;
            hashtableOrderTestFill(&ht, sizes[s]);
            orders[o](&ht);
            assert_int_equal(ordered, sizes[s]);
            emptyInOrder(&ht, sizes[s]);
            hashtableDestroy(&ht);
        }
    }
}

static void testFillInOrder(void **state) {
    (void)state;
    for (size_t s = 0; s < SIZES && sizes[s] <= most; s++) {
        for (size_t o = 0; o < 3; o++) {
            hashtable from, to;
            hashtableOrderTestFill(&from, sizes[s]);
            orders[o](&from);
            hashtableInit(&to, &type);
            for (size_t i = 0; i < ordered; i++) {
                hashtableOrderTestAdd(&to, order[i]);
                if (timeToCheck(i, ordered)) hashtableOrderTestBounded(&to);
            }
            orders[o](&from);
            emptyInOrder(&to, sizes[s]); /* in the order of the other table */
            hashtableDestroy(&from);
            hashtableDestroy(&to);
        }
    }
}

/* The order of a listing is harmless for a table of another size, too, such as one that loads a file. */
static void testRefillInOwnOrder(void **state) {
    (void)state;
    hashtable ht;
    hashtableOrderTestFill(&ht, most);
    inListingOrder(&ht);
    hashtableEmpty(&ht, NULL);
    for (size_t i = 0; i < most; i++) {
        hashtableOrderTestAdd(&ht, order[i]);
        if (timeToCheck(i, most)) hashtableOrderTestBounded(&ht);
    }
    hashtableDestroy(&ht);
}

/* ---- Deleting while it is scanned ---- */

struct scanned {
    hashtable *ht;
    size_t n;
    uint64_t found[64];
};
static void hashtableOrderTestCollect(void *priv, void *entry) {
    struct scanned *s = priv;
    if (s->n < 64) s->found[s->n++] = *(uint64_t *)entry;
}

/* Deletes what each call of the scan has returned, as a client does. */
static void testScanAndDelete(void **state) {
    (void)state;
    for (size_t s = 0; s < SIZES && sizes[s] <= most; s++) {
        hashtable ht;
        uint64_t cursor = 0;
        size_t deleted = 0, calls = 0;
        hashtableOrderTestFill(&ht, sizes[s]);
        do {
            struct scanned found = {.ht = &ht};
            cursor = hashtableScan(&ht, cursor, hashtableOrderTestCollect, &found);
            for (size_t i = 0; i < found.n; i++, deleted++) {
                hashtableOrderTestTake(&ht, found.found[i]);
                if (timeToCheck(deleted, sizes[s])) hashtableOrderTestBounded(&ht);
            }
            calls++;
        } while (cursor);
        assert_int_equal(deleted, sizes[s]);
        assert_true(calls <= sizes[s] + 2);
        hashtableDestroy(&ht);
    }
}

static void takeScanned(void *priv, void *entry) {
    hashtableOrderTestTake(priv, *(uint64_t *)entry);
}

/* Deletes entries inside the scan's callback, as expiry does, so that only scans use the table. The table
 * must shrink nevertheless, or scans would visit more and more empty buckets. */
static void testDeleteInScan(void **state) {
    (void)state;
    hashtable ht;
    uint64_t cursor = 0;
    hashtableOrderTestFill(&ht, most);
    for (size_t calls = 0; hashtableSize(&ht); calls++) {
        cursor = hashtableScan(&ht, cursor, takeScanned, &ht);
        if (timeToCheck(calls, most)) hashtableOrderTestBounded(&ht);
        assert_true(calls < most);
    }
    assert_in_range(hashtableMemory(&ht), 0, sizeof(bucket)); /* the last bucket may stay */
    hashtableDestroy(&ht);
}

/* The scan begins while the table is small; then the table grows, and entries are deleted as they are
 * passed. */
static void testScanOfGrown(void **state) {
    (void)state;
    for (size_t early = 1; early < 5000; early *= 9) {
        hashtable ht;
        uint64_t cursor = 0;
        hashtableOrderTestFill(&ht, early);
        cursor = hashtableScan(&ht, 0, hashtableOrderTestCollect, &(struct scanned){.ht = &ht});
        for (uint64_t id = early; id < most; id++) hashtableOrderTestAdd(&ht, id);
        if (!cursor) cursor = scanCursorNumber(&(struct scanCursor){.position = 1});
        do {
            struct scanned found = {.ht = &ht};
            cursor = hashtableScan(&ht, cursor, hashtableOrderTestCollect, &found);
            for (size_t i = 0; i < found.n; i++) hashtableOrderTestTake(&ht, found.found[i]);
            if (randomBelow(4000) == 0) hashtableOrderTestBounded(&ht);
        } while (cursor);
        /* The first call passed one stripe, half of the positions at most: what was added there stays. */
        assert_true(hashtableSize(&ht) < most * 6 / 10);
        hashtableDestroy(&ht);
    }
}

/* ---- The guarantee, and how long a scan takes ---- */

static void hashtableOrderTestMark(void *priv, void *entry) {
    (void)priv;
    seen[*(uint64_t *)entry] = true;
}

/* Keeps the first `kept` entries while the table grows and shrinks between `low` and `high`. */
static void scanOscillating(size_t kept, size_t high, size_t every) {
    hashtable ht;
    uint64_t cursor = 0, next = kept;
    size_t calls = 0;
    bool up = true;
    memset(seen, 0, sizeof seen);
    hashtableOrderTestFill(&ht, kept);
    do {
        cursor = hashtableScan(&ht, cursor, hashtableOrderTestMark, NULL);
        for (size_t i = 0; i < every; i++) {
            if (up)
                hashtableOrderTestAdd(&ht, next++);
            else
                hashtableOrderTestTake(&ht, --next);
            if (next == (up ? high : kept)) up = !up;
        }
        assert_true(++calls < 20 * high);
    } while (cursor);
    for (uint64_t id = 0; id < kept; id++) assert_true(seen[id]);
    hashtableDestroy(&ht);
}

static void testGuarantee(void **state) {
    (void)state;
    unsigned part = modelShare(MOST) < MOST ? 4 : 1; /* nearly all the time of these tests is spent here */
    scanOscillating(1, 40, 1);
    scanOscillating(10, 3000, 50);
    scanOscillating(100 / part, 20000 / part, 1000 / part);
    scanOscillating(1000 / part, 40000 / part, 333 / part);
    scanOscillating(5000 / part, 40000 / part, 7);
    for (unsigned i = 0; i < 5 / part + 1; i++)
        scanOscillating(1 + randomBelow(2000 / part), 2001 + randomBelow(30000 / part),
                        1 + randomBelow(3000 / part));
}

/* A scan ends though the table grows by much more than each call passes. */
static void testScanOfGrowing(void **state) {
    (void)state;
    hashtable ht;
    uint64_t cursor = 0, next = 60;
    size_t n = 0;
    hashtableOrderTestFill(&ht, next);
    do {
        struct scanned found = {.ht = &ht};
        while (found.n < 3 && (cursor = hashtableScan(&ht, cursor, hashtableOrderTestCollect, &found)))
            continue;
        n += found.n;
        for (int i = 0; i < 15; i++) hashtableOrderTestAdd(&ht, next++);
        assert_true(next < MOST - 15);
    } while (cursor);
    assert_true(n >= 60);
    hashtableDestroy(&ht);
}

/* A scan of a table that lost nearly everything on the way ends soon. */
static void testScanAfterShrink(void **state) {
    (void)state;
    hashtable ht;
    hashtableOrderTestFill(&ht, most);
    uint64_t cursor = hashtableScan(&ht, 0, hashtableOrderTestMark, NULL);
    for (uint64_t id = 100; id < most; id++) hashtableOrderTestTake(&ht, id);
    memset(seen, 0, sizeof seen);
    size_t calls = 0;
    do cursor = hashtableScan(&ht, cursor, hashtableOrderTestMark, NULL);
    while (cursor && ++calls);
    assert_true(calls < 1000);
    hashtableDestroy(&ht);
}

/* A call of the scan on a table that may not shrink visits one bucket and says so. */
static void testScanOfEmptied(void **state) {
    (void)state;
    hashtable ht;
    hashtableOrderTestFill(&ht, most);
    hashtableSetResizePolicy(HASHTABLE_RESIZE_FORBID);
    for (uint64_t id = 1; id < most; id++) hashtableOrderTestTake(&ht, id);
    uint64_t cursor = 0;
    size_t calls = 0, n = 0;
    struct scanned found = {.ht = &ht};
    do {
        cursor = hashtableScan(&ht, cursor, hashtableOrderTestCollect, &found);
        n += found.n;
        found.n = 0;
        calls++;
    } while (cursor);
    assert_int_equal(n, 1);
    assert_true(calls >= hashtableSlots(&ht) / SLOTS);
    hashtableSetResizePolicy(HASHTABLE_RESIZE_ALLOW);
    hashtableDestroy(&ht);
}

/* Any number is a harmless cursor, and scans from it end. */
static void testHostileCursors(void **state) {
    (void)state;
    hashtable ht;
    hashtableOrderTestFill(&ht, 1000);
    for (int i = 0; i < 3000; i++) {
        uint64_t cursor = randomU64() >> randomBelow(64);
        size_t calls = 0;
        do cursor = hashtableScan(&ht, cursor, hashtableOrderTestMark, NULL);
        while (cursor && ++calls < 20000);
        assert_int_equal(cursor, 0);
    }
    assert_int_equal(hashtableScan(&ht, 1ULL << 53, hashtableOrderTestMark, NULL), 0);
    assert_int_equal(hashtableScan(&ht, UINT64_MAX, hashtableOrderTestMark, NULL), 0);
    hashtableDestroy(&ht);
}

/* ---- Clients that know the positions ---- */

/* A client that learns positions from cursors can keep only the entries in one part of them. The table
 * shrinks, and the homes in that part then have `times` their share of the entries. */
static void testOnePart(void **state) {
    (void)state;
    for (uint32_t times = 2; times <= 64; times *= 2) {
        hashtable ht;
        size_t kept = 0;
        hashtableOrderTestFill(&ht, most);
        for (uint64_t id = 0; id < most; id++) {
            uint64_t salted = hashtableHash(&ht, hashtableOrderTestIdKey(&ids[id])) *
                              (2 * 0x9e3779b97f4a7c15ULL * ht.salt + 1);
            if (salted / times < UINT64_MAX / times / times)
                kept++;
            else
                hashtableOrderTestTake(&ht, id);
        }
        hashtableVerify(&ht);
        uint32_t longest = hashtableLongestProbe(&ht);
        printf("%zu entries in 1/%u of the positions: longest probe %u\n", kept, times, longest);
        assert_true(longest < 50 + 4 * times);
        hashtableDestroy(&ht);
    }
}

/* ---- Growth ---- */

/* Returns the buckets of all segments whose array an operation has replaced. */
static size_t hashtableOrderTestRenewed(const hashtable *ht, struct hashtableBucket **was, size_t entries) {
    size_t n = 0;
    for (size_t i = 0; i < 1U << ht->bits; i++) {
        const struct hashtableSegment *s = &ht->segments[i];
        bool same = false;
        for (size_t j = i > 3 ? i / 2 - 1 : 0; !same && j < entries && j < 2 * i + 2; j++)
            same = was[j] == s->table;
        if (!s->back && !same) n += s->buckets;
    }
    return n;
}

/* No operation replaces the arrays of more than two segments. */
static void testGrowthSteps(void **state) {
    (void)state;
    static struct hashtableBucket *was[1 << 16];
    hashtable ht;
    size_t longest = 0, slots = 0;
    hashtableInit(&ht, &type);
    for (uint64_t i = 0; i < 2 * most; i++) {
        size_t entries = ht.bits ? 1U << ht.bits : 0;
        assert_true(entries <= sizeof was / sizeof *was);
        for (size_t j = 0; j < entries; j++) was[j] = ht.segments[j].back ? NULL : ht.segments[j].table;
        if (i < most)
            hashtableOrderTestAdd(&ht, i);
        else
            hashtableOrderTestTake(&ht, i - most);
        if (hashtableSlots(&ht) == slots || !entries || !ht.bits) continue;
        slots = hashtableSlots(&ht);
        size_t n = hashtableOrderTestRenewed(&ht, was, entries);
        if (n > longest) longest = n;
    }
    printf("buckets renewed by one operation: at most %zu\n", longest);
    assert_in_range(longest, 1, unit ? 32 * unit : 16 * 128);
    hashtableDestroy(&ht);
}

/* A growing table is about equally full all the time, and no memory is reserved long ahead. */
static void testSteadyFill(void **state) {
    (void)state;
    hashtable ht;
    double least = 1, highest = 0, sum = 0;
    size_t n = 0;
    hashtableInit(&ht, &type);
    for (uint64_t id = 0; id < most; id++) {
        hashtableOrderTestAdd(&ht, id);
        if (ht.bits < 3) continue;
        double fill = (double)hashtableSize(&ht) / (double)hashtableSlots(&ht);
        if (fill < least) least = fill;
        if (fill > highest) highest = fill;
        sum += fill;
        n++;
    }
    printf("fill while growing: %.3f to %.3f, mean %.3f\n", least, highest, sum / (double)n);
    assert_true(n && sum / (double)n > (unit == 1 ? 0.73 : 0.75));
    assert_true(least > 0.62 && highest < 0.86);
    hashtableDestroy(&ht);
}

/* With an attacker's order everything is in one segment. It grows alone, without the directory. */
static void testOneSegment(void **state) {
    (void)state;
    hashtable ht;
    size_t kept = 0;
    hashtableOrderTestFill(&ht, most);
    for (uint64_t id = 0; id < most; id++) {
        uint64_t salted =
            hashtableHash(&ht, hashtableOrderTestIdKey(&ids[id])) * (2 * 0x9e3779b97f4a7c15ULL * ht.salt + 1);
        if (salted >> 58 == 5)
            kept++;
        else
            hashtableOrderTestTake(&ht, id);
    }
    hashtableVerify(&ht);
    assert_int_equal(hashtableSize(&ht), kept);
    assert_true(hashtableMemory(&ht) < sizeof(bucket) * (kept + 1));
    for (uint64_t id = 0; id < most; id++) {
        uint64_t salted =
            hashtableHash(&ht, hashtableOrderTestIdKey(&ids[id])) * (2 * 0x9e3779b97f4a7c15ULL * ht.salt + 1);
        if (salted >> 58 != 5 && salted >> 61 == 0) hashtableOrderTestAdd(&ht, id);
    }
    hashtableVerify(&ht);
    assert_true(hashtableMemory(&ht) < sizeof(bucket) * (hashtableSize(&ht) / 2 + 1));
    hashtableDestroy(&ht);
}

/* In a reader (base/read_phase.h) others read the same table: iterators pause nothing, and draws from a table
 * that has lost most of its entries move none. */
static void readersChangeNoTable(void **state) {
    (void)state;
    hashtable ht;
    hashtableOrderTestFill(&ht, most);
    hashtablePause(&ht);
    for (uint64_t id = 0; id < most - most / 100; id++) hashtableOrderTestTake(&ht, id);
    size_t memory = hashtableMemory(&ht);
    read_context.reads = true;
    hashtablePause(&ht);
    assert_int_equal(ht.pause, 1);
    hashtableResume(&ht);
    assert_int_equal(ht.pause, 1);
    ht.pause = 0;
    for (int i = 0; i < 100; i++) assert_non_null(hashtableRandomEntry(&ht));
    assert_int_equal(hashtableMemory(&ht), memory);
    assert_true(read_context.refused); /* so that a thread which may shrink it does */
    read_context = (struct readContext){0};
    assert_non_null(hashtableRandomEntry(&ht));
    assert_true(hashtableMemory(&ht) < memory);
    hashtableDestroy(&ht);
}

static int hashtableOrderTestSomeSegments(void **state) {
    (void)state;
    most = MOST / 4; /* the number of segments is the same */
    hashtableSetSegmentUnit(unit = 16);
    return 0;
}
static int hashtableOrderTestManySegments(void **state) {
    (void)state;
    hashtableSetSegmentUnit(unit = 2);
    return 0;
}

int main(void) {
    modelSeed();
    for (uint64_t i = 0; i < MOST; i++) ids[i] = i;
    if (modelShare(MOST) < MOST) most = MOST / 4;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testEmptyInOrder),     cmocka_unit_test(testFillInOrder),
        cmocka_unit_test(testRefillInOwnOrder), cmocka_unit_test(testScanAndDelete),
        cmocka_unit_test(testDeleteInScan),     cmocka_unit_test(testScanOfGrown),
        cmocka_unit_test(testGuarantee),        cmocka_unit_test(testScanOfGrowing),
        cmocka_unit_test(testScanAfterShrink),  cmocka_unit_test(testScanOfEmptied),
        cmocka_unit_test(testHostileCursors),   cmocka_unit_test(testOnePart),
        cmocka_unit_test(testGrowthSteps),      cmocka_unit_test(testSteadyFill),
        cmocka_unit_test(testOneSegment),       cmocka_unit_test(readersChangeNoTable),
    };
    int failed = cmocka_run_group_tests_name("segments as they are", tests, NULL, NULL);
    failed += cmocka_run_group_tests_name("segments of some 80 buckets", tests,
                                          hashtableOrderTestSomeSegments, NULL);
    return failed + cmocka_run_group_tests_name("segments of some 10 buckets", tests,
                                                hashtableOrderTestManySegments, NULL);
}
