/* SPDX-License-Identifier: BSD-3-Clause */
/* zskiplist.c - ordered index of a sorted set; the contract and the idea are in zskiplist.h.
 *
 *     zskiplist   length   tail    level[0]            level[1]        level[2] ..
 *                                  | adjust, height    | span          | span
 *                                  | forward           | forward       | forward
 *
 *     node        score            level[0]            level[1] ..     member bytes (no NUL)
 *        offset   0                8                   24              8 + 16 * height
 *                                  | back, see below   | span
 *                                  | forward           | forward
 *
 *        back     | length: 12 | height - 1: 4 | backward: 48 |
 *
 * Three out of four nodes have height 1, and take 24 bytes besides the member: score, links and most of
 * the member share a cache line. A member of LONG_MEMBER bytes or more has its length in the 8 bytes
 * before it.
 *
 * A "tower" is an array of levels, either a node's or the header; searches walk towers, so that the
 * header needs no special case. Positions count from 1, the header is at 0.
 *
 * The span of a level whose forward is NULL is the number of nodes after this one, minus the list's
 * `adjust`. Appending a node would increase all such spans; it increments `adjust` instead, and removing
 * the tail decrements it. So both touch only the tail, as long as its height is 1. Linking anywhere else
 * changes only spans on the search path, in the same way whether they lead to a node or to the end. The
 * number may wrap around below zero, which unsigned arithmetic allows. */
#include "ds/zskiplist.h"

#include <math.h>

#include "base/assert.h"
#include "base/random.h"
#include "base/zmalloc.h"

/* Levels of at most this many nodes stay in the cache: every search reads some of them. */
#define FETCH_WARM 1024
#define NODE_GUESS 48 /* typical bytes of a node */

typedef struct zskiplistLevel zslLevel;

struct zskiplistNode {
    double score;
    zslLevel level[];
};

_Static_assert(sizeof(zslLevel) == 16, "a level is two words");
_Static_assert(offsetof(zskiplist, header) == 16, "length, tail and the first level share a cache line");
_Static_assert(sizeof(zskiplist) == 16 + 16 * ZSKIPLIST_MAXLEVEL, "no padding in the list");
_Static_assert(offsetof(zskiplistNode, score) == 0, "score first");
_Static_assert(offsetof(zskiplistNode, level) == 8, "then the levels");

/* ---- The span slot of a node's level 0: backward pointer, height, member length ---- */

#define POINTER_BITS 48
#define HEIGHT_BITS  4
#define LENGTH_SHIFT (POINTER_BITS + HEIGHT_BITS)
#define POINTER_MASK ((1ull << POINTER_BITS) - 1)
#define LONG_MEMBER  ((1u << (64 - LENGTH_SHIFT)) - 1)
_Static_assert(ZSKIPLIST_MAXLEVEL <= 1u << HEIGHT_BITS, "a height fits its bits");

static inline zskiplistNode *zslBackwardOf(const zskiplistNode *n) {
    return (zskiplistNode *)(uintptr_t)(n->level[0].span & POINTER_MASK);
}

static inline void zslSetBackward(zskiplistNode *n, const zskiplistNode *to) {
    debugAssert((uintptr_t)to >> POINTER_BITS == 0);
    uint64_t word = (n->level[0].span & ~POINTER_MASK) | (uintptr_t)to;
    __atomic_store_n(&n->level[0].span, word, __ATOMIC_RELAXED); /* see zslMemberOf */
}

static inline int zslHeightIn(uint64_t word) {
    return 1 + (int)(word >> POINTER_BITS & ((1u << HEIGHT_BITS) - 1));
}

static inline int zslNodeHeight(const zskiplistNode *n) {
    return zslHeightIn(n->level[0].span);
}

/* ---- The span slot of the header's level 0: height in the low byte, `adjust` above it ---- */

#define ADJUST_SHIFT 8
#define HEIGHT_MASK  ((1u << ADJUST_SHIFT) - 1)

static inline int zslListHeight(const zskiplist *zsl) {
    return (int)(zsl->header[0].span & HEIGHT_MASK);
}

static inline uint64_t zslGetAdjust(const zskiplist *zsl) {
    return (uint64_t)((int64_t)zsl->header[0].span >> ADJUST_SHIFT); /* an arithmetic shift keeps the sign */
}

static inline void zslAddAdjust(zskiplist *zsl, int64_t delta) {
    zsl->header[0].span += (uint64_t)delta << ADJUST_SHIFT;
}

