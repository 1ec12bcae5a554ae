/* SPDX-License-Identifier: BSD-3-Clause */
/* num.h - numbers to text and back, strictly: the whole string must be the number, in its canonical form. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define LONG_STR_SIZE        21 /* any 64-bit integer in decimal and a NUL */
#define DOUBLE_STR_SIZE      32 /* any double by d2string and a NUL */
#define LONG_DOUBLE_STR_SIZE (5 * 1024)

/* Returns the number of decimal digits of v. */
unsigned numCountDigits(uint64_t v);
/* Write v in decimal and a NUL to dst (LONG_STR_SIZE is always enough) and return the length. */
unsigned ll2string(char *dst, int64_t v);
unsigned ull2string(char *dst, uint64_t v);

/* Returns true and *out when s is exactly what ll2string prints: no blanks, no '+', no leading zeros. */
bool string2ll(struct str s, int64_t *out);
bool string2ull(struct str s, uint64_t *out); /* the same, unsigned */

/* Writes the shortest decimal text that reads back to the same double: "3", "0.1", "0.00001", "1.5e-7",
 * "1e+21", "inf", "-inf", "nan", "-0". Integers up to 2^62 have all their digits exact. Other numbers
 * have an exponent unless at most seven zeros or six decimals do without, or 0.001 <= |v| < 10000,
 * which is Valkey's layout. Adds a NUL and returns the length. Algorithm: Schubfach (Giulietti 2020),
 * with a fast path for integers. */
unsigned d2string(char *dst, double v);
/* Parses what strtod accepts in the C locale, without hex: digits, exponents, "inf", "+inf", "infinity".
 * Refuses empty texts, blanks at either end, NaN and trailing bytes. Fast path for short decimals (Clinger
 * 1990). Overflow to infinity and underflow to zero are refused, subnormals accepted. */
bool string2d(struct str s, double *out);
/* Like string2d, but values that are too large become infinity, and too small ones zero. */
bool string2dSaturating(struct str s, double *out);

/* Writes a long double as INCRBYFLOAT prints it: %.17Lf with trailing zeros removed ("3", "10.6"), "0" for
 * "-0". LONG_DOUBLE_STR_SIZE is always enough; 0 and an empty text when `size` is too small. */
unsigned ld2string(char *dst, size_t size, long double v);
/* Like string2d, for fewer than LONG_DOUBLE_STR_SIZE bytes; hex is accepted. */
bool string2ld(struct str s, long double *out);

/* Parses "100", "1k" (1000), "1kb" (1024), "1m", "1mb", "1g", "1gb", "5b" in any case. False otherwise. */
bool memtoull(struct str s, uint64_t *bytes);
/* Writes "1.23M" as INFO's _human fields do: K to P with two decimals, "512B" below 1K; buf has 64 bytes. */
void bytesToHuman(char *buf, size_t size, uint64_t bytes);
