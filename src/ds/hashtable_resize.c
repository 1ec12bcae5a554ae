/* SPDX-License-Identifier: BSD-3-Clause */
/* hashtable_resize.c - how tables grow and shrink. Part of hashtable.h.
 *
 * One segment. It has 9 slots per bucket, and limits are fractions of all slots. One bucket is full with
 * all 9.
 *
 *     29/32     ALLOW moves everything to a larger array, which is then 72% full, or 85% (`tight`): in tables
 *               of 5 to 300 entries that is 8.6 instead of 9.4 bytes an entry
 *     15/16     AVOID does
 *     31/32     FORBID does
 *     1/8       ALLOW moves to a smaller one, which is then 50% full
 *
 * Many segments. All have about as many entries, so they would all be full at once. Instead they grow by
 * one allowed size in turn, in a sweep over all of them for each size, so that the last one of a sweep
 * is HOLD full when it grows. Sizes are 4 5 6 7 8 (10 12 14 16 ...) times a power of two:
 *
 *     entries = HOLD *   4 ............. 5 ............. 6 ............. 7 ............. 8
 *     the sweep          |    5 to 6     |    6 to 7     |    7 to 8     |    8 to 10    |
 *     slots              5               6               7               8              10
 *
 * This is a line of slots over entries, hashtableResizeGrowAt, and whenever there are more entries than
 * it says, the next segment grows. 80% to 87% of HOLD are in use, so 74% to 81% of all slots, at every
 * size. An entry is moved four times while the table doubles, by copying a slot; once of these four its
 * key is read and hashed, when its segment is split. The few entries far from their home are hashed each
 * time.
 *
 * Segments are split at one of four sizes between 4 and 7 units, which depends on the last bits of the
 * segment's number, so that a quarter of every sweep are splits.
 *
 * Nearly empty tables (1/4) shrink in turns, too: to half full, and small segments join their
 * neighbours. A segment with more entries than average grows when it is 31/32 full, out of turn and
 * under every policy, since probes get long. */
#include "base/clock.h"
#include "base/read_phase.h"
#include "ds/hashtable_private.h"

/* The fill at which a segment's array is replaced. With 29/32 a lookup visits as many buckets beyond the
 * home as with 7/8 in former buckets of 7 slots (`hit`, `miss`; mean over 130 to 1700 entries, and bytes
 * per entry):
 *     7/8:   0.09  0.44   9.71        29/32:  0.11  0.54   9.44        15/16:  0.19  1.09   9.04
 * Large tables, with HOLD 93, 95, 96: 0.13 0.79 9.15, 0.15 0.97 8.96, 0.16 1.10 8.87; with buckets of 7
 * slots and HOLD 93 it was 0.16 0.78 11.79. */
#define FULL 29, 32
/* A new array is filled to at most this, in percent of the slots. With 72 tables grow by 1.4. */
#define GROW_FILL   72
#define TIGHT_FILL  85 /* of tight tables: they grow by one allowed size, a factor of 1.14 to 1.25 */
#define SHRINK_FILL 50
#define CROWD_FILL  85 /* the same for a segment that grows out of turn */
#define JOIN_FILL   75 /* for two segments that become one */
#define HOLD        93 /* percent: the highest fill of a segment before its turn */

/* Buckets; a segment has at most 4 to 7 of these: 14,336 bytes, the largest of jemalloc's classes that
 * lie in slabs. A larger array would take a page more than its bytes, which is a sixth. */
#define UNIT            32
#define SWEEP_LOOKS     64 /* segments that an operation checks to find one to be resized */
#define HURRY_SEGMENTS  8
#define FETCH_KEYS      5 /* buckets ahead of the one whose keys are hashed */
#define IDLE_CHECK_TIME 8 /* segments */

static enum hashtableResizePolicy resize_policy = HASHTABLE_RESIZE_ALLOW;
static bool reads_shrink = true;
static uint32_t segment_unit = UNIT;

void hashtableSetSegmentUnit(uint32_t unit) {
    segment_unit = unit ? unit : UNIT;
}

