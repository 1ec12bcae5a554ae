/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_request_test.c - placeholders: their positions and the numbers written there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "tools/benchmark/benchmark.h"

static sds benchmarkRequestTestPatched(const struct benchRequest *r, int count,
                                       const struct benchNumbers *numbers) {
    sds buf = benchRequestRepeat(r, count);
    benchRequestPatch(r, buf, count, numbers);
    return buf;
}

static struct benchRequest *benchmarkRequestTestMake(int64_t range, int argc, const char *const *argv) {
    struct benchOptions o = {.range = range, .data_size = 3};
    return benchRequestCreate(&o, argc, argv);
}

static void testWithoutRangeNamesStay(void **state) {
    (void)state;
    const char *argv[] = {"SET", "k:__rand_int__", "__data__"};
    struct benchRequest *r = benchmarkRequestTestMake(-1, 3, argv);
    assert_string_equal(r->one, "*3\r\n$3\r\nSET\r\n$14\r\nk:__rand_int__\r\n$3\r\nxxx\r\n");
    assert_int_equal(r->slot_count, 0);
    benchRequestFree(r);
}

static void testSequentialNumbersCountUpAndWrap(void **state) {
    (void)state;
    const char *argv[] = {"GET", "__rand_int__"};
    struct benchRequest *r = benchmarkRequestTestMake(3, 2, argv);
    _Atomic int64_t next[BENCH_SHARED] = {0};
    struct benchNumbers numbers = {.range = 3, .digits = 1, .next = next};
    sds buf = benchmarkRequestTestPatched(r, 4, &numbers);
    size_t size = sdslen(r->one);
    static const char *const want[] = {"000000000000", "000000000001", "000000000002", "000000000000"};
    for (size_t i = 0; i < 4; i++) assert_memory_equal(buf + i * size + r->slots[0].offset, want[i], 12);
    sdsfree(buf);
    benchRequestFree(r);
}

/* __rand_1st__ is one number within a command; __rand_int__ and __rand_2nd__ are independent of it. */
static void testSharedNumbers(void **state) {
    (void)state;
    const char *argv[] = {"MSET",         "__rand_1st__", "__rand_int__", "a:__rand_1st__",
                          "__rand_int__", "__rand_2nd__", "__rand_1st__"};
    struct benchRequest *r = benchmarkRequestTestMake(1000000, 7, argv);
    struct benchNumbers numbers = {.range = 1000000, .digits = 6};
    char first[3][12], fresh[2][12];
    randomSeed(11);
    assert_int_equal(r->slot_count, 6);
    sds buf = benchmarkRequestTestPatched(r, 1, &numbers);
    int firsts = 0, freshes = 0, seconds = 0;
    for (int i = 0; i < r->slot_count; i++) {
        const char *digits = buf + r->slots[i].offset;
        assert_memory_equal(digits, "000000", 6);
        assert_int_equal(strspn(digits, "0123456789"), 12);
        if (r->slots[i].shared == 1) memcpy(first[firsts++], digits, 12);
        if (r->slots[i].shared == 0) memcpy(fresh[freshes++], digits, 12);
        seconds += r->slots[i].shared == 2;
    }
    assert_true(firsts == 3 && freshes == 2 && seconds == 1);
    assert_memory_equal(first[0], first[1], 12);
    assert_memory_equal(first[0], first[2], 12);
    assert_memory_not_equal(fresh[0], fresh[1], 12);
    sdsfree(buf);
    benchRequestFree(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testWithoutRangeNamesStay),
        cmocka_unit_test(testSequentialNumbersCountUpAndWrap),
        cmocka_unit_test(testSharedNumbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
