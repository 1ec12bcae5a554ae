/* SPDX-License-Identifier: BSD-3-Clause */
/* throttle_rate_test.c - a model of a primary, its writers and one replica, and the rates that result. */
#include "repl/throttle_rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define STEPS_PER_S (1000 / THROTTLE_STEP_MS)
#define MB          1e6

struct throttleModel {
    struct throttleRate state;
    double offered, bytes; /* commands a second that clients would run; bytes of each */
    double drain;          /* bytes a second that the replica reads */
    double size, largest;  /* of the buffer */
    double rate, run;      /* of the last step */
    uint64_t limit;
    int64_t now_ms;
};

static void throttleModelStep(struct throttleModel *m) {
    m->run = m->rate >= 0 && m->rate < m->offered ? m->rate : m->offered;
    m->size += (m->run * m->bytes - m->drain) / STEPS_PER_S;
    if (m->size < 0) m->size = 0;
    if (m->size > m->largest) m->largest = m->size;
    m->now_ms += THROTTLE_STEP_MS;
    m->rate = throttleRateReview(&m->state, (struct throttleLoad){.now_ms = m->now_ms,
                                                                  .size = (uint64_t)m->size,
                                                                  .limit = m->limit,
                                                                  .run = m->run,
                                                                  .waits = m->run < m->offered});
}

static void throttleModelRun(struct throttleModel *m, int seconds) {
    for (int i = 0; i < seconds * STEPS_PER_S; i++) throttleModelStep(m);
}

static struct throttleModel throttleModelOf(double offered, double drain, uint64_t limit) {
    return (struct throttleModel){
        .offered = offered, .bytes = 1000, .drain = drain, .limit = limit, .rate = -1};
}

static void aFastReplicaLimitsNobody(void **state) {
    (void)state;
    struct throttleModel m = throttleModelOf(50000, 60 * MB, 64 << 20);
    throttleModelRun(&m, 600);
    assert_true(m.rate < 0);
    assert_int_equal(m.state.activations, 0);
}

/* Whatever the speeds are, the buffer comes to rest near the target, and writers run what the replica can
 * read. */
static void aSlowReplicaLimitsWritersToItsSpeed(void **state) {
    (void)state;
    for (double drain = 0.5 * MB; drain < 40 * MB; drain *= 3) {
        struct throttleModel m = throttleModelOf(50000, drain, 64 << 20);
        throttleModelRun(&m, 120);
        assert_true(m.rate >= 0);
        assert_true(m.largest < 256 << 20);
        m.largest = 0;
        double written = 0;
        for (int i = 0; i < 300 * STEPS_PER_S; i++) {
            throttleModelStep(&m);
            written += m.run * m.bytes / STEPS_PER_S;
        }
        assert_true(m.largest < 64 << 20); /* not even the soft limit is reached */
        assert_true(written > 0.8 * 300 * drain && written < 1.2 * 300 * drain);
    }
}

/* A small buffer may grow quickly. */
static void belowAQuarterNothingHappens(void **state) {
    (void)state;
    struct throttleModel m = throttleModelOf(15000, 0, 64 << 20);
    throttleModelRun(&m, 1);
    assert_true(m.rate < 0);
    throttleModelRun(&m, 1);
    assert_true(m.rate >= 0);
}

static void aBufferThatGrowsSlowlyEnoughMayGrow(void **state) {
    (void)state;
    struct throttleModel m = throttleModelOf(1000, 0.9 * MB, 100 * 1000 * 1000);
    m.size = 26 * MB; /* 24 MB below the target, and 3 MB more after 30 s */
    throttleModelRun(&m, 100);
    assert_true(m.rate < 0);
}

static void theLimitEndsWhenNobodyNeedsIt(void **state) {
    (void)state;
    struct throttleModel m = throttleModelOf(50000, 2 * MB, 64 << 20);
    throttleModelRun(&m, 60);
    assert_true(m.rate >= 0);
    m.drain = 100 * MB;
    throttleModelRun(&m, 12);
    assert_true(m.rate < 0);
    assert_int_equal(m.state.activations, 1);
    throttleModelRun(&m, 30);
    assert_true(m.rate < 0);
}

static void aReplicaWithoutALimitLimitsNobody(void **state) {
    (void)state;
    struct throttleModel m = throttleModelOf(50000, 0, 64 << 20);
    throttleModelRun(&m, 5);
    assert_true(m.rate >= 0);
    m.limit = 0;
    throttleModelStep(&m);
    assert_true(m.rate < 0);
}

/* A stopped replica leaves writers a little, so that the server never stands still. */
static void theRateIsNeverZero(void **state) {
    (void)state;
    struct throttleModel m = throttleModelOf(50000, 0, 64 << 20);
    throttleModelRun(&m, 200);
    assert_true(m.rate >= THROTTLE_RATE_LEAST);
    throttleRateForget(&m.state);
    assert_false(m.state.limits);
    assert_true(m.state.fewer > 0);
}

static void stepsHaveTheirSizes(void **state) {
    (void)state;
    struct throttleRate t = {0};
    struct throttleLoad load = {.now_ms = 0, .size = 60, .limit = 100, .run = 1000, .waits = true};
    assert_true(throttleRateReview(&t, load) == 1000); /* at first to what is run */
    load.now_ms += THROTTLE_STEP_MS;
    assert_true(throttleRateReview(&t, load) == 1000 * THROTTLE_FEWER);
    load.now_ms += THROTTLE_STEP_MS;
    load.run = 100;
    assert_true(throttleRateReview(&t, load) == 100);
    load.size = 24;
    assert_true(throttleRateReview(&t, load) == 100 * THROTTLE_MORE);
    assert_int_equal(t.activations, 1);
    assert_int_equal(t.fewer, 3);
    assert_int_equal(t.more, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aFastReplicaLimitsNobody),
        cmocka_unit_test(aSlowReplicaLimitsWritersToItsSpeed),
        cmocka_unit_test(belowAQuarterNothingHappens),
        cmocka_unit_test(aBufferThatGrowsSlowlyEnoughMayGrow),
        cmocka_unit_test(theLimitEndsWhenNobodyNeedsIt),
        cmocka_unit_test(aReplicaWithoutALimitLimitsNobody),
        cmocka_unit_test(theRateIsNeverZero),
        cmocka_unit_test(stepsHaveTheirSizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
