/* SPDX-License-Identifier: BSD-3-Clause */
/* monitor.h - MONITOR: clients that get every command that runs. */
#pragma once

#include <stdbool.h>

#include "client/client.h"

/* Says whether there are replicas, which may not touch the data either. */
void monitorSetHasReplicas(bool any);
void monitorStop(struct client *c); /* for RESET; does nothing when it does not monitor */

void monitorInit(void);
