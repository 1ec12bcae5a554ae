/* SPDX-License-Identifier: BSD-3-Clause */
/* keyspace.c - see keyspace.h; the layout of an object is in object.h.
 *
 * An object can move when its expiry or its embedded value changes. It is then created anew and the pointer
 * is replaced in the tables by identity, without comparing keys. */
#include "data/keyspace.h"

#include "base/assert.h"
#include "data/lazyfree.h"
#include "data/type.h"

#define TTL_MEMORY 50 /* samples that an estimate is made of, about */

static struct str objectEntryKey(const void *entry) {
    return objectKey(entry);
}
static void objectEntryFree(void *entry) {
    objectFree(entry);
}

static const struct hashtableType keys_type = {.entryKey = objectEntryKey, .entryFree = objectEntryFree};
static const struct hashtableType expires_type = {.entryKey = objectEntryKey};
/* Tables that grow hash again. Many small ones have to make up for their heads. */
static const struct hashtableType keys_by_slot_type = {
    .entryKey = objectEntryKey, .entryFree = objectEntryFree, .hash = keySlotHash, .tight = true};
static const struct hashtableType expires_by_slot_type = {
    .entryKey = objectEntryKey, .hash = keySlotHash, .tight = true};

/* ---- Life ---- */

void keyspaceInit(struct keyspace *ks) {
    *ks = (struct keyspace){0};
    keyTablesInit(&ks->keys, keys_by_slot ? &keys_by_slot_type : &keys_type);
    volatileInit(&ks->expires, keys_by_slot ? &expires_by_slot_type : &expires_type);
}

struct keyspace *keyspaceCreate(void) {
    struct keyspace *ks = zmalloc(sizeof *ks);
    keyspaceInit(ks);
    return ks;
}

uint64_t keyspaceEmpty(struct keyspace *ks, bool async) {
    uint64_t n = keyspaceSize(ks);
    for (int i = 0; i < OBJ_TYPES_MAX; i++) {
        if (objectTypes[i] && objectTypes[i]->leaveAll) objectTypes[i]->leaveAll(ks);
    }
    async = async && n > 0; /* few keys can hold much */
    lazyfreeTable(&ks->expires.table, async);
    keyTablesEmpty(&ks->keys, async);
    volatileEmptied(&ks->expires);
    ks->avg_ttl_ms = 0;
    debugAssert(!keyspaceSize(ks) && !keyspaceExpiresSize(ks) && !ks->inner);
    return n;
}

void keyspaceRelease(struct keyspace *ks, bool async) {
    if (!ks) return;
    keyspaceEmpty(ks, async);
    hashtableDestroy(&ks->expires.table);
    keyTablesDestroy(&ks->keys);
    zfree(ks);
}

void keyspaceExchange(struct keyspace *a, struct keyspace *b) {
    struct keyspace was = *a;
    *a = *b;
    *b = was;
}

/* ---- One key ---- */

void keyspaceEntered(struct keyspace *ks, const struct object *o) {
    const struct objectType *type = objectTypeOf(o);
    if (type->enter) type->enter(ks, o);
}

void keyspaceLeaving(struct keyspace *ks, const struct object *o) {
    const struct objectType *type = objectTypeOf(o);
    if (type->leave) type->leave(ks, o);
}

void keyspaceAdd(struct keyspace *ks, struct object *o, uint64_t hash) {
    debugAssert(!keyspaceFind(ks, objectKey(o), hash));
    keyTablesAdd(&ks->keys, o, hash);
    if (objectHasExpire(o))
        volatileAdd(&ks->expires, &ks->keys, o, hash);
    else
        volatileChanged(&ks->expires, &ks->keys);
    keyspaceEntered(ks, o);
}

static void leavesExpires(struct keyspace *ks, struct object *o, uint64_t hash) {
    if (objectHasExpire(o))
        volatileRemove(&ks->expires, &ks->keys, o, hash);
    else
        volatileChanged(&ks->expires, &ks->keys);
}

