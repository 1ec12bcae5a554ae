/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_parts_write.c - what the parts of a large stream are (part of stream_parts.h).
 *
 * In RDB the order is that of stream_rdb.c: nodes, counters, and for each group what is pending in it, then
 * for each of its consumers what is pending for it.
 *
 * As commands, what is pending is gone through twice: first for the IDs that are no longer in the stream, as
 * placeholders for them are added among the entries; then, when the entries are written, for claiming. */
#include "base/zmalloc.h"
#include "data/rdb/rdb.h"
#include "data/rdb/rewrite.h"
#include "types/stream/stream_parts_private.h"
#include "types/stream/stream_rdb.h"

#define PART_BYTES    4096
#define PART_SEARCHES 16 /* of IDs in nodes */

sds streamPartsEncodeRecords(struct largeValue *v, const struct object *o) {
    const struct rioWriter *like = largeValueWriter(v);
    struct rioWriter w;
    sds bytes = sdsempty();
    rioWriterInit(&w, rioSinkSds, &bytes);
    w.version = like->version;
    w.strict = like->strict;
    w.plain_strings = like->plain_strings;
    if (v->commands)
        streamRdbRewriteIdempotence(&w, v->key, o);
    else
        streamRdbWriteIdempotence(&w, o);
    rioFlush(&w);
    rioWriterFree(&w);
    return bytes;
}

/* ---- A part of a walk ---- */

typedef void streamPartsWriteFn(struct largeValue *v, struct streamWalkStep *step, void *priv);

/* Writes the next part. Returns false when there was nothing more. */
static bool streamPartsWritePart(struct largeValue *v, struct streamWalk *walk, const struct rax *live,
                                 streamPartsWriteFn *write, void *priv) {
    struct streamWalkStep step;
    struct rioWriter *w = largeValueWriter(v);
    uint64_t end = rioWritten(w) + PART_BYTES;
    bool more = true;
    if (walk->done) return false;
    streamWalkOpen(&step, walk, live, walk->from);
    while (!walk->done && more && rioWritten(w) < end) {
        more = streamWalkNext(&step);
        if (!more) break;
        write(v, &step, priv);
        streamWalkWritten(&step);
    }
    streamWalkClose(&step);
    if (!more || walk->done) streamWalkEnd(walk);
    return !walk->done;
}

/* ---- RDB ---- */

static void streamPartsWriteNode(struct largeValue *v, struct streamWalkStep *step, void *priv) {
    (void)priv;
    streamRdbWriteNode(largeValueWriter(v), streamKeyView(&step->key), step->value);
    if (step->is_image) nodeFree(step->value);
}

static bool streamPartsSaveNodes(struct largeValue *v, struct streamParts *p) {
    const struct stream *s = v->container;
    return streamPartsWritePart(v, &p->nodes, &s->nodes, streamPartsWriteNode, NULL);
}

static bool streamPartsSaveCounters(struct largeValue *v, struct streamParts *p) {
    streamRdbWriteCounters(largeValueWriter(v), &p->start);
    return false;
}

static void streamPartsWriteNack(struct largeValue *v, struct streamWalkStep *step, void *priv) {
    (void)priv;
    struct rioWriter *w = largeValueWriter(v);
    if (step->is_image) {
        struct streamNackImage *image = step->value;
        streamRdbWriteNack(w, streamKeyView(&step->key), image->delivered_ms, image->deliveries);
        zfree(image);
    } else {
        const struct streamNack *nack = step->value;
        streamRdbWriteNack(w, streamKeyView(&step->key), nack->delivered_ms, nack->deliveries);
    }
}

static void streamPartsWriteID(struct largeValue *v, struct streamWalkStep *step, void *priv) {
    (void)priv;
    rioWriteStr(largeValueWriter(v), streamKeyView(&step->key));
}

/* Returns false when all that is pending in the group has been written. */
static bool streamPartsSavePending(struct largeValue *v, struct streamGroupParts *gp) {
    struct rioWriter *w = largeValueWriter(v);
    if (!gp->pending.begun)
        streamRdbWriteGroupHead(w, sdsview(gp->name), gp->last_id, gp->entries_read, gp->pending.left);
    gp->pending.begun = true;
    if (streamPartsWritePart(v, &gp->pending, &gp->group->pending, streamPartsWriteNack, NULL)) return true;
    rdbWriteLen(w, gp->consumer_count);
    return false;
}

