/* SPDX-License-Identifier: BSD-3-Clause */
/* item_queue.c - see item_queue.h.
 *
 *     reaped | finished with | in work | waiting ........ |
 *            ^ oldest                    ^ waiting         ^ newest
 *
 * One list of items; the mutex is taken once per item, by either side. `finished` counts items. */
#include "data/forkless/item_queue.h"

#include <pthread.h>
#include <sched.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "net/ae.h"

#define MOST_SLACK (8 * 1024) /* bytes of a buffer in the queue that may be unused */
#define SPINS      200 /* before the main thread offers its processor to the thread that it waits for */
#define BATCH_US   30  /* that the thread may need for a batch, for which the main thread may have to wait */

struct itemQueue {
    /* Main thread: */
    struct queueItem *oldest, *newest;
    struct queueItem *key_items[QUEUE_ITEMS]; /* a ring of those that are not reaped */
    unsigned key_first, key_count;
    struct queueItem *batches[QUEUE_BATCHES]; /* the same of entries */
    unsigned batch_first, batch_count;
    uint64_t given, reaped; /* items */
    uint64_t keys_given;
    bool holds;
    struct queueList held, spilled_keys;
    uint64_t held_bytes, spill_above;
    struct spillFile *spill; /* has its own lock */
    /* Both: */
    _Atomic(uint64_t) finished, bytes;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct queueItem *waiting; /* with the lock, as are the next two and `next` of items */
    bool ended, cancelled;
    /* The thread: */
    struct queueItem *in_work;
};

struct itemQueue *itemQueueCreate(void) {
    struct itemQueue *q = zcalloc(1, sizeof *q);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->more, NULL);
    q->spill_above = UINT64_MAX;
    q->spill = spillFileCreate();
    return q;
}

static void itemQueueFreeItem(struct queueItem *item) {
    sdsfree(item->bytes);
    if (item->entries) sdsfree(item->entries->bytes);
    zfree(item);
}

static void itemQueueFreeList(struct queueItem *item) {
    for (struct queueItem *next; item; item = next) {
        next = item->next;
        itemQueueFreeItem(item);
    }
}

void itemQueueFreeItems(struct queueList *list) {
    itemQueueFreeList(list->first);
    *list = (struct queueList){NULL, NULL};
}

void itemQueueFree(struct itemQueue *q) {
    itemQueueFreeList(q->oldest);
    itemQueueFreeItems(&q->held);
    itemQueueFreeItems(&q->spilled_keys);
    spillFileFree(q->spill);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->more);
    zfree(q);
}

/* ---- Main thread ---- */

bool itemQueueHasRoom(const struct itemQueue *q) {
    return q->key_count < QUEUE_ITEMS && !q->holds;
}

struct queueItem *itemQueueNewKeys(struct keyspaceWalk *walk, int dbid) {
    struct queueItem *item = zmalloc(sizeof *item + sizeof item->keys[0]);
    *item = (struct queueItem){.dbid = dbid};
    item->keys->walk = walk;
    item->keys->count = 0;
    return item;
}

static void itemQueueAppend(struct itemQueue *q, struct queueItem *item) {
    if (!q->oldest) q->oldest = item;
    q->given++;
    pthread_mutex_lock(&q->lock);
    if (q->newest) q->newest->next = item;
    if (!q->waiting) q->waiting = item;
    pthread_cond_signal(&q->more);
    pthread_mutex_unlock(&q->lock);
    q->newest = item;
}

void itemQueueGiveKeys(struct itemQueue *q, struct queueItem *item) {
    serverAssert(itemQueueHasRoom(q) && item->keys->count <= ITEM_KEYS);
    for (uint32_t i = 0; i < item->keys->count; i++) atomic_init(&item->keys->states[i], ITEM_WAITING);
    q->keys_given += item->keys->count;
    q->key_items[(q->key_first + q->key_count++) % QUEUE_ITEMS] = item;
    itemQueueAppend(q, item);
}

/* Buffers grow generously, and many of them may wait for long. */
static sds itemQueueTrim(sds bytes) {
    if (!bytes || sdsAllocSize(bytes) < sdslen(bytes) + MOST_SLACK) return bytes;
    sds now = sdsnewstr(sdsview(bytes));
    sdsfree(bytes);
    return now;
}

