/* SPDX-License-Identifier: BSD-3-Clause */
/* loading.h - the time while a file is read into the databases: clients get -LOADING, INFO shows progress.
 *
 * The loader calls loadingProgress often; now and then that lets the loop serve clients. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "registry/server_events.h"

void loadingStart(enum eventLoading what, uint64_t total_bytes);
/* The same for data that is read beside the living databases, to take their place at the end. serving: what
 * these hold stays good to read meanwhile, so only commands that would get in the way, or whose effect would
 * be lost, get -LOADING. */
void loadingStartBeside(uint64_t total_bytes, bool serving);
/* There is nothing to read for now: serves clients, and waits for whatever happens next in the loop, at most
 * so long. */
void loadingWait(int64_t max_ms);
void loadingProgress(uint64_t bytes); /* read so far, of all files; cheap */
void loadingBegun(uint64_t bytes);    /* the commands of a file are read from now on; so far so much */
void loadingStop(bool success);
bool loadingActive(void);            /* of any kind; db_loading: into the databases */
void loadingReply(struct client *c); /* the error: -LOADING Valkey is loading the dataset in memory */
void loadingInit(
    void); /* INFO fields, directive loading-process-events-interval-bytes, the -LOADING filter */
