/* SPDX-License-Identifier: BSD-3-Clause */
/* module_call_format.c - see module_call_format.h. */
#include "module/module_call_format.h"

#include <string.h>

#include "base/zmalloc.h"

static void moduleCallFormatReserve(struct callArguments *a, size_t more) {
    size_t need = (size_t)a->argc + more;
    if (need <= (size_t)a->capacity) return;
    size_t capacity = need + (size_t)a->capacity;
    struct str *old = a->argv == a->some ? NULL : a->argv;
    a->argv = zrealloc(old, capacity * sizeof *a->argv);
    if (!old) memcpy(a->argv, a->some, (size_t)a->argc * sizeof *a->argv);
    a->capacity = (int)capacity;
}

static void moduleCallFormatAdd(struct callArguments *a, struct str arg) {
    moduleCallFormatReserve(a, 1);
    a->argv[a->argc++] = arg;
}

/* Appends a number as text. When the numbers no longer fit into the struct, one buffer is made for all that
 * fmt can have, because views of its content must stay valid. */
static void moduleCallFormatAddNumber(struct callArguments *a, long long n, const char *fmt) {
    if (a->number_count == CALL_NUMBERS_SOME && a->numbers == a->some_numbers) {
        char(*numbers)[LONG_STR_SIZE] = zmalloc((CALL_NUMBERS_SOME + strlen(fmt)) * sizeof *numbers);
        a->numbers = numbers;
    }
    char *text = a->numbers[a->number_count++];
    moduleCallFormatAdd(a, strN(text, ll2string(text, n)));
}

static void moduleCallFormatAddStrings(struct callArguments *a, struct ValkeyModuleString **strings,
                                       size_t count) {
    moduleCallFormatReserve(a, count);
    for (size_t i = 0; i < count; i++) a->argv[a->argc++] = stringText(strings[i]);
}

static unsigned moduleCallFormatFlagOf(char letter) {
    switch (letter) {
    case '!': return VALKEYMODULE_CALL_ARGV_REPLICATE;
    case 'A': return VALKEYMODULE_CALL_ARGV_NO_AOF;
    case 'R': return VALKEYMODULE_CALL_ARGV_NO_REPLICAS;
    case '3': return VALKEYMODULE_CALL_ARGV_RESP_3;
    case '0': return VALKEYMODULE_CALL_ARGV_RESP_AUTO;
    case 'C': return VALKEYMODULE_CALL_ARGV_RUN_AS_USER;
    case 'S': return VALKEYMODULE_CALL_ARGV_SCRIPT_MODE;
    case 'W': return VALKEYMODULE_CALL_ARGV_NO_WRITES;
    case 'M': return VALKEYMODULE_CALL_ARGV_RESPECT_DENY_OOM;
    case 'E': return VALKEYMODULE_CALL_ARGV_ERRORS_AS_REPLIES;
    case 'D': return VALKEYMODULE_CALL_ARGV_DRY_RUN | VALKEYMODULE_CALL_ARGV_ERRORS_AS_REPLIES;
    case 'K': return VALKEYMODULE_CALL_ARGV_ALLOW_BLOCK;
    case 'X': return VALKEYMODULE_CALL_ARGV_REPLY_EXACT;
    default: return 0;
    }
}

bool callArgumentsParse(struct callArguments *a, const char *command, const char *fmt, va_list ap) {
    a->argv = a->some;
    a->capacity = CALL_ARGUMENTS_SOME;
    a->numbers = a->some_numbers;
    a->argc = a->number_count = 0;
    a->flags = 0;
    moduleCallFormatAdd(a, strOf(command));
    for (const char *p = fmt; *p; p++) {
        if (*p == 'c') {
            moduleCallFormatAdd(a, strOf(va_arg(ap, const char *)));
        } else if (*p == 's') {
            moduleCallFormatAdd(a, stringText(va_arg(ap, const struct ValkeyModuleString *)));
        } else if (*p == 'b') {
            const char *bytes = va_arg(ap, const char *);
            moduleCallFormatAdd(a, strN(bytes, va_arg(ap, size_t)));
        } else if (*p == 'l') {
            moduleCallFormatAddNumber(a, va_arg(ap, long long), fmt);
        } else if (*p == 'v') {
            struct ValkeyModuleString **strings = va_arg(ap, struct ValkeyModuleString **);
            moduleCallFormatAddStrings(a, strings, va_arg(ap, size_t));
        } else {
            unsigned flag = moduleCallFormatFlagOf(*p);
            if (!flag) return false;
            a->flags |= flag;
        }
    }
    return true;
}

void callArgumentsFree(struct callArguments *a) {
    if (a->argv != a->some) zfree(a->argv);
    if (a->numbers != a->some_numbers) zfree(a->numbers);
}
