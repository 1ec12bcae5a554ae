/* SPDX-License-Identifier: BSD-3-Clause */
/* set_operations.c - intersection, union and difference of sets. Part of set.h.
 *
 * A missing key is an empty set. The result of an intersection or a difference goes straight from the
 * sets into the reply or into a new set; only a union, or a difference of a large set, collects into a
 * set of its own. Commands that reply a number build nothing, unless there are many sets. */
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
#include "ds/hyperloglog.h"
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

/* ---- SINTERCARD, SUNIONCARD, SDIFFCARD: only a number ---- */

struct cardArgs {
    int64_t numkeys, limit; /* limit 0: none */
    bool approx;
};

/* `may_approx`: the command takes APPROX. */
static bool setOpsParseCard(struct client *c, bool may_approx, struct cardArgs *a) {
    *a = (struct cardArgs){0};
    if (!argRange(c, c->argv[1], 1, INT64_MAX, &a->numkeys, "ERR numkeys should be greater than 0"))
        return false;
    if (a->numkeys > c->argc - 2)
        return replyError(c, "ERR Number of keys can't be greater than number of args");
    for (int i = 2 + (int)a->numkeys; i < c->argc; i++) {
        if (may_approx && strIs(c->argv[i], "approx")) {
            a->approx = true;
            continue;
        }
        if (!strIs(c->argv[i], "limit") || i + 1 == c->argc) return replySyntaxError(c);
        if (!argPositive(c, c->argv[++i], &a->limit, "ERR LIMIT can't be negative")) return false;
    }
    return true;
}

static int64_t setOpsCapped(uint64_t count, int64_t limit) {
    return limit && count > (uint64_t)limit ? limit : (int64_t)count;
}

static bool setOpsOpenCard(struct client *c, bool may_approx, struct cardArgs *a, struct setOperands *ops) {
    return setOpsParseCard(c, may_approx, a) && setOpsOpenSets(c, 2, (int)a->numkeys, ops);
}

void sintercardCommand(struct client *c) {
    struct cardArgs a;
    struct setOperands ops;
    if (!setOpsOpenCard(c, false, &a, &ops)) return;
    struct setSink sink = {.limit = a.limit};
    setOpsIntersect(&ops, &sink);
    replyLongLong(c, sink.count);
    zfree(ops.sets);
}

/* Returns the sum of the sizes from set `from` on. */
static uint64_t setOpsTotal(const struct setOperands *ops, int from) {
    uint64_t total = 0;
    for (int i = from; i < ops->count; i++) total += ops->sets[i].ptr ? setSize(ops->sets[i]) : 0;
    return total;
}

/* Counts the members of the sets after the first one that are in `within` (ptr NULL: any) and in none of the
 * sets from `from` on that precede theirs. Stops at `limit`, 0: none. */
static uint64_t setOpsCountDistinct(const struct setOperands *ops, int from, struct setRef within,
                                    uint64_t limit) {
    uint64_t found = 0;
    for (int i = 1; i < ops->count; i++) {
        struct setOperands earlier = {ops->sets + from, i - from};
        struct setIterator it;
        struct setMember members[WINDOW];
        int n;
        if (!ops->sets[i].ptr) continue;
        setIterate(&it, ops->sets[i]);
        while ((!limit || found < limit) && (n = setOpsNextMembers(&it, members, &earlier, 0, within)))
            for (int k = 0; k < n; k++)
                found += (!within.ptr || setContains(within, members[k].s)) &&
                         !setOpsInAny(&earlier, 0, members[k].s);
        setStop(&it);
    }
    return found;
}

#define LOOKUPS_PER_ADD 2 /* what adding a member to a new set costs, in look-ups */

/* Whether looking up each member in all sets before its own is cheaper than collecting them. */
static bool setOpsCountsInPlace(const struct setOperands *ops) {
    uint64_t lookups = 0;
    for (int i = 1; i < ops->count; i++)
        lookups += ops->sets[i].ptr ? (uint64_t)i * setSize(ops->sets[i]) : 0;
    return lookups <= LOOKUPS_PER_ADD * setOpsTotal(ops, 0);
}

static int setOpsLargestFirst(const void *a, const void *b) {
    return setOpsBySize(b, a);
}

/* Estimates the size of the union from the registers of a HyperLogLog. */
static uint64_t setOpsEstimateUnion(const struct setOperands *ops) {
    uint8_t registers[HLL_REGISTERS] = {0};
    uint64_t largest = setSize(ops->sets[0]), total = setOpsTotal(ops, 0);
    for (int i = 0; i < ops->count; i++) {
        struct setIterator it;
        struct setMember m;
        unsigned index;
        setIterate(&it, ops->sets[i]);
        while (setNext(&it, &m)) {
            unsigned rank = hllPattern(m.s, &index);
            if (rank > registers[index]) registers[index] = (uint8_t)rank;
        }
        setStop(&it);
    }
    uint64_t estimate = hllCountRegisters(registers);
    return estimate < largest ? largest : estimate > total ? total : estimate;
}

static uint64_t setOpsCountUnion(struct setOperands *ops, const struct cardArgs *a) {
    int kept = 0;
    for (int i = 0; i < ops->count; i++)
        if (ops->sets[i].ptr) ops->sets[kept++] = ops->sets[i];
    ops->count = kept;
    if (!kept) return 0;
    qsort(ops->sets, (size_t)kept, sizeof *ops->sets, setOpsLargestFirst);
    uint64_t largest = setSize(ops->sets[0]), limit = (uint64_t)a->limit;
    if (kept == 1 || (limit && largest >= limit)) return largest;
    if (a->approx) return setOpsEstimateUnion(ops);
    if (setOpsCountsInPlace(ops))
        return largest + setOpsCountDistinct(ops, 0, (struct setRef){NULL, 0}, limit ? limit - largest : 0);
    struct setRef all = setOpsUnite(ops);
    uint64_t count = setSize(all);
    setFree(all);
    return count;
}

void sunioncardCommand(struct client *c) {
    struct cardArgs a;
    struct setOperands ops;
    if (!setOpsOpenCard(c, true, &a, &ops)) return;
    replyLongLong(c, setOpsCapped(setOpsCountUnion(&ops, &a), a.limit));
    zfree(ops.sets);
}

/* Either counts the members of the first set that no other one has, or deducts those that others have. */
static uint64_t setOpsCountDifference(const struct setOperands *ops, int64_t limit) {
    if (!ops->sets[0].ptr || setOpsRepeatsFirst(ops)) return 0;
    uint64_t size = setSize(ops->sets[0]), others = setOpsTotal(ops, 1);
    if (limit && size >= others + (uint64_t)limit) return (uint64_t)limit;
    if (setOpsLooksUpInOthers(ops)) {
        struct setSink sink = {.limit = limit};
        setOpsFilter(ops, false, &sink);
        return (uint64_t)sink.count;
    }
    if (setOpsCountsInPlace(ops)) return size - setOpsCountDistinct(ops, 1, ops->sets[0], 0);
    struct setRef left = setOpsSubtractFromCopy(ops);
    uint64_t count = setSize(left);
    setFree(left);
    return count;
}

void sdiffcardCommand(struct client *c) {
    struct cardArgs a;
    struct setOperands ops;
    if (!setOpsOpenCard(c, false, &a, &ops)) return;
    replyLongLong(c, setOpsCapped(setOpsCountDifference(&ops, a.limit), a.limit));
    zfree(ops.sets);
}
