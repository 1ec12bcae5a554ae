/* SPDX-License-Identifier: BSD-3-Clause */
/* words.c - see words.h. */
#include "base/words.h"

#include <stdbool.h>

#include "base/str.h"

static const char escapes[][2] = {{'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}, {'\a', 'a'}, {'\b', 'b'}};
#define ESCAPES (sizeof escapes / sizeof *escapes)

char escapeLetter(char c) {
    for (size_t i = 0; i < ESCAPES; i++)
        if (escapes[i][0] == c) return escapes[i][1];
    return c == '\\' || c == '"' ? c : 0;
}

static char wordsEscapeMeaning(char letter) {
    for (size_t i = 0; i < ESCAPES; i++)
        if (escapes[i][1] == letter) return escapes[i][0];
    return letter;
}

/* Reads the escape at p, which is a backslash with a byte behind it; *c is its meaning. Returns its end. */
static const char *wordsReadEscape(const char *p, const char *end, char *c) {
    if (end - p >= 4 && p[1] == 'x' && charHexDigit(p[2]) >= 0 && charHexDigit(p[3]) >= 0) {
        *c = (char)(charHexDigit(p[2]) << 4 | charHexDigit(p[3]));
        return p + 4;
    }
    *c = wordsEscapeMeaning(p[1]);
    return p + 2;
}

/* Reads the quoted text that opens at p. Returns what follows the closing quote; NULL: there is none. */
static const char *wordsReadQuoted(const char *p, const char *end, char **dst) {
    char quote = *p++;
    while (p < end && *p != quote) {
        char c = *p;
        bool escaped = c == '\\' && p + 1 < end;
        if (escaped && quote == '"') {
            p = wordsReadEscape(p, end, &c);
        } else if (escaped && p[1] == '\'') {
            c = '\'';
            p += 2;
        } else {
            p++;
        }
        *(*dst)++ = c;
    }
    return p < end ? p + 1 : NULL;
}

static bool wordsEndsWord(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

const char *wordRead(const char *p, const char *end, char *dst, size_t *len) {
    char *start = dst;
    while (p && p < end && !wordsEndsWord(*p)) {
        if (*p == '"' || *p == '\'')
            p = wordsReadQuoted(p, end, &dst);
        else
            *dst++ = *p++;
    }
    *len = (size_t)(dst - start);
    return p;
}
