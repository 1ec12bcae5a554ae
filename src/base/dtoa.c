/* SPDX-License-Identifier: BSD-3-Clause */
/* dtoa.c - d2string(): the shortest decimal text that reads back to the same double. Part of num.h.
 *
 * Schubfach (Giulietti, "The Schubfach way to render doubles", 2020). A double v = c * 2^q stands for all
 * reals in an interval around it, bounded by the midpoints to its neighbours:
 *
 *         lower                    v                    upper          (from v - 2^q/2 to v + 2^q/2)
 *     ------|----.---------.-------|--.---------.---------|------
 *                                   10^k grid: one or more points fall inside
 *
 * The idea: take the largest k whose grid 10^k is finer than the interval. Then at least one multiple of 10^k
 * lies in it, and at most one of 10^(k+1); looking at two candidates of the coarse grid and two of the fine
 * one settles the shortest, and the closest among those. Everything is multiplied by 4 and divided by 10^k,
 * with 10^-k from a table of 128-bit approximations:
 *
 *     powers[e - POWER_MIN] = floor(10^e * 2^(127 - floor(log2(10^e)))) + 1        for e = -292 ... 324
 *
 * which the constructor works out by repeated short multiplication and division: 10 KB that need not be
 * source code. Products are rounded to odd (the last bit says "and some more"), which keeps comparisons with
 * the interval's bounds exact. */
#define _GNU_SOURCE /* stpcpy */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#define POWER_MIN -292
#define POWER_MAX 324

#define MANTISSA_BITS 52
#define EXPONENT_BIAS (1023 + MANTISSA_BITS)
#define HIDDEN_BIT    ((uint64_t)1 << MANTISSA_BITS)

/* A number that is not an integer is written without an exponent when that takes few digits: at most so many
 * zeros behind its own digits, at most so many decimals, or a first digit this close to the point. */
#define ZEROS_MAX    7
#define DECIMALS_MAX 6
#define NEAR_POINT   3
/* Integers up to this (2^62) are printed with all their digits. */
#define INTEGER_LIMIT 4611686018427387904.0

struct u128 {
    uint64_t hi, lo;
};

struct decimal {
    uint64_t digits;
    int exponent; /* value = digits * 10^exponent */
};

/* ---- The table of powers ---- */

/* 2^1215, divided by 10 up to 292 times, keeps more than 128 bits; 10^324 needs 1077 bits. */
#define BIG_WORDS 38

static struct u128 powers[POWER_MAX - POWER_MIN + 1];

/* Returns the leading 128 bits of a number of 32-bit words, the least significant word first, plus one. */
static struct u128 dtoaLeadingBits(const uint32_t *words) {
    int top = BIG_WORDS - 1;
    while (words[top] == 0) top--;
    unsigned __int128 bits = 0;
    for (int i = 0; i < 4; i++) bits = bits << 32 | (top >= i ? words[top - i] : 0);
    int shift = __builtin_clz(words[top]);
    if (shift) bits = bits << shift | (top >= 4 ? words[top - 4] : 0) >> (32 - shift);
    bits++;
    return (struct u128){(uint64_t)(bits >> 64), (uint64_t)bits};
}

/* Dividing by ten repeatedly and dropping each remainder is the same as dividing once by the power
 * and dropping its remainder. */
