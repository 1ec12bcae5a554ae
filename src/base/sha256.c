/* SPDX-License-Identifier: BSD-3-Clause */
/* sha256.c - SHA-256, after FIPS 180-4.
 *
 *     message, a 1 bit, zeros, its length in bits as 64-bit big endian: cut into blocks of 64 bytes
 *     each block: 16 words, extended to 64 in a ring of 16, mixed into eight words of state
 *
 * The constants are the first 32 bits of the fractional parts of the cube roots (initial state: square
 * roots) of the first primes. */
#include "base/sha256.h"

#include <stdint.h>
#include <string.h>

#include "base/load.h"

#define BLOCK         64
#define LENGTH_OFFSET 56

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t sha256RotateRight(uint32_t x, int k) {
    return x >> k | x << (32 - k);
}

static uint32_t sha256NextWord(uint32_t w[16], int i) {
    uint32_t early = w[(i + 1) & 15], late = w[(i + 14) & 15];
    uint32_t s0 = sha256RotateRight(early, 7) ^ sha256RotateRight(early, 18) ^ early >> 3;
    uint32_t s1 = sha256RotateRight(late, 17) ^ sha256RotateRight(late, 19) ^ late >> 10;
    return w[i & 15] += s0 + w[(i + 9) & 15] + s1;
}

static void sha256MixBlock(uint32_t h[8], const uint8_t *block) {
    uint32_t w[16], s[8];
    memcpy(s, h, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t word = i < 16 ? (w[i] = __builtin_bswap32(load32(block + 4 * i))) : sha256NextWord(w, i);
        uint32_t a = s[0], e = s[4];
        uint32_t sum_e = sha256RotateRight(e, 6) ^ sha256RotateRight(e, 11) ^ sha256RotateRight(e, 25);
        uint32_t sum_a = sha256RotateRight(a, 2) ^ sha256RotateRight(a, 13) ^ sha256RotateRight(a, 22);
        uint32_t choice = (e & s[5]) ^ (~e & s[6]), majority = (a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]);
        uint32_t t = s[7] + sum_e + choice + round_constants[i] + word;
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t;
        s[0] = t + sum_a + majority;
    }
    for (int i = 0; i < 8; i++) h[i] += s[i];
}

/* Mixes the bytes that do not fill a block, and the padding: one block or two. */
static void sha256MixTail(uint32_t h[8], const uint8_t *p, size_t rest, uint64_t bits) {
    uint8_t tail[2 * BLOCK] = {0};
    size_t size = rest < LENGTH_OFFSET ? BLOCK : 2 * BLOCK;
    if (rest) memcpy(tail, p, rest);
    tail[rest] = 0x80;
    for (int i = 0; i < 8; i++) tail[size - 1 - i] = (uint8_t)(bits >> (8 * i));
    for (size_t at = 0; at < size; at += BLOCK) sha256MixBlock(h, tail + at);
}

void sha256Hex(char out[SHA256_HEX_LEN + 1], const void *p, size_t len) {
    static const char digits[] = "0123456789abcdef";
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint8_t *bytes = p;
    size_t whole = len / BLOCK * BLOCK;
    for (size_t at = 0; at < whole; at += BLOCK) sha256MixBlock(h, bytes + at);
    sha256MixTail(h, bytes + whole, len - whole, (uint64_t)len * 8);
    for (int i = 0; i < SHA256_HEX_LEN; i++) out[i] = digits[h[i / 8] >> (28 - 4 * (i % 8)) & 15];
    out[SHA256_HEX_LEN] = '\0';
}
