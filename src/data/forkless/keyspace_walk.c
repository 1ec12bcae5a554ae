/* SPDX-License-Identifier: BSD-3-Clause */
/* keyspace_walk.c - see keyspace_walk.h.
 *
 * The walk reads only the tables: positions are known from the buckets, so that the objects, whose lines are
 * not in this processor's cache, are first read by the thread. */
#include "data/forkless/keyspace_walk.h"

#include "base/assert.h"
#include "base/zmalloc.h"
#include "data/forkless/item_queue.h"
#include "data/forkless/large_value.h"
#include "data/forkless/range_bits.h"
#include "data/keyspace/db.h"
#include "data/keyspace/keyspace_private.h"
#include "data/lifetime/evict.h"
#include "data/rdb/rdb_dataset.h"
#include "data/rdb/rewrite.h"
#include "ds/scan_cursor.h"

#define ITEMS_AT_ONCE 8  /* given in one call */
#define STEP_KEYS     64 /* visited at once, at most on average */
/* Ranges for a key at least, so that a change rarely has to save another key than its own; and for keys that
 * take BIG_KEY_BYTES each on average, which take longer to save. */
#define KEY_RANGES     4
#define BIG_KEY_RANGES 16
#define BIG_KEY_BYTES  1024
#define STEP_RANGES    (STEP_KEYS * KEY_RANGES)
#define STEPS_AT_ONCE  4096         /* of ranges that may all be empty */
#define RANGES_MAX     (1ull << 36) /* of a table */
#define KEPT_KEYS      256          /* from which the size of contents that have left is estimated */
#define KEPT_SAMPLES   5            /* of the elements of each */
/* Encoded keys are given in pieces of this size and rarely more, so that nearly all take 56 KB, the memory of
 * one fits the next, and one out of the writer's buffer is copied once. */
#define PIECE_BYTES (52 * 1024)

static struct {
    struct itemQueue *queue;
    const uint8_t *slots;
    bool commands;
    struct keyspaceWalk **all;
    int count, room;
    int current;          /* the one that is walked */
    struct rioWriter out; /* keys that are encoded here: of one database, until they are flushed */
    sds out_bytes;        /* that have left the writer's buffer, or NULL */
    uint64_t out_keys;
    int out_dbid;
} walks;

/* ---- Ranges ---- */

static int keyspaceWalkTables(void) {
    return keys_by_slot ? KEY_SLOTS : 1;
}

static const struct hashtable *keyspaceWalkTable(const struct keyspace *ks, int table) {
    return keys_by_slot ? slotTable(ks->slots, table) : &ks->keys;
}

/* Positions in the table have so many bits more than its ranges. */
static inline unsigned keyspaceWalkShift(const struct keyspaceWalk *w, int table) {
    return POSITION_BITS - (unsigned)__builtin_ctzll(w->firsts[table + 1] - w->firsts[table]);
}

static inline bool keyspaceWalkWantsSlot(int slot) {
    return !walks.slots || walks.slots[slot / 8] >> slot % 8 & 1;
}

static inline int keyspaceWalkTableOf(uint64_t hash) {
    return keys_by_slot ? keyHashSlot(hash) : 0;
}

static uint64_t keyspaceWalkRangeOf(const struct keyspaceWalk *w, uint64_t hash) {
    int table = keyspaceWalkTableOf(hash);
    uint64_t position = keys_by_slot ? hash * w->ks->slots->salt_factor >> (64 - POSITION_BITS)
                                     : hashtablePosition(&w->ks->keys, hash);
    return w->firsts[table] + (position >> keyspaceWalkShift(w, table));
}

/* Visits ranges that are in one table. */
static void keyspaceWalkVisit(struct keyspaceWalk *w, int table, uint64_t first, uint64_t end,
                              hashtableVisitFn *fn, void *priv) {
    const struct hashtable *ht = keyspaceWalkTable(w->ks, table);
    uint64_t base = w->firsts[table];
    unsigned shift = keyspaceWalkShift(w, table);
    if (ht->used) hashtableVisit(ht, (first - base) << shift, (end - base) << shift, shift, fn, priv);
}

