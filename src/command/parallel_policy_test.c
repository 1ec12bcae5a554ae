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

/* Reviews until threads may read, or may not. Returns how many it took. */
static int parallelPolicyTestUntil(struct parallelPolicy *p, struct parallelLoad load, bool may) {
    int reviews = 1;
    for (; parallelPolicyReview(p, load) != may; reviews++) assert_true(reviews < 10000);
    return reviews;
}

static void readsAloneGoOn(void **state) {
    (void)state;
    struct parallelPolicy p = {0};
    assert_int_equal(parallelPolicyTestRun(&p, (struct parallelLoad){100000, 400}, 1000), 1000);
    assert_int_equal(parallelPolicyTestRun(&p, (struct parallelLoad){0, 0}, 1000), 1000);
}

static void waitingThatSavesMoreGoesOn(void **state) {
    (void)state;
    struct parallelPolicy p = {0};
    assert_int_equal(parallelPolicyTestRun(&p, (struct parallelLoad){100000, 9000}, 1000), 1000);
}

static void oneLongWaitDoesNotMatter(void **state) {
    (void)state;
    struct parallelPolicy p = {0};
    for (int i = 0; i < 100; i++) {
        assert_true(parallelPolicyReview(&p, (struct parallelLoad){10, 90000}));
        assert_true(parallelPolicyReview(&p, (struct parallelLoad){10, 10}));
    }
}

/* The loads are those of a sweep over writes (docs/contributing/decisions.md). Where most inputs have a
 * write, threads run few reads and are seldom waited for: that is no reason to hand those over, too. */
static void fewReadsGoOn(void **state) {
    (void)state;
    static const struct parallelLoad loads[] = {{15000, 400}, {1500, 150}, {10, 20}, {0, 500}};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        struct parallelPolicy p = {0};
        assert_int_equal(parallelPolicyTestRun(&p, loads[i], 1000), 1000);
    }
}

static void dearReadsRestLongerEachTime(void **state) {
    (void)state;
    const struct parallelLoad dear = {1000, 50000};
    struct parallelPolicy p = {0};
    int on = 0, rests[8];
    for (int i = 0; i < 8; i++) {
        on += parallelPolicyTestUntil(&p, dear, false);
        rests[i] = parallelPolicyTestUntil(&p, (struct parallelLoad){0, 0}, true);
    }
    assert_int_equal(rests[0], PARALLEL_POLICY_REST);
    assert_int_equal(rests[1], 2 * PARALLEL_POLICY_REST);
    assert_int_equal(rests[7], PARALLEL_POLICY_REST_MAX);
    assert_in_range(on, 8, 8 * PARALLEL_POLICY_REVIEWS);
}

static void goodTimesForgetTheRests(void **state) {
    (void)state;
    const struct parallelLoad dear = {1000, 50000}, good = {100000, 100};
    struct parallelPolicy p = {0};
    for (int i = 0; i < 5; i++) {
        parallelPolicyTestUntil(&p, dear, false);
        parallelPolicyTestUntil(&p, good, true);
    }
    assert_true(p.last_rest > PARALLEL_POLICY_REST);
    assert_int_equal(parallelPolicyTestRun(&p, good, 2000), 2000);
    parallelPolicyTestUntil(&p, dear, false);
    assert_int_equal(p.last_rest, PARALLEL_POLICY_REST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readsAloneGoOn),           cmocka_unit_test(waitingThatSavesMoreGoesOn),
        cmocka_unit_test(oneLongWaitDoesNotMatter), cmocka_unit_test(dearReadsRestLongerEachTime),
        cmocka_unit_test(goodTimesForgetTheRests),  cmocka_unit_test(fewReadsGoOn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
