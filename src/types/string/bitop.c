/* SPDX-License-Identifier: BSD-3-Clause */
/* bitop.c - BITOP.
 *
 * Strings that are shorter than the longest one count as followed by zeros. The strings are sorted by their
 * lengths, so that the result falls into segments in each of which the same strings have bytes:
 *
 *     longest  ████████████████████
 *     second   ███████████
 *     third    █████
 *     segments └─ 3 ┴─ 2 ─┴── 1 ───┘
 *
 * Within a segment the result is computed in columns of 64 bytes, each from all strings at once, so that
 * every byte is read once and written once.
 *
 * DIFF, DIFF1 and ANDOR compare the first string with the union of the others. It is not sorted with them. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/lookup.h"
#include "commands/cmd_bitmap.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "types/string/string_commands.h"
#include "types/types.h"

enum bitOperation {
    BITOP_AND,
    BITOP_OR,
    BITOP_XOR,
    BITOP_NOT,
    BITOP_DIFF,  /* in the first string and in no other */
    BITOP_DIFF1, /* in another string and not in the first */
    BITOP_ANDOR, /* in the first string and in another */
    BITOP_ONE,   /* in exactly one string */
    BITOP_NAMES, /* those above have names */
    BITOP_ZEROS = BITOP_NAMES,
    BITOP_FIRST, /* in the first string */
};

static const char *const bitop_names[BITOP_NAMES] = {"AND",  "OR",    "XOR",   "NOT",
                                                     "DIFF", "DIFF1", "ANDOR", "ONE"};

static bool bitopHasFirst(enum bitOperation op) {
    return op == BITOP_DIFF || op == BITOP_DIFF1 || op == BITOP_ANDOR;
}

static bool bitopParse(struct client *c, enum bitOperation *op) {
    int i = 0, sources = c->argc - 3;
    while (i < BITOP_NAMES && !strIs(c->argv[1], bitop_names[i])) i++;
    if (i == BITOP_NAMES) return replySyntaxError(c);
    *op = (enum bitOperation)i;
    if (*op == BITOP_NOT && sources != 1)
        return replyError(c, "ERR BITOP NOT must be called with a single source key.");
    if (bitopHasFirst(*op) && sources < 2)
        return replyErrorFmt(c, "ERR BITOP %s must be called with at least two source keys.", bitop_names[i]);
    return true;
}

/* ---- Columns ---- */

#define ALWAYS static inline __attribute__((always_inline))

/* A vector is as wide as those of every processor; four of each string are read in a turn, as the processor
 * can wait for all of them at once. */
typedef uint64_t bitVector __attribute__((vector_size(16)));
struct bitColumn {
    bitVector a, b, c, d;
};

struct bitSegment {
    char *dst;
    size_t from, end; /* in all strings */
    const struct str *strings;
    int count;
    const char *first;
};

ALWAYS void bitopAdd(bitVector *sum, bitVector *several, const bitVector *next, enum bitOperation op) {
    if (op == BITOP_ONE) *several |= *sum & *next;
    if (op == BITOP_AND)
        *sum &= *next;
    else if (op == BITOP_XOR)
        *sum ^= *next;
    else
        *sum |= *next;
}

ALWAYS void bitopFinish(bitVector *sum, const bitVector *several, const bitVector *first,
                        enum bitOperation op) {
    if (op == BITOP_NOT) *sum = ~*sum;
    if (op == BITOP_DIFF) *sum = *first & ~*sum;
    if (op == BITOP_DIFF1) *sum &= ~*first;
    if (op == BITOP_ANDOR) *sum &= *first;
    if (op == BITOP_ONE) *sum &= ~*several;
}

ALWAYS void bitopLoad(struct bitColumn *column, const char *p) {
    memcpy(&column->a, p, sizeof column->a);
    memcpy(&column->b, p + 16, sizeof column->b);
    memcpy(&column->c, p + 32, sizeof column->c);
    memcpy(&column->d, p + 48, sizeof column->d);
}

ALWAYS void bitopComputeColumn(const struct bitSegment *s, size_t at, enum bitOperation op) {
    struct bitColumn sum, next = {{0}, {0}, {0}, {0}}, several = next;
    bitopLoad(&sum, s->strings[0].ptr + at);
    for (int i = 1; i < s->count; i++) {
        bitopLoad(&next, s->strings[i].ptr + at);
        bitopAdd(&sum.a, &several.a, &next.a, op);
        bitopAdd(&sum.b, &several.b, &next.b, op);
        bitopAdd(&sum.c, &several.c, &next.c, op);
        bitopAdd(&sum.d, &several.d, &next.d, op);
    }
    if (bitopHasFirst(op)) bitopLoad(&next, s->first + at);
    bitopFinish(&sum.a, &several.a, &next.a, op);
    bitopFinish(&sum.b, &several.b, &next.b, op);
    bitopFinish(&sum.c, &several.c, &next.c, op);
    bitopFinish(&sum.d, &several.d, &next.d, op);
    memcpy(s->dst + at, &sum.a, sizeof sum.a);
    memcpy(s->dst + at + 16, &sum.b, sizeof sum.b);
    memcpy(s->dst + at + 32, &sum.c, sizeof sum.c);
    memcpy(s->dst + at + 48, &sum.d, sizeof sum.d);
}

