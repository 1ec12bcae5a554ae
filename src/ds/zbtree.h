/* SPDX-License-Identifier: BSD-3-Clause */
/* zbtree.h - ordered index of a sorted set: a packed B+ tree with order statistics, which also finds
 * members.
 *
 *                  zbtree                       | root first last length .. | one leaf, or the member map |
 *                    |
 *              inner | counts | separators | children |                      counts: elements below a child
 *                    /                  \
 *     leaf | fp fp fp .. | slot slot .. |   free   | .. bytes bytes | <-> leaf <-> leaf
 *            one byte      score, offset             members
 *
 * Leaves. An element of a leaf is spread over three columns, in the order of the set:
 *
 *     fp      1 byte    of the member's hash; 32 are compared at once (AVX2), or 8 (plain C)
 *     slot    2 bytes   where the member is, from the end of the leaf
 *             w bytes   the score: w = 1, 2, 4: an unsigned number to add to the leaf's base, when all scores
 *                       of the leaf are integers near enough to each other, or so many tenths, hundredths ..
 *                       (the leaf's scale); w = 5, 6, 7: the same with the doubles' bits as numbers
 *                       (neighbours in a large set differ in the lower ones only);
 *                       w = 8: the double itself; w = 10: the double and its rest (zscore.h), when a score of
 *                       the leaf has one
 *     bytes   1 + len   length and member, in no order; from 255 bytes on: 255 and a pointer
 *
 * Inserting moves fp and slots of the elements behind, a few hundred bytes, and no members. Bytes of
 * erased members are garbage until the leaf is rebuilt. Leaves differ in size: they grow and shrink by
 * the allocator's classes, so they are nine tenths full on average, whatever the order of insertion.
 * They grow up to LEAF_USUAL bytes, leaves of few long elements up to LEAF_MAX. A full leaf is split in
 * the middle; at the ends of the set it stays full, and a new one begins.
 *
 * Inner nodes. Separators are lower bounds, not copies of keys: all scores left of it <= separator <=
 * all scores at and right of it. Only splits set them; neither inserting nor erasing ever has to change
 * one. Equal scores are decided by the first member of the child in question.
 *
 * Members. A set of up to MAP_LEAVES leaves has no index of members: their fp are scanned. Larger ones
 * have a map from hash to leaf: buckets of one cache line, 15 tags and 15 leaf numbers (zbtree_map.c).
 * An entry takes 4 bytes and has neither member nor score: it only says in which leaf to search for the
 * fp.
 *
 * Bytes, for members `member:<i>` scored i (sizes are allocator classes):
 *
 *     129 elements   elements 129 * (1 fp + 2 offset + 1 score + 1 length + 9.15)      1825
 *                    fp rounded up to 16, leaf header 48, tree 48                        111 -> class 2048
 *                                                                           15.9 per member
 *     1M in order    1 + 2 + 1 + 1 + 12.9 = 17.9; headers, inner nodes                 18.7 per member
 *                    map: 64 / 15 bytes at 52% .. 87% fill, one part of 8 twice    5.9 .. 7.7
 *                                                                           24.6 .. 26.4
 *     1M at random   leaves 90% full                                                   20.7
 *                    map                                                           5.9 .. 7.7
 *                                                                           26.6 .. 28.4
 *
 * Doubles at random add 4 to 6 bytes (5 or 6 for the score, and leaves have fewer elements); scores with up
 * to six decimals as people write them, such as 19.99, add 1 to 3.
 *
 * Order: score ascending, then member bytes by memcmp. NaN is not allowed. Members are unique: the
 * caller searches before inserting. Hashes are hashBytes() of the member; the caller passes them, since
 * it may have computed them already. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "ds/zskiplist.h" /* for the ranges, and struct zsetItem */

typedef struct zbtree zbtree;
struct zbtInner;

/* ---- Leaves: public only so that reading an element needs no call ---- */

