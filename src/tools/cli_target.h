/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_target.h - the file of --rdb, --functions-rdb and --cluster backup, which is there when it is whole.
 *
 * What arrives goes to a temporary file beside the target, which is synced and renamed at the end. So a
 * transfer that fails leaves an earlier file as it was, and nothing that looks like a backup. What is no
 * regular file (a pipe, a device) and standard output, "-", are written to directly. */
#pragma once

#include "base/sds.h"

struct cliTarget {
    int fd;
    sds path;      /* as the user wrote it */
    sds final;     /* where it lies when links are followed */
    sds temporary; /* NULL: written to directly */
};

/* Each of these ends the program with a message and exit code 1 when it fails, without the temporary file.
 * One target is open at a time. */
void cliTargetOpen(struct cliTarget *t, const char *path);
void cliTargetPut(struct cliTarget *t, struct str bytes);
void cliTargetFinish(struct cliTarget *t);
