/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_style.h - text at a terminal: colours, widths, and escapes for what cannot be shown as it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/sds.h"

/* Escape sequences, which are empty strings without colours. The colours belong to the terminal's own
 * palette and can be read on light and on dark; less important text is faint. */
struct cliPalette {
    const char *text, *number, *null, *error, *faint, *head, *end;
};
const struct cliPalette *cliPalette(bool colour);

enum cliWhen { CLI_AUTO, CLI_ALWAYS, CLI_NEVER };
/* Whether standard output gets colours: on a terminal, unless NO_COLOR is set or TERM is dumb. */
bool cliWantsColour(enum cliWhen when);

size_t cliTerminalWidth(void); /* 80 by 24 without a terminal */
size_t cliTerminalHeight(void);

/* Returns the columns that the text takes; escape sequences for colours take none. */
size_t cliColumns(struct str text);
/* Returns how many bytes of the text fit into that many columns; characters stay whole. */
size_t cliFit(struct str text, size_t columns);
/* Returns the rows that the text takes on a terminal of this width. */
size_t cliRows(struct str text, size_t width);

/* Appends the text; what cannot be shown in this locale becomes
 *  or \xHH. `quotes` puts it in quotes, and escapes quotes and backslashes, so that it can be typed. */
sds cliCatReadable(sds out, struct str text, bool quotes);
/* Appends a word as it is typed at the prompt: in quotes if it needs them. */
sds cliCatWord(sds out, struct str word);
