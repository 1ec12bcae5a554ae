/* SPDX-License-Identifier: BSD-3-Clause */
/* model_ops.h - how long random tests of containers run. */
#pragma once

#include <stdint.h>
#include <stdlib.h>

/* Returns MODEL_OPS, or a million. utils/test/run sets fewer where checks are slow (sanitizers, valgrind). */
static inline uint64_t modelOps(void) {
    const char *s = getenv("MODEL_OPS");
    return s ? strtoull(s, NULL, 10) : 1000000;
}

/* Returns the part of modelOps() that `full` is of a million. */
static inline uint64_t modelShare(uint64_t full) {
    return full * modelOps() / 1000000;
}
