/* SPDX-License-Identifier: BSD-3-Clause */
/* hidden_slots.c - see hidden_slots.h. */
#include "data/keyspace/hidden_slots.h"

#include <string.h>

#include "base/assert.h"
#include "base/zmalloc.h"

void hiddenCountExpires(struct hiddenSlots *h, int slot, uint32_t by) {
    if (!by || !slotIsHidden(h, slot)) return;
    if (!h->expires_of) h->expires_of = zcalloc(KEY_SLOTS, sizeof *h->expires_of);
    h->expires += (uint64_t)(int64_t)(int32_t)by;
    h->expires_of[slot] += by;
}

void hiddenAdd(struct hiddenSlots **hidden, int slot, uint64_t keys, uint32_t expires) {
    if (!*hidden) *hidden = zcalloc(1, sizeof **hidden);
    struct hiddenSlots *h = *hidden;
    debugAssert(!slotIsHidden(h, slot));
    h->slots++;
    h->is_hidden[slot / SLOT_GROUP] |= 1ULL << slot % SLOT_GROUP;
    hiddenCountKeys(h, slot, keys);
    hiddenCountExpires(h, slot, expires);
}

void hiddenRemove(struct hiddenSlots **hidden, int slot, uint64_t keys) {
    struct hiddenSlots *h = *hidden;
    if (!slotIsHidden(h, slot)) return;
    hiddenCountKeys(h, slot, -keys);
    if (h->expires_of) hiddenCountExpires(h, slot, -h->expires_of[slot]);
    h->is_hidden[slot / SLOT_GROUP] &= ~(1ULL << slot % SLOT_GROUP);
    if (--h->slots) return;
    debugAssert(!h->keys && !h->expires);
    hiddenFree(h);
    *hidden = NULL;
}

void hiddenEmptied(struct hiddenSlots *h) {
    serverAssert(h);
    h->keys = h->expires = 0;
    memset(h->group_keys, 0, sizeof h->group_keys);
    zfree(h->expires_of);
    h->expires_of = NULL;
}

void hiddenFree(struct hiddenSlots *h) {
    if (!h) return;
    zfree(h->expires_of);
    zfree(h);
}