void hashtableLetReadsShrink(bool let) {
    reads_shrink = let;
}

void hashtableSetResizePolicy(enum hashtableResizePolicy policy) {
    resize_policy = policy;
}

enum hashtableResizePolicy hashtableResizePolicy(void) {
    return resize_policy;
}

/* --- Arrays --- */

/* Allocates empty buckets. Large arrays come from zcalloc, whose fresh pages need no clearing. jemalloc
 * aligns every class that is a multiple of 64 bytes; the second way is for other allocators. */
static bucket *hashtableResizeNewBuckets(uint32_t n) {
    size_t size = (size_t)n * sizeof(bucket);
    if (size >= 65536) {
        void *p = zcalloc(n, sizeof(bucket));
        if (likely(((uintptr_t)p & (alignof(bucket) - 1)) == 0)) return p;
        zfreeSized(p, size);
    }
    bucket *b = zmallocAligned(alignof(bucket), size);
    for (uint32_t i = 0; i < n; i++) htClearBucket(&b[i]);
    return b;
}

static void hashtableResizeFreeBuckets(const segment *s) {
    zfreeSized(s->table, (size_t)htLengthOf(s) * sizeof(bucket));
}

static void hashtableResizeNoteLength(hashtable *ht, uint32_t length) {
    while (length > 1ULL << ht->longest) ht->longest++;
}

static void hashtableResizeSetBits(hashtable *ht, unsigned bits) {
    ht->bits = (uint8_t)bits;
    ht->shift = (uint8_t)(bits ? 64 - bits : 0);
}

/* Returns how many entries of the directory a segment has. */
static uint32_t hashtableResizeEntriesOf(const hashtable *ht, const segment *s) {
    return 1U << (ht->bits - s->depth);
}

/* Copies a changed segment to all of its entries in the directory. */
static void hashtableResizeCopyToEntries(const hashtable *ht, segment *s) {
    for (uint32_t i = 1; i < hashtableResizeEntriesOf(ht, s); i++) {
        s[i] = *s;
        s[i].back = (uint16_t)i;
    }
}

/* Gives the segment a new, empty array. */
static void hashtableResizeRenew(hashtable *ht, segment *s, uint64_t n, unsigned depth) {
    serverAssert(n && n <= UINT32_MAX);
    *s = (segment){
        .table = hashtableResizeNewBuckets((uint32_t)n), .buckets = (uint32_t)n, .depth = (uint8_t)depth};
    s->fine = (uint8_t)htFineFor(s->buckets);
    s->full = (uint32_t)(ht->bits ? htLimitOf(s->buckets, 31, 32) : htLimitOf(s->buckets, FULL));
    hashtableResizeNoteLength(ht, s->buckets);
    hashtableResizeCopyToEntries(ht, s);
}

static void hashtableResizeFreeDirectory(segment *segments, unsigned bits) {
    if (bits) zfreeSized(segments, sizeof(segment) << bits);
}

void hashtableFreeArrays(const hashtable *ht) {
    FOR_SEGMENTS(ht, s) hashtableResizeFreeBuckets(s);
    hashtableResizeFreeDirectory(ht->segments, ht->bits);
}

void hashtableForgetArrays(hashtable *ht) {
    memset(&ht->one, 0, sizeof(ht->one));
    ht->used = 0;
    hashtableResizeSetBits(ht, 0);
    ht->longest = ht->deepest = ht->tails = 0;
}

void hashtableMoveArrays(hashtable *ht, void *(*move)(void *priv, void *ptr), void *priv) {
    FOR_SEGMENTS(ht, s) {
        bucket *now = move(priv, s->table);
        if (now) s->table = now;
        hashtableResizeCopyToEntries(ht, s);
    }
    segment *now = ht->bits ? move(priv, ht->segments) : NULL;
    if (now) ht->segments = now;
}

/* --- Moving entries --- */

/* The used slots of each bucket of a new array, counted separately. Comparing tags of which one was
 * written a moment ago, byte by byte, would take longer than everything else about an entry (9.3 instead
 * of 5 ns), since the processor has to wait for the write to reach the cache. Arrays that are too large
 * for the counters do wait. */
