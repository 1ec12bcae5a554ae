/* SPDX-License-Identifier: BSD-3-Clause */
/* cron.h - periodic jobs. Modules register their own; server/ runs them at `hz`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef void cronFn(void);
void cronRegister(cronFn *fn, int period_ms); /* period 0: at every tick of hz; else rounded up to ticks */
void cronRun(void);                           /* called by the timer */
extern bool cron_paused;                      /* for tests: no job runs */
void beforeSleepRegister(cronFn *fn);         /* fn runs before every poll, in order of registration */
void beforeSleepRun(void);
extern int64_t server_hz;

/* The time of the running command: read once per batch, so that a command sees a single time. Each thread
 * that runs commands has its own, and refreshes it. */
extern __thread int64_t cmd_time_ms, cmd_time_us;
void clockRefresh(void);
/* 24-bit LRU clock in seconds. */
static inline uint32_t lruClock(void) {
    return (uint32_t)(cmd_time_ms / 1000) & 0xffffff;
}
