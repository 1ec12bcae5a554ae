/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_commands.c - sorted set commands on single members: adding, removing, scores, ranks, and scanning.
 * Also what all sorted set commands do after a change. */

#include "types/zset/zset_commands.h"

#include "base/glob.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "commands/cmd_sorted_set.h"
#include "data/keyspace/read_ahead.h"
#include "data/notify.h"
#include "registry/server_events.h"
#include "types/keys/generic.h"
#include "types/types.h"
#include "types/zset/zset_private.h"
#include "types/zset/zset_writer.h"

#define SCORES_ON_STACK 32

/* ---- After a change ---- */

static void zsetReportChange(struct client *c, struct str key, const char *event, bool gone,
                             uint64_t changes) {
    keyChanged(c, c->db, key, NOTIFY_ZSET, event, changes);
    if (gone) keyEvent(NOTIFY_GENERIC, "del", key, c->db);
}

/* Commits a changed set, reports the change and counts `changes`. An empty set is deleted with its key; *z
 * is then freed. */
static void zsetChanged(struct client *c, struct str key, struct object *o, struct zsetRef z,
                        const char *event, uint64_t changes) {
    bool gone = zsetLength(z) == 0;
    zsetCommit(o, z);
    if (gone) dbDelete(c->db, key);
    zsetReportChange(c, key, event, gone, changes);
}

void zsetRemoveSlice(struct client *c, struct str key, struct object *o, const struct zsetSlice *s,
                     const char *event) {
    struct zsetRef z = zsetOpen(o);
    bool notified = serverEventWanted(SERVER_KEY); /* modules find the set of a deleted key empty */
    if (s->count == zsetLength(z) && !notified) {
        dbDelete(c->db, key);
        zsetReportChange(c, key, event, true, s->count);
        return;
    }
    zsetRemoveRange(&z, s->rank, s->count);
    zsetChanged(c, key, o, z, event, s->count);
}

void zsetStoreResult(struct client *c, struct str key, struct zsetRef z, const char *event,
                     uint64_t changes) {
    uint64_t length = zsetLength(z);
    if (length) {
        dbSet(c->db, key, zsetValue(z), false);
        zsetReportChange(c, key, event, false, changes);
    } else {
        zsetFree(z);
        if (dbDelete(c->db, key)) zsetReportChange(c, key, NULL, true, 1);
    }
    replyLongLong(c, (int64_t)length);
}

/* ---- ZADD, ZINCRBY ---- */

struct zaddArgs {
    int flags; /* ZADD_* */
    bool changed;
    int first, pairs;
};

/* Parses the options, which precede the first score. */
static bool zsetParseZaddOptions(struct client *c, struct zaddArgs *a) {
    static const struct {
        const char *name;
        int flag;
    } names[] = {{"nx", ZADD_NX}, {"xx", ZADD_XX}, {"gt", ZADD_GT}, {"lt", ZADD_LT}, {"incr", ZADD_INCR}};
    for (a->first = 2; a->first < c->argc; a->first++) {
        size_t i = 0, n = sizeof names / sizeof *names;
        while (i < n && !strIs(c->argv[a->first], names[i].name)) i++;
        if (i < n)
            a->flags |= names[i].flag;
        else if (strIs(c->argv[a->first], "ch"))
            a->changed = true;
        else
            break;
    }
    a->pairs = (c->argc - a->first) / 2;
    const char *error = NULL;
    if (!a->pairs || (c->argc - a->first) % 2)
        error = err_syntax;
    else if (a->flags & ZADD_NX && a->flags & ZADD_XX)
        error = "ERR XX and NX options at the same time are not compatible";
    else if (__builtin_popcount(a->flags & (ZADD_NX | ZADD_GT | ZADD_LT)) > 1)
        error = "ERR GT, LT, and/or NX options at the same time are not compatible";
    else if (a->flags & ZADD_INCR && a->pairs > 1)
        error = "ERR INCR option supports a single increment-element pair";
    if (error) replyError(c, error);
    return !error;
}

/* Returns a set to which zsetAddPairs will add: its container does not exist yet. */
static struct zsetRef zsetNewSetFor(struct client *c, const struct zaddArgs *a) {
    size_t longest = 0;
    for (int i = 0; i < a->pairs; i++) {
        size_t len = c->argv[a->first + 2 * i + 1].len;
        if (len > longest) longest = len;
    }
    return (struct zsetRef){NULL, zsetIndexFor((size_t)a->pairs, longest)};
}

