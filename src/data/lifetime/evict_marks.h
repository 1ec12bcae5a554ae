/* SPDX-License-Identifier: BSD-3-Clause */
/* evict_marks.h - the marks on objects that tell eviction which of them have been used, and the policies that
 * go by them.
 *
 * The 24 bits `lru` of an object hold, as the policy says:
 *
 *     LRU and the rest    | seconds:24          | when it was last used (lruClock)
 *     LFU                 | minutes:16 | uses:8 | when it was last used; a logarithmic count of uses */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/object.h"
#include "registry/cron.h"

/* What `maxmemory-policy` is made of. */
enum { BY_LRU = 1, BY_LFU = 2, BY_TTL = 4, BY_CHANCE = 8, OF_VOLATILE = 16, NO_EVICTION = 32 };
extern int evict_policy;

#define LFU_MAX 255 /* uses that the counter can tell */

void objectTouchLfu(struct object *o);
static inline bool evictByLfu(void) {
    return __builtin_expect(evict_policy & BY_LFU, 0);
}

/* The object has been used. */
static inline void objectTouch(struct object *o) {
    if (evictByLfu())
        objectTouchLfu(o);
    else
        o->lru = lruClock();
}
/* `lru` of a new object. */
uint32_t objectFirstUse(void);
/* What a file or RESTORE says of its use before now; -1: it says nothing. Which of the two counts depends on
 * the policy. */
void objectSetUse(struct object *o, int64_t idle_s, int64_t freq);
/* Seconds since it was last used; under an LRU policy (or none). */
uint32_t objectIdleSeconds(const struct object *o);
/* The count of uses, 0 to 255, decayed to now; under an LFU policy. */
uint32_t objectFrequency(const struct object *o);

void evictMarksInit(void); /* by evictInit: directives */
