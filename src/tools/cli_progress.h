/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_progress.h - how far a long run has come: a line on standard error, where that is a terminal, that is
 * drawn anew some times a second once the run has taken a second. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cliProgress {
    const char *what; /* "keys"; NULL: bytes */
    int64_t total;    /* -1: not known */
    int64_t start_us, shown_us;
    bool is_on, is_shown;
};

/* Begins now. */
struct cliProgress cliProgressStart(const char *what, int64_t total);
/* `done` of them; `more`, which may be empty, comes behind the figures. */
void cliProgressShow(struct cliProgress *p, int64_t done, const char *more);
/* Something else is about to be printed, or the run has ended. */
void cliProgressClear(struct cliProgress *p);
