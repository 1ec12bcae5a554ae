/* SPDX-License-Identifier: BSD-3-Clause */
/* debug_command.h - DEBUG, for tests and operators. Other modules add subcommands by registry/debug.h. */
#pragma once

#include <stdint.h>

struct object;

/* Mixes key and value into digest[20], which begins with zeros. */
void debugDigestKey(uint8_t *digest, int dbid, const struct object *o);
void forklessProbeInit(void); /* forkless_probe.c */
void debugSwitchesInit(void); /* debug_switches.c */
void debugValuesInit(void);   /* debug_values.c */
void debugInit(void);         /* the directive enable-debug-command, and all of the above */
