/* SPDX-License-Identifier: BSD-3-Clause */
/* evict_marks.c - the 24 bits of an object that say when, or how often, it has been used. See evict_marks.h.
 *
 * The clocks in them wrap around: an LRU mark is right for 194 days, an LFU mark for 45. */
#include "data/lifetime/evict_marks.h"

#include "base/assert.h"
#include "base/random.h"
#include "data/lifetime/hit_density.h"
#include "registry/config.h"

#define LFU_START 5 /* a new key's uses, so that it is not the next to be evicted */

int evict_policy;

static int64_t lfu_log_factor, lfu_decay_minutes;

static uint32_t evictMarksLfuMinutes(void) {
    return (uint32_t)(cmd_time_ms / 60000) & 0xffff;
}

struct evictClock evictClockNow(void) {
    return (struct evictClock){evict_policy, lruClock(), evictMarksLfuMinutes(), lfu_decay_minutes};
}

/* Subtracts one use for every period of lfu-decay-time without any. */
uint32_t objectFrequencyAt(const struct evictClock *clock, const struct object *o) {
    if (clock->policy & BY_LHD) return densityUses(o->lru);
    uint32_t mark = o->lru, uses = mark & LFU_MAX, idle = (clock->lfu_minutes - (mark >> 8)) & 0xffff;
    uint64_t periods = clock->lfu_decay_minutes ? idle / (uint64_t)clock->lfu_decay_minutes : 0;
    return periods >= uses ? 0 : uses - (uint32_t)periods;
}

uint32_t objectFrequency(const struct object *o) {
    struct evictClock clock = evictClockNow();
    return objectFrequencyAt(&clock, o);
}

/* A Morris counter: the higher the count, the less likely a use counts. */
static uint32_t evictMarksCountUse(uint32_t uses) {
    if (uses == LFU_MAX) return uses;
    double above = uses > LFU_START ? uses - LFU_START : 0;
    return uses + (randomDouble() * (above * (double)lfu_log_factor + 1) < 1);
}

static uint32_t evictMarksLfuMark(uint32_t uses) {
    return evictMarksLfuMinutes() << 8 | uses;
}

void objectTouchByPolicy(struct object *o) {
    if (evict_policy & BY_LFU)
        objectSetMark(o, evictMarksLfuMark(evictMarksCountUse(objectFrequency(o))));
    else if (evict_policy & BY_LHD)
        objectSetMark(o, densityUse(o->lru, objectHasExpire(o) || !(evict_policy & OF_VOLATILE)));
}

uint32_t objectFirstUse(void) {
    if (!evictCountsUses()) return lruClock();
    return evict_policy & BY_LHD ? densityMark(0) : evictMarksLfuMark(LFU_START);
}

void objectSetUse(struct object *o, int64_t idle_s, int64_t freq) {
    serverAssert(freq <= LFU_MAX);
    if (evict_policy & BY_LHD) {
        if (freq >= 0)
            objectSetMark(o, densityMark(freq < DENSITY_USES_MAX ? (uint32_t)freq : DENSITY_USES_MAX));
    } else if (evict_policy & BY_LFU) {
        if (freq >= 0) objectSetMark(o, evictMarksLfuMark((uint32_t)freq));
    } else if (idle_s >= 0) {
        uint32_t longest = 0xffffff / 2; /* a longer time would look like the future */
        objectSetMark(o, lruClock() - (idle_s < longest ? (uint32_t)idle_s : longest));
    }
}

uint32_t objectIdleSecondsAt(const struct evictClock *clock, const struct object *o) {
    return (clock->lru_s - o->lru) & 0xffffff;
}

uint32_t objectIdleSeconds(const struct object *o) {
    return (lruClock() - o->lru) & 0xffffff;
}

void evictMarksInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("lfu-log-factor", NULL, CONFIG_MODIFIABLE, &lfu_log_factor, 10, 0, INT32_MAX, NULL),
        CONFIG_INT("lfu-decay-time", NULL, CONFIG_MODIFIABLE, &lfu_decay_minutes, 1, 0, INT32_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
