/* SPDX-License-Identifier: BSD-3-Clause */
/* top_keys.h - the most frequent of many keys, counted in bounded memory.
 *
 * The algorithm is Space-Saving (Metwally, Agrawal, El Abbadi: Efficient computation of frequent and top-k
 * elements in data streams, 2005). There are `capacity` counters. A key without a counter takes over the one
 * with the lowest count and adds to that count, because the key may have come as often before; `error` keeps
 * the count that was taken over. After n keys were counted,
 *
 *     count - error  <=  how often the key came  <=  count,      and error <= n / capacity,
 *
 * so every key that came more often than n / capacity has a counter.
 *
 *     by_id   id -> counter                  a key that has a counter is found here
 *     heap    counters, lowest count first   the counter that is taken over is heap[0]
 *
 * An id is the key's hash, its length and its database; two keys with one id count as one. The first
 * TOP_KEYS_NAME_MAX bytes of a key are kept as its name, so no key, however long, takes more memory. */
#pragma once

#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "ds/hashtable.h"

#define TOP_KEYS_NAME_MAX 1024

struct topKeyId {
    uint64_t hash; /* keyed, so that clients cannot choose keys of one id */
    uint32_t db;
    uint32_t length; /* of the key, modulo 2^32 */
};
_Static_assert(sizeof(struct topKeyId) == 16, "ids are compared by their bytes");

struct topKey {
    struct topKeyId id;
    uint64_t count, error;
    int place; /* index in the heap */
    sds name;
};

struct topKeys {
    struct topKey *counters;
    struct topKey **heap;
    int used, capacity;
    struct hashtable by_id;
};

/* Allocates all counters; capacity > 0. O(capacity). */
void topKeysInit(struct topKeys *t, int capacity);
void topKeysFree(struct topKeys *t); /* a zeroed struct is fine */
/* Adds n to the key's count. O(log capacity). */
void topKeysCount(struct topKeys *t, struct topKeyId id, struct str key, uint64_t n);
/* Halves all counts and errors, so that recent use counts more. O(n). */
void topKeysHalve(struct topKeys *t);
/* Fills ranked, which has room for t->used counters, with all of them, ordered by count - error, the highest
 * first. O(n log n). */
void topKeysRank(const struct topKeys *t, const struct topKey **ranked);
/* Returns the name to show: of a long key its beginning, and how many bytes are left out. */
sds topKeysText(const struct topKey *k);
