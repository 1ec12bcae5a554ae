/* SPDX-License-Identifier: BSD-3-Clause */
/* zbtree_search.c - all searches of a B+ tree: a member by its fp, a position by its order, the rank of
 * a leaf.
 *
 *     hash --map bucket--> leaf --fp column--> slot --bytes--> is it the member?
 *     score --separators and counts of each level--> leaf, and its rank --scores--> slot
 *
 * Code that reads many bytes at once exists twice: for AVX2, and in plain C. The searches are templates
 * over a few such kernels, so that a search is one function without calls. The program chooses when it
 * starts. */
#include "ds/zbtree_private.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAVE_AVX2 1
#endif

/* Groups of fp are read as a whole: the first is within the smallest leaf, the second within every leaf
 * that needs one. */
_Static_assert(offsetof(struct zbtLeaf, fp) + ZBT_FP_GROUP <= ZBT_LEAF_MIN, "the first group of fp");
_Static_assert(ZBT_LEAF_SLOTS <= 2 * ZBT_FP_GROUP, "the second group of fp");

/* ---- Searching a leaf by order ---- */

/* Returns the first integer n for which n units of 10^-scale are not left of x, which is not too large. */
static int64_t zbtSearchUnitsFor(double x, bool past, unsigned scale) {
    double units = zbt_units[scale], product = x * units;
    int64_t n = (int64_t)product - 2; /* it is less than one unit away */
    while (past ? (double)n / units <= x : (double)n / units < x) n++;
    return n;
}

/* Returns how far above the base a score has to be in order not to be left of x, if the score fits a
 * narrow leaf. All such scores are integers, in units of the leaf's scale. */
static inline uint64_t zbtSearchAboveFor(const struct zbtLeaf *l, double x, bool past) {
    if (l->width > 4) {
        int64_t ordinal = zbtOrdinal(x + 0.0) + past; /* -0 counts as 0 */
        return ordinal > l->base ? (uint64_t)ordinal - (uint64_t)l->base : 0;
    }
    const double limit = l->scale ? ZBT_SCALED_BELOW / zbt_units[l->scale] : ZBT_NARROW_BELOW;
    if (!(x > -limit)) return 0;
    if (x >= limit) return UINT64_MAX;
    int64_t whole = (int64_t)x;
    whole += past ? 1 - ((double)whole > x) : (double)whole < x;
    if (unlikely(l->scale)) whole = zbtSearchUnitsFor(x, past, l->scale);
    return whole > l->base ? (uint64_t)(whole - l->base) : 0;
}

/* Finds the first slot from `low` on whose score is not below x, or (past) is above x. Narrow scores are
 * compared in their stored form. The only branch is the loop's: a comparison's result cannot be
 * predicted. */
ZBT_INLINE bool zbtSearchIsScoreLeft(const uint8_t *slot, double x, bool past, uint64_t above,
                                     unsigned width) {
    if (width < 8) return zbtAboveIn(slot, width) < above;
    double score = zbtWideScoreIn(slot, 8, 0);
    return past ? score <= x : score < x;
}

ZBT_INLINE unsigned zbtSearchScore(const struct zbtLeaf *l, unsigned low, double x, bool past,
                                   unsigned width) {
    const uint8_t *before = zbtSlot(l, 0) - (2 + width); /* the slot before the first */
    uint64_t above = width >= 8 ? 0 : zbtSearchAboveFor(l, x, past);
    unsigned n = l->count - low;
    while (n > 1) {
        unsigned half = n / 2, middle = low + half;
        bool left = zbtSearchIsScoreLeft(before + (size_t)middle * (2 + width), x, past, above, width);
        low = __builtin_expect_with_probability(left, 1, 0.5) ? middle : low;
        n -= half;
    }
    return n ? low + zbtSearchIsScoreLeft(before + (size_t)(low + 1) * (2 + width), x, past, above, width)
             : low;
}

