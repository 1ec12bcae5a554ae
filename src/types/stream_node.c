/* stream_node.c - entries in listpacks; see stream_node.h.
 *
 * A node begins with what most of its entries have in common: the names of the first one's fields. The format
 * is published:
 *
 *     node    | entries | deleted | n | name * n | 0 |   entry   |   entry   | ...    each box is an element
 *
 *     entry   | flags | ms | seq |     value * n           | back |                  same names as the node's
 *             | flags | ms | seq | n | (name | value) * n  | back |                  others
 *
 * ms and seq are relative to the node's ID, its key in the tree; "entries" are those not deleted. `back` is
 * the number of elements of the entry before it, so that entries can be walked from the end; the 0 after the
 * names stops there. An entry is deleted by its flag; XDEL of a node's last entry frees the node. */
#include "types/stream_node.h"

#include "base/assert.h"

/* ---- Elements ---- */

static int64_t readInt(unsigned char *p) {
    struct lpValue v;
    lpGetValue(p, &v);
    if (!v.sval) return v.lval;
    /* An integer that the listpack keeps as text is one that does not fit 64 bits: no writer stores such. */
    return 0;
}

static unsigned char *advance(unsigned char *lp, unsigned char *p, int64_t n) {
    while (n-- && p) p = lpNext(lp, p);
    return p;
}

/* ---- The node's own entry ---- */

int64_t nodeEntries(unsigned char *lp) {
    return readInt(lpFirst(lp));
}

int64_t nodeDeleted(unsigned char *lp) {
    return readInt(lpNext(lp, lpFirst(lp)));
}

struct nodeHead nodeHead(unsigned char *lp) {
    struct nodeHead h;
    unsigned char *p = advance(lp, lpFirst(lp), 2);
    h.names = readInt(p);
    h.first_name = lpNext(lp, p);
    unsigned char *zero = advance(lp, h.first_name, h.names);
    h.first_entry = lpNext(lp, zero);
    return h;
}

unsigned char *nodeCount(unsigned char *lp, int64_t entries, int64_t deleted) {
    unsigned char *p = lpFirst(lp);
    lp = lpInsertInt(lp, entries, p, LP_REPLACE, &p);
    if (deleted) {
        p = lpNext(lp, p);
        lp = lpInsertInt(lp, readInt(p) + deleted, p, LP_REPLACE, NULL);
    }
    return lp;
}

/* ---- Adding ---- */

unsigned char *nodeNew(const struct str *pairs, size_t count) {
    unsigned char *lp = lpNew(0);
    lp = lpAppendInt(lp, 0);
    lp = lpAppendInt(lp, 0);
    lp = lpAppendInt(lp, (int64_t)count);
    for (size_t i = 0; i < count; i++) lp = lpAppend(lp, pairs[2 * i]);
    return lpAppendInt(lp, 0);
}

static bool sameNames(unsigned char *lp, const struct nodeHead *h, const struct str *pairs, size_t count) {
    unsigned char *name = h->first_name;
    if (h->names != (int64_t)count) return false;
    for (size_t i = 0; i < count; i++, name = lpNext(lp, name))
        if (!lpEqual(name, pairs[2 * i])) return false;
    return true;
}

unsigned char *nodeAppend(unsigned char *lp, struct streamID relative, const struct str *pairs,
                          size_t count) {
    struct nodeHead h = nodeHead(lp);
    bool same = sameNames(lp, &h, pairs, count);
    lp = nodeCount(lp, nodeEntries(lp) + 1, 0);
    lp = lpAppendInt(lp, same ? ENTRY_SAME_NAMES : 0);
    lp = lpAppendInt(lp, (int64_t)relative.ms);
    lp = lpAppendInt(lp, (int64_t)relative.seq);
    if (!same) lp = lpAppendInt(lp, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        if (!same) lp = lpAppend(lp, pairs[2 * i]);
        lp = lpAppend(lp, pairs[2 * i + 1]);
    }
    return lpAppendInt(lp, (int64_t)(same ? count + 3 : 2 * count + 4));
}

