/* SPDX-License-Identifier: BSD-3-Clause */
/* throttle.h - lets clients run only so many commands a second that change data, or may reach replicas.
 *
 * While there is a rate, each such command of a client takes one token from a bucket that fills at this rate.
 * A command that finds none goes back into its client's input and starts anew when it is its turn, in the
 * order of arrival; meanwhile the client waits, as in a pause (pause.h), with the flag h in CLIENT LIST.
 * Commands in a transaction take one token together, at EXEC. What decides the rate is another module's
 * business. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts and ends counting. Without it the other functions have no effect, and commands pay nothing. */
void throttleEnable(bool on);
/* Sets how many commands may run each second; negative: any number, which wakes all that wait. */
void throttleSetRate(double per_second);

uint64_t throttleCountRun(void);       /* commands of this kind that clients have run while it was enabled */
uint64_t throttleCountThrottled(void); /* commands that had to wait, since CONFIG RESETSTAT */
size_t throttleCountWaiting(void);     /* clients that wait now */

void throttleInit(void);
