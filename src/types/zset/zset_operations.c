/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_operations.c - union, intersection and difference of sorted sets and sets: ZUNION, ZINTER, ZDIFF,
 * their STORE forms, ZINTERCARD.
 *
 *     sources  -->  items: member, score | ..  -->  sorted once  -->  reply, or a new set
 *                       ^ ^ ^
 *                   union: a hash table finds members that were added before
 *
 * Sources are read in place. The members of a set have the score 1. */
#include <math.h>
#include <stdlib.h>

#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "commands/cmd_sorted_set.h"
#include "types/set/set.h"
#include "types/types.h"
#include "types/zset/zset_commands.h"

enum zsetOp { ZSET_UNION, ZSET_INTER, ZSET_DIFF };
/* COUNT adds up the weights of the sources that have the member, whatever its scores are. */
enum zsetAggregate { AGGREGATE_SUM, AGGREGATE_MIN, AGGREGATE_MAX, AGGREGATE_COUNT };

/* ---- Items by member ---- */

static struct str zsetOpsItemMember(const void *item) {
    return ((const struct zsetItem *)item)->member;
}
static const struct hashtableType itemIndexType = {.entryKey = zsetOpsItemMember};

/* ---- Sources ---- */

struct zsetSource {
    enum { SOURCE_ABSENT, SOURCE_ZSET, SOURCE_SET } kind;
    int order; /* position among the arguments */
    double weight;
    uint64_t length;
    struct zsetRef zset;
    struct setRef set;
};

static void zsetOpsSourceOpen(struct zsetSource *s, const struct object *o) {
    if (!o) return;
    if (o->type == OBJ_ZSET) {
        s->kind = SOURCE_ZSET;
        s->zset = zsetOpen(o);
        s->length = zsetLength(s->zset);
    } else {
        s->kind = SOURCE_SET;
        s->set = setOpen(o);
        s->length = setSize(s->set);
    }
}

static bool zsetOpsSourceFind(const struct zsetSource *s, struct str member, struct zscore *score) {
    struct zsetPlace p;
    switch (s->kind) {
    case SOURCE_ZSET:
        if (!zsetFind(s->zset, member, &p)) return false;
        *score = p.score;
        return true;
    case SOURCE_SET: *score = zscoreOf(1); return setContains(s->set, member);
    default: return false;
    }
}

/* Iterates over the elements of a source. In order, a union or a difference has less to sort in the end; an
 * intersection, of which often little is left, reads large sources faster without. */
struct sourceIterator {
    const struct zsetSource *source;
    struct zsetIteratorOfAll zset;
    struct setIterator set;
};

static void zsetOpsSourceIterate(struct sourceIterator *it, const struct zsetSource *s, bool in_order) {
    it->source = s;
    if (s->kind == SOURCE_ZSET) zsetIterateAll(&it->zset, s->zset, in_order);
    if (s->kind == SOURCE_SET) setIterate(&it->set, s->set);
}

static bool zsetOpsSourceNext(struct sourceIterator *it, struct zsetElement *e) {
    struct setMember m;
    switch (it->source->kind) {
    case SOURCE_ZSET: return zsetNextOfAll(&it->zset, e);
    case SOURCE_SET:
        if (!setNext(&it->set, &m)) return false;
        e->member = m.s;
        e->score = zscoreOf(1);
        if (m.s.ptr == m.text) e->member.ptr = memcpy(e->text, m.text, m.s.len);
        return true;
    default: return false;
    }
}

static void zsetOpsSourceStop(struct sourceIterator *it) {
    if (it->source->kind == SOURCE_SET) setStop(&it->set);
}

/* ---- The operations ---- */

struct zsetOperation {
    enum zsetOp op;
    enum zsetAggregate aggregate;
    bool withscores;
    int64_t limit; /* limit of ZINTERCARD; 0: none */
    int count;
    struct zsetSource *sources;
};

/* A weight of 1 leaves integers as exact as they are; a product is a double. */
static struct zscore zsetOpsWeighted(const struct zsetOperation *op, const struct zsetSource *s,
                                     struct zscore score) {
    if (op->aggregate == AGGREGATE_COUNT) return zscoreOf(s->weight);
    return s->weight == 1 ? score : zscoreOf(s->weight * score.value);
}

