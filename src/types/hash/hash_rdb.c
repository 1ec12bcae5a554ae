/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_rdb.c - hashes in files (part of rdb_hooks.h).
 *
 *     listpack      field, value, field, value ...                     (ziplist and zipmap likewise)
 *     hash          number of fields, then each: field | value
 *     expiring      number of fields, then each: field | value | expiry in ms, or -1
 *     Redis's       first expiry in ms, number of fields, then each: time | field | value
 *                   where time is 0, or the expiry less the first one plus 1
 *     its listpack  first expiry in ms, then a listpack: field, value, expiry in ms or 0, field ...
 *
 * Redis keeps expiries in 48 bits and cannot read later ones; they are written to its format as the last one
 * that it has, in the year 10889.
 *
 * A hash packed into its object, or with a shape, is written as a listpack. Fields past their expiry are
 * written like all others; the reader leaves them out. */
#include "base/zmalloc.h"
#include "data/rdb/rewrite.h"
#include "registry/cron.h"
#include "types/hash/hash_private.h"
#include "types/hash/hash_shape.h"
#include "types/rdb_hooks.h"
#include "types/types.h"

#define REDIS_EXPIRY_MAX ((INT64_C(1) << 48) - 1)

uint8_t hashRdbType(const struct object *o, int version) {
    static const uint8_t types[] = {
        [HASH_PACKED] = RDB_TYPE_HASH_LISTPACK, [HASH_LISTPACK] = RDB_TYPE_HASH_LISTPACK,
        [HASH_TIMED] = RDB_TYPE_HASH_EXPIRING,  [HASH_SHAPED] = RDB_TYPE_HASH_LISTPACK,
        [HASH_TABLE] = RDB_TYPE_HASH,           [HASH_EXPIRING] = RDB_TYPE_HASH_EXPIRING,
    };
    uint8_t type = types[o->encoding];
    bool for_redis = type == RDB_TYPE_HASH_EXPIRING && rdbVersionIsRedis(version);
    return for_redis ? RDB_TYPE_REDIS_HASH_EXPIRING : type;
}

static void hashRdbSavePacked(struct rioWriter *w, const struct hash *h) {
    struct hashIterator it;
    struct hashItem item;
    unsigned char *lp = lpNew(2 * HASH_PACKED_MAX);
    hashIterate(&it, h);
    while (hashNext(&it, &item)) lp = lpAppend(lpAppend(lp, item.field.s), item.value.s);
    hashStop(&it);
    rdbWriteString(w, strN((const char *)lp, lpBytes(lp)));
    lpFree(lp);
}

static void hashRdbSaveShaped(struct rioWriter *w, const struct hash *h) {
    unsigned char *lp = hashShapedListpack(h->ptr);
    rdbWriteString(w, strN((const char *)lp, lpBytes(lp)));
    lpFree(lp);
}

static void hashRdbSaveTable(struct rioWriter *w, hashtable *ht, bool expiring) {
    struct hashtableIterator it;
    void *entry;
    rdbWriteLen(w, hashtableSize(ht));
    hashtableInitIterator(&it, ht, false);
    while (hashtableNext(&it, &entry)) {
        rdbWriteString(w, hashEntryField(entry));
        rdbWriteString(w, hashEntryValue(entry));
        if (expiring) rdbWriteInt64(w, hashEntryExpire(entry));
    }
    hashtableStopIterator(&it);
}

static void hashRdbSaveTimed(struct rioWriter *w, const struct hash *h) {
    rdbWriteLen(w, hashSize(h));
    for (unsigned char *p = NULL; (p = hashTimedNext(h->ptr, p));) {
        struct hashItem item;
        hashRead(h, p, &item);
        rdbWriteString(w, item.field.s);
        rdbWriteString(w, item.value.s);
        rdbWriteInt64(w, item.expire_ms);
    }
}

/* Passes all fields of a hash to fn, also those that have expired: what time it is must not be asked in a
 * snapshot's thread. */
static void hashRdbEachField(const struct hash *h, void (*fn)(void *priv, const struct hashItem *item),
                             void *priv) {
    struct hashItem item;
    if (h->encoding == HASH_TIMED) {
        for (unsigned char *p = NULL; (p = hashTimedNext(h->ptr, p));) {
            hashRead(h, p, &item);
            fn(priv, &item);
        }
    } else if (hashTable(h)) {
        struct hashtableIterator it;
        void *entry;
        hashtableInitIterator(&it, h->ptr, false);
        while (hashtableNext(&it, &entry)) {
            hashRead(h, entry, &item);
            fn(priv, &item);
        }
    } else {
        struct hashIterator it;
        hashIterate(&it, h);
        while (hashNext(&it, &item)) fn(priv, &item);
        hashStop(&it);
    }
}

