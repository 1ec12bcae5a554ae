/* SPDX-License-Identifier: BSD-3-Clause */
/* debug_command.h - DEBUG, for tests and operators. Other modules add subcommands by registry/debug.h. */
#pragma once

void debugSwitchesInit(void); /* debug_switches.c */
void debugValuesInit(void);   /* debug_values.c */
void debugInit(void);         /* the directive enable-debug-command, and all of the above */
