/* SPDX-License-Identifier: BSD-3-Clause */
/* snapshot.h - the RDB file of this server: SAVE, BGSAVE, LASTSAVE, save points, loading at start, and what
 * happens to it at FLUSHALL, SHUTDOWN and DEBUG RELOAD. The format is in rdb_file.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Loads the file, if there is one, and logs how long it took; exits when it cannot be read. Called by
 * server/main.c when the loop exists and nothing runs yet. */
void snapshotLoadAtStart(void);
/* For atExitRegister: false when the data should have been saved and could not be. */
bool snapshotOnExit(int flags);

/* Sets dbstats.dirty back to `dirty`, or to where the last snapshot was taken if that is higher: what has
 * been loaded since counts as no change. */
void snapshotResetChanges(uint64_t dirty);

void snapshotInit(void); /* directives, INFO fields, cron, commands' filter, DEBUG RELOAD */
