/* SPDX-License-Identifier: BSD-3-Clause */
/* item_queue.h - from the main thread to the thread of a snapshot: addresses of objects, addresses of
 * elements of large values, and bytes, in order.
 *
 *     main ──▶ | keys | bytes | entries | entries | bytes | keys | ... | end |  ──▶ thread
 *                       └──── the parts of a large value ──┘
 *
 *     an object of keys:      WAITING ─▶ READING ─▶ DONE
 *                                    │          └─▶ LARGE: not encoded
 *                                    └─▶ TAKEN back by the main thread
 *     a batch of entries:     WAITING ─▶ READING ─▶ DONE
 *                                    └─▶ TAKEN back, with bytes
 *
 * The thread never touches tables. It reads an object, or the entries of a batch, only between READING and
 * DONE, and never writes to a file or socket meanwhile, so that the main thread waits for it at most as long
 * as encoding takes of values that are not large, or of a batch. Items that the thread has finished with stay
 * in the queue until the main thread has reaped them: only then do their keys count as saved, and only then
 * may the value whose entries they had be freed.
 *
 * A batch is taken back as a whole. Its encoding stays in its place in the queue, so that the parts of a
 * value remain together, even if all of them have been given.
 *
 * Bytes of whole keys may come in any order. When more of them wait than itemQueueSpillAbove says, the next
 * ones go to a temporary file (spill_file.h) and into a list apart from the queue, which is given at the end.
 * Its items say where the bytes are in the file. The bytes of a registered value go the same way, into a list
 * of its own that is given in its turn. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "data/forkless/spill_file.h"
#include "data/object.h"
#include "data/rdb/rio.h"

#define ITEM_KEYS   256
#define QUEUE_ITEMS 24 /* items of keys in the queue at most */

#define BATCH_ENTRIES 256
#define BATCH_RANGES  256 /* at most, and a power of 2 */
#define QUEUE_BATCHES 64  /* batches of entries in the queue at most */

enum itemState { ITEM_WAITING, ITEM_READING, ITEM_DONE, ITEM_TAKEN, ITEM_LARGE };
struct keyspaceWalk;
struct queueKeys {
    struct keyspaceWalk *walk;
    uint64_t first, end; /* their ranges */
    uint32_t count;
    const struct object *objects[ITEM_KEYS];
    _Atomic(uint8_t) states[ITEM_KEYS];
};

/* How an entry is written, besides what is in it. */
struct queueEntryForm {
    uint8_t rdb_type; /* of a hash, with the next field */
    int64_t first_ms;
};
typedef void queueEntryFn(struct rioWriter *w, const void *entry, const struct queueEntryForm *form);
/* The value that batches are of. Only the main thread uses it. */
struct queueOwner {
    uint32_t outstanding; /* batches that have not been reaped: they refer to this struct */
    uint32_t ranges;      /* that the next batch should have: as many as the thread reads in some 20 us */
};
struct queueEntries {
    struct queueOwner *owner;
    uint64_t first, end; /* their ranges */
    uint32_t ranges;     /* owner->ranges when the batch was made */
    uint32_t took_us;    /* DONE: to encode it */
    queueEntryFn *write; /* in either thread */
    struct queueEntryForm form;
    sds bytes; /* TAKEN: the encoding */
    _Atomic(uint8_t) state;
    uint32_t count;
    const void *entries[BATCH_ENTRIES];
};

struct queueItem {
    struct queueItem *next;
    int dbid;
    sds bytes;                    /* NULL: keys, entries, or bytes in the file */
    struct spillExtent spilled;   /* where these are; empty: there are none */
    uint64_t bytes_keys;          /* keys in these bytes, for the progress */
    struct queueEntries *entries; /* behind this struct, or NULL */
    struct queueKeys keys[];      /* one, or none */
};

