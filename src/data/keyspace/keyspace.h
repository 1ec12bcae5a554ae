/* SPDX-License-Identifier: BSD-3-Clause */
/* keyspace.h - the contents of a database: its keys, and which of them have an expiry.
 *
 *     struct db ──▶ struct keyspace ─┬─ keys, slots   struct object by key, owned: one table, or in a cluster
 *     (a number)    (the contents)   │                one for each slot (slot_tables.h)
 *                                    ├─ hidden        slots whose keys are not shown (hidden_slots.h)
 *                                    ├─ expires       the keys with an expiry (volatile_keys.h)
 *                                    └─ inner         what types keep over all their values here
 *
 * The hash of a key contains its slot, which is therefore computed once:
 *
 *     | 50 bits of hashBytes | slot: 14 |      a table salts all of it; positions are the upper bits of the product
 *
 * A server without a cluster pays one test for the tables of slots.
 *
 * Invariant: `expires` is as volatile_keys.h describes it, and each value has entered (type.h) once and has
 * not left while it is there. keyspaceVerify asserts this.
 *
 * A keyspace is complete in itself: one can be filled beside that of a database and then take its place
 * (keyspaceExchange). It knows neither clients nor events; db.h does.
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
#include "ds/hashtable.h"

enum volatileState { VOLATILE_TABLE, VOLATILE_NONE, VOLATILE_MAKING };

/* Fields are private to data/keyspace/volatile_keys.c, which explains them. */
struct volatileKeys {
    struct hashtable table;
    uint64_t count;        /* keys with an expiry */
    uint64_t scan_cursor;  /* of volatileScan */
    uint64_t build_cursor; /* VOLATILE_MAKING: in the tables of all keys */
    enum volatileState state;
};

/* Fields are private to keyspace.c, volatile_keys.c and the inline functions below; `inner` belongs to a
 * type. */
struct keyspace {
    struct hashtable keys;      /* by slot: always empty */
    struct slotTables *slots;   /* NULL: there is only `keys`, or there has been no key yet */
    struct hiddenSlots *hidden; /* NULL: no slot is hidden; owned */
    struct volatileKeys expires;
    int64_t avg_ttl_ms; /* estimate of active expiry */
    void *inner;        /* values with parts that expire; their type's (types/hash/hash_expire.c) */
};

/* ---- Hashes of keys ---- */
/* Whether keys go by slot. Set before there is any keyspace. */
extern bool keys_by_slot;
/* The value of each parameter `hash` below. */
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
void keyspaceInit(struct keyspace *ks);                /* an embedded one */
struct keyspace *keyspaceCreate(void);                 /* one beside the living */
void keyspaceRelease(struct keyspace *ks, bool async); /* of keyspaceCreate; NULL is fine */
/* All keys go; async: they are freed on the thread. Returns how many there were. It can be used again. */
uint64_t keyspaceEmpty(struct keyspace *ks, bool async);
/* The two change contents. */
void keyspaceExchange(struct keyspace *a, struct keyspace *b);

/* ---- One key. `hash` is keyHash of it. ---- */
/* Finding a key in a batch takes two steps before it: the bucket where the key would be is fetched into the
 * cache; when it has arrived, keyspacePeek names the object that may be the key's, without reading it. */
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
/* The number of keys, and of keys with an expiry, hidden slots included. */
static inline size_t keyspaceSize(const struct keyspace *ks) {
    return keyspaceHasSlots(ks) ? slotTablesSize(ks->slots) : hashtableSize(&ks->keys);
}
static inline size_t keyspaceExpiresSize(const struct keyspace *ks) {
    return ks->expires.count;
}
/* The same without hidden slots: what clients see. */
static inline size_t keyspaceShownSize(const struct keyspace *ks) {
    return keyspaceSize(ks) - (ks->hidden ? ks->hidden->keys : 0);
}
static inline size_t keyspaceShownExpires(const struct keyspace *ks) {
    return ks->expires.count - (ks->hidden ? ks->hidden->expires : 0);
}
size_t keyspaceSlots(const struct keyspace *ks); /* keys that the table could hold at 100% */
/* Keys whose values have parts that expire; `overdue`: parts that are past their time. */
size_t keyspaceVolatileCount(const struct keyspace *ks, bool overdue);
/* As hashtableScan: every key that is there during the whole scan is passed at least once. 0 starts and ends.
 * By slot, the keys of a slot come together, and slots in their order: slot_tables.h has the cursor. */
