/* SPDX-License-Identifier: BSD-3-Clause */
/* quicklist.c - a chain of listpacks, the inner ones compressed on demand; the contract is in quicklist.h.
 *
 *     struct quicklist     head | tail | count | nodes, fill, depth            32 bytes
 *                           |      \________________________________
 *                           v                                       v
 *     struct qlNode        node <-> node <-> node <-> node <-> ... node        32 bytes each
 *                           |        |        |        |            |
 *                           lp      lzf     plain     lzf           lp         their data
 *
 *     depth 1:             raw      |<---- inner: compressed ---->|  raw
 *
 * Three rules hold whenever no function of this file runs and no cursor has unsaved changes (qlCheck):
 *  - no node is empty, and a plain one has exactly one element;
 *  - the `depth` nodes at each end are raw, so the ends, where lists are changed most, cost no unpacking;
 *  - every other node is compressed, or is marked `incompressible` since trying did not save enough.
 *
 * A function that changes a node unpacks it, and hands it to qlSettle() when it is done. One that changes how
 * many nodes there are calls qlSettleEnds(), since nodes near the ends may have come into the raw part or
 * left it. */
#include "ds/quicklist.h"

#include <lzf.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "ds/quicklist_private.h"

#define LP_EMPTY          7 /* bytes of a listpack without elements */
#define COUNT_FILL_BYTES  8192
#define NODE_COUNT_MAX    UINT16_MAX
#define COMPRESS_MIN      48 /* smaller nodes are not compressed */
#define COMPRESS_SAVE_MIN 8  /* compressing has to save at least this */
#define INSERT_NODES_MAX  2  /* the most nodes that one insertion adds */
#define LINE              64
#define LINES_TO_MOVE                                                                                        \
    4 /* cache lines prefetched for a change at the front, which moves the elements behind it */

/* ---- Limits ---- */

struct qlLimits qlLimitsOf(int64_t fill) {
    if (fill >= 0)
        return (struct qlLimits){COUNT_FILL_BYTES, fill == 0                ? 1
                                                   : fill <= NODE_COUNT_MAX ? (uint32_t)fill
                                                                            : NODE_COUNT_MAX};
    if (fill < -5) fill = -5;
    return (struct qlLimits){2048u << -fill, NODE_COUNT_MAX};
}

static size_t packed_threshold = SIZE_MAX;

void qlSetPackedThreshold(size_t bytes) {
    packed_threshold = bytes ? bytes : SIZE_MAX;
}

size_t qlEntryBound(size_t len) {
    if (__builtin_expect(len >= packed_threshold, 0)) return len + UINT32_MAX;
    return lpElementBound(len);
}

static bool qlIsHuge(const struct quicklist *ql, size_t len) {
    return LP_EMPTY + qlEntryBound(len) > qlLimitsOf(ql->fill).bytes;
}

static bool qlHasRoom(const struct quicklist *ql, const struct qlNode *n, size_t len) {
    return n && !n->plain && qlFits(qlLimitsOf(ql->fill), n->bytes, n->count, qlEntryBound(len), 1);
}

/* ---- Nodes ---- */

static struct qlNode *qlNodeNew(const struct quicklist *ql, unsigned char *data, size_t bytes, size_t count,
                                bool plain) {
    struct qlNode *n = zmalloc(sizeof *n);
    serverAssert(bytes <= UINT32_MAX && count > 0 && count <= NODE_COUNT_MAX);
    *n = (struct qlNode){
        .data = data, .bytes = (uint32_t)bytes, .count = (uint16_t)count, .plain = plain, .mark = ql->mark};
    return n;
}

static struct qlNode *qlNodeOfListpack(const struct quicklist *ql, unsigned char *lp) {
    return qlNodeNew(ql, lp, lpBytes(lp), lpLength(lp), false);
}

static unsigned char *qlPlainData(struct str s) {
    return memcpy(zmalloc(s.len), s.ptr, s.len);
}

static struct qlNode *qlNodeOfElement(const struct quicklist *ql, struct str s) {
    serverAssert(s.len < QL_ELEMENT_MAX);
    if (qlIsHuge(ql, s.len)) return qlNodeNew(ql, qlPlainData(s), s.len, 1, true);
    return qlNodeOfListpack(ql, lpAppend(lpNew(LP_EMPTY + qlEntryBound(s.len)), s));
}

