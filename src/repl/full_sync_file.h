/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync_file.h - a snapshot on disk goes to replicas, each at a pace of its own.
 *
 *     child ─▶ rdbPath() ─▶ $<length> CR LF, the file, to each replica
 *
 * The file may be replaced by a newer one meanwhile: each replica has the one that it began with. */
#pragma once

#include "repl/full_sync_transfer.h"

/* A child has written it: for replicas, or because somebody has asked for it. */
void syncFileMade(bool for_replicas);
/* rdb-del-sync-files: removes it when nobody will ask for it, and only replicas ever have. */
void syncFileRemove(void);
/* The child has written it. False: it cannot be read, which has been logged. */
bool syncFileSend(struct replicaClient *r);
