/* SPDX-License-Identifier: BSD-3-Clause */
/* ziplist.h - the flat list of older files, which listpacks replaced; read only.
 *
 *     [u32 bytes][u32 offset of the last entry][u16 count][entry ...][0xff]
 *
 *     entry:  size of the previous entry: 1 byte, or 0xfe and 4 bytes
 *             00xxxxxx                      string of x bytes
 *             01xxxxxx + 1 byte             string, 14-bit length, big endian
 *             10...... + 4 bytes            string, 32-bit length, big endian
 *             c0 d0 e0 f0 fe                integer of 16, 32, 64, 24, 8 bits
 *             1111xxxx, x from 1 to 13      the integer x - 1
 *
 * All integers but those lengths are little endian. A count of 65535 means "unknown, walk". */
#pragma once

#include "base/str.h"

/* Converts a ziplist to a listpack, which the caller owns. Returns NULL if the bytes are no valid
 * ziplist. All bytes are checked; no byte outside is read. */
unsigned char *ziplistToListpack(struct str bytes);
