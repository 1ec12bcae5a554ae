/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_tables.h - one hash table for each slot of a cluster, and how many entries there are in all of them.
 *
 *     struct slotTables ─┬─ used         of all
 *                        ├─ group_used   of 64 slots each: to find the n-th entry, or the next slot that has
 *                        │               any, without looking at 2^14 tables
 *                        ├─ outlines     of the tables, 128 KB: where the bucket of a key is; the head of a
 *                        │               table that has only one is not read to find something
 *                        └─ tables       by slot; one that has never had an entry is all zeros
 *
 * The caller says which slot it is; entries change through these functions, which count. Tables of theirs are
 * for finding and replacing. 930 KB, of which only what slots in use touch is real memory.
 *
 * Slots may be hidden (hidden_slots.h): who goes through them says whether he wants those, too. */
#pragma once

#include "base/key_slot.h"
#include "data/keyspace/hidden_slots.h"
#include "ds/hashtable.h"

/* Fields are private to slot_tables.c and the inline functions below. */
struct slotTables {
    const struct hashtableType *type;
    uint64_t used;
    struct hiddenSlots *hidden; /* NULL: none; the caller's */
    int resize_slot;            /* where slotTablesResize goes on */
    uint32_t salt;              /* of all tables, */
    uint64_t salt_factor;       /* and what it stands for */
    uint64_t group_used[SLOT_GROUPS];
    uint64_t outlines[KEY_SLOTS];
    struct hashtable tables[KEY_SLOTS];
};

struct slotTables *slotTablesCreate(const struct hashtableType *type);
void slotTablesRelease(struct slotTables *st); /* with what the type says of its entries; NULL is fine */

/* To find and to replace. */
static inline struct hashtable *slotTable(struct slotTables *st, int slot) {
    return &st->tables[slot];
}
/* To scan and iterate; behind that (of a safe iterator: when it has stopped) comes slotTablesDescriptor. */
static inline void slotTablesDescriptor(struct slotTables *st, int slot) {
    st->outlines[slot] = hashtableDescriptor(&st->tables[slot]);
}
static inline size_t slotTablesSize(const struct slotTables *st) {
    return st->used;
}
/* The key's bucket, and the head of the slot's table if finding needs it. */
void slotTablesPrefetch(const struct slotTables *st, int slot, uint64_t hash);
static inline void *slotTablesPeek(const struct slotTables *st, int slot, uint64_t hash) {
    uint64_t descriptor = st->outlines[slot];
    if (__builtin_expect(descriptorIsSingle(descriptor), 1))
        return hashtablePeekSingle(descriptor, st->salt_factor, hash);
    return descriptor ? hashtablePeek(&st->tables[slot], hash) : NULL;
}
static inline void *slotTablesFind(struct slotTables *st, int slot, struct str key, uint64_t hash) {
    uint64_t descriptor = st->outlines[slot];
    if (__builtin_expect(descriptorIsSingle(descriptor), 1))
        return hashtableFindSingle(st->type, descriptor, st->salt_factor, key, hash);
    return descriptor ? hashtableFindHashed(&st->tables[slot], key, hash) : NULL;
}
/* As the functions of hashtable.h, and counted. */
void slotTablesAdd(struct slotTables *st, int slot, void *entry, uint64_t hash);
void slotTablesRemoveEntry(struct slotTables *st, int slot, const void *entry, uint64_t hash);
void *slotTablesPop(struct slotTables *st, int slot, struct str key, uint64_t hash);
/* The whole table of a slot, which has none now: the caller's. */
struct hashtable slotTablesTake(struct slotTables *st, int slot);

enum slotsSeen { SLOTS_SHOWN, SLOTS_ALL };
/* The first slot with entries, from this one on; KEY_SLOTS: there are none. */
int slotTablesNext(const struct slotTables *st, int slot, enum slotsSeen seen);
/* As hashtableScan; the cursor:
 *
 *     | slot: 14 | level: 5 | stripe: 34 |
 *
 * A call goes on to the end of a stripe (ds/scan_cursor.h), whose number is all that is left of the position.
 * Behind the last stripe of a slot comes the first one of the next slot that has entries. */
uint64_t slotTablesScan(struct slotTables *st, uint64_t cursor, enum slotsSeen seen, hashtableScanFn fn,
                        void *priv);
/* All entries that are shown are equally likely. NULL: there are none. */
void *slotTablesFairRandom(struct slotTables *st);
/* As hashtableSample, of those that are shown; neighbours are those of the next slots, too. */
size_t slotTablesSample(struct slotTables *st, void **dst, size_t count);

/* As hashtableTryExpand. */
bool slotTablesTryExpand(struct slotTables *st, int slot, size_t n);
/* As hashtableResizeMicroseconds, but some of the slots in one call. */
bool slotTablesResize(struct slotTables *st, uint64_t us);
void slotTablesMoveArrays(struct slotTables *st, void *(*move)(void *priv, void *ptr), void *priv);
size_t slotTablesSlots(const struct slotTables *st);  /* entries that the tables could hold at 100% */
size_t slotTablesMemory(const struct slotTables *st); /* bytes, with the struct */
void slotTablesVerify(struct slotTables *st);         /* asserts counts and tables; for tests */
