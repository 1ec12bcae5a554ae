/* zbtree_leaf.c - leaves of the B+ tree: packed elements, in order.
 *
 *      0        48          48 + cap                                            size - heap      size
 *     | header | fp[cap]   | slot[count]: offset, score |          free        | bytes (garbage) |
 *
 * An offset counts from the end of the leaf, so that a leaf is grown by copying its columns as they are.
 *
 * The searches that read many bytes exist twice, for AVX2 and in plain C; which ones are called is decided
 * when the program starts. */
#include "ds/zbtree_private.h"

#include <math.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAVE_AVX2 1
#endif

#define HEADER   offsetof(struct zbtLeaf, fp)
#define CAP_STEP 16u
/* A group is read as a whole: the first is inside the smallest leaf, the second inside a leaf that needs one.
 */
_Static_assert(HEADER + ZBT_FP_GROUP <= ZBT_LEAF_MIN, "the first group of fp");
_Static_assert(ZBT_LEAF_SLOTS <= 2 * ZBT_FP_GROUP, "the second group of fp");
#define INTEGRAL_LIMIT 9007199254740992.0 /* 2^53 */

static inline unsigned roundUp(unsigned n, unsigned step) {
    return (n + step - 1) & ~(step - 1);
}

/* ---- Scores ---- */

static inline bool isIntegral(double d) {
    return d >= -INTEGRAL_LIMIT && d <= INTEGRAL_LIMIT && d == (double)(int64_t)d && (d != 0 || !signbit(d));
}

static inline uint64_t widthRange(unsigned width) {
    return (1ull << (8 * width)) - 1;
}

static inline void putScore(uint8_t *slot, unsigned width, int64_t base, double score) {
    uint64_t above = width == 8 ? 0 : (uint64_t)((int64_t)score - base);
    uint16_t w2 = (uint16_t)above;
    uint32_t w4 = (uint32_t)above;
    switch (width) {
    case 1: slot[2] = (uint8_t)above; break;
    case 2: memcpy(slot + 2, &w2, 2); break;
    case 4: memcpy(slot + 2, &w4, 4); break;
    default: memcpy(slot + 2, &score, 8);
    }
}

static inline double scoreAt(const struct zbtLeaf *l, unsigned i) {
    return zbtScoreIn(zbtSlot(l, i), l->width, l->base);
}

static bool allIntegral(const struct zbtLeaf *l, unsigned from, unsigned to) {
    if (l->width != 8) return true;
    while (from < to && isIntegral(scoreAt(l, from))) from++;
    return from == to;
}

struct zbtPacking zbtPack(const struct zbtLeaf *l, unsigned from, unsigned to, const struct zbtItem *more,
                          unsigned slot) {
    struct zbtPacking p = {0, 8};
    if ((more && !isIntegral(more->score)) || !allIntegral(l, from, to)) return p;
    double low = INFINITY, high = -INFINITY;
    if (from < to) {
        low = scoreAt(l, from);
        high = scoreAt(l, to - 1);
    }
    if (more && more->score < low) low = more->score;
    if (more && more->score > high) high = more->score;
    uint64_t span = (uint64_t)((int64_t)high - (int64_t)low);
    if (span > widthRange(4)) return p;
    p.width = span <= widthRange(1) ? 1 : span <= widthRange(2) ? 2 : 4;
    /* More of the same kind may come: leave room where this one is. */
    bool descending = more && slot == from && from < to;
    p.base = descending ? (int64_t)high - (int64_t)widthRange(p.width) : (int64_t)low;
    return p;
}

bool zbtLeafFits(const struct zbtLeaf *l, double score) {
    if (l->width == 8) return true;
    return isIntegral(score) && (uint64_t)((int64_t)score - l->base) <= widthRange(l->width);
}

/* ---- Room ---- */

static inline unsigned bytesSize(const uint8_t *bytes) {
    return *bytes <= ZBT_INLINE_MAX ? 1u + *bytes : 1u + (unsigned)sizeof(struct zbtBig *);
}

size_t zbtLeafNeed(unsigned count, size_t bytes, unsigned width) {
    size_t need = HEADER + roundUp(count, CAP_STEP) + (size_t)count * (2 + width) + bytes;
    return need < ZBT_LEAF_MIN ? ZBT_LEAF_MIN : need;
}

