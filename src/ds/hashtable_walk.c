/* SPDX-License-Identifier: BSD-3-Clause */
/* hashtable_walk.c - scans, iterators, random picks. Part of hashtable.h. */
#include "ds/hashtable_private.h"

#define RANDOM_TRIES 64
#define PASSES       8 /* passes of an iterator over many segments */

/* --- Scanning --- */

/* The positions that one call of a scan visits: those of a home, or the part of them in the stripe. */
struct scanPart {
    const segment *segment;
    uint32_t home;
    uint64_t from, to;
};

/* Returns the first position after the home of this position. */
static uint64_t hashtableWalkHomeEnd(const segment *s, uint64_t position, uint32_t home) {
    uint64_t first = position >> (POSITION_BITS - s->depth) << (POSITION_BITS - s->depth);
    uint64_t sub = htSubsEnd(s, home);
    sub -= (sub & 0xff) == 1; /* htWithTag */
    return first + (sub << (POSITION_BITS - s->fine - s->depth));
}

static struct scanPart hashtableWalkPartAt(const hashtable *ht, const struct scanCursor *c) {
    struct scanPart p = {.from = c->position, .to = scanStripeEnd(c)};
    uint64_t salted = p.from << (64 - POSITION_BITS);
    p.segment = htSegmentOf(ht, salted);
    p.home = htHomeOf(p.segment, htSubOf(p.segment, salted));
    uint64_t end = hashtableWalkHomeEnd(p.segment, p.from, p.home);
    if (end < p.to) p.to = end;
    return p;
}

/* Passes the entries of a part to fn; they are on the probe of the home. */
static void hashtableWalkEmitPart(hashtable *ht, const struct scanPart *p, hashtableScanFn fn, void *priv) {
    const bucket *b;
    struct probe probe = htProbeFrom(p->home);
    do {
        b = &p->segment->table[probe.at];
        htPrefetchEntries(b);
        for (slotSet set = htUsedSlots(b); set; set &= set - 1) {
            void *entry = htEntryAt(b, htSlotOfBit(set));
            uint64_t position = htSalted(ht, htHashEntry(ht, entry)) >> (64 - POSITION_BITS);
            if (position >= p->from && position < p->to) fn(priv, entry);
        }
    } while (htOverflowOf(b) && htProbeNext(p->segment, &probe));
}

/* Prefetches for the next calls: the entries of the next part, whose bucket the previous call has
 * prefetched, and the bucket of the part after it. */
static void hashtableWalkPrefetchParts(const hashtable *ht, struct scanCursor c) {
    struct scanPart p = hashtableWalkPartAt(ht, &c);
    htPrefetchEntries(&p.segment->table[p.home]);
    if (!scanCursorAdvance(&c, p.to)) return;
    p = hashtableWalkPartAt(ht, &c);
    htPrefetchLine(&p.segment->table[p.home]);
}

uint64_t hashtableScan(hashtable *ht, uint64_t cursor, hashtableScanFn fn, void *priv) {
    if (!ht->used || cursor >= SCAN_CURSOR_END) return 0;
    struct scanCursor c = scanCursorRead(cursor, ht->bits ? ht->homes : ht->one.buckets);
    struct scanPart p = hashtableWalkPartAt(ht, &c);
    bool more = scanCursorAdvance(&c, p.to);
    if (more) hashtableWalkPrefetchParts(ht, c);
    hashtablePause(ht);
    hashtableWalkEmitPart(ht, &p, fn, priv);
    hashtableResume(ht);
    return more && ht->used ? scanCursorNumber(&c) : 0;
}

/* --- Iterating --- */

/* Returns the number of passes. The buckets of a segment are visited in golden steps, and in a table of
 * many segments each pass visits a part of each: so both the visited and the other buckets are always
 * spread evenly over the table. A table that is emptied in the order of a listing can shrink, and one
 * that is filled in the order of another one fills evenly, whatever their sizes. The last pass is over
 * the tails that exist then. */
static uint32_t hashtableWalkPassesOf(const hashtable *ht) {
    return ht->bits ? PASSES : 1;
}

/* Returns where in the order of golden steps pass i over n homes starts. */
static uint32_t hashtableWalkPassStart(const hashtable *ht, uint32_t n, uint32_t i) {
    return (uint32_t)((uint64_t)n * i / hashtableWalkPassesOf(ht));
}

static inline uint32_t hashtableWalkBucketAhead(const struct hashtableIterator *it, uint32_t by) {
    uint32_t n = it->segment->buckets;
    uint64_t i = (uint64_t)it->bucket + by;
    return (uint32_t)(i < n ? i : i - n);
}

