/* SPDX-License-Identifier: BSD-3-Clause */
/* volatile_keys.c - which keys of a keyspace have an expiry. Part of keyspace_private.h. */
#include "base/assert.h"
#include "data/keyspace/keyspace_private.h"
#include "data/lifetime/lazyfree.h"

#define ALL_MIN       128 /* fewer keys always have a table, which costs nothing: their shares change quickly */
#define BUILD_BUCKETS 4   /* of all keys, per change: complete before a 28th of the keys has changed */
#define IDLE_BUCKETS  1024
#define FREE_AT_ONCE  10000 /* a table with at most so many entries is freed at once */
#define SAMPLE_MAX    256

static bool volatileKeysAreMost(uint64_t count, size_t all) {
    return all >= ALL_MIN && count >= all - all / 4;
}
static bool volatileKeysAreFew(uint64_t count, size_t all) {
    return count < all / 4;
}

static void volatileKeysDropTable(struct volatileKeys *v) {
    lazyfreeTable(&v->table, hashtableSize(&v->table) > FREE_AT_ONCE);
    v->state = VOLATILE_NONE;
    v->scan_cursor = 0;
}

static void volatileKeysBuildEntry(void *priv, void *entry) {
    struct volatileKeys *v = priv;
    if (!objectHasExpire(entry)) return;
    struct str key = objectKey(entry);
    uint64_t hash = keyHash(key);
    if (!hashtableFindHashed(&v->table, key, hash)) hashtableAddUnchecked(&v->table, entry, hash);
}

static void volatileKeysBuild(struct keyspace *ks, int buckets) {
    struct volatileKeys *v = &ks->expires;
    while (v->state == VOLATILE_MAKING && buckets--) {
        v->build_cursor = keyspaceScan(ks, v->build_cursor, SLOTS_ALL, volatileKeysBuildEntry, v);
        if (v->build_cursor) continue;
        debugAssert(hashtableSize(&v->table) == v->count);
        v->state = VOLATILE_TABLE;
        v->scan_cursor = 0;
    }
}

/* ---- Change ---- */

static void volatileKeysCountHidden(struct keyspace *ks, uint64_t hash, uint32_t by) {
    if (__builtin_expect(ks->hidden != NULL, 0)) hiddenCountExpires(ks->hidden, keyHashSlot(hash), by);
}

void volatileEmptied(struct volatileKeys *v) {
    debugAssert(!hashtableSize(&v->table));
    v->count = v->scan_cursor = v->build_cursor = 0;
    v->state = VOLATILE_TABLE;
}

void volatileChanged(struct keyspace *ks) {
    struct volatileKeys *v = &ks->expires;
    if (__builtin_expect(v->state == VOLATILE_TABLE, 1)) return;
    if (v->state == VOLATILE_NONE && volatileKeysAreFew(v->count, keyspaceSize(ks))) {
        v->state = VOLATILE_MAKING;
        v->build_cursor = 0;
    }
    volatileKeysBuild(ks, BUILD_BUCKETS);
}

void volatileAdd(struct keyspace *ks, struct object *o, uint64_t hash) {
    debugAssert(objectHasExpire(o));
    struct volatileKeys *v = &ks->expires;
    v->count++;
    volatileKeysCountHidden(ks, hash, 1);
    if (v->state != VOLATILE_NONE) {
        hashtableAddUnchecked(&v->table, o, hash);
        if (volatileKeysAreMost(v->count, keyspaceSize(ks))) volatileKeysDropTable(v);
    }
    volatileChanged(ks);
}

void volatileRemoveOne(struct keyspace *ks, struct object *o, uint64_t hash) {
    debugAssert(objectHasExpire(o) && ks->expires.count);
    struct volatileKeys *v = &ks->expires;
    v->count--;
    volatileKeysCountHidden(ks, hash, -1U);
    if (v->state == VOLATILE_TABLE)
        hashtableRemoveEntry(&v->table, o, hash);
    else if (v->state == VOLATILE_MAKING)
        hashtablePopHashed(&v->table, objectKey(o), hash);
}

/* Does not check the share of keys with an expiry: this may be called from a scan of the table. */
void volatileRemove(struct keyspace *ks, struct object *o, uint64_t hash) {
    volatileRemoveOne(ks, o, hash);
    volatileChanged(ks);
}

void volatileReplace(struct keyspace *ks, struct object *o, struct object *now, uint64_t hash) {
    struct volatileKeys *v = &ks->expires;
    if (v->state == VOLATILE_TABLE)
        hashtableReplaceEntry(&v->table, o, now, hash);
    else if (v->state == VOLATILE_MAKING && hashtablePopHashed(&v->table, objectKey(o), hash))
        hashtableAddUnchecked(&v->table, now, hash);
}

