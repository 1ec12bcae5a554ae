/* SPDX-License-Identifier: BSD-3-Clause */
/* hashtable_walk.c - scans, visits, iterators, random picks. Part of hashtable.h. */
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

/* --- Visiting --- */

uint64_t hashtablePosition(const hashtable *ht, uint64_t hash) {
    return htSalted(ht, hash) >> (64 - POSITION_BITS);
}

/* The part of a visited range that lies in one segment. */
struct visit {
    const hashtable *ht;
    const segment *segment;
    uint64_t from, to, first; /* positions; `first` is that of the segment */
    unsigned ignored;
    bool exact; /* subs tell positions as exactly as wanted */
    hashtableVisitFn *fn;
    void *priv;
};

/* Passes an entry unless its position is out of the range. `sub` is its sub, or if that is not known
 * (`guessed`), the only one that it can have if it belongs to the home that is visited. */
static inline void hashtableWalkVisitEntry(const struct visit *v, void *entry, uint32_t sub, bool guessed) {
    const segment *s = v->segment;
    uint64_t position = v->first + ((uint64_t)sub << (POSITION_BITS - s->depth - s->fine));
    if (unlikely(guessed || !v->exact)) {
        uint64_t salted = htSalted(v->ht, htHashEntry(v->ht, entry));
        if (htSubOf(s, salted) != sub) return;
        position = salted >> (64 - POSITION_BITS);
    }
    position = position >> v->ignored << v->ignored;
    if (position >= v->from && position < v->to) v->fn(v->priv, entry, position);
}

/* Visits those entries of a bucket of the home's probe that belong to the home, whose subs are from
 * `sub_from` to before `sub_to`: at most as many as the bits that an entry keeps distinguish. */
static inline void hashtableWalkVisitBucket(const struct visit *v, uint32_t home, uint32_t at,
                                            uint32_t sub_from, uint32_t sub_to) {
    const segment *s = v->segment;
    const bucket *b = &s->table[at];
    bool known = htKnowsSubs(s, at);
    uint32_t end = known && at != home ? htSubsEnd(s, at) : sub_to;
    if (unlikely(!known || !v->exact)) htPrefetchEntries(b);
    for (slotSet set = htUsedSlots(b); set; set &= set - 1) {
        unsigned slot = htSlotOfBit(set);
        uint32_t sub = htSubOfSlot(s, b->tags[slot], htWordAt(b, slot), end);
        if (sub >= sub_from && sub < sub_to) hashtableWalkVisitEntry(v, htEntryAt(b, slot), sub, !known);
    }
}

static void hashtableWalkVisitHomes(const struct visit *v, uint32_t home, uint32_t last) {
    const segment *s = v->segment;
    uint32_t sub_from = home ? htSubsEnd(s, home - 1) : 0;
    for (; home <= last; home++) {
        uint32_t sub_to = htSubsEnd(s, home);
        struct probe probe = htProbeFrom(home);
        if (home + FETCH_BUCKETS <= last) htPrefetchLine(&s->table[home + FETCH_BUCKETS]);
        do hashtableWalkVisitBucket(v, home, probe.at, sub_from, sub_to);
        while (unlikely(htOverflowOf(&s->table[probe.at])) && htProbeNext(s, &probe));
        sub_from = sub_to;
    }
}

/* Visits each home in the range with its probe, which finds the entries that overflowed, too. A sub lacks
 * the last bit of its position, because of htWithTag; but homes are those of subs, whatever the position. */
void hashtableVisit(const hashtable *ht, uint64_t from, uint64_t to, unsigned ignored, hashtableVisitFn *fn,
                    void *priv) {
    serverAssert(from <= to && to <= POSITION_END && ignored <= POSITION_BITS);
    serverAssert(((from | to) & ((1ULL << ignored) - 1)) == 0);
    struct visit v = {.ht = ht, .from = from, .to = to, .ignored = ignored, .fn = fn, .priv = priv};
    while (from < to && ht->used) {
        const segment *s = v.segment = htSegmentOf(ht, from << (64 - POSITION_BITS));
        unsigned width = POSITION_BITS - s->depth;
        v.first = from >> width << width;
        v.exact = ignored > width - s->fine;
        uint64_t end = v.first + (1ULL << width), last = (to < end ? to : end) - 1;
        hashtableWalkVisitHomes(&v, htHomeOf(s, htSubOf(s, from << (64 - POSITION_BITS))),
                                htHomeOf(s, htSubOf(s, last << (64 - POSITION_BITS))));
        from = end;
    }
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

void hashtablePrefetchEntries(const hashtable *ht, size_t bytes) {
    FOR_SEGMENTS(ht, s) {
        uint32_t length = htLengthOf(s);
        for (uint32_t i = 0; i < length; i++) {
            const bucket *b = &s->table[i];
            if (i + FETCH_BUCKETS < length) htPrefetchLine(b + FETCH_BUCKETS);
            for (slotSet set = htUsedSlots(b); set; set &= set - 1) {
                const char *entry = htEntryAt(b, htSlotOfBit(set));
                htPrefetchLine(entry);
                htPrefetchLine(entry + bytes - 1);
            }
        }
    }
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
