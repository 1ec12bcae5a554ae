/* SPDX-License-Identifier: BSD-3-Clause */
/* list_movem.c - LMOVEM and BLMOVEM: several elements go from an end of one list to an end of another.
 *
 *     source destination LEFT|RIGHT LEFT|RIGHT [COUNT|EXACTLY n OBO|BULK]
 *
 *     source   1 2 3 4 5          LEFT LEFT COUNT 3
 *     destination   OBO: 3 2 1 ...     BULK: 1 2 3 ...
 *
 * The elements move as one block, which is replied in the order that it has in the destination. The block has
 * the order of the source, except for OBO between equal ends, where each element is put before the previous
 * one. It is copied once, since both lists change, and pushed and deleted as a whole.
 *
 * Servers that do not know the command get LPOP or RPOP with a count, and pushes of the elements; LMOVE for
 * one element. When a list is moved onto itself as a whole, the pushes come first: without elements the key
 * would lose its expiry.
 *
 * BLMOVEM EXACTLY also waits while the list exists and is too short. Clients that wait for keys are told of
 * keys that come or go, but not of lists that grow: listMovemKeyChanged tells them, and is called only while
 * somebody waits. */
#include "base/num.h"
#include "base/sds.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/blocking.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "commands/cmd_list.h"
#include "data/keyspace/hooks.h"
#include "data/notify.h"
#include "types/list/list_commands.h"
#include "types/pop.h"

#define PUSH_BATCH 16384 /* elements in one propagated push */

struct listMovem {
    struct listMove ends;
    int64_t count;
    bool exactly; /* fewer elements are not moved */
    bool obo;     /* one by one */
};

/* ---- Waiting for a list to grow ---- */

static size_t listMovemWaits; /* not 0: a client may wait for more elements */

static void listMovemKeyChanged(struct client *c, struct db *db, struct str key) {
    (void)c;
    signalKeyReady(db, key);
    if (!data_hooks.keyExistenceChanged) listMovemWaits = 0; /* nobody waits for any key */
}

static void listMovemWaitForMore(void) {
    static bool known;
    if (!known) notifyAddModifiedSink(listMovemKeyChanged, &listMovemWaits);
    known = true;
    listMovemWaits = 1;
}

/* ---- The block ---- */

struct listBlock {
    struct str *elements; /* in the order of the destination */
    uint64_t count;
    sds bytes; /* of all elements */
};

static void listBlockReverse(struct listBlock *b) {
    for (uint64_t i = 0; i < b->count / 2; i++) {
        struct str s = b->elements[i];
        b->elements[i] = b->elements[b->count - 1 - i];
        b->elements[b->count - 1 - i] = s;
    }
}

static struct listBlock listBlockCopy(struct listRef l, const struct listMovem *m, uint64_t count) {
    struct listBlock b = {zmalloc(count * sizeof *b.elements), count, sdsempty()};
    uint64_t start = m->ends.from == LIST_LEFT ? 0 : listTypeLength(l) - count;
    char number[LP_INTBUF_SIZE];
    struct listIterator it;
    listTypeSeek(&it, l, (int64_t)start);
    for (uint64_t i = 0; i < count; i++) {
        if (i) listTypeNext(&it);
        b.elements[i] = listTypeText(&it, number);
        b.bytes = sdscatstr(b.bytes, b.elements[i]);
    }
    listTypeStop(&it);
    const char *at = b.bytes;
    for (uint64_t i = 0; i < count; at += b.elements[i++].len) b.elements[i].ptr = at;
    if (m->obo && m->ends.from == m->ends.to) listBlockReverse(&b);
    return b;
}

static void listBlockFree(struct listBlock *b) {
    zfree(b->elements);
    sdsfree(b->bytes);
}

static void listBlockReply(struct client *c, const struct listBlock *b) {
    replyArrayLen(c, (int64_t)b->count);
    for (uint64_t i = 0; i < b->count; i++) replyBulk(c, b->elements[i]);
}

/* ---- Moving ---- */

static void listMovemPropagatePop(struct client *c, enum listEnd from, uint64_t count) {
    char text[LONG_STR_SIZE];
    propagateRewrite(c, 3,
                     (struct str[]){from == LIST_LEFT ? STR("LPOP") : STR("RPOP"), c->argv[1],
                                    strN(text, ull2string(text, count))});
}

/* The elements are in the order of pushing. */
static void listMovemPropagatePush(struct client *c, enum listEnd to, const struct listBlock *b) {
    for (uint64_t i = 0, end; i < b->count; i = end) {
        end = i + popMin(PUSH_BATCH, b->count - i);
        propagateRewriteOpen(c, (int)(end - i) + 2, to == LIST_LEFT ? STR("LPUSH") : STR("RPUSH"),
                             c->argv[2]);
        for (uint64_t k = i; k < end; k++) propagateRewriteArg(b->elements[k]);
    }
}

