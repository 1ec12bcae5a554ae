/* SPDX-License-Identifier: BSD-3-Clause */
/* pause.h - making clients wait: CLIENT PAUSE, and other operations that need unchanging data for a while
 * (shutdown, failover, slot migration).
 *
 * While writes are paused nothing changes the data: commands that may do so wait, keys do not expire (overdue
 * ones read as absent), keys are not evicted, and blocked clients are not served. PAUSE_ALL stops every other
 * command, too. A command that has to wait goes back into its client's input, and starts anew when the pause
 * ends; commands that would be refused are refused at once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"

enum pauseReason { PAUSE_BY_CLIENT, PAUSE_SHUTDOWN, PAUSE_FAILOVER, PAUSE_SLOT_MIGRATION, PAUSE_REASONS };
enum pauseLevel { PAUSE_NOTHING, PAUSE_WRITES, PAUSE_ALL };

/* The strictest level of all current pauses. */
extern enum pauseLevel pause_level;

/* Pauses until end_ms (wall clock). A current pause for the same reason becomes the stricter of both and ends
 * at the later of both times. Pauses for other reasons do not change. */
void pauseClients(enum pauseReason reason, enum pauseLevel level, int64_t end_ms);
void unpauseClients(enum pauseReason reason);
bool isPausedFor(enum pauseReason reason);
/* Ends the pauses whose time is over, for loops that serve clients without running timers. */
void pauseEndOverdue(void);

void pauseInit(void); /* CLIENT PAUSE, UNPAUSE, INFO fields */
