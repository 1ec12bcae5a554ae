/* SPDX-License-Identifier: BSD-3-Clause */
/* system_check.h - what the host should offer to a server: its memory, its clock, its settings. */
#pragma once

#include <stdio.h>

#include "base/sds.h"

/* What is wrong with vm.overcommit_memory, and what to do about it; NULL: nothing. */
const char *systemOvercommitAdvice(void);

/* --check-system: prints a line for each check to `out`, and what to do about it where something is wrong.
 * root: what stands before /proc and /sys, "" but in tests. Returns the exit code: 1 when one of them warns.
 */
int systemCheck(const char *root, FILE *out);
/* --test-memory <megabytes>, the words behind it. Returns the exit code. */
int testMemoryMain(int argc, char **argv);
