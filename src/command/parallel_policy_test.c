/* SPDX-License-Identifier: BSD-3-Clause */
/* parallel_policy_test.c - series of loads, and whether threads read in them. */
#include "command/parallel_policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Returns in how many of n reviews threads may read. */
static int parallelPolicyTestRun(struct parallelPolicy *p, struct parallelLoad load, int n) {
    int on = 0;
    for (int i = 0; i < n; i++) on += parallelPolicyReview(p, load);
    return on;
}

static void readsAloneGoOn(void **state) {
    (void)state;
    struct parallelPolicy p = {0};
    assert_int_equal(parallelPolicyTestRun(&p, (struct parallelLoad){100000, 400, 100000}, 1000), 1000);
    assert_int_equal(parallelPolicyTestRun(&p, (struct parallelLoad){0, 0, 0}, 1000), 1000);
}

static void waitingThatSavesMoreGoesOn(void **state) {
    (void)state;
    struct parallelPolicy p = {0};
    assert_int_equal(parallelPolicyTestRun(&p, (struct parallelLoad){100000, 9000, 100000}, 1000), 1000);
}

static void oneLongWaitDoesNotMatter(void **state) {
    (void)state;
    struct parallelPolicy p = {0};
    for (int i = 0; i < 100; i++) {
        assert_true(parallelPolicyReview(&p, (struct parallelLoad){10, 90000, 10}));
        assert_true(parallelPolicyReview(&p, (struct parallelLoad){10, 10, 10}));
    }
}

/* What the sweep of utils/bench/parallel_reads has shown (docs/contributing/decisions.md). */
static void threadsThatRunFewCommandsHandOver(void **state) {
    (void)state;
    const uint64_t all = 20000, least = (uint64_t)(PARALLEL_POLICY_SHARE * 20000);
    for (uint64_t reads = 0; reads <= all; reads += all / 20) {
        struct parallelPolicy p = {0};
        int on = parallelPolicyTestRun(&p, (struct parallelLoad){reads, 100, all}, 10);
        assert_int_equal(on, reads >= least ? 10 : PARALLEL_POLICY_REVIEWS - 1);
    }
    struct parallelPolicy p = {0};
    assert_int_equal(parallelPolicyTestRun(&p, (struct parallelLoad){1, 100, PARALLEL_POLICY_LEAST}, 100), 100);
}

static void dearReadsRestLongerEachTime(void **state) {
    (void)state;
    const struct parallelLoad dear = {1000, 50000, 1000};
    struct parallelPolicy p = {0};
    int on = 0, rests[8];
    for (int i = 0; i < 8; i++) {
        rests[i] = 1;
        while (parallelPolicyReview(&p, dear)) on++;
        while (!parallelPolicyReview(&p, (struct parallelLoad){0, 0, 0})) rests[i]++;
        on++;
    }
    assert_int_equal(rests[0], PARALLEL_POLICY_REST);
    assert_int_equal(rests[1], 2 * PARALLEL_POLICY_REST);
    assert_int_equal(rests[7], PARALLEL_POLICY_REST_MAX);
    assert_in_range(on, 8, 8 * PARALLEL_POLICY_REVIEWS);
}

static void goodTimesForgetTheRests(void **state) {
    (void)state;
    const struct parallelLoad dear = {1000, 50000, 1000}, good = {100000, 100, 100000};
    struct parallelPolicy p = {0};
    for (int i = 0; i < 5; i++) {
        while (parallelPolicyReview(&p, dear)) {
        }
        while (!parallelPolicyReview(&p, good)) {
        }
    }
    assert_true(p.last_rest > PARALLEL_POLICY_REST);
    assert_int_equal(parallelPolicyTestRun(&p, good, 2000), 2000);
    while (parallelPolicyReview(&p, dear)) {
    }
    assert_int_equal(p.last_rest, PARALLEL_POLICY_REST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readsAloneGoOn),           cmocka_unit_test(waitingThatSavesMoreGoesOn),
        cmocka_unit_test(oneLongWaitDoesNotMatter), cmocka_unit_test(dearReadsRestLongerEachTime),
        cmocka_unit_test(goodTimesForgetTheRests),  cmocka_unit_test(threadsThatRunFewCommandsHandOver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
