/* SPDX-License-Identifier: BSD-3-Clause */
/* bulk_writer.h - replies many small elements, for the loops of lists, hashes and sorted sets.
 *
 * Space is reserved in the output chain once for a run of elements, which are written back to back:
 *
 *     | $8\r\nmember:1\r\n $1\r\n5\r\n | $8\r\nmember:2\r\n ... |         |
 *     start                                                   p         end
 *
 * An element then costs some stores and one comparison, and no calls. An element longer than the space is
 * replied by itself, after bulkWriterFlush. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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

/* Replies one element. */
static inline void bulkWriterAdd(struct bulkWriter *w, struct str s) {
    if (__builtin_expect(bulkWriterHasRoom(w, s.len + RESP_HDR_SIZE), 1)) {
        w->p = respPutBulk(w->p, s.ptr, s.len);
    } else if (w->c) {
        bulkWriterFlush(w);
        replyBulk(w->c, s);
    }
}
