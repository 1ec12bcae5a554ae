/* SPDX-License-Identifier: BSD-3-Clause */
/* zskiplist.h - ordered index of a sorted set: a skiplist (Pugh 1990) with spans, whose header is inside
 * the list.
 *
 *     zskiplist: | length | tail | height, adjust | header: forward, (span, forward) .. |
 *     node:      | score | backward+height+len | forward, (span, forward) .. | member |
 *
 * There is no header node: the first element is one pointer away from the list. A node is one allocation
 * with the member after the levels; a node of height 1 takes 22 bytes besides its member. Pointers have 6
 * bytes and spans 5; level 0 has no span, as that would always be 0 or 1. A rank is computed by climbing:
 * from a node forward along the highest level reached, adding spans, up to the end, without comparisons.
 *
 * Order: score ascending, then member bytes by memcmp. NaN is not allowed. Members are unique: the
 * caller checks that with the member index. Other modules use only these functions.
 *
 * A score with a rest (zscore.h) makes its node 8 bytes longer; all other nodes are as they would be without
 * such scores, and the rest is looked at only where two scores have the same value. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_function.h"
#include "base/str.h"
#include "ds/zscore.h"

#define ZSKIPLIST_MAXLEVEL 16 /* enough for 4^16 elements at P = 1/4 */

typedef struct zskiplistNode zskiplistNode;

typedef uint8_t zslTower; /* the first byte of a tower: its forward pointer of level 0 */
#define ZSKIPLIST_SPAN_BYTES  5
#define ZSKIPLIST_LEVEL_BYTES 11 /* of a level above 0 */
#define ZSKIPLIST_TOWER_BYTES (ZSKIPLIST_MAXLEVEL * ZSKIPLIST_LEVEL_BYTES - ZSKIPLIST_SPAN_BYTES)

struct zskiplist { /* embedded in struct zset beside the member index */
    uint64_t length;
    zskiplistNode *tail;
    uint64_t word; /* height, a flag, and a number for appending: see zskiplist.c */
    zslTower header[ZSKIPLIST_TOWER_BYTES];
};
typedef struct zskiplist zskiplist;

/* An element to make a set of. The member is a view. */
struct zsetItem {
    struct str member;
    struct zscore score;
    uint64_t hash; /* hashBytes() of the member; 0: it has not been computed */
};
static inline uint64_t zsetItemHash(const struct zsetItem *item) {
    return item->hash ? item->hash : hashBytes(item->member.ptr, item->member.len);
}

/* Ranges: the score range [min, max], each end open or closed; the lexicographic range over members, which
 * presumes equal scores. */
struct zscoreRange {
    double min, max;
    bool minex, maxex;        /* whether min, max itself is excluded */
    int16_t minrest, maxrest; /* of min and max (zscore.h) */
};
struct zlexBound {
    enum { ZLEX_MIN, ZLEX_VALUE, ZLEX_MAX } kind; /* "-", a value, "+" */
    bool exclusive;
    struct str value;
};
struct zlexRange {
    struct zlexBound min, max;
};
static inline bool zscoreRangeHasRests(const struct zscoreRange *r) {
    return __builtin_expect(r->minrest | r->maxrest, 0);
}
static inline bool zscoreGteMin(struct zscore s, const struct zscoreRange *r) {
    return s.value != r->min ? s.value > r->min : s.rest >= r->minrest + r->minex;
}
static inline bool zscoreLteMax(struct zscore s, const struct zscoreRange *r) {
    return s.value != r->max ? s.value < r->max : s.rest <= r->maxrest - r->maxex;
}
static inline bool zscoreRangeEmpty(const struct zscoreRange *r) {
    if (r->min < r->max) return false;
    return r->min > r->max || r->minrest + r->minex > r->maxrest - r->maxex;
}
bool zlexGteMin(struct str member, const struct zlexRange *r);
bool zlexLteMax(struct str member, const struct zlexRange *r);
bool zlexRangeEmpty(const struct zlexRange *r);

/* Creating and freeing. Nodes are freed one by one; O(n). */
void zslInit(zskiplist *zsl);
void zslClear(zskiplist *zsl);

/* Accessors. Forward and backward are NULL at the ends. */
uint64_t zslGetLength(const zskiplist *zsl);
zskiplistNode *zslGetTail(const zskiplist *zsl);
int zslGetHeight(const zskiplist *zsl);
bool zslHasRests(const zskiplist *zsl); /* whether it has had a score with a rest since zslInit */
zskiplistNode *zslGetFirst(const zskiplist *zsl);
struct zscore zslGetNodeScore(const zskiplistNode *n);
struct str zslGetNodeElement(const zskiplistNode *n);
int zslGetNodeHeight(const zskiplistNode *n);
zskiplistNode *zslGetNext(const zskiplistNode *n);
zskiplistNode *zslGetPrev(const zskiplistNode *n);
size_t zslNodeMemory(const zskiplistNode *n); /* usable bytes of the node's allocation */
void zslPrefetchFirst(const zskiplist *zsl);
/* Returns the node that zslGetRank visits after n, NULL at the end, and prefetches what it will read
 * there. */