unsigned zbtLeafBytes(const struct zbtLeaf *l, unsigned from, unsigned to) {
    unsigned sum = 0;
    if (from == 0 && to == l->count) return l->heap - l->garbage;
    for (unsigned i = from; i < to; i++) sum += bytesSize(zbtBytes(l, zbtSlot(l, i)));
    return sum;
}

void zbtLeafInit(struct zbtLeaf *l, size_t size, struct zbtPacking p, unsigned least, unsigned each) {
    unsigned cap = (unsigned)(size - HEADER) / each & ~(CAP_STEP - 1);
    if (cap > ZBT_LEAF_SLOTS) cap = ZBT_LEAF_SLOTS;
    if (cap < roundUp(least, CAP_STEP)) cap = roundUp(least, CAP_STEP);
    if (cap < CAP_STEP) cap = CAP_STEP;
    *l = (struct zbtLeaf){
        .base = p.base, .cap = (uint16_t)cap, .size = (uint16_t)size, .width = (uint8_t)p.width};
    memset(l->fp, 0, cap); /* searches read whole words; memcheck cannot see that the rest does not count */
}

bool zbtLeafHasRoom(struct zbtLeaf *l, const struct zbtItem *it) {
    unsigned stride = 2u + l->width;
    unsigned taken = (unsigned)HEADER + l->cap + l->count * stride + l->heap;
    unsigned need = stride + zbtItemBytes(it);
    bool wider = l->count == l->cap;
    if (wider) need += CAP_STEP;
    if (taken + need > l->size || !zbtLeafFits(l, it->score) || l->count == ZBT_LEAF_SLOTS) return false;
    if (wider) {
        uint8_t *slots = zbtSlot(l, 0);
        memmove(slots + CAP_STEP, slots, l->count * stride);
        l->cap = (uint16_t)(l->cap + CAP_STEP);
    }
    return true;
}

/* ---- Changing ---- */

/* Columns taken over as they are. */
static void takeAll(struct zbtLeaf *dst, const struct zbtLeaf *src) {
    memcpy(dst->fp, src->fp, src->count);
    memcpy(zbtSlot(dst, 0), zbtSlot(src, 0), src->count * (2u + src->width));
    memcpy((char *)dst + dst->size - src->heap, (const char *)src + src->size - src->heap, src->heap);
    dst->count = src->count;
    dst->heap = src->heap;
}

void zbtLeafTake(struct zbtLeaf *dst, const struct zbtLeaf *src, unsigned from, unsigned to) {
    unsigned width = dst->width, heap = dst->heap, stride = 2 + width;
    bool same = width == src->width && dst->base == src->base;
    if (same && !dst->count && !src->garbage && from == 0 && to == src->count) {
        takeAll(dst, src);
        return;
    }
    memcpy(dst->fp + dst->count, src->fp + from, to - from);
    uint8_t *slot = zbtSlot(dst, dst->count);
    for (unsigned i = from; i < to; i++, slot += stride) {
        const uint8_t *old = zbtSlot(src, i), *bytes = zbtBytes(src, old);
        unsigned size = bytesSize(bytes);
        heap += size;
        memcpy((char *)dst + dst->size - heap, bytes, size);
        uint16_t off = (uint16_t)heap;
        memcpy(slot, &off, 2);
        if (same)
            memcpy(slot + 2, old + 2, width);
        else
            putScore(slot, width, dst->base, zbtScoreIn(old, src->width, src->base));
    }
    dst->count = (uint16_t)(dst->count + to - from);
    dst->heap = (uint16_t)heap;
}

static uint8_t *putBytes(struct zbtLeaf *l, const struct zbtItem *it) {
    l->heap = (uint16_t)(l->heap + zbtItemBytes(it));
    uint8_t *bytes = (uint8_t *)l + l->size - l->heap;
    if (it->big) {
        *bytes = ZBT_INLINE_MAX + 1;
        memcpy(bytes + 1, &it->big, sizeof it->big);
    } else {
        *bytes = (uint8_t)it->member.len;
        if (it->member.len) memcpy(bytes + 1, it->member.ptr, it->member.len);
    }
    return bytes;
}

void zbtLeafPut(struct zbtLeaf *l, unsigned slot, const struct zbtItem *it) {
    unsigned stride = 2u + l->width, behind = l->count - slot;
    uint8_t *at = zbtSlot(l, slot);
    memmove(l->fp + slot + 1, l->fp + slot, behind);
    memmove(at + stride, at, behind * stride);
    putBytes(l, it);
    l->fp[slot] = it->fp;
    memcpy(at, &l->heap, 2);
    putScore(at, l->width, l->base, it->score);
    l->count++;
}

