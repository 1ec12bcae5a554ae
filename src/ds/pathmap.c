/* SPDX-License-Identifier: BSD-3-Clause */
/* pathmap.c - paths of a path map: finding, inserting, removing, prefixes, detaching; the contract is in
 * pathmap.h, the nodes are in pathmap_private.h.
 *
 * All go down from the root: a node's label must be what the path continues with, then the next byte selects
 * a child. They remember places ("slots": where the pointer to a node is) instead of nodes having pointers to
 * their parents, because a change reaches no further up than one place that the way down has passed. */
#include "ds/pathmap_private.h"

/* ---- Life ---- */

struct pathmap *pathmapNew(void) {
    struct pathmap *map = zcalloc(1, sizeof *map);
    map->memory = zmallocSize(map);
    map->nodes = 1; /* the map itself is an allocation, too */
    return map;
}

static void pathmapFreeOne(void *drop, struct pathmapNode *n) {
    void (*fn)(void *) = *(void (**)(void *))drop;
    if (fn && pathmapNodeHasValue(n)) fn(*pathmapNodeValue(n));
    zfree(n);
}

void pathmapFree(struct pathmap *map, void (*drop)(void *value)) {
    pathmapWalkNodes(map->root, pathmapFreeOne, &drop);
    zfree(map);
}

size_t pathmapCount(const struct pathmap *map) {
    return map->count;
}
size_t pathmapNodes(const struct pathmap *map) {
    return map->nodes;
}
size_t pathmapMemory(const struct pathmap *map) {
    return map->memory;
}

/* ---- Searching ---- */

void **pathmapFind(const struct pathmap *map, struct str path) {
    const struct pathmapNode *n = map->root;
    while (n && strStarts(path, pathmapNodeLabel(n))) {
        path = pathmapSkip(path, n->label);
        if (!path.len) return pathmapNodeHasValue(n) ? pathmapNodeValue(n) : NULL;
        struct pathmapNode **child = pathmapNodeFindChild(n, (uint8_t)*path.ptr);
        n = child ? *child : NULL;
    }
    return NULL;
}

void **pathmapLongest(const struct pathmap *map, struct str text, size_t *length) {
    const struct pathmapNode *n = map->root, *best = NULL;
    struct str rest = text;
    while (n && strStarts(rest, pathmapNodeLabel(n))) {
        rest = pathmapSkip(rest, n->label);
        if (pathmapNodeHasValue(n)) {
            best = n;
            *length = text.len - rest.len;
        }
        struct pathmapNode **child = rest.len ? pathmapNodeFindChild(n, (uint8_t)*rest.ptr) : NULL;
        n = child ? *child : NULL;
    }
    return best ? pathmapNodeValue(best) : NULL;
}

void pathmapPrefixes(const struct pathmap *map, struct str text,
                     bool (*fn)(void *priv, size_t length, void **value), void *priv) {
    const struct pathmapNode *n = map->root;
    struct str rest = text;
    while (n && strStarts(rest, pathmapNodeLabel(n))) {
        rest = pathmapSkip(rest, n->label);
        if (pathmapNodeHasValue(n) && !fn(priv, text.len - rest.len, pathmapNodeValue(n))) return;
        struct pathmapNode **child = rest.len ? pathmapNodeFindChild(n, (uint8_t)*rest.ptr) : NULL;
        n = child ? *child : NULL;
    }
}

/* Follows the first bytes of labels without comparing the rest, which is on its way. */
bool pathmapPrefetch(const struct pathmap *map, struct str text, int step, const void **at,
                     uint64_t notes[5]) {
    if (step == 0) {
        __builtin_prefetch(map);
        return true;
    }
    if (step == 1) {
        *at = map->root;
        notes[0] = 0;
        if (!map->root) return false;
        __builtin_prefetch(map->root);
        return true;
    }
    const struct pathmapNode *n = *at;
    const char *label = pathmapNodeLabelBytes(n);
    for (const char *p = (const char *)n + 64; p < label + n->label; p += 64) __builtin_prefetch(p);
    size_t done = notes[0] += n->label;
    if (done > text.len) return false;
    if (pathmapNodeHasValue(n) && (const char *)pathmapNodeSlots(n) <= (const char *)n + 64)
        __builtin_prefetch(*pathmapNodeValue(n));
    if (done == text.len) return false;
    struct pathmapNode **child = pathmapNodeFindChild(n, (uint8_t)text.ptr[done]);
    if (!child) return false;
    *at = *child;
    __builtin_prefetch(*at);
    return true;
}

