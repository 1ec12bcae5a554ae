/* SPDX-License-Identifier: BSD-3-Clause */
/* receive.h - a snapshot comes in from our primary: onto the disk, or straight into memory.
 *
 *     $<length>      ┐    disabled            file, then the databases
 *     $EOF:<mark>    ┘──▶ on-empty-db,        the databases
 *                         flush-before-load
 *                         swapdb              keyspaces beside the living ones, exchanged at the end
 *
 * Nothing of the old data goes before the first bytes of the new have been looked at (magic and version).
 * While it comes in, the connection is the receiver's: nobody else may read from it. Bytes behind the
 * snapshot stay in the socket, or are handed back. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "data/rdb/rdb_dataset.h"
#include "net/connection.h"

struct receivePlan {
    struct connection *conn;
    char id[RDB_REPLICATION_ID +
            1]; /* the stream that the snapshot stands in: its history is ours from then on */
    uint64_t offset;
    /* Called once, before the loop sleeps and never within a round. ok: the data is in place, history has
     * been adopted, and the connection stands at the first byte of the stream (`rest` are bytes behind the
     * snapshot that were read already, owned by the receiver; what the file said of the stream is in
     * `replication`). Not ok: it has been logged why; the old data is as it was, or gone. conn is given back
     * in both cases. */
    void (*done)(bool ok, struct str rest, const struct rdbReplication *replication);
    /* Called now and then while it takes long: a moment to tell the primary that we are alive. */
    void (*alive)(void);
};
void receiveStart(const struct receivePlan *plan);
/* From now on the data is not what our history says any more; until then a synchronization that fails has
 * changed nothing. */
extern void (*receive_replaces)(void);
/* The connection has failed, or is not wanted any more: it is closed, `done` is not called, files go. Data
 * that is being loaded goes as soon as that can be ended; receiveRunning tells, and a new start waits. */
void receiveCancel(void);
bool receiveRunning(void);
/* When bytes last came in; for the time-out. */
int64_t receiveLastIoMs(void);

void receiveInit(void); /* replica-lazy-flush, INFO fields */
