/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_progress.h - the progress of a long run: a line on standard error, if that is a terminal, which is
 * redrawn some times per second once the run has taken a second. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cliProgress {
    const char *what; /* "keys"; NULL: bytes */
    int64_t total;    /* -1 if unknown */
    int64_t start_us, shown_us;
    bool is_on, is_shown;
};

/* Starts the clock. */
struct cliProgress cliProgressStart(const char *what, int64_t total);
/* Shows that `done` of the total are done; `more`, which may be empty, follows the figures. */
void cliProgressShow(struct cliProgress *p, int64_t done, const char *more);
/* Removes the line, before other output and at the end of the run. */
void cliProgressClear(struct cliProgress *p);
