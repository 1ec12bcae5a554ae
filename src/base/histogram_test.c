/* SPDX-License-Identifier: BSD-3-Clause */
/* histogram_test.c - the shape of a histogram, and its counts against sorted values. */
#include "base/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"

#define BITS 7
#define MAX  UINT64_C(1000000000)

/* The buckets have no gaps and do not overlap, and are no wider than promised. */
static void testBucketsTile(void **state) {
    (void)state;
    struct histogram *h = histogramCreate(BITS, MAX);
    uint64_t next = 0;
    for (int i = 0; i < h->buckets; i++) {
        uint64_t lowest = histogramLowest(h, i), highest = histogramHighest(h, i);
        assert_int_equal(lowest, next);
        assert_true(highest >= lowest && highest - lowest <= lowest >> BITS);
        assert_int_equal(histogramIndex(h, lowest), i);
        assert_int_equal(histogramIndex(h, highest), i);
        next = highest + 1;
    }
    assert_true(next > MAX);
    histogramFree(h);
}

static void histogramTestEmpty(void **state) {
    (void)state;
    struct histogram *h = histogramCreate(BITS, MAX);
    assert_int_equal(histogramTotal(h), 0);
    assert_int_equal(histogramTotalUpTo(h, MAX), 0);
    assert_int_equal(histogramFind(h, 0), -1);
    assert_int_equal(histogramFind(h, 1), -1);
    histogramFree(h);
}

static void testTooLargeIsTheLargest(void **state) {
    (void)state;
    struct histogram *h = histogramCreate(BITS, MAX);
    histogramAdd(h, UINT64_MAX, 2);
    histogramAdd(h, MAX, 1);
    assert_int_equal(histogramAt(h, histogramIndex(h, h->max_value)), 3);
    assert_int_equal(histogramTotalUpTo(h, UINT64_MAX), 3);
    histogramFree(h);
}

static int histogramTestCompare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void testAgainstSorted(void **state) {
    (void)state;
    enum { N = 5000 };
    static uint64_t values[N];
    struct histogram *h = histogramCreate(BITS, MAX), *other = histogramCreate(BITS, MAX);
    for (int i = 0; i < N; i++) {
        values[i] = randomU64() >> (34 + randomU64() % 30);
        if (values[i] > MAX) values[i] = MAX;
        histogramAdd(i % 2 ? h : other, values[i], 1);
    }
    histogramMerge(h, other);
    qsort(values, N, sizeof *values, histogramTestCompare);
    assert_int_equal(histogramTotal(h), N);
    for (int rank = 1; rank <= N; rank++) {
        int index = histogramFind(h, (uint64_t)rank);
        assert_true(histogramLowest(h, index) <= values[rank - 1]);
        assert_true(histogramHighest(h, index) >= values[rank - 1]);
        assert_true(histogramTotalUpTo(h, values[rank - 1]) >= (uint64_t)rank);
    }
    assert_int_equal(histogramFind(h, N + 1), -1);
    histogramFree(h);
    histogramFree(other);
}

int main(void) {
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testBucketsTile),
        cmocka_unit_test(histogramTestEmpty),
        cmocka_unit_test(testTooLargeIsTheLargest),
        cmocka_unit_test(testAgainstSorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
