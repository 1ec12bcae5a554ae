/* SPDX-License-Identifier: BSD-3-Clause */
/* request.h - a command to be run: the one form that it has, from the parser to the replicas.
 *
 *     argv[0] .. argv[argc-1]   the arguments: views of bytes owned elsewhere, or in the copy itself
 *     cmd                       the command that argv[0] (and argv[1]) name; NULL: unknown
 *     key_hashes, prefetch      its keys, and what it will look for in their values, hashed once
 *     big                       arguments of 32 KiB and more, in buffers that a handler may take over
 *     raw                       the bytes of the protocol it came in, if they are still in one piece
 *
 * Whatever runs a command makes a request (the turn from a client's input, EXEC from its queue, a script from
 * Lua's stack, the loader from the append-only file and so on) and calls commandRun (call.h). While it runs,
 * c->request is the request, and c->argv, c->argc and c->cmd mirror it for handlers.
 *
 * Invariant: a request is valid as long as the bytes that it views: one turn of the loop, or the call of a
 * script. A transaction or a blocked client, which need it longer, keep a copy, whose views point into its
 * own allocation and its big buffers. */
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

/* On whose behalf a request runs. It determines which rules of admission apply (admission.h). */
enum requestOrigin {
    ORIGIN_CLIENT,    /* a client's connection */
    ORIGIN_EXEC,      /* a client's transaction */
    ORIGIN_SCRIPT,    /* a script or a function */
    ORIGIN_UNBLOCKED, /* a blocked command that is run again */
    ORIGIN_AOF,       /* the append-only file, while it is loaded */
    ORIGIN_PRIMARY,   /* the replication stream from our primary */
    ORIGIN_MODULE,    /* a module's call */
    ORIGIN_DEBUG,     /* the server itself */
    ORIGIN_RESUMED,   /* a blocked command whose wait has ended: no rule applies */
    ORIGINS
};

struct request {
    struct str *argv;
    int argc;
    int key_hash_count, key_count;    /* hashes of its keys come first, then that of prefetch.member */
    const struct keyHint *key_hashes; /* NULL: not hashed */
    struct serverCommand *cmd;
    struct respBigArg *big; /* owned by the creator of the request */
    struct prefetchRequests prefetch;
    struct str raw;      /* ptr NULL: none. An inline request is a line, not an array */
    uint64_t end_offset; /* behind raw, in a stream with offsets; 0: it came in another way */
    uint64_t ticks;      /* spent on earlier runs, in which it blocked */
    uint32_t redacted;   /* arguments that a module's command hides: a bit each; UINT32_MAX: all */
    bool exceeds_memory; /* a module's call that ignores maxmemory: a script that it runs may, too */
    bool unpropagated;   /* its changes are not propagated: redis.set_repl() */
    uint8_t exclude;     /* for a module or script: PROPAGATED_NOT_TO_... */
};

/* Prepares a request whose arguments follow. It sets field by field, since this is done for each command and
 * the others are set later. */
static inline void requestBegin(struct request *r) {
    r->key_hash_count = r->key_count = 0;
    r->key_hashes = NULL;
    r->cmd = NULL;
    r->big = NULL;
    r->prefetch.member.ptr = NULL;
    r->raw.ptr = NULL;
    r->end_offset = r->ticks = 0;
    r->redacted = 0;
    r->exceeds_memory = r->unpropagated = false;
    r->exclude = 0;
}

/* Makes a copy in one allocation: header, views, and the bytes of arguments, except big ones, whose buffers
 * move to the copy (`from` has none any more; its views stay valid). Key hashes and raw bytes are not copied.
 * Free with requestRelease. */
struct request *requestCopy(struct request *from);
void requestRelease(struct request *r);        /* NULL is fine */
size_t requestLength(const struct request *r); /* bytes in the protocol */
size_t requestMemory(const struct request *r); /* a copy with its big buffers; O(argc) */

#define REQUEST_KEYS_MAX       16                     /* keys that are hashed ahead */
#define REQUEST_KEY_HASHES_MAX (REQUEST_KEYS_MAX + 1) /* plus a member */

/* Hashes the keys of a request whose command is known, and what it will look for in their values, into
 * key_hashes[0..room), which the request then refers to. Returns how many were used. Touches no data. */
int requestHashKeys(struct request *r, struct keyHint *key_hashes, int room);

/* Appends the request in the protocol to s: its raw bytes if there are any, else encoded. */
sds requestAppend(sds s, const struct request *r);

/* An array of copies: a transaction before EXEC. Zero-initialized is empty. */
struct requestQueue {
    struct request **at;
    int count, cap;
};
struct request *requestQueueAdd(struct requestQueue *q, struct request *from); /* returns the copy */
void requestQueueClear(struct requestQueue *q);

/* ---- Big arguments ---- */
/* Returns whether argument i has a buffer that can be taken. */
bool requestArgIsBig(const struct request *r, int i);
/* Takes the buffer of a big argument out of the request without copying, or copies an argument that has none.
 * The caller owns the sds. argv[i] stays readable. */
sds requestTakeArg(struct request *r, int i);

/* The two functions above for the running request, for handlers. A handler that is called without a request
 * has no big arguments. */
static inline bool clientArgIsBig(const struct client *c, int i) {
    return c->request && c->request->big && requestArgIsBig(c->request, i);
}
static inline sds clientTakeArg(struct client *c, int i) {
    return c->request ? requestTakeArg(c->request, i) : sdsnewstr(c->argv[i]);
}
