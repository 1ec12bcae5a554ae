/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_node.c - a node and its entries; see stream_node.h.
 *
 *     node    | struct streamNode | name * n |   entry   |   entry   | ...
 *
 *     entry   | flags:2 ms:3 seq:3 | ms | seq |     value * n           | back |     the node's names
 *             | flags:2 ms:3 seq:3 | ms | seq | n | (name | value) * n  | back |     others
 *
 * A node begins with what most of its entries have in common: the names of the first one's fields. Names,
 * values and n are elements as in listpacks. ms is relative to the node's ID; seq is not, as it is small
 * whatever the millisecond. Both take as many bytes as they need, 0 to 8, by the widths in the first byte.
 * `back` is the size of the entry without `back`, and is read from its end, so that entries can be iterated
 * both ways. Deleting only sets a flag; XDEL of a node's last entry frees the node.
 *
 * In files nodes are listpacks, and the limits of a node count the bytes of that format, too:
 *
 *     node    | entries | deleted | n | name * n | 0 |   entry   |   entry   | ...    each box is an element
 *     entry   | flags | ms | seq |     value * n           | back |
 *             | flags | ms | seq | n | (name | value) * n  | back |
 *
 * There both ms and seq are relative, and `back` counts elements. The head of an entry takes 9 bytes there,
 * and mostly 3 in memory; values have the same bytes in both. */
#include "types/stream/stream_node.h"

#include "base/assert.h"
#include "base/zmalloc.h"

enum { FLAG_BITS = 2, MS_SHIFT = FLAG_BITS, SEQ_SHIFT = MS_SHIFT + 3, WIDTH_MASK = 7 };
#define FLAGS(head) ((head) & (ENTRY_DELETED | ENTRY_SAME_NAMES))

/* ---- Numbers of 0 to 8 bytes ---- */

static const uint8_t width_bytes[] = {0, 1, 2, 3, 4, 6, 8};

static unsigned streamNodeWidthOf(uint64_t v) {
    unsigned width = 0;
    while (width < sizeof width_bytes - 1 && v >> (8 * width_bytes[width])) width++;
    return width;
}

static uint64_t streamNodeTakeNumber(unsigned char **p, unsigned width) {
    uint64_t v = 0;
    for (unsigned i = 0; i < width_bytes[width]; i++) v |= (uint64_t) * (*p)++ << (8 * i);
    return v;
}

static unsigned char *streamNodePutNumber(unsigned char *p, uint64_t v, unsigned width) {
    for (unsigned i = 0; i < width_bytes[width]; i++, v >>= 8) *p++ = (unsigned char)v;
    return p;
}

/* ---- Elements ---- */

static int64_t streamNodeReadInt(unsigned char *p) {
    struct lpValue v;
    lpGetValue(p, &v);
    return v.lval;
}

static unsigned char *streamNodeSkip(unsigned char *p, int64_t n) {
    while (n--) p = lpElementEnd(p);
    return p;
}

/* Returns `back` in the published format: the number of the entry's elements before it, without the
 * values. */
static int64_t streamNodePublishedBack(int flags, int64_t pairs) {
    return flags & ENTRY_SAME_NAMES ? pairs + 3 : 2 * pairs + 4;
}

static size_t streamNodePublishedHead(int flags, struct streamID base, struct streamID id, int64_t pairs) {
    return lpIntBytes(flags) + lpIntBytes((int64_t)(id.ms - base.ms)) +
           lpIntBytes((int64_t)(id.seq - base.seq)) + lpIntBytes(streamNodePublishedBack(flags, pairs));
}

/* ---- Life ---- */

static struct streamNode *streamNodeAllocate(size_t bytes) {
    struct streamNode *n = zmalloc(bytes);
    n->room = (uint32_t)zmallocSize(n);
    return n;
}

static struct streamNode *streamNodeMakeRoom(struct streamNode *n, size_t more) {
    size_t bytes = n->bytes + more;
    serverAssert(bytes <= UINT32_MAX);
    if (bytes <= n->room) return n;
    n = zrealloc(n, bytes);
    n->room = (uint32_t)zmallocSize(n);
    return n;
}

static struct streamNode *nodeEmpty(size_t room) {
    struct streamNode *n = streamNodeAllocate(sizeof *n + room);
    n->bytes = n->first = sizeof *n;
    n->published = n->entries = n->deleted = n->names = 0;
    return n;
}

