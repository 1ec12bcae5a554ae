/* SPDX-License-Identifier: BSD-3-Clause */
/* hashtable_check.c - statistics and verification of a table. Part of hashtable.h. */
#include "ds/hashtable_private.h"

/* --- Figures --- */

struct figures {
    uint64_t segments, buckets, entries, overflowing, by_fill[SLOTS + 1];
};

static void hashtableCheckAddSegment(struct figures *f, const segment *s) {
    uint32_t length = htLengthOf(s);
    f->segments++;
    f->buckets += length;
    for (uint32_t i = 0; i < length; i++) {
        unsigned fill = (unsigned)__builtin_popcountll(htUsedSlots(&s->table[i]));
        f->entries += fill;
        f->by_fill[fill]++;
        f->overflowing += htOverflowOf(&s->table[i]) != 0;
    }
}

sds hashtableStats(hashtable *ht, sds s, const char *name) {
    if (!htHasTable(ht)) return sdscatprintf(s, "%s: empty, no table\n", name);
    struct figures f = {0};
    FOR_SEGMENTS(ht, segment) hashtableCheckAddSegment(&f, segment);
    s = sdscatprintf(s, "Hash table 0 stats (%s):\n", name);
    s = sdscatprintf(s, " table size: %llu\n", (unsigned long long)f.buckets * SLOTS);
    s = sdscatprintf(s, " number of elements: %llu\n", (unsigned long long)f.entries);
    s = sdscatprintf(s, " buckets: %llu, overflowing: %llu, segments: %llu, bytes: %llu\n",
                     (unsigned long long)f.buckets, (unsigned long long)f.overflowing,
                     (unsigned long long)f.segments, (unsigned long long)hashtableMemory(ht));
    for (unsigned i = 0; i <= SLOTS; i++)
        s = sdscatprintf(s, " buckets with %u elements: %llu (%.2f%%)\n", i, (unsigned long long)f.by_fill[i],
                         100.0 * (double)f.by_fill[i] / (double)f.buckets);
    return s;
}

uint32_t hashtableLongestProbe(hashtable *ht) {
    uint32_t longest = 0;
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, ht, false);
    while (hashtableNext(&it, &entry)) {
        struct probePlace p;
        bool found = htFindPlace(ht, strN(NULL, 0), entry, htHashEntry(ht, entry), &p);
        serverAssert(found);
        if (p.passed >= longest) longest = p.passed + 1;
    }
    return longest;
}

/* --- Verifying --- */

/* Checks the entry in slot `slot` of bucket i and counts it in `passed` for each bucket that its probe
 * passes. */
static void hashtableCheckVerifyEntry(hashtable *ht, const segment *s, uint32_t i, unsigned slot,
                                      uint32_t *passed) {
    const bucket *b = &s->table[i];
    struct str key = htKeyOf(ht, htEntryAt(b, slot));
    uint64_t hash = htHashKey(ht, key), salted = htSalted(ht, hash);
    uint32_t sub = htSubOf(s, salted);
    uint64_t word = htWordAt(b, slot);
    serverAssert(b->tags[slot] == htTagOf(sub) && word == htWordOf(htEntryAt(b, slot), sub));
    serverAssert(htSegmentOf(ht, salted) == s);
    serverAssert(!htKnowsSubs(s, i) || htSubOfSlot(s, htTagOf(sub), word, htSubsEnd(s, i)) == sub);
    struct probePlace p;
    bool found = htFindPlace(ht, key, NULL, hash, &p);
    serverAssert(found && p.segment - p.segment->back == s && p.bucket == b && p.slot == slot);
    struct probe q = htProbeFrom(htHomeOf(s, sub));
    for (; q.at != i; htProbeNext(s, &q)) passed[q.at]++;
    serverAssert(q.passed == p.passed);
    serverAssert(q.passed < htNearOf(s) || b->overflow & OVERFLOW_FAR);
#ifdef LEAK_CHECKED
    serverAssert(b->leak_checked[slot] == htEntryAt(b, slot));
#endif
}

static void hashtableCheckVerifySegment(hashtable *ht, const segment *s) {
    uint32_t length = htLengthOf(s), entries = 0;
    uint32_t *passed = zcalloc(length, sizeof(*passed));
    serverAssert(((uintptr_t)s->table & (alignof(bucket) - 1)) == 0);
    serverAssert(s->buckets && htAllowedCount(s->buckets) == s->buckets);
    serverAssert(s->fine == htFineFor(s->buckets) && s->depth + s->fine <= POSITION_BITS);
    serverAssert(s->depth <= ht->bits && length <= 1ULL << ht->longest);
    serverAssert(!s->tail || (ht->pause && ht->tails));
    for (uint32_t i = 0; i < length; i++) {
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            if (!s->table[i].tags[slot]) continue;
            entries++;
            hashtableCheckVerifyEntry(ht, s, i, slot, passed);
        }
    }
    for (uint32_t i = 0; i < length; i++) {
        unsigned count = htOverflowOf(&s->table[i]);
        serverAssert(count == OVERFLOW_MAX || count == passed[i]);
    }
    serverAssert(entries == s->used);
    zfree(passed);
}

/* Checks that each segment has 2^(bits - depth) entries of the directory, from a multiple of that number
 * on. */
static void hashtableCheckVerifyDirectory(hashtable *ht) {
    uint32_t deepest = 0;
    uint64_t homes = 0;
    for (uint32_t i = 0; i < htDirectorySize(ht);) {
        const segment *s = &ht->segments[i];
        uint32_t entries = 1U << (ht->bits - s->depth);
        serverAssert(s->depth <= ht->bits && i % entries == 0);
        for (uint32_t j = 0; j < entries; j++) {
            serverAssert(s[j].back == j && s[j].table == s->table && s[j].buckets == s->buckets);
            serverAssert(s[j].depth == s->depth && s[j].tail == s->tail);
        }
        deepest += s->depth == ht->bits;
        homes += s->buckets;
        i += entries;
    }
    serverAssert(deepest && deepest == ht->deepest && homes == ht->homes && ht->next < htDirectorySize(ht));
}

void hashtableVerify(hashtable *ht) {
    uint64_t used = 0;
    serverAssert(ht->shift == (ht->bits ? 64 - ht->bits : 0));
    if (ht->bits) hashtableCheckVerifyDirectory(ht);
    FOR_SEGMENTS(ht, s) {
        hashtableCheckVerifySegment(ht, s);
        used += s->used;
    }
    serverAssert(used == ht->used);
}
