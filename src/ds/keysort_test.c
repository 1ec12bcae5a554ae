/* SPDX-License-Identifier: BSD-3-Clause */
/* keysort_test.c - sorting and selecting against qsort: random keys, equal ones, ties, sorted input; and
 * keys against their values. */
#include "ds/keysort.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "base/zmalloc.h"

#define COUNT_MAX 3000

static struct sortKey keys[COUNT_MAX], model[COUNT_MAX];

/* Orders equal keys by their index, the later one first. */
static int laterFirst(void *priv, size_t a, size_t b) {
    ++*(size_t *)priv;
    return a > b ? -1 : a < b;
}

static int stableOrder(const void *a, const void *b) {
    const struct sortKey *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int tiedOrder(const void *a, const void *b) {
    const struct sortKey *x = a, *y = b;
    return x->key == y->key ? stableOrder(b, a) : stableOrder(a, b);
}

/* Fills the array: kind 0 ascending, 1 descending, else random below `range`. */
static void keysortTestFill(size_t count, int kind, uint64_t range) {
    for (size_t i = 0; i < count; i++) {
        uint64_t key = kind == 0 ? i / 2 : kind == 1 ? (count - i) / 2 : randomBelow(range);
        keys[i] = model[i] = (struct sortKey){key, i};
    }
}

static void keysortTestAssertSame(size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(keys[i].key, model[i].key);
        assert_int_equal(keys[i].at, model[i].at);
    }
}

static void eachFilling(void (*check)(size_t count, int kind, uint64_t range)) {
    for (size_t count = 0; count < 40; count++)
        for (int kind = 0; kind < 3; kind++) check(count, kind, 10);
    for (int round = 0; round < 200; round++) {
        size_t count = randomBelow(COUNT_MAX) + 1;
        check(count, (int)randomBelow(6), 1 + (randomU64() >> randomBelow(64)) / 2);
    }
}

static void checkStable(size_t count, int kind, uint64_t range) {
    keysortTestFill(count, kind, range);
    keysortSort(keys, count, NULL, NULL);
    qsort(model, count, sizeof *model, stableOrder);
    keysortTestAssertSame(count);
}

static void checkTies(size_t count, int kind, uint64_t range) {
    size_t asked = 0;
    keysortTestFill(count, kind, range);
    keysortSort(keys, count, laterFirst, &asked);
    qsort(model, count, sizeof *model, tiedOrder);
    keysortTestAssertSame(count);
    if (range > (uint64_t)1 << 62 && kind > 1)
        assert_int_equal(asked, 0); /* only equal keys are compared by it */
}

static void keysortTestCheckSelect(size_t count, int kind, uint64_t range) {
    size_t asked = 0, first = count ? randomBelow(count + 1) : 0;
    keysortTestFill(count, kind, range);
    keysortSelect(keys, count, first, laterFirst, &asked);
    keysortSort(keys, first, laterFirst, &asked);
    qsort(model, count, sizeof *model, tiedOrder);
    keysortTestAssertSame(first);
}

static void testStable(void **state) {
    (void)state;
    eachFilling(checkStable);
}
static void testTies(void **state) {
    (void)state;
    eachFilling(checkTies);
}
static void keysortTestSelect(void **state) {
    (void)state;
    eachFilling(keysortTestCheckSelect);
}

static void testDoubles(void **state) {
    (void)state;
    static const double rising[] = {-INFINITY, -1e308, -2.5, -1, -5e-324, 0, 5e-324, 1, 2.5, 1e308, INFINITY};
    for (size_t i = 1; i < sizeof rising / sizeof *rising; i++)
        assert_true(keysortDouble(rising[i - 1]) < keysortDouble(rising[i]));
    assert_true(keysortDouble(-0.0) == keysortDouble(0.0));
}

static void testTexts(void **state) {
    (void)state;
    static const char *const rising[] = {"", "\x01", "A", "AA", "Ab", "a", "abcdefg", "abcdefgh", "\xff"};
    for (size_t i = 1; i < sizeof rising / sizeof *rising; i++)
        assert_true(keysortText(strOf(rising[i - 1])) < keysortText(strOf(rising[i])));
    assert_true(keysortText(strOf("abcdefgh1")) == keysortText(strOf("abcdefgh2")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testStable),  cmocka_unit_test(testTies),  cmocka_unit_test(keysortTestSelect),
        cmocka_unit_test(testDoubles), cmocka_unit_test(testTexts),
    };
    randomSeed(21);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
