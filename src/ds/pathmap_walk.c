/* SPDX-License-Identifier: BSD-3-Clause */
/* pathmap_walk.c - going over all nodes of a path map: iteration in order, defragmentation, checks.
 *
 * Paths may be as deep as they are long, so nothing recurses. The way from the root to a node is a stack of
 * frames, each a node and what comes next in it: 0: the node itself, whose path may have a value; i + 1: its
 * child i. */
#include "ds/pathmap_private.h"

struct pathmapFrame {
    struct pathmapNode *node;
    unsigned next;
};

/* ---- In any order ---- */

void pathmapWalkNodes(struct pathmapNode *from, void (*fn)(void *priv, struct pathmapNode *n), void *priv) {
    struct pathmapNode **waiting = NULL, *n = from;
    size_t count = 0, room = 0;
    while (n) {
        unsigned children = pathmapNodeChildren(n);
        if (count + children > room) {
            room = (count + children) * 2;
            waiting = zrealloc(waiting, room * sizeof(void *));
        }
        if (children) memcpy(waiting + count, pathmapNodeSlots(n), children * sizeof(void *));
        count += children;
        fn(priv, n);
        n = count ? waiting[--count] : NULL;
    }
    zfree(waiting);
}

/* ---- In order ---- */

/* Goes down to a node; it->path becomes the path that ends with its label. */
static struct pathmapFrame *pathmapWalkPush(struct pathmapIterator *it, struct pathmapNode *n) {
    if (it->depth == it->size) {
        it->size = it->size ? it->size * 2 : 16;
        it->stack = zrealloc(it->stack, it->size * sizeof(struct pathmapFrame));
    }
    it->path = sdscatlen(it->path, pathmapNodeLabelBytes(n), n->label);
    struct pathmapFrame *frame = (struct pathmapFrame *)it->stack + it->depth++;
    *frame = (struct pathmapFrame){n, 0};
    return frame;
}

static void pathmapWalkPop(struct pathmapIterator *it) {
    const struct pathmapFrame *frame = (struct pathmapFrame *)it->stack + --it->depth;
    sdssetlen(it->path, sdslen(it->path) - frame->node->label);
}

/* Moves to the next node in order, at whose path the iterator then stands. NULL: there are no more. *place is
 * where the node is, or NULL for the one at which the iteration began. */
static struct pathmapFrame *pathmapWalkNext(struct pathmapIterator *it, struct pathmapNode ***place) {
    while (it->depth) {
        struct pathmapFrame *frame = (struct pathmapFrame *)it->stack + it->depth - 1;
        *place = NULL;
        if (!frame->next++) return frame;
        if (frame->next - 2 < pathmapNodeChildren(frame->node)) {
            *place = pathmapNodeSlots(frame->node) + frame->next - 2;
            frame = pathmapWalkPush(it, **place);
            frame->next = 1;
            return frame;
        }
        pathmapWalkPop(it);
    }
    return NULL;
}

/* Goes down from a node to where the paths greater than `after` begin; `after` is what follows the text
 * before the label. */
static void pathmapWalkSeek(struct pathmapIterator *it, struct pathmapNode *n, struct str after) {
    for (;;) {
        struct str label = pathmapNodeLabel(n);
        struct pathmapFrame *frame;
        if (!strStarts(after, label)) {
            if (strCmp(label, after) > 0) pathmapWalkPush(it, n);
            return;
        }
        frame = pathmapWalkPush(it, n);
        after = pathmapSkip(after, label.len);
        frame->next = 1;
        if (!after.len) return;
        unsigned rank = pathmapNodeRank(n, (uint8_t)*after.ptr);
        struct pathmapNode **child = pathmapNodeFindChild(n, (uint8_t)*after.ptr);
        frame->next += rank + (child != NULL);
        if (!child) return;
        n = *child;
    }
}

