/* hashtable_private.h - what the parts of the hash table share: bits, buckets, probes, finding and placing.
 * For hashtable*.c and nobody else; the drawing of the whole is in hashtable.h, what it does not tell in
 * hashtable.c. */
#pragma once

#include "base/assert.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "ds/hashtable.h"
#include "ds/scan_cursor.h"

#define SLOTS         7
#define OVERFLOW_ONE  (1ULL << 56)
#define OVERFLOW_MAX  255
#define TAG_LOW_BITS  0x0001010101010101ULL
#define TAG_HIGH_BITS 0x0080808080808080ULL
#define TAG_ALL_BITS  0x00ffffffffffffffULL

#define SALT_FACTOR 0x9e3779b97f4a7c15ULL

#define SUB_BITS      (64 - HASHTABLE_POINTER_BITS) /* of the position, within a segment */
#define NEAR          4                             /* buckets of a probe that are neighbours */
#define FETCH_ENTRIES 4                             /* so many buckets ahead of a walk are entries fetched, */
#define FETCH_BUCKETS 8                             /* and buckets */

/* Leak checkers know a pointer only as it is. They work with libc's allocator, so with that the upper bits of
 * a slot stay empty, and who wants the bits of the position hashes the key. */
#ifdef USE_JEMALLOC
#define SLOT_HAS_POSITION true
#else
#define SLOT_HAS_POSITION false
#endif

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct hashtableBucket {
    uint64_t head;
    struct hashtableRef slot[SLOTS];
};
typedef struct hashtableBucket bucket;
typedef struct hashtableSegment segment;
_Static_assert(sizeof(bucket) == 64, "a bucket is a cache line");

/* --- Hash bits and bucket heads --- */

static inline uint64_t hashtableSalted(const hashtable *ht, uint64_t hash) {
    return hash * (2 * SALT_FACTOR * ht->salt + 1);
}

/* The bits of the position that give the home in a segment. */
static inline uint32_t subOf(uint64_t salted, unsigned depth) {
    return (uint32_t)(salted << depth >> (64 - SUB_BITS));
}

/* floor(sub * n / 2^SUB_BITS) */
static inline uint32_t homeOf(uint32_t sub, uint32_t n) {
    return (uint32_t)((uint64_t)sub * n >> SUB_BITS);
}

/* 2..255. With tag 1, matchTag could take an empty slot for a match. */
static inline uint64_t tagOf(uint64_t hash) {
    uint64_t tag = hash & 0xff;
    return tag < 2 ? tag + 2 : tag;
}

/* A high bit for each tag that is equal. The lowest one is always right; the higher ones may be tags that
 * differ in the lowest bit. */
static inline uint64_t matchTag(uint64_t head, uint64_t tag) {
    uint64_t x = head ^ (tag * TAG_LOW_BITS);
    return (x - TAG_LOW_BITS) & ~x & TAG_HIGH_BITS;
}

/* A high bit for each slot in use; exact. */
static inline uint64_t usedSlots(uint64_t head) {
    uint64_t low = TAG_HIGH_BITS - TAG_LOW_BITS;
    return (((head & low) + low) | head) & TAG_HIGH_BITS;
}

static inline unsigned slotOfBit(uint64_t bits) {
    return (unsigned)__builtin_ctzll(bits) >> 3;
}

static inline uint64_t tagAt(const bucket *b, unsigned i) {
    return (b->head >> (8 * i)) & 0xff;
}

static inline unsigned overflowOf(const bucket *b) {
    return (unsigned)(b->head >> 56);
}

static inline bool isEmptyBucket(const bucket *b) {
    return (b->head & TAG_ALL_BITS) == 0;
}

static inline void *entryAt(const bucket *b, unsigned i) {
    return hashtableRefEntry(&b->slot[i]);
}

static inline uint64_t slotWord(const void *entry, uint32_t sub) {
    debugAssert((uintptr_t)entry >> HASHTABLE_POINTER_BITS == 0);
    return (uintptr_t)entry | (SLOT_HAS_POSITION ? (uint64_t)sub << HASHTABLE_POINTER_BITS : 0);
}

static inline void setSlot(bucket *b, unsigned i, uint64_t tag, uint64_t word) {
    b->head |= tag << (8 * i);
    b->slot[i].word = word;
}

static inline void clearSlot(bucket *b, unsigned i) {
    b->head &= ~(0xffULL << (8 * i));
}

/* The empty asm keeps gcc from taking a function that only prefetches for one without any effect: it drops
 * the calls of those. */
