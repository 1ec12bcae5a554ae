/* SPDX-License-Identifier: BSD-3-Clause */
/* keysort.c - see keysort.h. Few keys are sorted by merging short runs, which are sorted by insertion. Many
 * are distributed by one byte after the other, from the last one on (a radix sort: Knuth, The Art of Computer
 * Programming, volume 3, 5.2.5): that takes no comparisons, which a processor would often predict wrongly.
 * Bytes that are the same in all keys are passed over; scores below a million differ in four of the eight. */
#include "ds/keysort.h"

#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/random.h"
#include "base/zmalloc.h"

#define RUN_MAX   12
#define RADIX_MIN 128 /* keys from which on they are distributed */
#define DIGITS    ((int)sizeof(uint64_t))

struct order {
    keysortTie *tie;
    void *priv;
};

static __attribute__((noinline)) bool keysortTieIsBefore(const struct order *o, size_t a, size_t b) {
    return o->tie && o->tie(o->priv, a, b) < 0;
}

static inline bool keysortIsBefore(const struct order *o, const struct sortKey *a, const struct sortKey *b) {
    return a->key < b->key || (__builtin_expect(a->key == b->key, 0) && keysortTieIsBefore(o, a->at, b->at));
}

static void keysortSortRun(const struct order *o, struct sortKey *k, size_t n) {
    for (size_t i = 1; i < n; i++) {
        struct sortKey moved = k[i];
        size_t at = i;
        for (; at && keysortIsBefore(o, &moved, &k[at - 1]); at--) k[at] = k[at - 1];
        k[at] = moved;
    }
}

/*     tmp:  | left .. |   k:  | (space of left) | right .. |   merged from the front of k on */
static void keysortMerge(const struct order *o, struct sortKey *k, size_t half, size_t n,
                         struct sortKey *tmp) {
    memcpy(tmp, k, half * sizeof *k);
    const struct sortKey *left = tmp, *left_end = tmp + half, *right = k + half, *right_end = k + n;
    while (left < left_end && right < right_end) {
        bool take_right = keysortIsBefore(o, right, left);
        *k++ = *(take_right ? right : left);
        right += take_right;
        left += !take_right;
    }
    memcpy(k, left, (size_t)(left_end - left) * sizeof *k); /* the rest of right is in its place */
}

static void keysortSortRange(const struct order *o, struct sortKey *k, size_t n, struct sortKey *tmp) {
    if (n <= RUN_MAX) {
        keysortSortRun(o, k, n);
        return;
    }
    size_t half = n / 2;
    keysortSortRange(o, k, half, tmp);
    keysortSortRange(o, k + half, n - half, tmp);
    if (keysortIsBefore(o, &k[half], &k[half - 1])) keysortMerge(o, k, half, n, tmp);
}

static unsigned keysortDigit(const struct sortKey *k, int digit) {
    return k->key >> 8 * digit & UINT8_MAX;
}

/* Distributes `from` by a digit; those that have the same one keep their order. `counts` are the keys of each
 * digit, and become the places where their next one goes. */
static void keysortDistribute(const struct sortKey *from, struct sortKey *to, size_t n, int digit,
                              size_t counts[UINT8_MAX + 1]) {
    size_t place = 0;
    for (int value = 0; value <= UINT8_MAX; value++) {
        size_t next = place + counts[value];
        counts[value] = place;
        place = next;
    }
    for (size_t i = 0; i < n; i++) to[counts[keysortDigit(&from[i], digit)]++] = from[i];
}

static void keysortRadix(struct sortKey *k, size_t n, struct sortKey *tmp) {
    size_t counts[DIGITS][UINT8_MAX + 1] = {{0}};
    struct sortKey *from = k, *to = tmp;
    for (size_t i = 0; i < n; i++)
        for (int digit = 0; digit < DIGITS; digit++) counts[digit][keysortDigit(&k[i], digit)]++;
    for (int digit = 0; digit < DIGITS; digit++) {
        if (counts[digit][keysortDigit(&k[0], digit)] == n) continue;
        keysortDistribute(from, to, n, digit, counts[digit]);
        struct sortKey *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != k) memcpy(k, from, n * sizeof *k);
}

/* Sorts each run of equal keys by the tie. */
static void keysortBreakTies(const struct order *o, struct sortKey *k, size_t n, struct sortKey *tmp) {
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && k[to].key == k[from].key;) to++;
        if (to - from > 1) keysortSortRange(o, k + from, to - from, tmp);
    }
}

static bool keysortIsSorted(const struct order *o, const struct sortKey *k, size_t n) {
    size_t i = 1;
    while (i < n && !keysortIsBefore(o, &k[i], &k[i - 1])) i++;
    return i >= n;
}

void keysortSort(struct sortKey *keys, size_t count, keysortTie *tie, void *priv) {
    struct order o = {tie, priv};
    struct sortKey room[RADIX_MIN];
    if (count < RADIX_MIN) {
        keysortSortRange(&o, keys, count, room);
    } else if (!keysortIsSorted(&o, keys, count)) {
        struct sortKey *tmp = zmalloc(count * sizeof *tmp);
        keysortRadix(keys, count, tmp);
        if (tie) keysortBreakTies(&o, keys, count, tmp);
        zfree(tmp);
    }
}

static void keysortSwapKeys(struct sortKey *a, struct sortKey *b) {
    struct sortKey tmp = *a;
    *a = *b;
    *b = tmp;
}

/* Quickselect around a random pivot. */
void keysortSelect(struct sortKey *keys, size_t count, size_t first, keysortTie *tie, void *priv) {
    struct order o = {tie, priv};
    int64_t low = 0, high = (int64_t)count, want = (int64_t)first;
    serverAssert(first <= count);
    while (low < want && want < high) {
        struct sortKey pivot = keys[low + (int64_t)randomBelow((uint64_t)(high - low))];
        int64_t i = low, j = high - 1;
        while (i <= j) {
            while (keysortIsBefore(&o, &keys[i], &pivot)) i++;
            while (keysortIsBefore(&o, &pivot, &keys[j])) j--;
            if (i <= j) keysortSwapKeys(&keys[i++], &keys[j--]);
        }
        /* ... j | equal to the pivot | i ... */
        if (want <= j + 1)
            high = j + 1;
        else if (want >= i)
            low = i;
        else
            return;
    }
}

/* The bits of positive numbers, with the sign bit clear, grow with the number; those of negative ones
 * shrink. */
uint64_t keysortDouble(double v) {
    uint64_t bits;
    debugAssert(v == v);
    v += 0.0; /* turns -0 into 0 */
    memcpy(&bits, &v, sizeof bits);
    const uint64_t sign = (uint64_t)1 << 63;
    return bits & sign ? ~bits : bits | sign;
}

uint64_t keysortText(struct str s) {
    uint64_t key = 0;
    if (s.len) memcpy(&key, s.ptr, s.len < sizeof key ? s.len : sizeof key);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    key = __builtin_bswap64(key);
#endif
    return key;
}
