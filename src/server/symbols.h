/* symbols.h - names of this program's functions, static ones too, for crash reports. */
#pragma once

#include <stddef.h>

/* Makes the program's own table of symbols readable. Neither allocates nor takes locks; once is enough. */
void symbolsOpen(void);
/* The function that pc is in, and how far; NULL: it is not the program's, or the table was stripped off. */
const char *symbolsFind(const void *pc, size_t *offset);
