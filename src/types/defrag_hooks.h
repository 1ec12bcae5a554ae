/* SPDX-License-Identifier: BSD-3-Clause */
/* defrag_hooks.h - the `defrag` hooks of struct objectType (data/lifetime/defrag.h) that have files
 * of their own. */
#pragma once

#include "data/keyspace/db.h"
#include "data/lifetime/defrag.h"
#include "data/object.h"

bool hashDefrag(struct db *db, struct object *o, struct defragCursor *at);
bool streamDefrag(struct db *db, struct object *o, struct defragCursor *at);

/* Moves the container itself when it is one allocation and nothing else points to it. */
static inline void defragContainer(struct object *o) {
    void *now = defragMove(NULL, objectPtr(o));
    if (now) objectSetPtr(o, (int)o->encoding, now);
}
