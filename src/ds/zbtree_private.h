/* SPDX-License-Identifier: BSD-3-Clause */
/* zbtree_private.h - what the files zbtree*.c share. The layout and the ideas are in zbtree.h. */
#pragma once

#include "base/assert.h"
#include "base/hash_function.h"
#include "base/zmalloc.h"
#include "ds/zbtree.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#ifndef ZBT_LEAF_MAX
#define ZBT_LEAF_MAX 8192
#endif
/* A leaf of more than ZBT_LEAF_MANY elements does not grow beyond. */
#define ZBT_LEAF_USUAL (ZBT_LEAF_MAX / 4)
#define ZBT_LEAF_MANY  96
#define ZBT_LEAF_SLOTS 240 /* at most, to fit a byte; arrays on the stack have this size */
#define ZBT_LEAF_MIN   176
#define ZBT_MAP_LEAVES 4 /* with more there is a map */
#ifndef ZBT_INNER_MAX
#define ZBT_INNER_MAX 36 /* children: 896 bytes */
#endif
#define ZBT_FP_GROUP 128 /* fp compared at once */

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* The empty asm keeps gcc from dropping calls of functions that do nothing but prefetch. */
static inline void zbtFetch(const void *p) {
    __builtin_prefetch(p);
    __asm__ volatile("");
}

/* ---- Inner nodes: three columns of `cap` ---- */

struct zbtInner {
    struct zbtInner *parent;
    uint16_t count, cap;
    uint8_t level; /* 1: the children are leaves */
    uint64_t counts[];
    /* double separators[cap + 1]: [0] is -inf, those past the end are NaN
     * void  *children[cap] */
};

static inline double *zbtSeparators(const struct zbtInner *n) {
    return (double *)(n->counts + n->cap);
}
static inline void **zbtChildren(const struct zbtInner *n) {
    return (void **)(n->counts + 2 * n->cap + 1);
}

/* The score of element i. */
ZBT_INLINE double zbtScoreAt(const struct zbtLeaf *l, unsigned i) {
    return zbtScoreOf(zbtSlot(l, i), l->width, l->base);
}

/* ---- The map ---- */

/* Bits of a salted hash that do not count in it, so that a position and a part fit a cursor of SCAN. */
#define ZBT_MAP_UNUSED 19

#define ZBT_BUCKET_SLOTS 15
#define ZBT_ID_BYTES     3
struct zbtBucket {
    uint8_t tag[ZBT_BUCKET_SLOTS];
    uint8_t id[ZBT_BUCKET_SLOTS * ZBT_ID_BYTES];
    uint16_t used;     /* bit per slot */
    uint16_t overflow; /* entries that belong here or before and sit behind */
};
_Static_assert(sizeof(struct zbtBucket) == 64, "a bucket is a cache line");

struct zbtPart { /* of the map, a hash table */
    struct zbtBucket *table;
    uint32_t buckets, used;
};

#define ZBT_PART_BITS 3
#define ZBT_PARTS     (1u << ZBT_PART_BITS)
struct zbtMap {
    struct zbtPart part[ZBT_PARTS];
    struct zbtPart next;     /* what one of them moves to */
    struct zbtLeaf **leaves; /* by number; of a free number: the next free one, times 2, plus 1 */
    uint32_t ids, ids_cap, ids_free;
    uint32_t id_mask; /* entries have so much of a number */
    uint32_t moving;  /* the next leaf to move its members of that part; 0: none moves */
    uint32_t dead;    /* entries that have been moved, and are still where they were */
    uint8_t which;    /* part moves */
    uint8_t now;      /* leaf->table of leaves that have not moved */
    uint64_t salt;    /* an odd factor of hashes: no two maps have one order of entries */
};

/* ---- The tree ---- */

enum zbtForm { ZBT_ONE_LEAF /* behind the tree */, ZBT_PLAIN, ZBT_MAPPED /* the map is behind the tree */ };

