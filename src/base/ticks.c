/* SPDX-License-Identifier: BSD-3-Clause */
/* ticks.c - finds out whether the time-stamp counter can be trusted, and its rate. */
#include "base/ticks.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

uint64_t ticks_per_us = 1;

#if defined(__x86_64__)
static bool ticksCpuHasFlag(const char *flag) {
    FILE *f = fopen("/proc/cpuinfo", "r");
    if (!f) return false;
    char line[8192];
    bool found = false;
    while (!found && fgets(line, sizeof line, f))
        found = strncmp(line, "flags", 5) == 0 && strstr(line, flag);
    fclose(f);
    return found;
}

void ticksCalibrate(void) {
    if (!ticksCpuHasFlag(" constant_tsc") || !ticksCpuHasFlag(" nonstop_tsc")) return;
    int64_t start_us = monotonicUs(), end_us;
    uint64_t start = __builtin_ia32_rdtsc();
    do end_us = monotonicUs();
    while (end_us - start_us < 2000);
    uint64_t rate = (__builtin_ia32_rdtsc() - start) / (uint64_t)(end_us - start_us);
    if (rate > 1) ticks_per_us = rate;
}
#else
void ticksCalibrate(void) {}
#endif
