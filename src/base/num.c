/* SPDX-License-Identifier: BSD-3-Clause */
/* num.c - numbers to text and back. Doubles are printed in dtoa.c.
 *
 * Three ideas: integers are printed two digits at a time from a table of the hundred pairs, right to left, as
 * the length is known. They are read eight digits at a time, as lanes of one word. Short decimals are read as
 * integer / power of ten, which is correctly rounded when both are exact doubles (Clinger, "How to read
 * floating point numbers accurately", 1990); longer ones go to strtod. */
#include "base/num.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/load.h"
#include "base/zmalloc.h"

/* ---- Integers ---- */

static const char digit_pairs[201] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

#define FIXED17_BELOW 184 /* a product with 10^17 is below 2^64 */
#define FIXED17_SIZE  24  /* -183.99999999999999999 and a NUL */

static const uint64_t powers_of_10[] = {1,
                                        10,
                                        100,
                                        1000,
                                        10000,
                                        100000,
                                        1000000,
                                        10000000,
                                        100000000,
                                        1000000000,
                                        10000000000,
                                        100000000000,
                                        1000000000000,
                                        10000000000000,
                                        100000000000000,
                                        1000000000000000,
                                        10000000000000000,
                                        100000000000000000,
                                        1000000000000000000,
                                        10000000000000000000u};

/* 1233 / 4096 is just above log10(2): the number of bits of v gives that of its digits, or one too many. */
unsigned numCountDigits(uint64_t v) {
    unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1);
    unsigned guess = bits * 1233 >> 12;
    return guess + (v >= powers_of_10[guess]) + (v == 0);
}

unsigned ull2string(char *dst, uint64_t v) {
    unsigned len = numCountDigits(v);
    char *p = dst + len;
    *p = '\0';
    while (v >= 100) {
        p -= 2;
        memcpy(p, digit_pairs + v % 100 * 2, 2);
        v /= 100;
    }
    if (v >= 10)
        memcpy(p - 2, digit_pairs + v * 2, 2);
    else
        p[-1] = (char)('0' + v);
    return len;
}

unsigned ll2string(char *dst, int64_t v) {
    if (v >= 0) return ull2string(dst, (uint64_t)v);
    *dst = '-';
    return 1 + ull2string(dst + 1, -(uint64_t)v);
}

/* Returns whether all 8 bytes are '0'-'9': the high nibble is 3, and stays 3 when 6 is added. */
static inline bool numEightAreDigits(uint64_t x) {
    return ((x & 0xf0f0f0f0f0f0f0f0) | (((x + 0x0606060606060606) & 0xf0f0f0f0f0f0f0f0) >> 4)) ==
           0x3333333333333333;
}

/* Converts eight digits, the first in the lowest byte: joins them to pairs, fours and the eight. */
static inline uint32_t numEightDigits(uint64_t x) {
    x &= 0x0f0f0f0f0f0f0f0f;
    x = (x * 10 + (x >> 8)) & 0x00ff00ff00ff00ff;
    x = (x * 100 + (x >> 16)) & 0x0000ffff0000ffff;
    return (uint32_t)(x * 10000 + (x >> 32));
}

/* Parses 1 to 19 digits, which cannot overflow, without a leading zero unless it is the only digit. */
static inline bool numParseDigits(const char *p, size_t n, uint64_t *out) {
    if (n - 1 >= 19 || (*p == '0' && n > 1)) return false;
    uint64_t v = 0;
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t eight = load64(p);
        if (!numEightAreDigits(eight)) return false;
        v = v * 100000000 + numEightDigits(eight);
    }
    for (; n > 0; p++, n--) {
        unsigned digit = (unsigned char)*p - (unsigned)'0';
        if (digit > 9) return false;
        v = v * 10 + digit;
    }
    *out = v;
    return true;
}

