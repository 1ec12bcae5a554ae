/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb_file.h - saves and loads a dataset (data/rdb/rdb_dataset.h) as a file with a name. */
#pragma once

#include <sys/types.h>

#include "base/sds.h"
#include "data/rdb/rdb_dataset.h"

/* Writes a temporary file beside `path`, syncs it, renames it to `path` and syncs the directory. sync_bytes:
 * it is also synced each time that many bytes have been written, if not 0. False: errno is set, the reason
 * has been logged, and the old file is unchanged. In the thread of a snapshot (data/forkless/) the caller
 * reports SERVER_PERSISTENCE, on the main thread. */
bool rdbSaveFile(const char *path, const struct rdbSaveOptions *options, uint64_t sync_bytes);
/* Deletes what a process that was killed in rdbSaveFile has left. */
void rdbRemoveTemporary(const char *path, pid_t pid);

enum rdbFileResult {
    RDB_FILE_OK,
    RDB_FILE_MISSING,
    RDB_FILE_BAD, /* some keys may have been loaded */
};
/* Loads the file between loadingStart and loadingStop. BAD: *error, owned by the caller, says why. */
enum rdbFileResult rdbLoadFile(const char *path, const struct rdbLoadOptions *options, sds *error);
