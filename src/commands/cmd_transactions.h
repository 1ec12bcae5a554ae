/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_transactions.h - the transactions commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsTransactions[];

commandProc discardCommand, execCommand, multiCommand, unwatchCommand, watchCommand;
commandFlagsOf execFlags;
commandGetKeys execGetKeys;
