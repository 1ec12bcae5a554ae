/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_operations.c - union, intersection and difference of sorted sets and sets: ZUNION, ZINTER, ZDIFF,
 * their STORE forms, ZINTERCARD.
 *
 *     sources  -->  items: member, score | ..  -->  sorted once  -->  reply, or a new set
 *                       ^ ^ ^
 *                   union: a hash table finds members that were added before
 *
 * Sources are read in place. The members of a set have the score 1.
 *
 * Sources are in the order of scores, and it takes a search to find out what score a member has in another
 * one. So members are looked up, ZSET_AHEAD of them together. The largest source of a union, if it is a large
 * sorted set, is not searched for all others, but merged:
 *
 *     the other sources:   a 1 | c 3 | e 5              each member is looked up in the largest source
 *     those found:         c 7                          sorted by their scores there
 *     the largest source:  b 2 | d 4 | c 7 | f 9        in order, without those found when their turn comes
 *     items:               a 1 | e 5 | c 10   b 2 | d 4 | f 9      two runs in order, which are merged
 *
 * The members of the largest source, most of all, are read one after the other only. */
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
    bool hashed; /* members are found by their hashes */
    int order;   /* position among the arguments */
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
        s->hashed = s->zset.index != &zsetListpack;
    } else {
        s->kind = SOURCE_SET;
        s->set = setOpen(o);
        s->length = setSize(s->set);
        s->hashed = setTable(s->set) != NULL;
    }
}

/* `hash` is the member's if the source is hashed. */
static bool zsetOpsSourceFind(const struct zsetSource *s, struct str member, uint64_t hash,
                              struct zscore *score) {
    struct zsetPlace p;
    switch (s->kind) {
    case SOURCE_ZSET:
        if (!zsetFindHashed(s->zset, member, hash, &p)) return false;
        *score = p.score;
        return true;
    case SOURCE_SET:
        *score = zscoreOf(1);
        return s->hashed ? hashtableFindHashed(setTable(s->set), member, hash) != NULL
                         : setContains(s->set, member);
    default: return false;
    }
}

