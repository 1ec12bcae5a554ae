/* SPDX-License-Identifier: BSD-3-Clause */
/* bulk_writer.h - replies many small elements, for the loops of lists and sorted sets.
 *
 * Space is reserved in the output chain once for a run of elements, which are written back to back:
 *
 *     | $8\r\nmember:1\r\n $1\r\n5\r\n | $8\r\nmember:2\r\n ... |         |
 *     start                                                   p         end
 *
 * An element then costs some stores and one comparison, and no calls. An element longer than the space is
 * replied by itself, after bulkWriterFlush. */
#pragma once

#include <string.h>

#include "client/client.h"
#include "client/reply.h"
#include "net/resp.h"

#define BULK_WRITER_ROOM 1024 /* the most that replyReserve returns */

struct bulkWriter {
    struct client *c; /* NULL: nothing is replied */
    char *start, *p, *end;
};

static inline void bulkWriterFlush(struct bulkWriter *w) {
    if (w->p != w->start) replyAdvance(w->c, (size_t)(w->p - w->start));
    w->start = w->p = w->end = NULL;
}

/* Whether there is space for `need` bytes. False when nothing is replied, or `need` is more than
 * BULK_WRITER_ROOM. */
static inline bool bulkWriterHasRoom(struct bulkWriter *w, size_t need) {
    if (__builtin_expect((size_t)(w->end - w->p) >= need, 1)) return true;
    if (!w->c || need > BULK_WRITER_ROOM) return false;
    bulkWriterFlush(w);
    w->start = w->p = replyReserve(w->c, BULK_WRITER_ROOM);
    if (w->p)
        w->end = w->p + BULK_WRITER_ROOM;
    else
        w->c = NULL;
    return w->p;
}

static inline char *bulkPutCrlf(char *p) {
    memcpy(p, "\r\n", 2);
    return p + 2;
}

/* Most elements are short: two overlapping words instead of a call of memcpy. */
static inline char *bulkPutBytes(char *p, const char *src, size_t len) {
    if (len >= 8 && len <= 16) {
        memcpy(p, src, 8);
        memcpy(p + len - 8, src + len - 8, 8);
    } else {
        memcpy(p, src, len);
    }
    return p + len;
}

static inline char *bulkPut(char *p, const char *src, size_t len) {
    return bulkPutCrlf(bulkPutBytes(respPutHeader(p, '$', len), src, len));
}
