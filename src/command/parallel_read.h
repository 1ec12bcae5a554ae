/* SPDX-License-Identifier: BSD-3-Clause */
/* parallel_read.h - reads run in the I/O thread that has the client's connection.
 *
 *     I/O thread   parses ─▶ enters the read phase ─▶ runs the handlers ─▶ leaves ─▶ sends
 *     main thread  opens the phase before it polls, closes it when it has woken (base/read_phase.h)
 *
 * The thread runs the same handlers as the main thread, with the same struct client. In a phase that is safe:
 * the main thread does nothing meanwhile, and each client belongs to one thread. What a read would change is
 * one of these:
 *   - the client's own: only its thread runs it;
 *   - the thread's own: struct parallelReader, read_context, variables with __thread. Statistics are added to
 *     those of the server by the main thread whenever it closes the phase, so nobody sees them late;
 *   - LRU and LFU marks, which have no order (data/lifetime/evict_marks.h);
 *   - all else: the handler refuses (readRefuses), and the main thread runs the request again.
 *
 * A request runs here if its command has CMD_PARALLEL_READ, its client is in no unusual state, and nothing in
 * the server needs to see or to order each request (parallelReadsPossible). The rest of the client's input
 * then goes to the main thread, so a client's requests run in order.
 *
 * Order. A read runs at one moment between two turns of the main thread. A client that has been answered a
 * write sees it in all later reads, by whichever thread: the answer is sent after the write, and the phase is
 * only open when everything of the turn that wrote is done, the append-only file included. So histories stay
 * linearizable. Expiry: a thread reads the time after it has entered, so it does not show a key that the main
 * thread has found expired before; a key that it finds expired itself is left to the main thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/read_phase.h"
#include "command/command.h"
#include "command/prefetch.h"
#include "command/request.h"

struct parallelReader; /* of one I/O thread */

/* ---- The main thread ---- */
void parallelReadInit(void); /* directive, INFO fields */
/* Called before the main thread polls, when all that this turn has changed is complete: lets threads read. */
void parallelReadsOpen(void);
/* Called when it has polled: waits until no thread reads, and adds up what they have counted. Returns whether
 * threads could read. A module's thread does so for the time in which it holds the module lock. */
bool parallelReadsClose(void);
/* Called ten times a second: evicts what is over the limit of memory, if threads have read; with
 * parallel-reads auto, decides whether threads read (parallel_policy.h). */
void parallelReadsReview(void);
struct parallelReader *parallelReaderNew(void);
void parallelReaderFree(struct parallelReader *pr); /* when its thread has ended */

/* ---- An I/O thread ---- */
/* Whether threads may try. Changes at any time. */
bool parallelReadsAllowed(void);
bool parallelReadsAlways(void); /* parallel-reads-always: as many as possible, for tests */
static inline bool parallelReadIsOne(const struct request *r) {
    return r->cmd && r->cmd->flags & CMD_PARALLEL_READ && !r->big;
}
/* False: the main thread does not let threads read at this moment. */
bool parallelReadBegin(struct parallelReader *pr);
void parallelReadEnd(struct parallelReader *pr);
/* Between the two: leaves if the main thread waits. False: it does not let threads read. */
bool parallelReadGoOn(struct parallelReader *pr);
/* The functions below are called between Begin and End. */
/* Whether the client's requests may run here at all. */
bool parallelReadFits(const struct client *c);
/* Counts bytes that came from the client in one read. */
void parallelReadNoteInput(struct parallelReader *pr, struct client *c, size_t bytes);
/* Fetches what the requests in the batch will read (prefetch.h). */
void parallelReadPrefetch(struct parallelReader *pr, struct prefetchBatch *b);
enum parallelReadResult {
    PARALLEL_READ_REFUSED, /* nothing was replied or counted: it has to run on the main thread */
    PARALLEL_READ_RUN,
    PARALLEL_READ_RUN_LONG, /* with the client's others since its output was taken, it took
                               PARALLEL_READ_LONG_US */
};
#define PARALLEL_READ_LONG_US 100
/* Runs the request. c->out must hold a block. */
enum parallelReadResult parallelReadRun(struct parallelReader *pr, struct client *c, struct request *r);
/* Takes the client's output, which is counted as sent. */
struct replyBlock *parallelReadTakeOutput(struct parallelReader *pr, struct client *c, size_t *bytes);