static inline void zslSetListHeight(zskiplist *zsl, int height) {
    zsl->header[0].span = (zsl->header[0].span & ~(uint64_t)HEIGHT_MASK) | (uint64_t)height;
}

static inline uint64_t zslSpanOf(const zslLevel *tower, int level) {
    return level ? tower[level].span : 1;
}

/* ---- Nodes ---- */

/* Draws a height with P = 1/4: each pair of zero bits adds a level. */
static int zslRandomHeight(void) {
    uint64_t bits = randomU64() | 1ull << (2 * (ZSKIPLIST_MAXLEVEL - 1));
    return 1 + __builtin_ctzll(bits) / 2;
}

/* The thread of a snapshot may read a node whose backward pointer changes at this moment (table_parts.h). */
static inline struct str zslMemberOf(const zskiplistNode *n) {
    uint64_t word = __atomic_load_n(&n->level[0].span, __ATOMIC_RELAXED), length = word >> LENGTH_SHIFT;
    const char *bytes = (const char *)&n->level[zslHeightIn(word)];
    if (__builtin_expect(length != LONG_MEMBER, 1)) return strN(bytes, length);
    memcpy(&length, bytes, sizeof length);
    return strN(bytes + sizeof length, length);
}

static size_t zslNodeSize(int height, size_t length) {
    return sizeof(zskiplistNode) + (size_t)height * sizeof(zslLevel) + length +
           (length >= LONG_MEMBER ? sizeof(uint64_t) : 0);
}

static zskiplistNode *zslNodeNew(int height, double score, struct str member) {
    uint64_t length = member.len, above = (uint64_t)height - 1;
    zskiplistNode *n = zmalloc(zslNodeSize(height, length));
    char *bytes = (char *)&n->level[height];
    if (length >= LONG_MEMBER) {
        memcpy(bytes, &length, sizeof length);
        bytes += sizeof length;
        length = LONG_MEMBER;
    }
    n->score = score;
    n->level[0].span = length << LENGTH_SHIFT | above << POINTER_BITS;
    if (member.len) memcpy(bytes, member.ptr, member.len);
    return n;
}

static void zslNodeFree(zskiplistNode *n) {
    zfreeSized(n, zslNodeSize(zslNodeHeight(n), zslMemberOf(n).len));
}

/* Returns the node of a tower; NULL for the header. */
static inline zskiplistNode *zslTowerNode(const zskiplist *zsl, zslLevel *tower) {
    if (tower == zsl->header) return NULL;
    return (zskiplistNode *)((char *)tower - offsetof(zskiplistNode, level));
}

/* ---- Searching ---- */

/* The last tower left of a place on each level, and their positions. */
struct zslPath {
    zslLevel *tower[ZSKIPLIST_MAXLEVEL];
    uint64_t pos[ZSKIPLIST_MAXLEVEL];
};

/* The key of a search; the list is ordered by score, then member. */
struct zslKey {
    double score;
    struct str member;
};
static inline bool zslIsBeforeKey(const zskiplistNode *n, const void *key) {
    const struct zslKey *k = key;
    if (n->score != k->score) return n->score < k->score;
    return strCmp(zslMemberOf(n), k->member) < 0;
}
static inline bool zslIsBelowScoreMin(const zskiplistNode *n, const void *r) {
    return !zscoreGteMin(n->score, r);
}
static inline bool zslIsWithinScoreMax(const zskiplistNode *n, const void *r) {
    return zscoreLteMax(n->score, r);
}
static inline bool zslIsBelowLexMin(const zskiplistNode *n, const void *r) {
    return !zlexGteMin(zslMemberOf(n), r);
}
static inline bool zslIsWithinLexMax(const zskiplistNode *n, const void *r) {
    return zlexLteMax(zslMemberOf(n), r);
}

typedef bool isLeftFn(const zskiplistNode *n, const void *target);

/* Finds the last tower for which isLeft holds, and its position; fills in the path unless that is NULL.
 * It is inlined into each caller, with its own isLeft. A node that stopped a higher level is not
 * compared again. */
static inline __attribute__((always_inline)) zslLevel *
zslDescend(const zskiplist *zsl, isLeftFn *isLeft, const void *target, uint64_t *pos, struct zslPath *path) {
    zslLevel *tower = (zslLevel *)zsl->header;
    const zskiplistNode *stop = NULL;
    uint64_t at = 0;
    for (int i = zslListHeight(zsl) - 1; i >= 0; i--) {
        zskiplistNode *next;
        while ((next = tower[i].forward) != stop && next && isLeft(next, target)) {
            at += zslSpanOf(tower, i);
            tower = next->level;
        }
        stop = next;
        if (path) {
            path->tower[i] = tower;
            path->pos[i] = at;
        }
    }
    *pos = at;
    return tower;
}

