/* SPDX-License-Identifier: BSD-3-Clause */
/* stream.c - streams as a sequence of nodes: adding, removing, trimming, iterating; see stream.h. */
#include "types/stream/stream.h"

#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "types/stream/stream_node.h"
#include "types/types.h"

int64_t stream_node_max_bytes, stream_node_max_entries;

/* ---- Life ---- */

struct stream *streamNew(void) {
    struct stream *s = zcalloc(1, sizeof *s);
    raxInit(&s->nodes);
    raxInit(&s->groups);
    return s;
}

static void streamFreeNode(void *node) {
    nodeFree(node);
}

static void streamFreeGroup(void *group) {
    streamGroupFree(group);
}

void streamFree(struct stream *s) {
    debugAssert(!s->parts);
    raxDestroy(&s->nodes, streamFreeNode);
    raxDestroy(&s->groups, streamFreeGroup);
    if (s->tail) nodeFree(s->tail);
    zfree(s);
}

struct stream *streamDup(struct stream *s) {
    struct stream *copy = zmalloc(sizeof *copy);
    struct raxIterator it;
    *copy = *s;
    copy->parts = NULL;
    raxInit(&copy->nodes);
    raxInit(&copy->groups);
    if (s->tail) copy->tail = nodeCopy(s->tail);
    raxStart(&it, &s->nodes);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        raxInsert(&copy->nodes, it.key, nodeCopy(it.value), NULL);
    raxStop(&it);
    raxStart(&it, &s->groups);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        raxInsert(&copy->groups, it.key, streamGroupDup(it.value), NULL);
    raxStop(&it);
    return copy;
}

struct value streamValue(struct stream *s) {
    return valuePtr(OBJ_STREAM, 0, s);
}

/* ---- Nodes ---- */

size_t streamNodes(const struct stream *s) {
    return s->nodes.size + (s->tail != NULL);
}

/* Makes the last node of the tree the tail. */
static void streamPullTail(struct stream *s) {
    struct raxIterator it;
    s->tail = NULL;
    raxStart(&it, &s->nodes);
    if (raxSeek(&it, "$", STR(""))) {
        s->tail = it.value;
        s->tail_id = streamKeyID(it.key);
        if (s->parts) streamPartsKeepNode(s, s->tail_id, s->tail);
        raxRemove(&s->nodes, it.key, NULL);
    }
    raxStop(&it);
}

static void streamPushTail(struct stream *s) {
    struct streamKey key = streamKeyOf(s->tail_id);
    raxInsert(&s->nodes, streamKeyView(&key), nodeFit(s->tail), NULL);
    s->tail = NULL;
}

void streamAddNode(struct stream *s, struct streamID id, struct streamNode *node) {
    if (s->tail) streamPushTail(s);
    s->tail = node;
    s->tail_id = id;
}

/* Goes to the first node that may hold IDs from `id` on, or the last that may hold some up to it. */
static bool streamSeekNode(struct streamIterator *it, struct streamID id) {
    struct stream *s = it->stream;
    struct streamKey key = streamKeyOf(id);
    it->in_tail = s->tail && streamIDCompare(s->tail_id, id) <= 0;
    if (it->in_tail || raxSeek(&it->nodes, "<=", streamKeyView(&key))) return true;
    if (it->reverse) return false;
    it->in_tail = !raxSeek(&it->nodes, "^", STR(""));
    return !it->in_tail || s->tail;
}

static bool streamOtherNode(struct streamIterator *it) {
    if (it->reverse && it->in_tail) {
        it->in_tail = false;
        return raxSeek(&it->nodes, "$", STR(""));
    }
    if (it->reverse) return raxPrev(&it->nodes);
    if (it->in_tail) return false;
    it->in_tail = !raxNext(&it->nodes);
    return true; /* a stream with nodes in the tree has a tail */
}

static void streamStartNode(struct streamIterator *it) {
    it->node = it->in_tail ? it->stream->tail : it->nodes.value;
    it->node_id = it->in_tail ? it->stream->tail_id : streamKeyID(it->nodes.key);
    it->at = nodeFirstEntry(it->node);
    if (it->reverse) it->before = nodeEnd(it->node);
}

