/* benchmark_histogram.c - a log-linear histogram, after the idea of HdrHistogram (Tene).
 *
 * Values below 2048 have a bucket each. Above, every power of two is split into 1024 equal buckets, so a
 * bucket is never wider than 1/1024 of the values in it: three significant digits.
 *
 *     value    0 .. 2047 | 2048 .. 4095 | 4096 .. 8191 | ...
 *     width        1     |      2       |      4       | ...
 *     buckets    2048    |    1024      |    1024      | ...
 *
 * The bucket is found with one count of leading zeros and one shift: with s the shift that brings the value
 * into [1024, 2048), the index is 1024 * s + (value >> s), and that is continuous at the powers of two. */
#include "tools/benchmark_histogram.h"

#include <string.h>

#include "base/assert.h"
#include "base/zmalloc.h"

#define HALF      1024
#define MAX_SHIFT (36 - 11)
#define BUCKETS   ((MAX_SHIFT + 2) * HALF)

struct histogram {
    int64_t count, min, max;
    double sum;
    int64_t buckets[BUCKETS];
};

static int shiftOf(int64_t value) {
    return value < 2 * HALF ? 0 : 53 - __builtin_clzll((unsigned long long)value);
}

static int indexOf(int64_t value) {
    int shift = shiftOf(value);
    return HALF * shift + (int)(value >> shift);
}

/* The largest value of a bucket. */
static int64_t upperBound(int index) {
    int shift = index < 2 * HALF ? 0 : index / HALF - 1;
    int64_t first = (int64_t)(index - HALF * shift) << shift;
    return first + (INT64_C(1) << shift) - 1;
}

struct histogram *histogramCreate(void) {
    struct histogram *h = zmalloc(sizeof(*h));
    histogramReset(h);
    return h;
}

void histogramFree(struct histogram *h) {
    zfree(h);
}

void histogramReset(struct histogram *h) {
    memset(h, 0, sizeof(*h));
    h->min = INT64_MAX;
}

void histogramRecord(struct histogram *h, int64_t value_us, int64_t times) {
    if (value_us < 0) value_us = 0;
    if (value_us > HISTOGRAM_MAX_US) value_us = HISTOGRAM_MAX_US;
    int index = indexOf(value_us);
    serverAssert(index < BUCKETS);
    h->buckets[index] += times;
    h->count += times;
    h->sum += (double)value_us * (double)times;
    if (value_us < h->min) h->min = value_us;
    if (value_us > h->max) h->max = value_us;
}

void histogramMerge(struct histogram *into, const struct histogram *from) {
    for (int i = 0; i < BUCKETS; i++) into->buckets[i] += from->buckets[i];
    into->count += from->count;
    into->sum += from->sum;
    if (from->min < into->min) into->min = from->min;
    if (from->max > into->max) into->max = from->max;
}

int64_t histogramCount(const struct histogram *h) {
    return h->count;
}

int64_t histogramMin(const struct histogram *h) {
    return h->count ? h->min : 0;
}

int64_t histogramMax(const struct histogram *h) {
    return h->max;
}

double histogramMean(const struct histogram *h) {
    return h->count ? h->sum / (double)h->count : 0;
}

int64_t histogramPercentile(const struct histogram *h, double percent) {
    if (h->count == 0) return 0;
    /* 99.9 percent of 1000 must not become 1000 by rounding. */
    double wanted = percent / 100 * (double)h->count * (1 - 1e-12);
    int64_t seen = 0;
    for (int i = 0; i < BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen == 0 || (double)seen < wanted) continue;
        int64_t value = upperBound(i);
        return value < h->max ? value : h->max;
    }
    return h->max;
}

int64_t histogramCountUpTo(const struct histogram *h, int64_t value_us) {
    if (value_us < 0) return 0;
    if (value_us >= h->max) return h->count;
    int last = indexOf(value_us);
    int64_t seen = 0;
    for (int i = 0; i <= last; i++) seen += h->buckets[i];
    return seen;
}
