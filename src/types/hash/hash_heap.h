/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_heap.h - what is due first: a heap of items that know their place in it, so that any can be taken out
 * or moved.
 *
 * Four children to a node: half the depth of a binary heap, and the children share a cache line. Items are
 * opaque; the type says when they are due, and is told where they went. */
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

void hashHeapAdd(struct hashHeap *h, const struct hashHeapType *type,
                 void *item); /* O(log n), late items O(1) */
void hashHeapRemove(struct hashHeap *h, const struct hashHeapType *type, uint32_t pos); /* O(log n) */
/* The time of the item at pos has changed. */
void hashHeapAdjust(struct hashHeap *h, const struct hashHeapType *type, uint32_t pos);
/* The item at pos was moved in memory. */
static inline void hashHeapReplace(struct hashHeap *h, uint32_t pos, void *item) {
    h->slot[pos] = item;
}
static inline void *hashHeapFirst(const struct hashHeap *h) {
    return h->used ? h->slot[0] : NULL;
}
/* How many items are due before `when`, but no more than `limit`: O(of them). */
uint32_t hashHeapCountBefore(const struct hashHeap *h, const struct hashHeapType *type, int64_t when,
                             uint32_t limit);
void hashHeapFree(struct hashHeap *h); /* the array; it is empty then */
