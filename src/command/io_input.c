/* io_input.c - see io_input.h. */
#include "command/io_input.h"

#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "command/command.h"

#define REQUESTS_FIRST 4
#define HINTS_FIRST    8
#define KEEP_REQUESTS  1024 /* of an input that waits to be filled; what had more gives it back */

static _Atomic int64_t max_bulk = INT64_MAX;
static _Atomic size_t query_buffer = SIZE_MAX;

void ioReaderSetLimits(int64_t bulk, size_t buffer) {
    atomic_store_explicit(&max_bulk, bulk, memory_order_relaxed);
    atomic_store_explicit(&query_buffer, buffer, memory_order_relaxed);
}

/* ---- Inputs ---- */

struct ioInput *ioInputNew(void) {
    struct ioInput *in = zmalloc(sizeof *in);
    memset(in, 0, offsetof(struct ioInput, room));
    return in;
}

static void dropRequests(struct ioInput *in) {
    for (; in->next < in->count; in->next++) respBigArgsFree(in->requests[in->next].big);
    sdsfree(in->error);
    sdsfree(in->own);
    if (in->spare) replyBlockFree(in->spare);
}

void ioInputFree(struct ioInput *in) {
    dropRequests(in);
    zfree(in->requests);
    zfree(in->argv);
    zfree(in->hints);
    zfreeSized(in, sizeof *in);
}

static void giveBackLarge(struct ioInput *in) {
    zfree(in->requests);
    zfree(in->argv);
    zfree(in->hints);
    in->requests = NULL;
    in->argv = NULL;
    in->hints = NULL;
    in->cap = in->hint_cap = 0;
    in->argv_cap = 0;
}

void ioInputClear(struct ioInput *in) {
    dropRequests(in);
    if (in->cap > KEEP_REQUESTS || in->argv_cap > KEEP_REQUESTS * 4) giveBackLarge(in);
    in->own = in->error = NULL;
    in->spare = NULL;
    in->len = in->read = in->kept = in->argv_used = 0;
    in->count = in->next = in->hint_used = 0;
    in->over_limit = false;
}

sds ioInputAppendRest(sds s, struct ioInput *in) {
    for (; in->next < in->count; in->next++) {
        struct request *req = &in->requests[in->next];
        s = requestAppend(s, req);
        respBigArgsFree(req->big);
        req->big = NULL;
    }
    return s;
}

/* ---- Reading ---- */

size_t ioReaderSpace(struct ioReader *r, struct ioInput *in, char **dst) {
    size_t n = respBigSpace(&r->parser, dst);
    if (n) return n;
    if (!r->partial) {
        *dst = in->room;
        return IO_INPUT_ROOM;
    }
    r->partial = sdsMakeRoomFor(r->partial, IO_INPUT_ROOM);
    *dst = r->partial + sdslen(r->partial);
    return sdsavail(r->partial);
}

static struct request *newRequest(struct ioInput *in) {
    if (in->count == in->cap) {
        in->cap = in->cap ? 2 * in->cap : REQUESTS_FIRST;
        in->requests = zrealloc(in->requests, (size_t)in->cap * sizeof *in->requests);
    }
    struct request *req = &in->requests[in->count];
    *req = (struct request){0};
    return req;
}

static void broken(struct ioReader *r, struct ioInput *in, const char *error) {
    in->error = sdsnew(error);
    respParserReset(&r->parser);
}

/* Takes requests from buf[0..len). The bytes that are left over begin at the result, *rest of them. */
static size_t parse(struct ioReader *r, struct ioInput *in, char *buf, size_t len, size_t *rest) {
    struct respLimits limits = {.max_bulk = atomic_load_explicit(&max_bulk, memory_order_relaxed),
                                .max_args = RESP_MAX_MULTIBULK,
                                .authenticated = r->authenticated};
    size_t pos = 0;
    *rest = len;
    while (*rest && (r->authenticated || !in->count)) {
        struct request *req = newRequest(in);
        size_t have = *rest, consumed = 0;
        const char *error = NULL;
        enum respStatus st = respParseRequest(&r->parser, buf + pos, &have, &limits, &in->argv, &in->argv_cap,
                                              in->argv_used, &req->argc, &consumed, &req->big, &error);
        if (st == RESP_MORE) {
            *rest = have;
            return pos;
        }
        if (st == RESP_ERROR) {
            broken(r, in, error);
            *rest = 0;
            return pos;
        }
        if (st == RESP_OK) {
            if (!req->big) req->raw = strN(buf + pos, consumed);
            in->argv_used += (size_t)req->argc;
            in->count++;
        }
        pos += consumed;
        *rest -= consumed;
    }
    r->unparsed = *rest > 0;
    return pos;
}

/* Their views stand still by now: what is known of requests without looking at data. */
static void lookUp(struct ioInput *in) {
    struct str *argv = in->argv;
    for (int i = 0; i < in->count; i++) {
        struct request *req = &in->requests[i];
        req->argv = argv;
        argv += req->argc;
        req->cmd = commandLookup(req->argv, req->argc);
        if (in->hint_cap - in->hint_used < REQUEST_HINTS_MAX) {
            in->hint_cap =
                in->hint_cap ? 2 * in->hint_cap + REQUEST_HINTS_MAX : HINTS_FIRST + REQUEST_HINTS_MAX;
            in->hints = zrealloc(in->hints, (size_t)in->hint_cap * sizeof *in->hints);
        }
        in->hint_used += requestHashKeys(req, in->hints + in->hint_used, REQUEST_HINTS_MAX);
    }
    const struct keyHint *hints = in->hints;
    for (int i = 0; i < in->count; i++) {
        in->requests[i].hints = hints;
        hints += in->requests[i].hint_count;
    }
}

size_t ioReaderKept(const struct ioReader *r) {
    return (r->partial ? sdslen(r->partial) : 0) + r->parser.big_bytes;
}

bool ioReaderTake(struct ioReader *r, struct ioInput *in, const char *dst, size_t n) {
    in->read += n;
    if (dst == in->room) {
        in->in = in->room;
        in->len = n;
    } else if (r->partial && (!n || dst == r->partial + sdslen(r->partial))) {
        sdssetlen(r->partial, sdslen(r->partial) + n);
    } else {
        respBigFilled(&r->parser, n);
        char *more;
        if (respBigSpace(&r->parser, &more)) goto kept;
    }
    r->unparsed = false;
    if (r->partial) {
        in->own = r->partial;
        in->in = in->own;
        in->len = sdslen(in->own);
        r->partial = NULL;
    }
    size_t rest, at = parse(r, in, in->in, in->len, &rest);
    if (in->own && !in->count && !in->error && !at) { /* nothing new: it stays where it is */
        sdssetlen(in->own, rest);
        r->partial = in->own;
        in->own = NULL;
    } else if (rest || !respParserIdle(&r->parser)) {
        r->partial = sdsnewlen(in->in + at, rest);
    }
    in->len = at;
    lookUp(in);
kept:
    in->kept = ioReaderKept(r);
    in->over_limit = in->kept > atomic_load_explicit(&query_buffer, memory_order_relaxed);
    return in->count || in->error || in->over_limit;
}

void ioReaderFree(struct ioReader *r) {
    respParserReset(&r->parser);
    sdsfree(r->partial);
    *r = (struct ioReader){0};
}
