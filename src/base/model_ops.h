/* SPDX-License-Identifier: BSD-3-Clause */
/* model_ops.h - how long random tests of containers run, and with which random numbers. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"

/* Returns MODEL_OPS, or a million. utils/test/run sets fewer where checks are slow (sanitizers, valgrind). */
static inline uint64_t modelOps(void) {
    const char *s = getenv("MODEL_OPS");
    return s ? strtoull(s, NULL, 10) : 1000000;
}

/* Returns the part of modelOps() that `full` is of a million. */
static inline uint64_t modelShare(uint64_t full) {
    return full * modelOps() / 1000000;
}

/* Seeds this thread's random numbers with SEED of the environment, or anew, and prints the seed: SEED=n
 * repeats a run. */
static inline void modelSeed(void) {
    const char *s = getenv("SEED");
    uint64_t seed = s ? strtoull(s, NULL, 10) : randomU64() >> 32;
    printf("SEED=%llu\n", (unsigned long long)seed);
    randomSeed(seed);
}
