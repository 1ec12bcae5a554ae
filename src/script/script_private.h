/* SPDX-License-Identifier: BSD-3-Clause */
/* script_private.h - declarations that the files of script/ share for scripts in any language. Lua's files
 * have lua_private.h in addition.
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
/* Parses the third argument of c, the number of keys that follow. Returns false after replying an error. */
bool scriptParseKeyCount(struct client *c, int *keys, const char *not_a_number);
void scriptRunInit(void); /* fills the rules of admission for commands that scripts call */

/* ---- script.c ---- */
/* Parses the mode of SCRIPT FLUSH and FUNCTION FLUSH, or takes the directive's. Returns false if it is
 * a syntax error. */
bool scriptParseFlushMode(const struct client *c, bool *async);

/* ---- script_flags.c ---- */
const char *scriptFlagName(int bit);
/* Returns 0 if no flag has this name. */
unsigned scriptFlagByName(struct str name, bool any_case);
/* Returns the flags that a command has when it runs a script with `flags`, for the checks before it runs. */
uint64_t scriptCommandFlags(unsigned flags, uint64_t command_flags);
/* Splits the first line into words and advances *code to its newline, which is kept for correct line
 * numbers. Returns NULL if no newline is found or quotes are unbalanced. */
sds *scriptSplitShebang(struct str *code, int *count);
/* Parses the first line of a script if it begins with "#!". The engine is Lua unless the line names one.
 * Returns NULL or an error, which the caller frees. */
sds scriptParseShebang(struct str *code, unsigned *flags, struct scriptEngine **engine);
