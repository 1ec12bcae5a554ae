/* SPDX-License-Identifier: BSD-3-Clause */
/* turn.h - one turn of the loop as a pipeline.
 *
 *     read handlers            gather: each ready client's bytes go to the round's arena (or its own buffer)
 *     turnRun, repeated:      parse up to prefetch-batch-max-size commands, across clients and pipelines
 *                              hash their keys; prefetch buckets, then objects, then what the types ask for
 *                              execute in arrival order
 *     end of the round:        incomplete input is set aside; the arena is empty again
 *
 * A round is an object of its own. A nested one (a script past its time limit) is run by turnNested(): the
 * outer round first sets aside the input of all clients whose commands have not run yet, so the nested round
 * can serve them from their own buffers; the outer arena is never touched while a view into it may be alive.
 *
 * Invariant: what a client sent is in one place: requests of the batch that have not run, then the bytes not
 * parsed yet; or, when it is in no round, all of it in its querybuf. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"
#include "command/request.h"

#define TURN_READ_SIZE   (16 * 1024)
#define TURN_READ_BULK   (128 * 1024) /* of a client that brings much */
#define TURN_ARENA_SIZE  (1024 * 1024)
#define TURN_BATCH_LIMIT 128 /* upper bound of prefetch-batch-max-size */

/* afterEvents hook: run everything that has been gathered. */
void turnRun(void);
/* Is there input set aside that the next turnRun takes up? Then the loop must not sleep. */
bool turnPending(void);
/* Let the loop serve other clients while a command of the running round goes on. */
void turnNested(void);
bool turnIsNested(void);
int64_t turnMaxBulk(void); /* proto-max-bulk-len: the longest argument, and the longest string */
/* The client has input set aside and may run again (unblocked, unpaused): serve it in the next round. */
void turnQueueClient(struct client *c);

/* The client with CLIENT_PRIMARY: its requests are run, and its errors heard of, by the room of replication.
 * In a nested round it is not served: what it sends would not stand where it belongs. */
struct turnPrimary {
    void (*run)(struct client *c, struct request *r);
    void (*broken)(struct client *c, const char *error); /* its input breaks the protocol */
};
void turnSetPrimary(const struct turnPrimary *p); /* which must stay */

struct turnStats {
    uint64_t rounds, batches, commands, prefetched_keys; /* INFO stats: prefetch_* */
    uint64_t threaded_batches, threaded_keys;            /* those of requests that threads have parsed */
};
extern struct turnStats turn_stats;
void turnInit(void);
