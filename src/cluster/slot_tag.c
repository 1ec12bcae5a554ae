/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_tag.c - see slot_tag.h. */
#include "cluster/slot_tag.h"

#include <string.h>

#include "base/assert.h"
#include "base/key_slot.h"

#define TAG_LEN_MAX 3

/* Gives each text of this length, in order, to its slot if that has none yet.
 * Returns how many slots got one. */
static int slotTagFillLength(char tags[][TAG_LEN_MAX + 1], size_t len) {
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    enum { LETTERS = sizeof letters - 1 };
    int named = 0, count = 1;
    for (size_t i = 0; i < len; i++) count *= LETTERS;
    for (int n = 0; n < count; n++) {
        char text[TAG_LEN_MAX + 1] = "";
        for (int i = (int)len - 1, rest = n; i >= 0; i--, rest /= LETTERS) text[i] = letters[rest % LETTERS];
        char *tag = tags[keySlot(strN(text, len))];
        if (*tag) continue;
        memcpy(tag, text, sizeof text);
        named++;
    }
    return named;
}

const char *slotTag(int slot) {
    serverAssert(slot >= 0 && slot < KEY_SLOTS);
    static char tags[KEY_SLOTS][TAG_LEN_MAX + 1];
    if (!*tags[0]) {
        int named = 0;
        for (size_t len = 1; len <= TAG_LEN_MAX; len++) named += slotTagFillLength(tags, len);
        serverAssert(named == KEY_SLOTS);
    }
    return tags[slot];
}