void zbtLeafDrop(struct zbtLeaf *l, unsigned from, unsigned to) {
    unsigned stride = 2u + l->width, behind = l->count - to;
    for (unsigned i = from; i < to; i++) {
        const uint8_t *bytes = zbtBytes(l, zbtSlot(l, i));
        unsigned size = bytesSize(bytes);
        if (bytes == (const uint8_t *)l + l->size - l->heap)
            l->heap = (uint16_t)(l->heap - size);
        else
            l->garbage = (uint16_t)(l->garbage + size);
    }
    memmove(l->fp + from, l->fp + to, behind);
    memmove(zbtSlot(l, from), zbtSlot(l, to), behind * stride);
    l->count = (uint16_t)(l->count - (to - from));
    if (!l->count) l->heap = l->garbage = 0;
}

void zbtLeafRescore(struct zbtLeaf *l, unsigned from, unsigned to, double score) {
    unsigned stride = 2u + l->width;
    uint8_t fp = l->fp[from], *old = zbtSlot(l, from), *now = zbtSlot(l, to), offset[2];
    memcpy(offset, old, 2);
    if (from < to) {
        memmove(l->fp + from, l->fp + from + 1, to - from);
        memmove(old, old + stride, (to - from) * stride);
    } else if (to < from) {
        memmove(l->fp + to + 1, l->fp + to, from - to);
        memmove(now + stride, now, (from - to) * stride);
    }
    l->fp[to] = fp;
    memcpy(now, offset, 2);
    putScore(now, l->width, l->base, score);
}

/* ---- Searching by order ---- */

/* First of n slots from `low` on whose score is not below x, or (past) not below and not equal. No branches
 * but the loop's: which way it goes cannot be predicted. */
ZBT_INLINE unsigned searchScore(const struct zbtLeaf *l, unsigned low, unsigned n, double x, bool past,
                                unsigned width) {
    const uint8_t *slots = zbtSlot(l, 0);
    int64_t base = l->base;
    while (n) {
        unsigned half = (n + 1) / 2;
        double score = zbtScoreIn(slots + (size_t)(low + half - 1) * (2 + width), width, base);
        bool left = past ? score <= x : score < x;
        low += left ? half : 0;
        n = left ? n - half : half - 1;
    }
    return low;
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
    unsigned low = searchScore(l, 0, l->count, t->score, t->ties == ZBT_TIES_LEFT, width);
    if (t->ties != ZBT_TIES_BY_MEMBER || low == l->count || scoreAt(l, low) != t->score) return low;
    return searchMember(l, low, searchScore(l, low, l->count - low, t->score, true, width), t);
}

unsigned zbtLeafSearch(const struct zbtLeaf *l, const struct zbtTarget *t) {
    switch (l->width) {
    case 1: return searchWidth(l, t, 1);
    case 2: return searchWidth(l, t, 2);
    case 4: return searchWidth(l, t, 4);
    default: return searchWidth(l, t, 8);
    }
}

/* ---- Searching many bytes at once: templates for both instruction sets ---- */

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

/* Those of 128 fp that are equal to one, as bits. Which comes first, and whether there are any in the first
 * half, cannot be predicted: so there are no branches up to the first comparison of members, which is nearly
 * always the right one. */
struct matches {
    uint64_t low, high;
};
typedef struct matches matchFn(const uint8_t *fps, uint8_t fp, unsigned count);

ZBT_INLINE unsigned takeFirst(struct matches *m) {
    uint64_t in_high = -(uint64_t)(m->low == 0), bits = m->low | (m->high & in_high);
    m->low &= m->low - 1;
    m->high &= ~in_high | (m->high - 1);
    return (unsigned)(in_high & 64) + (unsigned)__builtin_ctzll(bits);
}

ZBT_INLINE int findWith(const struct zbtLeaf *l, uint8_t fp, struct str member, matchFn *match) {
    for (unsigned group = 0; group < l->count; group += ZBT_FP_GROUP) {
        struct matches m = match(l->fp + group, fp, l->count - group);
        while (m.low | m.high) {
            unsigned i = group + takeFirst(&m);
            if (likely(isMember(l, i, member))) return (int)i;
        }
    }
    return -1;
}