static void zslFindPathByKey(const zskiplist *zsl, const struct zslKey *key, struct zslPath *path) {
    uint64_t pos;
    zslDescend(zsl, zslIsBeforeKey, key, &pos, path);
}

/* Moves a path on to a key further right. Only the levels below the first one whose next node is not left of
 * the key change, so this costs O(log distance) expected. */
static void zslAdvancePath(const struct zslKey *key, struct zslPath *path, int height) {
    int i = 0;
    while (i < height && path->tower[i][i].forward && zslIsBeforeKey(path->tower[i][i].forward, key)) i++;
    if (!i) return;
    zslLevel *tower = path->tower[i - 1];
    uint64_t at = path->pos[i - 1];
    const zskiplistNode *stop = i < height ? path->tower[i][i].forward : NULL;
    while (i-- > 0) {
        zskiplistNode *next;
        while ((next = tower[i].forward) != stop && next && zslIsBeforeKey(next, key)) {
            at += zslSpanOf(tower, i);
            tower = next->level;
        }
        stop = next;
        path->tower[i] = tower;
        path->pos[i] = at;
    }
}

/* Finds the towers to the left of position pos + 1, without their positions. */
static void zslFindPathByPos(zskiplist *zsl, uint64_t pos, struct zslPath *path) {
    zslLevel *tower = zsl->header;
    uint64_t at = 0;
    for (int i = zslListHeight(zsl) - 1; i >= 0; i--) {
        while (tower[i].forward && zslSpanOf(tower, i) <= pos - at) {
            at += zslSpanOf(tower, i);
            tower = tower[i].forward->level;
        }
        path->tower[i] = tower;
    }
}

/* Finds the last tower on each of the levels 1 .. height-1, not counting `except`. */
static void zslFindLastTowers(zskiplist *zsl, int height, const zskiplistNode *except, zslLevel **last) {
    zslLevel *tower = zsl->header;
    if (height == 1) return;
    for (int i = zslListHeight(zsl) - 1; i > 0; i--) {
        while (tower[i].forward && tower[i].forward != except) tower = tower[i].forward->level;
        last[i] = tower;
    }
}

/* ---- Linking ---- */

/* Raises the list's height; new levels of the header lead to the end. Returns the old height. */
static int zslRaiseHeight(zskiplist *zsl, int height) {
    int before = zslListHeight(zsl);
    if (height <= before) return before;
    for (int i = before; i < height; i++) zsl->header[i].span = zsl->length - zslGetAdjust(zsl);
    zslSetListHeight(zsl, height);
    return before;
}

static void zslLowerHeight(zskiplist *zsl) {
    int height = zslListHeight(zsl);
    while (height > 1 && !zsl->header[height - 1].forward) height--;
    zslSetListHeight(zsl, height);
}

/* Makes n the node before `next`, or the tail if `next` is NULL. */
static inline void zslSetBefore(zskiplist *zsl, zskiplistNode *next, zskiplistNode *n) {
    if (next)
        zslSetBackward(next, n);
    else
        zsl->tail = n;
}

static void zslLinkAtTail(zskiplist *zsl, zskiplistNode *n) {
    zslLevel *last[ZSKIPLIST_MAXLEVEL];
    int height = zslNodeHeight(n);
    zslRaiseHeight(zsl, height);
    zslFindLastTowers(zsl, height, NULL, last);
    last[0] = zsl->tail ? zsl->tail->level : zsl->header;

    last[0][0].forward = n;
    n->level[0].forward = NULL;
    for (int i = 1; i < height; i++) {
        last[i][i].forward = n;
        last[i][i].span += zslGetAdjust(zsl) + 1;
        n->level[i].forward = NULL;
        n->level[i].span = -(zslGetAdjust(zsl) + 1);
    }
    zslSetBackward(n, zsl->tail);
    zsl->tail = n;
    zsl->length++;
    zslAddAdjust(zsl, 1);
}

