/* SPDX-License-Identifier: BSD-3-Clause */
/* zskiplist.c - ordered index of a sorted set; the contract and the idea are in zskiplist.h.
 *
 *     zskiplist   | length | tail | height: 7, rests: 1, adjust: 56 | tower |
 *
 *     node        | score | length: 12, height - 1: 4, backward: 48 | tower | member bytes (no NUL) |
 *        offset   0       8                                         16      22 + 11 * (height - 1)
 *
 *     tower       | forward | span, forward | span, forward | ..
 *        offset   0         6               17              28
 *        level      0         1               2
 *
 * A tower is an array of levels, either a node's or the header's; searches walk towers, so that the header
 * needs no special case. Positions count from 1, the header is at 0. A forward pointer takes 6 bytes, a span
 * 5, and neither is aligned: they are read as a part of 8 bytes, which are all within the node.
 *
 * Three out of four nodes have height 1, and take 22 bytes besides the member: score, links and most of the
 * member share a cache line. A member of LONG_MEMBER bytes or more, and one whose score has had a rest, has
 * 8 bytes before it: | length: 48, rest: 16 |. `rests` says that there may be such a rest.
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

struct zskiplistNode {
    double score;
    uint64_t word; /* backward pointer, height, member length: see below */
    zslTower tower[];
};

_Static_assert(offsetof(zskiplist, header) == 24, "length, tail and the first levels share a cache line");
_Static_assert(offsetof(zskiplistNode, score) == 0, "score first");
_Static_assert(offsetof(zskiplistNode, tower) == 16, "then the word, then the tower");

/* ---- Towers ---- */

#define POINTER_BITS  48
#define POINTER_BYTES (POINTER_BITS / 8)
#define POINTER_MASK  ((1ull << POINTER_BITS) - 1)
#define SPAN_MASK     ((1ull << (8 * ZSKIPLIST_SPAN_BYTES)) - 1)
_Static_assert(ZSKIPLIST_LEVEL_BYTES == POINTER_BYTES + ZSKIPLIST_SPAN_BYTES,
               "a level is a span and a pointer");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "of a word, the low bytes come first");

/* Returns the 8 bytes at p. */
static inline uint64_t zslWordAt(const zslTower *p) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Reads 2 bytes in front of the pointer, where there is always something. */
static inline zskiplistNode *zslForward(const zslTower *tower, int level) {
    return (zskiplistNode *)(uintptr_t)(zslWordAt(tower + level * ZSKIPLIST_LEVEL_BYTES - 2) >> 16);
}

static inline void zslSetForward(zslTower *tower, int level, const zskiplistNode *to) {
    uint64_t word = (uintptr_t)to;
    debugAssert(word >> POINTER_BITS == 0);
    memcpy(tower + level * ZSKIPLIST_LEVEL_BYTES, &word, POINTER_BYTES);
}

/* The span of a level above 0, whose pointer is behind it. */
static inline uint64_t zslSpan(const zslTower *tower, int level) {
    return zslWordAt(tower + level * ZSKIPLIST_LEVEL_BYTES - ZSKIPLIST_SPAN_BYTES) & SPAN_MASK;
}

static inline void zslSetSpan(zslTower *tower, int level, uint64_t span) {
    memcpy(tower + level * ZSKIPLIST_LEVEL_BYTES - ZSKIPLIST_SPAN_BYTES, &span, ZSKIPLIST_SPAN_BYTES);
}

static inline void zslAddSpan(zslTower *tower, int level, uint64_t delta) {
    zslSetSpan(tower, level, zslSpan(tower, level) + delta);
}

static inline void zslSetLevel(zslTower *tower, int level, uint64_t span, const zskiplistNode *to) {
    zslSetSpan(tower, level, span);
    zslSetForward(tower, level, to);
}

static inline uint64_t zslSpanOf(const zslTower *tower, int level) {
    return level ? zslSpan(tower, level) : 1;
}

/* Returns the next node. This read is aligned; nodes have at least NODE_MIN bytes for it. */
#define NODE_MIN 24u
static inline zskiplistNode *zslNextOf(const zskiplistNode *n) {
    return (zskiplistNode *)(uintptr_t)(zslWordAt(n->tower) & POINTER_MASK);
}

/* ---- The word of a node: backward pointer, height, member length ---- */

