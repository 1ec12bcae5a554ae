/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_pop.c - sorted set commands that take elements from an end (ZPOPMIN, ZMPOP and the blocking ones;
 * pop.h has what they share with lists) or at random (ZRANDMEMBER). */
#include <stdlib.h>

#include "base/random.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "commands/cmd_sorted_set.h"
#include "types/pop.h"
#include "types/types.h"
#include "types/zset/zset_commands.h"
#include "types/zset/zset_writer.h"

/* ---- Popping ---- */

static const char *zsetPopEvent(bool max) {
    return max ? "zpopmax" : "zpopmin";
}

static struct zsetSlice zsetPopEndSlice(struct zsetRef z, bool max, uint64_t count) {
    uint64_t length = zsetLength(z);
    count = popMin(count, length);
    return (struct zsetSlice){.rank = max ? length - count : 0, .count = count};
}

/* Replies the elements in the order of popping, then removes them. */
static void zsetPopSlice(struct client *c, struct str key, struct object *o, bool max,
                         const struct zsetSlice *s, enum zsetShape shape) {
    zsetEmit(zsetOpen(o), c, s, max, shape);
    zsetRemoveSlice(c, key, o, s, zsetPopEvent(max));
}

static void zsetPopGeneric(struct client *c, bool max) {
    int64_t count = 1;
    if (c->argc > 3) {
        replySyntaxError(c);
        return;
    }
    if (c->argc == 3 && !argPositive(c, c->argv[2], &count, "ERR value is out of range, must be positive"))
        return;
    struct object *o;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_ZSET, &o)) return;
    if (!o || !count) {
        replyArrayLen(c, 0);
        return;
    }
    struct zsetSlice s = zsetPopEndSlice(zsetOpen(o), max, (uint64_t)count);
    enum zsetShape shape = c->argc == 3 ? zsetScoresShape(c, true) : ZSHAPE_FLAT;
    zsetReplyLen(c, s.count, shape);
    zsetPopSlice(c, c->argv[1], o, max, &s, shape);
}

void zpopminCommand(struct client *c) {
    zsetPopGeneric(c, false);
}

void zpopmaxCommand(struct client *c) {
    zsetPopGeneric(c, true);
}

/* ---- Popping from the first of several keys ---- */

static uint64_t zsetLengthOf(const struct object *o) {
    return zsetLength(zsetOpen(o));
}

static void zsetPopFromEnd(struct client *c, struct str key, struct object *o, enum popEnd end,
                           uint64_t count, bool many) {
    struct zsetSlice s = zsetPopEndSlice(zsetOpen(o), end == POP_LAST, count);
    zsetPopSlice(c, key, o, end == POP_LAST, &s, many ? ZSHAPE_PAIRS : ZSHAPE_FLAT);
}

static const struct popType zset_pop = {.type = OBJ_ZSET,
                                        .word = {"min", "max"},
                                        .command = {"ZPOPMIN", "ZPOPMAX"},
                                        .single = 3,
                                        .length = zsetLengthOf,
                                        .pop = zsetPopFromEnd};

void bzpopminCommand(struct client *c) {
    popOneBlocking(c, &zset_pop, POP_FIRST);
}

void bzpopmaxCommand(struct client *c) {
    popOneBlocking(c, &zset_pop, POP_LAST);
}

void zmpopCommand(struct client *c) {
    popMany(c, &zset_pop);
}

void bzmpopCommand(struct client *c) {
    popManyBlocking(c, &zset_pop);
}

/* ---- ZRANDMEMBER ----
 *
 * Every element is equally likely: ranks are drawn, not places in the hash table. */

static void zsetPopWriteAtRank(struct zsetWriter *w, struct zsetRef z, uint64_t rank) {
    struct zsetPlace p;
    struct zsetElement e;
    bool found = z.index->atRank(z.ptr, rank, &p);
    if (!found) return;
    z.index->read(z.ptr, &p, &e);
    zsetWrite(w, e.member, e.score);
}

/* Draws independently. A listpack is read into an array first when many draws are asked for, so that no draw
 * has to walk. */
