/* SPDX-License-Identifier: BSD-3-Clause */
/* write_turn.h - the first pieces of many output chains, collected and sent together by one turn of an event
 * loop. client_output.c has one of these, and so has each I/O thread (command/io_client.c). */
#pragma once

#include <stddef.h>

#include "client/reply_block.h"
#include "net/connection.h"

#define WRITE_IOV_MAX 64 /* pieces of one chain in one write */

struct writeTurn {
    struct connWrite writes[64];
    struct iovec iov[512];
    int count, iov_count;
};
/* Called for each write that has ended. It may write more to that connection, but not add to the turn. */
typedef void writeTurnDone(const struct connWrite *w);

/* Adds a chain, of whose first block `sent` bytes are sent. When the turn is full, it is sent first. */
void writeTurnAdd(struct writeTurn *t, struct connection *conn, const struct replyBlock *first, size_t sent,
                  writeTurnDone *done);
void writeTurnSend(struct writeTurn *t, writeTurnDone *done); /* afterwards it is empty again */
