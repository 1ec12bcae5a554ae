/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_scripts.h - the operators' scripts: a queue from which some run at a time, and are retried when
 * they fail (SENTINEL PENDING-SCRIPTS shows it). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sds.h"

struct sentinelScript {
    sds *argv; /* the path first */
    int argc;
    pid_t pid;        /* 0: waiting */
    int runs;         /* so far, including the current one */
    int64_t start_ms; /* start of this run, or time of the next one if it waits (0: at once) */
};

void scriptsAdd(const char *path, int argc, const char *const *argv); /* argv without the path */
void scriptsTick(int64_t now_ms); /* starts waiting scripts, handles exits, kills overdue ones */
int scriptsCountRunning(void);
int scriptsCountQueued(void); /* running ones included */
void scriptsForEach(void (*fn)(void *priv, const struct sentinelScript *script),
                    void *priv); /* oldest first */
