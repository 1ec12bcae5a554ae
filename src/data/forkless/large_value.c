/* SPDX-License-Identifier: BSD-3-Clause */
/* large_value.c - see large_value.h.
 *
 * One writer serves all values: what it holds belongs to `writes_for` and is appended to that one's bytes
 * when another value is written, or when its bytes are taken. `taken` is for batches that are taken back.
 *
 * Values are given in the order of their registration: those that have been are at the beginning of the list,
 * where they wait for the thread. */
#include "data/forkless/large_value.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/zmalloc.h"
#include "data/rdb/rdb_dataset.h"
#include "data/rdb/rewrite.h"
#include "ds/hashtable.h"

#define PART_BYTES   (32 * 1024)  /* given to the queue at once */
#define SPILL_LEAST  512          /* bytes of a value for which the file is worth it */
#define SPILL_AT     (256 * 1024) /* in one command, before largeValuesSpill is called */
#define KEPT_SAMPLES 64           /* elements from which the size of what is kept is estimated */

unsigned large_value_count;
void (*large_value_free)(struct value v);
void (*large_value_note_freeing)(size_t bytes);

static struct {
    bool running, commands;
    bool spills; /* too much waits in memory */
    struct itemQueue *queue;
    struct list values; /* in the order of their registration */
    struct hashtable by_container;
    unsigned given; /* values that have been */
    size_t kept_bytes;
    struct largeValue *active;
    int64_t active_since_us;
    struct rioWriter writer, taken;
    struct largeValue *writes_for;
} large;

static struct str largeValueEntryKey(const void *entry) {
    const struct largeValue *v = entry;
    return strN((const char *)&v->container, sizeof v->container);
}
static const struct hashtableType by_container_type = {.entryKey = largeValueEntryKey};

static struct str largeValueKeyOf(const void *const *container) {
    return strN((const char *)container, sizeof *container);
}

struct largeValue *largeValueFindSlow(const void *container) {
    return hashtableFind(&large.by_container, largeValueKeyOf(&container));
}

/* ---- Writing ---- */

/* Gives `bytes` to the file if it takes them. */
static bool largeValueSpillBytes(struct largeValue *v) {
    struct spillExtent at;
    if (!itemQueueSpill(large.queue, v->bytes, &at)) return false;
    itemQueueListSpilled(&v->stored, v->dbid, at, 0);
    v->bytes = sdsempty();
    return true;
}

static int largeValueSink(void *priv, const char *p, size_t n) {
    struct largeValue *v = large.writes_for;
    (void)priv;
    v->bytes = sdscatlen(v->bytes, p, n);
    if (v != large.active && sdslen(v->bytes) >= SPILL_AT) largeValueSpillBytes(v);
    return 0;
}

struct rioWriter *largeValueWriter(struct largeValue *v) {
    if (large.writes_for != v) {
        if (large.writes_for) rioFlush(&large.writer);
        large.writes_for = v;
    }
    return &large.writer;
}

static void largeValueGive(struct largeValue *v, bool last) {
    rioFlush(largeValueWriter(v));
    itemQueueGiveList(large.queue, &v->stored);
    v->stored_bytes = 0;
    itemQueueGivePart(large.queue, v->dbid, v->bytes, last);
    v->bytes = sdsempty();
}

bool largeValueSpill(struct largeValue *v, struct str bytes, struct spillExtent *at) {
    if (!large.spills && v->parts->keptBytes(v) < SPILL_AT) return false;
    sds copy = sdsnewlen(bytes.ptr, bytes.len);
    if (itemQueueSpill(large.queue, copy, at)) return true;
    sdsfree(copy);
    return false;
}

void largeValueWriteSpilled(struct largeValue *v, struct spillExtent at) {
    rioFlush(largeValueWriter(v));
    if (sdslen(v->bytes) && !largeValueSpillBytes(v)) {
        v->stored_bytes += sdsAllocSize(v->bytes);
        itemQueueListBytes(&v->stored, v->dbid, v->bytes);
        v->bytes = sdsempty();
    }
    itemQueueListSpilled(&v->stored, v->dbid, at, 0);
}

void largeValueTakeBack(struct largeValue *v, uint64_t first, uint64_t end) {
    if (v->owner.outstanding) itemQueueTakeEntries(large.queue, &v->owner, first, end, &large.taken);
}

/* ---- Registered values ---- */

