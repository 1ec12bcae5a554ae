/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_draw_test.c - each distribution against its formula. */
#include "tools/benchmark/benchmark_draw.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"

#define DRAWS 400000

static void testParse(void **state) {
    (void)state;
    struct benchDraw d;
    assert_true(benchDrawParse(&d, "uniform") && d.kind == BENCH_UNIFORM);
    assert_true(benchDrawParse(&d, "zipf") && d.kind == BENCH_ZIPF && d.parameter == 0.99);
    assert_true(benchDrawParse(&d, "zipf:1") && d.parameter == 1);
    assert_true(benchDrawParse(&d, "gauss:0.05") && d.kind == BENCH_GAUSS && d.parameter == 0.05);
    static const char *const bad[] = {"",       "zip",     "zipfs",   "zipf:",    "zipf:x",   "zipf:1x",
                                      "zipf:0", "zipf:-1", "zipf:21", "zipf:nan", "uniform:1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(benchDrawParse(&d, bad[i]));
}

/* Returns how often each number occurs among DRAWS numbers below `range` (at most 1000). */
static const int64_t *benchDrawTestCounts(const char *text, int64_t range) {
    static int64_t counts[1000];
    struct benchDraw d;
    assert_true(benchDrawParse(&d, text));
    benchDrawPrepare(&d, range);
    memset(counts, 0, sizeof counts);
    for (int i = 0; i < DRAWS; i++) {
        int64_t n = benchDraw(&d, range);
        assert_in_range(n, 0, range - 1);
        counts[n]++;
    }
    return counts;
}

/* Asserts that a count is within five standard deviations of its expectation. */
static void assertNear(int64_t count, double share) {
    double expected = share * DRAWS, deviation = sqrt(expected * (1 - share));
    if (fabs((double)count - expected) > 5 * deviation + 1)
        fail_msg("%lld instead of %.0f", (long long)count, expected);
}

static void testZipf(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double s;
    } cases[] = {{"zipf", 0.99}, {"zipf:1", 1}, {"zipf:0.5", 0.5}, {"zipf:2", 2}, {"zipf:0.01", 0.01}};
    static const int64_t ranges[] = {1, 2, 3, 10, 1000};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
            const int64_t *counts = benchDrawTestCounts(cases[c].text, ranges[r]);
            double sum = 0;
            for (int64_t k = 1; k <= ranges[r]; k++) sum += pow((double)k, -cases[c].s);
            for (int64_t k = 1; k <= ranges[r]; k++)
                assertNear(counts[k - 1], pow((double)k, -cases[c].s) / sum);
        }
    }
}

static void testGauss(void **state) {
    (void)state;
    const int64_t *counts = benchDrawTestCounts("gauss:0.1", 1000);
    int64_t inner = 0, left = 0;
    for (int i = 400; i < 600; i++) inner += counts[i];
    for (int i = 0; i < 500; i++) left += counts[i];
    assertNear(inner, erf(1 / sqrt(2))); /* one deviation to both sides */
    assertNear(left, 0.5);
    counts = benchDrawTestCounts("gauss:5", 10); /* cut off at both ends: nearly uniform */
    for (int i = 0; i < 10; i++) assertNear(counts[i], 0.1);
    benchDrawTestCounts("gauss", 1);
}

static void testUniform(void **state) {
    (void)state;
    const int64_t *counts = benchDrawTestCounts("uniform", 7);
    for (int i = 0; i < 7; i++) assertNear(counts[i], 1.0 / 7);
}

/* The largest range that -r takes. */
static void testHugeRange(void **state) {
    (void)state;
    const int64_t range = 1000000000000;
    struct benchDraw d;
    benchDrawParse(&d, "zipf");
    benchDrawPrepare(&d, range);
    int64_t first = 0, beyond = 0;
    for (int i = 0; i < DRAWS; i++) {
        int64_t n = benchDraw(&d, range);
        assert_in_range(n, 0, range - 1);
        first += n == 0;
        beyond += n >= range / 10;
    }
    double sum = 0; /* for the exponent 0.99: the first million terms exactly, the rest as an integral */
    for (int k = 1; k <= 1000000; k++) sum += pow(k, -0.99);
    sum += (pow((double)range, 0.01) - pow(1e6, 0.01)) / 0.01;
    assertNear(first, 1 / sum);
    assertNear(beyond, (pow((double)range, 0.01) - pow((double)range / 10, 0.01)) / 0.01 / sum);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testParse),   cmocka_unit_test(testZipf),      cmocka_unit_test(testGauss),
        cmocka_unit_test(testUniform), cmocka_unit_test(testHugeRange),
    };
    randomSeed(20261123);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