void qlNodeFree(struct qlNode *n) {
    zfree(n->data);
    zfreeSized(n, sizeof *n);
}

/* Sets the node's listpack, which was replaced or has changed. */
static void qlNodeSetListpack(struct qlNode *n, unsigned char *lp) {
    n->data = lp;
    n->bytes = (uint32_t)lpBytes(lp);
    n->count = (uint16_t)lpLength(lp);
    n->incompressible = false;
}

size_t qlNodeDataSize(const struct qlNode *n) {
    return n->compressed ? sizeof(struct qlPacked) + ((struct qlPacked *)n->data)->size : n->bytes;
}

struct qlNodeView qlNodeViewOf(const struct qlNode *n) {
    const struct qlPacked *packed = (const struct qlPacked *)n->data;
    struct qlNodeView view = {.length = n->bytes, .plain = n->plain, .compressed = n->compressed};
    view.bytes = n->compressed ? strN((const char *)packed->bytes, packed->size)
                               : strN((const char *)n->data, n->bytes);
    return view;
}

/* Called before the contents of a node change. */
static inline void qlNodeWillChange(const struct quicklist *ql, struct qlNode *n) {
    if (__builtin_expect(ql->watched, 0)) qlSaveNode(ql, n);
}

/* Frees the data of a node, which gets other data or is freed itself. */
static void qlNodeDropData(const struct quicklist *ql, struct qlNode *n) {
    if (!ql->watched || !qlSaveTakeData(ql, n)) zfree(n->data);
    n->data = NULL;
}

/* ---- Compression ---- */

static unsigned char *qlUnpack(const struct qlNode *n) {
    const struct qlPacked *packed = (const struct qlPacked *)n->data;
    unsigned char *data = zmalloc(n->bytes);
    unsigned got = lzf_decompress(packed->bytes, packed->size, data, n->bytes);
    serverAssert(got == n->bytes);
    return data;
}

/* Replaces the compressed data by `data`, the result of qlUnpack(). */
static void qlReplacePacked(const struct quicklist *ql, struct qlNode *n, unsigned char *data) {
    qlNodeDropData(ql, n);
    n->data = data;
    n->compressed = false;
}

static void qlNodeUnpack(const struct quicklist *ql, struct qlNode *n) {
    if (n->compressed) qlReplacePacked(ql, n, qlUnpack(n));
}

/* Makes the node ready for a change of its contents. */
static void qlNodeOpen(const struct quicklist *ql, struct qlNode *n) {
    qlNodeUnpack(ql, n);
    qlNodeWillChange(ql, n);
}

static void qlNodePack(const struct quicklist *ql, struct qlNode *n) {
    if (n->compressed || n->incompressible) return;
    n->incompressible = true;
    if (n->bytes < COMPRESS_MIN) return;
    unsigned room = n->bytes - COMPRESS_SAVE_MIN - (unsigned)sizeof(struct qlPacked);
    struct qlPacked *packed = zmalloc(sizeof *packed + room);
    packed->size = lzf_compress(n->data, n->bytes, packed->bytes, room);
    if (!packed->size) {
        zfree(packed);
        return;
    }
    qlNodeDropData(ql, n);
    n->data = zrealloc(packed, sizeof *packed + packed->size);
    n->compressed = true;
    n->incompressible = false;
}

static bool qlIsInner(const struct quicklist *ql, const struct qlNode *n) {
    if (!ql->depth || ql->nodes <= 2u * ql->depth) return false;
    const struct qlNode *front = ql->head, *back = ql->tail;
    for (unsigned i = 0; i < ql->depth; i++, front = front->next, back = back->prev)
        if (front == n || back == n) return false;
    return true;
}

static void qlSettle(const struct quicklist *ql, struct qlNode *n) {
    if (!n) return;
    if (qlIsInner(ql, n))
        qlNodePack(ql, n);
    else
        qlNodeUnpack(ql, n);
}