static void streamRemoveNode(struct streamIterator *it) {
    if (!it->stream->parts || !streamPartsTakeNode(it->stream, it->node_id, it->node)) nodeFree(it->node);
    if (it->in_tail)
        streamPullTail(it->stream);
    else
        raxRemove(&it->stream->nodes, it->nodes.key, NULL);
}

/* ---- Walking ---- */

/* Moves to the next entry of this node, deleted or not. */
static bool streamStepInNode(struct streamIterator *it) {
    if (it->reverse) {
        it->at = it->before = nodeEntryBefore(it->node, it->before);
        return it->at;
    }
    if (it->entry) {
        for (; it->left; it->left--) it->at = lpElementEnd(it->at); /* values that were not read */
        it->at = nodeEntryBehind(it->entry, it->at);
    }
    return it->at != nodeEnd(it->node);
}

static bool streamStepEntry(struct streamIterator *it) {
    while (!streamStepInNode(it)) {
        if (!streamOtherNode(it)) return false;
        it->entry = NULL;
        it->left = 0;
        streamStartNode(it);
    }
    return true;
}

void streamIterate(struct streamIterator *it, struct stream *s, struct streamID start, struct streamID end,
                   bool reverse) {
    it->stream = s;
    it->start = start;
    it->end = end;
    it->reverse = reverse;
    it->node = NULL;
    it->entry = it->at = it->before = NULL;
    it->left = 0;
    raxStart(&it->nodes, &s->nodes);
    if (streamSeekNode(it, reverse ? end : start)) streamStartNode(it);
}

bool streamNext(struct streamIterator *it) {
    while (it->node && streamStepEntry(it)) {
        struct nodeEntry e = nodeEntry(it->node, it->at, it->node_id);
        bool same = e.flags & ENTRY_SAME_NAMES;
        it->entry = e.start;
        it->at = e.first;
        it->left = same ? e.pairs : 2 * e.pairs;
        if (streamIDCompare(e.id, it->reverse ? it->start : it->end) * (it->reverse ? -1 : 1) > 0) break;
        if (e.flags & ENTRY_DELETED) continue;
        if (streamIDCompare(e.id, it->reverse ? it->end : it->start) * (it->reverse ? -1 : 1) < 0) continue;
        it->id = e.id;
        it->pairs = e.pairs;
        it->name = same ? it->node->first_name : NULL;
        return true;
    }
    it->node = NULL;
    return false;
}

static struct str streamReadElement(struct streamIterator *it, char *text) {
    struct str s = lpView(it->at, text);
    it->at = lpElementEnd(it->at);
    it->left--;
    return s;
}

void streamNextPair(struct streamIterator *it, struct str *field, struct str *value) {
    if (it->name) {
        *field = lpView(it->name, it->name_text);
        it->name = lpElementEnd(it->name);
    } else {
        *field = streamReadElement(it, it->name_text);
    }
    *value = streamReadElement(it, it->value_text);
}

void streamStop(struct streamIterator *it) {
    raxStop(&it->nodes);
}

/* ---- Finding ---- */

static struct streamID streamEdgeID(struct stream *s, bool last) {
    struct streamIterator it;
    streamIterate(&it, s, STREAM_ID_MIN, STREAM_ID_MAX, last);
    struct streamID id = streamNext(&it) ? it.id : STREAM_ID_MIN;
    streamStop(&it);
    return id;
}

struct streamID streamHighestID(struct stream *s) {
    return s->length ? streamEdgeID(s, true) : STREAM_ID_MIN;
}

bool streamExists(struct stream *s, struct streamID id) {
    struct streamIterator it;
    if (!s->length || streamIDCompare(id, s->first_id) < 0 || streamIDCompare(id, s->last_id) > 0)
        return false;
    streamIterate(&it, s, id, id, false);
    bool found = streamNext(&it);
    streamStop(&it);
    return found;
}

#define FINDER_STEPS 16 /* steps from the last entry before the search starts again at the tree */