static void zsetPopWriteDraws(struct zsetWriter *w, struct zsetRef z, uint64_t count) {
    uint64_t length = zsetLength(z);
    if (z.index != &zsetListpack || count < length) {
        while (count--) zsetPopWriteAtRank(w, z, randomBelow(length));
        return;
    }
    struct zsetItems items;
    struct zsetIterator it = zsetIterate(z, 0);
    struct zsetElement e;
    zsetItemsInit(&items, length);
    while (zsetNext(&it, &e)) zsetItemsAddElement(&items, &e);
    while (count--) {
        const struct zsetItem *item = &items.item[randomBelow(length)];
        zsetWrite(w, item->member, item->score);
    }
    zsetItemsFree(&items);
}

/* Chooses a subset by walking over all elements: each is taken with the probability wanted / left
 * (Knuth's algorithm S). */
static void zsetPopWriteSubsetWalking(struct zsetWriter *w, struct zsetRef z, uint64_t count) {
    struct zsetIterator it = zsetIterate(z, 0);
    struct zsetElement e;
    for (uint64_t left = zsetLength(z); count && zsetNext(&it, &e); left--) {
        if (randomBelow(left) >= count) continue;
        zsetWrite(w, e.member, e.score);
        count--;
    }
}

static int zsetPopCompareRanks(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Chooses a small part of a large set: draws ranks, and draws again for repeated ones. */
static void zsetPopWriteSubsetDrawing(struct zsetWriter *w, struct zsetRef z, uint64_t count) {
    uint64_t *ranks = zmalloc(count * sizeof *ranks), have = 0, length = zsetLength(z);
    while (have < count) {
        for (uint64_t i = have; i < count; i++) ranks[i] = randomBelow(length);
        qsort(ranks, count, sizeof *ranks, zsetPopCompareRanks);
        have = 1;
        for (uint64_t i = 1; i < count; i++)
            if (ranks[i] != ranks[have - 1]) ranks[have++] = ranks[i];
    }
    for (uint64_t i = 0; i < count; i++) zsetPopWriteAtRank(w, z, ranks[i]);
    zfree(ranks);
}

static void zsetPopReplyRandom(struct client *c, struct zsetRef z, int64_t count, bool withscores) {
    struct zsetWriter w;
    enum zsetShape shape = zsetScoresShape(c, withscores);
    uint64_t length = zsetLength(z), n = count < 0 ? -(uint64_t)count : (uint64_t)count;
    if (count > 0 && n > length) n = length;
    zsetReplyLen(c, n, shape);
    zsetWriterBegin(&w, c, shape);
    if (count < 0)
        zsetPopWriteDraws(&w, z, n);
    else if (z.index == &zsetListpack || n > length / 4)
        zsetPopWriteSubsetWalking(&w, z, n);
    else if (n)
        zsetPopWriteSubsetDrawing(&w, z, n);
    zsetWriterEnd(&w);
}

static void zsetPopReplyOneRandom(struct client *c, struct object *o) {
    struct zsetElement e;
    struct zsetPlace p;
    if (!o) {
        replyNull(c);
        return;
    }
    struct zsetRef z = zsetOpen(o);
    z.index->atRank(z.ptr, randomBelow(zsetLength(z)), &p);
    z.index->read(z.ptr, &p, &e);
    replyBulk(c, e.member);
}

void zrandmemberCommand(struct client *c) {
    bool withscores = c->argc == 4;
    int64_t count = 0;
    if (c->argc >= 3 && !argRange(c, c->argv[2], -INT64_MAX, INT64_MAX, &count, NULL)) return;
    if (c->argc > 4 || (withscores && !strIs(c->argv[3], "withscores"))) {
        replySyntaxError(c);
        return;
    }
    if (withscores && (count > INT64_MAX / 2 || count < -(INT64_MAX / 2))) {
        replyError(c, "ERR value is out of range");
        return;
    }
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_ZSET, &o)) return;
    if (c->argc == 2)
        zsetPopReplyOneRandom(c, o);
    else if (!o || !count)
        replyArrayLen(c, 0);
    else
        zsetPopReplyRandom(c, zsetOpen(o), count, withscores);
}
