/* SPDX-License-Identifier: BSD-3-Clause */
/* keyspace.h - the contents of a database: its keys, and which of them have an expiry.
 *
 *     struct db ──▶ struct keyspace ─┬─ keys, slots   struct object by key, owned: one table, or in a cluster
 *     (a number)    (the contents)   │                one for each slot (slot_tables.h)
 *                                    ├─ hidden        slots whose keys are not shown (hidden_slots.h)
 *                                    ├─ expires       the keys with an expiry (keyspace_private.h)
 *                                    └─ kept          what types keep over all their values here
 *
 * The hash of a key contains its slot, which is therefore computed once:
 *
 *     | 50 bits of hashBytes | slot: 14 |     a table salts it all; positions are upper bits of the product
 *
 * A server without a cluster pays one test for the tables of slots.
 *
 * Invariant: `expires` is as keyspace_private.h describes it, and the types know each value that is here
 * (onAdded, onRemoved in type.h), once. keyspaceVerify asserts this.
 *
 * A keyspace is complete in itself: one can be filled beside that of a database and then take its place
 * (keyspaceExchange). It knows neither clients nor events, which are db.h's subject.
 *
 * Functions that go through many keys leave those of hidden slots out unless their caller passes SLOTS_ALL; a
 * lookup of one key always finds it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/zmalloc.h"
#include "data/keyspace/slot_tables.h"
#include "data/object.h"
#include "data/type.h"
#include "ds/hashtable.h"

enum volatileState { VOLATILE_TABLE, VOLATILE_NONE, VOLATILE_MAKING };

/* Fields are private to data/keyspace/volatile_keys.c, which explains them. */
struct volatileKeys {
    struct hashtable table;
    uint64_t count;        /* keys with an expiry */
    uint64_t scan_cursor;  /* where volatileScan continues */
    uint64_t build_cursor; /* VOLATILE_MAKING: position in the tables of all keys */
    enum volatileState state;
};

/* Fields are private to keyspace.c, volatile_keys.c and the inline functions below; `kept` belongs
 * to the types. */
struct keyspaceWalk;
struct keyspace {
    struct hashtable keys;      /* empty while keys go by slot */
    struct slotTables *slots;   /* NULL: only `keys` is used, or there has been no key yet */
    struct hiddenSlots *hidden; /* NULL: no slot is hidden; owned */
    struct keyspaceWalk *walk;  /* of a snapshot (data/forkless/keyspace_walk.h); NULL nearly always */
    struct volatileKeys expires;
    int64_t avg_ttl_ms; /* estimated by active expiry */
    /* By id of a type: what the type keeps over its values here, which its hooks onAdded, onRemoved and
     * onAllRemoved own. NULL: nothing. */
    void *kept[OBJ_TYPES_MAX];
};

/* ---- Hashes of keys ---- */
/* Whether keys go by slot. Set before any keyspace exists. */
extern bool keys_by_slot;
/* Returns the value for the parameters called `hash` below. */
static inline uint64_t keyHash(struct str key) {
    if (__builtin_expect(keys_by_slot, 0)) return keySlotHash(key);
    return hashBytes(key.ptr, key.len);
}
/* Only while keys_by_slot. */
static inline int keyHashSlot(uint64_t hash) {
    return (int)(hash & (KEY_SLOTS - 1));
}
static inline bool keyspaceHasSlots(const struct keyspace *ks) {
    return __builtin_expect(ks->slots != NULL, 0);
}

/* ---- Life ---- */
void keyspaceInit(struct keyspace *ks);                /* of an embedded struct */
struct keyspace *keyspaceCreate(void);                 /* allocates one beside those of the databases */
void keyspaceRelease(struct keyspace *ks, bool async); /* frees one from keyspaceCreate; NULL is fine */
/* Removes all keys; async: they are freed on the thread. Returns their number. The keyspace can be used
 * again. */
uint64_t keyspaceEmpty(struct keyspace *ks, bool async);
/* Exchanges the contents of two keyspaces. */
void keyspaceExchange(struct keyspace *a, struct keyspace *b);

/* ---- One key; `hash` is its keyHash ---- */
/* A batch finds a key in three passes: keyspacePrefetch fetches the bucket where the key would be;
 * when that has arrived, keyspacePeek returns the object that may be the key's without reading it;
 * then keyspaceFind compares. */