struct zbtLeaf {
    struct zbtLeaf *prev, *next;
    struct zbtInner *parent;
    int64_t base; /* of the scores, in units (of their ordinals for widths 5 to 7); unused from width 8 on */
    uint32_t id : 28;   /* leaf number in the map; 0 without a map */
    uint32_t scale : 4; /* scores of 1, 2 or 4 bytes are in units of 10^-scale; 0 for the others */
    uint16_t heap;      /* bytes of members, at the end, with garbage */
    uint16_t garbage;   /* bytes of erased members */
    uint16_t hole;      /* offset of an erased member that may be written over; 0: none */
    uint16_t size;      /* bytes of the whole leaf */
    uint8_t count;      /* elements */
    uint8_t cap;        /* length of the fp column; a multiple of 16 */
    uint8_t width;      /* bytes of a score */
    uint8_t table : 1;  /* the table of the map that has its members */
    uint8_t epoch : 7;  /* that of the tree when the leaf was made, or last passed by a walk */
    uint8_t fp[];
};
_Static_assert(offsetof(struct zbtLeaf, fp) == 48, "no padding");

/* An element: valid until the next change of the tree. leaf NULL: none. */
struct zbtPos {
    struct zbtLeaf *leaf;
    unsigned slot;
};

#define ZBT_INLINE_MAX 254 /* longer members are allocated by themselves */
struct zbtBig {
    size_t len;
    char bytes[];
};

#define ZBT_INLINE static inline __attribute__((always_inline))

ZBT_INLINE uint8_t *zbtSlot(const struct zbtLeaf *l, unsigned i) {
    return (uint8_t *)l->fp + l->cap + (size_t)i * (2u + l->width);
}
/* Maps a double to a number in the same order, except that -0 is less than 0. */
ZBT_INLINE int64_t zbtOrdinal(double score) {
    int64_t bits;
    memcpy(&bits, &score, 8);
    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}
ZBT_INLINE double zbtOfOrdinal(int64_t ordinal) {
    double score;
    ordinal ^= (int64_t)((uint64_t)(ordinal >> 63) >> 1);
    memcpy(&score, &ordinal, 8);
    return score;
}
/* Returns the lower `width` bytes at p as a number; the bytes after them belong to other columns. */
ZBT_INLINE uint64_t zbtLowBytes(const uint8_t *p, unsigned width) {
    uint64_t x;
    memcpy(&x, p, 8);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x & UINT64_MAX >> (64 - 8 * width);
}
/* Returns the score for widths other than 1, 2 and 4. */
ZBT_INLINE double zbtWideScoreIn(const uint8_t *slot, unsigned width, int64_t base) {
    double score;
    if (width < 8) return zbtOfOrdinal((int64_t)((uint64_t)base + zbtLowBytes(slot + 2, width)));
    memcpy(&score, slot + 2, 8);
    return score;
}
#define ZBT_WIDTH_EXACT 10 /* of a score with a rest */
ZBT_INLINE int zbtRestIn(const uint8_t *slot, unsigned width) {
    int16_t rest;
    if (__builtin_expect(width != ZBT_WIDTH_EXACT, 1)) return 0;
    memcpy(&rest, slot + 10, sizeof rest);
    return rest;
}
/* Returns a score of less than 8 bytes as it is stored. */
ZBT_INLINE uint64_t zbtAboveIn(const uint8_t *slot, unsigned width) {
    uint32_t above;
    uint16_t above2;
    if (width > 4) return zbtLowBytes(slot + 2, width);
    if (width == 1) return slot[2];
    memcpy(&above2, slot + 2, 2);
    if (width == 2) return above2;
    memcpy(&above, slot + 2, 4);
    return above;
}
static const uint32_t zbt_masks[5] = {0, 0xff, 0xffff, 0, 0xffffffff};
/* The units in 1, by scale. A quotient of an integer and such a power is the double nearest to the decimal,
 * which is what parsing its text gives. */
