/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb_file.h - saves and loads a dataset (data/rdb/rdb_dataset.h) as a file with a name. */
#pragma once

#include <sys/types.h>

#include "base/sds.h"
#include "data/rdb/rdb_dataset.h"

/* Writes a temporary file beside `path`, syncs it, renames it to `path` and syncs the directory. False: errno
 * is set, the reason has been logged, and the old file is unchanged. */
bool rdbSaveFile(const char *path, const struct rdbSaveOptions *options);
/* Deletes what a process that was killed in rdbSaveFile has left. */
void rdbRemoveTemporary(const char *path, pid_t pid);

enum rdbFileResult {
    RDB_FILE_OK,
    RDB_FILE_MISSING,
    RDB_FILE_BAD, /* some keys may have been loaded */
};
/* Loads the file between loadingStart and loadingStop. BAD: *error, owned by the caller, says why. */
enum rdbFileResult rdbLoadFile(const char *path, const struct rdbLoadOptions *options, sds *error);

extern bool rdb_incremental_fsync; /* rdb-save-incremental-fsync; registered by persist/snapshot.c */