/* Computes n bytes at the end of a segment, at most a vector. */
ALWAYS void bitopComputeRest(const struct bitSegment *s, size_t at, size_t n, enum bitOperation op) {
    bitVector sum = {0}, next = {0}, several = {0};
    memcpy(&sum, s->strings[0].ptr + at, n);
    for (int i = 1; i < s->count; i++) {
        memcpy(&next, s->strings[i].ptr + at, n);
        bitopAdd(&sum, &several, &next, op);
    }
    if (bitopHasFirst(op)) memcpy(&next, s->first + at, n);
    bitopFinish(&sum, &several, &next, op);
    memcpy(s->dst + at, &sum, n);
}

ALWAYS void bitopComputeColumns(const struct bitSegment *s, enum bitOperation op) {
    size_t at = s->from;
    for (; s->end - at >= sizeof(struct bitColumn); at += sizeof(struct bitColumn))
        bitopComputeColumn(s, at, op);
    for (; s->end - at >= sizeof(bitVector); at += sizeof(bitVector))
        bitopComputeRest(s, at, sizeof(bitVector), op);
    if (at < s->end) bitopComputeRest(s, at, s->end - at, op);
}

/* Each call has a constant operation, for which a loop of its own is compiled. */
static void bitopComputeSegment(const struct bitSegment *s, enum bitOperation op) {
    switch (op) {
    case BITOP_AND: bitopComputeColumns(s, BITOP_AND); break;
    case BITOP_OR: bitopComputeColumns(s, BITOP_OR); break;
    case BITOP_XOR: bitopComputeColumns(s, BITOP_XOR); break;
    case BITOP_NOT: bitopComputeColumns(s, BITOP_NOT); break;
    case BITOP_DIFF: bitopComputeColumns(s, BITOP_DIFF); break;
    case BITOP_DIFF1: bitopComputeColumns(s, BITOP_DIFF1); break;
    case BITOP_ANDOR: bitopComputeColumns(s, BITOP_ANDOR); break;
    case BITOP_ONE: bitopComputeColumns(s, BITOP_ONE); break;
    case BITOP_FIRST: memcpy(s->dst + s->from, s->first + s->from, s->end - s->from); break;
    case BITOP_ZEROS: memset(s->dst + s->from, 0, s->end - s->from); break;
    }
}

/* ---- Segments ---- */

/* Returns what remains of an operation where `count` of `all` strings have bytes, and perhaps the first. */
static enum bitOperation bitopReduce(enum bitOperation op, int count, int all, bool has_first) {
    switch (op) {
    case BITOP_AND: return count == all ? BITOP_AND : BITOP_ZEROS;
    case BITOP_DIFF: return !has_first ? BITOP_ZEROS : count ? BITOP_DIFF : BITOP_FIRST;
    case BITOP_DIFF1: return !count ? BITOP_ZEROS : has_first ? BITOP_DIFF1 : BITOP_OR;
    case BITOP_ANDOR: return has_first && count ? BITOP_ANDOR : BITOP_ZEROS;
    default: return op;
    }
}

static int bitopCompareLengths(const void *a, const void *b) {
    size_t x = ((const struct str *)a)->len, y = ((const struct str *)b)->len;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Most often all lengths are equal. */
static void bitopSort(struct str *strings, int count) {
    int i = 1;
    while (i < count && strings[i].len <= strings[i - 1].len) i++;
    if (i < count) qsort(strings, (size_t)count, sizeof *strings, bitopCompareLengths);
}

/* Computes `total` bytes; changes the order of the strings. */
static void bitopCompute(char *dst, size_t total, struct str first, struct str *strings, int count,
                         enum bitOperation op) {
    bitopSort(strings, count);
    struct bitSegment s = {.dst = dst, .strings = strings, .count = count, .first = first.ptr};
    for (; s.from < total; s.from = s.end) {
        while (s.count && strings[s.count - 1].len <= s.from) s.count--;
        bool has_first = first.len > s.from;
        s.end = s.count ? strings[s.count - 1].len : total;
        if (has_first && first.len < s.end) s.end = first.len;
        debugAssert(s.from < s.end && s.end <= total);
        bitopComputeSegment(&s, bitopReduce(op, s.count, count, has_first));
    }
}

/* ---- The command ---- */

/* Takes the result over. */
static void bitopStore(struct client *c, sds result) {
    struct str dst = c->argv[2];
    size_t len = sdslen(result);
    bool taken = len > OBJ_EMBED_MAX;
    if (len) {
        dbSet(c->db, dst, taken ? stringTakenValue(result) : stringRawValue(sdsview(result)), false);
        keyChanged(c, c->db, dst, NOTIFY_STRING, "set", 1);
    } else if (lookupKeyWrite(c, dst)) {
        dbDelete(c->db, dst);
        keyChanged(c, c->db, dst, NOTIFY_GENERIC, "del", 1);
    }
    replyLongLong(c, (int64_t)len);
    if (!taken) sdsfree(result);
}

void bitopCommand(struct client *c) {
    enum bitOperation op;
    if (!bitopParse(c, &op)) return;
    int count = c->argc - 3, special = bitopHasFirst(op);
    struct str *strings = zmalloc((size_t)count * sizeof *strings);
    char(*texts)[LONG_STR_SIZE] = zmalloc((size_t)count * sizeof *texts);
    size_t total = 0;
    bool ok = true;
    for (int i = 0; i < count && ok; i++) {
        struct object *o;
        ok = lookupKeyReadType(c, c->argv[3 + i], OBJ_STRING, &o);
        strings[i] = o ? stringView(o, texts[i]) : STR("");
        if (strings[i].len > total) total = strings[i].len;
    }
    if (ok) {
        sds result = sdsnewlen(NULL, total);
        struct str first = special ? strings[0] : STR("");
        bitopCompute(result, total, first, strings + special, count - special, op);
        bitopStore(c, result);
    }
    zfree(texts);
    zfree(strings);
}
