/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_tables.h - one hash table for each slot of a cluster, and the number of entries in all of them.
 *
 *     struct slotTables ─┬─ used         in all tables
 *                        ├─ group_used   in 64 slots each: to find the n-th entry, or the next slot that
 *                        │               has any, without looking at 2^14 tables
 *                        ├─ descriptors  of the tables, 128 KB: where the bucket of a key is; a table
 *                        │               with only one bucket need not be read to find something
 *                        └─ tables       by slot; one that has never had an entry is all zeros
 *
 * The caller passes the slot. Entries are added and removed through these functions, which count them; the
 * tables themselves are only for finding and replacing. The struct has 930 KB, of which only the parts of
 * used slots take real memory.
 *
 * Slots may be hidden (hidden_slots.h): functions that go through many slots have a parameter that includes
 * those. */
#pragma once

#include "base/assert.h"
#include "base/key_slot.h"
#include "data/keyspace/hidden_slots.h"
#include "ds/hashtable.h"

/* Fields are private to slot_tables.c and the inline functions below. */
struct slotTables {
    const struct hashtableType *type;
    uint64_t used;
    struct hiddenSlots *hidden; /* NULL: none; the caller's */
    int resize_slot;            /* where slotTablesResize continues */
    uint32_t salt;              /* of all tables */
    uint64_t salt_factor;       /* derived from the salt */
    uint64_t group_used[SLOT_GROUPS];
    uint64_t descriptors[KEY_SLOTS];
    struct hashtable tables[KEY_SLOTS];
};

struct slotTables *slotTablesCreate(const struct hashtableType *type);
void slotTablesRelease(struct slotTables *st); /* with what the type says of its entries; NULL is fine */

/* Returns the table of a slot, to find and replace in. After it has been scanned or iterated (with a safe
 * iterator: after that has stopped) call slotTablesUpdateDescriptor. */
static inline struct hashtable *slotTable(struct slotTables *st, int slot) {
    debugAssert(slot >= 0 && slot < KEY_SLOTS);
    return &st->tables[slot];
}
static inline void slotTablesUpdateDescriptor(struct slotTables *st, int slot) {
    st->descriptors[slot] = hashtableDescriptor(&st->tables[slot]);
}
static inline size_t slotTablesSize(const struct slotTables *st) {
    return st->used;
}
/* Prefetches the key's bucket, and the head of the slot's table if finding needs it. */
void slotTablesPrefetch(const struct slotTables *st, int slot, uint64_t hash);
static inline void *slotTablesPeek(const struct slotTables *st, int slot, uint64_t hash) {
    uint64_t descriptor = st->descriptors[slot];
    if (__builtin_expect(hashtableDescriptorIsSingle(descriptor), 1))
        return hashtablePeekSingle(descriptor, st->salt_factor, hash);
    return descriptor ? hashtablePeek(&st->tables[slot], hash) : NULL;
}
static inline void *slotTablesFind(struct slotTables *st, int slot, struct str key, uint64_t hash) {
    uint64_t descriptor = st->descriptors[slot];
    if (__builtin_expect(hashtableDescriptorIsSingle(descriptor), 1))
        return hashtableFindSingle(st->type, descriptor, st->salt_factor, key, hash);
    return descriptor ? hashtableFindHashed(&st->tables[slot], key, hash) : NULL;
}
/* These work like the functions of hashtable.h, and count. */
void slotTablesAdd(struct slotTables *st, int slot, void *entry, uint64_t hash);
void slotTablesRemoveEntry(struct slotTables *st, int slot, const void *entry, uint64_t hash);
void *slotTablesPop(struct slotTables *st, int slot, struct str key, uint64_t hash);
/* Takes the whole table of a slot, which has none then; the table is the caller's. */
struct hashtable slotTablesTake(struct slotTables *st, int slot);

enum slotsSeen { SLOTS_SHOWN, SLOTS_ALL };
/* Returns the first slot with entries from this one on, or KEY_SLOTS. */
int slotTablesNext(const struct slotTables *st, int slot, enum slotsSeen seen);
/* Scans like hashtableScan. The cursor:
 *
 *     | slot: 14 | level: 5 | stripe: 34 |
 *
 * A call continues to the end of a stripe (ds/scan_cursor.h), so that the stripe's number is the whole
 * position. After the last stripe of a slot comes the first one of the next slot that has entries. */
uint64_t slotTablesScan(struct slotTables *st, uint64_t cursor, enum slotsSeen seen, hashtableScanFn fn,
                        void *priv);
/* Returns a random entry of all that are shown, each equally likely, or NULL when there is none. */
void *slotTablesFairRandom(struct slotTables *st);
/* Samples the shown entries like hashtableSample; entries of the next slots count as neighbours. */
size_t slotTablesSample(struct slotTables *st, void **dst, size_t count);

/* Works like hashtableTryExpand. */
bool slotTablesTryExpand(struct slotTables *st, int slot, size_t n);
/* Works like hashtableResizeMicroseconds, on some of the slots per call. */
bool slotTablesResize(struct slotTables *st, uint64_t us);
void slotTablesMoveArrays(struct slotTables *st, void *(*move)(void *priv, void *ptr), void *priv);
size_t slotTablesSlots(const struct slotTables *st);  /* entries that the tables could hold at 100% */
size_t slotTablesMemory(const struct slotTables *st); /* bytes, including the struct */
void slotTablesVerify(struct slotTables *st);         /* asserts counts and tables; for tests */
