/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster.h - this server as a node of a cluster. The cluster engine (cluster_engine.h) decides; the files
 * below connect it to sockets, to the clock, to nodes.conf, to replication and to the data.
 *
 *     cluster_engine*, topology, bus   the logic, apart from its environment
 *     state, cluster_settings          shared state; directives
 *     node                             runs the engine: jobs, start, exit
 *     bus_links, nodes_file            the engine's sockets and its file
 *     cluster_show, cluster_change     what users see, and what they change
 *     cluster_keys                     commands on the keys of slots
 *     redirect, slot_keys              redirection of clients (command/admission.h); keys by slot
 *
 * Without `cluster-enabled yes` none of this runs, and it costs nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void clusterInit(void); /* directives, commands, jobs, INFO fields */
/* Called after the configuration has been read and before databases exist: they will be divided by slot. */
void clusterBegin(void);
/* Called after the configuration has been read and before data is loaded: reads nodes.conf and opens the bus.
 * Logs the reason and exits when that fails. */
void clusterStart(void);
/* Returns how many connections the bus has when all links are up; 0 without a cluster. */
size_t clusterConnections(void);
void clusterDataLoaded(void); /* deals with keys of slots that belong to other nodes */
/* Returns whether SHUTDOWN SAFE may exit: a primary that has slots must stay, and the reason is logged.
 * `forced` logs and permits the exit. */
bool clusterMayExit(bool forced);
/* Saves nodes.conf when nothing prevents the exit any more. hand_over: a replica that has everything up to
 * this offset takes over. */
void clusterOnExit(bool hand_over, uint64_t offset);
