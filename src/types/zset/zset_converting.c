/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_converting.c - a large sorted set that is getting another index while clients use it: the encoding
 * between the other two.
 *
 *     struct zsetConverting   | from | to |
 *                                 |    '--> the new index:  1 2 3 4              the first elements in order
 *                                 '------> the old index:   1 2 3 4 5 6 7 8 9    all elements
 *
 * All reads are from the old index. A change goes to the old index, and to the new one where that has come so
 * far. Elements are appended to the new index in pieces (zsetConvertingStep); when it has all of them, the
 * caller puts it into the place of the set, and frees the old one.
 *
 * Invariant: `to` has exactly the elements of `from` up to its own last one in order. So there is no position
 * to keep: the next element to copy is the one whose rank is the length of `to`, and whether an element has
 * been copied is known by comparing it with the last one of `to`.
 *
 * Sets that are not being converted pay nothing: the encoding of the value leads here. Places are those of
 * the old index. */
#include "base/zmalloc.h"
#include "types/zset/zset.h"
#include "types/zset/zset_private.h"

struct zsetConverting {
    struct zsetRef from, to;
};

static struct zsetRef zsetConvertingFrom(const void *z) {
    return ((const struct zsetConverting *)z)->from;
}

/* ---- Beginning, stepping, ending ---- */

/* A table that is made for millions at once takes long; without a size it grows with the set. */
#define PRESIZE_MAX 4096

struct zsetRef zsetConvertingBegin(struct zsetRef from, const struct zsetIndex *index) {
    uint64_t length = zsetLength(from);
    debugAssert(from.index != index && from.index != &zsetListpack && from.index != &zsetConverting);
    struct zsetConverting *c = zmalloc(sizeof *c);
    c->from = from;
    c->to = (struct zsetRef){index->create(length <= PRESIZE_MAX ? length : 0), index};
    return (struct zsetRef){c, &zsetConverting};
}

size_t zsetConvertingStep(struct zsetRef z, size_t count) {
    struct zsetConverting *c = z.ptr;
    debugAssert(z.index == &zsetConverting);
    struct zsetIterator it = zsetIterate(c->from, zsetLength(c->to));
    struct zsetElement e;
    size_t copied = 0;
    for (; copied < count && zsetNext(&it, &e); copied++)
        c->to.ptr = c->to.index->append(c->to.ptr, e.member, e.score);
    return copied;
}

struct zsetRef zsetConvertingEnd(struct zsetRef z, bool keep_old, struct zsetRef *dropped) {
    struct zsetConverting *c = z.ptr;
    debugAssert(z.index == &zsetConverting && (keep_old || zsetLength(c->from) == zsetLength(c->to)));
    struct zsetRef kept = keep_old ? c->from : c->to;
    *dropped = keep_old ? c->to : c->from;
    zfree(c);
    return kept;
}

struct zsetRef zsetConvertingOld(struct zsetRef z) {
    return z.index == &zsetConverting ? zsetConvertingFrom(z.ptr) : z;
}

/* ---- Changing ---- */

/* Whether an element with this member and score is, or belongs, in the new index. */
static bool zsetConvertingHas(const struct zsetConverting *c, struct str member, struct zscore score) {
    struct zsetPlace p;
    struct zsetElement last;
    uint64_t n = zsetLength(c->to);
    if (!n) return false;
    c->to.index->atRank(c->to.ptr, n - 1, &p);
    int order = zscoreCompare(score, p.score);
    if (order) return order < 0;
    c->to.index->read(c->to.ptr, &p, &last);
    return strCmp(member, last.member) <= 0;
}

static void zsetConvertingAddNew(struct zsetConverting *c, struct str member, struct zscore score) {
    struct zsetPlace missed;
    if (!zsetConvertingHas(c, member, score)) return;
    bool known = zsetFind(c->to, member, &missed);
    debugAssert(!known);
    (void)known;
    c->to.ptr = c->to.index->insert(c->to.ptr, member, score, &missed);
}

/* `score` is the one before the change. */
static void zsetConvertingDropOld(struct zsetConverting *c, struct str member, struct zscore score) {
    if (!zsetConvertingHas(c, member, score)) return;
    bool known = zsetRemove(&c->to, member);
    debugAssert(known);
    (void)known;
}

static void *zsetConvertingInsert(void *z, struct str member, struct zscore score,
                                  const struct zsetPlace *missed) {
    struct zsetConverting *c = z;
    zsetConvertingAddNew(c, member, score);
    c->from.ptr = c->from.index->insert(c->from.ptr, member, score, missed);
    return c;
}

static void *zsetConvertingUpdate(void *z, struct str member, struct zscore score,
                                  const struct zsetPlace *found) {
    struct zsetConverting *c = z;
    zsetConvertingDropOld(c, member, found->score);
    zsetConvertingAddNew(c, member, score);
    c->from.ptr = c->from.index->update(c->from.ptr, member, score, found);
    return c;
}

static void *zsetConvertingErase(void *z, const struct zsetPlace *found) {
    struct zsetConverting *c = z;
    struct zsetElement e;
    c->from.index->read(c->from.ptr, found, &e);
    zsetConvertingDropOld(c, e.member, e.score);
    c->from.ptr = c->from.index->erase(c->from.ptr, found);
    return c;
}

static void *zsetConvertingEraseRange(void *z, uint64_t rank, uint64_t count) {
    struct zsetConverting *c = z;
    uint64_t copied = zsetLength(c->to);
    if (rank < copied && count)
        c->to.ptr = c->to.index->eraseRange(c->to.ptr, rank, count < copied - rank ? count : copied - rank);
    c->from.ptr = c->from.index->eraseRange(c->from.ptr, rank, count);
    return c;
}

