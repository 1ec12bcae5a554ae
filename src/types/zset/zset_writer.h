/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_writer.h - replies many elements of sorted sets, back to back (bulk_writer.h). Private to the files
 * zset*.c. */
#pragma once

#include "base/num.h"
#include "types/bulk_writer.h"
#include "types/zset/zset.h"

/* Bytes of an element besides its member. */
#define ZSET_WRITER_SLOP (2 * RESP_HDR_SIZE + DOUBLE_STR_SIZE + 8)

struct zsetWriter {
    struct bulkWriter out;
    enum zsetShape shape;
    bool resp3;
};

static inline void zsetWriterBegin(struct zsetWriter *w, struct client *c, enum zsetShape shape) {
    *w = (struct zsetWriter){.out = {.c = c}, .shape = shape, .resp3 = c->resp >= 3};
}

static inline unsigned zsetScoreText(char *dst, struct zscore s) {
    double score = s.value;
    if (score > 0 && score < 10 && score == (int)score) {
        *dst = (char)('0' + (int)score);
        return 1;
    }
    if (score > -1e15 && score < 1e15 && score == (double)(int64_t)score && score != 0)
        return ll2string(dst, (int64_t)score);
    return zsetPrintScore(dst, s);
}

static inline char *zsetPutScore(char *p, struct zscore score, bool resp3) {
    if (resp3) {
        *p++ = ',';
        p += zsetScoreText(p, score);
    } else {
        char text[DOUBLE_STR_SIZE];
        unsigned len = zsetScoreText(text, score);
        p = respPutHeader(p, '$', len);
        memcpy(p, text, len);
        p += len;
    }
    return respPutCrlf(p);
}

/* Replies one score. */
static inline void zsetReplyScore(struct client *c, struct zscore score, bool resp3) {
    char *dst = replyReserve(c, ZSET_WRITER_SLOP);
    if (dst) replyAdvance(c, (size_t)(zsetPutScore(dst, score, resp3) - dst));
}

/* Writes a member that is too long for the reserved space. */
static inline void zsetWriteLong(struct zsetWriter *w, struct str member, struct zscore score) {
    struct client *c = w->out.c;
    if (!c) return;
    bulkWriterFlush(&w->out);
    if (w->shape == ZSHAPE_PAIRS) replyArrayLen(c, 2);
    replyBulk(c, member);
    if (w->shape != ZSHAPE_MEMBERS) zsetReplyScore(c, score, w->resp3);
}

/* Writes one element. The score is not read when only members are replied. */
static inline void zsetWrite(struct zsetWriter *w, struct str member, struct zscore score) {
    size_t need = member.len + ZSET_WRITER_SLOP;
    if (!bulkWriterHasRoom(&w->out, need)) {
        if (need > BULK_WRITER_ROOM) zsetWriteLong(w, member, score);
        return;
    }
    char *p = w->out.p;
    if (w->shape == ZSHAPE_PAIRS) {
        memcpy(p, "*2\r\n", 4);
        p += 4;
    }
    p = respPutBulk(p, member.ptr, member.len);
    if (w->shape != ZSHAPE_MEMBERS) p = zsetPutScore(p, score, w->resp3);
    w->out.p = p;
}

/* Writes one element of which only the member is replied. */
static inline void zsetWriteMember(struct zsetWriter *w, struct str member) {
    size_t need = member.len + ZSET_WRITER_SLOP;
    if (bulkWriterHasRoom(&w->out, need))
        w->out.p = respPutBulk(w->out.p, member.ptr, member.len);
    else if (need > BULK_WRITER_ROOM)
        zsetWriteLong(w, member, zscoreOf(0));
}

static inline void zsetWriterEnd(struct zsetWriter *w) {
    if (w->out.c) bulkWriterFlush(&w->out);
}

/* Returns the shape that WITHSCORES has in the client's protocol. */
static inline enum zsetShape zsetScoresShape(const struct client *c, bool withscores) {
    if (!withscores) return ZSHAPE_MEMBERS;
    return c->resp >= 3 ? ZSHAPE_PAIRS : ZSHAPE_FLAT;
}

/* Announces `count` elements of this shape. */
static inline void zsetReplyLen(struct client *c, uint64_t count, enum zsetShape shape) {
    replyArrayLen(c, (int64_t)(shape == ZSHAPE_FLAT ? 2 * count : count));
}
