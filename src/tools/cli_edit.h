/* cli_edit.h - typing one line at a terminal: editing, history, hints behind the cursor and completion. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "tools/cli_docs.h"

struct cli;

/* The documentation of the server's commands, asked for when it has not been yet; perhaps there is none. */
const struct cliDocs *cliDocsOf(struct cli *c);

void cliEditInit(struct cli *c, int history_max);
void cliEditEnd(void);
void cliEditRemember(const char *line); /* in the history of this session */
/* A line without its end, or NULL at the end of input. It is the caller's. */
sds cliEditLine(const char *prompt);
