/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap.h - strings as arrays of bits: bit 0 is the highest bit of the first byte. */
#pragma once

void bitmapInit(void); /* commands */
