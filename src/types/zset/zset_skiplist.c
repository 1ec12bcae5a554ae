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
 * The nodes are the entries of the table, whose keys are the members inside the nodes. So finding a member
 * finds its score, and its rank by climbing from the node.
 *
 * `place.at` is the node. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "data/keyspace/db.h"
#include "types/zset/zset.h"
#include "types/zset/zset_private.h"
#include "types/zset/zset_writer.h"

/* Up to this many elements that will be read in any case are compared with the bounds one by one. If there
 * are more, or they are only counted, a second search finds the other end. */
#define EXTENT_WALK 16
#define NODE_GUESS  48   /* typical bytes of a node */
#define WARM_MAX    4096 /* elements that fit into a second-level cache */
#define BUILD_AHEAD 8    /* elements of a new set that are hashed ahead */
#define RUN_NODES   16   /* elements of a range that are fetched ahead */
/* Lists of up to this many elements are searched in less time than fetching the way takes. */
#define WAY_MIN 32768

_Static_assert(offsetof(struct zset, list.header) < 64, "length, tail and first level are in the first line");
_Static_assert(offsetof(struct zset, members) >= 256, "the member index is in the last line");

static struct str zsetSkiplistNodeMember(const void *node) {
    return zslGetNodeElement(node);
}
static const struct hashtableType memberIndexType = {.entryKey = zsetSkiplistNodeMember};

/* The turn has hashed the member of the running command ahead, as it does with keys. */
static uint64_t zsetSkiplistMemberHash(struct str member) {
    return dbHashMember(member);
}

static inline bool zsetSkiplistPutPlace(struct zsetPlace *p, zskiplistNode *n) {
    p->at = n;
    if (n) p->score = zslGetNodeScore(n);
    return n != NULL;
}

/* ---- Life ---- */

static void *zsetSkiplistCreate(size_t entries) {
    struct zset *zs = zmalloc(sizeof *zs);
    zslInit(&zs->list);
    hashtableInit(&zs->members, &memberIndexType);
    if (entries) hashtableExpand(&zs->members, entries);
    return zs;
}

/* Hashes are computed ahead, so that the buckets have arrived when they are needed. */
static void *zsetSkiplistBuild(const struct zsetItem *items, size_t count) {
    struct zset *zs = zsetSkiplistCreate(count);
    uint64_t hashes[BUILD_AHEAD];
    for (size_t i = 0; i < count + BUILD_AHEAD; i++) {
        uint64_t *hash = &hashes[i % BUILD_AHEAD];
        if (i >= BUILD_AHEAD) {
            const struct zsetItem *item = &items[i - BUILD_AHEAD];
            hashtableAddUnchecked(&zs->members, zslAppend(&zs->list, item->score, item->member), *hash);
        }
        if (i >= count) continue;
        *hash = zsetItemHash(&items[i]);
        __builtin_prefetch(items[i].member.ptr);
        hashtablePrefetchBucket(&zs->members, *hash);
    }
    return zs;
}

static void zsetSkiplistDestroy(void *z) {
    struct zset *zs = z;
    hashtableDestroy(&zs->members);
    zslClear(&zs->list);
    zfreeSized(zs, sizeof *zs);
}

static void *zsetSkiplistAppend(void *z, struct str member, struct zscore score) {
    struct zset *zs = z;
    hashtableAddUnchecked(&zs->members, zslAppend(&zs->list, score, member), zsetSkiplistMemberHash(member));
    return zs;
}

static void *zsetSkiplistPrepend(void *z, struct str member, struct zscore score,
                                 const struct zsetPlace *missed) {
    struct zset *zs = z;
    hashtableAddUnchecked(&zs->members, zslPrepend(&zs->list, score, member), missed->hash);
    return zs;
}

static void *zsetSkiplistCopy(const void *z) {
    const struct zset *zs = z;
    struct zset *copy = zsetSkiplistCreate(zslGetLength(&zs->list));
    for (zskiplistNode *n = zslGetFirst(&zs->list); n; n = zslGetNext(n))
        zsetSkiplistAppend(copy, zslGetNodeElement(n), zslGetNodeScore(n));
    return copy;
}

