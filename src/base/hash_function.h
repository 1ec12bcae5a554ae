/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_function.h - the keyed hash of all tables: SipHash-1-3 (Aumasson and Bernstein 2012). It is seeded
 * once at start, so that a client cannot choose colliding keys. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

void hashSetSeed(const uint8_t seed[16]);
uint64_t hashBytes(const void *p, size_t len);
uint64_t hashStrNoCase(struct str s); /* ASCII case folded */
