/* SPDX-License-Identifier: BSD-3-Clause */
/* latency.h - latency spikes: what has blocked the whole server, and when.
 *
 * Code that may block for long times itself and calls latencyAddSampleIfNeeded. Times of at least
 * `latency-monitor-threshold` are recorded: per event the last LATENCY_SAMPLES seconds with a spike, and the
 * worst of each. When it is off (0) it costs a comparison. LATENCY, which shows them, is in metrics/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/str.h"

#define LATENCY_SAMPLES 160

/* ---- Measuring ---- */
extern int64_t latency_threshold_ms; /* 0: off */
void latencyAddSample(const char *event, int64_t ms);
static inline void latencyAddSampleIfNeeded(const char *event, int64_t ms) {
    if (__builtin_expect(latency_threshold_ms && ms >= latency_threshold_ms, 0)) latencyAddSample(event, ms);
}
/* The threshold in microseconds, UINT64_MAX when off. */
uint64_t latencyThresholdUs(void);

/* Returns 0 when the monitor is off. */
static inline int64_t latencyTimerStart(void) {
    return latency_threshold_ms ? monotonicUs() : 0;
}
static inline void latencyTimerEnd(const char *event, int64_t started_us) {
    if (started_us) latencyAddSampleIfNeeded(event, (monotonicUs() - started_us) / 1000);
}

/* ---- Reports ---- */
struct latencySample {
    int64_t time_s; /* 0: never used */
    uint32_t ms;
};
struct latencyEvent {
    char *name;
    int next;
    uint32_t worst_ms;      /* of all spikes, not only of the samples */
    uint64_t sum_ms, count; /* of all spikes */
    struct latencySample samples[LATENCY_SAMPLES];
};
size_t latencyEventCount(void);
struct latencyEvent *latencyFind(struct str name); /* NULL: no spike so far */
void latencyForEach(void (*fn)(void *priv, struct latencyEvent *e), void *priv);
/* i from 0, the oldest, to LATENCY_SAMPLES - 1, the newest; unused ones come first. */
const struct latencySample *latencySampleAt(const struct latencyEvent *e, int i);
/* Forgets the events for which `matches` returns true. Returns how many. */
size_t latencyForget(bool (*matches)(void *priv, const char *event), void *priv);
