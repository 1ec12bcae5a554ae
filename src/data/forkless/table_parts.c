/* SPDX-License-Identifier: BSD-3-Clause */
/* table_parts.c - see table_parts.h. */
#include "data/forkless/table_parts.h"

#include "base/assert.h"
#include "base/zmalloc.h"
#include "data/forkless/range_bits.h"
#include "ds/scan_cursor.h"

#define SAMPLES     64 /* entries that are looked at to choose the length of batches */
#define AHEAD       16 /* entries that are prefetched before they are looked at */
#define STEP_RANGES 64
#define STEP_ROOM   (2 * STEP_RANGES)
#define SLICE_STEPS 16
#define SLICE_BYTES 4096
#define STEP_BYTES  16384 /* of the entries of a step, unless it is one range */
#define GIVE_RANGES 32    /* visited at once for a batch, and the entries that these may have nearly always */
#define BATCH_BYTES 8192  /* of the first batches, about, until it is known how long the thread takes */
#define GIVE_ROOM   (2 * GIVE_RANGES)
#define LONG_BYTES  512 /* where entries have so many, the main thread reads how many before it gives them */

static size_t tablePartsSum(void *const entries[], size_t count, tablePartsBytesFn *entryBytes) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += entryBytes(entries[i]);
    return bytes;
}

/* Returns the bytes of the first `count` entries, of which it looks at no more than it takes to exceed
 * `most`. */
static size_t tablePartsBytes(const struct hashtable *table, size_t count, size_t most,
                              tablePartsBytesFn *entryBytes) {
    size_t bytes = 0;
    struct hashtableIterator it;
    void *entries[AHEAD];
    hashtableInitIterator(&it, (struct hashtable *)table, false);
    while (count && bytes <= most) {
        size_t got = 0, wanted = count < AHEAD ? count : AHEAD;
        while (got < wanted && hashtableNext(&it, &entries[got])) __builtin_prefetch(entries[got++]);
        bytes += tablePartsSum(entries, got, entryBytes);
        count = got < wanted ? 0 : count - got;
    }
    return bytes;
}

/* Returns about how many bytes an entry has. */
static size_t tablePartsEntryBytes(const struct hashtable *table, tablePartsBytesFn *entryBytes) {
    size_t size = hashtableSize(table), count = size < SAMPLES ? size : SAMPLES;
    return count ? tablePartsBytes(table, count, SIZE_MAX, entryBytes) / count : 0;
}

bool tablePartsIsLarge(const struct hashtable *table, tablePartsBytesFn *entryBytes) {
    size_t size = hashtableSize(table);
    return size > LARGE_VALUE_ELEMENTS ||
           tablePartsBytes(table, size, LARGE_VALUE_BYTES, entryBytes) > LARGE_VALUE_BYTES;
}

/* Entries that a step has found and that are being prefetched. */
struct tablePartsFound {
    struct tableParts *parts;
    tablePartsFn *fn; /* NULL: they stay in `entries`, and what does not fit is only counted */
    void *priv;
    unsigned count;
    void *entries[STEP_ROOM];
};

static unsigned tablePartsIgnored(const struct tableParts *parts) {
    return POSITION_BITS - parts->level;
}

void tablePartsBegin(struct tableParts *parts, const struct hashtable *table, struct largeValue *value,
                     tablePartsBytesFn *entryBytes) {
    size_t size = hashtableSize(table), bytes = tablePartsEntryBytes(table, entryBytes), batch = bytes + 1;
    value->owner.ranges = 1;
    for (; batch < BATCH_BYTES && value->owner.ranges < BATCH_RANGES; batch *= 2) value->owner.ranges *= 2;
    *parts = (struct tableParts){.table = table,
                                 .value = value,
                                 .entryBytes = entryBytes,
                                 .step = STEP_RANGES,
                                 .long_entries = bytes >= LONG_BYTES};
    while (size >> parts->level > 1) parts->level++;
    parts->touched = rangeBitsNew(1ULL << parts->level);
}

void tablePartsEnd(struct tableParts *parts) {
    rangeBitsFreePieces(parts->touched, 0, rangeBitsPieces(1ULL << parts->level));
    zfree(parts->touched);
    parts->touched = NULL;
}

static void tablePartsFlush(struct tablePartsFound *found) {
    for (unsigned i = 0; i < found->count; i++) found->fn(found->priv, found->entries[i]);
    found->count = 0;
}

static void tablePartsCollect(void *priv, void *entry, uint64_t position) {
    struct tablePartsFound *found = priv;
    if (rangeBitsHas(found->parts->touched, position >> tablePartsIgnored(found->parts))) return;
    __builtin_prefetch(entry);
    if (found->count == STEP_ROOM && found->fn) tablePartsFlush(found);
    if (found->count < STEP_ROOM) found->entries[found->count] = entry;
    found->count++;
}

