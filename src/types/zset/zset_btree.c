/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_btree.c - the other encoding of large sorted sets: a packed B+ tree for both order and members, chosen
 * by `zset-index btree`.
 *
 *     tree | leaf: fp fp fp .. | slot slot ..  | .. member member |      129 elements: one allocation
 *     tree | map | --> leaf <-> leaf <-> leaf ..                          a million: 7,000 leaves, and a map
 *
 * ds/zbtree does the work. This file adapts it to struct zsetIndex, and has the loops that reply many
 * elements, which read leaves in place.
 *
 * `place.at` is the leaf, `place.slot` the element in it. */
#include "command/command.h"
#include "data/keyspace/db.h"
#include "ds/zbtree.h"
#include "types/zset/zset.h"
#include "types/zset/zset_private.h"
#include "types/zset/zset_writer.h"

/* With a limit of up to this many elements, their bounds are compared one by one. */
#define EXTENT_WALK 16

static inline bool zsetBtreePutPlace(struct zsetPlace *p, struct zbtPos pos) {
    p->at = pos.leaf;
    p->slot = pos.slot;
    if (pos.leaf) p->score = zbtScore(pos);
    return pos.leaf != NULL;
}

static inline struct zbtPos zsetBtreePosOf(const struct zsetPlace *p) {
    return (struct zbtPos){p->at, p->slot};
}

/* ---- Life ---- */

static void *zsetBtreeCreate(size_t entries) {
    return zbtCreate(entries);
}
static void *zsetBtreeBuild(const struct zsetItem *items, size_t count) {
    return zbtBuild(items, count);
}
static void zsetBtreeDestroy(void *z) {
    zbtFree(z);
}
static void *zsetBtreeCopy(const void *z) {
    return zbtCopy(z);
}
static uint64_t zsetBtreeLength(const void *z) {
    return zbtLength(z);
}
static bool zsetBtreeHasRests(const void *z) {
    return zbtHasRests(z);
}
static size_t zsetBtreeMemory(const void *z, size_t samples) {
    return zbtMemory(z, samples);
}
static size_t zsetBtreeAllocations(const void *z) {
    return zbtAllocations(z);
}

/* ---- Searching ---- */

static bool zsetBtreeFindHashed(void *z, struct str member, uint64_t hash, struct zsetPlace *p) {
    p->hash = hash;
    return zsetBtreePutPlace(p, zbtFind(z, member, hash));
}

static bool zsetBtreeFind(void *z, struct str member, struct zsetPlace *p) {
    return zsetBtreeFindHashed(z, member, dbHashMember(member), p);
}

static bool zsetBtreeAtRank(const void *z, uint64_t rank, struct zsetPlace *p) {
    struct zbtPos pos = {NULL, 0};
    zbtAtRank(z, rank, &pos);
    return zsetBtreePutPlace(p, pos);
}

static bool zsetBtreeSeek(const void *z, const struct zsetRange *r, bool last, struct zsetPlace *p,
                          uint64_t *rank) {
    struct zbtPos pos;
    bool found = r->by == ZRANGE_SCORE ? zbtSeekScore(z, &r->score, last, &pos, rank)
                                       : zbtSeekLex(z, &r->lex, last, &pos, rank);
    if (!found) pos.leaf = NULL;
    return zsetBtreePutPlace(p, pos);
}

static bool zsetBtreeIsInside(struct zbtPos pos, const struct zsetRange *r) {
    if (r->by == ZRANGE_SCORE) {
        struct zscore score = zbtScore(pos);
        return zscoreGteMin(score, &r->score) && zscoreLteMax(score, &r->score);
    }
    struct str member = zbtMember(pos);
    return zlexGteMin(member, &r->lex) && zlexLteMax(member, &r->lex);
}

