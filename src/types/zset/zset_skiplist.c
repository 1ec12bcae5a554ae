/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_skiplist.c - the encoding of large sorted sets: a skiplist for the order, a hash table for the
 * members.
 *
 *     struct zset     line 0                                    line 4
 *     | length tail level[0] level[1] level[2] | more levels .. | .. members: type tables used |
 *          |                                                             |
 *          v                                                             v
 *        node <-> node <-> node <-> node                     bucket | tags | entries |
 *                   ^_______________________________________________________|
 *
 * The nodes are the entries of the table: its keys are the members inside the nodes. A member that is found
 * brings its score with it, and its rank by climbing from there.
 *
 * `place.at` is the node. */
#include "types/zset/zset.h"

#include <string.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "data/keyspace/db.h"
#include "types/zset/zset_writer.h"

/* With a limit of up to this many elements, their bounds are compared one by one: they will be read anyway.
 * Above that a second search finds the other end. */
#define EXTENT_WALK 16
#define NODE_GUESS  48   /* bytes of a usual node */
#define WARM_MAX    4096 /* elements that stay in a second-level cache */

_Static_assert(offsetof(struct zset, list.header) < 64, "length, tail and first level are in the first line");
_Static_assert(offsetof(struct zset, members) >= 256, "the member index is in the last line");

static struct str nodeMember(const void *node) {
    return zslGetNodeElement(node);
}
static const struct hashtableType memberIndexType = {.entryKey = nodeMember};

/* The round has hashed the member of the running command ahead, as it does with keys. */
static uint64_t memberHash(struct str member) {
    return dbHashMember(member);
}

static inline bool zsetSkiplistPutPlace(struct zsetPlace *p, zskiplistNode *n) {
    p->at = n;
    if (n) p->score = zslGetNodeScore(n);
    return n != NULL;
}

/* ---- Life ---- */

static void *skiplistCreate(size_t entries) {
    struct zset *zs = zmalloc(sizeof *zs);
    zslInit(&zs->list);
    hashtableInit(&zs->members, &memberIndexType);
    if (entries) hashtableExpand(&zs->members, entries);
    return zs;
}

static void skiplistDestroy(void *z) {
    struct zset *zs = z;
    hashtableDestroy(&zs->members);
    zslClear(&zs->list);
    zfreeSized(zs, sizeof *zs);
}

static void *skiplistAppend(void *z, struct str member, double score) {
    struct zset *zs = z;
    hashtableAddUnchecked(&zs->members, zslAppend(&zs->list, score, member), memberHash(member));
    return zs;
}

static void *skiplistPrepend(void *z, struct str member, double score, const struct zsetPlace *missed) {
    struct zset *zs = z;
    hashtableAddUnchecked(&zs->members, zslPrepend(&zs->list, score, member), missed->hash);
    return zs;
}

static void *skiplistCopy(const void *z) {
    const struct zset *zs = z;
    struct zset *copy = skiplistCreate(zslGetLength(&zs->list));
    for (zskiplistNode *n = zslGetFirst(&zs->list); n; n = zslGetNext(n))
        skiplistAppend(copy, zslGetNodeElement(n), zslGetNodeScore(n));
    return copy;
}

static uint64_t skiplistLength(const void *z) {
    return zslGetLength(&((const struct zset *)z)->list);
}

static size_t skiplistMemory(const void *z, size_t samples) {
    const struct zset *zs = z;
    size_t length = zslGetLength(&zs->list), seen = 0, nodes = 0;
    if (samples == 0 || samples > length) samples = length;
    for (zskiplistNode *n = zslGetFirst(&zs->list); n && seen < samples; n = zslGetNext(n), seen++)
        nodes += zslNodeMemory(n);
    if (seen) nodes = (size_t)((double)nodes / (double)seen * (double)length);
    return zmallocSize(zs) + hashtableMemory(&zs->members) + nodes;
}

static size_t skiplistAllocations(const void *z) {
    return skiplistLength(z) + 2;
}

/* ---- Searching ---- */

static bool skiplistFind(void *z, struct str member, struct zsetPlace *p) {
    struct zset *zs = z;
    p->hash = memberHash(member);
    return zsetSkiplistPutPlace(p, hashtableFindHashed(&zs->members, member, p->hash));
}

static bool skiplistAtRank(const void *z, uint64_t rank, struct zsetPlace *p) {
    const zskiplist *list = &((const struct zset *)z)->list;
    return zsetSkiplistPutPlace(p, rank == 0 ? zslGetFirst(list) : zslGetByRank(list, rank));
}

static bool skiplistSeek(const void *z, const struct zsetRange *r, bool last, struct zsetPlace *p,
                         uint64_t *rank) {
    const zskiplist *list = &((const struct zset *)z)->list;
    zskiplistNode *n;
    if (r->by == ZRANGE_SCORE)
        n = last ? zslLastInScoreRange(list, &r->score, rank) : zslFirstInScoreRange(list, &r->score, rank);
    else
        n = last ? zslLastInLexRange(list, &r->lex, rank) : zslFirstInLexRange(list, &r->lex, rank);
    return zsetSkiplistPutPlace(p, n);
}

