/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cgroup.h - a folder with files of control groups, for the tests of what reads them. Include it behind
 * cmocka.h. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

static char cgroup_root[64];

static void testCgroupPut(const char *folder, const char *file, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "mkdir -p %s/%s", cgroup_root, folder);
    assert_int_equal(system(path), 0);
    snprintf(path, sizeof path, "%s/%s/%s", cgroup_root, folder, file);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int testCgroupNew(void **state) {
    (void)state;
    snprintf(cgroup_root, sizeof cgroup_root, "/tmp/test_cgroup.XXXXXX");
    return mkdtemp(cgroup_root) ? 0 : -1;
}

static int testCgroupRemove(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", cgroup_root);
    return system(command);
}
