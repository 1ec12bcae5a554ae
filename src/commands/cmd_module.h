/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_module.h - the module commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsModule[];

commandProc moduleHelpCommand, moduleListCommand, moduleLoadCommand, moduleLoadexCommand, moduleUnloadCommand;
