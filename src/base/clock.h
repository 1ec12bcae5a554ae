/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h - time. Units are in the names. */
#pragma once

#include <stdint.h>
#include <time.h>

int64_t ustime(void);      /* wall clock, microseconds since the epoch */
int64_t mstime(void);      /* wall clock, milliseconds */
int64_t monotonicUs(void); /* steady clock, microseconds; for durations */
/* What a clock of a thread's or a process's CPU time shows, nanoseconds; 0 when the thread has gone. Of the
 * calling thread: CLOCK_THREAD_CPUTIME_ID, which enters the kernel. */
uint64_t cpuTimeNs(clockid_t clock);