static uint64_t zsetSkiplistLength(const void *z) {
    return zslGetLength(&((const struct zset *)z)->list);
}

static bool zsetSkiplistHasRests(const void *z) {
    return zslHasRests(&((const struct zset *)z)->list);
}

static size_t zsetSkiplistMemory(const void *z, size_t samples) {
    const struct zset *zs = z;
    size_t length = zslGetLength(&zs->list), seen = 0, nodes = 0;
    if (samples == 0 || samples > length) samples = length;
    for (zskiplistNode *n = zslGetFirst(&zs->list); n && seen < samples; n = zslGetNext(n), seen++)
        nodes += zslNodeMemory(n);
    if (seen) nodes = (size_t)((double)nodes / (double)seen * (double)length);
    return zmallocSize(zs) + hashtableMemory(&zs->members) + nodes;
}

static size_t zsetSkiplistAllocations(const void *z) {
    return zsetSkiplistLength(z) + 2;
}

/* ---- Searching ---- */

static bool zsetSkiplistFindHashed(void *z, struct str member, uint64_t hash, struct zsetPlace *p) {
    struct zset *zs = z;
    p->hash = hash;
    return zsetSkiplistPutPlace(p, hashtableFindHashed(&zs->members, member, hash));
}

static bool zsetSkiplistFind(void *z, struct str member, struct zsetPlace *p) {
    return zsetSkiplistFindHashed(z, member, zsetSkiplistMemberHash(member), p);
}

static bool zsetSkiplistAtRank(const void *z, uint64_t rank, struct zsetPlace *p) {
    const zskiplist *list = &((const struct zset *)z)->list;
    return zsetSkiplistPutPlace(p, rank == 0 ? zslGetFirst(list) : zslGetByRank(list, rank));
}

static bool zsetSkiplistSeek(const void *z, const struct zsetRange *r, bool last, struct zsetPlace *p,
                             uint64_t *rank) {
    const zskiplist *list = &((const struct zset *)z)->list;
    zskiplistNode *n;
    if (r->by == ZRANGE_SCORE)
        n = last ? zslLastInScoreRange(list, &r->score, rank) : zslFirstInScoreRange(list, &r->score, rank);
    else
        n = last ? zslLastInLexRange(list, &r->lex, rank) : zslFirstInLexRange(list, &r->lex, rank);
    return zsetSkiplistPutPlace(p, n);
}

/* Counts elements from *n on, which is in the range or beyond it, and sets *n to the one behind them. */
static uint64_t zsetSkiplistWalk(const zskiplist *list, const zskiplistNode **n, const struct zsetRange *r,
                                 uint64_t max) {
    uint64_t count = 0;
    if (r->by == ZRANGE_SCORE) return zslCountInScoreRange(list, n, &r->score, r->reverse, max);
    for (; *n && count < max; count++) {
        struct str member = zslGetNodeElement(*n);
        if (!zlexGteMin(member, &r->lex) || !zlexLteMax(member, &r->lex)) break;
        *n = r->reverse ? zslGetPrev(*n) : zslGetNext(*n);
    }
    return count;
}

static uint64_t zsetSkiplistExtent(const void *z, const struct zsetRange *r, const struct zsetPlace *p,
                                   uint64_t rank, uint64_t max) {
    const zskiplistNode *n = p->at;
    uint64_t end, walk = max <= EXTENT_WALK ? max : r->read ? EXTENT_WALK : 1;
    uint64_t count = zsetSkiplistWalk(&((const struct zset *)z)->list, &n, r, walk);
    if (!n || count < walk || count == max) return count;
    struct zsetPlace far;
    if (!zsetSkiplistSeek(z, r, !r->reverse, &far, &end)) return 0;
    uint64_t low = r->reverse ? end : rank, high = r->reverse ? rank : end;
    if (low > high) return 1; /* a lex range over unequal scores: without meaning, but harmless */
    count = high - low + 1;
    return count < max ? count : max;
}

