/* SPDX-License-Identifier: BSD-3-Clause */
/* history.h - what this server has sent or applied as a member of a replication tree, and under which name.
 *
 *     id, offset        all servers of a tree that have applied the same `offset` bytes of stream `id`
 *                       hold the same data
 *     id2, second       the name of this history before the last change of primaries, good up to there
 *     chain             the bytes themselves: the backlog, and what replicas have yet to be sent
 *
 * A primary produces the stream: while there is a backlog it listens to command/propagate.h. A replica passes
 * on its primary's bytes as it applies them, so that offsets are shared along a chain of replicas, and never
 * adds a byte of its own.
 *
 * Invariant: chain.end is the offset (INFO's master_repl_offset), whether there is a backlog or not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/rdb/rdb_dataset.h"
#include "repl/chain.h"

#define REPL_ID_LEN RDB_REPLICATION_ID
/* Others name the offset at which we start. Above this none is taken: files and the protocol know signed
 * numbers, and what is added in the lifetime of a server must not make it negative. */
#define HISTORY_OFFSET_MAX (INT64_MAX / 2)

struct history {
    char id[REPL_ID_LEN + 1];
    char id2[REPL_ID_LEN + 1]; /* forty '0': none */
    int64_t second_offset;     /* -1: none */
    bool backlog;              /* is there one? */
    bool grown;                /* there are bytes that nobody has been told of; who tells clears it */
    struct chain chain;
};
extern struct history history;

static inline uint64_t historyOffset(void) {
    return history.chain.end;
}
/* The offset behind what a client has written: wrote_at is its c->wrote_at, 0: nothing. Of a primary. */
uint64_t historyOffsetOf(uint64_t wrote_at);

/* ---- The name ---- */
bool historyIdIs(const char *id, struct str other); /* ids compare without regard to case */
void historyBecomePrimary(void);                    /* id becomes id2, valid up to here; a new id. Logs it */
/* A full synchronization has put us where the primary was; the backlog begins anew, empty. */
void historyAdopt(const char *id, uint64_t offset);
/* The primary goes on under another name (+CONTINUE newid): ours so far becomes id2. */
void historyRename(const char *newid);
/* The dataset of a file that knows where it stands. A replica goes on from there; a primary does so under a
 * new id, as others may have gone on since the file was written. The backlog begins there, empty. False:
 * the file does not know, or what it says is no offset; nothing has changed. */
bool historyRestore(const struct rdbReplication *r);
/* May a replica that asks for the bytes from `offset` on of `id` have them? Else *why (owned by the caller,
 * may be NULL) is a line for the log. */
bool historyCanContinue(struct str id, int64_t offset, sds *why);

/* ---- The bytes ---- */
/* A new backlog of a primary gives it a new id, unless keep_id. */
void historyCreateBacklog(bool keep_id);
void historyFreeBacklog(void); /* with a new id; nobody may be reading */
/* As a replica: bytes of the primary that have been applied. */
void historyFeed(const struct str *pieces, int count);
/* What goes in front of the next command when a replica has just been given a snapshot. */
void historySelectAnew(void);
/* Is called when a block has been added: a good moment to look who is too slow. */
extern void (*history_new_block)(void);

/* What a file that is written now says about the stream; for rdb_replication_now. */
void historyOfSave(struct rdbReplication *r);
/* The database that the stream of our primary has selected; repl/link_stream.c keeps it. */
extern int history_primary_db;

void historyInit(void); /* repl-backlog-size, INFO fields, DEBUG CHANGE-REPL-ID */
