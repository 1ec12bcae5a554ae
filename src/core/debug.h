/* debug.h - DEBUG, for tests and operators. */
#pragma once

#include "core/command.h"

/* A subcommand of DEBUG. How many arguments behind its name; max -1: any number. */
struct debugSubcommand {
    const char *name;
    int min_args, max_args;
    commandProc *proc;
    const char *const *help; /* lines, ending with NULL */
};
void debugRegister(const struct debugSubcommand *sub); /* which must stay */

void debugValuesInit(void); /* by debugInit; debug_values.c */
void debugInit(void);       /* directive enable-debug-command */
