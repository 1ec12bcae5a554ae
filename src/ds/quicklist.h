/* SPDX-License-Identifier: BSD-3-Clause */
/* quicklist.h - a long list of strings: a doubly linked chain of listpacks.
 *
 * Both ends are reached in O(1); an element in the middle is found by walking over nodes, and inside of a
 * node over its elements. How much a node may hold is the list's `fill`; how many nodes at each end stay
 * uncompressed is its `depth` (0: no node is compressed). An element that would not even fit into a node of
 * its own gets a plain node: its bytes without a listpack around them. Elements are shorter than
 * QL_ELEMENT_MAX bytes.
 *
 * Positions are held by a cursor. A cursor is on an element, or in a gap: before the first element, after the
 * last, or where the element it was on has just been deleted. qlNext and qlPrev go to the element that
 * follows or precedes either, so a walk can delete as it goes, turn around at any time, and neither skips an
 * element nor sees one twice. Reading through a cursor changes nothing: a compressed node is unpacked into a
 * copy that the cursor owns, which becomes the node's own only when something in it changes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/zmalloc.h"
#include "ds/listpack.h"

#define QL_ELEMENT_MAX (UINT32_MAX - 64)
#define QL_DEPTH_MAX   UINT8_MAX

/* The limits of one listpack of a list. */
struct qlLimits {
    uint32_t bytes, count;
};
/* fill -1 .. -5: 4, 8, 16, 32, 64 KiB (less counts as -5); above 0: that many elements, and at most 8 KiB;
 * 0 counts as 1. */
struct qlLimits qlLimitsOf(int64_t fill);
/* Returns whether elements of `add_bytes` bytes in the format (see qlEntryBound) may join a listpack of
 * this size. */
static inline bool qlFits(struct qlLimits l, size_t bytes, size_t count, size_t add_bytes, size_t add_count) {
    return bytes + add_bytes <= l.bytes && count + add_count <= l.count;
}
/* Returns the most bytes that an element of `len` bytes takes in a listpack. */
size_t qlEntryBound(size_t len);
/* For tests: elements of at least this many bytes get their own node, even if they fit elsewhere. 0:
 * only those that do not fit. */
void qlSetPackedThreshold(size_t bytes);

struct qlNode;
struct quicklist {
    struct qlNode *head, *tail; /* never compressed */
    uint64_t count;             /* elements */
    uint32_t nodes;
    int16_t fill;
    uint8_t depth;
    uint8_t mark : 7; /* these two belong to quicklist_save.c */
    bool watched : 1;
};
_Static_assert(sizeof(struct quicklist) == 32, "exactly an allocator class");

enum qlEnd { QL_HEAD, QL_TAIL };

struct quicklist *qlNew(int64_t fill,
                        int64_t depth); /* values out of range are replaced by the nearest sensible ones */
void qlFree(struct quicklist *ql);
struct quicklist *qlDup(const struct quicklist *ql);
/* Returns the usable bytes of all allocations, estimated from `samples` nodes (0: from all of them). */
size_t qlMemory(const struct quicklist *ql, size_t samples);
size_t qlUncompressedBytes(const struct quicklist *ql); /* bytes of all nodes' contents */

/* ---- Ends and ranges ---- */
void qlPush(struct quicklist *ql, struct str s, enum qlEnd end); /* O(1): moves the bytes of one node */
/* Pushes elements at the head, one after the other. Whole nodes are written from front to back. */
void qlPrependMany(struct quicklist *ql, const struct str *s, size_t count);
/* Deletes up to `num` elements from index `start` >= 0 on; returns how many. */
uint64_t qlDeleteRange(struct quicklist *ql, uint64_t start, uint64_t num);

/* ---- Cursors. While one has changed the list, no other is valid. ---- */
struct qlCursor {
    struct quicklist *ql;
    struct qlNode *node; /* NULL in the gap at the end */
    unsigned char *data; /* the node's listpack or plain bytes */
    unsigned char *copy; /* owned; `data` of a compressed node */
    unsigned char *p;    /* the element; in a gap the next one, or NULL at the end of the node */
    uint32_t at;         /* index of p in its node */
    bool gap, changed;
};
void qlCursorStart(struct qlCursor *cur, struct quicklist *ql,
                   enum qlEnd end); /* puts the cursor into the gap at that end */
/* Puts the cursor on the element at `index`, negative from the end. Returns false, with nothing to
 * close, if there is none. */
bool qlCursorSeek(struct qlCursor *cur, struct quicklist *ql, int64_t index);
void qlCursorClose(struct qlCursor *cur);
bool qlNext(struct qlCursor *cur); /* false: now in the gap at the end */
bool qlPrev(struct qlCursor *cur);
/* Reads the element under the cursor; valid until the cursor moves or the list changes. */
void qlValue(const struct qlCursor *cur, struct lpValue *v);
void qlDelete(struct qlCursor *cur); /* leaves a gap */
/* These close the cursor. */
void qlReplace(struct qlCursor *cur, struct str s);
void qlInsert(struct qlCursor *cur, struct str s, bool after);

/* For loops over many elements: from the cursor's element on, `qlRunLength` elements are consecutive in
 * one listpack (at cur->p) or are a plain node's only one. qlNextNode moves to the first element behind
 * them. */
uint32_t qlRunLength(const struct qlCursor *cur);
bool qlIsPlain(const struct qlCursor *cur);
bool qlNextNode(struct qlCursor *cur);

/* ---- Whole nodes ---- */
/* Makes a list of one listpack, which it takes over (and frees when it has no elements). */
struct quicklist *qlFromListpack(unsigned char *lp, int64_t fill, int64_t depth);
/* Returns the listpack of the only node, when that is not plain and within the limits; the list is empty
 * then. NULL otherwise: nothing changed. */
unsigned char *qlToListpack(struct quicklist *ql, struct qlLimits l);
/* Append nodes from outside. A listpack is taken over; if the bytes are no well-formed listpack with at
 * least one element, nothing changes, the caller keeps it, and the result is false. */
bool qlLoadListpack(struct quicklist *ql, unsigned char *lp, size_t size);
void qlLoadPlain(struct quicklist *ql, struct str s);
/* A node in its stored form; qlForEachNode visits all in order. */
struct qlNodeView {
    struct str bytes; /* a listpack or, when plain, an element; LZF of it when compressed */
    size_t length;    /* uncompressed length */
    bool plain, compressed;
    bool elsewhere; /* quicklist_save.h */
};
void qlForEachNode(const struct quicklist *ql, void (*fn)(void *priv, const struct qlNodeView *n),
                   void *priv);

/* Prefetches what an operation at that end will touch. Call it with step 0, 1, 2 ... until it returns
 * false; each step needs what the previous one fetched. `at` is NULL before step 0. */
bool qlPrefetch(const struct quicklist *ql, enum qlEnd end, int step, const void **at);

/* Passes every allocation to `move`, those of up to `nodes` nodes with each call; the list may change
 * between calls. Start with *cursor == 0; it is 0 again at the end. Returns the list. Reaching the
 * position of the previous call takes as long as qlCursorSeek, without unpacking. */
struct quicklist *qlMove(struct quicklist *ql, uint64_t *cursor, uint32_t nodes, zmoveFn *move, void *priv);

/* Checks all invariants. O(n), for tests. */
bool qlCheck(const struct quicklist *ql);
