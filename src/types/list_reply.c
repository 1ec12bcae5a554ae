/* list_reply.c - replies many elements of a list.
 *
 * Room is reserved in the output chain once for a run of elements, and they are written back to back, so that
 * a short element costs a few stores and one comparison. The loop over a listpack is the heart: it is what
 * LRANGE does on either encoding, once for the one, and node by node for the other. */
#include "base/num.h"
#include "client/reply.h"
#include "net/resp.h"
#include "types/list.h"

#define ROOM 1024                                 /* what replyReserve gives at most */
#define SLOP (RESP_HDR_SIZE + LP_INTBUF_SIZE + 3) /* a bulk besides its text, and any number's text */

/* The commonest entry of a listpack is read here, without calls: | 10llllll | l bytes | one byte of backlen |
 */
#define SHORT_MAX            63
#define IS_SHORT_STRING(p)   ((*(p)&0xc0) == 0x80)
#define SHORT_STRING_LEN(p)  ((size_t)(*(p)&0x3f))
#define SHORT_STRING_EXTRA   2
#define SHORT_STRING_TEXT(p) ((const char *)(p) + 1)

struct writer {
    struct client *c;
    char *start, *p, *end;
    bool muted; /* no replies are wanted */
};

static void flush(struct writer *w) {
    if (w->p != w->start) replyAdvance(w->c, (size_t)(w->p - w->start));
    w->start = w->p = w->end = NULL;
}

/* False: there is none, since nobody wants replies. */
static bool makeRoom(struct writer *w) {
    flush(w);
    w->start = w->p = w->muted ? NULL : replyReserve(w->c, ROOM);
    w->muted = !w->p;
    if (w->p) w->end = w->p + ROOM;
    return w->p;
}

static inline bool hasRoom(const struct writer *w, size_t need) {
    return __builtin_expect((size_t)(w->end - w->p) >= need, 1);
}

static inline char *putCrlf(char *p) {
    memcpy(p, "\r\n", 2);
    return p + 2;
}

static inline char *putHeader(char *p, size_t len) {
    if (len > 99) return p + respWriteHeader(p, '$', (int64_t)len);
    *p++ = '$';
    if (len > 9) *p++ = (char)('0' + len / 10);
    *p++ = (char)('0' + len % 10);
    return putCrlf(p);
}

/* Most elements are short: two overlapping words instead of a call. */
static inline char *putBytes(char *p, const char *src, size_t len) {
    if (len >= 8 && len <= 16) {
        memcpy(p, src, 8);
        memcpy(p + len - 8, src + len - 8, 8);
    } else {
        memcpy(p, src, len);
    }
    return p + len;
}

static inline char *putBulk(char *p, const char *src, size_t len) {
    return putCrlf(putBytes(putHeader(p, len), src, len));
}

static void put(struct writer *w, const struct lpValue *v) {
    char text[LP_INTBUF_SIZE];
    if (v->slen + SLOP > ROOM) {
        flush(w);
        replyBulk(w->c, strN(v->sval, v->slen));
    } else if (hasRoom(w, v->slen + SLOP) || makeRoom(w)) {
        struct str s = v->sval ? strN(v->sval, v->slen) : strN(text, ll2string(text, v->lval));
        w->p = putBulk(w->p, s.ptr, s.len);
    }
}

/* `count` elements of a listpack from p on. */
static void putRun(struct writer *to, unsigned char *lp, unsigned char *p, uint64_t count) {
    struct writer w = *to; /* so that it can be in registers */
    struct lpValue v;
    while (count--) {
        if (!IS_SHORT_STRING(p)) {
            lpGetValue(p, &v);
            put(&w, &v);
            p = lpNext(lp, p);
            continue;
        }
        size_t len = SHORT_STRING_LEN(p);
        if (hasRoom(&w, SHORT_MAX + SLOP) || makeRoom(&w)) w.p = putBulk(w.p, SHORT_STRING_TEXT(p), len);
        p += len + SHORT_STRING_EXTRA;
    }
    *to = w;
}

static void putQuicklist(struct writer *w, struct quicklist *ql, uint64_t start, uint64_t count) {
    struct qlCursor cur;
    struct lpValue v;
    if (!qlCursorSeek(&cur, ql, (int64_t)start)) return;
    for (uint64_t here; count; count -= here) {
        here = qlRunLength(&cur) < count ? qlRunLength(&cur) : count;
        if (qlIsPlain(&cur)) {
            qlValue(&cur, &v);
            put(w, &v);
        } else {
            putRun(w, cur.data, cur.p, here);
        }
        if (here < count) qlNextNode(&cur);
    }
    qlCursorClose(&cur);
}

void listTypeReply(struct listRef l, struct client *c, uint64_t start, uint64_t count) {
    struct writer w = {.c = c};
    if (!count) return;
    if (l.encoding == LIST_LISTPACK)
        putRun(&w, l.ptr, lpSeek(l.ptr, (long)start), count);
    else
        putQuicklist(&w, l.ptr, start, count);
    flush(&w);
}

void listTypeReplyBack(struct listRef l, struct client *c, uint64_t start, uint64_t count) {
    struct writer w = {.c = c};
    struct listIterator it;
    struct lpValue v;
    if (!count || !listTypeSeek(&it, l, (int64_t)start)) return;
    do {
        listTypeGet(&it, &v);
        put(&w, &v);
    } while (--count && listTypePrev(&it));
    listTypeStop(&it);
    flush(&w);
}
