/* SPDX-License-Identifier: BSD-3-Clause */
/* list_parts.c - long lists in snapshots without a fork: struct valueParts (data/forkless/large_value.h).
 *
 * ds/quicklist_save.h has the nodes of the moment of the registration, in their order; a part is one of
 * them. A node of many bytes, such as a huge element's, is written in several parts, between which the list
 * may be changed. Old nodes may go to a file (largeValueSpill), but not in commands, whose form depends on
 * what comes before. In commands, a compressed node is unpacked once, however long its element is. */
#include <lzf.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "data/forkless/large_value.h"
#include "data/rdb/rewrite.h"
#include "ds/quicklist_save.h"
#include "types/list/list.h"
#include "types/rdb_hooks.h"

#define PART_BYTES    (64 * 1024)
#define PART_ELEMENTS 256 /* in commands */
#define NODES_LOOKED  64  /* a list of more nodes is large */

struct listSave {
    struct qlSave *nodes;
    size_t done;             /* bytes of the present node that have been written */
    unsigned char *unpacked; /* the present node's contents if it is compressed, for commands */
    struct rewriteItems items;
};

struct qlSave *listSaveOf(const struct quicklist *ql) {
    struct largeValue *v = largeValueFind(ql);
    struct listSave *s = v ? v->state : NULL;
    return s ? s->nodes : NULL;
}

static void listPartsAddBytes(void *bytes, const struct qlNodeView *n) {
    *(size_t *)bytes += n->length;
}

static bool listPartsIsLarge(const struct object *o) {
    const struct quicklist *ql = objectPtr(o);
    size_t bytes = 0;
    if (ql->count > LARGE_VALUE_ELEMENTS || ql->nodes > NODES_LOOKED) return true;
    qlForEachNode(ql, listPartsAddBytes, &bytes);
    return bytes > LARGE_VALUE_BYTES;
}

static void *listPartsStore(void *priv, struct str bytes) {
    struct spillExtent at;
    if (!largeValueSpill(priv, bytes, &at)) return NULL;
    return memcpy(zmalloc(sizeof at), &at, sizeof at);
}

static void listPartsBegin(struct largeValue *v, const struct object *o) {
    struct quicklist *ql = objectPtr(o);
    struct listSave *s = zmalloc(sizeof *s);
    struct rioWriter *w = largeValueWriter(v);
    *s = (struct listSave){.nodes = qlSaveBegin(ql, v->commands ? NULL : listPartsStore, v)};
    s->items = (struct rewriteItems){
        .w = w, .left = ql->count, .args_per_item = 1, .name = STR("RPUSH"), .key = v->key};
    v->state = s;
    if (!v->commands) rdbWriteLen(w, ql->nodes);
}

static void listPartsNodeDone(struct listSave *s) {
    qlSaveAdvance(s->nodes);
    zfree(s->unpacked);
    s->unpacked = NULL;
    s->done = 0;
}

/* Writes the next piece of `bytes`. Returns whether it was the last one. */
static bool listPartsWritePiece(struct listSave *s, struct rioWriter *w, struct str bytes) {
    size_t n = bytes.len - s->done < PART_BYTES ? bytes.len - s->done : PART_BYTES;
    rioWrite(w, bytes.ptr + s->done, n);
    s->done += n;
    return s->done == bytes.len;
}

/* ---- RDB ---- */

/* Some of it may have been written before it was changed. */
static void listPartsRdbSpilled(struct largeValue *v, const struct qlNodeView *n) {
    struct listSave *s = v->state;
    struct spillExtent at;
    memcpy(&at, n->bytes.ptr, sizeof at);
    if (!s->done) listRdbSaveNodeHead(largeValueWriter(v), n);
    at.offset += s->done;
    at.bytes -= s->done;
    largeValueWriteSpilled(v, at);
    listPartsNodeDone(s);
}

static void listPartsRdbNode(struct listSave *s, struct rioWriter *w, const struct qlNodeView *n) {
    if (n->bytes.len <= PART_BYTES) {
        listRdbSaveNode(w, n);
        listPartsNodeDone(s);
        return;
    }
    if (!s->done) listRdbSaveNodeHead(w, n);
    if (listPartsWritePiece(s, w, n->bytes)) listPartsNodeDone(s);
}

/* ---- Commands ---- */

static struct str listPartsUnpacked(struct listSave *s, const struct qlNodeView *n) {
    if (!n->compressed) return n->bytes;
    if (!s->unpacked) {
        s->unpacked = zmalloc(n->length);
        unsigned got = lzf_decompress(n->bytes.ptr, (unsigned)n->bytes.len, s->unpacked, (unsigned)n->length);
        serverAssert(got == n->length);
    }
    return strN((const char *)s->unpacked, n->length);
}

static void listPartsCommandElement(struct listSave *s, struct rioWriter *w, struct str element) {
    if (!s->done) {
        rewriteItem(&s->items);
        rewriteArgBegin(w, element.len);
    }
    if (!listPartsWritePiece(s, w, element)) return;
    rewriteArgEnd(w);
    listPartsNodeDone(s);
}

static void listPartsCommandListpack(struct listSave *s, struct rioWriter *w, unsigned char *lp) {
    char text[LP_INTBUF_SIZE];
    size_t end = rioWritten(w) + PART_BYTES;
    unsigned char *p = s->done ? lp + s->done : lpFirst(lp);
    for (int i = 0; p && i < PART_ELEMENTS && rioWritten(w) < end; i++, p = lpNext(lp, p)) {
        rewriteItem(&s->items);
        rewriteArg(w, lpView(p, text));
    }
    if (p)
        s->done = (size_t)(p - lp);
    else
        listPartsNodeDone(s);
}

/* ---- The hooks ---- */

static bool listPartsNext(struct largeValue *v) {
    struct listSave *s = v->state;
    struct rioWriter *w = largeValueWriter(v);
    struct qlNodeView n;
    enum qlSaveStep step = qlSaveCurrent(s->nodes, &n);
    if (step != QL_SAVE_NODE) return step != QL_SAVE_DONE;
    if (n.elsewhere) {
        listPartsRdbSpilled(v, &n);
        return true;
    }
    if (!v->commands) {
        listPartsRdbNode(s, w, &n);
        return true;
    }
    struct str bytes = listPartsUnpacked(s, &n);
    if (n.plain)
        listPartsCommandElement(s, w, bytes);
    else
        listPartsCommandListpack(s, w, (unsigned char *)bytes.ptr);
    return true;
}

static void listPartsEnd(struct largeValue *v, bool complete) {
    struct listSave *s = v->state;
    debugAssert(!complete || !s->items.left || !v->commands);
    (void)complete;
    qlSaveEnd(s->nodes);
    zfree(s->unpacked);
    zfree(s);
}

static size_t listPartsKeptBytes(const struct largeValue *v) {
    return qlSaveKeptBytes(((const struct listSave *)v->state)->nodes);
}

static const struct valueParts list_parts = {.isLarge = listPartsIsLarge,
                                             .begin = listPartsBegin,
                                             .next = listPartsNext,
                                             .end = listPartsEnd,
                                             .keptBytes = listPartsKeptBytes};

const struct valueParts *listParts(const struct object *o) {
    return o->encoding == LIST_QUICKLIST ? &list_parts : NULL;
}
