/* zbtree_search.c - everything that is looked for in a B+ tree: a member by its fp, a place by its order, the
 * rank of a leaf.
 *
 *     hash --map bucket--> leaf --fp column--> slot --bytes--> is it the member?
 *     score --separators and counts of each level--> leaf, and its rank --scores--> slot
 *
 * What reads many bytes at once exists twice: for AVX2, and in plain C. The searches are templates over a few
 * such kernels, so that a search is one function with no calls in it. Which one is called is decided when the
 * program starts. */
#include "ds/zbtree_private.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAVE_AVX2 1
#endif

/* A group of fp is read as a whole: the first is inside the smallest leaf, the second inside a leaf that
 * needs one. */
_Static_assert(offsetof(struct zbtLeaf, fp) + ZBT_FP_GROUP <= ZBT_LEAF_MIN, "the first group of fp");
_Static_assert(ZBT_LEAF_SLOTS <= 2 * ZBT_FP_GROUP, "the second group of fp");

static inline double scoreAt(const struct zbtLeaf *l, unsigned i) {
    return zbtScoreOf(zbtSlot(l, i), l->width, l->base);
}

/* ---- In a leaf, by order ---- */

/* How far above the base a score has to be, not to be left of x; of a score that fits a narrow leaf. All such
 * scores are integers. */
static inline uint64_t aboveFor(const struct zbtLeaf *l, double x, bool past) {
    const double limit = 18014398509481984.0; /* 2^54: beyond all of them */
    if (!(x > -limit)) return 0;
    if (x >= limit) return UINT64_MAX;
    int64_t whole = (int64_t)x;
    whole += past ? 1 - ((double)whole > x) : (double)whole < x;
    return whole > l->base ? (uint64_t)(whole - l->base) : 0;
}

/* First slot from `low` on whose score is not below x, or (past) not below and not equal. Narrow scores are
 * compared as what is stored. No branches but the loop's: which way it goes cannot be predicted. */
ZBT_INLINE bool isScoreLeft(const uint8_t *slot, double x, bool past, uint64_t above, unsigned width) {
    if (width != 8) return zbtAboveIn(slot, width) < above;
    double score = zbtScoreIn(slot, 8, 0);
    return past ? score <= x : score < x;
}

ZBT_INLINE unsigned searchScore(const struct zbtLeaf *l, unsigned low, double x, bool past, unsigned width) {
    const uint8_t *slots = zbtSlot(l, 0);
    uint64_t above = width == 8 ? 0 : aboveFor(l, x, past);
    unsigned n = l->count - low, half;
    for (; n > 1; n -= half) {
        half = n / 2;
        bool left = isScoreLeft(slots + (size_t)(low + half - 1) * (2 + width), x, past, above, width);
        low += half & -(unsigned)left;
    }
    return n ? low + isScoreLeft(slots + (size_t)low * (2 + width), x, past, above, width) : low;
}

