/* SPDX-License-Identifier: BSD-3-Clause */
/* aof_private.h - what the parts of the append-only file share: aof.c (writing), aof_load.c,
 * aof_rewrite.c. */
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
    AOF_WAITING, /* switched on while running: the first rewrite is not done */
};
enum { AOF_FSYNC_NO, AOF_FSYNC_ALWAYS, AOF_FSYNC_EVERYSEC };

struct aof {
    enum aofState state;
    struct aofManifest manifest;
    int fd; /* the increment that is written; -1: none */
    sds buf;
    uint64_t size;      /* of all files in use */
    uint64_t base_size; /* the same after the last rewrite, or at start */
    uint64_t incr_size; /* bytes of this increment that are whole commands, on the disk or not */
    bool rewrite_scheduled;
};
extern struct aof aof;

/* Directives. */
extern sds aof_dir, aof_filename;
extern bool aof_timestamps, aof_use_rdb_preamble, aof_load_truncated, aof_rewrite_incremental_fsync;
extern int aof_fsync;

/* ---- aof.c ---- */
/* What each state means; for the moments between its changes. */
void aofAssertState(void);

sds aofFileName(int64_t seq, char type, bool rdb);  /* appendonly.aof.2.base.rdb */
bool aofWriteManifest(const struct aofManifest *m); /* false: logged */
bool aofMakeDir(void);
/* Everything in the buffer goes to the file; force: even if a write has failed a moment ago. */
void aofFlush(bool force);
/* Take this file, already open, as the increment; the one before is synced and closed on the thread. */
void aofUseIncrement(int fd, uint64_t size);
void aofSetSink(bool on);    /* is the sink there? */
sds aofTempIncrement(void); /* path of the increment while AOF_WAITING */
/* Adds an increment to m and opens it. -1: logged. */
int aofOpenIncrement(struct aofManifest *m);

bool aofSwitchOn(const char **err); /* the first base is made by a child. False: logged, and *err */
void aofSwitchOff(void);

/* ---- aof_replace.c ---- */
void aofReplaceInit(void); /* data/server_state/persistence.h: aofStop, aofRestart */

/* ---- aof_load.c ---- */
enum aofLoaded { AOF_LOADED, AOF_CUT, AOF_EMPTY, AOF_FAILED };
/* All files of the manifest; sets sizes. AOF_CUT: the last file ended amid a command or a transaction, which
 * is gone; AOF_FAILED: logged. */
enum aofLoaded aofLoad(void);

/* ---- aof_rewrite.c ---- */
bool aofRewriteStart(const char **err);
bool aofRewriteFile(const char *path, void (*progress)(uint64_t keys)); /* the base; false: logged */
void aofRewriteCancel(void);                                            /* kills a rewrite under way */
void aofRewriteInit(void);
sds aofRewriteInfo(sds s);
void aofDeleteHistory(void);
/* Unfinished files of a server that was killed, in the folder of the append-only file,
 * which is ours alone. */
void aofDeleteTemporaryFiles(void);
