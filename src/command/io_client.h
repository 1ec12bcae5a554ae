/* SPDX-License-Identifier: BSD-3-Clause */
/* io_client.h - a client whose connection belongs to an I/O thread.
 *
 *     on the main thread   c->conn is the connection; the main thread polls, reads and writes it
 *     offloaded            c->conn is the ioClient (CLIENT_OFFLOADED), a connection that only passes messages
 *                          to the thread; the thread has the real one in its own loop, reads and
 *                          parses what comes (io_input.h) and sends the replies that it is given
 *
 *     thread ── bytes read ──▶ main    of an incomplete request: how many, for limits and accounting
 *     thread ── input ──▶ main         one at a time: the next is read when this one has been given
 *     thread ◀─ input done ── main     back, so that a client's requests run in order
 *     thread ◀─ blocks ── main         replies and pushes, at any time; the thread owns them from then on
 *     thread ── blocks ──▶ main        blocks with shared bytes, which only the main thread may release
 *     thread ── handshake done ──▶ main   TLS: nothing is read until the main thread, which now may look at
 *                                      the connection, tells the thread to go on
 *
 * Invariants
 *   1. `conn` and the fields behind it belong to the thread from IO_CLIENT_TAKE until it answers
 *      IO_CLIENT_RECALLED or IO_CLIENT_CLOSED, and to the main thread otherwise. The first part of the struct
 *      always belongs to the main thread.
 *   2. A client has at most one input: the thread has it, or it is on its way, or it is ioClient.input.
 *   3. An ioClient outlives its client: a client that is freed leaves it with client == NULL, and it is freed
 *      when the thread has closed the connection.
 *   4. A connection returns to the main thread only between turns, when no turn has any of its requests.
 *      After a recall was sent, the thread gets no more messages about it except to close it: output and
 *      input wait.
 *   5. Messages of one thread arrive in the order in which things happened. Between clients of different
 *      threads there is no order: a client may look connected to another one after it has gone. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "client/client.h"
#include "command/io_client_state.h"
#include "command/io_input.h"
#include "net/io_thread.h"
#include "net/tls.h"

static inline struct ioClient *ioClientOf(const struct client *c) {
    return (struct ioClient *)c->conn;
}
/* The input whose requests run; NULL: none. */
static inline struct ioInput *ioClientReadyInput(const struct ioClient *p) {
    return p->input_state == IO_CLIENT_INPUT_READY ? p->input : NULL;
}

/* The functions by which command/turn receives input, in the main thread. */
struct ioClientReceiver {
    void (*begin)(void); /* called before the first client is offloaded: sets the limits of reading */
    void (*part)(struct client *c, size_t n);            /* n bytes of an incomplete request came */
    void (*input)(struct client *c, struct ioInput *in); /* belongs to the receiver until ioClientInputDone */
    /* The peer has closed (error 0), or reading failed with this errno. */
    void (*disconnected)(struct client *c, int error);
    void (*recalled)(struct client *c); /* it is on the main thread again, and may have stashed input */
};
void ioClientSetReceiver(const struct ioClientReceiver *r); /* r must stay valid */
/* Adds a condition: clients for which fn returns true are not offloaded. */
void ioClientKeepOnMainThread(bool (*fn)(const struct client *c));
/* Has to be called before the first client is offloaded. flush is what client_offload->flush does; it has to
 * call ioClientsFlush. */
void ioClientsStart(struct aeEventLoop *main_loop, void (*flush)(void));
void ioClientsFlush(void); /* gives back the inputs of clients that were sent nothing in this turn */

/* Gives the client's connection to a thread. False: this is not possible now (it takes part in a turn, has
 * stashed input or unsent output, is a replica, is being closed and so on). */
bool ioClientOffload(struct client *c, struct ioThread *t);
/* Asks the thread to return the connection, which comes back in one of the next turns. The client must not
 * take part in a turn. */
void ioClientRequestRecall(struct client *c);
/* Requests the recall and waits for it. Messages of other clients are received meanwhile. */
void ioClientRecall(struct client *c);

/* Marks an input whose requests run now (Ready), or when the client's earlier ones have run (Later). */
void ioClientInputReady(struct ioClient *p, struct ioInput *in);
void ioClientInputLater(struct ioClient *p, struct ioInput *in);
/* Says that the requests of an input have run, or were copied: the thread may read on. */
void ioClientInputDone(struct ioClient *p, struct ioInput *in);
/* Says that the requests of an input were copied, and that the thread must not read on before
 * ioClientInputDone. */
void ioClientInputHeld(struct ioClient *p, struct ioInput *in);
/* Says that the client has left its turn: a connection that was returned meanwhile is taken back. */
void ioClientLeftTurn(struct client *c);

size_t ioClientCount(const struct ioThread *t); /* clients offloaded to a thread */
/* Has the thread free buffers that it has not needed since the last call. Called now and then. */
void ioClientsTrim(struct ioThread *t);
/* Bytes that a thread keeps in buffers for clients that it will read from. */
size_t ioClientsMemory(const struct ioThread *t);

struct ioClientStats {
    uint64_t accepts; /* TLS handshakes done by threads */
    /* Turns of threads, and what they freed. All threads add to them, once a turn. */
    _Atomic uint64_t polls, freed;
};
extern struct ioClientStats io_client_stats;
