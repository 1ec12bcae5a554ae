/* SPDX-License-Identifier: BSD-3-Clause */
/* hashtable.c - creation, lookup and change. The layout and the idea are in hashtable.h; this comment
 * adds the details.
 *
 * Salted hash:   | position: 48 | unused: 16 |        position:  | depth | fine: home and tag | .. |
 *
 * The salt gives an odd factor for the hash: a permutation that keeps nothing of the order.
 *
 * Invariants, checked by hashtableVerify: an entry with home h is counted once in the overflow of each
 * bucket that its probe passes. A bucket with an entry from far away is marked (OVERFLOW_FAR) until the
 * array is replaced; in all other buckets htSubOfSlot computes the entries' positions.
 *
 * A probe visits the buckets near its home, as many as positions can be computed for (2 to 15;
 * htNearOf), then all others of its segment in steps of the golden section:
 *
 *     home, +1, +2, .. +near-1, home + s, home + 2s, ...      s is about 0.618 n; each bucket once
 *
 * The near ones are cheap. But when one part of the positions has more entries than buckets (a client
 * that learns the order by scanning can choose which entries to keep), full buckets form runs as long as
 * that part, and passing them one by one would be quadratic; the golden steps reach buckets with space
 * at once. With c times the average number of entries, a home's probes take some c buckets, as a chain
 * would.
 *
 * While the table is paused (iterators, scans), entries do not move. Then a segment may fill to 100%,
 * and when that is not enough it gets a tail: its array is copied to one twice as long, each entry keeps
 * bucket and slot, and homes are still computed with the old number of buckets. The buckets of the tail
 * come last in every probe. Probes are then as long as the segment, so the last resume moves its entries
 * to an array of suitable size.
 *
 * The other parts: hashtable_resize.c grows and shrinks tables; hashtable_walk.c has scans, iterators
 * and random picks; hashtable_check.c has statistics and verification. */
#include "ds/hashtable_private.h"

#define PROGRESS_EVERY 65536

/* --- Probes --- */

/* Returns the step. It has no factor in common with n (an allowed count has no prime factors but 2, 3, 5
 * and 7), so n steps visit each bucket once, and at each moment the visited buckets are spread evenly
 * over the n. */
uint32_t hashtableGoldenStep(uint32_t n) {
    uint32_t step = (uint32_t)((uint64_t)n * 618 / 1000) | 1;
    while (n > 2 && (step % 3 == 0 || step % 5 == 0 || step % 7 == 0)) step += 2;
    return step % n ? step % n : 1;
}

__attribute__((noinline)) bool hashtableProbeFar(const segment *s, struct probe *p) {
    uint32_t n = s->buckets;
    if (p->passed >= n) {
        p->at = p->passed;
        return p->passed < htLengthOf(s);
    }
    uint32_t near = htNearOf(s), step = hashtableGoldenStep(n);
    if (p->passed == near) p->at = p->home;
    do p->at = p->at < n - step ? p->at + step : p->at - (n - step);
    while ((p->at < p->home ? p->at + n : p->at) - p->home < near); /* skips buckets already visited */
    return true;
}

__attribute__((noinline)) bool hashtableFindBehindHome(const hashtable *ht, struct str key, const void *which,
                                                       uint32_t sub, struct probePlace *p) {
    struct probe probe = htProbeFrom(p->home);
    while (htProbeNext(p->segment, &probe)) {
        p->bucket = &p->segment->table[probe.at];
        p->passed = probe.passed;
        if (htFindInBucket(ht->type, key, which, p->bucket, sub, true, &p->slot)) return true;
        if (!htOverflowOf(p->bucket)) return false;
    }
    return false;
}

static inline void hashtableCountOne(bucket *b, int by) {
    if (htOverflowOf(b) == OVERFLOW_MAX) return; /* a saturated count is no longer exact */
    b->overflow = (uint8_t)(b->overflow + by);
}

void hashtableCountPassed(const segment *s, uint32_t home, uint32_t passed, int by) {
    uint32_t near = htNearOf(s);
    if (likely(passed <= near && home + passed <= s->buckets)) {
        for (uint32_t i = 0; i < passed; i++) hashtableCountOne(&s->table[home + i], by);
        return;
    }
    struct probe p = htProbeFrom(home);
    for (; p.passed < passed; htProbeNext(s, &p)) hashtableCountOne(&s->table[p.at], by);
}

