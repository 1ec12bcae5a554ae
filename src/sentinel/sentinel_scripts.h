/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_scripts.h - the operators' scripts: a queue, some at once, again when one fails (SENTINEL
 * PENDING-SCRIPTS shows them). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sds.h"

struct sentinelScript {
    sds *argv; /* the path first */
    int argc;
    pid_t pid;        /* 0: it waits */
    int runs;         /* so far, with the one that is under way */
    int64_t start_ms; /* of this run; of one that waits for another try, when that is due (0: at once) */
};

void scriptsAdd(const char *path, int argc, const char *const *argv); /* argv without the path */
void scriptsTick(int64_t now_ms); /* starts, ends, looks after those that have ended */
int scriptsRunning(void);
int scriptsQueued(void); /* all, with the running ones */
void scriptsForEach(void (*fn)(void *priv, const struct sentinelScript *script),
                    void *priv); /* oldest first */
