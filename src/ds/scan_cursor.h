/* SPDX-License-Identifier: BSD-3-Clause */
/* scan_cursor.h - the position of a SCAN: a number below 2^53, exact in a double. 0 starts and ends.
 *
 *     | level: 5 | position: 48 |        position: the upper bits of an entry's (salted) hash
 *
 * Positions are divided into 2^level stripes, about as many as the table had homes when the scan began.
 * Stripes are visited in bit-reversed order (of 8: 0 4 2 6 1 5 3 7), each from start to end. So a client
 * that deletes what it is given leaves an evenly filled table, which can shrink; in the order of
 * positions there would be a full part and an empty one, and the full one would not fit a smaller table
 * without long probes.
 *
 * A stripe is a range of positions, whatever size the table has: each position is visited once, which is
 * SCAN's guarantee. A larger table has more homes in a stripe, a smaller one has more stripes in a home.
 * If the table has become so small that this would waste calls, the scan starts again with suitable
 * stripes: entries already passed are passed again (SCAN allows that), which costs little compared to
 * the calls before. Levels only decrease, so the scan ends. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"

#define POSITION_BITS     48
#define POSITION_END      (1ULL << POSITION_BITS)
#define SCAN_CURSOR_END   (1ULL << 53)
#define SCAN_LEVELS_APART 4

struct scanCursor {
    unsigned level;
    uint64_t position;
};

/* Reads a client's cursor (below SCAN_CURSOR_END) over a table of `homes` homes, at least one. */
static inline struct scanCursor scanCursorRead(uint64_t cursor, uint64_t homes) {
    debugAssert(homes > 0);
    unsigned level = (unsigned)(cursor >> POSITION_BITS), fitting = 63 - (unsigned)__builtin_clzll(homes);
    if (fitting > 31) fitting = 31;
    if (!cursor || level >= fitting + SCAN_LEVELS_APART) return (struct scanCursor){fitting, 0};
    return (struct scanCursor){level, cursor & (POSITION_END - 1)};
}

/* Returns where the cursor's stripe ends. */
static inline uint64_t scanStripeEnd(const struct scanCursor *c) {
    unsigned width = POSITION_BITS - c->level;
    return ((c->position >> width) + 1) << width;
}

/* Moves to position `to`, which is not after the stripe, or to the next stripe. Returns false at the
 * end. */
static inline bool scanCursorAdvance(struct scanCursor *c, uint64_t to) {
    if (to < scanStripeEnd(c)) {
        c->position = to;
        return true;
    }
    unsigned width = POSITION_BITS - c->level;
    uint64_t stripe = c->position >> width, bit = (1ULL << c->level) >> 1;
    for (; stripe & bit; bit >>= 1) stripe ^= bit;
    c->position = (stripe | bit) << width;
    return bit != 0;
}

/* Returns the cursor as a number for the client. */
static inline uint64_t scanCursorNumber(const struct scanCursor *c) {
    return (uint64_t)c->level << POSITION_BITS | c->position;
}
