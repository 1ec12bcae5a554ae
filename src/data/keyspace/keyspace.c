/* SPDX-License-Identifier: BSD-3-Clause */
/* keyspace.c - see keyspace.h; the layout of an object is in object.h.
 *
 * An object can move when its expiry or its embedded value changes. It is then created anew and the pointer
 * is replaced in the tables by identity, without comparing keys. */
#include "data/keyspace/keyspace.h"

#include "base/assert.h"
#include "data/forkless/large_value.h"
#include "data/keyspace/keyspace_private.h"
#include "data/lifetime/lazyfree.h"
#include "data/type.h"

#define TTL_MEMORY 50 /* an estimate is made of about so many samples */

bool keys_by_slot;

static struct str keyspaceObjectEntryKey(const void *entry) {
    return objectKey(entry);
}
static void keyspaceObjectEntryFree(void *entry) {
    objectFree(entry);
}

static const struct hashtableType keys_type = {.entryKey = keyspaceObjectEntryKey,
                                               .entryFree = keyspaceObjectEntryFree};
static const struct hashtableType expires_type = {.entryKey = keyspaceObjectEntryKey};
/* Growing tables hash their keys again. There are many small ones, which need little memory each. */
static const struct hashtableType keys_by_slot_type = {.entryKey = keyspaceObjectEntryKey,
                                                       .entryFree = keyspaceObjectEntryFree,
                                                       .hash = keySlotHash,
                                                       .tight = true};
static const struct hashtableType expires_by_slot_type = {
    .entryKey = keyspaceObjectEntryKey, .hash = keySlotHash, .tight = true};

/* Whether any type keeps something over its values here. */
static bool keyspaceIsTracked(const struct keyspace *ks) {
    for (int i = 0; i < OBJ_TYPES_MAX; i++) {
        if (ks->kept[i]) return true;
    }
    return false;
}

/* ---- Life ---- */

void keyspaceInit(struct keyspace *ks) {
    *ks = (struct keyspace){0};
    hashtableInit(&ks->keys, keys_by_slot ? &keys_by_slot_type : &keys_type);
    hashtableInit(&ks->expires.table, keys_by_slot ? &expires_by_slot_type : &expires_type);
}

struct keyspace *keyspaceCreate(void) {
    struct keyspace *ks = zmalloc(sizeof *ks);
    keyspaceInit(ks);
    return ks;
}

static void keyspaceReleaseSlots(void *slots) {
    slotTablesRelease(slots);
}

static void keyspaceEmptyTables(struct keyspace *ks, bool async) {
    struct slotTables *slots = ks->slots;
    ks->slots = NULL;
    if (ks->hidden) hiddenEmptied(ks->hidden);
    if (!slots)
        lazyfreeTable(&ks->keys, async);
    else if (async)
        lazyfreeContents(keyspaceReleaseSlots, slots, slotTablesSize(slots));
    else
        slotTablesRelease(slots);
}

uint64_t keyspaceEmpty(struct keyspace *ks, bool async) {
    uint64_t n = keyspaceSize(ks);
    if (ks->walk) keyspaceWalkTakeContents(ks);
    for (int i = 0; i < OBJ_TYPES_MAX; i++) {
        if (objectTypes[i] && objectTypes[i]->onAllRemoved) objectTypes[i]->onAllRemoved(ks);
    }
    async = async && keyspaceSize(ks) > 0; /* few keys can hold much */
    lazyfreeTable(&ks->expires.table, async);
    keyspaceEmptyTables(ks, async);
    volatileEmptied(&ks->expires);
    ks->avg_ttl_ms = 0;
    debugAssert(!keyspaceSize(ks) && !keyspaceExpiresSize(ks) && !keyspaceIsTracked(ks));
    return n;
}

void keyspaceRelease(struct keyspace *ks, bool async) {
    if (!ks) return;
    keyspaceEmpty(ks, async);
    hashtableDestroy(&ks->expires.table);
    hashtableDestroy(&ks->keys);
    hiddenFree(ks->hidden);
    zfree(ks);
}

void keyspaceExchange(struct keyspace *a, struct keyspace *b) {
    serverAssert(a && b);
    struct keyspace was = *a;
    *a = *b;
    *b = was;
    if (a->walk) keyspaceWalkMoved(a->walk, a);
    if (b->walk) keyspaceWalkMoved(b->walk, b);
}

/* ---- One key ---- */

void keyspaceNotifyAdded(struct keyspace *ks, const struct object *o) {
    const struct objectType *type = objectTypeOf(o);
    if (type->onAdded) type->onAdded(ks, o);
}

