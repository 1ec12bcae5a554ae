/* SPDX-License-Identifier: BSD-3-Clause */
/* io_policy_test.c - schedules of load, and the number of threads that results. */
#include "command/io_policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* A server: `work` is the share that one thread alone would need for its load. With threads, a fifth of it
 * stays with the main thread; the others cannot use more than one processor each. */
struct server {
    struct ioPolicy policy;
    int active, most, changes;
    double waits;
};

static struct ioLoad loadOf(const struct server *s, double work) {
    struct ioLoad load = {.main = work < 1 ? work : 1, .waits = s->waits};
    if (!s->active) return load;
    load.main = 0.2 * work < 1 ? 0.2 * work : 1;
    load.threads = 0.9 * work < s->active ? 0.9 * work : s->active;
    return load;
}

static void ioPolicyTestRun(struct server *s, double work, int reviews) {
    for (int i = 0; i < reviews; i++) {
        int before = s->active;
        s->active = ioPolicyReview(&s->policy, s->active, s->most, loadOf(s, work));
        assert_true(s->active >= 0 && s->active <= s->most);
        assert_true(s->active - before <= 1);
        s->changes += s->active != before;
    }
}

static void idleServerHasNone(void **state) {
    (void)state;
    struct server s = {.most = 8};
    ioPolicyTestRun(&s, 0.5, 1000);
    assert_int_equal(s.changes, 0);
}

static void threadsFollowTheLoad(void **state) {
    (void)state;
    struct server s = {.most = 8};
    ioPolicyTestRun(&s, 20, 8 * IO_POLICY_MORE);
    assert_int_equal(s.active, 8);
    ioPolicyTestRun(&s, 0, 8 * IO_POLICY_FEWER);
    assert_int_equal(s.active, 0);
}

static void shortPeakIsIgnored(void **state) {
    (void)state;
    struct server s = {.most = 8};
    for (int i = 0; i < 100; i++) {
        ioPolicyTestRun(&s, 20, IO_POLICY_MORE - 1);
        ioPolicyTestRun(&s, 0, 1);
    }
    assert_int_equal(s.changes, 0);
    ioPolicyTestRun(&s, 20, 100);
    for (int i = 0; i < 100; i++) {
        ioPolicyTestRun(&s, 0, IO_POLICY_FEWER - 1);
        ioPolicyTestRun(&s, 20, 1);
    }
    assert_int_equal(s.active, 8);
}

/* At any constant load the number of threads settles. */
static void steadyLoadSettles(void **state) {
    (void)state;
    for (int from_above = 0; from_above < 2; from_above++) {
        for (double work = 0; work < 20; work += 0.01) {
            struct server s = {.most = 16, .active = from_above ? 16 : 0};
            ioPolicyTestRun(&s, work, 16 * IO_POLICY_FEWER);
            s.changes = 0;
            ioPolicyTestRun(&s, work, 1000);
            assert_int_equal(s.changes, 0);
        }
    }
}

/* A load that varies by a fifth around a boundary changes the number at most once. */
static void loadAtABoundaryIsStable(void **state) {
    (void)state;
    for (double work = 0.1; work < 10; work += 0.03) {
        struct server s = {.most = 16};
        ioPolicyTestRun(&s, work * 1.2, 16 * IO_POLICY_MORE);
        s.changes = 0;
        for (int i = 0; i < 50; i++) {
            ioPolicyTestRun(&s, work * 0.8, 2 * IO_POLICY_FEWER);
            ioPolicyTestRun(&s, work * 1.2, 2 * IO_POLICY_FEWER);
        }
        assert_true(s.changes <= 1);
    }
}

static void noneWithoutProcessors(void **state) {
    (void)state;
    struct server s = {.most = 8, .waits = 0.5};
    ioPolicyTestRun(&s, 20, 100);
    assert_int_equal(s.active, 0);
    s.waits = 0;
    ioPolicyTestRun(&s, 20, 100);
    assert_int_equal(s.active, 8);
    s.waits = 0.5;
    ioPolicyTestRun(&s, 20, 8 * IO_POLICY_CROWDED);
    assert_int_equal(s.active, 0);
}

