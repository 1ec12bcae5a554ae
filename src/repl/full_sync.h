/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync.h - snapshots for replicas: when one is taken, for which replicas, and how it gets there.
 *
 *     disk       child ─▶ rdbPath() ─▶ $<length> and the file, to each replica      full_sync_file
 *                                      at its own pace
 *     sockets    child ─▶ pipe ─▶ this process ─▶ $EOF:<mark>, the bytes, <mark>,   full_sync_pipe
 *                                      to all at the same pace
 *     two        child ─▶ directly to the connections that were opened for it       full_sync_direct
 *     channels
 *
 * The child is a process, or a thread with bgsave-default-method forkless (data/forkless/), which sends
 * through this process also with two channels.
 *
 * Waiting replicas that could take the same bytes (version, filter, kind of connection) form a class. One
 * class is served at a time. */
#pragma once

#include "repl/replicas.h"

/* Begins a snapshot for r, which has just become a replica (REPLICA_WAIT_START), or lets r wait for one. */
void fullSyncRequest(struct replicaClient *r);
/* Ends the snapshot of r, whose connection is being closed. Does nothing when r takes part in no snapshot. */
void fullSyncForget(struct replicaClient *r);
/* Sends the next part of the snapshot when the socket can take more. False: the connection is broken. */
bool fullSyncWrite(struct replicaClient *r);
/* Returns whether there is more to send that does not wait for a child. */
bool fullSyncHasOutput(const struct replicaClient *r);

void fullSyncInit(void); /* repl-diskless-sync-delay, -max-replicas, jobs */
