/* SPDX-License-Identifier: BSD-3-Clause */
/* io_input.c - see io_input.h. */
#include "command/io_input.h"

#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "command/command.h"

#define REQUESTS_FIRST 4
#define HINTS_FIRST    8
#define KEEP_REQUESTS  1024 /* a cleared input keeps no larger arrays than these */

static _Atomic int64_t max_bulk = INT64_MAX;
static _Atomic size_t query_buffer = SIZE_MAX;

void ioReaderSetLimits(int64_t bulk, size_t buffer) {
    atomic_store_explicit(&max_bulk, bulk, memory_order_relaxed);
    atomic_store_explicit(&query_buffer, buffer, memory_order_relaxed);
}

/* ---- Inputs ---- */

struct ioInput *ioInputNew(void) {
    struct ioInput *in = zmallocAligned(64, sizeof *in);
    memset(in, 0, offsetof(struct ioInput, room));
    return in;
}

static int ioInputDropBig(struct ioInput *in) {
    int freed = 0;
    for (int i = 0; i < in->count; i++) {
        freed += in->requests[i].big != NULL;
        respBigArgsFree(in->requests[i].big);
    }
    return freed;
}

static int ioInputDropRequests(struct ioInput *in) {
    int freed = in->has_big ? ioInputDropBig(in) : 0;
    sdsfree(in->error);
    sdsfree(in->own);
    return freed;
}

void ioInputFree(struct ioInput *in) {
    ioInputDropRequests(in);
    zfree(in->requests);
    zfree(in->argv);
    zfree(in->key_hashes);
    zfreeSized(in, sizeof *in);
}

static void ioInputShrink(struct ioInput *in) {
    zfree(in->requests);
    zfree(in->argv);
    zfree(in->key_hashes);
    in->requests = NULL;
    in->argv = NULL;
    in->key_hashes = NULL;
    in->cap = in->hash_cap = 0;
    in->argv_cap = 0;
}

int ioInputClear(struct ioInput *in) {
    int freed = ioInputDropRequests(in);
    if (in->cap > KEEP_REQUESTS || in->argv_cap > KEEP_REQUESTS * 4) ioInputShrink(in);
    in->own = in->error = NULL;
    in->len = in->read = in->partial_bytes = in->kept = in->argv_used = 0;
    in->count = in->next = in->hashes_used = 0;
    in->over_limit = in->has_big = false;
    in->short_request.argc = 0;
    return freed;
}