/* inf * 0 counts as 0, and so does inf - inf. */
static struct zscore zsetOpsFirstScore(const struct zsetOperation *op, const struct zsetSource *s,
                                       struct zscore score) {
    struct zscore v = zsetOpsWeighted(op, s, score);
    return isnan(v.value) ? zscoreOf(0) : v;
}

static struct zscore zsetOpsAggregate(enum zsetAggregate how, struct zscore a, struct zscore b) {
    switch (how) {
    case AGGREGATE_MIN: return zscoreCompare(b, a) < 0 ? b : a;
    case AGGREGATE_MAX: return zscoreCompare(a, b) < 0 ? b : a; /* a stays if b is NaN */
    default: a = zsetAddScores(a, b); return isnan(a.value) ? zscoreOf(0) : a;
    }
}

/* Small sources come first, equal ones in the order of the arguments. The order affects sums of
 * floating point numbers. */
static int zsetOpsCompareSources(const void *a, const void *b) {
    const struct zsetSource *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? -1 : 1;
    return x->order - y->order;
}

static void zsetOpsUnite(const struct zsetOperation *op, struct zsetItems *out) {
    hashtable index;
    struct zsetElement e;
    uint64_t total = 0;
    for (int i = 0; i < op->count; i++) total += op->sources[i].length;
    zsetItemsInit(out, total); /* it never moves, as the table points into it */
    hashtableInit(&index, &itemIndexType);
    if (op->count > 1) hashtableExpand(&index, op->sources[op->count - 2].length);
    for (int i = 0; i < op->count; i++) {
        const struct zsetSource *s = &op->sources[i];
        bool last = i + 1 == op->count; /* its members need not be found any more */
        struct sourceIterator it;
        zsetOpsSourceIterate(&it, s, true);
        while (zsetOpsSourceNext(&it, &e)) {
            e.score = zsetOpsFirstScore(op, s, e.score);
            uint64_t hash = op->count > 1 ? hashtableHash(&index, e.member) : 0;
            struct zsetItem *known = i ? hashtableFindHashed(&index, e.member, hash) : NULL;
            if (known)
                known->score = zsetOpsAggregate(op->aggregate, known->score, e.score);
            else if (last)
                zsetItemsAddElement(out, &e);
            else
                hashtableAddUnchecked(&index, zsetItemsAddElement(out, &e), hash);
        }
        zsetOpsSourceStop(&it);
    }
    hashtableDestroy(&index);
}

/* Whether the member is in all other sources; aggregates its score on the way. */
static bool zsetOpsIsInAll(const struct zsetOperation *op, struct str member, struct zscore *score) {
    struct zscore other;
    for (int i = 1; i < op->count; i++) {
        const struct zsetSource *s = &op->sources[i];
        if (!zsetOpsSourceFind(s, member, &other)) return false;
        *score = zsetOpsAggregate(op->aggregate, *score, zsetOpsWeighted(op, s, other));
    }
    return true;
}

static void zsetOpsIntersect(const struct zsetOperation *op, struct zsetItems *out) {
    struct sourceIterator it;
    struct zsetElement e;
    zsetItemsInit(out, 0);
    zsetOpsSourceIterate(&it, &op->sources[0], false);
    while (zsetOpsSourceNext(&it, &e)) {
        e.score = zsetOpsFirstScore(op, &op->sources[0], e.score);
        if (zsetOpsIsInAll(op, e.member, &e.score)) zsetItemsAddElement(out, &e);
    }
    zsetOpsSourceStop(&it);
}

static uint64_t zsetOpsCountIntersection(const struct zsetOperation *op) {
    struct sourceIterator it;
    struct zsetElement e;
    uint64_t count = 0;
    zsetOpsSourceIterate(&it, &op->sources[0], false);
    while (zsetOpsSourceNext(&it, &e) && (!op->limit || count < (uint64_t)op->limit))
        count += zsetOpsIsInAll(op, e.member, &e.score);
    zsetOpsSourceStop(&it);
    return count;
}

static bool zsetOpsIsInAnyOther(const struct zsetOperation *op, struct str member) {
    struct zscore score;
    for (int i = 1; i < op->count; i++)
        if (zsetOpsSourceFind(&op->sources[i], member, &score)) return true;
    return false;
}

static const void *zsetOpsSourceContainer(const struct zsetSource *s) {
    return s->kind == SOURCE_ZSET ? s->zset.ptr : s->kind == SOURCE_SET ? s->set.ptr : NULL;
}

