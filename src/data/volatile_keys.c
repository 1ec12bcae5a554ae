/* SPDX-License-Identifier: BSD-3-Clause */
/* volatile_keys.c - see volatile_keys.h. */
#include "data/volatile_keys.h"

#include "base/assert.h"
#include "data/lazyfree.h"

#define ALL_MIN       128 /* fewer keys have a table: it costs nothing, and they come and go in larger shares */
#define BUILD_BUCKETS 4   /* of all keys, with each change: done before a 28th of the keys has changed */
#define IDLE_BUCKETS  1024
#define FREE_AT_ONCE  10000 /* entries of a table that need no other thread */
#define SAMPLE_MAX    256

static bool areMost(uint64_t count, size_t all) {
    return all >= ALL_MIN && count >= all - all / 4;
}
static bool areFew(uint64_t count, size_t all) {
    return count < all / 4;
}

static void dropTable(struct volatileKeys *v) {
    lazyfreeTable(&v->table, hashtableSize(&v->table) > FREE_AT_ONCE);
    v->state = VOLATILE_NONE;
    v->scan_cursor = 0;
}

static void buildEntry(void *priv, void *entry) {
    struct volatileKeys *v = priv;
    if (!objectHasExpire(entry)) return;
    struct str key = objectKey(entry);
    uint64_t hash = keyHash(key);
    if (!hashtableFindHashed(&v->table, key, hash)) hashtableAddUnchecked(&v->table, entry, hash);
}

static void build(struct volatileKeys *v, struct keyTables *keys, int buckets) {
    while (v->state == VOLATILE_MAKING && buckets--) {
        v->build_cursor = keyTablesScan(keys, v->build_cursor, SLOTS_ALL, buildEntry, v);
        if (v->build_cursor) continue;
        debugAssert(hashtableSize(&v->table) == v->count);
        v->state = VOLATILE_TABLE;
        v->scan_cursor = 0;
    }
}

/* ---- Change ---- */

static void countHidden(struct keyTables *keys, uint64_t hash, uint32_t by) {
    if (__builtin_expect(keys->hidden != NULL, 0)) hiddenCountExpires(keys->hidden, keyHashSlot(hash), by);
}

void volatileInit(struct volatileKeys *v, const struct hashtableType *type) {
    *v = (struct volatileKeys){.state = VOLATILE_TABLE};
    hashtableInit(&v->table, type);
}

void volatileEmptied(struct volatileKeys *v) {
    debugAssert(!hashtableSize(&v->table));
    v->count = v->scan_cursor = v->build_cursor = 0;
    v->state = VOLATILE_TABLE;
}

void volatileChanged(struct volatileKeys *v, struct keyTables *keys) {
    if (__builtin_expect(v->state == VOLATILE_TABLE, 1)) return;
    if (v->state == VOLATILE_NONE && areFew(v->count, keyTablesSize(keys))) {
        v->state = VOLATILE_MAKING;
        v->build_cursor = 0;
    }
    build(v, keys, BUILD_BUCKETS);
}

void volatileAdd(struct volatileKeys *v, struct keyTables *keys, struct object *o, uint64_t hash) {
    v->count++;
    countHidden(keys, hash, 1);
    if (v->state != VOLATILE_NONE) {
        hashtableAddUnchecked(&v->table, o, hash);
        if (areMost(v->count, keyTablesSize(keys))) dropTable(v);
    }
    volatileChanged(v, keys);
}

void volatileRemoveOne(struct volatileKeys *v, struct keyTables *keys, struct object *o, uint64_t hash) {
    v->count--;
    countHidden(keys, hash, -1U);
    if (v->state == VOLATILE_TABLE)
        hashtableRemoveEntry(&v->table, o, hash);
    else if (v->state == VOLATILE_MAKING)
        hashtablePopHashed(&v->table, objectKey(o), hash);
}

/* Not to be asked whether they are most now: this may be called from a scan of the table. */
void volatileRemove(struct volatileKeys *v, struct keyTables *keys, struct object *o, uint64_t hash) {
    volatileRemoveOne(v, keys, o, hash);
    volatileChanged(v, keys);
}

void volatileReplace(struct volatileKeys *v, struct object *o, struct object *now, uint64_t hash) {
    if (v->state == VOLATILE_TABLE)
        hashtableReplaceEntry(&v->table, o, now, hash);
    else if (v->state == VOLATILE_MAKING && hashtablePopHashed(&v->table, objectKey(o), hash))
        hashtableAddUnchecked(&v->table, now, hash);
}

