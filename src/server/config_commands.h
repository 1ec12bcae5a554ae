/* SPDX-License-Identifier: BSD-3-Clause */
/* config_commands.h - CONFIG: what clients see and change of the configuration. */
#pragma once

void configCommandsInit(void); /* enable-protected-configs; which arguments of CONFIG SET are secrets */
