/* SPDX-License-Identifier: BSD-3-Clause */
/* list_reply.c - replies many elements of a list, back to back (bulk_writer.h). The central loop is over a
 * listpack: LRANGE runs it once for a listpack, and for each node of a quicklist. */
#include "base/num.h"
#include "types/bulk_writer.h"
#include "types/list/list.h"

#define SLOP (RESP_HDR_SIZE + LP_INTBUF_SIZE + 3) /* bytes of a bulk besides its text, or of any number */

/* The most frequent entry of a listpack is decoded here, without calls: | 10llllll | l bytes | one byte
 * of backlen | */
#define SHORT_MAX            63
#define IS_SHORT_STRING(p)   ((*(p)&0xc0) == 0x80)
#define SHORT_STRING_LEN(p)  ((size_t)(*(p)&0x3f))
#define SHORT_STRING_EXTRA   2
#define SHORT_STRING_TEXT(p) ((const char *)(p) + 1)

static void listReplyPut(struct bulkWriter *w, const struct lpValue *v) {
    char text[LP_INTBUF_SIZE];
    if (bulkWriterHasRoom(w, v->slen + SLOP)) {
        struct str s = v->sval ? strN(v->sval, v->slen) : strN(text, ll2string(text, v->lval));
        w->p = respPutBulk(w->p, s.ptr, s.len);
    } else if (w->c && v->slen + SLOP > BULK_WRITER_ROOM) {
        bulkWriterFlush(w);
        replyBulk(w->c, strN(v->sval, v->slen));
    }
}

/* Replies `count` elements of a listpack from p on. */
static void listReplyPutRun(struct bulkWriter *to, unsigned char *lp, unsigned char *p, uint64_t count) {
    struct bulkWriter w = *to; /* a copy, so that it can be in registers */
    struct lpValue v;
    while (count--) {
        if (!IS_SHORT_STRING(p)) {
            lpGetValue(p, &v);
            listReplyPut(&w, &v);
            p = lpNext(lp, p);
            continue;
        }
        size_t len = SHORT_STRING_LEN(p);
        if (bulkWriterHasRoom(&w, SHORT_MAX + SLOP)) w.p = respPutBulk(w.p, SHORT_STRING_TEXT(p), len);
        p += len + SHORT_STRING_EXTRA;
    }
    *to = w;
}

static void listReplyPutQuicklist(struct bulkWriter *w, struct quicklist *ql, uint64_t start,
                                  uint64_t count) {
    struct qlCursor cur;
    struct lpValue v;
    if (!qlCursorSeek(&cur, ql, (int64_t)start)) return;
    for (uint64_t here; count; count -= here) {
        here = qlRunLength(&cur) < count ? qlRunLength(&cur) : count;
        if (qlIsPlain(&cur)) {
            qlValue(&cur, &v);
            listReplyPut(w, &v);
        } else {
            listReplyPutRun(w, cur.data, cur.p, here);
        }
        if (here < count) qlNextNode(&cur);
    }
    qlCursorClose(&cur);
}

void listTypeReply(struct listRef l, struct client *c, uint64_t start, uint64_t count) {
    struct bulkWriter w = {.c = c};
    if (!count) return;
    if (l.encoding == LIST_LISTPACK)
        listReplyPutRun(&w, l.ptr, lpSeek(l.ptr, (long)start), count);
    else
        listReplyPutQuicklist(&w, l.ptr, start, count);
    bulkWriterFlush(&w);
}

void listTypeReplyBack(struct listRef l, struct client *c, uint64_t start, uint64_t count) {
    struct bulkWriter w = {.c = c};
    struct listIterator it;
    struct lpValue v;
    if (!count || !listTypeSeek(&it, l, (int64_t)start)) return;
    do {
        listTypeGet(&it, &v);
        listReplyPut(&w, &v);
    } while (--count && listTypePrev(&it));
    listTypeStop(&it);
    bulkWriterFlush(&w);
}
