/* SPDX-License-Identifier: BSD-3-Clause */
/* prefetch.c - see prefetch.h. */
#include "command/prefetch.h"

#define STEPS_MAX 48

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
        v->state.next = NULL;
        v++;
    }
    return (int)(v - b->values);
}

static inline bool prefetchStep(struct prefetchValue *v, int step) {
    if (v->state.next) return v->state.next(&v->state);
    const struct objectType *type = objectTypeOf(v->o);
    return type->prefetch && type->prefetch(v->o, v->prefetch, step, &v->state);
}

/* In each pass the type prefetches the next lines on the way to the data. */
static void prefetchValues(struct prefetchValue *values, int count) {
    for (int step = 0; count && step < STEPS_MAX; step++) {
        struct prefetchValue *kept = values;
        for (struct prefetchValue *v = values, *end = v + count; v < end; v++) {
            if (!prefetchStep(v, step)) continue;
            if (kept != v) *kept = *v;
            kept++;
        }
        count = (int)(kept - values);
    }
}

void prefetchRun(struct prefetchBatch *b) {
    prefetchValues(b->values, prefetchObjects(b));
}
