/* SPDX-License-Identifier: BSD-3-Clause */
/* cpulist_test.c - lists of processors. */
#define _GNU_SOURCE /* sched_getaffinity */

#include "base/cpulist.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"

static cpu_set_t all_there_are;

static cpu_set_t cpulistTestNow(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return set;
}

static int firstAllowed(void) {
    int cpu = 0;
    while (!CPU_ISSET(cpu, &all_there_are)) cpu++;
    return cpu;
}

static void testOne(void **state) {
    (void)state;
    char list[32];
    snprintf(list, sizeof list, "%d", firstAllowed());
    cpulistApply(list);
    cpu_set_t set = cpulistTestNow();
    assert_int_equal(CPU_COUNT(&set), 1);
    assert_true(CPU_ISSET(firstAllowed(), &set));
}

/* The system leaves out processors that the machine does not have. */
static void testRanges(void **state) {
    (void)state;
    const char *all[] = {"0-1023", "0-1022:2,1-1023:2", "0-500,501,502-1023"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        testOne(NULL);
        cpulistApply(all[i]);
        cpu_set_t set = cpulistTestNow();
        assert_true(CPU_EQUAL(&set, &all_there_are));
    }
}

static void cpulistTestRefused(void **state) {
    (void)state;
    const char *bad[] = {"",    "x",   "-1",   "1-",    "2-1",  "0,",    ",0",
                         "0 1", "0;1", "0-3:", "0-3:0", "1024", "0-1024"};
    logSetLevel(LL_NOTHING);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cpulistApply("0-1023");
        cpulistApply(bad[i]);
        cpu_set_t set = cpulistTestNow();
        assert_true(CPU_EQUAL(&set, &all_there_are));
    }
    cpulistApply(NULL);
    cpu_set_t set = cpulistTestNow();
    assert_true(CPU_EQUAL(&set, &all_there_are));
}

int main(void) {
    cpu_set_t any;
    memset(&any, 0xff, sizeof any);
    sched_setaffinity(0, sizeof any, &any); /* whatever the list was at the start */
    all_there_are = cpulistTestNow();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testOne),
        cmocka_unit_test(testRanges),
        cmocka_unit_test(cpulistTestRefused),
    };
    return cmocka_run_group_tests_name("cpulist", tests, NULL, NULL);
}
