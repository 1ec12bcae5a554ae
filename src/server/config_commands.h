/* SPDX-License-Identifier: BSD-3-Clause */
/* config_commands.h - the command CONFIG. */
#pragma once

void configCommandsInit(void); /* enable-protected-configs */