static uint64_t zsetBtreeExtent(const void *z, const struct zsetRange *r, const struct zsetPlace *p,
                                uint64_t rank, uint64_t max) {
    struct zbtPos pos = zsetBtreePosOf(p);
    uint64_t count = 0, end;
    if (r->by == ZRANGE_SCORE && !r->reverse && max <= pos.leaf->count - pos.slot) {
        struct zbtPos end = {pos.leaf, pos.slot + (unsigned)max - 1}; /* the limit ends in this leaf */
        if (zscoreLteMax(zbtScore(end), &r->score) && zsetBtreeIsInside(pos, r)) return max;
    }
    if (max <= EXTENT_WALK) {
        for (bool more = true; more && count < max && zsetBtreeIsInside(pos, r); count++)
            more = zbtStep(&pos, r->reverse);
        return count;
    }
    struct zsetPlace far;
    if (!zsetBtreeIsInside(pos, r)) return 0;
    if (r->by == ZRANGE_SCORE && zbtSeekScoreFrom(&pos, &r->score, !r->reverse)) {
        count = (r->reverse ? p->slot - pos.slot : pos.slot - p->slot) + 1;
        return count < max ? count : max;
    }
    if (!zsetBtreeSeek(z, r, !r->reverse, &far, &end)) return 0;
    uint64_t low = r->reverse ? end : rank, high = r->reverse ? rank : end;
    if (low > high) return 1; /* a lex range over unequal scores: without meaning, but harmless */
    count = high - low + 1;
    return count < max ? count : max;
}

static uint64_t zsetBtreeRank(const void *z, const struct zsetPlace *p) {
    return zbtRank(z, zsetBtreePosOf(p));
}

static bool zsetBtreeStep(const void *z, struct zsetPlace *p, bool back) {
    struct zbtPos pos = zsetBtreePosOf(p);
    (void)z;
    zbtStep(&pos, back);
    return zsetBtreePutPlace(p, pos);
}

static void zsetBtreeRead(const void *z, const struct zsetPlace *p, struct zsetElement *e) {
    (void)z;
    e->member = zbtMember(zsetBtreePosOf(p));
    e->score = p->score;
}

/* ---- Changing ---- */

static void *zsetBtreeInsert(void *z, struct str member, struct zscore score,
                             const struct zsetPlace *missed) {
    return zbtInsert(z, score, member, missed->hash);
}

static void *zsetBtreeAppend(void *z, struct str member, struct zscore score) {
    return zbtAppend(z, score, member);
}

static void *zsetBtreePrepend(void *z, struct str member, struct zscore score,
                              const struct zsetPlace *missed) {
    return zbtPrepend(z, score, member, missed->hash);
}

static void *zsetBtreeUpdate(void *z, struct str member, struct zscore score, const struct zsetPlace *found) {
    (void)member;
    return zbtUpdate(z, zsetBtreePosOf(found), score, found->hash);
}

static void *zsetBtreeErase(void *z, const struct zsetPlace *found) {
    return zbtErase(z, zsetBtreePosOf(found), found->hash);
}

static void *zsetBtreeEraseRange(void *z, uint64_t rank, uint64_t count) {
    return zbtEraseRange(z, rank, count);
}

/* ---- Replying ---- */

/* Replies `count` elements of one leaf from slot i on. */
static void zsetBtreeEmitLeaf(struct zsetWriter *w, const struct zbtLeaf *l, unsigned i, unsigned count,
                              int step) {
    const uint8_t *slot = zbtSlot(l, i);
    int stride = step * (int)(2 + l->width);
    for (; count; count--, slot += stride)
        zsetWrite(w, zbtMemberIn(l, slot),
                  w->shape == ZSHAPE_MEMBERS
                      ? zscoreOf(0)
                      : (struct zscore){zbtScoreIn(l, slot), zbtRestIn(slot, l->width)});
}

