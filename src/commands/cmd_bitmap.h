/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_bitmap.h - the bitmap commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsBitmap[];

commandProc bitcountCommand, bitfieldCommand, bitfieldRoCommand, bitopCommand, bitposCommand, getbitCommand,
    setbitCommand;

commandGetKeys bitfieldGetKeys;