/* Other processes need the processors that a fourth thread would use: it is tried now and then. */
static void crowdedServerTriesNowAndThen(void **state) {
    (void)state;
    struct server s = {.most = 8};
    for (int i = 0; i < 10 * IO_POLICY_REST; i++) {
        s.waits = s.active > 3 ? 0.5 : 0.1;
        ioPolicyTestRun(&s, 20, 1);
    }
    assert_true(s.changes <= 4 + 2 * 10);
    assert_true(s.changes > 6);
}

static void limitHoldsAtOnce(void **state) {
    (void)state;
    struct server s = {.most = 8};
    ioPolicyTestRun(&s, 20, 100);
    s.most = 2;
    s.active = ioPolicyReview(&s.policy, s.active, s.most, loadOf(&s, 20));
    assert_int_equal(s.active, 2);
    s.most = 0;
    s.active = ioPolicyReview(&s.policy, s.active, s.most, loadOf(&s, 20));
    assert_int_equal(s.active, 0);
}

/* ---- Distribution ---- */

#define THREADS 8

static void ioPolicyTestDisconnect(size_t *has, int from, size_t n) {
    has[from] -= n < has[from] ? n : has[from];
}

/* As io_threads.c does: a recalled client goes to the thread with the fewest. */
static size_t ioPolicyTestSpread(size_t *has, int active) {
    size_t back[THREADS], moved = 0;
    for (int i = 0; i < THREADS; i++) back[i] = has[i];
    if (!ioPolicySurplus(back, THREADS, active)) return 0;
    for (int i = 0; i < THREADS; i++) {
        ioPolicyTestDisconnect(has, i, back[i]);
        moved += back[i];
    }
    for (size_t n = 0; n < moved && active; n++) {
        int least = 0;
        for (int i = 1; i < active; i++) least = has[i] < has[least] ? i : least;
        has[least]++;
    }
    return moved;
}

static void assertEven(const size_t *has, int active) {
    size_t all = 0;
    for (int i = 0; i < THREADS; i++) all += has[i];
    for (int i = 0; i < THREADS; i++) {
        if (i >= active)
            assert_int_equal(has[i], 0);
        else
            assert_true(has[i] <= all / (size_t)active + 1 + (all / (size_t)active + 1) / 4 + 1);
    }
}

static void connectionsAreSpreadEvenly(void **state) {
    (void)state;
    size_t has[THREADS] = {1000};
    assert_true(ioPolicyTestSpread(has, 4) > 0);
    assertEven(has, 4);
    assert_int_equal(ioPolicyTestSpread(has, 4), 0); /* and the distribution is stable */
    ioPolicyTestSpread(has, 8);
    assertEven(has, 8);
    ioPolicyTestSpread(has, 3);
    assertEven(has, 3);
    ioPolicyTestSpread(has, 0);
    assertEven(has, 0);
}

static void connectionsMoveWhenMostLeft(void **state) {
    (void)state;
    for (int gone = 1; gone < THREADS; gone++) {
        size_t has[THREADS];
        for (int i = 0; i < THREADS; i++) has[i] = i < gone ? 3 : 200;
        ioPolicyTestSpread(has, THREADS);
        assertEven(has, THREADS);
        assert_int_equal(ioPolicyTestSpread(has, THREADS), 0);
    }
}

static void smallSurplusStays(void **state) {
    (void)state;
    size_t has[THREADS] = {2, 0, 1, 1, 1, 1, 1, 1};
    assert_int_equal(ioPolicyTestSpread(has, THREADS), 0);
    size_t more[THREADS] = {115, 95, 100, 100, 90, 110, 100, 100};
    assert_int_equal(ioPolicyTestSpread(more, THREADS), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idleServerHasNone),
        cmocka_unit_test(threadsFollowTheLoad),
        cmocka_unit_test(shortPeakIsIgnored),
        cmocka_unit_test(steadyLoadSettles),
        cmocka_unit_test(loadAtABoundaryIsStable),
        cmocka_unit_test(noneWithoutProcessors),
        cmocka_unit_test(crowdedServerTriesNowAndThen),
        cmocka_unit_test(limitHoldsAtOnce),
        cmocka_unit_test(connectionsAreSpreadEvenly),
        cmocka_unit_test(connectionsMoveWhenMostLeft),
        cmocka_unit_test(smallSurplusStays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
