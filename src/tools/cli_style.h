/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_style.h - how text looks at a terminal: colours, widths, what can be shown as it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/sds.h"

/* Escape sequences, all of them empty where there are no colours. The colours are those of the terminal's own
 * palette that can be read on light and on dark; what matters less is faint, in the colour of the text. */
struct cliPalette {
    const char *text, *number, *null, *error, *faint, *head, *end;
};
const struct cliPalette *cliPalette(bool colour);

enum cliWhen { CLI_AUTO, CLI_ALWAYS, CLI_NEVER };
/* Whether standard output gets colours: on a terminal, unless NO_COLOR is set or TERM is dumb. */
bool cliWantsColour(enum cliWhen when);

size_t cliTerminalWidth(void); /* 80 by 24 when there is no terminal */
size_t cliTerminalHeight(void);

/* Columns that the text takes; escape sequences that set colours take none. */
size_t cliColumns(struct str text);
/* How many of its bytes fit into so many columns: whole characters. */
size_t cliFit(struct str text, size_t columns);
/* Rows that it takes on a terminal of this width. */
size_t cliRows(struct str text, size_t width);

/* The text with what cannot be shown in this locale as \n or \xHH; `quotes` puts it in quotes, and escapes
 * quotes and backslashes in it, so that it can be typed. */
sds cliCatReadable(sds out, struct str text, bool quotes);
/* A word as it is typed at the prompt: in quotes where it needs them. */
sds cliCatWord(sds out, struct str word);
