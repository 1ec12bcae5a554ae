/* SPDX-License-Identifier: BSD-3-Clause */
/* load.h - loads words from any address, the lowest byte first. */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t load64(const void *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return le64toh(x);
}

static inline uint32_t load32(const void *p) {
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return le32toh(x);
}
