/* SPDX-License-Identifier: BSD-3-Clause */
/* aof_manifest.h - the manifest: which files make up the append-only file, and in what order.
 *
 *     file appendonly.aof.2.base.rdb seq 2 type b        at most one: the data when it was written
 *     file appendonly.aof.3.incr.aof seq 3 type i        any number: commands since then, oldest first
 *     file appendonly.aof.1.base.rdb seq 1 type h        history: replaced, about to be deleted
 *
 * The manifest is a text file in `appenddirname`, replaced as a whole by rename. A name with spaces or
 * special characters is quoted. Lines that begin with # are comments. (Format as of Valkey 7.2.) */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sds.h"

#define AOF_MANIFEST_SUFFIX ".manifest"
#define AOF_TEMP_PREFIX     "temp-"

struct aofFile {
    sds name;
    int64_t seq;
    char type; /* 'b', 'i', 'h' */
};
struct aofManifest {
    struct aofFile *files; /* base, increments by seq, history */
    size_t count;
};

/* Reads a manifest. False: *error, owned by the caller, says why, and m is empty. A missing file is an
 * error as well (errno ENOENT). */
bool aofManifestRead(const char *path, struct aofManifest *m, sds *error);
/* Writes a manifest completely or not at all, and syncs it and its folder. False: errno. If only the folder
 * could not be synced, the manifest is in its place, *synced is false, and errno says why: after a loss of
 * power it may be the former one that is there. */
bool aofManifestWrite(const char *dir, const char *name, const struct aofManifest *m, bool *synced);
/* Returns the text of the file, which the caller frees. */
sds aofManifestText(const struct aofManifest *m);
struct aofManifest aofManifestCopy(const struct aofManifest *m);
void aofManifestFree(struct aofManifest *m);

struct aofFile *aofManifestBase(const struct aofManifest *m); /* NULL: none */
struct aofFile *aofManifestLast(const struct aofManifest *m); /* last increment; NULL: none */
int64_t aofManifestNextSeq(const struct aofManifest *m, char type);
/* Adds a file at the position that belongs to its type. The name is taken over. */
void aofManifestAdd(struct aofManifest *m, sds name, int64_t seq, char type);
/* Makes the base, and the increments below `seq`, history. */
void aofManifestRetire(struct aofManifest *m, int64_t seq);
void aofManifestDropHistory(struct aofManifest *m);

sds aofPath(const char *dir, const char *name); /* dir/name */
