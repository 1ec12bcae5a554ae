/* SPDX-License-Identifier: BSD-3-Clause */
/* at_exit.h - what modules do before an orderly shutdown (server/shutdown.h). */
#pragma once

#include <stdbool.h>

/* Options of SHUTDOWN. */
enum {
    SHUTDOWN_SAVE = 1,
    SHUTDOWN_NOSAVE = 2,
    SHUTDOWN_NOW = 4, /* without waiting for replicas */
    SHUTDOWN_FORCE = 8,
    SHUTDOWN_SAFE = 16,    /* only if the cluster keeps a majority of voters */
    SHUTDOWN_FAILOVER = 32 /* another node takes over first */
};

/* Registers fn, which saves, flushes and so on. Returning false refuses the shutdown, unless it is forced.
 * Called in order of registration. */
void atExitRegister(bool (*fn)(int flags));
bool atExitRun(int flags); /* false: a function refused */