uint64_t keyspaceScan(struct keyspace *ks, uint64_t cursor, enum slotsSeen seen, hashtableScanFn fn,
                      void *priv);
/* For active expiry: goes on where it stood, with keys that have an expiry. False: that was the last of them,
 * and it begins anew. */
bool keyspaceScanExpires(struct keyspace *ks, hashtableScanFn fn, void *priv);
/* The keys that it has looked at live so long on the average: goes into the estimate. 0: there are none. */
void keyspaceNoteTtl(struct keyspace *ks, int64_t avg_ms);
/* One random key, each equally likely; NULL when there is none. */
struct object *keyspaceAnyKey(struct keyspace *ks, bool with_expire);
/* Up to `count` neighbours from a random place, all prefetched; see hashtableSample. */
size_t keyspaceSample(struct keyspace *ks, bool with_expire, struct object **dst, size_t count);

struct keyspaceIterator {
    struct hashtableIterator it;
    struct keyspace *ks;
    int slot, last; /* by slot: the one it is in, and where it ends */
    enum slotsSeen seen;
};
/* Safe: the object just returned may be deleted. By slot: in the order of slots. */
void keyspaceIteratorInit(struct keyspaceIterator *it, struct keyspace *ks, enum slotsSeen seen);
/* The keys of the slots from `first` to `last`, hidden ones included; only while keys_by_slot. */
void keyspaceIteratorInitSlots(struct keyspaceIterator *it, struct keyspace *ks, int first, int last);
struct object *keyspaceIteratorNext(struct keyspaceIterator *it); /* NULL: that was all */
void keyspaceIteratorStop(struct keyspaceIterator *it);

/* ---- One slot; 0 and nothing unless keys go by slot ---- */
static inline size_t keyspaceSlotSize(const struct keyspace *ks, int slot) {
    return keyspaceHasSlots(ks) ? hashtableSize(slotTable(ks->slots, slot)) : 0;
}
/* The keys of the slot that have an expiry, counted: O(its keys). */
size_t keyspaceSlotExpires(struct keyspace *ks, int slot);
/* The first slot with keys that is shown, from this one on; KEY_SLOTS: there are none. */
static inline int keyspaceNextSlot(const struct keyspace *ks, int slot) {
    return keyspaceHasSlots(ks) ? slotTablesNext(ks->slots, slot, SLOTS_SHOWN) : KEY_SLOTS;
}
/* Hides the slot, or shows it; nothing happens where it is so already. The keys that a slot has when it is
 * hidden are counted: O(keys). */
void keyspaceHideSlot(struct keyspace *ks, int slot, bool hide);
static inline bool keyspaceHides(const struct keyspace *ks, int slot) {
    return slotIsHidden(ks->hidden, slot);
}
static inline bool keyspaceHidesKey(const struct keyspace *ks, struct str key) {
    return __builtin_expect(ks->hidden != NULL, 0) && slotIsHidden(ks->hidden, keySlot(key));
}
/* As keyspaceScan, with cursors of its own; hidden or not. */
uint64_t keyspaceScanSlot(struct keyspace *ks, int slot, uint64_t cursor, hashtableScanFn fn, void *priv);

/* Told of each key that went with its slot, when it has gone. */
typedef void keyspaceGone(void *priv, const struct object *o);
/* All keys of the slot go, whose table is taken away in one piece: O(1) where no key has an expiry, no value
 * parts that have one, and nobody wants to be told (gone NULL). async: they are freed on the thread. Returns
 * how many there were. */
uint64_t keyspaceDropSlot(struct keyspace *ks, int slot, bool async, keyspaceGone *gone, void *priv);

/* ---- The tables' memory ---- */
/* Room for so many keys. By slot nothing is done: it is not known which slots they will be of.
 * keyspaceTryExpandSlot is for callers who know. */
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
