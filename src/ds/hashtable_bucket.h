/* SPDX-License-Identifier: BSD-3-Clause */
/* hashtable_bucket.h - one bucket of the hash table: a cache line of 9 tags, an overflow byte, 9 slots.
 * Private to hashtable*.c.
 *
 *     byte  0 ...... 8   9          10 .. 15  16 .. 21        58 .. 63
 *          | 9 tags   | overflow  | slot 0  | slot 1  | ... | slot 8  |      tag 0: the slot is empty
 *
 *     overflow:  | far: 1 | count: 7 |
 *     slot:      48 bits, an entry's address; it is a multiple of 8, so its low 3 bits are free
 *
 * A tag and these 3 bits are the low 11 bits of the position that gave the entry its home; see
 * hashtable_private.h. Functions here only store and return them.
 *
 * All tags are compared at once: by SSE2, by NEON, or by arithmetic on words. The latter is always
 * compiled, so that tests can compare the results; -DHASHTABLE_PLAIN makes all code use it. The result
 * is a set of slots, which htSlotOfBit iterates over:
 *
 *     for (slotSet set = htUsedSlots(b); set; set &= set - 1) ... htSlotOfBit(set) ...
 *
 * Leak checkers see no pointers in words of 48 bits. For them (-DLEAK_CHECKED) a bucket is larger and
 * holds its entries' addresses a second time, as plain pointers that are never read. */
#pragma once

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && !defined(HASHTABLE_PLAIN)
#define TAGS_BY_SSE2
#include <emmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(HASHTABLE_PLAIN)
#define TAGS_BY_NEON
#include <arm_neon.h>
#endif

#include "ds/hashtable_ref.h"

#define SLOTS        HASHTABLE_BUCKET_SLOTS
#define OVERFLOW_FAR 0x80
#define OVERFLOW_MAX 0x7f
#define SPARE_BITS   3 /* bits of a slot */
#define TAG_BITS     8

struct hashtableBucket {
    alignas(64) uint8_t tags[SLOTS];
    uint8_t overflow;
    struct hashtableRef slots[SLOTS];
#ifdef LEAK_CHECKED
    const void *leak_checked[SLOTS];
#endif
};
typedef struct hashtableBucket bucket;
_Static_assert(offsetof(bucket, slots) + sizeof((bucket){0}.slots) == 64, "a bucket is a cache line");
_Static_assert(offsetof(bucket, slots) >= 2, "a slot is read together with the two bytes before it");

/* --- Comparing tags --- */

#ifdef TAGS_BY_NEON
typedef uint64_t slotSet; /* 4 bits for each slot, of which the highest is used */
#define SET_BITS_LOG 2
#else
typedef uint32_t slotSet; /* a bit for each slot */
#define SET_BITS_LOG 0
#endif

static inline unsigned htSlotOfBit(slotSet set) {
    return (unsigned)__builtin_ctzll(set) >> SET_BITS_LOG;
}

/* Returns a bit for each slot with that tag. */
static inline uint32_t htMatchTagPlain(const bucket *b, uint8_t tag) {
    const uint64_t ones = 0x0101010101010101ULL, low = 0x7f * ones;
    uint64_t eight;
    memcpy(&eight, b->tags, sizeof(eight));
    uint64_t differing = eight ^ tag * ones;
    uint64_t equal = ~(((differing & low) + low) | differing | low); /* 0x80 for each equal tag */
    uint32_t bits = (uint32_t)((equal >> 7) * 0x0102040810204080ULL >> 56);
    return bits | (uint32_t)(b->tags[8] == tag) << 8;
}
_Static_assert(SLOTS == 9, "eight tags in a word and one more");

#ifdef TAGS_BY_SSE2

static inline slotSet htMatchTag(const bucket *b, uint8_t tag) {
    __m128i tags = _mm_load_si128((const __m128i *)b), equal = _mm_cmpeq_epi8(tags, _mm_set1_epi8((char)tag));
    return (slotSet)_mm_movemask_epi8(equal) & ((1U << SLOTS) - 1);
}
static inline slotSet htUsedSlots(const bucket *b) {
    __m128i tags = _mm_load_si128((const __m128i *)b), empty = _mm_cmpeq_epi8(tags, _mm_setzero_si128());
    return ~(slotSet)_mm_movemask_epi8(empty) & ((1U << SLOTS) - 1);
}

#elif defined(TAGS_BY_NEON)

static inline slotSet htSetOfBytes(uint8x16_t bytes) {
    uint8x8_t nibbles = vshrn_n_u16(vreinterpretq_u16_u8(bytes), 4);
    return vget_lane_u64(vreinterpret_u64_u8(nibbles), 0) & 0x888888888ULL;
}
static inline slotSet htMatchTag(const bucket *b, uint8_t tag) {
    return htSetOfBytes(vceqq_u8(vld1q_u8((const uint8_t *)b), vdupq_n_u8(tag)));
}
static inline slotSet htUsedSlots(const bucket *b) {
    uint8x16_t tags = vld1q_u8((const uint8_t *)b);
    return htSetOfBytes(vtstq_u8(tags, tags));
}

#else

static inline slotSet htMatchTag(const bucket *b, uint8_t tag) {
    return htMatchTagPlain(b, tag);
}
static inline slotSet htUsedSlots(const bucket *b) {
    return ~htMatchTagPlain(b, 0) & ((1U << SLOTS) - 1);
}

#endif

static inline slotSet htEmptySlots(const bucket *b) {
    return htMatchTag(b, 0);
}

static inline bool htBucketIsEmpty(const bucket *b) {
    return !htUsedSlots(b);
}

/* --- Slots --- */

static inline void *htEntryAt(const bucket *b, unsigned i) {
    return hashtableRefEntry(&b->slots[i]);
}

static inline uint64_t htWordAt(const bucket *b, unsigned i) {
    return hashtableRefWord(&b->slots[i]);
}

static inline void htSetSlot(bucket *b, unsigned i, uint8_t tag, uint64_t word) {
    b->tags[i] = tag;
    hashtableRefSetWord(&b->slots[i], word);
}

static inline void htClearSlot(bucket *b, unsigned i) {
    b->tags[i] = 0;
#ifdef LEAK_CHECKED
    b->leak_checked[i] = NULL;
#endif
}

static inline void htClearBucket(bucket *b) {
    memset(b, 0, 16); /* tags and overflow, and bytes that are read with them */
}

/* --- Overflow --- */

static inline unsigned htOverflowOf(const bucket *b) {
    return b->overflow & OVERFLOW_MAX;
}
