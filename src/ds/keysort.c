/* SPDX-License-Identifier: BSD-3-Clause */
/* keysort.c - see keysort.h. A merge sort over short runs that are sorted by insertion. */
#include "ds/keysort.h"

#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/random.h"
#include "base/zmalloc.h"

#define RUN_MAX   12
#define STACK_MAX 256 /* keys up to which nothing is allocated */

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

void keysortSort(struct sortKey *keys, size_t count, keysortTie *tie, void *priv) {
    struct order o = {tie, priv};
    struct sortKey room[STACK_MAX / 2], *tmp = count > STACK_MAX ? zmalloc(count / 2 * sizeof *tmp) : room;
    keysortSortRange(&o, keys, count, tmp);
    if (tmp != room) zfree(tmp);
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
