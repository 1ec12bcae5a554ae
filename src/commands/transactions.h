/* SPDX-License-Identifier: BSD-3-Clause */
/* transactions.h - the transactions commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/spec.h"

extern const struct commandSpec commandsTransactions[];

commandProc discardCommand, execCommand, multiCommand, unwatchCommand, watchCommand;
commandFlagsOf execFlags;
