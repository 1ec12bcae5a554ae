/* SPDX-License-Identifier: BSD-3-Clause */
/* usable_memory_test.c - limits of control groups as files of a folder. */
#define _GNU_SOURCE
#include "base/usable_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static char root[64];

static void usableMemoryTestPut(const char *folder, const char *file, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "mkdir -p %s/%s", root, folder);
    assert_int_equal(system(path), 0);
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, file);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int makeRoot(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/usable_memory_test.XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int dropRoot(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void withoutAFileThereIsNoLimit(void **state) {
    (void)state;
    assert_true(usableMemoryOfGroups(root, "0::/\n") == UINT64_MAX);
    assert_true(usableMemoryOfGroups(root, "") == UINT64_MAX);
    assert_true(usableMemoryOfGroups(root, "nonsense") == UINT64_MAX);
    usableMemoryTestPut("", "memory.max", "max\n");
    assert_true(usableMemoryOfGroups(root, "0::/\n") == UINT64_MAX);
}

static void theLeastLimitOfAllGroupsAboveCounts(void **state) {
    (void)state;
    usableMemoryTestPut("a/b/c", "memory.max", "max\n");
    usableMemoryTestPut("a/b", "memory.max", "800000000\n");
    usableMemoryTestPut("a", "memory.max", "400000000\n");
    usableMemoryTestPut("other", "memory.max", "5\n");
    assert_int_equal(usableMemoryOfGroups(root, "0::/a/b/c\n"), 400000000);
    usableMemoryTestPut("a/b/c", "memory.max", "300000000\n");
    assert_int_equal(usableMemoryOfGroups(root, "0::/a/b/c"), 300000000);
}

static void versionOneHasAFolderOfTheController(void **state) {
    (void)state;
    usableMemoryTestPut("memory/x", "memory.limit_in_bytes", "250000000\n");
    usableMemoryTestPut("memory", "memory.limit_in_bytes", "9223372036854771712\n");
    usableMemoryTestPut("cpu/x", "memory.limit_in_bytes", "5\n");
    assert_int_equal(usableMemoryOfGroups(root, "7:cpu:/x\n4:memory:/x\n1:name=systemd:/x\n0::/\n"),
                     250000000);
    assert_true(usableMemoryOfGroups(root, "4:memory:/\n") == 9223372036854771712u);
}

static void aProcessHasSomeMemory(void **state) {
    (void)state;
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_true(usableMemory() > 0 && usableMemory() <= machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(withoutAFileThereIsNoLimit, makeRoot, dropRoot),
        cmocka_unit_test_setup_teardown(theLeastLimitOfAllGroupsAboveCounts, makeRoot, dropRoot),
        cmocka_unit_test_setup_teardown(versionOneHasAFolderOfTheController, makeRoot, dropRoot),
        cmocka_unit_test(aProcessHasSomeMemory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
