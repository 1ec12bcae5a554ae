/* SPDX-License-Identifier: BSD-3-Clause */
/* lazyfree.c - what is freed, and by which thread; see lazyfree.h.
 *
 * The main thread only unlinks. What takes many calls of free is a job of the background thread BIO_LAZY_FREE
 * (registry/background.h). */
#include "data/lifetime/lazyfree.h"

#include <stdatomic.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "data/forkless/large_value.h"
#include "data/type.h"
#include "registry/background.h"
#include "registry/config.h"
#include "registry/info.h"

bool lazyfree_lazy_eviction, lazyfree_lazy_expire, lazyfree_lazy_server_del, lazyfree_lazy_user_del,
    lazyfree_lazy_user_flush;

static atomic_size_t pending_objects;
static atomic_ullong freed_objects;

static void lazyfreeFreedOnThread(size_t objects) {
    atomic_fetch_sub_explicit(&pending_objects, objects, memory_order_relaxed);
    atomic_fetch_add_explicit(&freed_objects, objects, memory_order_relaxed);
}

static void lazyfreeFreeObjectJob(void *arg) {
    objectFree(arg);
    lazyfreeFreedOnThread(1);
}

static void lazyfreeFreeValueJob(void *arg) {
    struct value *v = arg;
    objectTypes[v->type]->free(*v);
    zfree(v);
    lazyfreeFreedOnThread(1);
}

void lazyfreeObject(struct object *o, bool async) {
    if (__builtin_expect(large_value_count != 0, 0) && objectHasPtr(o) && largeValueKeeps(objectValue(o))) {
        objectFreeHeader(o);
        return;
    }
    if (async && objectHasPtr(o) && objectTypeOf(o)->freeEffort(o) > LAZYFREE_THRESHOLD) {
        atomic_fetch_add_explicit(&pending_objects, 1, memory_order_relaxed);
        bioSubmit(BIO_LAZY_FREE, lazyfreeFreeObjectJob, o);
    } else {
        objectFree(o);
    }
}

void lazyfreeValue(struct value v, bool async, size_t effort) {
    debugAssert(v.type < OBJ_TYPES_MAX && objectTypes[v.type]);
    if (v.embedded || (__builtin_expect(large_value_count != 0, 0) && largeValueKeeps(v))) return;
    if (async && effort > LAZYFREE_THRESHOLD) {
        struct value *copy = zmalloc(sizeof *copy);
        *copy = v;
        atomic_fetch_add_explicit(&pending_objects, 1, memory_order_relaxed);
        bioSubmit(BIO_LAZY_FREE, lazyfreeFreeValueJob, copy);
    } else {
        objectTypes[v.type]->free(v);
    }
}

static void lazyfreeLargeValue(struct value v) {
    lazyfreeValue(v, true, SIZE_MAX);
}

struct contents {
    void (*free)(void *arg);
    void *arg;
    size_t objects;
};

static void lazyfreeFreeContentsJob(void *arg) {
    struct contents *c = arg;
    c->free(c->arg);
    lazyfreeFreedOnThread(c->objects);
    zfree(c);
}

void lazyfreeContents(void (*free)(void *arg), void *arg, size_t objects) {
    serverAssert(free && arg);
    struct contents *c = zmalloc(sizeof *c);
    *c = (struct contents){free, arg, objects};
    atomic_fetch_add_explicit(&pending_objects, objects, memory_order_relaxed);
    bioSubmit(BIO_LAZY_FREE, lazyfreeFreeContentsJob, c);
}

/* Tables may come by the thousand, one for each slot that has left; one job frees them all. */
struct deadTable {
    struct deadTable *next;
    struct hashtable table;
};
static _Atomic(struct deadTable *) dead_tables; /* there is a job while this is not NULL */

static size_t lazyfreeOwnedEntries(const struct hashtable *ht) {
    return ht->type->entryFree ? hashtableSize(ht) : 0;
}

static void lazyfreeFreeTablesJob(void *arg) {
    (void)arg;
    struct deadTable *next, *t = atomic_exchange(&dead_tables, NULL);
    for (; t; t = next) {
        size_t entries = lazyfreeOwnedEntries(&t->table);
        next = t->next;
        hashtableDestroy(&t->table);
        zfree(t);
        lazyfreeFreedOnThread(entries);
    }
}

void lazyfreeTable(struct hashtable *ht, bool async) {
    serverAssert(ht->type);
    if (!async) {
        hashtableEmpty(ht, NULL);
        return;
    }
    struct deadTable *t = zmalloc(sizeof *t);
    t->table = *ht;
    hashtableInit(ht, t->table.type);
    atomic_fetch_add_explicit(&pending_objects, lazyfreeOwnedEntries(&t->table), memory_order_relaxed);
    struct deadTable *before = atomic_load(&dead_tables);
    do t->next = before;
    while (!atomic_compare_exchange_weak(&dead_tables, &before, t));
    if (!before) bioSubmit(BIO_LAZY_FREE, lazyfreeFreeTablesJob, NULL);
}

static size_t lazyfreePendingObjects(void) {
    return atomic_load_explicit(&pending_objects, memory_order_relaxed);
}
uint64_t lazyfreedObjects(void) {
    return atomic_load_explicit(&freed_objects, memory_order_relaxed);
}
static void lazyfreeResetStats(void) {
    atomic_store_explicit(&freed_objects, 0, memory_order_relaxed);
}

static sds lazyfreeInfo(sds s) {
    s = infoField(s, "lazyfree_pending_objects:%zu", lazyfreePendingObjects());
    return infoField(s, "lazyfreed_objects:%llu", (unsigned long long)lazyfreedObjects());
}

void lazyfreeInit(void) {
    large_value_free = lazyfreeLargeValue;
    static struct configDirective directives[] = {
        CONFIG_BOOL("lazyfree-lazy-eviction", NULL, CONFIG_MODIFIABLE, &lazyfree_lazy_eviction, true, NULL),
        CONFIG_BOOL("lazyfree-lazy-expire", NULL, CONFIG_MODIFIABLE, &lazyfree_lazy_expire, true, NULL),
        CONFIG_BOOL("lazyfree-lazy-server-del", NULL, CONFIG_MODIFIABLE, &lazyfree_lazy_server_del, true,
                    NULL),
        CONFIG_BOOL("lazyfree-lazy-user-del", NULL, CONFIG_MODIFIABLE, &lazyfree_lazy_user_del, true, NULL),
        CONFIG_BOOL("lazyfree-lazy-user-flush", NULL, CONFIG_MODIFIABLE, &lazyfree_lazy_user_flush, true,
                    NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    configOnResetStat(lazyfreeResetStats);
    infoRegister("memory", lazyfreeInfo);
}
