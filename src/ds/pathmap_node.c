/* SPDX-License-Identifier: BSD-3-Clause */
/* pathmap_node.c - single nodes of a path map: the index of children, and changes. The layout is in
 * pathmap_private.h.
 *
 * A node has exactly the bytes that it needs, so a change of its shape makes a new node from the old one and
 * frees that. All parts of a node have limits, hence what a change copies has. */
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "ds/pathmap_private.h"

/* ---- The index ---- */

size_t pathmapCommonLength(struct str a, struct str b) {
    size_t n = a.len < b.len ? a.len : b.len, i = 0;
#ifdef __SSE2__
    for (; i + 64 <= n; i += 64) {
        const __m128i *x = (const __m128i *)(a.ptr + i), *y = (const __m128i *)(b.ptr + i);
        __m128i equal = _mm_cmpeq_epi8(_mm_loadu_si128(x), _mm_loadu_si128(y));
        for (int j = 1; j < 4; j++)
            equal = _mm_and_si128(equal, _mm_cmpeq_epi8(_mm_loadu_si128(x + j), _mm_loadu_si128(y + j)));
        if (_mm_movemask_epi8(equal) != 0xffff) break;
    }
#endif
    for (uint64_t x, y; i + 8 <= n; i += 8) {
        memcpy(&x, a.ptr + i, 8);
        memcpy(&y, b.ptr + i, 8);
        if (x != y) break;
    }
    while (i < n && a.ptr[i] == b.ptr[i]) i++;
    return i;
}

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
    unsigned children = n->children;
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
    unsigned children = n->children, rank = 0;
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
    unsigned children = n->children;
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
    unsigned children = n->children;
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

static size_t pathmapNodeSize(unsigned children, unsigned values, size_t run) {
    return pathmapNodeIndexBytes(children) + sizeof(void *) * children + PATHMAP_VALUE_COST * values + run;
}

/* Allocates a node, of which only the header is written. */
static struct pathmapNode *pathmapNodeAllocate(struct pathmap *map, unsigned children, unsigned values,
                                               size_t run) {
    debugAssert(children <= 256 && values <= PATHMAP_VALUES_MAX && run <= PATHMAP_RUN_MAX);
    struct pathmapNode *n = zmalloc(pathmapNodeSize(children, values, run));
    n->run = run & 0x1fff;
    n->children = children & 0x1ff;
    n->values = values & 0x3ff;
    map->nodes++;
    map->memory += zmallocSize(n);
    return n;
}

void pathmapNodeFree(struct pathmap *map, struct pathmapNode *n) {
    map->nodes--;
    map->memory -= zmallocSize(n);
    zfreeSized(n, pathmapNodeSize(n->children, n->values, n->run));
}

static void pathmapNodeReplace(struct pathmap *map, struct pathmapNode **slot, struct pathmapNode *now) {
    pathmapNodeFree(map, *slot);
    *slot = now;
}

/* ---- Parts of a node ---- */

/* Copies the children of a node to one that has as many. */
static void pathmapNodeCopyChildren(struct pathmapNode *to, const struct pathmapNode *from) {
    memcpy(to->index, from->index,
           from->children <= PATHMAP_LIST_MAX ? from->children : PATHMAP_MAP_BYTES - 4);
    memcpy(pathmapNodeSlots(to), pathmapNodeSlots(from), from->children * sizeof(void *));
}

/* Copies values of a node, `count` from number `first` on, to number `at` of another one, in whose run their
 * bytes are `shift` bytes further on. */
static void pathmapNodeCopyValues(struct pathmapNode *to, unsigned at, const struct pathmapNode *from,
                                  unsigned first, unsigned count, int shift) {
    memcpy(pathmapNodeValues(to) + at, pathmapNodeValues(from) + first, count * sizeof(void *));
    uint16_t *ends = pathmapNodeEnds(to) + at, *old = pathmapNodeEnds(from) + first;
    for (unsigned i = 0; i < count; i++) ends[i] = (uint16_t)(old[i] + shift);
}

