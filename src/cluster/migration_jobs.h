/* SPDX-License-Identifier: BSD-3-Clause */
/* migration_jobs.h - atomic migration in the environment: the jobs of this node. What they do when is
 * migration.h; here are their commands, and what other parts of the room ask.
 *
 *     migration_jobs     the list of jobs, CLUSTER MIGRATESLOTS and its kin, timers
 *     migration_export   the source: its connection, the snapshot's child, the stream of changes
 *     migration_import   the target: the client that brings the keys
 *     migration_track    what the target's replicas and files know of it: which slots nobody is to see yet */
#pragma once

#include <stdbool.h>

#include "client/client.h"

struct clusterNode;

/* Is the slot part of a job of this node that has not ended? */
bool migrationMoves(int slot);
/* Has any export or import of this node not ended? */
bool migrationRunning(bool export);
/* The slot was granted to that node by a job of ours: its claim needs no epoch. */
bool migrationGranted(int slot, const struct clusterNode *to);
/* Clients that bring keys of slots which are not ours yet. */
extern int migration_links; /* how many there are */
bool migrationIsLink(const struct client *c);
void migrationSlotsChanged(void); /* owners have */
void migrationSlotFlushed(int slot);

void migrationDataLoaded(void); /* of a file, at the start */

void migrationJobsInit(void);
void migrationJobsEndOfTurn(void); /* before the engine's */
