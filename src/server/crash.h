/* SPDX-License-Identifier: BSD-3-Clause */
/* crash.h - the crash report: what operators need when the server dies by a signal or a failed assertion. */
#pragma once

#include <stddef.h>

void crashInit(void); /* installs the handlers; the directives are registered by crashRegister */
void crashRegister(void);
/* memcheck.c: tests the memory of this process, which is beyond repair anyway. Returns the number of words
 * that did not keep what was written to them. */
size_t crashTestMemory(void);