static inline void prefetch(const void *p) {
    __builtin_prefetch(p);
    __asm__ volatile("");
}

static inline void prefetchEntries(const bucket *b) {
    for (uint64_t bits = usedSlots(b->head); bits; bits &= bits - 1) prefetch(entryAt(b, slotOfBit(bits)));
}

/* --- Keys --- */

static inline struct str keyOf(const hashtable *ht, const void *entry) {
    return ht->type->entryKey(entry);
}

static inline uint64_t hashOfKey(const hashtable *ht, struct str key) {
    return unlikely(ht->type->hash != NULL) ? ht->type->hash(key) : hashBytes(key.ptr, key.len);
}

static inline uint64_t hashOfEntry(const hashtable *ht, const void *entry) {
    return hashOfKey(ht, keyOf(ht, entry));
}

static inline bool hasKey(const hashtable *ht, const void *entry, struct str key) {
    struct str k = keyOf(ht, entry);
    return unlikely(ht->type->keyEqual != NULL) ? ht->type->keyEqual(k, key) : strEq(k, key);
}

/* --- Segments --- */

/* The one that a salted hash, or a position in the upper bits, belongs to; or a copy, good for lookups. */
static inline const segment *anySegmentOf(const hashtable *ht, uint64_t salted) {
    return ht->shift ? &ht->segments[salted >> ht->shift] : &ht->one;
}

static inline segment *segmentOf(const hashtable *ht, uint64_t salted) {
    if (!ht->shift) return (segment *)&ht->one;
    segment *s = &ht->segments[salted >> ht->shift];
    return s - s->back;
}

static inline bool hasTable(const hashtable *ht) {
    return ht->one.table != NULL; /* or the directory, which lies there */
}

/* Entries of the directory; of a single segment, 1. */
static inline uint32_t directorySize(const hashtable *ht) {
    return 1U << ht->bits;
}

/* The segment that starts at entry i of the directory; NULL: none does. */
static inline segment *segmentAt(const hashtable *ht, uint32_t i) {
    segment *s = ht->bits ? &ht->segments[i] : (segment *)&ht->one;
    return s->back ? NULL : s;
}

/* The entry of the directory where it is. */
static inline uint32_t indexOf(const hashtable *ht, const segment *s) {
    return ht->bits ? (uint32_t)(s - ht->segments) : 0;
}

/* Calls for each segment; the body may use `continue`, and change the segment, not the directory. */
#define FOR_SEGMENTS(ht, s)                                                                                  \
    for (uint32_t i_ = 0; hasTable(ht) && i_ < directorySize(ht); i_++)                                      \
        for (segment *s = segmentAt(ht, i_); s; s = NULL)

/* The smallest allowed count >= want: 1..8, then four steps per doubling, as the allocator's classes. */
static inline uint64_t allowedCount(uint64_t want) {
    if (want <= 8) return want ? want : 1;
    unsigned shift = 63 - (unsigned)__builtin_clzll(want - 1) - 2;
    return (((want - 1) >> shift) + 1) << shift;
}

/* The smallest allowed count that n entries fill to at most `num/den` of the slots. */
static inline uint64_t countFor(size_t n, uint64_t num, uint64_t den) {
    unsigned __int128 slots = ((unsigned __int128)n * den + num - 1) / num;
    unsigned __int128 want = (slots + SLOTS - 1) / SLOTS;
    return want > UINT32_MAX ? UINT64_MAX : allowedCount((uint64_t)want);
}

/* Entries that n buckets may hold at num/den full. */
static inline uint64_t limitOf(uint32_t n, uint64_t num, uint64_t den) {
    return n == 1 ? SLOTS : (uint64_t)n * SLOTS * num / den;
}

uint32_t hashtableLengthWithTail(uint32_t n, unsigned tail);
/* A step of about 0.618 n that has no factor in common with n; see hashtable.c. */
uint32_t hashtableGoldenStep(uint32_t n);

/* Buckets of the array: the homes and, rarely, the tail. */
static inline uint32_t lengthOf(const segment *s) {
    return likely(!s->tail) ? s->buckets : hashtableLengthWithTail(s->buckets, s->tail);
}

/* The bits of the position that gave the home of the entry in this slot. */
static inline uint32_t subOfSlot(const hashtable *ht, const segment *s, const struct hashtableRef *slot) {
    if (SLOT_HAS_POSITION) return (uint32_t)(slot->word >> HASHTABLE_POINTER_BITS);
    return subOf(hashtableSalted(ht, hashOfEntry(ht, hashtableRefEntry(slot))), s->depth);
}

/* --- Probes --- */

