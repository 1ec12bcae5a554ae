/* SPDX-License-Identifier: BSD-3-Clause */
/* table_parts.c - see table_parts.h. */
#include "data/forkless/table_parts.h"

#include "base/assert.h"
#include "base/zmalloc.h"
#include "ds/scan_cursor.h"

#define SAMPLES      8
#define STEP_RANGES  64
#define CHUNK_RANGES 32768
#define CHUNK_BYTES  (CHUNK_RANGES / 8)
#define SLICE_STEPS  16
#define SLICE_BYTES  4096
#define STEP_BYTES   16384 /* a step that writes more is too long */
#define GIVE_RANGES  32   /* visited at once for a batch, and the entries that these may have nearly always */
#define BATCH_BYTES  8192 /* of the first batches, about, until it is known how long the thread takes */
#define GIVE_ROOM    (2 * GIVE_RANGES)

/* Returns about how many bytes an entry has. */
static size_t tablePartsEntryBytes(const struct hashtable *table, tablePartsBytesFn *entryBytes) {
    size_t bytes = 0, seen = 0;
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, (struct hashtable *)table, false);
    for (; seen < SAMPLES && hashtableNext(&it, &entry); seen++) bytes += entryBytes(entry);
    return seen ? bytes / seen : 0;
}

bool tablePartsIsLarge(const struct hashtable *table, tablePartsBytesFn *entryBytes) {
    size_t size = hashtableSize(table);
    return size > LARGE_VALUE_ELEMENTS || tablePartsEntryBytes(table, entryBytes) * size > LARGE_VALUE_BYTES;
}

/* Entries that a step has found and that are being prefetched. */
struct tablePartsFound {
    struct tableParts *parts;
    tablePartsFn *fn;
    void *priv;
    unsigned count;
    void *entries[STEP_RANGES];
};

static uint64_t tablePartsChunks(const struct tableParts *parts) {
    return ((1ULL << parts->level) + CHUNK_RANGES - 1) / CHUNK_RANGES;
}

static unsigned tablePartsIgnored(const struct tableParts *parts) {
    return POSITION_BITS - parts->level;
}

void tablePartsBegin(struct tableParts *parts, const struct hashtable *table, struct largeValue *value,
                     tablePartsBytesFn *entryBytes) {
    size_t size = hashtableSize(table), batch = tablePartsEntryBytes(table, entryBytes) + 1;
    value->owner.ranges = 1;
    for (; batch < BATCH_BYTES && value->owner.ranges < BATCH_RANGES; batch *= 2) value->owner.ranges *= 2;
    *parts = (struct tableParts){.table = table, .value = value, .step = STEP_RANGES};
    while (size >> parts->level > 1) parts->level++;
    parts->touched = zcalloc(tablePartsChunks(parts), sizeof(*parts->touched));
}

void tablePartsEnd(struct tableParts *parts) {
    for (uint64_t i = 0; i < tablePartsChunks(parts); i++) zfree(parts->touched[i]);
    zfree(parts->touched);
    parts->touched = NULL;
}

static bool tablePartsIsTouched(const struct tableParts *parts, uint64_t range) {
    const uint64_t *chunk = parts->touched[range / CHUNK_RANGES];
    return chunk && chunk[range % CHUNK_RANGES / 64] >> range % 64 & 1;
}

static void tablePartsTouch(struct tableParts *parts, uint64_t range) {
    uint64_t **chunk = &parts->touched[range / CHUNK_RANGES];
    if (!*chunk) *chunk = zcalloc(1, CHUNK_BYTES);
    (*chunk)[range % CHUNK_RANGES / 64] |= 1ULL << range % 64;
}

static void tablePartsFlush(struct tablePartsFound *found) {
    for (unsigned i = 0; i < found->count; i++) found->fn(found->priv, found->entries[i]);
    found->count = 0;
}

static void tablePartsCollect(void *priv, void *entry, uint64_t position) {
    struct tablePartsFound *found = priv;
    if (tablePartsIsTouched(found->parts, position >> tablePartsIgnored(found->parts))) return;
    __builtin_prefetch(entry);
    found->entries[found->count++] = entry;
    if (found->count == STEP_RANGES) tablePartsFlush(found);
}

static void tablePartsVisit(struct tableParts *parts, uint64_t from, uint64_t to, tablePartsFn *fn,
                            void *priv) {
    unsigned ignored = tablePartsIgnored(parts);
    struct tablePartsFound found = {.parts = parts, .fn = fn, .priv = priv};
    hashtableVisit(parts->table, from << ignored, to << ignored, ignored, tablePartsCollect, &found);
    tablePartsFlush(&found);
}

/* Frees the chunk that ends at the frontier, if one does. */
static void tablePartsFreePassed(struct tableParts *parts) {
    if (parts->frontier % CHUNK_RANGES) return;
    uint64_t **chunk = &parts->touched[parts->frontier / CHUNK_RANGES - 1];
    zfree(*chunk);
    *chunk = NULL;
}

bool tablePartsNext(struct tableParts *parts, tablePartsFn *fn, void *priv) {
    uint64_t ranges = 1ULL << parts->level, end = (parts->frontier / parts->step + 1) * parts->step;
    if (parts->frontier == ranges) return false;
    if (end > ranges) end = ranges;
    tablePartsVisit(parts, parts->frontier, end, fn, priv);
    parts->frontier = end;
    tablePartsFreePassed(parts);
    return end < ranges;
}

bool tablePartsSlice(struct tableParts *parts, const struct rioWriter *w, tablePartsFn *fn, void *priv) {
    uint64_t start = rioWritten(w);
    for (unsigned i = 0; i < SLICE_STEPS && rioWritten(w) - start < SLICE_BYTES; i++) {
        uint64_t before = rioWritten(w);
        if (!tablePartsNext(parts, fn, priv)) return false;
        if (rioWritten(w) - before > STEP_BYTES && parts->step > 1)
            parts->step /= 2;
        else if (rioWritten(w) - before < STEP_BYTES / 4 && parts->step < STEP_RANGES)
            parts->step *= 2;
    }
    return true;
}

/* Where entries that are given go to. */
struct tablePartsGiven {
    struct tableParts *parts;
    struct queueEntries *batch;
    tablePartsFn *fn;
    void *priv;
};

static void tablePartsOnGiven(void *priv, void *entry, uint64_t position) {
    struct tablePartsGiven *g = priv;
    if (tablePartsIsTouched(g->parts, position >> tablePartsIgnored(g->parts))) return;
    if (g->batch->count < BATCH_ENTRIES)
        g->batch->entries[g->batch->count++] = entry;
    else
        g->fn(g->priv, entry);
}

bool tablePartsGive(struct tableParts *parts, struct queueEntries *batch, tablePartsFn *fn, void *priv) {
    struct tablePartsGiven g = {parts, batch, fn, priv};
    unsigned ignored = tablePartsIgnored(parts),
             step = batch->ranges < GIVE_RANGES ? batch->ranges : GIVE_RANGES;
    uint64_t ranges = 1ULL << parts->level, end = parts->frontier + batch->ranges;
    if (end > ranges) end = ranges;
    batch->first = parts->frontier;
    while (parts->frontier < end && batch->count + GIVE_ROOM <= BATCH_ENTRIES) {
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
    if (tablePartsIsTouched(parts, range)) return;
    tablePartsVisit(parts, range, range + 1, fn, priv);
    tablePartsTouch(parts, range);
}