static void qlSettleEnds(const struct quicklist *ql) {
    if (!ql->depth) return;
    struct qlNode *front = ql->head, *back = ql->tail;
    for (unsigned i = 0; i < ql->depth && front; i++, front = front->next, back = back->prev) {
        qlNodeUnpack(ql, front);
        qlNodeUnpack(ql, back);
    }
    for (unsigned i = 0; i < INSERT_NODES_MAX && front; i++, front = front->next, back = back->prev) {
        qlSettle(ql, front);
        qlSettle(ql, back);
    }
}

/* ---- Chain ---- */

/* Links n behind `at`; before all nodes if that is NULL. */
static void qlLink(struct quicklist *ql, struct qlNode *at, struct qlNode *n) {
    n->prev = at;
    n->next = at ? at->next : ql->head;
    *(n->prev ? &n->prev->next : &ql->head) = n;
    *(n->next ? &n->next->prev : &ql->tail) = n;
    ql->nodes++;
}

static void qlUnlinkAndFree(struct quicklist *ql, struct qlNode *n) {
    if (__builtin_expect(ql->watched, 0)) qlSaveUnlink(ql, n);
    *(n->prev ? &n->prev->next : &ql->head) = n->next;
    *(n->next ? &n->next->prev : &ql->tail) = n->prev;
    ql->nodes--;
    qlNodeFree(n);
}

/* Moves the elements from index `at` on to a new node behind n; both are raw. 0 < at < count. */
static struct qlNode *qlSplit(struct quicklist *ql, struct qlNode *n, uint32_t at) {
    qlNodeOpen(ql, n);
    unsigned char *right = lpDeleteRange(lpDup(n->data), 0, at);
    qlNodeSetListpack(n, lpDeleteRange(n->data, at, n->count - at));
    struct qlNode *other = qlNodeOfListpack(ql, right);
    qlLink(ql, n, other);
    return other;
}

/* Joins two changed neighbours, each of which may be NULL, to one node if its limits allow it. */
static void qlJoin(struct quicklist *ql, struct qlNode *n, struct qlNode *next) {
    if (n && next && !n->plain && !next->plain &&
        qlFits(qlLimitsOf(ql->fill), n->bytes, n->count, next->bytes - LP_EMPTY, next->count)) {
        qlNodeOpen(ql, n);
        qlNodeOpen(ql, next);
        qlNodeSetListpack(n, lpMerge(&n->data, &next->data));
        qlUnlinkAndFree(ql, next);
        next = NULL;
    }
    qlSettle(ql, n);
    qlSettle(ql, next);
}

/* Returns the node that holds the element at `index`, which becomes the index within the node. */
static struct qlNode *qlNodeAt(const struct quicklist *ql, uint64_t *index) {
    struct qlNode *n;
    if (*index < ql->count / 2) {
        for (n = ql->head; *index >= n->count; n = n->next) *index -= n->count;
    } else {
        uint64_t back = ql->count - *index;
        for (n = ql->tail; back > n->count; n = n->prev) back -= n->count;
        *index = n->count - back;
    }
    return n;
}

/* ---- Inserting ---- */

static void qlAddToNode(struct quicklist *ql, struct qlNode *n, struct str s, uint32_t at) {
    qlNodeOpen(ql, n);
    if (at == n->count)
        qlNodeSetListpack(n, lpAppend(n->data, s));
    else if (at == 0)
        qlNodeSetListpack(n, lpPrepend(n->data, s));
    else
        qlNodeSetListpack(n, lpInsert(n->data, s, lpSeek(n->data, at), LP_BEFORE, NULL));
    qlSettle(ql, n);
}

/* Adds an element between two neighbours, of which one may be NULL. */
static void qlAddBetween(struct quicklist *ql, struct qlNode *left, struct qlNode *right, struct str s) {
    if (qlHasRoom(ql, left, s.len)) {
        qlAddToNode(ql, left, s, left->count);
    } else if (qlHasRoom(ql, right, s.len)) {
        qlAddToNode(ql, right, s, 0);
    } else {
        struct qlNode *n = qlNodeOfElement(ql, s);
        qlLink(ql, left, n);
        qlSettleEnds(ql);
        qlSettle(ql, n);
    }
}

/* Inserts before the element at index `at` of the node (== count: after its last one); n NULL: at the
 * end. */
