/* SPDX-License-Identifier: BSD-3-Clause */
/* write_turn.h - the first pieces of many output chains, sent in one go: what a turn of a loop owes its
 * connections. Whoever has such chains has one of these: client_output.c, and each I/O thread
 * (command/io_client.c). */
#pragma once

#include <stddef.h>

#include "client/reply_block.h"
#include "net/connection.h"

#define WRITE_IOV_MAX 64 /* pieces of one chain at once */

struct writeTurn {
    struct connWrite writes[64];
    struct iovec iov[512];
    int count, iov_count;
};
/* Is called for each write that has ended, and may write more to that connection, but add none. */
typedef void writeTurnDone(const struct connWrite *w);

/* A chain whose first block has been sent in part; the turn is sent first when it is full. */
void writeTurnAdd(struct writeTurn *t, struct connection *conn, const struct replyBlock *first, size_t sent,
                  writeTurnDone *done);
void writeTurnSend(struct writeTurn *t, writeTurnDone *done); /* and it is empty again */
