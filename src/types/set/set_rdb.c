/* SPDX-License-Identifier: BSD-3-Clause */
/* set_rdb.c - sets in files (part of rdb_hooks.h).
 *
 *     intset, listpack   its bytes
 *     set                number of members and the members (and listpacks, for versions without them)
 */
#include "base/zmalloc.h"
#include "data/rdb/rewrite.h"
#include "ds/intset.h"
#include "types/rdb_hooks.h"
#include "types/set/set.h"

uint8_t setRdbType(const struct object *o, int version) {
    static const uint8_t types[] = {
        [SET_INTSET] = RDB_TYPE_SET_INTSET,
        [SET_LISTPACK] = RDB_TYPE_SET_LISTPACK,
        [SET_HASHTABLE] = RDB_TYPE_SET,
    };
    if (rdbIsForRedis7(version) && o->encoding == SET_LISTPACK) return RDB_TYPE_SET;
    return types[o->encoding];
}

void setRdbSave(struct rioWriter *w, const struct object *o) {
    struct setRef s = setOpen(o);
    if (setRdbType(o, w->version) != RDB_TYPE_SET) {
        rdbWriteString(w, strN(s.ptr, s.encoding == SET_INTSET ? intsetBytes(s.ptr) : lpBytes(s.ptr)));
        return;
    }
    struct setIterator it;
    struct setMember m;
    rdbWriteLen(w, setSize(s));
    setIterate(&it, s);
    while (setNext(&it, &m)) rdbWriteString(w, m.s);
    setStop(&it);
}

/* ---- Loading ---- */

static enum rdbLoaded setRdbFailTwice(struct rdbReader *r) {
    rioFail(&r->io, "a member is in the set twice");
    return RDB_FAILED;
}

static enum rdbLoaded setRdbLoadMembers(struct rdbReader *r, struct value *v) {
    uint64_t n;
    struct str first, member;
    if (!rdbReadCount(r, 1, &n)) return RDB_FAILED;
    if (n == 0) return RDB_EMPTY;
    if (!rdbReadElement(r, &first)) return RDB_FAILED;
    struct setRef s = setNew(first, rdbPresize(r, n));
    setAdd(&s, first);
    while (--n) {
        bool ok = rdbReadElement(r, &member);
        if (ok && setAdd(&s, member)) continue;
        setFree(s);
        return ok ? setRdbFailTwice(r) : RDB_FAILED;
    }
    *v = setValue(s);
    return RDB_LOADED;
}

/* Takes over a valid container of another server, which may have had other limits. */
static enum rdbLoaded setRdbAdopt(struct setRef s, struct value *v) {
    if (!setFits(s)) {
        struct setRef table = setNewTable(setSize(s));
        struct setIterator it;
        struct setMember m;
        setIterate(&it, s);
        while (setNext(&it, &m)) setAdd(&table, m.s);
        setStop(&it);
        setFree(s);
        s = table;
    }
    *v = setValue(s);
    return RDB_LOADED;
}

static enum rdbLoaded setRdbLoadIntset(struct rdbReader *r, struct value *v) {
    size_t size;
    unsigned char *is = rdbReadBlob(r, &size);
    if (!is) return RDB_FAILED;
    if (intsetValidate(is, size, true)) return setRdbAdopt((struct setRef){is, SET_INTSET}, v);
    zfree(is);
    rioFail(&r->io, "an intset that is not sound");
    return RDB_FAILED;
}

static enum rdbLoaded setRdbLoadListpack(struct rdbReader *r, struct value *v) {
    unsigned char *lp = rdbReadFlat(r, RDB_FLAT_LISTPACK);
    if (!lp) return RDB_FAILED;
    bool empty = !lpFirst(lp);
    if (!empty && rdbFlatEachOnce(lp, 1)) return setRdbAdopt((struct setRef){lp, SET_LISTPACK}, v);
    lpFree(lp);
    return empty ? RDB_EMPTY : setRdbFailTwice(r);
}

enum rdbLoaded setRdbLoad(struct rdbReader *r, uint8_t rdb_type, struct value *v) {
    switch (rdb_type) {
    case RDB_TYPE_SET_INTSET: return setRdbLoadIntset(r, v);
    case RDB_TYPE_SET_LISTPACK: return setRdbLoadListpack(r, v);
    default: return setRdbLoadMembers(r, v);
    }
}

/* ---- Rewriting ---- */

void setRdbRewrite(struct rioWriter *w, struct str key, const struct object *o) {
    struct setRef s = setOpen(o);
    struct rewriteItems items = {
        .w = w, .left = setSize(s), .args_per_item = 1, .name = STR("SADD"), .key = key};
    struct setIterator it;
    struct setMember m;
    setIterate(&it, s);
    while (setNext(&it, &m)) {
        rewriteItem(&items);
        rewriteArg(w, m.s);
    }
    setStop(&it);
}
