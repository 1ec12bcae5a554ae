/* SPDX-License-Identifier: BSD-3-Clause */
/* persistence.h - what other modules need from persist/, which keeps the dataset in files. persist/ fills the
 * table in when it starts; in the tests of this layer, functions are NULL. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/rdb/rdb_dataset.h"

struct persistence {
    /* ---- The RDB file ---- */
    const char *(*rdbPath)(void);
    bool (*hasSavePoints)(void);
    /* A child writes the dataset to rdbPath(), as BGSAVE does; the listener below is called at its end.
     * False: *err says why. */
    bool (*saveInBackground)(const struct rdbSaveOptions *options, const char **err);
    /* Writes any file, now. Returns 0 or an errno; the reason has been logged. loadFrom adds a file to the
     * present dataset; EIO: it could not be read. */
    int (*saveTo)(const char *path);
    int (*loadFrom)(const char *path);

    /* ---- The append-only file ---- */
    bool (*aofEnabled)(void); /* appendonly yes */
    /* Called around the loading of another dataset: aofStop gives the present file up, aofRestart makes a new
     * base of what was loaded. `rdb` is the path of a whole RDB file on the disk with exactly this dataset,
     * which may become the base (and is moved then), or NULL. False: it failed, which has been logged. */
    void (*aofStop)(void);
    bool (*aofRestart)(const char *rdb);
    /* Writes all that was propagated to the file, as far as its units have ended. With aofSync and `always`
     * the disk has it, too, when the call returns. */
    void (*aofWrite)(void);
    void (*aofSync)(void);
    /* Whether what was propagated up to this offset (propagateOffset) would survive a loss of power, and up
     * to which offset that is so. */
    bool (*aofHasSynced)(uint64_t offset);
    uint64_t (*aofSyncedOffset)(void);
};
extern struct persistence persistence;
static inline bool persistenceAofOn(void) {
    return persistence.aofEnabled && persistence.aofEnabled();
}

/* rdb-del-sync-files: files that were only needed for a synchronization are deleted where persistence is off.
 * persist/snapshot.c registers it. */
extern bool rdb_del_sync_files;

/* Registers a function to call when a save in the background to rdbPath() has ended; called in the
 * order of registration. */
void persistenceOnSaved(void (*fn)(bool success));
void persistenceSaved(bool success); /* called by persist/ */
/* Registers a function to call when the dataset has been read at the start. from_aof: it was not read from
 * the RDB file, and `replication` is not known. */
void persistenceOnLoaded(void (*fn)(const struct rdbReplication *replication, bool from_aof));
void persistenceLoaded(const struct rdbReplication *replication, bool from_aof); /* called by persist/ */
