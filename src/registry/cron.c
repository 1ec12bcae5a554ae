/* SPDX-License-Identifier: BSD-3-Clause */
/* cron.c - periodic work and the clock of the running command. */
#include "registry/cron.h"

#include "base/assert.h"
#include "base/clock.h"

#define JOBS_MAX 64

int64_t server_hz = 10;
__thread int64_t cmd_time_ms, cmd_time_us;
bool cron_paused;

static struct cronJob {
    cronFn *fn;
    int64_t period_ms, due_ms;
} jobs[JOBS_MAX];
static int job_count;
static cronFn *sleepers[JOBS_MAX];
static int sleeper_count;

void cronRegister(cronFn *fn, int period_ms) {
    serverAssert(job_count < JOBS_MAX);
    jobs[job_count++] = (struct cronJob){.fn = fn, .period_ms = period_ms};
}

void cronRun(void) {
    clockRefresh();
    if (cron_paused) return;
    int64_t now_ms = monotonicUs() / 1000;
    for (int i = 0; i < job_count; i++) {
        struct cronJob *job = &jobs[i];
        if (now_ms < job->due_ms) continue;
        job->due_ms = now_ms + job->period_ms;
        job->fn();
    }
}

void beforeSleepRegister(cronFn *fn) {
    serverAssert(sleeper_count < JOBS_MAX);
    sleepers[sleeper_count++] = fn;
}

void beforeSleepRun(void) {
    for (int i = 0; i < sleeper_count; i++) sleepers[i]();
}

void clockRefresh(void) {
    cmd_time_us = ustime();
    cmd_time_ms = cmd_time_us / 1000;
}
