/* SPDX-License-Identifier: BSD-3-Clause */
/* histogram.h - counts of values of any magnitude, with a bounded relative error.
 *
 * After the idea of HdrHistogram (Tene): values below 2^(bits+1) have a bucket each; above, every power of
 * two is split into 2^bits equal buckets, so a bucket is never wider than one part in 2^bits of its values.
 *
 *     bits 7:  value    0 .. 255 | 256 .. 511 | 512 .. 1023 | ...
 *              width       1     |     2      |      4      | ...
 *              buckets    256    |    128     |     128     | ...
 *
 * The bucket is found with one count of leading zeros and one shift: with s the shift that brings the value
 * into [2^bits, 2^(bits+1)), the index is 2^bits * s + (value >> s), which is continuous at the powers of
 * two. Recording takes a dozen instructions, which is cheap enough for every command.
 *
 * Memory is allocated in chunks of 2^bits buckets when one of them is first used: measurements seldom span
 * more than a few powers of two, and a server has a histogram for each command. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct histogram {
    uint64_t max_value; /* larger values count as this */
    int bits, buckets;  /* whole chunks of buckets */
    uint64_t *chunks[]; /* bucket i is chunks[i >> bits][i & (2^bits - 1)]; NULL: all 0 */
};

/* Creates a histogram for values up to max_value (at least 2^(bits+1)); the error is one part in 2^bits. */
struct histogram *histogramCreate(int bits, uint64_t max_value);
void histogramFree(struct histogram *h);                                   /* NULL is fine */
void histogramMerge(struct histogram *into, const struct histogram *from); /* both must have the same shape */

static inline int histogramIndexOf(int bits, uint64_t value) {
    uint64_t one_bucket_each = (UINT64_C(2) << bits) - 1; /* up to this value the shift is 0 */
    int shift = 63 - __builtin_clzll(value | one_bucket_each) - bits;
    return (shift << bits) + (int)(value >> shift);
}
static inline int histogramIndex(const struct histogram *h, uint64_t value) {
    return histogramIndexOf(h->bits, value);
}
uint64_t *histogramChunk(struct histogram *h, int chunk); /* created */
static inline uint64_t *histogramBucket(struct histogram *h, int bits, int index) {
    uint64_t *chunk = h->chunks[index >> bits];
    if (__builtin_expect(!chunk, 0)) chunk = histogramChunk(h, index >> bits);
    return &chunk[index & ((1 << bits) - 1)];
}
/* For callers whose bits are a constant. */
static inline void histogramCount(struct histogram *h, int bits, uint64_t value) {
    if (value > h->max_value) value = h->max_value;
    ++*histogramBucket(h, bits, histogramIndexOf(bits, value));
}
static inline void histogramAdd(struct histogram *h, uint64_t value, uint64_t times) {
    if (value > h->max_value) value = h->max_value;
    *histogramBucket(h, h->bits, histogramIndex(h, value)) += times;
}

static inline uint64_t histogramAt(const struct histogram *h, int index) { /* the count of a bucket */
    const uint64_t *chunk = h->chunks[index >> h->bits];
    return chunk ? chunk[index & ((1 << h->bits) - 1)] : 0;
}
/* Return the smallest and the largest value of a bucket. */
uint64_t histogramLowest(const struct histogram *h, int index);
uint64_t histogramHighest(const struct histogram *h, int index);

/* All of the following visit every bucket. */
uint64_t histogramTotal(const struct histogram *h);
/* Returns the counts in the bucket of `value` and in the buckets below. */
uint64_t histogramTotalUpTo(const struct histogram *h, uint64_t value);
/* Returns the bucket of the observation with this rank in sorted order, from 1 on; -1: there are fewer. */
int histogramFind(const struct histogram *h, uint64_t rank);
