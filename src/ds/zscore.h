/* SPDX-License-Identifier: BSD-3-Clause */
/* zscore.h - the score of a sorted set: a double, or an integer of 64 bits that is kept exactly.
 *
 *     9007199254740993   =   | value: 9007199254740992.0 | rest: 1 |      value: the nearest double
 *     0.1                =   | value: 0.1                | rest: 0 |      rest: what is missing, -512 .. 512
 *
 * A double holds every integer up to 2^53. Beyond, it is 2 to 1024 apart from its neighbours, and the rest
 * says which of the integers around it is meant. So the rest is 0 for every score that a double holds
 * exactly, and scores are ordered by value, then by rest: rounding never turns the order of two integers
 * around.
 *
 * An integer is a score without a fraction, from -2^63 to 2^63 - 1, however it was written: how it was
 * written is not kept. Invariant: a score with a rest is an integer, and its value is the double nearest to
 * it. NaN has the rest 0. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/num.h"
#include "base/str.h"

struct zscore {
    double value;
    int rest;
};

#define ZSCORE_TEXT_SIZE   DOUBLE_STR_SIZE
#define ZSCORE_EXACT_BELOW 0x1p53 /* a double holds all integers below it */
#define ZSCORE_REST_MAX    512

static inline struct zscore zscoreOf(double value) {
    return (struct zscore){value, 0};
}
static inline int zscoreCompare(struct zscore a, struct zscore b) {
    if (a.value != b.value) return a.value < b.value ? -1 : 1;
    return (a.rest > b.rest) - (a.rest < b.rest);
}
static inline bool zscoreIsSmall(double value) {
    return __builtin_fabs(value) < ZSCORE_EXACT_BELOW;
}

struct zscore zscoreOfLargeInteger(int64_t v);
static inline struct zscore zscoreOfInteger(int64_t v) {
    double value = (double)v;
    return __builtin_expect(zscoreIsSmall(value), 1) ? zscoreOf(value) : zscoreOfLargeInteger(v);
}
/* Returns whether the score is an integer, and which one. -0 is the integer 0. */
bool zscoreToInteger(struct zscore s, int64_t *v);

/* Makes a score of the text from which `value` was parsed: the exact integer if the text is one as ll2string
 * prints it (no '+', no leading zeros, no point and no exponent), else the double. */
struct zscore zscoreOfLargeText(double value, struct str text);
static inline struct zscore zscoreOfText(double value, struct str text) {
    return __builtin_expect(zscoreIsSmall(value), 1) ? zscoreOf(value) : zscoreOfLargeText(value, text);
}
/* Writes an integer with all its digits, and any other score as d2string does; zscoreOfText reads it back.
 * Adds a NUL and returns the length. */
unsigned zscorePrint(char *dst, struct zscore s);

/* Adds integers exactly as long as the sum fits 64 bits; all else, and larger sums, as doubles. */
struct zscore zscoreAddLarge(struct zscore a, struct zscore b);
/* Whether doubles hold all integers up to both numbers, and up to their sum. */
static inline bool zscoreSumIsSmall(double a, double b) {
    return __builtin_fabs(a) + __builtin_fabs(b) < ZSCORE_EXACT_BELOW;
}
static inline struct zscore zscoreAdd(struct zscore a, struct zscore b) {
    bool small = __builtin_expect(zscoreSumIsSmall(a.value, b.value), 1);
    return small ? zscoreOf(a.value + b.value) : zscoreAddLarge(a, b);
}
