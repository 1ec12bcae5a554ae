/* SPDX-License-Identifier: BSD-3-Clause */
/* hashtable.h - the server's hash table: keyspace, member indexes, registries.
 *
 * It uses open addressing over buckets of 64 bytes, one cache line each: 9 one-byte tags, an overflow
 * count, and 9 slots that hold the entries' addresses in 48 bits.
 *
 *     bucket:  | tag0 .. tag8 | overflow | slot0 | slot1 | ... | slot8 |      tag 0 means the slot is empty
 *
 * The idea: a key's home bucket is (position * n) >> bits of the position, where the position is the top
 * of its hash, salted. That map is monotone in the position and works for every n, so
 *  - n need not be a power of two: arrays take sizes that are allocator classes;
 *  - a SCAN cursor is a range of positions (scan_cursor.h). It means the same for every table size, so
 *    elements present during the whole scan are returned whatever resizes happen between the calls.
 * An entry whose home is full goes to the next bucket with a free slot, along a probe that depends on
 * its home; each bucket passed counts one overflow, and a lookup continues past a bucket only while its
 * count is not 0 (the counting idea of F14, Bronson and Shi 2019; the count saturates at 127 and then
 * stays until its array is replaced).
 *
 * A small table is one such array. A large one has many, its segments: the first bits of the position
 * choose one, the rest gives the home in it, and probes stay inside.
 *
 *     position:  | depth bits: the segment | `fine` bits: the home in it, and the tag | ...
 *
 *     directory: | segment 0 | segment 1 | (1) | segment 3 | ...        (1): belongs to segment 1, too, which
 *                                                                       has one bit of depth less
 *
 * Segments grow one at a time, paced by the number of all entries, and one that would become too large
 * is split in two; they shrink and are merged likewise: linear hashing (Litwin 1980) with partial
 * expansions (Larson 1980), over a directory (Fagin and others 1979) that keeps the order of positions.
 * So the whole is about equally full at every size, an insert replaces at most one segment, and only
 * that segment exists twice meanwhile.
 *
 * The tag of an entry is a part of its position, too: the bits below those that separate its home from
 * others. With three more bits in its slot (entries are aligned to 8 bytes), and its bucket, which is
 * its home or near it, all `fine` bits can be computed. So replacing the array of a segment reads only
 * its own memory, not the entries; only a split, which needs one more bit, reads them.
 *
 * Such a map has a price: a table that is filled, or emptied, in the order of positions is full in one
 * part and empty in the other, and full parts have long probes. So no visible order may be that of
 * another table's positions, nor of its own: each table has a salt, scans go by stripes (scan_cursor.h),
 * and iterators visit the buckets in golden steps.
 *
 * Entries are opaque pointers, multiples of 8 below 2^48, owned by the caller unless entryFree is set; a
 * key is a string computed from the entry. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_function.h"
#include "base/sds.h"
#include "base/str.h"
#include "ds/hashtable_ref.h"

struct hashtableType {
    struct str (*entryKey)(const void *entry);
    uint64_t (*hash)(struct str key);             /* NULL: hashBytes */
    bool (*keyEqual)(struct str a, struct str b); /* NULL: strEq */
    void (*entryFree)(void *entry);               /* NULL: entries are not owned */
    bool tight; /* small tables grow by small steps: less memory, more work */
};

struct hashtableBucket;

/* One array of buckets. Of a segment with several entries in the directory, the first one has all
 * values; the others are copies with what lookups need (used, full and next to nothing else are correct
 * only in the first one). */
struct hashtableSegment {
    struct hashtableBucket *table;
    uint32_t buckets; /* homes */
    uint32_t used;
    uint32_t full;      /* number of entries at which space has to be made */
    uint8_t depth;      /* bits of the position that select this segment */
    uint8_t fine;       /* bits of the position used within the segment; depends on the number of buckets */
    uint16_t back : 11; /* distance to the segment's first entry in the directory */
    uint16_t tail : 5;  /* how often the array was doubled while paused; see hashtable.c */
};

/* 48 bytes, meant to be embedded (struct zset does). Fields are private to hashtable*.c. */
struct hashtable {
    const struct hashtableType *type;
    uint64_t used : 40;
    uint64_t salt : 24; /* salt of positions; it moves with the struct, since scans depend on it */
    union {
        struct hashtableSegment one; /* the only segment if bits == 0 */
        struct {
            struct hashtableSegment *segments; /* the directory, 2^bits entries */
            uint32_t homes;                    /* homes of all segments together */
            uint32_t next;                     /* next directory entry of the resizing sweep */
            uint64_t grow_at;                  /* number of entries at which a segment grows */
        };
    };
    uint16_t pause;
    uint8_t bits;
    uint8_t shift;         /* 64 - bits, or 0 */
    uint32_t deepest : 25; /* segments of depth `bits` */
    uint32_t longest : 6;  /* no array has had more than 2^longest buckets */
    uint32_t tails : 1;    /* a segment may have a tail */
};
typedef struct hashtable hashtable;
_Static_assert(sizeof(struct hashtable) == 48,
               "embedded in struct zset, which is sized to an allocator class");

