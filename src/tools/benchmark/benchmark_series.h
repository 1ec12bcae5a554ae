/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_series.h - latencies over the time of a run: a histogram for each interval, all of one
 * width. When there are too many intervals, neighbours are merged and the width doubles; memory is
 * bounded however long the run takes. */
#pragma once

#include <stdint.h>

#define SERIES_POINTS 300 /* at most; half of them after the width has doubled */

struct series;

/* Starts now, with intervals of width_us microseconds. */
struct series *seriesCreate(int64_t width_us);
void seriesFree(struct series *s); /* may be NULL */
/* Records latencies at at_us microseconds since the start; earlier ones are ignored. O(1), except when
 * the width doubles. */
void seriesRecord(struct series *s, int64_t at_us, int64_t latency_us, int64_t times);
void seriesMerge(struct series *into, struct series *from); /* brings both to the same width */

struct seriesPoint {
    double seconds; /* start of the interval */
    double rate;    /* replies per second */
    int64_t count;
    double p50_ms, p99_ms, max_ms;
};
/* Number of intervals, which seriesPoint numbers from 0. */
int seriesCount(const struct series *s);
struct seriesPoint seriesPoint(const struct series *s, int index);
double seriesWidth(const struct series *s); /* seconds */
