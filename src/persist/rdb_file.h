/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb_file.h - a dataset (data/rdb/rdb_dataset.h) as a file with a name. */
#pragma once

#include <sys/types.h>

#include "base/sds.h"
#include "data/rdb/rdb_dataset.h"

/* To a temporary file beside `path`, synced, renamed to it, the directory synced. False: errno, and the old
 * file is as it was; what happened has been logged. */
bool rdbSaveFile(const char *path, const struct rdbSaveOptions *options);
/* What a process that was killed in rdbSaveFile has left. */
void rdbRemoveTemporary(const char *path, pid_t pid);

enum rdbFileResult {
    RDB_FILE_OK,
    RDB_FILE_MISSING,
    RDB_FILE_BAD, /* some keys may have been loaded */
};
/* Between loadingStart and loadingStop. BAD: *error is the caller's. */
enum rdbFileResult rdbLoadFile(const char *path, const struct rdbLoadOptions *options, sds *error);

extern bool rdb_incremental_fsync; /* rdb-save-incremental-fsync; registered by persist/snapshot.c */
