/* SPDX-License-Identifier: BSD-3-Clause */
/* keyspace.h - the contents of a database: its keys, and those of them with an expiry.
 *
 *     struct db ──▶ struct keyspace ─┬─ keys      struct object by key, owned
 *     (a number)    (the contents)   ├─ expires   those with an expiry: volatile_keys.h
 *                                    └─ inner     what types keep over all their values here
 *
 * Invariant: `expires` is as volatile_keys.h has it, and every value has entered (type.h) once, and not left,
 * while it is there. keyspaceVerify asserts it.
 *
 * A keyspace stands for itself: one can be filled beside the living one, and then take its place
 * (keyspaceExchange). It knows neither clients nor events; those are db.h's.
 *
 * In a cluster keys go by slot, each of which has a table of its own (key_tables.h). Slots may be hidden: who
 * goes through all keys does not see those of them, unless he asks for them; one key is always found. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/zmalloc.h"
#include "data/object.h"
#include "data/volatile_keys.h"
#include "ds/hashtable.h"

/* Fields are private to data/keyspace.c and the inline functions below; `inner` belongs to a type. */
struct keyspace {
    struct keyTables keys;
    struct volatileKeys expires;
    int64_t avg_ttl_ms; /* estimate of active expiry */
    void *inner;        /* values with parts that expire; their type's (types/hash_expire.c) */
};

/* ---- Life ---- */
void keyspaceInit(struct keyspace *ks);                /* an embedded one */
struct keyspace *keyspaceCreate(void);                 /* one beside the living */
void keyspaceRelease(struct keyspace *ks, bool async); /* of keyspaceCreate; NULL is fine */
/* All keys go; async: they are freed on the thread. Returns how many there were. It can be used again. */
uint64_t keyspaceEmpty(struct keyspace *ks, bool async);
/* The two change contents. */
void keyspaceExchange(struct keyspace *a, struct keyspace *b);

/* ---- One key. `hash` is keyHash of it. ---- */
/* The bucket where the key would be; then, when that has arrived, the object that may well be its. */
static inline void keyspacePrefetch(const struct keyspace *ks, uint64_t hash) {
    keyTablesPrefetch(&ks->keys, hash);
}
static inline struct object *keyspacePeek(const struct keyspace *ks, uint64_t hash) {
    return keyTablesPeek(&ks->keys, hash);
}
static inline struct object *keyspaceFind(struct keyspace *ks, struct str key, uint64_t hash) {
    return keyTablesFind(&ks->keys, key, hash);
}
/* The key must be absent. The object is the keyspace's from now on. */
void keyspaceAdd(struct keyspace *ks, struct object *o, uint64_t hash);
/* Out of the tables, without freeing it. */
void keyspaceRemove(struct keyspace *ks, struct object *o, uint64_t hash);
struct object *keyspacePop(struct keyspace *ks, struct str key, uint64_t hash); /* NULL when absent */
/* A new object with this value and expiry (OBJ_NO_EXPIRE: none) takes the place of `o`, whose container is
 * not freed; the types are not told. For what objectRewrite cannot do in place, and whenever a key gets an
 * expiry or loses it. */
struct object *keyspaceReplace(struct keyspace *ks, struct object *o, struct value v, int64_t expire_ms,
                               uint64_t hash);
/* The types are told that a value has come, or is about to go, with the object staying. */
void keyspaceEntered(struct keyspace *ks, const struct object *o);
void keyspaceLeaving(struct keyspace *ks, const struct object *o);
/* The object's own allocation may move; use the result. */
struct object *keyspaceMoveObject(struct keyspace *ks, struct object *o, zmoveFn *move, void *priv);

/* ---- All of them ---- */
/* With those of hidden slots; and without. */
static inline size_t keyspaceSize(const struct keyspace *ks) {
    return keyTablesSize(&ks->keys);
}
static inline size_t keyspaceExpiresSize(const struct keyspace *ks) {
    return ks->expires.count;
}
static inline size_t keyspaceShownSize(const struct keyspace *ks) {
    return keyTablesShownSize(&ks->keys);
}
static inline size_t keyspaceShownExpires(const struct keyspace *ks) {
    return volatileShown(&ks->expires, &ks->keys);
}
size_t keyspaceSlots(const struct keyspace *ks); /* keys that the table could hold at 100% */
/* Keys whose values have parts that expire; `overdue`: parts that are past their time. */
size_t keyspaceVolatileCount(const struct keyspace *ks, bool overdue);
/* As hashtableScan: every key that is there during the whole scan is passed at least once. 0 starts and ends.
 * By slot, the keys of a slot come together, and slots in their order: slot_tables.h has the cursor. */