struct streamNode *nodeNew(const struct str *pairs, size_t count) {
    size_t room = 0;
    for (size_t i = 0; i < count; i++) room += lpElementBound(pairs[2 * i].len);
    struct streamNode *n = nodeEmpty(room);
    unsigned char *p = n->first_name;
    for (size_t i = 0; i < count; i++) p = lpElementWrite(p, pairs[2 * i]);
    n->bytes = n->first = (uint32_t)(p - (unsigned char *)n);
    n->published = (uint32_t)(p - n->first_name);
    n->names = (uint32_t)count;
    return n;
}

struct streamNode *nodeCopy(const struct streamNode *n) {
    struct streamNode *copy = streamNodeAllocate(n->bytes);
    uint32_t room = copy->room;
    memcpy(copy, n, n->bytes);
    copy->room = room;
    return copy;
}

struct streamNode *nodeFit(struct streamNode *n) {
    if (zmallocGoodSize(n->bytes) >= n->room) return n;
    n = zrealloc(n, n->bytes);
    n->room = (uint32_t)zmallocSize(n);
    return n;
}

void nodeFree(struct streamNode *n) {
    zfree(n);
}

/* ---- Adding ---- */

static bool streamNodeSameNames(struct streamNode *n, const struct str *pairs, size_t count) {
    unsigned char *name = n->first_name;
    if (n->names != count) return false;
    for (size_t i = 0; i < count; i++, name = lpElementEnd(name))
        if (!lpEqual(name, pairs[2 * i])) return false;
    return true;
}

/* The fields before an entry's elements. */
struct streamNodeHead {
    int flags;
    unsigned ms_width, seq_width;
    uint64_t ms, seq;
};

static struct streamNodeHead streamNodeHeadOf(int flags, uint64_t ms, uint64_t seq) {
    return (struct streamNodeHead){flags, streamNodeWidthOf(ms), streamNodeWidthOf(seq), ms, seq};
}

static size_t streamNodeHeadBytes(const struct streamNodeHead *h) {
    return 1u + width_bytes[h->ms_width] + width_bytes[h->seq_width];
}

static unsigned char *streamNodeWriteHead(unsigned char *p, const struct streamNodeHead *h) {
    *p++ = (unsigned char)((unsigned)h->flags | h->ms_width << MS_SHIFT | h->seq_width << SEQ_SHIFT);
    return streamNodePutNumber(streamNodePutNumber(p, h->ms, h->ms_width), h->seq, h->seq_width);
}

/* Makes space for an entry whose head and elements take at most so many bytes. */
static struct streamNode *streamNodeReserveEntry(struct streamNode *n, size_t bytes) {
    return streamNodeMakeRoom(n, bytes + lpBacklenBytes(bytes));
}

/* Finishes an entry at the end of the node, whose elements end at p. */
static void streamNodeEndEntry(struct streamNode *n, unsigned char *p, size_t published) {
    unsigned char *end = lpBacklenWrite(p, (uint64_t)(p - nodeEnd(n)));
    n->published += (uint32_t)published;
    n->bytes = (uint32_t)(end - (unsigned char *)n);
    debugAssert(n->bytes <= n->room);
}

static size_t streamNodeElementsBound(const struct str *pairs, size_t count, bool same) {
    size_t bound = same ? 0 : lpIntBytes((int64_t)count);
    for (size_t i = same; i < 2 * count; i += 1 + same) bound += lpElementBound(pairs[i].len);
    return bound;
}

struct streamNode *nodeAppend(struct streamNode *n, struct streamID base, struct streamID id,
                              const struct str *pairs, size_t count) {
    bool same = streamNodeSameNames(n, pairs, count);
    struct streamNodeHead h = streamNodeHeadOf(same ? ENTRY_SAME_NAMES : 0, id.ms - base.ms, id.seq);
    n = streamNodeReserveEntry(n, streamNodeHeadBytes(&h) + streamNodeElementsBound(pairs, count, same));
    unsigned char *p = streamNodeWriteHead(nodeEnd(n), &h), *elements = p;
    if (!same) p = lpElementWriteInt(p, (int64_t)count);
    for (size_t i = same; i < 2 * count; i += 1 + same) p = lpElementWrite(p, pairs[i]);
    streamNodeEndEntry(n, p,
                       streamNodePublishedHead(h.flags, base, id, (int64_t)count) + (size_t)(p - elements));
    n->entries++;
    return n;
}

void nodeMarkDeleted(struct streamNode *n, unsigned char *entry) {
    debugAssert(!(*entry & ENTRY_DELETED));
    *entry |= ENTRY_DELETED;
    n->entries--;
    n->deleted++;
}

/* ---- Reading ---- */

