/* SPDX-License-Identifier: BSD-3-Clause */
/* intset.h - a sorted array of integers in one flat allocation (the published intset format, byte exact).
 *
 *     [u32 width: 2, 4 or 8 bytes][u32 length][integers, ascending, little endian]
 *
 * All integers have the width that the widest of them needs; a wider one re-encodes the whole array.
 * Functions that change return the intset, which may have moved. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTSET_HEADER 8

unsigned char *intsetNew(void);
void intsetFree(unsigned char *is);
unsigned char *intsetDup(const unsigned char *is);
uint32_t intsetLength(const unsigned char *is);
size_t intsetBytes(const unsigned char *is); /* bytes of the format */

bool intsetFind(const unsigned char *is, int64_t v);        /* O(log n) */
int64_t intsetGet(const unsigned char *is, uint32_t index); /* index < length */
/* O(n), since all later integers move. *done, unless NULL, is false when the integer was present
 * already, or absent. */
unsigned char *intsetAdd(unsigned char *is, int64_t v, bool *done);
unsigned char *intsetRemove(unsigned char *is, int64_t v, bool *done);

/* Returns whether `size` bytes at is are a well-formed intset; `deep` also checks that its integers
 * ascend. */
bool intsetValidate(const unsigned char *is, size_t size, bool deep);
