/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_scripting.h - the scripting commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsScripting[];

commandProc evalCommand, evalshaCommand, evalshaRoCommand, evalRoCommand, scriptLoadCommand,
    scriptExistsCommand, scriptFlushCommand, scriptKillCommand, scriptShowCommand, scriptDebugCommand,
    scriptHelpCommand, fcallCommand, fcallRoCommand, functionDeleteCommand, functionDumpCommand,
    functionFlushCommand, functionHelpCommand, functionKillCommand, functionListCommand, functionLoadCommand,
    functionRestoreCommand, functionStatsCommand;
commandFlagsOf evalFlags, evalshaFlags, fcallFlags;
