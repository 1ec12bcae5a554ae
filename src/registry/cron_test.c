/* SPDX-License-Identifier: BSD-3-Clause */
/* cron_test.c - periodic jobs: their order and pause; functions that run before the loop sleeps. */
#include "registry/cron.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"

static int every, seldom, order[4], order_count;

static void countEvery(void) {
    every++;
}
static void countSeldom(void) {
    seldom++;
}
static void cronTestFirst(void) {
    order[order_count++] = 1;
}
static void cronTestSecond(void) {
    order[order_count++] = 2;
}

static void testPeriods(void **state) {
    (void)state;
    cronRegister(countEvery, 0);
    cronRegister(countSeldom, 3600 * 1000);
    for (int i = 0; i < 3; i++) cronRun();
    assert_int_equal(every, 3);
    assert_int_equal(seldom, 1); /* at the first tick, and again after an hour */
    cronRegister(countSeldom, 5);
    cronRun();
    assert_int_equal(seldom, 2);
    usleep(10000);
    cronRun();
    assert_int_equal(seldom, 3);
}

/* Time goes on during a pause. */
static void cronTestPause(void **state) {
    (void)state;
    cmd_time_ms = 0;
    cron_paused = true;
    int before = every;
    cronRun();
    assert_int_equal(every, before);
    assert_true(cmd_time_ms > 0 && cmd_time_ms <= mstime());
    cron_paused = false;
    cronRun();
    assert_int_equal(every, before + 1);
}

static void testBeforeSleep(void **state) {
    (void)state;
    beforeSleepRegister(cronTestFirst);
    beforeSleepRegister(cronTestSecond);
    beforeSleepRun();
    beforeSleepRun();
    assert_int_equal(order_count, 4);
    for (int i = 0; i < 4; i++) assert_int_equal(order[i], 1 + i % 2);
}

static void testLruClock(void **state) {
    (void)state;
    cmd_time_ms = 0x12345678ll * 1000 + 999;
    assert_int_equal(lruClock(), 0x345678);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testPeriods),
        cmocka_unit_test(cronTestPause),
        cmocka_unit_test(testBeforeSleep),
        cmocka_unit_test(testLruClock),
    };
    return cmocka_run_group_tests_name("cron", tests, NULL, NULL);
}
