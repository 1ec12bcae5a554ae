/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync.h - snapshots for replicas: when one is taken, for whom, and how it gets there.
 *
 *     disk       child ─▶ rdbPath() ─▶ $<length> and the file, to each replica      full_sync_file
 *                                      on its own
 *     sockets    child ─▶ pipe ─▶ this process ─▶ $EOF:<mark>, the bytes, <mark>,   full_sync_pipe
 *                                      to all at the same pace
 *     two        child ─▶ directly to the connections that were opened for it       full_sync_direct
 *     channels
 *
 * Replicas that wait and could take the same bytes (version, filter, kind of connection) are a class; one
 * class is served at a time. */
#pragma once

#include "repl/replicas.h"

/* r has just become a replica, in state REPLICA_WAIT_START. */
void fullSyncRequest(struct replicaClient *r);
/* r goes: it is no longer waited for, or sent anything. Also when it takes no part in any. */
void fullSyncForget(struct replicaClient *r);
/* Its socket can take more: the next part of the snapshot. False: the connection is broken. */
bool fullSyncWrite(struct replicaClient *r);
/* Is there more to send that does not wait for a child? */
bool fullSyncHasOutput(const struct replicaClient *r);

/* Dual channel: the replica's main connection names that of its snapshot. False: there is none such. */
bool fullSyncJoinChannels(struct replicaClient *main, uint64_t rdb_client_id);
/* It has been given the stream. */
void fullSyncStreamTaken(const struct replicaClient *main);
/* Ends snapshots for which more of the stream is kept than a replica's output may take. */
void fullSyncLimitPlaces(void);
/* How many of those connections have not been followed by a PSYNC on the main one yet. */
size_t fullSyncWaitingPsync(void);
/* Places in the stream (readers of its chain) that are kept for such, beside those of replicas. */
size_t fullSyncPlaces(void);

void fullSyncInit(void); /* repl-diskless-sync-delay, -max-replicas, jobs */
