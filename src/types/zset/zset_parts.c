/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_parts.c - see zset_private.h. The elements are written in the form of zset_rdb.c, in another order.
 * The form is that of the moment when the set is registered: scores with rests that come later are not saved.
 *
 *     btree        leaf by leaf from the highest score down; before a change, its whole leaf (struct zbtWalk)
 *     skiplist     by the positions of the member index; before an element changes, all elements of its range
 *                  of positions, about one (table_parts.h) */
#include "base/zmalloc.h"
#include "data/forkless/table_parts.h"
#include "data/rdb/rdb.h"
#include "data/rdb/rewrite.h"
#include "ds/zbtree.h"
#include "types/zset/zset.h"
#include "types/zset/zset_private.h"

/* A part ends when it has this many bytes, or has looked at this many leaves or at this many times 64 ranges,
 * most of which may have been saved before. */
#define PART_BYTES 4096
#define PART_STEPS 8

struct zsetPartsState {
    struct largeValue *v;
    bool as_text;              /* scores may have rests */
    struct zbtWalk walk;       /* of a btree */
    struct tableParts table;   /* of a skiplist */
    struct rewriteItems items; /* when commands are written */
};

static void zsetPartsWrite(struct zsetPartsState *s, struct rioWriter *w, struct str member,
                           struct zscore score) {
    if (s->v->commands)
        zsetRdbRewriteElement(&s->items, member, score);
    else
        zsetRdbWriteElement(w, member, score, s->as_text);
}

static struct zsetPartsState *zsetPartsBegin(struct largeValue *v, const struct object *o) {
    struct zsetPartsState *s = zcalloc(1, sizeof *s);
    uint64_t length = zsetLength(zsetOpen(o));
    struct rioWriter *w = largeValueWriter(v);
    s->v = v;
    s->as_text = zsetHasRests(zsetOpen(o));
    s->items =
        (struct rewriteItems){.w = w, .left = length, .args_per_item = 2, .name = STR("ZADD"), .key = v->key};
    if (!v->commands) rdbWriteLen(w, length);
    v->state = s;
    return s;
}

/* Takes steps until there is a part. */
static bool zsetPartsNext(struct largeValue *v, bool (*step)(struct zsetPartsState *s)) {
    const struct rioWriter *w = largeValueWriter(v);
    uint64_t end = rioWritten(w) + PART_BYTES;
    for (unsigned steps = 0; steps < PART_STEPS && rioWritten(w) < end; steps++)
        if (!step(v->state)) return false;
    return true;
}

/* ---- The B+ tree ---- */

static void zsetPartsPassLeaf(struct zbtWalk *walk, const struct zbtLeaf *l) {
    struct zsetPartsState *s =
        (struct zsetPartsState *)((char *)walk - offsetof(struct zsetPartsState, walk));
    struct rioWriter *w = largeValueWriter(s->v);
    for (unsigned i = l->count; i-- > 0;) {
        struct zbtPos p = {(struct zbtLeaf *)l, i};
        zsetPartsWrite(s, w, zbtMember(p), zbtScore(p));
    }
}

/* Looks at the elements of a tree that is long enough for a walk, and at LARGE_VALUE_ELEMENTS at most. */
static bool zsetPartsBtreeIsLarge(const struct object *o) {
    uint64_t length = zbtLength(objectPtr(o));
    size_t bytes = 0;
    struct zbtPos p;
    if (length > LARGE_VALUE_ELEMENTS) return true;
    bool more = length > ZBT_WALK_MIN && zbtAtRank(objectPtr(o), 0, &p);
    for (; more && bytes <= LARGE_VALUE_BYTES; more = zbtStep(&p, false))
        bytes += zbtMember(p).len + sizeof(double);
    return bytes > LARGE_VALUE_BYTES;
}

static void zsetPartsBtreeBegin(struct largeValue *v, const struct object *o) {
    struct zsetPartsState *s = zsetPartsBegin(v, o);
    s->walk.pass = zsetPartsPassLeaf;
    zbtWalkStart(v->container, &s->walk);
}

