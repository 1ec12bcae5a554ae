/* SPDX-License-Identifier: BSD-3-Clause */
/* evict_marks.c - the 24 bits of an object that say when, or how often, it has been used. See evict_marks.h.
 *
 * The clocks in them wrap around: an LRU mark is right for 194 days, an LFU mark for 45. */
#include "data/lifetime/evict_marks.h"

#include "base/assert.h"
#include "base/random.h"
#include "registry/config.h"

#define LFU_START 5 /* a new key's uses, so that it is not the next to be evicted */

int evict_policy;

static int64_t lfu_log_factor, lfu_decay_minutes;

static uint32_t evictMarksLfuMinutes(void) {
    return (uint32_t)(cmd_time_ms / 60000) & 0xffff;
}

/* Subtracts one use for every period of lfu-decay-time without any. */
uint32_t objectFrequency(const struct object *o) {
    uint32_t uses = o->lru & LFU_MAX, idle = (evictMarksLfuMinutes() - (o->lru >> 8)) & 0xffff;
    uint64_t periods = lfu_decay_minutes ? idle / (uint64_t)lfu_decay_minutes : 0;
    return periods >= uses ? 0 : uses - (uint32_t)periods;
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
    if (!evictByLfu()) return;
    o->lru = evictMarksLfuMark(evictMarksCountUse(objectFrequency(o))) & 0xffffff;
}

uint32_t objectFirstUse(void) {
    return evictByLfu() ? evictMarksLfuMark(LFU_START) : lruClock();
}

void objectSetUse(struct object *o, int64_t idle_s, int64_t freq) {
    serverAssert(freq <= LFU_MAX);
    if (evictByLfu()) {
        if (freq >= 0) o->lru = evictMarksLfuMark((uint32_t)freq) & 0xffffff;
    } else if (idle_s >= 0) {
        uint32_t longest = 0xffffff / 2; /* a longer time would look like the future */
        o->lru = (lruClock() - (idle_s < longest ? (uint32_t)idle_s : longest)) & 0xffffff;
    }
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
