/* SPDX-License-Identifier: BSD-3-Clause */
/* pathmap_node.c - single nodes of a path map: the index of children, and changes. The layout is in
 * pathmap_private.h.
 *
 * A node has exactly the bytes that it needs, so a change of its shape makes a new node from the old one.
 * Such a change copies at most a label, an index and 256 pointers, which are bounded. */
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "ds/pathmap_private.h"

/* ---- The index ---- */

static void pathmapNodeReadWords(const struct pathmapNode *n, uint64_t words[4]) {
    memcpy(words, (const char *)n + PATHMAP_WORDS_AT, 32);
}

/* Returns the bit mask of the children whose bytes equal this one, for a list of at least two. 16 bytes are
 * compared at once; where the list ends, the pointers follow, so reading on stays inside the node. */
static inline uint32_t pathmapNodeMatch(const struct pathmapNode *n, unsigned children, uint8_t byte) {
#ifdef __SSE2__
    const __m128i wanted = _mm_set1_epi8((char)byte);
    __m128i bytes = _mm_loadu_si128((const __m128i *)n->index);
    uint32_t mask = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted));
    if (children > 16) {
        bytes = _mm_loadu_si128((const __m128i *)n->index + 1);
        mask |= (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted)) << 16;
    }
    return mask & ((1u << children) - 1);
#else
    uint32_t mask = 0;
    for (unsigned i = 0; i < children; i++) mask |= (uint32_t)(n->index[i] == byte) << i;
    return mask;
#endif
}
_Static_assert(4 + 16 <= 8 + 2 * sizeof(void *), "16 bytes of a list can be read from two children on");
_Static_assert(4 + 32 <= 24 + 17 * sizeof(void *), "32 bytes of a list can be read from 17 children on");
_Static_assert(PATHMAP_LIST_MAX < 32, "one mask for all children of a list");

struct pathmapNode **pathmapNodeFindChild(const struct pathmapNode *n, uint8_t byte) {
    unsigned children = pathmapNodeChildren(n);
    if (children <= 1) return children && n->index[0] == byte ? pathmapNodeSlots(n) : NULL;
    if (children <= PATHMAP_LIST_MAX) {
        uint32_t mask = pathmapNodeMatch(n, children, byte);
        return mask ? pathmapNodeSlots(n) + __builtin_ctz(mask) : NULL;
    }
    uint64_t word, bit = (uint64_t)1 << byte % 64;
    memcpy(&word, (const char *)n + PATHMAP_WORDS_AT + byte / 64 * 8, 8);
    if (!(word & bit)) return NULL;
    return pathmapNodeSlots(n) + n->index[byte / 64] + __builtin_popcountll(word & (bit - 1));
}

unsigned pathmapNodeRank(const struct pathmapNode *n, uint8_t byte) {
    unsigned children = pathmapNodeChildren(n), rank = 0;
    if (children <= PATHMAP_LIST_MAX) {
        while (rank < children && n->index[rank] < byte) rank++;
        return rank;
    }
    uint64_t words[4];
    pathmapNodeReadWords(n, words);
    uint64_t below = ((uint64_t)1 << byte % 64) - 1;
    return n->index[byte / 64] + (unsigned)__builtin_popcountll(words[byte / 64] & below);
}

/* Writes the first bytes of all children, in order. */
static void pathmapNodeListBytes(const struct pathmapNode *n, uint8_t *bytes) {
    unsigned children = pathmapNodeChildren(n);
    if (children <= PATHMAP_LIST_MAX) {
        memcpy(bytes, n->index, children);
        return;
    }
    uint64_t words[4];
    pathmapNodeReadWords(n, words);
    for (unsigned w = 0; w < 4; w++)
        for (uint64_t left = words[w]; left; left &= left - 1)
            *bytes++ = (uint8_t)(w * 64 + (unsigned)__builtin_ctzll(left));
}

