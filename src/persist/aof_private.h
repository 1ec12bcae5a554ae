/* SPDX-License-Identifier: BSD-3-Clause */
/* aof_private.h - what the parts of the append-only file share: aof.c (writing), aof_load.c,
 * aof_replace.c, aof_rewrite.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sds.h"
#include "persist/aof.h"
#include "persist/aof_manifest.h"

#define AOF_TIMESTAMP "#TS:%lld\r\n" /* Unix time in seconds: what follows was written then or later */

enum aofState {
    AOF_OFF,
    AOF_ON,
    AOF_WAITING, /* switched on while running: the first rewrite has not ended yet */
};
enum { AOF_FSYNC_NO, AOF_FSYNC_ALWAYS, AOF_FSYNC_EVERYSEC };

struct aof {
    enum aofState state;
    struct aofManifest manifest;
    int fd; /* the increment that is being written; -1: none */
    sds buf;
    uint64_t size;      /* bytes of all files in use */
    uint64_t base_size; /* `size` after the last rewrite, or at start */
    uint64_t incr_size; /* bytes of whole commands in this increment, on the disk or not */
    bool rewrite_scheduled;
};
extern struct aof aof;

/* Directives. */
extern sds aof_dir, aof_filename;
extern int64_t aof_load_corrupt_tail_max; /* bytes; a tail has to be shorter */
extern bool aof_timestamps, aof_use_rdb_preamble, aof_load_truncated, aof_rewrite_incremental_fsync;

/* ---- aof.c ---- */
/* Asserts the invariants of the present state; for the moments between its changes. */
void aofAssertState(void);

sds aofFileName(int64_t seq, char type, bool rdb);  /* returns e.g. appendonly.aof.2.base.rdb */
bool aofWriteManifest(const struct aofManifest *m); /* false: logged */
bool aofSyncManifest(void); /* syncs the name of the manifest, if that has failed before */
bool aofMakeDir(void);
/* Writes the buffer to the file; force: even if a write has just failed. Does nothing without a file. */
void aofFlush(bool force);
/* Before aofSyncIncrement: has a thread sync what is more than a little. False: that has not ended yet. */
bool aofSyncAhead(void);
/* Waits until the disk has all of the increment, and of those before it. False: logged. */
bool aofSyncIncrement(void);
/* Makes this open file the increment; the former one is synced and closed on the thread. */
void aofUseIncrement(int fd, uint64_t size);
void aofSetSink(bool on);   /* adds or removes the sink */
sds aofTempIncrement(void); /* returns the path of the increment while AOF_WAITING */
/* Adds an increment to m and opens it. Returns the fd; -1: logged. */
int aofOpenIncrement(struct aofManifest *m);

bool aofSwitchOn(const char **err); /* a child writes the first base; false: logged, and *err */
void aofSwitchOff(void);

/* ---- aof_replace.c ---- */
void aofReplaceInit(void); /* data/server_state/persistence.h: aofStop, aofRestart */

/* ---- aof_load.c ---- */
enum aofLoaded { AOF_LOADED, AOF_CUT, AOF_EMPTY, AOF_FAILED };
/* Loads all files of the manifest and sets the sizes. AOF_CUT: the last file ended within a command or a
 * transaction, which has been cut off. AOF_FAILED: logged. */
enum aofLoaded aofLoad(void);

/* ---- aof_rewrite.c ---- */
bool aofRewriteStart(const char **err);
bool aofRewriteFile(const char *path); /* writes a base; false: logged */
void aofRewriteCancel(void);           /* kills a running rewrite */
void aofRewriteInit(void);
sds aofRewriteInfo(sds s);
void aofDeleteHistory(void);
/* Deletes unfinished files of a server that was killed. They are in the folder of the append-only file,
 * which only this server uses. */
void aofDeleteTemporaryFiles(void);
