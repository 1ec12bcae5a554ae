/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync_transfer.h - what the three ways to send a snapshot have in common.
 *
 *     struct replicaClient ── transfer ──▶ | struct syncTransfer | what this way needs |
 *
 * Each way is a table of functions, and a struct of its own that begins with struct syncTransfer. */
#pragma once

#include <sys/uio.h>

#include "data/rdb/rdb_dataset.h"
#include "repl/replicas.h"

struct syncTransfer {
    const struct transferMethods *methods;
    int64_t taken_ms; /* when the replica last took bytes, or was given bytes to take */
};
struct transferMethods {
    /* The socket can take more; false: it is broken; NULL: no output. */
    bool (*write)(struct replicaClient *r);
    bool (*waits)(const struct replicaClient *r); /* whether there is output; NULL: never */
    void (*leave)(struct replicaClient *r);       /* the replica leaves; frees r->transfer */
    bool holds_others; /* while one replica takes nothing, no replica gets anything */
};

/* The replicas of one class that a snapshot is sent to. */
struct syncMembers {
    struct replicaClient **at;
    int count;
};
/* The snapshot to be sent. It is at `replication` in the stream, which members have up to there. */
#define SYNC_MARK 40
struct syncPlan {
    struct rdbSaveOptions options;
    struct rdbReplication replication;
    char mark[SYNC_MARK + 1]; /* random bytes that mark the end, as the length is not known */
    bool forkless;            /* a thread writes it */
};

static inline struct syncTransfer *transferOf(const struct replicaClient *r) {
    return r->transfer;
}
/* Sends what the socket takes and returns how many bytes that were; 0: it is full, -1: it is broken. */
ssize_t transferSend(struct replicaClient *r, const struct iovec *iov, int count);
/* Accounts for n bytes that have been sent. */
void transferSent(struct replicaClient *r, size_t n);
/* The snapshot has been sent: the replica is online, or has all that it asked for. */
void transferDone(struct replicaClient *r, bool at_once);
/* There is no snapshot for this replica, which has been logged. Closes its connection. */
void transferFailed(struct replicaClient *r);
void transferChildFailed(struct replicaClient *r); /* logs that the child failed, then does the same */

/* In the child: writes | $EOF:<mark> CR LF | the dataset | <mark> | to a writer that has its sink. */
bool transferWriteMarked(struct rioWriter *w, const struct syncPlan *plan);
/* The child that wrote to sockets has ended; this replica was one of its members. */
void transferEnded(struct replicaClient *r, bool success);
/* Logs how the child has ended, and returns whether it succeeded. */
bool transferChildSucceeded(int exit_code, int sig);
