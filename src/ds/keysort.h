/* SPDX-License-Identifier: BSD-3-Clause */
/* keysort.h - sorting things by a key of 64 bits: numbers exactly, texts by how they begin.
 *
 *     keys:     | key | at | key | at | ...        16 bytes each: this is sorted, and nothing else moves
 *                        |
 *     things:   | ..  | .. | ..                    whatever `at` stands for
 *
 * Sorting moves pairs of words and compares them in the loop itself: qsort() would move whole things, and
 * call a function for each comparison. That function is only asked here where two keys are equal.
 *
 * Stable. O(n log n) whatever the order. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct sortKey {
    uint64_t key;
    size_t at;
};

/* Orders two things whose keys are equal, as qsort's do. NULL: they stay as they are. */
typedef int keysortTie(void *priv, size_t a, size_t b);

void keysort(struct sortKey *keys, size_t count, keysortTie *tie, void *priv);
/* Brings the `first` ones that come first to the front, in any order. O(count), on average. */
void keysortSelect(struct sortKey *keys, size_t count, size_t first, keysortTie *tie, void *priv);

/* Keys that are ordered as doubles are (no NaN; both zeros are one), and as strings by their first 8 bytes:
 * where those are equal, a tie decides. ~key is the other way round. */
uint64_t keysortDouble(double v);
uint64_t keysortText(struct str s);
