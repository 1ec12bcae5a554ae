/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_commands.h - handlers of CLUSTER and its subcommands, and helpers that they share. */
#pragma once

#include "client/client.h"
#include "cluster/state.h"

typedef void clusterHandler(struct client *c);

/* ---- Show (cluster_show.c) ---- */
clusterHandler clusterMyidCommand, clusterMyshardidCommand, clusterNodesCommand, clusterInfoCommand,
    clusterSlotsCommand, clusterShardsCommand, clusterLinksCommand, clusterReplicasCommand,
    clusterCountFailureReportsCommand, clusterKeyslotCommand, clusterSlotStatsCommand, clusterHelpCommand;
sds clusterInfoText(sds s); /* appends the lines of CLUSTER INFO */

/* ---- Change (cluster_change.c) ---- */
clusterHandler clusterMeetCommand, clusterForgetCommand, clusterReplicateCommand, clusterFailoverCommand,
    clusterResetCommand, clusterBumpepochCommand, clusterSetConfigEpochCommand, clusterSaveconfigCommand,
    clusterAddslotsCommand, clusterAddslotsrangeCommand, clusterDelslotsCommand, clusterDelslotsrangeCommand,
    clusterFlushslotsCommand, clusterSetslotCommand;

/* ---- Keys (cluster_keys.c) ---- */
clusterHandler clusterCountkeysinslotCommand, clusterGetkeysinslotCommand, clusterFlushslotCommand;

/* ---- Atomic migration ---- */
clusterHandler clusterMigrateslotsCommand, clusterCancelslotmigrationsCommand,
    clusterGetslotmigrationsCommand, clusterSyncslotsCommand;

/* Returns the node of this id. NULL: no such node exists, or it is in handshake, and
 * an error has been replied. */
struct clusterNode *clusterParseNodeArg(struct client *c, struct str id);
/* Returns false after an error has been replied. */
bool clusterParseSlotArg(struct client *c, struct str arg, int *slot);
/* Returns the address to which clients are redirected, or NULL if they keep using the address that they have.
 * `audience` is one of LINE_…CLIENT…. */
const char *clusterEndpoint(const struct clusterNode *n, int audience);
/* Returns the audience that c belongs to: with TLS or without, over IPv4 or IPv6. */
int clusterAudienceOf(struct client *c);