bool string2ll(struct str s, int64_t *out) {
    uint64_t v;
    if (s.len > 0 && *s.ptr == '-') {
        if (!numParseDigits(s.ptr + 1, s.len - 1, &v) || v == 0 || v > (uint64_t)INT64_MAX + 1) return false;
        *out = (int64_t)-v;
        return true;
    }
    if (!numParseDigits(s.ptr, s.len, &v) || v > INT64_MAX) return false;
    *out = (int64_t)v;
    return true;
}

/* Only the twentieth digit can overflow. */
bool string2ull(struct str s, uint64_t *out) {
    if (s.len < 20) return numParseDigits(s.ptr, s.len, out);
    uint64_t v;
    if (s.len > 20 || !numParseDigits(s.ptr, 19, &v)) return false;
    unsigned digit = (unsigned char)s.ptr[19] - (unsigned)'0';
    return digit <= 9 && !__builtin_mul_overflow(v, 10, &v) && !__builtin_add_overflow(v, digit, out);
}

/* ---- Floating point ---- */

/* Parses [-] digits [. digits] with a mantissa below 2^53 and at most 22 digits after the point: that integer
 * and that power of ten are exact doubles. False when s has another form. */
static bool numParseShortDecimal(struct str s, double *out) {
    static const double exactPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const uint64_t limit = (uint64_t)1 << 53;
    const char *p = s.ptr, *end = p + s.len, *point = NULL;
    bool negative = p < end && *p == '-';
    p += negative;
    uint64_t mantissa = 0;
    unsigned count = 0, first;
    for (; count < 15 && p < end && (first = (unsigned char)*p - (unsigned)'0') <= 9; p++, count++)
        mantissa = mantissa * 10 + first; /* far below the limit */
    for (; p < end; p++) {
        unsigned digit = (unsigned char)*p - (unsigned)'0';
        if (digit <= 9) {
            if (mantissa >= limit / 10) return false; /* so that one more digit stays below the limit */
            mantissa = mantissa * 10 + digit;
            count++;
        } else if (*p == '.' && !point) {
            point = p;
        } else {
            return false;
        }
    }
    size_t decimals = point ? (size_t)(end - point - 1) : 0;
    if (count == 0 || decimals > 22) return false;
    double v = (double)mantissa / exactPowers[decimals];
    *out = negative ? -v : v;
    return true;
}

/* strtod and strtold skip leading blanks; these functions do not. */
static bool numStartsWithBlank(struct str s) {
    return s.ptr[0] == ' ' || (s.ptr[0] >= '\t' && s.ptr[0] <= '\r');
}

static bool numIsHex(struct str s) {
    size_t sign = s.ptr[0] == '-' || s.ptr[0] == '+';
    return s.len > sign + 1 && s.ptr[sign] == '0' && (s.ptr[sign + 1] | 0x20) == 'x';
}

static bool numParseWithStrtod(struct str s, double *out, bool saturate) {
    if (numStartsWithBlank(s) || numIsHex(s)) return false;
    char stack[256], *text = s.len < sizeof(stack) ? stack : zmalloc(s.len + 1), *end;
    memcpy(text, s.ptr, s.len);
    text[s.len] = '\0';
    errno = 0;
    double v = strtod(text, &end);
    bool outOfRange = !saturate && errno == ERANGE && (isinf(v) || v == 0);
    bool whole = end == text + s.len;
    if (text != stack) zfreeSized(text, s.len + 1);
    if (!whole || outOfRange || isnan(v)) return false;
    *out = v;
    return true;
}

bool string2d(struct str s, double *out) {
    return s.len != 0 && (numParseShortDecimal(s, out) || numParseWithStrtod(s, out, false));
}

bool string2dSaturating(struct str s, double *out) {
    return s.len != 0 && (numParseShortDecimal(s, out) || numParseWithStrtod(s, out, true));
}

bool string2ld(struct str s, long double *out) {
    char text[LONG_DOUBLE_STR_SIZE], *end;
    if (s.len == 0 || s.len >= sizeof(text) || numStartsWithBlank(s)) return false;
    memcpy(text, s.ptr, s.len);
    text[s.len] = '\0';
    errno = 0;
    long double v = strtold(text, &end);
    bool outOfRange = errno == ERANGE && (isinf(v) || v == 0);
    if (end != text + s.len || outOfRange || isnan(v)) return false;
    *out = v;
    return true;
}

