/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_listpack.c - the encoding of small sorted sets: a listpack of pairs in order.
 *
 *     | bytes, count | member | score | member | score | ... | end |
 *
 * A score is an integer element when it is integral, else its text; the format of dumps depends on it.
 * Everything walks: the sets are small and lie in few cache lines.
 *
 * `place.at` points at the member. */
#include "types/zset/zset.h"

#include <math.h>

#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "types/zset/zset_writer.h"

#define LINE           64
#define LINES_TO_SCAN  4      /* fetched ahead for a search */
#define PAIR_GUESS     16     /* bytes of a usual pair */
#define INTEGRAL_LIMIT 4.0e18 /* below, an integral score is stored as an integer */

/* ---- Scores ---- */

static double zsetListpackScoreAt(unsigned char *score) {
    struct lpValue v;
    double d;
    lpGetValue(score, &v);
    if (!v.sval) return (double)v.lval;
    bool ok = string2d(strN(v.sval, v.slen), &d);
    serverAssert(ok);
    return d;
}

static bool isIntegral(double score) {
    return score > -INTEGRAL_LIMIT && score < INTEGRAL_LIMIT && score == (double)(int64_t)score;
}

static unsigned char *putScore(unsigned char *lp, double score, unsigned char *at, int where) {
    char text[DOUBLE_STR_SIZE];
    if (isIntegral(score)) return lpInsertInt(lp, (int64_t)score, at, where, NULL);
    return lpInsert(lp, strN(text, d2string(text, score)), at, where, NULL);
}

static unsigned char *appendScore(unsigned char *lp, double score) {
    char text[DOUBLE_STR_SIZE];
    if (isIntegral(score)) return lpAppendInt(lp, (int64_t)score);
    return lpAppend(lp, strN(text, d2string(text, score)));
}

/* ---- Walking by pairs ---- */

static unsigned char *nextPair(unsigned char *lp, unsigned char *member) {
    return lpNext(lp, lpNext(lp, member));
}

static unsigned char *prevPair(unsigned char *lp, unsigned char *member) {
    unsigned char *score = lpPrev(lp, member);
    return score ? lpPrev(lp, score) : NULL;
}

static bool zsetListpackPutPlace(unsigned char *lp, struct zsetPlace *p, unsigned char *member) {
    p->at = member;
    if (member) p->score = zsetListpackScoreAt(lpNext(lp, member));
    return member != NULL;
}

/* Is the pair here before (score, member)? */
static bool isBefore(unsigned char *lp, unsigned char *at, double score, struct str member) {
    double here = zsetListpackScoreAt(lpNext(lp, at));
    return here != score ? here < score : lpCompare(at, member) < 0;
}

/* ---- Life ---- */

static void *listpackCreate(size_t entries) {
    return lpNew(entries * PAIR_GUESS);
}

static void listpackDestroy(void *z) {
    lpFree(z);
}

static void *listpackCopy(const void *z) {
    return lpDup(z);
}

static uint64_t listpackLength(const void *z) {
    return lpLength((unsigned char *)z) / 2;
}

static size_t listpackMemory(const void *z, size_t samples) {
    (void)samples;
    return zmallocSize(z);
}

static size_t listpackAllocations(const void *z) {
    (void)z;
    return 1;
}

/* From outside: are these pairs whose scores can be read? */
bool zsetListpackIsPairs(unsigned char *lp, size_t *longest) {
    unsigned long n = lpLength(lp);
    char text[LP_INTBUF_SIZE];
    *longest = 0;
    if (n == 0 || n % 2) return false;
    for (unsigned char *at = lpFirst(lp); at; at = nextPair(lp, at)) {
        struct lpValue v;
        double score;
        size_t len = lpView(at, text).len;
        if (len > *longest) *longest = len;
        lpGetValue(lpNext(lp, at), &v);
        if (v.sval && (!string2d(strN(v.sval, v.slen), &score) || isnan(score))) return false;
    }
    return true;
}

/* ---- Searching ---- */

static bool zsetListpackFind(void *z, struct str member, struct zsetPlace *p) {
    unsigned char *lp = z, *first = lpFirst(lp);
    return zsetListpackPutPlace(lp, p, first ? lpFind(lp, first, member, 1) : NULL);
}

