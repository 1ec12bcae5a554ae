/* SPDX-License-Identifier: BSD-3-Clause */
/* stack_trace.h - the stacks of all threads, for the crash report and the watchdog. May be called from a
 * signal handler. */
#pragma once

void stackTraceInit(void);
/* Writes to the log where every thread is. pc: where the fault was, or NULL. */
void stackTraceWrite(const void *pc);