static void qlInsertAt(struct quicklist *ql, struct qlNode *n, uint32_t at, struct str s) {
    ql->count++;
    if (!n) {
        qlAddBetween(ql, ql->tail, NULL, s);
    } else if (qlHasRoom(ql, n, s.len)) {
        qlAddToNode(ql, n, s, at);
    } else if (at == 0) {
        qlAddBetween(ql, n->prev, n, s);
    } else if (at == n->count) {
        qlAddBetween(ql, n, n->next, s);
    } else {
        struct qlNode *right = qlSplit(ql, n, at);
        qlAddBetween(ql, n, right, s);
        qlJoin(ql, right, right->next);
        qlJoin(ql, n->prev, n);
        qlSettleEnds(ql);
    }
}

/* ---- Creating and freeing ---- */

struct quicklist *qlNew(int64_t fill, int64_t depth) {
    struct quicklist *ql = zcalloc(1, sizeof *ql);
    ql->fill = (int16_t)(fill < -5 ? -5 : fill > INT16_MAX ? INT16_MAX : fill);
    ql->depth = (uint8_t)(depth < 0 ? 0 : depth > QL_DEPTH_MAX ? QL_DEPTH_MAX : depth);
    return ql;
}

void qlFree(struct quicklist *ql) {
    for (struct qlNode *n = ql->head, *next; n; n = next) {
        next = n->next;
        qlNodeFree(n);
    }
    zfreeSized(ql, sizeof *ql);
}

struct quicklist *qlDup(const struct quicklist *ql) {
    struct quicklist *dup = qlNew(ql->fill, ql->depth);
    for (const struct qlNode *n = ql->head; n; n = n->next) {
        size_t size = qlNodeDataSize(n);
        struct qlNode *d = qlNodeNew(dup, memcpy(zmalloc(size), n->data, size), n->bytes, n->count, n->plain);
        d->compressed = n->compressed;
        d->incompressible = n->incompressible;
        qlLink(dup, dup->tail, d);
    }
    dup->count = ql->count;
    return dup;
}

size_t qlMemory(const struct quicklist *ql, size_t samples) {
    size_t seen = 0, bytes = 0;
    for (const struct qlNode *n = ql->head; n && (!samples || seen < samples); n = n->next, seen++)
        bytes += zmallocSize(n) + zmallocSize(n->data);
    return zmallocSize(ql) + (seen ? (size_t)((double)bytes / (double)seen * ql->nodes) : 0);
}

size_t qlUncompressedBytes(const struct quicklist *ql) {
    size_t bytes = 0;
    for (const struct qlNode *n = ql->head; n; n = n->next) bytes += n->bytes;
    return bytes;
}

/* ---- Ends and ranges ---- */

void qlPush(struct quicklist *ql, struct str s, enum qlEnd end) {
    struct qlNode *n = end == QL_HEAD ? ql->head : ql->tail;
    ql->count++;
    if (qlHasRoom(ql, n, s.len)) {
        qlNodeWillChange(ql, n);
        qlNodeSetListpack(n, end == QL_HEAD ? lpPrepend(n->data, s) : lpAppend(n->data, s));
        return;
    }
    qlLink(ql, end == QL_HEAD ? NULL : ql->tail, qlNodeOfElement(ql, s));
    qlSettleEnds(ql);
}

/* Returns how many of these elements a new node holds. */
static size_t qlCountFitting(const struct quicklist *ql, const struct str *s, size_t count) {
    struct qlLimits limits = qlLimitsOf(ql->fill);
    size_t n = 0, bytes = LP_EMPTY, bound;
    for (; n < count; n++, bytes += bound) {
        bound = qlEntryBound(s[n].len);
        if (!qlFits(limits, bytes, n, bound, 1)) break;
    }
    return n;
}

void qlPrependMany(struct quicklist *ql, const struct str *s, size_t count) {
    for (size_t i = 0, n; i < count; i += n) {
        n = qlHasRoom(ql, ql->head, s[i].len) ? 1 : qlCountFitting(ql, s + i, count - i);
        if (n < 2) {
            qlPush(ql, s[i], QL_HEAD);
            n = 1;
            continue;
        }
        unsigned char *lp = lpNew(LP_EMPTY);
        for (size_t k = n; k--;) lp = lpAppend(lp, s[i + k]);
        qlLink(ql, NULL, qlNodeOfListpack(ql, lp));
        ql->count += n;
        qlSettleEnds(ql);
    }
}