void keyspaceRemove(struct keyspace *ks, struct object *o, uint64_t hash) {
    keyspaceLeaving(ks, o);
    keyTablesRemoveEntry(&ks->keys, o, hash);
    leavesExpires(ks, o, hash);
    debugAssert(keyspaceExpiresSize(ks) <= keyspaceSize(ks));
}

struct object *keyspacePop(struct keyspace *ks, struct str key, uint64_t hash) {
    struct object *o = keyTablesPop(&ks->keys, key, hash);
    if (!o) return NULL;
    keyspaceLeaving(ks, o);
    leavesExpires(ks, o, hash);
    debugAssert(keyspaceExpiresSize(ks) <= keyspaceSize(ks));
    return o;
}

struct object *keyspaceReplace(struct keyspace *ks, struct object *o, struct value v, int64_t expire_ms,
                               uint64_t hash) {
    struct object *now = objectCreate(objectKey(o), expire_ms, v);
    now->lru = o->lru;
    hashtableReplaceEntry(keyTable(&ks->keys, hash), o, now, hash);
    if (objectHasExpire(o) && objectHasExpire(now)) {
        volatileReplace(&ks->expires, o, now, hash);
    } else if (objectHasExpire(o)) {
        volatileRemove(&ks->expires, &ks->keys, o, hash);
    } else if (objectHasExpire(now)) {
        volatileAdd(&ks->expires, &ks->keys, now, hash);
    }
    objectFreeHeader(o);
    debugAssert(objectExpire(now) == expire_ms);
    return now;
}

struct object *keyspaceMoveObject(struct keyspace *ks, struct object *o, zmoveFn *move, void *priv) {
    if (volatileMustStay(&ks->expires, o)) return o;
    struct object *now = move(priv, o);
    if (!now) return o;
    uint64_t hash = keyHash(objectKey(now));
    hashtableReplaceEntry(keyTable(&ks->keys, hash), o, now, hash);
    if (objectHasExpire(now)) volatileMoved(&ks->expires, o, now, hash);
    return now;
}

/* ---- All of them ---- */

size_t keyspaceSlots(const struct keyspace *ks) {
    return keyTablesSlots(&ks->keys);
}

size_t keyspaceVolatileCount(const struct keyspace *ks, bool overdue) {
    size_t n = 0;
    for (int i = 0; i < OBJ_TYPES_MAX; i++) {
        if (objectTypes[i] && objectTypes[i]->volatileCount) n += objectTypes[i]->volatileCount(ks, overdue);
    }
    return n;
}

uint64_t keyspaceScan(struct keyspace *ks, uint64_t cursor, hashtableScanFn fn, void *priv) {
    return keyTablesScan(&ks->keys, cursor, SLOTS_SHOWN, fn, priv);
}

bool keyspaceScanExpires(struct keyspace *ks, hashtableScanFn fn, void *priv) {
    return volatileScan(&ks->expires, &ks->keys, fn, priv);
}

void keyspaceNoteTtl(struct keyspace *ks, int64_t avg_ms) {
    int64_t so_far = ks->avg_ttl_ms;
    ks->avg_ttl_ms = so_far && avg_ms ? so_far + (avg_ms - so_far) / TTL_MEMORY : avg_ms;
}

struct object *keyspaceAnyKey(struct keyspace *ks, bool with_expire) {
    return with_expire ? volatileAny(&ks->expires, &ks->keys) : keyTablesFairRandom(&ks->keys);
}

size_t keyspaceSample(struct keyspace *ks, bool with_expire, struct object **dst, size_t count) {
    return with_expire ? volatileSample(&ks->expires, &ks->keys, dst, count)
                       : keyTablesSample(&ks->keys, (void **)dst, count);
}

void keyspaceIteratorInit(struct keyspaceIterator *it, struct keyspace *ks, enum slotsSeen seen) {
    keyTablesIteratorInit(&it->it, &ks->keys, 0, KEY_SLOTS - 1, seen);
}

struct object *keyspaceIteratorNext(struct keyspaceIterator *it) {
    return keyTablesIteratorNext(&it->it);
}

