/* SPDX-License-Identifier: BSD-3-Clause */
/* histogram.c - see histogram.h. */
#include "base/histogram.h"

#include "base/assert.h"
#include "base/zmalloc.h"

static size_t histogramChunkSize(const struct histogram *h) {
    return sizeof(uint64_t) << h->bits;
}

static int histogramChunkCount(const struct histogram *h) {
    return h->buckets >> h->bits;
}

struct histogram *histogramCreate(int bits, uint64_t max_value) {
    serverAssert(bits > 0 && bits < 31 && max_value >= UINT64_C(2) << bits);
    int chunks = (histogramIndexOf(bits, max_value) >> bits) + 1;
    struct histogram *h = zcalloc(1, sizeof *h + (size_t)chunks * sizeof *h->chunks);
    h->max_value = max_value;
    h->bits = bits;
    h->buckets = chunks << bits;
    return h;
}

uint64_t *histogramChunk(struct histogram *h, int chunk) {
    serverAssert(chunk >= 0 && chunk < histogramChunkCount(h));
    if (!h->chunks[chunk]) h->chunks[chunk] = zcalloc(1, histogramChunkSize(h));
    return h->chunks[chunk];
}

void histogramFree(struct histogram *h) {
    if (!h) return;
    for (int i = 0; i < histogramChunkCount(h); i++) zfree(h->chunks[i]);
    zfree(h);
}

void histogramMerge(struct histogram *into, const struct histogram *from) {
    serverAssert(into->bits == from->bits && into->buckets == from->buckets);
    for (int i = 0; i < from->buckets; i++) {
        uint64_t n = histogramAt(from, i);
        if (n) *histogramBucket(into, into->bits, i) += n;
    }
}

static int histogramShiftOf(const struct histogram *h, int index) {
    return index < 2 << h->bits ? 0 : (index >> h->bits) - 1;
}

uint64_t histogramLowest(const struct histogram *h, int index) {
    debugAssert(index >= 0 && index < h->buckets);
    int shift = histogramShiftOf(h, index);
    return (uint64_t)(index - (shift << h->bits)) << shift;
}

uint64_t histogramHighest(const struct histogram *h, int index) {
    return histogramLowest(h, index) + (UINT64_C(1) << histogramShiftOf(h, index)) - 1;
}

/* Returns the first allocated bucket from i on, h->buckets when there is none. Most are not allocated. */
static inline int histogramAllocatedFrom(const struct histogram *h, int i) {
    while (i < h->buckets && !h->chunks[i >> h->bits]) i = ((i >> h->bits) + 1) << h->bits;
    return i;
}

uint64_t histogramTotal(const struct histogram *h) {
    uint64_t sum = 0;
    for (int i = histogramAllocatedFrom(h, 0); i < h->buckets; i = histogramAllocatedFrom(h, i + 1))
        sum += histogramAt(h, i);
    return sum;
}

uint64_t histogramTotalUpTo(const struct histogram *h, uint64_t value) {
    int last = value >= h->max_value ? h->buckets - 1 : histogramIndex(h, value);
    uint64_t sum = 0;
    for (int i = histogramAllocatedFrom(h, 0); i <= last; i = histogramAllocatedFrom(h, i + 1))
        sum += histogramAt(h, i);
    return sum;
}

int histogramFind(const struct histogram *h, uint64_t rank) {
    uint64_t seen = 0;
    for (int i = histogramAllocatedFrom(h, 0); i < h->buckets; i = histogramAllocatedFrom(h, i + 1)) {
        seen += histogramAt(h, i);
        if (seen >= rank && seen > 0) return i;
    }
    return -1;
}
