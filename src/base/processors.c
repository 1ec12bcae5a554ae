/* SPDX-License-Identifier: BSD-3-Clause */
/* processors.c - see processors.h. */
#define _GNU_SOURCE
#include "base/processors.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#define PATH_MAX_LEN 1024
#define TEXT_MAX     4096

static const char *processorsReadText(const char *path, char *text, size_t size) {
    FILE *f = fopen(path, "re");
    if (!f) return NULL;
    size_t n = fread(text, 1, size - 1, f);
    fclose(f);
    text[n] = '\0';
    return text;
}

/* Version 2 has "quota period", or "max period" without a quota; version 1 has a file for each, and -1. */
static int processorsQuotaIn(const char *folder, const char *v2_file) {
    char path[PATH_MAX_LEN + 64], text[TEXT_MAX];
    long long quota, period;
    if (v2_file) {
        snprintf(path, sizeof path, "%s/%s", folder, v2_file);
        if (!processorsReadText(path, text, sizeof text) || sscanf(text, "%lld %lld", &quota, &period) != 2)
            return 0;
    } else {
        snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
        if (!processorsReadText(path, text, sizeof text) || sscanf(text, "%lld", &quota) != 1) return 0;
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
        if (!processorsReadText(path, text, sizeof text) || sscanf(text, "%lld", &period) != 1) return 0;
    }
    if (quota <= 0 || period <= 0) return 0;
    return quota < period ? 1 : (int)(quota / period);
}

static int processorsMinQuota(int a, int b) {
    return !a || (b && b < a) ? b : a;
}

/* Returns the least quota of the group and of all groups above it, up to the mount point. */
static int processorsQuotaUpwards(const char *mount, const char *group, int group_len, const char *v2_file) {
    char folder[PATH_MAX_LEN];
    int quota = 0;
    if (snprintf(folder, sizeof folder, "%s%.*s", mount, group_len, group) >= (int)sizeof folder) return 0;
    for (size_t top = strlen(mount);;) {
        quota = processorsMinQuota(quota, processorsQuotaIn(folder, v2_file));
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < top) return quota;
        *slash = '\0';
    }
}

static int processorsIsCpuController(const char *names, const char *end) {
    for (const char *at = names; at < end;) {
        size_t n = strcspn(at, ",:");
        if (n == 3 && !memcmp(at, "cpu", 3)) return 1;
        at += n + 1;
    }
    return 0;
}

/* Each line is number:controllers:path; that of version 2 has no controllers. */
int processorsQuota(const char *files, const char *cgroup) {
    int quota = 0;
    for (const char *line = cgroup; line && *line;) {
        const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path) return quota;
        int len = (int)strcspn(path + 1, "\n");
        if (path == names + 1) {
            quota = processorsMinQuota(quota, processorsQuotaUpwards(files, path + 1, len, "cpu.max"));
        } else if (processorsIsCpuController(names + 1, path)) {
            char mount[PATH_MAX_LEN];
            snprintf(mount, sizeof mount, "%s/%.*s", files, (int)(path - names - 1), names + 1);
            quota = processorsMinQuota(quota, processorsQuotaUpwards(mount, path + 1, len, NULL));
        }
        line = path + 1 + len;
        if (*line) line++;
    }
    return quota;
}

int processorsUsable(void) {
    cpu_set_t set;
    char text[TEXT_MAX];
    int allowed = sched_getaffinity(0, sizeof set, &set) == -1 ? 1 : CPU_COUNT(&set);
    if (!processorsReadText("/proc/self/cgroup", text, sizeof text)) return allowed;
    return processorsMinQuota(allowed, processorsQuota("/sys/fs/cgroup", text));
}

struct processorTime processorTimeOf(int tid) {
    char path[64], text[128];
    unsigned long long ran, waited;
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", tid);
    if (!processorsReadText(path, text, sizeof text) || sscanf(text, "%llu %llu", &ran, &waited) != 2)
        return (struct processorTime){0};
    return (struct processorTime){ran, waited};
}
