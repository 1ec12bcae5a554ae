/* SPDX-License-Identifier: BSD-3-Clause */
/* zscore_test.c - scores against integers of 128 bits, and against the doubles that they are otherwise. */
#include "ds/zscore.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"

typedef __int128 wide;

/* Integers near the places where the distance of doubles changes, and all over. */
static int64_t zscoreTestInteger(void) {
    static const int64_t around[] = {0, 1ll << 53, 1ll << 54, 1ll << 60, 1ll << 62, INT64_MAX};
    int64_t v = around[randomBelow(6)], offset = (int64_t)randomBelow(2000) - 1000;
    if (randomBelow(3) == 0) v = (int64_t)(randomU64() >> randomBelow(64)) & INT64_MAX;
    if (__builtin_add_overflow(v, offset, &v)) v = INT64_MAX - (offset & 1023);
    return randomBelow(2) ? v : -v - (v == INT64_MAX);
}

static struct zscore zscoreTestParse(const char *text) {
    double value;
    assert_true(string2d(strOf(text), &value));
    return zscoreOfText(value, strOf(text));
}

static void zscoreTestExpectText(struct zscore s, const char *text) {
    char printed[ZSCORE_TEXT_SIZE];
    assert_int_equal(zscorePrint(printed, s), strlen(text));
    assert_string_equal(printed, text);
}

static void zscoreTestOneInteger(int64_t v) {
    char text[LONG_STR_SIZE];
    int64_t back;
    struct zscore s = zscoreOfInteger(v);
    assert_true(s.value == (double)v);
    assert_true(s.rest >= -ZSCORE_REST_MAX && s.rest <= ZSCORE_REST_MAX);
    assert_true((wide)(s.value) + s.rest == (wide)v);
    assert_true(zscoreToInteger(s, &back) && back == v);
    ll2string(text, v);
    zscoreTestExpectText(s, text);
    assert_int_equal(zscoreCompare(zscoreTestParse(text), s), 0);
}

static void integersComeBack(void **state) {
    (void)state;
    static const int64_t edges[] = {0,
                                    1,
                                    -1,
                                    (1ll << 53) - 1,
                                    1ll << 53,
                                    (1ll << 53) + 1,
                                    -(1ll << 53) - 1,
                                    INT64_MAX,
                                    INT64_MAX - 1,
                                    INT64_MAX - 511,
                                    INT64_MAX - 512,
                                    INT64_MAX - 513,
                                    INT64_MIN,
                                    INT64_MIN + 1,
                                    INT64_MIN + 512,
                                    INT64_MIN + 513,
                                    1ll << 62};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) zscoreTestOneInteger(edges[i]);
    for (uint64_t i = 0; i < 100000 + modelShare(1000000); i++) zscoreTestOneInteger(zscoreTestInteger());
}

static void integersAreInOrder(void **state) {
    (void)state;
    for (int i = 0; i < 300000; i++) {
        int64_t a = zscoreTestInteger(), b = randomBelow(2) ? zscoreTestInteger() : a;
        if (randomBelow(2)) __builtin_add_overflow(a, (int64_t)randomBelow(9) - 4, &b);
        assert_int_equal(zscoreCompare(zscoreOfInteger(a), zscoreOfInteger(b)), (a > b) - (a < b));
    }
}

static void sumsOfIntegersAreExact(void **state) {
    (void)state;
    for (int i = 0; i < 300000; i++) {
        int64_t a = zscoreTestInteger(), b = zscoreTestInteger(), v;
        wide sum = (wide)a + b;
        struct zscore s = zscoreAdd(zscoreOfInteger(a), zscoreOfInteger(b));
        if (sum >= INT64_MIN && sum <= INT64_MAX) {
            assert_true(zscoreToInteger(s, &v) && v == (int64_t)sum);
        } else { /* as doubles */
            assert_true(s.rest == 0 && s.value == (double)a + (double)b);
        }
    }
}

static double zscoreTestDouble(void) {
    static const double some[] = {0,     -0.0,   0.5,    -3.25,    1e15,      0x1p53 - 0.5, 1e16 + 2,
                                  1e300, 0x1p63, 0x1p64, INFINITY, -INFINITY, DBL_MIN,      -0x1p70};
    return randomBelow(2) ? some[randomBelow(14)]
                          : (randomDouble() - 0.5) * exp2((double)randomBelow(120) - 20);
}

/* A score that is no integer behaves as a double does; the sign of a zero counts. */
static void doublesStayDoubles(void **state) {
    (void)state;
    char text[DOUBLE_STR_SIZE];
    int64_t v;
    for (int i = 0; i < 300000; i++) {
        double a = zscoreTestDouble(), b = zscoreTestDouble(), sum = a + b;
        struct zscore s = zscoreAdd(zscoreOf(a), zscoreOf(b));
        if (!zscoreToInteger(zscoreOf(a), &v) || !zscoreToInteger(zscoreOf(b), &v) || fabs(sum) < 0x1p53) {
            assert_memory_equal(&s.value, &sum, sizeof sum);
            assert_int_equal(s.rest, 0);
        }
        assert_int_equal(zscoreCompare(zscoreOf(a), zscoreOf(b)), (a > b) - (a < b));
        if (a >= -0x1p62 && a <= 0x1p62) {
            d2string(text, a);
            zscoreTestExpectText(zscoreOf(a), text);
        }
    }
}

static void whatIsAnInteger(void **state) {
    (void)state;
    int64_t v;
    zscoreTestExpectText(zscoreTestParse("9007199254740993"), "9007199254740993");
    zscoreTestExpectText(zscoreTestParse("-9007199254740993"), "-9007199254740993");
    zscoreTestExpectText(zscoreTestParse("9223372036854775807"), "9223372036854775807");
    zscoreTestExpectText(zscoreTestParse("-9223372036854775808"), "-9223372036854775808");
    static const char *const rounded[] = {"9007199254740993.0", "9007199254740993e0", "+9007199254740993",
                                          "09007199254740993", "9007199254740992.4"};
    for (size_t i = 0; i < sizeof rounded / sizeof *rounded; i++)
        zscoreTestExpectText(zscoreTestParse(rounded[i]), "9007199254740992");
    zscoreTestExpectText(zscoreTestParse("9223372036854775808"), "9223372036854776000");
    zscoreTestExpectText(zscoreTestParse("7e18"), "7000000000000000000");
    zscoreTestExpectText(zscoreTestParse("1e19"), "1e+19");
    zscoreTestExpectText(zscoreTestParse("-0"), "-0");
    assert_false(zscoreToInteger(zscoreOf(0.5), &v));
    assert_false(zscoreToInteger(zscoreOf(0x1p63), &v));
    assert_false(zscoreToInteger(zscoreOf(NAN), &v));
    assert_false(zscoreToInteger(zscoreOf(-INFINITY), &v));
    assert_true(zscoreToInteger(zscoreOf(-0.0), &v) && v == 0);
    zscoreTestExpectText(zscoreAdd(zscoreTestParse("1e16"), zscoreOf(1)), "10000000000000001");
    assert_true(isnan(zscoreAdd(zscoreOf(INFINITY), zscoreOf(-INFINITY)).value));
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(integersComeBack),       cmocka_unit_test(integersAreInOrder),
        cmocka_unit_test(sumsOfIntegersAreExact), cmocka_unit_test(doublesStayDoubles),
        cmocka_unit_test(whatIsAnInteger),
    };
    modelSeed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
