/* SPDX-License-Identifier: BSD-3-Clause */
/* lazyfree.h - freeing: at once, or on a background thread where that takes long. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/object.h"
#include "ds/hashtable.h"

#define LAZYFREE_THRESHOLD 64 /* allocations; less is freed at once */

/* Out of the tables already. Frees now, or on the thread when async and worth it. */
void lazyfreeObject(struct object *o, bool async);
void lazyfreeValue(struct value v, bool async, size_t effort); /* a container without its object */
/* A whole table: it is freed on the thread when async, with the entries that it owns; the struct is left
 * empty and usable. */
void lazyfreeTable(struct hashtable *ht, bool async);
/* Whatever `arg` is, with so many objects in it: `free` is called on the thread. */
void lazyfreeContents(void (*free)(void *arg), void *arg, size_t objects);

uint64_t lazyfreedObjects(void);

/* Directives, read by the rooms that free. */
extern bool lazyfree_lazy_eviction, lazyfree_lazy_expire, lazyfree_lazy_server_del, lazyfree_lazy_user_del,
    lazyfree_lazy_user_flush;
void lazyfreeInit(void); /* directives and INFO fields */