static inline bool isInside(const zskiplistNode *n, const struct zsetRange *r) {
    if (r->by == ZRANGE_SCORE)
        return zscoreGteMin(zslGetNodeScore(n), &r->score) && zscoreLteMax(zslGetNodeScore(n), &r->score);
    return zlexGteMin(zslGetNodeElement(n), &r->lex) && zlexLteMax(zslGetNodeElement(n), &r->lex);
}

static uint64_t skiplistExtent(const void *z, const struct zsetRange *r, const struct zsetPlace *p,
                               uint64_t rank, uint64_t max) {
    const zskiplistNode *n = p->at;
    uint64_t count = 0, end;
    if (max <= EXTENT_WALK) {
        for (; n && count < max && isInside(n, r); count++) n = r->reverse ? zslGetPrev(n) : zslGetNext(n);
        return count;
    }
    struct zsetPlace far;
    if (!isInside(n, r) || !skiplistSeek(z, r, !r->reverse, &far, &end)) return 0;
    uint64_t low = r->reverse ? end : rank, high = r->reverse ? rank : end;
    if (low > high) return 1; /* a lex range over unequal scores: without meaning, but not dangerous */
    count = high - low + 1;
    return count < max ? count : max;
}

static uint64_t skiplistRank(const void *z, const struct zsetPlace *p) {
    return zslGetRank(&((const struct zset *)z)->list, p->at);
}

static bool skiplistStep(const void *z, struct zsetPlace *p, bool back) {
    (void)z;
    return zsetSkiplistPutPlace(p, back ? zslGetPrev(p->at) : zslGetNext(p->at));
}

static void skiplistRead(const struct zsetPlace *p, struct zsetElement *e) {
    e->member = zslGetNodeElement(p->at);
    e->score = p->score;
}

/* ---- Changing ---- */

static void *skiplistInsert(void *z, struct str member, double score, const struct zsetPlace *missed) {
    struct zset *zs = z;
    hashtableAddUnchecked(&zs->members, zslInsert(&zs->list, score, member), missed->hash);
    return zs;
}

static void *skiplistUpdate(void *z, struct str member, double score, const struct zsetPlace *found) {
    struct zset *zs = z;
    (void)member;
    zslUpdateScore(&zs->list, found->at, score);
    return zs;
}

static void *skiplistErase(void *z, const struct zsetPlace *found) {
    struct zset *zs = z;
    hashtableRemoveEntry(&zs->members, found->at, found->hash);
    zslDelete(&zs->list, found->at);
    return zs;
}

static void forgetNode(void *priv, zskiplistNode *n) {
    hashtableRemoveEntry(priv, n, memberHash(zslGetNodeElement(n)));
}

static void *skiplistEraseRange(void *z, uint64_t rank, uint64_t count) {
    struct zset *zs = z;
    zslDeleteRangeByRank(&zs->list, rank, count, forgetNode, &zs->members);
    return zs;
}

/* ---- Replying ---- */

/* The next node is on its way while this one is written. */
static void skiplistEmit(const void *z, struct client *c, struct zsetPlace p, uint64_t count, bool reverse,
                         enum zsetShape shape) {
    struct zsetWriter w;
    zskiplistNode *n = p.at, *next;
    (void)z;
    zsetWriterBegin(&w, c, shape);
    if (reverse) {
        for (; count; count--, n = next) {
            next = zslGetPrev(n);
            __builtin_prefetch(next);
            zsetWrite(&w, zslGetNodeElement(n), zslGetNodeScore(n));
        }
    } else {
        for (; count; count--, n = next) {
            next = zslGetNext(n);
            __builtin_prefetch(next);
            zsetWrite(&w, zslGetNodeElement(n), zslGetNodeScore(n));
        }
    }
    zsetWriterEnd(&w);
}

struct zskiplistScanCall {
    void (*fn)(void *priv, const struct zsetElement *e);
    void *priv;
};
static void scanNode(void *priv, void *node) {
    struct zskiplistScanCall *call = priv;
    struct zsetElement e;
    e.member = zslGetNodeElement(node);
    e.score = zslGetNodeScore(node);
    call->fn(call->priv, &e);
}

static uint64_t skiplistScan(void *z, uint64_t cursor, void (*fn)(void *priv, const struct zsetElement *e),
                             void *priv) {
    struct zskiplistScanCall call = {fn, priv};
    return hashtableScan(&((struct zset *)z)->members, cursor, scanNode, &call);
}

/* Nodes moved in one call. */
#define DEFRAG_NODES 128

struct defragCall {
    hashtable *members;
    void *(*move)(void *priv, void *ptr);
    void *priv;
};
static zskiplistNode *moveNode(void *priv, zskiplistNode *n) {
    struct defragCall *call = priv;
    uint64_t hash = memberHash(zslGetNodeElement(n));
    zskiplistNode *now = call->move(call->priv, n);
    if (now) hashtableReplaceEntry(call->members, n, now, hash);
    return now;
}

