/* SPDX-License-Identifier: BSD-3-Clause */
/* top_keys_test.c - counting against exact counts: the bounds of Space-Saving hold for every counter,
 * frequent keys are never missed, long keys and keys of any bytes take bounded memory. */
#include "ds/top_keys.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash_function.h"
#include "base/model_ops.h"
#include "base/random.h"
#include "base/zmalloc.h"

#define KEYS 5000

static uint64_t exact[KEYS];

static struct topKeyId testIdOf(struct str key, unsigned db) {
    return (struct topKeyId){hashBytes(key.ptr, key.len), db, (uint32_t)key.len};
}

static void testCountNumber(struct topKeys *t, int number) {
    char buf[16];
    struct str key = strN(buf, (size_t)snprintf(buf, sizeof buf, "key:%d", number));
    topKeysCount(t, testIdOf(key, 0), key, 1);
    exact[number]++;
}

/* Checks every counter against the exact counts; `total` keys were counted. */
static void testAssertBounds(const struct topKeys *t, uint64_t total) {
    const struct topKey *ranked[KEYS];
    topKeysRank(t, ranked);
    uint64_t sum = 0;
    for (int i = 0; i < t->used; i++) {
        const struct topKey *k = ranked[i];
        uint64_t real = exact[atoi(k->name + 4)];
        assert_true(k->count - k->error <= real);
        assert_true(real <= k->count);
        assert_true(k->error <= total / (uint64_t)t->capacity);
        if (i) assert_true(ranked[i - 1]->count - ranked[i - 1]->error >= k->count - k->error);
        sum += k->count;
    }
    assert_int_equal(sum, total);
    for (int n = 0; n < KEYS; n++) {
        if (exact[n] <= total / (uint64_t)t->capacity) continue;
        int i = 0;
        while (i < t->used && atoi(ranked[i]->name + 4) != n) i++;
        assert_true(i < t->used);
    }
}

/* Returns a number from 0 on with frequencies near to those of Zipf's law with exponent 1. */
static int testDrawZipf(void) {
    return (int)(pow(KEYS, randomDouble()) - 1);
}

static void test_bounds(void **state) {
    (void)state;
    static const int capacities[] = {1, 2, 3, 64, 1000, KEYS};
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        for (int zipf = 0; zipf < 2; zipf++) {
            struct topKeys t;
            uint64_t total = modelShare(100000);
            topKeysInit(&t, capacities[i]);
            memset(exact, 0, sizeof exact);
            for (uint64_t n = 0; n < total; n++)
                testCountNumber(&t, zipf ? testDrawZipf() : (int)randomBelow(KEYS));
            testAssertBounds(&t, total);
            topKeysFree(&t);
        }
    }
}

static void test_zipf_order(void **state) {
    (void)state;
    struct topKeys t;
    topKeysInit(&t, 144);
    memset(exact, 0, sizeof exact);
    for (int n = 0; n < 100000; n++) testCountNumber(&t, testDrawZipf());
    const struct topKey *ranked[KEYS];
    topKeysRank(&t, ranked);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(atoi(ranked[i]->name + 4), i);
        assert_true(ranked[i]->count - ranked[i]->error >= exact[i] * 99 / 100);
    }
    topKeysFree(&t);
}

/* After halving, a key that is used more now passes one that was used more before. */
static void test_halving(void **state) {
    (void)state;
    struct topKeys t;
    const struct topKey *ranked[3];
    topKeysInit(&t, 3);
    memset(exact, 0, sizeof exact);
    for (int n = 0; n < 41; n++) testCountNumber(&t, 1);
    for (int n = 0; n < 15; n++) testCountNumber(&t, 2);
    testCountNumber(&t, 3);
    testCountNumber(&t, 4); /* takes the counter of 3 over, with an error of 1 */
    topKeysHalve(&t);
    topKeysRank(&t, ranked);
    assert_int_equal(ranked[0]->count, 20);
    assert_int_equal(ranked[1]->count, 7);
    assert_int_equal(ranked[2]->count, 1);
    assert_int_equal(ranked[2]->error, 0);
    for (int n = 0; n < 14; n++) testCountNumber(&t, 2);
    topKeysRank(&t, ranked);
    assert_int_equal(atoi(ranked[0]->name + 4), 2);
    topKeysFree(&t);
}

static void test_names(void **state) {
    (void)state;
    struct topKeys t;
    size_t before = zmallocUsedMemory();
    char *bytes = zmalloc(1 << 20);
    for (int i = 0; i < 1 << 20; i++) bytes[i] = (char)i;
    topKeysInit(&t, 16);
    for (int n = 0; n < 2000; n++) { /* long keys that differ at their ends, and in length only */
        bytes[(1 << 20) - 1] = (char)n;
        struct str key = strN(bytes, (size_t)(1 << 20) - (size_t)(n & 256));
        topKeysCount(&t, testIdOf(key, (unsigned)n % 2), key, 1);
    }
    struct str empty = strN("", 0);
    topKeysCount(&t, testIdOf(empty, 0), empty, 1);
    assert_int_equal(t.used, 16);
    assert_true(zmallocUsedMemory() - before < (1 << 20) + 16 * 1500 + 4096);
    for (int i = 0; i < t.used; i++) assert_true(sdslen(t.counters[i].name) <= TOP_KEYS_NAME_MAX);
    topKeysFree(&t);
    zfree(bytes);
    assert_int_equal(zmallocUsedMemory(), before);
    topKeysFree(&t);
}

static void test_databases_differ(void **state) {
    (void)state;
    struct topKeys t;
    struct str key = STR("same");
    topKeysInit(&t, 8);
    for (unsigned i = 0; i < 30; i++) topKeysCount(&t, testIdOf(key, i % 3 != 0), key, 1);
    assert_int_equal(t.used, 2);
    const struct topKey *ranked[KEYS];
    topKeysRank(&t, ranked);
    assert_int_equal(ranked[0]->count, 20);
    assert_int_equal(ranked[0]->id.db, 1);
    assert_int_equal(ranked[1]->count, 10);
    topKeysFree(&t);
}

int main(void) {
    randomSeed(7);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),           cmocka_unit_test(test_zipf_order),
        cmocka_unit_test(test_halving),          cmocka_unit_test(test_names),
        cmocka_unit_test(test_databases_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
