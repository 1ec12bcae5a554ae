/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_heap.c - a heap whose nodes have four children; see hash_heap.h.
 *
 *     slot 0 | 1 2 3 4 | 5 6 7 8 | 9 ...        children of i: 4i + 1 .. 4i + 4, parent: (i - 1) / 4
 *
 * The array grows by half, and shrinks when a quarter of it is used. */
#include "types/hash/hash_heap.h"

#include "base/assert.h"
#include "base/zmalloc.h"

#define CHILDREN 4
#define ROOM_MIN 2

static void hashHeapResize(struct hashHeap *h, uint32_t room) {
    h->room = room;
    h->slot = zrealloc(h->slot, room * sizeof *h->slot);
}

static inline void hashHeapPlace(struct hashHeap *h, const struct hashHeapType *type, uint32_t pos,
                                 void *item) {
    h->slot[pos] = item;
    type->placed(item, pos);
}

static void hashHeapSiftUp(struct hashHeap *h, const struct hashHeapType *type, uint32_t pos, void *item) {
    int64_t when = type->when(item);
    while (pos) {
        uint32_t parent = (pos - 1) / CHILDREN;
        if (type->when(h->slot[parent]) <= when) break;
        hashHeapPlace(h, type, pos, h->slot[parent]);
        pos = parent;
    }
    hashHeapPlace(h, type, pos, item);
}

static void hashHeapSiftDown(struct hashHeap *h, const struct hashHeapType *type, uint32_t pos, void *item) {
    int64_t when = type->when(item);
    for (;;) {
        uint64_t child = (uint64_t)pos * CHILDREN + 1,
                 end = child + CHILDREN < h->used ? child + CHILDREN : h->used;
        uint32_t best = pos;
        int64_t best_when = when;
        for (; child < end; child++) {
            int64_t w = type->when(h->slot[child]);
            if (w >= best_when) continue;
            best = (uint32_t)child;
            best_when = w;
        }
        if (best == pos) break;
        hashHeapPlace(h, type, pos, h->slot[best]);
        pos = best;
    }
    hashHeapPlace(h, type, pos, item);
}

void hashHeapAdd(struct hashHeap *h, const struct hashHeapType *type, void *item) {
    serverAssert(h->used < UINT32_MAX);
    if (h->used == h->room) hashHeapResize(h, h->room < ROOM_MIN ? ROOM_MIN : h->room + (h->room + 1) / 2);
    hashHeapSiftUp(h, type, h->used++, item);
}

void hashHeapAdjust(struct hashHeap *h, const struct hashHeapType *type, uint32_t pos) {
    void *item = h->slot[pos];
    if (pos && type->when(item) < type->when(h->slot[(pos - 1) / CHILDREN]))
        hashHeapSiftUp(h, type, pos, item);
    else
        hashHeapSiftDown(h, type, pos, item);
}

void hashHeapRemove(struct hashHeap *h, const struct hashHeapType *type, uint32_t pos) {
    debugAssert(pos < h->used);
    void *last = h->slot[--h->used];
    if (pos < h->used) {
        hashHeapPlace(h, type, pos, last);
        hashHeapAdjust(h, type, pos);
    }
    if (!h->used)
        hashHeapFree(h);
    else if (h->room > 4 * ROOM_MIN && h->used <= h->room / 4)
        hashHeapResize(h, h->room / 2);
}

/* All items below one that is due later are due later, too. */
static uint32_t hashHeapCountFrom(const struct hashHeap *h, const struct hashHeapType *type, int64_t when,
                                  uint64_t pos, uint32_t limit) {
    if (pos >= h->used || !limit || type->when(h->slot[pos]) >= when) return 0;
    uint32_t n = 1;
    for (uint64_t child = pos * CHILDREN + 1; child <= pos * CHILDREN + CHILDREN && n < limit; child++)
        n += hashHeapCountFrom(h, type, when, child, limit - n);
    return n;
}

uint32_t hashHeapCountBefore(const struct hashHeap *h, const struct hashHeapType *type, int64_t when,
                             uint32_t limit) {
    return hashHeapCountFrom(h, type, when, 0, limit);
}

void hashHeapFree(struct hashHeap *h) {
    zfree(h->slot);
    *h = (struct hashHeap){0};
}