#define HEIGHT_BITS  4
#define LENGTH_SHIFT (POINTER_BITS + HEIGHT_BITS)
#define LONG_MEMBER  ((1u << (64 - LENGTH_SHIFT)) - 1)
_Static_assert(ZSKIPLIST_MAXLEVEL <= 1u << HEIGHT_BITS, "a height fits its bits");

static inline zskiplistNode *zslBackwardOf(const zskiplistNode *n) {
    return (zskiplistNode *)(uintptr_t)(n->word & POINTER_MASK);
}

static inline void zslSetBackward(zskiplistNode *n, const zskiplistNode *to) {
    debugAssert((uintptr_t)to >> POINTER_BITS == 0);
    uint64_t word = (n->word & ~POINTER_MASK) | (uintptr_t)to;
    __atomic_store_n(&n->word, word, __ATOMIC_RELAXED); /* see zslMemberOf */
}

static inline int zslHeightIn(uint64_t word) {
    return 1 + (int)(word >> POINTER_BITS & ((1u << HEIGHT_BITS) - 1));
}

static inline int zslNodeHeight(const zskiplistNode *n) {
    return zslHeightIn(n->word);
}

/* ---- The word of the list: height and flag in the low byte, `adjust` above it ---- */

#define ADJUST_SHIFT 8
#define RESTS_FLAG   (1u << (ADJUST_SHIFT - 1))
#define HEIGHT_MASK  (RESTS_FLAG - 1)

static inline int zslListHeight(const zskiplist *zsl) {
    return (int)(zsl->word & HEIGHT_MASK);
}

static inline uint64_t zslGetAdjust(const zskiplist *zsl) {
    return (uint64_t)((int64_t)zsl->word >> ADJUST_SHIFT); /* an arithmetic shift keeps the sign */
}

static inline void zslAddAdjust(zskiplist *zsl, int64_t delta) {
    zsl->word += (uint64_t)delta << ADJUST_SHIFT;
}

static inline void zslSetListHeight(zskiplist *zsl, int height) {
    zsl->word = (zsl->word & ~(uint64_t)HEIGHT_MASK) | (uint64_t)height;
}

/* ---- Nodes ---- */

/* Draws a height with P = 1/4: each pair of zero bits adds a level. */
static int zslRandomHeight(void) {
    uint64_t bits = randomU64() | 1ull << (2 * (ZSKIPLIST_MAXLEVEL - 1));
    return 1 + __builtin_ctzll(bits) / 2;
}

static inline size_t zslTowerSize(int height) {
    return (size_t)height * ZSKIPLIST_LEVEL_BYTES - ZSKIPLIST_SPAN_BYTES;
}

/* The 8 bytes before a member whose length does not fit the word, or whose score has had a rest. */
#define REST_SHIFT 48
_Static_assert(ZSCORE_REST_MAX <= INT16_MAX, "a rest fits 16 bits");

static inline uint64_t zslExtraOf(uint64_t length, int rest) {
    return length | (uint64_t)(uint16_t)rest << REST_SHIFT;
}

static inline bool zslHasExtra(uint64_t word) {
    return __builtin_expect(word >> LENGTH_SHIFT == LONG_MEMBER, 0);
}

static inline char *zslBytesOf(const zskiplistNode *n, uint64_t word) {
    return (char *)n->tower + zslTowerSize(zslHeightIn(word));
}

/* The thread of a snapshot may read a node whose backward pointer changes at this moment (table_parts.h). */
static inline uint64_t zslWordOf(const zskiplistNode *n) {
    return __atomic_load_n(&n->word, __ATOMIC_RELAXED);
}

static inline struct str zslMemberOf(const zskiplistNode *n) {
    uint64_t word = zslWordOf(n), length = word >> LENGTH_SHIFT;
    const char *bytes = zslBytesOf(n, word);
    if (!zslHasExtra(word)) return strN(bytes, length);
    memcpy(&length, bytes, sizeof length);
    return strN(bytes + sizeof length, length & ((1ull << REST_SHIFT) - 1));
}

static inline int zslRestOf(const zskiplistNode *n) {
    uint64_t word = zslWordOf(n), extra;
    if (!zslHasExtra(word)) return 0;
    memcpy(&extra, zslBytesOf(n, word), sizeof extra);
    return (int16_t)(extra >> REST_SHIFT);
}

