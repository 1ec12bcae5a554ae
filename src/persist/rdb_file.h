/* rdb_file.h - a whole dataset as an RDB file.
 *
 *     "REDIS0011" | AUX ... | FUNCTION ... | database ... | EOF | CRC-64
 *     database    | SELECTDB | RESIZEDB | key ... |
 *     key         | [EXPIRETIME_MS] | [IDLE or FREQ] | type | key | value |
 *
 * (magic "VALKEY080" when a hash field has an expiry). Writing and reading work on any stream, so the same
 * code serves dump.rdb, the base of the append-only file, and later a replica's socket. */
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include "data/rdb.h"

#define RDB_MAGIC_LEN 9

/* ---- Writing ---- */
enum { RDB_SAVE_AOF_BASE = 1 }; /* tells so in an AUX field */
/* The whole dataset. False: w->error. progress(keys) may be NULL. */
bool rdbSaveStream(struct rioWriter *w, int flags, void (*progress)(uint64_t keys));
/* To a temporary file beside `path`, synced, renamed to it, the directory synced. False: errno, and the old
 * file is as it was; what happened has been logged. */
bool rdbSaveFile(const char *path, int flags, void (*progress)(uint64_t keys));
/* What a process that was killed in rdbSaveFile has left. */
void rdbRemoveTemporary(const char *path, pid_t pid);

/* rdbchecksum: keep and check checksums. rdb-save-incremental-fsync. For tests: rdb-key-save-delay, in fork
 * children only, and key-load-delay. All registered by persist/snapshot.c. */
extern bool rdb_checksum, rdb_incremental_fsync;
extern int64_t rdb_key_save_delay_us, rdb_key_load_delay_us;
/* After each key. Negative: one microsecond in so many keys. */
static inline void rdbDelay(int64_t us, uint64_t keys) {
    if (us > 0 || (us < 0 && keys % (uint64_t)-us == 0)) usleep(us > 0 ? (useconds_t)us : 1);
}

/* ---- Reading ---- */
enum rdbFileResult {
    RDB_FILE_OK,
    RDB_FILE_MISSING,
    RDB_FILE_BAD, /* r->io.error at r->io.error_offset; some keys may have been loaded */
};
enum {
    RDB_LOAD_KEEP_EXPIRED = 1, /* do not drop keys whose time is over */
    RDB_LOAD_PREFIX = 2,       /* more follows the end (AOF); else that is told in the log */
    RDB_LOAD_MERGE = 4,        /* keys that are there already are replaced; else they are an error */
};
/* r->io is ready for its first byte. Loading has been started (command/loading.h), and progress is told by
 * r->io.progress. */
enum rdbFileResult rdbLoadStream(struct rdbReader *r, int flags);
/* A file of its own, between loadingStart and loadingStop. BAD: *error is the caller's. */
enum rdbFileResult rdbLoadFile(const char *path, int flags, sds *error);

/* Of the last file (or stream) that was read. */
struct rdbLoadStats {
    uint64_t loaded, expired, empty;
};
extern struct rdbLoadStats rdb_load_stats;

/* ---- The first bytes ---- */
/* The version that the magic tells, -1 when it is none. Which may be read: rdbMagicReadable. */
int rdbMagicVersion(const char magic[RDB_MAGIC_LEN]);
bool rdbMagicReadable(const char magic[RDB_MAGIC_LEN]);
/* The name of a module (10 bytes with the final 0), which an id tells in 9 times 6 bits. */
void rdbModuleName(uint64_t id, char name[10]);
