/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_simulation.h - a cluster in virtual time, for tests: many engines, one queue of events, one seed.
 * One seed always gives the same run. The simulation has links (latency, loss, partitions, connections that
 * are refused), processes (death, restart from what was saved), power failures (data that was not synced is
 * lost), the data of each node (which shard, whole or not, as new as a number says) and its replication,
 * commands of users, and atomic migrations of slots from the moment on when the source has paused its
 * writers.
 *
 * Invariants are checked after every event:
 *  - no two nodes own one slot with the same epoch;
 *  - an epoch is won by one node only;
 *  - the winner of an election has all data of the shard that it wins (unless a user forced the failover);
 *  - the epochs of a node never decrease, not even by a restart.
 *
 * With sync_replicas, replicas acknowledge what they have, and a primary knows of each what it has received,
 * even while it hangs. What enough of them have is acknowledged to clients. Data has a history: a branch,
 * which begins with a promotion, of the one that the promoted node had.
 *
 * Messages between two nodes keep their order, as in TCP: each direction of a connection has a time before
 * which nothing more can arrive. A lost message is not delivered, and its link stays up. */
#pragma once

#include "cluster/cluster_engine.h"

#define CLUSTER_SIM_NODES_MAX       1000
#define CLUSTER_SIM_MIGRATION_SLOTS 100
#define CLUSTER_SIM_MIGRATION_MS    2000 /* most voters may take that long to answer */
#define CLUSTER_SIM_GRANTED_MS      2000

struct clusterSim;
struct clusterSimOptions {
    int primaries, replicas; /* replicas of each primary */
    int64_t node_timeout_ms;
    int64_t latency_ms; /* mean, one way; each message has its own */
    int64_t sync_ms;    /* duration of a full synchronization; its second half replaces the data */
    double loss;        /* probability that a message is lost; links stay up */
    int sync_replicas;  /* min-replicas-sync; 0: off, and nothing is acknowledged */
    bool without_fence; /* nodes do not know of sync_replicas, as those of Valkey do not */
    bool unclean;       /* cluster-unclean-failover */
    bool meet_one;      /* the first node meets all others; else all nodes know each other at the start */
    bool no_disk;       /* nothing is saved, so no node can be restarted: saves time */
    uint64_t seed;
    bool verbose; /* print the logs of the nodes to stdout */
};

/* Nodes are numbered from 0, the primaries first. The caller destroys the simulation. */
struct clusterSim *clusterSimCreate(const struct clusterSimOptions *o);
void clusterSimDestroy(struct clusterSim *s);
void clusterSimRun(struct clusterSim *s, int64_t ms); /* advances the virtual time */
int64_t clusterSimNow(const struct clusterSim *s);
int clusterSimCount(const struct clusterSim *s);
struct engine *clusterSimEngine(struct clusterSim *s, int i); /* NULL: the node is dead */

void clusterSimKill(struct clusterSim *s, int i);
/* The power of node i fails: it loses what it has saved, unless that was synced, or saved some time ago. */
void clusterSimPowerOff(struct clusterSim *s, int i);
void clusterSimRestart(struct clusterSim *s, int i);
/* Puts node i on a side. Nodes reach only nodes of their own side; all are on side 0 at first. */
void clusterSimSide(struct clusterSim *s, int i, int side);
/* A node that hangs does nothing while its sockets stay open, as after SIGSTOP. */
void clusterSimHang(struct clusterSim *s, int i, bool hang);
void clusterSimFailover(struct clusterSim *s, int i, enum failoverKind kind);
/* Node i has no replication link to its primary, and gets none, but still reaches the bus. */
void clusterSimCutReplication(struct clusterSim *s, int i, bool cut);
/* CLUSTER REPLICATE: node i, a replica, becomes a replica of node `primary`. */
void clusterSimReplicate(struct clusterSim *s, int i, int primary);
/* Migrates some slots of node `from`, with their keys, to node `to`, which claims them when it may.
 * Migrations do not use the bus, so sides do not matter. */
void clusterSimMigrate(struct clusterSim *s, int from, int to);
bool clusterSimMigrates(const struct clusterSim *s, int to); /* has the migration not ended yet? */
/* The living node that claims the slot with the greatest epoch; -1: none. */
int clusterSimPrimaryOf(struct clusterSim *s, int slot);

/* Returns how many writes that were acknowledged to clients are missing in the shards' present primaries. */
uint64_t clusterSimCountLost(const struct clusterSim *s);

void clusterSimSetLoss(struct clusterSim *s, double loss);
bool clusterSimPaused(const struct clusterSim *s, int i); /* are the writers of node i paused? */
/* From now on, all clocks are off by that much from the virtual time. */
void clusterSimSetClocks(struct clusterSim *s, int64_t off_ms);
/* The replicas of node i that, as node i sees them, have not failed. */
int clusterSimHealthyReplicasOf(struct clusterSim *s, int i);

/* Do all living nodes have the same view, with no node failed, every slot owned, every state ok, and every
 * replica synchronized? */
bool clusterSimAgrees(struct clusterSim *s);
void clusterSimPrint(struct clusterSim *s);              /* prints the view of each living node */
uint64_t clusterSimMessages(const struct clusterSim *s); /* messages sent so far */
uint64_t clusterSimBytes(const struct clusterSim *s);    /* bytes of these messages */
/* How long after CLUSTER MEET all nodes knew each other. */
int64_t clusterSimMetMs(const struct clusterSim *s);
