/* SPDX-License-Identifier: BSD-3-Clause */
/* pause.h - making clients wait: CLIENT PAUSE, and whoever else needs the data to stand still for a while
 * (shutdown, failover, handing over slots).
 *
 * While writes are paused nothing changes the data: commands that may do so wait, keys do not expire (those
 * past their time read as absent) and are not evicted, and blocked clients are not served. PAUSE_ALL stops
 * every other command, too. A command that has to wait goes back into its client's input, and starts anew
 * when the pause ends; commands that are refused anyway are refused at once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"

enum pauseReason { PAUSE_BY_CLIENT, PAUSE_SHUTDOWN, PAUSE_FAILOVER, PAUSE_SLOT_MIGRATION, PAUSE_REASONS };
enum pauseLevel { PAUSE_NOTHING, PAUSE_WRITES, PAUSE_ALL };

/* The strictest of all pauses that last. */
extern enum pauseLevel pause_level;

/* Pauses until end_ms (wall clock). While one for the same reason lasts, it becomes the stricter of both and
 * ends with the later of both. Pauses for other reasons are left alone. */
void pauseClients(enum pauseReason reason, enum pauseLevel level, int64_t end_ms);
void unpauseClients(enum pauseReason reason);
bool isPausedFor(enum pauseReason reason);
/* Ends the pauses whose time is over. For whoever serves clients without running timers. */
void pauseEndOverdue(void);

void pauseInit(void); /* CLIENT PAUSE, UNPAUSE, INFO fields */
