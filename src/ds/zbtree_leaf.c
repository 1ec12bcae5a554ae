/* SPDX-License-Identifier: BSD-3-Clause */
/* zbtree_leaf.c - leaves of the B+ tree: packed elements, in order.
 *
 *      0        48          48 + cap                                            size - heap      size
 *     | header | fp[cap]   | slot[count]: offset, score |          free        | bytes (garbage) |
 *
 * An offset counts from the end of the leaf, so that growing a leaf copies its columns unchanged.
 *
 *     hole: the last of a chain of erased members, each | size, offset of the one before |; the next member
 *           of its size is written over it
 *
 * Searching is in zbtree_search.c. */
#include <math.h>

#include "ds/zbtree_private.h"

#define HEADER   offsetof(struct zbtLeaf, fp)
#define CAP_STEP 16u
/* Groups are read as a whole: the first is within the smallest leaf, the second within every leaf that
 * needs one. */
_Static_assert(HEADER + ZBT_FP_GROUP <= ZBT_LEAF_MIN, "the first group of fp");
_Static_assert(ZBT_LEAF_SLOTS <= 2 * ZBT_FP_GROUP, "the second group of fp");

static inline unsigned zbtLeafRoundUp(unsigned n, unsigned step) {
    return (n + step - 1) & ~(step - 1);
}

/* ---- Scores ---- */

static inline uint64_t zbtLeafWidthRange(unsigned width) {
    return (1ull << (8 * width)) - 1;
}

unsigned zbtScaleFor(double score, unsigned scale) {
    int64_t units;
    while (scale < ZBT_SCALES && !zbtToUnits(score, scale, &units)) scale++;
    return scale;
}