#define ZBT_SCALES 7
static const double zbt_units[ZBT_SCALES] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
/* Returns the score in a slot, without its rest. The bytes after a short score belong to other columns. */
ZBT_INLINE double zbtScoreIn(const struct zbtLeaf *l, const uint8_t *slot) {
    uint32_t above;
    if (__builtin_expect(l->width > 4, 0)) return zbtWideScoreIn(slot, l->width, l->base);
    memcpy(&above, slot + 2, 4);
    double units = (double)(l->base + (above & zbt_masks[l->width]));
    return __builtin_expect(l->scale, 0) ? units / zbt_units[l->scale] : units;
}
ZBT_INLINE uint8_t *zbtBytes(const struct zbtLeaf *l, const uint8_t *slot) {
    uint16_t off;
    memcpy(&off, slot, 2);
    return (uint8_t *)l + l->size - off;
}
ZBT_INLINE struct zbtBig *zbtBigOf(const uint8_t *bytes) {
    struct zbtBig *big;
    memcpy(&big, bytes + 1, sizeof big);
    return big;
}
ZBT_INLINE struct str zbtMemberIn(const struct zbtLeaf *l, const uint8_t *slot) {
    const uint8_t *bytes = zbtBytes(l, slot);
    if (__builtin_expect(*bytes <= ZBT_INLINE_MAX, 1)) return strN((const char *)bytes + 1, *bytes);
    const struct zbtBig *big = zbtBigOf(bytes);
    return strN(big->bytes, big->len);
}

static inline double zbtValue(struct zbtPos p) { /* the score without its rest */
    return zbtScoreIn(p.leaf, zbtSlot(p.leaf, p.slot));
}
static inline struct zscore zbtScore(struct zbtPos p) {
    const uint8_t *slot = zbtSlot(p.leaf, p.slot);
    return (struct zscore){zbtScoreIn(p.leaf, slot), zbtRestIn(slot, p.leaf->width)};
}
static inline struct str zbtMember(struct zbtPos p) {
    return zbtMemberIn(p.leaf, zbtSlot(p.leaf, p.slot));
}
/* Moves to the next element, or the one before; false at the end. */
static inline bool zbtStep(struct zbtPos *p, bool back) {
    if (back ? p->slot > 0 : p->slot + 1u < p->leaf->count) {
        p->slot += back ? -1u : 1u;
        return true;
    }
    p->leaf = back ? p->leaf->prev : p->leaf->next;
    p->slot = back && p->leaf ? p->leaf->count - 1u : 0;
    return p->leaf != NULL;
}

/* ---- Life ---- */
zbtree *zbtCreate(size_t entries);                            /* expected number of elements; 0 if unknown */
zbtree *zbtBuild(const struct zsetItem *items, size_t count); /* in order; leaves are filled. O(n) */
void zbtFree(zbtree *t);                                      /* may be called on any thread */
zbtree *zbtCopy(const zbtree *t);                             /* O(n), without hashing */
uint64_t zbtLength(const zbtree *t);
bool zbtHasRests(const zbtree *t); /* whether it has had a score with a rest since it was made */
size_t zbtMemory(const zbtree *t,
                 size_t samples);       /* usable bytes, estimated from `samples` leaves; 0: from all */
size_t zbtAllocations(const zbtree *t); /* approximate; O(1) */

/* ---- Searching ---- */
/* Finds a member; leaf NULL: there is none. O(1). */
extern struct zbtPos (*zbtFind)(const zbtree *t, struct str member, uint64_t hash);
bool zbtAtRank(const zbtree *t, uint64_t rank, struct zbtPos *p); /* O(log n) */
uint64_t zbtRank(const zbtree *t, struct zbtPos p);               /* O(log n), climbing */
/* Finds the first element inside the range, or the last one, and its rank. O(log n). A lex range presumes
 * equal scores. */