static void tablePartsFind(uint64_t from, uint64_t to, struct tablePartsFound *found) {
    unsigned ignored = tablePartsIgnored(found->parts);
    hashtableVisit(found->parts->table, from << ignored, to << ignored, ignored, tablePartsCollect, found);
}

static void tablePartsVisit(struct tableParts *parts, uint64_t from, uint64_t to, tablePartsFn *fn,
                            void *priv) {
    struct tablePartsFound found = {.parts = parts, .fn = fn, .priv = priv};
    tablePartsFind(from, to, &found);
    tablePartsFlush(&found);
}

/* Frees the piece of bits that ends at the frontier, if one does. */
static void tablePartsFreePassed(struct tableParts *parts) {
    if (parts->frontier % RANGE_BITS_PIECE) return;
    uint64_t passed = parts->frontier / RANGE_BITS_PIECE;
    rangeBitsFreePieces(parts->touched, passed - 1, passed);
}

/* Returns the end of the ranges that have been passed. Makes steps shorter until one fits, and longer when it
 * has few bytes. */
static uint64_t tablePartsStep(struct tableParts *parts, uint64_t ranges, tablePartsFn *fn, void *priv) {
    struct tablePartsFound found = {.parts = parts, .priv = priv};
    for (; parts->step > 1; parts->step /= 2) {
        uint64_t end = (parts->frontier / parts->step + 1) * parts->step;
        if (end > ranges) end = ranges;
        found.count = 0;
        tablePartsFind(parts->frontier, end, &found);
        if (found.count > STEP_ROOM) continue;
        size_t bytes = tablePartsSum(found.entries, found.count, parts->entryBytes);
        if (bytes > STEP_BYTES) continue;
        if (bytes < STEP_BYTES / 4 && parts->step < STEP_RANGES) parts->step *= 2;
        found.fn = fn;
        tablePartsFlush(&found);
        return end;
    }
    parts->step = 2; /* for the next one */
    tablePartsVisit(parts, parts->frontier, parts->frontier + 1, fn, priv);
    return parts->frontier + 1;
}

bool tablePartsNext(struct tableParts *parts, tablePartsFn *fn, void *priv) {
    uint64_t ranges = 1ULL << parts->level;
    if (parts->frontier == ranges) return false;
    parts->frontier = tablePartsStep(parts, ranges, fn, priv);
    tablePartsFreePassed(parts);
    return parts->frontier < ranges;
}

bool tablePartsSlice(struct tableParts *parts, const struct rioWriter *w, tablePartsFn *fn, void *priv) {
    uint64_t start = rioWritten(w);
    for (unsigned i = 0; i < SLICE_STEPS && rioWritten(w) - start < SLICE_BYTES; i++)
        if (!tablePartsNext(parts, fn, priv)) return false;
    return true;
}

/* Where entries that are given go to. */
struct tablePartsGiven {
    struct tableParts *parts;
    struct queueEntries *batch;
    tablePartsFn *fn;
    void *priv;
    size_t bytes; /* of long entries */
};

static void tablePartsOnGiven(void *priv, void *entry, uint64_t position) {
    struct tablePartsGiven *g = priv;
    if (rangeBitsHas(g->parts->touched, position >> tablePartsIgnored(g->parts))) return;
    if (g->parts->long_entries) g->bytes += g->parts->entryBytes(entry);
    if (g->batch->count < BATCH_ENTRIES)
        g->batch->entries[g->batch->count++] = entry;
    else
        g->fn(g->priv, entry);
}

bool tablePartsGive(struct tableParts *parts, struct queueEntries *batch, tablePartsFn *fn, void *priv) {
    struct tablePartsGiven g = {parts, batch, fn, priv, 0};
    unsigned ignored = tablePartsIgnored(parts),
             step = batch->ranges < GIVE_RANGES ? batch->ranges : GIVE_RANGES;
    if (parts->long_entries) step = 1;
    uint64_t ranges = 1ULL << parts->level, end = parts->frontier + batch->ranges;
    if (end > ranges) end = ranges;
    batch->first = parts->frontier;
    while (parts->frontier < end && batch->count + GIVE_ROOM <= BATCH_ENTRIES && g.bytes < BATCH_BYTES) {
        uint64_t to = (parts->frontier / step + 1) * step;
        if (to > ranges) to = ranges;
        hashtableVisit(parts->table, parts->frontier << ignored, to << ignored, ignored, tablePartsOnGiven,
                       &g);
        parts->frontier = to;
        tablePartsFreePassed(parts);
    }
    batch->end = parts->frontier;
    return parts->frontier < ranges;
}

void tablePartsBefore(struct tableParts *parts, uint64_t hash, tablePartsFn *fn, void *priv) {
    uint64_t range = hashtablePosition(parts->table, hash) >> tablePartsIgnored(parts);
    if (range < parts->frontier) {
        largeValueTakeBack(parts->value, range, range + 1);
        return;
    }
    if (rangeBitsHas(parts->touched, range)) return;
    tablePartsVisit(parts, range, range + 1, fn, priv);
    rangeBitsSet(parts->touched, range);
}
