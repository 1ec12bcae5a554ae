/* SPDX-License-Identifier: BSD-3-Clause */
/* defrag_hooks.h - the `defrag` hooks of struct objectType (data/lifetime/defrag.h) that have files
 * of their own. */
#pragma once

#include "data/keyspace/db.h"
#include "data/lifetime/defrag.h"
#include "data/object.h"

bool hashDefrag(struct db *db, struct object *o, struct defragCursor *at);
bool streamDefrag(struct db *db, struct object *o, struct defragCursor *at);
bool pathHashDefrag(struct db *db, struct object *o, struct defragCursor *at);

/* For a hash that is part of another value: offer its container (h->ptr is updated), and then, if that is a
 * table, its fields, as hashtableScan goes through them. */
struct hash;
void hashDefragContainer(struct hash *h);
uint64_t hashDefragFields(struct hash *h, uint64_t cursor);

/* Moves the container itself when it is one allocation and nothing else points to it. */
static inline void defragContainer(struct object *o) {
    void *now = defragMove(NULL, objectPtr(o));
    if (now) objectSetPtr(o, (int)o->encoding, now);
}
