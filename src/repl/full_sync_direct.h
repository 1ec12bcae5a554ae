/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync_direct.h - dual channel replication: a forked child sends a snapshot straight to connections that
 * replicas have opened for it, while the stream goes over their main connections.
 *
 *     child ─┬─▶ connection for the snapshot    $ENDOFF:<offset> <id> <database> <client>, $EOF:<mark>, ...
 *            └─▶ of another replica             the same, with its own <client>
 *
 * The snapshot of a thread goes to these connections through full_sync_pipe.h: a connection with TLS has one
 * user, and this one way serves them all.
 *
 *     main connection   REPLCONF set-rdb-client-id <client>, PSYNC <id> <offset + 1>
 *
 * From the fork until the main connection asks for the stream, the stream is kept from that offset on by an
 * entry in a list, to which the output buffer limits of replicas apply. The main connection may take some
 * seconds of grace after the snapshot has been sent. The connection for the snapshot stays open until then,
 * as the replica closes it. */
#pragma once

#include "repl/full_sync_transfer.h"

/* Works like syncPipeStart. */
bool syncDirectStart(const struct syncPlan *plan, struct syncMembers members, const char **err);
bool syncDirectRunning(void);
/* For a snapshot through full_sync_pipe.h, when it begins: sends $ENDOFF to r and keeps the stream for it. */
void syncDirectAnnounce(struct replicaClient *r, const struct rdbReplication *at);
/* The snapshot of r has been sent. Does nothing if r has one connection for all. */
void syncDirectNoteSent(const struct replicaClient *r);

/* The connection for the snapshot of r is closed: no main connection can follow a part of a snapshot. */
void syncDirectForget(const struct replicaClient *r);
/* Returns whether a main connection may name this client as that of its snapshot. */
bool syncDirectIsWaiting(uint64_t rdb_client_id);
/* Ends the entries whose main connection has come, or has not come in time. To be called once a second. */
void syncDirectExpire(void);
/* The main connection reads the stream itself from now on, so it is no longer kept for it. */
void syncDirectMainReads(uint64_t rdb_client_id);
/* Ends the entries for which more of the stream is kept than a replica's output may take. */
void syncDirectLimit(void);
void syncDirectDropAll(void);        /* ends all entries: the stream may begin anew */
size_t syncDirectCountReaders(void); /* entries that are readers of the chain */
size_t syncDirectCountAwaited(void); /* main connections that have not come yet */

void syncDirectInit(void); /* DEBUG DELAY-RDB-CLIENT-FREE-SECONDS */
