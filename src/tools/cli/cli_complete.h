/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_complete.h - completions of a line that is being typed, from the documentation of the commands and
 * the names that the server has. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"

struct cli;

struct cliFound {
    sds *lines; /* complete lines up to the cursor, in order */
    sds *names; /* NULL, or the names on the server that the lines end with */
    int count;
    sds common; /* NULL, or the line with the common prefix of all names, if that is longer than what is typed
                 */
};

struct cliFound cliComplete(struct cli *c, const char *line);
void cliFoundFree(struct cliFound *f);
/* Closes the connection that asks for names, if there is one. */
void cliCompleteEnd(void);