static void largeValuesStartWriter(struct rioWriter *w, int (*sink)(void *priv, const char *p, size_t n),
                                   const struct rioWriter *like) {
    rioWriterInit(w, sink, NULL);
    w->version = like->version;
    w->strict = like->strict;
    w->clock = like->clock;
    w->plain_strings = true;
}

void largeValuesStart(struct itemQueue *queue, bool commands, const struct rioWriter *like) {
    serverAssert(!large.running);
    large.running = true;
    large.spills = false;
    large.queue = queue;
    large.commands = commands;
    large.given = 0;
    listInit(&large.values);
    hashtableInit(&large.by_container, &by_container_type);
    largeValuesStartWriter(&large.writer, largeValueSink, like);
    largeValuesStartWriter(&large.taken, rioSinkSds, like);
}

bool objectIsLarge(const struct object *o) {
    if (!objectHasPtr(o) || !objectTypeOf(o)->parts) return false;
    const struct valueParts *parts = objectTypeOf(o)->parts(o);
    return parts && parts->isLarge(o);
}

void largeValueRegister(int dbid, const struct object *o) {
    serverAssert(large.running);
    if (largeValueFind(objectPtr(o))) return;
    struct largeValue *v = zcalloc(1, sizeof *v);
    v->dbid = dbid;
    v->expire_ms = objectExpire(o);
    v->key_text = sdsnewstr(objectKey(o));
    v->key = sdsview(v->key_text);
    v->bytes = sdsempty();
    v->type = objectTypeOf(o);
    v->parts = v->type->parts(o);
    v->encoding = o->encoding;
    v->commands = large.commands;
    v->container = objectPtr(o);
    hashtableAdd(&large.by_container, v);
    listAddTail(&large.values, &v->node);
    large_value_count++;
    if (!v->commands) rdbWriteKeyHead(largeValueWriter(v), o, dbid);
    v->parts->begin(v, o);
}

/* The value is saved, but perhaps not given to the queue. The thread reads none of its entries. */
static void largeValueSaved(struct largeValue *v) {
    serverAssert(!v->saved);
    if (v->commands && v->expire_ms != OBJ_NO_EXPIRE)
        rewriteExpiry(largeValueWriter(v), v->key, v->expire_ms);
    v->parts->end(v, true);
    v->saved = true;
    v->state = NULL;
}

static struct value largeValueOf(const struct largeValue *v) {
    return valuePtr(v->type->id, v->encoding, v->container);
}

static void largeValueForget(struct largeValue *v) {
    if (large.writes_for == v) {
        large.writer.used = 0;
        large.writes_for = NULL;
    }
    hashtablePop(&large.by_container, largeValueEntryKey(v));
    listRemove(&large.values, &v->node);
    large_value_count--;
    large.given -= v->given;
    if (v->owned) (large_value_free ? large_value_free : v->type->free)(largeValueOf(v));
    large.kept_bytes -= v->kept_bytes;
    if (large_value_note_freeing) large_value_note_freeing(v->kept_bytes);
    sdsfree(v->key_text);
    sdsfree(v->bytes);
    itemQueueFreeItems(&v->stored);
    zfree(v);
}

void largeValueMovedSlow(const void *from, void *to) {
    struct largeValue *v = largeValueFindSlow(from);
    if (!v) return;
    hashtablePop(&large.by_container, largeValueEntryKey(v));
    v->container = to;
    hashtableAdd(&large.by_container, v);
}

void largeValueFinish(const void *container) {
    struct largeValue *v = largeValueFind(container);
    if (!v || v->saved) return;
    largeValueTakeBack(v, 0, UINT64_MAX);
    while (v->parts->next(v)) {
    }
    largeValueSaved(v);
    hashtablePop(&large.by_container, largeValueEntryKey(v));
    v->container = v; /* an address that no value has */
    hashtableAdd(&large.by_container, v);
}

void largeValueKeepsPart(struct largeValue *v, struct value part) {
    struct object *o = objectCreate(STR(""), OBJ_NO_EXPIRE, part);
    size_t bytes = v->type->memoryUsage(o, KEPT_SAMPLES);
    objectFreeHeader(o);
    v->kept_bytes += bytes;
    large.kept_bytes += bytes;
}