static unsigned zbtSearchMember(const struct zbtLeaf *l, unsigned low, unsigned high,
                                const struct zbtTarget *t) {
    while (low < high) {
        unsigned mid = (low + high) / 2;
        if (zbtTieIsLeft(l, zbtSlot(l, mid), t))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

ZBT_INLINE unsigned zbtSearchWidth(const struct zbtLeaf *l, const struct zbtTarget *t, unsigned width) {
    if (t->ties == ZBT_BY_MEMBER) return zbtSearchMember(l, 0, l->count, t);
    unsigned low = zbtSearchScore(l, 0, t->score, t->ties == ZBT_TIES_LEFT, width);
    if (t->ties != ZBT_TIES_BY_MEMBER || low == l->count || zbtValueAt(l, low) != t->score) return low;
    unsigned next = low + 1; /* mostly there is no other such score */
    if (next == l->count || zbtValueAt(l, next) != t->score)
        return low + (unsigned)zbtTieIsLeft(l, zbtSlot(l, low), t);
    return zbtSearchMember(l, low, zbtSearchScore(l, next, t->score, true, width), t);
}

unsigned zbtLeafSearch(const struct zbtLeaf *l, const struct zbtTarget *t) {
    switch (l->width) {
    case 1: return zbtSearchWidth(l, t, 1);
    case 2: return zbtSearchWidth(l, t, 2);
    case 4: return zbtSearchWidth(l, t, 4);
    case 5: return zbtSearchWidth(l, t, 5);
    case 6: return zbtSearchWidth(l, t, 6);
    case 7: return zbtSearchWidth(l, t, 7);
    case 8: return zbtSearchWidth(l, t, 8);
    default: return zbtSearchWidth(l, t, ZBT_WIDTH_EXACT);
    }
}

unsigned zbtLeafSearchScore(const struct zbtLeaf *l, double x, bool past) {
    switch (l->width) {
    case 1: return zbtSearchScore(l, 0, x, past, 1);
    case 2: return zbtSearchScore(l, 0, x, past, 2);
    case 4: return zbtSearchScore(l, 0, x, past, 4);
    case 5: return zbtSearchScore(l, 0, x, past, 5);
    case 6: return zbtSearchScore(l, 0, x, past, 6);
    case 7: return zbtSearchScore(l, 0, x, past, 7);
    case 8: return zbtSearchScore(l, 0, x, past, 8);
    default: return zbtSearchScore(l, 0, x, past, ZBT_WIDTH_EXACT);
    }
}

/* ---- Searching the tree by order ---- */

struct choice {
    unsigned child;
    uint64_t before; /* elements below the children before it */
};
/* Finds the last child whose separator is < x, or (past) <= x; the first one if there is none. */
typedef struct choice chooseFn(const struct zbtInner *n, double x, bool past);

/* Returns whether the first element below the child is left of the target. */
static bool zbtSearchStartsLeft(const struct zbtInner *n, unsigned i, const struct zbtTarget *t) {
    const void *child = zbtChildren(n)[i];
    for (int level = n->level - 1; level > 0; level--) child = zbtChildren(child)[0];
    const struct zbtLeaf *l = child;
    const uint8_t *slot = zbtSlot(l, 0);
    return zbtIsLeft(zbtScoreIn(l, slot), l, slot, t);
}

/* Returns the last of the children low .. high that starts left of the target; low if there is none. */
static __attribute__((noinline)) struct choice
zbtSearchChooseByStart(const struct zbtInner *n, unsigned low, unsigned high, const struct zbtTarget *t) {
    while (low < high) {
        unsigned mid = (low + high + 1) / 2;
        if (zbtSearchStartsLeft(n, mid, t))
            low = mid;
        else
            high = mid - 1;
    }
    struct choice c = {low, 0};
    for (unsigned i = 0; i < low; i++) c.before += n->counts[i];
    return c;
}

/* Finds the child to search for a target. */
ZBT_INLINE struct choice zbtSearchChildFor(const struct zbtInner *n, const struct zbtTarget *t,
                                           chooseFn *choose) {
    if (t->ties == ZBT_TIES_RIGHT) return choose(n, t->score, false);
    if (unlikely(t->ties == ZBT_BY_MEMBER)) return zbtSearchChooseByStart(n, 0, n->count - 1u, t);
    struct choice c = choose(n, t->score, true);
    const double *separators = zbtSeparators(n);
    if (t->ties == ZBT_TIES_LEFT || c.child == 0 || likely(separators[c.child] < t->score)) return c;
    unsigned low = c.child - 1;
    while (low && separators[low] == t->score) low--;
    return zbtSearchChooseByStart(n, low, c.child, t);
}

ZBT_INLINE struct zbtPos zbtSearchSeekWith(const zbtree *t, const struct zbtTarget *target, uint64_t *before,
                                           bool insert, chooseFn *choose) {
    void *node = t->root;
    uint64_t sum = 0;
    for (int level = t->height; level > 0; level--) {
        struct zbtInner *n = node;
        struct choice c = zbtSearchChildFor(n, target, choose);
        sum += c.before;
        if (insert) n->counts[c.child]++;
        node = zbtChildren(n)[c.child];
    }
    *before = sum;
    return (struct zbtPos){node, zbtLeafSearch(node, target)};
}

/* Like zbtSearchSeek, for a score without a member. */
ZBT_INLINE struct zbtPos zbtSearchSeekScoreWith(const zbtree *t, double x, bool past, uint64_t *before,
                                                chooseFn *choose) {
    void *node = t->root;
    uint64_t sum = 0;
    for (int level = t->height; level > 0; level--) {
        struct choice c = choose(node, x, past);
        sum += c.before;
        node = zbtChildren(node)[c.child];
    }
    *before = sum;
    return (struct zbtPos){node, zbtLeafSearchScore(node, x, past)};
}

/* ---- Ranks of leaves ---- */

/* Counts the elements below the children before this one. */
typedef uint64_t countsFn(const struct zbtInner *n, const void *child);

ZBT_INLINE uint64_t zbtSearchRankWith(const struct zbtLeaf *l, countsFn *countsBefore) {
    uint64_t rank = 0;
    const void *child = l;
    for (const struct zbtInner *n = l->parent; n; child = n, n = n->parent) rank += countsBefore(n, child);
    return rank;
}

/* ---- Searching by member ---- */

static inline uint64_t zbtSearchLoad64(const char *p) {
    uint64_t x;
    memcpy(&x, p, 8);
    return x;
}

/* Compares members. Most are short, so overlapping words replace a call. */
ZBT_INLINE bool zbtSearchEqualBytes(const char *a, const char *b, size_t n) {
    if (unlikely(n < 8 || n > 32)) return memcmp(a, b, n) == 0;
    uint64_t differ =
        (zbtSearchLoad64(a) ^ zbtSearchLoad64(b)) | (zbtSearchLoad64(a + n - 8) ^ zbtSearchLoad64(b + n - 8));
    if (n <= 16) return differ == 0;
    a += 8, b += 8, n -= 16;
    return (differ | (zbtSearchLoad64(a) ^ zbtSearchLoad64(b)) |
            (zbtSearchLoad64(a + n - 8) ^ zbtSearchLoad64(b + n - 8))) == 0;
}

ZBT_INLINE bool zbtSearchIsMember(const struct zbtLeaf *l, unsigned i, struct str member) {
    const uint8_t *bytes = zbtBytes(l, zbtSlot(l, i));
    if (likely(*bytes <= ZBT_INLINE_MAX))
        return *bytes == member.len && zbtSearchEqualBytes((const char *)bytes + 1, member.ptr, member.len);
    const struct zbtBig *big = zbtBigOf(bytes);
    return big->len == member.len && memcmp(big->bytes, member.ptr, member.len) == 0;
}

/* Compares 32 fingerprints with one and returns a bit for each equal one. Bits after the last element
 * may be set. */
typedef uint32_t matchFn(const uint8_t *fps, uint8_t fp);

ZBT_INLINE int zbtSearchFindInLeaf(const struct zbtLeaf *l, uint8_t fp, struct str member, matchFn *match) {
    for (unsigned at = 0; at < l->count; at += 32) {
        for (uint32_t mask = match(l->fp + at, fp); mask; mask &= mask - 1) {
            unsigned i = at + (unsigned)__builtin_ctz(mask);
            if (i < l->count && zbtSearchIsMember(l, i, member)) return (int)i;
        }
    }
    return -1;
}

/* The matches of a whole group of leaves; in a large set the position of the match cannot be predicted. */
struct matches {
    uint64_t low, high;
};
ZBT_INLINE struct matches zbtSearchMatchGroup(const uint8_t *fps, uint8_t fp, matchFn *match) {
    return (struct matches){match(fps, fp) | (uint64_t)match(fps + 32, fp) << 32,
                            match(fps + 64, fp) | (uint64_t)match(fps + 96, fp) << 32};
}

/* Returns the first match, ZBT_FP_GROUP if there is none. */
typedef unsigned firstFn(struct matches m);

ZBT_INLINE struct matches zbtSearchWithoutFirst(struct matches m) {
    return m.low ? (struct matches){m.low & (m.low - 1), m.high} : (struct matches){0, m.high & (m.high - 1)};
}

/* Searches all leaves that an entry may mean. */
ZBT_INLINE struct zbtPos zbtSearchFindInLeaves(const struct zbtMap *m, uint64_t id, struct str member,
                                               uint64_t hash, matchFn *match) {
    for (; id < m->ids; id += (uint64_t)m->id_mask + 1) {
        struct zbtLeaf *l = m->leaves[id];
        int slot = zbtMapIsFree(l) ? -1 : zbtSearchFindInLeaf(l, zbtFp(hash), member, match);
        if (slot >= 0) return (struct zbtPos){l, (unsigned)slot};
    }
    return (struct zbtPos){NULL, 0};
}

ZBT_INLINE struct zbtPos zbtSearchFindInTable(const struct zbtMap *m, const struct zbtPart *part,
                                              struct str member, uint64_t hash, matchFn *match) {
    uint32_t left = part->buckets, i = zbtMapHome(m, part, hash);
    for (; left; left--, i = zbtMapNext(part, i)) {
        const struct zbtBucket *b = &part->table[i];
        for (uint32_t mask = zbtMatchTag(b, zbtTag(hash)); mask; mask &= mask - 1) {
            uint32_t id = zbtIdAt(m, b, (unsigned)__builtin_ctz(mask));
            struct zbtPos p = zbtSearchFindInLeaves(m, id, member, hash, match);
            if (p.leaf) return p;
        }
        if (!b->overflow) break;
    }
    return (struct zbtPos){NULL, 0}; /* this also ends when every bucket has been passed by some entry */
}

/* Searches all leaves that may have the member. */
ZBT_INLINE struct zbtPos zbtSearchFindAmongAll(const zbtree *t, struct str member, uint64_t hash,
                                               matchFn *match) {
    const struct zbtMap *m = (const struct zbtMap *)(t + 1);
    unsigned which = zbtPartIndex(hash);
    struct zbtPos p = zbtSearchFindInTable(m, &m->part[which], member, hash, match);
    return p.leaf || !m->moving || which != m->which ? p
                                                     : zbtSearchFindInTable(m, &m->next, member, hash, match);
}

/* Searches all leaves. */
ZBT_INLINE struct zbtPos zbtSearchFindInFew(const zbtree *t, struct str member, uint64_t hash,
                                            matchFn *match) {
    struct zbtLeaf *l = t->first;
    do {
        int slot = zbtSearchFindInLeaf(l, zbtFp(hash), member, match);
        if (slot >= 0) return (struct zbtPos){l, (unsigned)slot};
    } while ((l = l->next));
    return (struct zbtPos){NULL, 0};
}

typedef struct zbtPos findFn(const zbtree *t, struct str member, uint64_t hash);

/* With a map, the first candidate leaf is nearly always the right one. So this searches only that leaf,
 * without branches, and only one group of its fp. If that fails, `all` starts from the beginning. */
ZBT_INLINE struct zbtPos zbtSearchFindMapped(const zbtree *t, struct str member, uint64_t hash,
                                             matchFn *match, firstFn *first, findFn *all) {
    const struct zbtMap *map = (const struct zbtMap *)(t + 1);
    const struct zbtPart *part = &map->part[zbtPartIndex(hash)];
    const struct zbtBucket *b = &part->table[zbtMapHome(map, part, hash)];
    uint32_t mask = zbtMatchTag(b, zbtTag(hash));
    if (!mask) {
        if (unlikely(b->overflow || map->moving)) return all(t, member, hash);
        return (struct zbtPos){NULL, 0};
    }
    struct zbtLeaf *l = map->leaves[zbtIdAt(map, b, (unsigned)__builtin_ctz(mask))];
    if (unlikely(zbtMapIsFree(l))) return all(t, member, hash);
    unsigned end = l->count < ZBT_FP_GROUP ? l->count : ZBT_FP_GROUP, i;
    for (struct matches m = zbtSearchMatchGroup(l->fp, zbtFp(hash), match); (i = first(m)) < end;
         m = zbtSearchWithoutFirst(m))
        if (likely(zbtSearchIsMember(l, i, member))) return (struct zbtPos){l, i};
    return all(t, member, hash);
}

/* Prefetches slot and bytes of a member in a leaf whose fp are in the cache. The position of the bytes
 * is a guess, since only the slot has it: a rebuilt leaf has them in the order of its slots. */
ZBT_INLINE void zbtSearchPrefetchWith(const struct zbtLeaf *l, uint8_t fp, matchFn *match, firstFn *first) {
    unsigned i = first(zbtSearchMatchGroup(l->fp, fp, match));
    if (i >= l->count) return;
    const char *bytes = (const char *)l + l->size - (unsigned)l->heap * (i + 1) / l->count;
    zbtPrefetchLine(zbtSlot(l, i));
    zbtPrefetchLine(bytes);
    zbtPrefetchLine(bytes + 32);
}

/* ---- Plain C ---- */

#define NOINLINE __attribute__((noinline))

/* Sets a high bit for each zero byte, exactly, and gathers the high bits. */
static inline uint32_t zbtSearchMatch8(const uint8_t *p, uint64_t fps) {
    const uint64_t low7 = 0x7f7f7f7f7f7f7f7f;
    uint64_t x;
    memcpy(&x, p, 8);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    x ^= fps;
    uint64_t zero = ~(((x & low7) + low7) | x | low7) >> 7;
    return (uint32_t)(zero * 0x0102040810204080 >> 56);
}

ZBT_INLINE uint32_t zbtSearchMatchPlain(const uint8_t *fps, uint8_t fp) {
    uint64_t eight = fp * 0x0101010101010101ull;
    return zbtSearchMatch8(fps, eight) | zbtSearchMatch8(fps + 8, eight) << 8 |
           zbtSearchMatch8(fps + 16, eight) << 16 | zbtSearchMatch8(fps + 24, eight) << 24;
}

ZBT_INLINE unsigned zbtSearchFirstPlain(struct matches m) {
    if (m.low) return (unsigned)__builtin_ctzll(m.low);
    return m.high ? 64 + (unsigned)__builtin_ctzll(m.high) : ZBT_FP_GROUP;
}

ZBT_INLINE struct choice zbtSearchChoosePlain(const struct zbtInner *n, double x, bool past) {
    const double *separators = zbtSeparators(n) + 1;
    struct choice c = {0, 0};
    for (unsigned i = 0; i < n->count; i++) {
        bool left = past ? separators[i] <= x : separators[i] < x;
        c.child += left;
        c.before += left ? n->counts[i] : 0;
    }
    return c;
}

static unsigned zbtSearchChildIndexPlain(const struct zbtInner *n, const void *child) {
    void **children = zbtChildren(n);
    unsigned last = n->count - 1u, i = 0;
    if (children[last] == child) return last;
    while (children[i] != child) i++;
    return i;
}

ZBT_INLINE uint64_t zbtSearchCountsBeforePlain(const struct zbtInner *n, const void *child) {
    void **children = zbtChildren(n);
    uint64_t sum = 0;
    for (unsigned i = 0; children[i] != child; i++) sum += n->counts[i];
    return sum;
}

NOINLINE static struct zbtPos zbtSearchFindAllPlain(const zbtree *t, struct str member, uint64_t hash) {
    return zbtSearchFindAmongAll(t, member, hash, zbtSearchMatchPlain);
}
NOINLINE static struct zbtPos zbtSearchFindMappedPlain(const zbtree *t, struct str member, uint64_t hash) {
    return zbtSearchFindMapped(t, member, hash, zbtSearchMatchPlain, zbtSearchFirstPlain,
                               zbtSearchFindAllPlain);
}
NOINLINE static struct zbtPos zbtSearchFindFewPlain(const zbtree *t, struct str member, uint64_t hash) {
    return zbtSearchFindInFew(t, member, hash, zbtSearchMatchPlain);
}
static struct zbtPos zbtSearchFindPlain(const zbtree *t, struct str member, uint64_t hash) {
    return t->form == ZBT_MAPPED ? zbtSearchFindMappedPlain(t, member, hash)
                                 : zbtSearchFindFewPlain(t, member, hash);
}
static void zbtSearchPrefetchPlain(const struct zbtLeaf *l, uint64_t hash) {
    zbtSearchPrefetchWith(l, zbtFp(hash), zbtSearchMatchPlain, zbtSearchFirstPlain);
}
static struct zbtPos zbtSearchSeekPlain(const zbtree *t, const struct zbtTarget *target, uint64_t *before) {
    return zbtSearchSeekWith(t, target, before, false, zbtSearchChoosePlain);
}
static struct zbtPos zbtSearchSeekInsertPlain(zbtree *t, const struct zbtTarget *target) {
    uint64_t before;
    return zbtSearchSeekWith(t, target, &before, true, zbtSearchChoosePlain);
}
static struct zbtPos zbtSearchSeekScorePlain(const zbtree *t, double x, bool past, uint64_t *before) {
    return past ? zbtSearchSeekScoreWith(t, x, true, before, zbtSearchChoosePlain)
                : zbtSearchSeekScoreWith(t, x, false, before, zbtSearchChoosePlain);
}
static uint64_t zbtSearchRankPlain(const struct zbtLeaf *l) {
    return zbtSearchRankWith(l, zbtSearchCountsBeforePlain);
}

/* ---- AVX2: four children at a time; past the end of a node are NaN, NULL, 0 ---- */

#ifdef HAVE_AVX2
#define AVX2 __attribute__((target("avx2,popcnt,bmi,bmi2")))

AVX2 static inline uint32_t zbtSearchMatchAvx2(const uint8_t *fps, uint8_t fp) {
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)fps);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, _mm256_set1_epi8((char)fp)));
}
/* There is no branch, since it could not be predicted: tzcnt of 0 is 64. */
AVX2 static inline unsigned zbtSearchFirstAvx2(struct matches m) {
    unsigned low = (unsigned)_tzcnt_u64(m.low), high = (unsigned)_tzcnt_u64(m.high);
    return low + (high & -(low >> 6));
}

