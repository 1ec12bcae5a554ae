/* SPDX-License-Identifier: BSD-3-Clause */
/* hashtable_private.h - what the parts of the hash table share: bits, buckets, probes, finding and
 * placing. Private to hashtable*.c. hashtable.h has the layout and the idea, hashtable.c the details. */
#pragma once

#include "base/random.h"
#include "base/zmalloc.h"
#include "ds/hashtable.h"
#include "ds/hashtable_bucket.h"
#include "ds/scan_cursor.h"

#define KEPT_BITS     (TAG_BITS + SPARE_BITS) /* bits of its position that each entry keeps */
#define FETCH_ENTRIES 4                       /* how many buckets ahead of a walk entries are prefetched */
#define FETCH_BUCKETS 8                       /* how many buckets ahead of a walk buckets are prefetched */

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

typedef struct hashtableSegment segment;

static inline uint64_t htSalted(const hashtable *ht, uint64_t hash) {
    return hash * hashtableSaltFactor(ht->salt);
}

/* gcc drops calls of functions that only prefetch, since they seem to have no effect; the empty asm
 * prevents that. */
static inline void htPrefetchLine(const void *p) {
    __builtin_prefetch(p);
    __asm__ volatile("");
}

static inline void htPrefetchEntries(const bucket *b) {
    for (slotSet set = htUsedSlots(b); set; set &= set - 1) htPrefetchLine(htEntryAt(b, htSlotOfBit(set)));
}

/* --- Keys --- */

static inline struct str htKeyOf(const hashtable *ht, const void *entry) {
    return ht->type->entryKey(entry);
}

static inline uint64_t htHashKey(const hashtable *ht, struct str key) {
    return unlikely(ht->type->hash != NULL) ? ht->type->hash(key) : hashBytes(key.ptr, key.len);
}

static inline uint64_t htHashEntry(const hashtable *ht, const void *entry) {
    return htHashKey(ht, htKeyOf(ht, entry));
}

static inline bool htHasKey(const struct hashtableType *type, const void *entry, struct str key) {
    struct str k = type->entryKey(entry);
    return unlikely(type->keyEqual != NULL) ? type->keyEqual(k, key) : strEqShort(k, key);
}

/* --- Segments --- */

/* Returns the segment of a salted hash, or of a position in the upper bits; or a copy of it that is
 * sufficient for lookups. */
static inline const segment *htAnySegmentOf(const hashtable *ht, uint64_t salted) {
    return ht->shift ? &ht->segments[salted >> ht->shift] : &ht->one;
}

static inline segment *htSegmentOf(const hashtable *ht, uint64_t salted) {
    if (!ht->shift) return (segment *)&ht->one;
    segment *s = &ht->segments[salted >> ht->shift];
    return s - s->back;
}

static inline bool htHasTable(const hashtable *ht) {
    return ht->one.table != NULL; /* or the directory, which shares its memory */
}

/* Returns the number of entries of the directory; 1 for a single segment. */
static inline uint32_t htDirectorySize(const hashtable *ht) {
    return 1U << ht->bits;
}

/* Returns the segment that starts at entry i of the directory; NULL if none does. */
static inline segment *htSegmentAt(const hashtable *ht, uint32_t i) {
    segment *s = ht->bits ? &ht->segments[i] : (segment *)&ht->one;
    return s->back ? NULL : s;
}

/* Returns the segment's entry in the directory. */
static inline uint32_t htIndexOf(const hashtable *ht, const segment *s) {
    return ht->bits ? (uint32_t)(s - ht->segments) : 0;
}

/* Visits each segment. The body may use `continue` and may change the segment, but not the directory. */
#define FOR_SEGMENTS(ht, s)                                                                                  \
    for (uint32_t i_ = 0; htHasTable(ht) && i_ < htDirectorySize(ht); i_++)                                  \
        for (segment *s = htSegmentAt(ht, i_); s; s = NULL)

/* Returns the smallest allowed count >= want: 1..8, then four steps per doubling, as the allocator's
 * classes. */
static inline uint64_t htAllowedCount(uint64_t want) {
    if (want <= 8) return want ? want : 1;
    unsigned shift = 63 - (unsigned)__builtin_clzll(want - 1) - 2;
    return (((want - 1) >> shift) + 1) << shift;
}

/* Returns the smallest allowed count whose slots n entries fill to at most `num/den`. */
static inline uint64_t htCountFor(size_t n, uint64_t num, uint64_t den) {
    unsigned __int128 slots = ((unsigned __int128)n * den + num - 1) / num;
    unsigned __int128 want = (slots + SLOTS - 1) / SLOTS;
    return want > UINT32_MAX ? UINT64_MAX : htAllowedCount((uint64_t)want);
}