struct zaddResult {
    struct zsetAddedCounts counts;
    enum zsetAdded last;
    struct zscore score;
};

/* All scores have been parsed. Only an increment, and so a single pair, can fail. */
static struct zaddResult zsetAddPairs(struct client *c, struct zsetRef *z, const struct zaddArgs *a,
                                      const struct zscore *scores) {
    struct zaddResult res = {0};
    const struct str *members = c->argv + a->first + 1;
    if (zsetAddsInBulk(*z, (size_t)a->pairs)) {
        res.counts = zsetAddMany(z, members, scores, (size_t)a->pairs, a->flags);
        return res;
    }
    if (!z->ptr) z->ptr = z->index->create((size_t)a->pairs);
    struct argsAhead ahead = membersAhead(members, 2, a->pairs);
    for (int i = 0; i < a->pairs; i++) {
        membersAheadNext(&ahead, ahead.count ? zsetTable(*z) : NULL);
        res.score = scores[i];
        res.last = zsetAdd(z, members[2 * i], &res.score, a->flags);
        res.counts.added += res.last == ZADD_ADDED;
        res.counts.updated += res.last == ZADD_UPDATED;
    }
    return res;
}

static void zsetReplyAdded(struct client *c, const struct zaddArgs *a, const struct zaddResult *res) {
    if (!(a->flags & ZADD_INCR))
        replyLongLong(c, (int64_t)(res->counts.added + (a->changed ? res->counts.updated : 0)));
    else if (res->last == ZADD_NAN)
        replyError(c, "ERR resulting score is not a number (NaN)");
    else if (res->last == ZADD_NOP)
        replyNull(c);
    else
        zsetReplyScore(c, res->score, c->resp >= 3);
}

static void zsetAddWithScores(struct client *c, const struct zaddArgs *a, const struct zscore *scores) {
    struct str key = c->argv[1];
    struct zaddResult res = {0};
    struct object *o;
    if (!lookupKeyWriteType(c, key, OBJ_ZSET, &o)) return;
    if (o) {
        struct zsetRef z = zsetOpen(o);
        res = zsetAddPairs(c, &z, a, scores);
        zsetCommit(o, z);
    } else if (!(a->flags & ZADD_XX)) {
        struct zsetRef z = zsetNewSetFor(c, a);
        res = zsetAddPairs(c, &z, a, scores);
        dbAdd(c->db, key, zsetValue(z));
    }
    uint64_t changes = res.counts.added + res.counts.updated;
    if (changes) zsetReportChange(c, key, a->flags & ZADD_INCR ? "zincr" : "zadd", false, changes);
    zsetReplyAdded(c, a, &res);
}

static bool zsetArgScore(struct client *c, struct str arg, struct zscore *score) {
    double value;
    if (!argDouble(c, arg, &value, NULL)) return false;
    *score = zsetScoreOf(value, arg);
    return true;
}

static void zsetAddGeneric(struct client *c, const struct zaddArgs *a) {
    struct zscore small[SCORES_ON_STACK], *scores = small;
    bool ok = true;
    if (a->pairs > SCORES_ON_STACK) scores = zmalloc((size_t)a->pairs * sizeof *scores);
    for (int i = 0; i < a->pairs && ok; i++) ok = zsetArgScore(c, c->argv[a->first + 2 * i], &scores[i]);
    if (ok) zsetAddWithScores(c, a, scores);
    if (scores != small) zfree(scores);
}

void zaddCommand(struct client *c) {
    struct zaddArgs a = {0};
    if (zsetParseZaddOptions(c, &a)) zsetAddGeneric(c, &a);
}

/* ZINCRBY is ZADD INCR: an option's name in place of the increment is taken for an option, too. */
void zincrbyCommand(struct client *c) {
    struct zaddArgs a = {.flags = ZADD_INCR};
    if (zsetParseZaddOptions(c, &a)) zsetAddGeneric(c, &a);
}

/* ---- ZREM ---- */

void zremCommand(struct client *c) {
    struct object *o;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_ZSET, &o)) return;
    uint64_t removed = 0;
    if (o) {
        struct zsetRef z = zsetOpen(o);
        struct argsAhead ahead = membersAhead(c->argv + 2, 1, c->argc - 2);
        for (int i = 2; i < c->argc && zsetLength(z); i++) {
            membersAheadNext(&ahead, ahead.count ? zsetTable(z) : NULL);
            removed += zsetRemove(&z, c->argv[i]);
        }
        if (removed) zsetChanged(c, c->argv[1], o, z, "zrem", removed);
    }
    replyLongLong(c, (int64_t)removed);
}