void streamFinderStart(struct streamFinder *f, struct stream *s) {
    f->it = (struct streamIterator){.stream = s};
    f->open = f->on_entry = false;
}

bool streamFinderFind(struct streamFinder *f, struct streamID id) {
    int ahead = f->open ? streamIDCompare(id, f->searched_id) : -1;
    bool unread = !f->on_entry || f->it.left;
    bool near = ahead > 0 || (ahead == 0 && unread);
    for (int steps = 0; near && f->on_entry && streamIDCompare(f->it.id, id) < 0; steps++) {
        near = steps < FINDER_STEPS;
        if (near) f->on_entry = streamNext(&f->it);
    }
    if (!near) {
        struct stream *s = f->it.stream;
        streamFinderStop(f);
        streamIterate(&f->it, s, id, STREAM_ID_MAX, false);
        f->open = true;
        f->on_entry = streamNext(&f->it);
    }
    f->searched_id = id;
    return f->on_entry && !streamIDCompare(f->it.id, id);
}

void streamFinderStop(struct streamFinder *f) {
    if (f->open) streamStop(&f->it);
    f->open = false;
}

/* ---- Adding ---- */

/* Whether the last node would be too large, or have too many entries. */
static bool streamTailIsFull(const struct stream *s, size_t add) {
    size_t max_bytes = (size_t)stream_node_max_bytes;
    if (!max_bytes || max_bytes > LISTPACK_MAX_SAFETY_LIMIT) max_bytes = LISTPACK_MAX_SAFETY_LIMIT;
    if (nodePublishedBytes(s->tail) + add >= max_bytes) return true;
    return stream_node_max_entries && s->tail->entries + s->tail->deleted >= stream_node_max_entries;
}

bool streamAppend(struct stream *s, struct streamID id, const struct str *pairs, size_t count) {
    serverAssert(streamIDCompare(id, s->last_id) > 0);
    size_t bytes = 0;
    for (size_t i = 0; i < 2 * count; i++) bytes += pairs[i].len;
    if (bytes > LISTPACK_MAX_SAFETY_LIMIT) return false;
    if (s->tail && streamTailIsFull(s, bytes)) streamPushTail(s);
    if (!s->tail) {
        if (s->parts) streamPartsNodeAdded(s, id);
        s->tail = nodeNew(pairs, count);
        s->tail_id = id;
    }
    s->tail = nodeAppend(s->tail, s->tail_id, id, pairs, count);
    s->length++;
    s->entries_added++;
    s->last_id = id;
    if (s->length == 1) s->first_id = id;
    return true;
}

/* ---- Removing ---- */

void streamFixFirst(struct stream *s) {
    s->first_id = s->length ? streamEdgeID(s, false) : STREAM_ID_MIN;
}

/* Returns the next entry that is not deleted; there is one. */
static struct streamID streamNextInNode(const struct streamIterator *it) {
    struct nodeEntry e = nodeEntry(it->node, it->entry, it->node_id);
    do {
        unsigned char *p = nodeEntryEnd(&e);
        debugAssert(p != nodeEnd(it->node));
        e = nodeEntry(it->node, p, it->node_id);
    } while (e.flags & ENTRY_DELETED);
    return e.id;
}

void streamFinderDelete(struct streamFinder *f) {
    struct streamIterator *it = &f->it;
    struct stream *s = it->stream;
    struct streamID id = it->id;
    bool first = !streamIDCompare(id, s->first_id), last_of_node = it->node->entries == 1;
    s->length--;
    if (streamIDCompare(id, s->max_deleted_id) > 0) s->max_deleted_id = id;
    if (last_of_node) {
        streamRemoveNode(it);
        streamFinderStop(f);
        if (first || !s->length) streamFixFirst(s);
        return;
    }
    if (first) s->first_id = streamNextInNode(it);
    if (s->parts) streamPartsKeepNode(s, it->node_id, it->node);
    nodeMarkDeleted(it->node, it->entry);
    f->on_entry = streamNext(it);
}