void volatileMoved(struct keyspace *ks, const struct object *was, struct object *now, uint64_t hash) {
    struct volatileKeys *v = &ks->expires;
    debugAssert(v->state != VOLATILE_MAKING);
    if (v->state == VOLATILE_TABLE) hashtableReplaceEntry(&v->table, was, now, hash);
}

/* ---- Search ---- */

struct volatileFilter {
    hashtableScanFn fn;
    void *priv;
    const struct keyspace *ks;
};

static bool volatileKeysIsHidden(const struct keyspace *ks, const struct object *o) {
    return keyspaceHidesKey(ks, objectKey(o));
}

static void volatileKeysPassEntry(void *priv, void *entry) {
    struct volatileFilter *f = priv;
    if (objectHasExpire(entry) && !volatileKeysIsHidden(f->ks, entry)) f->fn(f->priv, entry);
}

bool volatileScan(struct keyspace *ks, hashtableScanFn fn, void *priv) {
    struct volatileKeys *v = &ks->expires;
    struct volatileFilter f = {fn, priv, ks};
    if (v->state != VOLATILE_TABLE)
        v->scan_cursor = keyspaceScan(ks, v->scan_cursor, SLOTS_SHOWN, volatileKeysPassEntry, &f);
    else if (ks->hidden)
        v->scan_cursor = hashtableScan(&v->table, v->scan_cursor, volatileKeysPassEntry, &f);
    else
        v->scan_cursor = hashtableScan(&v->table, v->scan_cursor, fn, priv);
    return v->scan_cursor != 0;
}

/* The table includes hidden keys. When nearly all of it is hidden, it is of no use. */
static bool volatileKeysUseTable(const struct keyspace *ks) {
    const struct volatileKeys *v = &ks->expires;
    return v->state == VOLATILE_TABLE && keyspaceShownExpires(ks) >= v->count / 2;
}

struct object *volatileAny(struct keyspace *ks) {
    struct volatileKeys *v = &ks->expires;
    bool table = volatileKeysUseTable(ks);
    struct object *o;
    do {
        if (!keyspaceShownExpires(ks)) return NULL;
        o = table ? hashtableFairRandomEntry(&v->table) : keyspaceAnyKey(ks, false);
    } while (!objectHasExpire(o) || volatileKeysIsHidden(ks, o));
    return o;
}

static size_t volatileKeysDropHidden(const struct keyspace *ks, struct object **some, size_t count) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (!volatileKeysIsHidden(ks, some[i])) some[n++] = some[i];
    }
    return n;
}

size_t volatileSample(struct keyspace *ks, struct object **dst, size_t count) {
    struct volatileKeys *v = &ks->expires;
    size_t n = 0;
    if (volatileKeysUseTable(ks)) {
        do {
            n = hashtableSample(&v->table, (void **)dst, count);
            if (ks->hidden) n = volatileKeysDropHidden(ks, dst, n);
        } while (!n && keyspaceShownExpires(ks) && count);
        return n;
    }
    struct object *some[SAMPLE_MAX];
    size_t wanted = 4 * count < SAMPLE_MAX ? 4 * count : SAMPLE_MAX;
    while (!n && keyspaceShownExpires(ks) && count) {
        size_t got = keyspaceSample(ks, false, some, wanted);
        for (size_t i = 0; i < got && n < count; i++)
            if (objectHasExpire(some[i])) dst[n++] = some[i];
    }
    return n;
}

/* ---- The table ---- */

bool volatileTryExpand(struct keyspace *ks, size_t count, size_t all) {
    struct volatileKeys *v = &ks->expires;
    if (v->state == VOLATILE_NONE || volatileKeysAreMost(count, all)) return true;
    return hashtableTryExpand(&v->table, count);
}

bool volatileResize(struct keyspace *ks, uint64_t us) {
    struct volatileKeys *v = &ks->expires;
    volatileKeysBuild(ks, IDLE_BUCKETS);
    return v->state == VOLATILE_MAKING || hashtableResizeMicroseconds(&v->table, us);
}

void volatileVerify(struct keyspace *ks) {
    struct volatileKeys *v = &ks->expires;
    hashtableVerify(&v->table);
    size_t with_expire = 0, found = 0, shown = 0;
    struct keyspaceIterator it;
    void *entry;
    keyspaceIteratorInit(&it, ks, SLOTS_ALL);
    while ((entry = keyspaceIteratorNext(&it))) {
        void *there = hashtableFind(&v->table, objectKey(entry));
        serverAssert(!there || (there == entry && objectHasExpire(entry)));
        with_expire += objectHasExpire(entry);
        shown += objectHasExpire(entry) && !volatileKeysIsHidden(ks, entry);
        found += there != NULL;
    }
    keyspaceIteratorStop(&it);
    serverAssert(with_expire == v->count && shown == keyspaceShownExpires(ks));
    serverAssert(found == hashtableSize(&v->table));
    serverAssert(v->state != VOLATILE_TABLE || found == with_expire);
    serverAssert(v->state != VOLATILE_NONE || !found);
}
