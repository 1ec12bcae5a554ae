/* SPDX-License-Identifier: BSD-3-Clause */
/* hit_density.h - ranks keys by how often they are likely to be used in the time that they stay: the policies
 * *-lhd evict the least hit density. It knows marks, the 24 bits of an object, and no objects.
 *
 *     | last use:20 | uses:4 |      ticks of a clock of evictions; a logarithmic count of uses
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DENSITY_USES_MAX 15 /* the largest count; about 16,000 uses */
#define DENSITY_AGES     48 /* groups of ages */

/* Forgets all that was learned. */
void densityReset(void);

/* Returns the mark of a key with this count of uses that is used now. */
uint32_t densityMark(uint32_t uses);
static inline uint32_t densityUses(uint32_t mark) {
    return mark & DENSITY_USES_MAX;
}
/* Returns the mark after one more use. counted: the use is counted in the statistics; false for keys that the
 * policy cannot evict. Threads may call this at once (base/read_phase.h), but not beside the functions below.
 */
uint32_t densityUse(uint32_t mark, bool counted);

/* Notes a key that was sampled at random, and stands for so many keys. */
void densityNoteSample(uint32_t mark, double keys);
void densityNoteSampled(void); /* all keys have been sampled once more */
/* Notes an eviction out of so many keys, which moves the clock. O(1), except once in a sixteenth of the keys
 * or more, when the scores are computed: about 10 us. */
void densityNoteEviction(uint64_t keys);
/* The higher, the better for eviction. Scores change with age, and when they are computed again. */
uint32_t densityScore(uint32_t mark);

/* For tests. Computes for each age the density that densityScore is the inverse of, from the rates of uses
 * per key and tick. */
void densityIndex(const double *rates, double *index);
