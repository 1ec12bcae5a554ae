/* SPDX-License-Identifier: BSD-3-Clause */
/* log_signal.c - see log_signal.h. Only functions that are allowed in a signal handler are used. */
#define _GNU_SOURCE /* stpcpy */
#include "base/log_signal.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/num.h"

#define LINE_MAX_BYTES 128

void logSignal(const char *text) {
    char line[LINE_MAX_BYTES];
    size_t n = ll2string(line, getpid());
    n = (size_t)(stpcpy(line + n, ":signal-handler (") - line);
    n += ll2string(line + n, time(NULL));
    n = (size_t)(stpcpy(line + n, ") ") - line);
    n += strnlen(strncpy(line + n, text, sizeof line - n - 2), sizeof line - n - 2);
    strcpy(line + n, "\n");
    serverLogFromSignal(line);
}
