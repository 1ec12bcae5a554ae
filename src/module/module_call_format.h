/* SPDX-License-Identifier: BSD-3-Clause */
/* module_call_format.h - format letters, by which modules pass the arguments of a command to Call,
 * Replicate and EmitAOF.
 *
 *     c C string   s ValkeyModuleString   b bytes, size_t   l long long   v array of strings, size_t
 *
 * All other letters are options of the call and take no argument. */
#pragma once

#include <stdarg.h>

#include "base/num.h"
#include "module/api.h"

#define CALL_ARGUMENTS_SOME 16
#define CALL_NUMBERS_SOME   4

struct callArguments {
    struct str *argv; /* the command's name first; views of the module's memory */
    int argc, capacity;
    unsigned flags; /* VALKEYMODULE_CALL_ARGV_... */
    char (*numbers)[LONG_STR_SIZE];
    int number_count;
    struct str some[CALL_ARGUMENTS_SOME];
    char some_numbers[CALL_NUMBERS_SOME][LONG_STR_SIZE];
};
/* Parses fmt and its arguments. Returns false if a letter is unknown. The caller frees `a` in both cases. */
bool callArgumentsParse(struct callArguments *a, const char *command, const char *fmt, va_list ap);
void callArgumentsFree(struct callArguments *a);
