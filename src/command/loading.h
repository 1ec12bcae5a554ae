/* loading.h - the time while a file is read into the databases: clients get -LOADING, INFO shows progress.
 *
 * The loader calls loadingProgress often; now and then that lets the loop serve clients. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

void loadingStart(uint64_t total_bytes, bool from_aof);
void loadingProgress(uint64_t bytes); /* read so far, of all files; cheap */
void loadingStop(bool success);
bool loadingActive(void);
extern const char err_loading[]; /* LOADING Valkey is loading the dataset in memory */
bool loadingFromAof(void);       /* only while active */
void loadingInit(
    void); /* INFO fields, directive loading-process-events-interval-bytes, the -LOADING filter */
