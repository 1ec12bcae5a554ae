/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_listpack.c - the encoding of small sorted sets: a listpack of pairs in order.
 *
 *     | bytes, count | member | score | member | score | ... | end |
 *
 * A score is an integer element when it is an integer of 64 bits, which keeps it exactly, else its text; the
 * format of dumps depends on it. Of the integers that doubles hold, those beyond TEXT_FROM are texts, too,
 * such as 5e+18, unless the text would be read as another integer. All operations walk: the sets are small
 * and lie in few cache lines.
 *
 * `place.at` points at the member. */
#include <math.h>

#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "types/zset/zset.h"
#include "types/zset/zset_writer.h"

#define LINE          64
#define LINES_TO_SCAN 4      /* cache lines prefetched for a search */
#define PAIR_GUESS    16     /* typical bytes of a pair */
#define TEXT_FROM     4.0e18 /* a higher or lower double is stored as its text */

/* ---- Scores ---- */

static struct zscore zsetListpackScoreAt(unsigned char *score) {
    struct lpValue v;
    double d;
    lpGetValue(score, &v);
    if (!v.sval) return zscoreOfInteger(v.lval);
    bool ok = string2d(strN(v.sval, v.slen), &d);
    serverAssert(ok);
    return zscoreOf(d);
}

/* Returns whether the score is stored as an integer element, and which one. */
static bool zsetListpackIsWhole(struct zscore score, int64_t *whole) {
    char text[DOUBLE_STR_SIZE];
    int64_t read;
    if (!zscoreToInteger(score, whole)) return false;
    if (score.rest || (score.value > -TEXT_FROM && score.value < TEXT_FROM)) return true;
    return string2ll(strN(text, d2string(text, score.value)), &read);
}

static unsigned char *zsetListpackPutScore(unsigned char *lp, struct zscore score, unsigned char *at,
                                           int where) {
    char text[DOUBLE_STR_SIZE];
    int64_t whole;
    if (zsetListpackIsWhole(score, &whole)) return lpInsertInt(lp, whole, at, where, NULL);
    return lpInsert(lp, strN(text, d2string(text, score.value)), at, where, NULL);
}

static unsigned char *zsetListpackAppendScore(unsigned char *lp, struct zscore score) {
    char text[DOUBLE_STR_SIZE];
    int64_t whole;
    if (zsetListpackIsWhole(score, &whole)) return lpAppendInt(lp, whole);
    return lpAppend(lp, strN(text, d2string(text, score.value)));
}

/* ---- Walking by pairs ---- */

static unsigned char *zsetListpackNextPair(unsigned char *lp, unsigned char *member) {
    return lpNext(lp, lpNext(lp, member));
}

static unsigned char *zsetListpackPrevPair(unsigned char *lp, unsigned char *member) {
    unsigned char *score = lpPrev(lp, member);
    return score ? lpPrev(lp, score) : NULL;
}

static bool zsetListpackPutPlace(unsigned char *lp, struct zsetPlace *p, unsigned char *member) {
    p->at = member;
    if (member) p->score = zsetListpackScoreAt(lpNext(lp, member));
    return member != NULL;
}

/* Whether the pair here is before (score, member). */
static bool zsetListpackIsBefore(unsigned char *lp, unsigned char *at, struct zscore score,
                                 struct str member) {
    int order = zscoreCompare(zsetListpackScoreAt(lpNext(lp, at)), score);
    return order ? order < 0 : lpCompare(at, member) < 0;
}

/* ---- Life ---- */

static void *zsetListpackCreate(size_t entries) {
    return lpNew(entries * PAIR_GUESS);
}

static size_t zsetListpackPairBound(const struct zsetItem *item) {
    int64_t whole;
    return lpElementBound(item->member.len) +
           (zsetListpackIsWhole(item->score, &whole) ? lpIntBytes(whole) : lpElementBound(DOUBLE_STR_SIZE));
}

