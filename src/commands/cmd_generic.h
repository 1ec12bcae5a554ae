/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_generic.h - the generic commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsGeneric[];

commandProc copyCommand, delCommand, dumpCommand, migrateCommand, restoreCommand, moveCommand, existsCommand,
    expireCommand, expireatCommand, expiretimeCommand, keysCommand, objectEncodingCommand, objectFreqCommand,
    objectIdletimeCommand, objectRefcountCommand, objectHelpCommand, persistCommand, pexpireCommand,
    pexpireatCommand, pexpiretimeCommand, pttlCommand, randomkeyCommand, renameCommand, renamenxCommand,
    scanCommand, touchCommand, ttlCommand, typeCommand, unlinkCommand;

commandGetKeys migrateGetKeys;
commandIsSecret migrateIsSecret;
