/* evict.h - keeping used memory below `maxmemory`: which keys go first, and the marks on objects that tell.
 *
 * The 24 bits `lru` of an object hold, as the policy says:
 *
 *     LRU and the rest    | seconds:24          | when it was last used (lruClock)
 *     LFU                 | minutes:16 | uses:8 | when it was last used; a logarithmic count of uses
 *
 * Before each command memory is checked; what is over the limit is evicted, for a time at most that
 * `maxmemory-eviction-tenacity` gives, and the rest by a timer between the turns of the loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "registry/cron.h"
#include "data/object.h"

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

/* `maxmemory` in bytes; 0: no limit. */
size_t evictLimit(void);

extern const char err_oom[]; /* OOM command not allowed when used memory > 'maxmemory'. */
/* Frees what is over the limit, for a while at most; whoever runs commands calls it before each, while there
 * is a limit. False: there is nothing (left) to evict, and still too much in use. */
bool evictNow(void);
void evictOnLimitChange(void (*fn)(void)); /* also at evictStart */
/* Was there more memory in use than `maxmemory`, with nothing (left) to evict, when the running command
 * started? Scripts and transactions decide by this whether they may enlarge the data. */
bool evictOutOfMemory(void);

/* Memory that does not count against the limit, since evicting keys would only enlarge it: output of
 * replicas, the buffer of the append-only file. */
void evictExempt(size_t (*fn)(void));
/* While fn says true nothing is evicted: a replica, which follows its primary; paused clients. */
void evictAddVeto(bool (*fn)(void));

void evictStart(void);     /* after the configuration */
void evictInit(void);      /* directives, INFO fields */
void evictMarksInit(void); /* for evictInit */