static inline void zbtLeafStoreWideScore(uint8_t *slot, unsigned width, int64_t base, double score) {
    uint64_t above = (uint64_t)zbtOrdinal(score) - (uint64_t)base;
    if (width >= 8) {
        memcpy(slot + 2, &score, 8);
        return;
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint32_t low = (uint32_t)above, high = (uint32_t)(above >> (8 * width - 32));
    memcpy(slot + 2, &low, 4);
    memcpy(slot + width - 2, &high, 4);
#else
    for (unsigned i = 0; i < width; i++) slot[2 + i] = (uint8_t)(above >> (8 * i));
#endif
}

static inline void zbtLeafStoreAbove(uint8_t *slot, unsigned width, uint64_t above) {
    uint16_t w2 = (uint16_t)above;
    uint32_t w4 = (uint32_t)above;
    switch (width) {
    case 1: slot[2] = (uint8_t)above; break;
    case 2: memcpy(slot + 2, &w2, 2); break;
    default: memcpy(slot + 2, &w4, 4);
    }
}

/* Stores a score that fits. */
static inline void zbtLeafStoreScore(const struct zbtLeaf *l, uint8_t *slot, struct zscore score) {
    int64_t units = 0;
    if (likely(l->width <= 4)) {
        zbtToUnits(score.value, l->scale, &units);
        zbtLeafStoreAbove(slot, l->width, (uint64_t)units - (uint64_t)l->base);
        return;
    }
    int16_t rest = (int16_t)score.rest;
    zbtLeafStoreWideScore(slot, l->width, l->base, score.value);
    if (unlikely(l->width == ZBT_WIDTH_EXACT)) memcpy(slot + 10, &rest, sizeof rest);
}

/* Writes `count` slots of `src` from `from` on to `to`, with the scores as `dst` has them, and with the
 * offsets unchanged. A narrow leaf's scale only increases, so that narrow scores stay integers. */
static void zbtLeafConvert(const struct zbtLeaf *dst, uint8_t *to, const struct zbtLeaf *src,
                           const uint8_t *from, unsigned count) {
    unsigned width = dst->width, was = src->width;
    if (width == was && dst->base == src->base && dst->scale == src->scale) {
        memcpy(to, from, (size_t)count * (2 + width));
        return;
    }
    if (width <= 4 && was <= 4) {
        uint64_t ratio = (uint64_t)(zbt_units[dst->scale] / zbt_units[src->scale]);
        uint64_t shift = (uint64_t)src->base * ratio - (uint64_t)dst->base;
        serverAssert(dst->scale >= src->scale || !count);
        for (; count; count--, to += 2 + width, from += 2 + was) {
            memcpy(to, from, 2);
            zbtLeafStoreAbove(to, width, zbtAboveIn(from, was) * ratio + shift);
        }
        return;
    }
    for (; count; count--, to += 2 + width, from += 2 + was) {
        memcpy(to, from, 2);
        zbtLeafStoreScore(dst, to, (struct zscore){zbtScoreIn(src, from), zbtRestIn(from, was)});
    }
}

static bool zbtLeafAnyRest(const struct zbtLeaf *l, unsigned from, unsigned to) {
    if (l->width != ZBT_WIDTH_EXACT) return false;
    while (from < to && !zbtRestIn(zbtSlot(l, from), l->width)) from++;
    return from < to;
}

/* Returns a scale at which the scores of all elements are integers; ZBT_SCALES: there is none. */
static unsigned zbtLeafScaleOf(const struct zbtLeaf *l, unsigned from, unsigned to) {
    unsigned scale = 0;
    if (from == to || l->width <= 4) return from == to ? 0 : l->scale;
    while (from < to && scale < ZBT_SCALES) scale = zbtScaleFor(zbtValueAt(l, from++), scale);
    return scale;
}

/* Packs any doubles from low to high; unused range is divided between both sides. */
static struct zbtPacking zbtPackDoubles(double low, double high) {
    struct zbtPacking p = {0, 8, 0};
    int64_t from = zbtOrdinal(low), to = zbtOrdinal(high);
    uint64_t span = (uint64_t)to - (uint64_t)from;
    if ((low <= 0 && high >= 0) || span > zbtLeafWidthRange(7))
        return p; /* -0 and 0 are equal although their bits are not */
    p.width = span <= zbtLeafWidthRange(5) ? 5 : span <= zbtLeafWidthRange(6) ? 6 : 7;
    int64_t room = (int64_t)((zbtLeafWidthRange(p.width) - span) / 2);
    p.base = from < INT64_MIN + room ? INT64_MIN : from - room;
    return p;
}

/* The ends say whether all scores are near enough to 0 for the scale. */
struct zbtPacking zbtPackScores(double low, double high, unsigned scale) {
    int64_t from, to;
    bool narrow = scale < ZBT_SCALES && zbtToUnits(low, scale, &from) && zbtToUnits(high, scale, &to);
    uint64_t span = narrow ? (uint64_t)(to - from) : UINT64_MAX;
    if (span > zbtLeafWidthRange(4)) return zbtPackDoubles(low, high);
    unsigned width = span <= zbtLeafWidthRange(1) ? 1 : span <= zbtLeafWidthRange(2) ? 2 : 4;
    return (struct zbtPacking){from, width, scale};
}

struct zbtPacking zbtPackLike(const struct zbtLeaf *l, struct zbtPacking p, double first, bool rising) {
    int64_t base = zbtOrdinal(first);
    bool narrow = l->width <= 4;
    if (narrow != (p.width <= 4) || p.width >= 8 || l->width >= 8) return p;
    if (narrow && !zbtToUnits(first, l->scale, &base)) return p;
    int64_t range = (int64_t)zbtLeafWidthRange(l->width);
    if (!rising) base = base < INT64_MIN + range ? INT64_MIN : base - range;
    return (struct zbtPacking){base, l->width, l->scale};
}

struct zbtPacking zbtPack(const struct zbtLeaf *l, unsigned from, unsigned to, const struct zbtItem *more,
                          unsigned slot) {
    double low = INFINITY, high = -INFINITY;
    if (unlikely(more && more->rest) || unlikely(zbtLeafAnyRest(l, from, to))) return zbtPackExact();
    if (from < to) {
        low = zbtValueAt(l, from);
        high = zbtValueAt(l, to - 1);
    }
    if (more && more->score < low) low = more->score;
    if (more && more->score > high) high = more->score;
    unsigned scale =
        more ? zbtScaleFor(more->score, zbtLeafScaleOf(l, from, to)) : zbtLeafScaleOf(l, from, to);
    struct zbtPacking p = zbtPackScores(low, high, scale);
    if (p.width == l->width && from < to && (!more || zbtLeafFits(l, more->score, more->rest))) {
        p.base = l->base; /* an equal base lets columns be copied unchanged */
        return p;
    }
    if (p.width > 4) return p;
    /* Similar elements may follow: leave space on their side. */
    bool descending = more && slot == from && from < to;
    if (descending) {
        zbtToUnits(high, p.scale, &p.base);
        p.base -= (int64_t)zbtLeafWidthRange(p.width);
    }
    return p;
}

/* ---- Space ---- */

static inline unsigned zbtLeafBytesSize(const uint8_t *bytes) {
    return *bytes <= ZBT_INLINE_MAX ? 1u + *bytes : 1u + (unsigned)sizeof(struct zbtBig *);
}

/* A hole has its size as a byte, and the offset of the next hole. */
#define HOLE_MIN 3u
static inline uint8_t *zbtLeafAtOffset(const struct zbtLeaf *l, unsigned offset) {
    return (uint8_t *)l + l->size - offset;
}
static inline unsigned zbtLeafHoleSize(const struct zbtLeaf *l) {
    return l->hole ? *zbtLeafAtOffset(l, l->hole) : 0;
}
static void zbtLeafPushHole(struct zbtLeaf *l, unsigned offset, unsigned size) {
    uint8_t *p = zbtLeafAtOffset(l, offset);
    l->garbage = (uint16_t)(l->garbage + size);
    if (size < HOLE_MIN) return;
    *p = (uint8_t)size;
    memcpy(p + 1, &l->hole, 2);
    l->hole = (uint16_t)offset;
}
static unsigned zbtLeafPopHole(struct zbtLeaf *l) {
    unsigned offset = l->hole;
    const uint8_t *p = zbtLeafAtOffset(l, offset);
    l->garbage = (uint16_t)(l->garbage - *p);
    memcpy(&l->hole, p + 1, 2);
    return offset;
}

size_t zbtLeafNeed(unsigned count, size_t bytes, unsigned width) {
    size_t need = HEADER + zbtLeafRoundUp(count, CAP_STEP) + (size_t)count * (2 + width) + bytes;
    return need < ZBT_LEAF_MIN ? ZBT_LEAF_MIN : need;
}

unsigned zbtLeafBytes(const struct zbtLeaf *l, unsigned from, unsigned to) {
    unsigned sum = 0;
    if (from == 0 && to == l->count) return l->heap - l->garbage;
    for (unsigned i = from; i < to; i++) sum += zbtLeafBytesSize(zbtBytes(l, zbtSlot(l, i)));
    return sum;
}

void zbtLeafInit(struct zbtLeaf *l, size_t size, struct zbtPacking p, unsigned least, unsigned each) {
    unsigned cap = (unsigned)(size - HEADER) / each & ~(CAP_STEP - 1);
    if (cap > ZBT_LEAF_SLOTS) cap = ZBT_LEAF_SLOTS;
    if (cap < zbtLeafRoundUp(least, CAP_STEP)) cap = zbtLeafRoundUp(least, CAP_STEP);
    if (cap < CAP_STEP) cap = CAP_STEP;
    serverAssert(least <= ZBT_LEAF_SLOTS && size >= ZBT_LEAF_MIN && size <= UINT16_MAX);
    *l = (struct zbtLeaf){.base = p.base,
                          .cap = (uint8_t)cap,
                          .size = (uint16_t)size,
                          .width = (uint8_t)p.width,
                          .scale = p.scale & 0xf};
    /* Searches read whole groups. Bytes after the last element do not matter, but memcheck does not know
     * that. */
    memset(l->fp, 0, cap <= ZBT_FP_GROUP ? ZBT_FP_GROUP : 2 * ZBT_FP_GROUP);
}

bool zbtLeafHasRoom(struct zbtLeaf *l, const struct zbtItem *it) {
    unsigned stride = 2u + l->width;
    unsigned taken = (unsigned)HEADER + l->cap + l->count * stride + l->heap;
    unsigned bytes = zbtItemBytes(it), need = stride + (bytes == zbtLeafHoleSize(l) ? 0 : bytes);
    bool wider = l->count == l->cap;
    if (wider) need += CAP_STEP;
    if (taken + need > l->size || !zbtLeafFits(l, it->score, it->rest) || l->count == ZBT_LEAF_SLOTS)
        return false;
    if (wider) {
        uint8_t *slots = zbtSlot(l, 0);
        memmove(slots + CAP_STEP, slots, l->count * stride);
        l->cap = (uint8_t)(l->cap + CAP_STEP);
    }
    return true;
}

/* ---- Changing ---- */

/* Copies bytes. Most copies are short, so overlapping words replace a call. */
static inline void zbtLeafCopyBytes(uint8_t *dst, const uint8_t *src, unsigned n) {
    uint64_t words[4];
    if (unlikely(n < 8 || n > 32)) {
        memcpy(dst, src, n);
        return;
    }
    memcpy(words, src, 8);
    memcpy(words + 1, src + n - 8, 8);
    if (n > 16) {
        memcpy(words + 2, src + 8, 8);
        memcpy(words + 3, src + n - 16, 8);
        memcpy(dst + 8, words + 2, 8);
        memcpy(dst + n - 16, words + 3, 8);
    }
    memcpy(dst, words, 8);
    memcpy(dst + n - 8, words + 1, 8);
}

void zbtLeafTakeAll(struct zbtLeaf *dst, const struct zbtLeaf *src) {
    memcpy(dst->fp, src->fp, src->count);
    zbtLeafConvert(dst, zbtSlot(dst, 0), src, zbtSlot(src, 0), src->count);
    memcpy((char *)dst + dst->size - src->heap, (const char *)src + src->size - src->heap, src->heap);
    serverAssert(!dst->count && src->count <= dst->cap);
    dst->count = src->count;
    dst->heap = src->heap;
    dst->garbage = src->garbage;
    dst->hole = src->hole;
}

void zbtLeafTake(struct zbtLeaf *dst, const struct zbtLeaf *src, unsigned from, unsigned to) {
    unsigned heap = dst->heap, stride = 2u + dst->width;
    if (!dst->count && !src->garbage && from == 0 && to == src->count) {
        zbtLeafTakeAll(dst, src);
        return;
    }
    memcpy(dst->fp + dst->count, src->fp + from, to - from);
    uint8_t *slot = zbtSlot(dst, dst->count);
    zbtLeafConvert(dst, slot, src, zbtSlot(src, from), to - from);
    for (unsigned i = from; i < to; i++, slot += stride) {
        const uint8_t *bytes = zbtBytes(src, zbtSlot(src, i));
        unsigned size = zbtLeafBytesSize(bytes);
        heap += size;
        zbtLeafCopyBytes((uint8_t *)dst + dst->size - heap, bytes, size);
        uint16_t off = (uint16_t)heap;
        memcpy(slot, &off, 2);
    }
    dst->count = (uint8_t)(dst->count + to - from);
    dst->heap = (uint16_t)heap;
    serverAssert(dst->count <= dst->cap && (uint8_t *)dst + dst->size - heap >= zbtSlot(dst, dst->count));
}

bool zbtLeafRepack(struct zbtLeaf *l, struct zbtPacking p, const struct zbtItem *more) {
    uint8_t
        slots[ZBT_LEAF_SLOTS * (2 + ZBT_WIDTH_EXACT) + 8]; /* with the bytes that are read behind the last */
    struct zbtLeaf was = *l;
    unsigned count = was.count + (more != NULL), bytes = was.heap + (more ? zbtItemBytes(more) : 0);
    if (HEADER + was.cap + count * (2 + p.width) + bytes > was.size || count > was.cap) return false;
    memcpy(slots, zbtSlot(l, 0), was.count * (2u + was.width));
    l->base = p.base;
    l->width = (uint8_t)p.width;
    l->scale = p.scale & 0xf;
    zbtLeafConvert(l, zbtSlot(l, 0), &was, slots, was.count);
    return true;
}

/* Copies the member's bytes into the heap and returns their offset. */
static uint16_t zbtLeafPutBytes(struct zbtLeaf *l, const struct zbtItem *it) {
    unsigned need = zbtItemBytes(it), offset = l->heap + need;
    if (need == zbtLeafHoleSize(l))
        offset = zbtLeafPopHole(l);
    else
        l->heap = (uint16_t)offset;
    uint8_t *bytes = zbtLeafAtOffset(l, offset);
    if (it->big) {
        *bytes = ZBT_INLINE_MAX + 1;
        memcpy(bytes + 1, &it->big, sizeof it->big);
    } else {
        *bytes = (uint8_t)it->member.len;
        if (it->member.len)
            zbtLeafCopyBytes(bytes + 1, (const uint8_t *)it->member.ptr, (unsigned)it->member.len);
    }
    return (uint16_t)offset;
}

void zbtLeafPut(struct zbtLeaf *l, unsigned slot, const struct zbtItem *it) {
    debugAssert(slot <= l->count && l->count < l->cap && zbtLeafFits(l, it->score, it->rest));
    unsigned stride = 2u + l->width, behind = l->count - slot;
    uint8_t *at = zbtSlot(l, slot);
    memmove(l->fp + slot + 1, l->fp + slot, behind);
    memmove(at + stride, at, behind * stride);
    uint16_t offset = zbtLeafPutBytes(l, it);
    l->fp[slot] = it->fp;
    memcpy(at, &offset, 2);
    zbtLeafStoreScore(l, at, (struct zscore){it->score, it->rest});
    l->count++;
}

void zbtLeafDrop(struct zbtLeaf *l, unsigned from, unsigned to) {
    debugAssert(from < to && to <= l->count);
    unsigned stride = 2u + l->width, behind = l->count - to;
    bool whole = to - from == l->count;
    for (unsigned i = from; i < to && !whole; i++) {
        const uint8_t *bytes = zbtBytes(l, zbtSlot(l, i));
        unsigned size = zbtLeafBytesSize(bytes), offset = (unsigned)((const uint8_t *)l + l->size - bytes);
        if (offset == l->heap)
            l->heap = (uint16_t)(l->heap - size);
        else
            zbtLeafPushHole(l, offset, size);
    }
    memmove(l->fp + from, l->fp + to, behind);
    memmove(zbtSlot(l, from), zbtSlot(l, to), behind * stride);
    l->count = (uint8_t)(l->count - (to - from));
    if (!l->count) l->heap = l->garbage = l->hole = 0;
}

void zbtLeafPutScore(struct zbtLeaf *l, unsigned slot, struct zscore score) {
    debugAssert(slot < l->count && zbtLeafFits(l, score.value, score.rest));
    zbtLeafStoreScore(l, zbtSlot(l, slot), score);
}

void zbtLeafRescore(struct zbtLeaf *l, unsigned from, unsigned to, struct zscore score) {
    debugAssert(from < l->count && to < l->count && zbtLeafFits(l, score.value, score.rest));
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
    zbtLeafStoreScore(l, now, score);
}