static unsigned searchMember(const struct zbtLeaf *l, unsigned low, unsigned high,
                             const struct zbtTarget *t) {
    while (low < high) {
        unsigned mid = (low + high) / 2;
        if (zbtMemberIsLeft(zbtMemberIn(l, zbtSlot(l, mid)), t))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

ZBT_INLINE unsigned searchWidth(const struct zbtLeaf *l, const struct zbtTarget *t, unsigned width) {
    if (t->ties == ZBT_BY_MEMBER) return searchMember(l, 0, l->count, t);
    unsigned low = searchScore(l, 0, t->score, t->ties == ZBT_TIES_LEFT, width);
    if (t->ties != ZBT_TIES_BY_MEMBER || low == l->count || scoreAt(l, low) != t->score) return low;
    return searchMember(l, low, searchScore(l, low, t->score, true, width), t);
}

unsigned zbtLeafSearch(const struct zbtLeaf *l, const struct zbtTarget *t) {
    switch (l->width) {
    case 1: return searchWidth(l, t, 1);
    case 2: return searchWidth(l, t, 2);
    case 4: return searchWidth(l, t, 4);
    default: return searchWidth(l, t, 8);
    }
}

unsigned zbtLeafSearchScore(const struct zbtLeaf *l, double x, bool past) {
    switch (l->width) {
    case 1: return searchScore(l, 0, x, past, 1);
    case 2: return searchScore(l, 0, x, past, 2);
    case 4: return searchScore(l, 0, x, past, 4);
    default: return searchScore(l, 0, x, past, 8);
    }
}

/* ---- From the root, by order ---- */

struct choice {
    unsigned child;
    uint64_t before; /* elements below the children in front of it */
};
/* The last child whose separator is < x, or (past) <= x; the first one when there is none. */
typedef struct choice chooseFn(const struct zbtInner *n, double x, bool past);

/* Is the first element below the child left of the target? */
static bool startsLeft(const struct zbtInner *n, unsigned i, const struct zbtTarget *t) {
    const void *child = zbtChildren(n)[i];
    for (int level = n->level - 1; level > 0; level--) child = zbtChildren(child)[0];
    const struct zbtLeaf *l = child;
    const uint8_t *slot = zbtSlot(l, 0);
    return zbtIsLeft(zbtScoreOf(slot, l->width, l->base), l, slot, t);
}

/* Of the children low .. high, the last one that starts left of the target; else low. */
static __attribute__((noinline)) struct choice chooseByStart(const struct zbtInner *n, unsigned low,
                                                             unsigned high, const struct zbtTarget *t) {
    while (low < high) {
        unsigned mid = (low + high + 1) / 2;
        if (startsLeft(n, mid, t))
            low = mid;
        else
            high = mid - 1;
    }
    struct choice c = {low, 0};
    for (unsigned i = 0; i < low; i++) c.before += n->counts[i];
    return c;
}

/* The child to search for a target. */
ZBT_INLINE struct choice childFor(const struct zbtInner *n, const struct zbtTarget *t, chooseFn *choose) {
    if (t->ties == ZBT_TIES_RIGHT) return choose(n, t->score, false);
    if (unlikely(t->ties == ZBT_BY_MEMBER)) return chooseByStart(n, 0, n->count - 1u, t);
    struct choice c = choose(n, t->score, true);
    const double *separators = zbtSeparators(n);
    if (t->ties == ZBT_TIES_LEFT || c.child == 0 || likely(separators[c.child] < t->score)) return c;
    unsigned low = c.child - 1;
    while (low && separators[low] == t->score) low--;
    return chooseByStart(n, low, c.child, t);
}

ZBT_INLINE struct zbtPos seekWith(const zbtree *t, const struct zbtTarget *target, uint64_t *before,
                                  bool insert, chooseFn *choose) {
    void *node = t->root;
    uint64_t sum = 0;
    for (int level = t->height; level > 0; level--) {
        struct zbtInner *n = node;
        struct choice c = childFor(n, target, choose);
        sum += c.before;
        if (insert) n->counts[c.child]++;
        node = zbtChildren(n)[c.child];
    }
    *before = sum;
    return (struct zbtPos){node, zbtLeafSearch(node, target)};
}

/* The same for a score only. */
ZBT_INLINE struct zbtPos seekScoreWith(const zbtree *t, double x, bool past, uint64_t *before,
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

/* ---- From a leaf up ---- */

/* Elements below the children in front of this one. */
typedef uint64_t countsFn(const struct zbtInner *n, const void *child);

ZBT_INLINE uint64_t rankWith(const struct zbtLeaf *l, countsFn *countsBefore) {
    uint64_t rank = 0;
    const void *child = l;
    for (const struct zbtInner *n = l->parent; n; child = n, n = n->parent) rank += countsBefore(n, child);
    return rank;
}

/* ---- By member ---- */

static inline uint64_t load64(const char *p) {
    uint64_t x;
    memcpy(&x, p, 8);
    return x;
}

/* Most members are short: overlapping words instead of a call. */
ZBT_INLINE bool equalBytes(const char *a, const char *b, size_t n) {
    if (unlikely(n < 8 || n > 32)) return memcmp(a, b, n) == 0;
    uint64_t differ = (load64(a) ^ load64(b)) | (load64(a + n - 8) ^ load64(b + n - 8));
    if (n <= 16) return differ == 0;
    a += 8, b += 8, n -= 16;
    return (differ | (load64(a) ^ load64(b)) | (load64(a + n - 8) ^ load64(b + n - 8))) == 0;
}

ZBT_INLINE bool isMember(const struct zbtLeaf *l, unsigned i, struct str member) {
    const uint8_t *bytes = zbtBytes(l, zbtSlot(l, i));
    if (likely(*bytes <= ZBT_INLINE_MAX))
        return *bytes == member.len && equalBytes((const char *)bytes + 1, member.ptr, member.len);
    const struct zbtBig *big = zbtBigOf(bytes);
    return big->len == member.len && memcmp(big->bytes, member.ptr, member.len) == 0;
}

/* Those of 128 fp that are equal to one, as bits; some behind the last element may be among them. */
struct matches {
    uint64_t low, high;
};
typedef struct matches matchFn(const uint8_t *fps, uint8_t fp);

/* 128: none. Whether it is in the first half cannot be predicted: so there is no branch. */
ZBT_INLINE unsigned firstOf(struct matches m) {
    unsigned in_low = (unsigned)__builtin_ctzll(m.low | 1ull << 63);
    unsigned in_high = m.high ? 64 + (unsigned)__builtin_ctzll(m.high) : ZBT_FP_GROUP;
    return m.low ? in_low : in_high;
}

ZBT_INLINE int findInLeaf(const struct zbtLeaf *l, uint8_t fp, struct str member, matchFn *match) {
    for (unsigned group = 0; group < l->count; group += ZBT_FP_GROUP) {
        struct matches m = match(l->fp + group, fp);
        for (unsigned i; (i = firstOf(m)) < ZBT_FP_GROUP && group + i < l->count;) {
            if (isMember(l, group + i, member)) return (int)(group + i);
            if (m.low)
                m.low &= m.low - 1;
            else
                m.high &= m.high - 1;
        }
    }
    return -1;
}

ZBT_INLINE struct zbtPos findInTable(const struct zbtMap *m, int table, struct str member, uint64_t hash,
                                     matchFn *match) {
    uint32_t left = m->buckets[table], i = zbtMapHome(hash, left);
    for (; left; left--, i = zbtMapNext(m, table, i)) {
        const struct zbtBucket *b = &m->table[table][i];
        for (uint32_t mask = zbtMatchTag(b, zbtFp(hash)); mask; mask &= mask - 1) {
            struct zbtLeaf *l = m->leaves[b->id[__builtin_ctz(mask)]];
            int slot = zbtMapIsFree(l) ? -1 : findInLeaf(l, zbtFp(hash), member, match);
            if (slot >= 0) return (struct zbtPos){l, (unsigned)slot};
        }
        if (!b->overflow) break;
    }
    return (struct zbtPos){NULL, 0}; /* or every bucket has been passed by some entry */
}

/* In all leaves that may have it. */
ZBT_INLINE struct zbtPos findAmongAll(const zbtree *t, struct str member, uint64_t hash, matchFn *match) {
    if (t->form == ZBT_MAPPED) {
        const struct zbtMap *m = (const struct zbtMap *)(t + 1);
        struct zbtPos p = findInTable(m, m->now, member, hash, match);
        return p.leaf || !m->moving ? p : findInTable(m, !m->now, member, hash, match);
    }
    for (struct zbtLeaf *l = t->first; l; l = l->next) {
        int slot = findInLeaf(l, zbtFp(hash), member, match);
        if (slot >= 0) return (struct zbtPos){l, (unsigned)slot};
    }
    return (struct zbtPos){NULL, 0};
}

typedef struct zbtPos findFn(const zbtree *t, struct str member, uint64_t hash);

/* The first leaf that comes into question is nearly always the right one: so this looks at no other, straight
 * on. Whatever else there may be to do, `all` does from the start. */
ZBT_INLINE struct zbtPos findWith(const zbtree *t, struct str member, uint64_t hash, matchFn *match,
                                  findFn *all) {
    const struct zbtPos none = {NULL, 0};
    struct zbtLeaf *l = t->first;
    if (likely(t->form == ZBT_MAPPED)) {
        const struct zbtMap *m = (const struct zbtMap *)(t + 1);
        const struct zbtBucket *b = &m->table[m->now][zbtMapHome(hash, m->buckets[m->now])];
        uint32_t mask = zbtMatchTag(b, zbtFp(hash));
        if (!mask) return unlikely(b->overflow || m->moving) ? all(t, member, hash) : none;
        l = m->leaves[b->id[__builtin_ctz(mask)]];
        if (unlikely(zbtMapIsFree(l))) return all(t, member, hash);
    }
    int slot = findInLeaf(l, zbtFp(hash), member, match);
    if (likely(slot >= 0)) return (struct zbtPos){l, (unsigned)slot};
    return t->form == ZBT_ONE_LEAF ? none : all(t, member, hash);
}

ZBT_INLINE int peekWith(const struct zbtLeaf *l, uint8_t fp, matchFn *match) {
    for (unsigned group = 0; group < l->count; group += ZBT_FP_GROUP) {
        unsigned i = firstOf(match(l->fp + group, fp));
        if (i < ZBT_FP_GROUP) return group + i < l->count ? (int)(group + i) : -1;
    }
    return -1;
}

/* ---- Plain C ---- */

/* A high bit for each zero byte, exactly; then the high bits side by side. */
static inline uint32_t match8(const uint8_t *p, uint64_t fps) {
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

ZBT_INLINE struct matches matchPlain(const uint8_t *fps, uint8_t fp) {
    struct matches m = {0, 0};
    for (unsigned i = 0; i < 64; i += 8) {
        m.low |= (uint64_t)match8(fps + i, fp * 0x0101010101010101ull) << i;
        m.high |= (uint64_t)match8(fps + 64 + i, fp * 0x0101010101010101ull) << i;
    }
    return m;
}

ZBT_INLINE struct choice choosePlain(const struct zbtInner *n, double x, bool past) {
    const double *separators = zbtSeparators(n) + 1;
    struct choice c = {0, 0};
    for (unsigned i = 0; i < n->count; i++) {
        bool left = past ? separators[i] <= x : separators[i] < x;
        c.child += left;
        c.before += left ? n->counts[i] : 0;
    }
    return c;
}

static unsigned childIndexPlain(const struct zbtInner *n, const void *child) {
    void **children = zbtChildren(n);
    unsigned last = n->count - 1u, i = 0;
    if (children[last] == child) return last;
    while (children[i] != child) i++;
    return i;
}

ZBT_INLINE uint64_t countsBeforePlain(const struct zbtInner *n, const void *child) {
    void **children = zbtChildren(n);
    uint64_t sum = 0;
    for (unsigned i = 0; children[i] != child; i++) sum += n->counts[i];
    return sum;
}

static __attribute__((noinline)) struct zbtPos findAllPlain(const zbtree *t, struct str member,
                                                            uint64_t hash) {
    return findAmongAll(t, member, hash, matchPlain);
}
static struct zbtPos findPlain(const zbtree *t, struct str member, uint64_t hash) {
    return findWith(t, member, hash, matchPlain, findAllPlain);
}
static int peekPlain(const struct zbtLeaf *l, uint8_t fp) {
    return peekWith(l, fp, matchPlain);
}
static struct zbtPos seekPlain(const zbtree *t, const struct zbtTarget *target, uint64_t *before) {
    return seekWith(t, target, before, false, choosePlain);
}
static struct zbtPos seekInsertPlain(zbtree *t, const struct zbtTarget *target) {
    uint64_t before;
    return seekWith(t, target, &before, true, choosePlain);
}
static struct zbtPos seekScorePlain(const zbtree *t, double x, bool past, uint64_t *before) {
    return past ? seekScoreWith(t, x, true, before, choosePlain)
                : seekScoreWith(t, x, false, before, choosePlain);
}
static uint64_t rankPlain(const struct zbtLeaf *l) {
    return rankWith(l, countsBeforePlain);
}

/* ---- AVX2: four children at a time; what is past the end of a node is NaN, NULL, 0 ---- */

#ifdef HAVE_AVX2
#define AVX2 __attribute__((target("avx2,popcnt,bmi,bmi2")))

AVX2 static inline uint64_t match32(const uint8_t *p, __m256i fps) {
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)p);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, fps));
}
AVX2 static inline struct matches matchAvx2(const uint8_t *p, uint8_t fp) {
    __m256i fps = _mm256_set1_epi8((char)fp);
    return (struct matches){match32(p, fps) | match32(p + 32, fps) << 32,
                            match32(p + 64, fps) | match32(p + 96, fps) << 32};
}