static bool zsetOpsFirstIsRepeated(const struct zsetOperation *op) {
    const void *first = zsetOpsSourceContainer(&op->sources[0]);
    for (int i = 1; i < op->count; i++)
        if (first && zsetOpsSourceContainer(&op->sources[i]) == first) return true;
    return false;
}

/* Chooses the cheaper way: to look up each member of the first source in all others, or to look up the
 * members of all others in an index of the first. */
static bool zsetOpsLooksUpInOthers(const struct zsetOperation *op) {
    uint64_t lookups = op->sources[0].length * (uint64_t)op->count / 2, index_lookups = 0;
    for (int i = 0; i < op->count; i++) index_lookups += op->sources[i].length;
    return lookups <= index_lookups;
}

static void zsetOpsDropMarked(struct zsetItems *items) {
    size_t kept = 0;
    for (size_t i = 0; i < items->count; i++)
        if (!isnan(items->item[i].score.value)) items->item[kept++] = items->item[i];
    items->count = kept;
}

/* NaN marks the items to remove, as no score is NaN. */
static void zsetOpsSubtractFromIndex(const struct zsetOperation *op, struct zsetItems *out) {
    struct sourceIterator it;
    struct zsetElement e;
    hashtable index;
    hashtableInit(&index, &itemIndexType);
    hashtableExpand(&index, op->sources[0].length);
    zsetItemsInit(out, op->sources[0].length); /* it never moves, as the table points into it */
    zsetOpsSourceIterate(&it, &op->sources[0], true);
    while (zsetOpsSourceNext(&it, &e))
        hashtableAddUnchecked(&index, zsetItemsAddElement(out, &e), hashtableHash(&index, e.member));
    zsetOpsSourceStop(&it);
    for (int i = 1; i < op->count; i++) {
        zsetOpsSourceIterate(&it, &op->sources[i], true);
        while (zsetOpsSourceNext(&it, &e)) {
            struct zsetItem *item = hashtableFind(&index, e.member);
            if (item) item->score = zscoreOf(NAN);
        }
        zsetOpsSourceStop(&it);
    }
    hashtableDestroy(&index);
    zsetOpsDropMarked(out);
}

static void zsetOpsSubtract(const struct zsetOperation *op, struct zsetItems *out) {
    if (zsetOpsFirstIsRepeated(op)) {
        zsetItemsInit(out, 0);
        return;
    }
    if (!zsetOpsLooksUpInOthers(op)) {
        zsetOpsSubtractFromIndex(op, out);
        return;
    }
    struct sourceIterator it;
    struct zsetElement e;
    zsetItemsInit(out, 0);
    zsetOpsSourceIterate(&it, &op->sources[0], true);
    while (zsetOpsSourceNext(&it, &e))
        if (!zsetOpsIsInAnyOther(op, e.member)) zsetItemsAddElement(out, &e);
    zsetOpsSourceStop(&it);
}

static void zsetOpsCompute(const struct zsetOperation *op, struct zsetItems *out) {
    switch (op->op) {
    case ZSET_UNION: zsetOpsUnite(op, out); break;
    case ZSET_INTER: zsetOpsIntersect(op, out); break;
    case ZSET_DIFF: zsetOpsSubtract(op, out); break;
    }
    zsetItemsSort(out);
}

/* ---- Arguments ---- */

/* The options that a command takes. */
struct opForm {
    enum zsetOp op;
    int numkeys;       /* position */
    const char *event; /* of a STORE command, whose destination is argument 1; NULL: reply */
    bool card;         /* ZINTERCARD */
};

/* Opens the sources. Returns false when an error was replied. */
static bool zsetOpsOpenSources(struct client *c, const struct opForm *f, struct zsetOperation *op) {
    int64_t numkeys;
    if (!argLongLong(c, c->argv[f->numkeys], &numkeys, NULL)) return false;
    if (numkeys < 1)
        return replyErrorFmt(c, "ERR at least 1 input key is needed for '%s' command", c->cmd->fullname);
    if (numkeys > c->argc - f->numkeys - 1) return replySyntaxError(c);
    op->sources = zcalloc((size_t)numkeys, sizeof *op->sources);
    for (op->count = 0; op->count < numkeys; op->count++) {
        struct zsetSource *s = &op->sources[op->count];
        struct object *o = lookupKeyRead(c, c->argv[f->numkeys + 1 + op->count]);
        s->order = op->count;
        s->weight = 1;
        if (o && o->type != OBJ_ZSET && o->type != OBJ_SET) {
            replyWrongType(c);
            return false;
        }
        zsetOpsSourceOpen(s, o);
    }
    return true;
}