void hashtableNotePassed(const segment *s, const struct probe *p) {
    if (p->passed >= htNearOf(s)) s->table[p->at].overflow |= OVERFLOW_FAR;
    hashtableCountPassed(s, p->home, p->passed, 1);
}

/* --- Creating and freeing --- */

void hashtableInit(hashtable *ht, const struct hashtableType *type) {
    hashtableInitSalted(ht, type, (uint32_t)(randomU64() >> 40));
}

void hashtableInitSalted(hashtable *ht, const struct hashtableType *type, uint32_t salt) {
    memset(ht, 0, sizeof(*ht));
    ht->type = type;
    ht->salt = salt;
}

void hashtableDestroy(hashtable *ht) {
    hashtableEmpty(ht, NULL);
}

hashtable *hashtableCreate(const struct hashtableType *type) {
    hashtable *ht = zmalloc(sizeof(*ht));
    hashtableInit(ht, type);
    return ht;
}

void hashtableRelease(hashtable *ht) {
    if (!ht) return;
    hashtableDestroy(ht);
    zfreeSized(ht, sizeof(*ht));
}

static void hashtableFreeEntries(const hashtable *ht, const bucket *b, const bucket *next) {
    if (next) htPrefetchEntries(next);
    for (slotSet set = htUsedSlots(b); set; set &= set - 1)
        ht->type->entryFree(htEntryAt(b, htSlotOfBit(set)));
}

/* The table is empty before the first entry is freed, so that callbacks may use it. */
void hashtableEmpty(hashtable *ht, void (*progress)(hashtable *ht)) {
    hashtable old = *ht;
    hashtableForgetArrays(ht);
    uint64_t seen = 0;
    FOR_SEGMENTS(&old, s) {
        uint32_t length = htLengthOf(s);
        for (uint32_t i = 0; old.type->entryFree && old.used && i < length; i++) {
            hashtableFreeEntries(&old, &s->table[i], i + 1 < length ? &s->table[i + 1] : NULL);
            if (progress && ++seen % PROGRESS_EVERY == 0) progress(ht);
        }
    }
    hashtableFreeArrays(&old);
}

/* --- Lookup --- */

uint64_t hashtableHash(const hashtable *ht, struct str key) {
    return htHashKey(ht, key);
}

void *hashtableFind(hashtable *ht, struct str key) {
    if (!ht->used) return NULL;
    return hashtableFindHashed(ht, key, htHashKey(ht, key));
}

void *hashtableFindHashed(hashtable *ht, struct str key, uint64_t hash) {
    struct probePlace p;
    return htFindPlace(ht, key, NULL, hash, &p) ? htEntryAt(p.bucket, p.slot) : NULL;
}

struct hashtableRef *hashtableFindRef(hashtable *ht, struct str key, uint64_t hash) {
    struct probePlace p;
    return htFindPlace(ht, key, NULL, hash, &p) ? &p.bucket->slots[p.slot] : NULL;
}

/* --- Lookup by a descriptor --- */

static inline const bucket *hashtableSingleBucket(uint64_t descriptor) {
    return (const bucket *)(uintptr_t)(descriptor << 16 >> 16);
}

/* Computes the sub in a table of one bucket, which is the home of every key. */
static inline uint32_t hashtableSubOfSingle(uint64_t salted) {
    return htWithTag((uint32_t)(salted >> (64 - FINE_LEAST)));
}

void *hashtableFindSingle(const struct hashtableType *type, uint64_t descriptor, uint64_t salt_factor,
                          struct str key, uint64_t hash) {
    const bucket *b = hashtableSingleBucket(descriptor);
    unsigned slot;
    bool found = htFindInBucket(type, key, NULL, b, hashtableSubOfSingle(hash * salt_factor), false, &slot);
    return found ? htEntryAt(b, slot) : NULL;
}