int64_t hashRdbRedisExpiry(int64_t expire_ms) {
    return expire_ms < REDIS_EXPIRY_MAX ? expire_ms : REDIS_EXPIRY_MAX;
}

void hashRdbWriteForRedis(struct rioWriter *w, int64_t first_ms, const struct hashItem *item) {
    bool expires = item->expire_ms != HASH_NO_EXPIRE;
    rdbWriteLen(w, expires ? (uint64_t)(hashRdbRedisExpiry(item->expire_ms) - first_ms) + 1 : 0);
    rdbWriteString(w, item->field.s);
    rdbWriteString(w, item->value.s);
}

/* Saves a hash with expiring fields in Redis's format, in two passes: the first finds the first expiry. */
struct hashRdbForRedis {
    struct rioWriter *w;
    int64_t first_ms;
};

static void hashRdbNoteFirst(void *priv, const struct hashItem *item) {
    struct hashRdbForRedis *pass = priv;
    if (item->expire_ms != HASH_NO_EXPIRE && item->expire_ms < pass->first_ms)
        pass->first_ms = item->expire_ms;
}

static void hashRdbSaveField(void *priv, const struct hashItem *item) {
    struct hashRdbForRedis *pass = priv;
    hashRdbWriteForRedis(pass->w, pass->first_ms, item);
}

static void hashRdbSaveForRedis(struct rioWriter *w, const struct hash *h) {
    struct hashRdbForRedis pass = {.w = w, .first_ms = REDIS_EXPIRY_MAX};
    hashRdbEachField(h, hashRdbNoteFirst, &pass);
    rdbWriteInt64(w, pass.first_ms);
    rdbWriteLen(w, hashSize(h));
    hashRdbEachField(h, hashRdbSaveField, &pass);
}

void hashRdbSave(struct rioWriter *w, const struct object *o) {
    struct hash h;
    hashOpen(&h, o);
    if (hashRdbType(o, w->version) == RDB_TYPE_REDIS_HASH_EXPIRING) {
        hashRdbSaveForRedis(w, &h);
        return;
    }
    switch (h.encoding) {
    case HASH_PACKED: hashRdbSavePacked(w, &h); break;
    case HASH_LISTPACK: rdbWriteString(w, strN(h.ptr, lpBytes(h.ptr))); break;
    case HASH_TIMED: hashRdbSaveTimed(w, &h); break;
    case HASH_SHAPED: hashRdbSaveShaped(w, &h); break;
    default: hashRdbSaveTable(w, h.ptr, h.encoding == HASH_EXPIRING);
    }
}

/* ---- Loading ---- */

static enum rdbLoaded hashRdbLoaded(struct rdbReader *r, struct hash *h, struct value *v) {
    if (hashSize(h) == 0) {
        hashDrop(h);
        return RDB_EMPTY;
    }
    if (h->encoding == HASH_PACKED) { /* its bytes are in *h and have to stay there */
        memcpy(r->small, h->ptr, h->used);
        h->ptr = r->small;
    }
    hashFindShape(h);
    *v = hashValue(h);
    return RDB_LOADED;
}

static bool hashRdbFailTwice(struct rdbReader *r) {
    return rioFail(&r->io, "a field is in the hash twice");
}

static bool hashRdbIsOver(const struct rdbReader *r, int64_t expire_ms) {
    return !r->keep_expired && hashTimeHasExpired(expire_ms, cmd_time_ms);
}

/* Sets a field that has been read, unless it has expired. */
static bool hashRdbSet(struct rdbReader *r, struct hash *h, struct str field, struct str value,
                       int64_t expire_ms) {
    if (expire_ms < HASH_NO_EXPIRE) return rioFail(&r->io, "a field expires at %lld", (long long)expire_ms);
    if (hashRdbIsOver(r, expire_ms)) return true;
    if (!hashSet(h, field, (struct hashInput){.text = value}, false)) return hashRdbFailTwice(r);
    if (expire_ms != HASH_NO_EXPIRE) hashSetExpire(h, field, expire_ms);
    return true;
}