struct filling {
    segment *to;
    uint32_t counted; /* buckets */
    uint8_t slots[256];
};

static inline __attribute__((always_inline)) void hashtableResizeFillIn(struct filling *f, uint32_t home,
                                                                        uint8_t tag, uint64_t word) {
    segment *to = f->to;
    bool placed = true;
    unsigned slot = home < f->counted ? f->slots[home] : SLOTS;
    if (likely(slot < SLOTS && !to->table[home].tags[slot])) {
        htSetSlot(&to->table[home], slot, tag, word);
        f->slots[home]++;
        to->used++;
    } else { /* an entry of another home may be there already */
        placed = htPlaceWord(to, home, tag, word);
    }
    serverAssert(placed);
}

/* Moves the entries of bucket i, whose positions are known, to an array that needs `less` fewer bits of
 * them. */
static inline __attribute__((always_inline)) void
hashtableResizeMoveKnown(struct filling *f, const segment *from, uint32_t i, uint32_t half, unsigned less) {
    const bucket *b = &from->table[i];
    uint32_t end = htSubsEnd(from, i);
    for (slotSet set = htUsedSlots(b); set; set &= set - 1) {
        unsigned slot = htSlotOfBit(set);
        uint64_t word = htWordAt(b, slot);
        uint8_t tag = b->tags[slot];
        uint32_t sub = htSubOfSlot(from, tag, word, end);
        if (less) {
            sub = htWithTag((half << from->fine | sub) >> less);
            tag = htTagOf(sub);
            word = htWordOf(htEntryAt(b, slot), sub);
        }
        hashtableResizeFillIn(f, htHomeOf(f->to, sub), tag, word);
    }
}

static void hashtableResizeMoveRead(const hashtable *ht, struct filling *f, const bucket *b) {
    for (slotSet set = htUsedSlots(b); set; set &= set - 1) {
        void *entry = htEntryAt(b, htSlotOfBit(set));
        uint32_t sub = htSubOf(f->to, htSalted(ht, htHashEntry(ht, entry)));
        hashtableResizeFillIn(f, htHomeOf(f->to, sub), htTagOf(sub), htWordOf(entry, sub));
    }
}

/* Moves entries, in the order of homes, to another array of the same segment, or of the half `half` of a
 * split segment. Entries are read only if they are far from home, or if the new array needs more of a
 * position than the old one kept: once while a segment becomes four times as large. */
static void hashtableResizeMoveInto(const hashtable *ht, segment *to, const segment *from, uint32_t half) {
    uint32_t length = htLengthOf(from), kept = (uint32_t)from->fine + from->depth - to->depth;
    bool enough = kept >= to->fine;
    struct filling f = {.to = to, .counted = to->buckets <= sizeof(f.slots) ? to->buckets : 0};
    for (uint32_t i = 0; i < length; i++) {
        uint32_t ahead = i + FETCH_KEYS;
        if (ahead < length && unlikely(!enough || !htKnowsSubs(from, ahead)))
            htPrefetchEntries(&from->table[ahead]);
        if (unlikely(!enough || !htKnowsSubs(from, i)))
            hashtableResizeMoveRead(ht, &f, &from->table[i]);
        else if (likely(kept == to->fine))
            hashtableResizeMoveKnown(&f, from, i, half, 0);
        else
            hashtableResizeMoveKnown(&f, from, i, half, kept - to->fine);
    }
    hashtableResizeFreeBuckets(from);
}

/* Moves the segment to an array of n buckets. */
static void hashtableResizeRefit(hashtable *ht, segment *s, uint64_t n) {
    segment from = *s;
    hashtableResizeRenew(ht, s, n, from.depth);
    hashtableResizeMoveInto(ht, s, &from, 0);
    if (ht->bits) ht->homes += s->buckets - from.buckets;
}

/* Returns a size for at least `used` entries. */
static uint64_t hashtableResizeFittingCount(const segment *s) {
    uint64_t more = htAllowedCount((uint64_t)s->buckets + 1),
             fit = htCountFor((size_t)s->used + 1, CROWD_FILL, 100);
    return fit > more ? fit : more;
}

