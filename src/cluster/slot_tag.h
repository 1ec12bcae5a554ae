/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_tag.h - a key for each slot. */
#pragma once

/* Returns the shortest text of digits and letters whose slot is `slot`, and of these the first in the order
 * 0-9a-zA-Z: up to 3 characters and a NUL, valid forever. The first call takes some milliseconds. */
const char *slotTag(int slot);
