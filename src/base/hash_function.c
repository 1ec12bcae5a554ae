/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_function.c - see hash_function.h and siphash.h. */
#include "base/hash_function.h"

#include "base/siphash.h"

uint64_t hash_key0, hash_key1;

void hashSetSeed(const uint8_t seed[16]) {
    hash_key0 = load64(seed);
    hash_key1 = load64(seed + 8);
}

uint64_t hashBytes(const void *p, size_t len) {
    return sipHash(p, len, false);
}

uint64_t hashStrNoCase(struct str s) {
    return sipHash((const uint8_t *)s.ptr, s.len, true);
}
