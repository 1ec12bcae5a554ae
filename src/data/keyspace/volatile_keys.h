/* SPDX-License-Identifier: BSD-3-Clause */
/* volatile_keys.h - which keys of a keyspace have an expiry.
 *
 *     few have one     a table of their own beside that of all keys
 *     most have one    nothing: who looks for them looks at all keys, of which every second or so is one
 *
 *              3/4 of the keys: the table goes                        a quarter of them: it is made again,
 *     TABLE ─────────────────────────────────▶ NONE ─────────────────▶ MAKING ─────▶ TABLE
 *                                                                      with each change a piece
 *
 * So a key with an expiry costs as much as one without where most have one (caches, sessions), and giving one
 * touches one table less. While the table is made, keys are looked for as without it; it is complete before
 * they have become much fewer.
 *
 * Invariant: in TABLE the table has exactly the keys with an expiry; in MAKING only such, and all that a scan
 * of the keys has passed or that have come since it began; in NONE none. */
#pragma once

#include "data/keyspace/keyspace.h"

/* For keyspace.c only. A change of the keys has been made already when these are told of it; `hash` is
 * keyHash of the key. The struct is in keyspace.h. */
void volatileAdd(struct keyspace *ks, struct object *o, uint64_t hash);
void volatileRemove(struct keyspace *ks, struct object *o, uint64_t hash);
/* One of many whose table has been taken away: volatileChanged behind the last of them, not before, since a
 * table that is made meanwhile would lack the rest. */
void volatileRemoveOne(struct keyspace *ks, struct object *o, uint64_t hash);
/* Both have an expiry, and the same key; both are alive. */
void volatileReplace(struct keyspace *ks, struct object *o, struct object *now, uint64_t hash);
/* The object lies elsewhere now: `was` is not read. While the table is made, one with an expiry must stay. */
void volatileMoved(struct keyspace *ks, const struct object *was, struct object *now, uint64_t hash);
static inline bool volatileMustStay(const struct keyspace *ks, const struct object *o) {
    return ks->expires.state == VOLATILE_MAKING && objectHasExpire(o);
}
/* Keys without an expiry have come or gone. */
void volatileChanged(struct keyspace *ks);
/* Everything is gone from the table already. */
void volatileEmptied(struct volatileKeys *v);

/* As hashtableScan, hashtableFairRandomEntry and hashtableSample, of keys with an expiry in slots that are
 * shown. */
bool volatileScan(struct keyspace *ks, hashtableScanFn fn, void *priv);
struct object *volatileAny(struct keyspace *ks);
size_t volatileSample(struct keyspace *ks, struct object **dst, size_t count);

/* Room for so many, unless they will be most of `all`. False: not enough memory, no harm done. */
bool volatileTryExpand(struct keyspace *ks, size_t count, size_t all);
bool volatileResize(struct keyspace *ks, uint64_t us); /* true: there is more */
void volatileVerify(struct keyspace *ks);
