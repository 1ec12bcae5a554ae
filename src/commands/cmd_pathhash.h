/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_pathhash.h - the path hash commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsPathHash[];

commandProc phcardCommand, phdelCommand, phdelprefixCommand, phexistsCommand, phgetCommand, phgetallCommand,
    phlongestCommand, phmgetCommand, phmsetCommand, phprefixesCommand, phscanCommand, phsetCommand;