uint64_t keyspaceScan(struct keyspace *ks, uint64_t cursor, hashtableScanFn fn, void *priv);
/* For active expiry: goes on where it stood, with keys that have an expiry. False: that was the last of them,
 * and it begins anew. */
bool keyspaceScanExpires(struct keyspace *ks, hashtableScanFn fn, void *priv);
/* The keys that it has looked at live so long on the average: goes into the estimate. 0: there are none. */
void keyspaceNoteTtl(struct keyspace *ks, int64_t avg_ms);
/* As hashtableFairRandomEntry and hashtableSample. */
struct object *keyspaceAnyKey(struct keyspace *ks, bool with_expire);
size_t keyspaceSample(struct keyspace *ks, bool with_expire, struct object **dst, size_t count);

struct keyspaceIterator {
    struct keyTablesIterator it;
};
/* Safe: the object just returned may be deleted. By slot: in the order of slots. */
void keyspaceIteratorInit(struct keyspaceIterator *it, struct keyspace *ks, enum slotsSeen seen);
struct object *keyspaceIteratorNext(struct keyspaceIterator *it);
void keyspaceIteratorStop(struct keyspaceIterator *it);

/* ---- One slot; 0 and nothing unless keys go by slot ---- */
static inline size_t keyspaceSlotSize(const struct keyspace *ks, int slot) {
    return keyTablesSlotSize(&ks->keys, slot);
}
/* The first slot with keys that is shown, from this one on; KEY_SLOTS: there are none. */
static inline int keyspaceNextSlot(const struct keyspace *ks, int slot) {
    return keyTablesNextSlot(&ks->keys, slot, SLOTS_SHOWN);
}
/* See keyTablesHideSlot. */
static inline void keyspaceHideSlot(struct keyspace *ks, int slot, bool hide) {
    keyTablesHideSlot(&ks->keys, slot, hide);
}
static inline bool keyspaceHides(const struct keyspace *ks, int slot) {
    return slotIsHidden(ks->keys.hidden, slot);
}
static inline bool keyspaceHidesKey(const struct keyspace *ks, struct str key) {
    return keyTablesHideKey(&ks->keys, key);
}
/* As keyspaceScan, with cursors of its own; hidden or not. */
uint64_t keyspaceScanSlot(struct keyspace *ks, int slot, uint64_t cursor, hashtableScanFn fn, void *priv);
/* The same iterator, over the keys of the slot, hidden or not; of slots from `first` to `last`. */
void keyspaceIteratorInitSlot(struct keyspaceIterator *it, struct keyspace *ks, int slot);
void keyspaceIteratorInitSlots(struct keyspaceIterator *it, struct keyspace *ks, int first, int last);

/* Told of each key that went with its slot, when it has gone. */
typedef void keyspaceGone(void *priv, const struct object *o);
/* All keys of the slot go, whose table is taken away in one piece: O(1) where no key has an expiry, no value
 * parts that have one, and nobody wants to be told (gone NULL). async: they are freed on the thread. Returns
 * how many there were. */
uint64_t keyspaceDropSlot(struct keyspace *ks, int slot, bool async, keyspaceGone *gone, void *priv);

/* ---- The tables' memory ---- */
void keyspaceExpand(struct keyspace *ks, size_t keys);
/* False: not enough memory, no harm done. */
bool keyspaceTryExpand(struct keyspace *ks, size_t keys, size_t with_expire);
bool keyspaceTryExpandSlot(struct keyspace *ks, int slot, size_t keys);
bool keyspaceResize(struct keyspace *ks, uint64_t us);                   /* true while there is more to do */
void keyspaceMoveTables(struct keyspace *ks, zmoveFn *move, void *priv); /* not while they are scanned */

struct keyspaceMemory {
    size_t keys, expires; /* bytes of the tables */
};
struct keyspaceMemory keyspaceMemory(const struct keyspace *ks);
sds keyspaceStats(struct keyspace *ks, sds s); /* the text of DEBUG HTSTATS, appended */
void keyspaceVerify(struct keyspace *ks);      /* asserts the invariant; O(n), for tests */