/* Links n behind the path, which was found before the list's height grows for n. */
static void zslLinkAtPath(zskiplist *zsl, zskiplistNode *n, struct zslPath *path) {
    int height = zslNodeHeight(n), highest = zslListHeight(zsl);
    for (int i = zslRaiseHeight(zsl, height); i < height; i++) {
        path->tower[i] = zsl->header;
        path->pos[i] = 0;
        highest = height;
    }
    n->level[0].forward = path->tower[0][0].forward;
    path->tower[0][0].forward = n;
    for (int i = 1; i < height; i++) {
        zslLevel *left = &path->tower[i][i];
        uint64_t steps = path->pos[0] + 1 - path->pos[i];
        n->level[i] = (zslLevel){left->span + 1 - steps, left->forward};
        *left = (zslLevel){steps, n};
    }
    for (int i = height; i < highest; i++) path->tower[i][i].span++;

    zskiplistNode *next = n->level[0].forward;
    zslSetBackward(n, zslTowerNode(zsl, path->tower[0]));
    zslSetBefore(zsl, next, n);
    zsl->length++;
}

/* Makes the path to the first place. */
static void zslBeginPath(zskiplist *zsl, struct zslPath *path) {
    for (int i = 0; i < zslListHeight(zsl); i++) {
        path->tower[i] = zsl->header;
        path->pos[i] = 0;
    }
}

static void zslLinkAtHead(zskiplist *zsl, zskiplistNode *n) {
    struct zslPath path;
    zslBeginPath(zsl, &path);
    zslLinkAtPath(zsl, n, &path);
}

/* Links a node by its score and member. The tail is compared first, which costs a load that does not
 * delay the search. */
static void zslLinkNode(zskiplist *zsl, zskiplistNode *n) {
    struct zslKey key = {n->score, zslMemberOf(n)};
    struct zslPath path;
    if (!zsl->tail || zslIsBeforeKey(zsl->tail, &key)) {
        zslLinkAtTail(zsl, n);
        return;
    }
    zslFindPathByKey(zsl, &key, &path);
    zslLinkAtPath(zsl, n, &path);
}

static void zslUnlinkTail(zskiplist *zsl) {
    zskiplistNode *n = zsl->tail, *before = zslBackwardOf(n);
    zslLevel *last[ZSKIPLIST_MAXLEVEL];
    int height = zslNodeHeight(n);
    zslFindLastTowers(zsl, height, n, last);
    last[0] = before ? before->level : zsl->header;

    last[0][0].forward = NULL;
    for (int i = 1; i < height; i++) {
        last[i][i].forward = NULL;
        last[i][i].span += n->level[i].span;
    }
    zsl->tail = before;
    zsl->length--;
    zslAddAdjust(zsl, -1);
    zslLowerHeight(zsl);
}

/* Unlinks the `count` nodes behind the path; returns the first. `each`, unless NULL, is called for each
 * after it is unlinked. */
static void zslUnlinkRun(zskiplist *zsl, struct zslPath *path, uint64_t count,
                         void (*each)(void *priv, zskiplistNode *n), void *priv) {
    zslLevel **left = path->tower;
    zskiplistNode *next = left[0][0].forward;
    for (uint64_t done = 0; done < count; done++) {
        zskiplistNode *n = next;
        next = n->level[0].forward;
        __builtin_prefetch(next);
        for (int i = 1; i < zslNodeHeight(n); i++) {
            left[i][i].forward = n->level[i].forward;
            left[i][i].span += n->level[i].span;
        }
        if (each) each(priv, n);
    }
    left[0][0].forward = next;
    for (int i = 1; i < zslListHeight(zsl); i++) left[i][i].span -= count;
    zslSetBefore(zsl, next, zslTowerNode(zsl, left[0]));
    zsl->length -= count;
    zslLowerHeight(zsl);
}

/* Finds the path to n, a node of the list. */
static void zslFindPathTo(zskiplist *zsl, const zskiplistNode *n, struct zslPath *path) {
    if (n == zsl->header[0].forward) {
        zslBeginPath(zsl, path);
        return;
    }
    struct zslKey key = {n->score, zslMemberOf(n)};
    zslFindPathByKey(zsl, &key, path);
    serverAssert(path->tower[0][0].forward == n);
}

static void zslUnlinkNode(zskiplist *zsl, zskiplistNode *n) {
    struct zslPath path;
    if (n == zsl->tail) {
        zslUnlinkTail(zsl);
        return;
    }
    zslFindPathTo(zsl, n, &path);
    zslUnlinkRun(zsl, &path, 1, NULL, NULL);
}

/* Moves n, which is not in order there, right to the place of the key: the search for n goes on to the key.
 */