/* Moves entries to the present segments by their hashes. When most go to the same segment, it grows
 * meanwhile. */
static void hashtableResizeMoveByHash(hashtable *ht, const segment *from) {
    uint32_t length = htLengthOf(from);
    for (uint32_t i = 0; i < length; i++) {
        const bucket *b = &from->table[i];
        if (i + FETCH_KEYS < length) htPrefetchEntries(b + FETCH_KEYS);
        for (slotSet set = htUsedSlots(b); set; set &= set - 1) {
            void *entry = htEntryAt(b, htSlotOfBit(set));
            uint64_t salted = htSalted(ht, htHashEntry(ht, entry));
            segment *s = htSegmentOf(ht, salted);
            while (unlikely(!htPlaceEntry(s, htSubOf(s, salted), entry)))
                hashtableResizeRefit(ht, s, hashtableResizeFittingCount(s));
        }
    }
    hashtableResizeFreeBuckets(from);
}

/* --- The line of homes over entries --- */

static uint64_t hashtableResizeLargestBelow(uint64_t n) { /* or equal */
    unsigned shift = 63 - (unsigned)__builtin_clzll(n) - 2;
    return n < 8 ? n : n >> shift << shift;
}

/* Returns the number of entries at which a table of many segments with this number of homes has to grow. */
static uint64_t hashtableResizeGrowAt(uint64_t homes) {
    uint64_t n = hashtableResizeLargestBelow(homes), before = hashtableResizeLargestBelow(n - 1),
             after = htAllowedCount(n + 1);
    uint64_t fullest = before * (after - n) + (homes - n) * (n - before);
    return (uint64_t)((unsigned __int128)fullest * SLOTS * HOLD / (100 * (after - n)));
}

/* --- Directory --- */

static segment *hashtableResizeNewDirectory(unsigned bits) {
    return zcalloc(1ULL << bits, sizeof(segment));
}

/* Adds one bit, so that any segment can be split. Returns false if a segment has too many entries of the
 * directory for that. */
static bool hashtableResizeDoubleDirectory(hashtable *ht) {
    uint32_t size = htDirectorySize(ht);
    FOR_SEGMENTS(ht, s) if (hashtableResizeEntriesOf(ht, s) > ENTRIES_MOST / 2) return false;
    segment *old = ht->segments;
    ht->segments = hashtableResizeNewDirectory(ht->bits + 1U);
    hashtableResizeSetBits(ht, ht->bits + 1U);
    for (uint32_t i = 0; i < size; i++) {
        if (old[i].back) continue;
        ht->segments[2 * i] = old[i];
        hashtableResizeCopyToEntries(ht, &ht->segments[2 * i]);
    }
    hashtableResizeFreeDirectory(old, ht->bits - 1U);
    ht->next *= 2;
    ht->deepest = 0;
    return true;
}

/* Removes the last bit while no segment needs it. Finally there is one segment and no directory. */
static void hashtableResizeHalveDirectory(hashtable *ht) {
    while (ht->bits && !ht->deepest) {
        segment *old = ht->segments, one = old[0];
        unsigned bits = ht->bits;
        hashtableResizeSetBits(ht, bits - 1);
        if (!ht->bits) {
            one.full = (uint32_t)htLimitOf(one.buckets, FULL);
            ht->one = one;
            ht->longest = 0;
            hashtableResizeNoteLength(ht, one.buckets);
        } else {
            ht->segments = hashtableResizeNewDirectory(ht->bits);
            for (uint32_t i = 0; i < htDirectorySize(ht); i++) {
                segment *s = &ht->segments[i];
                if (old[2 * i].back) continue;
                *s = old[2 * i];
                hashtableResizeCopyToEntries(ht, s);
                ht->deepest += s->depth == ht->bits;
            }
            ht->next /= 2;
        }
        hashtableResizeFreeDirectory(old, bits);
    }
}

