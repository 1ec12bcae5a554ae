/* SPDX-License-Identifier: BSD-3-Clause */
/* pathmap_private.h - the nodes of a path map, for pathmap*.c and their test.
 *
 * A node holds a run of bytes that has no branch inside, with all the paths that end in it. It is one
 * allocation of exactly the bytes that it needs:
 *
 *     | header 4 | index, padded to 8 | child 8 * n | value 8 * k | end u16 * k | run |
 *
 * header   number of bytes of the run, n (0 to 256) and k (0 to 1023)
 * run      its first byte is the one by which the parent finds the node; only the root's may be empty
 * index    up to PATHMAP_LIST_MAX children: their first bytes, in order; above: four counts of one byte and
 *          a set of 256 bits. A child's place among the pointers is the number of smaller bits: the count of
 *          its word, and those before it in its word.
 * end      for each value, how many bytes of the run its path includes; in order
 *
 * A map of the paths "sys", "sys|a", "sys|a|b" and "sys|c":
 *
 *     | 4, n 2, k 1 | a c | * * | value | 3 | sys| |
 *                           | |
 *                           | +---> | 1, n 0, k 1 | value | 1 | c |
 *                           +-----> | 3, n 0, k 2 | value value | 1 3 | a|b |
 *
 * A search that goes deep through a text that few share thus reads memory from front to back, in few
 * allocations. What it reads first (header, index, pointers of a few children) is in the first cache line.
 *
 * Invariants. A leaf's run ends where its last path ends. A node with one child exists only where the two
 * would be too large for one (pathmapNodeFits). So there are at most twice as many nodes as paths, but for
 * texts longer than a run can be. Changes copy single nodes, so the limit bounds what a change costs. */
#pragma once

#include "base/assert.h"
#include "base/zmalloc.h"
#include "ds/pathmap.h"

#define PATHMAP_RUN_MAX    4072 /* limit of joined nodes: a leaf of this size is an allocation of 4 KiB */
#define PATHMAP_VALUES_MAX 1023
#define PATHMAP_LIST_MAX   28 /* children; with more, the set of bits is smaller than the list */
#define PATHMAP_WORDS_AT   8  /* offset of the set of bits */
#define PATHMAP_MAP_BYTES  (PATHMAP_WORDS_AT + 32)
#define PATHMAP_VALUE_COST (sizeof(void *) + sizeof(uint16_t))
#define PATHMAP_CHUNK_MAX  (PATHMAP_RUN_MAX - PATHMAP_VALUE_COST) /* bytes of a new run */

struct pathmapNode {
    uint32_t run : 13; /* bytes */
    uint32_t children : 9;
    uint32_t values : 10;
    uint8_t index[]; /* the list, or the four counts and then the bits */
};
_Static_assert(offsetof(struct pathmapNode, index) + 4 == PATHMAP_WORDS_AT, "the bits are aligned");
_Static_assert(4 + PATHMAP_LIST_MAX < PATHMAP_MAP_BYTES, "a list is never larger than the set");
_Static_assert(PATHMAP_VALUES_MAX / 2 * PATHMAP_VALUE_COST > PATHMAP_RUN_MAX,
               "what a node with too many values is split into fits nowhere else");

struct pathmap {
    struct pathmapNode *root; /* NULL: no paths */
    size_t count, nodes, memory;
};

/* Returns the offset of the pointers to children. */
static inline size_t pathmapNodeIndexBytes(unsigned children) {
    return children <= PATHMAP_LIST_MAX ? (4 + children + 7u) & ~(size_t)7 : PATHMAP_MAP_BYTES;
}
static inline struct pathmapNode **pathmapNodeSlots(const struct pathmapNode *n) {
    return (struct pathmapNode **)((char *)n + pathmapNodeIndexBytes(n->children));
}
static inline void **pathmapNodeValues(const struct pathmapNode *n) {
    return (void **)(pathmapNodeSlots(n) + n->children);
}
static inline uint16_t *pathmapNodeEnds(const struct pathmapNode *n) {
    return (uint16_t *)(pathmapNodeValues(n) + n->values);
}
static inline char *pathmapNodeBytes(const struct pathmapNode *n) {
    return (char *)(pathmapNodeEnds(n) + n->values);
}
static inline struct str pathmapNodeRun(const struct pathmapNode *n) {
    return strN(pathmapNodeBytes(n), n->run);
}
/* Returns how many paths end within the first `length` bytes of the run; mostly all or none. */
static inline unsigned pathmapNodeValuesUpTo(const struct pathmapNode *n, size_t length) {
    const uint16_t *ends = pathmapNodeEnds(n);
    unsigned low = 0, high = n->values;
    if (!high || ends[high - 1] <= length) return high;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (ends[middle] <= length)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
/* Returns whether two nodes, or a node and something new, may be one. */
static inline bool pathmapNodeFits(const struct pathmapNode *n, size_t more_bytes, size_t more_values) {
    return n->run + more_bytes + (n->values + more_values) * PATHMAP_VALUE_COST <= PATHMAP_RUN_MAX;
}
static inline struct str pathmapSkip(struct str s, size_t n) {
    return strN(s.ptr + n, s.len - n);
}

/* ---- pathmap_node.c ---- */

/* Returns how many bytes both begin with. */
size_t pathmapCommonLength(struct str a, struct str b);
/* Returns the place of the child whose run begins with the byte; NULL: there is none. */
struct pathmapNode **pathmapNodeFindChild(const struct pathmapNode *n, uint8_t byte);
/* Returns the number of children whose byte is less. */
unsigned pathmapNodeRank(const struct pathmapNode *n, uint8_t byte);

void pathmapNodeFree(struct pathmap *map, struct pathmapNode *n);
/* Returns a leaf with this run, at whose end there is a value, NULL; or one without values and children. */
struct pathmapNode *pathmapNodeNew(struct pathmap *map, struct str run, bool has_value);

/* These change the node at *slot, which moves. A new value is NULL; its place is returned. */
void pathmapNodeAddChild(struct pathmap *map, struct pathmapNode **slot, struct pathmapNode *child);
void pathmapNodeDropChild(struct pathmap *map, struct pathmapNode **slot, unsigned at);
void **pathmapNodeAddValue(struct pathmap *map, struct pathmapNode **slot, size_t end);
void pathmapNodeDropValue(struct pathmap *map, struct pathmapNode **slot, unsigned at);
/* Appends bytes to the run of a leaf, and a value at its end. */
void **pathmapNodeExtend(struct pathmap *map, struct pathmapNode **slot, struct str more);
/* Divides the run after `length` bytes: *slot becomes a node of the first ones, whose only child has the
 * rest.
 */
void pathmapNodeSplit(struct pathmap *map, struct pathmapNode **slot, size_t length);
/* Restores the invariants of a node that may have lost something: cuts what no path of a leaf includes, and
 * joins a node with its only child if they fit. */
void pathmapNodeTidy(struct pathmap *map, struct pathmapNode **slot);

/* ---- pathmap_walk.c ---- */

/* Calls fn for all nodes from this one on, a parent before its children; fn may free the node. */
void pathmapWalkNodes(struct pathmapNode *from, void (*fn)(void *priv, struct pathmapNode *n), void *priv);
