/* histogram.c - see histogram.h. */
#include "base/histogram.h"

#include <string.h>

#include "base/assert.h"
#include "base/zmalloc.h"

struct histogram *histogramCreate(int bits, uint64_t max_value) {
    struct histogram shape = {.bits = bits, .max_value = max_value};
    int buckets = histogramIndex(&shape, max_value) + 1;
    serverAssert(bits > 0 && bits < 31 && max_value >= UINT64_C(2) << bits);
    struct histogram *h = zcalloc(1, sizeof *h + (size_t)buckets * sizeof *h->counts);
    h->max_value = max_value;
    h->bits = bits;
    h->buckets = buckets;
    return h;
}

void histogramFree(struct histogram *h) {
    zfree(h);
}

void histogramReset(struct histogram *h) {
    memset(h->counts, 0, (size_t)h->buckets * sizeof *h->counts);
}

void histogramMerge(struct histogram *into, const struct histogram *from) {
    serverAssert(into->bits == from->bits && into->buckets == from->buckets);
    for (int i = 0; i < into->buckets; i++) into->counts[i] += from->counts[i];
}

static int shiftOf(const struct histogram *h, int index) {
    return index < 2 << h->bits ? 0 : (index >> h->bits) - 1;
}

uint64_t histogramLowest(const struct histogram *h, int index) {
    int shift = shiftOf(h, index);
    return (uint64_t)(index - (shift << h->bits)) << shift;
}

uint64_t histogramHighest(const struct histogram *h, int index) {
    return histogramLowest(h, index) + (UINT64_C(1) << shiftOf(h, index)) - 1;
}

uint64_t histogramTotal(const struct histogram *h) {
    uint64_t sum = 0;
    for (int i = 0; i < h->buckets; i++) sum += h->counts[i];
    return sum;
}

uint64_t histogramTotalUpTo(const struct histogram *h, uint64_t value) {
    int last = value >= h->max_value ? h->buckets - 1 : histogramIndex(h, value);
    uint64_t sum = 0;
    for (int i = 0; i <= last; i++) sum += h->counts[i];
    return sum;
}

int histogramFind(const struct histogram *h, uint64_t rank) {
    uint64_t seen = 0;
    for (int i = 0; i < h->buckets; i++) {
        seen += h->counts[i];
        if (seen >= rank && seen > 0) return i;
    }
    return -1;
}
