/* hashtable.c - see hashtable.h for the layout and the idea. What the header does not tell:
 *
 * Hash bits:   | .. 56 bits .. | tag: 8 |       Salted:   | position: 48, the home at any size | unused: 16 |
 *
 * The salt stands for an odd factor of the hash: a permutation that keeps nothing of the order. The tag is
 * that of the plain hash.
 *
 * Bucket head, one 64-bit word:   | overflow | tag6 | tag5 | ... | tag0 |   (tag0 in the low byte)
 * so that seven tags are compared at once with ordinary arithmetic.
 *
 * Invariants, checked by hashtableVerify:
 *  - an entry with home h is counted once in the overflow of each bucket that its probe passes;
 *  - while rehashing, the homes of table[0] below rehash_idx have no entries there: table[1] owns them. A
 *    home moves as a whole, with its displaced entries. rehash_idx is 0 when not rehashing, so "home is not
 *    below rehash_idx" alone selects table[0].
 *
 * When tables grow. 7 slots per bucket, limits are fractions of all slots:
 *
 *     7/8       ALLOW starts an incremental growth. A table of one bucket grows when all 7 are taken
 *     15/16     AVOID does
 *     31/32     FORBID does, and from here on it moves entries too: probes get long
 *     127/128   of the smaller table, while not paused: everything moves to a fitting table at once. Keeps a
 *               free slot in every table, whatever moves next
 *
 * A probe goes over the buckets near its home, then over all others in steps of the golden section:
 *
 *     home, +1, +2, +3, home + s, home + 2s, ...      s is about 0.618 n; each bucket once
 *
 * The near ones are cheap. But when one part of the positions has more entries than buckets (a client that
 * knows the order by scanning can choose what to keep), full buckets join to runs as long as that part, and
 * to look behind them one by one would be quadratic; the steps lead to where there is room at once. With c
 * times the entries that are due to it, a home's probes take some c buckets, as a chain would.
 *
 * While paused (iterators, scans) nothing may move. Then a table may fill to 100%, and when that is not
 * enough it is lengthened: its array is copied to a longer one, each entry keeping bucket and slot, the home
 * of a key still being counted in the old number of buckets. The buckets of the tail come last in every
 * probe. Probes are as long as the table by then, so the last resume moves everything to a fitting table. */
#include "ds/hashtable.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "ds/scan_cursor.h"

#define SLOTS         7
#define OVERFLOW_ONE  (1ULL << 56)
#define OVERFLOW_MAX  255
#define TAG_LOW_BITS  0x0001010101010101ULL
#define TAG_HIGH_BITS 0x0080808080808080ULL
#define TAG_ALL_BITS  0x00ffffffffffffffULL

#define SALT_FACTOR 0x9e3779b97f4a7c15ULL

/* A new table is filled to at most this, in percent of the slots. With 72 tables grow by 1.4. Measured with
 * `hashtable_test --bench` (add ns at 100, 1K, 100K entries; mean fill over the sizes; most bytes per entry):
 *     58:  51   65  226   68.3%  18.0        72:  71   83  274   74.3%  14.7
 *     74:  93  115  298   78.4%  13.7        76:  92  109  296   77.7%  14.7     */
#define GROW_FILL   72
#define SHRINK_FILL 50

#define NEAR           4  /* buckets of a probe that are neighbours */
#define STEP_MOST      64 /* homes moved per operation, at most */
#define BATCH_HOMES    8  /* the same where time is no matter */
#define FETCH_ENTRIES  4  /* so many homes ahead of the move are entries fetched, */
#define FETCH_BUCKETS  8  /* and buckets */
#define RANDOM_TRIES   64
#define PROGRESS_EVERY 65536

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct hashtableBucket {
    uint64_t head;
    void *slot[SLOTS];
};
typedef struct hashtableBucket bucket;
_Static_assert(sizeof(bucket) == 64, "a bucket is a cache line");

static enum hashtableResizePolicy resize_policy = HASHTABLE_RESIZE_ALLOW;

/* --- Hash bits and bucket heads --- */

static inline uint64_t salted(const hashtable *ht, uint64_t hash) {
    return hash * (2 * SALT_FACTOR * ht->salt + 1);
}

static inline uint64_t positionIn(uint64_t salted) {
    return salted >> (64 - POSITION_BITS);
}

/* floor(position * n / 2^POSITION_BITS), as the high half of one multiplication. */
static inline uint32_t homeOf(uint64_t salted, uint32_t n) {
    uint64_t position = salted & ~((1ULL << (64 - POSITION_BITS)) - 1);
    return (uint32_t)(((unsigned __int128)position * n) >> 64);
}

