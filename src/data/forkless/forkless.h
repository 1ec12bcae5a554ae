/* SPDX-License-Identifier: BSD-3-Clause */
/* forkless.h - a snapshot of the dataset without a fork: a thread writes what the main thread gives it.
 *
 *     main thread                                          the snapshot's thread
 *     forklessStart: the head, at the moment of the start
 *     the walk: addresses of objects, 256 at a time  ──▶   reads the objects, encodes, compresses, writes
 *     a client writes: the old value, encoded        ──▶   writes the bytes
 *     a large value: addresses of its elements       ──▶   reads the elements, as it does with keys
 *         or its parts, encoded                      ──▶   writes the bytes
 *     done(exit code)                                ◀──   the end
 *
 * The thread takes the place of a fork child (child.h): it runs the same function, which opens the file,
 * writes the dataset to it and renames it, and whose result is an exit code. What differs is where that
 * function takes the keys from: in the thread, rdbSaveStream and the rewriting of commands call
 * forklessWriteAll.
 *
 * Invariant: what is written is the dataset at the moment of forklessStart. Each key is saved before it is
 * changed for the first time: by the thread, which then has finished with it, or by the main thread.
 *
 * keyspace_walk.h is the walk and the check before each change; item_queue.h is between the threads;
 * large_value.h saves a value in parts while it is changed. No key needs a byte for this: a walk has one bit
 * for about one key, and only while it lasts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/child.h"
#include "data/rdb/rdb_dataset.h"

struct forklessPlan {
    enum childKind kind;
    /* The format. rdb: an RDB stream with these options, for rdbSaveStream. NULL: commands, with values in
     * the form of `version`. The struct is copied; what it points to must live until `done` is called. */
    const struct rdbSaveOptions *rdb;
    int version;
    const uint8_t *slots; /* only keys of these slots (a bit each, 2^14 of them; copied); NULL: all */
    /* Commands: writes what comes before the keys. Called once, on the main thread. May be NULL. */
    void (*head)(struct rioWriter *w);
    childMain *run; /* in the thread; priv must live until `done` */
    childDone *done;
    void *priv;
};
/* Starts a snapshot at this moment. Called between commands. False: *err says why. */
bool forklessStart(const struct forklessPlan *plan, const char **err);

/* In the thread: writes the head and all keys. Returns when the main thread has given all. `progress` (may be
 * NULL) is called with the number of keys so far. False: w->error, ECANCELED after childStop. */
bool forklessWriteAll(struct rioWriter *w, void (*progress)(uint64_t keys));
/* In the thread: the version that w->version and the magic must have. */
int forklessVersion(void);

struct forklessStats {
    bool running;
    enum childKind kind;
    int64_t seconds_left; /* estimated; -1: not known */
    int64_t item_ms;      /* how long the large value that is being saved has taken; -1: there is none */
    uint64_t queued;      /* items that the thread has not taken */
    uint64_t target;      /* the most items in the queue */
    uint64_t keys_queued; /* keys given to the thread, and keys that it has written */
    uint64_t keys_processed;
    uint64_t bytes;         /* of old values and parts that the thread has not written yet */
    uint64_t spilled_bytes; /* that have gone to a temporary file in this snapshot, or in the last */
    uint64_t peak_bytes;    /* the most that these were in this snapshot, or in the last */
    uint64_t written; /* bytes of this snapshot, or of the last, before they are compressed as a whole */
};
void forklessGetStats(struct forklessStats *s);

/* ---- Settings and reports: forkless_config.c ---- */

/* Whether the next snapshot should do without a fork: bgsave-default-method says so, and no module is loaded
 * that cannot take part, in which case the reason is logged. Called once for each snapshot. */
bool forklessWanted(enum childKind kind);
/* Set by module/: why a loaded module cannot take part ("the module X has data types"), or NULL. */
extern const char *(*forkless_module_veto)(void);
/* forkless-buffer-limit: the most bytes (struct forklessStats) that may wait for the thread in memory; 0: no
 * limit. forkless-spill-above: from how many on they go to a temporary file; 0: 1/64 of the used memory, 4 MB
 * at least, a quarter of the limit at most. */
extern int64_t forkless_buffer_limit, forkless_spill_above;

/* forkless.c calls these on the main thread: when a snapshot has started; when old values begin to go to a
 * file, and when that has failed; when clients have changed more than forkless-buffer-limit allows, so that
 * it fails; and at the end, before `done`, with the same arguments and while forklessGetStats still describes
 * the snapshot that ends. */
void forklessLogStart(enum childKind kind, uint64_t keys);
void forklessLogSpill(void);
void forklessLogSpillError(int error);
void forklessLogOverLimit(void);
void forklessLogEnd(int exit_code, int signal);

void forklessInit(void);
void forklessConfigInit(
    void); /* directives bgsave-default-method, forkless-*; INFO fields; mem_snapshot_buffer */
