/* SPDX-License-Identifier: BSD-3-Clause */
/* watchdog.h - the software watchdog: logs where the main thread is when it does not come back for long. */
#pragma once

void watchdogRegister(void); /* directive watchdog-period */
void watchdogStop(void);     /* for good; a signal handler may call it */
void watchdogInit(void);     /* by the main thread: takes SIGALRM, from the timer or from anybody else */