/* ---- Reading ---- */

struct nodeEntry nodeEntry(unsigned char *lp, unsigned char *p, struct streamID base, int64_t names) {
    struct nodeEntry e = {.start = p};
    e.flags = (int)readInt(p);
    p = lpNext(lp, p);
    e.id.ms = base.ms + (uint64_t)readInt(p);
    p = lpNext(lp, p);
    e.id.seq = base.seq + (uint64_t)readInt(p);
    p = lpNext(lp, p);
    e.pairs = names;
    if (!(e.flags & ENTRY_SAME_NAMES)) {
        e.pairs = readInt(p);
        p = lpNext(lp, p);
    }
    e.first = p;
    return e;
}

unsigned char *nodeEntryEnd(unsigned char *lp, const struct nodeEntry *e) {
    int64_t values = e->flags & ENTRY_SAME_NAMES ? e->pairs : 2 * e->pairs;
    return lpNext(lp, advance(lp, e->first, values)); /* past `back` */
}

unsigned char *nodeEntryBefore(unsigned char *lp, unsigned char *back) {
    int64_t n = readInt(back);
    if (!n) return NULL;
    while (n--) back = lpPrev(lp, back);
    return back;
}

struct streamID nodeLastID(unsigned char *lp, struct streamID base) {
    unsigned char *p = nodeEntryBefore(lp, lpLast(lp));
    return p ? nodeEntry(lp, p, base, 0).id : base;
}

unsigned char *nodeMarkDeleted(unsigned char *lp, unsigned char *entry) {
    lp = lpInsertInt(lp, readInt(entry) | ENTRY_DELETED, entry, LP_REPLACE, NULL);
    return nodeCount(lp, nodeEntries(lp) - 1, 1);
}

/* ---- Checking ---- */

static bool takeInt(unsigned char *lp, unsigned char **p, int64_t *v) {
    struct lpValue e;
    if (!*p) return false;
    lpGetValue(*p, &e);
    *p = lpNext(lp, *p);
    *v = e.lval;
    return !e.sval;
}

static bool takeMany(unsigned char *lp, unsigned char **p, int64_t n) {
    for (; n && *p; n--) *p = lpNext(lp, *p);
    return !n;
}

static bool entryValid(unsigned char *lp, unsigned char **p, int64_t names, bool *deleted) {
    int64_t flags, ms, seq, pairs = names, back;
    if (!*p || (**p & ~(ENTRY_DELETED | ENTRY_SAME_NAMES)))
        return false; /* one byte: it is changed in place */
    takeInt(lp, p, &flags);
    if (!takeInt(lp, p, &ms) || !takeInt(lp, p, &seq)) return false;
    bool same = flags & ENTRY_SAME_NAMES;
    if (!same && (!takeInt(lp, p, &pairs) || pairs < 0 || pairs > LISTPACK_MAX_SAFETY_LIMIT)) return false;
    if (!takeMany(lp, p, same ? pairs : 2 * pairs)) return false;
    *deleted = flags & ENTRY_DELETED;
    return takeInt(lp, p, &back) && back == (same ? pairs + 3 : 2 * pairs + 4);
}

bool streamNodeValid(unsigned char *lp, size_t size) {
    if (!lpValidate(lp, size, true, NULL, NULL)) return false;
    unsigned char *p = lpFirst(lp);
    int64_t entries, deleted, names, zero, seen = 0, seen_deleted = 0;
    if (!takeInt(lp, &p, &entries) || !takeInt(lp, &p, &deleted) || !takeInt(lp, &p, &names)) return false;
    if (entries < 0 || deleted < 0 || names < 0 || !takeMany(lp, &p, names)) return false;
    if (!takeInt(lp, &p, &zero) || zero) return false;
    while (p) {
        bool is_deleted;
        if (!entryValid(lp, &p, names, &is_deleted)) return false;
        seen += !is_deleted;
        seen_deleted += is_deleted;
    }
    return seen == entries && seen_deleted == deleted && seen + seen_deleted > 0;
}