AVX2 static inline __m256i zbtSearchLoadFour(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}
AVX2 static inline uint64_t zbtSearchSumOfFour(__m256i x) {
    __m128i two = _mm_add_epi64(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return (uint64_t)_mm_cvtsi128_si64(two) + (uint64_t)_mm_extract_epi64(two, 1);
}

struct zbtTally {
    __m256i found, before;
};
/* Adds up children i .. i + 3. */
AVX2 static inline void zbtSearchTallyFour(struct zbtTally *sum, const struct zbtInner *n, unsigned i,
                                           __m256d bound, bool past) {
    __m256d four = _mm256_loadu_pd(zbtSeparators(n) + 1 + i);
    __m256i left = _mm256_castpd_si256(past ? _mm256_cmp_pd(bound, four, _CMP_GE_OQ)
                                            : _mm256_cmp_pd(bound, four, _CMP_GT_OQ));
    sum->found = _mm256_sub_epi64(sum->found, left);
    sum->before = _mm256_add_epi64(sum->before, _mm256_and_si256(left, zbtSearchLoadFour(n->counts + i)));
}

/* A node has an odd number of fours: the first, then pairs of them. */
AVX2 static inline struct choice zbtSearchChooseAvx2(const struct zbtInner *n, double x, bool past) {
    __m256d bound = _mm256_set1_pd(x);
    struct zbtTally sum = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    zbtSearchTallyFour(&sum, n, 0, bound, past);
    for (unsigned i = 4; i < n->count; i += 8) {
        zbtSearchTallyFour(&sum, n, i, bound, past);
        zbtSearchTallyFour(&sum, n, i + 4, bound, past);
    }
    return (struct choice){(unsigned)zbtSearchSumOfFour(sum.found), zbtSearchSumOfFour(sum.before)};
}

AVX2 static unsigned zbtSearchChildIndexAvx2(const struct zbtInner *n, const void *child) {
    void **children = zbtChildren(n);
    unsigned last = n->count - 1u, mask;
    if (children[last] == child) return last;
    __m256i wanted = _mm256_set1_epi64x((long long)(uintptr_t)child);
    for (unsigned i = 0;; i += 4) {
        __m256i same = _mm256_cmpeq_epi64(zbtSearchLoadFour(children + i), wanted);
        if ((mask = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(same))))
            return i + (unsigned)__builtin_ctz(mask);
    }
}

