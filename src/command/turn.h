/* SPDX-License-Identifier: BSD-3-Clause */
/* turn.h - one turn of the event loop as a pipeline.
 *
 *     read handlers            gather: each ready client's bytes go to the turn's arena (or its own buffer)
 *     turnRun, repeated:       parse up to prefetch-batch-max-size commands, across clients and pipelines
 *                              hash their keys; prefetch buckets, then objects, then what the types ask for
 *                              execute in arrival order
 *     end of the turn:         incomplete input is stashed; the arena is empty again
 *
 * A turn is an object of its own. A nested one (in a script past its time limit) is run by turnNested(): the
 * outer turn first stashes the input of all clients whose commands have not run yet, so that the nested turn
 * can serve them from their own buffers. The outer arena is never touched while a view into it may be in use.
 *
 * Invariant: what a client sent is in one place. While it takes part in a turn: the requests of the batch
 * that have not run, then the bytes not parsed yet. Otherwise: all of it in its querybuf. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"
#include "command/request.h"

/* Hook of the event loop after its events: runs everything that has been gathered. */
void turnRun(void);
/* Returns whether stashed input is waiting for the next turnRun. The loop must not sleep then. */
bool turnPending(void);
/* Lets the loop serve other clients while a command of the running turn goes on. */
void turnNested(void);
bool turnIsNested(void);
/* Sets what is called after priority connections were served within a turn. */
void turnAfterPriority(void (*fn)(void));
int64_t turnMaxBulk(void); /* proto-max-bulk-len: the longest argument, and the longest string */
/* Serves a client with stashed input in the next turn, as it may run again (unblocked, unpaused). */
void turnQueueClient(struct client *c);

/* The functions that handle requests and errors of the client with CLIENT_PRIMARY. It is not served in a
 * nested turn, where its changes would be applied in the middle of a command. */
struct turnPrimary {
    void (*run)(struct client *c, struct request *r);
    void (*broken)(struct client *c, const char *error); /* its input breaks the protocol */
};
void turnSetPrimary(const struct turnPrimary *p); /* p must stay valid */

struct turnStats {
    uint64_t turns, batches, commands;
};
extern struct turnStats turn_stats;
void turnInit(void);