/* Writes the index of a node from the bytes of its children. */
static void pathmapNodeWriteIndex(struct pathmapNode *n, const uint8_t *bytes) {
    unsigned children = pathmapNodeChildren(n);
    if (children <= PATHMAP_LIST_MAX) {
        memcpy(n->index, bytes, children);
        return;
    }
    uint64_t words[4] = {0};
    for (unsigned i = 0; i < children; i++) words[bytes[i] / 64] |= (uint64_t)1 << bytes[i] % 64;
    memcpy((char *)n + PATHMAP_WORDS_AT, words, 32);
    for (unsigned w = 0, before = 0; w < 4; before += (unsigned)__builtin_popcountll(words[w++]))
        n->index[w] = (uint8_t)before;
}

/* ---- Allocation ---- */

static size_t pathmapNodeBytes(unsigned children, bool has_value, size_t label) {
    return pathmapNodeIndexBytes(children) + sizeof(void *) * (children + has_value) + label;
}

/* Allocates a node whose index, pointers and label are not written yet. */
static struct pathmapNode *pathmapNodeAllocate(struct pathmap *map, unsigned children, bool has_value,
                                               size_t label) {
    debugAssert(children <= 256 && label <= PATHMAP_LABEL_MAX);
    struct pathmapNode *n = zmalloc(pathmapNodeBytes(children, has_value, label));
    n->label = (uint16_t)label;
    n->shape = (uint16_t)(children | (has_value ? PATHMAP_HAS_VALUE : 0));
    map->nodes++;
    map->memory += zmallocSize(n);
    if (has_value) *pathmapNodeValue(n) = NULL;
    return n;
}

struct pathmapNode *pathmapNodeNew(struct pathmap *map, bool has_value, struct str label, struct str more) {
    struct pathmapNode *n = pathmapNodeAllocate(map, 0, has_value, label.len + more.len);
    char *p = pathmapNodeLabelBytes(n);
    if (label.len) memcpy(p, label.ptr, label.len);
    if (more.len) memcpy(p + label.len, more.ptr, more.len);
    return n;
}

void pathmapNodeFree(struct pathmap *map, struct pathmapNode *n) {
    map->nodes--;
    map->memory -= zmallocSize(n);
    zfreeSized(n, pathmapNodeBytes(pathmapNodeChildren(n), pathmapNodeHasValue(n), n->label));
}

static void pathmapNodeReplace(struct pathmap *map, struct pathmapNode **slot, struct pathmapNode *now) {
    pathmapNodeFree(map, *slot);
    *slot = now;
}

/* ---- Changes ---- */

/* Copies the children of a node to one that has as many. */
static void pathmapNodeCopyChildren(struct pathmapNode *to, const struct pathmapNode *from) {
    unsigned children = pathmapNodeChildren(from);
    size_t index = children <= PATHMAP_LIST_MAX ? children : PATHMAP_MAP_BYTES - 4;
    memcpy(to->index, from->index, index);
    memcpy(pathmapNodeSlots(to), pathmapNodeSlots(from), children * sizeof(void *));
}

/* Copies the value, if both have one, and the label. */
static void pathmapNodeCopyRest(struct pathmapNode *to, const struct pathmapNode *from) {
    if (pathmapNodeHasValue(to) && pathmapNodeHasValue(from)) *pathmapNodeValue(to) = *pathmapNodeValue(from);
    memcpy(pathmapNodeLabelBytes(to), pathmapNodeLabelBytes(from), from->label);
}

void pathmapNodeAddChild(struct pathmap *map, struct pathmapNode **slot, struct pathmapNode *child) {
    struct pathmapNode *old = *slot;
    unsigned children = pathmapNodeChildren(old);
    uint8_t bytes[256], byte = (uint8_t)*pathmapNodeLabelBytes(child);
    unsigned at = pathmapNodeRank(old, byte);
    struct pathmapNode *n = pathmapNodeAllocate(map, children + 1, pathmapNodeHasValue(old), old->label);
    pathmapNodeListBytes(old, bytes);
    memmove(bytes + at + 1, bytes + at, children - at);
    bytes[at] = byte;
    pathmapNodeWriteIndex(n, bytes);
    struct pathmapNode **to = pathmapNodeSlots(n), **from = pathmapNodeSlots(old);
    memcpy(to, from, at * sizeof *to);
    to[at] = child;
    memcpy(to + at + 1, from + at, (children - at) * sizeof *to);
    pathmapNodeCopyRest(n, old);
    pathmapNodeReplace(map, slot, n);
}

