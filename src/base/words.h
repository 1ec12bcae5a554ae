/* SPDX-License-Identifier: BSD-3-Clause */
/* words.h - words of a command line, parts of which may be quoted.
 *
 *     set  key  "two words\n"  'it\'s'  a"b c"d
 *
 * Blanks separate. "..." knows \n \r \t \a \b \xHH, and any other byte behind a backslash as itself;
 * '...' knows \' only. */
#pragma once

#include <stddef.h>

/* Reads the word at p, which is no blank, and writes what it means to dst, which may be p: it is never
 * written ahead of what is read. *len is its length. Returns what is behind the word, or NULL: a quote is not
 * closed. Space, tab, CR and LF end a word; \v and \f are part of one. */
const char *wordRead(const char *p, const char *end, char *dst, size_t *len);

/* The letter that stands for c behind a backslash; 0: none does. */
char escapeLetter(char c);
