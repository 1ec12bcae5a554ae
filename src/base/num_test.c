/* SPDX-License-Identifier: BSD-3-Clause */
/* num_test.c - numbers to text and back: edges, refused texts, and round trips of random values. */
#include "base/num.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"

#define ROUND_TRIPS (int64_t) modelShare(300000)
#define COUNT(a)    (sizeof(a) / sizeof(*(a)))

/* ---- Integers ---- */

static void checkLl(int64_t v) {
    char expected[32], text[LONG_STR_SIZE];
    int n = snprintf(expected, sizeof(expected), "%lld", (long long)v);
    assert_int_equal(ll2string(text, v), n);
    assert_string_equal(text, expected);
    int64_t back = ~v;
    assert_true(string2ll(strN(text, (size_t)n), &back));
    assert_true(back == v);
}

static void checkUll(uint64_t v) {
    char expected[32], text[LONG_STR_SIZE];
    int n = snprintf(expected, sizeof(expected), "%llu", (unsigned long long)v);
    assert_int_equal(numCountDigits(v), n);
    assert_int_equal(ull2string(text, v), n);
    assert_string_equal(text, expected);
    uint64_t back = ~v;
    assert_true(string2ull(strN(text, (size_t)n), &back));
    assert_true(back == v);
}

static void integersAroundEachPowerOfTen(void **state) {
    (void)state;
    uint64_t power = 1;
    for (int i = 0; i < 20; i++, power *= 10) {
        for (uint64_t v = power - 1; v != power + 2; v++) {
            checkUll(v);
            checkLl((int64_t)v);
            checkLl(-(int64_t)v);
        }
    }
    checkUll(UINT64_MAX);
    checkLl(INT64_MIN);
    checkLl(INT64_MAX);
}

static void integersAtRandom(void **state) {
    (void)state;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        uint64_t v = randomU64() >> randomBelow(64);
        checkUll(v);
        checkLl((int64_t)v);
    }
}

static void integersRefused(void **state) {
    (void)state;
    static const char *const both[] = {"",
                                       "-",
                                       "+1",
                                       " 1",
                                       "1 ",
                                       "01",
                                       "00",
                                       "-0",
                                       "-01",
                                       "1.0",
                                       "1e3",
                                       "0x1",
                                       "--1",
                                       "a",
                                       "12a",
                                       "1:",
                                       "1/",
                                       "1234567:",
                                       "12345678:",
                                       "1234/678",
                                       "12345678/",
                                       "0-",
                                       "1\x80",
                                       "99999999999999999999",
                                       "18446744073709551616"};
    static const char *const onlySigned[] = {"9223372036854775808", "-9223372036854775809",
                                             "18446744073709551615"};
    int64_t v = 7;
    uint64_t u = 7;
    for (size_t i = 0; i < COUNT(both); i++) {
        if (string2ll(strOf(both[i]), &v) || string2ull(strOf(both[i]), &u))
            fail_msg("accepted '%s'", both[i]);
    }
    for (size_t i = 0; i < COUNT(onlySigned); i++) {
        if (string2ll(strOf(onlySigned[i]), &v)) fail_msg("accepted '%s'", onlySigned[i]);
    }
    assert_false(string2ull(STR("-1"), &u));
    assert_false(string2ll(strN("1\0", 2), &v));
    assert_true(v == 7);
    /* A view ends after its length, not at a NUL. */
    assert_true(string2ll(strN("1234", 2), &v));
    assert_true(v == 12);
}

/* Puts each byte that is no digit into each place, both within a word of eight and behind it. */
static void integersWithAWrongByte(void **state) {
    (void)state;
    for (size_t at = 0; at < 18; at++) {
        for (int c = 0; c < 256; c++) {
            char text[] = "123456789123456789";
            int64_t v;
            text[at] = (char)c;
            bool valid = (c >= '0' && c <= '9' && (at > 0 || c != '0')) || (at == 0 && c == '-');
            assert_int_equal(string2ll(strN(text, 18), &v), valid);
        }
    }
}

/* ---- Doubles ---- */

static void checkD2string(double v, const char *expected) {
    char text[DOUBLE_STR_SIZE];
    unsigned n = d2string(text, v);
    assert_string_equal(text, expected);
    assert_int_equal(n, strlen(expected));
}

