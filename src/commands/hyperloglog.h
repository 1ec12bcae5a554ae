/* SPDX-License-Identifier: BSD-3-Clause */
/* hyperloglog.h - the HyperLogLog commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/spec.h"

extern const struct commandSpec commandsHyperloglog[];

commandProc pfaddCommand, pfcountCommand, pfdebugCommand, pfmergeCommand, pfselftestCommand;
