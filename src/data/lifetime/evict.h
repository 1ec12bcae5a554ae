/* SPDX-License-Identifier: BSD-3-Clause */
/* evict.h - keeps used memory below `maxmemory` by removing keys. evict_marks.h has the marks on objects
 * that rank them.
 *
 * Memory is checked before each command. What is over the limit is evicted, for a time at most that
 * `maxmemory-eviction-tenacity` gives, and the rest by a timer between the turns of the loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/lifetime/evict_marks.h"

/* `maxmemory` in bytes; 0: no limit. */
size_t evictLimit(void);

extern const char err_oom[]; /* OOM command not allowed when used memory > 'maxmemory'. */
/* Frees what is over the limit, for a limited time; called before each command while there is a limit, and
 * also between commands when some ran without it (reads in I/O threads). Returns false when nothing (more)
 * can be evicted and too much memory is still in use. */
bool evictNow(void);
void evictOnLimitChange(void (*fn)(void)); /* also called at evictStart */
/* Whether more memory than `maxmemory` was in use, with nothing (more) to evict, when the running command
 * started. Scripts and transactions decide by this whether they may enlarge the data. */
bool evictOutOfMemory(void);
/* Returns whether more memory than `maxmemory` is in use now, except for what is exempt. */
bool evictOverLimit(void);

/* Registers memory that does not count against the limit, since evicting keys would only enlarge it: output
 * of replicas, the buffer of the append-only file, what a snapshot keeps. */
void evictExempt(size_t (*fn)(void));
/* About so many bytes are being freed on the lazy-free thread: they do not count until it is idle. */
void evictNoteBeingFreed(size_t bytes);
/* While fn returns true nothing is evicted: on a replica, which follows its primary, and while
 * clients are paused. */
void evictAddVeto(bool (*fn)(void));

void evictStart(void); /* called after the configuration is loaded */
void evictInit(void);  /* directives, INFO fields */
