/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster.h - this server as a node of a cluster: the engine in the environment. What decides is
 * cluster_engine.h; here are its sockets, its clock, its file (nodes.conf), and what it wants of replication
 * and of the data.
 *
 *     engine*, topology, bus   the logic, apart from the environment
 *     state, settings          what the parts share; directives
 *     node                     the engine in the environment: jobs, the start
 *     bus_links, nodes_file    its sockets and its file
 *     cluster_show, _change    what users see, and what they ask for
 *     cluster_keys             the same about the keys of slots
 *     redirect, slot_keys      who is sent elsewhere (command/admission.h); keys by slot
 *
 * Without `cluster-enabled yes` nothing of this runs, and it costs nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

void clusterInit(void); /* directives, commands, jobs, INFO fields */
/* Behind the configuration, before there are databases: they will go by slot. */
void clusterBegin(void);
/* Behind the configuration, before data are loaded: nodes.conf, and the bus. Logs and exits when it cannot.
 */
void clusterStart(void);
void clusterDataLoaded(void); /* keys of slots that are not ours are looked at */
/* SHUTDOWN SAFE: a primary that has slots stays. Logs why; forced: goes on all the same. */
bool clusterMayExit(bool forced);
/* Nothing keeps the server any more: nodes.conf is saved. hand_over: a replica that has all up to this offset
 * takes over. */
void clusterOnExit(bool hand_over, uint64_t offset);
bool clusterIsEnabled(void);