static void zslMoveRight(zskiplist *zsl, zskiplistNode *n, const struct zslKey *key) {
    struct zslPath path;
    bool last = zslIsBeforeKey(zsl->tail, key);
    zslFindPathTo(zsl, n, &path);
    zslUnlinkRun(zsl, &path, 1, NULL, NULL);
    n->score = key->score;
    if (last) {
        zslLinkAtTail(zsl, n);
    } else {
        zslAdvancePath(key, &path, zslListHeight(zsl));
        zslLinkAtPath(zsl, n, &path);
    }
}

/* Moves n left to the place of the key: the search for the key goes on to n. The path to the key stays good
 * when n is unlinked behind it. */
static void zslMoveLeft(zskiplist *zsl, zskiplistNode *n, const struct zslKey *key) {
    struct zslPath path, behind;
    struct zslKey old = {n->score, key->member};
    int height = zslListHeight(zsl);
    zslFindPathByKey(zsl, key, &path);
    memcpy(behind.tower, path.tower, (size_t)height * sizeof *path.tower);
    memcpy(behind.pos, path.pos, (size_t)height * sizeof *path.pos);
    zslAdvancePath(&old, &behind, height);
    serverAssert(behind.tower[0][0].forward == n);
    zslUnlinkRun(zsl, &behind, 1, NULL, NULL);
    n->score = key->score;
    zslLinkAtPath(zsl, n, &path);
}

/* ---- Ranges ---- */

bool zlexGteMin(struct str member, const struct zlexRange *r) {
    if (r->min.kind != ZLEX_VALUE) return r->min.kind == ZLEX_MIN;
    int cmp = strCmp(member, r->min.value);
    return r->min.exclusive ? cmp > 0 : cmp >= 0;
}

bool zlexLteMax(struct str member, const struct zlexRange *r) {
    if (r->max.kind != ZLEX_VALUE) return r->max.kind == ZLEX_MAX;
    int cmp = strCmp(member, r->max.value);
    return r->max.exclusive ? cmp < 0 : cmp <= 0;
}

bool zlexRangeEmpty(const struct zlexRange *r) {
    if (r->min.kind == ZLEX_MAX || r->max.kind == ZLEX_MIN) return true;
    if (r->min.kind == ZLEX_MIN || r->max.kind == ZLEX_MAX) return false;
    int cmp = strCmp(r->min.value, r->max.value);
    return cmp > 0 || (cmp == 0 && (r->min.exclusive || r->max.exclusive));
}

/* Finds the first node that is not left. The first node of all is tried before the search, which would
 * touch the first node of every level. */
static inline __attribute__((always_inline)) zskiplistNode *
zslFirstNotLeft(const zskiplist *zsl, isLeftFn *isLeft, const void *range, uint64_t *pos) {
    zskiplistNode *first = zsl->header[0].forward;
    *pos = 0;
    if (!first || !isLeft(first, range)) return first;
    return zslDescend(zsl, isLeft, range, pos, NULL)[0].forward;
}

/* Finds the last node that is left, and its position; NULL and 0 if there is none. The tail is tried
 * first. */
static inline __attribute__((always_inline)) zskiplistNode *
zslLastLeft(const zskiplist *zsl, isLeftFn *isLeft, const void *range, uint64_t *pos) {
    *pos = zsl->length;
    if (!zsl->tail || isLeft(zsl->tail, range)) return zsl->tail;
    return zslTowerNode(zsl, zslDescend(zsl, isLeft, range, pos, NULL));
}

zskiplistNode *zslFirstInScoreRange(const zskiplist *zsl, const struct zscoreRange *r, uint64_t *rank) {
    uint64_t pos;
    if (zscoreRangeEmpty(r)) return NULL;
    zskiplistNode *n = zslFirstNotLeft(zsl, zslIsBelowScoreMin, r, &pos);
    if (!n || !zscoreLteMax(n->score, r)) return NULL;
    if (rank) *rank = pos;
    return n;
}

zskiplistNode *zslLastInScoreRange(const zskiplist *zsl, const struct zscoreRange *r, uint64_t *rank) {
    uint64_t pos;
    if (zscoreRangeEmpty(r)) return NULL;
    zskiplistNode *n = zslLastLeft(zsl, zslIsWithinScoreMax, r, &pos);
    if (!n || !zscoreGteMin(n->score, r)) return NULL;
    if (rank) *rank = pos - 1;
    return n;
}