static void doublesPrinted(void **state) {
    (void)state;
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0, "0"},
                 {-0.0, "-0"},
                 {3, "3"},
                 {-3, "-3"},
                 {0.1, "0.1"},
                 {0.5, "0.5"},
                 {-2.5, "-2.5"},
                 {10.6, "10.6"},
                 {100.25, "100.25"},
                 {1.0 / 3, "0.3333333333333333"},
                 {0.0001, "0.0001"},
                 {0.00012, "0.00012"},
                 {0.00001, "0.00001"},
                 {1.5e-7, "1.5e-7"},
                 {-1.25e-10, "-1.25e-10"},
                 {1e15, "1000000000000000"},
                 {1e16, "10000000000000000"},
                 {99999999999999984, "99999999999999984"},
                 {72057594037927936.0, "72057594037927936"},
                 {9007199254740992, "9007199254740992"},
                 {1234567890123456.5, "1234567890123456.5"},
                 {1e17, "100000000000000000"},
                 {-1e17, "-100000000000000000"},
                 {1e21, "1e+21"},
                 {123456789012345680000.0, "123456789012345680000"},
                 {9223372036854775807.0, "9223372036854776000"},
                 {4611686018427387904.0, "4611686018427387904"},
                 {4611686018427389000.0, "4611686018427389000"},
                 {5e18, "5e+18"},
                 {1e20, "1e+20"},
                 {5459387784973380000000.0, "5459387784973380000000"},
                 {12345.678901234567, "1.2345678901234567e+4"},
                 {1234.5678901234567, "1234.5678901234567"},
                 {12345.678901, "12345.678901"},
                 {12345.6789012, "1.23456789012e+4"},
                 {0.0012345678, "0.0012345678"},
                 {0.00012345678, "1.2345678e-4"},
                 {0.000123, "0.000123"},
                 {0.000001, "0.000001"},
                 {0.0000015, "1.5e-6"},
                 {1e22, "1e+22"},
                 {1e23, "1e+23"},
                 {9.5367431640625e-07, "9.5367431640625e-7"},
                 {1e100, "1e+100"},
                 {DBL_MAX, "1.7976931348623157e+308"},
                 {DBL_MIN, "2.2250738585072014e-308"},
                 {5e-324, "5e-324"},
                 {2.2250738585072009e-308, "2.225073858507201e-308"},
                 {INFINITY, "inf"},
                 {-INFINITY, "-inf"},
                 {NAN, "nan"}};
    for (size_t i = 0; i < COUNT(cases); i++) checkD2string(cases[i].v, cases[i].text);
}

/* Returns how many significant digits the text has. */
static int significantDigits(const char *text) {
    int n = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (n == 0 && *text == '0')) continue;
        n++;
        zeros = *text == '0' ? zeros + 1 : 0;
    }
    return n - zeros;
}

/* Checks that the text reads back equal, and that one digit less would not, however it is rounded. */
static void checkShortest(double v) {
    char text[DOUBLE_STR_SIZE], shorter[64];
    unsigned n = d2string(text, v);
    double back = 0;
    assert_int_equal(n, strlen(text));
    assert_true(n < DOUBLE_STR_SIZE);
    assert_true(strtod(text, NULL) == v);
    assert_true(string2d(strN(text, n), &back) && back == v && signbit(back) == signbit(v));
    if (fabs(v) <= 0x1p62 && v == floor(v)) return;
    int digits = significantDigits(text);
    if (digits <= 1) return;
    snprintf(shorter, sizeof(shorter), "%.*e", digits - 2, v);
    if (strtod(shorter, NULL) == v) fail_msg("%s is longer than %s", text, shorter);
}

static void doublesAtRandom(void **state) {
    (void)state;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        uint64_t bits = randomU64();
        if (i % 4 == 1) bits &= ~(uint64_t)0 << randomBelow(53);
        if (i % 4 == 2) bits >>= 12 + randomBelow(50);
        double v;
        memcpy(&v, &bits, sizeof(v));
        if (i % 4 == 3) v = (double)randomBelow(1000000000) / 1000;
        if (isfinite(v)) checkShortest(v);
    }
}