AVX2 static inline __m256i loadFour(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}
AVX2 static inline uint64_t sumOfFour(__m256i x) {
    __m128i two = _mm_add_epi64(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return (uint64_t)_mm_cvtsi128_si64(two) + (uint64_t)_mm_extract_epi64(two, 1);
}

AVX2 static inline struct choice chooseAvx2(const struct zbtInner *n, double x, bool past) {
    const double *separators = zbtSeparators(n) + 1;
    __m256d bound = _mm256_set1_pd(x);
    __m256i found = _mm256_setzero_si256(), before = found;
    for (unsigned i = 0; i < n->count; i += 4) {
        __m256d four = _mm256_loadu_pd(separators + i);
        __m256i left = _mm256_castpd_si256(past ? _mm256_cmp_pd(four, bound, _CMP_LE_OQ)
                                                : _mm256_cmp_pd(four, bound, _CMP_LT_OQ));
        found = _mm256_sub_epi64(found, left);
        before = _mm256_add_epi64(before, _mm256_and_si256(left, loadFour(n->counts + i)));
    }
    return (struct choice){(unsigned)sumOfFour(found), sumOfFour(before)};
}

AVX2 static unsigned childIndexAvx2(const struct zbtInner *n, const void *child) {
    void **children = zbtChildren(n);
    unsigned last = n->count - 1u, mask;
    if (children[last] == child) return last;
    __m256i wanted = _mm256_set1_epi64x((long long)(uintptr_t)child);
    for (unsigned i = 0;; i += 4) {
        __m256i same = _mm256_cmpeq_epi64(loadFour(children + i), wanted);
        if ((mask = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(same))))
            return i + (unsigned)__builtin_ctz(mask);
    }
}

