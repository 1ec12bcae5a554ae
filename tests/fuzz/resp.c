/* SPDX-License-Identifier: BSD-3-Clause */
/* resp.c - libFuzzer target for the wire protocol: requests (inline ones, too) and replies.
 *
 *     make fuzz-resp FUZZ_SECONDS=600
 *
 * An input is | flags | seed | bytes |. Flag 1: the bytes are replies, else requests; flag 2: the client
 * is not authenticated; flag 4: each byte 0xfe stands for 20,000 letters, so that arguments become
 * large. The seed says where the stream is split. However it is split, the requests must be those of the
 * whole. */
#include "net/resp.h"

#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/sds.h"
#include "base/zmalloc.h"

#define FILLER_BYTES 20000
#define STREAM_MAX   (1 << 20)
#define SHORT_STREAM 400 /* streams up to this length are split at every byte, too */

/* ---- Requests ---- */

/* One client's input, moved to an allocation of exactly its size before each call. */
struct input {
    char *buf;
    size_t len;
};

static void inputReplace(struct input *in, size_t from, const char *more, size_t n) {
    char *moved = zmalloc(in->len - from + n + !(in->len - from + n));
    if (in->len > from) memcpy(moved, in->buf + from, in->len - from);
    if (n) memcpy(moved + in->len - from, more, n);
    zfree(in->buf);
    in->buf = moved;
    in->len += n - from;
}

static sds respTranscribe(sds out, const struct str *argv, int argc) {
    out = sdscatprintf(out, "(%d", argc);
    for (int i = 0; i < argc; i++) {
        out = sdscatprintf(out, "|%zu:", argv[i].len);
        out = sdscatstr(out, argv[i]);
    }
    return sdscat(out, ")");
}

/* Returns the length of the next piece. */
static size_t pieceOf(uint32_t *seed, size_t left) {
    *seed = *seed * 1664525 + 1013904223;
    static const size_t limits[] = {3, 100, 40000, 40000};
    size_t n = 1 + (*seed >> 8 & 0xffff) % limits[*seed >> 30];
    return n < left ? n : left;
}

/* The way to split a stream: a seed, or one of these. */
enum { ALL_AT_ONCE = 0, ONE_BY_ONE = 1, SEED_MIN = 4 };

/* Returns the requests as text, with the error at its end. Whether a line is too long depends on the
 * pieces, so that is returned in *too_long. */
static sds parseRequests(struct str stream, uint32_t seed, bool authenticated, bool *too_long) {
    struct respLimits limits = {1 << 20, 1 << 20, authenticated};
    struct respParser p = {0};
    struct input in = {0};
    struct str *argv = NULL;
    size_t cap = 0, base = seed & 3;
    sds out = sdsempty();
    for (bool alive = true; alive && stream.len;) {
        char *space;
        size_t room = respBigSpace(&p, &space);
        size_t n = seed == ALL_AT_ONCE ? stream.len : seed == ONE_BY_ONE ? 1 : pieceOf(&seed, stream.len);
        if (room) {
            if (n > room) n = room;
            memcpy(space, stream.ptr, n);
            respBigFilled(&p, n);
            inputReplace(&in, 0, NULL, 0);
        } else {
            inputReplace(&in, 0, stream.ptr, n);
        }
        stream = strN(stream.ptr + n, stream.len - n);
        for (bool more = true; more && alive && (in.len || !respParserIdle(&p));) {
            int argc;
            size_t consumed, before = in.len;
            struct respBigArg *big = NULL;
            const char *err;
            switch (respParseRequest(&p, in.buf, &in.len, &limits, &argv, &cap, base, &argc, &consumed, &big,
                                     &err)) {
            case RESP_OK:
                serverAssert(argc > 0 && consumed > 0 && consumed <= in.len);
                out = respTranscribe(out, argv + base, argc);
                respBigArgsFree(big);
                inputReplace(&in, consumed, NULL, 0);
                break;
            case RESP_EMPTY:
                serverAssert(consumed > 0 && consumed <= in.len);
                inputReplace(&in, consumed, NULL, 0);
                break;
            case RESP_MORE:
                serverAssert(in.len <= before);
                more = false;
                break;
            case RESP_ERROR:
                alive = false;
                *too_long = strncmp(err, "too big", 7) == 0;
                if (!*too_long) out = sdscat(out, err);
            }
        }
    }
    respParserReset(&p);
    zfree(in.buf);
    zfree(argv);
    return out;
}