ZBT_INLINE int peekWith(const struct zbtLeaf *l, uint8_t fp, matchFn *match) {
    for (unsigned group = 0; group < l->count; group += ZBT_FP_GROUP) {
        struct matches m = match(l->fp + group, fp, l->count - group);
        if (likely(m.low | m.high)) return (int)(group + takeFirst(&m));
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

ZBT_INLINE struct matches matchPlain(const uint8_t *fps, uint8_t fp, unsigned count) {
    uint64_t bits[2] = {0, 0};
    if (count > ZBT_FP_GROUP) count = ZBT_FP_GROUP;
    for (unsigned i = 0; i < count; i += 8)
        bits[i / 64] |= (uint64_t)match8(fps + i, fp * 0x0101010101010101ull) << (i % 64);
    if (count % 64) bits[count / 64] &= (1ull << (count % 64)) - 1;
    return (struct matches){bits[0], bits[1]};
}

static int findPlain(const struct zbtLeaf *l, uint8_t fp, struct str member) {
    return findWith(l, fp, member, matchPlain);
}
static int peekPlain(const struct zbtLeaf *l, uint8_t fp) {
    return peekWith(l, fp, matchPlain);
}
static unsigned countLePlain(const double *separators, unsigned cap, double x) {
    unsigned n = 0;
    for (unsigned i = 0; i < cap; i++) n += separators[i] <= x;
    return n;
}
static unsigned countLtPlain(const double *separators, unsigned cap, double x) {
    unsigned n = 0;
    for (unsigned i = 0; i < cap; i++) n += separators[i] < x;
    return n;
}

/* ---- AVX2 ---- */

#ifdef HAVE_AVX2
#define AVX2 __attribute__((target("avx2,popcnt,bmi,bmi2")))

AVX2 static inline uint64_t match32(const uint8_t *p, __m256i fps) {
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)p);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, fps));
}
AVX2 static inline struct matches matchAvx2(const uint8_t *p, uint8_t fp, unsigned count) {
    __m256i fps = _mm256_set1_epi8((char)fp);
    uint64_t low = match32(p, fps) | match32(p + 32, fps) << 32;
    uint64_t high = match32(p + 64, fps) | match32(p + 96, fps) << 32;
    unsigned n = count < ZBT_FP_GROUP ? count : ZBT_FP_GROUP;
    return (struct matches){_bzhi_u64(low, n), _bzhi_u64(high, n > 64 ? n - 64 : 0)};
}

AVX2 static int findAvx2(const struct zbtLeaf *l, uint8_t fp, struct str member) {
    return findWith(l, fp, member, matchAvx2);
}
AVX2 static int peekAvx2(const struct zbtLeaf *l, uint8_t fp) {
    return peekWith(l, fp, matchAvx2);
}
AVX2 static unsigned countLeAvx2(const double *separators, unsigned cap, double x) {
    __m256d v = _mm256_set1_pd(x);
    unsigned n = 0;
    for (unsigned i = 0; i < cap; i += 4) {
        __m256d less = _mm256_cmp_pd(_mm256_loadu_pd(separators + i), v, _CMP_LE_OQ);
        n += (unsigned)__builtin_popcount((unsigned)_mm256_movemask_pd(less));
    }
    return n;
}
AVX2 static unsigned countLtAvx2(const double *separators, unsigned cap, double x) {
    __m256d v = _mm256_set1_pd(x);
    unsigned n = 0;
    for (unsigned i = 0; i < cap; i += 4) {
        __m256d less = _mm256_cmp_pd(_mm256_loadu_pd(separators + i), v, _CMP_LT_OQ);
        n += (unsigned)__builtin_popcount((unsigned)_mm256_movemask_pd(less));
    }
    return n;
}
#endif

/* ---- The choice ---- */

int (*zbtLeafFind)(const struct zbtLeaf *, uint8_t, struct str);
int (*zbtLeafPeek)(const struct zbtLeaf *, uint8_t);
unsigned (*zbtCountLe)(const double *, unsigned, double);
unsigned (*zbtCountLt)(const double *, unsigned, double);

void zbtUseAvx2(bool use) {
    zbtLeafFind = findPlain;
    zbtLeafPeek = peekPlain;
    zbtCountLe = countLePlain;
    zbtCountLt = countLtPlain;
#ifdef HAVE_AVX2
    if (!use || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) return;
    zbtLeafFind = findAvx2;
    zbtLeafPeek = peekAvx2;
    zbtCountLe = countLeAvx2;
    zbtCountLt = countLtAvx2;
#else
    (void)use;
#endif
}

__attribute__((constructor)) static void useWhatThereIs(void) {
    zbtUseAvx2(true);
}
