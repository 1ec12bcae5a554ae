/* SPDX-License-Identifier: BSD-3-Clause */
/* crc.c - checksums, from tables that a constructor fills.
 *
 * CRC-64 is reflected: the first bit is the lowest. The idea is slicing by 8 (Kounavis and Berry, 2005):
 * table[n][b] is the CRC of byte b followed by n zero bytes, so 8 bytes are looked up independently and
 * xor'ed, instead of each waiting for the one before.
 *
 *     crc ^ next 8 bytes:   b0         b1         ...        b7
 *                           table[7]   table[6]   ...        table[0]     xor -> crc
 *
 * Where the processor multiplies polynomials (x86's PCLMULQDQ), long input is folded instead (Gopal et al.,
 * "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", 2009): 64 bytes are carried along in four
 * registers, each of which is replaced by something that is congruent to it 64 bytes further on.
 *
 *     register = lo, hi:   lo * x^(575) + hi * x^(511) + next 16 bytes
 *
 * That is 512 bits on; one less in each power, as reflected products are one bit off.
 *
 * What is left in the end is 16 bytes, of which the CRC is looked up as before.
 *
 * CRC-16 is for short texts (key names), highest bit first, and sliced, too. With polynomials multiplied
 * (crc16_fold.h), 16 bytes are divided at once: the upper half of them is folded, and the word that is left
 * divided by way of its quotient, the upper half of a product (Barrett's reduction). */
#include "base/crc.h"

#include <stdbool.h>

#include "base/crc16_fold.h"
#include "base/load.h"

#define CRC64_POLY_REFLECTED 0x95ac9329ac4bc9b5 /* 0xad93d23594c935a9, bits in reverse */

static uint64_t table64[8][256];
static uint16_t table16[8][256];

__attribute__((constructor)) static void crcTablesFill(void) {
    for (unsigned b = 0; b < 256; b++) {
        uint64_t crc = b;
        unsigned crc16 = b << 8;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? crc >> 1 ^ CRC64_POLY_REFLECTED : crc >> 1;
            crc16 = crc16 & 0x8000 ? crc16 << 1 ^ CRC16_POLY : crc16 << 1;
        }
        table64[0][b] = crc;
        table16[0][b] = (uint16_t)crc16;
    }
    for (int n = 1; n < 8; n++) {
        for (unsigned b = 0; b < 256; b++) {
            uint64_t crc = table64[n - 1][b];
            table64[n][b] = crc >> 8 ^ table64[0][crc & 0xff];
            uint16_t crc16 = table16[n - 1][b];
            table16[n][b] = (uint16_t)(crc16 << 8 ^ table16[0][crc16 >> 8]);
        }
    }
}

static uint64_t crcLookUp(uint64_t crc, const uint8_t *p, size_t len) {
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t x = crc ^ load64(p);
        crc = 0;
#pragma GCC unroll 8
        for (int n = 0; n < 8; n++) crc ^= table64[7 - n][x >> (8 * n) & 0xff];
    }
    for (; len > 0; p++, len--) crc = crc >> 8 ^ table64[0][(crc ^ *p) & 0xff];
    return crc;
}

#ifdef __x86_64__
#define FOLD_MIN_BYTES 256 /* bytes from which folding pays */

bool crc_can_fold;
uint64_t crc16_factors[2];
static uint64_t far_powers[2], near_powers[2]; /* for folding over 64 bytes, and over 16 */

/* Returns x^n modulo the polynomial, reflected. */
static uint64_t crcPowerOfX(int n) {
    uint64_t power = 1ull << 63;
    for (; n > 0; n--) power = power & 1 ? power >> 1 ^ CRC64_POLY_REFLECTED : power >> 1;
    return power;
}

static void crcDivideFor16(uint64_t factors[2]) {
    unsigned rest = CRC16_POLY; /* x^16 is what the quotient's x^64 accounts for */
    for (int bit = 0; bit < 64; bit++) {
        unsigned carry = rest >> 15;
        factors[1] = factors[1] << 1 | carry;
        rest = (rest << 1 & 0xffff) ^ (carry ? CRC16_POLY : 0);
    }
    factors[0] = rest;
}

__attribute__((constructor)) static void crcFoldingPrepare(void) {
    crcDivideFor16(crc16_factors);
    far_powers[0] = crcPowerOfX(512 + 63);
    far_powers[1] = crcPowerOfX(512 - 1);
    near_powers[0] = crcPowerOfX(128 + 63);
    near_powers[1] = crcPowerOfX(128 - 1);
    crc_can_fold = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

FOLDING static inline __m128i crcLoad(const void *p) {
    return _mm_loadu_si128(p);
}

FOLDING static inline __m128i crcFold(__m128i a, __m128i powers, __m128i next) {
    __m128i lo = _mm_clmulepi64_si128(a, powers, 0x00), hi = _mm_clmulepi64_si128(a, powers, 0x11);
    return _mm_xor_si128(_mm_xor_si128(lo, hi), next);
}

/* Folds at least 64 bytes. */
FOLDING static uint64_t crcFoldAll(uint64_t crc, const uint8_t *p, size_t len) {
    __m128i a[4], powers = crcLoad(far_powers);
    for (int i = 0; i < 4; i++) a[i] = crcLoad(p + 16 * i);
    a[0] = _mm_xor_si128(a[0], _mm_cvtsi64_si128((long long)crc));
    for (p += 64, len -= 64; len >= 64; p += 64, len -= 64) {
        for (int i = 0; i < 4; i++) a[i] = crcFold(a[i], powers, crcLoad(p + 16 * i));
    }
    powers = crcLoad(near_powers);
    __m128i last = a[0];
    for (int i = 1; i < 4; i++) last = crcFold(last, powers, a[i]);
    for (; len >= 16; p += 16, len -= 16) last = crcFold(last, powers, crcLoad(p));
    uint8_t bytes[16];
    _mm_storeu_si128((__m128i *)bytes, last);
    return crcLookUp(crcLookUp(0, bytes, sizeof bytes), p, len);
}
#endif

uint64_t crc64(uint64_t crc, const void *data, size_t len) {
#ifdef __x86_64__
    if (len >= FOLD_MIN_BYTES && crc_can_fold) return crcFoldAll(crc, data, len);
#endif
    return crcLookUp(crc, data, len);
}

uint16_t crc16Plain(const void *data, size_t len) {
    const uint8_t *p = data;
    unsigned crc = 0;
    for (; len >= 8; p += 8, len -= 8) {
        crc = table16[7][p[0] ^ crc >> 8] ^ table16[6][p[1] ^ (crc & 0xff)] ^ table16[5][p[2]] ^
              table16[4][p[3]] ^ table16[3][p[4]] ^ table16[2][p[5]] ^ table16[1][p[6]] ^ table16[0][p[7]];
    }
    for (; len > 0; p++, len--) crc = (crc << 8 & 0xffff) ^ table16[0][crc >> 8 ^ *p];
    return (uint16_t)crc;
}

uint16_t crc16(const void *data, size_t len) {
#ifdef __x86_64__
    if (__builtin_expect(crc_can_fold, 1)) return crc16Fold(data, len);
#endif
    return crc16Plain(data, len);
}
