/* SPDX-License-Identifier: BSD-3-Clause */
/* How long random tests of containers run. */
#pragma once

#include <stdint.h>
#include <stdlib.h>

/* MODEL_OPS operations, or a million: utils/test/run says less where checks make everything slow (sanitizers,
 * valgrind). */
static inline uint64_t modelOps(void) {
    const char *s = getenv("MODEL_OPS");
    return s ? strtoull(s, NULL, 10) : 1000000;
}

/* `full` is a part of a million. */
static inline uint64_t modelShare(uint64_t full) {
    return full * modelOps() / 1000000;
}
