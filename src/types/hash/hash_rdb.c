/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_rdb.c - hashes in files (part of rdb_hooks.h).
 *
 *     listpack      field, value, field, value ...                     (ziplist and zipmap likewise)
 *     hash          number of fields, then each: field | value
 *     expiring      number of fields, then each: field | value | expiry in ms, or -1
 *
 * A hash packed into its object is written as a listpack. Fields past their expiry are written like all
 * others; the reader leaves them out. */
#include "base/zmalloc.h"
#include "data/rdb/rewrite.h"
#include "registry/cron.h"
#include "types/hash/hash_private.h"
#include "types/rdb_hooks.h"
#include "types/types.h"

uint8_t hashRdbType(const struct object *o, int version) {
    (void)version;
    static const uint8_t types[] = {
        [HASH_PACKED] = RDB_TYPE_HASH_LISTPACK,   [HASH_LISTPACK] = RDB_TYPE_HASH_LISTPACK,
        [HASH_TIMED] = RDB_TYPE_HASH_EXPIRING,    [HASH_TABLE] = RDB_TYPE_HASH,
        [HASH_EXPIRING] = RDB_TYPE_HASH_EXPIRING,
    };
    return types[o->encoding];
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

static void hashRdbSaveTable(struct rioWriter *w, hashtable *ht, bool expiring) {
    struct hashtableIterator it;
    void *entry;
    rdbWriteLen(w, hashtableSize(ht));
    hashtableInitIterator(&it, ht, true);
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

void hashRdbSave(struct rioWriter *w, const struct object *o) {
    struct hash h;
    hashOpen(&h, o);
    switch (h.encoding) {
    case HASH_PACKED: hashRdbSavePacked(w, &h); break;
    case HASH_LISTPACK: rdbWriteString(w, strN(h.ptr, lpBytes(h.ptr))); break;
    case HASH_TIMED: hashRdbSaveTimed(w, &h); break;
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
    *v = hashValue(h);
    return RDB_LOADED;
}

static bool hashRdbFailTwice(struct rdbReader *r) {
    return rioFail(&r->io, "a field is in the hash twice");
}

static bool hashRdbIsOver(const struct rdbReader *r, int64_t expire_ms) {
    return !r->keep_expired && hashTimeHasExpired(expire_ms, cmd_time_ms);
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
        if (ok && expire_ms < HASH_NO_EXPIRE)
            ok = rioFail(&r->io, "a field expires at %lld", (long long)expire_ms);
    } else {
        ok = rdbReadElement(r, &value);
    }
    if (ok && !hashRdbIsOver(r, expire_ms)) {
        ok = hashSet(h, field, (struct hashInput){.text = value}, false) || hashRdbFailTwice(r);
        if (ok && expire_ms != HASH_NO_EXPIRE) hashSetExpire(h, field, expire_ms);
    }
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
    struct hash h = {.encoding = HASH_LISTPACK, .ptr = lp};
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
    default: return hashRdbLoadFields(r, rdb_type == RDB_TYPE_HASH_EXPIRING, v);
    }
}

/* ---- Rewriting ---- */

static void hashRdbRewriteExpiring(struct rioWriter *w, struct str key, const struct hashItem *item) {
    rewriteCommand(w, 8);
    rewriteArgs(w, STR("HSETEX"), key, STR("PXAT"));
    rewriteArgInt(w, item->expire_ms);
    rewriteArg(w, STR("FIELDS"));
    rewriteArgInt(w, 1);
    rewriteArgs(w, item->field.s, item->value.s);
}

void hashRdbRewrite(struct rioWriter *w, struct str key, const struct object *o) {
    struct hash h;
    struct hashIterator it;
    struct hashItem item;
    hashOpen(&h, o);
    size_t expiring = hashCountExpiringFields(&h);
    struct rewriteItems items = {
        .w = w, .left = hashSize(&h) - expiring, .args_per_item = 2, .name = STR("HSET"), .key = key};
    hashIterate(&it, &h);
    while (hashNext(&it, &item)) {
        if (item.expire_ms != HASH_NO_EXPIRE) continue;
        rewriteItem(&items);
        rewriteArgs(w, item.field.s, item.value.s);
    }
    hashStop(&it);
    if (!expiring) return;
    hashIterate(&it, &h);
    while (hashNext(&it, &item))
        if (item.expire_ms != HASH_NO_EXPIRE) hashRdbRewriteExpiring(w, key, &item);
    hashStop(&it);
}
