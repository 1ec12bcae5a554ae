/* SPDX-License-Identifier: BSD-3-Clause */
/* pathmap_private.h - the nodes of a path map, for pathmap*.c and their test.
 *
 * A node is one allocation of exactly the bytes that it needs:
 *
 *     | label u16 | shape u16 | index ..., padded to 8 | [value 8] | child 8 * n | label bytes |
 *
 * label    number of label bytes: all that the paths through the node have in common after the parent's
 *          label, with the byte by which the parent finds it. Only the root's may be empty.
 * shape    number n of children (0 to 256), and a bit: whether a path ends here, which has a value
 * index    up to LIST_MAX children: their first bytes in order, in 8 - 4 bytes and more as needed;
 *          above: four counts of one byte and a set of 256 bits. A child's place among the pointers is the
 *          number of smaller bits: its word's count, and those before it in its word.
 *
 * A node of at most four children thus has 8 bytes before its pointers, and what a search reads first
 * (header, index, value, pointer, first bytes of the label) lies together in one or two cache lines.
 *
 * Invariants: a node without a value has children; if it has only one, their labels together would exceed
 * PATHMAP_LABEL_MAX. So there are at most two nodes for each path, apart from long labels. */
#pragma once

#include "base/assert.h"
#include "base/zmalloc.h"
#include "ds/pathmap.h"

#define PATHMAP_LABEL_MAX 16256 /* with a few children the node fits into 16 KiB */
#define PATHMAP_LIST_MAX  28    /* children from which on the set of bits is smaller than the list */
#define PATHMAP_HAS_VALUE 0x8000u
#define PATHMAP_WORDS_AT  8 /* offset of the set of bits */
#define PATHMAP_MAP_BYTES (PATHMAP_WORDS_AT + 32)

struct pathmapNode {
    uint16_t label;
    uint16_t shape;
    uint8_t index[]; /* the list, or the four counts and then the bits */
};
_Static_assert(offsetof(struct pathmapNode, index) + 4 == PATHMAP_WORDS_AT, "the bits are aligned");
_Static_assert(4 + PATHMAP_LIST_MAX < PATHMAP_MAP_BYTES, "a list is never larger than the set");

struct pathmap {
    struct pathmapNode *root; /* NULL: no paths */
    size_t count, nodes, memory;
};

static inline unsigned pathmapNodeChildren(const struct pathmapNode *n) {
    return n->shape & 0x1ffu;
}
static inline bool pathmapNodeHasValue(const struct pathmapNode *n) {
    return n->shape & PATHMAP_HAS_VALUE;
}
/* Returns the offset of the pointers. */
static inline size_t pathmapNodeIndexBytes(unsigned children) {
    return children <= PATHMAP_LIST_MAX ? (4 + children + 7u) & ~(size_t)7 : PATHMAP_MAP_BYTES;
}
static inline void **pathmapNodeValue(const struct pathmapNode *n) {
    return (void **)((char *)n + pathmapNodeIndexBytes(pathmapNodeChildren(n)));
}
static inline struct pathmapNode **pathmapNodeSlots(const struct pathmapNode *n) {
    return (struct pathmapNode **)pathmapNodeValue(n) + pathmapNodeHasValue(n);
}
static inline char *pathmapNodeLabelBytes(const struct pathmapNode *n) {
    return (char *)(pathmapNodeSlots(n) + pathmapNodeChildren(n));
}
static inline struct str pathmapNodeLabel(const struct pathmapNode *n) {
    return strN(pathmapNodeLabelBytes(n), n->label);
}
static inline struct str pathmapSkip(struct str s, size_t n) {
    return strN(s.ptr + n, s.len - n);
}

/* ---- pathmap_node.c ---- */

/* Returns the place of the child whose label begins with the byte; NULL: there is none. */
struct pathmapNode **pathmapNodeFindChild(const struct pathmapNode *n, uint8_t byte);
/* Returns the number of children whose byte is less. */
unsigned pathmapNodeRank(const struct pathmapNode *n, uint8_t byte);
/* Returns a node without children whose label is both texts. The value, if any, is NULL. */
struct pathmapNode *pathmapNodeNew(struct pathmap *map, bool has_value, struct str label, struct str more);
void pathmapNodeFree(struct pathmap *map, struct pathmapNode *n);
/* Add a child, or remove one (without freeing it), by its place among the children. *slot is updated. */
void pathmapNodeAddChild(struct pathmap *map, struct pathmapNode **slot, struct pathmapNode *child);
void pathmapNodeDropChild(struct pathmap *map, struct pathmapNode **slot, unsigned at);
/* Adds a value, which is NULL, or removes it. *slot is updated. */
void pathmapNodeSetHasValue(struct pathmap *map, struct pathmapNode **slot, bool has_value);
/* Divides the label after `length` bytes: *slot becomes a node of the first ones, without a value, whose only
 * child has all the rest. */
void pathmapNodeSplit(struct pathmap *map, struct pathmapNode **slot, size_t length);
/* Joins a node that has neither a value nor a second child with its child, if their labels fit into one. */
void pathmapNodeSettle(struct pathmap *map, struct pathmapNode **slot);

/* ---- pathmap_walk.c ---- */

/* Calls fn for all nodes from this one on, a parent before its children; fn may free the node. */
void pathmapWalkNodes(struct pathmapNode *from, void (*fn)(void *priv, struct pathmapNode *n), void *priv);