/* Reads a field's value and, if `expiring`, its expiry. */
static bool hashRdbLoadValue(struct rdbReader *r, bool expiring, struct hash *h, struct str field) {
    struct rdbHeld held;
    struct str value;
    int64_t expire_ms = HASH_NO_EXPIRE;
    bool ok = true;
    held.own = NULL;
    if (expiring) {
        ok = rdbReadHeld(r, &held) && rdbReadInt64(r, &expire_ms);
        value = held.s;
    } else {
        ok = rdbReadElement(r, &value);
    }
    ok = ok && hashRdbSet(r, h, field, value, expire_ms);
    rdbHeldFree(&held);
    return ok;
}

bool hashRdbReadFields(struct rdbReader *r, bool expiring, struct hash *h) {
    uint64_t n;
    if (!rdbReadCount(r, expiring ? 10 : 2, &n)) return false;
    hashNew(h);
    hashExpect(h, rdbPresize(r, n));
    for (; n; n--) {
        struct rdbHeld field;
        bool ok = rdbReadHeld(r, &field) && hashRdbLoadValue(r, expiring, h, field.s);
        rdbHeldFree(&field);
        if (ok) continue;
        hashDrop(h);
        return false;
    }
    return true;
}

static enum rdbLoaded hashRdbLoadFields(struct rdbReader *r, bool expiring, struct value *v) {
    struct hash h;
    return hashRdbReadFields(r, expiring, &h) ? hashRdbLoaded(r, &h, v) : RDB_FAILED;
}

/* Reads a time, a field and a value of Redis's format. */
static bool hashRdbReadRedisField(struct rdbReader *r, int64_t first_ms, struct hash *h) {
    struct rdbHeld field;
    struct str value;
    uint64_t time;
    if (!rdbReadLen(r, &time)) return false;
    if (time > (uint64_t)(REDIS_EXPIRY_MAX - first_ms) + 1)
        return rioFail(&r->io, "a field expires too late");
    int64_t expire_ms = time ? first_ms + (int64_t)time - 1 : HASH_NO_EXPIRE;
    bool ok =
        rdbReadHeld(r, &field) && rdbReadElement(r, &value) && hashRdbSet(r, h, field.s, value, expire_ms);
    rdbHeldFree(&field);
    return ok;
}

static enum rdbLoaded hashRdbLoadRedisFields(struct rdbReader *r, struct value *v) {
    struct hash h;
    int64_t first_ms;
    uint64_t n;
    if (!rdbReadInt64(r, &first_ms) || !rdbReadCount(r, 3, &n)) return RDB_FAILED;
    if (first_ms < 0 || first_ms > REDIS_EXPIRY_MAX) {
        rioFail(&r->io, "the first field expires at %lld", (long long)first_ms);
        return RDB_FAILED;
    }
    hashNew(&h);
    hashExpect(&h, rdbPresize(r, n));
    bool ok = true;
    for (; ok && n; n--) ok = hashRdbReadRedisField(r, first_ms, &h);
    if (ok) return hashRdbLoaded(r, &h, v);
    hashDrop(&h);
    return RDB_FAILED;
}

/* Sets the field at p of a listpack of Redis's format and moves p to the next. */
static bool hashRdbSetRedisTriple(struct rdbReader *r, struct hash *h, unsigned char *lp, unsigned char **p) {
    char field_text[LP_INTBUF_SIZE], value_text[LP_INTBUF_SIZE];
    unsigned char *value = lpNext(lp, *p), *time = lpNext(lp, value);
    struct lpValue ms;
    struct str field = lpView(*p, field_text);
    lpGetValue(time, &ms);
    if (ms.sval || ms.lval < 0 || ms.lval > REDIS_EXPIRY_MAX)
        return rioFail(&r->io, "the expiry of a field is not a time");
    *p = lpNext(lp, time);
    return hashRdbSet(r, h, field, lpView(value, value_text), ms.lval ? ms.lval : HASH_NO_EXPIRE);
}

