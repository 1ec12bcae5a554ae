/* SPDX-License-Identifier: BSD-3-Clause */
/* item_queue.h - from the main thread to the thread of a snapshot: addresses of objects, and bytes, in order.
 *
 *     main ──▶ | keys | keys | bytes | keys | ... | end |  ──▶ thread
 *                                                              an object: WAITING ─▶ READING ─▶ DONE
 *     main: takes an object back          WAITING ─▶ TAKEN                        └─▶ LARGE: not encoded
 *
 * The thread never touches tables. It reads an object only between READING and DONE, and never writes to a
 * file or socket meanwhile, so that the main thread waits for it at most as long as encoding takes of values
 * that are not large. Items that the thread has finished with stay in the queue until the main thread has
 * reaped them: only then do their keys count as saved. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "data/object.h"

#define ITEM_KEYS   256
#define QUEUE_ITEMS 24 /* items of keys in the queue at most */

enum itemState { ITEM_WAITING, ITEM_READING, ITEM_DONE, ITEM_TAKEN, ITEM_LARGE };
struct keyspaceWalk;
struct queueKeys {
    struct keyspaceWalk *walk;
    uint64_t first, end; /* their ranges */
    uint32_t count;
    const struct object *objects[ITEM_KEYS];
    _Atomic(uint8_t) states[ITEM_KEYS];
};
struct queueItem {
    struct queueItem *next;
    int dbid;
    sds bytes;               /* NULL: keys */
    uint64_t bytes_keys;     /* keys in `bytes`, for the progress */
    struct queueKeys keys[]; /* one, or none */
};

struct itemQueue;
struct itemQueue *itemQueueCreate(void);
void itemQueueFree(struct itemQueue *q); /* after the end of the thread */

/* ---- Main thread ---- */
bool itemQueueHasRoom(const struct itemQueue *q); /* for an item of keys; not while it holds */
struct queueItem *itemQueueNewKeys(struct keyspaceWalk *walk, int dbid);
void itemQueueGiveKeys(struct itemQueue *q, struct queueItem *item); /* owned by the queue from then on */
/* Gives the encoding of whole keys; bytes are the queue's from then on. */
void itemQueueGiveBytes(struct itemQueue *q, int dbid, sds bytes, uint64_t keys);
/* Gives a piece of a large value. From the first to the last one nothing else may come between: so it holds,
 * and what itemQueueGiveBytes gives meanwhile comes later. */
void itemQueueHold(struct itemQueue *q, bool hold);
void itemQueueGivePart(struct itemQueue *q, int dbid, sds bytes, bool last);
/* Returns the next item of keys with which the thread has finished, in order; the caller frees it (zfree).
 * NULL: none. */
struct queueItem *itemQueueReap(struct itemQueue *q);
/* Takes the object back if it is in the queue. WAITING: the caller has to save it now; LARGE: to register it;
 * DONE: it has been saved, or is not in the queue. Waits while the thread reads it. */
enum itemState itemQueueTake(struct itemQueue *q, const struct keyspaceWalk *walk, uint64_t range,
                             const struct object *o);
/* Whether the object is in the queue and has been neither encoded nor taken back. */
bool itemQueueHolds(const struct itemQueue *q, const struct keyspaceWalk *walk, uint64_t range,
                    const struct object *o);
void itemQueueEnd(struct itemQueue *q);                  /* nothing more comes */
void itemQueueCancel(struct itemQueue *q);               /* the thread gets nothing more */
bool itemQueueIsIdle(const struct itemQueue *q);         /* the thread has finished with everything */
uint64_t itemQueueBytes(const struct itemQueue *q);      /* that the thread has not finished with */
uint64_t itemQueueBytesGiven(const struct itemQueue *q); /* the same without what comes after the hold */
uint64_t itemQueueKeysGiven(const struct itemQueue *q);
uint64_t itemQueueLength(const struct itemQueue *q); /* items that it has not finished with */

/* ---- The thread ---- */
/* Finishes with the item before, and waits for the next one. NULL: the end; *cancelled says which. */
struct queueItem *itemQueueNext(struct itemQueue *q, bool *cancelled);
/* Claims an object for reading; false: the main thread has taken it back. Each claim is followed by
 * itemQueueDone, and waits for nothing in between. */
static inline bool itemQueueClaim(struct queueKeys *keys, uint32_t i) {
    uint8_t state = ITEM_WAITING;
    return atomic_compare_exchange_strong(&keys->states[i], &state, ITEM_READING);
}
static inline void itemQueueDone(struct queueKeys *keys, uint32_t i, bool large) {
    atomic_store_explicit(&keys->states[i], large ? ITEM_LARGE : ITEM_DONE, memory_order_release);
}
