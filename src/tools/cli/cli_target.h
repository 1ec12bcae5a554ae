/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_target.h - the file of --rdb, --functions-rdb and --cluster backup, which appears only when it is
 * complete.
 *
 * Data that arrives goes to a temporary file in the same directory, which is synced and renamed at the
 * end. A transfer that fails leaves an earlier file as it was, and nothing that looks like a backup.
 * Standard output ("-") and files that are not regular (a pipe, a device) are written to directly. */
#pragma once

#include "base/sds.h"

struct cliTarget {
    int fd;
    sds path;      /* as the user wrote it */
    sds final;     /* the path with links followed */
    sds temporary; /* NULL if `final` is written to directly */
};

/* On failure each of these removes the temporary file and ends the program with a message and exit code
 * 1. Only one target may be open at a time. */
void cliTargetOpen(struct cliTarget *t, const char *path);
void cliTargetPut(struct cliTarget *t, struct str bytes);
void cliTargetFinish(struct cliTarget *t);
