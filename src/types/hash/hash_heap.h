/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_heap.h - a heap of items by due time. Items know their position in it, so that any can be
 * removed or moved.
 *
 * Nodes have four children: the depth is half that of a binary heap, and the children share a cache line.
 * Items are opaque; the type returns their due time and stores their position. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hashHeapType {
    int64_t (*when)(const void *item);
    void (*placed)(void *item, uint32_t pos);
};
struct hashHeap {
    void **slot;
    uint32_t used, room;
};

/* Adds an item. O(log n); O(1) when it is due late. */
void hashHeapAdd(struct hashHeap *h, const struct hashHeapType *type, void *item);
void hashHeapRemove(struct hashHeap *h, const struct hashHeapType *type, uint32_t pos); /* O(log n) */
/* Moves the item at pos to its position after its due time has changed. */
void hashHeapAdjust(struct hashHeap *h, const struct hashHeapType *type, uint32_t pos);
/* Updates the pointer at pos after the item was moved in memory. */
static inline void hashHeapReplace(struct hashHeap *h, uint32_t pos, void *item) {
    h->slot[pos] = item;
}
static inline void *hashHeapFirst(const struct hashHeap *h) {
    return h->used ? h->slot[0] : NULL;
}
/* Counts the items due before `when`, up to `limit`. O(result). */
uint32_t hashHeapCountBefore(const struct hashHeap *h, const struct hashHeapType *type, int64_t when,
                             uint32_t limit);
void hashHeapFree(struct hashHeap *h); /* frees the array; the heap is empty then */
