/* SPDX-License-Identifier: BSD-3-Clause */
/* spill_file.h - a temporary file without a name, for bytes that wait too long to be kept in memory.
 *
 *     main thread: put ──▶ | chunk | chunk | chunk |  ──▶ writer thread ──▶ file
 *                            in memory until written           reader thread ◀── or a chunk
 *
 * Bytes are put one behind the other and read at the offsets that they got, in any order, by one other
 * thread. No function that the main thread calls waits for the disk. The writer thread starts with the first
 * chunk; it makes the file, in the working directory, and removes its name at once, so that nothing is left
 * whatever ends the process.
 *
 * When the file cannot be made or written, nothing more is taken. What has been taken can still be read:
 * chunks that were not written stay in memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sds.h"

struct spillExtent {
    uint64_t offset, bytes;
};

struct spillFile;
struct spillFile *spillFileCreate(void);
/* ---- Main thread ---- */
/* False: the file has failed, and the bytes are still the caller's. */
bool spillFilePut(struct spillFile *f, sds bytes, struct spillExtent *at);
uint64_t spillFileWaiting(const struct spillFile *f); /* bytes that are still in memory */
uint64_t spillFileTaken(const struct spillFile *f);   /* all bytes that were put */
int spillFileError(const struct spillFile *f);        /* errno; 0: none */
void spillFileCancel(struct spillFile *f);            /* the reader gets nothing more */
void spillFileFree(struct spillFile *f); /* after the end of the reader; closes the file on its thread */
/* ---- Reader thread ---- */
/* Reads from 1 to n bytes that have been put; waits while they are being written. 0: *error says why, or is
 * ECANCELED. */
size_t spillFileRead(struct spillFile *f, uint64_t offset, char *p, size_t n, int *error);
