/* SPDX-License-Identifier: BSD-3-Clause */
/* replication.h - the modules of replication and their start.
 *
 *     history      IDs, offsets, the backlog           chain        its bytes
 *     replicas     the replicas of this server         full_sync    snapshots for them
 *     link         our primary                         receive      a snapshot from it
 *     failover     handing over                        rules        what a replica refuses, and keeps
 *     settings     directives and counters of several
 *
 * All others use history. replicas and full_sync are the primary's side, link and receive the replica's (a
 * server in the middle of a chain has both). failover and rules use both sides. */
#pragma once

void replicationInit(void);  /* initializes all parts */
void replicationBegin(void); /* when the configuration is known, before the dataset is loaded */
void replicationStart(void); /* when the dataset has been loaded */
