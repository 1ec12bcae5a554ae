/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_draw.h - random numbers of a distribution: which keys a load asks for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum benchDistribution {
    BENCH_UNIFORM,
    BENCH_ZIPF, /* number k as often as 1/(k+1)^exponent: 0 is the most frequent one */
    BENCH_GAUSS /* around the middle of the range, with a deviation that is a share of it */
};

struct benchDraw {
    enum benchDistribution kind;
    double parameter;       /* the exponent, or the share */
    double low, high, near; /* of BENCH_ZIPF, for the range */
};

/* "uniform", "zipf", "zipf:1.1", "gauss", "gauss:0.05". False: it is none of these. */
bool benchDrawParse(struct benchDraw *d, const char *text);
/* For numbers from 0 to range-1; range >= 1. O(1). */
void benchDrawPrepare(struct benchDraw *d, int64_t range);
int64_t benchDraw(const struct benchDraw *d, int64_t range);