void pathmapNodeDropChild(struct pathmap *map, struct pathmapNode **slot, unsigned at) {
    struct pathmapNode *old = *slot;
    unsigned children = pathmapNodeChildren(old);
    uint8_t bytes[256];
    debugAssert(at < children);
    struct pathmapNode *n = pathmapNodeAllocate(map, children - 1, pathmapNodeHasValue(old), old->label);
    pathmapNodeListBytes(old, bytes);
    memmove(bytes + at, bytes + at + 1, children - at - 1);
    pathmapNodeWriteIndex(n, bytes);
    struct pathmapNode **to = pathmapNodeSlots(n), **from = pathmapNodeSlots(old);
    memcpy(to, from, at * sizeof *to);
    memcpy(to + at, from + at + 1, (children - at - 1) * sizeof *to);
    pathmapNodeCopyRest(n, old);
    pathmapNodeReplace(map, slot, n);
}

void pathmapNodeSetHasValue(struct pathmap *map, struct pathmapNode **slot, bool has_value) {
    struct pathmapNode *old = *slot;
    debugAssert(pathmapNodeHasValue(old) != has_value);
    struct pathmapNode *n = pathmapNodeAllocate(map, pathmapNodeChildren(old), has_value, old->label);
    pathmapNodeCopyChildren(n, old);
    pathmapNodeCopyRest(n, old);
    pathmapNodeReplace(map, slot, n);
}

void pathmapNodeSplit(struct pathmap *map, struct pathmapNode **slot, size_t length) {
    struct pathmapNode *old = *slot;
    struct str label = pathmapNodeLabel(old);
    debugAssert(length < label.len);
    struct pathmapNode *upper = pathmapNodeAllocate(map, 1, false, length);
    struct pathmapNode *lower =
        pathmapNodeAllocate(map, pathmapNodeChildren(old), pathmapNodeHasValue(old), label.len - length);
    pathmapNodeCopyChildren(lower, old);
    if (pathmapNodeHasValue(old)) *pathmapNodeValue(lower) = *pathmapNodeValue(old);
    memcpy(pathmapNodeLabelBytes(lower), label.ptr + length, label.len - length);
    memcpy(pathmapNodeLabelBytes(upper), label.ptr, length);
    upper->index[0] = (uint8_t)label.ptr[length];
    *pathmapNodeSlots(upper) = lower;
    pathmapNodeReplace(map, slot, upper);
}

void pathmapNodeSettle(struct pathmap *map, struct pathmapNode **slot) {
    struct pathmapNode *old = *slot;
    if (pathmapNodeHasValue(old) || pathmapNodeChildren(old) != 1) return;
    struct pathmapNode *child = *pathmapNodeSlots(old);
    if ((size_t)old->label + child->label > PATHMAP_LABEL_MAX) return;
    struct pathmapNode *n = pathmapNodeAllocate(map, pathmapNodeChildren(child), pathmapNodeHasValue(child),
                                                (size_t)old->label + child->label);
    pathmapNodeCopyChildren(n, child);
    if (pathmapNodeHasValue(child)) *pathmapNodeValue(n) = *pathmapNodeValue(child);
    memcpy(pathmapNodeLabelBytes(n), pathmapNodeLabelBytes(old), old->label);
    memcpy(pathmapNodeLabelBytes(n) + old->label, pathmapNodeLabelBytes(child), child->label);
    pathmapNodeFree(map, child);
    pathmapNodeReplace(map, slot, n);
}
