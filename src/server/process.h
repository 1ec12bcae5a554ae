/* SPDX-License-Identifier: BSD-3-Clause */
/* process.h - the process: daemon, supervisor, pid file, log destination, working directory, the title that
 * ps shows, the kernel's out-of-memory score. */
#pragma once

#include <stdbool.h>

void processRegister(void); /* directives, INFO process_supervised */
/* Runs before anything else: reserves space for the title where the arguments and the environment are. */
void processInit(int argc, char **argv);
const char *processProgram(void); /* argv[0] */
void processLogStart(void);       /* opens the log that the configuration names */
void processStart(void);          /* then: daemonize, pid file */
/* Shows the logo if a terminal is attached or always-show-logo is set. Returns whether it was shown. */
bool processShowLogo(void);
void processNotifyReady(void);    /* clients are served: informs the supervisor, sets the title */
void processNotifyStopping(void); /* informs the supervisor, removes the pid file */
void processRemovePidFile(void);  /* async-signal-safe */
/* Sets the title that ps and top show, cut to the space there is (process_title.c). */
void processSetTitle(const char *title);

/* Roles that oom-score-adj-values has values for (oom_score.c). Child processes set theirs themselves. */
enum oomRole { OOM_PRIMARY, OOM_REPLICA, OOM_CHILD, OOM_ROLES };
void oomScoreSetRole(enum oomRole role);
void oomScoreRegister(void);
