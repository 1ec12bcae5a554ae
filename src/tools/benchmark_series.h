/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_series.h - latencies over the time of a run: a histogram for each interval, all of one width.
 * When there are too many, two become one and the width doubles, so memory has a bound however long the run
 * takes. */
#pragma once

#include <stdint.h>

#define SERIES_POINTS 300 /* at most; after a widening half of them */

struct series;

/* From this moment on, in intervals of so many microseconds at first. */
struct series *seriesCreate(int64_t width_us);
void seriesFree(struct series *s); /* NULL is fine */
/* at_us: since the start; what was before it is left out. O(1), but for widening. */
void seriesRecord(struct series *s, int64_t at_us, int64_t latency_us, int64_t times);
void seriesMerge(struct series *into, struct series *from); /* widens both to the same */

struct seriesPoint {
    double seconds; /* where it begins */
    double rate;    /* replies a second */
    int64_t count;
    double p50_ms, p99_ms, max_ms;
};
/* Of intervals 0 to seriesCount-1. */
int seriesCount(const struct series *s);
struct seriesPoint seriesPoint(const struct series *s, int index);
double seriesWidth(const struct series *s); /* seconds */
