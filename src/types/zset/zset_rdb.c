/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_rdb.c - sorted sets in files (part of rdb_hooks.h).
 *
 *     listpack      member, score, member, score ... ascending
 *     zset 2        number of members, then each: member | score as binary64
 *     zset          number of members, then each: member | score as text
 *
 * The last form is for sets whose scores have rests, of any size: a server without exact integers reads it,
 * with rounded scores, and orders the members by these. All other sets are written in the first two.
 *
 * Large sets are written from the highest score down, so that loading adds each member in front of all others
 * and need not search its place; a snapshot without a fork writes a skiplist in no order (zset_parts.c). */
#include "data/rdb/rewrite.h"
#include "ds/zbtree.h"
#include "types/rdb_hooks.h"
#include "types/zset/zset.h"
#include "types/zset/zset_private.h"

#define LINE 64 /* bytes of a cache line */

uint8_t zsetRdbType(const struct object *o, int version) {
    (void)version;
    if (zsetHasRests(zsetOpen(o))) return RDB_TYPE_ZSET;
    return o->encoding == ZSET_LISTPACK ? RDB_TYPE_ZSET_LISTPACK : RDB_TYPE_ZSET_2;
}

void zsetRdbWriteElement(struct rioWriter *w, struct str member, struct zscore score, bool as_text) {
    if (!as_text) {
        rdbWriteScored(w, member, score.value);
        return;
    }
    char text[ZSCORE_TEXT_SIZE];
    rdbWriteString(w, member);
    rdbWriteDoubleText(w, score.value, strN(text, zscorePrint(text, score)));
}

static void zsetRdbSaveSkiplist(struct rioWriter *w, struct zsetRef z) {
    zsetWarm(z);
    for (const zskiplistNode *n = zslGetTail(&((const struct zset *)z.ptr)->list); n; n = zslGetPrev(n))
        rdbWriteScored(w, zslGetNodeElement(n), zslGetNodeScore(n).value);
}

/* Members are in no order in their leaf, so the whole of it is fetched. */
static void zsetRdbSaveBtree(struct rioWriter *w, const zbtree *t) {
    struct zbtPos p;
    bool more = zbtAtRank(t, zbtLength(t) - 1, &p);
    while (more) {
        const struct zbtLeaf *leaf = p.leaf;
        for (unsigned at = LINE; at < leaf->size; at += LINE) __builtin_prefetch((const char *)leaf + at);
        for (; more && p.leaf == leaf; more = zbtStep(&p, true)) rdbWriteScored(w, zbtMember(p), zbtValue(p));
    }
}

void zsetRdbSave(struct rioWriter *w, const struct object *o) {
    struct zsetRef z = zsetOpen(o);
    bool as_text = zsetHasRests(z);
    if (z.index == &zsetListpack && !as_text) {
        rdbWriteString(w, strN(z.ptr, lpBytes(z.ptr)));
        return;
    }
    rdbWriteLen(w, zsetLength(z));
    if (z.index == &zsetSkiplist && !as_text) {
        zsetRdbSaveSkiplist(w, z);
    } else if (z.index == &zsetBtree && !as_text) {
        zsetRdbSaveBtree(w, z.ptr);
    } else {
        struct zsetIterator it = zsetIterateDown(z);
        struct zsetElement e;
        while (zsetNext(&it, &e)) zsetRdbWriteElement(w, e.member, e.score, as_text);
    }
}

/* ---- Loading ---- */

static bool zsetRdbReadScore(struct rdbReader *r, uint8_t rdb_type, struct zscore *score) {
    struct str text;
    double value;
    *score = zscoreOf(0);
    if (rdb_type == RDB_TYPE_ZSET_2) return rdbReadDouble(r, &score->value);
    if (!rdbReadDoubleText(r, &value, &text)) return false;
    *score = zscoreOfText(value, text);
    return true;
}

static bool zsetRdbLoadMember(struct rdbReader *r, uint8_t rdb_type, struct zsetLoader *l) {
    struct rdbHeld member;
    struct zscore score;
    bool ok = rdbReadHeld(r, &member) && zsetRdbReadScore(r, rdb_type, &score);
    if (ok && !zsetLoadAdd(l, member.s, score))
        ok = rioFail(&r->io, "a member is in the sorted set twice, or has no score");
    rdbHeldFree(&member);
    return ok;
}

static enum rdbLoaded zsetRdbLoadMembers(struct rdbReader *r, uint8_t rdb_type, struct value *v) {
    uint64_t n;
    if (!rdbReadCount(r, 2, &n)) return RDB_FAILED;
    if (n == 0) return RDB_EMPTY;
    struct zsetLoader l = zsetLoad(rdbPresize(r, n));
    for (; n; n--) {
        if (zsetRdbLoadMember(r, rdb_type, &l)) continue;
        zsetFree(zsetLoadEnd(&l));
        return RDB_FAILED;
    }
    *v = zsetValue(zsetLoadEnd(&l));
    return RDB_LOADED;
}

enum rdbLoaded zsetRdbLoad(struct rdbReader *r, uint8_t rdb_type, struct value *v) {
    if (rdb_type == RDB_TYPE_ZSET || rdb_type == RDB_TYPE_ZSET_2) return zsetRdbLoadMembers(r, rdb_type, v);
    struct zsetRef z;
    unsigned char *lp =
        rdbReadFlat(r, rdb_type == RDB_TYPE_ZSET_LISTPACK ? RDB_FLAT_LISTPACK : RDB_FLAT_ZIPLIST);
    if (!lp) return RDB_FAILED;
    if (!lpFirst(lp)) {
        lpFree(lp);
        return RDB_EMPTY;
    }
    bool twice = !rdbFlatEachOnce(lp, 2);
    if (twice) lpFree(lp);
    if (twice || !zsetFromListpack(lp, false, &z)) {
        rioFail(&r->io, "a listpack that is no sorted set");
        return RDB_FAILED;
    }
    *v = zsetValue(z);
    return RDB_LOADED;
}

/* ---- Rewriting ---- */

void zsetRdbRewriteElement(struct rewriteItems *items, struct str member, struct zscore score) {
    char text[ZSCORE_TEXT_SIZE];
    rewriteItem(items);
    rewriteArg(items->w, strN(text, zscorePrint(text, score)));
    rewriteArg(items->w, member);
}

void zsetRdbRewrite(struct rioWriter *w, struct str key, const struct object *o) {
    struct zsetRef z = zsetOpen(o);
    struct rewriteItems items = {
        .w = w, .left = zsetLength(z), .args_per_item = 2, .name = STR("ZADD"), .key = key};
    zsetWarm(z);
    struct zsetIterator it = zsetIterate(z, 0);
    struct zsetElement e;
    while (zsetNext(&it, &e)) zsetRdbRewriteElement(&items, e.member, e.score);
}
