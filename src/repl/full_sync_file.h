/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync_file.h - sends a snapshot from disk to replicas, each at its own pace.
 *
 *     child ─▶ rdbPath() ─▶ $<length> CR LF, the file, to each replica
 *
 * The file may be replaced by a newer one meanwhile: each replica gets the one that it began with. */
#pragma once

#include "repl/full_sync_transfer.h"

/* A child has written the file, for replicas or for another reason. */
void syncFileNoteSaved(bool for_replicas);
/* Removes the file when it was written for replicas only and nothing else needs it (rdb-del-sync-files). */
void syncFileRemove(void);
/* Starts to send the file to r. Returns false when it cannot be read, which has been logged. */
bool syncFileSend(struct replicaClient *r);
