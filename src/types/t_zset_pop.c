/* t_zset_pop.c - sorted set commands that take elements from an end (ZPOPMIN, ZMPOP and the blocking ones) or
 * at random (ZRANDMEMBER).
 *
 * A blocking command looks at its keys like the others. When it finds nothing it waits, and is run again from
 * the start when one of the keys gets a sorted set: it does not know that it waited. */
#include <stdlib.h>

#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/sorted_set.h"
#include "command/blocking.h"
#include "command/propagate.h"
#include "client/reply.h"
#include "types/t_zset.h"
#include "types/types.h"
#include "types/zset_writer.h"

/* ---- Popping ---- */

static const char *popEvent(bool max) {
    return max ? "zpopmax" : "zpopmin";
}

static struct zsetSlice endSlice(struct zsetRef z, bool max, uint64_t count) {
    uint64_t length = zsetLength(z);
    if (count > length) count = length;
    return (struct zsetSlice){.rank = max ? length - count : 0, .count = count};
}

/* Reply the elements in the order of popping, then remove them. */
static void popSlice(struct client *c, struct str key, struct object *o, bool max, const struct zsetSlice *s,
                     enum zsetShape shape) {
    zsetEmit(zsetOpen(o), c, s, max, shape);
    zsetRemoveSlice(c, key, o, s, popEvent(max));
}

static void popGeneric(struct client *c, bool max) {
    int64_t count = 1;
    bool wrong;
    if (c->argc > 3) {
        replySyntaxError(c);
        return;
    }
    if (c->argc == 3 && !argPositive(c, c->argv[2], &count, "ERR value is out of range, must be positive"))
        return;
    struct object *o = lookupKeyWriteType(c, c->argv[1], OBJ_ZSET, &wrong);
    if (wrong) return;
    if (!o || !count) {
        replyArrayLen(c, 0);
        return;
    }
    struct zsetSlice s = endSlice(zsetOpen(o), max, (uint64_t)count);
    enum zsetShape shape = c->argc == 3 ? zsetScoresShape(c, true) : ZSHAPE_FLAT;
    zsetReplyLen(c, s.count, shape);
    popSlice(c, c->argv[1], o, max, &s, shape);
}

void zpopminCommand(struct client *c) {
    popGeneric(c, false);
}

void zpopmaxCommand(struct client *c) {
    popGeneric(c, true);
}

/* ---- Popping from the first of several keys ---- */

/* Run again as ZPOPMIN key [count], which needs no luck and does not wait. */
static void propagatePop(struct client *c, struct str key, bool max, int64_t count) {
    char text[LONG_STR_SIZE];
    struct str argv[3] = {max ? STR("ZPOPMAX") : STR("ZPOPMIN"), key, {0}};
    if (!propagateWanted()) return;
    if (count) argv[2] = strN(text, ll2string(text, count));
    propagateRewrite(c, count ? 3 : 2, argv);
}

static void waitForSets(struct client *c, const struct str *keys, int count, int64_t deadline_ms) {
    if (c->flags & CLIENT_DENY_BLOCKING)
        replyNullArray(c);
    else
        blockForKeys(c, keys, count, OBJ_ZSET, deadline_ms, NULL, false);
}

static void bpopGeneric(struct client *c, bool max) {
    int64_t deadline_ms;
    struct str key;
    bool wrong;
    if (!argTimeout(c, c->argv[c->argc - 1], false, &deadline_ms)) return;
    struct object *o = lookupFirstKeyWriteType(c, c->argv + 1, c->argc - 2, OBJ_ZSET, &key, &wrong);
    if (wrong) return;
    if (!o) {
        waitForSets(c, c->argv + 1, c->argc - 2, deadline_ms);
        return;
    }
    struct zsetSlice s = endSlice(zsetOpen(o), max, 1);
    replyArrayLen(c, 3);
    replyBulk(c, key);
    propagatePop(c, key, max, 0);
    popSlice(c, key, o, max, &s, ZSHAPE_FLAT);
}

void bzpopminCommand(struct client *c) {
    bpopGeneric(c, false);
}

void bzpopmaxCommand(struct client *c) {
    bpopGeneric(c, true);
}

struct zmpopArgs {
    const struct str *keys;
    int64_t numkeys, count;
    bool max;
};

/* numkeys key [key ...] MIN|MAX [COUNT count], from position `at` on. */
static bool parseZmpop(struct client *c, int at, struct zmpopArgs *a) {
    if (!argRange(c, c->argv[at], 1, INT64_MAX, &a->numkeys, "ERR numkeys should be greater than 0"))
        return false;
    a->keys = c->argv + at + 1;
    a->count = 1;
    int64_t next = a->numkeys < c->argc ? at + 1 + a->numkeys : c->argc;
    bool ok = next < c->argc && (strIs(c->argv[next], "min") || strIs(c->argv[next], "max"));
    if (ok) a->max = strIs(c->argv[next++], "max");
    if (ok && next + 1 < c->argc && strIs(c->argv[next], "count")) {
        if (!argRange(c, c->argv[next + 1], 1, INT64_MAX, &a->count, "ERR count should be greater than 0"))
            return false;
        next += 2;
    }
    if (ok && next == c->argc) return true;
    replySyntaxError(c);
    return false;
}