/* ---- All else is asked of the old index ---- */

/* May run on another thread. */
static void zsetConvertingDestroy(void *z) {
    struct zsetConverting *c = z;
    zsetFree(c->from);
    zsetFree(c->to);
    zfree(c);
}

static uint64_t zsetConvertingLength(const void *z) {
    return zsetLength(zsetConvertingFrom(z));
}

static bool zsetConvertingHasRests(const void *z) {
    return zsetHasRests(zsetConvertingFrom(z));
}

static size_t zsetConvertingMemory(const void *z, size_t samples) {
    const struct zsetConverting *c = z;
    return zmallocSize(c) + c->from.index->memory(c->from.ptr, samples) +
           c->to.index->memory(c->to.ptr, samples);
}

static size_t zsetConvertingAllocations(const void *z) {
    const struct zsetConverting *c = z;
    return 1 + c->from.index->allocations(c->from.ptr) + c->to.index->allocations(c->to.ptr);
}

static bool zsetConvertingFind(void *z, struct str member, struct zsetPlace *p) {
    return zsetFind(zsetConvertingFrom(z), member, p);
}

static bool zsetConvertingFindHashed(void *z, struct str member, uint64_t hash, struct zsetPlace *p) {
    return zsetFindHashed(zsetConvertingFrom(z), member, hash, p);
}

static bool zsetConvertingAtRank(const void *z, uint64_t rank, struct zsetPlace *p) {
    struct zsetRef from = zsetConvertingFrom(z);
    return from.index->atRank(from.ptr, rank, p);
}

static bool zsetConvertingSeek(const void *z, const struct zsetRange *r, bool last, struct zsetPlace *p,
                               uint64_t *rank) {
    struct zsetRef from = zsetConvertingFrom(z);
    return from.index->seek(from.ptr, r, last, p, rank);
}

static uint64_t zsetConvertingExtent(const void *z, const struct zsetRange *r, const struct zsetPlace *p,
                                     uint64_t rank, uint64_t max) {
    struct zsetRef from = zsetConvertingFrom(z);
    return from.index->extent(from.ptr, r, p, rank, max);
}

static uint64_t zsetConvertingRank(const void *z, const struct zsetPlace *p) {
    struct zsetRef from = zsetConvertingFrom(z);
    return from.index->rank(from.ptr, p);
}

static bool zsetConvertingStepPlace(const void *z, struct zsetPlace *p, bool back) {
    struct zsetRef from = zsetConvertingFrom(z);
    return from.index->step(from.ptr, p, back);
}

static void zsetConvertingEmit(const void *z, struct client *c, const struct zsetPlace *p, uint64_t count,
                               bool reverse, enum zsetShape shape) {
    struct zsetRef from = zsetConvertingFrom(z);
    from.index->emit(from.ptr, c, p, count, reverse, shape);
}

static uint64_t zsetConvertingScan(void *z, uint64_t cursor,
                                   void (*fn)(void *priv, const struct zsetElement *e), void *priv) {
    struct zsetRef from = zsetConvertingFrom(z);
    return from.index->scan(from.ptr, cursor, fn, priv);
}

static void zsetConvertingRead(const void *z, const struct zsetPlace *p, struct zsetElement *e) {
    struct zsetRef from = zsetConvertingFrom(z);
    from.index->read(from.ptr, p, e);
}

/* The new index is left where it is: its allocations are new. */
static void *zsetConvertingDefrag(void *z, uint64_t *cursor, void *(*move)(void *priv, void *ptr),
                                  void *priv) {
    struct zsetConverting *c = z;
    c->from.ptr = c->from.index->defrag(c->from.ptr, cursor, move, priv);
    return c;
}

static struct hashtable *zsetConvertingTable(void *z) {
    return zsetTable(zsetConvertingFrom(z));
}

static void zsetConvertingWarm(const void *z) {
    zsetWarm(zsetConvertingFrom(z));
}

static sds zsetConvertingDebugInfo(const void *z, sds s) {
    const struct zsetConverting *c = z;
    s = sdscatprintf(s, "converted:%llu ", (unsigned long long)zsetLength(c->to));
    return c->from.index->debugInfo(c->from.ptr, s);
}

static bool zsetConvertingPrefetch(const void *z, const struct prefetchRequests *wants, int step,
                                   struct prefetchState *state) {
    struct zsetRef from = zsetConvertingFrom(z);
    return from.index->prefetch(from.ptr, wants, step, state);
}

/* create, build, append, prepend, copy and the functions for loading are never called. */
const struct zsetIndex zsetConverting = {
    .encoding = ZSET_CONVERTING,
    .destroy = zsetConvertingDestroy,
    .length = zsetConvertingLength,
    .hasRests = zsetConvertingHasRests,
    .memory = zsetConvertingMemory,
    .allocations = zsetConvertingAllocations,
    .find = zsetConvertingFind,
    .findHashed = zsetConvertingFindHashed,
    .atRank = zsetConvertingAtRank,
    .seek = zsetConvertingSeek,
    .extent = zsetConvertingExtent,
    .rank = zsetConvertingRank,
    .step = zsetConvertingStepPlace,
    .read = zsetConvertingRead,
    .insert = zsetConvertingInsert,
    .update = zsetConvertingUpdate,
    .erase = zsetConvertingErase,
    .eraseRange = zsetConvertingEraseRange,
    .emit = zsetConvertingEmit,
    .scan = zsetConvertingScan,
    .defrag = zsetConvertingDefrag,
    .table = zsetConvertingTable,
    .warm = zsetConvertingWarm,
    .debugInfo = zsetConvertingDebugInfo,
    .prefetch = zsetConvertingPrefetch,
};
