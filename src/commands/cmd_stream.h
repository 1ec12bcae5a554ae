/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_stream.h - the stream commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsStream[];

commandProc xackCommand, xackdelCommand, xaddCommand, xautoclaimCommand, xcfgsetCommand, xclaimCommand,
    xdelCommand, xdelexCommand, xgroupCreateCommand, xgroupCreateconsumerCommand, xgroupDelconsumerCommand,
    xgroupDestroyCommand, xgroupHelpCommand, xgroupSetidCommand, xidmprecordCommand, xinfoConsumersCommand,
    xinfoGroupsCommand, xinfoHelpCommand, xinfoStreamCommand, xlenCommand, xnackCommand, xpendingCommand,
    xrangeCommand, xreadCommand, xreadgroupCommand, xrevrangeCommand, xsetidCommand, xtrimCommand;

commandGetKeys xreadGetKeys;