static bool streamPartsSaveConsumer(struct largeValue *v, struct streamConsumerParts *cp) {
    if (!cp->pending.begun)
        streamRdbWriteConsumerHead(largeValueWriter(v), sdsview(cp->consumer->name), cp->seen_ms,
                                   cp->active_ms, cp->pending.left);
    cp->pending.begun = true;
    return streamPartsWritePart(v, &cp->pending, &cp->consumer->pending, streamPartsWriteID, NULL);
}

static bool streamPartsSaveGroups(struct largeValue *v, struct streamParts *p) {
    if (p->group == p->group_count) return false;
    struct streamGroupParts *gp = &p->groups[p->group];
    bool more = p->consumer ? streamPartsSaveConsumer(v, &gp->consumers[p->consumer - 1])
                            : streamPartsSavePending(v, gp);
    if (!more && p->consumer++ == gp->consumer_count) {
        p->group++;
        p->consumer = 0;
    }
    return true;
}

static bool streamPartsWriteRecords(struct largeValue *v, struct streamParts *p) {
    rioWriteStr(largeValueWriter(v), sdsview(p->records));
    return false;
}

/* ---- Commands ---- */

/* Makes a stream of one node that is searched or iterated. */
static struct stream streamPartsOneNode(struct streamNode *node, struct streamID id) {
    return (struct stream){.tail = node, .tail_id = id, .length = 1, .last_id = STREAM_ID_MAX};
}

static bool streamPartsExisted(const struct largeValue *v, struct streamParts *p, struct streamID id) {
    struct streamID node_id;
    struct streamNode *node = p->nodes.done ? NULL : streamWalkNodeBefore(p, v->container, id, &node_id);
    if (!node) return false;
    struct stream one = streamPartsOneNode(node, node_id);
    return streamExists(&one, id);
}

static bool streamPartsFindMissing(struct largeValue *v, struct streamParts *p) {
    struct streamWalkStep step;
    if (p->group == p->group_count) {
        p->group = 0;
        return false;
    }
    struct streamGroupParts *gp = &p->groups[p->group];
    int left = PART_SEARCHES;
    streamWalkOpen(&step, &gp->pending, &gp->group->pending, p->found_up_to);
    while (left && !gp->pending.done && streamWalkNext(&step)) {
        if (!streamPartsExisted(v, p, step.id)) raxInsert(&p->missing, streamKeyView(&step.key), NULL, NULL);
        p->found_up_to = step.id;
        left = streamIDNext(&p->found_up_to) ? left - 1 : -1;
    }
    streamWalkClose(&step);
    if (!left) return true;
    p->found_up_to = STREAM_ID_MIN;
    p->group++;
    return true;
}

static void streamPartsRewriteNode(struct largeValue *v, struct streamWalkStep *step, void *priv) {
    struct streamParts *p = priv;
    struct stream one = streamPartsOneNode(step->value, step->id);
    streamRdbRewriteEntries(largeValueWriter(v), v->key, &one, &p->missing, &p->next_missing);
    if (step->is_image) nodeFree(step->value);
}

/* Writes some of the placeholders up to `last`. Returns false when there are no more. */
static bool streamPartsRewritePlaceholders(struct largeValue *v, struct streamParts *p,
                                           struct streamID last) {
    struct rioWriter *w = largeValueWriter(v);
    uint64_t end = rioWritten(w) + PART_BYTES;
    struct streamKey from = streamKeyOf(p->next_missing);
    struct raxIterator it;
    raxStart(&it, &p->missing);
    bool more = !p->missing_done && raxSeek(&it, ">=", streamKeyView(&from));
    for (; more && rioWritten(w) < end; more = raxNext(&it)) {
        struct streamID id = streamKeyID(it.key);
        if (streamIDCompare(id, last) > 0) break;
        streamRdbRewritePlaceholder(w, v->key, id);
        p->next_missing = id;
        p->missing_done = !streamIDNext(&p->next_missing);
    }
    raxStop(&it);
    return more && rioWritten(w) >= end;
}