/* The next leaf is prefetched while this one is written. */
static void zsetBtreeEmit(const void *z, struct client *c, const struct zsetPlace *p, uint64_t count,
                          bool reverse, enum zsetShape shape) {
    struct zsetWriter w;
    struct zbtPos pos = zsetBtreePosOf(p);
    (void)z;
    zsetWriterBegin(&w, c, shape);
    while (count) {
        const struct zbtLeaf *next = reverse ? pos.leaf->prev : pos.leaf->next;
        unsigned n = reverse ? pos.slot + 1 : pos.leaf->count - pos.slot;
        if (n > count) n = (unsigned)count;
        __builtin_prefetch(next);
        zsetBtreeEmitLeaf(&w, pos.leaf, pos.slot, n, reverse ? -1 : 1);
        count -= n;
        if (count) pos = (struct zbtPos){(struct zbtLeaf *)next, reverse ? next->count - 1u : 0};
    }
    zsetWriterEnd(&w);
}

struct zbtreeScanCall {
    void (*fn)(void *priv, const struct zsetElement *e);
    void *priv;
};
static void zsetBtreeScanElement(void *priv, struct str member, struct zscore score) {
    struct zbtreeScanCall *call = priv;
    struct zsetElement e;
    e.member = member;
    e.score = score;
    call->fn(call->priv, &e);
}

/* Without its lowest bit a cursor may be one position too low, in the home before, and must not come back. */
static uint64_t zsetBtreeScan(void *z, uint64_t cursor, void (*fn)(void *priv, const struct zsetElement *e),
                              void *priv) {
    struct zbtreeScanCall call = {fn, priv};
    uint64_t from = cursor & ZSET_CURSOR_TREE ? cursor : ZSET_CURSOR_TREE, next = from - ZSET_CURSOR_TREE;
    do next = zbtScan(z, next, zsetBtreeScanElement, &call);
    while (next && (next | ZSET_CURSOR_TREE) == from);
    return next ? next | ZSET_CURSOR_TREE : 0;
}

static void *zsetBtreeDefrag(void *z, uint64_t *cursor, void *(*move)(void *priv, void *ptr), void *priv) {
    return zbtMove(z, cursor, move, priv);
}

static sds zsetBtreeDebugInfo(const void *z, sds s) {
    return zbtStats(z, s);
}

/* ---- Prefetching ---- */

static bool zsetBtreePrefetch(const void *z, const struct prefetchRequests *wants, int step,
                              struct prefetchState *state) {
    if (state->at) {
        zbtPrefetchElement(state->at, wants->member_hash);
        return false;
    }
    unsigned parts = wants->parts;
    if (step == 0) {
        zbtPrefetchTree(z);
        return parts != 0;
    }
    if (wants->member.ptr) return zbtPrefetchLeaf(z, wants->member_hash, step, &state->at);
    return zbtPrefetchEnd(z, parts & PREFETCH_TAIL, step);
}

const struct zsetIndex zsetBtree = {
    .encoding = ZSET_BTREE,
    .name = "btree",
    .create = zsetBtreeCreate,
    .build = zsetBtreeBuild,
    .destroy = zsetBtreeDestroy,
    .copy = zsetBtreeCopy,
    .length = zsetBtreeLength,
    .hasRests = zsetBtreeHasRests,
    .memory = zsetBtreeMemory,
    .allocations = zsetBtreeAllocations,
    .find = zsetBtreeFind,
    .findHashed = zsetBtreeFindHashed,
    .atRank = zsetBtreeAtRank,
    .seek = zsetBtreeSeek,
    .extent = zsetBtreeExtent,
    .rank = zsetBtreeRank,
    .step = zsetBtreeStep,
    .read = zsetBtreeRead,
    .insert = zsetBtreeInsert,
    .append = zsetBtreeAppend,
    .prepend = zsetBtreePrepend,
    .update = zsetBtreeUpdate,
    .erase = zsetBtreeErase,
    .eraseRange = zsetBtreeEraseRange,
    .emit = zsetBtreeEmit,
    .scan = zsetBtreeScan,
    .defrag = zsetBtreeDefrag,
    .debugInfo = zsetBtreeDebugInfo,
    .prefetch = zsetBtreePrefetch,
};
