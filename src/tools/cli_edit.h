/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_edit.h - typing one line at a terminal: editing, history, hints behind the cursor and completion. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"

struct cli;

void cliEditInit(struct cli *c, int history_max);
void cliEditEnd(void);
void cliEditRemember(const char *line); /* in the history of this session */

enum cliEdited {
    CLI_EDIT_LINE,          /* *line is the caller's; without its end */
    CLI_EDIT_DROPPED,       /* Ctrl-C behind something typed, */
    CLI_EDIT_EMPTY_DROPPED, /* or behind nothing */
    CLI_EDIT_END            /* of the input */
};
enum cliEdited cliEditLine(const char *prompt, sds *line);
