/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_set.c - see slot_set.h. */
#include "cluster/slot_set.h"

#include "base/assert.h"

_Static_assert(sizeof(struct slotSet) == 2048, "as many bytes as on the bus");

static uint64_t slotSetWordAt(const struct slotSet *set, int i) {
    uint64_t word;
    memcpy(&word, set->bits + 8 * i, 8); /* little-endian: bit b of word i is slot 64 * i + b */
    return word;
}

int slotSetCount(const struct slotSet *set) {
    int count = 0;
    for (int i = 0; i < KEY_SLOTS / 64; i++) count += __builtin_popcountll(slotSetWordAt(set, i));
    return count;
}

/* Returns the first slot from `from` on that is in the set (flip 0) or not in it
 * (flip ~0); KEY_SLOTS if none. */
static int slotSetFindFrom(const struct slotSet *set, int from, uint64_t flip) {
    for (int i = from / 64; i < KEY_SLOTS / 64; i++) {
        uint64_t word = slotSetWordAt(set, i) ^ flip;
        if (i == from / 64) word &= ~0ULL << (from % 64);
        if (word) return 64 * i + __builtin_ctzll(word);
    }
    return KEY_SLOTS;
}

int slotSetFindRun(const struct slotSet *set, int from, int *last) {
    serverAssert(from >= 0 && last);
    if (from >= KEY_SLOTS) return -1;
    int first = slotSetFindFrom(set, from, 0);
    if (first == KEY_SLOTS) return -1;
    *last = slotSetFindFrom(set, first, ~0ULL) - 1;
    return first;
}

int slotSetCountRuns(const struct slotSet *set) {
    int count = 0;
    slotSetForEachRun(set, first, last) count++;
    return count;
}
