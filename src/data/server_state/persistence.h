/* SPDX-License-Identifier: BSD-3-Clause */
/* persistence.h - what other rooms ask of the one that keeps the dataset in files. persist/ fills the table
 * in when it starts; a function that is NULL is not there (tests of this floor). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/rdb/rdb_dataset.h"

struct persistence {
    /* ---- The RDB file ---- */
    const char *(*rdbPath)(void);
    bool (*hasSavePoints)(void);
    /* A child writes the dataset to rdbPath(), as BGSAVE does; the listener below hears of its end. False:
     * *err says why. */
    bool (*saveInBackground)(const struct rdbSaveOptions *options, const char **err);
    /* Any file, now. 0, or an errno; why has been logged. loadFrom adds to what is there: EIO, it could not
     * be read. */
    int (*saveTo)(const char *path);
    int (*loadFrom)(const char *path);

    /* ---- The append-only file ---- */
    bool (*aofEnabled)(void); /* appendonly yes */
    /* Around the loading of another dataset: what is there is given up, and a new base made of what was
     * loaded. rdb: a whole RDB file, on the disk, that holds just that; it may become the base (then it is
     * moved). NULL: there is none. False: it could not be, which has been logged. */
    void (*aofStop)(void);
    bool (*aofRestart)(const char *rdb);
    /* All that was propagated is in the file, as far as its units have ended; with `always` on the disk. */
    void (*aofWrite)(void);
    /* Would a loss of power leave what was propagated up to there (propagateOffset)? And up to where would
     * it? */
    bool (*aofHasSynced)(uint64_t offset);
    uint64_t (*aofSyncedOffset)(void);
};
extern struct persistence persistence;
static inline bool persistenceAofOn(void) {
    return persistence.aofEnabled && persistence.aofEnabled();
}

/* rdb-del-sync-files: no file stays that was only needed for a synchronization, where persistence is off.
 * Registered by persist/snapshot.c. */
extern bool rdb_del_sync_files;

/* A save in the background to rdbPath() has ended; in the order of registration. */
void persistenceOnSaved(void (*fn)(bool success));
void persistenceSaved(bool success); /* for persist/ */
/* The dataset has been read at the start (from_aof: not from the RDB file, and `replication` is not known).
 */
void persistenceOnLoaded(void (*fn)(const struct rdbReplication *replication, bool from_aof));
void persistenceLoaded(const struct rdbReplication *replication, bool from_aof); /* for persist/ */