AVX2 static inline uint64_t zbtSearchCountsBeforeAvx2(const struct zbtInner *n, const void *child) {
    void **children = zbtChildren(n);
    __m256i wanted = _mm256_set1_epi64x((long long)(uintptr_t)child), sum = _mm256_setzero_si256();
    for (unsigned i = 0;; i += 4) {
        __m256i same = _mm256_cmpeq_epi64(zbtSearchLoadFour(children + i), wanted),
                counts = zbtSearchLoadFour(n->counts + i);
        unsigned mask = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(same));
        if (mask) {
            __m256i at = _mm256_set1_epi64x(__builtin_ctz(mask));
            __m256i in_front = _mm256_cmpgt_epi64(at, _mm256_set_epi64x(3, 2, 1, 0));
            return zbtSearchSumOfFour(_mm256_add_epi64(sum, _mm256_and_si256(counts, in_front)));
        }
        sum = _mm256_add_epi64(sum, counts);
    }
}

AVX2 NOINLINE static struct zbtPos zbtSearchFindAllAvx2(const zbtree *t, struct str member, uint64_t hash) {
    return zbtSearchFindAmongAll(t, member, hash, zbtSearchMatchAvx2);
}
AVX2 NOINLINE static struct zbtPos zbtSearchFindMappedAvx2(const zbtree *t, struct str member,
                                                           uint64_t hash) {
    return zbtSearchFindMapped(t, member, hash, zbtSearchMatchAvx2, zbtSearchFirstAvx2, zbtSearchFindAllAvx2);
}
AVX2 NOINLINE static struct zbtPos zbtSearchFindFewAvx2(const zbtree *t, struct str member, uint64_t hash) {
    return zbtSearchFindInFew(t, member, hash, zbtSearchMatchAvx2);
}
AVX2 static struct zbtPos zbtSearchFindAvx2(const zbtree *t, struct str member, uint64_t hash) {
    return t->form == ZBT_MAPPED ? zbtSearchFindMappedAvx2(t, member, hash)
                                 : zbtSearchFindFewAvx2(t, member, hash);
}
AVX2 static void zbtSearchPrefetchAvx2(const struct zbtLeaf *l, uint64_t hash) {
    zbtSearchPrefetchWith(l, zbtFp(hash), zbtSearchMatchAvx2, zbtSearchFirstAvx2);
}
AVX2 static struct zbtPos zbtSearchSeekAvx2(const zbtree *t, const struct zbtTarget *target,
                                            uint64_t *before) {
    return zbtSearchSeekWith(t, target, before, false, zbtSearchChooseAvx2);
}
AVX2 static struct zbtPos zbtSearchSeekInsertAvx2(zbtree *t, const struct zbtTarget *target) {
    uint64_t before;
    return zbtSearchSeekWith(t, target, &before, true, zbtSearchChooseAvx2);
}
/* GCC leaves the upper halves of the registers dirty in a function with a double argument. Without
 * vzeroupper all SSE code that runs afterwards would be slow, the sines of GEOSEARCH by a factor of ten. */