/* Returns how many entries n buckets hold when they are num/den full. */
static inline uint64_t htLimitOf(uint32_t n, uint64_t num, uint64_t den) {
    return n == 1 ? SLOTS : (uint64_t)n * SLOTS * num / den;
}

/* Returns a step of about 0.618 n that has no factor in common with n; see hashtable.c. */
uint32_t hashtableGoldenStep(uint32_t n);

/* Returns the buckets of the array: the homes and, rarely, the tail. */
static inline uint32_t htLengthOf(const segment *s) {
    return s->buckets << s->tail;
}

/* --- Subs: what a segment uses of a position --- */

/* A sub is the `fine` bits of the position after the depth. The home is (sub * n) >> fine, the tag the
 * low 8 bits. A tag must not be 0, so subs that end in 8 zero bits are replaced by the next one.
 *
 *     sub:   | known from the bucket | spare: 3 | tag: 8 |
 *
 * fine is 11 for less than 8 buckets, 13 for less than 32, 15 for less than 256 ... So a home has 128 to
 * 1024 subs (2048 in a single bucket), and together with its neighbours before it (htNearOf) 2048 at
 * most: if the home of an entry is its bucket or one of these, 11 bits determine the sub. In tables of
 * many segments nearly all segments have 64 to 255 buckets, and so the same `fine`. */
#define NEAR_MOST  15
#define FINE_LEAST KEPT_BITS
#define FINE_MOST  23 /* for arrays that only an attacker can cause */

static inline unsigned htFineFor(uint32_t n) {
    if (n < 256) return n < 8 ? FINE_LEAST : n < 32 ? FINE_LEAST + 2 : FINE_LEAST + 4;
    unsigned fine = ((31 - (unsigned)__builtin_clz(n)) & ~1U) + FINE_LEAST - 2;
    return fine < FINE_MOST ? fine : FINE_MOST;
}

static inline uint32_t htWithTag(uint32_t sub) {
    return sub + ((sub & 0xff) == 0);
}

static inline uint32_t htSubOf(const segment *s, uint64_t salted) {
    return htWithTag((uint32_t)(salted << s->depth >> (64 - s->fine)));
}

static inline uint32_t htHomeOf(const segment *s, uint32_t sub) {
    return (uint32_t)((uint64_t)sub * s->buckets >> s->fine);
}

static inline uint8_t htTagOf(uint32_t sub) {
    return (uint8_t)sub;
}

/* Returns the word that the slot of `entry` holds: its address with three bits of its position. */
static inline uint64_t htWordOf(const void *entry, uint32_t sub) {
    return (uintptr_t)entry | (sub >> TAG_BITS & ((1U << SPARE_BITS) - 1));
}

/* Returns the first sub of the next home. */
static inline uint32_t htSubsEnd(const segment *s, uint32_t home) {
    return (uint32_t)(((((uint64_t)home + 1) << s->fine) + s->buckets - 1) / s->buckets);
}

/* Returns how many buckets of a probe are neighbours: 2 to 15 (1 of 1), limited by the number of subs
 * that 11 bits distinguish. */
static inline uint32_t htNearOf(const segment *s) {
    uint32_t near = s->buckets >> (s->fine - KEPT_BITS);
    return near < NEAR_MOST ? near : NEAR_MOST;
}

/* Returns whether the subs of all entries of bucket i are known without reading the entries. */
static inline bool htKnowsSubs(const segment *s, uint32_t i) {
    return i < s->buckets && !(s->table[i].overflow & OVERFLOW_FAR);
}

/* Returns the sub of an entry with this tag and this word, in a bucket whose subs are known; `end` is the
 * bucket's htSubsEnd. */
static inline uint32_t htSubOfSlot(const segment *s, uint8_t tag, uint64_t word, uint32_t end) {
    uint32_t last = end - 1, kept = (uint32_t)(word << TAG_BITS) | tag;
    return (last - ((last - kept) & ((1U << KEPT_BITS) - 1))) & ((1U << s->fine) - 1);
}

/* --- Probes --- */

/* A probe visits the buckets for a home in a fixed order; see hashtable.c. */
struct probe {
    uint32_t home, at, passed; /* its home, the current bucket, number of buckets passed */
};

static inline struct probe htProbeFrom(uint32_t home) {
    return (struct probe){home, home, 0};
}

bool hashtableProbeFar(const segment *s, struct probe *p);

/* Moves to the next bucket; false when there is none. */
static inline bool htProbeNext(const segment *s, struct probe *p) {
    uint32_t n = s->buckets;
    if (unlikely(++p->passed >= n || p->passed >= htNearOf(s))) return hashtableProbeFar(s, p);
    p->at = p->at + 1 < n ? p->at + 1 : 0;
    return true;
}

/* --- Finding --- */

