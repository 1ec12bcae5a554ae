/* SPDX-License-Identifier: BSD-3-Clause */
/* latency_test.c - what is recorded about spikes, and for how long. */
#include "registry/latency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static bool latencyTestAlways(void *priv, const char *event) {
    (void)priv, (void)event;
    return true;
}

static bool latencyTestIsCalled(void *priv, const char *event) {
    return strcmp(priv, event) == 0;
}

static const struct latencySample *latencyTestNewest(const struct latencyEvent *e) {
    return latencySampleAt(e, LATENCY_SAMPLES - 1);
}

static void testThreshold(void **state) {
    (void)state;
    latency_threshold_ms = 0;
    assert_true(latencyThresholdUs() == UINT64_MAX);
    assert_int_equal(latencyTimerStart(), 0);
    latencyTimerEnd("timed", 0);
    latencyAddSampleIfNeeded("timed", INT64_MAX);
    latency_threshold_ms = 10;
    assert_true(latencyThresholdUs() == 10000);
    latencyAddSampleIfNeeded("timed", 9);
    assert_int_equal(latencyEventCount(), 0);
    latencyAddSampleIfNeeded("timed", 10);
    assert_int_equal(latencyEventCount(), 1);
    latencyTimerEnd("timed", latencyTimerStart() - 50000);
    assert_true(latencyFind(STR("timed"))->count == 2);
    assert_true(latencyFind(STR("timed"))->worst_ms >= 50);
    latency_threshold_ms = INT64_MAX;
    assert_true(latencyThresholdUs() == UINT64_MAX);
    assert_int_equal(latencyForget(latencyTestAlways, NULL), 1);
}

/* A second has one sample, its worst; the totals of the event count all. */
static void testSameSecond(void **state) {
    (void)state;
    struct latencyEvent *e;
    do { /* repeated if a new second has begun in between */
        latencyForget(latencyTestAlways, NULL);
        latencyAddSample("e", 5);
        latencyAddSample("e", 9);
        latencyAddSample("e", 7);
        e = latencyFind(STR("e"));
    } while (e->next != 1);
    assert_int_equal(latencyTestNewest(e)->ms, 9);
    assert_int_equal(e->worst_ms, 9);
    assert_int_equal(e->sum_ms, 21);
    assert_int_equal(e->count, 3);
    assert_int_equal(latencySampleAt(e, LATENCY_SAMPLES - 2)->time_s, 0);
    latencyAddSample("e", INT64_MAX);
    assert_true(e->worst_ms == UINT32_MAX);
}

/* When the ring is full the oldest sample is dropped. */
static void testRing(void **state) {
    (void)state;
    latencyForget(latencyTestAlways, NULL);
    latencyAddSample("ring", 1);
    struct latencyEvent *e = latencyFind(STR("ring"));
    for (int i = 2; i <= LATENCY_SAMPLES + 3; i++) {
        int last = (e->next + LATENCY_SAMPLES - 1) % LATENCY_SAMPLES;
        e->samples[last].time_s -= 1000 - i; /* long ago: a second of its own */
        latencyAddSample("ring", i);
    }
    for (int i = 0; i < LATENCY_SAMPLES; i++) assert_int_equal(latencySampleAt(e, i)->ms, i + 4);
}

static void testForget(void **state) {
    (void)state;
    latencyForget(latencyTestAlways, NULL);
    const char *names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) latencyAddSample(names[i], i + 1);
    assert_int_equal(latencyForget(latencyTestIsCalled, "nobody"), 0);
    assert_int_equal(latencyForget(latencyTestIsCalled, "a"), 1);
    assert_null(latencyFind(STR("a")));
    assert_int_equal(latencyFind(STR("b"))->worst_ms, 2);
    assert_int_equal(latencyFind(STR("c"))->worst_ms, 3);
    assert_int_equal(latencyForget(latencyTestAlways, NULL), 2);
    assert_int_equal(latencyEventCount(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testThreshold),
        cmocka_unit_test(testSameSecond),
        cmocka_unit_test(testRing),
        cmocka_unit_test(testForget),
    };
    return cmocka_run_group_tests_name("latency", tests, NULL, NULL);
}
