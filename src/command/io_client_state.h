/* SPDX-License-Identifier: BSD-3-Clause */
/* io_client_state.h - what the main thread and an I/O thread know about a client whose connection the thread
 * has. io_client.h says which of them may use which part, and when. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "command/io_input.h"
#include "net/connection.h"
#include "net/io_thread.h"

struct client;
struct replyBlock;

enum ioClientInputState {
    IO_CLIENT_INPUT_NONE,  /* the thread has it */
    IO_CLIENT_INPUT_READY, /* its requests run, or are about to */
    IO_CLIENT_INPUT_LATER, /* it came while others of the client ran */
    IO_CLIENT_INPUT_DONE,  /* to be given back at the end of the turn */
    IO_CLIENT_INPUT_HELD,  /* neither has it: the thread must not read on yet */
};

struct ioClient {
    /* Used by the main thread. */
    /* c->conn points to it; its pending_node: in the list of those whose thread has to go on */
    struct connection base;
    struct client *client; /* NULL: it has been freed */
    struct ioThread *thread;
    struct ioInput *input;
    uint64_t given;         /* bytes handed over to be sent, since it was offloaded */
    uint32_t partial_bytes; /* bytes of an incomplete request; UINT32_MAX: that many or more */
    uint32_t kept;          /* memory that the reader keeps for them, likewise */
    /* Low bits of `sent`: at the last call of `progress`, and at the last one that asked how much is pending.
     */
    uint32_t seen, sent_seen;
    uint8_t input_state;
    uint8_t thread_number;
    bool in_handshake; /* the thread is in its TLS handshake */
    bool closing;      /* the thread reports when all has been sent */
    /* IO_CLIENT_RECALL was sent; IO_CLIENT_RECALLED has arrived while the client takes part in a turn. */
    bool recall_requested, recalled;

    /* Handed over by messages. */
    struct connection *conn;

    /* Used by the thread. */
    _Alignas(64) _Atomic uint64_t sent; /* also read by the main thread */
    struct ioReader reader;
    struct replyBlock *head, *tail; /* output to send; `sent_of_head` bytes of the first block are sent */
    size_t sent_of_head;
    struct ioClient *next_to_write;
    bool to_write, input_with_main, muted, report_when_sent, broken;
    bool in_parts; /* IO_CLIENT_PART was posted for the request that is being read */
    /* The first command of the last input that took long in the thread, as id + 1. 0: none */
    uint16_t long_command;
};
_Static_assert(sizeof(struct ioClient) == 192, "a line for each side, and what stands for the connection");
_Static_assert(IO_THREADS_MAX <= UINT8_MAX, "thread_number holds it");

/* Limits n to what the counts of an ioClient can hold. */
static inline uint32_t ioClientClampCount(uint64_t n) {
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

struct ioClientCounts {
    size_t clients;         /* offloaded to the thread */
    uint64_t reads, writes; /* inputs that came from it, outputs given to it */
};
extern struct ioClientCounts io_client_counts[IO_THREADS_MAX + 1]; /* by the thread's number; 0: unused */