static void *zsetListpackBuild(const struct zsetItem *items, size_t count) {
    size_t bound = LP_HEADER_BYTES + LP_END_BYTES;
    for (size_t i = 0; i < count; i++) bound += zsetListpackPairBound(&items[i]);
    unsigned char *lp = zmalloc(bound), *to = lp + LP_HEADER_BYTES;
    for (size_t i = 0; i < count; i++) {
        char text[DOUBLE_STR_SIZE];
        int64_t whole;
        to = lpElementWrite(to, items[i].member);
        to = zsetListpackIsWhole(items[i].score, &whole)
                 ? lpElementWriteInt(to, whole)
                 : lpElementWrite(to, strN(text, d2string(text, items[i].score.value)));
    }
    lpSeal(lp, (size_t)(to - lp) + LP_END_BYTES, 2 * count);
    return lpShrinkToFit(lp);
}

static void zsetListpackDestroy(void *z) {
    lpFree(z);
}

static void *zsetListpackCopy(const void *z) {
    return lpDup(z);
}

static uint64_t zsetListpackLength(const void *z) {
    return lpLength((unsigned char *)z) / 2;
}

/* Scores with rests are at the ends, if there are any. */
static bool zsetListpackHasRests(const void *z) {
    unsigned char *lp = (unsigned char *)z, *at = lpFirst(lp);
    if (!at || (zscoreIsSmall(zsetListpackScoreAt(lpNext(lp, at)).value) &&
                zscoreIsSmall(zsetListpackScoreAt(lpLast(lp)).value)))
        return false;
    while (at && !zsetListpackScoreAt(lpNext(lp, at)).rest) at = zsetListpackNextPair(lp, at);
    return at != NULL;
}

static size_t zsetListpackMemory(const void *z, size_t samples) {
    (void)samples;
    return zmallocSize(z);
}

static size_t zsetListpackAllocations(const void *z) {
    (void)z;
    return 1;
}

