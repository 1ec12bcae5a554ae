/* SPDX-License-Identifier: BSD-3-Clause */
/* module_call_format.h - the letters with which modules give a command's arguments: those of Call, Replicate
 * and EmitAOF.
 *
 *     c C string   s ValkeyModuleString   b bytes, size_t   l long long   v array of strings, size_t
 *
 * The others say how it shall be called, and take no argument. */
#pragma once

#include <stdarg.h>

#include "base/num.h"
#include "module/api.h"

#define CALL_ARGUMENTS_SOME 16
#define CALL_NUMBERS_SOME   4

struct callArguments {
    struct str *argv; /* the command's name first: views of what the module has given */
    int argc, capacity;
    unsigned flags; /* VALKEYMODULE_CALL_ARGV_... */
    char (*numbers)[LONG_STR_SIZE];
    int number_count;
    struct str some[CALL_ARGUMENTS_SOME];
    char some_numbers[CALL_NUMBERS_SOME][LONG_STR_SIZE];
};
/* False: there is a letter that means nothing. To be freed in both cases. */
bool callArgumentsRead(struct callArguments *a, const char *command, const char *fmt, va_list ap);
void callArgumentsFree(struct callArguments *a);