/* Returns the ID of the next node that is to be written; the highest one when there is none. */
static struct streamID streamPartsNextNode(const struct largeValue *v, struct streamParts *p) {
    const struct stream *s = v->container;
    struct streamWalkStep step;
    if (p->nodes.done) return STREAM_ID_MAX;
    streamWalkOpen(&step, &p->nodes, &s->nodes, p->nodes.from);
    struct streamID id = streamWalkNext(&step) ? step.id : STREAM_ID_MAX;
    streamWalkClose(&step);
    return id;
}

static bool streamPartsRewriteNodes(struct largeValue *v, struct streamParts *p) {
    const struct stream *s = v->container;
    if (streamPartsRewritePlaceholders(v, p, streamPartsNextNode(v, p))) return true;
    return streamPartsWritePart(v, &p->nodes, &s->nodes, streamPartsRewriteNode, p);
}

static bool streamPartsRewriteLastPlaceholders(struct largeValue *v, struct streamParts *p) {
    if (streamPartsRewritePlaceholders(v, p, STREAM_ID_MAX)) return true;
    if (!p->start.length && !p->missing.size)
        streamRdbRewriteEmpty(largeValueWriter(v), v->key, p->start.last_id);
    return false;
}

static void streamPartsRewriteNack(struct largeValue *v, struct streamWalkStep *step, void *priv) {
    const struct streamGroupParts *gp = priv;
    struct streamNackImage one, *image = step->is_image ? step->value : &one;
    if (!step->is_image) {
        const struct streamNack *nack = step->value;
        one = (struct streamNackImage){nack->delivered_ms, nack->deliveries, nack->consumer};
    }
    streamRdbRewriteClaim(largeValueWriter(v), v->key, sdsview(gp->name), sdsview(image->consumer->name),
                          step->id, image->delivered_ms, image->deliveries);
    if (step->is_image) zfree(image);
}

static bool streamPartsRewriteGroups(struct largeValue *v, struct streamParts *p) {
    struct rioWriter *w = largeValueWriter(v);
    if (p->group == p->group_count) return false;
    struct streamGroupParts *gp = &p->groups[p->group];
    if (!p->consumer) streamRdbRewriteGroupHead(w, v->key, sdsview(gp->name), gp->last_id, gp->entries_read);
    for (int left = PART_SEARCHES; left && p->consumer < gp->consumer_count; left--)
        streamRdbRewriteConsumer(w, v->key, sdsview(gp->name),
                                 sdsview(gp->consumers[p->consumer++].consumer->name));
    if (p->consumer < gp->consumer_count) return true;
    if (streamPartsWritePart(v, &gp->pending, &gp->group->pending, streamPartsRewriteNack, gp)) {
        p->consumer = gp->consumer_count + 1;
        return true;
    }
    p->group++;
    p->consumer = 0;
    return true;
}

static bool streamPartsTrimPlaceholders(struct largeValue *v, struct streamParts *p) {
    streamRdbTrimPlaceholders(largeValueWriter(v), v->key, &p->start, &p->missing);
    p->next_missing = p->start.first_id;
    return false;
}

static bool streamPartsDeletePlaceholders(struct largeValue *v, struct streamParts *p) {
    struct rioWriter *w = largeValueWriter(v);
    uint64_t end = rioWritten(w) + PART_BYTES;
    struct streamKey from = streamKeyOf(p->next_missing);
    struct raxIterator it;
    raxStart(&it, &p->missing);
    bool more = p->start.length && raxSeek(&it, ">", streamKeyView(&from));
    for (; more && rioWritten(w) < end; more = raxNext(&it)) {
        p->next_missing = streamKeyID(it.key);
        streamRdbDeletePlaceholder(w, v->key, p->next_missing);
    }
    raxStop(&it);
    return more;
}

static bool streamPartsRewriteCounters(struct largeValue *v, struct streamParts *p) {
    streamRdbRewriteCounters(largeValueWriter(v), v->key, &p->start);
    return false;
}

streamPartsStage *const stream_parts_save[] = {streamPartsSaveNodes, streamPartsSaveCounters,
                                               streamPartsSaveGroups, streamPartsWriteRecords, NULL};
streamPartsStage *const stream_parts_rewrite[] = {
    streamPartsFindMissing,     streamPartsRewriteNodes,     streamPartsRewriteLastPlaceholders,
    streamPartsRewriteGroups,   streamPartsTrimPlaceholders, streamPartsDeletePlaceholders,
    streamPartsRewriteCounters, streamPartsWriteRecords,     NULL};
