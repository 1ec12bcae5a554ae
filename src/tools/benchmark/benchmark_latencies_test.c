/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_latencies_test.c - the histogram against sorted arrays of the same values. */
#include "tools/benchmark/benchmark_latencies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/random.h"

static int compareInt64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void benchmarkLatenciesTestEmpty(void **state) {
    (void)state;
    struct latencies *h = latenciesCreate();
    assert_int_equal(latenciesCount(h), 0);
    assert_int_equal(latenciesMin(h), 0);
    assert_int_equal(latenciesMax(h), 0);
    assert_int_equal(latenciesPercentile(h, 99), 0);
    assert_true(latenciesMean(h) == 0);
    latenciesFree(h);
}

/* Below 2048 every value has its own bucket, so percentiles are exact. */
static void testSmallValuesAreExact(void **state) {
    (void)state;
    struct latencies *h = latenciesCreate();
    for (int i = 1; i <= 1000; i++) latenciesRecord(h, i, 1);
    assert_int_equal(latenciesPercentile(h, 0), 1);
    assert_int_equal(latenciesPercentile(h, 50), 500);
    assert_int_equal(latenciesPercentile(h, 95), 950);
    assert_int_equal(latenciesPercentile(h, 99.9), 999);
    assert_int_equal(latenciesPercentile(h, 100), 1000);
    assert_int_equal(latenciesCountUpTo(h, 250), 250);
    assert_int_equal(latenciesCountUpTo(h, -1), 0);
    assert_true(latenciesMean(h) == 500.5);
    latenciesFree(h);
}

/* At every power of two, the reported value is at least the value itself, and at most one part in 1024
 * above. */
static void testPrecisionAtBoundaries(void **state) {
    (void)state;
    for (int bit = 1; bit < 36; bit++) {
        for (int64_t delta = -2; delta <= 2; delta++) {
            int64_t value = (INT64_C(1) << bit) + delta;
            if (value < 0 || value > LATENCIES_MAX_US) continue;
            struct latencies *h = latenciesCreate();
            latenciesRecord(h, value, 1);
            latenciesRecord(h, LATENCIES_MAX_US, 1);
            int64_t got = latenciesPercentile(h, 50);
            assert_true(got >= value);
            assert_true(got - value <= value / 1024);
            assert_int_equal(latenciesCountUpTo(h, value), value == LATENCIES_MAX_US ? 2 : 1);
            latenciesFree(h);
        }
    }
}

static void testOutOfRangeIsClamped(void **state) {
    (void)state;
    struct latencies *h = latenciesCreate();
    latenciesRecord(h, -5, 1);
    latenciesRecord(h, INT64_MAX, 1);
    assert_int_equal(latenciesMin(h), 0);
    assert_int_equal(latenciesMax(h), LATENCIES_MAX_US);
    assert_int_equal(latenciesCount(h), 2);
    latenciesFree(h);
}

static void testRandomAgainstSorted(void **state) {
    (void)state;
    enum { N = 20000 };
    static int64_t values[N];
    struct latencies *h = latenciesCreate(), *other = latenciesCreate();
    double sum = 0;
    randomSeed(7);
    for (int i = 0; i < N; i++) {
        values[i] = (int64_t)randomBelow(UINT64_C(1) << (1 + randomBelow(30)));
        latenciesRecord(i % 2 ? h : other, values[i], 1);
        sum += (double)values[i];
    }
    latenciesMerge(h, other);
    qsort(values, N, sizeof(values[0]), compareInt64);
    assert_int_equal(latenciesCount(h), N);
    assert_int_equal(latenciesMin(h), values[0]);
    assert_int_equal(latenciesMax(h), values[N - 1]);
    assert_true(latenciesMean(h) > sum / N * 0.999999 && latenciesMean(h) < sum / N * 1.000001);
    for (int i = 1; i <= 1000; i++) {
        int64_t want = values[N / 1000 * i - 1];
        int64_t got = latenciesPercentile(h, i / 10.0);
        assert_true(got >= want);
        assert_true(got - want <= want / 1024);
    }
    latenciesFree(h);
    latenciesFree(other);
}

static void testWeights(void **state) {
    (void)state;
    struct latencies *h = latenciesCreate();
    latenciesRecord(h, 10, 99);
    latenciesRecord(h, 1000, 1);
    assert_int_equal(latenciesPercentile(h, 99), 10);
    assert_int_equal(latenciesPercentile(h, 99.5), 1000);
    assert_int_equal(latenciesCount(h), 100);
    latenciesFree(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(benchmarkLatenciesTestEmpty), cmocka_unit_test(testSmallValuesAreExact),
        cmocka_unit_test(testPrecisionAtBoundaries),   cmocka_unit_test(testOutOfRangeIsClamped),
        cmocka_unit_test(testRandomAgainstSorted),     cmocka_unit_test(testWeights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
