/* SPDX-License-Identifier: BSD-3-Clause */
/* io_input.h - what a thread has read of one client, parsed: whole requests, with their commands looked up
 * and their keys hashed, ready to be run.
 *
 *     in .. in+len      the bytes of the requests: in `room`, or in `own` when they came in several reads
 *     requests[0..count)  views into these, and into `argv`; big arguments in buffers of their own
 *     next              the first that nobody has taken
 *     error             the protocol is broken behind the last request: what comes then is dropped unread
 *
 * An input is made, filled and emptied by a thread that reads (io_client.h), and belongs to the main thread
 * while that runs what is in it. It is used again and again: a turn allocates nothing.
 *
 * The bytes that do not make a whole request yet stay with the reader, in struct ioReader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sds.h"
#include "client/reply_block.h"
#include "command/request.h"
#include "net/resp.h"

#define IO_INPUT_ROOM (16 * 1024) /* bytes of one read */

/* A request, in so few bytes that it reaches the main thread in one line of the cache: that line and those of
 * the text are all that has to come from the other processor. Most requests are such: one that came alone, in
 * one read, with few arguments, and few hints. */
#define SHORT_ARGS       5
#define SHORT_KEY_HASHES 2
struct ioShortRequest {
    struct serverCommand *cmd;
    uint64_t hash[SHORT_KEY_HASHES];          /* of arguments hint_arg[0 .. hint_count) */
    uint16_t at[SHORT_ARGS], len[SHORT_ARGS]; /* in room */
    uint16_t raw_len;                         /* from the beginning of room: all that has come */
    uint8_t argc;                             /* 0: the input is none of these */
    uint8_t key_count, hint_count, hint_arg[SHORT_KEY_HASHES];
};

struct ioInput {
    /* The first line: all that the main thread looks at in a brief one. */
    int count, next;
    struct ioShortRequest brief; /* of requests[0], when there is no more to say */

    struct request *requests;
    struct str *argv;
    struct keyHint *hints;
    sds error;         /* NULL: none */
    size_t read;       /* bytes that came with this read */
    size_t came, kept; /* bytes of a request that is not whole, and what the reader takes for them */
    bool over_limit;   /* they are more than a client may send without an end */
    bool has_big;      /* a request came with buffers of its own, which are left to the thread to free */

    char *in;
    size_t len;
    sds own;
    size_t argv_cap, argv_used;
    int cap, hint_cap, hint_used;
    struct ioInput *next_free;
    _Alignas(64) char room[IO_INPUT_ROOM];
};
_Static_assert(offsetof(struct ioInput, requests) == 64, "a brief one is in the first line");

static inline bool ioInputIsShort(const struct ioInput *in) {
    return in->brief.argc > 0;
}
static inline size_t ioInputRead(const struct ioInput *in) {
    return ioInputIsShort(in) ? in->brief.raw_len : in->read;
}
/* All of it was taken. */
static inline bool ioInputIsEmpty(const struct ioInput *in) {
    return in->next == in->count && (ioInputIsShort(in) || !in->error);
}

/* Fetches what will be looked at of one whose first line is here already. */
static inline void ioInputFetch(const struct ioInput *in) {
    __builtin_prefetch(in->room);
    __builtin_prefetch(in->room + 64);
    if (ioInputIsShort(in)) return;
    const char *first = (const char *)in->requests;
    for (size_t at = 0; at < sizeof *in->requests; at += 64) __builtin_prefetch(first + at);
    __builtin_prefetch(in->argv);
    __builtin_prefetch(in->hints);
}

struct ioInput *ioInputNew(void);
void ioInputFree(struct ioInput *in); /* and what it holds */
/* Frees what is left of its requests, and makes it ready to be filled. How many big buffers that were. */
int ioInputClear(struct ioInput *in);
/* The request of a brief one, which counts as taken: argv has room for SHORT_ARGS, hints for
 * SHORT_KEY_HASHES. */
void ioInputTakeShort(struct ioInput *in, struct request *req, struct str *argv, struct keyHint *hints);
/* Requests from `from` on that nobody has taken, in the protocol, appended to s. They count as taken. */
sds ioInputAppendRest(sds s, struct ioInput *in);

/* ---- Reading ---- */

/* The state between reads. Zero-initialized: at the start of a request, with nothing kept. Nearly always that
 * is so, and a reader takes no memory of its own. */
struct ioKept; /* the beginning of a request, and how far it was parsed */
struct ioReader {
    struct ioKept *kept; /* NULL: nothing */
    bool unparsed;       /* whole requests may be among it */
    bool broken;         /* there was an error: what comes is dropped */
    bool authenticated;
};

/* Limits of what is read, of all readers: the main thread sets them. */
void ioReaderSetLimits(int64_t max_bulk, size_t query_buffer);

/* Where the next bytes go, and how many; in->room unless something is kept. */
size_t ioReaderSpace(struct ioReader *r, struct ioInput *in, char **dst);
/* n bytes have come to dst; n == 0: parses what is kept once more. Fills `in` with the requests that are
 * whole, one only before authentication: it may be AUTH, which lifts the limits for what is behind it. True:
 * the input has something for the main thread. */
bool ioReaderTake(struct ioReader *r, struct ioInput *in, const char *dst, size_t n);
/* What it keeps passes to the caller: the bytes, NULL when there are none, and the parser that goes on behind
 * them. The reader is at the start of a request then. */
sds ioReaderGiveBack(struct ioReader *r, struct respParser *parser);
void ioReaderFree(struct ioReader *r);