static enum rdbLoaded hashRdbLoadRedisFlat(struct rdbReader *r, struct value *v) {
    int64_t first_ms; /* the listpack has it, too */
    struct hash h;
    unsigned char *lp = rdbReadInt64(r, &first_ms) ? rdbReadFlat(r, RDB_FLAT_LISTPACK) : NULL;
    if (!lp) return RDB_FAILED;
    bool ok = lpLength(lp) % 3 == 0 || rioFail(&r->io, "a field without a value or an expiry");
    hashNew(&h);
    hashExpect(&h, lpLength(lp) / 3);
    for (unsigned char *p = lpFirst(lp); ok && p;) ok = hashRdbSetRedisTriple(r, &h, lp, &p);
    lpFree(lp);
    if (ok) return hashRdbLoaded(r, &h, v);
    hashDrop(&h);
    return RDB_FAILED;
}

/* Sets the pairs of a listpack one by one, in the encoding that suits them. */
static void hashRdbFill(struct hash *h, unsigned char *lp) {
    char field_text[LP_INTBUF_SIZE], value_text[LP_INTBUF_SIZE];
    hashNew(h);
    hashExpect(h, lpLength(lp) / 2);
    for (unsigned char *p = lpFirst(lp); p;) {
        unsigned char *value = lpNext(lp, p);
        hashSet(h, lpView(p, field_text), (struct hashInput){.text = lpView(value, value_text)}, false);
        p = lpNext(lp, value);
    }
}

static enum rdbLoaded hashRdbLoadFlat(struct rdbReader *r, enum rdbFlatForm form, struct value *v) {
    unsigned char *lp = rdbReadFlat(r, form);
    if (!lp) return RDB_FAILED;
    bool pairs = lpLength(lp) % 2 == 0 || rioFail(&r->io, "a field without a value");
    if (!pairs || (!rdbFlatEachOnce(lp, 2) && !hashRdbFailTwice(r))) {
        lpFree(lp);
        return RDB_FAILED;
    }
    struct hash h = {.encoding = HASH_LISTPACK, .ptr = lp}; /* shape_before is 0 */
    if (!hashListpackStays(lp)) {
        hashRdbFill(&h, lp);
        lpFree(lp);
    }
    return hashRdbLoaded(r, &h, v);
}

enum rdbLoaded hashRdbLoad(struct rdbReader *r, uint8_t rdb_type, struct value *v) {
    switch (rdb_type) {
    case RDB_TYPE_HASH_LISTPACK: return hashRdbLoadFlat(r, RDB_FLAT_LISTPACK, v);
    case RDB_TYPE_HASH_ZIPLIST: return hashRdbLoadFlat(r, RDB_FLAT_ZIPLIST, v);
    case RDB_TYPE_HASH_ZIPMAP: return hashRdbLoadFlat(r, RDB_FLAT_ZIPMAP, v);
    case RDB_TYPE_REDIS_HASH_EXPIRING: return hashRdbLoadRedisFields(r, v);
    case RDB_TYPE_REDIS_HASH_LISTPACK_EXPIRING: return hashRdbLoadRedisFlat(r, v);
    default: return hashRdbLoadFields(r, rdb_type == RDB_TYPE_HASH_EXPIRING, v);
    }
}

/* ---- Rewriting ---- */

void hashRdbRewriteExpiring(struct rioWriter *w, struct str key, const struct hashItem *item) {
    rewriteCommand(w, 8);
    rewriteArgs(w, STR("HSETEX"), key, STR("PXAT"));
    rewriteArgInt(w, item->expire_ms);
    rewriteArg(w, STR("FIELDS"));
    rewriteArgInt(w, 1);
    rewriteArgs(w, item->field.s, item->value.s);
}

static void hashRdbRewriteField(void *priv, const struct hashItem *item) {
    struct rewriteItems *items = priv;
    if (item->expire_ms != HASH_NO_EXPIRE) return;
    rewriteItem(items);
    rewriteArgs(items->w, item->field.s, item->value.s);
}

static void hashRdbRewriteIfExpiring(void *priv, const struct hashItem *item) {
    const struct rewriteItems *items = priv;
    if (item->expire_ms != HASH_NO_EXPIRE) hashRdbRewriteExpiring(items->w, items->key, item);
}

void hashRdbRewrite(struct rioWriter *w, struct str key, const struct object *o) {
    struct hash h;
    hashOpen(&h, o);
    size_t expiring = hashCountExpiringFields(&h);
    struct rewriteItems items = {
        .w = w, .left = hashSize(&h) - expiring, .args_per_item = 2, .name = STR("HSET"), .key = key};
    hashRdbEachField(&h, hashRdbRewriteField, &items);
    if (expiring) hashRdbEachField(&h, hashRdbRewriteIfExpiring, &items);
}
