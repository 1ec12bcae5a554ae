/* SPDX-License-Identifier: BSD-3-Clause */
/* replication.h - the room of replication: its parts, and its start.
 *
 *     history      ids, offsets, the backlog           chain        its bytes
 *     replicas     who follows us                      full_sync    snapshots for them
 *     link         our primary                         receive      a snapshot from it
 *     failover     handing over                        rules        what a replica refuses, and keeps
 *     settings     directives and counters of several
 *
 * history stands below all; replicas and full_sync are the primary's side, link and receive the replica's (a
 * server in the middle of a chain has both); failover and rules stand on top. */
#pragma once

void replicationInit(void);  /* of all parts */
void replicationBegin(void); /* when the configuration is known, before the dataset is loaded */
void replicationStart(void); /* when the dataset has been loaded */