/* Makes new arrays, of n homes in all, for an empty table without arrays. */
static void hashtableResizeMakeArrays(hashtable *ht, uint64_t n) {
    serverAssert(n <= UINT32_MAX);
    unsigned bits = 0;
    while (n >> bits > 7 * (uint64_t)segment_unit) bits++;
    hashtableResizeSetBits(ht, bits);
    ht->tails = 0;
    ht->longest = 0;
    ht->deepest = 0;
    if (!bits) {
        hashtableResizeRenew(ht, &ht->one, n, 0);
        return;
    }
    ht->segments = hashtableResizeNewDirectory(bits);
    for (uint32_t i = 0; i < htDirectorySize(ht); i++)
        hashtableResizeRenew(ht, &ht->segments[i], n >> bits, bits);
    ht->homes = (uint32_t)(n >> bits << bits);
    ht->deepest = htDirectorySize(ht);
    ht->next = 0;
    ht->grow_at = hashtableResizeGrowAt(ht->homes);
}

/* Moves everything to new arrays of n homes in all, at once. */
static void hashtableResizeRebuild(hashtable *ht, uint64_t n) {
    serverAssert(!ht->pause);
    hashtable old = *ht;
    hashtableResizeMakeArrays(ht, n);
    FOR_SEGMENTS(&old, s) hashtableResizeMoveByHash(ht, s);
    hashtableResizeFreeDirectory(old.segments, old.bits);
}

/* --- Resizing one of many segments --- */

/* Returns how many buckets the segment may have. */
static uint64_t hashtableResizeMostBuckets(const hashtable *ht, const segment *s) {
    uint32_t index = htIndexOf(ht, s) >> (ht->bits - s->depth);
    return (uint64_t)segment_unit * (4 + (index & 3));
}

/* Returns whether the segment is to be split. One that is large because of its entries' positions is
 * not: that would not separate them, and would double the directory each time. */
static bool hashtableResizeIsToSplit(const hashtable *ht, const segment *s, uint64_t n) {
    return n > hashtableResizeMostBuckets(ht, s) && n % 2 == 0 && s->depth < HASHTABLE_DEPTH_MOST &&
           n << s->depth <= 4 * (uint64_t)ht->homes;
}

static void hashtableResizeSplit(hashtable *ht, segment *s, uint64_t n) {
    segment from = *s;
    unsigned depth = from.depth + 1U;
    uint32_t half = 1U << (ht->bits - depth);
    hashtableResizeRenew(ht, s, n / 2, depth);
    hashtableResizeRenew(ht, s + half, n / 2, depth);
    ht->homes += (uint32_t)n - from.buckets;
    if (depth == ht->bits) ht->deepest += 2;
    hashtableResizeMoveByHash(ht, &from);
}

/* Grows the segment to n buckets, or splits it into two segments of half as many. */
static void hashtableResizeGrow(hashtable *ht, segment *s, uint64_t n) {
    bool in_two = hashtableResizeIsToSplit(ht, s, n);
    if (in_two && s->depth == ht->bits) {
        uint32_t index = htIndexOf(ht, s);
        in_two = hashtableResizeDoubleDirectory(ht);
        if (in_two) s = &ht->segments[2 * index];
    }
    if (in_two)
        hashtableResizeSplit(ht, s, n);
    else
        hashtableResizeRefit(ht, s, n);
}

/* Joins two neighbours of the same depth, `left` having the lower positions, to one of n buckets. */
static void hashtableResizeJoin(hashtable *ht, segment *left, uint64_t n) {
    uint32_t entries = hashtableResizeEntriesOf(ht, left);
    segment from[2] = {left[0], left[entries]};
    if (left->depth == ht->bits) ht->deepest -= 2;
    hashtableResizeRenew(ht, left, n, left->depth - 1U);
    for (uint32_t i = 0; i < 2; i++) hashtableResizeMoveInto(ht, left, &from[i], i);
    ht->homes -= from[0].buckets + from[1].buckets - left->buckets;
    hashtableResizeHalveDirectory(ht);
}

/* Returns the lower one of the two halves of a split segment, and the other one; NULL when the other
 * half has been split again. */