void pathmapIterate(struct pathmapIterator *it, const struct pathmap *map, struct str prefix,
                    const struct str *after) {
    *it = (struct pathmapIterator){.map = map, .prefix = prefix, .path = sdsempty()};
    struct pathmapNode *n = map->root;
    struct str rest = prefix;
    while (n && !strStarts(pathmapNodeLabel(n), rest)) {
        if (!strStarts(rest, pathmapNodeLabel(n))) return;
        rest = pathmapSkip(rest, n->label);
        struct pathmapNode **child = pathmapNodeFindChild(n, (uint8_t)*rest.ptr);
        n = child ? *child : NULL;
    }
    if (!n) return;
    struct str above = strN(prefix.ptr, prefix.len - rest.len);
    it->path = sdscatlen(it->path, above.ptr, above.len);
    if (!after)
        pathmapWalkPush(it, n);
    else if (strStarts(*after, above))
        pathmapWalkSeek(it, n, pathmapSkip(*after, above.len));
    else if (strCmp(*after, above) < 0)
        pathmapWalkPush(it, n);
}

void **pathmapNext(struct pathmapIterator *it) {
    struct pathmapNode **place;
    const struct pathmapFrame *frame;
    while ((frame = pathmapWalkNext(it, &place)))
        if (pathmapNodeHasValue(frame->node)) return pathmapNodeValue(frame->node);
    return NULL;
}

void pathmapStop(struct pathmapIterator *it) {
    sdsfree(it->path);
    zfree(it->stack);
    it->path = NULL;
    it->stack = NULL;
    it->depth = it->size = 0;
}

/* ---- Defragmentation ---- */

/* Offers an allocation of the map; returns where it is now. */
static void *pathmapWalkOffer(struct pathmap *map, void *p, zmoveFn *move, void *priv) {
    size_t was = zmallocSize(p);
    void *now = move(priv, p);
    if (!now) return p;
    map->memory += zmallocSize(now) - was;
    return now;
}

bool pathmapDefrag(struct pathmap **map, sds *cursor, size_t budget, zmoveFn *move,
                   void (*value)(void *priv, void **place), void *priv) {
    struct str after = *cursor ? sdsview(*cursor) : STR("");
    struct pathmapIterator it;
    struct pathmapFrame *frame;
    struct pathmapNode **place;
    if (!*cursor) {
        struct pathmap *now = move(priv, *map);
        if (now) *map = now;
        if ((*map)->root) (*map)->root = pathmapWalkOffer(*map, (*map)->root, move, priv);
    }
    pathmapIterate(&it, *map, STR(""), *cursor ? &after : NULL);
    while (budget && (frame = pathmapWalkNext(&it, &place))) {
        if (place) *place = frame->node = pathmapWalkOffer(*map, frame->node, move, priv);
        if (pathmapNodeHasValue(frame->node)) value(priv, pathmapNodeValue(frame->node));
        budget--;
    }
    bool more = it.depth > 0;
    sdsfree(*cursor);
    *cursor = more ? sdsnewstr(sdsview(it.path)) : NULL;
    pathmapStop(&it);
    return more;
}

/* ---- Checks ---- */

static void pathmapWalkCheckNode(void *priv, struct pathmapNode *n) {
    struct pathmap *sum = priv;
    unsigned children = pathmapNodeChildren(n);
    sum->count += pathmapNodeHasValue(n);
    sum->nodes++;
    sum->memory += zmallocSize(n);
    serverAssert(n->label <= PATHMAP_LABEL_MAX && children <= 256);
    serverAssert(pathmapNodeHasValue(n) || children);
    serverAssert(!pathmapNodeHasValue(n) || *pathmapNodeValue(n));
    for (unsigned i = 0; i < children; i++) {
        struct pathmapNode **slot = pathmapNodeSlots(n) + i;
        uint8_t byte = (uint8_t)*pathmapNodeLabelBytes(*slot);
        serverAssert((*slot)->label && pathmapNodeFindChild(n, byte) == slot &&
                     pathmapNodeRank(n, byte) == i);
        serverAssert(!i || (uint8_t)*pathmapNodeLabelBytes(slot[-1]) < byte);
        if (children == 1 && !pathmapNodeHasValue(n))
            serverAssert((size_t)n->label + (*slot)->label > PATHMAP_LABEL_MAX);
    }
}

void pathmapCheck(const struct pathmap *map) {
    struct pathmap sum = {.nodes = 1, .memory = zmallocSize(map)};
    pathmapWalkNodes(map->root, pathmapWalkCheckNode, &sum);
    serverAssert(sum.count == map->count && sum.nodes == map->nodes && sum.memory == map->memory);
}
