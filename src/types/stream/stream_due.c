/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_due.c - which entry of a group has been pending for the longest time (part of stream.h).
 *
 * XREADGROUP CLAIM takes entries in the order of their delivery times. A group that is read so has an index,
 * a binary heap of times and IDs; other groups have none, and a pending entry is no larger for it. The index
 * is built with the first such read, in O(n) for n pending entries, and is gone when nothing is pending.
 *
 *     heap[0]                the earliest time
 *     heap[i]                not later than heap[2i + 1] and heap[2i + 2]
 *
 * Invariant: each pending entry whose entry exists has an element whose time is not later than its delivery.
 * Nothing else is promised, so that acknowledging and delivering again do not touch the index: an element may
 * be early, or late beside another one, or there may be nothing pending for it. This comes out when the
 * element is the first one; then it gets its right time, or is removed. When more than half of the elements
 * are of no use, the index is built anew. So an entry costs O(log n) each time that it is delivered and
 * claimed. */
#include "base/zmalloc.h"
#include "types/stream/stream.h"

#define DUE_ROOM 32

struct streamDueElement {
    int64_t delivered_ms;
    struct streamID id;
};

struct streamDue {
    size_t count, room;
    struct streamDueElement heap[];
};

static bool streamDueIsBefore(const struct streamDueElement *a, const struct streamDueElement *b) {
    if (a->delivered_ms != b->delivered_ms) return a->delivered_ms < b->delivered_ms;
    return streamIDCompare(a->id, b->id) < 0;
}

/* Puts the element where it belongs, at `at` or below. */
static void streamDueSink(struct streamDue *due, size_t at, struct streamDueElement e) {
    for (size_t child; (child = 2 * at + 1) < due->count; at = child) {
        if (child + 1 < due->count && streamDueIsBefore(&due->heap[child + 1], &due->heap[child])) child++;
        if (!streamDueIsBefore(&due->heap[child], &e)) break;
        due->heap[at] = due->heap[child];
    }
    due->heap[at] = e;
}

static void streamDueRemoveFirst(struct streamDue *due) {
    struct streamDueElement last = due->heap[--due->count];
    if (due->count) streamDueSink(due, 0, last);
}

/* Builds the index of all that is pending. */
static void streamDueBuild(struct streamGroup *g) {
    size_t room = g->pending.size + g->pending.size / 4 + DUE_ROOM;
    struct streamDue *due = zmalloc(sizeof *due + room * sizeof *due->heap);
    struct raxIterator it;
    due->room = room;
    due->count = 0;
    raxStart(&it, &g->pending);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        const struct streamNack *nack = it.value;
        due->heap[due->count++] = (struct streamDueElement){nack->delivered_ms, streamKeyID(it.key)};
    }
    raxStop(&it);
    for (size_t i = due->count / 2; i--;) streamDueSink(due, i, due->heap[i]);
    streamDueDrop(g);
    g->due = due;
}

void streamDueDrop(struct streamGroup *g) {
    zfree(g->due);
    g->due = NULL;
}

static bool streamDueIsMostlyUseless(const struct streamGroup *g) {
    return g->due->count > 2 * g->pending.size + DUE_ROOM;
}

void streamDueInsert(struct streamGroup *g, struct streamID id, int64_t delivered_ms) {
    struct streamDueElement e = {delivered_ms, id};
    if (streamDueIsMostlyUseless(g)) streamDueBuild(g);
    struct streamDue *due = g->due;
    if (due->count == due->room) {
        due->room *= 2;
        g->due = due = zrealloc(due, sizeof *due + due->room * sizeof *due->heap);
    }
    size_t at = due->count++;
    for (size_t parent; at && streamDueIsBefore(&e, &due->heap[parent = (at - 1) / 2]); at = parent)
        due->heap[at] = due->heap[parent];
    due->heap[at] = e;
}

struct streamNack *streamDueFirst(struct streamGroup *g, struct streamID *id) {
    if (!g->pending.size) {
        streamDueDrop(g);
        return NULL;
    }
    if (!g->due || streamDueIsMostlyUseless(g)) streamDueBuild(g);
    while (g->due->count) {
        struct streamDueElement first = g->due->heap[0];
        struct streamNack *nack = streamPendingFind(g, first.id);
        *id = first.id;
        if (nack && nack->delivered_ms == first.delivered_ms) return nack;
        if (nack && nack->delivered_ms > first.delivered_ms) {
            first.delivered_ms = nack->delivered_ms;
            streamDueSink(g->due, 0, first);
        } else {
            streamDueRemoveFirst(g->due);
        }
    }
    return NULL;
}

void streamDueTakeFirst(struct streamGroup *g) {
    struct streamDueElement first = g->due->heap[0];
    do /* an entry that was pending before, and is again, may have several elements */
        streamDueRemoveFirst(g->due);
    while (g->due->count && g->due->heap[0].delivered_ms == first.delivered_ms &&
           !streamIDCompare(g->due->heap[0].id, first.id));
}

size_t streamDueBytes(const struct streamGroup *g) {
    return g->due ? zmallocSize(g->due) : 0;
}