struct zbtree {
    void *root; /* leaf or inner */
    struct zbtLeaf *first, *last;
    uint64_t length, bigs;
    uint32_t leaves;
    uint8_t height; /* levels of inner nodes */
    uint8_t form;
};
_Static_assert(sizeof(struct zbtree) == 48, "and the first leaf behind it");

static inline struct zbtMap *zbtMapOf(const zbtree *t) {
    return t->form == ZBT_MAPPED ? (struct zbtMap *)(t + 1) : NULL;
}

/* An element on its way into a leaf. */
struct zbtItem {
    double score;
    struct str member;
    struct zbtBig *big; /* taken over by the leaf; NULL: the member's bytes are copied */
    uint8_t fp;
};

/* The place to search for: elements left of it are before (score, ..). Of equal scores all are left of it, or
 * none, or those whose member is less (or less or equal). */
struct zbtTarget {
    double score;
    enum { ZBT_TIES_LEFT, ZBT_TIES_RIGHT, ZBT_TIES_BY_MEMBER, ZBT_BY_MEMBER /* whatever the scores */ } ties;
    bool equal_left;
    struct str member;
};

static inline uint8_t zbtFp(uint64_t hash) {
    return (uint8_t)hash;
}

static inline unsigned zbtItemBytes(const struct zbtItem *it) {
    return it->big ? 1 + sizeof it->big : 1 + (unsigned)it->member.len;
}

static inline bool zbtMemberIsLeft(struct str member, const struct zbtTarget *t) {
    int cmp = strCmp(member, t->member);
    return cmp < 0 || (cmp == 0 && t->equal_left);
}

static inline bool zbtIsLeft(double score, const struct zbtLeaf *l, const uint8_t *slot,
                             const struct zbtTarget *t) {
    if (score != t->score && t->ties != ZBT_BY_MEMBER) return score < t->score;
    return t->ties >= ZBT_TIES_BY_MEMBER ? zbtMemberIsLeft(zbtMemberIn(l, slot), t)
                                         : t->ties == ZBT_TIES_LEFT;
}

/* ---- zbtree_leaf.c ---- */

/* How scores are stored in a leaf that has all of some elements. */
struct zbtPacking {
    int64_t base;
    unsigned width;
};
/* For elements [from, to) of a leaf, and one more at `slot` unless it is NULL. */
struct zbtPacking zbtPack(const struct zbtLeaf *l, unsigned from, unsigned to, const struct zbtItem *more,
                          unsigned slot);
/* For any doubles from low to high. */
struct zbtPacking zbtPackDoubles(double low, double high);
/* As another leaf, which has not whole doubles: for a first element and those that will come behind it, or
 * before it. */
struct zbtPacking zbtPackLike(const struct zbtLeaf *l, double first, bool rising);
/* Bytes of a leaf of so many elements; `bytes` are those of the members. */
size_t zbtLeafNeed(unsigned count, size_t bytes, unsigned width);
unsigned zbtLeafBytes(const struct zbtLeaf *l, unsigned from, unsigned to); /* without garbage */
static inline size_t zbtLeafLive(const struct zbtLeaf *l) {
    return zbtLeafNeed(l->count, (size_t)l->heap - l->garbage, l->width);
}
/* Empty, not linked; cap is chosen for elements of `each` bytes in all. */
void zbtLeafInit(struct zbtLeaf *l, size_t size, struct zbtPacking p, unsigned least, unsigned each);
/* Returns the size to which a leaf of so many elements may grow. Leaves of long members may grow more, so
 * that enough members share the leaf's header and its place in the tree above. */
