/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync_transfer.h - what the ways of a snapshot to its replicas have in common.
 *
 *     struct replicaClient ── transfer ──▶ | struct transfer | what this way needs |
 *
 * Each way is a table of functions and a struct of its own that begins with struct transfer. */
#pragma once

#include <sys/uio.h>

#include "data/rdb/rdb_dataset.h"
#include "repl/replicas.h"

struct transfer {
    const struct transferWay *way;
    int64_t taken_ms; /* when it last took something, or was given something to take */
};
struct transferWay {
    bool (*write)(struct replicaClient *r); /* its socket can take more; false: it is broken */
    bool (*waits)(const struct replicaClient *r);
    void (*leave)(struct replicaClient *r); /* it goes; frees r->transfer */
    bool holds_others;                      /* when it takes nothing, nobody gets anything */
};

/* What is sent, and to whom: replicas of one class. */
struct syncMembers {
    struct replicaClient **of;
    int count;
};
/* The snapshot stands at this place in the stream, and its members have it to the last byte. */
#define SYNC_MARK 40
struct syncPlan {
    struct rdbSaveOptions options;
    struct rdbReplication replication;
    char mark[SYNC_MARK + 1]; /* random: tells where the bytes end whose number nobody knows */
};

static inline struct transfer *transferOf(const struct replicaClient *r) {
    return r->transfer;
}
/* Sends what the socket takes, 0 when it is full. -1: it is broken. */
ssize_t transferSend(struct replicaClient *r, const struct iovec *iov, int count);
/* n bytes have been sent. */
void transferSent(struct replicaClient *r, size_t n);
/* The snapshot has been sent: the replica is online, or has all that it wanted. */
void transferDone(struct replicaClient *r, bool at_once);
/* There is no snapshot for it: why, in the log; its connection is closed. */
void transferFailed(struct replicaClient *r);
void transferChildFailed(struct replicaClient *r); /* the same, and says that the child is why */

/* In the child: | $EOF:<mark> CR LF | the dataset | <mark> |, to a writer that has been given its sink. */
bool transferWriteMarked(struct rioWriter *w, const struct syncPlan *plan);
/* The child that wrote to sockets has ended, and this replica was one of those. */
void transferStreamed(struct replicaClient *r, bool success);
/* How the child has ended, as every kind of it tells in the log. */
bool transferChildSucceeded(int exit_code, int sig);
