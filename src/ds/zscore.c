/* SPDX-License-Identifier: BSD-3-Clause */
/* zscore.c - what is done with scores that may be beyond 2^53; see zscore.h. */
#include "ds/zscore.h"

#include "base/assert.h"

/* Below this, d2string prints integers with all their digits, and -0 as such. */
#define PRINTED_EXACTLY_BELOW 0x1p62

/* The nearest double of the highest integers is 2^63, which no int64_t holds. */
struct zscore zscoreOfLargeInteger(int64_t v) {
    double value = (double)v;
    uint64_t whole = value == 0x1p63 ? 1ull << 63 : (uint64_t)(int64_t)value;
    int64_t rest = (int64_t)((uint64_t)v - whole);
    debugAssert(rest >= -ZSCORE_REST_MAX && rest <= ZSCORE_REST_MAX);
    return (struct zscore){value, (int)rest};
}

bool zscoreToInteger(struct zscore s, int64_t *v) {
    if (s.value == 0x1p63 && s.rest < 0) {
        *v = INT64_MAX + (s.rest + 1);
        return true;
    }
    if (!(s.value >= -0x1p63 && s.value < 0x1p63)) return false;
    *v = (int64_t)s.value + s.rest;
    return s.value == (double)(int64_t)s.value;
}

struct zscore zscoreOfLargeText(double value, struct str text) {
    int64_t v;
    return string2ll(text, &v) ? zscoreOfInteger(v) : zscoreOf(value);
}

unsigned zscorePrint(char *dst, struct zscore s) {
    int64_t v;
    bool as_double = !s.rest && s.value < PRINTED_EXACTLY_BELOW && s.value > -PRINTED_EXACTLY_BELOW;
    if (!as_double && zscoreToInteger(s, &v)) return ll2string(dst, v);
    return d2string(dst, s.value);
}

struct zscore zscoreAddLarge(struct zscore a, struct zscore b) {
    int64_t x, y, sum;
    if (zscoreToInteger(a, &x) && zscoreToInteger(b, &y) && !__builtin_add_overflow(x, y, &sum))
        return zscoreOfInteger(sum);
    return zscoreOf(a.value + b.value);
}
