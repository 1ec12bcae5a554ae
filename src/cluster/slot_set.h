/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_set.h - a set of slots: a bitmap, as it travels on the bus. Slot s is bit s % 8 of byte s / 8. */
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
static inline void slotSetWithout(struct slotSet *set, const struct slotSet *others) {
    for (size_t i = 0; i < sizeof set->bits; i++) set->bits[i] &= (uint8_t)~others->bits[i];
}
static inline bool slotSetEqual(const struct slotSet *a, const struct slotSet *b) {
    return memcmp(a, b, sizeof *a) == 0;
}
int slotSetCount(const struct slotSet *set);
/* The next run of slots from `from` on: its first, and *last. -1: there is none. */
int slotSetRun(const struct slotSet *set, int from, int *last);
