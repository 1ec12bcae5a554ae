/* SPDX-License-Identifier: BSD-3-Clause */
/* processors_test.c - control groups as files of a folder; the CPU time of a thread. */
#define _GNU_SOURCE
#include "base/processors.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static char root[64];

static void processorsTestPut(const char *folder, const char *file, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "mkdir -p %s/%s", root, folder);
    assert_int_equal(system(path), 0);
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, file);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int newRoot(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/processors_test.XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int removeRoot(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void withoutAFileThereIsNoQuota(void **state) {
    (void)state;
    assert_int_equal(processorsQuota(root, "0::/\n"), 0);
    assert_int_equal(processorsQuota(root, ""), 0);
    assert_int_equal(processorsQuota(root, "nonsense"), 0);
}

static void aContainerSeesItsOwnGroupAtTheTop(void **state) {
    (void)state;
    processorsTestPut("", "cpu.max", "300000 100000\n");
    assert_int_equal(processorsQuota(root, "0::/\n"), 3);
    processorsTestPut("", "cpu.max", "150000 100000\n");
    assert_int_equal(processorsQuota(root, "0::/\n"), 1);
    processorsTestPut("", "cpu.max", "20000 100000\n");
    assert_int_equal(processorsQuota(root, "0::/\n"), 1);
    processorsTestPut("", "cpu.max", "max 100000\n");
    assert_int_equal(processorsQuota(root, "0::/\n"), 0);
}

static void theLeastQuotaOfAllGroupsAboveCounts(void **state) {
    (void)state;
    processorsTestPut("a/b/c", "cpu.max", "max 100000\n");
    processorsTestPut("a/b", "cpu.max", "800000 100000\n");
    processorsTestPut("a", "cpu.max", "400000 100000\n");
    assert_int_equal(processorsQuota(root, "0::/a/b/c\n"), 4);
    assert_int_equal(processorsQuota(root, "0::/a/b"), 4);
    assert_int_equal(processorsQuota(root, "0::/other\n"), 0);
}

static void versionOneHasAFolderForTheController(void **state) {
    (void)state;
    processorsTestPut("cpu,cpuacct/x", "cpu.cfs_quota_us", "250000\n");
    processorsTestPut("cpu,cpuacct/x", "cpu.cfs_period_us", "100000\n");
    processorsTestPut("cpu,cpuacct", "cpu.cfs_quota_us", "-1\n");
    processorsTestPut("cpu,cpuacct", "cpu.cfs_period_us", "100000\n");
    assert_int_equal(processorsQuota(root, "7:cpuset:/x\n4:cpu,cpuacct:/x\n1:name=systemd:/x\n0::/\n"), 2);
    assert_int_equal(processorsQuota(root, "4:cpu,cpuacct:/\n"), 0);
}

static void thisProcessHasOneAtLeast(void **state) {
    (void)state;
    assert_true(processorsUsable() >= 1);
}

static void runTimeIsReported(void **state) {
    (void)state;
    struct processorTime before = processorTimeOf(gettid());
    if (!before.ran_ns) {
        print_message("skipped: the system does not tell\n");
        skip();
    }
    clock_t until = clock() + CLOCKS_PER_SEC / 20;
    while (clock() < until) {
    }
    struct processorTime after = processorTimeOf(gettid());
    assert_true(after.ran_ns - before.ran_ns >= 20 * 1000 * 1000);
    assert_true(after.waited_ns >= before.waited_ns);
    assert_int_equal(processorTimeOf(-1).ran_ns, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(withoutAFileThereIsNoQuota, newRoot, removeRoot),
        cmocka_unit_test_setup_teardown(aContainerSeesItsOwnGroupAtTheTop, newRoot, removeRoot),
        cmocka_unit_test_setup_teardown(theLeastQuotaOfAllGroupsAboveCounts, newRoot, removeRoot),
        cmocka_unit_test_setup_teardown(versionOneHasAFolderForTheController, newRoot, removeRoot),
        cmocka_unit_test(thisProcessHasOneAtLeast),
        cmocka_unit_test(runTimeIsReported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
