/* SPDX-License-Identifier: BSD-3-Clause */
/* keyspace_private.h - which keys of a keyspace have an expiry.
 *
 *     few have one     a table of their own beside that of all keys
 *     most have one    no table: the search goes through all keys, of which every second or so has an expiry
 *
 *              3/4 of the keys: the table is freed                    a quarter of them: it is built again,
 *     TABLE ─────────────────────────────────▶ NONE ─────────────────▶ MAKING ─────▶ TABLE
 *                                                                      a piece with each change
 *
 * Where most keys have an expiry (caches, sessions), a key with one costs as much memory as a key without,
 * and setting one touches one table less. While the table is being built, searches work as in NONE; it is
 * complete before such keys have become much fewer.
 *
 * Invariant: in TABLE the table has exactly the keys with an expiry. In MAKING it has only such keys, and all
 * of them that the scan has passed or that were added since it began. In NONE it is empty. */
#pragma once

#include "data/keyspace/keyspace.h"

/* For keyspace.c only, which has made its own change before it calls these. `hash` is the key's keyHash.
 * keyspace.h has the struct. */
void volatileAdd(struct keyspace *ks, struct object *o, uint64_t hash);
void volatileRemove(struct keyspace *ks, struct object *o, uint64_t hash);
/* Removes one of many whose table has been taken away. volatileChanged follows after the last one and not
 * before, since a table built in between would lack the rest. */
void volatileRemoveOne(struct keyspace *ks, struct object *o, uint64_t hash);
/* Replaces an object by another with the same key; both have an expiry and are still allocated. */
void volatileReplace(struct keyspace *ks, struct object *o, struct object *now, uint64_t hash);
/* The object has moved; `was` is not read. While the table is being built, objects with an expiry must stay
 * where they are. */
void volatileMoved(struct keyspace *ks, const struct object *was, struct object *now, uint64_t hash);
static inline bool volatileMustStay(const struct keyspace *ks, const struct object *o) {
    return ks->expires.state == VOLATILE_MAKING && objectHasExpire(o);
}
/* Called when keys without an expiry have come or gone. */
void volatileChanged(struct keyspace *ks);
/* Called when the table has been emptied by somebody else. */
void volatileEmptied(struct volatileKeys *v);

/* These work like hashtableScan, hashtableFairRandomEntry and hashtableSample, on keys with an expiry in
 * slots that are shown. */
bool volatileScan(struct keyspace *ks, hashtableScanFn fn, void *priv);
struct object *volatileAny(struct keyspace *ks);
size_t volatileSample(struct keyspace *ks, struct object **dst, size_t count);

/* Makes room for so many, unless they will be most of `all`. Returns false when there is not enough
 * memory. */
bool volatileTryExpand(struct keyspace *ks, size_t count, size_t all);
bool volatileResize(struct keyspace *ks, uint64_t us); /* true: there is more to do */
void volatileVerify(struct keyspace *ks);

/* ---- Of a snapshot: data/forkless/keyspace_walk.c ---- */
/* The contents leave `ks`, which is empty then, and belong to the walk. */
void keyspaceWalkTakeContents(struct keyspace *ks);
/* Saves all that is left of a slot, large values included. O(keys). */
void keyspaceWalkSaveSlot(struct keyspace *ks, int slot);
/* A value that is being saved in parts comes to a keyspace without a walk: gives it one that is over, so that
 * its contents are not freed. */
void keyspaceWalkAdopt(struct keyspace *ks);
/* The walked contents are in this keyspace now. */
void keyspaceWalkMoved(struct keyspaceWalk *w, struct keyspace *ks);
