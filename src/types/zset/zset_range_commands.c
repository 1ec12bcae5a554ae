/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_range_commands.c - sorted set commands on ranges: counting, replying, storing, removing. */
#include "base/num.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "commands/cmd_sorted_set.h"
#include "types/types.h"
#include "types/zset/zset_commands.h"
#include "types/zset/zset_writer.h"

/* ---- ZCOUNT, ZLEXCOUNT ---- */

static void zsetRangeCountGeneric(struct client *c, const struct zsetRange *r) {
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_ZSET, &o)) return;
    struct zsetSlice s = {0};
    if (o) zsetSliceOf(zsetOpen(o), r, &s);
    replyLongLong(c, (int64_t)s.count);
}

void zcountCommand(struct client *c) {
    struct zsetRange r = {.limit = -1};
    if (zsetParseScoreRange(c, c->argv[2], c->argv[3], &r)) zsetRangeCountGeneric(c, &r);
}

void zlexcountCommand(struct client *c) {
    struct zsetRange r = {.limit = -1};
    if (zsetParseLexRange(c, c->argv[2], c->argv[3], &r)) zsetRangeCountGeneric(c, &r);
}

/* ---- ZRANGE and its kin ---- */

struct zrangeArgs {
    struct zsetRange range;
    bool withscores;
    bool xx; /* a missing key is a null array instead of an empty one */
};

/* The properties that a command has by its name, and the options that it takes. */
struct zrangeForm {
    int key; /* position of the source key; the range follows */
    int by;  /* ZRANGE_*, or -1: BYSCORE, BYLEX and REV are options */
    bool reverse;
    bool store;
};

static bool zsetRangeParseOptions(struct client *c, const struct zrangeForm *f, struct zrangeArgs *a) {
    bool chosen = f->by >= 0; /* whether the kind of range is known */
    for (int i = f->key + 3; i < c->argc; i++) {
        struct str arg = c->argv[i];
        if (!f->store && strIs(arg, "withscores")) {
            a->withscores = true;
        } else if (!f->store && strIs(arg, "xx")) {
            a->xx = true;
        } else if (strIs(arg, "limit") && i + 2 < c->argc) {
            if (!argLongLong(c, c->argv[i + 1], &a->range.offset, NULL) ||
                !argLongLong(c, c->argv[i + 2], &a->range.limit, NULL))
                return false;
            i += 2;
        } else if (f->by < 0 && !a->range.reverse && strIs(arg, "rev")) {
            a->range.reverse = true;
        } else if (!chosen && (strIs(arg, "byscore") || strIs(arg, "bylex"))) {
            a->range.by = strIs(arg, "byscore") ? ZRANGE_SCORE : ZRANGE_LEX;
            chosen = true;
        } else {
            return replyError(c, err_syntax);
        }
    }
    if (a->range.by == ZRANGE_RANK && a->range.limit != -1)
        return replyError(
            c, "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
    if (a->range.by == ZRANGE_LEX && a->withscores)
        return replyError(c, "ERR syntax error, WITHSCORES not supported in combination with BYLEX");
    return true;
}

/* A reverse range by score or name is given from the high end. */
static bool zsetRangeParseRange(struct client *c, const struct zrangeForm *f, struct zsetRange *r) {
    struct str first = c->argv[f->key + 1], second = c->argv[f->key + 2];
    switch (r->by) {
    case ZRANGE_RANK: return zsetParseRankRange(c, first, second, r);
    case ZRANGE_SCORE:
        return zsetParseScoreRange(c, r->reverse ? second : first, r->reverse ? first : second, r);
    default: return zsetParseLexRange(c, r->reverse ? second : first, r->reverse ? first : second, r);
    }
}

static void zsetRangeReplyRange(struct client *c, struct zsetRef z, const struct zsetSlice *s,
                                const struct zrangeArgs *a) {
    enum zsetShape shape = zsetScoresShape(c, a->withscores);
    zsetReplyLen(c, s->count, shape);
    zsetEmit(z, c, s, a->range.reverse, shape);
}

/* When scores differ, members have no order, and what a large set finds between two names depends on its
 * inner structure, which differs between servers. A write to such a range is therefore propagated by rank. */
static bool zsetRangeFollowsStructure(struct zsetRef z, const struct zsetRange *r) {
    struct zsetPlace first, last;
    if (r->by != ZRANGE_LEX || z.index->encoding == ZSET_LISTPACK || !propagateWanted()) return false;
    return z.index->atRank(z.ptr, 0, &first) && z.index->atRank(z.ptr, zsetLength(z) - 1, &last) &&
           zscoreCompare(first.score, last.score) != 0;
}

/* Propagates `words` and the ranks of the slice in place of the running command. */
static void zsetRangePropagate(struct client *c, struct str *argv, int words, const struct zsetSlice *s) {
    char first[LONG_STR_SIZE], last[LONG_STR_SIZE];
    argv[words] = strN(first, ll2string(first, (int64_t)s->rank));
    argv[words + 1] = strN(last, ll2string(last, (int64_t)(s->rank + s->count - 1)));
    propagateRewrite(c, words + 2, argv);
}

/* The copy is made in ascending order, whatever the direction. */
static void zsetRangeStoreRange(struct client *c, struct object *o, const struct zsetRange *r,
                                const struct zsetSlice *s) {
    struct str by_rank[] = {STR("ZRANGESTORE"), c->argv[1], c->argv[2], {0}, {0}};
    if (s->count && zsetRangeFollowsStructure(zsetOpen(o), r)) zsetRangePropagate(c, by_rank, 3, s);
    struct zsetItems items;
    zsetItemsInit(&items, s->count);
    if (s->count) {
        struct zsetIterator it = zsetIterate(zsetOpen(o), s->rank);
        struct zsetElement e;
        for (uint64_t left = s->count; left && zsetNext(&it, &e); left--) zsetItemsAddElement(&items, &e);
    }
    zsetStoreResult(c, c->argv[1], zsetItemsToSet(&items), "zrangestore", 1);
    zsetItemsFree(&items);
}

static void zsetRangeGeneric(struct client *c, const struct zrangeForm *f) {
    struct zrangeArgs a = {.range = {.reverse = f->reverse, .read = true, .limit = -1}};
    struct zsetSlice s = {0};
    a.range.by = f->by >= 0 ? (unsigned)f->by : ZRANGE_RANK;
    if (!zsetRangeParseOptions(c, f, &a) || !zsetRangeParseRange(c, f, &a.range)) return;
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[f->key], OBJ_ZSET, &o)) return;
    if (o) zsetSliceOf(zsetOpen(o), &a.range, &s);
    if (f->store)
        zsetRangeStoreRange(c, o, &a.range, &s);
    else if (s.count)
        zsetRangeReplyRange(c, zsetOpen(o), &s, &a);
    else if (!o && a.xx)
        replyNullArray(c);
    else
        replyArrayLen(c, 0);
}

