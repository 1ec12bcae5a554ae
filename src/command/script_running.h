/* SPDX-License-Identifier: BSD-3-Clause */
/* script_running.h - the script or function that runs, whatever its language: its time limit, and stopping
 * it.
 *
 * An engine calls scriptTick now and then. After busy-reply-threshold the script is `busy`: from then on each
 * tick runs a nested turn (command/turn.h), in which RULE_BUSY answers BUSY to all but a few commands. SCRIPT
 * KILL and FUNCTION KILL only set a flag, which the tick returns. */
#pragma once

#include "client/client.h"
#include "command/script_engine.h"

/* The running script. There is at most one. */
struct scriptRun {
    const char *name; /* SHA-1 of the script, or the function's name; NULL: none runs */
    enum scriptKind kind;
    unsigned flags;
    struct scriptEngine *engine;
    struct client *caller;
    struct client *client; /* fake client for the script's commands */
    uint64_t start;        /* in ticks */
    bool read_only, wrote, busy, killed;
    bool deny_oom; /* memory was short when it started: its first write must not allocate more */
};
extern struct scriptRun script_run;

uint64_t scriptRunUs(void); /* time since it began */
/* Called by the engine now and then. Returns true when the script has to stop. */
bool scriptTick(void);
/* The command that stops the running script, for error messages. */
const char *scriptKillerName(void);
void scriptKill(struct client *c, enum scriptKind kind); /* SCRIPT KILL and FUNCTION KILL */
void scriptReplyBusy(struct client *c);
void scriptSetBusy(bool busy);

/* Serves other clients in a nested turn while a script runs. Replaced when another thread than the main one
 * runs the script. */
extern void (*scriptServeOthers)(void);

void scriptRunStart(void); /* before the first run */