/* The place of an entry, and how many buckets its probe passes. */
struct probePlace {
    const segment *segment; /* or a copy */
    bucket *bucket;
    uint32_t home, passed;
    unsigned slot;
};

/* Searches the probe's bucket for the entry with this key, or, if `which` is not NULL, for that pointer.
 * Spare bits are compared only outside the home bucket (`guest`), since most entries in their home have
 * equal ones. */
static inline __attribute__((always_inline)) bool htFindInBucket(const struct hashtableType *type,
                                                                 struct str key, const void *which,
                                                                 const bucket *b, uint32_t sub, bool guest,
                                                                 unsigned *slot) {
    for (slotSet set = htMatchTag(b, htTagOf(sub)); set; set &= set - 1) {
        *slot = htSlotOfBit(set);
        const void *entry = htEntryAt(b, *slot);
        if (guest && htWordAt(b, *slot) != htWordOf(entry, sub)) continue;
        if (which ? entry == which : htHasKey(type, entry, key)) return true;
    }
    return false;
}

bool hashtableFindBehindHome(const hashtable *ht, struct str key, const void *which, uint32_t sub,
                             struct probePlace *p);

/* Finds the place of an entry. It is inlined for both uses, since the home bucket is nearly always the
 * right one. */
static inline __attribute__((always_inline)) bool
htFindPlace(const hashtable *ht, struct str key, const void *which, uint64_t hash, struct probePlace *p) {
    if (unlikely(!htHasTable(ht))) return false;
    uint64_t salted = htSalted(ht, hash);
    p->segment = htAnySegmentOf(ht, salted);
    uint32_t sub = htSubOf(p->segment, salted);
    p->home = htHomeOf(p->segment, sub);
    p->passed = 0;
    p->bucket = &p->segment->table[p->home];
    if (htFindInBucket(ht->type, key, which, p->bucket, sub, false, &p->slot)) return true;
    return unlikely(htOverflowOf(p->bucket)) && hashtableFindBehindHome(ht, key, which, sub, p);
}

/* --- Placing and removing --- */

/* Adds `by` to the overflow counts of the buckets that an entry passes. */
void hashtableCountPassed(const segment *s, uint32_t home, uint32_t passed, int by);
/* Counts the buckets that a new entry has passed; the probe is at the entry's bucket. */
void hashtableNotePassed(const segment *s, const struct probe *p);

/* Puts a word into the first free slot from its home on; false when the segment is full. */
static inline __attribute__((always_inline)) bool htPlaceWord(segment *s, uint32_t home, uint8_t tag,
                                                              uint64_t word) {
    struct probe p = htProbeFrom(home);
    slotSet set;
    while (unlikely((set = htEmptySlots(&s->table[p.at])) == 0))
        if (!htProbeNext(s, &p)) return false;
    htSetSlot(&s->table[p.at], htSlotOfBit(set), tag, word);
    if (unlikely(p.passed)) hashtableNotePassed(s, &p);
    s->used++;
    return true;
}

static inline __attribute__((always_inline)) bool htPlaceEntry(segment *s, uint32_t sub, const void *entry) {
    return htPlaceWord(s, htHomeOf(s, sub), htTagOf(sub), htWordOf(entry, sub));
}

static inline void htTakeOut(const struct probePlace *p) {
    htClearSlot(p->bucket, p->slot);
    if (unlikely(p->passed)) hashtableCountPassed(p->segment, p->home, p->passed, -1);
    segment *s = (segment *)p->segment - p->segment->back;
    s->used--;
}

void *hashtablePopPlace(hashtable *ht, const struct probePlace *p); /* removes and returns the entry */

/* --- Resizing (hashtable_resize.c) --- */

#define ENTRIES_MOST 2048 /* entries of the directory that a segment may have; `back` is smaller */
#define TAIL_MOST    31

#define HASHTABLE_DEPTH_MOST 24 /* largest depth of a segment */

void hashtableFreeArrays(const hashtable *ht); /* frees the directory, too */
void hashtableForgetArrays(hashtable *ht);
/* Called before an add, when the segment is absent or full, or another one is due to grow. Returns the
 * segment for the entry; it has a free slot, unless the table is paused or an attacker chose the
 * positions. */
segment *hashtableMakeRoom(hashtable *ht, uint64_t salted);
/* Makes a free slot in a segment that had none. */
segment *hashtableForceRoom(hashtable *ht, uint64_t salted);
void hashtableHurryShrink(hashtable *ht); /* called before random picks */

static inline bool htIsSparse(const hashtable *ht) {
    if (unlikely(ht->bits)) return ht->used < (uint64_t)ht->homes * SLOTS / 4;
    return ht->one.buckets > 1 && ht->used < htLimitOf(ht->one.buckets, 1, 8);
}