AVX2 static inline uint64_t countsBeforeAvx2(const struct zbtInner *n, const void *child) {
    void **children = zbtChildren(n);
    __m256i wanted = _mm256_set1_epi64x((long long)(uintptr_t)child), sum = _mm256_setzero_si256();
    for (unsigned i = 0;; i += 4) {
        __m256i same = _mm256_cmpeq_epi64(loadFour(children + i), wanted), counts = loadFour(n->counts + i);
        unsigned mask = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(same));
        if (mask) {
            __m256i at = _mm256_set1_epi64x(__builtin_ctz(mask));
            __m256i in_front = _mm256_cmpgt_epi64(at, _mm256_set_epi64x(3, 2, 1, 0));
            return sumOfFour(_mm256_add_epi64(sum, _mm256_and_si256(counts, in_front)));
        }
        sum = _mm256_add_epi64(sum, counts);
    }
}

AVX2 static __attribute__((noinline)) struct zbtPos findAllAvx2(const zbtree *t, struct str member,
                                                                uint64_t hash) {
    return findAmongAll(t, member, hash, matchAvx2);
}
AVX2 static struct zbtPos findAvx2(const zbtree *t, struct str member, uint64_t hash) {
    return findWith(t, member, hash, matchAvx2, findAllAvx2);
}
AVX2 static int peekAvx2(const struct zbtLeaf *l, uint8_t fp) {
    return peekWith(l, fp, matchAvx2);
}
AVX2 static struct zbtPos seekAvx2(const zbtree *t, const struct zbtTarget *target, uint64_t *before) {
    return seekWith(t, target, before, false, chooseAvx2);
}
AVX2 static struct zbtPos seekInsertAvx2(zbtree *t, const struct zbtTarget *target) {
    uint64_t before;
    return seekWith(t, target, &before, true, chooseAvx2);
}
AVX2 static struct zbtPos seekScoreAvx2(const zbtree *t, double x, bool past, uint64_t *before) {
    return past ? seekScoreWith(t, x, true, before, chooseAvx2)
                : seekScoreWith(t, x, false, before, chooseAvx2);
}
AVX2 static uint64_t rankAvx2(const struct zbtLeaf *l) {
    return rankWith(l, countsBeforeAvx2);
}
#endif

