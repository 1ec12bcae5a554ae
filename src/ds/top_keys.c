/* SPDX-License-Identifier: BSD-3-Clause */
/* top_keys.c - see top_keys.h. */
#include "ds/top_keys.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/zmalloc.h"

static struct str topKeysId(const void *entry) {
    return strN((const char *)&((const struct topKey *)entry)->id, sizeof(struct topKeyId));
}

/* The hash of the key is keyed already. */
static uint64_t topKeysHashId(struct str key) {
    struct topKeyId id;
    memcpy(&id, key.ptr, sizeof id);
    return id.hash ^ (id.db * UINT64_C(0x9e3779b97f4a7c15));
}

static const struct hashtableType by_id_type = {.entryKey = topKeysId, .hash = topKeysHashId};

/* ---- The heap ---- */

static void topKeysPlace(struct topKeys *t, struct topKey *k, int place) {
    t->heap[place] = k;
    k->place = place;
}

/* Moves a counter down whose count has grown. */
static void topKeysSink(struct topKeys *t, struct topKey *k) {
    int at = k->place;
    for (int child; (child = 2 * at + 1) < t->used; at = child) {
        if (child + 1 < t->used && t->heap[child + 1]->count < t->heap[child]->count) child++;
        if (t->heap[child]->count >= k->count) break;
        topKeysPlace(t, t->heap[child], at);
    }
    topKeysPlace(t, k, at);
}

/* Moves up a counter that has just been added at the end. */
static void topKeysRise(struct topKeys *t, struct topKey *k) {
    int at = k->place;
    for (int parent; at > 0; at = parent) {
        parent = (at - 1) / 2;
        if (t->heap[parent]->count <= k->count) break;
        topKeysPlace(t, t->heap[parent], at);
    }
    topKeysPlace(t, k, at);
}

/* ---- Counting ---- */

/* Returns a counter for a new key: a free one, or the lowest, whose key is forgotten. */
static struct topKey *topKeysTakeCounter(struct topKeys *t) {
    if (t->used < t->capacity) {
        struct topKey *k = &t->counters[t->used];
        topKeysPlace(t, k, t->used++);
        topKeysRise(t, k);
        return k;
    }
    struct topKey *lowest = t->heap[0];
    hashtableRemoveEntry(&t->by_id, lowest, hashtableHash(&t->by_id, topKeysId(lowest)));
    lowest->error = lowest->count;
    return lowest;
}

/* Gives the counter to another key. */
static void topKeysRename(struct topKey *k, struct topKeyId id, struct str key) {
    size_t len = key.len < TOP_KEYS_NAME_MAX ? key.len : TOP_KEYS_NAME_MAX;
    k->id = id;
    if (k->name && sdslen(k->name) + sdsavail(k->name) >= len) {
        k->name = sdscpylen(k->name, key.ptr, len);
    } else {
        sdsfree(k->name);
        k->name = sdsnewlen(key.ptr, len);
    }
}

void topKeysCount(struct topKeys *t, struct topKeyId id, struct str key, uint64_t n) {
    struct str key_id = strN((const char *)&id, sizeof id);
    uint64_t hash = hashtableHash(&t->by_id, key_id);
    struct topKey *k = hashtableFindHashed(&t->by_id, key_id, hash);
    if (!k) {
        k = topKeysTakeCounter(t);
        topKeysRename(k, id, key);
        hashtableAddUnchecked(&t->by_id, k, hash);
    }
    k->count += n;
    topKeysSink(t, k);
    debugAssert(t->heap[0]->count <= k->count);
}

/* Rounding down keeps the order of counts, and so the heap. */
void topKeysHalve(struct topKeys *t) {
    for (int i = 0; i < t->used; i++) {
        t->counters[i].count /= 2;
        t->counters[i].error /= 2;
    }
}

/* ---- Ranking ---- */

static int topKeysCompare(const void *x, const void *y) {
    const struct topKey *a = *(const struct topKey *const *)x, *b = *(const struct topKey *const *)y;
    uint64_t of_a = a->count - a->error, of_b = b->count - b->error;
    if (of_a != of_b) return of_a > of_b ? -1 : 1;
    return a->count != b->count ? (a->count > b->count ? -1 : 1) : sdscmp(a->name, b->name);
}

void topKeysRank(const struct topKeys *t, const struct topKey **ranked) {
    for (int i = 0; i < t->used; i++) ranked[i] = &t->counters[i];
    qsort(ranked, (size_t)t->used, sizeof *ranked, topKeysCompare);
}

sds topKeysText(const struct topKey *k) {
    sds name = sdsdup(k->name);
    size_t rest = k->id.length - sdslen(name);
    return rest ? sdscatprintf(name, "... (%zu more bytes)", rest) : name;
}

/* ---- Life ---- */

void topKeysInit(struct topKeys *t, int capacity) {
    serverAssert(capacity > 0);
    *t = (struct topKeys){.capacity = capacity};
    t->counters = zcalloc((size_t)capacity, sizeof *t->counters);
    t->heap = zmalloc((size_t)capacity * sizeof(struct topKey *));
    hashtableInit(&t->by_id, &by_id_type);
}

void topKeysFree(struct topKeys *t) {
    if (!t->capacity) return;
    for (int i = 0; i < t->used; i++) sdsfree(t->counters[i].name);
    hashtableDestroy(&t->by_id);
    zfree(t->counters);
    zfree(t->heap);
    *t = (struct topKeys){0};
}
