/* SPDX-License-Identifier: BSD-3-Clause */
/* pathmap.c - paths of a path map: finding, inserting, removing, prefixes, detaching; the contract is in
 * pathmap.h, the nodes are in pathmap_private.h.
 *
 * All go down from the root: the path must continue with a node's run, then the next byte selects a child.
 * They remember places ("slots": where the pointer to a node is) instead of nodes having pointers to their
 * parents, because a change reaches no further up than one place that the way down has passed. */
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
    for (unsigned i = 0; fn && i < n->values; i++) fn(pathmapNodeValues(n)[i]);
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

/* Returns the node that a search for a text continues with, NULL: none. */
static const struct pathmapNode *pathmapNextNode(const struct pathmapNode *n, struct str rest) {
    struct pathmapNode **child = rest.len ? pathmapNodeFindChild(n, (uint8_t)*rest.ptr) : NULL;
    return child ? *child : NULL;
}

void **pathmapFind(const struct pathmap *map, struct str path) {
    const struct pathmapNode *n = map->root;
    while (n && path.len > n->run && strStarts(path, pathmapNodeRun(n))) {
        path = pathmapSkip(path, n->run);
        n = pathmapNextNode(n, path);
    }
    if (!n || !strStarts(pathmapNodeRun(n), path)) return NULL;
    unsigned count = pathmapNodeValuesUpTo(n, path.len);
    bool found = count && pathmapNodeEnds(n)[count - 1] == path.len;
    return found ? pathmapNodeValues(n) + count - 1 : NULL;
}

void **pathmapLongest(const struct pathmap *map, struct str text, size_t *length) {
    const struct pathmapNode *n = map->root;
    struct str rest = text;
    void **best = NULL;
    while (n) {
        size_t common = pathmapCommonLength(pathmapNodeRun(n), rest);
        unsigned count = pathmapNodeValuesUpTo(n, common);
        if (count) {
            best = pathmapNodeValues(n) + count - 1;
            *length = text.len - rest.len + pathmapNodeEnds(n)[count - 1];
        }
        if (common < n->run) break;
        rest = pathmapSkip(rest, common);
        n = pathmapNextNode(n, rest);
    }
    return best;
}

void pathmapPrefixes(const struct pathmap *map, struct str text,
                     bool (*fn)(void *priv, size_t length, void **value), void *priv) {
    const struct pathmapNode *n = map->root;
    struct str rest = text;
    while (n) {
        size_t common = pathmapCommonLength(pathmapNodeRun(n), rest), above = text.len - rest.len;
        unsigned count = pathmapNodeValuesUpTo(n, common);
        for (unsigned i = 0; i < count; i++)
            if (!fn(priv, above + pathmapNodeEnds(n)[i], pathmapNodeValues(n) + i)) return;
        if (common < n->run) return;
        rest = pathmapSkip(rest, common);
        n = pathmapNextNode(n, rest);
    }
}

/* ---- Prefetching ---- */

enum { PATHMAP_AT_NODE, PATHMAP_AT_SLOT, PATHMAP_AT_VALUE };

static bool pathmapPrefetchNode(const struct pathmapNode *n, const void **at, uint64_t notes[5]) {
    *at = n;
    notes[1] = PATHMAP_AT_NODE;
    if (!n) return false;
    __builtin_prefetch(n);
    __builtin_prefetch((const char *)n + 63);
    return true;
}

/* Loads what a comparison with the text reads of a node: the values' ends and the run. These are many lines
 * in a row, and a prefetch is dropped when the processor waits for too many; a load is not. */
static void pathmapLoadRun(const struct pathmapNode *n, size_t text) {
    const char *end = pathmapNodeBytes(n) + (text < n->run ? text : n->run);
    for (const char *p = (const char *)pathmapNodeValues(n); p < end; p += 64)
        (void)*(const volatile char *)p;
}

/* Follows the first bytes of runs without comparing the others, which are on their way. */
bool pathmapPrefetch(const struct pathmap *map, struct str text, int step, const void **at,
                     uint64_t notes[5]) {
    if (step == 0) {
        __builtin_prefetch(map);
        return true;
    }
    if (step == 1) {
        notes[0] = 0;
        return pathmapPrefetchNode(map->root, at, notes);
    }
    const struct pathmapNode *n = *at;
    size_t left = text.len - notes[0];
    if (notes[1] == PATHMAP_AT_VALUE) {
        unsigned count = pathmapNodeValuesUpTo(n, left);
        if (count) __builtin_prefetch(pathmapNodeValues(n)[count - 1]);
        return false;
    }
    struct pathmapNode **slot =
        left > n->run ? pathmapNodeFindChild(n, (uint8_t)text.ptr[notes[0] + n->run]) : NULL;
    if (notes[1] == PATHMAP_AT_NODE) {
        pathmapLoadRun(n, left);
        if (!slot) {
            notes[1] = PATHMAP_AT_VALUE;
            return true;
        }
        if ((const char *)(slot + 1) > (const char *)n + 64) {
            __builtin_prefetch(slot);
            notes[1] = PATHMAP_AT_SLOT;
            return true;
        }
    }
    notes[0] += n->run;
    return pathmapPrefetchNode(*slot, at, notes);
}

