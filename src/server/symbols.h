/* SPDX-License-Identifier: BSD-3-Clause */
/* symbols.h - names of this program's functions, static ones too, for crash reports. */
#pragma once

#include <stddef.h>

/* Maps the program's own symbol table. Called once, before other threads exist. From then on any thread may
 * look symbols up, also in a signal handler. */
void symbolsOpen(void);
/* Finds the function that contains pc, and the offset in it. Returns NULL if pc is not in the program or
 * it was stripped. */
const char *symbolsFind(const void *pc, size_t *offset);