static void hashtableWalkSegment(struct hashtableIterator *it, segment *s) {
    uint32_t n = s->buckets;
    it->segment = s;
    it->slot = it->near = it->far = 0;
    if (it->pass == hashtableWalkPassesOf(it->ht)) {
        it->bucket = n;
        it->left = htLengthOf(s) - n;
        return;
    }
    uint32_t start = hashtableWalkPassStart(it->ht, n, it->pass);
    it->left = hashtableWalkPassStart(it->ht, n, it->pass + 1) - start;
    it->step = hashtableGoldenStep(n);
    it->bucket = (uint32_t)((uint64_t)start * it->step % n);
    it->near = (uint32_t)((uint64_t)it->step * FETCH_ENTRIES % n);
    it->far = (uint32_t)((uint64_t)it->step * FETCH_BUCKETS % n);
}

/* Moves to the next segment, or the next pass; false at the end. */
static bool hashtableWalkOn(struct hashtableIterator *it) {
    const hashtable *ht = it->ht;
    uint32_t size = htDirectorySize(ht);
    if (!htHasTable(ht)) return false;
    if (it->visited == size) {
        if (it->pass == hashtableWalkPassesOf(ht)) return false;
        it->pass++;
        it->visited = 0;
    }
    it->visited++;
    if (ht->bits) it->index = (it->index + ((uint32_t)((uint64_t)size * 618 / 1000) | 1)) & (size - 1);
    segment *s = htSegmentAt(ht, it->index);
    if (s) hashtableWalkSegment(it, s);
    return true;
}

void hashtableInitIterator(struct hashtableIterator *it, hashtable *ht, bool safe) {
    *it = (struct hashtableIterator){.ht = ht, .safe = safe};
    if (safe) hashtablePause(ht);
}

bool hashtableNext(struct hashtableIterator *it, void **entry) {
    for (;;) {
        while (!it->left)
            if (!hashtableWalkOn(it)) return false;
        const bucket *table = it->segment->table, *b = &table[it->bucket];
        if (it->slot == 0 && it->far) {
            htPrefetchLine(&table[hashtableWalkBucketAhead(it, it->far)]);
            htPrefetchEntries(&table[hashtableWalkBucketAhead(it, it->near)]);
        }
        while (it->slot < SLOTS) {
            unsigned i = it->slot++;
            if (!b->tags[i]) continue;
            *entry = htEntryAt(b, i);
            return true;
        }
        it->bucket = it->pass == hashtableWalkPassesOf(it->ht) ? it->bucket + 1
                                                               : hashtableWalkBucketAhead(it, it->step);
        it->left--;
        it->slot = 0;
    }
}

void hashtableStopIterator(struct hashtableIterator *it) {
    if (it->safe) hashtableResume(it->ht);
    it->safe = false;
}

/* --- Random entries --- */

/* Returns the bucket of a hash drawn at random. */
static segment *hashtableWalkRandomBucket(const hashtable *ht, uint32_t *i) {
    uint64_t salted = randomU64();
    segment *s = htSegmentOf(ht, salted);
    *i = htHomeOf(s, htSubOf(s, salted));
    return s;
}

/* Returns the next bucket, cyclic over all segments. */
static segment *hashtableWalkStepAround(const hashtable *ht, segment *s, uint32_t *i) {
    if (++*i < htLengthOf(s)) return s;
    *i = 0;
    if (!ht->bits) return s;
    return &ht->segments[(htIndexOf(ht, s) + (1U << (ht->bits - s->depth))) & (htDirectorySize(ht) - 1)];
}

static unsigned hashtableWalkRandomSlotOf(const bucket *b) {
    slotSet set = htUsedSlots(b);
    uint64_t skip = randomBelow((unsigned)__builtin_popcountll(set));
    while (skip--) set &= set - 1;
    return htSlotOfBit(set);
}

/* Returns the place of an entry for reading only: home and passed are not set. */
static struct probePlace hashtableWalkQuickPlace(const hashtable *ht) {
    uint32_t i = 0;
    segment *s = NULL;
    for (unsigned try = 0; try < RANDOM_TRIES; try++) {
        s = hashtableWalkRandomBucket(ht, &i);
        if (!htBucketIsEmpty(&s->table[i])) break;
    }
    while (htBucketIsEmpty(&s->table[i])) s = hashtableWalkStepAround(ht, s, &i);
    return (struct probePlace){
        .segment = s, .bucket = &s->table[i], .slot = hashtableWalkRandomSlotOf(&s->table[i])};
}

void *hashtableRandomEntry(hashtable *ht) {
    if (!ht->used) return NULL;
    hashtableHurryShrink(ht);
    struct probePlace p = hashtableWalkQuickPlace(ht);
    return htEntryAt(p.bucket, p.slot);
}

/* Fair draws. Slots are drawn until one is in use, so all entries are exactly equally likely. In a table
 * of many segments each entry of the directory is treated as an array of the longest one's length;
 * missing buckets are rejected without memory access.
 *
 * The slot of a random number depends on the table, but the number does not. So numbers are drawn ahead,
 * in a ring: when one enters, its bucket in this table is prefetched, and half way through, the entry.
 * The next draws from the same table find both in the cache. */