/* ---- Saving here ---- */

static int keyspaceWalkSink(void *priv, const char *p, size_t n) {
    (void)priv;
    walks.out_bytes = walks.out_bytes ? sdscatlen(walks.out_bytes, p, n) : sdsnewlen(p, n);
    return 0;
}

void keyspaceWalksFlush(void) {
    rioFlush(&walks.out);
    if (!walks.out_bytes) return;
    itemQueueGiveBytes(walks.queue, walks.out_dbid, walks.out_bytes, walks.out_keys);
    walks.out_bytes = NULL;
    walks.out_keys = 0;
}

static void keyspaceWalkSaveObject(const struct keyspaceWalk *w, const struct object *o) {
    if (objectIsLarge(o)) {
        largeValueRegister(w->dbid, o);
        return;
    }
    if (walks.out_dbid != w->dbid) keyspaceWalksFlush();
    walks.out_dbid = w->dbid;
    if (walks.commands)
        rewriteKey(&walks.out, o);
    else
        rdbWriteKey(&walks.out, o, w->dbid);
    walks.out_keys++;
    if (walks.out_bytes || walks.out.used >= PIECE_BYTES) keyspaceWalksFlush();
}

static void keyspaceWalkOnTouched(void *priv, void *entry, uint64_t position) {
    (void)position;
    keyspaceWalkSaveObject(priv, entry);
}

static void keyspaceWalkTouch(struct keyspaceWalk *w, int table, uint64_t range) {
    if (rangeBitsHas(w->touched, range)) return;
    rangeBitsSet(w->touched, range);
    keyspaceWalkVisit(w, table, range, range + 1, keyspaceWalkOnTouched, w);
}

void keyspaceWalkSave(struct keyspaceWalk *w, uint64_t hash, const struct object *o) {
    debugAssert(w->ks->walk == w);
    if (w->reaped == w->ranges) return;
    if (keys_by_slot && !keyspaceWalkWantsSlot(keyHashSlot(hash))) return;
    uint64_t range = keyspaceWalkRangeOf(w, hash);
    if (range >= w->given) {
        keyspaceWalkTouch(w, keyspaceWalkTableOf(hash), range);
    } else if (range >= w->reaped && o) {
        enum itemState state = itemQueueTake(walks.queue, w, range, o);
        if (state == ITEM_WAITING)
            keyspaceWalkSaveObject(w, o);
        else if (state == ITEM_LARGE)
            largeValueRegister(w->dbid, o);
    }
}

bool keyspaceWalkHasSaved(const struct keyspaceWalk *w, uint64_t hash, const struct object *o) {
    if (w->reaped == w->ranges || (keys_by_slot && !keyspaceWalkWantsSlot(keyHashSlot(hash)))) return true;
    uint64_t range = keyspaceWalkRangeOf(w, hash);
    if (range < w->given) return range < w->reaped || !itemQueueHolds(walks.queue, w, range, o);
    return rangeBitsHas(w->touched, range);
}

/* ---- Giving ---- */

struct givenRanges {
    struct keyspaceWalk *walk;
    uint64_t base; /* the first range of the table */
    unsigned shift;
    struct queueKeys *keys;
};

/* A step has at most about STEP_KEYS keys, for which there is room; only keys that were chosen to be near
 * each other can be more, and are saved here. */
static void keyspaceWalkOnGiven(void *priv, void *entry, uint64_t position) {
    struct givenRanges *g = priv;
    if (rangeBitsHas(g->walk->touched, g->base + (position >> g->shift))) return;
    if (g->keys->count < ITEM_KEYS)
        g->keys->objects[g->keys->count++] = entry;
    else
        keyspaceWalkSaveObject(g->walk, entry);
}

static bool keyspaceWalkSkipsTable(const struct keyspaceWalk *w) {
    return keys_by_slot && (!keyspaceWalkWantsSlot(w->table) || !keyspaceSlotSize(w->ks, w->table));
}