void ioInputTakeShort(struct ioInput *in, struct request *req, struct str *argv, struct keyHint *key_hashes) {
    const struct ioShortRequest *b = &in->short_request;
    serverAssert(ioInputIsShort(in) && !in->next);
    in->next = 1;
    for (int i = 0; i < b->argc; i++) argv[i] = strN(in->room + b->at[i], b->len[i]);
    for (int i = 0; i < b->key_hash_count; i++)
        key_hashes[i] = (struct keyHint){argv[b->hashed_arg[i]], b->hash[i]};
    req->argc = b->argc;
    req->cmd = b->cmd;
    req->raw = strN(in->room, b->raw_len);
    req->key_hashes = key_hashes;
    req->key_hash_count = b->key_hash_count;
    req->key_count = b->key_count;
    req->prefetch.parts = b->cmd ? b->cmd->spec->prefetch : 0;
    if (req->prefetch.parts & PREFETCH_PATH && b->argc > 2) req->prefetch.member = argv[2];
    if (req->prefetch.parts & PREFETCH_SCORE && b->argc > 3) {
        prefetchNoteScore(&req->prefetch, 0, argv[2]);
        prefetchNoteScore(&req->prefetch, 1, argv[3]);
    }
    if (b->key_hash_count == b->key_count) return;
    req->prefetch.member = key_hashes[b->key_count].key;
    req->prefetch.member_hash = key_hashes[b->key_count].hash;
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

struct ioKept {
    struct respParser parser;
    sds partial; /* NULL: none */
};

static void ioInputMeasure(const struct ioReader *r, struct ioInput *in) {
    const struct ioKept *k = r->kept;
    in->partial_bytes = in->kept = k && k->partial ? sdslen(k->partial) : 0;
    if (k) in->kept += k->parser.big_bytes;
    for (const struct respBigArg *b = k ? k->parser.big : NULL; b; b = b->next)
        in->partial_bytes += sdslen(b->buf);
    in->over_limit = in->partial_bytes > atomic_load_explicit(&query_buffer, memory_order_relaxed);
}

size_t ioReaderSpace(struct ioReader *r, struct ioInput *in, char **dst) {
    struct ioKept *k = r->kept;
    if (!k) {
        *dst = in->room;
        return IO_INPUT_ROOM;
    }
    size_t n = respBigSpace(&k->parser, dst);
    if (n) return n;
    k->partial = sdsMakeRoomFor(k->partial, IO_INPUT_ROOM);
    *dst = k->partial + sdslen(k->partial);
    return sdsavail(k->partial);
}

static struct request *ioInputNewRequest(struct ioInput *in) {
    if (in->count == in->cap) {
        in->cap = in->cap ? 2 * in->cap : REQUESTS_FIRST;
        in->requests = zrealloc(in->requests, (size_t)in->cap * sizeof *in->requests);
    }
    struct request *req = &in->requests[in->count];
    requestBegin(req);
    return req;
}

/* Parses requests from in->in[0..in->len). Returns where the remaining bytes begin, *rest of them. */
static size_t ioInputParse(struct ioReader *r, struct respParser *parser, struct ioInput *in, size_t *rest) {
    struct respLimits limits = {.max_bulk = atomic_load_explicit(&max_bulk, memory_order_relaxed),
                                .max_args = RESP_MAX_MULTIBULK,
                                .authenticated = r->authenticated};
    size_t pos = 0;
    *rest = in->len;
    while (*rest && (r->authenticated || !in->count)) {
        struct request *req = ioInputNewRequest(in);
        size_t have = *rest, consumed = 0;
        const char *error = NULL;
        enum respStatus st = respParseRequest(parser, in->in + pos, &have, &limits, &in->argv, &in->argv_cap,
                                              in->argv_used, &req->argc, &consumed, &req->big, &error);
        if (st == RESP_MORE) {
            *rest = have;
            return pos;
        }
        if (st == RESP_ERROR) {
            in->error = sdsnew(error);
            r->broken = true;
            respParserReset(parser);
            *rest = 0;
            return pos;
        }
        if (st == RESP_OK) {
            if (!req->big) req->raw = strN(in->in + pos, consumed);
            in->has_big |= req->big != NULL;
            in->argv_used += (size_t)req->argc;
            in->count++;
        }
        pos += consumed;
        *rest -= consumed;
    }
    r->unparsed = *rest > 0;
    return pos;
}

/* Looks up commands and hashes keys, without looking at data. The views no longer move. */
static void ioInputLookUp(struct ioInput *in) {
    struct str *argv = in->argv;
    for (int i = 0; i < in->count; i++) {
        struct request *req = &in->requests[i];
        req->argv = argv;
        req->cmd = i ? commandLookupAfter(req[-1].cmd, req[-1].argv[0], argv, req->argc)
                     : commandLookup(argv, req->argc);
        argv += req->argc;
        if (in->hash_cap - in->hashes_used < REQUEST_KEY_HASHES_MAX) {
            in->hash_cap = in->hash_cap ? 2 * in->hash_cap + REQUEST_KEY_HASHES_MAX
                                        : HINTS_FIRST + REQUEST_KEY_HASHES_MAX;
            in->key_hashes = zrealloc(in->key_hashes, (size_t)in->hash_cap * sizeof *in->key_hashes);
        }
        in->hashes_used += requestHashKeys(req, in->key_hashes + in->hashes_used, REQUEST_KEY_HASHES_MAX);
    }
    const struct keyHint *key_hashes = in->key_hashes;
    for (int i = 0; i < in->count; i++) {
        in->requests[i].key_hashes = key_hashes;
        key_hashes += in->requests[i].key_hash_count;
    }
}

/* Keeps the bytes from `at` on, which are an incomplete request or not parsed yet. */
static void ioInputKeepRest(struct ioReader *r, struct respParser parser, struct ioInput *in, size_t at,
                            size_t rest) {
    if (!rest && respParserIdle(&parser)) {
        respParserReset(&parser);
        zfree(r->kept);
        r->kept = NULL;
        return;
    }
    if (!r->kept) r->kept = zmalloc(sizeof *r->kept);
    r->kept->parser = parser;
    if (in->own && !in->count && !at) { /* nothing new: it stays where it is */
        sdssetlen(in->own, rest);
        r->kept->partial = in->own;
        in->own = NULL;
    } else {
        r->kept->partial = sdsnewlen(in->in + at, rest);
    }
}

static int ioInputArgOfHash(const struct request *req, const struct keyHint *hint) {
    int i = 0;
    while (req->argv[i].ptr != hint->key.ptr) i++;
    return i;
}

static bool ioInputFitsShortRequest(const struct ioInput *in) {
    const struct request *req = &in->requests[0];
    if (in->count != 1 || in->error || in->partial_bytes || in->in != in->room || req->raw.ptr != in->room)
        return false;
    if (req->raw.len != in->read || req->argc > SHORT_ARGS || req->key_hash_count > SHORT_KEY_HASHES)
        return false;
    for (int i = 0; i < req->argc; i++) { /* the parser may have rewritten the words of an inline request */
        if (req->argv[i].ptr < in->room || req->argv[i].ptr + req->argv[i].len > in->room + in->read)
            return false;
    }
    return true;
}

static void ioInputMakeShortRequest(struct ioInput *in) {
    struct ioShortRequest *b = &in->short_request;
    const struct request *req = &in->requests[0];
    b->cmd = req->cmd;
    b->raw_len = (uint16_t)req->raw.len;
    b->argc = (uint8_t)req->argc;
    b->key_count = (uint8_t)req->key_count;
    b->key_hash_count = (uint8_t)req->key_hash_count;
    for (int i = 0; i < req->argc; i++) {
        b->at[i] = (uint16_t)(req->argv[i].ptr - in->room);
        b->len[i] = (uint16_t)req->argv[i].len;
    }
    for (int i = 0; i < req->key_hash_count; i++) {
        b->hash[i] = req->key_hashes[i].hash;
        b->hashed_arg[i] = (uint8_t)ioInputArgOfHash(req, &req->key_hashes[i]);
    }
}

/* Adds n bytes that were read to dst. False: they belong to a big argument that is incomplete. */
static bool ioInputGather(struct ioReader *r, struct ioInput *in, const char *dst, size_t n) {
    struct ioKept *k = r->kept;
    if (!k) {
        serverAssert(dst == in->room);
        in->in = in->room;
        in->len = n;
        return true;
    }
    char *more;
    if (!n || dst == k->partial + sdslen(k->partial)) {
        sdssetlen(k->partial, sdslen(k->partial) + n);
    } else {
        respBigFilled(&k->parser, n);
        if (respBigSpace(&k->parser, &more)) return false;
    }
    in->in = in->own = k->partial;
    in->len = sdslen(in->own);
    k->partial = NULL;
    return true;
}

bool ioReaderParse(struct ioReader *r, struct ioInput *in, const char *dst, size_t n) {
    in->read = n;
    if (r->broken) return false;
    if (ioInputGather(r, in, dst, n)) {
        struct respParser parser = r->kept ? r->kept->parser : (struct respParser){0};
        size_t rest, at;
        r->unparsed = false;
        at = ioInputParse(r, &parser, in, &rest);
        ioInputKeepRest(r, parser, in, at, rest);
        in->len = at;
        ioInputLookUp(in);
    }
    ioInputMeasure(r, in);
    if (ioInputFitsShortRequest(in)) ioInputMakeShortRequest(in);
    return in->count || in->error || in->over_limit;
}

sds ioReaderDetach(struct ioReader *r, struct respParser *parser) {
    struct ioKept *k = r->kept;
    r->kept = NULL;
    r->unparsed = false;
    if (!k) return NULL;
    sds partial = k->partial;
    *parser = k->parser;
    zfree(k);
    return partial;
}

void ioReaderFree(struct ioReader *r) {
    struct respParser parser = {0};
    sdsfree(ioReaderDetach(r, &parser));
    respParserReset(&parser);
}
