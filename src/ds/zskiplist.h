/* SPDX-License-Identifier: BSD-3-Clause */
/* zskiplist.h - ordered index of a sorted set: a skiplist (Pugh 1990) with spans, and with its header inside
 * the list.
 *
 *     zskiplist: | length | tail | header.level[0] .. header.level[MAX-1] |
 *     node:      | score | level[0] {backward+height+len, forward} | level[1] {span, forward} .. | member |
 *
 * There is no header node: the first element is one pointer away from the list. A node is one allocation, the
 * member embedded after the levels; of height 1 it takes 24 bytes beside its member. The span of level 0 is
 * always 0 or 1 (is there a next node), so that slot stores other things instead. List: the current height.
 * Node: the way back, in 48 bits, and above it the node's height and the member's length. Rank climbs: from a
 * node forward along the highest level reached, adding spans, up to the end; no comparisons.
 *
 * Order: score ascending, then member bytes by memcmp. NaN is not allowed. Members are unique; that is the
 * caller's duty (the member index knows). Other modules use only these functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define ZSKIPLIST_MAXLEVEL 16 /* enough for 4^16 elements at P = 1/4 */

typedef struct zskiplistNode zskiplistNode;

struct zskiplistLevel {
    uint64_t span; /* level 0: see above; never used as a span */
    zskiplistNode *forward;
};
struct zskiplist { /* 272 bytes; embedded in struct zset beside the member index */
    uint64_t length;
    zskiplistNode *tail;
    struct zskiplistLevel header[ZSKIPLIST_MAXLEVEL];
};
typedef struct zskiplist zskiplist;

/* Ranges: the score range [min, max], each end open or closed; the lexicographic range over members, which
 * presumes equal scores. */
struct zscoreRange {
    double min, max;
    bool minex, maxex; /* true: that end is excluded */
};
struct zlexBound {
    enum { ZLEX_MIN, ZLEX_VALUE, ZLEX_MAX } kind; /* "-", a value, "+" */
    bool exclusive;
    struct str value;
};
struct zlexRange {
    struct zlexBound min, max;
};
static inline bool zscoreGteMin(double score, const struct zscoreRange *r) {
    return r->minex ? score > r->min : score >= r->min;
}
static inline bool zscoreLteMax(double score, const struct zscoreRange *r) {
    return r->maxex ? score < r->max : score <= r->max;
}
static inline bool zscoreRangeEmpty(const struct zscoreRange *r) {
    return r->min > r->max || (r->min == r->max && (r->minex || r->maxex));
}
bool zlexGteMin(struct str member, const struct zlexRange *r);
bool zlexLteMax(struct str member, const struct zlexRange *r);
bool zlexRangeEmpty(const struct zlexRange *r);

/* Life. Nodes are freed one by one; O(n). */
void zslInit(zskiplist *zsl);
void zslClear(zskiplist *zsl);

/* Accessors. Forward and backward are NULL at the ends. */
uint64_t zslGetLength(const zskiplist *zsl);
zskiplistNode *zslGetTail(const zskiplist *zsl);
int zslGetHeight(const zskiplist *zsl);
zskiplistNode *zslGetFirst(const zskiplist *zsl);
double zslGetNodeScore(const zskiplistNode *n);
struct str zslGetNodeElement(const zskiplistNode *n);
int zslGetNodeHeight(const zskiplistNode *n);
zskiplistNode *zslGetNext(const zskiplistNode *n);
zskiplistNode *zslGetPrev(const zskiplistNode *n);
size_t zslNodeMemory(const zskiplistNode *n); /* usable bytes of its allocation */
void zslPrefetchFirst(const zskiplist *zsl);
/* The node that zslGetRank visits after n, NULL at the end, with what it will read there on its way. */
const zskiplistNode *zslClimb(const zskiplistNode *n);
/* A search for the place of a score that reads no node before it has been fetched: for passes over a batch,
 * in which the misses of several searches overlap. Each step asks for one node or two; false: there is no
 * more to fetch. It is a hint only: nodes of equal score are not told apart, and the list must not change
 * between the steps. */
struct zslFetch {
    const struct zskiplistLevel *tower;   /* left of the place, as far as is known */
    const struct zskiplistLevel *fetched; /* the tower from which nodes were asked for, */
    const zskiplistNode *stop;            /* right of the place, on the level above */
    double score;
    int16_t level, warm;
    int16_t down_to; /* of levels from here on */
};
void zslFetchBegin(const zskiplist *zsl, double score, struct zslFetch *f);
bool zslFetchStep(struct zslFetch *f);

/* Change. O(log n) expected. */
zskiplistNode *zslInsert(zskiplist *zsl, double score, struct str member);
/* Known to sort after the tail (O(1) amortized); before the first. */
zskiplistNode *zslAppend(zskiplist *zsl, double score, struct str member);
zskiplistNode *zslPrepend(zskiplist *zsl, double score, struct str member);
void zslDelete(zskiplist *zsl, zskiplistNode *n); /* unlinked and freed */
/* New score; the node stays in place when the order allows, else it is unlinked and linked again: same node,
 * same address. */
void zslUpdateScore(zskiplist *zsl, zskiplistNode *n, double score);

/* Rank is 0-based. zslGetRank: O(log n) climbing. zslGetByRank: NULL when rank >= length. */
uint64_t zslGetRank(const zskiplist *zsl, const zskiplistNode *n);
zskiplistNode *zslGetByRank(const zskiplist *zsl, uint64_t rank);

/* First/last node inside the range, NULL when none; *rank (may be NULL) receives its rank. O(log n). */
zskiplistNode *zslFirstInScoreRange(const zskiplist *zsl, const struct zscoreRange *r, uint64_t *rank);
zskiplistNode *zslLastInScoreRange(const zskiplist *zsl, const struct zscoreRange *r, uint64_t *rank);
zskiplistNode *zslFirstInLexRange(const zskiplist *zsl, const struct zlexRange *r, uint64_t *rank);
zskiplistNode *zslLastInLexRange(const zskiplist *zsl, const struct zlexRange *r, uint64_t *rank);

/* Delete `count` nodes from rank on; onDelete (may be NULL) is told each node before it is freed. Returns how
 * many. O(log n + count). */
uint64_t zslDeleteRangeByRank(zskiplist *zsl, uint64_t rank, uint64_t count,
                              void (*onDelete)(void *priv, zskiplistNode *n), void *priv);

/* Up to `count` nodes from rank on may move: `move` copies the node it is given, frees it and returns the
 * copy, or NULL: it stays. O(log n + count). */
void zslMoveRange(zskiplist *zsl, uint64_t rank, uint64_t count,
                  zskiplistNode *(*move)(void *priv, zskiplistNode *n), void *priv);

/* Every invariant: order, spans, heights, backward links, tail, length. Asserts. For tests. */
void zslVerify(const zskiplist *zsl);