struct nodeEntry nodeEntry(const struct streamNode *n, unsigned char *p, struct streamID base) {
    struct nodeEntry e = {.start = p, .flags = FLAGS(*p), .pairs = n->names};
    unsigned head = *p++;
    e.id.ms = base.ms + streamNodeTakeNumber(&p, head >> MS_SHIFT & WIDTH_MASK);
    e.id.seq = streamNodeTakeNumber(&p, head >> SEQ_SHIFT & WIDTH_MASK);
    if (!(e.flags & ENTRY_SAME_NAMES)) {
        e.pairs = streamNodeReadInt(p);
        p = lpElementEnd(p);
    }
    e.first = p;
    return e;
}

unsigned char *nodeEntryBehind(const unsigned char *entry, const unsigned char *values_end) {
    return (unsigned char *)values_end + lpBacklenBytes((uint64_t)(values_end - entry));
}

static unsigned char *streamNodeValuesEnd(const struct nodeEntry *e) {
    return streamNodeSkip(e->first, e->flags & ENTRY_SAME_NAMES ? e->pairs : 2 * e->pairs);
}

unsigned char *nodeEntryEnd(const struct nodeEntry *e) {
    return nodeEntryBehind(e->start, streamNodeValuesEnd(e));
}

/* Returns the size, without `back`, of the entry that ends at p, and sets where `back` is. */
static inline uint64_t streamNodeBackBefore(const unsigned char *p) {
    return p[-1] < 0x80 ? p[-1] : lpBacklenRead(p);
}

static inline unsigned char *streamNodeValuesEndBefore(unsigned char *p) {
    return p - (p[-1] < 0x80 ? 1 : lpBacklenBytes(streamNodeBackBefore(p)));
}

unsigned char *nodeEntryBefore(struct streamNode *n, unsigned char *p) {
    return p == nodeFirstEntry(n) ? NULL : streamNodeValuesEndBefore(p) - streamNodeBackBefore(p);
}

struct streamID nodeLastID(struct streamNode *n, struct streamID base) {
    unsigned char *p = nodeEntryBefore(n, nodeEnd(n));
    return p ? nodeEntry(n, p, base).id : base;
}

/* ---- The published format ---- */

size_t nodePublishedBytes(const struct streamNode *n) {
    return LP_HEADER_BYTES + lpIntBytes(n->entries) + lpIntBytes(n->deleted) + lpIntBytes(n->names) +
           n->published + lpIntBytes(0) + LP_END_BYTES;
}

static unsigned char *streamNodePut(unsigned char *to, const unsigned char *from, const unsigned char *end) {
    memcpy(to, from, (size_t)(end - from));
    return to + (end - from);
}

static void streamNodePublishHead(unsigned char *to, const struct nodeEntry *e, struct streamID base) {
    to = lpElementWriteInt(to, e->flags);
    to = lpElementWriteInt(to, (int64_t)(e->id.ms - base.ms));
    to = lpElementWriteInt(to, (int64_t)(e->id.seq - base.seq));
    if (!(e->flags & ENTRY_SAME_NAMES)) lpElementWriteInt(to, e->pairs);
}

/* Writes the entry from its end, since `back` says where values end; `to` is that end. Returns the entry's
 * start. */
static unsigned char *streamNodePublishEntryBefore(unsigned char *to, const struct nodeEntry *e,
                                                   const unsigned char *values_end, struct streamID base) {
    int64_t back = streamNodePublishedBack(e->flags, e->pairs);
    size_t values = (size_t)(values_end - e->first), back_bytes = lpIntBytes(back);
    size_t count = e->flags & ENTRY_SAME_NAMES ? 0 : lpIntBytes(e->pairs);
    to -= back_bytes;
    lpElementWriteInt(to, back);
    to -= values;
    streamNodePut(to, e->first, values_end);
    to -= streamNodePublishedHead(e->flags, base, e->id, e->pairs) - back_bytes + count;
    streamNodePublishHead(to, e, base);
    return to;
}

void nodePublish(struct streamNode *n, struct streamID base, unsigned char *lp) {
    size_t bytes = nodePublishedBytes(n);
    uint64_t elements = 3 + n->names + 1;
    unsigned char *to = lp + LP_HEADER_BYTES, *from = lp + bytes - LP_END_BYTES;
    to = lpElementWriteInt(to, n->entries);
    to = lpElementWriteInt(to, n->deleted);
    to = lpElementWriteInt(to, n->names);
    to = streamNodePut(to, n->first_name, nodeFirstEntry(n));
    to = lpElementWriteInt(to, 0);
    for (unsigned char *p = nodeEnd(n); p != nodeFirstEntry(n);) {
        unsigned char *values_end = streamNodeValuesEndBefore(p);
        struct nodeEntry e = nodeEntry(n, p = nodeEntryBefore(n, p), base);
        elements += (uint64_t)streamNodePublishedBack(e.flags, e.pairs) + 1;
        from = streamNodePublishEntryBefore(from, &e, values_end, base);
    }
    serverAssert(to == from);
    lpSeal(lp, bytes, elements);
}