static inline size_t zbtLeafMost(unsigned count) {
    return count > ZBT_LEAF_MANY ? ZBT_LEAF_USUAL : ZBT_LEAF_MAX;
}
void zbtLeafTake(struct zbtLeaf *dst, const struct zbtLeaf *src, unsigned from, unsigned to);
/* Copies all elements, with the garbage. Both leaves have the same packing, and dst has enough space. */
void zbtLeafTakeAll(struct zbtLeaf *dst, const struct zbtLeaf *src);
bool zbtLeafHasRoom(struct zbtLeaf *l, const struct zbtItem *it);
void zbtLeafPut(struct zbtLeaf *l, unsigned slot, const struct zbtItem *it); /* there is room */
void zbtLeafDrop(struct zbtLeaf *l, unsigned from, unsigned to);             /* big members are not freed */
/* Integers up to here, below 2^53, may lie in narrow leaves. */
#define ZBT_NARROW_BELOW 9e15
static inline bool zbtLeafFitsWide(const struct zbtLeaf *l, double score) {
    if (l->width == 8) return true;
    uint64_t above = (uint64_t)zbtOrdinal(score) - (uint64_t)l->base;
    return above >> (8 * l->width) == 0 && score != 0;
}
/* Can the leaf hold it? In a narrow one: an integer near enough to the base, and no -0. */
static inline bool zbtLeafFits(const struct zbtLeaf *l, double score) {
    if (unlikely(l->width > 4)) return zbtLeafFitsWide(l, score);
    if (!(score < ZBT_NARROW_BELOW && score > -ZBT_NARROW_BELOW)) return false;
    int64_t whole = (int64_t)score;
    return (double)whole == score && (uint64_t)whole - (uint64_t)l->base <= zbt_masks[l->width] &&
           (whole || !__builtin_signbit(score));
}
void zbtLeafPutScore(struct zbtLeaf *l, unsigned slot, double score); /* fits, and the order is right */
/* The score fits, the order is right with the element at `to`. */
void zbtLeafRescore(struct zbtLeaf *l, unsigned from, unsigned to, double score);

/* ---- zbtree_search.c: each in two ways, for AVX2 and in plain C ---- */

unsigned zbtLeafSearch(const struct zbtLeaf *l, const struct zbtTarget *t); /* first slot not left of it */
/* The leaf and slot of the first element not left of the target (slot may be behind the last element), and
 * the rank of the leaf's first element. For an insertion all counts on the way go up by one. */
extern struct zbtPos (*zbtSeek)(const zbtree *t, const struct zbtTarget *target, uint64_t *before);
/* The first element whose score is not below x, or (past) above it; as zbtSeek, and in one leaf. */
extern struct zbtPos (*zbtSeekScoreEnd)(const zbtree *t, double x, bool past, uint64_t *before);
unsigned zbtLeafSearchScore(const struct zbtLeaf *l, double x, bool past);
extern struct zbtPos (*zbtSeekInsert)(zbtree *t, const struct zbtTarget *target);
extern unsigned (*zbtChildIndex)(const struct zbtInner *n, const void *child);
extern uint64_t (*zbtRankOfLeaf)(const struct zbtLeaf *l); /* of its first element */
void zbtUseAvx2(bool use);                                 /* for tests; it is used where there is any */

/* ---- zbtree_inner.c: what is above the leaves ---- */

void zbtAddCounts(const struct zbtLeaf *l, int64_t delta);               /* of all above it */
void zbtMoveCount(const struct zbtLeaf *from, const struct zbtLeaf *to); /* of one element */
void zbtSetParent(void *child, int level, struct zbtInner *parent);      /* level 0: a leaf */
void zbtReplaceChild(zbtree *t, struct zbtInner *parent, const void *old, void *now);
/* Put `right` behind `left`, which had the elements of both. Either may be a leaf or an inner node. */
void zbtAttach(zbtree *t, struct zbtInner *parent, void *left, uint64_t left_count, void *right,
               uint64_t right_count, double separator, int level);
/* Take out a child that counts nothing any more. */
void zbtDetach(zbtree *t, struct zbtInner *parent, unsigned at);
size_t zbtInnerSize(unsigned cap);

/* ---- zbtree_map.c ---- */

