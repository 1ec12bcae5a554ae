/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_range.c - ranges: from arguments to a range, from a range to a slice (rank and count), from a slice to
 * the reply. All commands on ranges, whatever they do with the elements, take these three steps.
 *
 *     "(1" "5" LIMIT 1 2 -> 1 < score <= 5, offset 1, limit 2 -> rank 7, count 2 -> reply, store, remove
 */
#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply.h"
#include "types/zset/zset.h"
#include "types/zset/zset_commands.h"

static const char err_scorerange[] = "ERR min or max is not a float";
static const char err_lexrange[] = "ERR min or max not valid string range item";

/* ---- Parsing ---- */

/* Bounds are parsed more freely than scores: one that is too large is infinite. */
static bool zsetRangeParseScoreBound(struct str s, double *score, bool *exclusive) {
    *exclusive = s.len && s.ptr[0] == '(';
    if (*exclusive) s = strN(s.ptr + 1, s.len - 1);
    return string2dSaturating(s, score);
}

static int16_t zsetRangeRestOf(struct str s, double score, bool exclusive) {
    return (int16_t)zsetScoreOf(score, strN(s.ptr + exclusive, s.len - exclusive)).rest;
}

bool zsetParseScoreRange(struct client *c, struct str min, struct str max, struct zsetRange *r) {
    r->by = ZRANGE_SCORE;
    struct zscoreRange *s = &r->score;
    if (!zsetRangeParseScoreBound(min, &s->min, &s->minex) ||
        !zsetRangeParseScoreBound(max, &s->max, &s->maxex))
        return replyError(c, err_scorerange);
    s->minrest = s->maxrest = 0;
    if (__builtin_expect(zscoreSumIsSmall(s->min, s->max), 1)) return true;
    s->minrest = zsetRangeRestOf(min, s->min, s->minex);
    s->maxrest = zsetRangeRestOf(max, s->max, s->maxex);
    return true;
}

static bool zsetRangeParseLexBound(struct str s, struct zlexBound *b) {
    *b = (struct zlexBound){0};
    if (s.len == 1 && (s.ptr[0] == '-' || s.ptr[0] == '+')) {
        b->kind = s.ptr[0] == '-' ? ZLEX_MIN : ZLEX_MAX;
        return true;
    }
    if (!s.len || (s.ptr[0] != '(' && s.ptr[0] != '[')) return false;
    b->kind = ZLEX_VALUE;
    b->exclusive = s.ptr[0] == '(';
    b->value = strN(s.ptr + 1, s.len - 1);
    return true;
}

bool zsetReadLexRange(struct str min, struct str max, struct zsetRange *r) {
    r->by = ZRANGE_LEX;
    return zsetRangeParseLexBound(min, &r->lex.min) && zsetRangeParseLexBound(max, &r->lex.max);
}

bool zsetParseLexRange(struct client *c, struct str min, struct str max, struct zsetRange *r) {
    if (zsetReadLexRange(min, max, r)) return true;
    return replyError(c, err_lexrange);
}

bool zsetParseRankRange(struct client *c, struct str start, struct str stop, struct zsetRange *r) {
    r->by = ZRANGE_RANK;
    return argLongLong(c, start, &r->start, NULL) && argLongLong(c, stop, &r->stop, NULL);
}

/* ---- Resolving ---- */

static void zsetRangeSliceByRank(const struct zsetRange *r, uint64_t length, struct zsetSlice *s) {
    int64_t n = (int64_t)length;
    int64_t start = r->start < 0 ? (r->start < -n ? 0 : r->start + n) : r->start;
    int64_t stop = r->stop < 0 ? (r->stop < -n ? -1 : r->stop + n) : r->stop;
    if (stop >= n) stop = n - 1;
    if (start > stop) return;
    s->count = (uint64_t)(stop - start + 1);
    s->rank = (uint64_t)(r->reverse ? n - 1 - stop : start);
}

/* Skips `offset` elements from the near end. Returns false when the set ends before. */
static bool zsetRangeSkipOffset(struct zsetRef z, const struct zsetRange *r, struct zsetPlace *p,
                                uint64_t *rank) {
    uint64_t offset = (uint64_t)r->offset;
    if (!offset) return true;
    if (offset > (r->reverse ? *rank : zsetLength(z) - 1 - *rank)) return false;
    *rank = r->reverse ? *rank - offset : *rank + offset;
    return z.index->atRank(z.ptr, *rank, p);
}

void zsetSliceOf(struct zsetRef z, const struct zsetRange *r, struct zsetSlice *s) {
    uint64_t rank, max = r->limit < 0 ? UINT64_MAX : (uint64_t)r->limit;
    *s = (struct zsetSlice){0};
    if (r->by == ZRANGE_RANK) {
        zsetRangeSliceByRank(r, zsetLength(z), s);
        return;
    }
    if (r->offset < 0 || max == 0) return;
    if (!z.index->seek(z.ptr, r, r->reverse, &s->near, &rank)) return;
    if (!zsetRangeSkipOffset(z, r, &s->near, &rank)) return;
    s->count = z.index->extent(z.ptr, r, &s->near, rank, max);
    s->rank = r->reverse && s->count ? rank + 1 - s->count : rank;
}

/* ---- Walking ---- */

void zsetEmit(struct zsetRef z, struct client *c, const struct zsetSlice *s, bool reverse,
              enum zsetShape shape) {
    struct zsetPlace p = s->near;
    if (!s->count) return;
    if (!p.at && !z.index->atRank(z.ptr, reverse ? s->rank + s->count - 1 : s->rank, &p)) return;
    z.index->emit(z.ptr, c, &p, s->count, reverse, shape);
}

struct zsetIterator zsetIterate(struct zsetRef z, uint64_t rank) {
    struct zsetIterator it = {.z = z};
    it.more = z.index->atRank(z.ptr, rank, &it.place);
    return it;
}

struct zsetIterator zsetIterateDown(struct zsetRef z) {
    uint64_t length = zsetLength(z);
    struct zsetIterator it = {.z = z, .down = true};
    it.more = length && z.index->atRank(z.ptr, length - 1, &it.place);
    return it;
}

bool zsetNext(struct zsetIterator *it, struct zsetElement *e) {
    if (!it->more) return false;
    it->z.index->read(it->z.ptr, &it->place, e);
    it->more = it->z.index->step(it->z.ptr, &it->place, it->down);
    return true;
}