static uint64_t zsetSkiplistRank(const void *z, const struct zsetPlace *p) {
    return zslGetRank(&((const struct zset *)z)->list, p->at);
}

static bool zsetSkiplistStep(const void *z, struct zsetPlace *p, bool back) {
    (void)z;
    return zsetSkiplistPutPlace(p, back ? zslGetPrev(p->at) : zslGetNext(p->at));
}

static void zsetSkiplistRead(const void *z, const struct zsetPlace *p, struct zsetElement *e) {
    (void)z;
    e->member = zslGetNodeElement(p->at);
    e->score = p->score;
}

/* ---- Changing ---- */

/* Called before an element with this hash is added, removed or changed. */
static inline void zsetSkiplistWillChange(struct zset *zs, uint64_t hash) {
    struct largeValue *v = largeValueFind(zs);
    if (v) zsetPartsSave(v, hash);
}

static void *zsetSkiplistInsert(void *z, struct str member, struct zscore score,
                                const struct zsetPlace *missed) {
    struct zset *zs = z;
    zsetSkiplistWillChange(zs, missed->hash);
    hashtableAddUnchecked(&zs->members, zslInsert(&zs->list, score, member), missed->hash);
    return zs;
}

static void *zsetSkiplistUpdate(void *z, struct str member, struct zscore score,
                                const struct zsetPlace *found) {
    struct zset *zs = z;
    (void)member;
    zsetSkiplistWillChange(zs, found->hash);
    zskiplistNode *now = zslUpdateScore(&zs->list, found->at, score);
    if (__builtin_expect(now != found->at, 0))
        hashtableReplaceEntry(&zs->members, found->at, now, found->hash);
    return zs;
}

static void *zsetSkiplistErase(void *z, const struct zsetPlace *found) {
    struct zset *zs = z;
    zsetSkiplistWillChange(zs, found->hash);
    hashtableRemoveEntry(&zs->members, found->at, found->hash);
    zslDelete(&zs->list, found->at);
    return zs;
}

static void zsetSkiplistForgetNode(void *priv, zskiplistNode *n) {
    struct zset *zs = priv;
    uint64_t hash = zsetSkiplistMemberHash(zslGetNodeElement(n));
    zsetSkiplistWillChange(zs, hash);
    hashtableRemoveEntry(&zs->members, n, hash);
}

static void *zsetSkiplistEraseRange(void *z, uint64_t rank, uint64_t count) {
    struct zset *zs = z;
    zslDeleteRangeByRank(&zs->list, rank, count, zsetSkiplistForgetNode, zs);
    return zs;
}

/* ---- Loading in no order ---- */

#define LINK_AHEAD 8 /* nodes that are prefetched while others are linked */

static struct sortKey zsetSkiplistKeyOf(const zskiplistNode *n) {
    return (struct sortKey){keysortDouble(zslGetNodeScore(n).value), (size_t)n};
}

static void zsetSkiplistLoosen(void *z, struct sortKey *loose) {
    struct zset *zs = z;
    for (zskiplistNode *n = zslGetFirst(&zs->list); n; n = zslGetNext(n)) *loose++ = zsetSkiplistKeyOf(n);
    zslInit(&zs->list);
}

static struct sortKey zsetSkiplistAddLoose(void *z, struct str member, struct zscore score,
                                           const struct zsetPlace *missed) {
    struct zset *zs = z;
    zskiplistNode *n = zslNewNode(score, member);
    hashtableAddUnchecked(&zs->members, n, missed->hash);
    return zsetSkiplistKeyOf(n);
}

static int zsetSkiplistCompareTied(void *priv, size_t a, size_t b) {
    const zskiplistNode *x = (const zskiplistNode *)a, *y = (const zskiplistNode *)b;
    (void)priv;
    int order = zscoreCompare(zslGetNodeScore(x), zslGetNodeScore(y));
    return order ? order : strCmp(zslGetNodeElement(x), zslGetNodeElement(y));
}

