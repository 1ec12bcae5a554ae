/* SPDX-License-Identifier: BSD-3-Clause */
/* history.h - what this server has sent or applied as a member of a replication tree, and under which ID.
 *
 *     id, offset        all servers of a tree that have applied the same `offset` bytes of stream `id`
 *                       hold the same data
 *     id2, second       the ID of this history before the last change of primaries, valid up to there
 *     chain             the bytes themselves: the backlog, and what replicas have yet to be sent
 *
 * A primary produces the stream: while there is a backlog, it is a sink of command/propagate.h. A replica
 * passes on the bytes of its primary as it applies them and never adds one of its own, so that offsets are
 * shared along a chain of replicas.
 *
 * Invariant: chain.end is the offset (INFO's master_repl_offset), whether there is a backlog or not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/rdb/rdb_dataset.h"
#include "repl/chain.h"

#define REPL_ID_LEN RDB_REPLICATION_ID
/* The largest offset that another server may give us. Files and the protocol have signed numbers, and what is
 * added in the lifetime of a server must not make an offset negative. */
#define HISTORY_OFFSET_MAX (INT64_MAX / 2)

struct history {
    char id[REPL_ID_LEN + 1];
    char id2[REPL_ID_LEN + 1]; /* forty '0': none */
    int64_t second_offset;     /* -1: none */
    bool backlog;              /* there is a backlog */
    bool grown; /* bytes were added that have not been scheduled for sending; replicasWriteLater clears it */
    struct chain chain;
};
extern struct history history;

static inline uint64_t historyOffset(void) {
    return history.chain.end;
}
/* For primaries: returns the offset after what a client wrote, given its c->wrote_at (0: nothing). */
uint64_t historyOffsetOf(uint64_t wrote_at);

/* ---- IDs ---- */
bool historyIdEquals(const char *id, struct str other); /* ids compare without regard to case */
void historyBecomePrimary(void); /* id becomes id2, valid up to here; id is a new one. Logs it */
/* Takes over ID and offset of a primary after a full synchronization. The backlog begins there, empty. */
void historyAdopt(const char *id, uint64_t offset);
/* The primary continues under another ID (+CONTINUE newid). Our ID so far becomes id2. */
void historyRename(const char *newid);
/* Takes over the ID and offset of a file that has been loaded. A replica goes on from there. A primary does
 * so under a new ID, as others may have gone on since the file was written. The backlog begins there, empty.
 * Returns false, and changes nothing, when the file has no valid offset. */
bool historyRestore(const struct rdbReplication *r);
/* Returns whether a replica that asks for the bytes of `id` from `offset` on may have them. Otherwise *why,
 * owned by the caller, is a line for the log or NULL. */
bool historyCanContinue(struct str id, int64_t offset, sds *why);

/* ---- The bytes ---- */
/* Creates the backlog, and gives this server a new ID unless keep_id. */
void historyCreateBacklog(bool keep_id);
/* A replica that does not know all that this server propagates (CAPA_IDMP) reads the stream. It may come back
 * later, so this holds while there is a backlog. */
void historyNoteOldReader(void);
void historyFreeBacklog(void); /* and takes a new ID; there must be no readers */
/* For replicas: adds bytes of the primary that have been applied. */
void historyFeed(const struct str *pieces, int count);
/* Called when a block has been added, so that replicas that are too slow can be disconnected. */
extern void (*history_new_block)(void);

/* Says what a file that is written now contains about the stream; for rdb_replication_now. */
void historyDescribe(struct rdbReplication *r);
/* The database that the stream of our primary has selected; set by repl/link_stream.c. */
extern int history_primary_db;

void historyInit(void); /* repl-backlog-size, INFO fields, DEBUG CHANGE-REPL-ID */
