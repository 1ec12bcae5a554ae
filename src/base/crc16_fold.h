/* SPDX-License-Identifier: BSD-3-Clause */
/* crc16_fold.h - CRC-16 on processors that multiply polynomials, to be inlined where a call counts. All
 * others use crc.h; crc.c explains how it works. */
#pragma once

#define CRC16_POLY 0x1021

#ifdef __x86_64__
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/load.h"

#define FOLDING __attribute__((target("pclmul,sse4.1")))

extern bool crc_can_fold;         /* otherwise none of this runs */
extern uint64_t crc16_factors[2]; /* x^80 by the polynomial: remainder, and quotient without its x^64 */

/* Reads n = 1 to 8 of `len` bytes as a number, the first byte highest. */
static inline uint64_t crcFirstBytes(const uint8_t *p, size_t len, size_t n) {
    if (len >= 8) return __builtin_bswap64(load64(p)) >> (64 - 8 * n);
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++) x = x << 8 | p[i];
    return x;
}

/* Returns the CRC of the lower 64 bits in the lower 16; the bits above have no meaning. */
FOLDING static inline __m128i crc16OfWord(__m128i x, __m128i factors) {
    __m128i quotient = _mm_xor_si128(x, _mm_srli_si128(_mm_clmulepi64_si128(x, factors, 0x10), 8));
    return _mm_clmulepi64_si128(quotient, _mm_cvtsi32_si128(CRC16_POLY), 0);
}

/* Returns the CRC of all 128 bits: the upper half is folded onto the lower one, which gives 80 bits. */
FOLDING static inline __m128i crc16OfPair(__m128i x, __m128i factors) {
    __m128i upper = _mm_clmulepi64_si128(x, factors, 0x01);
    return _mm_xor_si128(upper, crc16OfWord(_mm_xor_si128(x, _mm_srli_si128(upper, 2)), factors));
}

/* Returns the CRC of the bytes that do not fill a pair of words. */
FOLDING static inline __m128i crc16OfRest(const uint8_t *p, size_t len, size_t rest, __m128i factors) {
    if (rest <= 8) return crc16OfWord(_mm_cvtsi64_si128((long long)crcFirstBytes(p, len, rest)), factors);
    long long upper = (long long)crcFirstBytes(p, len, rest - 8);
    long long lower = (long long)__builtin_bswap64(load64(p + rest - 8));
    return crc16OfPair(_mm_set_epi64x(upper, lower), factors);
}

/* The bytes that fill no pair are taken first, as zeros before a text do not count. */
FOLDING static inline uint16_t crc16Fold(const void *text, size_t len) {
    const __m128i reversed = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i factors = _mm_loadu_si128((const void *)crc16_factors);
    const uint8_t *p = text, *end = p + len;
    size_t rest = len & 15;
    __m128i crc = rest ? crc16OfRest(p, len, rest, factors) : _mm_setzero_si128();
    for (p += rest; p != end; p += 16) {
        __m128i x = _mm_shuffle_epi8(_mm_loadu_si128((const void *)p), reversed);
        crc = crc16OfPair(_mm_xor_si128(x, _mm_slli_si128(crc, 14)), factors);
    }
    return (uint16_t)_mm_cvtsi128_si32(crc);
}
#endif
