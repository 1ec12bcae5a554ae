/* SPDX-License-Identifier: BSD-3-Clause */
/* evict_marks.h - the marks on objects that record their use, and the eviction policies that go by them.
 *
 * The 24 bits `lru` of an object depend on the policy:
 *
 *     LRU and the rest    | seconds:24          | when it was last used (lruClock)
 *     LRM                 | seconds:24          | when it was last changed
 *     LFU                 | minutes:16 | uses:8 | when it was last used; a logarithmic count of uses
 *     LHD                 | ticks:20   | uses:4 | the same, by a clock of evictions (hit_density.h)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/object.h"
#include "registry/cron.h"

/* The bits of `maxmemory-policy`. */
enum {
    BY_LRU = 1,
    BY_LFU = 2,
    BY_TTL = 4,
    BY_CHANCE = 8,
    OF_VOLATILE = 16,
    NO_EVICTION = 32,
    BY_LRM = 64,
    BY_LHD = 128
};
extern int evict_policy;

#define LFU_MAX 255 /* the largest count of uses */

/* Writes the mark. Reads of a key do this while the thread of a snapshot reads the same word for the type and
 * the encoding (data/forkless/), which the store leaves as they are: a race of equal bits, which is harmless
 * on every machine, and which ThreadSanitizer is told to overlook. A mark that stays, as under LRU within the
 * same second, is not written again: threads that read a popular key share its cache line. */
#ifdef __SANITIZE_THREAD__
__attribute__((no_sanitize("thread"), noinline, unused)) static void objectSetMark(struct object *o,
                                                                                   uint32_t mark) {
    if (o->lru != (mark & 0xffffff)) o->lru = mark & 0xffffff;
}
#else
static inline void objectSetMark(struct object *o, uint32_t mark) {
    if (o->lru != (mark & 0xffffff)) o->lru = mark & 0xffffff;
}
#endif

void objectTouchByPolicy(struct object *o);
/* Whether the marks have a count of uses, and no time in seconds. */
static inline bool evictCountsUses(void) {
    return __builtin_expect(evict_policy & (BY_LFU | BY_LHD), 0);
}

/* Marks the object as used now. Under LRM a use means nothing: changes are marked (evict.c). */
static inline void objectTouch(struct object *o) {
    if (__builtin_expect(evict_policy & (BY_LFU | BY_LRM | BY_LHD), 0))
        objectTouchByPolicy(o);
    else
        objectSetMark(o, lruClock());
}
/* Returns `lru` for a new object. */
uint32_t objectFirstUse(void);
/* Sets what a file or RESTORE says about earlier use; -1: it says nothing. Which of the two counts depends
 * on the policy. */
void objectSetUse(struct object *o, int64_t idle_s, int64_t freq);
/* Holds what the functions below read at one moment. A snapshot uses it for all keys, since its thread must
 * not read what the main thread writes. */
struct evictClock {
    int policy;
    uint32_t lru_s, lfu_minutes;
    int64_t lfu_decay_minutes;
};
struct evictClock evictClockNow(void);
uint32_t objectIdleSecondsAt(const struct evictClock *clock, const struct object *o);
uint32_t objectFrequencyAt(const struct evictClock *clock, const struct object *o);
/* Seconds since the last use, under LRM since the last change; not when evictCountsUses. */
uint32_t objectIdleSeconds(const struct object *o);
/* The count of uses: 0 to 255, decayed to now, under LFU, and 0 to 15 under LHD. */
uint32_t objectFrequency(const struct object *o);

void evictMarksInit(void); /* directives; called by evictInit */