/* The order in which buckets are tried for a home; see hashtable.c. */
struct probe {
    uint32_t home, at, passed; /* the bucket it is at, how many it has passed */
};

static inline struct probe probeFrom(uint32_t home) {
    return (struct probe){home, home, 0};
}

bool hashtableProbeFar(const segment *s, struct probe *p);

/* On to the next bucket; false when there is none. */
static inline bool probeNext(const segment *s, struct probe *p) {
    uint32_t n = s->buckets;
    if (unlikely(++p->passed >= NEAR || p->passed >= n)) return hashtableProbeFar(s, p);
    p->at = p->at + 1 < n ? p->at + 1 : 0;
    return true;
}

/* --- Finding --- */

/* Where an entry sits, and how many buckets its probe passes. */
struct place {
    const segment *segment; /* or a copy */
    bucket *bucket;
    uint32_t home, passed;
    unsigned slot;
};

/* Looks for the entry with this key, or, when `which` is given, that very pointer, where the probe is. */
static inline __attribute__((always_inline)) bool findInBucket(const hashtable *ht, struct str key,
                                                               const void *which, const bucket *b,
                                                               uint64_t tag, unsigned *slot) {
    for (uint64_t bits = matchTag(b->head, tag); bits; bits &= bits - 1) {
        *slot = slotOfBit(bits);
        const void *entry = entryAt(b, *slot);
        if (which ? entry == which : hasKey(ht, entry, key)) return true;
    }
    return false;
}

bool hashtableFindBehindHome(const hashtable *ht, struct str key, const void *which, uint64_t hash,
                             struct place *p);

/* Inlined for either use; the home bucket is nearly always the right one. */
static inline __attribute__((always_inline)) bool
findPlace(const hashtable *ht, struct str key, const void *which, uint64_t hash, struct place *p) {
    if (unlikely(!hasTable(ht))) return false;
    uint64_t salted = hashtableSalted(ht, hash);
    p->segment = anySegmentOf(ht, salted);
    p->home = homeOf(subOf(salted, p->segment->depth), p->segment->buckets);
    p->passed = 0;
    p->bucket = &p->segment->table[p->home];
    if (findInBucket(ht, key, which, p->bucket, tagOf(hash), &p->slot)) return true;
    return unlikely(overflowOf(p->bucket)) && hashtableFindBehindHome(ht, key, which, hash, p);
}

/* --- Placing and taking out --- */

/* Count an entry in the buckets that it passes. */
void hashtableCountPassed(const segment *s, uint32_t home, uint32_t passed, int by);

/* Put the entry into the first free slot from its home on; false when the segment is full. */
static inline __attribute__((always_inline)) bool placeEntry(segment *s, uint32_t sub, uint64_t tag,
                                                             const void *entry) {
    struct probe p = probeFrom(homeOf(sub, s->buckets));
    uint64_t bits;
    while (unlikely((bits = matchTag(s->table[p.at].head, 0)) == 0))
        if (!probeNext(s, &p)) return false;
    setSlot(&s->table[p.at], slotOfBit(bits), tag, slotWord(entry, sub));
    if (unlikely(p.passed)) hashtableCountPassed(s, p.home, p.passed, 1);
    s->used++;
    return true;
}

static inline void takeOut(const struct place *p) {
    clearSlot(p->bucket, p->slot);
    if (unlikely(p->passed)) hashtableCountPassed(p->segment, p->home, p->passed, -1);
    segment *s = (segment *)p->segment - p->segment->back;
    s->used--;
}

void *hashtablePopPlace(hashtable *ht, const struct place *p); /* the entry, no longer in the table */

/* --- Resizing (hashtable_resize.c) --- */

#define HASHTABLE_DEPTH_MOST 24 /* of a segment */

void hashtableFreeArrays(const hashtable *ht); /* and the directory */
void hashtableForgetArrays(hashtable *ht);
/* Before an add, when its segment is absent or full, or another one is to grow. The segment that gets the
 * entry; it has a free slot, unless paused or in the order of an attacker. */
segment *hashtableMakeRoom(hashtable *ht, uint64_t salted);
/* It had none: that is made now. */
segment *hashtableForceRoom(hashtable *ht, uint64_t salted);
void hashtableHurryShrink(hashtable *ht); /* before random picks */

static inline bool isSparse(const hashtable *ht) {
    if (unlikely(ht->bits)) return ht->used < (uint64_t)ht->homes * SLOTS / 4;
    return ht->one.buckets > 1 && ht->used < limitOf(ht->one.buckets, 1, 8);
}