AVX2 static struct zbtPos zbtSearchSeekScoreAvx2(const zbtree *t, double x, bool past, uint64_t *before) {
    struct zbtPos pos = past ? zbtSearchSeekScoreWith(t, x, true, before, zbtSearchChooseAvx2)
                             : zbtSearchSeekScoreWith(t, x, false, before, zbtSearchChooseAvx2);
    _mm256_zeroupper();
    return pos;
}
AVX2 static uint64_t zbtSearchRankAvx2(const struct zbtLeaf *l) {
    return zbtSearchRankWith(l, zbtSearchCountsBeforeAvx2);
}
#endif

/* ---- Choosing an instruction set ---- */

struct zbtPos (*zbtFind)(const zbtree *, struct str, uint64_t);
void (*zbtPrefetchElement)(const struct zbtLeaf *, uint64_t);
struct zbtPos (*zbtSeek)(const zbtree *, const struct zbtTarget *, uint64_t *);
struct zbtPos (*zbtSeekScoreEnd)(const zbtree *, double, bool, uint64_t *);
struct zbtPos (*zbtSeekInsert)(zbtree *, const struct zbtTarget *);
unsigned (*zbtChildIndex)(const struct zbtInner *, const void *);
uint64_t (*zbtRankOfLeaf)(const struct zbtLeaf *);

void zbtUseAvx2(bool use) {
    zbtFind = zbtSearchFindPlain;
    zbtPrefetchElement = zbtSearchPrefetchPlain;
    zbtSeek = zbtSearchSeekPlain;
    zbtSeekScoreEnd = zbtSearchSeekScorePlain;
    zbtSeekInsert = zbtSearchSeekInsertPlain;
    zbtChildIndex = zbtSearchChildIndexPlain;
    zbtRankOfLeaf = zbtSearchRankPlain;
#ifdef HAVE_AVX2
    if (!use || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) return;
    zbtFind = zbtSearchFindAvx2;
    zbtPrefetchElement = zbtSearchPrefetchAvx2;
    zbtSeek = zbtSearchSeekAvx2;
    zbtSeekScoreEnd = zbtSearchSeekScoreAvx2;
    zbtSeekInsert = zbtSearchSeekInsertAvx2;
    zbtChildIndex = zbtSearchChildIndexAvx2;
    zbtRankOfLeaf = zbtSearchRankAvx2;
#else
    (void)use;
#endif
}

__attribute__((constructor)) static void zbtSearchUseWhatThereIs(void) {
    zbtUseAvx2(true);
}
