/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_group.c - consumer groups: which consumer has received which entry and has not acknowledged it
 * (part of stream.h).
 *
 * A nack is in two trees, its group's and its consumer's. The group's tree owns it. */
#include "base/assert.h"
#include "base/zmalloc.h"
#include "types/stream/stream.h"

/* ---- Consumers ---- */

void streamConsumerFree(struct streamConsumer *consumer) {
    raxDestroy(&consumer->pending, NULL);
    sdsfree(consumer->name);
    zfree(consumer);
}

static void streamGroupFreeConsumer(void *consumer) {
    streamConsumerFree(consumer);
}

struct streamConsumer *streamConsumerFind(struct streamGroup *g, struct str name) {
    void *consumer = NULL;
    raxFind(&g->consumers, name, &consumer);
    return consumer;
}

struct streamConsumer *streamConsumerCreate(struct streamGroup *g, struct str name, int64_t now_ms) {
    struct streamConsumer *consumer = zmalloc(sizeof *consumer);
    consumer->name = sdsnewstr(name);
    consumer->seen_ms = now_ms;
    consumer->active_ms = -1;
    consumer->parts = NULL;
    raxInit(&consumer->pending);
    bool added = raxInsert(&g->consumers, name, consumer, NULL);
    serverAssert(added);
    return consumer;
}

void streamConsumerDelete(struct streamGroup *g, struct streamConsumer *consumer) {
    struct raxIterator it;
    raxStart(&it, &consumer->pending);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        if (g->parts) streamPartsKeepNack(g, streamKeyID(it.key), it.value);
        raxRemove(&g->pending, it.key, NULL);
        zfree(it.value);
    }
    raxStop(&it);
    raxRemove(&g->consumers, sdsview(consumer->name), NULL);
    if (consumer->parts)
        streamPartsTakeConsumer(consumer);
    else
        streamConsumerFree(consumer);
}

/* ---- Pending entries ---- */

struct streamNack *streamPendingFind(struct streamGroup *g, struct streamID id) {
    struct streamKey key = streamKeyOf(id);
    void *nack = NULL;
    raxFind(&g->pending, streamKeyView(&key), &nack);
    return nack;
}

void streamPendingAssign(struct streamGroup *g, struct streamID id, struct streamNack *nack,
                         struct streamConsumer *consumer) {
    struct streamKey key = streamKeyOf(id);
    if (g->parts) streamPartsKeepNack(g, id, nack);
    if (nack->consumer == consumer) return;
    if (g->parts) streamPartsNackMoves(nack->consumer, consumer, id);
    bool had = raxRemove(&nack->consumer->pending, streamKeyView(&key), NULL);
    bool fresh = raxInsert(&consumer->pending, streamKeyView(&key), nack, NULL);
    serverAssert(had && fresh); /* each entry is pending for one consumer */
    nack->consumer = consumer;
}

struct streamNack *streamPendingSet(struct streamGroup *g, struct streamID id,
                                    struct streamConsumer *consumer, int64_t now_ms) {
    struct streamKey key = streamKeyOf(id);
    struct streamNack *nack = streamPendingFind(g, id);
    if (nack) {
        streamPendingAssign(g, id, nack, consumer);
    } else {
        if (g->parts) streamPartsNackAdded(g, consumer, id);
        nack = zmalloc(sizeof *nack);
        nack->consumer = consumer;
        nack->delivered_ms = INT64_MAX;
        raxInsert(&g->pending, streamKeyView(&key), nack, NULL);
        raxInsert(&consumer->pending, streamKeyView(&key), nack, NULL);
    }
    streamPendingDelivered(g, id, nack, now_ms);
    nack->deliveries = 1;
    return nack;
}

bool streamPendingRemove(struct streamGroup *g, struct streamID id) {
    struct streamKey key = streamKeyOf(id);
    void *p;
    if (!raxRemove(&g->pending, streamKeyView(&key), &p)) return false;
    struct streamNack *nack = p;
    if (g->parts) {
        streamPartsKeepNack(g, id, nack);
        streamPartsNackMoves(nack->consumer, NULL, id);
    }
    bool had = raxRemove(&nack->consumer->pending, streamKeyView(&key), NULL);
    serverAssert(had);
    zfree(nack);
    return true;
}

/* ---- Position of a group ----
 *
 * "Entries read" is a position in the sequence of all entries ever added. It follows from an ID at both ends
 * of the stream and, as long as nothing was deleted after a known position, by counting. Clients may set it
 * to anything, so sums wrap around. */

