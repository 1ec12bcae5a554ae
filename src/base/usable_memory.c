/* SPDX-License-Identifier: BSD-3-Clause */
/* usable_memory.c - see usable_memory.h. */
#include "base/usable_memory.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cgroup.h"

#define PATH_MAX_LEN 1088
#define TEXT_MAX     4096

/* Version 2 has "max" where there is no limit; version 1 has a number beyond the memory of any machine. */
static void usableMemoryReadLimit(void *least, const char *folder, bool version_2) {
    char path[PATH_MAX_LEN], text[TEXT_MAX];
    unsigned long long limit;
    snprintf(path, sizeof path, "%s/%s", folder, version_2 ? "memory.max" : "memory.limit_in_bytes");
    if (!cgroupReadText(path, text, sizeof text) || sscanf(text, "%llu", &limit) != 1) return;
    if (limit < *(uint64_t *)least) *(uint64_t *)least = limit;
}

uint64_t usableMemoryOfGroups(const char *files, const char *cgroup) {
    uint64_t least = UINT64_MAX;
    cgroupForEachFolder(files, cgroup, "memory", usableMemoryReadLimit, &least);
    return least;
}

uint64_t usableMemory(void) {
    char text[TEXT_MAX];
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (!cgroupReadText("/proc/self/cgroup", text, sizeof text)) return machine;
    uint64_t limit = usableMemoryOfGroups("/sys/fs/cgroup", text);
    return limit < machine ? limit : machine;
}