void volatileMoved(struct volatileKeys *v, const struct object *was, struct object *now, uint64_t hash) {
    debugAssert(v->state != VOLATILE_MAKING);
    if (v->state == VOLATILE_TABLE) hashtableReplaceEntry(&v->table, was, now, hash);
}

/* ---- Look ---- */

struct filter {
    hashtableScanFn fn;
    void *priv;
    const struct keyTables *keys;
};

static bool isHidden(const struct keyTables *keys, const struct object *o) {
    return keyTablesHideKey(keys, objectKey(o));
}

static void passVolatile(void *priv, void *entry) {
    struct filter *f = priv;
    if (objectHasExpire(entry) && !isHidden(f->keys, entry)) f->fn(f->priv, entry);
}

bool volatileScan(struct volatileKeys *v, struct keyTables *keys, hashtableScanFn fn, void *priv) {
    struct filter f = {fn, priv, keys};
    if (v->state != VOLATILE_TABLE)
        v->scan_cursor = keyTablesScan(keys, v->scan_cursor, SLOTS_SHOWN, passVolatile, &f);
    else if (keys->hidden)
        v->scan_cursor = hashtableScan(&v->table, v->scan_cursor, passVolatile, &f);
    else
        v->scan_cursor = hashtableScan(&v->table, v->scan_cursor, fn, priv);
    return v->scan_cursor != 0;
}

/* The table has the hidden ones, too, which may be nearly all: then it is of no use. */
static bool choosesFromTable(const struct volatileKeys *v, const struct keyTables *keys) {
    return v->state == VOLATILE_TABLE && volatileShown(v, keys) >= v->count / 2;
}

struct object *volatileAny(struct volatileKeys *v, struct keyTables *keys) {
    bool table = choosesFromTable(v, keys);
    struct object *o;
    do {
        if (!volatileShown(v, keys)) return NULL;
        o = table ? hashtableFairRandomEntry(&v->table) : keyTablesFairRandom(keys);
    } while (!objectHasExpire(o) || isHidden(keys, o));
    return o;
}

static size_t dropHidden(const struct keyTables *keys, struct object **some, size_t count) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isHidden(keys, some[i])) some[n++] = some[i];
    }
    return n;
}

size_t volatileSample(struct volatileKeys *v, struct keyTables *keys, struct object **dst, size_t count) {
    size_t n = 0;
    if (choosesFromTable(v, keys)) {
        do {
            n = hashtableSample(&v->table, (void **)dst, count);
            if (keys->hidden) n = dropHidden(keys, dst, n);
        } while (!n && volatileShown(v, keys) && count);
        return n;
    }
    void *some[SAMPLE_MAX];
    size_t wanted = 4 * count < SAMPLE_MAX ? 4 * count : SAMPLE_MAX;
    while (!n && volatileShown(v, keys) && count) {
        size_t got = keyTablesSample(keys, some, wanted);
        for (size_t i = 0; i < got && n < count; i++)
            if (objectHasExpire(some[i])) dst[n++] = some[i];
    }
    return n;
}

/* ---- The table ---- */

bool volatileTryExpand(struct volatileKeys *v, size_t count, size_t all) {
    if (v->state == VOLATILE_NONE || areMost(count, all)) return true;
    return hashtableTryExpand(&v->table, count);
}

bool volatileResize(struct volatileKeys *v, struct keyTables *keys, uint64_t us) {
    build(v, keys, IDLE_BUCKETS);
    return v->state == VOLATILE_MAKING || hashtableResizeMicroseconds(&v->table, us);
}

void volatileVerify(struct volatileKeys *v, struct keyTables *keys) {
    hashtableVerify(&v->table);
    size_t with_expire = 0, found = 0, shown = 0;
    struct keyTablesIterator it;
    void *entry;
    keyTablesIteratorInit(&it, keys, 0, KEY_SLOTS - 1, SLOTS_ALL);
    while ((entry = keyTablesIteratorNext(&it))) {
        void *there = hashtableFind(&v->table, objectKey(entry));
        serverAssert(!there || (there == entry && objectHasExpire(entry)));
        with_expire += objectHasExpire(entry);
        shown += objectHasExpire(entry) && !isHidden(keys, entry);
        found += there != NULL;
    }
    keyTablesIteratorStop(&it);
    serverAssert(with_expire == v->count && shown == volatileShown(v, keys));
    serverAssert(found == hashtableSize(&v->table));
    serverAssert(v->state != VOLATILE_TABLE || found == with_expire);
    serverAssert(v->state != VOLATILE_NONE || !found);
}
