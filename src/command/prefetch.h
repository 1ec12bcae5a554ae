/* SPDX-License-Identifier: BSD-3-Clause */
/* prefetch.h - fetches what a batch of requests will read, in passes over the batch, so that the cache misses
 * of all requests overlap:
 *
 *     prefetchAdd    the buckets of a request's keys
 *     prefetchRun    the objects in the buckets; then, pass by pass, what their types ask for
 *
 * It reads nothing but tables, and what has been fetched in the pass before. */
#pragma once

#include "command/request.h"

#define PREFETCH_KEYS 512 /* of a batch */

struct prefetchKey {
    const struct keyspace *keyspace;
    uint64_t hash;
    const struct prefetchRequests *prefetch;
};
struct prefetchValue {
    const struct object *o; /* that the key's bucket seems to hold */
    const struct prefetchRequests *prefetch;
    struct prefetchState state;
};
struct prefetchBatch {
    int count;
    struct prefetchKey keys[PREFETCH_KEYS];
    struct prefetchValue values[PREFETCH_KEYS]; /* scratch of prefetchRun */
};

struct prefetchStats {
    uint64_t keys, threaded_batches, threaded_keys; /* threaded: of requests that I/O threads have parsed */
};
extern struct prefetchStats prefetch_stats; /* the main thread's */

static inline void prefetchBegin(struct prefetchBatch *b) {
    b->count = 0;
}
/* Adds the keys of a request whose keys are hashed, if there is room for all of them. */
static inline void prefetchAdd(struct prefetchBatch *b, const struct keyspace *ks, const struct request *r) {
    if (b->count + r->key_count > PREFETCH_KEYS) return;
    for (int i = 0; i < r->key_count; i++) {
        keyspacePrefetch(ks, r->key_hashes[i].hash);
        b->keys[b->count++] = (struct prefetchKey){ks, r->key_hashes[i].hash, &r->prefetch};
    }
}
/* Not for a single key: there is nothing to overlap with. */
void prefetchRun(struct prefetchBatch *b);