/* ---- Inserting ---- */

/* Returns nodes for a text: one, or a chain of them if it is long. The last one has a value if `below` is
 * NULL, else it has this node as its child, with which it is joined if that is possible. *last becomes the
 * last node. */
static struct pathmapNode *pathmapNewChain(struct pathmap *map, struct str text, struct pathmapNode *below,
                                           struct pathmapNode **last) {
    size_t full = text.len ? (text.len - 1) / PATHMAP_LABEL_MAX * PATHMAP_LABEL_MAX : 0;
    struct pathmapNode *n = pathmapNodeNew(map, !below, pathmapSkip(text, full), STR(""));
    if (below) {
        pathmapNodeAddChild(map, &n, below);
        pathmapNodeSettle(map, &n);
    }
    *last = n;
    while (full) {
        full -= PATHMAP_LABEL_MAX;
        struct pathmapNode *upper =
            pathmapNodeNew(map, false, strN(text.ptr + full, PATHMAP_LABEL_MAX), STR(""));
        pathmapNodeAddChild(map, &upper, n);
        n = upper;
    }
    return n;
}

static size_t pathmapCommonLength(struct str a, struct str b) {
    size_t n = a.len < b.len ? a.len : b.len, i = 0;
    for (uint64_t x, y; i + 8 <= n; i += 8) {
        memcpy(&x, a.ptr + i, 8);
        memcpy(&y, b.ptr + i, 8);
        if (x != y) break;
    }
    while (i < n && a.ptr[i] == b.ptr[i]) i++;
    return i;
}

/* Adds a path that leaves the label of *slot after `common` bytes. `up` is where the parent is, or NULL. */
static void **pathmapInsertInside(struct pathmap *map, struct pathmapNode **up, struct pathmapNode **slot,
                                  size_t common, struct str rest) {
    struct pathmapNode *last = NULL;
    pathmapNodeSplit(map, slot, common);
    pathmapNodeSettle(map, pathmapNodeSlots(*slot));
    if (rest.len)
        pathmapNodeAddChild(map, slot, pathmapNewChain(map, rest, NULL, &last));
    else
        pathmapNodeSetHasValue(map, slot, true);
    /* The label of *slot is shorter than before: that of its parent may fit in front now. */
    if (up) {
        const struct pathmapNode *before = *up;
        pathmapNodeSettle(map, up);
        if (*up != before) slot = up;
    }
    return pathmapNodeValue(last ? last : *slot);
}

void **pathmapInsert(struct pathmap *map, struct str path, bool *added) {
    struct pathmapNode **up = NULL, **slot = &map->root, *last;
    serverAssert(path.len <= PATHMAP_PATH_MAX);
    *added = true;
    while (*slot) {
        size_t common = pathmapCommonLength(pathmapNodeLabel(*slot), path);
        path = pathmapSkip(path, common);
        if (common < (*slot)->label) {
            map->count++;
            return pathmapInsertInside(map, up, slot, common, path);
        }
        if (!path.len) {
            *added = !pathmapNodeHasValue(*slot);
            map->count += *added;
            if (*added) pathmapNodeSetHasValue(map, slot, true);
            return pathmapNodeValue(*slot);
        }
        struct pathmapNode **child = pathmapNodeFindChild(*slot, (uint8_t)*path.ptr);
        if (!child) {
            map->count++;
            pathmapNodeAddChild(map, slot, pathmapNewChain(map, path, NULL, &last));
            return pathmapNodeValue(last);
        }
        up = slot;
        slot = child;
    }
    map->count++;
    *slot = pathmapNewChain(map, path, NULL, &last);
    return pathmapNodeValue(last);
}

