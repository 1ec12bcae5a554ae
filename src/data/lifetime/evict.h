/* SPDX-License-Identifier: BSD-3-Clause */
/* evict.h - keeping used memory below `maxmemory`: which keys go first. The marks on objects that tell are in
 * evict_marks.h.
 *
 * Before each command memory is checked; what is over the limit is evicted, for a time at most that
 * `maxmemory-eviction-tenacity` gives, and the rest by a timer between the turns of the loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/lifetime/evict_marks.h"

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

void evictStart(void); /* after the configuration */
void evictInit(void);  /* directives, INFO fields */
