/* SPDX-License-Identifier: BSD-3-Clause */
/* at_exit.h - the last words of rooms, when the server is shut down in order (server/shutdown.h). */
#pragma once

#include <stdbool.h>

/* How it was asked for: words of SHUTDOWN. */
enum {
    SHUTDOWN_SAVE = 1,
    SHUTDOWN_NOSAVE = 2,
    SHUTDOWN_NOW = 4, /* without waiting for replicas */
    SHUTDOWN_FORCE = 8,
    SHUTDOWN_SAFE = 16,    /* not if a cluster would lose a voter */
    SHUTDOWN_FAILOVER = 32 /* another node takes over first */
};

/* fn saves, flushes ...; false refuses the end, unless it is forced. In order of registration. */
void atExitRegister(bool (*fn)(int flags));
bool atExitRun(int flags); /* false: somebody refused */
