/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_env.h - a Sentinel as a process: what it registers, how it starts, the environment that its
 * supervisor acts in. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"

/* Before the configuration is read, in any server, when all commands are registered; what it registers
 * depends on `sentinel_mode` (data/server_state/role.h). */
void sentinelInit(void);
/* Of a Sentinel. */
void sentinelConfigured(void); /* the configuration is read; ends the process when it is no good */
void sentinelStart(void);      /* the loop and the listening sockets are there */
