/* SPDX-License-Identifier: BSD-3-Clause */
/* evict_marks_test.c - the marks of use in objects: the LRU clock that wraps around, the LFU counter that
 * rises by chance and falls with time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/random.h"
#include "base/sds.h"
#include "data/lifetime/evict.h"
#include "data/type.h"
#include "registry/config.h"

#define MINUTE_MS 60000ll
#define DAY_MS    (24 * 60 * MINUTE_MS)

static void evictMarksTestSet(const char *name, const char *value) {
    const char *err;
    assert_true(configSet(name, strOf(value), &err));
}

static struct object *newObject(void) {
    struct object *o = objectCreate(STR("key"), OBJ_NO_EXPIRE, valueEmbed(0, 0, STR("value")));
    o->lru = objectFirstUse() & 0xffffff;
    return o;
}

static void evictMarksTestPass(int64_t ms) {
    cmd_time_ms += ms;
}

static void testIdleSeconds(void **state) {
    (void)state;
    evict_policy = BY_LRU;
    struct object *o = newObject();
    assert_int_equal(objectIdleSeconds(o), 0);
    evictMarksTestPass(5000);
    assert_int_equal(objectIdleSeconds(o), 5);
    objectTouch(o);
    assert_int_equal(objectIdleSeconds(o), 0);
    /* The clock of 24 bits wraps around after 194 days; shorter times are right on both sides. */
    for (int i = 0; i < 40; i++) {
        evictMarksTestPass(10 * DAY_MS);
        assert_int_equal(objectIdleSeconds(o), 10 * DAY_MS / 1000);
        objectTouch(o);
    }
    objectFree(o);
}

static void testHeldClock(void **state) {
    (void)state;
    evict_policy = BY_LRU;
    struct object *o = newObject();
    evictMarksTestPass(5000);
    struct evictClock clock = evictClockNow();
    evictMarksTestPass(3000);
    assert_int_equal(clock.policy, BY_LRU);
    assert_int_equal(objectIdleSecondsAt(&clock, o), 5);
    assert_int_equal(objectIdleSeconds(o), 8);
    objectFree(o);
}

static void testLrmIgnoresUses(void **state) {
    (void)state;
    evict_policy = BY_LRM;
    struct object *o = newObject();
    evictMarksTestPass(5000);
    objectTouch(o);
    assert_int_equal(objectIdleSeconds(o), 5);
    objectSetUse(o, 100, -1);
    assert_int_equal(objectIdleSeconds(o), 100);
    objectFree(o);
}

static void testDecay(void **state) {
    (void)state;
    evict_policy = BY_LFU;
    evictMarksTestSet("lfu-log-factor", "0");
    struct object *o = newObject();
    assert_int_equal(objectFrequency(o), 5);
    for (int i = 0; i < 20; i++) objectTouch(o);
    assert_int_equal(objectFrequency(o), 25);
    evictMarksTestPass(10 * MINUTE_MS);
    assert_int_equal(objectFrequency(o), 15);
    objectTouch(o);
    assert_int_equal(objectFrequency(o), 16);
    evictMarksTestSet("lfu-decay-time", "5");
    evictMarksTestPass(10 * MINUTE_MS);
    assert_int_equal(objectFrequency(o), 14);
    evictMarksTestSet("lfu-decay-time", "0");
    assert_int_equal(objectFrequency(o), 16);
    evictMarksTestSet("lfu-decay-time", "1");
    evictMarksTestPass(20 * MINUTE_MS);
    assert_int_equal(objectFrequency(o), 0);
    /* The minutes of 16 bits wrap around after 45 days. */
    for (int i = 0; i < 100; i++) {
        objectTouch(o);
        evictMarksTestPass(DAY_MS);
        assert_int_equal(objectFrequency(o), 0);
    }
    objectFree(o);
}

/* Returns the mean of many counters after so many uses. */
static double meanAfter(int uses) {
    double sum = 0;
    for (int i = 0; i < 200; i++) {
        struct object *o = newObject();
        for (int j = 0; j < uses; j++) objectTouch(o);
        sum += objectFrequency(o);
        objectFree(o);
    }
    return sum / 200;
}

/* From the first step above 5 on, a step at height h takes 10 * (h - 5) + 1 uses on average: n uses lead to
 * about 5 + sqrt(n / 5). */
static void testCounterIsLogarithmic(void **state) {
    (void)state;
    evict_policy = BY_LFU;
    evictMarksTestSet("lfu-log-factor", "10");
    assert_true(meanAfter(1) == 6);
    double hundred = meanAfter(100), thousands = meanAfter(10000);
    assert_true(hundred > 8.5 && hundred < 11);
    assert_true(thousands > 45 && thousands < 54);
}

static void testCounterStopsAtItsEnd(void **state) {
    (void)state;
    evictMarksTestSet("lfu-log-factor", "0");
    assert_true(meanAfter(1000) == 255);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testIdleSeconds),          cmocka_unit_test(testHeldClock),
        cmocka_unit_test(testLrmIgnoresUses),       cmocka_unit_test(testDecay),
        cmocka_unit_test(testCounterIsLogarithmic), cmocka_unit_test(testCounterStopsAtItsEnd),
    };
    randomSeed(4711);
    cmd_time_ms = 1700000000000ll;
    evictMarksInit();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
