/* SPDX-License-Identifier: BSD-3-Clause */
/* sha1.h - SHA-1 (FIPS 180-4), for script names and DEBUG DIGEST, not for security. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sha1 {
    uint32_t h[5];
    uint64_t len;
    uint8_t block[64];
};

void sha1Init(struct sha1 *ctx);
void sha1Update(struct sha1 *ctx, const void *p, size_t len);
void sha1Final(struct sha1 *ctx, uint8_t out[20]);
void sha1Hex(char out[41], const void *p, size_t len); /* lower-case hex and a NUL */
