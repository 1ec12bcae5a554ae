/* SPDX-License-Identifier: BSD-3-Clause */
/* loading.h - the time while a file is read into the databases: clients get -LOADING, INFO shows progress.
 *
 * The loader calls loadingProgress often; now and then that lets the loop serve clients. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "registry/server_events.h"

void loadingStart(enum eventLoading what, uint64_t total_bytes);
/* As loadingStart, for data that is read beside the current databases and replaces them at the end. serving:
 * the current data may be read meanwhile, so only commands that would interfere, or whose effect would be
 * lost, get -LOADING. */
void loadingStartBeside(uint64_t total_bytes, bool serving);
/* Serves clients while there is nothing to read, until an event happens, at most so long. */
void loadingWait(int64_t max_ms);
void loadingProgress(uint64_t bytes); /* bytes read so far, of all files; cheap */
/* As loadingProgress, for a compressed file: clients are served as often as the position in its contents
 * demands, which may be far ahead of the bytes read. */
void loadingProgressDecoded(uint64_t bytes, uint64_t decoded);
void loadingStartCommands(uint64_t bytes); /* commands of a file are read from now on; so many bytes so far */
void loadingStop(bool success);
bool loadingActive(void);            /* Active: any load. db_loading (data/): a load into the databases */
void loadingReply(struct client *c); /* the error: -LOADING Valkey is loading the dataset in memory */
/* INFO fields, directive loading-process-events-interval-bytes, the -LOADING filter. */
void loadingInit(void);