static void zsetSkiplistLink(void *z, struct sortKey *loose, size_t count) {
    struct zset *zs = z;
    keysortSort(loose, count, zsetSkiplistCompareTied, NULL);
    for (size_t i = 0; i < count; i++) {
        if (i + LINK_AHEAD < count) __builtin_prefetch((const void *)loose[i + LINK_AHEAD].at, 1);
        zslAppendNode(&zs->list, (zskiplistNode *)loose[i].at);
    }
}

/* ---- Replying ---- */

static inline void zsetSkiplistWrite(struct zsetWriter *w, const zskiplistNode *n) {
    if (w->shape == ZSHAPE_MEMBERS)
        zsetWriteMember(w, zslGetNodeElement(n));
    else
        zsetWrite(w, zslGetNodeElement(n), zslGetNodeScore(n));
}

/* The next node is prefetched while this one is written. */
static void zsetSkiplistEmit(const void *z, struct client *c, const struct zsetPlace *p, uint64_t count,
                             bool reverse, enum zsetShape shape) {
    struct zsetWriter w;
    zskiplistNode *n = p->at, *next;
    (void)z;
    zsetWriterBegin(&w, c, shape);
    if (reverse) {
        for (; count; count--, n = next) {
            next = zslGetPrev(n);
            __builtin_prefetch(next);
            zsetSkiplistWrite(&w, n);
        }
    } else {
        for (; count; count--, n = next) {
            next = zslGetNext(n);
            __builtin_prefetch(next);
            zsetSkiplistWrite(&w, n);
        }
    }
    zsetWriterEnd(&w);
}

struct zskiplistScanCall {
    void (*fn)(void *priv, const struct zsetElement *e);
    void *priv;
};
static void zsetSkiplistScanNode(void *priv, void *node) {
    struct zskiplistScanCall *call = priv;
    struct zsetElement e;
    e.member = zslGetNodeElement(node);
    e.score = zslGetNodeScore(node);
    call->fn(call->priv, &e);
}

/* As for the tree: without its lowest bit a cursor may be one position too low. */
static uint64_t zsetSkiplistScan(void *z, uint64_t cursor,
                                 void (*fn)(void *priv, const struct zsetElement *e), void *priv) {
    struct zskiplistScanCall call = {fn, priv};
    uint64_t from = cursor & ZSET_CURSOR_TREE ? 0 : cursor, next = from;
    do next = hashtableScan(&((struct zset *)z)->members, next, zsetSkiplistScanNode, &call);
    while (next && (next & ~(uint64_t)ZSET_CURSOR_TREE) == from);
    return next & ~(uint64_t)ZSET_CURSOR_TREE;
}

/* Number of nodes moved in one call. */
#define DEFRAG_NODES 128

struct defragCall {
    hashtable *members;
    void *(*move)(void *priv, void *ptr);
    void *priv;
};
static zskiplistNode *zsetSkiplistMoveNode(void *priv, zskiplistNode *n) {
    struct defragCall *call = priv;
    uint64_t hash = zsetSkiplistMemberHash(zslGetNodeElement(n));
    zskiplistNode *now = call->move(call->priv, n);
    if (now) hashtableReplaceEntry(call->members, n, now, hash);
    return now;
}

static void *zsetSkiplistDefrag(void *z, uint64_t *cursor, void *(*move)(void *priv, void *ptr), void *priv) {
    void *now = *cursor == 0 ? move(priv, z) : NULL;
    struct zset *zs = now ? now : z;
    struct defragCall call = {&zs->members, move, priv};
    if (*cursor == 0) hashtableMoveArrays(&zs->members, move, priv);
    zslMoveRange(&zs->list, *cursor, DEFRAG_NODES, zsetSkiplistMoveNode, &call);
    *cursor += DEFRAG_NODES;
    if (*cursor >= zslGetLength(&zs->list)) *cursor = 0;
    return zs;
}

static struct hashtable *zsetSkiplistTable(void *z) {
    return &((struct zset *)z)->members;
}

