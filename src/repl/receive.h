/* SPDX-License-Identifier: BSD-3-Clause */
/* receive.h - receives a snapshot from our primary, onto the disk or straight into memory.
 *
 *     $<length>      ┐    disabled            file, then the databases
 *     $EOF:<mark>    ┘──▶ on-empty-db,        the databases
 *                         flush-before-load
 *                         swapdb              keyspaces beside the ones in use, exchanged at the end
 *
 * The old data are untouched until the first bytes of the new (magic and version) have been checked. While a
 * snapshot comes in, only the receiver may read from the connection. Bytes after the snapshot stay in the
 * socket, or are handed over. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "data/rdb/rdb_dataset.h"
#include "net/connection.h"

struct receivePlan {
    struct connection *conn;
    char id[RDB_REPLICATION_ID + 1]; /* the stream of the snapshot, which becomes our history */
    uint64_t offset;
    /* Called once, before the loop sleeps and never within a turn. ok: the data are in place, the history has
     * been adopted, and the connection is at the first byte of the stream; `rest` holds bytes after the
     * snapshot that were read already, owned by the receiver, and `replication` what the file says about the
     * stream. Otherwise the reason has been logged, and the old data are unchanged or gone. The caller owns
     * conn again in both cases. */
    void (*done)(bool ok, struct str rest, const struct rdbReplication *replication);
    /* Called about once a second, to tell the primary that we are alive. */
    void (*keepAlive)(void);
};
void receiveStart(const struct receivePlan *plan);
/* Called when the data begin to differ from what our history says; a synchronization that fails
 * earlier has changed nothing. */
extern void (*receive_on_replace)(void);
/* Cancels: closes the connection, deletes files and does not call `done`. A load that is running ends as soon
 * as possible: receiveRunning says when, and a new start waits for it. */
void receiveCancel(void);
bool receiveRunning(void);
/* When bytes last came in, in ms of mstime(); for the time-out. */
int64_t receiveLastIoMs(void);

void receiveInit(void); /* replica-lazy-flush, INFO fields */