static void *skiplistDefrag(void *z, uint64_t *cursor, void *(*move)(void *priv, void *ptr), void *priv) {
    void *now = *cursor == 0 ? move(priv, z) : NULL;
    struct zset *zs = now ? now : z;
    struct defragCall call = {&zs->members, move, priv};
    if (*cursor == 0) hashtableMoveArrays(&zs->members, move, priv);
    zslMoveRange(&zs->list, *cursor, DEFRAG_NODES, moveNode, &call);
    *cursor += DEFRAG_NODES;
    if (*cursor >= zslGetLength(&zs->list)) *cursor = 0;
    return zs;
}

static struct hashtable *skiplistTable(void *z) {
    return &((struct zset *)z)->members;
}

static sds skiplistDebugInfo(const void *z, sds s) {
    const struct zset *zs = z;
    size_t length = zslGetLength(&zs->list), memory = skiplistMemory(z, 0);
    double slots = (double)hashtableSlots(&zs->members);
    return sdscatprintf(s, "elements:%zu height:%d index_fill:%.1f%% bytes:%zu bytes_per_element:%.2f ",
                        length, zslGetHeight(&zs->list), slots ? 100 * (double)length / slots : 0, memory,
                        (double)memory / (double)(length ? length : 1));
}

/* ---- Prefetching ---- */

static void prefetchNode(const zskiplistNode *n) {
    if (!n) return;
    __builtin_prefetch(n);
    __builtin_prefetch((const char *)n + NODE_GUESS - 1);
}

/* The member index knows all nodes without looking at any. */
static void skiplistWarm(const void *z) {
    struct zset *zs = (struct zset *)z;
    struct hashtableIterator it;
    void *node;
    if (hashtableSize(&zs->members) > WARM_MAX) return;
    hashtableInitIterator(&it, &zs->members, false);
    while (hashtableNext(&it, &node)) prefetchNode(node);
    hashtableStopIterator(&it);
}

/* From step 1 on, the way down to where a new score belongs. A small list is read in less time. */
static bool fetchPlace(const zskiplist *list, const struct prefetchRequests *wants, int step,
                       struct prefetchState *state) {
    struct zslFetch search;
    _Static_assert(sizeof search <= sizeof state->notes, "a search fits the state");
    if (zslGetLength(list) <= WARM_MAX) return false;
    if (step == 1) {
        double score;
        bool valid = string2d(wants->score, &score); /* else any place will do: the command will refuse it */
        zslFetchBegin(list, valid ? score : 0, &search);
    } else {
        memcpy(&search, state->notes, sizeof search);
    }
    bool more = zslFetchStep(&search);
    memcpy(state->notes, &search, sizeof search);
    return more;
}

/* From step 3 on, the way up that the rank of a member takes, one node a step; or the way to a score. */
static bool skiplistPrefetch(const void *z, const struct prefetchRequests *wants, int step,
                             struct prefetchState *state) {
    const struct zset *zs = z;
    unsigned parts = wants->parts;
    bool member = wants->member.ptr != NULL;
    switch (step) {
    case 0:
        if (parts & (PREFETCH_HEAD | PREFETCH_TAIL)) __builtin_prefetch(&zs->list);
        if (member) __builtin_prefetch(&zs->members);
        return parts != 0;
    case 1:
        if (parts & PREFETCH_HEAD) zslPrefetchFirst(&zs->list);
        if (parts & PREFETCH_TAIL) prefetchNode(zslGetTail(&zs->list));
        if (member) hashtablePrefetchBucket(&zs->members, wants->member_hash);
        if (parts & PREFETCH_SCORE) fetchPlace(&zs->list, wants, step, state);
        return member;
    case 2:
        state->at = hashtablePeek(&zs->members, wants->member_hash);
        prefetchNode(state->at);
        break;
    default:
        if (parts & PREFETCH_RANK) state->at = zslClimb(state->at);
        break;
    }
    if (parts & PREFETCH_SCORE) return fetchPlace(&zs->list, wants, step, state);
    return state->at && parts & PREFETCH_RANK;
}

const struct zsetIndex zsetSkiplist = {
    .encoding = ZSET_SKIPLIST,
    .name = "skiplist",
    .create = skiplistCreate,
    .destroy = skiplistDestroy,
    .copy = skiplistCopy,
    .length = skiplistLength,
    .memory = skiplistMemory,
    .allocations = skiplistAllocations,
    .find = skiplistFind,
    .atRank = skiplistAtRank,
    .seek = skiplistSeek,
    .extent = skiplistExtent,
    .rank = skiplistRank,
    .step = skiplistStep,
    .read = skiplistRead,
    .insert = skiplistInsert,
    .append = skiplistAppend,
    .prepend = skiplistPrepend,
    .update = skiplistUpdate,
    .erase = skiplistErase,
    .eraseRange = skiplistEraseRange,
    .emit = skiplistEmit,
    .scan = skiplistScan,
    .defrag = skiplistDefrag,
    .table = skiplistTable,
    .warm = skiplistWarm,
    .debugInfo = skiplistDebugInfo,
    .prefetch = skiplistPrefetch,
};
