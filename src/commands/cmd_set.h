/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_set.h - the set commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsSet[];

commandProc saddCommand, scardCommand, sdiffCommand, sdiffcardCommand, sdiffstoreCommand, sinterCommand,
    sintercardCommand, sinterstoreCommand, sismemberCommand, smembersCommand, smismemberCommand, smoveCommand,
    spopCommand, srandmemberCommand, sremCommand, sscanCommand, sunionCommand, sunioncardCommand,
    sunionstoreCommand;