zskiplistNode *zslFirstInLexRange(const zskiplist *zsl, const struct zlexRange *r, uint64_t *rank) {
    uint64_t pos;
    if (zlexRangeEmpty(r)) return NULL;
    zskiplistNode *n = zslFirstNotLeft(zsl, zslIsBelowLexMin, r, &pos);
    if (!n || !zlexLteMax(zslMemberOf(n), r)) return NULL;
    if (rank) *rank = pos;
    return n;
}

zskiplistNode *zslLastInLexRange(const zskiplist *zsl, const struct zlexRange *r, uint64_t *rank) {
    uint64_t pos;
    if (zlexRangeEmpty(r)) return NULL;
    zskiplistNode *n = zslLastLeft(zsl, zslIsWithinLexMax, r, &pos);
    if (!n || !zlexGteMin(zslMemberOf(n), r)) return NULL;
    if (rank) *rank = pos - 1;
    return n;
}

uint64_t zslCountInScoreRange(const zskiplistNode **n, const struct zscoreRange *r, bool back, uint64_t max) {
    const zskiplistNode *at = *n;
    uint64_t count = 0;
    if (back) {
        for (; at && count < max && zscoreGteMin(at->score, r); count++) at = zslBackwardOf(at);
    } else {
        for (; at && count < max && zscoreLteMax(at->score, r); count++) at = at->level[0].forward;
    }
    *n = at;
    return count;
}

/* ---- Creating, freeing, accessors ---- */

void zslInit(zskiplist *zsl) {
    memset(zsl, 0, sizeof(*zsl));
    zslSetListHeight(zsl, 1);
}

void zslClear(zskiplist *zsl) {
    zskiplistNode *n = zsl->header[0].forward;
    while (n) {
        zskiplistNode *next = n->level[0].forward;
        __builtin_prefetch(next);
        zslNodeFree(n);
        n = next;
    }
    zslInit(zsl);
}

uint64_t zslGetLength(const zskiplist *zsl) {
    return zsl->length;
}

zskiplistNode *zslGetTail(const zskiplist *zsl) {
    return zsl->tail;
}

int zslGetHeight(const zskiplist *zsl) {
    return zslListHeight(zsl);
}

zskiplistNode *zslGetFirst(const zskiplist *zsl) {
    return zsl->header[0].forward;
}

double zslGetNodeScore(const zskiplistNode *n) {
    return n->score;
}

struct str zslGetNodeElement(const zskiplistNode *n) {
    return zslMemberOf(n);
}

int zslGetNodeHeight(const zskiplistNode *n) {
    return zslNodeHeight(n);
}

zskiplistNode *zslGetNext(const zskiplistNode *n) {
    return n->level[0].forward;
}

zskiplistNode *zslGetPrev(const zskiplistNode *n) {
    return zslBackwardOf(n);
}

size_t zslNodeMemory(const zskiplistNode *n) {
    return zmallocSize(n);
}

void zslPrefetchFirst(const zskiplist *zsl) {
    __builtin_prefetch(zsl->header[0].forward);
}

/* ---- Prefetching ---- */

void zslFetchBegin(const zskiplist *zsl, double score, double other, struct zslFetch *f) {
    int16_t warm = 0;
    while (zsl->length >> (2 * warm) > FETCH_WARM) warm++;
    f->tower = zsl->header;
    f->stop = f->fork = NULL;
    f->score = score;
    f->other = other;
    f->level = (int16_t)(zslListHeight(zsl) - 1);
    f->warm = f->ready = warm;
    f->run = 0;
}

void zslFetchBeginRun(const zskiplist *zsl, double score, double last, int run, struct zslFetch *f) {
    zslFetchBegin(zsl, score, NAN, f);
    f->last = last;
    f->run = run;
}

static inline void zslFetchNode(const zskiplistNode *n, int level) {
    __builtin_prefetch(n);
    __builtin_prefetch(&n->level[level].forward);
}

/* Goes down to the place of a score. At a tower whose next node has not been fetched, prefetches that and the
 * one on the level below, which is searched if the former is too far, and returns true; at the place, false.
 */
static bool zslFetchDescend(struct zslFetch *f) {
    const zslLevel *tower = f->tower;
    const zskiplistNode *stop = f->stop;
    int level = f->level, ready = f->ready;
    for (; level >= 0; level--) {
        const zskiplistNode *next;
        while ((next = tower[level].forward) != stop && level >= ready && next->score < f->score) {
            tower = next->level;
            ready = f->warm;
        }
        if (next == stop) continue;
        if (level < ready) {
            zslFetchNode(next, level);
            if (level) zslFetchNode(tower[level - 1].forward, level - 1);
            ready = level ? level - 1 : 0;
            break;
        }
        if (next->score < f->other && !f->fork) {
            f->fork = next;
            f->fork_level = (int16_t)level;
        }
        stop = next;
    }
    f->tower = tower;
    f->stop = stop;
    f->level = (int16_t)level;
    f->ready = (int16_t)ready;
    return level >= 0;
}

