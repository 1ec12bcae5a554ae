/* SPDX-License-Identifier: BSD-3-Clause */
/* cron.h - periodic work. Each room registers its own; server/ turns the wheel at `hz`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef void cronFn(void);
void cronRegister(cronFn *fn, int period_ms); /* 0: at every tick of hz; else rounded up to a tick */
void cronRun(void);                           /* by the timer */
extern bool cron_paused;                      /* for tests: no job runs */
void beforeSleepRegister(cronFn *fn);         /* before every poll, in order of registration */
void beforeSleepRun(void);
extern int64_t server_hz;

/* The clock of the running command: read once per batch, so that a command sees one time. */
extern int64_t cmd_time_ms, cmd_time_us;
void clockRefresh(void);
/* 24-bit LRU clock in seconds. */
static inline uint32_t lruClock(void) {
    return (uint32_t)(cmd_time_ms / 1000) & 0xffffff;
}
