/* SPDX-License-Identifier: BSD-3-Clause */
/* sha1.c - SHA-1, after FIPS 180-4.
 *
 *     message, a 1 bit, zeros, its length in bits as 64-bit big endian: cut into blocks of 64 bytes
 *     each block: 16 words, extended to 80 in a ring, mixed into five words of state */
#include "base/sha1.h"

#include <string.h>

#include "base/load.h"

#define LENGTH_OFFSET 56

static uint32_t sha1RotateLeft(uint32_t x, int k) {
    return x << k | x >> (32 - k);
}

static void sha1PutBigEndian32(uint8_t *p, uint32_t x) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(x >> (24 - 8 * i));
}

/* The function and the constant of each 20 rounds. */
static uint32_t sha1Mix(int round, uint32_t b, uint32_t c, uint32_t d) {
    if (round < 20) return ((b & c) | (~b & d)) + 0x5a827999;
    if (round < 40) return (b ^ c ^ d) + 0x6ed9eba1;
    if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    return (b ^ c ^ d) + 0xca62c1d6;
}

static void sha1MixBlock(struct sha1 *ctx, const uint8_t *block) {
    uint32_t w[16], a = ctx->h[0], b = ctx->h[1], c = ctx->h[2], d = ctx->h[3], e = ctx->h[4];
    for (int i = 0; i < 80; i++) {
        uint32_t word =
            i < 16 ? __builtin_bswap32(load32(block + 4 * i))
                   : sha1RotateLeft(w[(i + 13) & 15] ^ w[(i + 8) & 15] ^ w[(i + 2) & 15] ^ w[i & 15], 1);
        w[i & 15] = word;
        uint32_t mixed = sha1RotateLeft(a, 5) + sha1Mix(i, b, c, d) + e + word;
        e = d;
        d = c;
        c = sha1RotateLeft(b, 30);
        b = a;
        a = mixed;
    }
    ctx->h[0] += a;
    ctx->h[1] += b;
    ctx->h[2] += c;
    ctx->h[3] += d;
    ctx->h[4] += e;
}

void sha1Init(struct sha1 *ctx) {
    *ctx = (struct sha1){.h = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};
}

void sha1Update(struct sha1 *ctx, const void *data, size_t len) {
    const uint8_t *p = data;
    size_t used = ctx->len % 64;
    ctx->len += len;
    while (len > 0) {
        if (used == 0 && len >= 64) {
            sha1MixBlock(ctx, p);
            p += 64;
            len -= 64;
            continue;
        }
        size_t n = len < 64 - used ? len : 64 - used;
        memcpy(ctx->block + used, p, n);
        p += n;
        len -= n;
        used = (used + n) % 64;
        if (used == 0) sha1MixBlock(ctx, ctx->block);
    }
}

void sha1Final(struct sha1 *ctx, uint8_t out[20]) {
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = ctx->len * 8;
    uint8_t length[8];
    sha1PutBigEndian32(length, (uint32_t)(bits >> 32));
    sha1PutBigEndian32(length + 4, (uint32_t)bits);
    size_t used = ctx->len % 64;
    sha1Update(ctx, padding, used < LENGTH_OFFSET ? LENGTH_OFFSET - used : 64 + LENGTH_OFFSET - used);
    sha1Update(ctx, length, sizeof(length));
    for (int i = 0; i < 5; i++) sha1PutBigEndian32(out + 4 * i, ctx->h[i]);
}

void sha1Hex(char out[41], const void *p, size_t len) {
    struct sha1 ctx;
    uint8_t digest[20];
    sha1Init(&ctx);
    sha1Update(&ctx, p, len);
    sha1Final(&ctx, digest);
    for (int i = 0; i < 20; i++) {
        *out++ = "0123456789abcdef"[digest[i] >> 4];
        *out++ = "0123456789abcdef"[digest[i] & 15];
    }
    *out = '\0';
}