static void **pathmapNodeSetValue(struct pathmapNode *n, unsigned at, size_t end) {
    pathmapNodeEnds(n)[at] = (uint16_t)end;
    pathmapNodeValues(n)[at] = NULL;
    return pathmapNodeValues(n) + at;
}

/* Copies `length` bytes of a run, from byte `from_at` on, to byte `at` of another one. */
static void pathmapNodeCopyBytes(struct pathmapNode *to, size_t at, const struct pathmapNode *from,
                                 size_t from_at, size_t length) {
    memcpy(pathmapNodeBytes(to) + at, pathmapNodeBytes(from) + from_at, length);
}

/* ---- Changes ---- */

struct pathmapNode *pathmapNodeNew(struct pathmap *map, struct str run, bool has_value) {
    struct pathmapNode *n = pathmapNodeAllocate(map, 0, has_value, run.len);
    if (has_value) pathmapNodeSetValue(n, 0, run.len);
    if (run.len) memcpy(pathmapNodeBytes(n), run.ptr, run.len);
    return n;
}

/* Returns a copy with another number of children, whose index and pointers are not written. */
static struct pathmapNode *pathmapNodeCopyRun(struct pathmap *map, const struct pathmapNode *from,
                                              unsigned children) {
    struct pathmapNode *n = pathmapNodeAllocate(map, children, from->values, from->run);
    pathmapNodeCopyValues(n, 0, from, 0, from->values, 0);
    pathmapNodeCopyBytes(n, 0, from, 0, from->run);
    return n;
}

void pathmapNodeAddChild(struct pathmap *map, struct pathmapNode **slot, struct pathmapNode *child) {
    struct pathmapNode *old = *slot, *n = pathmapNodeCopyRun(map, old, old->children + 1);
    struct pathmapNode **to = pathmapNodeSlots(n), **from = pathmapNodeSlots(old);
    uint8_t bytes[256], byte = (uint8_t)*pathmapNodeBytes(child);
    unsigned at = pathmapNodeRank(old, byte), after = old->children - at;
    pathmapNodeListBytes(old, bytes);
    memmove(bytes + at + 1, bytes + at, after);
    bytes[at] = byte;
    pathmapNodeWriteIndex(n, bytes);
    memcpy(to, from, at * sizeof *to);
    to[at] = child;
    memcpy(to + at + 1, from + at, after * sizeof *to);
    pathmapNodeReplace(map, slot, n);
}

void pathmapNodeDropChild(struct pathmap *map, struct pathmapNode **slot, unsigned at) {
    struct pathmapNode *old = *slot, *n = pathmapNodeCopyRun(map, old, old->children - 1);
    struct pathmapNode **to = pathmapNodeSlots(n), **from = pathmapNodeSlots(old);
    uint8_t bytes[256];
    unsigned after = old->children - at - 1;
    debugAssert(at < old->children);
    pathmapNodeListBytes(old, bytes);
    memmove(bytes + at, bytes + at + 1, after);
    pathmapNodeWriteIndex(n, bytes);
    memcpy(to, from, at * sizeof *to);
    memcpy(to + at, from + at + 1, after * sizeof *to);
    pathmapNodeReplace(map, slot, n);
}

void **pathmapNodeAddValue(struct pathmap *map, struct pathmapNode **slot, size_t end) {
    struct pathmapNode *old = *slot;
    struct pathmapNode *n = pathmapNodeAllocate(map, old->children, old->values + 1, old->run);
    unsigned at = pathmapNodeValuesUpTo(old, end);
    debugAssert(!at || pathmapNodeEnds(old)[at - 1] < end);
    pathmapNodeCopyChildren(n, old);
    pathmapNodeCopyValues(n, 0, old, 0, at, 0);
    pathmapNodeCopyValues(n, at + 1, old, at, old->values - at, 0);
    pathmapNodeCopyBytes(n, 0, old, 0, old->run);
    pathmapNodeReplace(map, slot, n);
    return pathmapNodeSetValue(n, at, end);
}

