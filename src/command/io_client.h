/* SPDX-License-Identifier: BSD-3-Clause */
/* io_client.h - a client whose connection is in the hands of an I/O thread.
 *
 *     at home    c->conn is the connection; the main thread polls, reads and writes it
 *     away       c->conn is the port (CLIENT_OFFLOADED), a connection of a type that only knows its way to the
 *                thread; the thread has the real one in a loop of its own, reads and parses what comes
 *                (io_input.h) and sends what it is given
 *
 *     thread ── bytes read ──▶ main   that make no whole request yet: how many, for limits and accounts
 *     thread ── input ──▶ main        one at a time: the next is read when the main thread gives this one
 *     thread ◀─ given back ── main    back, so that a client's requests run in order
 *     thread ◀─ blocks ── main        replies and pushes, whenever there are some; the thread's from then on
 *     thread ── blocks ──▶ main       those whose bytes others share: only the main thread may let them go
 *     thread ── shaken ──▶ main       the handshake of TLS is over: nothing is read before the main thread,
 *                                     which now may look at the connection, says go on
 *
 * Invariants
 *  1. `conn` and all that stands behind it are the thread's from IO_CLIENT_TAKE until it answers IO_CLIENT_RECALLED or
 *     IO_CLIENT_CLOSED, and the main thread's otherwise. The first part of the struct is always the main thread's.
 *  2. Of a client there is never more than one input: it is the thread's, or on its way, or port->input.
 *  3. The port outlives its client: one that is freed leaves it with client == NULL, and it is freed when the
 *     thread has closed the connection.
 *  4. A connection comes home only between rounds, when none of its requests is in one. Once it was asked
 *     home, the thread is told nothing more of it but that it shall be closed: output and the input wait.
 *  5. What a thread has said of a client before the main thread hears of something else is in the order in
 *     which it happened. Between clients of different threads there is no order: who has gone may still be
 *     there for another. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "client/client.h"
#include "command/io_input.h"
#include "net/connection.h"
#include "net/io_thread.h"
#include "net/tls.h"

enum ioClientInputState {
    IO_CLIENT_INPUT_NONE,  /* the thread has it */
    IO_CLIENT_INPUT_READY, /* the client's requests that run, or are about to */
    IO_CLIENT_INPUT_LATER, /* it came while others of the client ran */
    IO_CLIENT_INPUT_DONE,  /* to be given back at the end of the turn */
    IO_CLIENT_INPUT_HELD,  /* nobody has it: the thread shall not read on yet */
};

struct ioClient {
    /* The main thread's. */
    struct connection base; /* what c->conn points to; its pending_node: among those to be told to go on */
    struct client *client;  /* NULL: it has gone */
    struct ioThread *thread;
    struct ioInput *input;
    uint64_t given; /* bytes handed over to be sent, of its life */
    uint32_t came;  /* bytes of a request that is not whole, UINT32_MAX: more */
    uint32_t kept;  /* what their buffers take, likewise */
    uint32_t seen,
        sent_seen; /* the low bits of `sent`: when somebody asked for progress, or how much waits */
    uint8_t input_state;
    bool in_handshake; /* its handshake goes on in the thread */
    bool closing;      /* the thread will say when all has been sent */
    bool recall_requested,
        home; /* IO_CLIENT_RECALL was sent; IO_CLIENT_RECALLED has come, and the client is in a round */

    /* Handed over by messages. */
    struct connection *conn;

    /* The thread's. */
    _Alignas(64) _Atomic uint64_t sent; /* for the main thread to read, too */
    struct ioReader reader;
    struct replyBlock *head, *tail; /* to be sent; `sent_of_head` bytes of the first have been */
    size_t sent_of_head;
    struct ioClient *next_to_write;
    bool to_write, input_with_main, muted, report_when_sent, broken;
};
_Static_assert(sizeof(struct ioClient) == 192, "a line for each side, and what stands for the connection");

/* As far as it goes into the port's counts. */
static inline uint32_t ioClientClampCount(uint64_t n) {
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}
static inline struct ioClient *ioClientOf(const struct client *c) {
    return (struct ioClient *)c->conn;
}
/* The input whose requests run; NULL: there is none. */
static inline struct ioInput *ioClientReadyInput(const struct ioClient *p) {
    return p->input_state == IO_CLIENT_INPUT_READY ? p->input : NULL;
}

/* The round takes the inputs, in the main thread. */
struct ioClientReceiver {
    void (*begin)(void);                                 /* there will be ports: sets the limits of reading */
    void (*part)(struct client *c, size_t n);            /* n bytes came that make no whole request */
    void (*input)(struct client *c, struct ioInput *in); /* belongs to the receiver until ioClientInputDone */
    void (*gone)(struct client *c, int error);           /* the other side has closed (0), or this errno */
    void (*home)(struct client *c); /* it is at home again, and may have input set aside */
};
void ioClientSetReceiver(const struct ioClientReceiver *r); /* which must stay */
/* Clients for which fn says so are not given away: a room uses their connections itself. */
void ioClientKeepOnMainThread(bool (*fn)(const struct client *c));
/* Before the first is given away. flush: what client_offload->flush is to do; it calls ioClientsFlush. */
void ioClientsStart(struct aeEventLoop *main_loop, void (*flush)(void));
void ioClientsFlush(void); /* gives inputs back whose clients were sent nothing in this turn */

/* Gives the client's connection to a thread. False: not now (it is in a round, has input set aside or output
 * on its way, is a replica, is being closed ...). */
bool ioClientOffload(struct client *c, struct ioThread *t);
/* Asks for it back; it comes with one of the next turns. Not while the client is in a round. */
void ioClientRequestRecall(struct client *c);
/* The same, waiting for it. What others say meanwhile is heard. */
void ioClientRecall(struct client *c);

/* Its requests run now, or shall when others of the client have. */
void ioClientInputReady(struct ioClient *p, struct ioInput *in);
void ioClientInputLater(struct ioClient *p, struct ioInput *in);
/* The requests of an input have run, or were copied: the thread may read on. */
void ioClientInputDone(struct ioClient *p, struct ioInput *in);
/* They were copied, and the thread shall read nothing more before it gets an input by ioClientInputDone. */
void ioClientInputHeld(struct ioClient *p, struct ioInput *in);
/* The client has left its round: what came home meanwhile is let in. */
void ioClientLeftTurn(struct client *c);

size_t ioClientCount(const struct ioThread *t); /* ports that a thread has */
/* Now and then: the thread gives back what it has kept and not needed since the last time. */
void ioClientsTrim(struct ioThread *t);
size_t
ioClientsMemory(const struct ioThread *t); /* bytes that it keeps for those that it will have to do with */

struct ioClientStats {
    uint64_t accepts;       /* handshakes that threads have done */
    uint64_t reads, writes; /* inputs that came from threads, outputs given to them */
    _Atomic uint64_t polls,
        freed; /* turns of threads; what they freed. Written by all of them, once a turn */
};
extern struct ioClientStats io_client_stats;