static struct queueItem *itemQueueNewBytes(int dbid, sds bytes, uint64_t keys) {
    struct queueItem *item = zmalloc(sizeof *item);
    *item = (struct queueItem){.dbid = dbid, .bytes = itemQueueTrim(bytes), .bytes_keys = keys};
    return item;
}

static void itemQueueAppendBytes(struct itemQueue *q, struct queueItem *item) {
    atomic_fetch_add_explicit(&q->bytes, sdsAllocSize(item->bytes), memory_order_relaxed);
    itemQueueAppend(q, item);
}

/* ---- Main thread: the file ---- */

void itemQueueSpillAbove(struct itemQueue *q, uint64_t bytes) {
    q->spill_above = bytes;
}

const struct spillFile *itemQueueSpillFile(const struct itemQueue *q) {
    return q->spill;
}

bool itemQueueSpill(struct itemQueue *q, sds bytes, struct spillExtent *at) {
    return q->spill_above != UINT64_MAX && sdslen(bytes) && spillFilePut(q->spill, bytes, at);
}

static void itemQueueListItem(struct queueList *list, struct queueItem *item) {
    if (list->last)
        list->last->next = item;
    else
        list->first = item;
    list->last = item;
}

void itemQueueListBytes(struct queueList *list, int dbid, sds bytes) {
    itemQueueListItem(list, itemQueueNewBytes(dbid, bytes, 0));
}

/* An item that follows the last one in the file as well becomes a part of it. */
void itemQueueListSpilled(struct queueList *list, int dbid, struct spillExtent at, uint64_t keys) {
    struct queueItem *last = list->last;
    if (last && !last->bytes && last->dbid == dbid &&
        last->spilled.offset + last->spilled.bytes == at.offset) {
        last->spilled.bytes += at.bytes;
        last->bytes_keys += keys;
        return;
    }
    struct queueItem *item = itemQueueNewBytes(dbid, NULL, keys);
    item->spilled = at;
    itemQueueListItem(list, item);
}

void itemQueueGiveList(struct itemQueue *q, struct queueList *list) {
    struct queueItem *item = list->first;
    *list = (struct queueList){NULL, NULL};
    for (struct queueItem *next; item; item = next) {
        next = item->next;
        item->next = NULL;
        if (item->bytes)
            itemQueueAppendBytes(q, item);
        else
            itemQueueAppend(q, item);
    }
}

void itemQueueGiveSpilledKeys(struct itemQueue *q) {
    serverAssert(!q->holds);
    itemQueueGiveList(q, &q->spilled_keys);
}

static bool itemQueueSpillKeys(struct itemQueue *q, int dbid, sds bytes, uint64_t keys) {
    struct spillExtent at;
    if (itemQueueBytesGiven(q) + q->held_bytes < q->spill_above || !itemQueueSpill(q, bytes, &at))
        return false;
    itemQueueListSpilled(&q->spilled_keys, dbid, at, keys);
    return true;
}

/* ---- Main thread: items ---- */

void itemQueueGiveBytes(struct itemQueue *q, int dbid, sds bytes, uint64_t keys) {
    if (itemQueueSpillKeys(q, dbid, bytes, keys)) return;
    struct queueItem *item = itemQueueNewBytes(dbid, bytes, keys);
    if (!q->holds) {
        itemQueueAppendBytes(q, item);
        return;
    }
    q->held_bytes += sdsAllocSize(item->bytes);
    itemQueueListItem(&q->held, item);
}

void itemQueueGivePart(struct itemQueue *q, int dbid, sds bytes, bool last) {
    serverAssert(q->holds);
    itemQueueAppendBytes(q, itemQueueNewBytes(dbid, bytes, last));
}

bool itemQueueHasRoomForPart(const struct itemQueue *q, uint64_t max_bytes) {
    return q->batch_count < QUEUE_BATCHES && itemQueueBytesGiven(q) <= max_bytes;
}

struct queueItem *itemQueueNewEntries(struct queueOwner *owner, int dbid) {
    struct queueItem *item = zmalloc(sizeof *item + sizeof *item->entries);
    *item = (struct queueItem){.dbid = dbid, .entries = (struct queueEntries *)(item + 1)};
    item->entries->owner = owner;
    item->entries->ranges = owner->ranges;
    item->entries->bytes = NULL;
    item->entries->count = 0;
    return item;
}

