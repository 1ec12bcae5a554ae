/* SPDX-License-Identifier: BSD-3-Clause */
/* digest.c - combining SHA-1 digests; see digest.h. */
#include "data/digest.h"

#include "base/sha1.h"

static void digestSha1Of(uint8_t out[20], const void *p, size_t len) {
    struct sha1 ctx;
    sha1Init(&ctx);
    sha1Update(&ctx, p, len);
    sha1Final(&ctx, out);
}

static void digestXor20(uint8_t digest[20], const uint8_t other[20]) {
    for (int i = 0; i < 20; i++) digest[i] ^= other[i];
}

void digestXor(uint8_t digest[20], struct str s) {
    uint8_t hash[20];
    digestSha1Of(hash, s.ptr, s.len);
    digestXor20(digest, hash);
}

void digestXorDigest(uint8_t digest[20], const uint8_t other[20]) {
    digestXor(digest, strN((const char *)other, 20));
}

void digestMix(uint8_t digest[20], struct str s) {
    digestXor(digest, s);
    digestSha1Of(digest, digest, 20);
}