void *hashtablePeekSingle(uint64_t descriptor, uint64_t salt_factor, uint64_t hash) {
    const bucket *b = hashtableSingleBucket(descriptor);
    slotSet set = htMatchTag(b, htTagOf(hashtableSubOfSingle(hash * salt_factor)));
    return likely(set) ? htEntryAt(b, htSlotOfBit(set)) : NULL;
}

/* --- Prefetch --- */

void hashtablePrefetchBucket(const hashtable *ht, uint64_t hash) {
    if (!htHasTable(ht)) return;
    uint64_t salted = htSalted(ht, hash);
    const segment *s = htAnySegmentOf(ht, salted);
    htPrefetchLine(&s->table[htHomeOf(s, htSubOf(s, salted))]);
}

static __attribute__((noinline)) void *hashtablePeekBehindHome(const segment *s, uint32_t home, uint8_t tag) {
    struct probe p = htProbeFrom(home);
    while (htProbeNext(s, &p)) {
        const bucket *b = &s->table[p.at];
        slotSet set = htMatchTag(b, tag);
        if (set) return htEntryAt(b, htSlotOfBit(set));
        if (!htOverflowOf(b)) return NULL;
    }
    return NULL;
}

void *hashtablePeek(const hashtable *ht, uint64_t hash) {
    if (!htHasTable(ht)) return NULL;
    uint64_t salted = htSalted(ht, hash);
    const segment *s = htAnySegmentOf(ht, salted);
    uint32_t sub = htSubOf(s, salted), home = htHomeOf(s, sub);
    const bucket *b = &s->table[home];
    slotSet set = htMatchTag(b, htTagOf(sub));
    if (likely(set)) return htEntryAt(b, htSlotOfBit(set));
    return unlikely(htOverflowOf(b)) ? hashtablePeekBehindHome(s, home, htTagOf(sub)) : NULL;
}

/* --- Change --- */

bool hashtableAdd(hashtable *ht, void *entry) {
    struct str key = htKeyOf(ht, entry);
    uint64_t hash = htHashKey(ht, key);
    struct probePlace p;
    if (htFindPlace(ht, key, NULL, hash, &p)) return false;
    hashtableAddUnchecked(ht, entry, hash);
    return true;
}

void hashtableAddUnchecked(hashtable *ht, void *entry, uint64_t hash) {
    serverAssert(hashtableRefTakes(entry));
    uint64_t salted = htSalted(ht, hash);
    segment *s = htSegmentOf(ht, salted);
    if (unlikely(s->used >= s->full || (ht->shift && ht->used >= ht->grow_at)))
        s = hashtableMakeRoom(ht, salted);
    while (unlikely(!htPlaceEntry(s, htSubOf(s, salted), entry))) s = hashtableForceRoom(ht, salted);
    ht->used++;
}

void *hashtablePopPlace(hashtable *ht, const struct probePlace *p) {
    void *entry = htEntryAt(p->bucket, p->slot);
    htTakeOut(p);
    ht->used--;
    if (unlikely(htIsSparse(ht))) hashtableShrinkIfNeeded(ht);
    return entry;
}

void *hashtablePop(hashtable *ht, struct str key) {
    if (!ht->used) return NULL;
    return hashtablePopHashed(ht, key, htHashKey(ht, key));
}

void *hashtablePopHashed(hashtable *ht, struct str key, uint64_t hash) {
    struct probePlace p;
    return htFindPlace(ht, key, NULL, hash, &p) ? hashtablePopPlace(ht, &p) : NULL;
}

bool hashtableDelete(hashtable *ht, struct str key) {
    void *entry = hashtablePop(ht, key);
    if (!entry) return false;
    if (ht->type->entryFree) ht->type->entryFree(entry);
    return true;
}

void hashtableRemoveEntry(hashtable *ht, const void *entry, uint64_t hash) {
    struct probePlace p;
    bool found = htFindPlace(ht, strN(NULL, 0), entry, hash, &p);
    serverAssert(found);
    hashtablePopPlace(ht, &p);
}

void hashtableReplaceEntry(hashtable *ht, const void *old, void *now, uint64_t hash) {
    struct probePlace p;
    bool found = htFindPlace(ht, strN(NULL, 0), old, hash, &p);
    serverAssert(found);
    hashtableRefSet(&p.bucket->slots[p.slot], now);
}