/* ---- ZCARD, ZSCORE, ZMSCORE, ZRANK ---- */

void zcardCommand(struct client *c) {
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_ZSET, &o)) return;
    replyLongLong(c, o ? (int64_t)zsetLength(zsetOpen(o)) : 0);
}

static void zsetReplyScoreOf(struct client *c, struct object *o, struct str member) {
    struct zsetPlace p;
    if (!o || !zsetFind(zsetOpen(o), member, &p)) {
        replyNull(c);
        return;
    }
    zsetReplyScore(c, p.score, c->resp >= 3);
}

void zscoreCommand(struct client *c) {
    struct object *o;
    if (lookupKeyReadType(c, c->argv[1], OBJ_ZSET, &o)) zsetReplyScoreOf(c, o, c->argv[2]);
}

void zmscoreCommand(struct client *c) {
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_ZSET, &o)) return;
    replyArrayLen(c, c->argc - 2);
    struct argsAhead ahead = membersAhead(c->argv + 2, 1, c->argc - 2);
    for (int i = 2; i < c->argc; i++) {
        if (o && ahead.count) membersAheadNext(&ahead, zsetTable(zsetOpen(o)));
        zsetReplyScoreOf(c, o, c->argv[i]);
    }
}

static void zsetRankGeneric(struct client *c, bool reverse) {
    bool withscore = c->argc == 4;
    if (c->argc > 4) {
        replyErrorFmt(c, "ERR wrong number of arguments for '%s' command", c->cmd->fullname);
        return;
    }
    if (withscore && !strIs(c->argv[3], "withscore")) {
        replySyntaxError(c);
        return;
    }
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_ZSET, &o)) return;
    struct zsetPlace p;
    if (!o || !zsetFind(zsetOpen(o), c->argv[2], &p)) {
        if (withscore)
            replyNullArray(c);
        else
            replyNull(c);
        return;
    }
    struct zsetRef z = zsetOpen(o);
    uint64_t rank = z.index->rank(z.ptr, &p);
    if (reverse) rank = zsetLength(z) - 1 - rank;
    if (withscore) replyArrayLen(c, 2);
    replyLongLong(c, (int64_t)rank);
    if (withscore) zsetReplyScore(c, p.score, c->resp >= 3);
}

void zrankCommand(struct client *c) {
    zsetRankGeneric(c, false);
}

void zrevrankCommand(struct client *c) {
    zsetRankGeneric(c, true);
}

/* ---- ZSCAN ---- */

struct zscanCall {
    const struct scanOptions *opt;
    struct zsetItems items;
    int64_t seen;
};
static void zsetCollectScanned(void *priv, const struct zsetElement *e) {
    struct zscanCall *call = priv;
    call->seen++;
    if (call->opt->use_pattern && !globMatch(call->opt->pattern, e->member, false)) return;
    zsetItemsAddElement(&call->items, e);
}

static void zsetReplyScanned(struct client *c, uint64_t cursor, const struct zsetItems *items,
                             bool noscores) {
    char text[LONG_STR_SIZE];
    struct zsetWriter w;
    replyArrayLen(c, 2);
    replyBulk(c, strN(text, ull2string(text, cursor)));
    replyArrayLen(c, (int64_t)(noscores ? items->count : 2 * items->count));
    zsetWriterBegin(&w, c, noscores ? ZSHAPE_MEMBERS : ZSHAPE_FLAT);
    w.resp3 = false; /* a score is a string in any protocol */
    for (size_t i = 0; i < items->count; i++) zsetWrite(&w, items->item[i].member, items->item[i].score);
    zsetWriterEnd(&w);
}

void zscanCommand(struct client *c) {
    uint64_t cursor;
    struct scanOptions opt;
    struct zscanCall call = {.opt = &opt};
    if (!scanParseCursor(c, c->argv[2], &cursor)) return;
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_ZSET, &o)) return;
    if (!o) {
        zsetReplyScanned(c, 0, &call.items, true);
        return;
    }
    if (!scanParseOptions(c, 3, "noscores", false, &opt)) return;
    struct zsetRef z = zsetOpen(o);
    int64_t steps = scanMaxSteps(&opt);
    do {
        cursor = z.index->scan(z.ptr, cursor, zsetCollectScanned, &call);
    } while (cursor && call.seen < opt.count && --steps);
    zsetReplyScanned(c, cursor, &call.items, opt.values_off);
    zsetItemsFree(&call.items);
}
