/* SPDX-License-Identifier: BSD-3-Clause */
/* keysort.h - sorts by 64-bit keys: numbers exactly, texts by their first bytes.
 *
 *     keys:     | key | at | key | at | ...        16 bytes each: only these are sorted and moved
 *                        |
 *     elements: | ..  | .. | ..                    `at` stands for one of these
 *
 * Sorting moves pairs of words and compares them in the loop itself: qsort() would move whole elements,
 * and call a function for each comparison. Here a function is called only where two keys are equal.
 *
 * The sort is stable. It takes O(n) where few keys are equal and O(n log n) for any input, and as much memory
 * again as the keys; O(n) without memory where they are sorted already. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct sortKey {
    uint64_t key;
    size_t at;
};

/* Orders two elements whose keys are equal, with results as qsort's comparisons. NULL keeps their order. */
typedef int keysortTie(void *priv, size_t a, size_t b);

void keysortSort(struct sortKey *keys, size_t count, keysortTie *tie, void *priv);
/* Moves the `first` smallest ones to the front, in any order. O(count) on average. */
void keysortSelect(struct sortKey *keys, size_t count, size_t first, keysortTie *tie, void *priv);

/* Return keys in the order of doubles (no NaN; both zeros are equal), and of strings by their first 8
 * bytes, where equal keys need a tie. ~key reverses the order. */
uint64_t keysortDouble(double v);
uint64_t keysortText(struct str s);
