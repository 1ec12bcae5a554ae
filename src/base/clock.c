/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.c - time from the system's clocks; on Linux only reading CPU time enters the kernel. */
#include "base/clock.h"

static int64_t clockUs(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t ustime(void) {
    return clockUs(CLOCK_REALTIME);
}

int64_t mstime(void) {
    return clockUs(CLOCK_REALTIME) / 1000;
}

int64_t monotonicUs(void) {
    return clockUs(CLOCK_MONOTONIC);
}

uint64_t cpuTimeNs(clockid_t clock) {
    struct timespec used = {0};
    clock_gettime(clock, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}
