/* SPDX-License-Identifier: BSD-3-Clause */
/* debug.h - subcommands of DEBUG that modules register, and switches that it sets for tests. The command
 * itself is in server/debug_command.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct client;

/* A subcommand of DEBUG. The counts exclude its name; max_args -1: any number. */
struct debugSubcommand {
    const char *name;
    int min_args, max_args;
    void (*proc)(struct client *c);
    const char *const *help; /* up to DEBUG_HELP_LINES lines, ending with NULL */
};
#define DEBUG_HELP_LINES 8
void debugRegister(const struct debugSubcommand *sub); /* sub must stay valid */
int debugRegisteredCount(void);
const struct debugSubcommand *debugRegistered(int i); /* in order of registration */

extern struct debugSwitches {
    int64_t skip_checksum;      /* of payloads and RDB files */
    int64_t pause_after_fork;   /* SIGSTOP to ourselves */
    int64_t scripts_run_all;    /* allow commands that are not for scripts */
    int64_t aof_flush_sleep_us; /* before each write */
} debug_switches;