static bool listpackAtRank(const void *z, uint64_t rank, struct zsetPlace *p) {
    unsigned char *lp = (unsigned char *)z;
    return zsetListpackPutPlace(lp, p, rank < listpackLength(lp) ? lpSeek(lp, (long)(2 * rank)) : NULL);
}

static bool isAboveMin(const struct zsetRange *r, const struct zsetPlace *p) {
    char buf[LP_INTBUF_SIZE];
    if (r->by == ZRANGE_SCORE) return zscoreGteMin(p->score, &r->score);
    return zlexGteMin(lpView(p->at, buf), &r->lex);
}

static bool isBelowMax(const struct zsetRange *r, const struct zsetPlace *p) {
    char buf[LP_INTBUF_SIZE];
    if (r->by == ZRANGE_SCORE) return zscoreLteMax(p->score, &r->score);
    return zlexLteMax(lpView(p->at, buf), &r->lex);
}

static bool listpackStep(const void *z, struct zsetPlace *p, bool back) {
    unsigned char *lp = (unsigned char *)z;
    return zsetListpackPutPlace(lp, p, back ? prevPair(lp, p->at) : nextPair(lp, p->at));
}

/* By names, sets whose scores differ have no order; what a range is of these then follows from how it is
 * looked for. It has to be as in Valkey, since commands that change such a range are propagated as they came:
 * the ends are looked at first, then the search goes from the near end, and the range ends at its far bound.
 */
static bool listpackEndsFit(const void *z, const struct zsetRange *r, uint64_t length) {
    struct zsetPlace first, last;
    return listpackAtRank(z, 0, &first) && isBelowMax(r, &first) && listpackAtRank(z, length - 1, &last) &&
           isAboveMin(r, &last);
}

static bool listpackSeek(const void *z, const struct zsetRange *r, bool last, struct zsetPlace *p,
                         uint64_t *rank) {
    uint64_t length = listpackLength(z), at = last ? length - 1 : 0;
    if (r->by == ZRANGE_SCORE ? zscoreRangeEmpty(&r->score) : zlexRangeEmpty(&r->lex)) return false;
    if (!length || (r->by == ZRANGE_LEX && !listpackEndsFit(z, r, length))) return false;
    for (bool more = listpackAtRank(z, at, p); more;
         more = listpackStep(z, p, last), at += last ? -1ull : 1) {
        if (!(last ? isBelowMax(r, p) : isAboveMin(r, p))) continue;
        if (rank) *rank = at;
        return last ? isAboveMin(r, p) : isBelowMax(r, p);
    }
    return false;
}

static uint64_t listpackExtent(const void *z, const struct zsetRange *r, const struct zsetPlace *p,
                               uint64_t rank, uint64_t max) {
    struct zsetPlace at = *p;
    uint64_t count = 0;
    (void)rank;
    for (bool more = true; more && count < max; more = listpackStep(z, &at, r->reverse), count++)
        if (!(r->reverse ? isAboveMin(r, &at) : isBelowMax(r, &at))) break;
    return count;
}

static uint64_t listpackRank(const void *z, const struct zsetPlace *p) {
    unsigned char *lp = (unsigned char *)z;
    uint64_t rank = 0;
    for (unsigned char *at = lpFirst(lp); at != p->at; at = nextPair(lp, at)) rank++;
    return rank;
}

static void listpackRead(const struct zsetPlace *p, struct zsetElement *e) {
    e->member = lpView(p->at, e->text);
    e->score = p->score;
}

/* ---- Changing ---- */

static void *listpackAppend(void *z, struct str member, double score) {
    return appendScore(lpAppend(z, member), score);
}

static void *listpackPrepend(void *z, struct str member, double score, const struct zsetPlace *missed) {
    unsigned char *lp = lpPrepend(z, member);
    (void)missed;
    return putScore(lp, score, lpFirst(lp), LP_AFTER);
}

static void *listpackInsert(void *z, struct str member, double score, const struct zsetPlace *missed) {
    unsigned char *lp = z, *at = lpFirst(lp), *inserted;
    (void)missed;
    while (at && isBefore(lp, at, score, member)) at = nextPair(lp, at);
    if (!at) return listpackAppend(lp, member, score);
    lp = lpInsert(lp, member, at, LP_BEFORE, &inserted);
    return putScore(lp, score, inserted, LP_AFTER);
}