void zrangeCommand(struct client *c) {
    zsetRangeGeneric(c, &(struct zrangeForm){.key = 1, .by = -1});
}

void zrangestoreCommand(struct client *c) {
    zsetRangeGeneric(c, &(struct zrangeForm){.key = 2, .by = -1, .store = true});
}

void zrevrangeCommand(struct client *c) {
    zsetRangeGeneric(c, &(struct zrangeForm){.key = 1, .by = ZRANGE_RANK, .reverse = true});
}

void zrangebyscoreCommand(struct client *c) {
    zsetRangeGeneric(c, &(struct zrangeForm){.key = 1, .by = ZRANGE_SCORE});
}

void zrevrangebyscoreCommand(struct client *c) {
    zsetRangeGeneric(c, &(struct zrangeForm){.key = 1, .by = ZRANGE_SCORE, .reverse = true});
}

void zrangebylexCommand(struct client *c) {
    zsetRangeGeneric(c, &(struct zrangeForm){.key = 1, .by = ZRANGE_LEX});
}

void zrevrangebylexCommand(struct client *c) {
    zsetRangeGeneric(c, &(struct zrangeForm){.key = 1, .by = ZRANGE_LEX, .reverse = true});
}

/* ---- ZREMRANGEBY... ---- */

static void zsetRangeRemoveGeneric(struct client *c, const struct zsetRange *r, const char *event) {
    struct zsetSlice s = {0};
    struct object *o;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_ZSET, &o)) return;
    if (o) zsetSliceOf(zsetOpen(o), r, &s);
    struct str by_rank[] = {STR("ZREMRANGEBYRANK"), c->argv[1], {0}, {0}};
    if (s.count && zsetRangeFollowsStructure(zsetOpen(o), r)) zsetRangePropagate(c, by_rank, 2, &s);
    if (s.count) zsetRemoveSlice(c, c->argv[1], o, &s, event);
    replyLongLong(c, (int64_t)s.count);
}

void zremrangebyrankCommand(struct client *c) {
    struct zsetRange r = {.limit = -1};
    if (zsetParseRankRange(c, c->argv[2], c->argv[3], &r)) zsetRangeRemoveGeneric(c, &r, "zremrangebyrank");
}

void zremrangebyscoreCommand(struct client *c) {
    struct zsetRange r = {.limit = -1};
    if (zsetParseScoreRange(c, c->argv[2], c->argv[3], &r)) zsetRangeRemoveGeneric(c, &r, "zremrangebyscore");
}

void zremrangebylexCommand(struct client *c) {
    struct zsetRange r = {.limit = -1};
    if (zsetParseLexRange(c, c->argv[2], c->argv[3], &r)) zsetRangeRemoveGeneric(c, &r, "zremrangebylex");
}