/* A step is within one table. */
static void keyspaceWalkGiveStep(struct keyspaceWalk *w, struct queueKeys *keys) {
    uint64_t end = w->given + STEP_RANGES, table_end = w->firsts[w->table + 1];
    if (keyspaceWalkSkipsTable(w)) {
        end = table_end;
    } else {
        struct givenRanges g = {w, w->firsts[w->table], keyspaceWalkShift(w, w->table), keys};
        if (end > table_end) end = table_end;
        keyspaceWalkVisit(w, w->table, w->given, end, keyspaceWalkOnGiven, &g);
    }
    w->given = end;
    if (end == table_end) w->table++;
}

static void keyspaceWalkGiveItem(struct keyspaceWalk *w) {
    struct queueItem *item = itemQueueNewKeys(w, w->dbid);
    item->keys->first = w->given;
    for (int steps = 0;
         w->given < w->ranges && item->keys->count + STEP_KEYS <= ITEM_KEYS / 4 * 3 && steps < STEPS_AT_ONCE;
         steps++)
        keyspaceWalkGiveStep(w, item->keys);
    item->keys->end = w->given;
    rangeBitsFreePieces(w->touched, item->keys->first / RANGE_BITS_PIECE, w->given / RANGE_BITS_PIECE);
    if (item->keys->count) {
        w->outstanding++;
        itemQueueGiveKeys(walks.queue, item);
    } else {
        zfree(item);
        if (!w->outstanding) w->reaped = w->given;
    }
}

bool keyspaceWalksGive(void) {
    for (int i = 0; i < ITEMS_AT_ONCE && walks.current < walks.count; i++) {
        struct keyspaceWalk *w = walks.all[walks.current];
        if (w->given == w->ranges) {
            walks.current++;
            continue;
        }
        if (!itemQueueHasRoom(walks.queue)) return true;
        keyspaceWalkGiveItem(w);
    }
    return walks.current < walks.count;
}

void keyspaceWalksReap(void) {
    for (struct queueItem *item; (item = itemQueueReap(walks.queue));) {
        struct queueKeys *keys = item->keys;
        struct keyspaceWalk *w = keys->walk;
        for (uint32_t i = 0; i < keys->count; i++) {
            if (atomic_load_explicit(&keys->states[i], memory_order_relaxed) == ITEM_LARGE)
                largeValueRegister(w->dbid, keys->objects[i]);
        }
        w->outstanding--;
        w->reaped = w->outstanding ? keys->end : w->given;
        zfree(item);
    }
}

/* ---- Starts and ends ---- */

static struct keyspaceWalk *keyspaceWalkNew(struct keyspace *ks, int dbid) {
    struct keyspaceWalk *w = zcalloc(1, sizeof *w);
    w->ks = ks;
    w->dbid = dbid;
    ks->walk = w;
    if (walks.count == walks.room) {
        walks.room = walks.room ? walks.room * 2 : 16;
        walks.all = zrealloc(walks.all, (size_t)walks.room * sizeof(struct keyspaceWalk *));
    }
    walks.all[walks.count++] = w;
    return w;
}

/* Returns how many ranges a key should have at least. */
static uint64_t keyspaceWalksKeyRanges(void) {
    uint64_t keys = 0;
    for (int i = 0; i < dbCount(); i++) keys += keyspaceSize(&dbs[i].keyspace);
    return zmallocUsedMemory() / BIG_KEY_BYTES < keys ? KEY_RANGES : BIG_KEY_RANGES;
}

static void keyspaceWalkInit(struct keyspace *ks, int dbid, uint64_t key_ranges) {
    struct keyspaceWalk *w = keyspaceWalkNew(ks, dbid);
    int tables = keyspaceWalkTables();
    w->firsts = zmalloc(((size_t)tables + 1) * sizeof *w->firsts);
    for (int i = 0; i < tables; i++) {
        uint64_t wanted = keyspaceWalkTable(ks, i)->used * key_ranges, count = 1;
        while (count < wanted && count < RANGES_MAX) count *= 2;
        w->firsts[i] = w->ranges;
        w->ranges += count;
    }
    w->firsts[tables] = w->ranges;
    w->touched = rangeBitsNew(w->ranges);
}