/* `whole`: all elements of a list move within it. */
static void listMovemPropagate(struct client *c, const struct listMove *ends, const struct listBlock *b,
                               bool whole) {
    if (!propagateWanted()) return;
    if (b->count == 1) {
        propagateRewrite(c, 5, (struct str[]){STR("LMOVE"), c->argv[1], c->argv[2], c->argv[3], c->argv[4]});
        return;
    }
    if (!whole) listMovemPropagatePop(c, ends->from, b->count);
    listMovemPropagatePush(c, ends->to, b);
    if (whole) listMovemPropagatePop(c, ends->to == LIST_LEFT ? LIST_RIGHT : LIST_LEFT, b->count);
}

/* Pushes as replicas do. */
static void listMovemPush(struct listRef *l, enum listEnd to, const struct listBlock *b) {
    for (uint64_t i = 0; i < b->count; i += PUSH_BATCH)
        listTypePushMany(l, b->elements + i, (int)popMin(PUSH_BATCH, b->count - i), to);
}

static void listMovemDelete(struct listRef *l, enum listEnd from, uint64_t count) {
    listTypeDelete(l, from == LIST_LEFT ? 0 : listTypeLength(*l) - count, count);
}

static void listMovemWithin(struct client *c, struct object *o, const struct listMove *ends,
                            const struct listBlock *b) {
    struct str key = c->argv[1];
    struct listRef l = listTypeOpen(o);
    listMovemDelete(&l, ends->from, b->count);
    listMovemPush(&l, ends->to, b);
    o = listPushed(c, key, o, l, ends->to, 0);
    listChanged(c, key, o, listTypeOpen(o), listPopEvent(ends->from), b->count);
}

static void listMovemBetween(struct client *c, struct object *from, struct object *to,
                             const struct listMove *ends, const struct listBlock *b) {
    struct listRef target = to ? listTypeOpen(to) : listTypeNew(sdslen(b->bytes));
    listMovemPush(&target, ends->to, b);
    listPushed(c, c->argv[2], to, target, ends->to, 0);
    struct listRef source = listTypeOpen(from);
    listMovemDelete(&source, ends->from, b->count);
    listChanged(c, c->argv[1], from, source, listPopEvent(ends->from), b->count);
}

static void listMovemElements(struct client *c, struct object *from, struct object *to,
                              const struct listMovem *m) {
    struct listRef l = listTypeOpen(from);
    uint64_t length = listTypeLength(l);
    struct listBlock b = listBlockCopy(l, m, popMin((uint64_t)m->count, length));
    bool within = strEq(c->argv[1], c->argv[2]);
    listBlockReply(c, &b);
    if (m->ends.to == LIST_LEFT) listBlockReverse(&b);
    listMovemPropagate(c, &m->ends, &b, within && b.count == length);
    if (within)
        listMovemWithin(c, from, &m->ends, &b);
    else
        listMovemBetween(c, from, to, &m->ends, &b);
    listBlockFree(&b);
}

/* Returns false when an error was replied. *moved is false when there are no or too few elements. */
static bool listMovemIfThere(struct client *c, const struct listMovem *m, bool *moved) {
    struct object *from, *to;
    *moved = false;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_LIST, &from)) return false;
    if (!from || (m->exactly && listTypeLength(listTypeOpen(from)) < (uint64_t)m->count)) return true;
    if (!lookupKeyWriteType(c, c->argv[2], OBJ_LIST, &to)) return false;
    listMovemElements(c, from, to, m);
    *moved = true;
    return true;
}

/* ---- Commands ---- */

/* `at` is the position of COUNT or EXACTLY. */
static bool listMovemParse(struct client *c, int at, struct listMovem *m) {
    *m = (struct listMovem){.count = 1};
    if (!listParseMove(c, &m->ends)) return false;
    if (c->argc == at) return true;
    if (c->argc != at + 3) return replySyntaxError(c);
    m->exactly = strIs(c->argv[at], "exactly");
    m->obo = strIs(c->argv[at + 2], "obo");
    if ((!m->exactly && !strIs(c->argv[at], "count")) || (!m->obo && !strIs(c->argv[at + 2], "bulk")))
        return replySyntaxError(c);
    return argRange(c, c->argv[at + 1], 1, INT64_MAX, &m->count, "ERR count should be greater than 0");
}

void lmovemCommand(struct client *c) {
    struct listMovem m;
    bool moved;
    if (listMovemParse(c, 5, &m) && listMovemIfThere(c, &m, &moved) && !moved) replyNullArray(c);
}

void blmovemCommand(struct client *c) {
    struct listMovem m;
    int64_t deadline_ms;
    bool moved;
    if (!listMovemParse(c, 6, &m) || !argTimeout(c, c->argv[5], false, &deadline_ms) ||
        !listMovemIfThere(c, &m, &moved) || moved)
        return;
    if (c->flags & CLIENT_DENY_BLOCKING) {
        replyNullArray(c);
        return;
    }
    if (m.exactly) listMovemWaitForMore();
    blockForKeys(c, c->argv + 1, 1, OBJ_LIST, deadline_ms, NULL, false);
}
