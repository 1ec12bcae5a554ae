/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_set.h - a set of slots: a bitmap with the layout of the bus. Slot s is bit s % 8 of byte s / 8. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/key_slot.h"

struct slotSet {
    uint8_t bits[KEY_SLOTS / 8];
};

static inline bool slotSetHas(const struct slotSet *set, int slot) {
    return set->bits[slot >> 3] >> (slot & 7) & 1;
}
static inline void slotSetAdd(struct slotSet *set, int slot) {
    set->bits[slot >> 3] |= (uint8_t)(1 << (slot & 7));
}
static inline void slotSetRemove(struct slotSet *set, int slot) {
    set->bits[slot >> 3] &= (uint8_t) ~(1 << (slot & 7));
}
static inline void slotSetSubtract(struct slotSet *set, const struct slotSet *others) {
    for (size_t i = 0; i < sizeof set->bits; i++) set->bits[i] &= (uint8_t)~others->bits[i];
}
static inline bool slotSetIsEqual(const struct slotSet *a, const struct slotSet *b) {
    return memcmp(a, b, sizeof *a) == 0;
}
int slotSetCount(const struct slotSet *set);
int slotSetCountRuns(const struct slotSet *set);
/* Finds the next run of slots at or after `from`. Returns its first slot and sets *last, or
 * returns -1 if there is none. */
int slotSetFindRun(const struct slotSet *set, int from, int *last);

/* Iterates over the runs of the set in ascending order. */
#define slotSetForEachRun(set, first, last)                                                                  \
    for (int last, first = slotSetFindRun(set, 0, &last); first >= 0;                                        \
         first = slotSetFindRun(set, last + 1, &last))

/* Iterates over the slots of the set in ascending order. The body may remove the current slot. */
#define slotSetForEach(set, slot)                                                                            \
    for (int slot##_last, slot = slotSetFindRun(set, 0, &slot##_last); slot >= 0;                            \
         slot = slot < slot##_last ? slot + 1 : slotSetFindRun(set, slot + 1, &slot##_last))
