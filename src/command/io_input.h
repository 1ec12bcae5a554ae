/* io_input.h - what a thread has read of one client, parsed: whole requests, with their commands looked up
 * and their keys hashed, ready to be run.
 *
 *     in .. in+len      the bytes of the requests: in `room`, or in `own` when they came in several reads
 *     requests[0..count)  views into these, and into `argv`; big arguments in buffers of their own
 *     next              the first that nobody has taken
 *     error             the protocol is broken behind the last request, and nothing more will come
 *
 * An input is made, filled and emptied by a thread that reads (port.h), and belongs to the main thread while
 * that runs what is in it. It is used again and again: a turn allocates nothing.
 *
 * The bytes that do not make a whole request yet stay with the reader, in struct ioReader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/sds.h"
#include "client/reply_block.h"
#include "command/request.h"
#include "net/resp.h"

#define IO_INPUT_ROOM (16 * 1024) /* bytes of one read */

struct ioInput {
    char *in;
    size_t len;
    int count, next;
    struct request *requests;
    sds error;                /* NULL: none */
    size_t read;              /* bytes that have come since the last input of this client */
    size_t kept;              /* bytes that the reader keeps: the beginning of a request */
    bool over_limit;          /* those are more than a client may send without an end */
    struct replyBlock *spare; /* for the replies, from who sends them; NULL: none */

    sds own;
    int cap;
    struct str *argv;
    size_t argv_cap, argv_used;
    struct keyHint *hints;
    int hint_cap, hint_used;
    struct ioInput *next_free;
    char room[IO_INPUT_ROOM];
};

struct ioInput *ioInputNew(void);
void ioInputFree(struct ioInput *in); /* and what it holds */
/* Frees what is left of its requests, and makes it ready to be filled. */
void ioInputClear(struct ioInput *in);
/* Requests from `from` on that nobody has taken, in the protocol, appended to s. They count as taken. */
sds ioInputAppendRest(sds s, struct ioInput *in);

/* ---- Reading ---- */

/* The state between reads. Zero-initialized: at the start of a request, with nothing kept. */
struct ioReader {
    struct respParser parser;
    sds partial;   /* bytes that are no whole request; NULL: none */
    bool unparsed; /* whole requests may be among them */
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
size_t ioReaderKept(const struct ioReader *r); /* bytes */
void ioReaderFree(struct ioReader *r);
