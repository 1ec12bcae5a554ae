/* SPDX-License-Identifier: BSD-3-Clause */
/* script_private.h - what the files of script/ share that hold for any language of scripts. Lua's files have
 * lua_private.h in addition.
 *
 *     script.c            EVAL, SCRIPT, the cache of scripts, INFO
 *     functions.c         the libraries of functions in use, and how they are saved
 *     function_set.c      libraries and functions by name
 *     function_library.c  one library: its first line, its functions
 *     function_commands.c FUNCTION, FCALL
 *     script_run.c        running either, by its engine (command/script_engine.h)
 *     script_flags.c      the first line of a script or library, and the flags
 *     script_debug.c      the debugger (script_debug.h) */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "client/client.h"
#include "command/script_running.h"

/* ---- script_run.c ---- */
/* Runs the code for c and replies. The arguments of c from the fourth on are `keys` keys, then the others. */
void scriptExecute(struct client *c, const struct scriptCode *code, int keys, bool read_only);
/* The third argument of c: how many keys follow. False: an error has been replied. */
bool scriptKeyCount(struct client *c, int *keys, const char *not_a_number);
void scriptRunInit(void); /* the rows of admission for commands that scripts call */

/* ---- script.c ---- */
/* SCRIPT FLUSH and FUNCTION FLUSH: the mode that c asks for, or the directive's. False: a syntax error. */
bool scriptFlushMode(const struct client *c, bool *async);

/* ---- script_flags.c ---- */
const char *scriptFlagName(int bit);
/* 0: no flag has this name. */
unsigned scriptFlagByName(struct str name, bool any_case);
/* The flags of the command that runs a script with `flags`, for the checks before it runs. */
uint64_t scriptCommandFlags(unsigned flags, uint64_t command_flags);
/* Takes the first line off *code, except for its newline, which keeps the line numbers right, and splits it
 * into words. NULL: there is no whole line, or its quotes are unbalanced. */
sds *scriptShebang(struct str *code, int *count);
/* Reads the first line of a script if it begins with "#!". The engine is Lua unless the line names one. NULL,
 * or the error. */
sds scriptReadShebang(struct str *code, unsigned *flags, struct scriptEngine **engine);
