/* SPDX-License-Identifier: BSD-3-Clause */
/* crash.h - the crash report, for when a signal or a failed assertion ends the server. */
#pragma once

#include <stddef.h>

void crashInit(void); /* installs the handlers */
void crashRegister(void);
/* Tests the memory of this process, whose contents are lost (memcheck.c). Returns the number of words that
 * did not keep what was written to them. */
size_t crashTestMemory(void);
