/* SPDX-License-Identifier: BSD-3-Clause */
/* words.h - splits a command line into words, parts of which may be quoted.
 *
 *     set  key  "two words\n"  'it\'s'  a"b c"d
 *
 * Blanks separate words. "..." knows \n \r \t \a \b \xHH and any other byte behind a backslash as
 * itself; '...' only knows \'. */
#pragma once

#include <stddef.h>

/* Reads the word at p, which is no blank, and writes its meaning to dst, which may be p as it is never
 * written ahead of what is read. *len is its length. Returns what follows the word, or NULL when a quote is
 * not closed. Space, tab, CR and LF end a word; \v and \f are part of one. */
const char *wordRead(const char *p, const char *end, char *dst, size_t *len);

/* Returns the letter that stands for c behind a backslash; 0: there is none. */
char escapeLetter(char c);