/* ---- Removing ---- */

/* The way down to a node, as far as a removal needs it. */
struct pathmapWay {
    struct pathmapNode **slot;  /* where the node is */
    struct pathmapNode **stays; /* where the deepest ancestor is that stays when all below *slot goes; NULL */
    struct pathmapNode **top;   /* where its child on the way is, or the root: all from there on goes */
    size_t above;               /* bytes of the path before the label of *top */
};

/* Goes from *way->slot to its child for this byte. False: there is none. `passed` is the number of bytes of
 * the path up to it. */
static bool pathmapStepDown(struct pathmapWay *way, uint8_t byte, size_t passed) {
    struct pathmapNode **child = pathmapNodeFindChild(*way->slot, byte);
    if (!child) return false;
    if (pathmapNodeHasValue(*way->slot) || pathmapNodeChildren(*way->slot) > 1) {
        way->stays = way->slot;
        way->top = child;
        way->above = passed;
    }
    way->slot = child;
    return true;
}

/* Takes all from *way->top on out of the map and returns it. */
static struct pathmapNode *pathmapCut(struct pathmap *map, const struct pathmapWay *way) {
    struct pathmapNode *top = *way->top;
    if (!way->stays) {
        map->root = NULL;
    } else {
        pathmapNodeDropChild(map, way->stays, (unsigned)(way->top - pathmapNodeSlots(*way->stays)));
        pathmapNodeSettle(map, way->stays);
    }
    return top;
}

void *pathmapRemove(struct pathmap *map, struct str path) {
    struct pathmapWay way = {&map->root, NULL, &map->root, 0};
    struct str rest = path;
    if (!map->root) return NULL;
    for (;;) {
        if (!strStarts(rest, pathmapNodeLabel(*way.slot))) return NULL;
        rest = pathmapSkip(rest, (*way.slot)->label);
        if (!rest.len) break;
        if (!pathmapStepDown(&way, (uint8_t)*rest.ptr, path.len - rest.len)) return NULL;
    }
    if (!pathmapNodeHasValue(*way.slot)) return NULL;
    void *value = *pathmapNodeValue(*way.slot);
    map->count--;
    if (pathmapNodeChildren(*way.slot)) {
        pathmapNodeSetHasValue(map, way.slot, false);
        pathmapNodeSettle(map, way.slot);
        return value;
    }
    for (struct pathmapNode *n = pathmapCut(map, &way), *next; n; n = next) { /* the rest of a long label */
        next = pathmapNodeChildren(n) ? *pathmapNodeSlots(n) : NULL;
        pathmapNodeFree(map, n);
    }
    return value;
}

/* ---- Detaching ---- */

static void pathmapCountNode(void *priv, struct pathmapNode *n) {
    struct pathmap *sum = priv;
    sum->nodes++;
    sum->memory += zmallocSize(n);
    sum->count += pathmapNodeHasValue(n);
}

struct pathmap *pathmapDetach(struct pathmap *map, struct str prefix) {
    struct pathmapWay way = {&map->root, NULL, &map->root, 0};
    struct str rest = prefix;
    if (!map->root) return NULL;
    while (!strStarts(pathmapNodeLabel(*way.slot), rest)) {
        if (!strStarts(rest, pathmapNodeLabel(*way.slot))) return NULL;
        rest = pathmapSkip(rest, (*way.slot)->label);
        if (!pathmapStepDown(&way, (uint8_t)*rest.ptr, prefix.len - rest.len)) return NULL;
    }
    struct pathmapNode *top = pathmapCut(map, &way), *last;
    struct pathmap *taken = pathmapNew(), sum = {0};
    pathmapWalkNodes(top, pathmapCountNode, &sum);
    taken->count += sum.count, map->count -= sum.count;
    taken->nodes += sum.nodes, map->nodes -= sum.nodes;
    taken->memory += sum.memory, map->memory -= sum.memory;
    taken->root = way.above ? pathmapNewChain(taken, strN(prefix.ptr, way.above), top, &last) : top;
    return taken;
}
