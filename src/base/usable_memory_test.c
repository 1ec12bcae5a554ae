/* SPDX-License-Identifier: BSD-3-Clause */
/* usable_memory_test.c - limits of control groups as files of a folder. */
#define _GNU_SOURCE
#include "base/usable_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/test_cgroup.h"

static void withoutAFileThereIsNoLimit(void **state) {
    (void)state;
    assert_true(usableMemoryOfGroups(cgroup_root, "0::/\n") == UINT64_MAX);
    assert_true(usableMemoryOfGroups(cgroup_root, "") == UINT64_MAX);
    assert_true(usableMemoryOfGroups(cgroup_root, "nonsense") == UINT64_MAX);
    testCgroupPut("", "memory.max", "max\n");
    assert_true(usableMemoryOfGroups(cgroup_root, "0::/\n") == UINT64_MAX);
}

static void theLeastLimitOfAllGroupsAboveCounts(void **state) {
    (void)state;
    testCgroupPut("a/b/c", "memory.max", "max\n");
    testCgroupPut("a/b", "memory.max", "800000000\n");
    testCgroupPut("a", "memory.max", "400000000\n");
    testCgroupPut("other", "memory.max", "5\n");
    assert_int_equal(usableMemoryOfGroups(cgroup_root, "0::/a/b/c\n"), 400000000);
    testCgroupPut("a/b/c", "memory.max", "300000000\n");
    assert_int_equal(usableMemoryOfGroups(cgroup_root, "0::/a/b/c"), 300000000);
}

static void versionOneHasAFolderOfTheController(void **state) {
    (void)state;
    testCgroupPut("memory/x", "memory.limit_in_bytes", "250000000\n");
    testCgroupPut("memory", "memory.limit_in_bytes", "9223372036854771712\n");
    testCgroupPut("cpu/x", "memory.limit_in_bytes", "5\n");
    assert_int_equal(usableMemoryOfGroups(cgroup_root, "7:cpu:/x\n4:memory:/x\n1:name=systemd:/x\n0::/\n"),
                     250000000);
    assert_true(usableMemoryOfGroups(cgroup_root, "4:memory:/\n") == 9223372036854771712u);
}

static void aProcessHasSomeMemory(void **state) {
    (void)state;
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_true(usableMemory() > 0 && usableMemory() <= machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(withoutAFileThereIsNoLimit, testCgroupNew, testCgroupRemove),
        cmocka_unit_test_setup_teardown(theLeastLimitOfAllGroupsAboveCounts, testCgroupNew, testCgroupRemove),
        cmocka_unit_test_setup_teardown(versionOneHasAFolderOfTheController, testCgroupNew, testCgroupRemove),
        cmocka_unit_test(aProcessHasSomeMemory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