/* The smallest position whose home is i (i <= n). */
static inline uint64_t positionOf(uint32_t i, uint32_t n) {
    return (uint64_t)((((unsigned __int128)i << POSITION_BITS) + n - 1) / n);
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

static inline unsigned overflowOf(const bucket *b) {
    return (unsigned)(b->head >> 56);
}

static inline bool isEmptyBucket(const bucket *b) {
    return (b->head & TAG_ALL_BITS) == 0;
}

static inline void setSlot(bucket *b, unsigned i, uint64_t tag, void *entry) {
    b->head |= tag << (8 * i);
    b->slot[i] = entry;
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
    for (uint64_t bits = usedSlots(b->head); bits; bits &= bits - 1) prefetch(b->slot[slotOfBit(bits)]);
}

/* --- Bucket counts --- */

/* The smallest allowed count >= want: 1..8, then four steps per doubling, as the allocator's classes. */
static uint64_t allowedCount(uint64_t want) {
    if (want <= 8) return want ? want : 1;
    unsigned shift = 63 - (unsigned)__builtin_clzll(want - 1) - 2;
    return (((want - 1) >> shift) + 1) << shift;
}

/* The smallest allowed count that n entries fill to at most `num/den` of the slots. */
static uint64_t countFor(size_t n, uint64_t num, uint64_t den) {
    unsigned __int128 slots = ((unsigned __int128)n * den + num - 1) / num;
    unsigned __int128 want = (slots + SLOTS - 1) / SLOTS;
    return want > UINT32_MAX ? UINT64_MAX : allowedCount((uint64_t)want);
}

/* Entries that n buckets may hold at num/den full. */
static inline uint64_t limitOf(uint32_t n, uint64_t num, uint64_t den) {
    return n == 1 ? SLOTS : (uint64_t)n * SLOTS * num / den;
}

static uint64_t limitByPolicy(uint32_t n) {
    switch (resize_policy) {
    case HASHTABLE_RESIZE_ALLOW: return limitOf(n, 7, 8);
    case HASHTABLE_RESIZE_AVOID: return limitOf(n, 15, 16);
    default: return limitOf(n, 31, 32);
    }
}

static __attribute__((noinline, cold)) uint32_t lengthWithTail(uint32_t n, unsigned tail) {
    uint64_t length = n;
    while (tail--) length = allowedCount(length + 1);
    return (uint32_t)length;
}

/* Buckets of the array: the homes and, rarely, the tail. */
static inline uint32_t lengthOf(const hashtable *ht, unsigned t) {
    return likely(!ht->tail[t]) ? ht->buckets[t] : lengthWithTail(ht->buckets[t], ht->tail[t]);
}

/* A step of about 0.618 n that has no factor in common with n, nor has n (an allowed count) others than 2, 3,
 * 5 and 7: so many steps, so many buckets, and at each moment they are spread evenly over the n. */
static uint32_t goldenStep(uint32_t n) {
    uint32_t step = (uint32_t)((uint64_t)n * 618 / 1000) | 1;
    while (n > 2 && (step % 3 == 0 || step % 5 == 0 || step % 7 == 0)) step += 2;
    return step % n ? step % n : 1;
}

/* The order in which buckets are tried for a home; see the top of the file. */
struct probe {
    uint32_t home, at, passed; /* the bucket it is at, how many it has passed */
};

static inline struct probe probeFrom(uint32_t home) {
    return (struct probe){home, home, 0};
}

static __attribute__((noinline)) bool probeFar(const hashtable *ht, unsigned t, struct probe *p) {
    uint32_t n = ht->buckets[t];
    if (p->passed >= n) {
        p->at = p->passed;
        return p->passed < lengthOf(ht, t);
    }
    if (p->passed == NEAR) p->at = p->home;
    uint32_t step = goldenStep(n);
    do p->at = p->at < n - step ? p->at + step : p->at - (n - step);
    while ((p->at < p->home ? p->at + n : p->at) - p->home < NEAR); /* has been there */
    return true;
}

/* On to the next bucket; false when there is none. */
static inline bool probeNext(const hashtable *ht, unsigned t, struct probe *p) {
    uint32_t n = ht->buckets[t];
    if (unlikely(++p->passed >= NEAR || p->passed >= n)) return probeFar(ht, t, p);
    p->at = p->at + 1 < n ? p->at + 1 : 0;
    return true;
}

/* Entries of the smaller table at num/den full: what both tables can take. */
static uint64_t limitOfBoth(const hashtable *ht, uint64_t num, uint64_t den) {
    uint32_t n = ht->buckets[0];
    if (ht->table[1] && ht->buckets[1] < n) n = ht->buckets[1];
    return limitOf(n, num, den);
}

/* --- Arrays --- */

/* Empty buckets. Big arrays come from zcalloc, whose fresh pages need no writing: growing a table of a
 * gigabyte must not stop the server for the time it takes to touch it. jemalloc aligns every class that is a
 * multiple of 64 bytes; for other allocators there is the second way. */
static bucket *newBuckets(uint32_t n) {
    size_t size = (size_t)n * sizeof(bucket);
    if (size >= 65536) {
        void *p = zcalloc(n, sizeof(bucket));
        if (likely(((uintptr_t)p & (sizeof(bucket) - 1)) == 0)) return p;
        zfreeSized(p, size);
    }
    bucket *b = zmallocAligned(sizeof(bucket), size);
    for (uint32_t i = 0; i < n; i++) b[i].head = 0;
    return b;
}

static void freeBuckets(bucket *b, uint32_t n) {
    if (b) zfreeSized(b, (size_t)n * sizeof(bucket));
}

static void forgetTables(hashtable *ht) {
    ht->table[0] = ht->table[1] = NULL;
    ht->buckets[0] = ht->buckets[1] = 0;
    ht->tail[0] = ht->tail[1] = 0;
    ht->rehash_idx = 0;
    ht->used = 0;
}

/* --- Finding --- */

/* The one table that holds this salted hash, and the home in it. */
static inline unsigned ownerOfSalted(const hashtable *ht, uint64_t hash, uint32_t *home) {
    *home = homeOf(hash, ht->buckets[0]);
    if (likely(*home >= ht->rehash_idx)) return 0;
    *home = homeOf(hash, ht->buckets[1]);
    return 1;
}

static inline unsigned ownerOf(const hashtable *ht, uint64_t hash, uint32_t *home) {
    return ownerOfSalted(ht, salted(ht, hash), home);
}

/* The same for a position. */
static inline unsigned ownerAt(const hashtable *ht, uint64_t position, uint32_t *home) {
    return ownerOfSalted(ht, position << (64 - POSITION_BITS), home);
}

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

/* Where an entry sits, and how many buckets its probe passes. */
struct place {
    unsigned table, slot;
    uint32_t home, bucket, passed;
};

static inline void **slotAt(const hashtable *ht, const struct place *p) {
    return &ht->table[p->table][p->bucket].slot[p->slot];
}

/* Looks for the entry with this key, or, when `which` is given, that very pointer, where the probe is. */
static inline __attribute__((always_inline)) bool findInBucket(const hashtable *ht, struct str key,
                                                               const void *which, const bucket *b,
                                                               uint64_t tag, unsigned *slot) {
    for (uint64_t bits = matchTag(b->head, tag); bits; bits &= bits - 1) {
        *slot = slotOfBit(bits);
        if (which ? b->slot[*slot] == which : hasKey(ht, b->slot[*slot], key)) return true;
    }
    return false;
}

static __attribute__((noinline)) bool findBehindHome(const hashtable *ht, struct str key, const void *which,
                                                     uint64_t hash, struct place *p) {
    struct probe probe = probeFrom(p->home);
    while (probeNext(ht, p->table, &probe)) {
        const bucket *b = &ht->table[p->table][probe.at];
        p->bucket = probe.at;
        p->passed = probe.passed;
        if (findInBucket(ht, key, which, b, tagOf(hash), &p->slot)) return true;
        if (!overflowOf(b)) return false;
    }
    return false;
}

/* Inlined for either use; the home bucket is nearly always the right one. */
static inline __attribute__((always_inline)) bool
findPlace(const hashtable *ht, struct str key, const void *which, uint64_t hash, struct place *p) {
    if (unlikely(!ht->table[0])) return false;
    p->table = ownerOf(ht, hash, &p->home);
    const bucket *b = &ht->table[p->table][p->home];
    p->bucket = p->home;
    p->passed = 0;
    if (findInBucket(ht, key, which, b, tagOf(hash), &p->slot)) return true;
    return unlikely(overflowOf(b)) && findBehindHome(ht, key, which, hash, p);
}

/* --- Placing and taking out, in one table --- */

/* Count an entry in the buckets that it passes. */
static void countPassed(const hashtable *ht, unsigned t, uint32_t home, uint32_t passed, int by) {
    struct probe p = probeFrom(home);
    for (; p.passed < passed; probeNext(ht, t, &p)) {
        bucket *b = &ht->table[t][p.at];
        if (overflowOf(b) == OVERFLOW_MAX) continue; /* saturated: no longer known */
        b->head += by > 0 ? OVERFLOW_ONE : -OVERFLOW_ONE;
    }
}

/* Put the entry into the first free slot from its home on; false when the table is full. */
static inline bool placeEntry(hashtable *ht, unsigned t, uint32_t home, uint64_t hash, void *entry) {
    struct probe p = probeFrom(home);
    uint64_t bits;
    while (unlikely((bits = matchTag(ht->table[t][p.at].head, 0)) == 0))
        if (!probeNext(ht, t, &p)) return false;
    setSlot(&ht->table[t][p.at], slotOfBit(bits), tagOf(hash), entry);
    if (unlikely(p.passed)) countPassed(ht, t, home, p.passed, 1);
    return true;
}

static inline void takeOut(hashtable *ht, const struct place *p) {
    clearSlot(&ht->table[p->table][p->bucket], p->slot);
    if (unlikely(p->passed)) countPassed(ht, p->table, p->home, p->passed, -1);
}

/* --- Moving entries --- */

static bool isCrowded(const hashtable *ht) {
    return ht->used + 1 > limitOfBoth(ht, 31, 32);
}

static bool mayMove(const hashtable *ht) {
    if (ht->pause_rehash) return false;
    return resize_policy != HASHTABLE_RESIZE_FORBID || isCrowded(ht);
}

/* Move the entries of the probe's home that sit where the probe is to table[1]. */
static void moveFromBucket(hashtable *ht, const struct probe *from) {
    bucket *b = &ht->table[0][from->at];
    for (uint64_t bits = usedSlots(b->head); bits; bits &= bits - 1) {
        struct place p = {0, slotOfBit(bits), from->home, from->at, from->passed};
        void *entry = b->slot[p.slot];
        uint64_t hash = hashOfEntry(ht, entry), by = salted(ht, hash);
        if (unlikely(homeOf(by, ht->buckets[0]) != from->home)) continue;
        takeOut(ht, &p);
        bool placed = placeEntry(ht, 1, homeOf(by, ht->buckets[1]), hash, entry);
        serverAssert(placed);
    }
}

static void endRehash(hashtable *ht) {
    freeBuckets(ht->table[0], ht->buckets[0]);
    ht->table[0] = ht->table[1];
    ht->buckets[0] = ht->buckets[1];
    ht->table[1] = NULL;
    ht->buckets[1] = 0;
    ht->rehash_idx = 0;
}

/* Fetch ahead, for moves some steps later: what is FETCH_ENTRIES and FETCH_BUCKETS homes ahead of a step over
 * [first, end). No insert waits for memory then: the entries of a home have been on their way for as long as
 * the steps in between took, and so have the buckets that they go to. */
static void prefetchSteps(const hashtable *ht, uint32_t first, uint32_t end) {
    const bucket *old = ht->table[0];
    uint64_t n = ht->buckets[0];
    for (uint64_t i = (uint64_t)first + FETCH_BUCKETS; i < n && i < (uint64_t)end + FETCH_BUCKETS; i++)
        prefetch(&old[i]);
    for (uint64_t i = (uint64_t)first + FETCH_ENTRIES; i < n && i < (uint64_t)end + FETCH_ENTRIES; i++) {
        prefetchEntries(&old[i]);
        prefetch(&ht->table[1][i * ht->buckets[1] / n]);
    }
}

/* Those of its entries that are elsewhere are counted in the home bucket, which is down to 0 when the last
 * one is found, unless others have passed it, too. */
static void moveHome(hashtable *ht, uint32_t home) {
    const bucket *old = ht->table[0];
    struct probe p = probeFrom(home);
    do moveFromBucket(ht, &p);
    while (overflowOf(&old[home]) && overflowOf(&old[p.at]) && probeNext(ht, 0, &p));
}

static void moveHomes(hashtable *ht, uint32_t homes) {
    uint32_t first = ht->rehash_idx, n = ht->buckets[0];
    uint32_t end = n - first < homes ? n : first + homes;
    for (uint32_t i = first; i < end; i++) prefetchEntries(&ht->table[0][i]);
    for (uint32_t i = first; i < end; i++) moveHome(ht, i);
    ht->rehash_idx = end;
    if (end == n)
        endRehash(ht);
    else
        prefetchSteps(ht, first, end);
}

/* How many more operations the move may take: until the new table has to be left, too, and until what remains
 * in a table that is too small gets long probes. */
static uint64_t operationsLeft(const hashtable *ht) {
    uint64_t used = ht->used, full = limitOf(ht->buckets[1], 7, 8), sparse = limitOf(ht->buckets[1], 1, 8);
    uint64_t crowded = limitOf(ht->buckets[0], 31, 32);
    if (crowded < full) full = crowded;
    uint64_t adds = full > used ? full - used : 0, deletes = used > sparse ? used - sparse : 0;
    return adds < deletes ? adds : deletes;
}

/* The share of one operation: as many homes as end after half of the time that there is, for two tables take
 * twice the memory as long as it lasts; mostly three. */
static __attribute__((noinline)) void rehashStep(hashtable *ht) {
    if (!mayMove(ht)) return;
    uint64_t homes = 2 * (uint64_t)(ht->buckets[0] - ht->rehash_idx) / (operationsLeft(ht) + 1);
    moveHomes(ht, homes < 1 ? 1 : homes > STEP_MOST ? STEP_MOST : (uint32_t)homes);
}

static inline void stepIfRehashing(hashtable *ht) {
    if (unlikely(ht->table[1] != NULL)) rehashStep(ht);
}

static void startRehash(hashtable *ht, uint64_t n) {
    serverAssert(n <= UINT32_MAX && !ht->table[1] && !ht->tail[0]);
    ht->table[1] = newBuckets((uint32_t)n);
    ht->buckets[1] = (uint32_t)n;
    ht->rehash_idx = 0;
}

/* Move everything to one new table of n buckets, now. */
static void rebuild(hashtable *ht, uint64_t n) {
    serverAssert(n <= UINT32_MAX && !ht->pause_rehash);
    hashtable fresh = *ht;
    forgetTables(&fresh);
    fresh.table[0] = newBuckets((uint32_t)n);
    fresh.buckets[0] = (uint32_t)n;
    fresh.used = ht->used;
    for (unsigned t = 0; t < 2 && ht->table[t]; t++) {
        bucket *table = ht->table[t];
        uint32_t length = lengthOf(ht, t);
        for (uint32_t i = 0; i < length; i++) {
            if (i + 1 < length) prefetchEntries(&table[i + 1]);
            for (uint64_t bits = usedSlots(table[i].head); bits; bits &= bits - 1) {
                void *entry = table[i].slot[slotOfBit(bits)];
                uint64_t hash = hashOfEntry(ht, entry);
                uint32_t home = homeOf(salted(ht, hash), (uint32_t)n);
                bool placed = placeEntry(&fresh, 0, home, hash, entry);
                serverAssert(placed);
            }
        }
        freeBuckets(table, length);
    }
    *ht = fresh;
}

/* --- Growing and shrinking --- */

/* Before an add, when the table is absent, rehashing or over the limit. Afterwards there is a free slot in
 * the table that gets the entry, unless paused. */
static __attribute__((noinline)) void makeRoom(hashtable *ht) {
    if (!ht->table[0]) {
        ht->table[0] = newBuckets(1);
        ht->buckets[0] = 1;
        return;
    }
    if (ht->pause_rehash) return;
    if (ht->table[1]) rehashStep(ht);
    if (!ht->table[1] && ht->used + 1 > limitByPolicy(ht->buckets[0])) {
        startRehash(ht, countFor(ht->used + 1, GROW_FILL, 100));
        rehashStep(ht);
    }
    if (ht->table[1] && ht->used + 1 > limitOfBoth(ht, 127, 128))
        rebuild(ht, countFor(ht->used + 1, GROW_FILL, 100));
}

static inline void prepareAdd(hashtable *ht) {
    if (unlikely(ht->table[1] || ht->used >= limitOf(ht->buckets[0], 7, 8))) makeRoom(ht);
}

/* A full table of a paused hashtable gets a tail; see the top of the file. */
static __attribute__((noinline, cold)) void lengthen(hashtable *ht, unsigned t) {
    serverAssert(ht->pause_rehash && ht->tail[t] < UINT8_MAX - 1);
    uint32_t length = lengthOf(ht, t);
    bucket *table = newBuckets(lengthWithTail(length, 2));
    memcpy(table, ht->table[t], length * sizeof(bucket));
    freeBuckets(ht->table[t], length);
    ht->table[t] = table;
    ht->tail[t] += 2;
}

static void insertEntry(hashtable *ht, void *entry, uint64_t hash) {
    uint32_t home;
    unsigned t = ownerOf(ht, hash, &home);
    while (unlikely(!placeEntry(ht, t, home, hash, entry))) lengthen(ht, t);
    ht->used++;
}

static bool isSparse(const hashtable *ht) {
    return ht->buckets[0] > 1 && ht->used < limitOf(ht->buckets[0], 1, 8);
}

/* After the last resume: do what had to wait. */
static void settle(hashtable *ht) {
    bool overfull = ht->used && ht->used > limitOfBoth(ht, 127, 128);
    if (ht->tail[0] || ht->tail[1] || overfull) rebuild(ht, countFor(ht->used, GROW_FILL, 100));
    if (unlikely(isSparse(ht))) hashtableShrinkIfNeeded(ht);
}

static void *popPlace(hashtable *ht, const struct place *p) {
    void *entry = *slotAt(ht, p);
    takeOut(ht, p);
    ht->used--;
    if (unlikely(isSparse(ht))) hashtableShrinkIfNeeded(ht);
    return entry;
}

/* Presize for n; with `try`, only if the allocator agrees. */
static bool expand(hashtable *ht, size_t n, bool try) {
    if (n < ht->used) n = ht->used;
    unsigned last = ht->table[1] ? 1 : 0;
    if (!n || n <= limitOf(ht->buckets[last], 7, 8)) return true;
    uint64_t count = countFor(n, 7, 8);
    if (n <= SLOTS) count = 1;
    if (count > UINT32_MAX) {
        serverAssert(try);
        return false;
    }
    if (try) {
        /* There is no aligned allocation that may fail, so ask with one that may. */
        void *p = ztrymalloc(count * sizeof(bucket));
        if (!p) return false;
        zfreeSized(p, count * sizeof(bucket));
    }
    if (!ht->table[0]) {
        ht->table[0] = newBuckets((uint32_t)count);
        ht->buckets[0] = (uint32_t)count;
    } else if (ht->pause_rehash) {
        return true; /* a wish only: the adds to come find their room anyway */
    } else if (!ht->used || ht->table[1]) {
        rebuild(ht, count);
    } else {
        startRehash(ht, count);
    }
    return true;
}

/* --- Walking the buckets of both tables --- */

/* Step to the next bucket, cyclic over both tables. */
static inline void stepAround(const hashtable *ht, unsigned *t, uint32_t *b) {
    if (++*b < lengthOf(ht, *t)) return;
    *b = 0;
    if (ht->table[1]) *t ^= 1;
}

/* A bucket where a hash drawn at random would be. */
static bucket *randomBucket(const hashtable *ht, unsigned *t, uint32_t *b) {
    *t = ownerOf(ht, randomU64(), b);
    return &ht->table[*t][*b];
}

static void *randomOfBucket(const bucket *b) {
    uint64_t bits = usedSlots(b->head);
    uint64_t skip = randomBelow((unsigned)__builtin_popcountll(bits));
    while (skip--) bits &= bits - 1;
    return b->slot[slotOfBit(bits)];
}

/* Before random picks: a table that lost most of its entries while it could not shrink makes up for it. */
static void hurryShrink(hashtable *ht) {
    if (likely(!isSparse(ht))) return;
    hashtableShrinkIfNeeded(ht);
    hashtableRehashSteps(ht, 512);
}

static void freeEntries(const hashtable *ht, const bucket *b, const bucket *next) {
    if (next) prefetchEntries(next);
    for (uint64_t bits = usedSlots(b->head); bits; bits &= bits - 1)
        ht->type->entryFree(b->slot[slotOfBit(bits)]);
}

/* --- Scanning --- */

/* Positions that one call of a scan looks at: a home's, or the part of them that is in the stripe. */
struct scanPart {
    unsigned table;
    uint32_t home;
    uint64_t from, to;
};

static struct scanPart partAt(const hashtable *ht, const struct scanCursor *c) {
    struct scanPart p = {.from = c->position, .to = scanStripeEnd(c)};
    p.table = ownerAt(ht, p.from, &p.home);
    uint32_t n = ht->buckets[p.table];
    uint64_t end = positionOf(p.home + 1, n);
    /* The home in table[1] may reach into the part that table[0] still owns. */
    if (p.table == 1) {
        uint64_t border = positionOf(ht->rehash_idx, ht->buckets[0]);
        if (end > border) end = border;
    }
    if (end < p.to) p.to = end;
    return p;
}

/* Emit the entries of a part, which are where the probes of the home lead. */
static void emitPart(hashtable *ht, const struct scanPart *p, hashtableScanFn fn, void *priv) {
    const bucket *b;
    struct probe probe = probeFrom(p->home);
    do {
        b = &ht->table[p->table][probe.at];
        prefetchEntries(b);
        for (uint64_t bits = usedSlots(b->head); bits; bits &= bits - 1) {
            void *entry = b->slot[slotOfBit(bits)];
            uint64_t position = positionIn(salted(ht, hashOfEntry(ht, entry)));
            if (position >= p->from && position < p->to) fn(priv, entry);
        }
    } while (overflowOf(b) && probeNext(ht, p->table, &probe));
}

/* For the calls to come: the entries of the next part, whose bucket the call before has fetched, and the
 * bucket of the one after it. */
static void prefetchParts(const hashtable *ht, struct scanCursor c) {
    struct scanPart p = partAt(ht, &c);
    prefetchEntries(&ht->table[p.table][p.home]);
    if (!scanCursorAdvance(&c, p.to)) return;
    p.table = ownerAt(ht, c.position, &p.home);
    prefetch(&ht->table[p.table][p.home]);
}

/* --- Verifying --- */

/* Check the entries of table t; returns their number. */
static size_t verifyTable(hashtable *ht, unsigned t) {
    uint32_t length = lengthOf(ht, t), home;
    uint32_t *passed = zcalloc(length, sizeof(*passed));
    size_t entries = 0;
    serverAssert(((uintptr_t)ht->table[t] & (sizeof(bucket) - 1)) == 0);
    serverAssert(allowedCount(ht->buckets[t]) == ht->buckets[t]);
    for (uint32_t i = 0; i < length; i++) {
        const bucket *b = &ht->table[t][i];
        for (unsigned s = 0; s < SLOTS; s++) {
            uint64_t tag = (b->head >> (8 * s)) & 0xff;
            if (!tag) continue;
            entries++;
            struct str key = keyOf(ht, b->slot[s]);
            uint64_t hash = hashOfKey(ht, key);
            serverAssert(tag == tagOf(hash));
            serverAssert(ownerOf(ht, hash, &home) == t);
            struct place p;
            bool found = findPlace(ht, key, NULL, hash, &p);
            serverAssert(found && p.table == t && p.bucket == i && p.slot == s);
            struct probe q = probeFrom(home);
            for (; q.at != i; probeNext(ht, t, &q)) passed[q.at]++;
            serverAssert(q.passed == p.passed);
        }
    }
    for (uint32_t i = 0; i < length; i++) {
        unsigned count = overflowOf(&ht->table[t][i]);
        serverAssert(count == OVERFLOW_MAX || count == passed[i]);
    }
    zfree(passed);
    return entries;
}

/* --- Life --- */

void hashtableInit(hashtable *ht, const struct hashtableType *type) {
    memset(ht, 0, sizeof(*ht));
    ht->type = type;
    ht->salt = randomU64() >> 40;
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

/* The table is empty for everybody before the first entry is freed: callbacks may use it. */
void hashtableEmpty(hashtable *ht, void (*progress)(hashtable *ht)) {
    hashtable old = *ht;
    forgetTables(ht);
    uint64_t seen = 0;
    for (unsigned t = 0; t < 2 && old.table[t]; t++) {
        uint32_t length = lengthOf(&old, t);
        for (uint32_t i = 0; old.type->entryFree && old.used && i < length; i++) {
            freeEntries(&old, &old.table[t][i], i + 1 < length ? &old.table[t][i + 1] : NULL);
            if (progress && ++seen % PROGRESS_EVERY == 0) progress(ht);
        }
        freeBuckets(old.table[t], length);
    }
}

/* --- Lookup --- */

uint64_t hashtableHash(const hashtable *ht, struct str key) {
    return hashOfKey(ht, key);
}

void *hashtableFind(hashtable *ht, struct str key) {
    if (!ht->used) return NULL;
    return hashtableFindHashed(ht, key, hashOfKey(ht, key));
}

void *hashtableFindHashed(hashtable *ht, struct str key, uint64_t hash) {
    struct place p;
    stepIfRehashing(ht);
    return findPlace(ht, key, NULL, hash, &p) ? *slotAt(ht, &p) : NULL;
}

void **hashtableFindRef(hashtable *ht, struct str key, uint64_t hash) {
    struct place p;
    stepIfRehashing(ht);
    return findPlace(ht, key, NULL, hash, &p) ? slotAt(ht, &p) : NULL;
}

/* --- Change --- */

bool hashtableAdd(hashtable *ht, void *entry) {
    struct str key = keyOf(ht, entry);
    uint64_t hash = hashOfKey(ht, key);
    struct place p;
    if (findPlace(ht, key, NULL, hash, &p)) return false;
    hashtableAddUnchecked(ht, entry, hash);
    return true;
}

void hashtableAddUnchecked(hashtable *ht, void *entry, uint64_t hash) {
    prepareAdd(ht);
    insertEntry(ht, entry, hash);
}

void *hashtablePop(hashtable *ht, struct str key) {
    if (!ht->used) return NULL;
    return hashtablePopHashed(ht, key, hashOfKey(ht, key));
}

void *hashtablePopHashed(hashtable *ht, struct str key, uint64_t hash) {
    struct place p;
    stepIfRehashing(ht);
    return findPlace(ht, key, NULL, hash, &p) ? popPlace(ht, &p) : NULL;
}

bool hashtableDelete(hashtable *ht, struct str key) {
    void *entry = hashtablePop(ht, key);
    if (!entry) return false;
    if (ht->type->entryFree) ht->type->entryFree(entry);
    return true;
}

void hashtableRemoveEntry(hashtable *ht, const void *entry, uint64_t hash) {
    struct place p;
    bool found = findPlace(ht, strN(NULL, 0), entry, hash, &p);
    serverAssert(found);
    popPlace(ht, &p);
    stepIfRehashing(ht);
}

/* Moves no entries: `old` may be freed, and moving would hash it. */
void hashtableReplaceEntry(hashtable *ht, const void *old, void *now, uint64_t hash) {
    struct place p;
    bool found = findPlace(ht, strN(NULL, 0), old, hash, &p);
    serverAssert(found);
    *slotAt(ht, &p) = now;
}

/* --- Size --- */

size_t hashtableSlots(const hashtable *ht) {
    return ((size_t)lengthOf(ht, 0) + lengthOf(ht, 1)) * SLOTS;
}

size_t hashtableMemory(const hashtable *ht) {
    return ((size_t)lengthOf(ht, 0) + lengthOf(ht, 1)) * sizeof(bucket);
}

size_t hashtableRehashingMemory(const hashtable *ht) {
    return hashtableIsRehashing(ht) ? (size_t)lengthOf(ht, 0) * sizeof(bucket) : 0;
}

void hashtableExpand(hashtable *ht, size_t n) {
    expand(ht, n, false);
}

bool hashtableTryExpand(hashtable *ht, size_t n) {
    return expand(ht, n, true);
}

bool hashtableShrinkIfNeeded(hashtable *ht) {
    if (!isSparse(ht) || ht->pause_rehash || resize_policy != HASHTABLE_RESIZE_ALLOW) return false;
    if (!ht->used) {
        for (unsigned t = 0; t < 2; t++) freeBuckets(ht->table[t], lengthOf(ht, t));
        forgetTables(ht);
        return true;
    }
    if (ht->table[1]) return false;
    startRehash(ht, countFor(ht->used, SHRINK_FILL, 100));
    return true;
}

/* --- Rehashing --- */

void hashtableRehashSteps(hashtable *ht, size_t buckets) {
    while (buckets && ht->table[1] && mayMove(ht)) {
        uint32_t homes = buckets < BATCH_HOMES ? (uint32_t)buckets : BATCH_HOMES;
        moveHomes(ht, homes);
        buckets -= homes;
    }
}

bool hashtableRehashMicroseconds(hashtable *ht, uint64_t us) {
    int64_t end = monotonicUs() + (int64_t)us;
    do {
        if (!ht->table[1] || !mayMove(ht)) return false;
        hashtableRehashSteps(ht, 128);
    } while (monotonicUs() < end);
    return ht->table[1] != NULL;
}

void hashtablePauseRehash(hashtable *ht) {
    ht->pause_rehash++;
    serverAssert(ht->pause_rehash);
}

void hashtableResumeRehash(hashtable *ht) {
    serverAssert(ht->pause_rehash);
    if (--ht->pause_rehash == 0) settle(ht);
}

void hashtableSetResizePolicy(enum hashtableResizePolicy policy) {
    resize_policy = policy;
}

void hashtableMoveArrays(hashtable *ht, void *(*move)(void *priv, void *ptr), void *priv) {
    for (int i = 0; i < 2; i++) {
        bucket *now = ht->table[i] ? move(priv, ht->table[i]) : NULL;
        if (now) ht->table[i] = now;
    }
}

enum hashtableResizePolicy hashtableResizePolicy(void) {
    return resize_policy;
}

/* --- Prefetch --- */

void hashtablePrefetchBucket(const hashtable *ht, uint64_t hash) {
    if (!ht->table[0]) return;
    uint32_t home;
    unsigned t = ownerOf(ht, hash, &home);
    prefetch(&ht->table[t][home]);
}

static __attribute__((noinline)) void *peekBehindHome(const hashtable *ht, unsigned t, uint32_t home,
                                                      uint64_t hash) {
    struct probe p = probeFrom(home);
    while (probeNext(ht, t, &p)) {
        const bucket *b = &ht->table[t][p.at];
        uint64_t bits = matchTag(b->head, tagOf(hash));
        if (bits) return b->slot[slotOfBit(bits)];
        if (!overflowOf(b)) return NULL;
    }
    return NULL;
}

void *hashtablePeek(const hashtable *ht, uint64_t hash) {
    if (!ht->table[0]) return NULL;
    uint32_t home;
    unsigned t = ownerOf(ht, hash, &home);
    const bucket *b = &ht->table[t][home];
    uint64_t bits = matchTag(b->head, tagOf(hash));
    if (likely(bits)) return b->slot[slotOfBit(bits)];
    return unlikely(overflowOf(b)) ? peekBehindHome(ht, t, home, hash) : NULL;
}

/* --- Walking --- */

uint64_t hashtableScan(hashtable *ht, uint64_t cursor, hashtableScanFn fn, void *priv) {
    if (!ht->used || cursor >= SCAN_CURSOR_END) return 0;
    struct scanCursor c = scanCursorRead(cursor, ht->buckets[ht->table[1] ? 1 : 0]);
    struct scanPart p = partAt(ht, &c);
    bool more = scanCursorAdvance(&c, p.to);
    if (more) prefetchParts(ht, c);
    hashtablePauseRehash(ht);
    emitPart(ht, &p, fn, priv);
    hashtableResumeRehash(ht);
    stepIfRehashing(ht);
    return more && ht->used ? scanCursorNumber(&c) : 0;
}

/* Walk over the buckets of table t in golden steps: what has been passed is spread evenly over the table at
 * each moment, and so is what has not. So a table that is emptied in the order of a listing can shrink, and
 * one that is filled in the order of another one fills evenly, whatever their sizes. */
static void walkTable(struct hashtableIterator *it, unsigned t) {
    uint32_t n = lengthOf(it->ht, t);
    it->table = t;
    it->left = it->length = n;
    it->bucket = it->slot = 0;
    if (!n) return;
    it->step = goldenStep(n);
    it->near = (uint32_t)((uint64_t)it->step * FETCH_ENTRIES % n);
    it->far = (uint32_t)((uint64_t)it->step * FETCH_BUCKETS % n);
}

static inline uint32_t bucketAhead(const struct hashtableIterator *it, uint32_t by) {
    uint64_t i = (uint64_t)it->bucket + by;
    return (uint32_t)(i < it->length ? i : i - it->length);
}

void hashtableInitIterator(struct hashtableIterator *it, hashtable *ht, bool safe) {
    *it = (struct hashtableIterator){.ht = ht, .safe = safe};
    if (safe) hashtablePauseRehash(ht);
    walkTable(it, 0);
}

/* A tail that the table gets meanwhile is not walked: what is in it has been added since. */
bool hashtableNext(struct hashtableIterator *it, void **entry) {
    const hashtable *ht = it->ht;
    for (;;) {
        if (!it->left) {
            if (it->table == 1 || !ht->table[1]) return false;
            walkTable(it, 1);
        }
        const bucket *table = ht->table[it->table], *b = &table[it->bucket];
        if (it->slot == 0) {
            prefetch(&table[bucketAhead(it, it->far)]);
            prefetchEntries(&table[bucketAhead(it, it->near)]);
        }
        while (it->slot < SLOTS) {
            unsigned s = it->slot++;
            if (!((b->head >> (8 * s)) & 0xff)) continue;
            *entry = b->slot[s];
            return true;
        }
        it->bucket = bucketAhead(it, it->step);
        it->left--;
        it->slot = 0;
    }
}

void hashtableStopIterator(struct hashtableIterator *it) {
    if (it->safe) hashtableResumeRehash(it->ht);
    it->safe = false;
}

/* --- Random entries --- */

void *hashtableRandomEntry(hashtable *ht) {
    if (!ht->used) return NULL;
    hurryShrink(ht);
    unsigned t;
    uint32_t i;
    bucket *b = NULL;
    for (unsigned try = 0; try < RANDOM_TRIES; try++) {
        b = randomBucket(ht, &t, &i);
        if (!isEmptyBucket(b)) return randomOfBucket(b);
    }
    while (isEmptyBucket(b)) {
        stepAround(ht, &t, &i);
        b = &ht->table[t][i];
    }
    return randomOfBucket(b);
}

/* Slots are drawn until one is in use, so all entries are exactly as likely. */
void *hashtableFairRandomEntry(hashtable *ht) {
    if (!ht->used) return NULL;
    hurryShrink(ht);
    uint32_t length0 = lengthOf(ht, 0);
    uint64_t length = (uint64_t)length0 + lengthOf(ht, 1);
    if (length == 1) return randomOfBucket(ht->table[0]);
    for (unsigned try = 0; try < 4 * RANDOM_TRIES; try++) {
        uint64_t r = randomBelow(length * SLOTS), i = r / SLOTS;
        const bucket *b = i < length0 ? &ht->table[0][i] : &ht->table[1][i - length0];
        if ((b->head >> (8 * (r % SLOTS))) & 0xff) return b->slot[r % SLOTS];
    }
    return hashtableRandomEntry(ht);
}

/* One walk around both tables at most, from a random bucket. */
size_t hashtableSample(hashtable *ht, void **dst, size_t count) {
    if (!ht->used || !count) return 0;
    hurryShrink(ht);
    size_t n = 0;
    unsigned t, start_t;
    uint32_t i, start;
    randomBucket(ht, &start_t, &start);
    t = start_t;
    i = start;
    do {
        const bucket *b = &ht->table[t][i];
        for (uint64_t bits = usedSlots(b->head); bits && n < count; bits &= bits - 1) {
            dst[n] = b->slot[slotOfBit(bits)];
            prefetch(dst[n++]);
        }
        stepAround(ht, &t, &i);
    } while (n < count && (t != start_t || i != start));
    return n;
}

/* --- Inspection --- */

sds hashtableStats(hashtable *ht, sds s, const char *name) {
    if (!ht->table[0]) return sdscatprintf(s, "%s: empty, no table\n", name);
    for (unsigned t = 0; t < 2 && ht->table[t]; t++) {
        uint32_t length = lengthOf(ht, t);
        uint64_t entries = 0, overflowing = 0, by_fill[SLOTS + 1] = {0};
        for (uint32_t i = 0; i < length; i++) {
            const bucket *b = &ht->table[t][i];
            unsigned fill = (unsigned)__builtin_popcountll(usedSlots(b->head));
            entries += fill;
            by_fill[fill]++;
            overflowing += overflowOf(b) != 0;
        }
        s = sdscatprintf(s, "Hash table %u stats (%s%s):\n", t, name, t ? ", rehashing target" : "");
        s = sdscatprintf(s, " table size: %llu\n", (unsigned long long)length * SLOTS);
        s = sdscatprintf(s, " number of elements: %llu\n", (unsigned long long)entries);
        s = sdscatprintf(s, " buckets: %u, moved: %u, overflowing: %llu, bytes: %llu\n", length,
                         t ? 0 : ht->rehash_idx, (unsigned long long)overflowing,
                         (unsigned long long)length * sizeof(bucket));
        for (unsigned f = 0; f <= SLOTS; f++)
            s = sdscatprintf(s, " buckets with %u elements: %llu (%.2f%%)\n", f,
                             (unsigned long long)by_fill[f], 100.0 * (double)by_fill[f] / length);
    }
    return s;
}

uint32_t hashtableLongestProbe(hashtable *ht) {
    uint32_t longest = 0;
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, ht, false);
    while (hashtableNext(&it, &entry)) {
        struct place p;
        bool found = findPlace(ht, strN(NULL, 0), entry, hashOfEntry(ht, entry), &p);
        serverAssert(found);
        if (p.passed >= longest) longest = p.passed + 1;
    }
    return longest;
}

void hashtableVerify(hashtable *ht) {
    serverAssert((ht->table[0] != NULL) == (ht->buckets[0] != 0));
    serverAssert((ht->table[1] != NULL) == (ht->buckets[1] != 0));
    serverAssert(ht->table[0] || (!ht->table[1] && !ht->used));
    serverAssert(ht->table[1] ? ht->rehash_idx < ht->buckets[0] : ht->rehash_idx == 0);
    serverAssert(ht->pause_rehash || (!ht->tail[0] && !ht->tail[1]));
    serverAssert(ht->pause_rehash || !ht->used || ht->used <= limitOfBoth(ht, 127, 128));
    size_t entries = 0;
    for (unsigned t = 0; t < 2 && ht->table[t]; t++) entries += verifyTable(ht, t);
    serverAssert(entries == ht->used);
}