/* Creating and freeing. An empty table has no memory of its own. */
void hashtableInit(hashtable *ht, const struct hashtableType *type);
/* Makes one of many tables that share a salt, so that a bucket can be prefetched without reading the
 * table. */
void hashtableInitSalted(hashtable *ht, const struct hashtableType *type, uint32_t salt);
void hashtableDestroy(hashtable *ht); /* frees arrays and owned entries, but not the struct */
hashtable *hashtableCreate(const struct hashtableType *type);
void hashtableRelease(hashtable *ht); /* ht may be NULL */
/* Removes all entries; calls `progress`, unless it is NULL, every 65536 buckets. */
void hashtableEmpty(hashtable *ht, void (*progress)(hashtable *ht));

/* Lookup. The Hashed forms take hash == hashtableHash(ht, key). O(1), one bucket and one entry touched. */
uint64_t hashtableHash(const hashtable *ht, struct str key);
void *hashtableFind(hashtable *ht, struct str key); /* NULL when absent */
void *hashtableFindHashed(hashtable *ht, struct str key, uint64_t hash);
/* Returns the slot of the entry, in which the pointer may be replaced by another one with the same key;
 * valid until the next change. NULL when absent. See hashtable_ref.h. */
struct hashtableRef *hashtableFindRef(hashtable *ht, struct str key, uint64_t hash);

/* Change. */
bool hashtableAdd(hashtable *ht, void *entry); /* false when the key exists; then unchanged */
void hashtableAddUnchecked(hashtable *ht, void *entry, uint64_t hash); /* the key must be absent */
void *hashtablePop(hashtable *ht, struct str key); /* removed entry, not freed; NULL when absent */
void *hashtablePopHashed(hashtable *ht, struct str key, uint64_t hash);
bool hashtableDelete(hashtable *ht, struct str key); /* removed and freed by entryFree */
/* Work by pointer without comparing keys: the first removes `entry`; the second replaces `old` by `now`
 * (same key, same hash). The pointer must be in the table. `old` may already be freed memory: it is not
 * read. */
void hashtableRemoveEntry(hashtable *ht, const void *entry, uint64_t hash);
void hashtableReplaceEntry(hashtable *ht, const void *old, void *now, uint64_t hash);

/* Size. */
static inline size_t hashtableSize(const hashtable *ht) {
    return ht->used;
}
size_t hashtableSlots(const hashtable *ht);  /* entries that the table could hold at 100% */
size_t hashtableMemory(const hashtable *ht); /* bytes of the bucket arrays and the directory */
/* Presizes the table for n entries, which can then be added without any resize. Ignored when the table has
 * many entries already. */
void hashtableExpand(hashtable *ht, size_t n);
bool hashtableTryExpand(hashtable *ht, size_t n); /* the same, but false if memory is refused */
/* Shrinks the table, or one of its segments, when it is nearly empty; deletes call this, too. Returns
 * false when nothing shrank. */
bool hashtableShrinkIfNeeded(hashtable *ht);
/* Does resizes that were postponed during a fork child's life, for idle time. Returns true while there
 * is more to do. */
bool hashtableResizeMicroseconds(hashtable *ht, uint64_t us);
void hashtablePause(hashtable *ht); /* keeps entries where they are, for iterators and scans; may be nested */
void hashtableResume(hashtable *ht);

/* The policies while there is a fork child: AVOID and FORBID resize only what is almost full, and shrink
 * nothing. */
enum hashtableResizePolicy { HASHTABLE_RESIZE_ALLOW, HASHTABLE_RESIZE_AVOID, HASHTABLE_RESIZE_FORBID };
void hashtableSetResizePolicy(enum hashtableResizePolicy policy);
enum hashtableResizePolicy hashtableResizePolicy(void);
/* Whether iterators, scans and random picks may shrink a table that is nearly empty (the default). Without it
 * they write nothing that another thread, which goes through the table without changing it, reads. */
void hashtableLetReadsShrink(bool let);

/* Passes each bucket array to `move`, which copies it (with the same alignment), frees the old one and
 * returns the copy, or returns NULL when the array stays. */
void hashtableMoveArrays(hashtable *ht, void *(*move)(void *priv, void *ptr), void *priv);

/* Prefetch, in two steps over a batch of keys: first the bucket, later the entry whose tag matches.
 * hashtablePeek reads only the bucket, never an entry; it may return an entry of another key, or NULL. */
void hashtablePrefetchBucket(const hashtable *ht, uint64_t hash);
void *hashtablePeek(const hashtable *ht, uint64_t hash);
/* Prefetches all entries of a table that has few of them, each with its first `bytes` bytes, up to two cache
 * lines. Reads all buckets. */
void hashtablePrefetchEntries(const hashtable *ht, size_t bytes);

/* A descriptor stands for one of many tables, whose struct is probably not in the cache; the caller
 * keeps descriptors together. It leads directly to the bucket, and while the table has a single array, a
 * lookup does not read the struct. It must be taken anew after each call that may resize the table: all
 * functions but finding and replacing.
 *
 *     | buckets: 16 | the array's address: 48 |       0: no array; DESCRIPTOR_LARGE: read the struct */
