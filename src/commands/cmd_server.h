/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_server.h - the server commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsServer[];

commandProc bgrewriteaofCommand, bgsaveCommand, lastsaveCommand, saveCommand, commandCommand,
    commandCountCommand, commandDocsCommand, commandInfoCommand, commandListCommand, commandGetkeysCommand,
    commandGetkeysandflagsCommand, commandHelpCommand, configGetCommand, configInfoCommand, configSetCommand,
    configResetstatCommand, configRewriteCommand, configHelpCommand, dbsizeCommand, debugCommand,
    flushallCommand, flushdbCommand, infoCommand, memoryDoctorCommand, memoryHelpCommand,
    memoryMallocStatsCommand, memoryPurgeCommand, memoryStatsCommand, memoryUsageCommand, shutdownCommand,
    swapdbCommand, timeCommand, commandlogGetCommand, commandlogHelpCommand, commandlogLenCommand,
    commandlogResetCommand, latencyDoctorCommand, latencyGraphCommand, latencyHelpCommand,
    latencyHistogramCommand, latencyHistoryCommand, latencyLatestCommand, latencyResetCommand, lolwutCommand,
    monitorCommand, roleCommand, slowlogGetCommand, slowlogHelpCommand, slowlogLenCommand,
    slowlogResetCommand, hotkeysGetCommand, hotkeysHelpCommand, hotkeysResetCommand, hotkeysStartCommand,
    hotkeysStopCommand;
commandIsSecret configSetIsSecret;
