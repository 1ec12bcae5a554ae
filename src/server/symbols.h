/* SPDX-License-Identifier: BSD-3-Clause */
/* symbols.h - names of this program's functions, static ones too, for crash reports. */
#pragma once

#include <stddef.h>

/* Makes the program's own table of symbols readable. Once, before there are other threads: from then on they
 * all may look something up, in a signal handler, too. */
void symbolsOpen(void);
/* The function that pc is in, and how far; NULL: it is not the program's, or the table was stripped off. */
const char *symbolsFind(const void *pc, size_t *offset);