/* For listpacks from outside: whether these are pairs whose scores can be parsed. */
bool zsetListpackIsPairs(unsigned char *lp, size_t *longest) {
    unsigned long n = lpLength(lp);
    char text[LP_INTBUF_SIZE];
    *longest = 0;
    if (n == 0 || n % 2) return false;
    for (unsigned char *at = lpFirst(lp); at; at = zsetListpackNextPair(lp, at)) {
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

static bool zsetListpackFindHashed(void *z, struct str member, uint64_t hash, struct zsetPlace *p) {
    (void)hash;
    return zsetListpackFind(z, member, p);
}

static bool zsetListpackAtRank(const void *z, uint64_t rank, struct zsetPlace *p) {
    unsigned char *lp = (unsigned char *)z;
    return zsetListpackPutPlace(lp, p, rank < zsetListpackLength(lp) ? lpSeek(lp, (long)(2 * rank)) : NULL);
}

static bool zsetListpackIsAboveMin(const struct zsetRange *r, const struct zsetPlace *p) {
    char buf[LP_INTBUF_SIZE];
    if (r->by == ZRANGE_SCORE) return zscoreGteMin(p->score, &r->score);
    return zlexGteMin(lpView(p->at, buf), &r->lex);
}

static bool zsetListpackIsBelowMax(const struct zsetRange *r, const struct zsetPlace *p) {
    char buf[LP_INTBUF_SIZE];
    if (r->by == ZRANGE_SCORE) return zscoreLteMax(p->score, &r->score);
    return zlexLteMax(lpView(p->at, buf), &r->lex);
}

static bool zsetListpackStep(const void *z, struct zsetPlace *p, bool back) {
    unsigned char *lp = (unsigned char *)z;
    return zsetListpackPutPlace(lp, p,
                                back ? zsetListpackPrevPair(lp, p->at) : zsetListpackNextPair(lp, p->at));
}

/* When scores differ, members have no order, and the result of a range of names depends on how the search
 * works. It has to be the same as in Valkey, since commands that change such a range are propagated as
 * they came: the ends are compared first, then the search goes from the near end, and the range ends at
 * its far bound. */
static bool zsetListpackEndsFit(const void *z, const struct zsetRange *r, uint64_t length) {
    struct zsetPlace first, last;
    return zsetListpackAtRank(z, 0, &first) && zsetListpackIsBelowMax(r, &first) &&
           zsetListpackAtRank(z, length - 1, &last) && zsetListpackIsAboveMin(r, &last);
}

static bool zsetListpackSeek(const void *z, const struct zsetRange *r, bool last, struct zsetPlace *p,
                             uint64_t *rank) {
    uint64_t length = zsetListpackLength(z), at = last ? length - 1 : 0;
    if (r->by == ZRANGE_SCORE ? zscoreRangeEmpty(&r->score) : zlexRangeEmpty(&r->lex)) return false;
    if (!length || (r->by == ZRANGE_LEX && !zsetListpackEndsFit(z, r, length))) return false;
    for (bool more = zsetListpackAtRank(z, at, p); more;
         more = zsetListpackStep(z, p, last), at += last ? -1ull : 1) {
        if (!(last ? zsetListpackIsBelowMax(r, p) : zsetListpackIsAboveMin(r, p))) continue;
        if (rank) *rank = at;
        return last ? zsetListpackIsAboveMin(r, p) : zsetListpackIsBelowMax(r, p);
    }
    return false;
}

static uint64_t zsetListpackExtent(const void *z, const struct zsetRange *r, const struct zsetPlace *p,
                                   uint64_t rank, uint64_t max) {
    struct zsetPlace at = *p;
    uint64_t count = 0;
    (void)rank;
    for (bool more = true; more && count < max; more = zsetListpackStep(z, &at, r->reverse), count++)
        if (!(r->reverse ? zsetListpackIsAboveMin(r, &at) : zsetListpackIsBelowMax(r, &at))) break;
    return count;
}

static uint64_t zsetListpackRank(const void *z, const struct zsetPlace *p) {
    unsigned char *lp = (unsigned char *)z;
    uint64_t rank = 0;
    for (unsigned char *at = lpFirst(lp); at != p->at; at = zsetListpackNextPair(lp, at)) rank++;
    return rank;
}

static void zsetListpackRead(const void *z, const struct zsetPlace *p, struct zsetElement *e) {
    (void)z;
    e->member = lpView(p->at, e->text);
    e->score = p->score;
}

/* ---- Changing ---- */

static void *zsetListpackAppend(void *z, struct str member, struct zscore score) {
    return zsetListpackAppendScore(lpAppend(z, member), score);
}

static void *zsetListpackPrepend(void *z, struct str member, struct zscore score,
                                 const struct zsetPlace *missed) {
    unsigned char *lp = lpPrepend(z, member);
    (void)missed;
    return zsetListpackPutScore(lp, score, lpFirst(lp), LP_AFTER);
}

static void *zsetListpackInsert(void *z, struct str member, struct zscore score,
                                const struct zsetPlace *missed) {
    unsigned char *lp = z, *at = lpFirst(lp), *inserted;
    (void)missed;
    while (at && zsetListpackIsBefore(lp, at, score, member)) at = zsetListpackNextPair(lp, at);
    if (!at) return zsetListpackAppend(lp, member, score);
    lp = lpInsert(lp, member, at, LP_BEFORE, &inserted);
    return zsetListpackPutScore(lp, score, inserted, LP_AFTER);
}

static void *zsetListpackErase(void *z, const struct zsetPlace *found) {
    unsigned char *score;
    unsigned char *lp = lpDelete(z, found->at, &score);
    return lpDelete(lp, score, NULL);
}

/* Updates in place when the order of the neighbours stays right. */
static void *zsetListpackUpdate(void *z, struct str member, struct zscore score,
                                const struct zsetPlace *found) {
    unsigned char *lp = z, *prev = zsetListpackPrevPair(lp, found->at),
                  *next = zsetListpackNextPair(lp, found->at);
    if ((!prev || zsetListpackIsBefore(lp, prev, score, member)) &&
        (!next || !zsetListpackIsBefore(lp, next, score, member)))
        return zsetListpackPutScore(lp, score, lpNext(lp, found->at), LP_REPLACE);
    return zsetListpackInsert(zsetListpackErase(lp, found), member, score, found);
}

static void *zsetListpackEraseRange(void *z, uint64_t rank, uint64_t count) {
    return lpDeleteRange(z, (long)(2 * rank), (unsigned long)(2 * count));
}

/* ---- Replying ---- */

static void zsetListpackEmit(const void *z, struct client *c, const struct zsetPlace *p, uint64_t count,
                             bool reverse, enum zsetShape shape) {
    unsigned char *lp = (unsigned char *)z, *at = p->at;
    struct zsetWriter w;
    char text[LP_INTBUF_SIZE];
    zsetWriterBegin(&w, c, shape);
    for (; count; count--) {
        unsigned char *score = lpNext(lp, at);
        zsetWrite(&w, lpView(at, text), shape == ZSHAPE_MEMBERS ? zscoreOf(0) : zsetListpackScoreAt(score));
        at = reverse ? zsetListpackPrevPair(lp, at) : lpNext(lp, score);
    }
    zsetWriterEnd(&w);
}

static uint64_t zsetListpackScan(void *z, uint64_t cursor,
                                 void (*fn)(void *priv, const struct zsetElement *e), void *priv) {
    struct zsetPlace p;
    struct zsetElement e;
    (void)cursor;
    for (bool more = zsetListpackAtRank(z, 0, &p); more; more = zsetListpackStep(z, &p, false)) {
        zsetListpackRead(z, &p, &e);
        fn(priv, &e);
    }
    return 0;
}

static void *zsetListpackDefrag(void *z, uint64_t *cursor, void *(*move)(void *priv, void *ptr), void *priv) {
    void *now = move(priv, z);
    *cursor = 0;
    return now ? now : z;
}

static sds zsetListpackDebugInfo(const void *z, sds s) {
    size_t length = zsetListpackLength(z), bytes = zmallocSize(z);
    return sdscatprintf(s, "elements:%zu bytes:%zu bytes_per_element:%.2f ", length, bytes,
                        (double)bytes / (double)(length ? length : 1));
}

static bool zsetListpackPrefetch(const void *z, const struct prefetchRequests *wants, int step,
                                 struct prefetchState *state) {
    const char *lp = z;
    unsigned parts = wants->parts;
    (void)state;
    if (step == 1) { /* the size has arrived */
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
    .create = zsetListpackCreate,
    .build = zsetListpackBuild,
    .destroy = zsetListpackDestroy,
    .copy = zsetListpackCopy,
    .length = zsetListpackLength,
    .hasRests = zsetListpackHasRests,
    .memory = zsetListpackMemory,
    .allocations = zsetListpackAllocations,
    .find = zsetListpackFind,
    .findHashed = zsetListpackFindHashed,
    .atRank = zsetListpackAtRank,
    .seek = zsetListpackSeek,
    .extent = zsetListpackExtent,
    .rank = zsetListpackRank,
    .step = zsetListpackStep,
    .read = zsetListpackRead,
    .insert = zsetListpackInsert,
    .append = zsetListpackAppend,
    .prepend = zsetListpackPrepend,
    .update = zsetListpackUpdate,
    .erase = zsetListpackErase,
    .eraseRange = zsetListpackEraseRange,
    .emit = zsetListpackEmit,
    .scan = zsetListpackScan,
    .defrag = zsetListpackDefrag,
    .debugInfo = zsetListpackDebugInfo,
    .prefetch = zsetListpackPrefetch,
};