/* ---- The choice ---- */

struct zbtPos (*zbtFind)(const zbtree *, struct str, uint64_t);
int (*zbtLeafPeek)(const struct zbtLeaf *, uint8_t);
struct zbtPos (*zbtSeek)(const zbtree *, const struct zbtTarget *, uint64_t *);
struct zbtPos (*zbtSeekScoreEnd)(const zbtree *, double, bool, uint64_t *);
struct zbtPos (*zbtSeekInsert)(zbtree *, const struct zbtTarget *);
unsigned (*zbtChildIndex)(const struct zbtInner *, const void *);
uint64_t (*zbtRankOfLeaf)(const struct zbtLeaf *);

void zbtUseAvx2(bool use) {
    zbtFind = findPlain;
    zbtLeafPeek = peekPlain;
    zbtSeek = seekPlain;
    zbtSeekScoreEnd = seekScorePlain;
    zbtSeekInsert = seekInsertPlain;
    zbtChildIndex = childIndexPlain;
    zbtRankOfLeaf = rankPlain;
#ifdef HAVE_AVX2
    if (!use || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) return;
    zbtFind = findAvx2;
    zbtLeafPeek = peekAvx2;
    zbtSeek = seekAvx2;
    zbtSeekScoreEnd = seekScoreAvx2;
    zbtSeekInsert = seekInsertAvx2;
    zbtChildIndex = childIndexAvx2;
    zbtRankOfLeaf = rankAvx2;
#else
    (void)use;
#endif
}

__attribute__((constructor)) static void useWhatThereIs(void) {
    zbtUseAvx2(true);
}