static inline struct zscore zslScoreOf(const zskiplistNode *n) {
    return (struct zscore){n->score, zslRestOf(n)};
}

/* The node must have the extra bytes if the score has a rest. */
static inline void zslSetScore(zskiplistNode *n, struct zscore score) {
    n->score = score.value;
    if (!zslHasExtra(n->word)) return;
    uint64_t extra = zslExtraOf(zslMemberOf(n).len, score.rest);
    memcpy(zslBytesOf(n, n->word), &extra, sizeof extra);
}

static size_t zslNodeSize(int height, size_t length, bool extra) {
    size_t size = sizeof(zskiplistNode) + zslTowerSize(height) + length + (extra ? sizeof(uint64_t) : 0);
    return size < NODE_MIN ? NODE_MIN : size;
}

static zskiplistNode *zslNodeNew(int height, struct zscore score, struct str member) {
    uint64_t length = member.len, above = (uint64_t)height - 1;
    bool has_extra = length >= LONG_MEMBER || score.rest;
    zskiplistNode *n = zmalloc(zslNodeSize(height, length, has_extra));
    char *bytes = (char *)n->tower + zslTowerSize(height);
    if (has_extra) {
        uint64_t extra = zslExtraOf(length, score.rest);
        memcpy(bytes, &extra, sizeof extra);
        bytes += sizeof extra;
        length = LONG_MEMBER;
    }
    n->score = score.value;
    n->word = length << LENGTH_SHIFT | above << POINTER_BITS;
    if (member.len) memcpy(bytes, member.ptr, member.len);
    return n;
}

static void zslNodeFree(zskiplistNode *n) {
    zfreeSized(n, zslNodeSize(zslNodeHeight(n), zslMemberOf(n).len, zslHasExtra(n->word)));
}

/* Returns the node of a tower; NULL for the header. */
static inline zskiplistNode *zslTowerNode(const zskiplist *zsl, zslTower *tower) {
    if (tower == zsl->header) return NULL;
    return (zskiplistNode *)(tower - offsetof(zskiplistNode, tower));
}

/* ---- Searching ---- */

/* The last tower left of a place on each level, and their positions. */
struct zslPath {
    zslTower *tower[ZSKIPLIST_MAXLEVEL];
    uint64_t pos[ZSKIPLIST_MAXLEVEL];
};

/* The key of a search; the list is ordered by score, then member. */
struct zslKey {
    struct zscore score;
    struct str member;
};
/* As zslIsBeforeKey, for scores of equal values and a long member or a rest. */
static __attribute__((noinline)) bool zslIsBeforeTied(const zskiplistNode *n, const struct zslKey *k) {
    int rest = zslRestOf(n);
    return rest != k->score.rest ? rest < k->score.rest : strCmp(zslMemberOf(n), k->member) < 0;
}
static inline bool zslIsBeforeKey(const zskiplistNode *n, const void *key) {
    const struct zslKey *k = key;
    if (n->score != k->score.value) return n->score < k->score.value;
    uint64_t word = zslWordOf(n);
    if (zslHasExtra(word) || __builtin_expect(k->score.rest != 0, 0)) return zslIsBeforeTied(n, k);
    return strCmp(strN(zslBytesOf(n, word), word >> LENGTH_SHIFT), k->member) < 0;
}

