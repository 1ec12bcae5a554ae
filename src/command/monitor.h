/* monitor.h - MONITOR: clients that are shown every command that runs. */
#pragma once

#include "client/client.h"

extern size_t monitors; /* how many watch */

void monitorStop(struct client *c); /* RESET; also when it does not watch */

void monitorInit(void);