/* Goes on along the nodes behind the place. */
static bool zslFetchNext(struct zslFetch *f) {
    const zskiplistNode *n = f->tower[0].forward;
    f->run = n && !(n->score > f->last) ? f->run - 1 : 0;
    if (!f->run) return false;
    f->tower = n->level;
    __builtin_prefetch(n->level[0].forward);
    __builtin_prefetch((const char *)n->level[0].forward + NODE_GUESS - 1);
    return true;
}

bool zslFetchStep(struct zslFetch *f) {
    if (f->level >= 0 && zslFetchDescend(f)) return true;
    if (f->run > 0) return zslFetchNext(f);
    if (!f->fork) return false;
    f->tower = f->fork->level;
    f->level = f->fork_level;
    f->ready = f->warm;
    f->fork = f->stop = NULL;
    f->score = f->other;
    return zslFetchDescend(f);
}

/* ---- Change ---- */

zskiplistNode *zslInsert(zskiplist *zsl, double score, struct str member) {
    serverAssert(score == score); /* not NaN */
    zskiplistNode *n = zslNodeNew(zslRandomHeight(), score, member);
    zslLinkNode(zsl, n);
    return n;
}

zskiplistNode *zslNewNode(double score, struct str member) {
    return zslNodeNew(zslRandomHeight(), score, member);
}

void zslAppendNode(zskiplist *zsl, zskiplistNode *n) {
    debugAssert(!zsl->tail || zslIsBeforeKey(zsl->tail, &(struct zslKey){n->score, zslMemberOf(n)}));
    zslLinkAtTail(zsl, n);
}

zskiplistNode *zslAppend(zskiplist *zsl, double score, struct str member) {
    zskiplistNode *n = zslNewNode(score, member);
    zslAppendNode(zsl, n);
    return n;
}

zskiplistNode *zslPrepend(zskiplist *zsl, double score, struct str member) {
    zskiplistNode *n = zslNodeNew(zslRandomHeight(), score, member);
    debugAssert(!zsl->tail || !zslIsBeforeKey(zsl->header[0].forward, &(struct zslKey){score, member}));
    zslLinkAtHead(zsl, n);
    return n;
}

void zslDelete(zskiplist *zsl, zskiplistNode *n) {
    zslUnlinkNode(zsl, n);
    zslNodeFree(n);
}

void zslUpdateScore(zskiplist *zsl, zskiplistNode *n, double score) {
    serverAssert(score == score); /* not NaN */
    struct zslKey key = {score, zslMemberOf(n)};
    const zskiplistNode *next = n->level[0].forward, *before = zslBackwardOf(n);
    if (score >= n->score && next && zslIsBeforeKey(next, &key))
        zslMoveRight(zsl, n, &key);
    else if (score < n->score && before && !zslIsBeforeKey(before, &key))
        zslMoveLeft(zsl, n, &key);
    else
        n->score = score;
}

/* ---- Ranks ---- */

const zskiplistNode *zslClimb(const zskiplistNode *n) {
    int top = zslNodeHeight(n) - 1;
    const zskiplistNode *next = n->level[top].forward;
    if (next) {
        __builtin_prefetch(&next->level[0].span);
        if (top) __builtin_prefetch(&next->level[top]);
    }
    return next;
}

uint64_t zslGetRank(const zskiplist *zsl, const zskiplistNode *n) {
    uint64_t steps = 0;
    for (const zskiplistNode *next;; n = next) {
        int top = zslNodeHeight(n) - 1;
        next = n->level[top].forward;
        if (!top) {
            if (!next) return zsl->length - 1 - steps;
            steps++;
        } else {
            steps += n->level[top].span;
            if (!next) return zsl->length - 1 - (steps + zslGetAdjust(zsl));
        }
    }
}

