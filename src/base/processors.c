/* SPDX-License-Identifier: BSD-3-Clause */
/* processors.c - see processors.h. */
#define _GNU_SOURCE
#include "base/processors.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cgroup.h"

#define PATH_MAX_LEN 1024
#define TEXT_MAX     4096

/* Version 2 has "quota period", or "max period" without a quota; version 1 has a file for each, and -1. */
static int processorsQuotaIn(const char *folder, bool version_2) {
    char path[PATH_MAX_LEN + 64], text[TEXT_MAX];
    long long quota, period;
    if (version_2) {
        snprintf(path, sizeof path, "%s/cpu.max", folder);
        if (!cgroupReadText(path, text, sizeof text) || sscanf(text, "%lld %lld", &quota, &period) != 2)
            return 0;
    } else {
        snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
        if (!cgroupReadText(path, text, sizeof text) || sscanf(text, "%lld", &quota) != 1) return 0;
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
        if (!cgroupReadText(path, text, sizeof text) || sscanf(text, "%lld", &period) != 1) return 0;
    }
    if (quota <= 0 || period <= 0) return 0;
    return quota < period ? 1 : (int)(quota / period);
}

static int processorsMinQuota(int a, int b) {
    return !a || (b && b < a) ? b : a;
}

static void processorsReadQuota(void *least, const char *folder, bool version_2) {
    *(int *)least = processorsMinQuota(*(int *)least, processorsQuotaIn(folder, version_2));
}

int processorsQuota(const char *files, const char *cgroup) {
    int quota = 0;
    cgroupForEachFolder(files, cgroup, "cpu", processorsReadQuota, &quota);
    return quota;
}

int processorsUsable(void) {
    cpu_set_t set;
    char text[TEXT_MAX];
    int allowed = sched_getaffinity(0, sizeof set, &set) == -1 ? 1 : CPU_COUNT(&set);
    if (!cgroupReadText("/proc/self/cgroup", text, sizeof text)) return allowed;
    return processorsMinQuota(allowed, processorsQuota("/sys/fs/cgroup", text));
}

struct processorTime processorTimeOf(int tid, int *file) {
    char path[64], text[128], *end;
    if (*file == -1) {
        snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", tid);
        *file = open(path, O_RDONLY | O_CLOEXEC);
    }
    ssize_t length = pread(*file, text, sizeof text - 1, 0);
    if (length <= 0) return (struct processorTime){0};
    text[length] = 0;
    uint64_t ran_ns = strtoull(text, &end, 10), waited_ns = strtoull(end, NULL, 10);
    return (struct processorTime){ran_ns, waited_ns};
}