__attribute__((constructor)) static void dtoaPowersCompute(void) {
    uint32_t up[BIG_WORDS] = {1}, down[BIG_WORDS] = {0};
    down[BIG_WORDS - 1] = (uint32_t)1 << 31;
    for (int e = 0; e <= POWER_MAX; e++) {
        powers[e - POWER_MIN] = dtoaLeadingBits(up);
        uint64_t carry = 0;
        for (int i = 0; i < BIG_WORDS; i++, carry >>= 32) {
            carry += (uint64_t)up[i] * 10;
            up[i] = (uint32_t)carry;
        }
    }
    for (int e = -1; e >= POWER_MIN; e--) {
        uint64_t rest = 0;
        for (int i = BIG_WORDS - 1; i >= 0; i--) {
            rest = rest << 32 | down[i];
            down[i] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        powers[e - POWER_MIN] = dtoaLeadingBits(down);
    }
}

/* ---- Schubfach ---- */

/* Logarithms as fixed-point products, exact over the exponents of a double: floor(log10(2^q)),
 * floor(log10(3/4 * 2^q)), floor(log2(10^e)). */
static int dtoaFloorLog10Pow2(int q) {
    return (q * 1262611) >> 22;
}
static int dtoaFloorLog10ThreeQuartersPow2(int q) {
    return (q * 1262611 - 524031) >> 22;
}
static int dtoaFloorLog2Pow10(int e) {
    return (e * 1741647) >> 19;
}

/* Returns floor(g * x / 2^128), with the last bit set when significant bits were cut off. g is up to one too
 * large, so the bits cut off may come out up to one too large as well. */
static inline uint64_t dtoaRoundToOdd(struct u128 g, uint64_t x) {
    unsigned __int128 low = (unsigned __int128)g.lo * x;
    unsigned __int128 sum = (unsigned __int128)g.hi * x + (uint64_t)(low >> 64);
    return (uint64_t)(sum >> 64) | ((uint64_t)sum > 1);
}

/* Returns which of `low` and `low + step` is inside the interval, whose bounds are in quarters; 0
 * when both are, or neither. */
static inline uint64_t dtoaOnlyOneInside(uint64_t low, uint64_t step, uint64_t lower, uint64_t upper) {
    bool lowInside = lower <= 4 * low, highInside = 4 * (low + step) <= upper;
    if (lowInside == highInside) return 0;
    return lowInside ? low : low + step;
}

/* Returns the shortest decimal for v = c * 2^q, positive and finite. */
static struct decimal dtoaShortest(uint64_t c, int q, bool lowerIsCloser) {
    int k = lowerIsCloser ? dtoaFloorLog10ThreeQuartersPow2(q) : dtoaFloorLog10Pow2(q);
    int shift = q + dtoaFloorLog2Pow10(-k) + 1;
    struct u128 g = powers[-k - POWER_MIN];
    uint64_t quarters = dtoaRoundToOdd(g, (4 * c) << shift);
    /* The bounds themselves read back as v when c is even, as ties go to even. */
    uint64_t excluded = c & 1;
    uint64_t lower = dtoaRoundToOdd(g, (4 * c - (lowerIsCloser ? 1 : 2)) << shift) + excluded;
    uint64_t upper = dtoaRoundToOdd(g, (4 * c + 2) << shift) - excluded;

    uint64_t s = quarters / 4;
    if (s >= 10) {
        uint64_t tens = dtoaOnlyOneInside(s / 10 * 10, 10, lower, upper);
        if (tens) return (struct decimal){tens, k};
    }
    uint64_t ones = dtoaOnlyOneInside(s, 1, lower, upper);
    if (ones) return (struct decimal){ones, k};
    /* Both are inside: the closer one is taken, the even one on a tie. */
    uint64_t middle = 4 * s + 2;
    bool down = quarters < middle || (quarters == middle && s % 2 == 0);
    return (struct decimal){down ? s : s + 1, k};
}

static struct decimal dtoaWithoutTrailingZeros(struct decimal d) {
    while (d.digits % 100000000 == 0) d.digits /= 100000000, d.exponent += 8;
    if (d.digits % 10000 == 0) d.digits /= 10000, d.exponent += 4;
    if (d.digits % 100 == 0) d.digits /= 100, d.exponent += 2;
    if (d.digits % 10 == 0) d.digits /= 10, d.exponent += 1;
    return d;
}

/* ---- Layout ---- */

static char *dtoaPutZeros(char *p, int n) {
    memset(p, '0', (size_t)n);
    return p + n;
}

static char *dtoaPutBytes(char *p, const char *bytes, int n) {
    memcpy(p, bytes, (size_t)n);
    return p + n;
}

/* Writes d.ddde+X, the exponent signed and without leading zeros. */
static char *dtoaPutScientific(char *p, const char *digits, int n, int exponent) {
    *p++ = digits[0];
    if (n > 1) {
        *p++ = '.';
        p = dtoaPutBytes(p, digits + 1, n - 1);
    }
    *p++ = 'e';
    *p++ = exponent < 0 ? '-' : '+';
    unsigned magnitude = (unsigned)(exponent < 0 ? -exponent : exponent);
    return p + ull2string(p, magnitude);
}

/* `exponent` is the power of ten of the first digit. */
static char *dtoaPutPositional(char *p, const char *digits, int n, int exponent) {
    if (exponent < 0) {
        *p++ = '0';
        *p++ = '.';
        return dtoaPutBytes(dtoaPutZeros(p, -exponent - 1), digits, n);
    }
    int whole = exponent + 1;
    if (n <= whole) return dtoaPutZeros(dtoaPutBytes(p, digits, n), whole - n);
    p = dtoaPutBytes(p, digits, whole);
    *p++ = '.';
    return dtoaPutBytes(p, digits + whole, n - whole);
}

static char *dtoaPutDecimal(char *p, struct decimal d) {
    char digits[LONG_STR_SIZE];
    int n = (int)ull2string(digits, d.digits), exponent = d.exponent + n - 1;
    bool positional = d.exponent >= 0 ? d.exponent <= ZEROS_MAX
                                      : d.exponent >= -DECIMALS_MAX || abs(exponent) <= NEAR_POINT;
    return positional ? dtoaPutPositional(p, digits, n, exponent) : dtoaPutScientific(p, digits, n, exponent);
}

static unsigned dtoaPutConstant(char *dst, const char *text) {
    return (unsigned)(stpcpy(dst, text) - dst);
}

/* ---- Public API ---- */

unsigned d2string(char *dst, double v) {
    if (isnan(v)) return dtoaPutConstant(dst, "nan");
    if (isinf(v)) return dtoaPutConstant(dst, v < 0 ? "-inf" : "inf");
    if (fabs(v) <= INTEGER_LIMIT && v == (double)(int64_t)v && (v != 0 || !signbit(v)))
        return ll2string(dst, (int64_t)v);

    char *p = dst;
    if (signbit(v)) *p++ = '-';
    if (v == 0) {
        *p++ = '0';
    } else {
        uint64_t bits;
        memcpy(&bits, &v, sizeof(bits));
        uint64_t fraction = bits & (HIDDEN_BIT - 1);
        int biased = bits >> MANTISSA_BITS & 0x7ff;
        struct decimal d =
            biased ? dtoaShortest(fraction | HIDDEN_BIT, biased - EXPONENT_BIAS, fraction == 0 && biased > 1)
                   : dtoaShortest(fraction, 1 - EXPONENT_BIAS, false);
        p = dtoaPutDecimal(p, dtoaWithoutTrailingZeros(d));
    }
    *p = '\0';
    return (unsigned)(p - dst);
}
