/* debug.h - DEBUG, for tests and operators. */
#pragma once

#include "command/command.h"

/* A subcommand of DEBUG. How many arguments behind its name; max -1: any number. */
struct debugSubcommand {
    const char *name;
    int min_args, max_args;
    commandProc *proc;
    const char *const *help; /* lines, ending with NULL */
};
void debugRegister(const struct debugSubcommand *sub); /* which must stay */

/* What DEBUG has switched on for tests (debug_switches.c). */
extern struct debugSwitches {
    bool skip_checksum;         /* of payloads and RDB files */
    bool pause_after_fork;      /* SIGSTOP to ourselves */
    bool scripts_run_all;       /* even commands that are not for scripts */
    int64_t aof_flush_sleep_us; /* before each write */
} debug_switches;

void debugSwitchesInit(void); /* by debugInit; debug_switches.c */
void debugValuesInit(void);   /* by debugInit; debug_values.c */
void debugInit(void);         /* directive enable-debug-command */