/* Powers of two, where the interval below is half as wide, and their neighbours. */
static void doublesAtPowersOfTwo(void **state) {
    (void)state;
    for (int e = -1074; e <= 1023; e++) {
        double v = ldexp(1, e);
        checkShortest(v);
        checkShortest(nextafter(v, INFINITY));
        checkShortest(nextafter(v, 0));
    }
}

static void doublesRead(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double v;
    } cases[] = {{"3", 3},
                 {"-3.5", -3.5},
                 {"+1", 1},
                 {".5", 0.5},
                 {"5.", 5},
                 {"1e3", 1000},
                 {"inf", INFINITY},
                 {"+inf", INFINITY},
                 {"-Infinity", -INFINITY},
                 {"007", 7},
                 {"0.1", 0.1},
                 {"9007199254740993", 9007199254740992.0},
                 {"900719925474099.25", 900719925474099.25},
                 {"0.0000000000000000000001", 1e-22},
                 {"0.00000000000000000000001", 1e-23},
                 {"4e-324", 5e-324},
                 {"1.7976931348623157e308", DBL_MAX}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double v = NAN;
        if (!string2d(strOf(cases[i].text), &v) || v != cases[i].v)
            fail_msg("'%s' read as %g", cases[i].text, v);
        long double ld = NAN;
        assert_true(string2ld(strOf(cases[i].text), &ld));
    }
    double zero = 1;
    assert_true(string2d(STR("-0"), &zero) && zero == 0 && signbit(zero));
    char longText[400];
    memset(longText, '0', sizeof(longText));
    memcpy(longText + sizeof(longText) - 3, "1.5", 3);
    assert_true(string2d(strN(longText, sizeof(longText)), &zero) && zero == 1.5);
}

/* Valgrind computes long doubles as doubles. */
static void needLongDoubles(void) {
    volatile long double one = 1, more = one + LDBL_EPSILON;
    if (more != one) return;
    print_message("skipped: long doubles are no longer than doubles, as in valgrind\n");
    skip();
}

static void doublesRefused(void **state) {
    (void)state;
    needLongDoubles();
    static const char *const cases[] = {"",   " 1",  "1 ",    "\t1", "1\n",    "nan",     "-nan",    "nan(1)",
                                        "1e", "x",   "1.2.3", ".",   "-",      "+",       "-.",      "1f",
                                        "0x", "1_0", "1,5",   "--1", "1e5000", "-1e5000", "1e-5000", "infi"};
    double v = 7;
    long double ld = 7;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (string2d(strOf(cases[i]), &v) || string2ld(strOf(cases[i]), &ld))
            fail_msg("accepted '%s'", cases[i]);
    }
    static const char *const hex[] = {"0x10", "-0X1p3", "+0x0"};
    for (size_t i = 0; i < COUNT(hex); i++) {
        assert_false(string2d(strOf(hex[i]), &v));
        assert_false(string2dSaturating(strOf(hex[i]), &v));
        assert_true(string2ld(strOf(hex[i]), &ld));
    }
    assert_false(string2d(STR("1e400"), &v));
    assert_false(string2d(STR("1e-400"), &v));
    assert_true(string2dSaturating(STR("-1e400"), &v) && v == -INFINITY);
    assert_true(string2dSaturating(STR("1e-400"), &v) && v == 0);
    assert_false(string2dSaturating(STR("nan"), &v));
    assert_true(string2ld(STR("1e400"), &ld));
    assert_false(string2d(strN("1\0", 2), &v));
    assert_false(string2ld(strN("1\0", 2), &ld));
    static char tooLong[LONG_DOUBLE_STR_SIZE];
    memset(tooLong, '1', sizeof(tooLong));
    memset(tooLong, '0', sizeof(tooLong) - 1);
    assert_false(string2ld(strN(tooLong, sizeof(tooLong)), &ld));
    assert_true(string2ld(strN(tooLong + 1, sizeof(tooLong) - 1), &ld));
}

/* Compares with "%.17Lf" without trailing zeros. */
static void assertLikePrintf(long double v) {
    char want[128], got[128];
    int len = snprintf(want, sizeof want, "%.17Lf", v);
    while (want[len - 1] == '0') len--;
    if (want[len - 1] == '.') len--;
    want[len] = 0;
    unsigned got_len = ld2string(got, sizeof got, v);
    assert_int_equal(got_len, strlen(got));
    assert_string_equal(got, strcmp(want, "-0") ? want : "0");
}

