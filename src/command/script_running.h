/* SPDX-License-Identifier: BSD-3-Clause */
/* script_running.h - the script or function that runs, whatever its language: its time limit, and stopping
 * it.
 *
 * An engine calls scriptTick now and then. Past busy-reply-threshold the script is `busy`: from then on each
 * tick runs a nested round (command/turn.h), in which RULE_BUSY answers BUSY to all commands but a few.
 * SCRIPT KILL and FUNCTION KILL only set a flag, which the tick tells. */
#pragma once

#include "client/client.h"
#include "command/script_engine.h"

/* There is at most one. */
struct scriptRun {
    const char *name; /* SHA-1 of the script, or the function's name; NULL: none runs */
    enum scriptKind kind;
    unsigned flags;
    struct scriptEngine *engine;
    struct client *caller;
    struct client *client; /* fake client for the script's commands */
    uint64_t start;        /* ticks */
    bool read_only, wrote, busy, killed;
    bool deny_oom; /* memory was short when it started: its first write may not enlarge the data */
};
extern struct scriptRun script_run;

uint64_t scriptRunUs(void); /* since it began */
/* True: it is to stop. */
bool scriptTick(void);
const char *scriptKilledBy(void);                        /* that stops it */
void scriptKill(struct client *c, enum scriptKind kind); /* SCRIPT KILL, FUNCTION KILL */
void scriptReplyBusy(struct client *c);
void scriptSetBusy(bool busy);

/* How others are served meanwhile: a nested round, unless another thread than the main one runs the script.
 */
extern void (*scriptLetOthers)(void);

void scriptRunStart(void); /* before the first run */
