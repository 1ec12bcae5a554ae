/* SPDX-License-Identifier: BSD-3-Clause */
/* stack_trace.h - stack traces of all threads, for the crash report and the watchdog. Functions may be
 * called from a signal handler. */
#pragma once

void stackTraceInit(void);
/* Writes the stacks of all threads to the log. pc: address of the fault, or NULL. */
void stackTraceWrite(const void *pc);
