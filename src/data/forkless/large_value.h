/* SPDX-License-Identifier: BSD-3-Clause */
/* large_value.h - values that a snapshot saves in parts while clients change them. On the main thread only.
 *
 * A value that would take longer than a few 100 us to encode is not read by the thread. When the walk meets
 * it, or before its first change, it is registered: from then on the type reports each change of an element
 * before it is made, and the old element is saved first. One registered value at a time is active: its parts
 * go to the thread, a slice in each turn of the loop. The others collect what is saved of them.
 *
 *     registered ──▶ active ──▶ given ──▶ saved       struct largeValue ── state ──▶ the type's own
 *     old parts: kept    │          │
 *                        to the thread, or taken back from it
 *
 * A part is bytes, or the addresses of entries of the value's table (item_queue.h), which the thread reads.
 * While it may read some, the value stays registered: its entries are changed and freed, and its container is
 * freed, only after the batches that have them have been taken back or read.
 *
 * A value is known by the address of its container (what objectPtr returns), so it may be renamed or moved to
 * another database meanwhile. When its key is deleted or overwritten, the container belongs to the snapshot,
 * which frees it at the end (largeValueKeeps).
 *
 * A type takes part through struct valueParts. Of each element, exactly one of these things happens: `next`
 * writes it, `give` puts it into a batch, or the type writes it before its first change, with
 * largeValueWriter. Elements that came after
 * the registration are not written. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/linked_list.h"
#include "base/sds.h"
#include "data/forkless/item_queue.h"
#include "data/object.h"
#include "data/rdb/rio.h"
#include "data/type.h"

/* A value longer than this many elements, or bytes, is large. */
#define LARGE_VALUE_ELEMENTS 2048
#define LARGE_VALUE_BYTES    (256 * 1024)

struct largeValue {
    struct listNode node; /* private, with all fields up to `type` */
    bool owned, saved;
    size_t kept_bytes;       /* of what is owned, about */
    bool given;              /* all of it is in the queue */
    struct queueOwner owner; /* of the batches of its entries */
    int dbid;
    int64_t expire_ms;
    sds key_text;
    struct queueList stored; /* what is saved and has not been given to the queue, in a file mostly */
    sds bytes;               /* the same behind that, in memory */
    uint64_t stored_bytes;   /* of `stored`, in memory */
    const struct valueParts *parts;
    const struct objectType *type;
    uint8_t encoding;
    bool commands; /* the format: commands that create the value (rewrite.h), else RDB */
    struct str key;
    void *container; /* changes with largeValueMoved; NULL: all is saved, and nobody needs it any more */
    void *state;     /* the type's */
};

/* A type's part in it. The encoding may decide which functions are meant: `parts` of struct objectType
 * returns the table for an object, or NULL for one that is never large. */
struct valueParts {
    /* Whether the value is so large that it is saved in parts. Looks at no more elements than a value may
     * have that is not large. May be called in the snapshot's thread. */
    bool (*isLarge)(const struct object *o);
    /* Registers the value: makes v->state, O(1) or nearly so. Writes with largeValueWriter what comes before
     * the elements: in RDB all that follows the key, such as the number of elements; the type's byte and the
     * key have been written. */
    void (*begin)(struct largeValue *v, const struct object *o);
    /* Writes the next part: some 4 to 16 KB, or one element (in a tree a leaf, in a table a range of them).
     * False: that was the last one. */
    bool (*next)(struct largeValue *v);
    /* Puts the entries of the next part into the batch, to be written by the thread, and says with which
     * function. Called instead of `next` in the turns of the loop, for RDB. False: those were the last ones,
     * and from then on `next` returns false. NULL: all parts are written by `next`. */
    bool (*give)(struct largeValue *v, struct queueEntries *batch);
    /* Frees v->state. complete: `next` has returned false; otherwise marks that were left in the container
     * are taken back, or will be. */
    void (*end)(struct largeValue *v, bool complete);
    /* Returns about how many bytes of old elements wait in v->state for their turn. NULL: none. */
    size_t (*keptBytes)(const struct largeValue *v);
};

/* The number of registered values; 0 nearly always. */
extern unsigned large_value_count;
struct largeValue *largeValueFindSlow(const void *container);
/* Called by a type before it changes an element of this container. NULL: nothing is to be done. */
static inline struct largeValue *largeValueFind(const void *container) {
    return __builtin_expect(large_value_count != 0, 0) ? largeValueFindSlow(container) : NULL;
}
/* Returns the writer for what is saved of v, in the format of v. Valid until it is called for another one. */
struct rioWriter *largeValueWriter(struct largeValue *v);
/* For old elements that would wait in v->state: gives a copy of them to a file, and returns where it will be.
 * False: they are few and should be kept, or the file has failed. */
bool largeValueSpill(struct largeValue *v, struct str bytes, struct spillExtent *at);
/* Writes what is in the file, behind all that largeValueWriter has got so far. */
void largeValueWriteSpilled(struct largeValue *v, struct spillExtent at);
/* The container has another address now (a reallocation). */
void largeValueMovedSlow(const void *from, void *to);
static inline void largeValueMoved(const void *from, void *to) {
    if (__builtin_expect(large_value_count != 0, 0)) largeValueMovedSlow(from, to);
}
/* Called before an entry changes whose range, from `first` to before `end`, has been given to the thread:
 * takes back the batches that have it, or waits until the thread has read them. */
void largeValueTakeBack(struct largeValue *v, uint64_t first, uint64_t end);
/* Saves all that is left of a registered value now, before a change that has no finer report (a conversion).
 */
void largeValueFinish(const void *container);
/* Whether the container belongs to the snapshot from now on, which will free it; else the caller does. */
bool largeValueKeeps(struct value v);
/* A part of the value has left it and belongs to v->state. */
void largeValueKeepsPart(struct largeValue *v, struct value part);

/* Frees a container that belongs to the snapshot. Set by data/lifetime/lazyfree.c, which does so on a thread;
 * NULL: its type frees it. */
extern void (*large_value_free)(struct value v);
/* About so many bytes that belonged to the snapshot are being freed. Set by data/lifetime/evict.c; may be
 * NULL. */
extern void (*large_value_note_freeing)(size_t bytes);

/* ---- For keyspace_walk.c and forkless.c ---- */
bool objectIsLarge(const struct object *o);
/* commands, version, strict, plain: as for the writer of the snapshot. */
void largeValuesStart(struct itemQueue *queue, bool commands, const struct rioWriter *like);
/* Registers the object's value unless it is registered. */
void largeValueRegister(int dbid, const struct object *o);
/* Continues with the active value until `until_us` (monotonic), or until the queue has no room for more
 * (itemQueueHasRoomForPart). Returns false when all values have been given to the queue. */
bool largeValuesStep(int64_t until_us, uint64_t max_bytes);
/* Gives what waits for its value's turn to a file when there is more of it than `above`. */
void largeValuesSpill(uint64_t above);
/* After the end of the thread. */
void largeValuesStop(void);        /* forgets all; frees the containers that belong to the snapshot */
int largeValuesError(void);        /* of the writer: a value that the version cannot hold */
uint64_t largeValuesBytes(void);   /* that wait for their value's turn, in memory */
int64_t largeValuesActiveMs(void); /* of the active value; -1: none is active */
size_t largeValuesKeptBytes(void); /* of containers that belong to the snapshot, about */
