/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_complete.h - what a line that is being typed can be completed to: by the documentation of the commands,
 * and by the names that the server has. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"

struct cli;

struct cliFound {
    sds *lines; /* whole lines, up to the cursor, in order */
    sds *names; /* NULL, or the names that the lines end with, which the server has */
    int count;
    sds common; /* NULL, or the line with what all names have in common, which is more than is typed */
};

struct cliFound cliComplete(struct cli *c, const char *line);
void cliFoundFree(struct cliFound *f);
/* The connection that names are asked by, if there is one. */
void cliCompleteEnd(void);
