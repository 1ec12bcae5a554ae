/* SPDX-License-Identifier: BSD-3-Clause */
/* range_bits.h - a bit for each range of positions: set when what is in it was saved out of turn.
 *
 *     uint64_t **bits   | 0 | * | 0 | 0 | * | ...    pieces of 4 KB, for RANGE_BITS_PIECE ranges each
 *                             |           '--> | 0100.. |
 *                             '--> | 0010.. |        NULL: none of its bits is set
 *
 * Pieces are allocated with their first bit, and may be freed one by one as a walk passes them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/zmalloc.h"

#define RANGE_BITS_PIECE 32768 /* ranges */

static inline uint64_t rangeBitsPieces(uint64_t ranges) {
    return (ranges + RANGE_BITS_PIECE - 1) / RANGE_BITS_PIECE;
}

static inline uint64_t **rangeBitsNew(uint64_t ranges) {
    return zcalloc(rangeBitsPieces(ranges), sizeof(uint64_t *));
}

static inline bool rangeBitsHas(uint64_t *const *bits, uint64_t range) {
    const uint64_t *piece = bits[range / RANGE_BITS_PIECE];
    return piece && piece[range % RANGE_BITS_PIECE / 64] >> range % 64 & 1;
}

static inline void rangeBitsSet(uint64_t **bits, uint64_t range) {
    uint64_t **piece = &bits[range / RANGE_BITS_PIECE];
    if (!*piece) *piece = zcalloc(1, RANGE_BITS_PIECE / 8);
    (*piece)[range % RANGE_BITS_PIECE / 64] |= 1ULL << range % 64;
}

/* Frees the pieces from `first` to before `end`: their bits are 0 again. */
static inline void rangeBitsFreePieces(uint64_t **bits, uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; i++) {
        zfree(bits[i]);
        bits[i] = NULL;
    }
}
