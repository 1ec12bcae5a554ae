/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster_plan.h - the decisions of --cluster: which node gets which slots and role.
 *
 * Nodes are identified by their index in the caller's list. Functions here neither send requests nor
 * print nor wait, so that the unit test can try everything. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tools/tool_nodes.h"

/* ---- create: a new cluster ---- */

struct planRange {
    int first, last;
};

/* Divides all slots into `primaries` runs of nearly the same length. */
void planEvenSlots(int primaries, struct planRange *ranges);

/* Computes the order in which nodes get their roles: one of each host in turn, hosts in the order of
 * their first node. */
void planInterleave(int count, const char *const *hosts, int *order);

/* Assigns roles: the first `primaries` nodes of the interleaved order are primaries, the others
 * replicas. follows[i] becomes the primary of node i, -1 for a primary. chosen[] gets the replicas in
 * the order in which they were assigned; their number is returned. `each`: replicas per primary; the
 * remaining ones are distributed in turn. */
int planRoles(int count, const char *const *hosts, int primaries, int each, const int *order, int *follows,
              int *chosen);

#define PLAN_SAME_HOST 10000

/* Returns how badly the loss of a host would hurt: PLAN_SAME_HOST for each replica on the host of its
 * primary, 1 for each pair of replicas of one primary on the same host. 0 is perfect. */
int64_t planAffinity(int count, const char *const *hosts, const int *follows);

/* Swaps the primaries of replicas to improve the affinity, which it returns. An optimal assignment stays
 * unchanged. */
int64_t planSpread(int count, const char *const *hosts, int *follows, uint64_t seed);

/* ---- reshard and rebalance ---- */

struct planMove {
    int from, to, slot;
};

/* Plans `slots` slots from the sources to node `to`, lowest first, from each source in proportion to its
 * slots; rounding is at the cost of the largest source. moves needs space for CLUSTER_SLOTS; returns how
 * many there are. */
int planReshard(const struct nodeSlots *owned, const int *sources, int source_count, int to, int slots,
                struct planMove *moves);

struct planShare {
    double weight;
    int slots;   /* slots of the node */
    int surplus; /* output: slots to give away; negative: slots to get */
};

/* Computes the surplus of each node for shares by weight; surpluses add up to 0. Returns whether a node
 * is off by more than the threshold, in percent. The sum of the weights must not be 0. */
bool planBalance(struct planShare *shares, int count, double threshold);

struct planTransfer {
    int from, to, slots;
};

/* Plans transfers from the largest surplus to the largest need. transfers needs space for `count`;
 * returns how many there are. Sets the surpluses to 0. */
int planTransfers(struct planShare *shares, int count, struct planTransfer *transfers);

/* ---- fix: open slots ---- */

struct planOpenNode {
    bool owner, migrating, importing;
    int64_t keys; /* keys in the slot */
};

enum planFix {
    PLAN_FINISH,     /* case 1: move from the migrating to the importing node */
    PLAN_COLLECT,    /* case 2: move all keys back to the owner, which does not migrate the slot */
    PLAN_FINISH_ONE, /* case 3: move to one of several importing nodes and close the others */
    PLAN_CLOSE_ALL,  /* case 3: no importing node has a key, so nothing has begun */
    PLAN_CLOSE,      /* case 4: no node imports; the migrating node keeps the slot */
    PLAN_OWNER,      /* an owner has to be found first */
    PLAN_NONE        /* a person has to decide */
};

/* Decides how to fix an open slot. Sets *from and *to for PLAN_FINISH and PLAN_FINISH_ONE, *to alone for
 * PLAN_COLLECT, *from alone for PLAN_CLOSE. `target`: the node to which the migrating node sends the
 * slot, -1 if unknown. */
enum planFix planFixOpen(const struct planOpenNode *nodes, int count, int target, int *from, int *to);
/* Returns the node with most keys; if none has any, the first that has the slot open, else the first. */
int planOwner(const struct planOpenNode *nodes, int count);