#define DESCRIPTOR_LARGE 1
static inline uint64_t hashtableDescriptor(const hashtable *ht) {
    if (ht->bits || ht->one.tail || ht->one.buckets > UINT16_MAX) return DESCRIPTOR_LARGE;
    return (uint64_t)ht->one.buckets << 48 | (uintptr_t)ht->one.table;
}
static inline bool hashtableDescriptorIsSingle(uint64_t descriptor) {
    return descriptor >> 48 == 1;
}
/* A position is the hash multiplied by this factor, which is odd. */
static inline uint64_t hashtableSaltFactor(uint64_t salt) {
    return 2 * 0x9e3779b97f4a7c15ULL * salt + 1;
}
/* Like hashtableFindHashed and hashtablePeek, by the descriptor of a single bucket, with the table's
 * type and factor. */
void *hashtableFindSingle(const struct hashtableType *type, uint64_t descriptor, uint64_t salt_factor,
                          struct str key, uint64_t hash);
void *hashtablePeekSingle(uint64_t descriptor, uint64_t salt_factor, uint64_t hash);
/* Like hashtablePrefetchBucket, by a descriptor, which is neither 0 nor DESCRIPTOR_LARGE. The home is
 * computed from the position, with rare rounding errors. */
static inline void hashtablePrefetchByDescriptor(uint64_t descriptor, uint64_t salt_factor, uint64_t hash) {
    uint64_t home = (uint64_t)((unsigned __int128)(hash * salt_factor) * (descriptor >> 48) >> 64);
    __builtin_prefetch((const char *)(uintptr_t)(descriptor << 16 >> 16) + home * 64);
}

/* SCAN starts at cursor 0 and ends when 0 is returned; cursors are below 2^53. Every entry that is in
 * the table during the whole scan is passed to fn at least once; exactly once unless the table shrinks
 * much. fn may delete the entry that it is given, and only that one. A call visits one home bucket in
 * O(1), and may pass nothing. Any number is a harmless cursor. */
typedef void (*hashtableScanFn)(void *priv, void *entry);
uint64_t hashtableScan(hashtable *ht, uint64_t cursor, hashtableScanFn fn, void *priv);

/* The position of a hash in this table: 48 bits, the same whatever size the table takes. */
uint64_t hashtablePosition(const hashtable *ht, uint64_t hash);
/* Passes each entry whose position is from `from` to before `to` to fn, once, with its position, of which
 * only the bits above the lowest `ignored` ones are exact (the others are 0). from and to have 0 there. Reads
 * no entry unless that many bits cannot be known otherwise. fn must not change the table. O(homes in the
 * range); prefetches buckets, not entries. */
typedef void hashtableVisitFn(void *priv, void *entry, uint64_t position);
void hashtableVisit(const hashtable *ht, uint64_t from, uint64_t to, unsigned ignored, hashtableVisitFn *fn,
                    void *priv);

/* Iterator over all entries, each once. SAFE pauses resizing, so that the entry just returned may be
 * deleted and any added (these may or may not be returned). Without SAFE the table must not change. */
struct hashtableIterator {
    hashtable *ht;
    struct hashtableSegment *segment;
    uint32_t left;            /* buckets left in this pass over the segment */
    uint32_t bucket, slot;    /* the current position */
    uint32_t step, near, far; /* distances to the next bucket, and to those that are prefetched */
    uint32_t index, visited,
        pass; /* index of the segment; segments done in this pass over all; passes done */
    bool safe;
};
void hashtableInitIterator(struct hashtableIterator *it, hashtable *ht, bool safe);
bool hashtableNext(struct hashtableIterator *it, void **entry);
void hashtableStopIterator(struct hashtableIterator *it);

/* Random entries; NULL or 0 from an empty table. O(1) expected, also when nearly empty (the table is
 * shrunk first). */
void *hashtableRandomEntry(hashtable *ht); /* quick: entries of crowded buckets are somewhat less likely */
void *hashtableFairRandomEntry(hashtable *ht); /* fair: all entries are equally likely */
/* Removes and returns a fair random entry without freeing it; NULL if the table is empty. */
void *hashtablePopFairRandom(hashtable *ht);
/* Returns up to count neighbours, none twice in one call unless count exceeds the size; returns how
 * many. */
size_t hashtableSample(hashtable *ht, void **dst, size_t count);

/* For tests: segments get `unit` * 4 to 7 buckets, so that few entries make many segments. 0: the normal
 * size. */
void hashtableSetSegmentUnit(uint32_t unit);
/* Returns how many buckets the longest of all lookups visits. Hashes every key. */
uint32_t hashtableLongestProbe(hashtable *ht);
/* DEBUG HTSTATS text, appended to s. */
sds hashtableStats(hashtable *ht, sds s, const char *name);
/* Checks every invariant (counts, tags, overflow counts, reachability); for tests. Asserts on failure. */
void hashtableVerify(hashtable *ht);