static segment *hashtableResizePairOf(const hashtable *ht, segment *s, segment **other) {
    uint32_t entries = hashtableResizeEntriesOf(ht, s), index = htIndexOf(ht, s);
    *other = &ht->segments[index ^ entries];
    if ((*other)->back || (*other)->depth != s->depth) return NULL;
    return *other < s ? *other : s;
}

/* --- Sweeps --- */

/* Returns the buckets of a segment when all segments together have `homes`. */
static uint64_t hashtableResizeShare(uint64_t homes, unsigned depth) {
    return htAllowedCount((homes + (1ULL << depth) - 1) >> depth);
}

/* Moves to the next segment of the sweep; NULL if the directory's entry is a copy. */
static segment *hashtableResizeSweep(hashtable *ht) {
    uint32_t mask = htDirectorySize(ht) - 1, step = (uint32_t)((uint64_t)mask * 618 / 1000) | 1;
    ht->next = (ht->next + step) & mask;
    return htSegmentAt(ht, ht->next);
}

/* Grows the next segment that is due. The entries that it gains determine when the next one is due: when
 * many are due, they grow at twice the pace, not all at once. */
static void hashtableResizeGrowNext(hashtable *ht) {
    uint32_t homes = ht->homes;
    uint64_t target = htAllowedCount(hashtableResizeLargestBelow(homes) + 1),
             due = htCountFor(ht->used, HOLD, 100);
    if (due > target && due <= UINT32_MAX) target = due;
    for (unsigned looks = 0; looks < SWEEP_LOOKS; looks++) {
        segment *s = hashtableResizeSweep(ht);
        if (!s || (uint64_t)s->buckets << s->depth >= target) continue;
        uint64_t n = hashtableResizeShare(target, s->depth), needed = htCountFor(s->used, 31, 32);
        hashtableResizeGrow(ht, s, n > needed ? n : needed);
        break;
    }
    uint64_t on_time = hashtableResizeGrowAt(ht->homes),
             paced = ht->used + (uint64_t)(ht->homes - homes) * SLOTS / 4;
    ht->grow_at = on_time > paced ? on_time : paced;
}

/* Shrinks the segment to n buckets or to what its entries need; true when it shrank. */
static bool hashtableResizeShrink(hashtable *ht, segment *s, uint64_t target) {
    uint64_t n = hashtableResizeShare(target, s->depth), needed = htCountFor(s->used, FULL);
    segment *other, *left = n < 2 * segment_unit ? hashtableResizePairOf(ht, s, &other) : NULL;
    if (left && other->used <= s->used + (uint64_t)segment_unit * SLOTS) {
        needed = htCountFor((size_t)s->used + other->used, JOIN_FILL, 100);
        n = hashtableResizeShare(target, s->depth - 1U);
        hashtableResizeJoin(ht, left, n > needed ? n : needed);
        return true;
    }
    if (n < needed) n = needed;
    if (n >= s->buckets) return false;
    hashtableResizeRefit(ht, s, n);
    return true;
}

static bool hashtableResizeShrinkNext(hashtable *ht) {
    uint64_t target = htCountFor(ht->used, SHRINK_FILL, 100);
    for (unsigned looks = 0; looks < SWEEP_LOOKS && ht->bits; looks++) {
        segment *s = hashtableResizeSweep(ht);
        if (!s || (uint64_t)s->buckets << s->depth <= target || !hashtableResizeShrink(ht, s, target))
            continue;
        if (ht->bits) ht->grow_at = hashtableResizeGrowAt(ht->homes);
        return true;
    }
    return false;
}

/* --- Space for one more entry --- */

static uint64_t hashtableResizeLimitByPolicy(uint32_t n) {
    switch (resize_policy) {
    case HASHTABLE_RESIZE_ALLOW: return htLimitOf(n, FULL);
    case HASHTABLE_RESIZE_AVOID: return htLimitOf(n, 15, 16);
    default: return htLimitOf(n, 31, 32);
    }
}

/* Moves the only segment to n buckets, or to many segments. */
static void hashtableResizeOne(hashtable *ht, uint64_t n) {
    if (n <= 7 * (uint64_t)segment_unit)
        hashtableResizeRefit(ht, &ht->one, n);
    else
        hashtableResizeRebuild(ht, n);
}