static sds zsetSkiplistDebugInfo(const void *z, sds s) {
    const struct zset *zs = z;
    size_t length = zslGetLength(&zs->list), memory = zsetSkiplistMemory(z, 0);
    double slots = (double)hashtableSlots(&zs->members);
    return sdscatprintf(s, "elements:%zu height:%d index_fill:%.1f%% bytes:%zu bytes_per_element:%.2f ",
                        length, zslGetHeight(&zs->list), slots ? 100 * (double)length / slots : 0, memory,
                        (double)memory / (double)(length ? length : 1));
}

/* ---- Prefetching ---- */

static void zsetSkiplistPrefetchNode(const zskiplistNode *n) {
    if (!n) return;
    __builtin_prefetch(n);
    __builtin_prefetch((const char *)n + NODE_GUESS - 1);
}

/* Finds all nodes through the member index, without looking at any of them. */
static void zsetSkiplistWarm(const void *z) {
    const struct zset *zs = z;
    if (hashtableSize(&zs->members) <= WARM_MAX) hashtablePrefetchEntries(&zs->members, NODE_GUESS);
}

static void zsetReadAhead(struct zsetIteratorOfAll *it) {
    void **node = &it->ahead[it->next++ % ZSET_READ_AHEAD];
    if (!hashtableNext(&it->index, node)) *node = NULL;
    zsetSkiplistPrefetchNode(*node);
}

void zsetIterateAll(struct zsetIteratorOfAll *it, struct zsetRef z, bool in_order) {
    it->by_index = !in_order && z.index == &zsetSkiplist && zsetLength(z) > WARM_MAX;
    if (!it->by_index) {
        it->ordered = zsetIterate(z, 0);
        return;
    }
    hashtableInitIterator(&it->index, zsetTable(z), false);
    for (it->next = 0; it->next < ZSET_READ_AHEAD;) zsetReadAhead(it);
}

bool zsetNextOfAll(struct zsetIteratorOfAll *it, struct zsetElement *e) {
    if (!it->by_index) return zsetNext(&it->ordered, e);
    const zskiplistNode *node = it->ahead[it->next % ZSET_READ_AHEAD];
    if (!node) return false;
    e->member = zslGetNodeElement(node);
    e->score = zslGetNodeScore(node);
    zsetReadAhead(it);
    return true;
}

/* The further steps, after the nodes that members name have been fetched. */
static bool zsetSkiplistClimb(struct prefetchState *state) {
    state->at = zslClimb(state->at);
    return state->at != NULL;
}

static struct zslFetch *zsetSkiplistWay(struct prefetchState *state) {
    _Static_assert(sizeof(struct zslFetch) <= sizeof state->notes, "a way fits the state");
    return (struct zslFetch *)state->notes;
}

static bool zsetSkiplistFetchWay(struct prefetchState *state) {
    return zslFetchStep(zsetSkiplistWay(state));
}

static bool zsetSkiplistBeginWay(struct prefetchState *state) {
    state->next = zsetSkiplistFetchWay;
    return zsetSkiplistFetchWay(state);
}

/* Reads a score, or a bound of a range. When it is none, the command will be refused. */
static bool zsetSkiplistReadScore(struct str s, double *score) {
    if (s.len && s.ptr[0] == '(') s = strN(s.ptr + 1, s.len - 1);
    return string2d(s, score);
}

/* Begins to fetch the way to a range, and its first elements if they will be read. */
static bool zsetSkiplistFetchRange(const zskiplist *list, const struct prefetchRequests *wants,
                                   struct prefetchState *state) {
    double from, to;
    if (!zsetSkiplistReadScore(prefetchScore(wants, 0), &from)) return false;
    if (wants->parts & PREFETCH_RUN && zsetSkiplistReadScore(prefetchScore(wants, 1), &to))
        zslFetchBeginRun(list, from, to, RUN_NODES, zsetSkiplistWay(state));
    else
        zslFetchBegin(list, from, NAN, zsetSkiplistWay(state));
    return zsetSkiplistBeginWay(state);
}

/* Step 4: a score that stays between its neighbours needs no way. state->at is the neighbour on the side of
 * the new score. */
static bool zsetSkiplistPassNeighbour(struct prefetchState *state) {
    const struct zslFetch *way = zsetSkiplistWay(state);
    double neighbour = zslGetNodeScore(state->at).value;
    return neighbour >= way->score && neighbour <= way->other && zsetSkiplistBeginWay(state);
}

