/* SPDX-License-Identifier: BSD-3-Clause */
/* watchdog.h - the software watchdog: logs the stack of the main thread if it does not return to the event
 * loop for long. */
#pragma once

void watchdogRegister(void); /* the directive watchdog-period */
void watchdogStop(void);     /* for good; async-signal-safe */
void watchdogInit(void); /* called by the main thread: handles SIGALRM of the timer or of other processes */