static inline void keyspacePrefetch(const struct keyspace *ks, uint64_t hash) {
    if (keyspaceHasSlots(ks))
        slotTablesPrefetch(ks->slots, keyHashSlot(hash), hash);
    else
        hashtablePrefetchBucket(&ks->keys, hash);
}
static inline struct object *keyspacePeek(const struct keyspace *ks, uint64_t hash) {
    if (keyspaceHasSlots(ks)) return slotTablesPeek(ks->slots, keyHashSlot(hash), hash);
    return hashtablePeek(&ks->keys, hash);
}
/* NULL when absent. */
static inline struct object *keyspaceFind(struct keyspace *ks, struct str key, uint64_t hash) {
    if (keyspaceHasSlots(ks)) return slotTablesFind(ks->slots, keyHashSlot(hash), key, hash);
    return hashtableFindHashed(&ks->keys, key, hash);
}
/* Called before the key or its value is changed: a snapshot that has not saved it does so now. `o` is the
 * key's object, or NULL when there is none. The functions below call it themselves, and so do look-ups for
 * writing (db.h); whoever changes a value that was found otherwise has to. O(1) while no snapshot runs. */
void keyspaceWalkSave(struct keyspaceWalk *walk, uint64_t hash, const struct object *o);
static inline void keyspaceWillChange(struct keyspace *ks, uint64_t hash, const struct object *o) {
    if (__builtin_expect(ks->walk != NULL, 0)) keyspaceWalkSave(ks->walk, hash, o);
}
/* Whether a snapshot goes over the keys: what reads change by the way, and need not, stays as it is. */
static inline bool keyspaceIsWalked(const struct keyspace *ks) {
    return __builtin_expect(ks->walk != NULL, 0);
}
/* Whether nothing of this key is left to be saved, apart from the parts of large values. */
bool keyspaceWalkHasSaved(const struct keyspaceWalk *w, uint64_t hash, const struct object *o);
/* keyspaceWillChange for an object whose hash is not at hand. */
static inline void keyspaceObjectWillChange(struct keyspace *ks, const struct object *o) {
    if (__builtin_expect(ks->walk != NULL, 0)) keyspaceWalkSave(ks->walk, keyHash(objectKey(o)), o);
}
/* Adds an object, whose key must be absent. The keyspace owns it from now on. */
void keyspaceAdd(struct keyspace *ks, struct object *o, uint64_t hash);
/* Takes the object out of the tables without freeing it. */
void keyspaceRemove(struct keyspace *ks, struct object *o, uint64_t hash);
struct object *keyspacePop(struct keyspace *ks, struct str key, uint64_t hash); /* NULL when absent */
/* Puts a new object with this value and expiry (OBJ_NO_EXPIRE: none) in the place of `o`, whose container is
 * not freed; the types are not notified. Used where objectRewrite cannot work in place, and whenever a key
 * gets or loses an expiry. */
struct object *keyspaceReplace(struct keyspace *ks, struct object *o, struct value v, int64_t expire_ms,
                               uint64_t hash);
/* Notifies the types that a value has come, or is about to go, while the object stays. */
void keyspaceNotifyAdded(struct keyspace *ks, const struct object *o);
void keyspaceNotifyRemoved(struct keyspace *ks, const struct object *o);
/* The object's own allocation may move; use the result. */
struct object *keyspaceMoveObject(struct keyspace *ks, struct object *o, zmoveFn *move, void *priv);

/* ---- All keys ---- */
/* The number of keys, and of keys with an expiry, hidden slots included. */
static inline size_t keyspaceSize(const struct keyspace *ks) {
    return keyspaceHasSlots(ks) ? slotTablesSize(ks->slots) : hashtableSize(&ks->keys);
}
static inline size_t keyspaceExpiresSize(const struct keyspace *ks) {
    return ks->expires.count;
}
/* The number of keys without those in hidden slots: what clients see. */
static inline size_t keyspaceShownSize(const struct keyspace *ks) {
    return keyspaceSize(ks) - (ks->hidden ? ks->hidden->keys : 0);
}
static inline size_t keyspaceShownExpires(const struct keyspace *ks) {
    return ks->expires.count - (ks->hidden ? ks->hidden->expires : 0);
}
size_t keyspaceSlots(const struct keyspace *ks); /* keys that the table could hold at 100% */
/* The number of keys whose values have parts that expire; with `overdue`, of parts that are past their
 * expiry. */
