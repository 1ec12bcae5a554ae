/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit tests of system_check.h, with system files in a directory of their own. */
#define _GNU_SOURCE /* nftw */
#include "server/system_check.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char root[] = "/tmp/system_check_XXXXXX";

/* Writes a file and makes its folders. */
static void systemCheckTestSetFile(const char *path, const char *text) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        mkdir(whole, 0700);
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Returns the output for one check. */
static const char *systemCheckTestVerdict(const char *name, int *code) {
    static char text[16384], of_check[4096];
    FILE *out = fmemopen(text, sizeof text, "w");
    *code = systemCheck(root, out);
    fclose(out);
    char head[64];
    snprintf(head, sizeof head, "[%s]...", name);
    const char *start = strstr(text, head);
    assert_non_null(start);
    start += strlen(head);
    const char *end = strstr(start, "\n[");
    snprintf(of_check, sizeof of_check, "%.*s", end ? (int)(end - start) : (int)strcspn(start, ""), start);
    return of_check;
}

static void systemCheckTestAssert(const char *name, const char *expected, const char *advice) {
    int code;
    const char *text = systemCheckTestVerdict(name, &code);
    assert_memory_equal(text, expected, strlen(expected));
    if (advice) assert_non_null(strstr(text, advice));
    if (!strcmp(expected, "WARNING")) assert_int_equal(code, 1);
}

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

static void testNumbers(void **state) {
    (void)state;
    static const struct {
        const char *name, *path, *good, *bad, *word, *advice;
    } checks[] = {
        {"overcommit", "/proc/sys/vm/overcommit_memory", "1\n", "0\n", "WARNING", "vm.overcommit_memory=1"},
        {"overcommit", "/proc/sys/vm/overcommit_memory", "1\n", "2\n", "WARNING", "vm.overcommit_memory=1"},
        {"THP", "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n",
         "[always] madvise never\n", "WARNING", "echo madvise"},
        {"xen-clocksource", CLOCK_SOURCE, "tsc\n", "xen\n", "WARNING", "'tsc'"},
        {"somaxconn", "/proc/sys/net/core/somaxconn", "511\n", "510\n", "WARNING", "Only 510"},
        {"zone-reclaim", "/proc/sys/vm/zone_reclaim_mode", "0\n", "3\n", "WARNING", "zone_reclaim_mode=0"},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        systemCheckTestSetFile(checks[i].path, checks[i].bad);
        systemCheckTestAssert(checks[i].name, checks[i].word, checks[i].advice);
        systemCheckTestSetFile(checks[i].path, checks[i].good);
        systemCheckTestAssert(checks[i].name, "OK", NULL);
        systemCheckTestSetFile(checks[i].path, "");
        systemCheckTestAssert(checks[i].name, "skipped", NULL);
        systemCheckTestSetFile(checks[i].path, checks[i].good);
    }
}

static void testSwap(void **state) {
    (void)state;
    const char *none = "Filename Type Size Used Priority\n",
               *some = "Filename Type Size Used Priority\n/swapfile file 1048572 0 -2\n";
    systemCheckTestSetFile("/proc/swaps", none);
    systemCheckTestSetFile("/proc/sys/vm/swappiness", "60\n");
    systemCheckTestAssert("swap", "OK", NULL);
    systemCheckTestSetFile("/proc/swaps", some);
    systemCheckTestAssert("swap", "NOTE", "vm.swappiness is 60");
    systemCheckTestSetFile("/proc/sys/vm/swappiness", "10\n");
    systemCheckTestAssert("swap", "OK", NULL);
}

static void testMemoryOfContainer(void **state) {
    (void)state;
    systemCheckTestSetFile("/proc/meminfo", "MemTotal:        8000000 kB\nMemFree: 1 kB\n");
    systemCheckTestAssert("container-memory", "OK", NULL);
    systemCheckTestSetFile("/sys/fs/cgroup/memory.max", "max\n");
    systemCheckTestAssert("container-memory", "OK", NULL);
    systemCheckTestSetFile("/sys/fs/cgroup/memory.max", "1073741824\n");
    systemCheckTestAssert("container-memory", "NOTE", "maxmemory to 768mb");
    systemCheckTestSetFile("/sys/fs/cgroup/memory.max", "max\n");
    systemCheckTestSetFile("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
    systemCheckTestAssert("container-memory", "NOTE", "may use 2048 MB");
    systemCheckTestSetFile("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                           "9223372036854771712\n"); /* version 1 without a limit */
    systemCheckTestAssert("container-memory", "OK", NULL);
}

/* Notes alone do not change the exit code. */
static void testCode(void **state) {
    (void)state;
    int code;
    systemCheckTestSetFile("/proc/swaps", "Filename\n/swapfile\n");
    systemCheckTestSetFile("/proc/sys/vm/swappiness", "60\n");
    assert_memory_equal(systemCheckTestVerdict("swap", &code), "NOTE", 4);
    bool slow = strncmp(systemCheckTestVerdict("slow-clocksource", &code), "OK", 2) != 0;
    bool other = strncmp(systemCheckTestVerdict("open-files", &code), "OK", 2) != 0 || slow;
    assert_int_equal(code, other); /* the two checks of the machine itself */
    systemCheckTestSetFile("/proc/sys/vm/overcommit_memory", "0\n");
    systemCheckTestVerdict("swap", &code);
    assert_int_equal(code, 1);
}

static int systemCheckTestRemove(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int systemCheckTestSetup(void **state) {
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int systemCheckTestTeardown(void **state) {
    (void)state;
    return nftw(root, systemCheckTestRemove, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testNumbers),
        cmocka_unit_test(testSwap),
        cmocka_unit_test(testMemoryOfContainer),
        cmocka_unit_test(testCode),
    };
    return cmocka_run_group_tests(tests, systemCheckTestSetup, systemCheckTestTeardown);
}
