/* SPDX-License-Identifier: BSD-3-Clause */
/* assert.c - what happens when a bug of the server is found. The reason is logged in the lines that operators
 * look for and passed to the panic hook, which prints the crash report, and the process aborts. A failure
 * inside the hook does not run it again. */
#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

static void (*panicHook)(const char *reason, const char *file, int line);

__attribute__((noreturn)) static void assertPanicRun(const char *reason, const char *file, int line) {
    void (*hook)(const char *, const char *, int) = __atomic_exchange_n(&panicHook, NULL, __ATOMIC_ACQ_REL);
    if (hook) hook(reason, file, line);
    abort();
}

void serverAssertFailed(const char *expr, const char *file, int line) {
    char reason[512];
    snprintf(reason, sizeof(reason), "ASSERTION FAILED '%s' is not true", expr);
    serverLog(LL_WARNING, "=== ASSERTION FAILED ===");
    serverLog(LL_WARNING, "==> %s:%d: '%s' does not hold", file, line, expr);
    assertPanicRun(reason, file, line);
}

void serverPanicAt(const char *file, int line, const char *fmt, ...) {
    char reason[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(reason, sizeof(reason), fmt, ap);
    va_end(ap);
    serverLog(LL_WARNING, "------------------------------------------------");
    serverLog(LL_WARNING, "The server has met a state from which it cannot go on");
    serverLog(LL_WARNING, "Panic: %s (%s:%d)", reason, file, line);
    assertPanicRun(reason, file, line);
}

void serverSetPanicHook(void (*hook)(const char *reason, const char *file, int line)) {
    __atomic_store_n(&panicHook, hook, __ATOMIC_RELEASE);
}
