/* SPDX-License-Identifier: BSD-3-Clause */
/* recent_test.c - the ring of samples: its bounds, differences over it, and its JSON. */
#include "web/recent.h"

#include <math.h>
#include <string.h>

/* cmocka needs these before its own header. */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void recentTestAdd(struct recent *h, int64_t time_ms, double commands) {
    struct recentSample sample = {.time_ms = time_ms};
    sample.values[RECENT_COMMANDS] = commands;
    recentAdd(h, &sample);
}

static void recentTestEmpty(void **state) {
    (void)state;
    static struct recent h;
    assert_int_equal(recentSpanMs(&h), 0);
    assert_true(recentIncrease(&h, RECENT_COMMANDS) == 0);
    assert_true(recentChange(&h, RECENT_COMMANDS) == 0);
    recentTestAdd(&h, 500, 7);
    assert_int_equal(recentSpanMs(&h), 0);
    assert_true(recentIncrease(&h, RECENT_COMMANDS) == 0);
    assert_true(recentChange(&h, RECENT_COMMANDS) == 0);
}

/* After each sample, the newest RECENT_SAMPLES are there in their order. */
static void recentTestBounds(void **state) {
    (void)state;
    static struct recent h;
    for (int n = 1; n <= 3 * RECENT_SAMPLES + 1; n++) {
        recentTestAdd(&h, n, n);
        assert_int_equal(h.count, n < RECENT_SAMPLES ? n : RECENT_SAMPLES);
        for (int i = 0; i < h.count; i++) assert_int_equal(recentAt(&h, i)->time_ms, n - h.count + 1 + i);
    }
    assert_int_equal(recentSpanMs(&h), RECENT_SAMPLES - 1);
    assert_true(recentIncrease(&h, RECENT_COMMANDS) == RECENT_SAMPLES - 1);
    assert_true((RECENT_SAMPLES - 1) * RECENT_PERIOD_MS == 300000); /* five minutes */
}

static void recentTestResets(void **state) {
    (void)state;
    static struct recent h;
    const double values[] = {10, 15, 2, 4, 4};
    for (int i = 0; i < 5; i++) recentTestAdd(&h, i, values[i]);
    assert_true(recentIncrease(&h, RECENT_COMMANDS) == 7); /* 5 before the reset, 2 behind it */
    assert_true(recentChange(&h, RECENT_COMMANDS) == -6);
    assert_true(recentIncrease(&h, RECENT_KEYS) == 0);
}

static void recentTestJson(void **state) {
    (void)state;
    static struct recent h;
    sds s = recentAppendJson(sdsempty(), &h, 0);
    assert_non_null(strstr(s, "{\"period_ms\":2000,\"times\":[],\"series\":{\"commands\":[],"));
    sdsfree(s);
    recentTestAdd(&h, 5, 1);
    recentTestAdd(&h, 2005, NAN);
    recentTestAdd(&h, 4005, 1e15);
    s = recentAppendJson(sdsempty(), &h, 1000);
    assert_non_null(
        strstr(s, "\"times\":[1005,3005,5005],\"series\":{\"commands\":[1,null,1000000000000000],"));
    assert_non_null(strstr(s, "\"failed_logins\":[0,0,0]}}"));
    sdsfree(s);
}

/* A full ring of long numbers: the answer that a browser may get. */
static void recentTestJsonSize(void **state) {
    (void)state;
    static struct recent h;
    struct recentSample sample;
    for (int i = 0; i < RECENT_SERIES; i++) sample.values[i] = 1.2345678901234567e17;
    for (int i = 0; i < RECENT_SAMPLES; i++) {
        sample.time_ms = i * RECENT_PERIOD_MS;
        recentAdd(&h, &sample);
    }
    sds s = recentAppendJson(sdsempty(), &h, 1800000000000);
    assert_in_range(sdslen(s), RECENT_SERIES * RECENT_SAMPLES * 18, 100000);
    sdsfree(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recentTestEmpty),    cmocka_unit_test(recentTestBounds),
        cmocka_unit_test(recentTestResets),   cmocka_unit_test(recentTestJson),
        cmocka_unit_test(recentTestJsonSize),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
