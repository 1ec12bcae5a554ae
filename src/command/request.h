/* SPDX-License-Identifier: BSD-3-Clause */
/* request.h - a command that somebody wants run: the one form it has, from the parser to the replicas.
 *
 *     argv[0] .. argv[argc-1]   the arguments: views of bytes that somebody else keeps, or of the copy's own
 *     cmd                       what argv[0] (and argv[1]) name; NULL: nothing that is known
 *     hints, wants              its keys, and what it will look for in their values, hashed once
 *     big                       arguments of 32 KiB and more, in buffers that a handler may take over
 *     raw                       the bytes of the protocol it came in, where they are still in one piece
 *
 * Who wants a command run makes one of these (the round from a client's input, EXEC from its queue, a script
 * from Lua's stack, the loader from the append-only file ...) and calls commandRun (call.h). While it runs,
 * c->request is it, and c->argv, c->argc and c->cmd mirror it for handlers.
 *
 * Invariant: a request is good as long as what it views: a turn of the loop, the call of a script. Who keeps
 * it longer (a transaction, a client that waits) keeps a copy, whose views stay within its own allocation and
 * its big buffers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "client/client.h"
#include "data/keyspace/db.h"
#include "data/type.h"
#include "net/resp.h"

struct serverCommand;

/* On whose behalf a request runs. Decides what is asked before it does (admission.h). */
enum requestOrigin {
    ORIGIN_CLIENT,    /* its own connection */
    ORIGIN_EXEC,      /* the queue of its transaction */
    ORIGIN_SCRIPT,    /* a script or a function */
    ORIGIN_UNBLOCKED, /* a blocked command that is tried again */
    ORIGIN_AOF,       /* the append-only file */
    ORIGIN_PRIMARY,   /* the stream of our primary */
    ORIGIN_MODULE,    /* a module's call */
    ORIGIN_DEBUG,     /* the server itself */
    ORIGIN_RESUMED,   /* a blocked command whose wait has ended: there is nothing left to ask */
    ORIGINS
};

struct request {
    struct str *argv;
    int argc;
    int hint_count, key_count;   /* the hints of its keys come first, then that of wants.member */
    const struct keyHint *hints; /* NULL: nobody has looked */
    struct serverCommand *cmd;
    struct respBigArg *big; /* owned by who made the request */
    struct prefetchRequests wants;
    struct str raw;      /* ptr NULL: there are none. An inline request is a line, not an array */
    uint64_t end_offset; /* in a stream that has offsets, behind raw; 0: it came in another way */
    uint64_t ticks;      /* of work on it in earlier tries, in which it was blocked */
    uint32_t redacted;   /* arguments that a module's command hides: a bit each, UINT32_MAX: all */
    bool exceeds_memory; /* a script that it runs may: a module's call does not respect the limit */
    bool unpropagated;   /* what it changes stays here: redis.set_repl() */
    uint8_t but;         /* who shall not have it, of a module's or script's: PROPAGATED_NOT_TO_... */
};

/* A copy in one allocation: header, views, and the bytes of arguments, but for those of big ones, whose
 * buffers move to the copy (`from` has none any more; its views stay good). Hints and raw bytes stay behind.
 * Free with requestRelease. */
struct request *requestCopy(struct request *from);
void requestRelease(struct request *r);        /* NULL is fine */
size_t requestMemory(const struct request *r); /* of a copy, its big buffers included. O(argc) */

#define REQUEST_KEYS_MAX       16                     /* keys hashed ahead */
#define REQUEST_KEY_HASHES_MAX (REQUEST_KEYS_MAX + 1) /* and a member */

/* Hashes the keys of a request whose command is known, and what it will look for in their value, into
 * hints[0..room), which become the request's. How many were used. Touches no data. */
int requestHashKeys(struct request *r, struct keyHint *hints, int room);

/* The request in the protocol, appended to s: raw where it is there, else encoded. */
sds requestAppend(sds s, const struct request *r);

/* Copies in a row: a transaction that waits for EXEC. Zero-initialized is empty. */
struct requestQueue {
    struct request **at;
    int count, cap;
};
struct request *requestQueueAdd(struct requestQueue *q, struct request *from); /* the copy */
void requestQueueClear(struct requestQueue *q);

/* ---- Big arguments ---- */
/* Is there a buffer to take at i? */
bool requestArgIsBig(const struct request *r, int i);
/* Takes the buffer of a big argument out of the request: an sds to own, without copying; otherwise a copy is
 * made. argv[i] stays readable. */
sds requestTakeArg(struct request *r, int i);

/* The same of the running request, for handlers. A handler that is called without one has none. */
static inline bool clientArgIsBig(const struct client *c, int i) {
    return c->request && c->request->big && requestArgIsBig(c->request, i);
}
static inline sds clientTakeArg(struct client *c, int i) {
    return c->request ? requestTakeArg(c->request, i) : sdsnewstr(c->argv[i]);
}
