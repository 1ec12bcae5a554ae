/* SPDX-License-Identifier: BSD-3-Clause */
/* string_lcs.c - LCS: the longest text that two strings have in common when bytes may be left out of both.
 *
 *     table[i][j] = length for the first i bytes of a and the first j of b
 *                 = table[i-1][j-1] + 1 when the two last bytes are equal, else the larger of its neighbours
 *
 * Walking from the last corner back to the first gives the text itself, last byte first. The walk finds runs
 * of equal bytes, which are the ranges of IDX. For LEN alone two rows are enough. */
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/turn.h"
#include "commands/cmd_string.h"
#include "data/keyspace/db.h"
#include "types/string/string_commands.h"
#include "types/types.h"

#define READER_TABLE_MAX (1 << 20) /* bytes */

struct lcsOptions {
    bool len, idx, with_len;
    int64_t min_len;
};

struct lcs {
    struct str a, b;
    uint32_t *table; /* rows of b.len + 1 */
    bool whole;      /* has all a.len + 1 rows; else two */
};

static uint32_t *stringLcsRow(const struct lcs *l, size_t i) {
    return l->table + (l->whole ? i : i & 1) * (l->b.len + 1);
}

/* Fills the table and returns the length for both whole strings. */
static uint32_t stringLcsFill(const struct lcs *l) {
    memset(stringLcsRow(l, 0), 0, (l->b.len + 1) * sizeof(uint32_t));
    for (size_t i = 1; i <= l->a.len; i++) {
        uint32_t *now = stringLcsRow(l, i), *before = stringLcsRow(l, i - 1);
        char byte = l->a.ptr[i - 1];
        now[0] = 0;
        for (size_t j = 1; j <= l->b.len; j++) {
            uint32_t larger = before[j] > now[j - 1] ? before[j] : now[j - 1];
            now[j] = byte == l->b.ptr[j - 1] ? before[j - 1] + 1 : larger;
        }
    }
    return stringLcsRow(l, l->a.len)[l->b.len];
}

/* Finds the next run of equal bytes, going back from (*i, *j): returns its length, and its start in (*i, *j).
 * 0: none is left. */
static size_t stringLcsNextRun(const struct lcs *l, size_t *i, size_t *j) {
    const char *a = l->a.ptr, *b = l->b.ptr;
    while (*i && *j && a[*i - 1] != b[*j - 1]) {
        if (stringLcsRow(l, *i - 1)[*j] > stringLcsRow(l, *i)[*j - 1])
            --*i;
        else
            --*j;
    }
    size_t n = 0;
    for (; *i && *j && a[*i - 1] == b[*j - 1]; n++) --*i, --*j;
    return n;
}

static void stringLcsReplyText(struct client *c, const struct lcs *l, uint32_t len) {
    char *text = zmalloc(len + 1);
    size_t i = l->a.len, j = l->b.len, at = len, n;
    while ((n = stringLcsNextRun(l, &i, &j))) {
        at -= n;
        memcpy(text + at, l->a.ptr + i, n);
    }
    replyBulk(c, strN(text, len));
    zfree(text);
}

static void stringLcsReplyRange(struct client *c, size_t start, size_t n) {
    replyArrayLen(c, 2);
    replyLongLong(c, (int64_t)start);
    replyLongLong(c, (int64_t)(start + n - 1));
}

static void stringLcsReplyMatches(struct client *c, const struct lcs *l, uint32_t len,
                                  const struct lcsOptions *opt) {
    replyMapLen(c, 2);
    replyBulkCstr(c, "matches");
    struct replyMark mark = replyDeferLen(c);
    int64_t matches = 0;
    size_t i = l->a.len, j = l->b.len, n;
    while ((n = stringLcsNextRun(l, &i, &j))) {
        if ((int64_t)n < opt->min_len) continue;
        replyArrayLen(c, opt->with_len ? 3 : 2);
        stringLcsReplyRange(c, i, n);
        stringLcsReplyRange(c, j, n);
        if (opt->with_len) replyLongLong(c, (int64_t)n);
        matches++;
    }
    replySetArrayLen(c, mark, matches);
    replyBulkCstr(c, "len");
    replyLongLong(c, len);
}

static bool stringLcsParseOptions(struct client *c, struct lcsOptions *opt) {
    for (int i = 3; i < c->argc; i++) {
        struct str arg = c->argv[i];
        if (strIs(arg, "idx"))
            opt->idx = true;
        else if (strIs(arg, "len"))
            opt->len = true;
        else if (strIs(arg, "withmatchlen"))
            opt->with_len = true;
        else if (strIs(arg, "minmatchlen") && i + 1 < c->argc) {
            if (!argLongLong(c, c->argv[++i], &opt->min_len, NULL)) return false;
        } else
            return replySyntaxError(c);
    }
    if (!opt->idx || !opt->len) return true;
    return replyError(c, "ERR If you want both the length and indexes, please just use IDX.");
}

/* Reads the two texts; a missing key is an empty text. */
static bool stringLcsReadTexts(struct client *c, struct str text[2], char bufs[2][LONG_STR_SIZE]) {
    for (int i = 0; i < 2; i++) {
        struct object *o = lookupKeyRead(c, c->argv[1 + i]);
        if (o && o->type != OBJ_STRING)
            return replyError(c, "ERR The specified keys must contain string values");
        text[i] = o ? stringView(o, bufs[i]) : STR("");
    }
    return true;
}

/* Allocates the table. Its limit is that of a whole table, even if two rows are enough. A large one is the
 * main thread's: if each thread that reads had one, all of them together would have no limit. */
static bool stringLcsAllocate(struct client *c, struct lcs *l) {
    if (l->a.len >= UINT32_MAX - 1 || l->b.len >= UINT32_MAX - 1)
        return replyError(c, "ERR String too long for LCS");
    unsigned __int128 all = (unsigned __int128)(l->a.len + 1) * (l->b.len + 1) * sizeof(uint32_t);
    if (all > (unsigned __int128)turnMaxBulk())
        return replyError(c, "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
    size_t size = l->whole ? (size_t)all : 2 * (l->b.len + 1) * sizeof(uint32_t);
    if (size > READER_TABLE_MAX && readRefuses()) return false;
    l->table = ztrymalloc(size);
    if (!l->table) replyError(c, "ERR Insufficient memory, failed allocating transient memory for LCS");
    return l->table;
}

void lcsCommand(struct client *c) {
    char bufs[2][LONG_STR_SIZE];
    struct str text[2];
    struct lcsOptions opt = {0};
    if (!stringLcsReadTexts(c, text, bufs) || !stringLcsParseOptions(c, &opt)) return;
    struct lcs l = {.a = text[0], .b = text[1], .whole = !opt.len};
    if (!stringLcsAllocate(c, &l)) return;
    uint32_t len = stringLcsFill(&l);
    if (opt.len)
        replyLongLong(c, len);
    else if (opt.idx)
        stringLcsReplyMatches(c, &l, len, &opt);
    else
        stringLcsReplyText(c, &l, len);
    zfree(l.table);
}
