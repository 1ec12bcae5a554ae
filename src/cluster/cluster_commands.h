/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_commands.h - CLUSTER and its subcommands, READONLY and its kin: what users see (cluster_show.c) and
 * what they ask for (cluster_change.c); of the keys in slots (cluster_keys.c). */
#pragma once

#include "client/client.h"
#include "cluster/state.h"

typedef void clusterHandler(struct client *c);

/* ---- What users see ---- */
clusterHandler clusterMyidCommand, clusterMyshardidCommand, clusterNodesCommand, clusterInfoCommand,
    clusterSlotsCommand, clusterShardsCommand, clusterLinksCommand, clusterReplicasCommand,
    clusterCountFailureReportsCommand, clusterKeyslotCommand, clusterSlotStatsCommand, clusterHelpCommand;
sds clusterInfoText(sds s); /* the lines of CLUSTER INFO, appended */

/* ---- What they ask for ---- */
clusterHandler clusterMeetCommand, clusterForgetCommand, clusterReplicateCommand, clusterFailoverCommand,
    clusterResetCommand, clusterBumpepochCommand, clusterSetConfigEpochCommand, clusterSaveconfigCommand,
    clusterAddslotsCommand, clusterAddslotsrangeCommand, clusterDelslotsCommand, clusterDelslotsrangeCommand,
    clusterFlushslotsCommand, clusterSetslotCommand;

/* ---- Keys ---- */
clusterHandler clusterCountkeysinslotCommand, clusterGetkeysinslotCommand, clusterFlushslotCommand;

/* ---- Atomic migration ---- */
clusterHandler clusterMigrateslotsCommand, clusterCancelslotmigrationsCommand,
    clusterGetslotmigrationsCommand, clusterSyncslotsCommand;

/* The node of this id; NULL: there is none, and that has been answered. Handshakes are nobody's to name. */
struct clusterNode *clusterNodeArg(struct client *c, struct str id);
/* False: that has been answered. */
bool clusterSlotArg(struct client *c, struct str arg, int *slot);
/* Where clients are sent. NULL: they are to stay with the address that they have. `who` is a LINE_…CLIENT. */
const char *clusterEndpoint(const struct clusterNode *n, int who);
/* For clients like this one: of TLS or not, by IPv4 or IPv6. */
int clusterLineFor(struct client *c);
