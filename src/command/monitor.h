/* SPDX-License-Identifier: BSD-3-Clause */
/* monitor.h - MONITOR: clients that are shown every command that runs. */
#pragma once

#include <stdbool.h>

#include "client/client.h"

/* Are there replicas? They may not touch the data either. */
void monitorReplicas(bool any);
void monitorStop(struct client *c); /* RESET; also when it does not watch */

void monitorInit(void);