uint64_t qlDeleteRange(struct quicklist *ql, uint64_t start, uint64_t num) {
    if (start >= ql->count) return 0;
    if (num > ql->count - start) num = ql->count - start;
    if (!num) return 0;
    struct qlNode *n = qlNodeAt(ql, &start), *left = start ? n : n->prev;
    uint32_t nodes = ql->nodes;
    for (uint64_t todo = num, here; todo; todo -= here, start = 0) {
        struct qlNode *next = n->next;
        here = n->count - start < todo ? n->count - start : todo;
        if (here == n->count) {
            qlUnlinkAndFree(ql, n);
        } else {
            qlNodeOpen(ql, n);
            qlNodeSetListpack(n, lpDeleteRange(n->data, (long)start, here));
        }
        n = next;
    }
    ql->count -= num;
    qlJoin(ql, left, left ? left->next : ql->head);
    if (ql->nodes != nodes) qlSettleEnds(ql);
    return num;
}

/* ---- Cursors ---- */

static void qlLeaveNode(struct qlCursor *cur) {
    if (cur->changed) qlSettle(cur->ql, cur->node);
    zfree(cur->copy);
    cur->copy = NULL;
    cur->changed = false;
}

static void qlEnterNode(struct qlCursor *cur, struct qlNode *n) {
    qlLeaveNode(cur);
    cur->node = n;
    cur->copy = n->compressed ? qlUnpack(n) : NULL;
    cur->data = n->compressed ? cur->copy : n->data;
}

static void qlToFirst(struct qlCursor *cur) {
    cur->p = cur->node->plain ? cur->data : lpFirst(cur->data);
    cur->at = 0;
    cur->gap = false;
}

static void qlToLast(struct qlCursor *cur) {
    cur->p = cur->node->plain ? cur->data : lpLast(cur->data);
    cur->at = cur->node->count - 1u;
    cur->gap = false;
}

static void qlToEnd(struct qlCursor *cur) {
    qlLeaveNode(cur);
    cur->node = NULL;
    cur->p = NULL;
    cur->at = 0;
    cur->gap = true;
}

/* Makes the cursor's copy the data of the node, which is about to change. */
static void qlOwn(struct qlCursor *cur) {
    if (cur->copy) qlReplacePacked(cur->ql, cur->node, cur->copy);
    qlNodeWillChange(cur->ql, cur->node);
    cur->copy = NULL;
    cur->changed = true;
}

void qlCursorStart(struct qlCursor *cur, struct quicklist *ql, enum qlEnd end) {
    *cur = (struct qlCursor){.ql = ql, .gap = true};
    if (end == QL_TAIL || !ql->head) return;
    qlEnterNode(cur, ql->head);
    qlToFirst(cur);
    cur->gap = true;
}

bool qlCursorSeek(struct qlCursor *cur, struct quicklist *ql, int64_t index) {
    uint64_t at = index < 0 ? (uint64_t)index + ql->count : (uint64_t)index;
    *cur = (struct qlCursor){.ql = ql, .gap = true};
    if (at >= ql->count) return false;
    qlEnterNode(cur, qlNodeAt(ql, &at));
    cur->p = cur->node->plain ? cur->data : lpSeek(cur->data, (long)at);
    cur->at = (uint32_t)at;
    cur->gap = false;
    return true;
}

void qlCursorClose(struct qlCursor *cur) {
    qlLeaveNode(cur);
    cur->node = NULL;
}

static bool qlToFirstOf(struct qlCursor *cur, struct qlNode *n) {
    if (!n) {
        qlToEnd(cur);
        return false;
    }
    qlEnterNode(cur, n);
    qlToFirst(cur);
    return true;
}

bool qlNext(struct qlCursor *cur) {
    if (!cur->node) return false;
    if (!cur->gap) {
        cur->p = cur->node->plain ? NULL : lpNext(cur->data, cur->p);
        cur->at++;
    }
    cur->gap = false;
    return cur->p || qlToFirstOf(cur, cur->node->next);
}

bool qlNextNode(struct qlCursor *cur) {
    return cur->node && qlToFirstOf(cur, cur->node->next);
}

