/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_style.c - see cli_style.h. */
#define _GNU_SOURCE /* wcwidth */
#include "tools/cli/cli_style.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

/* ---- Colours ---- */

const struct cliPalette *cliPalette(bool colour) {
    static const struct cliPalette plain = {"", "", "", "", "", "", ""};
    static const struct cliPalette colours = {.text = "\033[32m",
                                              .number = "\033[36m",
                                              .null = "\033[35m",
                                              .error = "\033[31m",
                                              .faint = "\033[2m",
                                              .head = "\033[1m",
                                              .end = "\033[0m"};
    return colour ? &colours : &plain;
}

bool cliWantsColour(enum cliWhen when) {
    if (when != CLI_AUTO) return when == CLI_ALWAYS;
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

/* ---- Sizes ---- */

static struct winsize cliStyleTerminalSize(void) {
    struct winsize size = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_col) size.ws_col = 80;
    if (!size.ws_row) size.ws_row = 24;
    return size;
}

size_t cliTerminalWidth(void) {
    return cliStyleTerminalSize().ws_col;
}

size_t cliTerminalHeight(void) {
    return cliStyleTerminalSize().ws_row;
}

/* Returns the length of "\033[...m" at p; 0 if there is none. */
static size_t cliStyleEscapeLength(const char *p, size_t len) {
    if (len < 3 || p[0] != '\033' || p[1] != '[') return 0;
    for (size_t i = 2; i < len; i++) {
        if (p[i] == 'm') return i + 1;
        if (!strchr("0123456789;", p[i])) return 0;
    }
    return 0;
}

/* Returns the bytes of the character at p, and its columns. An invalid byte counts as one column. */
static size_t cliStyleCharacterAt(const char *p, size_t len, size_t *columns) {
    size_t escape = cliStyleEscapeLength(p, len);
    *columns = 0;
    if (escape) return escape;
    mbstate_t state = {0};
    wchar_t wide;
    size_t bytes = (unsigned char)*p < 0x80 ? 0 : mbrtowc(&wide, p, len, &state);
    bool one_byte = bytes == 0 || bytes > len;
    int width = one_byte ? 1 : wcwidth(wide);
    *columns = width < 0 ? 1 : (size_t)width;
    return one_byte ? 1 : bytes;
}

size_t cliFit(struct str text, size_t columns) {
    size_t at = 0, used = 0;
    while (at < text.len) {
        size_t width, bytes = cliStyleCharacterAt(text.ptr + at, text.len - at, &width);
        if (used + width > columns) break;
        used += width;
        at += bytes;
    }
    return at;
}

size_t cliColumns(struct str text) {
    size_t total = 0;
    for (size_t at = 0, width; at < text.len; total += width)
        at += cliStyleCharacterAt(text.ptr + at, text.len - at, &width);
    return total;
}

size_t cliRows(struct str text, size_t width) {
    size_t rows = 0;
    for (const char *at = text.ptr, *end = at + text.len; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        size_t columns = cliColumns(strN(at, (size_t)(stop - at)));
        rows += columns ? (columns + width - 1) / width : 1;
        at = stop + 1;
    }
    return rows;
}

/* ---- Characters ---- */

/* Returns true for marks that change the direction of text or are invisible; they are shown as bytes. */
static bool cliStyleIsHidden(wchar_t c) {
    return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
           c == 0xfeff || c == 0xad || c == 0x61c;
}

/* Returns the bytes of the non-ASCII character at p if it can be shown unchanged, else 0. */
static size_t cliStyleShownAsIs(const char *p, size_t len) {
    mbstate_t state = {0};
    wchar_t wide;
    size_t bytes = mbrtowc(&wide, p, len, &state);
    if (bytes == 0 || bytes > len) return 0;
    return iswprint((wint_t)wide) && wcwidth(wide) >= 0 && !cliStyleIsHidden(wide) ? bytes : 0;
}

sds cliCatReadable(sds out, struct str text, bool quotes) {
    if (quotes) out = sdscat(out, "\"");
    for (size_t i = 0, bytes; i < text.len; i += bytes) {
        unsigned char byte = (unsigned char)text.ptr[i];
        bool is_plain = byte >= 0x20 && byte < 0x7f && !(quotes && (byte == '"' || byte == '\\'));
        bytes = byte < 0x80 ? is_plain : cliStyleShownAsIs(text.ptr + i, text.len - i);
        if (bytes) {
            out = sdscatlen(out, text.ptr + i, bytes);
            continue;
        }
        sds escaped = sdscatrepr(sdsempty(), text.ptr + i, 1);
        out = sdscatlen(out, escaped + 1, sdslen(escaped) - 2);
        sdsfree(escaped);
        bytes = 1;
    }
    return quotes ? sdscat(out, "\"") : out;
}

sds cliCatWord(sds out, struct str word) {
    bool bare = word.len > 0;
    for (size_t i = 0, bytes; bare && i < word.len; i += bytes) {
        unsigned char byte = (unsigned char)word.ptr[i];
        bytes = byte < 0x80 ? byte > ' ' && byte < 0x7f && !strchr("\"'\\", byte)
                            : cliStyleShownAsIs(word.ptr + i, word.len - i);
        bare = bytes > 0;
    }
    return bare ? sdscatstr(out, word) : cliCatReadable(out, word, true);
}
