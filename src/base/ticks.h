/* SPDX-License-Identifier: BSD-3-Clause */
/* ticks.h - the cheapest steady clock: the CPU's time-stamp counter when it is invariant, otherwise
 * monotonicUs(). For timing commands; not comparable between machines. */
#pragma once

#include <stdint.h>

#include "base/clock.h"

extern uint64_t ticks_per_us; /* set by ticksCalibrate; 1 when the counter is not usable */

void ticksCalibrate(void); /* to be called once at start; takes about 2 ms */

/* For loops that wait for another thread without giving up the processor. */
static inline void ticksPause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline uint64_t ticksNow(void) {
#if defined(__x86_64__)
    if (__builtin_expect(ticks_per_us > 1, 1)) return __builtin_ia32_rdtsc();
#endif
    return (uint64_t)monotonicUs();
}
