/* SPDX-License-Identifier: BSD-3-Clause */
/* keyspace_walk.h - the walk of a snapshot over the databases, and what has to be saved before a change. On
 * the main thread only. Part of forkless.h.
 *
 * The positions of a database's table are divided into ranges, four to eight for each key, or 16 to 32 where
 * keys take 1 KB or more. The walk goes over them in their order; positions mean the same whatever size the
 * table takes meanwhile.
 *
 *     ranges   | saved ............ | given to the thread ... | not visited ..................... |
 *                                   ^ reaped                  ^ given             x  x     x
 *                                                             x: saved by the main thread before a change
 *                                                                (a bit in `touched`)
 *
 * Before a key is changed, added or removed, its range is looked at:
 *  - not visited: all keys in it are encoded here, and the bit is set. The walk leaves such ranges out;
 *  - given to the thread: the key's object is taken back and encoded here, or if the thread is reading it at
 *    this moment, awaited;
 *  - saved: nothing.
 *
 * When keys go by slot, each slot has a table of its own, and the ranges of slot s come before those of s
 * + 1. A slot has as many ranges as its keys need, since one hash tag may bring nearly all keys into one
 * slot.
 *
 * Contents that leave the server while they are walked (FLUSHDB, a dataset that is replaced) belong to the
 * walk from then on, and are freed at its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/keyspace/keyspace.h"
#include "data/rdb/rio.h"

struct itemQueue;

/* Fields are private to keyspace_walk.c. */
struct keyspaceWalk {
    struct keyspace *ks; /* where the contents are now */
    bool owned;          /* ks was made for contents that have left */
    size_t kept_bytes;   /* owned: about what these take */
    int dbid;
    uint64_t *firsts; /* the first range of each table, and the end; a table has 2^n ranges */
    int table;        /* the one that `given` is in */
    uint64_t ranges, given, reaped;
    uint32_t outstanding; /* items that have not been reaped */
    uint64_t **touched;   /* in pieces: NULL where no bit is set */
};

/* Starts walks over all databases that have keys. `slots`: only these (a bit each; the caller's), or NULL.
 * `like`: a writer with the version and so on of the snapshot. commands: keys are encoded as commands, else
 * as RDB. */
void keyspaceWalksStart(struct itemQueue *queue, const uint8_t *slots, bool commands,
                        const struct rioWriter *like);
/* Ends all walks, whether or not they have come to their end. */
void keyspaceWalksStop(void);
/* Gives the queue more keys, as it has room for; about 10 us at most. False: all keys have been given. */
bool keyspaceWalksGive(void);
/* Gives the queue what has been encoded here before changes and was too little for a piece. */
void keyspaceWalksFlush(void);
/* Takes note of all items that the thread has finished with. */
void keyspaceWalksReap(void);
size_t keyspaceWalksKeptBytes(void); /* of contents that have left, about */
int keyspaceWalksError(void);        /* a value that the version cannot hold, which was encoded here */
