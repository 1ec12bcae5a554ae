/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_commands.h - SENTINEL and its subcommands: those that show (sentinel_show.c), those that set
 * (sentinel_set.c), and the others (sentinel_commands.c). */
#pragma once

#include "client/client.h"
#include "sentinel/sentinel.h"

void sentinelCommandsInit(void); /* in Sentinel mode only */

typedef void sentinelHandler(struct client *c);

/* ---- Show ---- */
sentinelHandler sentinelPrimariesCommand, sentinelPrimaryCommand, sentinelReplicasCommand,
    sentinelSentinelsCommand, sentinelAddressCommand, sentinelInfoCacheCommand, sentinelPendingScriptsCommand;

/* ---- Set ---- */
sentinelHandler sentinelSetCommand, sentinelConfigCommand, sentinelDebugCommand;

/* ---- Checks (sentinel_checks.c) ---- */
struct instance *sentinelFindPrimary(struct str name); /* NULL: not found */
/* Finds the primary; replies an error and returns NULL if there is none. */
struct instance *sentinelParsePrimaryArg(struct client *c, struct str name);
/* Returns true, after an error reply, if an argument from `first` on has a byte that would end or damage a
 * line of sentinel.conf. */
bool sentinelRefuseControls(struct client *c, int first, const char *command);
/* Saves sentinel.conf. Returns false, after an error reply, if that fails. */
bool sentinelSaveOrReply(struct client *c);
