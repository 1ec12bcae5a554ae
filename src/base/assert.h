/* SPDX-License-Identifier: BSD-3-Clause */
/* assert.h - assertions that stay in release builds. A failed one is a bug of the server: it runs the panic
 * hook (the crash report, when server/ has set it) and aborts. */
#pragma once

#define serverAssert(e)     (__builtin_expect(!!(e), 1) ? (void)0 : serverAssertFailed(#e, __FILE__, __LINE__))
#define serverPanic(...)    serverPanicAt(__FILE__, __LINE__, __VA_ARGS__)
#define serverUnreachable() serverPanic("unreachable")

/* Expensive checks, which are only in builds with -DDEBUG_ASSERTIONS (make test-all and sanitizer builds). */
#ifdef DEBUG_ASSERTIONS
#define debugAssert(e) serverAssert(e)
#else
#define debugAssert(e) ((void)0)
#endif

void serverAssertFailed(const char *expr, const char *file, int line) __attribute__((noreturn, cold));
void serverPanicAt(const char *file, int line, const char *fmt, ...)
    __attribute__((noreturn, cold, format(printf, 3, 4)));
/* Sets the hook that is called before abort() with the reason ("ASSERTION FAILED ..." or the panic text). */
void serverSetPanicHook(void (*hook)(const char *reason, const char *file, int line));
