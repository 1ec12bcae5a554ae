/* SPDX-License-Identifier: BSD-3-Clause */
/* siphash.h - SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012), to be inlined
 * where a call counts. All others use hash_function.h.
 *
 *     four words, from the key -> for each 8 bytes of input: xor in, 1 round, xor in -> the last 0-7 bytes
 *     with the length on top, likewise -> 3 rounds -> the words xor'ed
 *
 * It can fold the case of each 8-byte word. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/load.h"

#define SIP_INLINE static inline __attribute__((always_inline))

extern uint64_t hash_key0, hash_key1; /* the seed */

/* Reads the 0-7 bytes at p, with zeros above, by two overlapping loads instead of a loop. */
SIP_INLINE uint64_t sipTail(const uint8_t *p, size_t n) {
    if (n >= 4) {
        return load32(p) | (uint64_t)load32(p + n - 4) << (8 * (n - 4));
    }
    if (n == 0) return 0;
    return p[0] | (uint64_t)p[n / 2] << (8 * (n / 2)) | (uint64_t)p[n - 1] << (8 * (n - 1));
}

/* Sets bit 5 of each byte that is 'A'-'Z': adding to the low seven bits carries into bit 7 from 'A' on, and
 * from 'Z' + 1 on; bytes with bit 7 set stay unchanged. */
SIP_INLINE uint64_t sipLower8(uint64_t x) {
    const uint64_t ones = 0x0101010101010101;
    uint64_t low = x & ones * 0x7f;
    uint64_t upper = (low + ones * (0x80 - 'A')) & ~(low + ones * (0x80 - 'Z' - 1)) & ~x & ones * 0x80;
    return x | upper >> 2;
}

SIP_INLINE uint64_t sipRotate(uint64_t x, int k) {
    return x << k | x >> (64 - k);
}

struct sip {
    uint64_t a, b, c, d;
};

SIP_INLINE void sipRound(struct sip *s) {
    s->a += s->b;
    s->c += s->d;
    s->b = sipRotate(s->b, 13) ^ s->a;
    s->d = sipRotate(s->d, 16) ^ s->c;
    s->a = sipRotate(s->a, 32);
    s->c += s->b;
    s->a += s->d;
    s->b = sipRotate(s->b, 17) ^ s->c;
    s->d = sipRotate(s->d, 21) ^ s->a;
    s->c = sipRotate(s->c, 32);
}

SIP_INLINE void sipWord(struct sip *s, uint64_t word) {
    s->d ^= word;
    sipRound(s);
    s->a ^= word;
}

SIP_INLINE uint64_t sipHash(const uint8_t *p, size_t len, bool fold) {
    struct sip s = {hash_key0 ^ 0x736f6d6570736575, hash_key1 ^ 0x646f72616e646f6d,
                    hash_key0 ^ 0x6c7967656e657261, hash_key1 ^ 0x7465646279746573};
    const uint8_t *end = p + (len & ~(size_t)7);
    for (; p != end; p += 8) sipWord(&s, fold ? sipLower8(load64(p)) : load64(p));
    uint64_t tail = sipTail(p, len & 7);
    sipWord(&s, (fold ? sipLower8(tail) : tail) | (uint64_t)len << 56);
    s.c ^= 0xff;
    sipRound(&s);
    sipRound(&s);
    sipRound(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}
