/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_env.h - a Sentinel as a process: what it registers, how it starts, the
 * environment of its supervisor. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"

/* Called in any server when all commands are registered, before the configuration is read. What it registers
 * depends on `sentinel_mode` (data/server_state/role.h). */
void sentinelInit(void);
/* The following are called in Sentinel mode only. */
void sentinelApplyConfig(void); /* the configuration has been read; ends the process if it is invalid */
void sentinelStart(void);       /* the event loop and the listening sockets exist */
