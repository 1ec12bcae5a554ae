/* SPDX-License-Identifier: BSD-3-Clause */
/* io_input.h - what a thread has read from one client, parsed: whole requests with their commands looked up
 * and their keys hashed, ready to run.
 *
 *     in .. in+len        bytes of the requests: in `room`, or in `own` when they came in several reads
 *     requests[0..count)  views into these, and into `argv`; big arguments have buffers of their own
 *     next                the first request that has not been taken
 *     error               a protocol error behind the last request: later bytes are dropped unread
 *
 * An input is created, filled and cleared by a thread that reads (io_client.h), and belongs to the main
 * thread while its requests run. It is used again and again: a turn allocates nothing.
 *
 * Bytes that do not make a whole request yet stay with the reader, in struct ioReader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sds.h"
#include "client/reply_block.h"
#include "command/request.h"
#include "net/resp.h"

#define IO_INPUT_ROOM (16 * 1024) /* bytes of one read */

/* A short request: so few bytes that it reaches the main thread in one cache line. That line and those of the
 * text are all that has to come from the other processor. Most requests are short: one that came alone, in
 * one read, with few arguments and few key hashes. */
#define SHORT_ARGS       5
#define SHORT_KEY_HASHES 2
struct ioShortRequest {
    struct serverCommand *cmd;
    uint64_t hash[SHORT_KEY_HASHES];          /* of the arguments hashed_arg[0 .. key_hash_count) */
    uint16_t at[SHORT_ARGS], len[SHORT_ARGS]; /* in `room` */
    uint16_t raw_len;                         /* from the beginning of `room`: all bytes of the read */
    uint8_t argc;                             /* 0: the input holds no short request */
    uint8_t key_count, key_hash_count, hashed_arg[SHORT_KEY_HASHES];
};

struct ioInput {
    /* The first line: all that the main thread looks at for a short request. */
    int count, next;
    struct ioShortRequest short_request; /* requests[0], when it is short */

    struct request *requests;
    struct str *argv;
    struct keyHint *key_hashes;
    sds error;                  /* NULL: none */
    size_t read;                /* bytes that came with this read */
    size_t partial_bytes, kept; /* bytes of an incomplete request, and the reader's memory for them */
    bool over_limit;            /* they exceed what a client may send (client-query-buffer-limit) */
    bool has_big;               /* a request had big arguments, whose buffers the thread has to free */

    char *in;
    size_t len;
    sds own;
    size_t argv_cap, argv_used;
    int cap, hash_cap, hashes_used;
    struct ioInput *next_free;
    _Alignas(64) char room[IO_INPUT_ROOM];
};
_Static_assert(offsetof(struct ioInput, requests) == 64, "a brief one is in the first line");

static inline bool ioInputIsShort(const struct ioInput *in) {
    return in->short_request.argc > 0;
}
static inline size_t ioInputRead(const struct ioInput *in) {
    return ioInputIsShort(in) ? in->short_request.raw_len : in->read;
}
/* Returns whether everything has been taken. */
static inline bool ioInputIsEmpty(const struct ioInput *in) {
    return in->next == in->count && (ioInputIsShort(in) || !in->error);
}

/* Prefetches what will be read of an input whose first line is in the cache already. */
static inline void ioInputPrefetch(const struct ioInput *in) {
    __builtin_prefetch(in->room);
    __builtin_prefetch(in->room + 64);
    if (ioInputIsShort(in)) return;
    const char *first = (const char *)in->requests;
    for (size_t at = 0; at < sizeof *in->requests; at += 64) __builtin_prefetch(first + at);
    __builtin_prefetch(in->argv);
    __builtin_prefetch(in->key_hashes);
}

struct ioInput *ioInputNew(void);
void ioInputFree(struct ioInput *in); /* with all that it holds */
/* Frees the remaining requests, so that the input can be filled again. Returns the number of big buffers. */
int ioInputClear(struct ioInput *in);
/* Takes the short request. argv has space for SHORT_ARGS entries, key_hashes for SHORT_KEY_HASHES. */
void ioInputTakeShort(struct ioInput *in, struct request *req, struct str *argv, struct keyHint *key_hashes);
/* Appends the requests from `from` on that have not been taken, to s. They count as taken. */
sds ioInputAppendRest(sds s, struct ioInput *in);

/* ---- Reading ---- */

/* The reader's state between reads. Zero-initialized it stands at the start of a request and keeps nothing,
 * which is the usual state: then a reader takes no memory of its own. */
struct ioKept; /* the beginning of a request, and how far it was parsed */
struct ioReader {
    struct ioKept *kept; /* NULL: nothing is kept */
    bool unparsed;       /* `kept` may contain whole requests */
    bool broken;         /* after a protocol error: input is dropped */
    bool authenticated;
};

/* Sets the limits for all readers. Called by the main thread. */
void ioReaderSetLimits(int64_t max_bulk, size_t query_buffer);

/* Where the next bytes go and how many; in->room unless something is kept. */
size_t ioReaderSpace(struct ioReader *r, struct ioInput *in, char **dst);
/* Takes n bytes that were read to dst; n == 0: parses what is kept once more. Fills `in` with the requests
 * that are whole, but only with one before authentication: it may be AUTH, which lifts the limits for what
 * follows. Returns true when the input has something for the main thread. */
bool ioReaderParse(struct ioReader *r, struct ioInput *in, const char *dst, size_t n);
/* Passes what it keeps to the caller: the bytes, NULL when there are none, and the parser that continues
 * behind them. Afterwards the reader stands at the start of a request. */
sds ioReaderDetach(struct ioReader *r, struct respParser *parser);
void ioReaderFree(struct ioReader *r);
