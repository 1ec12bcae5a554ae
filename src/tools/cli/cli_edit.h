/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_edit.h - reads one line from a terminal, with editing, history, hints after the cursor and
 * completion. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"

struct cli;

void cliEditInit(struct cli *c, int history_max);
void cliEditEnd(void);
void cliEditRemember(const char *line); /* adds to the history of this session */

enum cliEdited {
    CLI_EDIT_LINE,          /* *line is owned by the caller; it has no line end */
    CLI_EDIT_DROPPED,       /* Ctrl-C on a line with text */
    CLI_EDIT_EMPTY_DROPPED, /* Ctrl-C on an empty line */
    CLI_EDIT_END            /* end of the input */
};
enum cliEdited cliEditLine(const char *prompt, sds *line);