void keyspaceNotifyRemoved(struct keyspace *ks, const struct object *o) {
    const struct objectType *type = objectTypeOf(o);
    if (type->onRemoved) type->onRemoved(ks, o);
}

static struct slotTables *keyspaceSlotsOf(struct keyspace *ks) {
    if (!ks->slots) {
        ks->slots = slotTablesCreate(ks->keys.type);
        ks->slots->hidden = ks->hidden;
    }
    return ks->slots;
}

/* Returns the table where the key is, if it exists, to replace it there. */
static inline struct hashtable *keyspaceTableOf(struct keyspace *ks, uint64_t hash) {
    return keyspaceHasSlots(ks) ? slotTable(ks->slots, keyHashSlot(hash)) : &ks->keys;
}

void keyspaceAdd(struct keyspace *ks, struct object *o, uint64_t hash) {
    debugAssert(!keyspaceFind(ks, objectKey(o), hash));
    keyspaceWillChange(ks, hash, NULL);
    if (__builtin_expect(large_value_count != 0, 0) && !ks->walk && objectHasPtr(o) &&
        largeValueFind(objectPtr(o)))
        keyspaceWalkAdopt(ks);
    if (__builtin_expect(keys_by_slot, 0))
        slotTablesAdd(keyspaceSlotsOf(ks), keyHashSlot(hash), o, hash);
    else
        hashtableAddUnchecked(&ks->keys, o, hash);
    if (objectHasExpire(o))
        volatileAdd(ks, o, hash);
    else
        volatileChanged(ks);
    keyspaceNotifyAdded(ks, o);
}

static void keyspaceRemoveFromExpires(struct keyspace *ks, struct object *o, uint64_t hash) {
    if (objectHasExpire(o))
        volatileRemove(ks, o, hash);
    else
        volatileChanged(ks);
}

void keyspaceRemove(struct keyspace *ks, struct object *o, uint64_t hash) {
    keyspaceWillChange(ks, hash, o);
    keyspaceNotifyRemoved(ks, o);
    if (keyspaceHasSlots(ks))
        slotTablesRemoveEntry(ks->slots, keyHashSlot(hash), o, hash);
    else
        hashtableRemoveEntry(&ks->keys, o, hash);
    keyspaceRemoveFromExpires(ks, o, hash);
    debugAssert(keyspaceExpiresSize(ks) <= keyspaceSize(ks));
}

struct object *keyspacePop(struct keyspace *ks, struct str key, uint64_t hash) {
    if (__builtin_expect(ks->walk != NULL, 0)) keyspaceWalkSave(ks->walk, hash, keyspaceFind(ks, key, hash));
    struct object *o = keyspaceHasSlots(ks) ? slotTablesPop(ks->slots, keyHashSlot(hash), key, hash)
                                            : hashtablePopHashed(&ks->keys, key, hash);
    if (!o) return NULL;
    keyspaceNotifyRemoved(ks, o);
    keyspaceRemoveFromExpires(ks, o, hash);
    debugAssert(keyspaceExpiresSize(ks) <= keyspaceSize(ks));
    return o;
}

struct object *keyspaceReplace(struct keyspace *ks, struct object *o, struct value v, int64_t expire_ms,
                               uint64_t hash) {
    debugAssert(keyspaceFind(ks, objectKey(o), hash) == o);
    keyspaceWillChange(ks, hash, o);
    struct object *now = objectCreate(objectKey(o), expire_ms, v);
    now->lru = o->lru;
    hashtableReplaceEntry(keyspaceTableOf(ks, hash), o, now, hash);
    if (objectHasExpire(o) && objectHasExpire(now)) {
        volatileReplace(ks, o, now, hash);
    } else if (objectHasExpire(o)) {
        volatileRemove(ks, o, hash);
    } else if (objectHasExpire(now)) {
        volatileAdd(ks, now, hash);
    }
    objectFreeHeader(o);
    debugAssert(objectExpire(now) == expire_ms);
    return now;
}

struct object *keyspaceMoveObject(struct keyspace *ks, struct object *o, zmoveFn *move, void *priv) {
    debugAssert(keyspaceFind(ks, objectKey(o), keyHash(objectKey(o))) == o);
    keyspaceObjectWillChange(ks, o);
    if (volatileMustStay(ks, o)) return o;
    struct object *now = move(priv, o);
    if (!now) return o;
    uint64_t hash = keyHash(objectKey(now));
    hashtableReplaceEntry(keyspaceTableOf(ks, hash), o, now, hash);
    if (objectHasExpire(now)) volatileMoved(ks, o, now, hash);
    return now;
}