/* For small numbers such as coordinates: gives v in units of 10^-17, rounded as printf does, to
 * the nearest and on a tie to the even one. False: the result does not fit 64 bits, or v has
 * more digits than they hold. */
static bool numToUnits17(long double v, uint64_t *units) {
#ifdef __SIZEOF_INT128__
    if (!(v < FIXED17_BELOW)) return false;
    int exponent;
    long double bits = ldexpl(frexpl(v, &exponent), 64); /* v is bits / 2^shift */
    uint64_t whole = (uint64_t)bits;
    if ((long double)whole != bits) return false;
    unsigned __int128 product = (unsigned __int128)whole * powers_of_10[17];
    int shift = 64 - exponent;
    *units = 0;
    if (shift > 122) return true; /* the product is below 2^121 */
    unsigned __int128 rest = product & (((unsigned __int128)1 << shift) - 1),
                      half = (unsigned __int128)1 << (shift - 1);
    *units = (uint64_t)(product >> shift);
    *units += rest > half || (rest == half && *units & 1);
    return true;
#else
    (void)v, (void)units;
    return false;
#endif
}

static unsigned numUnits17ToString(char *dst, bool negative, uint64_t units) {
    char *p = dst;
    uint64_t fraction = units % powers_of_10[17];
    if (negative && units) *p++ = '-';
    p += ull2string(p, units / powers_of_10[17]);
    if (fraction) {
        char *point = p;
        p += ull2string(p, powers_of_10[17] + fraction); /* with all its leading zeros */
        *point = '.';
        while (p[-1] == '0') p--;
    }
    *p = '\0';
    return (unsigned)(p - dst);
}

unsigned ld2string(char *dst, size_t size, long double v) {
    serverAssert(size > sizeof "-inf" && !isnan(v));
    uint64_t units;
    if (size >= FIXED17_SIZE && numToUnits17(fabsl(v), &units)) return numUnits17ToString(dst, v < 0, units);
    if (isinf(v)) return (unsigned)snprintf(dst, size, v < 0 ? "-inf" : "inf");
    int printed = snprintf(dst, size, "%.17Lf", v);
    if (printed < 0 || (size_t)printed >= size) {
        *dst = '\0';
        return 0;
    }
    unsigned len = (unsigned)printed;
    if (memchr(dst, '.', len)) {
        while (dst[len - 1] == '0') len--;
        if (dst[len - 1] == '.') len--;
    }
    if (len == 2 && dst[0] == '-' && dst[1] == '0') {
        dst[0] = '0';
        len = 1;
    }
    dst[len] = '\0';
    return len;
}

/* ---- Sizes in bytes ---- */

bool memtoull(struct str s, uint64_t *bytes) {
    static const struct {
        const char *name;
        uint64_t factor;
    } units[] = {{"", 1},        {"b", 1},        {"k", 1000},       {"kb", 1 << 10},
                 {"m", 1000000}, {"mb", 1 << 20}, {"g", 1000000000}, {"gb", 1 << 30}};
    uint64_t v = 0;
    size_t n = 0;
    for (; n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9'; n++) {
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(s.ptr[n] - '0'), &v))
            return false;
    }
    if (n == 0) return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strIs(strN(s.ptr + n, s.len - n), units[i].name))
            return !__builtin_mul_overflow(v, units[i].factor, bytes);
    }
    return false;
}

/* From 1024 PiB on, plain bytes are printed again. */
void bytesToHuman(char *buf, size_t size, uint64_t bytes) {
    unsigned bits = 64 - (unsigned)__builtin_clzll(bytes | 1), unit = (bits - 1) / 10;
    if (unit == 0 || unit > 5)
        snprintf(buf, size, "%lluB", (unsigned long long)bytes);
    else
        snprintf(buf, size, "%.2f%c", (double)bytes / (double)((uint64_t)1 << (10 * unit)),
                 "KMGTP"[unit - 1]);
}