/* Numbers of all sizes, and those halfway between two. */
static void likePrintf(void) {
    for (int i = 0; i < 200000; i++) {
        long double v = ldexpl((long double)(int64_t)randomU64(), -55 - (int)randomBelow(70));
        assertLikePrintf(v);
        assertLikePrintf((double)v);
        assertLikePrintf((long double)randomBelow(1000) / 8);
        assertLikePrintf(ldexpl((long double)(randomBelow(1 << 20) * 2 + 1), -(int)randomBelow(64)));
    }
    static const long double edges[] = {
        183.99999999999999999L, 184, -184, 0.000000000000000005L, -0.0L, 5e-324, 180, -180,
        0.999999999999999999L};
    for (size_t i = 0; i < COUNT(edges); i++) assertLikePrintf(edges[i]);
}

static void longDoublesPrinted(void **state) {
    (void)state;
    needLongDoubles();
    static const struct {
        long double v;
        const char *text;
    } cases[] = {{3, "3"},
                 {10.6L, "10.6"},
                 {0, "0"},
                 {-0.0L, "0"},
                 {0.1L, "0.1"},
                 {-1e-18L, "0"},
                 {1e-17L, "0.00000000000000001"},
                 {100, "100"},
                 {-2.50L, "-2.5"},
                 {1e19L, "10000000000000000000"},
                 {INFINITY, "inf"},
                 {-INFINITY, "-inf"},
                 {0.3L, "0.3"}};
    static char text[LONG_DOUBLE_STR_SIZE];
    for (size_t i = 0; i < COUNT(cases); i++) {
        unsigned n = ld2string(text, sizeof(text), cases[i].v);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(n, strlen(cases[i].text));
    }
    assert_true(ld2string(text, sizeof(text), LDBL_MAX) > 4900);
    likePrintf();
    assert_int_equal(ld2string(text, 10, 1e19L), 0);
}

/* ---- Sizes ---- */

static void memoryUnits(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"100", 100},
                 {"1k", 1000},
                 {"1KB", 1024},
                 {"1m", 1000000},
                 {"2mb", 2 << 20},
                 {"1G", 1000000000},
                 {"1gb", 1 << 30},
                 {"5B", 5},
                 {"01", 1},
                 {"0", 0},
                 {"18446744073709551615", UINT64_MAX}};
    uint64_t v;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_true(memtoull(strOf(cases[i].text), &v));
        assert_true(v == cases[i].bytes);
    }
    static const char *const refused[] = {"",
                                          "k",
                                          "-1",
                                          "+1",
                                          "1.5k",
                                          "1 kb",
                                          "1t",
                                          "1kbb",
                                          " 1",
                                          "1k ",
                                          "18446744073709551616",
                                          "99999999999gb"};
    for (size_t i = 0; i < COUNT(refused); i++) {
        if (memtoull(strOf(refused[i]), &v)) fail_msg("accepted '%s'", refused[i]);
    }
}

static void humanUnits(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {{0, "0B"},
                 {1023, "1023B"},
                 {1024, "1.00K"},
                 {1000000, "976.56K"},
                 {1048575, "1024.00K"},
                 {1048576, "1.00M"},
                 {1073741824, "1.00G"},
                 {1099511627776, "1.00T"},
                 {1125899906842624, "1.00P"},
                 {1152921504606846976, "1152921504606846976B"}};
    char text[64];
    for (size_t i = 0; i < COUNT(cases); i++) {
        bytesToHuman(text, sizeof(text), cases[i].bytes);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void) {
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integersAroundEachPowerOfTen),
        cmocka_unit_test(integersAtRandom),
        cmocka_unit_test(integersRefused),
        cmocka_unit_test(integersWithAWrongByte),
        cmocka_unit_test(doublesPrinted),
        cmocka_unit_test(doublesAtRandom),
        cmocka_unit_test(doublesAtPowersOfTwo),
        cmocka_unit_test(doublesRead),
        cmocka_unit_test(doublesRefused),
        cmocka_unit_test(longDoublesPrinted),
        cmocka_unit_test(memoryUnits),
        cmocka_unit_test(humanUnits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
