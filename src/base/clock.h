/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h - time. The names contain the units. */
#pragma once

#include <stdint.h>
#include <time.h>

int64_t ustime(void);      /* wall clock, microseconds since the epoch */
int64_t mstime(void);      /* wall clock, milliseconds */
int64_t monotonicUs(void); /* steady clock, microseconds; for durations */
/* Returns what a CPU time clock of a thread or a process shows, in nanoseconds; 0 when the thread has ended.
 * CLOCK_THREAD_CPUTIME_ID is that of the calling thread. Enters the kernel. */
uint64_t cpuTimeNs(clockid_t clock);
