/* SPDX-License-Identifier: BSD-3-Clause */
/* list_rdb.c - lists in files (part of rdb_hooks.h).
 *
 *     quicklist 2    number of nodes, then each: 1 | element      (plain)
 *                                                2 | listpack     (packed)
 *     quicklist      number of nodes, each a ziplist
 *     ziplist, list  one ziplist; number of elements and the elements
 *
 * A list is always written as quicklist 2; a short one is its only node. Nodes that are compressed in memory
 * are written as they are. */
#include "base/zmalloc.h"
#include "data/rdb/rewrite.h"
#include "types/list/list.h"
#include "types/rdb_hooks.h"
#include "types/types.h"

enum { NODE_PLAIN = 1, NODE_PACKED = 2 };
_Static_assert(LIST_EMBED_MAX <= OBJ_EMBED_MAX, "r->small has room for a value that is embedded");

uint8_t listRdbType(const struct object *o, int version) {
    (void)o, (void)version;
    return RDB_TYPE_LIST_QUICKLIST_2;
}

void listRdbSaveNodeHead(struct rioWriter *w, const struct qlNodeView *n) {
    rdbWriteLen(w, n->plain ? NODE_PLAIN : NODE_PACKED);
    if (n->compressed)
        rdbWriteLzfHead(w, n->bytes.len, n->length);
    else
        rdbWriteLen(w, n->bytes.len);
}

void listRdbSaveNode(void *priv, const struct qlNodeView *n) {
    struct rioWriter *w = priv;
    rdbWriteLen(w, n->plain ? NODE_PLAIN : NODE_PACKED);
    if (n->compressed)
        rdbWriteLzf(w, n->bytes, n->length);
    else
        rdbWriteString(w, n->bytes);
}

void listRdbSave(struct rioWriter *w, const struct object *o) {
    struct listRef l = listTypeOpen(o);
    if (l.encoding == LIST_LISTPACK) {
        rdbWriteLen(w, 1);
        listRdbSaveNode(w, &(struct qlNodeView){.bytes = strN(l.ptr, lpBytes(l.ptr))});
        return;
    }
    const struct quicklist *ql = l.ptr;
    rdbWriteLen(w, ql->nodes);
    qlForEachNode(ql, listRdbSaveNode, w);
}

/* ---- Loading ---- */

static bool listRdbLoadPlain(struct rdbReader *r, struct quicklist *ql) {
    struct str s;
    if (!rdbReadElement(r, &s)) return false;
    if (!s.len) return rioFail(&r->io, "a list's node of its own for an empty element");
    qlLoadPlain(ql, s);
    return true;
}

/* Empty listpacks are accepted, as old servers wrote them. */
static bool listRdbLoadPacked(struct rdbReader *r, struct quicklist *ql) {
    size_t size;
    unsigned char *lp = rdbReadBlob(r, &size);
    if (!lp) return false;
    if (qlLoadListpack(ql, lp, size)) return true;
    bool empty = lpValidate(lp, size, true, NULL, NULL) && !lpFirst(lp);
    zfree(lp);
    return empty || rioFail(&r->io, "a list's node that is not sound");
}

static bool listRdbLoadZiplist(struct rdbReader *r, struct quicklist *ql) {
    unsigned char *lp = rdbReadFlat(r, RDB_FLAT_ZIPLIST);
    if (!lp) return false;
    if (!qlLoadListpack(ql, lp, lpBytes(lp))) lpFree(lp);
    return true;
}

static bool listRdbLoadNode(struct rdbReader *r, struct quicklist *ql) {
    uint64_t form;
    if (!rdbReadLen(r, &form)) return false;
    if (form == NODE_PLAIN) return listRdbLoadPlain(r, ql);
    if (form == NODE_PACKED) return listRdbLoadPacked(r, ql);
    return rioFail(&r->io, "unknown form of a list's node: %llu", (unsigned long long)form);
}

static bool listRdbLoadInto(struct rdbReader *r, uint8_t rdb_type, struct quicklist *ql) {
    if (rdb_type == RDB_TYPE_LIST_ZIPLIST) return listRdbLoadZiplist(r, ql);
    uint64_t n;
    bool ok = rdbReadCount(r, rdb_type == RDB_TYPE_LIST_QUICKLIST_2 ? 2 : 1, &n);
    for (; ok && n; n--) {
        if (rdb_type == RDB_TYPE_LIST)
            ok = listRdbLoadPlain(r, ql);
        else if (rdb_type == RDB_TYPE_LIST_QUICKLIST)
            ok = listRdbLoadZiplist(r, ql);
        else
            ok = listRdbLoadNode(r, ql);
    }
    return ok;
}

enum rdbLoaded listRdbLoad(struct rdbReader *r, uint8_t rdb_type, struct value *v) {
    struct listRef l = listTypeNewChain();
    bool ok = listRdbLoadInto(r, rdb_type, l.ptr);
    if (!ok || !listTypeLength(l)) {
        listTypeFree(l);
        return ok ? RDB_EMPTY : RDB_FAILED;
    }
    listTypeFit(&l);
    *v = listTypeValue(l, r->small);
    return RDB_LOADED;
}

/* ---- Rewriting ---- */

void listRdbRewrite(struct rioWriter *w, struct str key, const struct object *o) {
    struct listRef l = listTypeOpen(o);
    struct rewriteItems items = {
        .w = w, .left = listTypeLength(l), .args_per_item = 1, .name = STR("RPUSH"), .key = key};
    struct listIterator it;
    char text[LP_INTBUF_SIZE];
    for (bool more = listTypeSeek(&it, l, 0); more; more = listTypeNext(&it)) {
        rewriteItem(&items);
        rewriteArg(w, listTypeText(&it, text));
    }
    listTypeStop(&it);
}