static void exerciseSplit(struct str stream, uint32_t seed, bool authenticated, sds whole, bool whole_ends) {
    bool ends = false;
    sds split = parseRequests(stream, seed, authenticated, &ends);
    size_t least = sdslen(whole) < sdslen(split) ? sdslen(whole) : sdslen(split);
    serverAssert(memcmp(whole, split, least) == 0);
    serverAssert(whole_ends || ends || sdslen(whole) == sdslen(split));
    sdsfree(split);
}

static void exerciseRequests(struct str stream, uint32_t seed, bool authenticated) {
    bool ends = false;
    sds whole = parseRequests(stream, ALL_AT_ONCE, authenticated, &ends);
    exerciseSplit(stream, seed | SEED_MIN, authenticated, whole, ends);
    if (stream.len <= SHORT_STREAM) exerciseSplit(stream, ONE_BY_ONE, authenticated, whole, ends);
    sdsfree(whole);
}

/* ---- Replies ---- */

static size_t countReplies(const struct respReply *r) {
    size_t n = 1, children = 0;
    switch (r->type) {
    case RESP_T_ARRAY:
    case RESP_T_SET:
    case RESP_T_PUSH:
    case RESP_T_MAP: children = r->elements; break;
    default: break;
    }
    for (size_t i = 0; i < children; i++) n += countReplies(&r->element[i]);
    return n;
}

/* Reads a reply from an allocation of exactly n bytes. */
static int64_t readReply(const char *from, size_t n, size_t *count) {
    char *bytes = zmalloc(n + !n);
    struct respReply r;
    memcpy(bytes, from, n);
    int64_t size = respReadReply(bytes, n, &r), length = respReplyLength(bytes, n);
    serverAssert(size == length && size <= (int64_t)n);
    if (size > 0) {
        *count = countReplies(&r);
        respReplyFree(&r);
    }
    zfree(bytes);
    return size;
}

/* Checks that a part of a reply is neither a reply nor an error. */
static void exerciseReplies(struct str stream, uint32_t seed) {
    while (stream.len) {
        size_t count = 0, ignored;
        int64_t size = readReply(stream.ptr, stream.len, &count);
        if (size <= 0) break;
        serverAssert(count > 0 && count <= (size_t)size);
        size_t part = pieceOf(&seed, (size_t)size);
        if (part < (size_t)size) {
            int64_t got = readReply(stream.ptr, part, &ignored);
            serverAssert(got == 0);
        }
        stream = strN(stream.ptr + size, stream.len - (size_t)size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    unsigned flags = data[0];
    uint32_t seed = data[1] * 0x9e3779b1u;
    sds stream = sdsempty();
    for (size_t i = 2; i < size && sdslen(stream) < STREAM_MAX; i++) {
        if (flags & 4 && data[i] == 0xfe) {
            stream = sdsgrowzero(stream, sdslen(stream) + FILLER_BYTES);
            memset(stream + sdslen(stream) - FILLER_BYTES, 'x', FILLER_BYTES);
        } else {
            stream = sdscatlen(stream, &data[i], 1);
        }
    }
    if (flags & 1)
        exerciseReplies(sdsview(stream), seed);
    else
        exerciseRequests(sdsview(stream), seed, !(flags & 2));
    sdsfree(stream);
    return 0;
}