/* Grows the only segment to a size for one more entry. Many segments may start fuller. */
static void hashtableResizeGrowOne(hashtable *ht) {
    uint64_t fill = ht->type->tight ? TIGHT_FILL : GROW_FILL;
    uint64_t one = htCountFor(ht->used + 1, fill, 100), many = htCountFor(ht->used + 1, HOLD, 100);
    uint64_t least = 8 * (uint64_t)segment_unit;
    hashtableResizeOne(ht, one < least ? one : many > least ? many : least);
}

static void hashtableResizeMakeRoomInMany(hashtable *ht, uint64_t salted) {
    segment *s = htSegmentOf(ht, salted);
    if (s->used >= s->full) hashtableResizeGrow(ht, s, hashtableResizeFittingCount(s));
    if (ht->used < ht->grow_at) return;
    if (resize_policy == HASHTABLE_RESIZE_ALLOW)
        hashtableResizeGrowNext(ht);
    else
        ht->grow_at = ht->used + segment_unit; /* checks again then */
}

__attribute__((noinline)) segment *hashtableMakeRoom(hashtable *ht, uint64_t salted) {
    if (!htHasTable(ht))
        hashtableResizeMakeArrays(ht, 1);
    else if (ht->pause)
        ; /* entries must not move */
    else if (ht->bits)
        hashtableResizeMakeRoomInMany(ht, salted);
    else if (ht->used + 1 > hashtableResizeLimitByPolicy(ht->one.buckets))
        hashtableResizeGrowOne(ht);
    return htSegmentOf(ht, salted);
}

/* Gives a full segment of a paused table a tail; see the top of hashtable.c. */
static void hashtableResizeLengthen(hashtable *ht, segment *s) {
    uint32_t length = htLengthOf(s);
    serverAssert(length <= UINT32_MAX / 2 && s->tail < TAIL_MOST);
    bucket *table = hashtableResizeNewBuckets(2 * length);
    memcpy(table, s->table, length * sizeof(bucket));
    hashtableResizeFreeBuckets(s);
    s->table = table;
    s->tail++;
    hashtableResizeCopyToEntries(ht, s);
    ht->tails = 1;
    hashtableResizeNoteLength(ht, htLengthOf(s));
}

__attribute__((noinline, cold)) segment *hashtableForceRoom(hashtable *ht, uint64_t salted) {
    segment *s = htSegmentOf(ht, salted);
    if (ht->pause)
        hashtableResizeLengthen(ht, s);
    else
        hashtableResizeRefit(ht, s, hashtableResizeFittingCount(s));
    return s;
}

/* --- Pausing --- */

static segment *hashtableResizeFirstWithTail(const hashtable *ht) {
    FOR_SEGMENTS(ht, s) if (s->tail) return s;
    return NULL;
}

/* Does the resizes that had to wait, after the last resume. */
static void hashtableResizeSettle(hashtable *ht) {
    if (!ht->bits) {
        bool overfull = ht->used && ht->used > htLimitOf(ht->one.buckets, 127, 128);
        if (ht->one.tail || overfull) hashtableResizeGrowOne(ht);
    } else if (ht->tails && ht->used > (uint64_t)ht->homes * SLOTS) {
        hashtableResizeRebuild(ht, htCountFor(ht->used, GROW_FILL, 100));
    } else if (ht->tails) {
        for (segment *s; (s = hashtableResizeFirstWithTail(ht));)
            hashtableResizeGrow(ht, s, hashtableResizeFittingCount(s));
    }
    ht->tails = 0;
    if (unlikely(htIsSparse(ht)) && reads_shrink) hashtableShrinkIfNeeded(ht);
}

/* In a reader nothing moves anyway, and others may read the same table (read_phase.h). */
void hashtablePause(hashtable *ht) {
    if (unlikely(read_context.reads)) return;
    ht->pause++;
    serverAssert(ht->pause);
}

void hashtableResume(hashtable *ht) {
    if (unlikely(read_context.reads)) return;
    serverAssert(ht->pause);
    if (--ht->pause == 0) hashtableResizeSettle(ht);
}

