/* SPDX-License-Identifier: BSD-3-Clause */
/* pathmap_walk.c - going over all nodes of a path map: iteration in order, defragmentation, checks.
 *
 * Paths may be as deep as they are long, so nothing recurses. The way from the root to a node is a stack of
 * frames, each a node and what comes next in it: its values in order, then its children. */
#include "ds/pathmap_private.h"

struct pathmapFrame {
    struct pathmapNode *node;
    unsigned next; /* a value, or with the number of values added, a child */
    size_t above;  /* bytes of the path before the node's run */
};

/* ---- In any order ---- */

void pathmapWalkNodes(struct pathmapNode *from, void (*fn)(void *priv, struct pathmapNode *n), void *priv) {
    struct pathmapNode **waiting = NULL, *n = from;
    size_t count = 0, room = 0;
    while (n) {
        unsigned children = n->children;
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

static struct pathmapFrame *pathmapWalkTop(const struct pathmapIterator *it) {
    return (struct pathmapFrame *)it->stack + it->depth - 1;
}

static void pathmapWalkPush(struct pathmapIterator *it, struct pathmapNode *n, unsigned next) {
    if (it->depth == it->size) {
        it->size = it->size ? it->size * 2 : 16;
        it->stack = zrealloc(it->stack, it->size * sizeof(struct pathmapFrame));
    }
    it->depth++;
    *pathmapWalkTop(it) = (struct pathmapFrame){n, next, sdslen(it->path)};
}

/* Makes it->path include `length` bytes of the run of the top node. */
static void pathmapWalkExtend(struct pathmapIterator *it, size_t length) {
    const struct pathmapFrame *frame = pathmapWalkTop(it);
    size_t have = sdslen(it->path) - frame->above;
    it->path = sdscatlen(it->path, pathmapNodeBytes(frame->node) + have, length - have);
}

/* Returns the place of the child that the walk has gone down to. */
static struct pathmapNode **pathmapWalkSlot(const struct pathmapFrame *frame) {
    return pathmapNodeSlots(frame->node) + frame->next - frame->node->values - 1;
}

/* Goes on to the next node, past the values of the top one. Returns where it is; NULL: there are no more. */
static struct pathmapNode **pathmapWalkNextNode(struct pathmapIterator *it) {
    for (; it->depth; it->depth--) {
        struct pathmapFrame *frame = pathmapWalkTop(it);
        const struct pathmapNode *n = frame->node;
        unsigned child = frame->next < n->values ? 0 : frame->next - n->values;
        if (child < n->children) {
            frame->next = n->values + child + 1;
            struct pathmapNode **slot = pathmapWalkSlot(frame);
            pathmapWalkExtend(it, n->run);
            pathmapWalkPush(it, *slot, 0);
            return slot;
        }
        sdssetlen(it->path, frame->above);
    }
    return NULL;
}

/* Goes down from a node to the first path that is greater than `after`, which is what follows the text before
 * the run. */
static void pathmapWalkSeek(struct pathmapIterator *it, struct pathmapNode *n, struct str after) {
    while (n) {
        struct str run = pathmapNodeRun(n);
        size_t common = pathmapCommonLength(run, after);
        if (common == after.len || common < run.len) {
            if (common == after.len || (uint8_t)run.ptr[common] > (uint8_t)after.ptr[common])
                pathmapWalkPush(it, n, pathmapNodeValuesUpTo(n, common));
            return;
        }
        uint8_t byte = (uint8_t)after.ptr[common];
        struct pathmapNode **child = pathmapNodeFindChild(n, byte);
        pathmapWalkPush(it, n, n->values + pathmapNodeRank(n, byte) + (child != NULL));
        pathmapWalkExtend(it, run.len);
        after = pathmapSkip(after, common);
        n = child ? *child : NULL;
    }
}

void pathmapIterate(struct pathmapIterator *it, const struct pathmap *map, struct str prefix,
                    const struct str *after) {
    *it = (struct pathmapIterator){.path = sdsempty()};
    struct pathmapNode *n = map->root;
    struct str rest = prefix;
    while (n && rest.len > n->run && strStarts(rest, pathmapNodeRun(n))) {
        rest = pathmapSkip(rest, n->run);
        struct pathmapNode **child = pathmapNodeFindChild(n, (uint8_t)*rest.ptr);
        n = child ? *child : NULL;
    }
    if (!n || !strStarts(pathmapNodeRun(n), rest)) return;
    struct str above = strN(prefix.ptr, prefix.len - rest.len);
    it->path = sdscatlen(it->path, above.ptr, above.len);
    unsigned shorter = rest.len ? pathmapNodeValuesUpTo(n, rest.len - 1) : 0;
    if (after && strStarts(*after, above))
        pathmapWalkSeek(it, n, pathmapSkip(*after, above.len));
    else if (!after || strCmp(*after, above) < 0)
        pathmapWalkPush(it, n, 0);
    struct pathmapFrame *first = it->stack;
    if (it->depth && first->next < shorter) first->next = shorter;
}

void **pathmapNext(struct pathmapIterator *it) {
    if (!it->depth) return NULL;
    struct pathmapFrame *frame = pathmapWalkTop(it);
    while (frame->next >= frame->node->values) {
        if (!pathmapWalkNextNode(it)) return NULL;
        frame = pathmapWalkTop(it);
    }
    unsigned at = frame->next++;
    pathmapWalkExtend(it, pathmapNodeEnds(frame->node)[at]);
    return pathmapNodeValues(frame->node) + at;
}

void pathmapStop(struct pathmapIterator *it) {
    sdsfree(it->path);
    zfree(it->stack);
    it->path = NULL;
    it->stack = NULL;
    it->depth = it->size = 0;
}

/* ---- Defragmentation ---- */

struct pathmapMover {
    struct pathmap *map;
    zmoveFn *move;
    void (*value)(void *priv, void **place);
    void *priv;
};

/* Offers a node, and then its values. */
static void pathmapMoveNode(const struct pathmapMover *m, struct pathmapNode **slot) {
    size_t was = zmallocSize(*slot);
    struct pathmapNode *now = m->move(m->priv, *slot);
    if (now) {
        *slot = now;
        m->map->memory += zmallocSize(now) - was;
    }
    for (unsigned i = 0; i < (*slot)->values; i++) m->value(m->priv, pathmapNodeValues(*slot) + i);
}

bool pathmapDefrag(struct pathmap **map, sds *cursor, size_t budget, zmoveFn *move,
                   void (*value)(void *priv, void **place), void *priv) {
    struct pathmapIterator it;
    struct pathmapNode **slot;
    if (!*cursor) {
        struct pathmap *now = move(priv, *map);
        if (now) *map = now;
    }
    struct pathmapMover mover = {*map, move, value, priv};
    struct str after = *cursor ? sdsview(*cursor) : STR("");
    pathmapIterate(&it, *map, STR(""), *cursor ? &after : NULL);
    if (it.depth) { /* the root; or a node that has come to be around the cursor, with values after it */
        struct pathmapFrame *top = pathmapWalkTop(&it);
        slot = it.depth > 1 ? pathmapWalkSlot(top - 1) : &(*map)->root;
        if (!*cursor || top->next < top->node->values) pathmapMoveNode(&mover, slot);
        top->node = *slot;
    }
    while (budget && (slot = pathmapWalkNextNode(&it))) {
        pathmapMoveNode(&mover, slot);
        pathmapWalkTop(&it)->node = *slot;
        budget--;
    }
    sdsfree(*cursor);
    *cursor = NULL;
    if (it.depth) {
        pathmapWalkExtend(&it, pathmapWalkTop(&it)->node->run);
        *cursor = sdsnewstr(sdsview(it.path));
    }
    pathmapStop(&it);
    return *cursor != NULL;
}

/* ---- Checks ---- */

static void pathmapCheckValues(const struct pathmapNode *n, bool root) {
    const uint16_t *ends = pathmapNodeEnds(n);
    for (unsigned i = 0; i < n->values; i++) {
        serverAssert(pathmapNodeValues(n)[i] && ends[i] <= n->run);
        serverAssert(i ? ends[i] > ends[i - 1] : ends[i] > 0 || root);
    }
    serverAssert(n->children || (n->values && ends[n->values - 1] == n->run));
}

static void pathmapCheckNode(void *priv, struct pathmapNode *n) {
    struct pathmap *sum = priv;
    sum->count += n->values;
    sum->nodes++;
    sum->memory += zmallocSize(n);
    serverAssert(n->run <= PATHMAP_RUN_MAX && n->children <= 256 && (n->run || n == sum->root));
    pathmapCheckValues(n, n == sum->root);
    for (unsigned i = 0; i < n->children; i++) {
        struct pathmapNode **slot = pathmapNodeSlots(n) + i;
        uint8_t byte = (uint8_t)*pathmapNodeBytes(*slot);
        serverAssert(pathmapNodeFindChild(n, byte) == slot && pathmapNodeRank(n, byte) == i);
        serverAssert(!i || (uint8_t)*pathmapNodeBytes(slot[-1]) < byte);
        serverAssert(n->children > 1 || !pathmapNodeFits(n, (*slot)->run, (*slot)->values));
    }
}

void pathmapCheck(const struct pathmap *map) {
    struct pathmap sum = {.root = map->root, .nodes = 1, .memory = zmallocSize(map)};
    pathmapWalkNodes(map->root, pathmapCheckNode, &sum);
    serverAssert(sum.count == map->count && sum.nodes == map->nodes && sum.memory == map->memory);
}
