/* SPDX-License-Identifier: BSD-3-Clause */
/* system_check.h - checks of the host: its memory, its clock, its settings. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/sds.h"

/* Returns what is wrong with vm.overcommit_memory and how to fix it, or NULL. */
const char *systemOvercommitAdvice(void);

/* Calls fn for each check that found something; a note is useful to know, but not a warning. Takes well below
 * a millisecond: checks that measure for longer are left out. */
void systemCheckForEach(void (*fn)(void *priv, const char *name, const char *advice, bool note), void *priv);

/* --check-system: prints a line for each check to `out`, with advice for those that warn. root precedes
 * /proc and /sys; it is "" except in tests. Returns the exit code: 1 if a check warns. */
int systemCheck(const char *root, FILE *out);
/* --test-memory <megabytes>. argv has the words behind it. Returns the exit code. */
int testMemoryMain(int argc, char **argv);