#define DRAWS_AHEAD 16

static __thread struct {
    uint64_t number[DRAWS_AHEAD];
    unsigned next;
    bool filled;
} draws;

/* Finds the place that a number stands for: its first 24 bits choose the segment, the others the slot in
 * it. Returns false if there is no such bucket. */
static inline bool hashtableWalkDrawnPlace(const hashtable *ht, uint64_t number, struct probePlace *p) {
    _Static_assert(HASHTABLE_DEPTH_MOST <= 24, "the bits for the segment");
    uint64_t length = ht->bits ? 1ULL << ht->longest : htLengthOf(&ht->one);
    uint64_t slot = (uint64_t)(((unsigned __int128)(number << 24) * (length * SLOTS)) >> 64);
    const segment *s = htSegmentAt(ht, ht->bits ? (uint32_t)(number >> (64 - ht->bits)) : 0);
    if (!s || slot / SLOTS >= htLengthOf(s)) return false;
    p->segment = s;
    p->bucket = &s->table[slot / SLOTS];
    p->slot = slot % SLOTS;
    return true;
}

static inline bool hashtableWalkFairTry(const hashtable *ht, struct probePlace *p) {
    struct probePlace later;
    if (unlikely(!draws.filled)) {
        for (unsigned i = 0; i < DRAWS_AHEAD; i++) draws.number[i] = randomU64();
        draws.filled = true;
    }
    uint64_t *at = &draws.number[draws.next++ % DRAWS_AHEAD], number = *at;
    *at = randomU64();
    if (hashtableWalkDrawnPlace(ht, *at, &later)) htPrefetchLine(later.bucket);
    if (hashtableWalkDrawnPlace(ht, draws.number[(draws.next + DRAWS_AHEAD / 2) % DRAWS_AHEAD], &later) &&
        later.bucket->tags[later.slot])
        htPrefetchLine(htEntryAt(later.bucket, later.slot));
    return hashtableWalkDrawnPlace(ht, number, p) && p->bucket->tags[p->slot];
}

static struct probePlace hashtableWalkFairPlace(hashtable *ht) {
    struct probePlace p;
    hashtableHurryShrink(ht);
    if (!ht->bits && htLengthOf(&ht->one) == 1)
        return (struct probePlace){
            .segment = &ht->one, .bucket = ht->one.table, .slot = hashtableWalkRandomSlotOf(ht->one.table)};
    for (unsigned try = 0; try < 16 * RANDOM_TRIES; try++)
        if (hashtableWalkFairTry(ht, &p)) return p;
    return hashtableWalkQuickPlace(ht);
}

void *hashtableFairRandomEntry(hashtable *ht) {
    if (!ht->used) return NULL;
    struct probePlace p = hashtableWalkFairPlace(ht);
    return htEntryAt(p.bucket, p.slot);
}

/* Returns the home of the entry at this place, in bucket `at`. */
static uint32_t hashtableWalkHomeOfSlot(const hashtable *ht, const struct probePlace *p, uint32_t at) {
    const segment *s = p->segment;
    const bucket *b = p->bucket;
    if (likely(htKnowsSubs(s, at)))
        return htHomeOf(s, htSubOfSlot(s, b->tags[p->slot], htWordAt(b, p->slot), htSubsEnd(s, at)));
    return htHomeOf(s, htSubOf(s, htSalted(ht, htHashEntry(ht, htEntryAt(b, p->slot)))));
}

void *hashtablePopFairRandom(hashtable *ht) {
    if (!ht->used) return NULL;
    struct probePlace p = hashtableWalkFairPlace(ht);
    uint32_t at = (uint32_t)(p.bucket - p.segment->table);
    struct probe probe = htProbeFrom(hashtableWalkHomeOfSlot(ht, &p, at));
    while (unlikely(probe.at != at)) {
        bool more = htProbeNext(p.segment, &probe);
        serverAssert(more);
    }
    p.home = probe.home;
    p.passed = probe.passed;
    return hashtablePopPlace(ht, &p);
}

/* Walks around the table at most once, from a random bucket. */
size_t hashtableSample(hashtable *ht, void **dst, size_t count) {
    if (!ht->used || !count) return 0;
    hashtableHurryShrink(ht);
    size_t n = 0;
    uint32_t i, start;
    segment *first = hashtableWalkRandomBucket(ht, &start), *s = first;
    i = start;
    do {
        const bucket *b = &s->table[i];
        for (slotSet set = htUsedSlots(b); set && n < count; set &= set - 1) {
            dst[n] = htEntryAt(b, htSlotOfBit(set));
            htPrefetchLine(dst[n++]);
        }
        s = hashtableWalkStepAround(ht, s, &i);
    } while (n < count && (s != first || i != start));
    return n;
}
