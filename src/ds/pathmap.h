/* SPDX-License-Identifier: BSD-3-Clause */
/* pathmap.h - an ordered map from binary-safe paths to pointers, made for the question "which stored path is
 * the longest prefix of this text?".
 *
 * The structure is a radix tree with compressed edges (D. R. Morrison, "PATRICIA", JACM 15(4), 1968) whose
 * nodes adapt to the number of their children (V. Leis et al., "The Adaptive Radix Tree", ICDE 2013). Bytes
 * that paths share are stored once. Paths of which one begins with the other, without a branch between them,
 * share a node, so a deep search reads few allocations from front to back. Children are found by their first
 * byte. docs/contributing/design/pathmap.md explains it with figures.
 *
 * A path is any string, the empty one included. The map keeps one pointer, never NULL, for each path. It does
 * not own what the pointer refers to. Paths are ordered as unsigned bytes, a prefix before what it begins.
 *
 * L is the length of the argument in bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"

#define PATHMAP_PATH_MAX (UINT32_MAX - 64) /* bytes of a path; callers check this first */

struct pathmap;

/* ---- Life ---- */
struct pathmap *pathmapNew(void);
/* Frees the map. `drop` is called with the value of each path; it may be NULL. O(size); never recursive in
 * the length of paths. */
void pathmapFree(struct pathmap *map, void (*drop)(void *value));
size_t pathmapCount(const struct pathmap *map);  /* number of paths; O(1) */
size_t pathmapNodes(const struct pathmap *map);  /* number of allocations, the map's own included; O(1) */
size_t pathmapMemory(const struct pathmap *map); /* allocated bytes, without the values; O(1) */

/* ---- One path: O(L) ---- */
/* Returns the value's place, valid until the next change of the map. NULL: there is no such path. */
void **pathmapFind(const struct pathmap *map, struct str path);
/* Returns the value's place; a new path has NULL there, which the caller must replace at once. */
void **pathmapInsert(struct pathmap *map, struct str path, bool *added);
/* Removes the path and returns its value. NULL: there was no such path. */
void *pathmapRemove(struct pathmap *map, struct str path);

/* ---- Prefixes of a text: O(L) ---- */
/* Returns the value's place of the longest path that is a prefix of `text`, and the path's length. NULL:
 * none. */
void **pathmapLongest(const struct pathmap *map, struct str text, size_t *length);
/* Calls fn for each path that is a prefix of `text`, shortest first, until it returns false. The map must not
 * change meanwhile. */
void pathmapPrefixes(const struct pathmap *map, struct str text,
                     bool (*fn)(void *priv, size_t length, void **value), void *priv);
/* Prefetches what a lookup of `text` needs next, in passes as struct objectType.prefetch: step 0, 1, 2 ...
 * until it returns false. *at is the state; NULL before step 0. It reads only what an earlier step fetched.
 */
bool pathmapPrefetch(const struct pathmap *map, struct str text, int step, const void **at,
                     uint64_t notes[5]);

/* ---- All paths below a prefix ---- */
/* Takes all paths that begin with `prefix` out of the map, and returns them as a map of their own (with their
 * whole paths), or NULL when there are none. O(L + number of nodes taken). */
struct pathmap *pathmapDetach(struct pathmap *map, struct str prefix);

/* ---- Iteration in order. The map must not change meanwhile, except that values may be replaced. ---- */
struct pathmapIterator {
    sds path;    /* of the item that was returned last */
    void *stack; /* nodes from the root; private */
    size_t depth, size;
};
/* Starts before the first path that begins with `prefix` and, if `after` is not NULL, is greater than *after.
 */
void pathmapIterate(struct pathmapIterator *it, const struct pathmap *map, struct str prefix,
                    const struct str *after);
/* Returns the place of the next path's value, and it->path (valid until the next call); NULL at the end. */
void **pathmapNext(struct pathmapIterator *it);
void pathmapStop(struct pathmapIterator *it);

/* ---- Defragmentation ---- */
/* Offers the map's own allocations to `move`, and the place of each value to `value`, in order, beginning
 * after *cursor (NULL: at the start). Both get `priv`. Visits about `budget` nodes. Returns true when there
 * is more to do; then *cursor says where, else it is freed and NULL. A caller that gives up frees it. The map
 * may change between calls; then some nodes may be visited twice or, if new, not at all. *map is updated when
 * the map itself moves. */
bool pathmapDefrag(struct pathmap **map, sds *cursor, size_t budget, zmoveFn *move,
                   void (*value)(void *priv, void **place), void *priv);

/* Checks all invariants; aborts when one does not hold. O(size). For tests and RESTORE's deep check. */
void pathmapCheck(const struct pathmap *map);
