/* SPDX-License-Identifier: BSD-3-Clause */
/* shutdown.h - the orderly end: signals, SHUTDOWN, and what has to happen before exit. */
#pragma once

#include <stdbool.h>

#include "registry/at_exit.h"

void shutdownInit(void);     /* signal handlers; after the event loop exists */
void shutdownRegister(void); /* SHUTDOWN */
/* At once all that has to happen before the exit, but for the exit itself. False when a room refuses
 * (registry/at_exit.h): the server goes on. */
bool shutdownPrepare(int flags);