void keyspaceIteratorStop(struct keyspaceIterator *it) {
    keyTablesIteratorStop(&it->it);
}

/* ---- One slot ---- */

uint64_t keyspaceScanSlot(struct keyspace *ks, int slot, uint64_t cursor, hashtableScanFn fn, void *priv) {
    if (!keyspaceSlotSize(ks, slot)) return 0;
    cursor = hashtableScan(slotTable(ks->keys.slots, slot), cursor, fn, priv);
    if (ks->keys.slots) slotTablesOutline(ks->keys.slots, slot);
    return cursor;
}

void keyspaceIteratorInitSlot(struct keyspaceIterator *it, struct keyspace *ks, int slot) {
    keyspaceIteratorInitSlots(it, ks, slot, slot);
}

void keyspaceIteratorInitSlots(struct keyspaceIterator *it, struct keyspace *ks, int first, int last) {
    debugAssert(keys_by_slot);
    keyTablesIteratorInit(&it->it, &ks->keys, first, last, SLOTS_ALL);
}

/* The object is in none of the tables any more but, perhaps, in that of those with an expiry. */
static void leavesWithSlot(struct keyspace *ks, struct object *o) {
    keyspaceLeaving(ks, o);
    if (objectHasExpire(o)) volatileRemoveOne(&ks->expires, &ks->keys, o, keyHash(objectKey(o)));
}

uint64_t keyspaceDropSlot(struct keyspace *ks, int slot, bool async, keyspaceGone *gone, void *priv) {
    uint64_t n = keyspaceSlotSize(ks, slot);
    if (!n) return 0;
    struct hashtable table = slotTablesTake(ks->keys.slots, slot);
    struct hashtableIterator it;
    void *o;
    if (ks->expires.count || ks->inner) {
        hashtableInitIterator(&it, &table, true);
        while (hashtableNext(&it, &o)) leavesWithSlot(ks, o);
        hashtableStopIterator(&it);
    }
    volatileChanged(&ks->expires, &ks->keys);
    hashtableInitIterator(&it, &table, true);
    while (gone && hashtableNext(&it, &o)) gone(priv, o);
    hashtableStopIterator(&it);
    if (async)
        lazyfreeTable(&table, true);
    else
        hashtableDestroy(&table);
    return n;
}

/* ---- The tables' memory ---- */

void keyspaceExpand(struct keyspace *ks, size_t keys) {
    keyTablesExpand(&ks->keys, keys);
}

bool keyspaceTryExpand(struct keyspace *ks, size_t keys, size_t with_expire) {
    return keyTablesTryExpand(&ks->keys, keys) && volatileTryExpand(&ks->expires, with_expire, keys);
}

bool keyspaceTryExpandSlot(struct keyspace *ks, int slot, size_t keys) {
    return keyTablesTryExpandSlot(&ks->keys, slot, keys);
}

bool keyspaceResize(struct keyspace *ks, uint64_t us) {
    return keyTablesResize(&ks->keys, us) || volatileResize(&ks->expires, &ks->keys, us);
}

void keyspaceMoveTables(struct keyspace *ks, zmoveFn *move, void *priv) {
    keyTablesMoveArrays(&ks->keys, move, priv);
    hashtableMoveArrays(&ks->expires.table, move, priv);
}

struct keyspaceMemory keyspaceMemory(const struct keyspace *ks) {
    return (struct keyspaceMemory){keyTablesMemory(&ks->keys), hashtableMemory(&ks->expires.table)};
}

sds keyspaceStats(struct keyspace *ks, sds s) {
    s = keyTablesStats(&ks->keys, sdscat(s, "[Dictionary HT]\n"), "main hash table");
    return hashtableStats(&ks->expires.table, sdscat(s, "[Expires HT]\n"), "expires hash table");
}

void keyspaceVerify(struct keyspace *ks) {
    keyTablesVerify(&ks->keys);
    volatileVerify(&ks->expires, &ks->keys);
}