bool zbtSeekScore(const zbtree *t, const struct zscoreRange *r, bool last, struct zbtPos *p, uint64_t *rank);
/* Finds the other end of the range from an element inside it. False: it may lie in another leaf. */
bool zbtSeekScoreFrom(struct zbtPos *p, const struct zscoreRange *r, bool last);
bool zbtSeekLex(const zbtree *t, const struct zlexRange *r, bool last, struct zbtPos *p, uint64_t *rank);

/* ---- Changing: all return the tree, which may have moved ---- */
zbtree *zbtInsert(zbtree *t, struct zscore score, struct str member, uint64_t hash);
zbtree *zbtAppend(zbtree *t, struct zscore score,
                  struct str member); /* the element must sort after all others */
zbtree *zbtPrepend(zbtree *t, struct zscore score, struct str member,
                   uint64_t hash); /* the element must sort before all others */
zbtree *zbtUpdate(zbtree *t, struct zbtPos p, struct zscore score, uint64_t hash);
zbtree *zbtErase(zbtree *t, struct zbtPos p, uint64_t hash);
zbtree *zbtEraseRange(zbtree *t, uint64_t rank, uint64_t count); /* removes whole leaves where possible */

/* ---- Snapshots ---- */

/* A walk passes each element that the tree has at the start, once, with the score of that moment, while the
 * tree is changed: it goes from leaf to leaf, and a leaf that is about to be changed is passed before that.
 * Elements that come later are not passed. The tree must have more than ZBT_WALK_MIN elements at the start,
 * and only one walk; until its end the tree stays where it is, and zbtMove must not be called. */
struct zbtWalk {
    void (*pass)(struct zbtWalk *w, const struct zbtLeaf *l); /* must not change the tree */
    struct zbtLeaf *next;                                     /* private */
};
#define ZBT_WALK_MIN 1000
void zbtWalkStart(zbtree *t, struct zbtWalk *w); /* O(1), nearly always; w is the caller's */
/* Goes to the next leaf, the last one first. False: there is none. */
bool zbtWalkStep(zbtree *t);
/* Ends the walk, whether or not it has come to its end. O(1). */
void zbtWalkEnd(zbtree *t);

/* SCAN, like hashtableScan: every element that is present during the whole scan is passed at least once.
 * Cursors have the same form; a set without a map is passed in one call. */
typedef void (*zbtScanFn)(void *priv, struct str member, struct zscore score);
uint64_t zbtScan(const zbtree *t, uint64_t cursor, zbtScanFn fn, void *priv);

/* Offers every allocation to `move`, some with each call; the tree may change between calls. `move` copies
 * the allocation, frees it and returns the copy, or returns NULL when it stays. Start with *cursor == 0;
 * it is 0 again at the end. */
typedef void *zbtMoveFn(void *priv, void *ptr);
zbtree *zbtMove(zbtree *t, uint64_t *cursor, zbtMoveFn *move, void *priv);

/* Prefetch in steps: each reads what the previous one fetched; false when nothing is left to fetch. Step
 * 0 is for the tree; then come the steps of an end of the set, or of a member. The steps keep the leaf
 * in *at: once it is set, the last step is zbtPrefetchElement. */
static inline void zbtPrefetchTree(const zbtree *t) {
    __builtin_prefetch(t);
    __builtin_prefetch((const char *)t + 64);
}
bool zbtPrefetchEnd(const zbtree *t, bool tail, int step);
bool zbtPrefetchLeaf(const zbtree *t, uint64_t hash, int step, const void **at);
extern void (*zbtPrefetchElement)(const struct zbtLeaf *l, uint64_t hash);

/* Appends shape, fill and depth as text: "leaves:3 depth:1 ...". O(leaves). */
sds zbtStats(const zbtree *t, sds s);
void zbtVerify(const zbtree *t); /* asserts every invariant; for tests */
