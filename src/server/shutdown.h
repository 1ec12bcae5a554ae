/* SPDX-License-Identifier: BSD-3-Clause */
/* shutdown.h - orderly shutdown: signals, SHUTDOWN, and the steps before the exit. */
#pragma once

#include <stdbool.h>

#include "registry/at_exit.h"

void shutdownInit(void);     /* signal handlers; after the event loop exists */
void shutdownRegister(void); /* SHUTDOWN */
/* Does all steps before the exit without waiting. Returns false if a module vetoes (registry/at_exit.h);
 * then the server continues. */
bool shutdownPrepare(int flags);