/* ---- Inserting ---- */

/* Returns nodes for a text: one, or a chain of them if it is long. The last one is *last; it has a value if
 * `below` is NULL, else this node as its child, with which it is joined if they fit. */
static struct pathmapNode *pathmapNewChain(struct pathmap *map, struct str text, struct pathmapNode *below,
                                           struct pathmapNode **last) {
    size_t at = text.len ? (text.len - 1) / PATHMAP_CHUNK_MAX * PATHMAP_CHUNK_MAX : 0;
    struct pathmapNode *n = pathmapNodeNew(map, pathmapSkip(text, at), !below);
    *last = n;
    for (;;) {
        if (below) {
            pathmapNodeAddChild(map, &n, below);
            pathmapNodeTidy(map, &n);
        }
        if (!at) return n;
        at -= PATHMAP_CHUNK_MAX;
        below = n;
        n = pathmapNodeNew(map, strN(text.ptr + at, PATHMAP_CHUNK_MAX), false);
    }
}

/* Adds a path that ends in the run of *slot, or at its end. */
static void **pathmapInsertEnd(struct pathmap *map, struct pathmapNode **slot, size_t end, bool *added) {
    const struct pathmapNode *n = *slot;
    unsigned count = pathmapNodeValuesUpTo(n, end);
    *added = !count || pathmapNodeEnds(n)[count - 1] != end;
    if (!*added) return pathmapNodeValues(n) + count - 1;
    if (n->values == PATHMAP_VALUES_MAX) {
        size_t half = pathmapNodeEnds(n)[PATHMAP_VALUES_MAX / 2];
        pathmapNodeSplit(map, slot, half);
        if (end > half) {
            slot = pathmapNodeSlots(*slot);
            end -= half;
        }
    }
    return pathmapNodeAddValue(map, slot, end);
}

/* Adds a path that leaves the run of *slot after `common` bytes, and goes on with `rest`. `up` is where the
 * parent is, or NULL. */
static void **pathmapInsertBranch(struct pathmap *map, struct pathmapNode **up, struct pathmapNode **slot,
                                  size_t common, struct str rest) {
    struct pathmapNode *last;
    pathmapNodeSplit(map, slot, common);
    pathmapNodeTidy(map, pathmapNodeSlots(*slot));
    pathmapNodeAddChild(map, slot, pathmapNewChain(map, rest, NULL, &last));
    if (up) pathmapNodeTidy(map, up); /* *slot has become shorter, so its parent may fit in front of it */
    return pathmapNodeValues(last);
}

/* Adds a path that goes on after the run of *slot, where no child is. */
static void **pathmapInsertBelow(struct pathmap *map, struct pathmapNode **slot, struct str rest) {
    struct pathmapNode *last;
    if (!(*slot)->children && pathmapNodeFits(*slot, rest.len, 1)) return pathmapNodeExtend(map, slot, rest);
    pathmapNodeAddChild(map, slot, pathmapNewChain(map, rest, NULL, &last));
    /* The first of several new nodes has no value, so it may fit behind *slot; a single one does not. */
    if ((*pathmapNodeSlots(*slot))->children) pathmapNodeTidy(map, slot);
    return pathmapNodeValues(last);
}

static void **pathmapInsertAt(struct pathmap *map, struct str path, bool *added) {
    struct pathmapNode **up = NULL, **slot = &map->root, *last;
    *added = true;
    while (*slot) {
        size_t common = pathmapCommonLength(pathmapNodeRun(*slot), path);
        if (common == path.len) return pathmapInsertEnd(map, slot, common, added);
        path = pathmapSkip(path, common);
        if (common < (*slot)->run) return pathmapInsertBranch(map, up, slot, common, path);
        struct pathmapNode **child = pathmapNodeFindChild(*slot, (uint8_t)*path.ptr);
        if (!child) return pathmapInsertBelow(map, slot, path);
        up = slot;
        slot = child;
    }
    *slot = pathmapNewChain(map, path, NULL, &last);
    return pathmapNodeValues(last);
}

void **pathmapInsert(struct pathmap *map, struct str path, bool *added) {
    serverAssert(path.len <= PATHMAP_PATH_MAX);
    void **place = pathmapInsertAt(map, path, added);
    map->count += *added;
    return place;
}