static void *listpackErase(void *z, const struct zsetPlace *found) {
    unsigned char *score;
    unsigned char *lp = lpDelete(z, found->at, &score);
    return lpDelete(lp, score, NULL);
}

/* In place when the neighbours still are in order. */
static void *listpackUpdate(void *z, struct str member, double score, const struct zsetPlace *found) {
    unsigned char *lp = z, *prev = prevPair(lp, found->at), *next = nextPair(lp, found->at);
    if ((!prev || isBefore(lp, prev, score, member)) && (!next || !isBefore(lp, next, score, member)))
        return putScore(lp, score, lpNext(lp, found->at), LP_REPLACE);
    return listpackInsert(listpackErase(lp, found), member, score, found);
}

static void *listpackEraseRange(void *z, uint64_t rank, uint64_t count) {
    return lpDeleteRange(z, (long)(2 * rank), (unsigned long)(2 * count));
}

/* ---- Replying ---- */

static void listpackEmit(const void *z, struct client *c, struct zsetPlace p, uint64_t count, bool reverse,
                         enum zsetShape shape) {
    unsigned char *lp = (unsigned char *)z, *at = p.at;
    struct zsetWriter w;
    char text[LP_INTBUF_SIZE];
    zsetWriterBegin(&w, c, shape);
    for (; count; count--) {
        unsigned char *score = lpNext(lp, at);
        zsetWrite(&w, lpView(at, text), shape == ZSHAPE_MEMBERS ? 0 : zsetListpackScoreAt(score));
        at = reverse ? prevPair(lp, at) : lpNext(lp, score);
    }
    zsetWriterEnd(&w);
}

static uint64_t listpackScan(void *z, uint64_t cursor, void (*fn)(void *priv, const struct zsetElement *e),
                             void *priv) {
    struct zsetPlace p;
    struct zsetElement e;
    (void)cursor;
    for (bool more = listpackAtRank(z, 0, &p); more; more = listpackStep(z, &p, false)) {
        listpackRead(&p, &e);
        fn(priv, &e);
    }
    return 0;
}

static void *listpackDefrag(void *z, uint64_t *cursor, void *(*move)(void *priv, void *ptr), void *priv) {
    void *now = move(priv, z);
    *cursor = 0;
    return now ? now : z;
}

static sds listpackDebugInfo(const void *z, sds s) {
    size_t length = listpackLength(z), bytes = zmallocSize(z);
    return sdscatprintf(s, "elements:%zu bytes:%zu bytes_per_element:%.2f ", length, bytes,
                        (double)bytes / (double)(length ? length : 1));
}

static bool listpackPrefetch(const void *z, const struct prefetchRequests *wants, int step,
                             struct prefetchState *state) {
    const char *lp = z;
    unsigned parts = wants->parts;
    (void)state;
    if (step == 1) { /* its size has arrived */
        size_t bytes = lpBytes(z);
        __builtin_prefetch(lp + bytes - 1);
        if (bytes > LINE) __builtin_prefetch(lp + bytes - LINE);
        return false;
    }
    for (int i = 0; i < (wants->member.ptr ? LINES_TO_SCAN : 1); i++) __builtin_prefetch(lp + LINE * i);
    return parts & PREFETCH_TAIL;
}

const struct zsetIndex zsetListpack = {
    .encoding = ZSET_LISTPACK,
    .name = "listpack",
    .create = listpackCreate,
    .destroy = listpackDestroy,
    .copy = listpackCopy,
    .length = listpackLength,
    .memory = listpackMemory,
    .allocations = listpackAllocations,
    .find = zsetListpackFind,
    .atRank = listpackAtRank,
    .seek = listpackSeek,
    .extent = listpackExtent,
    .rank = listpackRank,
    .step = listpackStep,
    .read = listpackRead,
    .insert = listpackInsert,
    .append = listpackAppend,
    .prepend = listpackPrepend,
    .update = listpackUpdate,
    .erase = listpackErase,
    .eraseRange = listpackEraseRange,
    .emit = listpackEmit,
    .scan = listpackScan,
    .defrag = listpackDefrag,
    .debugInfo = listpackDebugInfo,
    .prefetch = listpackPrefetch,
};