/* False when there was nothing to pop. */
static bool popFirstSet(struct client *c, const struct zmpopArgs *a) {
    struct str key;
    bool wrong;
    struct object *o = lookupFirstKeyWriteType(c, a->keys, (int)a->numkeys, OBJ_ZSET, &key, &wrong);
    if (!o) return wrong;
    struct zsetSlice s = endSlice(zsetOpen(o), a->max, (uint64_t)a->count);
    replyArrayLen(c, 2);
    replyBulk(c, key);
    replyArrayLen(c, (int64_t)s.count);
    propagatePop(c, key, a->max, (int64_t)s.count);
    popSlice(c, key, o, a->max, &s, ZSHAPE_PAIRS);
    return true;
}

void zmpopCommand(struct client *c) {
    struct zmpopArgs a = {0};
    if (parseZmpop(c, 1, &a) && !popFirstSet(c, &a)) replyNullArray(c);
}

void bzmpopCommand(struct client *c) {
    struct zmpopArgs a = {0};
    int64_t deadline_ms;
    if (!parseZmpop(c, 2, &a) || !argTimeout(c, c->argv[1], false, &deadline_ms)) return;
    if (!popFirstSet(c, &a)) waitForSets(c, a.keys, (int)a.numkeys, deadline_ms);
}

/* ---- ZRANDMEMBER ----
 *
 * Every element has the same chance: ranks are drawn, not places in the hash table. */

static void writeAtRank(struct zsetWriter *w, struct zsetRef z, uint64_t rank) {
    struct zsetPlace p;
    struct zsetElement e;
    bool found = z.index->atRank(z.ptr, rank, &p);
    if (!found) return;
    z.index->read(&p, &e);
    zsetWrite(w, e.member, e.score);
}

/* Independent draws. A listpack is read into an array first when many are wanted, so that a draw does not
 * walk. */
static void writeDraws(struct zsetWriter *w, struct zsetRef z, uint64_t count) {
    uint64_t length = zsetLength(z);
    if (z.index != &zsetListpack || count < length) {
        while (count--) writeAtRank(w, z, randomBelow(length));
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

/* A subset by walking over all: an element is taken with the chance wanted / left (Knuth's algorithm S). */
static void writeSubsetWalking(struct zsetWriter *w, struct zsetRef z, uint64_t count) {
    struct zsetIterator it = zsetIterate(z, 0);
    struct zsetElement e;
    for (uint64_t left = zsetLength(z); count && zsetNext(&it, &e); left--) {
        if (randomBelow(left) >= count) continue;
        zsetWrite(w, e.member, e.score);
        count--;
    }
}

static int compareRanks(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* A small part of a large set: ranks are drawn, and drawn again for those that came twice. */
static void writeSubsetDrawing(struct zsetWriter *w, struct zsetRef z, uint64_t count) {
    uint64_t *ranks = zmalloc(count * sizeof *ranks), have = 0, length = zsetLength(z);
    while (have < count) {
        for (uint64_t i = have; i < count; i++) ranks[i] = randomBelow(length);
        qsort(ranks, count, sizeof *ranks, compareRanks);
        have = 1;
        for (uint64_t i = 1; i < count; i++)
            if (ranks[i] != ranks[have - 1]) ranks[have++] = ranks[i];
    }
    for (uint64_t i = 0; i < count; i++) writeAtRank(w, z, ranks[i]);
    zfree(ranks);
}

static void replyRandom(struct client *c, struct zsetRef z, int64_t count, bool withscores) {
    struct zsetWriter w;
    enum zsetShape shape = zsetScoresShape(c, withscores);
    uint64_t length = zsetLength(z), n = count < 0 ? -(uint64_t)count : (uint64_t)count;
    if (count > 0 && n > length) n = length;
    zsetReplyLen(c, n, shape);
    zsetWriterBegin(&w, c, shape);
    if (count < 0)
        writeDraws(&w, z, n);
    else if (z.index == &zsetListpack || n > length / 4)
        writeSubsetWalking(&w, z, n);
    else if (n)
        writeSubsetDrawing(&w, z, n);
    zsetWriterEnd(&w);
}

static void replyOneRandom(struct client *c, struct object *o) {
    struct zsetElement e;
    struct zsetPlace p;
    if (!o) {
        replyNull(c);
        return;
    }
    struct zsetRef z = zsetOpen(o);
    z.index->atRank(z.ptr, randomBelow(zsetLength(z)), &p);
    z.index->read(&p, &e);
    replyBulk(c, e.member);
}

void zrandmemberCommand(struct client *c) {
    bool wrong, withscores = c->argc == 4;
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
    struct object *o = lookupKeyReadType(c, c->argv[1], OBJ_ZSET, &wrong);
    if (wrong) return;
    if (c->argc == 2)
        replyOneRandom(c, o);
    else if (!o || !count)
        replyArrayLen(c, 0);
    else
        replyRandom(c, zsetOpen(o), count, withscores);
}