void itemQueueGiveEntries(struct itemQueue *q, struct queueItem *item) {
    struct queueEntries *batch = item->entries;
    serverAssert(q->holds && q->batch_count < QUEUE_BATCHES && batch->count <= BATCH_ENTRIES);
    atomic_init(&batch->state, ITEM_WAITING);
    batch->owner->outstanding++;
    q->batches[(q->batch_first + q->batch_count++) % QUEUE_BATCHES] = item;
    itemQueueAppend(q, item);
}

void itemQueueHold(struct itemQueue *q, bool hold) {
    serverAssert(q->holds != hold);
    q->holds = hold;
    q->held_bytes = 0;
    itemQueueGiveList(q, &q->held);
}

/* Adapts the length of the owner's next batches: the batches in the queue were all made with about the same
 * one, so that each of them leads to the same result. */
static void itemQueueReapEntries(struct itemQueue *q, const struct queueEntries *batch) {
    struct queueOwner *owner = batch->owner;
    serverAssert(q->batch_count && owner->outstanding && q->batches[q->batch_first]->entries == batch);
    q->batch_first = (q->batch_first + 1) % QUEUE_BATCHES;
    q->batch_count--;
    owner->outstanding--;
    if (atomic_load_explicit(&batch->state, memory_order_relaxed) != ITEM_DONE) return;
    if (batch->took_us > BATCH_US && batch->ranges > 1)
        owner->ranges = batch->ranges / 2;
    else if (batch->took_us < BATCH_US / 3 && batch->ranges < BATCH_RANGES)
        owner->ranges = batch->ranges * 2;
}

struct queueItem *itemQueueReap(struct itemQueue *q) {
    while (q->reaped < atomic_load_explicit(&q->finished, memory_order_acquire)) {
        struct queueItem *item = q->oldest;
        q->reaped++;
        if (item == q->newest) {
            q->oldest = q->newest = NULL;
        } else {
            q->oldest = item->next;
        }
        if (item->entries) {
            itemQueueReapEntries(q, item->entries);
        } else if (!item->bytes && !item->spilled.bytes) {
            serverAssert(q->key_count && q->key_items[q->key_first] == item);
            q->key_first = (q->key_first + 1) % QUEUE_ITEMS;
            q->key_count--;
            return item;
        }
        itemQueueFreeItem(item);
    }
    return NULL;
}

static enum itemState itemQueueTakeFrom(struct queueKeys *keys, uint32_t i) {
    for (int spins = 0;; spins++) {
        uint8_t state = ITEM_WAITING;
        if (atomic_compare_exchange_strong(&keys->states[i], &state, ITEM_TAKEN)) return ITEM_WAITING;
        if (state == ITEM_LARGE) {
            atomic_store_explicit(&keys->states[i], ITEM_TAKEN, memory_order_relaxed);
            return ITEM_LARGE;
        }
        if (state != ITEM_READING) return ITEM_DONE;
        if (spins > SPINS) sched_yield();
    }
}

/* Returns the item that has the object at *at, or NULL. */
static struct queueKeys *itemQueueFind(const struct itemQueue *q, const struct keyspaceWalk *walk,
                                       uint64_t range, const struct object *o, uint32_t *at) {
    for (unsigned n = 0; n < q->key_count; n++) {
        struct queueKeys *keys = q->key_items[(q->key_first + n) % QUEUE_ITEMS]->keys;
        if (keys->walk != walk || range < keys->first || range >= keys->end) continue;
        for (*at = 0; *at < keys->count; ++*at)
            if (keys->objects[*at] == o) return keys;
    }
    return NULL;
}

enum itemState itemQueueTake(struct itemQueue *q, const struct keyspaceWalk *walk, uint64_t range,
                             const struct object *o) {
    uint32_t i;
    struct queueKeys *keys = itemQueueFind(q, walk, range, o, &i);
    return keys ? itemQueueTakeFrom(keys, i) : ITEM_DONE;
}

bool itemQueueHolds(const struct itemQueue *q, const struct keyspaceWalk *walk, uint64_t range,
                    const struct object *o) {
    uint32_t i;
    struct queueKeys *keys = itemQueueFind(q, walk, range, o, &i);
    if (!keys) return false;
    uint8_t state = atomic_load(&keys->states[i]);
    return state != ITEM_DONE && state != ITEM_TAKEN;
}

