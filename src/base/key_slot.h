/* SPDX-License-Identifier: BSD-3-Clause */
/* key_slot.h - the slot of a key, by which a cluster divides its data. */
#pragma once

#include <stdint.h>

#include "base/str.h"

#define KEY_SLOTS 16384

/* Returns the CRC16 of the key, or of what is between the first { and the next }, unless that is
 * empty, modulo KEY_SLOTS. */
int keySlot(struct str key);
/* Returns hashBytes with the slot in place of its lowest bits. */
uint64_t keySlotHash(struct str key);
/* Returns the slot of all keys that match this glob pattern; -1: they may have different slots. */
int patternSlot(struct str pattern);
