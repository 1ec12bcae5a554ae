/* SPDX-License-Identifier: BSD-3-Clause */
/* defrag_hooks.h - each type's `defrag` of struct objectType (data/defrag.h), in the type's own file. */
#pragma once

#include "data/db.h"
#include "data/defrag.h"
#include "data/object.h"

typedef bool defragHook(struct db *db, struct object *o, struct defragCursor *at);
defragHook stringDefrag, listDefrag, setDefrag, hashDefrag, zsetDefrag, streamDefrag;

/* The container itself, when it is one allocation and nothing else points to it. */
static inline void defragContainer(struct object *o) {
    void *now = defragMove(NULL, objectPtr(o));
    if (now) objectSetPtr(o, (int)o->encoding, now);
}
