/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster_plan.h - who gets what in a cluster: decisions of --cluster without a connection or a word to
 * the user.
 *
 * Nodes are known by their index in the caller's list. Nothing here asks a server or waits, so that the unit
 * test can try everything. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tools/tool_nodes.h"

/* ---- create: a new cluster ---- */

struct planRange {
    int first, last;
};

/* All slots in `primaries` runs of nearly the same length. */
void planEvenSlots(int primaries, struct planRange *ranges);

/* The order in which nodes get their roles: one of each host in turn, hosts in the order of their first node.
 */
void planInterleave(int count, const char *const *hosts, int *order);

/* Roles: the first `primaries` of the interleaved order are primaries, the others their replicas. follows[i]
 * is the primary of node i, -1 when it is one itself. chosen[] are the replicas in the order in which they
 * were given away; returns how many they are. `each`: replicas for a primary; those that are left over go
 * round. */
int planRoles(int count, const char *const *hosts, int primaries, int each, const int *order, int *follows,
              int *chosen);

#define PLAN_SAME_HOST 10000

/* How bad it would be to lose a host: PLAN_SAME_HOST for each replica on the host of its primary, 1 for each
 * pair of replicas of one primary on the same host. 0: perfect. */
int64_t planAffinity(int count, const char *const *hosts, const int *follows);

/* Swaps the primaries of replicas for a better affinity, which it returns. What is as good as it gets stays
 * as it is. */
int64_t planSpread(int count, const char *const *hosts, int *follows, uint64_t seed);

/* ---- reshard and rebalance ---- */

struct planMove {
    int from, to, slot;
};

/* `slots` slots from the sources to node `to`, from each in proportion to what it has, from the one with most
 * a little more, lowest first. moves has room for CLUSTER_SLOTS; returns how many. */
int planReshard(const struct nodeSlots *owned, const int *sources, int source_count, int to, int slots,
                struct planMove *moves);

struct planShare {
    double weight;
    int slots;   /* that it has */
    int surplus; /* what it has to give away; negative: to get. Filled. */
};

/* What each has to give for shares as the weights say; sums up to 0. True when one of them is off by more
 * than the threshold, in percent: otherwise it is not worth the trouble. The sum of the weights is not 0. */
bool planBalance(struct planShare *shares, int count, double threshold);

struct planTransfer {
    int from, to, slots;
};

/* Largest need from the largest surplus. transfers has room for `count`; returns how many. Empties the
 * surpluses. */
int planTransfers(struct planShare *shares, int count, struct planTransfer *transfers);

/* ---- fix: a slot that was left open ---- */

struct planOpenNode {
    bool owner, migrating, importing;
    int64_t keys; /* of the slot */
};

enum planFix {
    PLAN_FINISH,     /* case 1: from the one that migrates to the one that imports */
    PLAN_COLLECT,    /* case 2: all keys back to the owner, which nobody takes it from */
    PLAN_FINISH_ONE, /* case 3: to one of several that import, the others are closed */
    PLAN_CLOSE_ALL,  /* case 3: none of those that import has a key, so nothing has begun */
    PLAN_CLOSE,      /* case 4: nobody imports: the one that migrates keeps it */
    PLAN_OWNER,      /* first an owner has to be found */
    PLAN_NONE        /* not to be decided by a program */
};

/* *from and *to: nodes, for PLAN_FINISH and PLAN_FINISH_ONE; *to alone for PLAN_COLLECT, *from alone for
 * PLAN_CLOSE. `wanted`: where the migrating node says the slot goes, -1: nowhere known. */
enum planFix planFixOpen(const struct planOpenNode *nodes, int count, int wanted, int *from, int *to);
/* The node with most keys; none has one: the one that has the slot open, else the first. */
int planOwner(const struct planOpenNode *nodes, int count);