void zbtMapInit(struct zbtMap *m, zbtree *t, size_t entries); /* takes in all leaves of the tree */
void zbtMapFree(struct zbtMap *m);
void zbtMapCopy(struct zbtMap *dst, const struct zbtMap *src); /* the leaves' places are NULL */
size_t zbtMapMemory(const struct zbtMap *m);
/* Gives it a number. `like`: the leaf in front of it; NULL: it is empty. */
void zbtMapAddLeaf(struct zbtMap *m, struct zbtLeaf *l, const struct zbtLeaf *like);
void zbtMapDropLeaf(struct zbtMap *m, struct zbtLeaf *l); /* it has no elements any more */
void zbtMapAdd(struct zbtMap *m, const struct zbtLeaf *l, uint64_t hash);
/* The member has gone from one leaf to another that has the same table. */
void zbtMapRename(struct zbtMap *m, const struct zbtLeaf *from, const struct zbtLeaf *to, uint64_t hash);
void zbtMapRemove(struct zbtMap *m, const struct zbtLeaf *l, uint64_t hash);
void zbtMapRemoveRun(struct zbtMap *m, const struct zbtLeaf *l, unsigned from, unsigned to);
/* Elements [from, to) of `l` were in leaf `was` before. */
void zbtMapMoveRun(struct zbtMap *m, const struct zbtLeaf *l, unsigned from, unsigned to,
                   const struct zbtLeaf *was);
/* Once per change, of a member with this hash, or of some that have been erased: resize, and move some. */
void zbtMapGrew(zbtree *t, uint64_t hash);
void zbtMapShrank(zbtree *t);
uint64_t zbtMapScan(const struct zbtMap *m, uint64_t cursor, zbtScanFn fn, void *priv);
void zbtMapPrefetch(const struct zbtMap *m, uint64_t hash);
struct zbtLeaf *zbtMapPeek(const struct zbtMap *m, uint64_t hash); /* reads only the bucket */
uint64_t zbtMapSlots(const struct zbtMap *m);
void zbtMapUseIdBits(unsigned bits); /* for tests: few of them, so that leaves share numbers */
void zbtMapVerify(const zbtree *t);

/* The lowest bits of a hash, which are in the leaf's fp too, say which part; those above them are the tag,
 * and the upper ones, salted and scaled, the home. */
static inline unsigned zbtPartIndex(uint64_t hash) {
    return (unsigned)hash & (ZBT_PARTS - 1);
}
static inline uint8_t zbtTag(uint64_t hash) {
    return (uint8_t)(hash >> ZBT_PART_BITS);
}
static inline uint32_t zbtMapHome(const struct zbtMap *m, const struct zbtPart *p, uint64_t hash) {
    uint64_t position = hash * m->salt >> ZBT_MAP_UNUSED << ZBT_MAP_UNUSED;
    return (uint32_t)((unsigned __int128)position * p->buckets >> 64);
}
static inline uint32_t zbtMapNext(const struct zbtPart *p, uint32_t i) {
    return i + 1 == p->buckets ? 0 : i + 1;
}
/* The table that knows the member of a leaf. */
static inline struct zbtPart *zbtMapPart(const struct zbtMap *m, const struct zbtLeaf *l, uint64_t hash) {
    unsigned i = zbtPartIndex(hash);
    return (struct zbtPart *)(unlikely(l->table != m->now) && i == m->which ? &m->next : &m->part[i]);
}
/* The number in a slot; its upper bits, if the tree has so many leaves, are not there. */
static inline uint32_t zbtIdAt(const struct zbtMap *m, const struct zbtBucket *b, unsigned slot) {
    uint32_t id;
    memcpy(&id, (const uint8_t *)b + offsetof(struct zbtBucket, id) + slot * ZBT_ID_BYTES, sizeof id);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    id = __builtin_bswap32(id);
#endif
    return id & m->id_mask;
}
/* A bit for each slot in use that has this tag. */
static inline uint32_t zbtMatchTag(const struct zbtBucket *b, uint8_t tag) {
#ifdef __SSE2__
    __m128i tags = _mm_load_si128((const __m128i *)(const void *)b);
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(tags, _mm_set1_epi8((char)tag))) & b->used;
#else
    uint32_t mask = 0;
    for (unsigned i = 0; i < ZBT_BUCKET_SLOTS; i++) mask |= (uint32_t)(b->tag[i] == tag) << i;
    return mask & b->used;
#endif
}
static inline bool zbtMapIsFree(const struct zbtLeaf *entry) {
    return (uintptr_t)entry & 1;
}