/* The encoding is made before the batch is taken back, as the thread never waits for this one. */
static void itemQueueTakeBatch(struct itemQueue *q, struct queueEntries *batch, struct rioWriter *w) {
    uint8_t state = atomic_load_explicit(&batch->state, memory_order_acquire);
    if (state == ITEM_WAITING) {
        sds bytes = sdsempty();
        w->priv = &bytes;
        for (uint32_t i = 0; i < batch->count; i++) batch->write(w, batch->entries[i], &batch->form);
        rioFlush(w);
        batch->bytes = bytes;
        atomic_fetch_add_explicit(&q->bytes, sdsAllocSize(bytes), memory_order_relaxed);
        if (atomic_compare_exchange_strong(&batch->state, &state, ITEM_TAKEN)) return;
        atomic_fetch_sub_explicit(&q->bytes, sdsAllocSize(bytes), memory_order_relaxed);
        batch->bytes = NULL;
        sdsfree(bytes);
    }
    for (int spins = 0; atomic_load_explicit(&batch->state, memory_order_acquire) == ITEM_READING; spins++)
        if (spins > SPINS) sched_yield();
}

void itemQueueTakeEntries(struct itemQueue *q, const struct queueOwner *owner, uint64_t first, uint64_t end,
                          struct rioWriter *w) {
    for (unsigned n = 0; n < q->batch_count; n++) {
        struct queueEntries *batch = q->batches[(q->batch_first + n) % QUEUE_BATCHES]->entries;
        if (batch->owner == owner && first < batch->end && batch->first < end)
            itemQueueTakeBatch(q, batch, w);
    }
}

static void itemQueueSet(struct itemQueue *q, bool *what) {
    pthread_mutex_lock(&q->lock);
    *what = true;
    pthread_cond_signal(&q->more);
    pthread_mutex_unlock(&q->lock);
}

void itemQueueEnd(struct itemQueue *q) {
    serverAssert(!q->holds);
    itemQueueSet(q, &q->ended);
}

void itemQueueCancel(struct itemQueue *q) {
    itemQueueSet(q, &q->cancelled);
    spillFileCancel(q->spill);
}

bool itemQueueIsIdle(const struct itemQueue *q) {
    return itemQueueLength(q) == 0 && !q->key_count && !q->batch_count;
}

uint64_t itemQueueBytesGiven(const struct itemQueue *q) {
    return atomic_load_explicit(&q->bytes, memory_order_relaxed);
}

uint64_t itemQueueBytes(const struct itemQueue *q) {
    return itemQueueBytesGiven(q) + q->held_bytes + spillFileWaiting(q->spill);
}

uint64_t itemQueueKeysGiven(const struct itemQueue *q) {
    return q->keys_given;
}

uint64_t itemQueueLength(const struct itemQueue *q) {
    return q->given - atomic_load_explicit(&q->finished, memory_order_acquire);
}

/* ---- The thread ---- */

size_t itemQueueReadSpilled(struct itemQueue *q, uint64_t offset, char *p, size_t n, int *error) {
    return spillFileRead(q->spill, offset, p, n, error);
}

static void itemQueueFinishWork(struct itemQueue *q) {
    struct queueItem *item = q->in_work;
    if (!item) return;
    sds bytes = item->bytes;
    if (item->entries && atomic_load(&item->entries->state) == ITEM_TAKEN) bytes = item->entries->bytes;
    if (bytes) atomic_fetch_sub_explicit(&q->bytes, sdsAllocSize(bytes), memory_order_relaxed);
    q->in_work = NULL;
    atomic_fetch_add_explicit(&q->finished, 1, memory_order_release);
}

static bool itemQueueIsEmpty(const struct itemQueue *q) {
    return !q->waiting && !q->ended && !q->cancelled;
}

/* Wakes the main thread only now that this one sleeps: a thread that is woken by another one on its processor
 * just after it has slept does not preempt it, and would wait for it instead. */
static void itemQueueWait(struct itemQueue *q) {
    pthread_mutex_unlock(&q->lock);
    aeWakeup(server_el);
    pthread_mutex_lock(&q->lock);
    while (itemQueueIsEmpty(q)) pthread_cond_wait(&q->more, &q->lock);
}

struct queueItem *itemQueueNext(struct itemQueue *q, bool *cancelled) {
    itemQueueFinishWork(q);
    pthread_mutex_lock(&q->lock);
    if (itemQueueIsEmpty(q)) itemQueueWait(q);
    *cancelled = q->cancelled;
    if (!q->cancelled && q->waiting) {
        q->in_work = q->waiting;
        q->waiting = q->waiting->next;
    }
    pthread_mutex_unlock(&q->lock);
    return q->in_work;
}
