/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_parts.c - see stream_private.h: registration, reports, and the order of what is written. */
#include "base/assert.h"
#include "base/zmalloc.h"
#include "data/rdb/rdb.h"
#include "types/stream/stream_idmp.h"
#include "types/stream/stream_parts_private.h"
#include "types/stream/stream_private.h"

/* At the default size they are as many bytes as a value may have that is not large. */
#define LARGE_NODES 64

/* An image that says only that there is one. */
static uint64_t stream_parts_mark;

/* ---- Walks ---- */

static void streamWalkInit(struct streamWalk *walk, uint64_t count, struct streamID last) {
    raxInit(&walk->early);
    walk->from = STREAM_ID_MIN;
    walk->last = last;
    walk->left = count;
    walk->begun = false;
    walk->done = !count;
}

/* Whether the element is still to be written and has no image. */
static bool streamWalkNeeds(const struct streamWalk *walk, struct streamID id) {
    struct streamKey key = streamKeyOf(id);
    if (walk->done || streamIDCompare(id, walk->from) < 0 || streamIDCompare(id, walk->last) > 0)
        return false;
    return !raxFind(&walk->early, streamKeyView(&key), NULL);
}

static void streamWalkNote(struct streamWalk *walk, struct streamID id, void *image) {
    struct streamKey key = streamKeyOf(id);
    raxInsert(&walk->early, streamKeyView(&key), image, NULL);
}

/* Images of what `done` hides may be left only when the value is given up. */
static void streamWalkDestroy(struct streamWalk *walk, void (*freeImage)(void *image)) {
    struct raxIterator it;
    raxStart(&it, &walk->early);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        if (it.value && freeImage) freeImage(it.value);
    raxStop(&it);
    raxDestroy(&walk->early, NULL);
}

void streamWalkOpen(struct streamWalkStep *step, struct streamWalk *walk, const struct rax *live,
                    struct streamID from) {
    struct streamKey key = streamKeyOf(from);
    step->walk = walk;
    raxStart(&step->live, live);
    raxStart(&step->early, &walk->early);
    step->in_live = raxSeek(&step->live, ">=", streamKeyView(&key));
    step->in_early = raxSeek(&step->early, ">=", streamKeyView(&key));
}

bool streamWalkNext(struct streamWalkStep *step) {
    while (step->in_live || step->in_early) {
        int order = !step->in_live ? 1 : !step->in_early ? -1 : strCmp(step->live.key, step->early.key);
        const struct raxIterator *at = order < 0 ? &step->live : &step->early;
        step->is_image = order >= 0;
        step->value = at->value;
        step->id = streamKeyID(at->key);
        step->key = streamKeyOf(step->id);
        if (order <= 0) step->in_live = raxNext(&step->live);
        if (order >= 0) step->in_early = raxNext(&step->early);
        if (streamIDCompare(step->id, step->walk->last) > 0) return false;
        if (step->value || !step->is_image) return true;
    }
    return false;
}

void streamWalkWritten(struct streamWalkStep *step) {
    struct streamWalk *walk = step->walk;
    serverAssert(walk->left);
    walk->left--;
    if (step->is_image) raxRemove(&walk->early, streamKeyView(&step->key), NULL);
    walk->from = step->id;
    walk->done = !streamIDNext(&walk->from);
}

void streamWalkClose(struct streamWalkStep *step) {
    raxStop(&step->live);
    raxStop(&step->early);
}

void streamWalkEnd(struct streamWalk *walk) {
    serverAssert(!walk->left);
    walk->done = true;
    raxDestroy(&walk->early, NULL); /* only new elements are left */
}

struct streamNode *streamWalkNodeBefore(struct streamParts *p, const struct stream *s, struct streamID id,
                                        struct streamID *node_id) {
    struct streamID last = p->nodes.last;
    struct streamKey key = streamKeyOf(streamIDCompare(id, last) < 0 ? id : last);
    struct raxIterator live, early;
    struct streamNode *node = NULL;
    raxStart(&live, &s->nodes);
    raxStart(&early, &p->nodes.early);
    bool in_live = raxSeek(&live, "<=", streamKeyView(&key));
    while (in_live && raxFind(&p->nodes.early, live.key, NULL)) in_live = raxPrev(&live);
    bool in_early = raxSeek(&early, "<=", streamKeyView(&key));
    while (in_early && !early.value) in_early = raxPrev(&early);
    if (in_live || in_early) {
        bool image = !in_live || (in_early && strCmp(early.key, live.key) > 0);
        node = image ? early.value : live.value;
        *node_id = streamKeyID(image ? early.key : live.key);
    }
    raxStop(&live);
    raxStop(&early);
    return node;
}

