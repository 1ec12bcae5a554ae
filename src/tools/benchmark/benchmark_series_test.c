/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_series_test.c - unit tests of benchmark_series.h. */
#include "tools/benchmark/benchmark_series.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void assertAbout(double value, double expected) {
    if (fabs(value - expected) > expected / 64 + 1e-9) fail_msg("%g instead of %g", value, expected);
}

static void testIntervals(void **state) {
    (void)state;
    struct series *s = seriesCreate(100000);
    assert_int_equal(seriesCount(s), 0);
    seriesRecord(s, -1, 5, 1); /* before the start */
    assert_int_equal(seriesCount(s), 0);
    seriesRecord(s, 0, 1000, 98);
    seriesRecord(s, 99999, 7000, 2);
    seriesRecord(s, 300000, 2000, 10);
    assert_int_equal(seriesCount(s), 4);
    struct seriesPoint p = seriesPoint(s, 0);
    assertAbout(p.p50_ms, 1);
    assertAbout(p.p99_ms, 7);
    assertAbout(p.max_ms, 7);
    assertAbout(p.rate, 1000);
    assert_int_equal(seriesPoint(s, 1).count, 0);
    assert_true(seriesPoint(s, 1).p99_ms == 0);
    assertAbout(seriesPoint(s, 3).seconds, 0.3);
    seriesFree(s);
    seriesFree(NULL);
}

/* However long the run, the number of points is bounded, and every latency is counted at its time. */
static void testWidens(void **state) {
    (void)state;
    struct series *s = seriesCreate(100);
    const int64_t records = 20 * SERIES_POINTS;
    for (int64_t i = 0; i < records; i++) {
        seriesRecord(s, i * 100, i < records / 2 ? 1000 : 4000, 1);
        assert_in_range(seriesCount(s), 1, SERIES_POINTS);
    }
    int64_t sum = 0;
    int count = seriesCount(s);
    for (int i = 0; i < count; i++) sum += seriesPoint(s, i).count;
    assert_int_equal(sum, records);
    assert_true(count > SERIES_POINTS / 2);
    assertAbout(seriesWidth(s), 0.0032);
    assertAbout(seriesPoint(s, 0).max_ms, 1);
    assertAbout(seriesPoint(s, count - 1).p50_ms, 4);
    seriesRecord(s, INT64_MAX / 2, 1, 1);
    assert_in_range(seriesCount(s), 1, SERIES_POINTS);
    seriesFree(s);
}

static void benchmarkSeriesTestMerge(void **state) {
    (void)state;
    struct series *a = seriesCreate(100), *b = seriesCreate(100);
    seriesRecord(a, 50, 1000, 3);
    seriesRecord(b, 50, 9000, 1);
    for (int i = 0; i < 2 * SERIES_POINTS; i++) seriesRecord(b, i * 100, 2000, 1);
    seriesMerge(a, b);
    assertAbout(seriesWidth(a), 0.0002);
    assert_int_equal(seriesCount(a), SERIES_POINTS);
    assert_int_equal(seriesPoint(a, 0).count, 3 + 1 + 2);
    assertAbout(seriesPoint(a, 0).max_ms, 9);
    assertAbout(seriesPoint(a, 1).max_ms, 2);
    seriesFree(a);
    seriesFree(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testIntervals),
        cmocka_unit_test(testWidens),
        cmocka_unit_test(benchmarkSeriesTestMerge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
