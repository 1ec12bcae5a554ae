/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_latencies.c - a histogram of three significant digits, with the exact extremes and the mean. */
#include "tools/benchmark/benchmark_latencies.h"

#include <math.h>

#include "base/histogram.h"
#include "base/zmalloc.h"

#define PRECISION_BITS 10 /* one part in 1024 */

struct latencies {
    int64_t count, min, max;
    double sum;
    struct histogram *histogram;
};

struct latencies *latenciesCreate(void) {
    struct latencies *l = zmalloc(sizeof *l);
    *l = (struct latencies){.min = INT64_MAX, .histogram = histogramCreate(PRECISION_BITS, LATENCIES_MAX_US)};
    return l;
}

void latenciesFree(struct latencies *l) {
    histogramFree(l->histogram);
    zfree(l);
}

void latenciesRecord(struct latencies *l, int64_t value_us, int64_t times) {
    if (value_us < 0) value_us = 0;
    if (value_us > LATENCIES_MAX_US) value_us = LATENCIES_MAX_US;
    histogramAdd(l->histogram, (uint64_t)value_us, (uint64_t)times);
    l->count += times;
    l->sum += (double)value_us * (double)times;
    if (value_us < l->min) l->min = value_us;
    if (value_us > l->max) l->max = value_us;
}

void latenciesMerge(struct latencies *into, const struct latencies *from) {
    histogramMerge(into->histogram, from->histogram);
    into->count += from->count;
    into->sum += from->sum;
    if (from->min < into->min) into->min = from->min;
    if (from->max > into->max) into->max = from->max;
}

int64_t latenciesCount(const struct latencies *l) {
    return l->count;
}

int64_t latenciesMin(const struct latencies *l) {
    return l->count ? l->min : 0;
}

int64_t latenciesMax(const struct latencies *l) {
    return l->max;
}

double latenciesMean(const struct latencies *l) {
    return l->count ? l->sum / (double)l->count : 0;
}

int64_t latenciesPercentile(const struct latencies *l, double percent) {
    if (l->count == 0) return 0;
    /* Rounding must not turn 99.9 percent of 1000 into 1000. */
    double rank = ceil(percent / 100 * (double)l->count * (1 - 1e-12));
    int index = histogramFind(l->histogram, (uint64_t)rank);
    int64_t value = index < 0 ? l->max : (int64_t)histogramHighest(l->histogram, index);
    return value < l->max ? value : l->max;
}

int64_t latenciesCountUpTo(const struct latencies *l, int64_t value_us) {
    if (value_us < 0) return 0;
    if (value_us >= l->max) return l->count;
    return (int64_t)histogramTotalUpTo(l->histogram, (uint64_t)value_us);
}
