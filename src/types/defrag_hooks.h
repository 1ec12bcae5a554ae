/* SPDX-License-Identifier: BSD-3-Clause */
/* defrag_hooks.h - each type's `defrag` of struct objectType (data/lifetime/defrag.h), in the type's own
 * file. */
#pragma once

#include "data/keyspace/db.h"
#include "data/lifetime/defrag.h"
#include "data/object.h"

/* The hooks that have files of their own. */
bool hashDefrag(struct db *db, struct object *o, struct defragCursor *at);
bool streamDefrag(struct db *db, struct object *o, struct defragCursor *at);

/* The container itself, when it is one allocation and nothing else points to it. */
static inline void defragContainer(struct object *o) {
    void *now = defragMove(NULL, objectPtr(o));
    if (now) objectSetPtr(o, (int)o->encoding, now);
}
