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
    assert_int_equal(parallelPolicyTestRun(&p, (struct parallelLoad){100000, 400, 100000, 100000}, 1000),
                     1000);
    assert_int_equal(parallelPolicyTestRun(&p, (struct parallelLoad){0, 0, 0, 0}, 1000), 1000);
}

static void waitingThatSavesMoreGoesOn(void **state) {
    (void)state;
    struct parallelPolicy p = {0};
    assert_int_equal(parallelPolicyTestRun(&p, (struct parallelLoad){100000, 9000, 100000, 100000}, 1000),
                     1000);
}

static void oneLongWaitDoesNotMatter(void **state) {
    (void)state;
    struct parallelPolicy p = {0};
    for (int i = 0; i < 100; i++) {
        assert_true(parallelPolicyReview(&p, (struct parallelLoad){10, 90000, 10, 10}));
        assert_true(parallelPolicyReview(&p, (struct parallelLoad){10, 10, 10, 10}));
    }
}

/* The loads are those of the sweep of utils/bench/parallel_reads (docs/contributing/decisions.md): a part of
 * the inputs is without a write, by the percentage of writes and the pipeline. */
static void threadsThatRunFewInputsHandOver(void **state) {
    (void)state;
    static const struct {
        int writes, pipeline;
        bool reads;
    } loads[] = {{0, 1, true},    {5, 1, true},    {10, 1, true},   {20, 1, true},   {30, 1, true},
                 {50, 1, true},   {70, 1, false},  {90, 1, false},  {0, 16, true},   {5, 16, true},
                 {10, 16, false}, {20, 16, false}, {30, 16, false}, {50, 16, false}, {70, 16, false}};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        double whole = 20000;
        for (int n = 0; n < loads[i].pipeline; n++) whole *= 1 - loads[i].writes / 100.0;
        struct parallelPolicy p = {0};
        int on = parallelPolicyTestRun(&p, (struct parallelLoad){20000, 100, 20000, (uint64_t)whole}, 10);
        assert_int_equal(on, loads[i].reads ? 10 : PARALLEL_POLICY_REVIEWS - 1);
    }
    struct parallelPolicy p = {0};
    assert_int_equal(parallelPolicyTestRun(&p, (struct parallelLoad){1, 100, PARALLEL_POLICY_LEAST, 0}, 100),
                     100);
}

static void dearReadsRestLongerEachTime(void **state) {
    (void)state;
    const struct parallelLoad dear = {1000, 50000, 1000, 1000};
    struct parallelPolicy p = {0};
    int on = 0, rests[8];
    for (int i = 0; i < 8; i++) {
        rests[i] = 1;
        while (parallelPolicyReview(&p, dear)) on++;
        while (!parallelPolicyReview(&p, (struct parallelLoad){0, 0, 0, 0})) rests[i]++;
        on++;
    }
    assert_int_equal(rests[0], PARALLEL_POLICY_REST);
    assert_int_equal(rests[1], 2 * PARALLEL_POLICY_REST);
    assert_int_equal(rests[7], PARALLEL_POLICY_REST_MAX);
    assert_in_range(on, 8, 8 * PARALLEL_POLICY_REVIEWS);
}

static void goodTimesForgetTheRests(void **state) {
    (void)state;
    const struct parallelLoad dear = {1000, 50000, 1000, 1000}, good = {100000, 100, 100000, 100000};
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
        cmocka_unit_test(goodTimesForgetTheRests),  cmocka_unit_test(threadsThatRunFewInputsHandOver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
