/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_rdb.c - sorted sets in files (part of rdb_hooks.h).
 *
 *     listpack      member, score, member, score ... ascending
 *     zset 2        number of members, then each: member | score as binary64
 *     zset          number of members, then each: member | score as text
 *
 * Large sets are written from the highest score down, so that loading adds each member in front of all others
 * and need not search its place; a snapshot without a fork writes a skiplist in no order (zset_parts.c). */
#include "data/rdb/rewrite.h"
#include "types/rdb_hooks.h"
#include "types/zset/zset.h"

uint8_t zsetRdbType(const struct object *o, int version) {
    (void)version;
    return o->encoding == ZSET_LISTPACK ? RDB_TYPE_ZSET_LISTPACK : RDB_TYPE_ZSET_2;
}

void zsetRdbSave(struct rioWriter *w, const struct object *o) {
    struct zsetRef z = zsetOpen(o);
    if (z.index == &zsetListpack) {
        rdbWriteString(w, strN(z.ptr, lpBytes(z.ptr)));
        return;
    }
    zsetWarm(z);
    struct zsetIterator it = zsetIterateDown(z);
    struct zsetElement e;
    rdbWriteLen(w, zsetLength(z));
    while (zsetNext(&it, &e)) {
        rdbWriteString(w, e.member);
        rdbWriteDouble(w, e.score);
    }
}

/* ---- Loading ---- */

static bool zsetRdbLoadMember(struct rdbReader *r, uint8_t rdb_type, struct zsetLoader *l) {
    struct rdbHeld member;
    double score;
    bool ok = rdbReadHeld(r, &member) &&
              (rdb_type == RDB_TYPE_ZSET_2 ? rdbReadDouble(r, &score) : rdbReadDoubleText(r, &score));
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

void zsetRdbRewrite(struct rioWriter *w, struct str key, const struct object *o) {
    struct zsetRef z = zsetOpen(o);
    struct rewriteItems items = {
        .w = w, .left = zsetLength(z), .args_per_item = 2, .name = STR("ZADD"), .key = key};
    zsetWarm(z);
    struct zsetIterator it = zsetIterate(z, 0);
    struct zsetElement e;
    while (zsetNext(&it, &e)) {
        rewriteItem(&items);
        rewriteArgDouble(w, e.score);
        rewriteArg(w, e.member);
    }
}