zskiplistNode *zslGetByRank(const zskiplist *zsl, uint64_t rank) {
    int height = zslListHeight(zsl), i = 0;
    if (rank >= zsl->length) return NULL;
    uint64_t left = zsl->length - 1 - rank; /* steps left; a few from the tail are cheaper than a descent */
    if (left < (uint64_t)height) {
        zskiplistNode *n = zsl->tail;
        while (left--) n = zslBackwardOf(n);
        return n;
    }
    left = rank + 1;
    while (i + 1 < height && zsl->header[i + 1].span <= left) i++;
    zslLevel *tower = (zslLevel *)zsl->header;
    for (; i > 0 && left; i--) {
        for (; tower[i].forward && tower[i].span <= left; tower = tower[i].forward->level)
            left -= tower[i].span;
    }
    for (; left; left--) tower = tower[0].forward->level;
    return zslTowerNode(zsl, tower);
}

struct onDeleteCall {
    void (*fn)(void *priv, zskiplistNode *n);
    void *priv;
};
static void zslReportAndFree(void *priv, zskiplistNode *n) {
    struct onDeleteCall *call = priv;
    if (call->fn) call->fn(call->priv, n);
    zslNodeFree(n);
}

uint64_t zslDeleteRangeByRank(zskiplist *zsl, uint64_t rank, uint64_t count,
                              void (*onDelete)(void *priv, zskiplistNode *n), void *priv) {
    struct onDeleteCall call = {onDelete, priv};
    struct zslPath path;
    if (rank >= zsl->length || count == 0) return 0;
    if (count > zsl->length - rank) count = zsl->length - rank;
    zslFindPathByPos(zsl, rank, &path);
    zslUnlinkRun(zsl, &path, count, zslReportAndFree, &call);
    return count;
}

/* The path moves along, since its towers point to the next node. Nothing points to the header. */
void zslMoveRange(zskiplist *zsl, uint64_t rank, uint64_t count,
                  zskiplistNode *(*move)(void *priv, zskiplistNode *n), void *priv) {
    struct zslPath path;
    zslFindPathByPos(zsl, rank, &path);
    for (zskiplistNode *n = path.tower[0][0].forward, *next; n && count; n = next, count--) {
        zskiplistNode *now = move(priv, n);
        if (now) n = now;
        next = n->level[0].forward;
        for (int i = 0; i < zslNodeHeight(n); i++) {
            path.tower[i][i].forward = n;
            path.tower[i] = n->level;
        }
        zslSetBefore(zsl, next, n);
    }
}

/* ---- Checking ---- */

static void zslVerifyNode(const zskiplist *zsl, const zskiplistNode *n, const zskiplistNode *prev) {
    struct str member = zslMemberOf(n);
    serverAssert(zslNodeHeight(n) <= zslListHeight(zsl));
    serverAssert(zslBackwardOf(n) == prev);
    serverAssert(n->score == n->score);
    serverAssert((n->level[0].span >> LENGTH_SHIFT == LONG_MEMBER) == (member.len >= LONG_MEMBER));
    serverAssert(member.ptr + member.len == (const char *)n + zslNodeSize(zslNodeHeight(n), member.len));
    serverAssert(zmallocSize(n) >= zslNodeSize(zslNodeHeight(n), member.len));
    if (prev) serverAssert(zslIsBeforeKey(prev, &(struct zslKey){n->score, member}));
}

void zslVerify(const zskiplist *zsl) {
    const zslLevel *left[ZSKIPLIST_MAXLEVEL];
    uint64_t leftPos[ZSKIPLIST_MAXLEVEL] = {0}, pos = 0;
    int height = zslListHeight(zsl), highest = 1;
    const zskiplistNode *prev = NULL;
    for (int i = 0; i < ZSKIPLIST_MAXLEVEL; i++) left[i] = zsl->header;
    serverAssert(height >= 1 && height <= ZSKIPLIST_MAXLEVEL);

    for (const zskiplistNode *n = zsl->header[0].forward; n; prev = n, n = n->level[0].forward) {
        serverAssert(++pos <= zsl->length);
        zslVerifyNode(zsl, n, prev);
        for (int i = 0; i < zslNodeHeight(n); i++) {
            serverAssert(left[i][i].forward == n);
            if (i) serverAssert(left[i][i].span == pos - leftPos[i]);
            left[i] = n->level;
            leftPos[i] = pos;
        }
        if (zslNodeHeight(n) > highest) highest = zslNodeHeight(n);
    }
    serverAssert(pos == zsl->length);
    serverAssert(prev == zsl->tail);
    serverAssert(highest == height);
    for (int i = 0; i < ZSKIPLIST_MAXLEVEL; i++) {
        serverAssert(left[i][i].forward == NULL);
        if (i && i < height) serverAssert(left[i][i].span + zslGetAdjust(zsl) == pos - leftPos[i]);
    }
}
