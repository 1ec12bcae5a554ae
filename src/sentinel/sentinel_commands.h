/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_commands.h - SENTINEL and its subcommands: what users see (sentinel_show.c), what they set
 * (sentinel_set.c), and what else they and other Sentinels ask for (sentinel_commands.c). */
#pragma once

#include "client/client.h"
#include "sentinel/sentinel.h"

void sentinelCommandsInit(void); /* of a Sentinel */

typedef void sentinelHandler(struct client *c);

/* ---- What users see ---- */
sentinelHandler sentinelPrimariesCommand, sentinelPrimaryCommand, sentinelReplicasCommand,
    sentinelSentinelsCommand, sentinelAddressCommand, sentinelInfoCacheCommand, sentinelPendingScriptsCommand;

/* ---- What they set ---- */
sentinelHandler sentinelSetCommand, sentinelConfigCommand, sentinelDebugCommand;

/* ---- Checks (sentinel_checks.c) ---- */
struct instance *sentinelPrimaryFind(struct str name); /* NULL: there is none */
/* The same, and NULL has been answered. */
struct instance *sentinelPrimaryArg(struct client *c, struct str name);
/* True: one of the arguments from `first` on has a byte that would end or damage a line of sentinel.conf,
 * which has been answered. */
bool sentinelRefuseControls(struct client *c, int first, const char *command);
/* Saves sentinel.conf. False: that has failed, which has been answered. */
bool sentinelSaveOrReply(struct client *c);
