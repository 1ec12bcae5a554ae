/* monitor.h - MONITOR: clients that are shown every command that runs. */
#pragma once

#include "client/client.h"

extern size_t monitors; /* how many watch; the call path looks at nothing else */

/* c->cmd runs or has run: show it to all who watch. Commands that would show too much (administration) or
 * that show themselves are left out by their flags. */
void monitorFeed(struct client *c);
/* The same, before it runs, for scripts: their commands come behind them. */
void monitorFeedScript(struct client *c);
void monitorStop(struct client *c); /* RESET; also when it does not watch */

void monitorInit(void);
