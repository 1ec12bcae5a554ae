/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_hash.h - the hash commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsHash[];

commandProc hdelCommand, hexistsCommand, hexpireCommand, hexpireatCommand, hexpiretimeCommand, hgetCommand,
    hgetallCommand, hgetdelCommand, hgetexCommand, hincrbyCommand, hincrbyfloatCommand, hkeysCommand,
    hlenCommand, hmgetCommand, hmsetCommand, hpersistCommand, hpexpireCommand, hpexpireatCommand,
    hpexpiretimeCommand, hpttlCommand, hrandfieldCommand, hscanCommand, hsetCommand, hsetexCommand,
    hsetnxCommand, hstrlenCommand, httlCommand, hvalsCommand;