bool largeValueKeeps(struct value v) {
    struct largeValue *kept = v.embedded ? NULL : largeValueFind(v.ptr);
    if (!kept) return false;
    serverAssert(!kept->owned);
    kept->owned = true;
    kept->encoding = v.encoding; /* it may have changed, while the container moved */
    largeValueKeepsPart(kept, v);
    return true;
}

/* ---- In the turns of the loop ---- */

static bool largeValueGivesEntries(const struct largeValue *v) {
    return v->parts->give && !v->commands && !v->saved;
}

static bool largeValueGiveEntries(struct largeValue *v) {
    struct queueItem *item = itemQueueNewEntries(&v->owner, v->dbid);
    bool more = v->parts->give(v, item->entries);
    if (item->entries->count)
        itemQueueGiveEntries(large.queue, item);
    else
        zfree(item);
    return more;
}

/* Gives what comes before the elements first; the elements are in no order. */
static void largeValueActivate(void) {
    listForEach(&large.values, it) {
        large.active = listEntry(it, struct largeValue, node);
        if (!large.active->given) break;
    }
    large.active_since_us = monotonicUs();
    itemQueueHold(large.queue, true);
    if (largeValueGivesEntries(large.active)) largeValueGive(large.active, false);
}

static void largeValueComplete(struct largeValue *v) {
    if (!v->saved && !v->owner.outstanding) largeValueSaved(v);
    largeValueGive(v, true);
    itemQueueHold(large.queue, false);
    large.active = NULL;
    v->given = true;
    large.given++;
}

/* Forgets the values that have been given and whose entries the thread does not read any more. */
static void largeValuesForgetRead(void) {
    listForEach(&large.values, it) {
        struct largeValue *v = listEntry(it, struct largeValue, node);
        if (!v->given) return;
        if (v->owner.outstanding) continue;
        if (!v->saved) largeValueSaved(v);
        largeValueForget(v);
    }
}

static void largeValueStep(void) {
    if (!large.active) largeValueActivate();
    struct largeValue *v = large.active;
    if (v->saved || !(largeValueGivesEntries(v) ? largeValueGiveEntries(v) : v->parts->next(v)))
        largeValueComplete(v);
    else if (v->stored.first || sdslen(v->bytes) + largeValueWriter(v)->used >= PART_BYTES)
        largeValueGive(v, false);
}

/* While there is no room, what the queue holds waits for the active value. */
bool largeValuesStep(int64_t until_us, uint64_t max_bytes) {
    bool in_time = true;
    while (in_time && large_value_count > large.given && itemQueueHasRoomForPart(large.queue, max_bytes)) {
        largeValueStep();
        in_time = monotonicUs() < until_us;
    }
    bool left = large_value_count > large.given;
    largeValuesForgetRead();
    return left;
}

uint64_t largeValuesBytes(void) {
    if (!large.running) return 0;
    uint64_t n = large.writer.used;
    listForEach(&large.values, it) {
        const struct largeValue *v = listEntry(it, struct largeValue, node);
        n += sdsAllocSize(v->bytes) + v->stored_bytes;
        if (!v->saved && v->parts->keptBytes) n += v->parts->keptBytes(v);
    }
    return n;
}

void largeValuesSpill(uint64_t above) {
    large.spills = largeValuesBytes() > above;
    if (!large.spills) return;
    if (large.writes_for) rioFlush(&large.writer);
    listForEach(&large.values, it) {
        struct largeValue *v = listEntry(it, struct largeValue, node);
        if (!v->given && sdslen(v->bytes) >= SPILL_LEAST) largeValueSpillBytes(v);
    }
}

void largeValuesStop(void) {
    if (!large.running) return;
    listForEach(&large.values, it) {
        struct largeValue *v = listEntry(it, struct largeValue, node);
        if (!v->saved) v->parts->end(v, false);
        largeValueForget(v);
    }
    serverAssert(large_value_count == 0);
    hashtableDestroy(&large.by_container);
    rioWriterFree(&large.writer);
    rioWriterFree(&large.taken);
    large.active = large.writes_for = NULL;
    large.running = false;
}

int64_t largeValuesActiveMs(void) {
    return large.active ? (monotonicUs() - large.active_since_us) / 1000 : -1;
}

size_t largeValuesKeptBytes(void) {
    return large.kept_bytes;
}

int largeValuesError(void) {
    if (!large.running) return 0;
    return large.writer.error ? large.writer.error : large.taken.error;
}
