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
/* Leaves of more than ZBT_LEAF_MANY elements do not grow beyond this. */
#define ZBT_LEAF_USUAL (ZBT_LEAF_MAX / 4)
#define ZBT_LEAF_MANY  96
#define ZBT_LEAF_SLOTS 240 /* fits a byte; arrays on the stack have this size */
#define ZBT_LEAF_MIN   176
#define ZBT_MAP_LEAVES 4 /* a tree with more leaves has a map */
#ifndef ZBT_INNER_MAX
#define ZBT_INNER_MAX 36 /* children: 896 bytes */
#endif
#define ZBT_FP_GROUP 128 /* fp compared at once */

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* The empty asm keeps gcc from dropping calls of functions that do nothing but prefetch. */
static inline void zbtPrefetchLine(const void *p) {
    __builtin_prefetch(p);
    __asm__ volatile("");
}

/* Prefetches the header and fp of a leaf, and its first slot. */
static inline void zbtPrefetchHeader(const struct zbtLeaf *l) {
    zbtPrefetchLine(l);
    zbtPrefetchLine((const char *)l + 64);
    zbtPrefetchLine((const char *)l + 128);
}

/* ---- Inner nodes: three columns of `cap` ---- */

struct zbtInner {
    struct zbtInner *parent;
    uint16_t count, cap;
    uint8_t level; /* level 1: the children are leaves */
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

/* Returns the score of element i, without its rest. */
ZBT_INLINE double zbtValueAt(const struct zbtLeaf *l, unsigned i) {
    return zbtScoreIn(l, zbtSlot(l, i));
}

/* ---- The map ---- */

/* Bits of a salted hash that the map ignores, so that position and part fit a cursor of SCAN. */
#define ZBT_MAP_UNUSED 19

#define ZBT_BUCKET_SLOTS 15
#define ZBT_ID_BYTES     3
struct zbtBucket {
    uint8_t tag[ZBT_BUCKET_SLOTS];
    uint8_t id[ZBT_BUCKET_SLOTS * ZBT_ID_BYTES];
    uint16_t used;     /* a bit per slot */
    uint16_t overflow; /* entries with their home here or before that are stored behind */
};
_Static_assert(sizeof(struct zbtBucket) == 64, "a bucket is a cache line");

struct zbtPart { /* a part of the map, which is a hash table */
    struct zbtBucket *table;
    uint32_t buckets, used;
};

#define ZBT_PART_BITS 3
#define ZBT_PARTS     (1u << ZBT_PART_BITS)
struct zbtMap {
    struct zbtPart part[ZBT_PARTS];
    struct zbtPart next;     /* the new table of the part that moves */
    struct zbtLeaf **leaves; /* leaves by number; a free number has the next free one, times 2, plus 1 */
    uint32_t ids, ids_cap, ids_free;
    uint32_t id_mask;     /* the bits of a number that entries have */
    uint32_t moving;      /* next leaf whose members of the moving part move; 0: no part moves */
    uint32_t dead;        /* entries that have been moved but remain in the old table */
    uint8_t which;        /* the part that moves */
    uint8_t now;          /* leaf->table of leaves that have not moved */
    uint64_t salt;        /* odd factor of hashes, so that the order of entries differs between maps */
    struct zbtWalk *walk; /* while the tree is walked */
};

/* ---- The tree ---- */

enum zbtForm {
    ZBT_ONE_LEAF /* the leaf is behind the tree */,
    ZBT_PLAIN,
    ZBT_MAPPED /* the map is behind the tree */
};

struct zbtree {
    void *root; /* a leaf or an inner node */
    struct zbtLeaf *first, *last;
    uint64_t length;
    uint64_t bigs : 40;  /* elements whose members are allocations of their own */
    uint64_t order : 24; /* the salt of all maps of this tree comes from it; 0: there has been none */
    uint32_t leaves : 31;
    uint32_t rests : 1; /* scores may have rests */
    uint8_t height;     /* levels of inner nodes */
    uint8_t form;
    uint8_t epoch : 7;  /* of the present walk, or the last one */
    uint8_t walked : 1; /* there is a walk */
    uint8_t stale;      /* leaves may have this many epochs besides the tree's */
};
_Static_assert(sizeof(struct zbtree) == 48, "and the first leaf behind it");

static inline struct zbtMap *zbtMapOf(const zbtree *t) {
    return t->form == ZBT_MAPPED ? (struct zbtMap *)(t + 1) : NULL;
}

/* An element to be put into a leaf. */
struct zbtItem {
    double score; /* without its rest */
    struct str member;
    struct zbtBig *big; /* a long member, which the leaf takes over; NULL: the member's bytes are copied */
    uint8_t fp;
    int16_t rest;
};

/* A position to search for: elements left of it have lower scores. Of elements whose score is equal but for
 * its rest all are left of it, or none, or those whose rest and member are less (or less or equal). */
struct zbtTarget {
    double score;
    enum {
        ZBT_TIES_LEFT,
        ZBT_TIES_RIGHT,
        ZBT_TIES_BY_MEMBER,
        ZBT_BY_MEMBER /* by member alone, whatever the scores */
    } ties;
    bool equal_left;
    struct str member;
    int rest; /* for ZBT_TIES_BY_MEMBER */
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

/* Whether the element in this slot is left of the target by its rest and member. */
static inline bool zbtTieIsLeft(const struct zbtLeaf *l, const uint8_t *slot, const struct zbtTarget *t) {
    int rest = zbtRestIn(slot, l->width);
    if (unlikely(rest != t->rest) && t->ties != ZBT_BY_MEMBER) return rest < t->rest;
    return zbtMemberIsLeft(zbtMemberIn(l, slot), t);
}

static inline bool zbtIsLeft(double score, const struct zbtLeaf *l, const uint8_t *slot,
                             const struct zbtTarget *t) {
    if (score != t->score && t->ties != ZBT_BY_MEMBER) return score < t->score;
    return t->ties >= ZBT_TIES_BY_MEMBER ? zbtTieIsLeft(l, slot, t) : t->ties == ZBT_TIES_LEFT;
}

/* ---- zbtree_leaf.c ---- */

/* The form of scores in a leaf with given elements. */
struct zbtPacking {
    int64_t base;
    unsigned width, scale;
};
/* Returns the packing for elements [from, to) of a leaf, and one more at `slot` unless it is NULL. */
struct zbtPacking zbtPack(const struct zbtLeaf *l, unsigned from, unsigned to, const struct zbtItem *more,
                          unsigned slot);
/* Returns the packing for scores from low to high, which are integers in units of 10^-scale; ZBT_SCALES: any
 * doubles. */
struct zbtPacking zbtPackScores(double low, double high, unsigned scale);
/* Returns the lowest scale from `scale` on at which the score is an integer; ZBT_SCALES: there is none. */
unsigned zbtScaleFor(double score, unsigned scale);
/* Returns the packing of another leaf, for a first element and others that will follow (rising) or precede
 * it; `p`, the packing for that element alone, if the other one does not suit it. */
struct zbtPacking zbtPackLike(const struct zbtLeaf *l, struct zbtPacking p, double first, bool rising);
/* Returns the packing for scores of which some have a rest. */
static inline struct zbtPacking zbtPackExact(void) {
    return (struct zbtPacking){0, ZBT_WIDTH_EXACT, 0};
}
/* Packs the scores of a leaf in another way if there is space for that, and then for one more element if it
 * is not NULL. */
bool zbtLeafRepack(struct zbtLeaf *l, struct zbtPacking p, const struct zbtItem *more);
/* Returns the bytes of a leaf of `count` elements; `bytes` are those of the members. */
size_t zbtLeafNeed(unsigned count, size_t bytes, unsigned width);
unsigned zbtLeafBytes(const struct zbtLeaf *l, unsigned from, unsigned to); /* bytes without garbage */
static inline size_t zbtLeafLive(const struct zbtLeaf *l) {
    return zbtLeafNeed(l->count, (size_t)l->heap - l->garbage, l->width);
}
/* Initializes an empty leaf without links; cap is chosen for elements of `each` bytes in all. */
void zbtLeafInit(struct zbtLeaf *l, size_t size, struct zbtPacking p, unsigned least, unsigned each);
/* Returns the size to which a leaf of `count` elements may grow. Leaves of long members may grow more,
 * so that enough members share the leaf's header and its entry in the tree above. */
static inline size_t zbtLeafMaxSize(unsigned count) {
    return count > ZBT_LEAF_MANY ? ZBT_LEAF_USUAL : ZBT_LEAF_MAX;
}
void zbtLeafTake(struct zbtLeaf *dst, const struct zbtLeaf *src, unsigned from, unsigned to);
/* Copies all elements, with the garbage, into an empty leaf that has enough space. */
void zbtLeafTakeAll(struct zbtLeaf *dst, const struct zbtLeaf *src);
bool zbtLeafHasRoom(struct zbtLeaf *l, const struct zbtItem *it);
void zbtLeafPut(struct zbtLeaf *l, unsigned slot, const struct zbtItem *it); /* there must be space */
void zbtLeafDrop(struct zbtLeaf *l, unsigned from, unsigned to);             /* big members are not freed */
/* The bound of integers in narrow leaves, below 2^53; and of those in units of less than 1: a product with
 * the power of ten is then less than half a unit away from the integer. */
#define ZBT_NARROW_BELOW 9e15
#define ZBT_SCALED_BELOW 1e15
/* Finds the integer that the score is in units of 10^-scale; false: a narrow leaf cannot have it. -0 is none.
 */
static inline bool zbtToUnits(double score, unsigned scale, int64_t *units) {
    if (likely(!scale)) {
        if (!(score < ZBT_NARROW_BELOW && score > -ZBT_NARROW_BELOW)) return false;
        *units = (int64_t)score;
        return (double)*units == score && (*units || !__builtin_signbit(score));
    }
    double product = score * zbt_units[scale];
    if (!(product < ZBT_SCALED_BELOW && product > -ZBT_SCALED_BELOW)) return false;
    *units = (int64_t)(product + __builtin_copysign(0.5, product));
    return (double)*units / zbt_units[scale] == score && (*units || !__builtin_signbit(score));
}
/* Returns whether a narrow leaf of this packing can store the score: false for all others. */
static inline bool zbtPackingFits(struct zbtPacking p, double score) {
    int64_t units;
    return p.width <= 4 && zbtToUnits(score, p.scale, &units) &&
           (uint64_t)units - (uint64_t)p.base <= zbt_masks[p.width];
}
static inline bool zbtLeafFitsWide(const struct zbtLeaf *l, double score) {
    if (l->width >= 8) return true;
    uint64_t above = (uint64_t)zbtOrdinal(score) - (uint64_t)l->base;
    return above >> (8 * l->width) == 0 && score != 0;
}
/* Returns whether the leaf can store the score: a narrow leaf takes those near enough to its base. */
static inline bool zbtLeafFits(const struct zbtLeaf *l, double score, int rest) {
    if (unlikely(rest) && l->width != ZBT_WIDTH_EXACT) return false;
    if (unlikely(l->width > 4)) return zbtLeafFitsWide(l, score);
    return zbtPackingFits((struct zbtPacking){l->base, l->width, l->scale}, score);
}
void zbtLeafPutScore(struct zbtLeaf *l, unsigned slot,
                     struct zscore score); /* the score must fit and keep the order */
/* Moves an element to `to` with a new score, which must fit and keep the order. */
void zbtLeafRescore(struct zbtLeaf *l, unsigned from, unsigned to, struct zscore score);

/* ---- zbtree_walk.c ---- */

void zbtWalkPass(zbtree *t, struct zbtLeaf *l); /* passes the leaf unless it has been passed */
/* Called before the elements of a leaf change, in any way. */
static inline void zbtWillChange(zbtree *t, struct zbtLeaf *l) {
    if (unlikely(t->walked)) zbtWalkPass(t, l);
}
/* Called when `old` is about to be freed: the walk goes on at `now`. */
static inline void zbtWalkLeave(const zbtree *t, const struct zbtLeaf *old, struct zbtLeaf *now) {
    if (unlikely(t->walked) && zbtMapOf(t)->walk->next == old) zbtMapOf(t)->walk->next = now;
}

/* ---- zbtree_search.c: each in two ways, for AVX2 and in plain C ---- */

unsigned zbtLeafSearch(const struct zbtLeaf *l,
                       const struct zbtTarget *t); /* first slot that is not left of t */
/* Finds the first element that is not left of the target (slot may be behind the last element), and the
 * rank of the leaf's first element. For an insertion all counts on the path increase by one. */
extern struct zbtPos (*zbtSeek)(const zbtree *t, const struct zbtTarget *target, uint64_t *before);
/* Finds the first element whose score is not below x, or (past) is above it; as zbtSeek, and in one
 * leaf. */
extern struct zbtPos (*zbtSeekScoreEnd)(const zbtree *t, double x, bool past, uint64_t *before);
unsigned zbtLeafSearchScore(const struct zbtLeaf *l, double x, bool past);
extern struct zbtPos (*zbtSeekInsert)(zbtree *t, const struct zbtTarget *target);
extern unsigned (*zbtChildIndex)(const struct zbtInner *n, const void *child);
extern uint64_t (*zbtRankOfLeaf)(const struct zbtLeaf *l); /* rank of its first element */
void zbtUseAvx2(bool use); /* for tests; AVX2 is used by default if available */

/* ---- zbtree_inner.c: what is above the leaves ---- */

void zbtAddCounts(const struct zbtLeaf *l, int64_t delta);               /* adds delta to all counts above */
void zbtMoveCount(const struct zbtLeaf *from, const struct zbtLeaf *to); /* moves one element in the counts */
void zbtSetParent(void *child, int level, struct zbtInner *parent);      /* level 0: child is a leaf */
void zbtReplaceChild(zbtree *t, struct zbtInner *parent, const void *old, void *now);
/* Adds `right` behind `left`, which had the elements of both. Either may be a leaf or an inner node. */
void zbtAttach(zbtree *t, struct zbtInner *parent, void *left, uint64_t left_count, void *right,
               uint64_t right_count, double separator, int level);
/* Removes a child without elements. */
void zbtDetach(zbtree *t, struct zbtInner *parent, unsigned at);
size_t zbtInnerSize(unsigned cap);

/* ---- zbtree_map.c ---- */

/* Adds all leaves of the tree, which were made of these items unless NULL. */
void zbtMapInit(struct zbtMap *m, zbtree *t, size_t entries, const struct zsetItem *items);
void zbtMapFree(struct zbtMap *m);
void zbtMapCopy(struct zbtMap *dst, const struct zbtMap *src); /* the pointers to leaves are NULL */
size_t zbtMapMemory(const struct zbtMap *m);
/* Gives a leaf a number. `like`: the leaf before it; NULL: the map is empty. */
void zbtMapAddLeaf(struct zbtMap *m, struct zbtLeaf *l, const struct zbtLeaf *like);
void zbtMapDropLeaf(struct zbtMap *m, struct zbtLeaf *l); /* the leaf must be empty */
void zbtMapAdd(struct zbtMap *m, const struct zbtLeaf *l, uint64_t hash);
/* Records that a member has moved to another leaf with the same table. */
void zbtMapRename(struct zbtMap *m, const struct zbtLeaf *from, const struct zbtLeaf *to, uint64_t hash);
void zbtMapRemove(struct zbtMap *m, const struct zbtLeaf *l, uint64_t hash);
void zbtMapRemoveRun(struct zbtMap *m, const struct zbtLeaf *l, unsigned from, unsigned to);
/* Records that elements [from, to) of `l` were in leaf `was` before. */
void zbtMapMoveRun(struct zbtMap *m, const struct zbtLeaf *l, unsigned from, unsigned to,
                   const struct zbtLeaf *was);
/* Called once per change, of a member with this hash, or of some that were erased: resizes, and moves
 * some entries. */
void zbtMapGrew(zbtree *t, uint64_t hash);
void zbtMapShrank(zbtree *t);
uint64_t zbtMapScan(const struct zbtMap *m, uint64_t cursor, zbtScanFn fn, void *priv);
void zbtMapPrefetch(const struct zbtMap *m, uint64_t hash);
struct zbtLeaf *zbtMapPeek(const struct zbtMap *m, uint64_t hash); /* reads the bucket only */
uint64_t zbtMapSlots(const struct zbtMap *m);
void zbtMapUseIdBits(unsigned bits); /* for tests: with few bits leaves share numbers */
void zbtMapVerify(const zbtree *t);

/* The lowest bits of a hash, which are in the leaf's fp too, select the part; those above them are the
 * tag, and the upper ones, salted and scaled, the home. */
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
/* Returns the table that has the member of a leaf. */
static inline struct zbtPart *zbtMapPart(const struct zbtMap *m, const struct zbtLeaf *l, uint64_t hash) {
    unsigned i = zbtPartIndex(hash);
    return (struct zbtPart *)(unlikely(l->table != m->now) && i == m->which ? &m->next : &m->part[i]);
}
/* Returns the number in a slot, without its upper bits if the tree has very many leaves. */
static inline uint32_t zbtIdAt(const struct zbtMap *m, const struct zbtBucket *b, unsigned slot) {
    uint32_t id;
    memcpy(&id, (const uint8_t *)b + offsetof(struct zbtBucket, id) + slot * ZBT_ID_BYTES, sizeof id);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    id = __builtin_bswap32(id);
#endif
    return id & m->id_mask;
}
/* Returns a bit for each used slot that has this tag. */
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
