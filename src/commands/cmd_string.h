/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_string.h - the string commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsString[];

commandProc appendCommand, decrCommand, decrbyCommand, delexCommand, delifeqCommand, digestCommand,
    getCommand, getdelCommand, getexCommand, getrangeCommand, getsetCommand, incrCommand, incrbyCommand,
    incrbyfloatCommand, increxCommand, lcsCommand, mgetCommand, msetexCommand, msetCommand, msetnxCommand,
    psetexCommand, setCommand, setexCommand, setnxCommand, setrangeCommand, strlenCommand, substrCommand;

commandGetKeys setGetKeys;