size_t keyspaceVolatileCount(const struct keyspace *ks, bool overdue);
/* Scans like hashtableScan: every key that is present during the whole scan is passed at least once. Cursor 0
 * starts and ends. When keys go by slot, the keys of a slot come together, and slots in their order;
 * slot_tables.h has the cursor. */
uint64_t keyspaceScan(struct keyspace *ks, uint64_t cursor, enum slotsSeen seen, hashtableScanFn fn,
                      void *priv);
/* Continues the scan of active expiry over keys with an expiry. False: that was the last part, and
 * it begins anew. */
bool keyspaceScanExpires(struct keyspace *ks, hashtableScanFn fn, void *priv);
/* Adds the average remaining time of the keys that active expiry has looked at to the estimate. 0:
 * there were none. */
void keyspaceNoteTtl(struct keyspace *ks, int64_t avg_ms);
/* Returns one random key, each equally likely, or NULL when there is none. */
struct object *keyspaceAnyKey(struct keyspace *ks, bool with_expire);
/* Returns up to `count` neighbours from a random place, all prefetched; see hashtableSample. */
size_t keyspaceSample(struct keyspace *ks, bool with_expire, struct object **dst, size_t count);

struct keyspaceIterator {
    struct hashtableIterator it;
    struct keyspace *ks;
    int slot, last; /* when keys go by slot: the present slot, and the last one */
    enum slotsSeen seen;
};
/* Starts a safe iterator: the object just returned may be deleted. When keys go by slot, slots come
 * in their order. */
void keyspaceIteratorInit(struct keyspaceIterator *it, struct keyspace *ks, enum slotsSeen seen);
/* Starts one over the slots from `first` to `last`, hidden ones included; only while keys_by_slot. */
void keyspaceIteratorInitSlots(struct keyspaceIterator *it, struct keyspace *ks, int first, int last);
struct object *keyspaceIteratorNext(struct keyspaceIterator *it); /* NULL: that was all */
void keyspaceIteratorStop(struct keyspaceIterator *it);

/* ---- One slot; 0 or nothing unless keys go by slot ---- */
static inline size_t keyspaceSlotSize(const struct keyspace *ks, int slot) {
    return keyspaceHasSlots(ks) ? hashtableSize(slotTable(ks->slots, slot)) : 0;
}
/* Counts the keys of the slot that have an expiry. O(its keys). */
size_t keyspaceSlotExpires(struct keyspace *ks, int slot);
/* Returns the first slot from this one on that has keys and is shown, or KEY_SLOTS. */
static inline int keyspaceNextSlot(const struct keyspace *ks, int slot) {
    return keyspaceHasSlots(ks) ? slotTablesNext(ks->slots, slot, SLOTS_SHOWN) : KEY_SLOTS;
}
/* Hides the slot, or shows it; does nothing when it is so already. Hiding counts the slot's keys: O(keys). */
void keyspaceHideSlot(struct keyspace *ks, int slot, bool hide);
static inline bool keyspaceHides(const struct keyspace *ks, int slot) {
    return slotIsHidden(ks->hidden, slot);
}
static inline bool keyspaceHidesKey(const struct keyspace *ks, struct str key) {
    return __builtin_expect(ks->hidden != NULL, 0) && slotIsHidden(ks->hidden, keySlot(key));
}
/* Scans one slot, hidden or not, like keyspaceScan but with cursors of its own. */
uint64_t keyspaceScanSlot(struct keyspace *ks, int slot, uint64_t cursor, hashtableScanFn fn, void *priv);

/* Called for each key that was dropped with its slot, after it is gone. */
typedef void keyspaceDropFn(void *priv, const struct object *o);
/* Removes all keys of the slot by taking its table away in one piece. O(1) where no key and no part of a
 * value has an expiry and `dropped` is NULL. async: they are freed on the thread. Returns their number. */
uint64_t keyspaceDropSlot(struct keyspace *ks, int slot, bool async, keyspaceDropFn *dropped, void *priv);

/* ---- The tables' memory ---- */
/* Makes room for so many keys. When keys go by slot it does nothing, as it is not known which slots they will
 * be in; callers who know use keyspaceTryExpandSlot. */
void keyspaceExpand(struct keyspace *ks, size_t keys);
/* Returns false when there is not enough memory; nothing has changed then. */
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