/* --- Size --- */

static uint64_t hashtableResizeBucketsOf(const hashtable *ht) {
    uint64_t n = 0;
    if (ht->bits && !ht->tails) return ht->homes;
    FOR_SEGMENTS(ht, s) n += htLengthOf(s);
    return n;
}

size_t hashtableSlots(const hashtable *ht) {
    return hashtableResizeBucketsOf(ht) * SLOTS;
}

size_t hashtableMemory(const hashtable *ht) {
    return hashtableResizeBucketsOf(ht) * sizeof(bucket) +
           (ht->bits ? htDirectorySize(ht) * sizeof(segment) : 0);
}

/* Returns whether memory is available. Aligned allocations must not fail, so a different one, which may,
 * tests it. */
static bool hashtableResizeMemoryAllows(uint64_t count) {
    if (count > UINT32_MAX) return false;
    void *p = ztrymalloc(count * sizeof(bucket));
    if (p) zfreeSized(p, count * sizeof(bucket));
    return p != NULL;
}

static void hashtableResizeHoldGrowth(hashtable *ht, size_t n) {
    if (ht->bits && ht->grow_at < n) ht->grow_at = n;
}

static bool hashtableResizeExpand(hashtable *ht, size_t n, bool try) {
    if (n <= ht->used) return true;
    if (n <= htLimitOf(ht->bits ? ht->homes : ht->one.buckets, FULL)) {
        hashtableResizeHoldGrowth(ht, n);
        return true;
    }
    uint64_t count = n <= SLOTS ? 1 : htCountFor(n, FULL);
    if (try && !hashtableResizeMemoryAllows(count)) return false;
    serverAssert(count <= UINT32_MAX);
    if (htHasTable(ht) && (ht->pause || ht->bits) && ht->used) return true;
    if (ht->used)
        hashtableResizeOne(ht, count);
    else {
        hashtableFreeArrays(ht);
        hashtableForgetArrays(ht);
        hashtableResizeMakeArrays(ht, count);
    }
    hashtableResizeHoldGrowth(ht, n);
    return true;
}

void hashtableExpand(hashtable *ht, size_t n) {
    hashtableResizeExpand(ht, n, false);
}

bool hashtableTryExpand(hashtable *ht, size_t n) {
    return hashtableResizeExpand(ht, n, true);
}

bool hashtableShrinkIfNeeded(hashtable *ht) {
    if (!htIsSparse(ht) || ht->pause || resize_policy != HASHTABLE_RESIZE_ALLOW) return false;
    if (!ht->used) {
        hashtableFreeArrays(ht);
        hashtableForgetArrays(ht);
        return true;
    }
    if (ht->bits) return hashtableResizeShrinkNext(ht);
    hashtableResizeRefit(ht, &ht->one, htCountFor(ht->used, SHRINK_FILL, 100));
    return true;
}

/* Shrinks a table that lost most of its entries while it could not shrink. */
void hashtableHurryShrink(hashtable *ht) {
    if (likely(!htIsSparse(ht)) || !reads_shrink || readRefuses()) return;
    for (unsigned i = 0; i < HURRY_SEGMENTS && htIsSparse(ht); i++)
        if (!hashtableShrinkIfNeeded(ht)) return;
}

static bool hashtableResizeIdle(hashtable *ht) {
    if (ht->pause || resize_policy != HASHTABLE_RESIZE_ALLOW || !ht->used) return false;
    if (htIsSparse(ht)) return hashtableShrinkIfNeeded(ht);
    if (!ht->bits || ht->used < hashtableResizeGrowAt(ht->homes)) return false;
    hashtableResizeGrowNext(ht);
    return true;
}

bool hashtableResizeMicroseconds(hashtable *ht, uint64_t us) {
    int64_t end = monotonicUs() + (int64_t)us;
    do {
        for (unsigned i = 0; i < IDLE_CHECK_TIME; i++)
            if (!hashtableResizeIdle(ht)) return false;
    } while (monotonicUs() < end);
    return true;
}