bool streamDelete(struct stream *s, struct streamID id) {
    struct streamFinder f;
    streamFinderStart(&f, s);
    bool found = streamFinderFind(&f, id);
    if (found) streamFinderDelete(&f);
    streamFinderStop(&f);
    return found;
}

static bool streamTrimDone(const struct stream *s, const struct streamTrim *t, struct streamID id) {
    return t->kind == TRIM_MAXLEN ? s->length <= (uint64_t)t->maxlen : streamIDCompare(id, t->minid) >= 0;
}

/* Whether the whole node can be removed. */
static bool streamTrimCoversNode(const struct stream *s, const struct streamTrim *t,
                                 const struct streamIterator *it) {
    if (t->kind == TRIM_MAXLEN) return s->length - it->node->entries >= (uint64_t)t->maxlen;
    return streamIDCompare(nodeLastID(it->node, it->node_id), t->minid) < 0;
}

/* Removes entries of the first node one by one. When all others in it had been deleted before, an empty node
 * stays, as in other servers: what an approximate trim removes later depends on it. */
static int64_t streamTrimInNode(struct stream *s, const struct streamTrim *t, struct streamIterator *it,
                                const struct streamPick *pick) {
    int64_t removed = 0;
    for (unsigned char *p = it->at; p != nodeEnd(it->node);) {
        struct nodeEntry e = nodeEntry(it->node, p, it->node_id);
        if (streamTrimDone(s, t, e.id)) break;
        p = nodeEntryEnd(&e);
        if (e.flags & ENTRY_DELETED || (pick && !pick->pick(pick->priv, e.id))) continue;
        if (s->parts) streamPartsKeepNode(s, it->node_id, it->node);
        nodeMarkDeleted(it->node, e.start);
        s->length--;
        removed++;
    }
    return removed;
}

int64_t streamTrimTo(struct stream *s, const struct streamTrim *t) {
    int64_t removed = 0;
    while (s->tail) {
        struct streamIterator it;
        if (t->kind == TRIM_MAXLEN && s->length <= (uint64_t)t->maxlen) break;
        streamIterate(&it, s, STREAM_ID_MIN, STREAM_ID_MAX, false);
        int64_t entries = it.node->entries;
        bool over = t->limit && removed + entries > t->limit,
             whole = !over && streamTrimCoversNode(s, t, &it);
        if (whole) {
            s->length -= (uint64_t)entries;
            removed += entries;
            streamRemoveNode(&it);
        } else if (!over && !t->approximate) {
            removed += streamTrimInNode(s, t, &it, NULL);
        }
        streamStop(&it);
        if (!whole) break;
    }
    if (removed) streamFixFirst(s);
    serverAssert(t->approximate || t->kind != TRIM_MAXLEN || s->length <= (uint64_t)t->maxlen);
    return removed;
}

/* Goes to the next node, and removes this one when it is empty. Returns false when there is none. */
static bool streamTrimNextNode(struct streamIterator *it) {
    struct streamID id = it->node_id;
    if (!it->node->entries) {
        streamRemoveNode(it);
        streamStop(it);
        streamIterate(it, it->stream, id, STREAM_ID_MAX, false); /* the node before, if there is one */
        if (!it->node || streamIDCompare(it->node_id, id) > 0) return it->node;
    }
    if (!streamOtherNode(it)) return false;
    streamStartNode(it);
    return true;
}

int64_t streamTrimPicked(struct stream *s, const struct streamTrim *t, const struct streamPick *pick) {
    struct streamIterator it;
    int64_t removed = 0;
    if (t->kind == TRIM_MAXLEN && s->length <= (uint64_t)t->maxlen) return 0;
    streamIterate(&it, s, STREAM_ID_MIN, STREAM_ID_MAX, false);
    for (bool more = it.node; more;) {
        bool over = t->limit && removed + it.node->entries > t->limit,
             whole = !over && streamTrimCoversNode(s, t, &it);
        if (over) break;
        removed += streamTrimInNode(s, t, &it, pick);
        more = whole && streamTrimNextNode(&it) && streamIDCompare(it.node_id, pick->last) <= 0;
    }
    streamStop(&it);
    if (removed) streamFixFirst(s);
    return removed;
}
