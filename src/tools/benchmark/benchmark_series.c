/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_series.c - see benchmark_series.h. */
#include "tools/benchmark/benchmark_series.h"

#include <math.h>

#include "base/histogram.h"
#include "base/zmalloc.h"
#include "tools/benchmark/benchmark_latencies.h"

#define PRECISION_BITS 6 /* one part in 64, enough for a chart */

struct interval {
    struct histogram *histogram; /* NULL if nothing was recorded */
    int64_t count, max_us;
};

struct series {
    int64_t width_us;
    int count; /* intervals up to the last one that is not empty */
    struct interval intervals[SERIES_POINTS];
};

struct series *seriesCreate(int64_t width_us) {
    struct series *s = zcalloc(1, sizeof *s);
    s->width_us = width_us;
    return s;
}

void seriesFree(struct series *s) {
    if (!s) return;
    for (int i = 0; i < s->count; i++) histogramFree(s->intervals[i].histogram);
    zfree(s);
}

static void benchSeriesMerge(struct interval *into, const struct interval *from) {
    if (!from->histogram) return;
    if (!into->histogram) into->histogram = histogramCreate(PRECISION_BITS, LATENCIES_MAX_US);
    histogramMerge(into->histogram, from->histogram);
    into->count += from->count;
    if (from->max_us > into->max_us) into->max_us = from->max_us;
}

static void benchSeriesWiden(struct series *s) {
    struct series old = *s;
    for (int i = 0; i < old.count; i++) s->intervals[i] = (struct interval){0};
    for (int i = 0; i < old.count; i++) {
        benchSeriesMerge(&s->intervals[i / 2], &old.intervals[i]);
        histogramFree(old.intervals[i].histogram);
    }
    s->count = (old.count + 1) / 2;
    s->width_us *= 2;
}

void seriesRecord(struct series *s, int64_t at_us, int64_t latency_us, int64_t times) {
    if (at_us < 0) return;
    while (at_us / s->width_us >= SERIES_POINTS) benchSeriesWiden(s);
    int index = (int)(at_us / s->width_us);
    struct interval *at = &s->intervals[index];
    if (!at->histogram) at->histogram = histogramCreate(PRECISION_BITS, LATENCIES_MAX_US);
    histogramAdd(at->histogram, latency_us > 0 ? (uint64_t)latency_us : 0, (uint64_t)times);
    at->count += times;
    if (latency_us > at->max_us) at->max_us = latency_us;
    if (index >= s->count) s->count = index + 1;
}

void seriesMerge(struct series *into, struct series *from) {
    while (into->width_us < from->width_us) benchSeriesWiden(into);
    while (from->width_us < into->width_us) benchSeriesWiden(from);
    for (int i = 0; i < from->count; i++) benchSeriesMerge(&into->intervals[i], &from->intervals[i]);
    if (from->count > into->count) into->count = from->count;
}

int seriesCount(const struct series *s) {
    return s->count;
}

double seriesWidth(const struct series *s) {
    return (double)s->width_us / 1e6;
}

static double benchSeriesPercentileMs(const struct interval *at, double percent) {
    int64_t rank = (int64_t)ceil(percent / 100 * (double)at->count);
    int bucket = histogramFind(at->histogram, (uint64_t)(rank > 0 ? rank : 1));
    int64_t us = bucket < 0 ? at->max_us : (int64_t)histogramHighest(at->histogram, bucket);
    return (double)(us < at->max_us ? us : at->max_us) / 1000;
}

struct seriesPoint seriesPoint(const struct series *s, int index) {
    const struct interval *at = &s->intervals[index];
    struct seriesPoint p = {
        .seconds = index * seriesWidth(s), .count = at->count, .rate = (double)at->count / seriesWidth(s)};
    if (!at->count) return p;
    p.p50_ms = benchSeriesPercentileMs(at, 50);
    p.p99_ms = benchSeriesPercentileMs(at, 99);
    p.max_ms = (double)at->max_us / 1000;
    return p;
}
