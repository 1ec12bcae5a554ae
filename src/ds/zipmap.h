/* SPDX-License-Identifier: BSD-3-Clause */
/* zipmap.h - the flat map of the oldest files, read only.
 *
 *     [u8 count][ length | key | length | free: 8 | value | `free` unused bytes ] ... [0xff]
 *
 *     length:  1 byte up to 253; or 0xfe and 4 bytes, little endian
 *
 * A count of 254 or more means "unknown, walk". */
#pragma once

#include "base/str.h"

/* Returns key, value, key, value ... as a listpack, which the caller owns; NULL if the bytes are no
 * valid zipmap. All bytes are checked; no byte outside is read. */
unsigned char *zipmapToListpack(struct str bytes);