/* Step 3 of a change of a score. A new member needs the way to its place; one that exists the ways to its old
 * and to its new place, which it may leave and enter, but first its neighbour on that side. state->at is its
 * node, NULL when it is new. */
static bool zsetSkiplistFetchNeighbour(const zskiplist *list, const struct prefetchRequests *wants,
                                       struct prefetchState *state) {
    double score, old;
    if (!string2d(prefetchScore(wants, 0), &score)) return false;
    if (!state->at) {
        zslFetchBegin(list, score, NAN, zsetSkiplistWay(state));
        return zsetSkiplistBeginWay(state);
    }
    old = zslGetNodeScore(state->at).value;
    if (wants->parts & PREFETCH_INCREMENT) score += old;
    if (score > old) {
        zslFetchBegin(list, old, score, zsetSkiplistWay(state));
        state->at = zslGetNext(state->at);
    } else if (score < old) {
        zslFetchBegin(list, score, old, zsetSkiplistWay(state));
        state->at = zslGetPrev(state->at);
    } else {
        return false;
    }
    zsetSkiplistPrefetchNode(state->at);
    state->next = zsetSkiplistPassNeighbour;
    return state->at != NULL;
}

/* From step 3 on: prefetches the way up that the rank of a member takes, one node a step; or the ways to the
 * places of scores, unless the list is small. */
static bool zsetSkiplistPrefetch(const void *z, const struct prefetchRequests *wants, int step,
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
        if (parts & PREFETCH_TAIL) zsetSkiplistPrefetchNode(zslGetTail(&zs->list));
        if (member) hashtablePrefetchBucket(&zs->members, wants->member_hash);
        if (member || !(parts & PREFETCH_SCORE) || zslGetLength(&zs->list) <= WAY_MIN) return member;
        return zsetSkiplistFetchRange(&zs->list, wants, state);
    case 2:
        state->at = hashtablePeek(&zs->members, wants->member_hash);
        zsetSkiplistPrefetchNode(state->at);
        if (parts & PREFETCH_SCORE) return zslGetLength(&zs->list) > WAY_MIN;
        state->next = zsetSkiplistClimb;
        return state->at && parts & PREFETCH_RANK;
    default: return zsetSkiplistFetchNeighbour(&zs->list, wants, state);
    }
}

const struct zsetIndex zsetSkiplist = {
    .encoding = ZSET_SKIPLIST,
    .name = "skiplist",
    .create = zsetSkiplistCreate,
    .build = zsetSkiplistBuild,
    .destroy = zsetSkiplistDestroy,
    .copy = zsetSkiplistCopy,
    .length = zsetSkiplistLength,
    .hasRests = zsetSkiplistHasRests,
    .memory = zsetSkiplistMemory,
    .allocations = zsetSkiplistAllocations,
    .find = zsetSkiplistFind,
    .findHashed = zsetSkiplistFindHashed,
    .atRank = zsetSkiplistAtRank,
    .seek = zsetSkiplistSeek,
    .extent = zsetSkiplistExtent,
    .rank = zsetSkiplistRank,
    .step = zsetSkiplistStep,
    .read = zsetSkiplistRead,
    .insert = zsetSkiplistInsert,
    .append = zsetSkiplistAppend,
    .prepend = zsetSkiplistPrepend,
    .update = zsetSkiplistUpdate,
    .erase = zsetSkiplistErase,
    .eraseRange = zsetSkiplistEraseRange,
    .loosen = zsetSkiplistLoosen,
    .addLoose = zsetSkiplistAddLoose,
    .link = zsetSkiplistLink,
    .emit = zsetSkiplistEmit,
    .scan = zsetSkiplistScan,
    .defrag = zsetSkiplistDefrag,
    .table = zsetSkiplistTable,
    .warm = zsetSkiplistWarm,
    .debugInfo = zsetSkiplistDebugInfo,
    .prefetch = zsetSkiplistPrefetch,
};