void keyspaceWalksStart(struct itemQueue *queue, const uint8_t *slots, bool commands,
                        const struct rioWriter *like) {
    serverAssert(!walks.queue && !walks.count);
    walks.queue = queue;
    walks.slots = slots;
    walks.commands = commands;
    walks.current = 0;
    rioWriterInit(&walks.out, keyspaceWalkSink, NULL);
    walks.out.version = like->version;
    walks.out.strict = like->strict;
    walks.out.clock = like->clock;
    walks.out.plain_strings = true;
    walks.out_bytes = NULL;
    walks.out_keys = 0;
    walks.out_dbid = -1;
    uint64_t key_ranges = keyspaceWalksKeyRanges();
    for (int i = 0; i < dbCount(); i++)
        if (keyspaceSize(&dbs[i].keyspace)) keyspaceWalkInit(&dbs[i].keyspace, i, key_ranges);
}

static void keyspaceWalkFree(struct keyspaceWalk *w) {
    serverAssert(w->ks->walk == w);
    w->ks->walk = NULL;
    if (w->owned) keyspaceRelease(w->ks, true);
    evictNoteBeingFreed(w->kept_bytes);
    rangeBitsFreePieces(w->touched, w->given / RANGE_BITS_PIECE, rangeBitsPieces(w->ranges));
    zfree(w->touched);
    zfree(w->firsts);
    zfree(w);
}

void keyspaceWalksStop(void) {
    for (int i = 0; i < walks.count; i++) keyspaceWalkFree(walks.all[i]);
    walks.count = 0;
    walks.queue = NULL;
    rioWriterFree(&walks.out);
    sdsfree(walks.out_bytes);
}

size_t keyspaceWalksKeptBytes(void) {
    size_t bytes = 0;
    for (int i = 0; i < walks.count; i++) bytes += walks.all[i]->kept_bytes;
    return bytes;
}

int keyspaceWalksError(void) {
    return walks.out.error;
}

/* ---- For keyspace.c ---- */

void keyspaceWalkMoved(struct keyspaceWalk *w, struct keyspace *ks) {
    w->ks = ks;
}

/* Returns about how many bytes the keys and their values have. */
static size_t keyspaceWalkContentsBytes(struct keyspace *ks) {
    size_t bytes = 0;
    if (!keyspaceSize(ks)) return 0;
    for (int i = 0; i < KEPT_KEYS; i++) {
        const struct object *o = keyspaceAnyKey(ks, false);
        bytes += objectAllocSize(o);
        if (objectHasPtr(o)) bytes += objectTypeOf(o)->memoryUsage(o, KEPT_SAMPLES);
    }
    return (size_t)((double)bytes / KEPT_KEYS * (double)keyspaceSize(ks));
}

void keyspaceWalkTakeContents(struct keyspace *ks) {
    struct keyspaceWalk *w = ks->walk;
    struct keyspace *own = keyspaceCreate();
    keyspaceExchange(ks, own);
    ks->hidden = own->hidden;
    own->hidden = NULL;
    if (own->slots) own->slots->hidden = NULL;
    serverAssert(own->walk == w && w->ks == own && !ks->walk);
    w->owned = true;
    w->kept_bytes = keyspaceWalkContentsBytes(own);
}

void keyspaceWalkSaveSlot(struct keyspace *ks, int slot) {
    struct keyspaceIterator it;
    struct object *o;
    keyspaceIteratorInitSlots(&it, ks, slot, slot);
    while ((o = keyspaceIteratorNext(&it))) {
        keyspaceWalkSave(ks->walk, keyHash(objectKey(o)), o);
        if (objectHasPtr(o)) largeValueFinish(objectPtr(o));
    }
    keyspaceIteratorStop(&it);
}

void keyspaceWalkAdopt(struct keyspace *ks) {
    keyspaceWalkNew(ks, -1);
}
