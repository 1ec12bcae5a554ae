/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_draw.h - random numbers of a distribution, which decide which keys a load uses. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum benchDistribution {
    BENCH_UNIFORM,
    BENCH_ZIPF, /* number k with a weight of 1/(k+1)^exponent, so that 0 is the most frequent one */
    BENCH_GAUSS /* normal around the middle of the range; the deviation is a share of the range */
};

struct benchDraw {
    enum benchDistribution kind;
    double parameter;       /* the exponent, or the share */
    double low, high, near; /* precomputed for BENCH_ZIPF and the range */
};

/* Reads "uniform", "zipf", "zipf:1.1", "gauss" or "gauss:0.05". Returns false for anything else. */
bool benchDrawParse(struct benchDraw *d, const char *text);
/* Prepares for numbers from 0 to range-1; range >= 1. O(1). */
void benchDrawPrepare(struct benchDraw *d, int64_t range);
int64_t benchDraw(const struct benchDraw *d, int64_t range);
