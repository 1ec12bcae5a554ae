/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_list.h - the list commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsList[];

commandProc blmoveCommand, blmovemCommand, blmpopCommand, blpopCommand, brpopCommand, brpoplpushCommand,
    lindexCommand, linsertCommand, llenCommand, lmoveCommand, lmovemCommand, lmpopCommand, lpopCommand,
    lposCommand, lpushCommand, lpushxCommand, lrangeCommand, lremCommand, lsetCommand, ltrimCommand,
    rpopCommand, rpoplpushCommand, rpushCommand, rpushxCommand;