static bool zsetOpsParseWeights(struct client *c, int at, struct zsetOperation *op) {
    for (int i = 0; i < op->count; i++)
        if (!argDouble(c, c->argv[at + i], &op->sources[i].weight, "ERR weight value is not a float"))
            return false;
    return true;
}

static bool zsetOpsParseAggregate(struct str arg, enum zsetAggregate *how) {
    if (strIs(arg, "sum"))
        *how = AGGREGATE_SUM;
    else if (strIs(arg, "min"))
        *how = AGGREGATE_MIN;
    else if (strIs(arg, "max"))
        *how = AGGREGATE_MAX;
    else if (strIs(arg, "count"))
        *how = AGGREGATE_COUNT;
    else
        return false;
    return true;
}

static bool zsetOpsParseOptions(struct client *c, const struct opForm *f, struct zsetOperation *op) {
    bool scores = f->op != ZSET_DIFF && !f->card;
    for (int i = f->numkeys + 1 + op->count; i < c->argc; i++) {
        struct str arg = c->argv[i];
        int left = c->argc - i - 1;
        if (scores && left >= op->count && strIs(arg, "weights")) {
            if (!zsetOpsParseWeights(c, i + 1, op)) return false;
            i += op->count;
        } else if (scores && left >= 1 && strIs(arg, "aggregate") &&
                   zsetOpsParseAggregate(c->argv[i + 1], &op->aggregate)) {
            i++;
        } else if (!f->event && !f->card && strIs(arg, "withscores")) {
            op->withscores = true;
        } else if (f->card && left >= 1 && strIs(arg, "limit")) {
            if (!argPositive(c, c->argv[++i], &op->limit, "ERR LIMIT can't be negative")) return false;
        } else
            return replySyntaxError(c);
    }
    return true;
}

/* ---- Commands ---- */

static void zsetOpsReplyOrStore(struct client *c, const struct opForm *f, const struct zsetOperation *op) {
    struct zsetItems items;
    zsetOpsCompute(op, &items);
    if (f->event)
        zsetStoreResult(c, c->argv[1], zsetItemsToSet(&items), f->event, 1);
    else
        zsetItemsReply(c, &items, op->withscores);
    zsetItemsFree(&items);
}

static void zsetOpsGeneric(struct client *c, const struct opForm *f) {
    struct zsetOperation op = {.op = f->op};
    if (zsetOpsOpenSources(c, f, &op) && zsetOpsParseOptions(c, f, &op)) {
        if (op.op != ZSET_DIFF)
            qsort(op.sources, (size_t)op.count, sizeof *op.sources, zsetOpsCompareSources);
        if (f->card)
            replyLongLong(c, (int64_t)zsetOpsCountIntersection(&op));
        else
            zsetOpsReplyOrStore(c, f, &op);
    }
    zfree(op.sources);
}

void zunionCommand(struct client *c) {
    zsetOpsGeneric(c, &(struct opForm){.op = ZSET_UNION, .numkeys = 1});
}

void zinterCommand(struct client *c) {
    zsetOpsGeneric(c, &(struct opForm){.op = ZSET_INTER, .numkeys = 1});
}

void zdiffCommand(struct client *c) {
    zsetOpsGeneric(c, &(struct opForm){.op = ZSET_DIFF, .numkeys = 1});
}

void zunionstoreCommand(struct client *c) {
    zsetOpsGeneric(c, &(struct opForm){.op = ZSET_UNION, .numkeys = 2, .event = "zunionstore"});
}

void zinterstoreCommand(struct client *c) {
    zsetOpsGeneric(c, &(struct opForm){.op = ZSET_INTER, .numkeys = 2, .event = "zinterstore"});
}

void zdiffstoreCommand(struct client *c) {
    zsetOpsGeneric(c, &(struct opForm){.op = ZSET_DIFF, .numkeys = 2, .event = "zdiffstore"});
}

void zintercardCommand(struct client *c) {
    zsetOpsGeneric(c, &(struct opForm){.op = ZSET_INTER, .numkeys = 1, .card = true});
}