/* Whether a score is in a range, without rests and with them. */
static inline bool zslIsGteMin(const zskiplistNode *n, const struct zscoreRange *r) {
    return r->minex ? n->score > r->min : n->score >= r->min;
}
static inline bool zslIsLteMax(const zskiplistNode *n, const struct zscoreRange *r) {
    return r->maxex ? n->score < r->max : n->score <= r->max;
}
static inline bool zslIsBelowScoreMin(const zskiplistNode *n, const void *r) {
    return !zslIsGteMin(n, r);
}
static inline bool zslIsWithinScoreMax(const zskiplistNode *n, const void *r) {
    return zslIsLteMax(n, r);
}
static inline bool zslIsBelowExactMin(const zskiplistNode *n, const void *r) {
    return !zscoreGteMin(zslScoreOf(n), r);
}
static inline bool zslIsWithinExactMax(const zskiplistNode *n, const void *r) {
    return zscoreLteMax(zslScoreOf(n), r);
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
static inline __attribute__((always_inline)) zslTower *
zslDescend(const zskiplist *zsl, isLeftFn *isLeft, const void *target, uint64_t *pos, struct zslPath *path) {
    zslTower *tower = (zslTower *)zsl->header;
    const zskiplistNode *stop = NULL;
    uint64_t at = 0;
    for (int i = zslListHeight(zsl) - 1; i >= 0; i--) {
        zskiplistNode *next;
        while ((next = zslForward(tower, i)) != stop && next && isLeft(next, target)) {
            at += zslSpanOf(tower, i);
            tower = next->tower;
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
    while (i < height && zslForward(path->tower[i], i) && zslIsBeforeKey(zslForward(path->tower[i], i), key))
        i++;
    if (!i) return;
    zslTower *tower = path->tower[i - 1];
    uint64_t at = path->pos[i - 1];
    const zskiplistNode *stop = i < height ? zslForward(path->tower[i], i) : NULL;
    while (i-- > 0) {
        zskiplistNode *next;
        while ((next = zslForward(tower, i)) != stop && next && zslIsBeforeKey(next, key)) {
            at += zslSpanOf(tower, i);
            tower = next->tower;
        }
        stop = next;
        path->tower[i] = tower;
        path->pos[i] = at;
    }
}

/* Finds the towers to the left of position pos + 1, without their positions. */
static void zslFindPathByPos(zskiplist *zsl, uint64_t pos, struct zslPath *path) {
    zslTower *tower = zsl->header;
    uint64_t at = 0;
    for (int i = zslListHeight(zsl) - 1; i >= 0; i--) {
        while (zslForward(tower, i) && zslSpanOf(tower, i) <= pos - at) {
            at += zslSpanOf(tower, i);
            tower = zslForward(tower, i)->tower;
        }
        path->tower[i] = tower;
    }
}

/* Finds the last tower on each of the levels 1 .. height-1, not counting `except`. */
static void zslFindLastTowers(zskiplist *zsl, int height, const zskiplistNode *except, zslTower **last) {
    zslTower *tower = zsl->header;
    if (height == 1) return;
    for (int i = zslListHeight(zsl) - 1; i > 0; i--) {
        while (zslForward(tower, i) && zslForward(tower, i) != except) tower = zslForward(tower, i)->tower;
        last[i] = tower;
    }
}

/* ---- Linking ---- */

/* Raises the list's height; new levels of the header lead to the end. Returns the old height. */
static int zslRaiseHeight(zskiplist *zsl, int height) {
    int before = zslListHeight(zsl);
    if (height <= before) return before;
    for (int i = before; i < height; i++) zslSetSpan(zsl->header, i, zsl->length - zslGetAdjust(zsl));
    zslSetListHeight(zsl, height);
    return before;
}

static void zslLowerHeight(zskiplist *zsl) {
    int height = zslListHeight(zsl);
    while (height > 1 && !zslForward(zsl->header, height - 1)) height--;
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
    zslTower *last[ZSKIPLIST_MAXLEVEL];
    int height = zslNodeHeight(n);
    zslRaiseHeight(zsl, height);
    zslFindLastTowers(zsl, height, NULL, last);
    last[0] = zsl->tail ? zsl->tail->tower : zsl->header;

    zslSetForward(last[0], 0, n);
    zslSetForward(n->tower, 0, NULL);
    for (int i = 1; i < height; i++) {
        zslSetForward(last[i], i, n);
        zslAddSpan(last[i], i, zslGetAdjust(zsl) + 1);
        zslSetForward(n->tower, i, NULL);
        zslSetSpan(n->tower, i, -(zslGetAdjust(zsl) + 1));
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
    zslSetForward(n->tower, 0, zslForward(path->tower[0], 0));
    zslSetForward(path->tower[0], 0, n);
    for (int i = 1; i < height; i++) {
        zslTower *left = path->tower[i];
        uint64_t steps = path->pos[0] + 1 - path->pos[i];
        zslSetLevel(n->tower, i, zslSpan(left, i) + 1 - steps, zslForward(left, i));
        zslSetLevel(left, i, steps, n);
    }
    for (int i = height; i < highest; i++) zslAddSpan(path->tower[i], i, 1);

    zskiplistNode *next = zslNextOf(n);
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
    struct zslKey key = {zslScoreOf(n), zslMemberOf(n)};
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
    zslTower *last[ZSKIPLIST_MAXLEVEL];
    int height = zslNodeHeight(n);
    zslFindLastTowers(zsl, height, n, last);
    last[0] = before ? before->tower : zsl->header;

    zslSetForward(last[0], 0, NULL);
    for (int i = 1; i < height; i++) {
        zslSetForward(last[i], i, NULL);
        zslAddSpan(last[i], i, zslSpan(n->tower, i));
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
    zslTower **left = path->tower;
    zskiplistNode *next = zslForward(left[0], 0);
    for (uint64_t done = 0; done < count; done++) {
        zskiplistNode *n = next;
        next = zslNextOf(n);
        __builtin_prefetch(next);
        for (int i = 1; i < zslNodeHeight(n); i++) {
            zslSetForward(left[i], i, zslForward(n->tower, i));
            zslAddSpan(left[i], i, zslSpan(n->tower, i));
        }
        if (each) each(priv, n);
    }
    zslSetForward(left[0], 0, next);
    for (int i = 1; i < zslListHeight(zsl); i++) zslAddSpan(left[i], i, -count);
    zslSetBefore(zsl, next, zslTowerNode(zsl, left[0]));
    zsl->length -= count;
    zslLowerHeight(zsl);
}

/* Finds the path to n, a node of the list. */
static void zslFindPathTo(zskiplist *zsl, const zskiplistNode *n, struct zslPath *path) {
    if (n == zslForward(zsl->header, 0)) {
        zslBeginPath(zsl, path);
        return;
    }
    struct zslKey key = {zslScoreOf(n), zslMemberOf(n)};
    zslFindPathByKey(zsl, &key, path);
    serverAssert(zslForward(path->tower[0], 0) == n);
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
    zslSetScore(n, key->score);
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
    struct zslKey old = {zslScoreOf(n), key->member};
    int height = zslListHeight(zsl);
    zslFindPathByKey(zsl, key, &path);
    memcpy(behind.tower, path.tower, (size_t)height * sizeof *path.tower);
    memcpy(behind.pos, path.pos, (size_t)height * sizeof *path.pos);
    zslAdvancePath(&old, &behind, height);
    serverAssert(zslForward(behind.tower[0], 0) == n);
    zslUnlinkRun(zsl, &behind, 1, NULL, NULL);
    zslSetScore(n, key->score);
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
    zskiplistNode *first = zslForward(zsl->header, 0);
    *pos = 0;
    if (!first || !isLeft(first, range)) return first;
    return zslForward(zslDescend(zsl, isLeft, range, pos, NULL), 0);
}

/* Finds the last node that is left, and its position; NULL and 0 if there is none. The tail is tried
 * first. */
static inline __attribute__((always_inline)) zskiplistNode *
zslLastLeft(const zskiplist *zsl, isLeftFn *isLeft, const void *range, uint64_t *pos) {
    *pos = zsl->length;
    if (!zsl->tail || isLeft(zsl->tail, range)) return zsl->tail;
    return zslTowerNode(zsl, zslDescend(zsl, isLeft, range, pos, NULL));
}

/* Whether rests matter to a range. */
static inline bool zslIsExact(const zskiplist *zsl, const struct zscoreRange *r) {
    return __builtin_expect((zsl->word & RESTS_FLAG) != 0, 0) || zscoreRangeHasRests(r);
}

/* As the two functions below, where rests matter. */
static __attribute__((noinline)) zskiplistNode *
zslFirstInExactRange(const zskiplist *zsl, const struct zscoreRange *r, uint64_t *rank) {
    zskiplistNode *n = zslFirstNotLeft(zsl, zslIsBelowExactMin, r, rank);
    return n && zscoreLteMax(zslScoreOf(n), r) ? n : NULL;
}
static __attribute__((noinline)) zskiplistNode *
zslLastInExactRange(const zskiplist *zsl, const struct zscoreRange *r, uint64_t *pos) {
    zskiplistNode *n = zslLastLeft(zsl, zslIsWithinExactMax, r, pos);
    return n && zscoreGteMin(zslScoreOf(n), r) ? n : NULL;
}

zskiplistNode *zslFirstInScoreRange(const zskiplist *zsl, const struct zscoreRange *r, uint64_t *rank) {
    uint64_t pos;
    zskiplistNode *n;
    if (zscoreRangeEmpty(r)) return NULL;
    if (zslIsExact(zsl, r)) {
        n = zslFirstInExactRange(zsl, r, &pos);
    } else {
        n = zslFirstNotLeft(zsl, zslIsBelowScoreMin, r, &pos);
        if (n && !zslIsLteMax(n, r)) n = NULL;
    }
    if (n && rank) *rank = pos;
    return n;
}

zskiplistNode *zslLastInScoreRange(const zskiplist *zsl, const struct zscoreRange *r, uint64_t *rank) {
    uint64_t pos;
    zskiplistNode *n;
    if (zscoreRangeEmpty(r)) return NULL;
    if (zslIsExact(zsl, r)) {
        n = zslLastInExactRange(zsl, r, &pos);
    } else {
        n = zslLastLeft(zsl, zslIsWithinScoreMax, r, &pos);
        if (n && !zslIsGteMin(n, r)) n = NULL;
    }
    if (n && rank) *rank = pos - 1;
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

static __attribute__((noinline)) uint64_t
zslCountInExactRange(const zskiplistNode **n, const struct zscoreRange *r, bool back, uint64_t max) {
    uint64_t count = 0;
    for (; *n && count < max; count++) {
        if (back ? zslIsBelowExactMin(*n, r) : !zslIsWithinExactMax(*n, r)) break;
        *n = back ? zslBackwardOf(*n) : zslNextOf(*n);
    }
    return count;
}

uint64_t zslCountInScoreRange(const zskiplist *zsl, const zskiplistNode **n, const struct zscoreRange *r,
                              bool back, uint64_t max) {
    const zskiplistNode *at = *n;
    uint64_t count = 0;
    if (zslIsExact(zsl, r)) return zslCountInExactRange(n, r, back, max);
    if (back) {
        for (; at && count < max && zslIsGteMin(at, r); count++) at = zslBackwardOf(at);
    } else {
        for (; at && count < max && zslIsLteMax(at, r); count++) at = zslNextOf(at);
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
    zskiplistNode *n = zslForward(zsl->header, 0);
    while (n) {
        zskiplistNode *next = zslNextOf(n);
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

bool zslHasRests(const zskiplist *zsl) {
    return zsl->word & RESTS_FLAG;
}

zskiplistNode *zslGetFirst(const zskiplist *zsl) {
    return zslForward(zsl->header, 0);
}

struct zscore zslGetNodeScore(const zskiplistNode *n) {
    return zslScoreOf(n);
}

struct str zslGetNodeElement(const zskiplistNode *n) {
    return zslMemberOf(n);
}

int zslGetNodeHeight(const zskiplistNode *n) {
    return zslNodeHeight(n);
}

zskiplistNode *zslGetNext(const zskiplistNode *n) {
    return zslNextOf(n);
}

zskiplistNode *zslGetPrev(const zskiplistNode *n) {
    return zslBackwardOf(n);
}

size_t zslNodeMemory(const zskiplistNode *n) {
    return zmallocSize(n);
}

void zslPrefetchFirst(const zskiplist *zsl) {
    __builtin_prefetch(zslForward(zsl->header, 0));
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
    __builtin_prefetch(n->tower + level * ZSKIPLIST_LEVEL_BYTES);
}

/* Goes down to the place of a score. At a tower whose next node has not been fetched, prefetches that and the
 * one on the level below, which is searched if the former is too far, and returns true; at the place, false.
 */
static bool zslFetchDescend(struct zslFetch *f) {
    const zslTower *tower = f->tower;
    const zskiplistNode *stop = f->stop;
    int level = f->level, ready = f->ready;
    for (; level >= 0; level--) {
        const zskiplistNode *next;
        while ((next = zslForward(tower, level)) != stop && level >= ready && next->score < f->score) {
            tower = next->tower;
            ready = f->warm;
        }
        if (next == stop) continue;
        if (level < ready) {
            zslFetchNode(next, level);
            if (level) zslFetchNode(zslForward(tower, level - 1), level - 1);
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
    const zskiplistNode *n = zslForward(f->tower, 0);
    f->run = n && !(n->score > f->last) ? f->run - 1 : 0;
    if (!f->run) return false;
    f->tower = n->tower;
    __builtin_prefetch(zslNextOf(n));
    __builtin_prefetch((const char *)zslNextOf(n) + NODE_GUESS - 1);
    return true;
}

bool zslFetchStep(struct zslFetch *f) {
    if (f->level >= 0 && zslFetchDescend(f)) return true;
    if (f->run > 0) return zslFetchNext(f);
    if (!f->fork) return false;
    f->tower = f->fork->tower;
    f->level = f->fork_level;
    f->ready = f->warm;
    f->fork = f->stop = NULL;
    f->score = f->other;
    return zslFetchDescend(f);
}

zskiplistNode *zslFetchPlace(const struct zslFetch *f) {
    return zslForward(f->tower, 0);
}

/* ---- Change ---- */

static inline void zslNoteRest(zskiplist *zsl, int rest) {
    if (__builtin_expect(rest != 0, 0)) zsl->word |= RESTS_FLAG;
}

zskiplistNode *zslInsert(zskiplist *zsl, struct zscore score, struct str member) {
    serverAssert(score.value == score.value); /* not NaN */
    zskiplistNode *n = zslNodeNew(zslRandomHeight(), score, member);
    zslNoteRest(zsl, score.rest);
    zslLinkNode(zsl, n);
    return n;
}

zskiplistNode *zslNewNode(struct zscore score, struct str member) {
    return zslNodeNew(zslRandomHeight(), score, member);
}

void zslAppendNode(zskiplist *zsl, zskiplistNode *n) {
    debugAssert(!zsl->tail || zslIsBeforeKey(zsl->tail, &(struct zslKey){zslScoreOf(n), zslMemberOf(n)}));
    zslNoteRest(zsl, zslRestOf(n));
    zslLinkAtTail(zsl, n);
}

zskiplistNode *zslAppend(zskiplist *zsl, struct zscore score, struct str member) {
    zskiplistNode *n = zslNewNode(score, member);
    zslAppendNode(zsl, n);
    return n;
}

zskiplistNode *zslPrepend(zskiplist *zsl, struct zscore score, struct str member) {
    zskiplistNode *n = zslNodeNew(zslRandomHeight(), score, member);
    debugAssert(!zsl->tail || !zslIsBeforeKey(zslForward(zsl->header, 0), &(struct zslKey){score, member}));
    zslNoteRest(zsl, score.rest);
    zslLinkAtHead(zsl, n);
    return n;
}

void zslDelete(zskiplist *zsl, zskiplistNode *n) {
    zslUnlinkNode(zsl, n);
    zslNodeFree(n);
}

/* Replaces the node by one that has space for a rest. */
static __attribute__((noinline)) zskiplistNode *zslMakeRoomForRest(zskiplist *zsl, zskiplistNode *n,
                                                                   struct zscore score) {
    zskiplistNode *now = zslNodeNew(zslNodeHeight(n), score, zslMemberOf(n));
    zslDelete(zsl, n);
    zslNoteRest(zsl, score.rest);
    zslLinkNode(zsl, now);
    return now;
}

/* Moves the node to the place of its new score, or sets it in place. The node has no rest, and gets none,
 * unless it is exact. */
static inline void zslMove(zskiplist *zsl, zskiplistNode *n, const struct zslKey *key, bool rises,
                           bool exact) {
    const zskiplistNode *next = zslNextOf(n), *before = zslBackwardOf(n);
    if (rises && next && zslIsBeforeKey(next, key))
        zslMoveRight(zsl, n, key);
    else if (!rises && before && !zslIsBeforeKey(before, key))
        zslMoveLeft(zsl, n, key);
    else if (exact)
        zslSetScore(n, key->score);
    else
        n->score = key->score.value;
}

/* As zslUpdateScore, for a node or a score with a rest. */
static __attribute__((noinline)) zskiplistNode *zslUpdateExact(zskiplist *zsl, zskiplistNode *n,
                                                               struct zscore score) {
    if (!zslHasExtra(n->word)) return zslMakeRoomForRest(zsl, n, score);
    zslNoteRest(zsl, score.rest);
    struct zslKey key = {score, zslMemberOf(n)};
    zslMove(zsl, n, &key, zscoreCompare(score, zslScoreOf(n)) >= 0, true);
    return n;
}

zskiplistNode *zslUpdateScore(zskiplist *zsl, zskiplistNode *n, struct zscore score) {
    serverAssert(score.value == score.value); /* not NaN */
    if (zslHasExtra(n->word) || __builtin_expect(score.rest != 0, 0)) return zslUpdateExact(zsl, n, score);
    struct zslKey key = {score, zslMemberOf(n)};
    zslMove(zsl, n, &key, score.value >= n->score, false);
    return n;
}

/* ---- Ranks ---- */

const zskiplistNode *zslClimb(const zskiplistNode *n) {
    int top = zslNodeHeight(n) - 1;
    const zskiplistNode *next = zslForward(n->tower, top);
    if (next) {
        __builtin_prefetch(&next->word);
        if (top) __builtin_prefetch(next->tower + top * ZSKIPLIST_LEVEL_BYTES);
    }
    return next;
}

uint64_t zslGetRank(const zskiplist *zsl, const zskiplistNode *n) {
    uint64_t steps = 0;
    for (const zskiplistNode *next;; n = next) {
        int top = zslNodeHeight(n) - 1;
        next = zslForward(n->tower, top);
        if (!top) {
            if (!next) return zsl->length - 1 - steps;
            steps++;
        } else {
            steps += zslSpan(n->tower, top);
            if (!next) return zsl->length - 1 - ((steps + zslGetAdjust(zsl)) & SPAN_MASK);
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
    while (i + 1 < height && zslSpan(zsl->header, i + 1) <= left) i++;
    zslTower *tower = (zslTower *)zsl->header;
    for (; i > 0 && left; i--) {
        for (; zslForward(tower, i) && zslSpan(tower, i) <= left; tower = zslForward(tower, i)->tower)
            left -= zslSpan(tower, i);
    }
    for (; left; left--) tower = zslForward(tower, 0)->tower;
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
    for (zskiplistNode *n = zslForward(path.tower[0], 0), *next; n && count; n = next, count--) {
        zskiplistNode *now = move(priv, n);
        if (now) n = now;
        next = zslNextOf(n);
        for (int i = 0; i < zslNodeHeight(n); i++) {
            zslSetForward(path.tower[i], i, n);
            path.tower[i] = n->tower;
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
    serverAssert(zslHasExtra(n->word) || member.len < LONG_MEMBER);
    serverAssert(!zslRestOf(n) || zslHasRests(zsl));
    size_t size = zslNodeSize(zslNodeHeight(n), member.len, zslHasExtra(n->word)),
           used = (size_t)(member.ptr + member.len - (const char *)n);
    serverAssert(used == size || (used < size && size == NODE_MIN));
    serverAssert(zmallocSize(n) >= size);
    if (prev) serverAssert(zslIsBeforeKey(prev, &(struct zslKey){zslScoreOf(n), member}));
}

void zslVerify(const zskiplist *zsl) {
    const zslTower *left[ZSKIPLIST_MAXLEVEL];
    uint64_t leftPos[ZSKIPLIST_MAXLEVEL] = {0}, pos = 0;
    int height = zslListHeight(zsl), highest = 1;
    const zskiplistNode *prev = NULL;
    for (int i = 0; i < ZSKIPLIST_MAXLEVEL; i++) left[i] = zsl->header;
    serverAssert(height >= 1 && height <= ZSKIPLIST_MAXLEVEL);

    for (const zskiplistNode *n = zslForward(zsl->header, 0); n; prev = n, n = zslNextOf(n)) {
        serverAssert(++pos <= zsl->length);
        zslVerifyNode(zsl, n, prev);
        for (int i = 0; i < zslNodeHeight(n); i++) {
            serverAssert(zslForward(left[i], i) == n);
            if (i) serverAssert(zslSpan(left[i], i) == pos - leftPos[i]);
            left[i] = n->tower;
            leftPos[i] = pos;
        }
        if (zslNodeHeight(n) > highest) highest = zslNodeHeight(n);
    }
    serverAssert(pos == zsl->length);
    serverAssert(prev == zsl->tail);
    serverAssert(highest == height);
    for (int i = 0; i < ZSKIPLIST_MAXLEVEL; i++) {
        serverAssert(zslForward(left[i], i) == NULL);
        if (i && i < height)
            serverAssert(((zslSpan(left[i], i) + zslGetAdjust(zsl)) & SPAN_MASK) == pos - leftPos[i]);
    }
}
