/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync_direct.h - a snapshot goes straight from the child to the connections that replicas have opened
 * for it (dual channel), while the stream goes over their main ones:
 *
 *     child ─┬─▶ connection for the snapshot    $ENDOFF:<offset> <id> <database> <client>, $EOF:<mark>, ...
 *            └─▶ of another replica             the same, with its own <client>
 *
 *     main connection   REPLCONF set-rdb-client-id <client>, PSYNC <id> <offset + 1>
 *
 * From the fork until the main connection has asked for it, the stream is kept from that offset on: an entry
 * in the waiting list, to which the output buffer limits of replicas apply. The main connection may take some
 * seconds of grace after the snapshot has been sent. The one for the snapshot is left open until then: it is
 * the replica's to close. */
#pragma once

#include "repl/full_sync_transfer.h"

/* As syncPipeStart. */
bool syncDirectStart(const struct syncPlan *plan, struct syncMembers members, const char **err);
bool syncDirectRunning(void);

/* The connection for a snapshot is gone. */
void syncDirectGone(const struct replicaClient *r);
/* May the replica whose main connection it is name this one? */
bool syncDirectIsWaiting(uint64_t rdb_client_id);
/* Ends those whose main connection has come, or has not in time. Once a second. */
void syncDirectExpire(void);
/* The main connection reads the stream from now on. */
void syncDirectCame(uint64_t rdb_client_id);
/* Ends those for which more of the stream is kept than a replica's output may take. */
void syncDirectLimit(void);
size_t syncDirectPlaces(void);  /* how many entries are readers of the chain */
size_t syncDirectWaiting(void); /* how many main connections have not come */

void syncDirectInit(void); /* DEBUG DELAY-RDB-CLIENT-FREE-SECONDS */
