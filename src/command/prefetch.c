/* SPDX-License-Identifier: BSD-3-Clause */
/* prefetch.c - see prefetch.h. */
#include "command/prefetch.h"

#define STEPS_MAX 24

struct prefetchStats prefetch_stats;

/* Prefetches the objects to which the buckets, now in the cache, point. Returns how many there are. */
static int prefetchObjects(struct prefetchBatch *b) {
    struct prefetchValue *v = b->values;
    for (const struct prefetchKey *k = b->keys, *end = k + b->count; k < end; k++) {
        v->o = keyspacePeek(k->keyspace, k->hash);
        if (!v->o) continue;
        __builtin_prefetch(v->o);
        v->prefetch = k->prefetch;
        v->state.at = NULL;
        v++;
    }
    return (int)(v - b->values);
}

/* In each pass the type prefetches the next lines on the way to the data. */
static void prefetchValues(struct prefetchValue *values, int count) {
    for (int step = 0; count && step < STEPS_MAX; step++) {
        struct prefetchValue *kept = values;
        for (struct prefetchValue *v = values, *end = v + count; v < end; v++) {
            const struct objectType *type = objectTypeOf(v->o);
            if (!type->prefetch || !type->prefetch(v->o, v->prefetch, step, &v->state)) continue;
            if (kept != v) *kept = *v;
            kept++;
        }
        count = (int)(kept - values);
    }
}

void prefetchRun(struct prefetchBatch *b) {
    prefetchValues(b->values, prefetchObjects(b));
}