bool qlPrev(struct qlCursor *cur) {
    struct qlNode *prev = cur->node ? cur->node->prev : cur->ql->tail;
    if (cur->node && cur->at > 0) {
        if (cur->node->plain)
            cur->p = cur->data;
        else
            cur->p = cur->p ? lpPrev(cur->data, cur->p) : lpLast(cur->data);
        cur->at--;
        cur->gap = false;
        return true;
    }
    if (prev) {
        qlEnterNode(cur, prev);
        qlToLast(cur);
        return true;
    }
    cur->gap = true; /* before the first element, if there is one */
    return false;
}

void qlValue(const struct qlCursor *cur, struct lpValue *v) {
    debugAssert(cur->node && !cur->gap);
    if (cur->node->plain)
        *v = (struct lpValue){.sval = (const char *)cur->data, .slen = cur->node->bytes};
    else
        lpGetValue(cur->p, v);
}

uint32_t qlRunLength(const struct qlCursor *cur) {
    debugAssert(cur->node && cur->at < cur->node->count);
    return cur->node->count - cur->at;
}

bool qlIsPlain(const struct qlCursor *cur) {
    return cur->node->plain;
}

void qlDelete(struct qlCursor *cur) {
    struct qlNode *n = cur->node;
    serverAssert(n && !cur->gap);
    cur->ql->count--;
    if (n->count > 1) {
        qlOwn(cur);
        qlNodeSetListpack(n, lpDelete(cur->data, cur->p, &cur->p));
        cur->data = n->data;
        cur->gap = true;
        return;
    }
    struct qlNode *next = n->next;
    cur->changed = false;
    qlLeaveNode(cur);
    qlUnlinkAndFree(cur->ql, n);
    qlSettleEnds(cur->ql);
    cur->node = NULL;
    qlToFirstOf(cur, next);
    cur->gap = true;
}

void qlInsert(struct qlCursor *cur, struct str s, bool after) {
    struct qlNode *n = cur->node;
    serverAssert(n && !cur->gap);
    qlCursorClose(cur);
    qlInsertAt(cur->ql, n, cur->at + after, s);
}

/* Returns whether the new element fits in the place of the old one. */
static bool qlFitsInstead(const struct qlCursor *cur, size_t len) {
    const struct qlNode *n = cur->node;
    unsigned char *next = lpNext(cur->data, cur->p), *end = cur->data + n->bytes - 1;
    size_t rest = n->bytes - (size_t)((next ? next : end) - cur->p);
    return rest + qlEntryBound(len) <= qlLimitsOf(cur->ql->fill).bytes;
}

void qlReplace(struct qlCursor *cur, struct str s) {
    struct qlNode *n = cur->node;
    serverAssert(n && !cur->gap && s.len < QL_ELEMENT_MAX);
    if (n->plain && qlIsHuge(cur->ql, s.len)) {
        unsigned char *data = qlPlainData(s);
        qlNodeDropData(cur->ql, n);
        n->data = data;
        n->bytes = (uint32_t)s.len;
        n->compressed = n->incompressible = false;
        cur->changed = true;
    } else if (!n->plain && qlFitsInstead(cur, s.len)) {
        qlOwn(cur);
        qlNodeSetListpack(n, lpInsert(cur->data, s, cur->p, LP_REPLACE, NULL));
    } else {
        qlDelete(cur);
        n = cur->node;
        qlCursorClose(cur);
        qlInsertAt(cur->ql, n, cur->at, s);
        return;
    }
    qlCursorClose(cur);
}

/* ---- Whole nodes ---- */

static void qlAppendNode(struct quicklist *ql, struct qlNode *n) {
    qlLink(ql, ql->tail, n);
    ql->count += n->count;
    qlSettleEnds(ql);
}

struct quicklist *qlFromListpack(unsigned char *lp, int64_t fill, int64_t depth) {
    struct quicklist *ql = qlNew(fill, depth);
    if (lpLength(lp))
        qlAppendNode(ql, qlNodeOfListpack(ql, lp));
    else
        lpFree(lp);
    return ql;
}