void pathmapNodeDropValue(struct pathmap *map, struct pathmapNode **slot, unsigned at) {
    struct pathmapNode *old = *slot;
    struct pathmapNode *n = pathmapNodeAllocate(map, old->children, old->values - 1, old->run);
    debugAssert(at < old->values);
    pathmapNodeCopyChildren(n, old);
    pathmapNodeCopyValues(n, 0, old, 0, at, 0);
    pathmapNodeCopyValues(n, at, old, at + 1, old->values - at - 1, 0);
    pathmapNodeCopyBytes(n, 0, old, 0, old->run);
    pathmapNodeReplace(map, slot, n);
}

void **pathmapNodeExtend(struct pathmap *map, struct pathmapNode **slot, struct str more) {
    struct pathmapNode *old = *slot;
    struct pathmapNode *n = pathmapNodeAllocate(map, 0, old->values + 1, old->run + more.len);
    debugAssert(!old->children);
    pathmapNodeCopyValues(n, 0, old, 0, old->values, 0);
    pathmapNodeCopyBytes(n, 0, old, 0, old->run);
    memcpy(pathmapNodeBytes(n) + old->run, more.ptr, more.len);
    pathmapNodeReplace(map, slot, n);
    return pathmapNodeSetValue(n, n->values - 1, n->run);
}

void pathmapNodeSplit(struct pathmap *map, struct pathmapNode **slot, size_t length) {
    struct pathmapNode *old = *slot;
    unsigned above = pathmapNodeValuesUpTo(old, length), below = old->values - above;
    debugAssert(length < old->run);
    struct pathmapNode *upper = pathmapNodeAllocate(map, 1, above, length);
    struct pathmapNode *lower = pathmapNodeAllocate(map, old->children, below, old->run - length);
    pathmapNodeCopyChildren(lower, old);
    pathmapNodeCopyValues(lower, 0, old, above, below, -(int)length);
    pathmapNodeCopyBytes(lower, 0, old, length, lower->run);
    pathmapNodeCopyValues(upper, 0, old, 0, above, 0);
    pathmapNodeCopyBytes(upper, 0, old, 0, length);
    upper->index[0] = (uint8_t)*pathmapNodeBytes(lower);
    *pathmapNodeSlots(upper) = lower;
    pathmapNodeReplace(map, slot, upper);
}

static void pathmapNodeJoinChild(struct pathmap *map, struct pathmapNode **slot) {
    struct pathmapNode *old = *slot, *child = *pathmapNodeSlots(old);
    struct pathmapNode *n =
        pathmapNodeAllocate(map, child->children, old->values + child->values, (size_t)old->run + child->run);
    pathmapNodeCopyChildren(n, child);
    pathmapNodeCopyValues(n, 0, old, 0, old->values, 0);
    pathmapNodeCopyValues(n, old->values, child, 0, child->values, old->run);
    pathmapNodeCopyBytes(n, 0, old, 0, old->run);
    pathmapNodeCopyBytes(n, old->run, child, 0, child->run);
    pathmapNodeFree(map, child);
    pathmapNodeReplace(map, slot, n);
}

/* Cuts the run of a leaf after its last path. */
static void pathmapNodeCutRun(struct pathmap *map, struct pathmapNode **slot) {
    struct pathmapNode *old = *slot;
    size_t length = pathmapNodeEnds(old)[old->values - 1];
    struct pathmapNode *n = pathmapNodeAllocate(map, 0, old->values, length);
    pathmapNodeCopyValues(n, 0, old, 0, old->values, 0);
    pathmapNodeCopyBytes(n, 0, old, 0, length);
    pathmapNodeReplace(map, slot, n);
}

void pathmapNodeTidy(struct pathmap *map, struct pathmapNode **slot) {
    const struct pathmapNode *n = *slot;
    debugAssert(n->children || n->values);
    if (!n->children && pathmapNodeEnds(n)[n->values - 1] < n->run) {
        pathmapNodeCutRun(map, slot);
    } else if (n->children == 1) {
        const struct pathmapNode *child = *pathmapNodeSlots(n);
        if (pathmapNodeFits(n, child->run, child->values)) pathmapNodeJoinChild(map, slot);
    }
}
