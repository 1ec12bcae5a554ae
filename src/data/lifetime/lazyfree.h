/* SPDX-License-Identifier: BSD-3-Clause */
/* lazyfree.h - frees at once, or on a background thread where that takes long. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/object.h"
#include "ds/hashtable.h"

#define LAZYFREE_THRESHOLD 64 /* allocations; a smaller value is freed at once */

/* Frees an object that is out of the tables: now, or on the thread when async and large enough. */
void lazyfreeObject(struct object *o, bool async);
void lazyfreeValue(struct value v, bool async, size_t effort); /* a container without its object */
/* Frees a whole table with the entries that it owns, on the thread when async; the struct is left
 * empty and usable. */
void lazyfreeTable(struct hashtable *ht, bool async);
/* Calls `free` with arg, which holds so many objects, on the thread. */
void lazyfreeContents(void (*free)(void *arg), void *arg, size_t objects);

uint64_t lazyfreedObjects(void);

/* Directives, read by the modules that free. */
extern bool lazyfree_lazy_eviction, lazyfree_lazy_expire, lazyfree_lazy_server_del, lazyfree_lazy_user_del,
    lazyfree_lazy_user_flush;
void lazyfreeInit(void); /* directives and INFO fields */
