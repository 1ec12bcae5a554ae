/* SPDX-License-Identifier: BSD-3-Clause */
/* processors_test.c - control groups as files of a folder; the CPU time of a thread. */
#define _GNU_SOURCE
#include "base/processors.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/test_cgroup.h"

static void withoutAFileThereIsNoQuota(void **state) {
    (void)state;
    assert_int_equal(processorsQuota(cgroup_root, "0::/\n"), 0);
    assert_int_equal(processorsQuota(cgroup_root, ""), 0);
    assert_int_equal(processorsQuota(cgroup_root, "nonsense"), 0);
}

static void aContainerSeesItsOwnGroupAtTheTop(void **state) {
    (void)state;
    testCgroupPut("", "cpu.max", "300000 100000\n");
    assert_int_equal(processorsQuota(cgroup_root, "0::/\n"), 3);
    testCgroupPut("", "cpu.max", "150000 100000\n");
    assert_int_equal(processorsQuota(cgroup_root, "0::/\n"), 1);
    testCgroupPut("", "cpu.max", "20000 100000\n");
    assert_int_equal(processorsQuota(cgroup_root, "0::/\n"), 1);
    testCgroupPut("", "cpu.max", "max 100000\n");
    assert_int_equal(processorsQuota(cgroup_root, "0::/\n"), 0);
}

static void theLeastQuotaOfAllGroupsAboveCounts(void **state) {
    (void)state;
    testCgroupPut("a/b/c", "cpu.max", "max 100000\n");
    testCgroupPut("a/b", "cpu.max", "800000 100000\n");
    testCgroupPut("a", "cpu.max", "400000 100000\n");
    assert_int_equal(processorsQuota(cgroup_root, "0::/a/b/c\n"), 4);
    assert_int_equal(processorsQuota(cgroup_root, "0::/a/b"), 4);
    assert_int_equal(processorsQuota(cgroup_root, "0::/other\n"), 0);
}

static void versionOneHasAFolderForTheController(void **state) {
    (void)state;
    testCgroupPut("cpu,cpuacct/x", "cpu.cfs_quota_us", "250000\n");
    testCgroupPut("cpu,cpuacct/x", "cpu.cfs_period_us", "100000\n");
    testCgroupPut("cpu,cpuacct", "cpu.cfs_quota_us", "-1\n");
    testCgroupPut("cpu,cpuacct", "cpu.cfs_period_us", "100000\n");
    assert_int_equal(processorsQuota(cgroup_root, "7:cpuset:/x\n4:cpu,cpuacct:/x\n1:name=systemd:/x\n0::/\n"),
                     2);
    assert_int_equal(processorsQuota(cgroup_root, "4:cpu,cpuacct:/\n"), 0);
}

static void thisProcessHasOneAtLeast(void **state) {
    (void)state;
    assert_true(processorsUsable() >= 1);
}

static void runTimeIsReported(void **state) {
    (void)state;
    int file = -1, none = -1;
    struct processorTime before = processorTimeOf(gettid(), &file);
    if (!before.ran_ns) {
        print_message("skipped: the system does not tell\n");
        skip();
    }
    clock_t until = clock() + CLOCKS_PER_SEC / 20;
    while (clock() < until) {
    }
    struct processorTime after = processorTimeOf(gettid(), &file);
    assert_true(after.ran_ns - before.ran_ns >= 20 * 1000 * 1000);
    assert_true(after.waited_ns >= before.waited_ns);
    close(file);
    assert_int_equal(processorTimeOf(-1, &none).ran_ns, 0);
    assert_int_equal(none, -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(withoutAFileThereIsNoQuota, testCgroupNew, testCgroupRemove),
        cmocka_unit_test_setup_teardown(aContainerSeesItsOwnGroupAtTheTop, testCgroupNew, testCgroupRemove),
        cmocka_unit_test_setup_teardown(theLeastQuotaOfAllGroupsAboveCounts, testCgroupNew, testCgroupRemove),
        cmocka_unit_test_setup_teardown(versionOneHasAFolderForTheController, testCgroupNew,
                                        testCgroupRemove),
        cmocka_unit_test(thisProcessHasOneAtLeast),
        cmocka_unit_test(runTimeIsReported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
