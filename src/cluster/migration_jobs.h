/* SPDX-License-Identifier: BSD-3-Clause */
/* migration_jobs.h - atomic migration of slots in the server: the jobs of this node. migration.h is the state
 * machine of one job; these files have its commands, its connection and its data.
 *
 *     migration_jobs     the list of jobs, CLUSTER MIGRATESLOTS and related commands, timers
 *     migration_export   the source: its connection, the snapshot's child, the stream of changes
 *     migration_import   the target: the client that brings the keys
 *     migration_track    what the target's replicas and files know of it: the slots that are hidden */
#pragma once

#include <stdbool.h>

#include "client/client.h"

struct clusterNode;

/* Returns whether the slot is part of a job of this node that has not ended. */
bool migrationIncludesSlot(int slot);
/* Returns whether an export or import of this node has not ended. */
bool migrationIsRunning(bool export);
/* Returns whether a job of this node granted the slot to that node, whose claim then needs no epoch. */
bool migrationHasGranted(int slot, const struct clusterNode *to);
/* The number of clients that bring keys of slots which this node does not own yet. */
extern int migration_links;
bool migrationIsLink(const struct client *c);
void migrationSlotsChanged(void); /* owners of slots have changed */
void migrationSlotFlushed(int slot);

void migrationDataLoaded(void); /* of a file, at the start */

void migrationJobsInit(void);
void migrationJobsEndOfTurn(void); /* runs before engineFlush */