/* Whether entries after `id` may have been deleted. Only the highest ID ever deleted is known. */
static bool streamGroupGapBehind(const struct stream *s, struct streamID id) {
    if (!s->length || streamIDIsZero(s->max_deleted_id)) return false;
    return streamIDCompare(id, s->max_deleted_id) <= 0;
}

static int64_t streamGroupPositionOf(const struct stream *s, struct streamID id) {
    int64_t added = (int64_t)s->entries_added;
    if (!added) return 0;
    int to_last = streamIDCompare(id, s->last_id);
    if (!s->length && to_last < 0) return added;
    if (!to_last) return added;
    if (to_last > 0) return STREAM_READ_UNKNOWN;
    int to_first = streamIDCompare(id, s->first_id);
    bool whole = streamIDCompare(s->max_deleted_id, s->first_id) < 0;
    bool behind_gaps = streamIDIsZero(id) || streamIDCompare(id, s->max_deleted_id) >= 0;
    if (!whole || !behind_gaps || to_first > 0) return STREAM_READ_UNKNOWN;
    return (int64_t)(s->entries_added - s->length + (to_first == 0));
}

void streamGroupAdvance(struct stream *s, struct streamGroup *g, struct streamID id) {
    bool in_sequence = streamIDCompare(g->last_id, s->first_id) >= 0 && !streamGroupGapBehind(s, g->last_id);
    if (g->entries_read != STREAM_READ_UNKNOWN && in_sequence)
        g->entries_read = (int64_t)((uint64_t)g->entries_read + 1);
    else if (s->entries_added)
        g->entries_read = streamGroupPositionOf(s, id);
    g->last_id = id;
}

bool streamGroupLag(struct stream *s, const struct streamGroup *g, int64_t *lag) {
    int64_t read = g->entries_read;
    *lag = 0;
    if (!s->entries_added) return true;
    if (read == STREAM_READ_UNKNOWN || streamGroupGapBehind(s, g->last_id))
        read = streamGroupPositionOf(s, g->last_id);
    *lag = (int64_t)(s->entries_added - (uint64_t)read);
    return read != STREAM_READ_UNKNOWN;
}

/* ---- Groups ---- */

struct streamGroup *streamGroupFind(struct stream *s, struct str name) {
    void *group = NULL;
    raxFind(&s->groups, name, &group);
    return group;
}

struct streamGroup *streamGroupCreate(struct stream *s, struct str name, struct streamID id,
                                      int64_t entries_read) {
    if (streamGroupFind(s, name)) return NULL;
    struct streamGroup *g = zmalloc(sizeof *g);
    g->last_id = id;
    g->entries_read = entries_read;
    g->due = NULL;
    g->parts = NULL;
    raxInit(&g->pending);
    raxInit(&g->consumers);
    raxInsert(&s->groups, name, g, NULL);
    return g;
}

void streamGroupFree(struct streamGroup *g) {
    raxDestroy(&g->consumers, streamGroupFreeConsumer);
    raxDestroy(&g->pending, zfree);
    streamDueDrop(g);
    zfree(g);
}

bool streamGroupDestroy(struct stream *s, struct str name) {
    void *p;
    if (!raxRemove(&s->groups, name, &p)) return false;
    struct streamGroup *g = p;
    if (g->parts)
        streamPartsTakeGroup(g);
    else
        streamGroupFree(g);
    return true;
}

struct streamGroup *streamGroupDup(struct streamGroup *g) {
    struct streamGroup *copy = zmalloc(sizeof *copy);
    struct raxIterator it;
    copy->last_id = g->last_id;
    copy->entries_read = g->entries_read;
    copy->due = NULL;
    copy->parts = NULL;
    raxInit(&copy->pending);
    raxInit(&copy->consumers);
    raxStart(&it, &g->consumers);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        struct streamConsumer *from = it.value, *to = streamConsumerCreate(copy, it.key, from->seen_ms);
        to->active_ms = from->active_ms;
    }
    raxStop(&it);
    raxStart(&it, &g->pending);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        struct streamNack *from = it.value;
        struct streamConsumer *consumer = streamConsumerFind(copy, sdsview(from->consumer->name));
        streamPendingSet(copy, streamKeyID(it.key), consumer, from->delivered_ms)->deliveries =
            from->deliveries;
    }
    raxStop(&it);
    return copy;
}