/* ---- All keys ---- */

size_t keyspaceSlots(const struct keyspace *ks) {
    return ks->slots ? slotTablesSlots(ks->slots) : hashtableSlots(&ks->keys);
}

size_t keyspaceVolatileCount(const struct keyspace *ks, bool overdue) {
    size_t n = 0;
    for (int i = 0; i < OBJ_TYPES_MAX; i++) {
        if (objectTypes[i] && objectTypes[i]->volatileCount) n += objectTypes[i]->volatileCount(ks, overdue);
    }
    return n;
}

uint64_t keyspaceScan(struct keyspace *ks, uint64_t cursor, enum slotsSeen seen, hashtableScanFn fn,
                      void *priv) {
    return ks->slots ? slotTablesScan(ks->slots, cursor, seen, fn, priv)
                     : hashtableScan(&ks->keys, cursor, fn, priv);
}

bool keyspaceScanExpires(struct keyspace *ks, hashtableScanFn fn, void *priv) {
    return volatileScan(ks, fn, priv);
}

void keyspaceNoteTtl(struct keyspace *ks, int64_t avg_ms) {
    int64_t so_far = ks->avg_ttl_ms;
    ks->avg_ttl_ms = so_far && avg_ms ? so_far + (avg_ms - so_far) / TTL_MEMORY : avg_ms;
}

struct object *keyspaceAnyKey(struct keyspace *ks, bool with_expire) {
    if (with_expire) return volatileAny(ks);
    return ks->slots ? slotTablesFairRandom(ks->slots) : hashtableFairRandomEntry(&ks->keys);
}

size_t keyspaceSample(struct keyspace *ks, bool with_expire, struct object **dst, size_t count) {
    if (with_expire) return volatileSample(ks, dst, count);
    return ks->slots ? slotTablesSample(ks->slots, (void **)dst, count)
                     : hashtableSample(&ks->keys, (void **)dst, count);
}

/* Goes to the first slot from this one on that has to be passed. After the last slot comes the single table,
 * which has all keys or none. */
static void keyspaceIteratorGoToSlot(struct keyspaceIterator *it, int slot) {
    struct slotTables *slots = it->ks->slots;
    it->slot = slots ? slotTablesNext(slots, slot, it->seen) : KEY_SLOTS;
    hashtableInitIterator(&it->it, it->slot <= it->last ? slotTable(slots, it->slot) : &it->ks->keys, true);
}

static void keyspaceIteratorStart(struct keyspaceIterator *it, struct keyspace *ks, int first, int last,
                                  enum slotsSeen seen) {
    it->ks = ks;
    it->last = last;
    it->seen = seen;
    keyspaceIteratorGoToSlot(it, first);
}

void keyspaceIteratorInit(struct keyspaceIterator *it, struct keyspace *ks, enum slotsSeen seen) {
    keyspaceIteratorStart(it, ks, 0, KEY_SLOTS - 1, seen);
}

void keyspaceIteratorInitSlots(struct keyspaceIterator *it, struct keyspace *ks, int first, int last) {
    serverAssert(keys_by_slot && 0 <= first && first <= last && last < KEY_SLOTS);
    keyspaceIteratorStart(it, ks, first, last, SLOTS_ALL);
}

struct object *keyspaceIteratorNext(struct keyspaceIterator *it) {
    void *entry;
    while (!hashtableNext(&it->it, &entry)) {
        if (it->slot > it->last) return NULL;
        keyspaceIteratorStop(it);
        keyspaceIteratorGoToSlot(it, it->slot + 1);
    }
    return entry;
}

void keyspaceIteratorStop(struct keyspaceIterator *it) {
    hashtableStopIterator(&it->it);
    if (it->ks->slots && it->slot < KEY_SLOTS) slotTablesUpdateDescriptor(it->ks->slots, it->slot);
}

/* ---- One slot ---- */

uint64_t keyspaceScanSlot(struct keyspace *ks, int slot, uint64_t cursor, hashtableScanFn fn, void *priv) {
    if (!keyspaceSlotSize(ks, slot)) return 0;
    cursor = hashtableScan(slotTable(ks->slots, slot), cursor, fn, priv);
    slotTablesUpdateDescriptor(ks->slots, slot);
    return cursor;
}

size_t keyspaceSlotExpires(struct keyspace *ks, int slot) {
    if (!keyspaceSlotSize(ks, slot)) return 0;
    struct keyspaceIterator it;
    size_t n = 0;
    keyspaceIteratorInitSlots(&it, ks, slot, slot);
    for (struct object *o; (o = keyspaceIteratorNext(&it));) n += objectHasExpire(o);
    keyspaceIteratorStop(&it);
    return n;
}