/* ---- Reports: nodes ---- */

void streamPartsKeepNode(struct stream *s, struct streamID id, const struct streamNode *n) {
    struct streamWalk *walk = &s->parts->nodes;
    if (streamWalkNeeds(walk, id)) streamWalkNote(walk, id, nodeCopy(n));
}

bool streamPartsTakeNode(struct stream *s, struct streamID id, struct streamNode *n) {
    struct streamWalk *walk = &s->parts->nodes;
    bool needed = streamWalkNeeds(walk, id);
    if (needed) streamWalkNote(walk, id, n);
    return needed;
}

/* XSETID may have set the last ID back, so that the node comes before others that are not written yet. */
void streamPartsNodeAdded(struct stream *s, struct streamID id) {
    struct streamWalk *walk = &s->parts->nodes;
    if (streamWalkNeeds(walk, id)) streamWalkNote(walk, id, NULL);
}

/* ---- Reports: groups ---- */

void streamPartsKeepNack(struct streamGroup *g, struct streamID id, const struct streamNack *nack) {
    struct streamWalk *walk = &g->parts->pending;
    if (!streamWalkNeeds(walk, id)) return;
    struct streamNackImage *image = zmalloc(sizeof *image);
    *image = (struct streamNackImage){nack->delivered_ms, nack->deliveries, nack->consumer};
    streamWalkNote(walk, id, image);
}

static void streamPartsConsumerChanges(struct streamConsumer *consumer, struct streamID id, void *image) {
    if (!consumer || !consumer->parts) return;
    struct streamWalk *walk = &consumer->parts->pending;
    if (streamWalkNeeds(walk, id)) streamWalkNote(walk, id, image);
}

void streamPartsNackMoves(struct streamConsumer *from, struct streamConsumer *to, struct streamID id) {
    streamPartsConsumerChanges(from, id, &stream_parts_mark);
    streamPartsConsumerChanges(to, id, NULL);
}

void streamPartsNackAdded(struct streamGroup *g, struct streamConsumer *consumer, struct streamID id) {
    if (streamWalkNeeds(&g->parts->pending, id)) streamWalkNote(&g->parts->pending, id, NULL);
    streamPartsConsumerChanges(consumer, id, NULL);
}

void streamPartsTakeGroup(struct streamGroup *g) {
    g->parts->owned = true;
}

void streamPartsTakeConsumer(struct streamConsumer *consumer) {
    consumer->parts->owned = true;
}

/* ---- Registration ---- */

static size_t streamPartsNameBytes(const struct rax *names) {
    struct raxIterator it;
    size_t bytes = 0;
    raxStart(&it, names);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) bytes += it.key.len;
    raxStop(&it);
    return bytes;
}

/* Looks at no more nodes, groups or consumers than a value may have that is not large. Streams with
 * idempotence records count as large: directives, which the snapshot's thread cannot read, decide how they
 * are saved. */
static bool streamPartsIsLarge(const struct object *o) {
    const struct stream *s = streamOpen(o);
    struct raxIterator it;
    size_t n = s->length, bytes = 0;
    if (idmpOpen(o) || streamNodes(s) > LARGE_NODES || s->groups.size > LARGE_VALUE_ELEMENTS) return true;
    raxStart(&it, &s->nodes);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        bytes += ((const struct streamNode *)it.value)->bytes;
    raxStop(&it);
    raxStart(&it, &s->groups);
    for (bool more = raxSeek(&it, "^", STR("")); more && n <= LARGE_VALUE_ELEMENTS; more = raxNext(&it)) {
        const struct streamGroup *g = it.value;
        n += g->pending.size + g->consumers.size;
        bytes += it.key.len;
        if (n <= LARGE_VALUE_ELEMENTS) bytes += streamPartsNameBytes(&g->consumers);
    }
    raxStop(&it);
    return n > LARGE_VALUE_ELEMENTS || bytes > LARGE_VALUE_BYTES;
}

static void streamPartsBeginConsumer(const struct largeValue *v, struct streamConsumerParts *cp,
                                     struct streamConsumer *consumer) {
    *cp = (struct streamConsumerParts){
        .consumer = consumer, .seen_ms = consumer->seen_ms, .active_ms = consumer->active_ms};
    streamWalkInit(&cp->pending, v->commands ? 0 : consumer->pending.size, STREAM_ID_MAX);
    consumer->parts = cp;
}