static void zsetOpsSourcePrefetch(const struct zsetSource *s, const uint64_t *hashes, unsigned count) {
    if (!s->hashed) return;
    if (s->kind == SOURCE_ZSET)
        zsetPrefetchMembers(s->zset, hashes, count);
    else
        for (unsigned i = 0; i < count; i++) setPrefetch(s->set, hashes[i]);
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
    bool hashed;   /* a source is */
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

/* Adds the members of the first `count` sources. */
static void zsetOpsUniteByTable(const struct zsetOperation *op, int count, struct zsetItems *out) {
    hashtable index;
    struct zsetElement e;
    hashtableInit(&index, &itemIndexType);
    if (count > 1) hashtableExpand(&index, op->sources[count - 2].length);
    for (int i = 0; i < count; i++) {
        const struct zsetSource *s = &op->sources[i];
        bool last = i + 1 == count; /* its members need not be found any more */
        struct sourceIterator it;
        zsetOpsSourceIterate(&it, s, true);
        while (zsetOpsSourceNext(&it, &e)) {
            e.score = zsetOpsFirstScore(op, s, e.score);
            uint64_t hash = op->count > 1 ? hashtableHash(&index, e.member) : 0;
            struct zsetItem *known = i ? hashtableFindHashed(&index, e.member, hash) : NULL;
            if (known) {
                known->score = zsetOpsAggregate(op->aggregate, known->score, e.score);
                continue;
            }
            struct zsetItem *item = zsetItemsAddElement(out, &e);
            item->hash = hash;
            if (!last) hashtableAddUnchecked(&index, item, hash);
        }
        zsetOpsSourceStop(&it);
    }
    hashtableDestroy(&index);
}

/* Looks up some items in a source. Those found are aggregated, and added to `common` with their scores in the
 * source. */
static void zsetOpsUniteSome(const struct zsetOperation *op, const struct zsetSource *s,
                             struct zsetItem *items, unsigned count, struct zsetItems *common) {
    uint64_t hashes[ZSET_AHEAD];
    struct zscore score;
    for (unsigned i = 0; i < count; i++) hashes[i] = items[i].hash;
    zsetOpsSourcePrefetch(s, hashes, count);
    for (unsigned i = 0; i < count; i++) {
        if (!zsetOpsSourceFind(s, items[i].member, hashes[i], &score)) continue;
        zsetItemsAdd(common, items[i].member, score, false);
        items[i].score = zsetOpsAggregate(op->aggregate, items[i].score, zsetOpsFirstScore(op, s, score));
    }
}

/* Whether the source has an order, and its members can be looked up in O(1). */
static bool zsetOpsCanMerge(const struct zsetSource *s) {
    return s->kind == SOURCE_ZSET && s->hashed;
}

/* Adds the elements of a sorted set in its order, but for those of `known`, which have its scores and are
 * sorted as it is, some of them more than once. */
static void zsetOpsAddOthers(const struct zsetOperation *op, const struct zsetSource *s,
                             const struct zsetItems *known, struct zsetItems *out) {
    const struct zsetItem *next = known->item, *end = next + known->count;
    struct sourceIterator it;
    struct zsetElement e;
    zsetOpsSourceIterate(&it, s, true);
    while (zsetOpsSourceNext(&it, &e)) {
        bool leave_out = false;
        for (; next < end && e.score.value == next->score.value && strEq(e.member, next->member); next++)
            leave_out = true;
        if (leave_out) continue;
        e.score = zsetOpsFirstScore(op, s, e.score);
        zsetItemsAddElement(out, &e);
    }
    zsetOpsSourceStop(&it);
    serverAssert(next == end);
}

/* Adds the members of a sorted set, which has at least as many as there are items. */
static void zsetOpsUniteByMerge(const struct zsetOperation *op, const struct zsetSource *s,
                                struct zsetItems *out) {
    struct zsetItems common;
    zsetItemsInit(&common, 0);
    for (size_t i = 0; i < out->count; i += ZSET_AHEAD) {
        size_t left = out->count - i;
        zsetOpsUniteSome(op, s, &out->item[i], left < ZSET_AHEAD ? (unsigned)left : ZSET_AHEAD, &common);
    }
    zsetItemsSort(&common);
    zsetItemsSort(out);
    zsetOpsAddOthers(op, s, &common, out);
    zsetItemsFree(&common);
}

static void zsetOpsUnite(const struct zsetOperation *op, struct zsetItems *out) {
    const struct zsetSource *last = &op->sources[op->count - 1];
    bool merge = op->count > 1 && zsetOpsCanMerge(last);
    uint64_t total = 0;
    for (int i = 0; i < op->count; i++) total += op->sources[i].length;
    zsetItemsInit(out, total); /* it never moves while a table points into it */
    zsetOpsUniteByTable(op, merge ? op->count - 1 : op->count, out);
    if (merge) zsetOpsUniteByMerge(op, last, out);
}

/* Elements of the first source that are looked up in the others together. */
struct sourceWindow {
    struct zsetElement e[ZSET_AHEAD];
    uint64_t hash[ZSET_AHEAD];
    uint32_t left; /* a bit for each that belongs to the result, as far as is known */
};

/* Reads the next elements and returns how many there are; 0 at the end. */
static unsigned zsetOpsWindowRead(struct sourceWindow *w, const struct zsetOperation *op,
                                  struct sourceIterator *it) {
    unsigned n = 0;
    for (; n < ZSET_AHEAD && zsetOpsSourceNext(it, &w->e[n]); n++)
        w->hash[n] = op->hashed ? hashBytes(w->e[n].member.ptr, w->e[n].member.len) : 0;
    w->left = (1u << n) - 1;
    return n;
}

/* Leaves those elements that are in this source, too, and aggregates their scores; or (not `inside`) those
 * that are not. */
static void zsetOpsWindowFilter(struct sourceWindow *w, const struct zsetOperation *op,
                                const struct zsetSource *s, bool inside) {
    uint64_t hashes[ZSET_AHEAD];
    struct zscore score;
    unsigned n = 0;
    for (uint32_t bits = w->left; bits; bits &= bits - 1) hashes[n++] = w->hash[__builtin_ctz(bits)];
    if (n) zsetOpsSourcePrefetch(s, hashes, n);
    for (uint32_t bits = w->left; bits; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctz(bits);
        bool found = zsetOpsSourceFind(s, w->e[i].member, w->hash[i], &score);
        if (found != inside)
            w->left &= ~(1u << i);
        else if (found)
            w->e[i].score = zsetOpsAggregate(op->aggregate, w->e[i].score, zsetOpsWeighted(op, s, score));
    }
}

/* Adds what is left. */
static void zsetOpsWindowAdd(const struct sourceWindow *w, struct zsetItems *out) {
    for (uint32_t bits = w->left; bits; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctz(bits);
        zsetItemsAddElement(out, &w->e[i])->hash = w->hash[i];
    }
}

/* Reads the next elements of the first source and leaves those that are in all others. */
static bool zsetOpsNextCommon(const struct zsetOperation *op, struct sourceIterator *it,
                              struct sourceWindow *w) {
    if (!zsetOpsWindowRead(w, op, it)) return false;
    for (uint32_t bits = w->left; bits; bits &= bits - 1) {
        struct zsetElement *e = &w->e[__builtin_ctz(bits)];
        e->score = zsetOpsFirstScore(op, &op->sources[0], e->score);
    }
    for (int i = 1; i < op->count; i++) zsetOpsWindowFilter(w, op, &op->sources[i], true);
    return true;
}

static void zsetOpsIntersect(const struct zsetOperation *op, struct zsetItems *out) {
    struct sourceIterator it;
    struct sourceWindow w;
    zsetItemsInit(out, 0);
    zsetOpsSourceIterate(&it, &op->sources[0], false);
    while (zsetOpsNextCommon(op, &it, &w)) zsetOpsWindowAdd(&w, out);
    zsetOpsSourceStop(&it);
}

static uint64_t zsetOpsCountIntersection(const struct zsetOperation *op) {
    struct sourceIterator it;
    struct sourceWindow w;
    uint64_t count = 0, limit = op->limit ? (uint64_t)op->limit : UINT64_MAX;
    zsetOpsSourceIterate(&it, &op->sources[0], false);
    while (count < limit && zsetOpsNextCommon(op, &it, &w)) count += (unsigned)__builtin_popcount(w.left);
    zsetOpsSourceStop(&it);
    return count < limit ? count : limit;
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

/* Looks up each member of the first source in the others. */
static void zsetOpsSubtractByLookup(const struct zsetOperation *op, struct zsetItems *out) {
    struct sourceIterator it;
    struct sourceWindow w;
    zsetOpsSourceIterate(&it, &op->sources[0], true);
    while (zsetOpsWindowRead(&w, op, &it)) {
        for (int i = 1; i < op->count; i++) zsetOpsWindowFilter(&w, op, &op->sources[i], false);
        zsetOpsWindowAdd(&w, out);
    }
    zsetOpsSourceStop(&it);
}

/* Looks up the members of the others in the first source, and leaves out those found. */
static void zsetOpsSubtractByMerge(const struct zsetOperation *op, struct zsetItems *out) {
    const struct zsetSource *first = &op->sources[0];
    struct sourceIterator it;
    struct sourceWindow w;
    struct zsetItems found;
    zsetItemsInit(&found, 0);
    for (int i = 1; i < op->count; i++) {
        zsetOpsSourceIterate(&it, &op->sources[i], false);
        for (unsigned n; (n = zsetOpsWindowRead(&w, op, &it));) {
            zsetOpsSourcePrefetch(first, w.hash, n);
            for (unsigned j = 0; j < n; j++) /* it gets the score in the first source */
                if (zsetOpsSourceFind(first, w.e[j].member, w.hash[j], &w.e[j].score))
                    zsetItemsAddElement(&found, &w.e[j]);
        }
        zsetOpsSourceStop(&it);
    }
    zsetItemsSort(&found);
    zsetOpsAddOthers(op, first, &found, out);
    zsetItemsFree(&found);
}

static void zsetOpsSubtract(const struct zsetOperation *op, struct zsetItems *out) {
    const struct zsetSource *first = &op->sources[0];
    uint64_t others = 0;
    zsetItemsInit(out, 0);
    if (zsetOpsFirstIsRepeated(op)) return;
    for (int i = 1; i < op->count; i++) others += op->sources[i].length;
    if (zsetOpsCanMerge(first) && others < first->length)
        zsetOpsSubtractByMerge(op, out);
    else
        zsetOpsSubtractByLookup(op, out);
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
        op->hashed = op->hashed || s->hashed;
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
