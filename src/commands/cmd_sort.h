/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_sort.h - the sort commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsSort[];

commandProc sortCommand, sortRoCommand;

commandGetKeys sortGetKeys;