const zskiplistNode *zslClimb(const zskiplistNode *n);
/* A search for one score or two that prefetches each node before reading it, so that the cache misses of
 * several searches overlap. Each step prefetches one node or two; false when nothing is left to fetch. It is
 * a hint only: nodes of equal score are not distinguished, and the list must not change between the steps. It
 * may lie in any memory that is aligned to 8 bytes. */
struct zslFetch {
    const zslTower *tower;     /* the last tower known to be left of the score */
    const zskiplistNode *stop; /* the first node right of the score, on the level above */
    const zskiplistNode *fork; /* where the way to the other score leaves that to the first; NULL: nowhere */
    double score, other, last;
    int16_t level, fork_level;
    int16_t warm;  /* levels from here on are not prefetched */
    int16_t ready; /* the tower's next nodes from this level on can be read */
    int run;       /* how many nodes behind the place are still to be fetched */
} __attribute__((may_alias));
/* Begins the search for the place of `score`, and of `other` if that is higher (NAN: it is not). */
void zslFetchBegin(const zskiplist *zsl, double score, double other, struct zslFetch *f);
/* Begins the search for `score`, and fetches up to `run` nodes from there on with scores up to `last`. */
void zslFetchBeginRun(const zskiplist *zsl, double score, double last, int run, struct zslFetch *f);
bool zslFetchStep(struct zslFetch *f);
/* Returns the node at which the search is: after its end, the first one right of the score, or behind the
 * run. */
zskiplistNode *zslFetchPlace(const struct zslFetch *f);

/* Change. O(log n) expected. */
zskiplistNode *zslInsert(zskiplist *zsl, struct zscore score, struct str member);
/* The element must sort after the tail (O(1) amortized), or before the first element. */
zskiplistNode *zslAppend(zskiplist *zsl, struct zscore score, struct str member);
zskiplistNode *zslPrepend(zskiplist *zsl, struct zscore score, struct str member);
/* Makes a node that is in no list, and puts such a node into a list, where it must sort after the tail. */
zskiplistNode *zslNewNode(struct zscore score, struct str member);
void zslAppendNode(zskiplist *zsl, zskiplistNode *n);
void zslDelete(zskiplist *zsl, zskiplistNode *n); /* unlinks and frees the node */
/* Sets a new score; the node stays in place if the order allows, else it is unlinked and linked again.
 * Returns the node: it has another address after its first score with a rest, and else the same. */
zskiplistNode *zslUpdateScore(zskiplist *zsl, zskiplistNode *n, struct zscore score);

/* Ranks count from 0. zslGetRank climbs in O(log n). zslGetByRank returns NULL for rank >= length. */
uint64_t zslGetRank(const zskiplist *zsl, const zskiplistNode *n);
zskiplistNode *zslGetByRank(const zskiplist *zsl, uint64_t rank);

/* Return the first or last node inside the range, NULL if there is none; *rank, unless NULL, receives
 * its rank. O(log n). */
zskiplistNode *zslFirstInScoreRange(const zskiplist *zsl, const struct zscoreRange *r, uint64_t *rank);
zskiplistNode *zslLastInScoreRange(const zskiplist *zsl, const struct zscoreRange *r, uint64_t *rank);
zskiplistNode *zslFirstInLexRange(const zskiplist *zsl, const struct zlexRange *r, uint64_t *rank);
zskiplistNode *zslLastInLexRange(const zskiplist *zsl, const struct zlexRange *r, uint64_t *rank);

/* Counts the nodes from *n on whose scores are in the range, or backward from it, up to `max`, and sets *n to
 * the one behind the last of them, NULL at the end. *n is in the range or beyond it. O(max). */
uint64_t zslCountInScoreRange(const zskiplist *zsl, const zskiplistNode **n, const struct zscoreRange *r,
                              bool back, uint64_t max);

/* Deletes `count` nodes from rank on; onDelete, unless NULL, is called for each node before it is freed.
 * Returns how many. O(log n + count). */
uint64_t zslDeleteRangeByRank(zskiplist *zsl, uint64_t rank, uint64_t count,
                              void (*onDelete)(void *priv, zskiplistNode *n), void *priv);

/* Moves up to `count` nodes from rank on: `move` copies the node, frees it and returns the copy, or
 * returns NULL when it stays. O(log n + count). */
void zslMoveRange(zskiplist *zsl, uint64_t rank, uint64_t count,
                  zskiplistNode *(*move)(void *priv, zskiplistNode *n), void *priv);

/* Asserts every invariant: order, spans, heights, backward links, tail, length. For tests. */
void zslVerify(const zskiplist *zsl);
