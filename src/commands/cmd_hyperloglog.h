/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_hyperloglog.h - the HyperLogLog commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsHyperloglog[];

commandProc pfaddCommand, pfcountCommand, pfdebugCommand, pfmergeCommand, pfselftestCommand;
