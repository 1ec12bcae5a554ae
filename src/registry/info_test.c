/* SPDX-License-Identifier: BSD-3-Clause */
/* info_test.c - the report of INFO: sections, the order of fields, formatting of lines. */
#include "registry/info.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define LONG_TEXT 1000

static bool swapped; /* lines come in another order than the last time */

static sds lateClients(sds s) {
    s = infoField(s, "blocked_clients:%d", 7);
    return infoField(s, "not_in_the_order:%s", "x");
}

static sds earlyClients(sds s) {
    if (swapped) s = infoField(s, "maxclients:%d", 3);
    s = infoField(s, "connected_clients:%d", 1);
    s = infoField(s, "cluster_connections:%d", 2);
    return swapped ? s : infoField(s, "maxclients:%d", 3);
}

static sds infoTestCpu(sds s) {
    return infoField(s, "b:1\r\na:2");
}

static sds infoTestDebug(sds s) {
    return infoField(s, "hidden:1");
}

static void infoTestExpectText(const struct str *names, int count, const char *expected) {
    sds s = infoText(names, count);
    assert_string_equal(s, expected);
    sdsfree(s);
}

#define CLIENTS                                                                                              \
    "# Clients\r\nconnected_clients:1\r\ncluster_connections:2\r\nmaxclients:3\r\nblocked_clients:7\r\n"     \
    "not_in_the_order:x\r\n"

static void testOrder(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) { /* places of the last time are only a guess */
        swapped = i & 1;
        infoTestExpectText((struct str[]){STR("Clients")}, 1, CLIENTS);
    }
    infoTestExpectText((struct str[]){STR("cpu"), STR("nonsense")}, 2, "# CPU\r\nb:1\r\na:2\r\n");
    infoTestExpectText((struct str[]){STR("cpu"), STR("clients")}, 2, CLIENTS "\r\n# CPU\r\nb:1\r\na:2\r\n");
    infoTestExpectText((struct str[]){STR("nonsense")}, 1, "");
}

static bool infoTestShows(const struct str *names, int count, const char *what) {
    sds s = infoText(names, count);
    bool found = strstr(s, what) != NULL;
    sdsfree(s);
    return found;
}

static void infoTestGroups(void **state) {
    (void)state;
    assert_true(infoTestShows(NULL, 0, "# Keyspace"));
    assert_false(infoTestShows(NULL, 0, "# Commandstats"));
    assert_true(infoTestShows((struct str[]){STR("default"), STR("tls")}, 2, "# TLS"));
    assert_true(infoTestShows((struct str[]){STR("ALL")}, 1, "# Commandstats"));
    assert_true(infoTestShows((struct str[]){STR("everything")}, 1, "# Commandstats"));
    assert_false(infoTestShows((struct str[]){STR("everything")}, 1, "hidden"));
    assert_true(infoTestShows((struct str[]){STR("debug")}, 1, "hidden:1"));
}

/* The last test, since it cannot be undone. */
static void testOnlySections(void **state) {
    (void)state;
    assert_false(infoTestShows((struct str[]){STR("everything")}, 1, "# Sentinel"));
    assert_false(infoTestShows((struct str[]){STR("sentinel")}, 1, "#"));
    infoRestrictSections((const char *const[]){"clients", "sentinel", NULL});
    infoTestExpectText((struct str[]){STR("all")}, 1, CLIENTS "\r\n# Sentinel\r\n");
    infoTestExpectText(NULL, 0, CLIENTS "\r\n# Sentinel\r\n");
    infoTestExpectText((struct str[]){STR("cpu")}, 1, "");
}

/* Every line must be what printf makes of it. */
#define EXPECT_LINE(...)                                                                                     \
    do {                                                                                                     \
        char expected[2 * LONG_TEXT];                                                                        \
        snprintf(expected, sizeof expected - 2, __VA_ARGS__);                                                \
        strcat(expected, "\r\n");                                                                            \
        sds line = infoField(sdsempty(), __VA_ARGS__);                                                       \
        assert_string_equal(line, expected);                                                                 \
        sdsfree(line);                                                                                       \
    } while (0)

static void testLines(void **state) {
    (void)state;
    char text[LONG_TEXT + 1];
    memset(text, 'x', LONG_TEXT);
    text[LONG_TEXT] = '\0';
    EXPECT_LINE("plain");
    EXPECT_LINE("a:%s,%s", "", "b");
    EXPECT_LINE("a:%d,%u", INT32_MIN, UINT32_MAX);
    EXPECT_LINE("a:%ld,%lu", INT64_MIN, UINT64_MAX);
    EXPECT_LINE("a:%lld,%llu,%zu", (long long)INT64_MAX, (unsigned long long)UINT64_MAX, (size_t)-1);
    EXPECT_LINE("a:%d,%.2f,%s,%llu", -1, 2.5, "c", 3ULL);
    EXPECT_LINE("a:%d%%", 50);
    EXPECT_LINE("a:%03d,%s", 5, "d");
    EXPECT_LINE("a:%s", text);
    EXPECT_LINE("%.2f,%.2f,%.2f,%.2f", 0.0, -0.0, -1.5, DBL_MAX);
    EXPECT_LINE("%.2f,%.2f,%.2f", INFINITY, -INFINITY, NAN);
    EXPECT_LINE("%.2f%%,%.2f,%d,%.3f", 0.125, 0.375, 1, 0.0625); /* ties go to the even digit */
    EXPECT_LINE("%s,%.200s,%d", text, text, 9);
    for (int n = 240; n < 270; n++) {
        text[n] = '\0';
        EXPECT_LINE("a:%s,%d%s", text, 123456789, "tail");
        text[n] = 'x';
    }
}

static void testDecimals(void **state) {
    (void)state;
    uint64_t x = 88172645463325252;
    for (int i = 0; i < 200000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17; /* xorshift */
        double v = (double)(x >> 32) / (double)(1u << (x & 31));
        EXPECT_LINE("%.2f", v);
        EXPECT_LINE("%.2f", (double)(x % 100000) / 1000); /* halfway values, many of them not exactly */
    }
}

int main(void) {
    infoRegister("clients", lateClients);
    infoRegister("clients", earlyClients);
    infoRegister("cpu", infoTestCpu);
    infoRegister("debug", infoTestDebug);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testOrder),    cmocka_unit_test(infoTestGroups),   cmocka_unit_test(testLines),
        cmocka_unit_test(testDecimals), cmocka_unit_test(testOnlySections),
    };
    return cmocka_run_group_tests_name("info", tests, NULL, NULL);
}