/* ---- Checking ---- */

/* Elements that are left to read in a listpack whose elements are all valid. */
struct rest {
    unsigned char *p, *end;
};

static inline bool streamNodeTakeInt(struct rest *r, int64_t *v) {
    struct lpValue e = {.lval = r->p[0]};
    if (r->p == r->end) return false;
    if (r->p[0] >= 0x80) lpGetValue(r->p, &e);
    r->p = lpElementEnd(r->p);
    *v = e.lval;
    return !e.sval;
}

static inline bool streamNodeTakeMany(struct rest *r, int64_t n) {
    for (; n && r->p != r->end; n--) r->p = lpElementEnd(r->p);
    return !n;
}

/* Takes over the entry that r begins with. Returns NULL, with the node freed, when it is invalid. */
static struct streamNode *streamNodeTakeEntry(struct streamNode *n, struct streamID base, struct rest *r) {
    int64_t flags, ms, seq, pairs = n->names, back;
    bool sound = streamNodeTakeInt(r, &flags) && !(flags & ~(ENTRY_DELETED | ENTRY_SAME_NAMES)) &&
                 streamNodeTakeInt(r, &ms) && streamNodeTakeInt(r, &seq);
    bool same = sound && flags & ENTRY_SAME_NAMES;
    if (sound && !same)
        sound = streamNodeTakeInt(r, &pairs) && pairs >= 0 && pairs <= LISTPACK_MAX_SAFETY_LIMIT;
    unsigned char *values = r->p;
    sound = sound && streamNodeTakeMany(r, same ? pairs : 2 * pairs);
    unsigned char *end = r->p;
    if (!sound || !streamNodeTakeInt(r, &back) || back != streamNodePublishedBack((int)flags, pairs)) {
        nodeFree(n);
        return NULL;
    }
    struct streamID id = {base.ms + (uint64_t)ms, base.seq + (uint64_t)seq};
    struct streamNodeHead h = streamNodeHeadOf((int)flags, (uint64_t)ms, id.seq);
    size_t bytes = (same ? 0 : lpIntBytes(pairs)) + (size_t)(end - values);
    n = streamNodeReserveEntry(n, streamNodeHeadBytes(&h) + bytes);
    unsigned char *to = streamNodeWriteHead(nodeEnd(n), &h);
    if (!same) to = lpElementWriteInt(to, pairs);
    streamNodeEndEntry(n, streamNodePut(to, values, end),
                       streamNodePublishedHead(h.flags, base, id, pairs) + bytes);
    *(flags & ENTRY_DELETED ? &n->deleted : &n->entries) += 1;
    return n;
}

struct streamNode *nodeFromPublished(unsigned char *lp, size_t size, struct streamID base) {
    if (size > LISTPACK_MAX_SAFETY_LIMIT || !lpValidate(lp, size, true, NULL, NULL)) return NULL;
    struct rest r = {lp + LP_HEADER_BYTES, lp + size - LP_END_BYTES};
    int64_t entries, deleted, names, zero;
    if (!streamNodeTakeInt(&r, &entries) || !streamNodeTakeInt(&r, &deleted) ||
        !streamNodeTakeInt(&r, &names))
        return NULL;
    unsigned char *first_name = r.p;
    if (entries < 0 || deleted < 0 || names < 0 || !streamNodeTakeMany(&r, names)) return NULL;
    unsigned char *names_end = r.p;
    if (!streamNodeTakeInt(&r, &zero) || zero) return NULL;
    struct streamNode *n = nodeEmpty(size);
    n->names = (uint32_t)names;
    n->published = (uint32_t)(names_end - first_name);
    streamNodePut(n->first_name, first_name, names_end);
    n->bytes = n->first = (uint32_t)(sizeof *n + n->published);
    while (n && r.p != r.end) n = streamNodeTakeEntry(n, base, &r);
    if (!n) return NULL;
    if (n->entries == entries && n->deleted == deleted && entries + deleted > 0) return nodeFit(n);
    nodeFree(n);
    return NULL;
}