unsigned char *qlToListpack(struct quicklist *ql, struct qlLimits l) {
    struct qlNode *n = ql->head;
    if (ql->nodes != 1 || n->plain || n->bytes > l.bytes || n->count > l.count) return NULL;
    qlNodeWillChange(ql, n);
    unsigned char *lp = n->data;
    n->data = NULL;
    qlUnlinkAndFree(ql, n);
    ql->count = 0;
    return lp;
}

bool qlLoadListpack(struct quicklist *ql, unsigned char *lp, size_t size) {
    if (!lpValidate(lp, size, true, NULL, NULL)) return false;
    unsigned long count = lpLength(lp);
    if (!count) return false;
    if (count <= NODE_COUNT_MAX) {
        qlAppendNode(ql, qlNodeOfListpack(ql, lp));
        return true;
    }
    char buf[LP_INTBUF_SIZE];
    for (unsigned char *p = lpFirst(lp); p; p = lpNext(lp, p)) qlPush(ql, lpView(p, buf), QL_TAIL);
    lpFree(lp);
    return true;
}

void qlLoadPlain(struct quicklist *ql, struct str s) {
    if (qlIsHuge(ql, s.len))
        qlAppendNode(ql, qlNodeOfElement(ql, s));
    else
        qlPush(ql, s, QL_TAIL);
}

void qlForEachNode(const struct quicklist *ql, void (*fn)(void *priv, const struct qlNodeView *n),
                   void *priv) {
    for (const struct qlNode *n = ql->head; n; n = n->next) {
        struct qlNodeView view = qlNodeViewOf(n);
        fn(priv, &view);
    }
}

bool qlPrefetch(const struct quicklist *ql, enum qlEnd end, int step, const void **at) {
    if (step == 0) {
        __builtin_prefetch(ql);
    } else if (step == 1) {
        *at = end == QL_HEAD ? ql->head : ql->tail;
        __builtin_prefetch(*at);
    } else {
        const struct qlNode *n = *at;
        if (!n) return false;
        if (end == QL_TAIL) __builtin_prefetch(n->data + n->bytes - 1);
        for (int i = 0; i < (end == QL_HEAD ? LINES_TO_MOVE : 1); i++) __builtin_prefetch(n->data + LINE * i);
    }
    return step < 2;
}

static bool qlNodeIsSound(const struct quicklist *ql, const struct qlNode *n) {
    unsigned char *copy = n->compressed ? qlUnpack(n) : NULL, *data = copy ? copy : n->data;
    bool ok = n->count > 0 && (!n->plain || n->count == 1);
    if (ok && !n->plain) ok = lpValidate(data, n->bytes, true, NULL, NULL) && lpLength(data) == n->count;
    zfree(copy);
    if (!qlIsInner(ql, n)) return ok && !n->compressed;
    return ok && (n->compressed || n->incompressible);
}

/* ---- Moving in memory ---- */

static struct qlNode *qlNodeMove(struct quicklist *ql, struct qlNode *n, zmoveFn *move, void *priv) {
    void *data = move(priv, n->data);
    if (data) n->data = data;
    struct qlNode *now = move(priv, n);
    if (!now) return n;
    *(now->prev ? &now->prev->next : &ql->head) = now;
    *(now->next ? &now->next->prev : &ql->tail) = now;
    return now;
}

struct quicklist *qlMove(struct quicklist *ql, uint64_t *cursor, uint32_t nodes, zmoveFn *move, void *priv) {
    if (*cursor == 0) {
        struct quicklist *now = move(priv, ql);
        if (now) ql = now;
    }
    uint64_t at = *cursor;
    struct qlNode *n = at < ql->count ? qlNodeAt(ql, &at) : NULL;
    for (*cursor -= at; n && nodes; n = n->next, nodes--) {
        n = qlNodeMove(ql, n, move, priv);
        *cursor += n->count;
    }
    if (!n) *cursor = 0;
    return ql;
}

bool qlCheck(const struct quicklist *ql) {
    uint64_t count = 0, nodes = 0;
    const struct qlNode *prev = NULL;
    for (const struct qlNode *n = ql->head; n; prev = n, n = n->next) {
        if (n->prev != prev || !qlNodeIsSound(ql, n)) return false;
        count += n->count;
        nodes++;
    }
    return ql->tail == prev && ql->count == count && ql->nodes == nodes;
}
