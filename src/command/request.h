/* request.h - a command that somebody wants run: the one form it has, from the parser to the replicas.
 *
 *     argv[0] .. argv[argc-1]   the arguments: views of bytes that somebody else keeps, or of the own copy
 *     raw                       the bytes of the protocol that they came in, where still in one piece
 *     cmd                       what argv[0] (and argv[1]) name; NULL: nothing that is known
 *     keys                      where its keys are, found once: each with its hash (in cluster mode: slot)
 *     big                       arguments of 32 KiB and more, in buffers that a handler may take over
 *
 * Who wants a command run makes one of these (the round from a client's input, EXEC from its queue, a script
 * from Lua's stack, the loader from the append-only file ...) and calls commandRun (command.h). c->argv,
 * c->argc and c->cmd mirror the running request for handlers.
 *
 * A request is good as long as what it views: a turn of the loop, the call of a script. Who keeps it longer
 * (a transaction, a blocked client, a rewrite) owns it: requestCopy puts header, views and bytes into one
 * allocation. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "data/db.h"
#include "net/resp.h"

struct client;
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
    ORIGINS
};

struct request {
    struct str *argv;
    int argc;
    struct serverCommand *cmd;
    struct respBigArg *big;      /* owned */
    struct str raw;              /* ptr NULL: there are none */
    uint64_t end_offset;         /* of a replication stream, behind raw; 0: it is from elsewhere */
    const struct keyHint *hints; /* keys, then the member, see hint_count */
    int hint_count, key_count;
};

/* A copy in one allocation: the request, its views, the bytes of its arguments but not those of big ones,
 * whose buffers move to the copy (`from` has none any more). Hints and raw bytes are not copied. Free with
 * requestRelease. */
struct request *requestCopy(struct request *from);
void requestRelease(struct request *r);        /* NULL is fine */
size_t requestMemory(const struct request *r); /* of a copy */

/* Takes the buffer of a big argument out of the request: an sds to own, without copying; otherwise a copy is
 * made. argv[i] stays readable. */
sds requestTakeArg(struct request *r, int i);
bool requestArgIsBig(const struct request *r, int i);

/* The request in the protocol: raw where it is there, else encoded. Appended to s. */
sds requestAppend(sds s, const struct request *r);
