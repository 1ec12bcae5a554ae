/* SPDX-License-Identifier: BSD-3-Clause */
/* set_operations.c - intersection, union and difference of sets. Part of set.h.
 *
 * A missing key is an empty set. The result of an intersection or a difference goes straight from the
 * sets into the reply or into a new set; only a union, or a difference of a large set, collects into a
 * set of its own. */
#include <stdlib.h>

#include "base/hash_function.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "commands/cmd_set.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "types/set/set.h"
#include "types/types.h"

/* The sets of a command; ptr NULL: no such key. */
struct setOperands {
    struct setRef *sets;
    int count;
};

static bool setOpsOpenSets(struct client *c, int first, int count, struct setOperands *ops) {
    ops->sets = zmalloc((size_t)count * sizeof *ops->sets);
    ops->count = count;
    for (int i = 0; i < count; i++) {
        struct object *o;
        if (!lookupKeyReadType(c, c->argv[first + i], OBJ_SET, &o)) {
            zfree(ops->sets);
            return false;
        }
        ops->sets[i] = o ? setOpen(o) : (struct setRef){NULL, 0};
    }
    return true;
}

#define WINDOW      16   /* members looked up together, so that their cache misses overlap */
#define ESTIMATE_AT 1024 /* results after which their final number is estimated */

/* Where a result goes: to the client, into a new set, or to a counter. */
struct setSink {
    struct client *c;     /* NULL: no reply */
    bool store, strings;  /* strings: the new set does not start as an intset */
    struct setRef set;    /* ptr NULL until the first member */
    int64_t count, limit; /* limit 0: none */
    size_t walked, total; /* members of the set that is iterated */
};

/* The order of members is unrelated to the operation, so the share of the first ones in the result goes for
 * the others, too: the memory for the result is reserved once. */
static void setOpsMakeRoom(struct setSink *sink) {
    if (sink->count != ESTIMATE_AT) return;
    double expected = 1.05 * (double)sink->count * (double)sink->total / (double)sink->walked;
    setExpand(&sink->set, expected < (double)sink->total ? (size_t)expected : sink->total);
}

/* Returns false when there are enough members. */
static bool setOpsSinkAdd(struct setSink *sink, struct str member) {
    if (sink->store) {
        if (!sink->set.ptr) sink->set = sink->strings ? setNewStrings(member, 1) : setNew(member, 1);
        sink->count += setAdd(&sink->set, member);
        setOpsMakeRoom(sink);
    } else {
        if (sink->c) replyBulk(sink->c, member);
        sink->count++;
    }
    return sink->count != sink->limit;
}

/* ---- The three operations ---- */

static int setOpsBySize(const void *a, const void *b) {
    size_t x = setSize(*(const struct setRef *)a), y = setSize(*(const struct setRef *)b);
    return x < y ? -1 : x > y;
}

static bool setOpsInAll(const struct setOperands *ops, int from, struct str member) {
    for (int i = from; i < ops->count; i++) {
        if (!setContains(ops->sets[i], member)) return false;
    }
    return true;
}

static bool setOpsInAny(const struct setOperands *ops, int from, struct str member) {
    for (int i = from; i < ops->count; i++) {
        if (ops->sets[i].ptr && setContains(ops->sets[i], member)) return true;
    }
    return false;
}

/* Reads the next members that are looked up together, and prefetches where other sets have them. */
static int setOpsNextMembers(struct setIterator *it, struct setMember *members, const struct setOperands *ops,
                             int from, struct setRef to) {
    int n = 0;
    for (; n < WINDOW && setNext(it, &members[n]); n++) {
        uint64_t hash = hashBytes(members[n].s.ptr, members[n].s.len);
        for (int i = from; ops && i < ops->count; i++) setPrefetch(ops->sets[i], hash);
        setPrefetch(to, hash);
    }
    return n;
}

/* Emits the members of the first set that are in all others, or in none. */
static void setOpsFilter(const struct setOperands *ops, bool all, struct setSink *sink) {
    struct setIterator it;
    struct setMember members[WINDOW];
    bool more = true;
    int n;
    sink->total = setSize(ops->sets[0]);
    setIterate(&it, ops->sets[0]);
    while (more && (n = setOpsNextMembers(&it, members, ops, 1, sink->set))) {
        for (int i = 0; more && i < n; i++) {
            struct str member = members[i].s;
            sink->walked++;
            if (all ? setOpsInAll(ops, 1, member) : !setOpsInAny(ops, 1, member))
                more = setOpsSinkAdd(sink, member);
        }
    }
    setStop(&it);
}

static void setOpsIntersect(struct setOperands *ops, struct setSink *sink) {
    for (int i = 0; i < ops->count; i++) {
        if (!ops->sets[i].ptr) return;
    }
    qsort(ops->sets, (size_t)ops->count, sizeof *ops->sets, setOpsBySize);
    sink->strings = ops->sets[0].encoding != SET_INTSET;
    setOpsFilter(ops, true, sink);
}

static void setOpsAddAll(struct setRef *to, struct setRef s) {
    struct setIterator it;
    struct setMember members[WINDOW];
    int n;
    setIterate(&it, s);
    while ((n = setOpsNextMembers(&it, members, NULL, 0, *to))) {
        if (!to->ptr) *to = setNew(members[0].s, setSize(s));
        for (int i = 0; i < n; i++) setAdd(to, members[i].s);
    }
    setStop(&it);
}

static struct setRef setOpsUnite(const struct setOperands *ops) {
    struct setRef result = {NULL, 0};
    for (int i = 0; i < ops->count; i++) {
        if (ops->sets[i].ptr) setOpsAddAll(&result, ops->sets[i]);
    }
    return result;
}

/* Chooses the cheaper way: to look up each member of the first set in all others, or to remove the members of
 * all others from a copy of the first. */
