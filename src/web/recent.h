/* SPDX-License-Identifier: BSD-3-Clause */
/* recent.h - the last five minutes of a few figures, so that the charts of the page start full and warnings
 * can tell what happens now from what happened once.
 *
 *     ring      │ s3 │ s4 │ s5 │ s1 │ s2 │     one sample every two seconds, RECENT_SAMPLES of them
 *                              ▲
 *                              next: the oldest sample, which the next one replaces
 *
 * A sample is a time and one number per series. Counters are kept as they are, not as rates: whoever reads
 * them takes differences, over any distance. While metrics-port is 0 there is no ring and no sample is
 * taken; the ring takes RECENT_SAMPLES * sizeof(struct recentSample) bytes, less than RECENT_BYTES_MAX. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"

#define RECENT_PERIOD_MS 2000
#define RECENT_SAMPLES   151 /* 150 periods of two seconds */
#define RECENT_BYTES_MAX 65536

/* The names in JSON, and where the values come from, are in recent.c. */
enum recentSeries {
    RECENT_COMMANDS,
    RECENT_ACTIVE_S, /* time that the main thread did not wait for events */
    RECENT_CPU_S,
    RECENT_MEMORY,
    RECENT_KEYS,
    RECENT_EXPIRING,
    RECENT_HITS,
    RECENT_MISSES,
    RECENT_EXPIRED,
    RECENT_EVICTED,
    RECENT_CLIENTS,
    RECENT_REJECTED,
    RECENT_DROPPED, /* clients that were closed because of the size of their output */
    RECENT_INPUT,
    RECENT_OUTPUT,
    RECENT_OFFSET, /* of replication */
    RECENT_REFUSED_PARTIAL,
    RECENT_DELAYED_FSYNCS,
    RECENT_FAILED_LOGINS,
    RECENT_SERIES
};

struct recentSample {
    int64_t time_ms; /* of the steady clock */
    double values[RECENT_SERIES];
};
struct recent {
    int count, next;
    struct recentSample samples[RECENT_SAMPLES];
};
_Static_assert(sizeof(struct recent) <= RECENT_BYTES_MAX, "the history is small");

/* ---- A ring of samples ---- */
void recentAdd(struct recent *h, const struct recentSample *sample);
const struct recentSample *recentAt(const struct recent *h, int i); /* from 0, the oldest, to count - 1 */
/* Returns the milliseconds from the oldest sample to the newest. */
int64_t recentSpanMs(const struct recent *h);
/* Returns how much a counter has grown; what it lost when statistics were reset does not count. O(samples).
 */
double recentIncrease(const struct recent *h, enum recentSeries series);
/* Returns the newest value minus the oldest: of figures that also fall, such as memory. */
double recentChange(const struct recent *h, enum recentSeries series);
/* Appends a JSON object: the period, the times as Unix time in ms, and a list of numbers for each series.
 * offset_ms is what has to be added to the times of the samples. */
sds recentAppendJson(sds s, const struct recent *h, int64_t offset_ms);

/* ---- The server's ring ---- */
void recentInit(void); /* registers the job */
void recentSetEnabled(bool enabled);
const struct recent *recentCurrent(void); /* no samples while it is not enabled */
sds recentMakeJson(void);                 /* of the server's ring; the caller frees it */
