/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_tag.h - a key for each slot. */
#pragma once

/* The shortest text of digits and letters that is a key of the slot, of those the first in the order
 * 0-9a-zA-Z: up to 3 characters and a NUL, good for ever. The first call takes some milliseconds. */
const char *slotTag(int slot);