static bool setOpsLooksUpInOthers(const struct setOperands *ops) {
    size_t lookups = setSize(ops->sets[0]) * (size_t)ops->count / 2, removals = 0;
    for (int i = 0; i < ops->count; i++) removals += ops->sets[i].ptr ? setSize(ops->sets[i]) : 0;
    return lookups <= removals;
}

static bool setOpsRepeatsFirst(const struct setOperands *ops) {
    for (int i = 1; i < ops->count; i++) {
        if (ops->sets[i].ptr == ops->sets[0].ptr) return true;
    }
    return false;
}

static struct setRef setOpsSubtractFromCopy(const struct setOperands *ops) {
    struct setRef result = {NULL, 0};
    setOpsAddAll(&result, ops->sets[0]);
    for (int i = 1; i < ops->count && setSize(result); i++) {
        if (!ops->sets[i].ptr) continue;
        struct setIterator it;
        struct setMember members[WINDOW];
        int n;
        setIterate(&it, ops->sets[i]);
        while ((n = setOpsNextMembers(&it, members, NULL, 0, result)))
            for (int k = 0; k < n; k++) setRemove(&result, members[k].s);
        setStop(&it);
    }
    return result;
}

static void setOpsEmit(struct setRef s, struct setSink *sink) {
    struct setIterator it;
    struct setMember m;
    sink->total = setSize(s);
    setIterate(&it, s);
    for (; setNext(&it, &m); setOpsSinkAdd(sink, m.s)) sink->walked++;
    setStop(&it);
}

static void setOpsSubtract(const struct setOperands *ops, struct setSink *sink) {
    if (!ops->sets[0].ptr || setOpsRepeatsFirst(ops)) return;
    if (!setOpsLooksUpInOthers(ops)) {
        struct setRef result = setOpsSubtractFromCopy(ops);
        setOpsEmit(result, sink);
        setFree(result);
        return;
    }
    setOpsFilter(ops, false, sink);
}

/* ---- Commands ---- */

enum setOperation { OP_INTER, OP_UNION, OP_DIFF };

static void setOpsRun(enum setOperation op, struct setOperands *ops, struct setSink *sink) {
    if (op == OP_INTER) {
        setOpsIntersect(ops, sink);
    } else if (op == OP_DIFF) {
        setOpsSubtract(ops, sink);
    } else {
        struct setRef result = setOpsUnite(ops);
        if (!result.ptr) return;
        if (sink->store) {
            sink->set = result;
            sink->count = (int64_t)setSize(result);
            return;
        }
        setOpsEmit(result, sink);
        setFree(result);
    }
}

static void setOpsReplyOperation(struct client *c, enum setOperation op) {
    struct setOperands ops;
    if (!setOpsOpenSets(c, 1, c->argc - 1, &ops)) return;
    struct setSink sink = {.c = c};
    struct replyMark mark = replyDeferLen(c);
    setOpsRun(op, &ops, &sink);
    replySetSetLen(c, mark, sink.count);
    zfree(ops.sets);
}

static void setOpsStoreOperation(struct client *c, enum setOperation op, const char *event) {
    struct str dst = c->argv[1];
    struct setOperands ops;
    if (!setOpsOpenSets(c, 2, c->argc - 2, &ops)) return;
    struct setSink sink = {.store = true};
    setOpsRun(op, &ops, &sink);
    zfree(ops.sets);
    if (sink.set.ptr && sink.count) {
        if (sink.strings) setCompact(&sink.set); /* Valkey does this for SINTERSTORE only */
        dbSet(c->db, dst, setValue(sink.set), false);
        keyChanged(c, c->db, dst, NOTIFY_SET, event, 1);
    } else {
        if (sink.set.ptr) setFree(sink.set);
        if (lookupKeyWrite(c, dst)) {
            dbDelete(c->db, dst);
            keyChanged(c, c->db, dst, NOTIFY_GENERIC, "del", 1);
        }
    }
    replyLongLong(c, sink.count);
}

void smembersCommand(struct client *c) {
    setOpsReplyOperation(c, OP_INTER);
}
void sinterCommand(struct client *c) {
    setOpsReplyOperation(c, OP_INTER);
}
void sunionCommand(struct client *c) {
    setOpsReplyOperation(c, OP_UNION);
}
void sdiffCommand(struct client *c) {
    setOpsReplyOperation(c, OP_DIFF);
}
void sinterstoreCommand(struct client *c) {
    setOpsStoreOperation(c, OP_INTER, "sinterstore");
}
void sunionstoreCommand(struct client *c) {
    setOpsStoreOperation(c, OP_UNION, "sunionstore");
}
void sdiffstoreCommand(struct client *c) {
    setOpsStoreOperation(c, OP_DIFF, "sdiffstore");
}

void sintercardCommand(struct client *c) {
    int64_t numkeys, limit = 0;
    if (!argRange(c, c->argv[1], 1, INT64_MAX, &numkeys, "ERR numkeys should be greater than 0")) return;
    if (numkeys > c->argc - 2) {
        replyError(c, "ERR Number of keys can't be greater than number of args");
        return;
    }
    for (int i = 2 + (int)numkeys; i < c->argc; i += 2) {
        if (!strIs(c->argv[i], "limit") || i + 1 == c->argc) {
            replySyntaxError(c);
            return;
        }
        if (!argPositive(c, c->argv[i + 1], &limit, "ERR LIMIT can't be negative")) return;
    }
    struct setOperands ops;
    if (!setOpsOpenSets(c, 2, (int)numkeys, &ops)) return;
    struct setSink sink = {.limit = limit};
    setOpsIntersect(&ops, &sink);
    replyLongLong(c, sink.count);
    zfree(ops.sets);
}
