/* SPDX-License-Identifier: BSD-3-Clause */
/* hidden_slots.h - the slots of a keyspace whose keys nobody is to see yet: they are on their way here, and
 * another node's still. How many keys there are in them is counted as keys come and go, so that showing a
 * slot costs the same however many it has.
 *
 *     a keyspace with none has no struct hiddenSlots at all, and pays a test of the pointer */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/key_slot.h"

#define SLOT_GROUP  64 /* slots that are counted together */
#define SLOT_GROUPS (KEY_SLOTS / SLOT_GROUP)

struct hiddenSlots {
    int slots;                        /* how many */
    uint64_t keys, expires;           /* in them; expires: with an expiry */
    uint64_t is_hidden[SLOT_GROUPS];  /* a bit for each slot */
    uint64_t group_keys[SLOT_GROUPS]; /* of its hidden slots */
    uint32_t *expires_of;             /* by slot; NULL: none has had any */
};

static inline bool slotIsHidden(const struct hiddenSlots *h, int slot) {
    return h && h->is_hidden[slot / SLOT_GROUP] >> slot % SLOT_GROUP & 1;
}
/* Keys have come into the slot, or gone, if by is negative. Nothing where it is not hidden. */
static inline void hiddenCountKeys(struct hiddenSlots *h, int slot, uint64_t by) {
    if (!slotIsHidden(h, slot)) return;
    h->keys += by;
    h->group_keys[slot / SLOT_GROUP] += by;
}
void hiddenCountExpires(struct hiddenSlots *h, int slot, uint32_t by);

/* Hides a slot that is shown and has so many keys. *h is made with the first... */
void hiddenAdd(struct hiddenSlots **h, int slot, uint64_t keys, uint32_t expires);
/* ...and freed with the last. Nothing where it is not hidden. */
void hiddenRemove(struct hiddenSlots **h, int slot, uint64_t keys);
/* All keys are gone. The slots stay hidden. */
void hiddenEmptied(struct hiddenSlots *h);
void hiddenFree(struct hiddenSlots *h); /* NULL is fine */
