/* zset_writer.h - replies many small elements: private to the files zset*.c and t_zset*.c.
 *
 * Room is reserved in the output chain once for a run of elements, and they are written back to back:
 *
 *     | $8\r\nmember:1\r\n $1\r\n5\r\n | $8\r\nmember:2\r\n ... |         |
 *     start                                                   p         end
 *
 * so an element costs some stores and one comparison, no calls. */
#pragma once

#include "base/num.h"
#include "client/client.h"
#include "client/reply.h"
#include "net/resp.h"
#include "types/zset.h"

#define ZSET_WRITER_ROOM 1024                                      /* what replyReserve gives at most */
#define ZSET_WRITER_SLOP (2 * RESP_HDR_SIZE + DOUBLE_STR_SIZE + 8) /* an element besides its member */

struct zsetWriter {
    struct client *c; /* NULL: no replies are wanted */
    char *start, *p, *end;
    enum zsetShape shape;
    bool resp3;
};

static inline void zsetWriterFlush(struct zsetWriter *w) {
    if (w->p != w->start) replyAdvance(w->c, (size_t)(w->p - w->start));
    w->start = w->p = w->end = NULL;
}

static inline void zsetWriterBegin(struct zsetWriter *w, struct client *c, enum zsetShape shape) {
    *w = (struct zsetWriter){.c = c, .shape = shape, .resp3 = c->resp >= 3};
}

static inline char *zsetPutCrlf(char *p) {
    memcpy(p, "\r\n", 2);
    return p + 2;
}

static inline char *zsetPutBulkHeader(char *p, size_t len) {
    if (len > 99) return p + respWriteHeader(p, '$', (int64_t)len);
    *p++ = '$';
    if (len > 9) *p++ = (char)('0' + len / 10);
    *p++ = (char)('0' + len % 10);
    return zsetPutCrlf(p);
}

/* Most members are short: two overlapping words instead of a call. */
static inline char *zsetPutBytes(char *p, const char *src, size_t len) {
    if (len >= 8 && len <= 16) {
        memcpy(p, src, 8);
        memcpy(p + len - 8, src + len - 8, 8);
    } else {
        memcpy(p, src, len);
    }
    return p + len;
}

static inline unsigned zsetScoreText(char *dst, double score) {
    if (score > 0 && score < 10 && score == (int)score) {
        *dst = (char)('0' + (int)score);
        return 1;
    }
    if (score > -1e15 && score < 1e15 && score == (double)(int64_t)score && score != 0)
        return ll2string(dst, (int64_t)score);
    return d2string(dst, score);
}

static inline char *zsetPutScore(char *p, double score, bool resp3) {
    if (resp3) {
        *p++ = ',';
        p += zsetScoreText(p, score);
    } else {
        char text[DOUBLE_STR_SIZE];
        unsigned len = zsetScoreText(text, score);
        p = zsetPutBulkHeader(p, len);
        memcpy(p, text, len);
        p += len;
    }
    return zsetPutCrlf(p);
}

/* A member too long for the reserved room. */
static inline void zsetWriteLong(struct zsetWriter *w, struct str member, double score) {
    zsetWriterFlush(w);
    if (w->shape == ZSHAPE_PAIRS) replyArrayLen(w->c, 2);
    replyBulk(w->c, member);
    if (w->shape != ZSHAPE_MEMBERS) replyDouble(w->c, score);
}

/* One element. The score is not looked at when only members are wanted. */
static inline void zsetWrite(struct zsetWriter *w, struct str member, double score) {
    size_t need = member.len + ZSET_WRITER_SLOP;
    if (__builtin_expect((size_t)(w->end - w->p) < need, 0)) {
        if (!w->c) return;
        if (need > ZSET_WRITER_ROOM) {
            zsetWriteLong(w, member, score);
            return;
        }
        zsetWriterFlush(w);
        w->start = w->p = replyReserve(w->c, ZSET_WRITER_ROOM);
        if (!w->p) {
            w->c = NULL;
            return;
        }
        w->end = w->p + ZSET_WRITER_ROOM;
    }
    char *p = w->p;
    if (w->shape == ZSHAPE_PAIRS) {
        memcpy(p, "*2\r\n", 4);
        p += 4;
    }
    p = zsetPutBulkHeader(p, member.len);
    p = zsetPutCrlf(zsetPutBytes(p, member.ptr, member.len));
    if (w->shape != ZSHAPE_MEMBERS) p = zsetPutScore(p, score, w->resp3);
    w->p = p;
}

static inline void zsetWriterEnd(struct zsetWriter *w) {
    if (w->c) zsetWriterFlush(w);
}

/* The shape that WITHSCORES has in the client's protocol. */
static inline enum zsetShape zsetScoresShape(const struct client *c, bool withscores) {
    if (!withscores) return ZSHAPE_MEMBERS;
    return c->resp >= 3 ? ZSHAPE_PAIRS : ZSHAPE_FLAT;
}

/* Announce `count` elements of this shape. */
static inline void zsetReplyLen(struct client *c, uint64_t count, enum zsetShape shape) {
    replyArrayLen(c, (int64_t)(shape == ZSHAPE_FLAT ? 2 * count : count));
}
