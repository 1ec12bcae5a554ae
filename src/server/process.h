/* SPDX-License-Identifier: BSD-3-Clause */
/* process.h - the process around the server: daemon, supervisor, pid file, log destination, working
 * directory, the title that ps shows, and what the kernel is told about it. */
#pragma once

#include <stdbool.h>

void processRegister(void); /* directives, INFO process_supervised */
/* Before anything else: makes room for the title, in the place of the arguments and the environment. */
void processInit(int argc, char **argv);
const char *processProgram(void); /* what argv[0] was */
void processLogStart(void);       /* to the file, and in the form, that the configuration tells */
void processStart(void);          /* daemonize, pid file; after that */
/* Where a person may be watching, or always-show-logo asks for it. False: it was not shown. */
bool processShowLogo(void);
void processReady(void);         /* clients are served: tells the supervisor, sets the title */
void processStopping(void);      /* tells the supervisor, removes the pid file */
void processRemovePidFile(void); /* a signal handler may call it */
/* process_title.c: puts the text where ps and top look; cut to the room that there is. */
void processSetTitle(const char *title);

/* oom_score.c: what oom-score-adj-values has a value for. Children are told by themselves. */
enum oomRole { OOM_PRIMARY, OOM_REPLICA, OOM_CHILD, OOM_ROLES };
void oomScoreSetRole(enum oomRole role);
void oomScoreRegister(void);
