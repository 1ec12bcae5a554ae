/* SPDX-License-Identifier: BSD-3-Clause */
/* debug_command.h - DEBUG, for tests and operators. Other rooms add to it by registry/debug.h. */
#pragma once

void debugSwitchesInit(void); /* by debugInit; debug_switches.c */
void debugValuesInit(void);   /* by debugInit; debug_values.c */
void debugDefragInit(void);   /* by debugInit; debug_defrag.c */
void debugInit(void);         /* directive enable-debug-command */