/* ---- Removing ---- */

/* The way down to a node, as far as a removal needs it: where the node and its parent are, and what becomes
 * of the tree when all below the node goes. */
struct pathmapWay {
    struct pathmapNode **slot, **up;
    struct pathmapNode **stays, **stays_up; /* the deepest ancestor that stays, and its parent; or NULL */
    struct pathmapNode **top;               /* all from there on goes: a child of *stays, or the root */
    size_t above;                           /* bytes of the path before the run of *top */
};

/* Notes that the node stays, and that what goes begins at its child in `top`. */
static void pathmapWayStays(struct pathmapWay *way, struct pathmapNode **top, size_t above) {
    way->stays = way->slot;
    way->stays_up = way->up;
    way->top = top;
    way->above = above;
}

/* Goes on to the child for this byte; `above` are the bytes before its run. False: there is none. */
static bool pathmapWayDown(struct pathmapWay *way, uint8_t byte, size_t above) {
    struct pathmapNode **child = pathmapNodeFindChild(*way->slot, byte);
    if (!child) return false;
    if ((*way->slot)->values || (*way->slot)->children > 1) pathmapWayStays(way, child, above);
    way->up = way->slot;
    way->slot = child;
    return true;
}

/* Goes down to the node in whose run the path ends; *rest are the bytes of it that belong to that node.
 * False: no path begins with this one. */
static bool pathmapWayTo(struct pathmapWay *way, struct pathmap *map, struct str path, struct str *rest) {
    *way = (struct pathmapWay){.slot = &map->root, .top = &map->root};
    *rest = path;
    if (!map->root) return false;
    while (rest->len > (*way->slot)->run) {
        if (!strStarts(*rest, pathmapNodeRun(*way->slot))) return false;
        *rest = pathmapSkip(*rest, (*way->slot)->run);
        if (!pathmapWayDown(way, (uint8_t)*rest->ptr, path.len - rest->len)) return false;
    }
    return strStarts(pathmapNodeRun(*way->slot), *rest);
}

/* Restores the invariants of a node that has lost something, and of its parent. */
static void pathmapTidyBoth(struct pathmap *map, struct pathmapNode **slot, struct pathmapNode **up) {
    pathmapNodeTidy(map, slot);
    if (up) pathmapNodeTidy(map, up);
}

/* Takes all from *way->top on out of the map and returns it. */
static struct pathmapNode *pathmapCut(struct pathmap *map, const struct pathmapWay *way) {
    struct pathmapNode *top = *way->top;
    if (!way->stays) {
        map->root = NULL;
    } else {
        pathmapNodeDropChild(map, way->stays, (unsigned)(way->top - pathmapNodeSlots(*way->stays)));
        pathmapTidyBoth(map, way->stays, way->stays_up);
    }
    return top;
}

void *pathmapRemove(struct pathmap *map, struct str path) {
    struct pathmapWay way;
    struct str rest;
    if (!pathmapWayTo(&way, map, path, &rest)) return NULL;
    const struct pathmapNode *n = *way.slot;
    unsigned count = pathmapNodeValuesUpTo(n, rest.len);
    if (!count || pathmapNodeEnds(n)[count - 1] != rest.len) return NULL;
    void *value = pathmapNodeValues(n)[count - 1];
    map->count--;
    if (n->children || n->values > 1) {
        pathmapNodeDropValue(map, way.slot, count - 1);
        pathmapTidyBoth(map, way.slot, way.up);
        return value;
    }
    for (struct pathmapNode *gone = pathmapCut(map, &way), *next; gone;
         gone = next) { /* all of a long text */
        next = gone->children ? *pathmapNodeSlots(gone) : NULL;
        pathmapNodeFree(map, gone);
    }
    return value;
}

/* ---- Detaching ---- */

static void pathmapCountNode(void *priv, struct pathmapNode *n) {
    struct pathmap *sum = priv;
    sum->nodes++;
    sum->memory += zmallocSize(n);
    sum->count += n->values;
}

struct pathmap *pathmapDetach(struct pathmap *map, struct str prefix) {
    struct pathmapWay way;
    struct str rest;
    if (!pathmapWayTo(&way, map, prefix, &rest)) return NULL;
    unsigned stay = rest.len ? pathmapNodeValuesUpTo(*way.slot, rest.len - 1) : 0;
    if (stay) { /* shorter paths end in the same run */
        size_t end = pathmapNodeEnds(*way.slot)[stay - 1];
        pathmapNodeSplit(map, way.slot, end);
        pathmapNodeTidy(map, pathmapNodeSlots(*way.slot)); /* its run is shorter, its only child may fit */
        pathmapWayStays(&way, pathmapNodeSlots(*way.slot), prefix.len - rest.len + end);
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
