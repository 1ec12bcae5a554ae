/* SPDX-License-Identifier: BSD-3-Clause */
/* key_tables.h - all keys of a keyspace: one table, or in a cluster one for each slot (slot_tables.h).
 *
 * A key's hash tells its slot, so nobody has to find that twice:
 *
 *     | 50 bits of hashBytes | slot: 14 |      a table salts it all; positions are the upper bits of that
 *
 * Who has one table pays a test for the others. */
#pragma once

#include "ds/hashtable.h"
#include "data/slot_tables.h"

/* ---- Hashes of keys ---- */
/* Do keys go by slot? Set before there is any keyspace. */
extern bool keys_by_slot;
/* What every `hash` of a key in the keyspace is. */
static inline uint64_t keyHash(struct str key) {
    if (__builtin_expect(keys_by_slot, 0)) return keySlotHash(key);
    return hashBytes(key.ptr, key.len);
}
/* Only while keys_by_slot. */
static inline int keyHashSlot(uint64_t hash) {
    return (int)(hash & (KEY_SLOTS - 1));
}

/* ---- The tables ---- */
struct keyTables {
    struct hashtable one;       /* by slot: always empty */
    struct slotTables *slots;   /* NULL: there is only `one`, or there has been no key yet */
    struct hiddenSlots *hidden; /* NULL: none; owned */
};

/* Entries are owned. The type's hash is to be keyHash. */
void keyTablesInit(struct keyTables *kt, const struct hashtableType *type);
void keyTablesDestroy(struct keyTables *kt);
/* All keys go; async: they are freed on the thread. It can be used again. */
void keyTablesEmpty(struct keyTables *kt, bool async);

/* The table where the key is, if it is anywhere: to replace. */
static inline struct hashtable *keyTable(const struct keyTables *kt, uint64_t hash) {
    if (__builtin_expect(kt->slots != NULL, 0)) return slotTable(kt->slots, keyHashSlot(hash));
    return (struct hashtable *)&kt->one;
}
static inline void *keyTablesFind(const struct keyTables *kt, struct str key, uint64_t hash) {
    if (__builtin_expect(kt->slots != NULL, 0))
        return slotTablesFind(kt->slots, keyHashSlot(hash), key, hash);
    return hashtableFindHashed((struct hashtable *)&kt->one, key, hash);
}
static inline void *keyTablesPeek(const struct keyTables *kt, uint64_t hash) {
    if (__builtin_expect(kt->slots != NULL, 0)) return slotTablesPeek(kt->slots, keyHashSlot(hash), hash);
    return hashtablePeek(&kt->one, hash);
}
/* The bucket where the key would be, and whatever else finding it needs. */
static inline void keyTablesPrefetch(const struct keyTables *kt, uint64_t hash) {
    if (__builtin_expect(kt->slots != NULL, 0))
        slotTablesPrefetch(kt->slots, keyHashSlot(hash), hash);
    else
        hashtablePrefetchBucket(&kt->one, hash);
}
static inline size_t keyTablesSize(const struct keyTables *kt) {
    return kt->slots ? slotTablesSize(kt->slots) : hashtableSize(&kt->one);
}
static inline size_t keyTablesShownSize(const struct keyTables *kt) {
    return keyTablesSize(kt) - (kt->hidden ? kt->hidden->keys : 0);
}

/* As the functions of hashtable.h. Who looks at all keys says whether he wants those of hidden slots, too;
 * what comes by chance is shown. */
void keyTablesAddBySlot(struct keyTables *kt, void *entry, uint64_t hash);
static inline void keyTablesAdd(struct keyTables *kt, void *entry, uint64_t hash) {
    if (__builtin_expect(keys_by_slot, 0))
        keyTablesAddBySlot(kt, entry, hash);
    else
        hashtableAddUnchecked(&kt->one, entry, hash);
}
static inline void keyTablesRemoveEntry(struct keyTables *kt, const void *entry, uint64_t hash) {
    if (__builtin_expect(kt->slots != NULL, 0))
        slotTablesRemoveEntry(kt->slots, keyHashSlot(hash), entry, hash);
    else
        hashtableRemoveEntry(&kt->one, entry, hash);
}
static inline void *keyTablesPop(struct keyTables *kt, struct str key, uint64_t hash) {
    if (__builtin_expect(kt->slots != NULL, 0)) return slotTablesPop(kt->slots, keyHashSlot(hash), key, hash);
    return hashtablePopHashed(&kt->one, key, hash);
}
static inline uint64_t keyTablesScan(struct keyTables *kt, uint64_t cursor, enum slotsSeen seen,
                                     hashtableScanFn fn, void *priv) {
    return kt->slots ? slotTablesScan(kt->slots, cursor, seen, fn, priv)
                     : hashtableScan(&kt->one, cursor, fn, priv);
}
static inline void *keyTablesFairRandom(struct keyTables *kt) {
    return kt->slots ? slotTablesFairRandom(kt->slots) : hashtableFairRandomEntry(&kt->one);
}
static inline size_t keyTablesSample(struct keyTables *kt, void **dst, size_t count) {
    return kt->slots ? slotTablesSample(kt->slots, dst, count) : hashtableSample(&kt->one, dst, count);
}

/* One slot; nothing unless keys_by_slot. */
static inline size_t keyTablesSlotSize(const struct keyTables *kt, int slot) {
    return kt->slots ? hashtableSize(slotTable(kt->slots, slot)) : 0;
}
/* The first slot with keys, from this one on; KEY_SLOTS: there are none. */
static inline int keyTablesNextSlot(const struct keyTables *kt, int slot, enum slotsSeen seen) {
    return kt->slots ? slotTablesNext(kt->slots, slot, seen) : KEY_SLOTS;
}
static inline bool keyTablesHideKey(const struct keyTables *kt, struct str key) {
    return __builtin_expect(kt->hidden != NULL, 0) && slotIsHidden(kt->hidden, keySlot(key));
}
/* Hides the slot, or shows it; nothing where it is so already. What is in it when it is hidden is counted:
 * O(its keys). */
void keyTablesHideSlot(struct keyTables *kt, int slot, bool hide);

/* As a safe iterator of hashtable.h, through the slots from `first` to `last` in their order. */
struct keyTablesIterator {
    struct hashtableIterator it;
    struct keyTables *kt;
    int slot, last; /* by slot: the one it is in, and where it ends */
    enum slotsSeen seen;
};
void keyTablesIteratorInit(struct keyTablesIterator *it, struct keyTables *kt, int first, int last,
                           enum slotsSeen seen);
void *keyTablesIteratorNext(struct keyTablesIterator *it); /* NULL: that was all */
void keyTablesIteratorStop(struct keyTablesIterator *it);

/* Memory. Of how many keys will come nobody knows which slots they are of: by slot it is no room to be made,
 * unless somebody does. */
bool keyTablesTryExpandSlot(struct keyTables *kt, int slot, size_t n);
bool keyTablesTryExpand(struct keyTables *kt, size_t n);
void keyTablesExpand(struct keyTables *kt, size_t n);
bool keyTablesResize(struct keyTables *kt, uint64_t us);
void keyTablesMoveArrays(struct keyTables *kt, void *(*move)(void *priv, void *ptr), void *priv);
size_t keyTablesSlots(const struct keyTables *kt); /* keys that the tables could hold at 100% */
size_t keyTablesMemory(const struct keyTables *kt);
sds keyTablesStats(struct keyTables *kt, sds s,
                   const char *name); /* as hashtableStats; by slot: of them all */
void keyTablesVerify(struct keyTables *kt);
