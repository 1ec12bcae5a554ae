/* SPDX-License-Identifier: BSD-3-Clause */
/* sha256.h - SHA-256 (FIPS 180-4), whose digests are stored in place of passwords. */
#pragma once

#include <stddef.h>

#define SHA256_HEX_LEN 64

void sha256Hex(char out[SHA256_HEX_LEN + 1], const void *p, size_t len); /* lower-case hex and a NUL */
