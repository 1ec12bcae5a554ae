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
        v->build_cursor = keyTablesScan(keys, v->build_cursor, buildEntry, v);
        if (v->build_cursor) continue;
        debugAssert(hashtableSize(&v->table) == v->count);
        v->state = VOLATILE_TABLE;
        v->scan_cursor = 0;
    }
}

/* ---- Change ---- */

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
    if (v->state != VOLATILE_NONE) {
        hashtableAddUnchecked(&v->table, o, hash);
        if (areMost(v->count, keyTablesSize(keys))) dropTable(v);
    }
    volatileChanged(v, keys);
}

/* Not to be asked whether they are most now: this may be called from a scan of the table. */
void volatileRemove(struct volatileKeys *v, struct keyTables *keys, struct object *o, uint64_t hash) {
    v->count--;
    if (v->state == VOLATILE_TABLE)
        hashtableRemoveEntry(&v->table, o, hash);
    else if (v->state == VOLATILE_MAKING)
        hashtablePopHashed(&v->table, objectKey(o), hash);
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
};

static void passVolatile(void *priv, void *entry) {
    struct filter *f = priv;
    if (objectHasExpire(entry)) f->fn(f->priv, entry);
}

bool volatileScan(struct volatileKeys *v, struct keyTables *keys, hashtableScanFn fn, void *priv) {
    struct filter f = {fn, priv};
    v->scan_cursor = v->state == VOLATILE_TABLE ? hashtableScan(&v->table, v->scan_cursor, fn, priv)
                                                : keyTablesScan(keys, v->scan_cursor, passVolatile, &f);
    return v->scan_cursor != 0;
}

struct object *volatileAny(struct volatileKeys *v, struct keyTables *keys) {
    if (v->state == VOLATILE_TABLE) return hashtableFairRandomEntry(&v->table);
    struct object *o;
    do {
        o = v->count ? keyTablesFairRandom(keys) : NULL;
    } while (o && !objectHasExpire(o));
    return o;
}

size_t volatileSample(struct volatileKeys *v, struct keyTables *keys, struct object **dst, size_t count) {
    if (v->state == VOLATILE_TABLE) return hashtableSample(&v->table, (void **)dst, count);
    void *some[SAMPLE_MAX];
    size_t n = 0, wanted = 4 * count < SAMPLE_MAX ? 4 * count : SAMPLE_MAX;
    while (!n && v->count && count) {
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
    size_t with_expire = 0, found = 0;
    struct keyTablesIterator it;
    void *entry;
    keyTablesIteratorInit(&it, keys, 0, KEY_SLOTS - 1);
    while ((entry = keyTablesIteratorNext(&it))) {
        void *there = hashtableFind(&v->table, objectKey(entry));
        serverAssert(!there || (there == entry && objectHasExpire(entry)));
        with_expire += objectHasExpire(entry);
        found += there != NULL;
    }
    keyTablesIteratorStop(&it);
    serverAssert(with_expire == v->count && found == hashtableSize(&v->table));
    serverAssert(v->state != VOLATILE_TABLE || found == with_expire);
    serverAssert(v->state != VOLATILE_NONE || !found);
}