void keyspaceHideSlot(struct keyspace *ks, int slot, bool hide) {
    serverAssert(keys_by_slot && 0 <= slot && slot < KEY_SLOTS);
    size_t keys = keyspaceSlotSize(ks, slot);
    if (!hide)
        hiddenRemove(&ks->hidden, slot, keys);
    else if (!slotIsHidden(ks->hidden, slot))
        hiddenAdd(&ks->hidden, slot, keys, (uint32_t)keyspaceSlotExpires(ks, slot));
    if (ks->slots) ks->slots->hidden = ks->hidden;
}

/* Called when the object is in no table any more except, perhaps, that of keys with an expiry. */
static void keyspaceRemoveWithSlot(struct keyspace *ks, struct object *o) {
    keyspaceNotifyRemoved(ks, o);
    if (objectHasExpire(o)) volatileRemoveOne(ks, o, keyHash(objectKey(o)));
}

uint64_t keyspaceDropSlot(struct keyspace *ks, int slot, bool async, keyspaceDropFn *dropped, void *priv) {
    serverAssert(slot >= 0 && slot < KEY_SLOTS);
    uint64_t n = keyspaceSlotSize(ks, slot);
    if (!n) return 0;
    if (ks->walk) keyspaceWalkSaveSlot(ks, slot);
    struct hashtable table = slotTablesTake(ks->slots, slot);
    struct hashtableIterator it;
    void *o;
    if (ks->expires.count || keyspaceIsTracked(ks)) {
        hashtableInitIterator(&it, &table, true);
        while (hashtableNext(&it, &o)) keyspaceRemoveWithSlot(ks, o);
        hashtableStopIterator(&it);
    }
    volatileChanged(ks);
    hashtableInitIterator(&it, &table, true);
    while (dropped && hashtableNext(&it, &o)) dropped(priv, o);
    hashtableStopIterator(&it);
    if (async)
        lazyfreeTable(&table, true);
    else
        hashtableDestroy(&table);
    return n;
}

/* ---- The tables' memory ---- */

void keyspaceExpand(struct keyspace *ks, size_t keys) {
    if (!keys_by_slot) hashtableExpand(&ks->keys, keys);
}

bool keyspaceTryExpand(struct keyspace *ks, size_t keys, size_t with_expire) {
    return (keys_by_slot || hashtableTryExpand(&ks->keys, keys)) && volatileTryExpand(ks, with_expire, keys);
}

bool keyspaceTryExpandSlot(struct keyspace *ks, int slot, size_t keys) {
    serverAssert(slot >= 0 && slot < KEY_SLOTS);
    return !keys_by_slot || !keys || slotTablesTryExpand(keyspaceSlotsOf(ks), slot, keys);
}

bool keyspaceResize(struct keyspace *ks, uint64_t us) {
    bool more = ks->slots ? slotTablesResize(ks->slots, us) : hashtableResizeMicroseconds(&ks->keys, us);
    return more || volatileResize(ks, us);
}

void keyspaceMoveTables(struct keyspace *ks, zmoveFn *move, void *priv) {
    hashtableMoveArrays(&ks->keys, move, priv);
    if (ks->slots) slotTablesMoveArrays(ks->slots, move, priv);
    hashtableMoveArrays(&ks->expires.table, move, priv);
}

struct keyspaceMemory keyspaceMemory(const struct keyspace *ks) {
    size_t keys = ks->slots ? slotTablesMemory(ks->slots) : hashtableMemory(&ks->keys);
    return (struct keyspaceMemory){keys, hashtableMemory(&ks->expires.table)};
}

sds keyspaceStats(struct keyspace *ks, sds s) {
    s = sdscat(s, "[Dictionary HT]\n");
    if (ks->slots)
        s = sdscatprintf(s,
                         "Hash table 0 stats (main hash table):\n table size: %zu\n number of entries: %zu\n"
                         " rehashing index: -1\n",
                         slotTablesSlots(ks->slots), slotTablesSize(ks->slots));
    else
        s = hashtableStats(&ks->keys, s, "main hash table");
    return hashtableStats(&ks->expires.table, sdscat(s, "[Expires HT]\n"), "expires hash table");
}

void keyspaceVerify(struct keyspace *ks) {
    hashtableVerify(&ks->keys);
    if (ks->slots) {
        slotTablesVerify(ks->slots);
        serverAssert(!hashtableSize(&ks->keys));
    }
    volatileVerify(ks);
}