static bool zsetPartsBtreeStep(struct zsetPartsState *s) {
    return zbtWalkStep(s->v->container);
}
static bool zsetPartsBtreeNext(struct largeValue *v) {
    return zsetPartsNext(v, zsetPartsBtreeStep);
}

static void zsetPartsBtreeEnd(struct largeValue *v, bool complete) {
    struct zsetPartsState *s = v->state;
    serverAssert(!complete || !v->commands || s->items.left == 0);
    zbtWalkEnd(v->container);
    zfree(s);
}

static const struct valueParts btreeParts = {.isLarge = zsetPartsBtreeIsLarge,
                                             .begin = zsetPartsBtreeBegin,
                                             .next = zsetPartsBtreeNext,
                                             .end = zsetPartsBtreeEnd};

/* ---- The skiplist ---- */

/* In either thread. Of a node's links only the word with its height is read (zskiplist.c). */
static void zsetPartsWriteNode(struct rioWriter *w, const void *node, const struct queueEntryForm *form) {
    (void)form;
    zsetRdbWriteElement(w, zslGetNodeElement(node), zslGetNodeScore(node), false);
}
static void zsetPartsWriteExactNode(struct rioWriter *w, const void *node,
                                    const struct queueEntryForm *form) {
    (void)form;
    zsetRdbWriteElement(w, zslGetNodeElement(node), zslGetNodeScore(node), true);
}

static void zsetPartsPassNode(void *priv, void *node) {
    struct zsetPartsState *s = priv;
    zsetPartsWrite(s, largeValueWriter(s->v), zslGetNodeElement(node), zslGetNodeScore(node));
}

void zsetPartsSave(struct largeValue *v, uint64_t hash) {
    struct zsetPartsState *s = v->state;
    tablePartsBefore(&s->table, hash, zsetPartsPassNode, s);
}

static size_t zsetPartsNodeBytes(const void *node) {
    return zslGetNodeElement(node).len + sizeof(double);
}

static bool zsetPartsSkiplistIsLarge(const struct object *o) {
    return tablePartsIsLarge(zsetTable(zsetOpen(o)), zsetPartsNodeBytes);
}

static void zsetPartsSkiplistBegin(struct largeValue *v, const struct object *o) {
    struct zsetPartsState *s = zsetPartsBegin(v, o);
    tablePartsBegin(&s->table, zsetTable(zsetOpen(o)), v, zsetPartsNodeBytes);
}

static bool zsetPartsSkiplistStep(struct zsetPartsState *s) {
    return tablePartsNext(&s->table, zsetPartsPassNode, s);
}
static bool zsetPartsSkiplistNext(struct largeValue *v) {
    return zsetPartsNext(v, zsetPartsSkiplistStep);
}

static bool zsetPartsSkiplistGive(struct largeValue *v, struct queueEntries *batch) {
    struct zsetPartsState *s = v->state;
    batch->write = s->as_text ? zsetPartsWriteExactNode : zsetPartsWriteNode;
    return tablePartsGive(&s->table, batch, zsetPartsPassNode, s);
}

static void zsetPartsSkiplistEnd(struct largeValue *v, bool complete) {
    struct zsetPartsState *s = v->state;
    serverAssert(!complete || !v->commands || s->items.left == 0);
    tablePartsEnd(&s->table);
    zfree(s);
}

static const struct valueParts skiplistParts = {.isLarge = zsetPartsSkiplistIsLarge,
                                                .begin = zsetPartsSkiplistBegin,
                                                .next = zsetPartsSkiplistNext,
                                                .give = zsetPartsSkiplistGive,
                                                .end = zsetPartsSkiplistEnd};

const struct valueParts *zsetParts(const struct object *o) {
    switch (o->encoding) {
    case ZSET_BTREE: return &btreeParts;
    case ZSET_SKIPLIST: return &skiplistParts;
    case ZSET_CONVERTING: return &zsetConvertingParts;
    default: return NULL;
    }
}