static void streamPartsBeginGroup(const struct largeValue *v, struct streamGroupParts *gp, struct str name,
                                  struct streamGroup *g) {
    struct raxIterator it;
    *gp = (struct streamGroupParts){
        .group = g, .name = sdsnewstr(name), .last_id = g->last_id, .entries_read = g->entries_read};
    streamWalkInit(&gp->pending, g->pending.size, STREAM_ID_MAX);
    gp->consumers = zmalloc((g->consumers.size + 1) * sizeof *gp->consumers);
    raxStart(&it, &g->consumers);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        streamPartsBeginConsumer(v, &gp->consumers[gp->consumer_count++], it.value);
    raxStop(&it);
    g->parts = gp;
}

/* Returns the highest ID of a node. Where XSETID has set the last ID back while there was a node without
 * entries, it is not the tail's. */
static struct streamID streamPartsLastNode(const struct stream *s) {
    struct raxIterator it;
    struct streamID last = s->tail_id;
    raxStart(&it, &s->nodes);
    if (raxSeek(&it, "$", STR("")) && streamIDCompare(streamKeyID(it.key), last) > 0)
        last = streamKeyID(it.key);
    raxStop(&it);
    return last;
}

/* O(groups, consumers, idempotence records) */
static void streamPartsBegin(struct largeValue *v, const struct object *o) {
    struct stream *s = streamOpen(o);
    struct streamParts *p = zcalloc(1, sizeof *p);
    struct raxIterator it;
    p->start = *s;
    p->stage = v->commands ? stream_parts_rewrite : stream_parts_save;
    raxInit(&p->missing);
    streamWalkInit(&p->nodes, streamNodes(s), streamPartsLastNode(s));
    if (s->tail) streamWalkNote(&p->nodes, s->tail_id, nodeCopy(s->tail));
    p->groups = zmalloc((s->groups.size + 1) * sizeof *p->groups);
    raxStart(&it, &s->groups);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        streamPartsBeginGroup(v, &p->groups[p->group_count++], it.key, it.value);
    raxStop(&it);
    p->records = streamPartsEncodeRecords(v, o);
    if (!v->commands) rdbWriteLen(largeValueWriter(v), streamNodes(s));
    v->state = s->parts = p;
}

static bool streamPartsNext(struct largeValue *v) {
    struct streamParts *p = v->state;
    if (!(*p->stage)(v, p)) p->stage++;
    return *p->stage;
}

/* ---- End ---- */

static void streamPartsFreeNode(void *image) {
    nodeFree(image);
}

static void streamPartsEndConsumer(struct streamConsumerParts *cp) {
    streamWalkDestroy(&cp->pending, NULL);
    cp->consumer->parts = NULL;
    if (cp->owned) streamConsumerFree(cp->consumer);
}

static void streamPartsEndGroup(struct streamGroupParts *gp) {
    for (size_t i = 0; i < gp->consumer_count; i++) streamPartsEndConsumer(&gp->consumers[i]);
    zfree(gp->consumers);
    streamWalkDestroy(&gp->pending, zfree);
    gp->group->parts = NULL;
    if (gp->owned) streamGroupFree(gp->group);
    sdsfree(gp->name);
}

static void streamPartsEnd(struct largeValue *v, bool complete) {
    struct streamParts *p = v->state;
    (void)complete;
    for (size_t i = 0; i < p->group_count; i++) streamPartsEndGroup(&p->groups[i]);
    zfree(p->groups);
    streamWalkDestroy(&p->nodes, streamPartsFreeNode);
    raxDestroy(&p->missing, NULL);
    sdsfree(p->records);
    ((struct stream *)v->container)->parts = NULL;
    zfree(p);
}

/* Old nodes count with the size at which new ones are begun by default. */
static size_t streamPartsKeptBytes(const struct largeValue *v) {
    const struct streamParts *p = v->state;
    size_t n = p->nodes.early.bytes + p->nodes.early.size * (LARGE_VALUE_BYTES / LARGE_NODES);
    for (size_t i = 0; i < p->group_count; i++) {
        const struct rax *early = &p->groups[i].pending.early;
        n += early->bytes + early->size * sizeof(struct streamNackImage);
    }
    return n;
}

const struct valueParts *streamPartsOf(const struct object *o) {
    static const struct valueParts parts = {.isLarge = streamPartsIsLarge,
                                            .begin = streamPartsBegin,
                                            .next = streamPartsNext,
                                            .end = streamPartsEnd,
                                            .keptBytes = streamPartsKeptBytes};
    (void)o;
    return &parts;
}