/* Items that are not in the queue yet, in order. */
struct queueList {
    struct queueItem *first, *last;
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
/* Gives bytes of whole keys to the file when so many wait in memory. UINT64_MAX (at first): none. */
void itemQueueSpillAbove(struct itemQueue *q, uint64_t bytes);
/* Gives bytes to the file, and returns where they will be. False: they are still the caller's. */
bool itemQueueSpill(struct itemQueue *q, sds bytes, struct spillExtent *at);
/* Appends to a list: what is in the file, or bytes. */
void itemQueueListSpilled(struct queueList *list, int dbid, struct spillExtent at, uint64_t keys);
void itemQueueListBytes(struct queueList *list, int dbid, sds bytes);
void itemQueueFreeItems(struct queueList *list);
void itemQueueGiveList(struct itemQueue *q, struct queueList *list); /* empties it */
void itemQueueGiveSpilledKeys(struct itemQueue *q); /* once, at the end: the keys that are in the file */
const struct spillFile *itemQueueSpillFile(const struct itemQueue *q);
/* Whether a piece may be given: there are no more bytes in the queue, and not too many batches. */
bool itemQueueHasRoomForPart(const struct itemQueue *q, uint64_t max_bytes);
/* Returns a batch without entries, to be filled and given as a piece of the owner's value; or freed (zfree).
 */
struct queueItem *itemQueueNewEntries(struct queueOwner *owner, int dbid);
void itemQueueGiveEntries(struct itemQueue *q, struct queueItem *item);
/* Takes the owner's batches back that have ranges from `first` to before `end`, and encodes them with `w`,
 * whose sink is rioSinkSds and which is empty. When it returns, the thread does not read their entries any
 * more. Waits while the thread reads them. */
void itemQueueTakeEntries(struct itemQueue *q, const struct queueOwner *owner, uint64_t first, uint64_t end,
                          struct rioWriter *w);
/* Returns the next item of keys with which the thread has finished, in order; the caller frees it (zfree).
 * NULL: none. Frees other items before it. */
struct queueItem *itemQueueReap(struct itemQueue *q);
/* Takes the object back if it is in the queue. WAITING: the caller has to save it now; LARGE: to register it;
 * DONE: it has been saved, or is not in the queue. Waits while the thread reads it. */
enum itemState itemQueueTake(struct itemQueue *q, const struct keyspaceWalk *walk, uint64_t range,
                             const struct object *o);
/* Whether the object is in the queue and has been neither encoded nor taken back. */
bool itemQueueHolds(const struct itemQueue *q, const struct keyspaceWalk *walk, uint64_t range,
                    const struct object *o);
void itemQueueEnd(struct itemQueue *q);             /* nothing more comes */
void itemQueueCancel(struct itemQueue *q);          /* the thread gets nothing more */
bool itemQueueIsIdle(const struct itemQueue *q);    /* the thread has finished with everything */
uint64_t itemQueueBytes(const struct itemQueue *q); /* allocated, that the thread has not finished with */
uint64_t itemQueueBytesGiven(const struct itemQueue *q); /* the same without what comes after the hold */
uint64_t itemQueueKeysGiven(const struct itemQueue *q);
uint64_t itemQueueLength(const struct itemQueue *q); /* items that it has not finished with */

/* ---- The thread ---- */
/* Reads bytes of the file, as spillFileRead does. */
size_t itemQueueReadSpilled(struct itemQueue *q, uint64_t offset, char *p, size_t n, int *error);
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
/* Claims a batch in the same way. False: it has been taken back, and its bytes are to be written. */
static inline bool itemQueueClaimEntries(struct queueEntries *batch) {
    uint8_t state = ITEM_WAITING;
    return atomic_compare_exchange_strong(&batch->state, &state, ITEM_READING);
}
static inline void itemQueueDoneEntries(struct queueEntries *batch, uint32_t took_us) {
    batch->took_us = took_us;
    atomic_store_explicit(&batch->state, ITEM_DONE, memory_order_release);
}
