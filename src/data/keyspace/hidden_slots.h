/* SPDX-License-Identifier: BSD-3-Clause */
/* hidden_slots.h - the slots of a keyspace whose keys must not be seen yet: they are being copied here and
 * still belong to another node. Their keys are counted as they come and go, so that showing a slot costs the
 * same however many it has.
 *
 *     a keyspace with none has no struct hiddenSlots at all, and pays a test of the pointer
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/key_slot.h"

#define SLOT_GROUP  64 /* slots that are counted together */
#define SLOT_GROUPS (KEY_SLOTS / SLOT_GROUP)

struct hiddenSlots {
    int slots;                        /* number of hidden slots */
    uint64_t keys, expires;           /* number of keys in them; expires: those with an expiry */
    uint64_t is_hidden[SLOT_GROUPS];  /* a bit for each slot */
    uint64_t group_keys[SLOT_GROUPS]; /* keys in the hidden slots of each group */
    uint32_t *expires_of;             /* by slot; NULL: no hidden slot has had keys with an expiry */
};

static inline bool slotIsHidden(const struct hiddenSlots *h, int slot) {
    return h && h->is_hidden[slot / SLOT_GROUP] >> slot % SLOT_GROUP & 1;
}
/* Counts keys that came into the slot, or left it if `by` is negative. Does nothing for a slot that
 * is not hidden. */
static inline void hiddenCountKeys(struct hiddenSlots *h, int slot, uint64_t by) {
    if (!slotIsHidden(h, slot)) return;
    h->keys += by;
    h->group_keys[slot / SLOT_GROUP] += by;
}
void hiddenCountExpires(struct hiddenSlots *h, int slot, uint32_t by);

/* Hides a slot that is shown and has so many keys. Allocates *h for the first one. */
void hiddenAdd(struct hiddenSlots **h, int slot, uint64_t keys, uint32_t expires);
/* Shows a slot, and frees *h with the last hidden one. Does nothing for a slot that is not hidden. */
void hiddenRemove(struct hiddenSlots **h, int slot, uint64_t keys);
/* Called when all keys are gone. The slots stay hidden. */
void hiddenEmptied(struct hiddenSlots *h);
void hiddenFree(struct hiddenSlots *h); /* NULL is fine */
