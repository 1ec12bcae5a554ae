/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb_dataset.h - a whole dataset in the RDB format, on any stream: a file, the base of the append-only file,
 * the socket of a replica or of our primary.
 *
 *     "REDIS0011" | AUX ... | FUNCTION ... | database ... | EOF | CRC-64
 *     database    | SELECTDB | RESIZEDB | key ... |
 *     key         | [EXPIRETIME_MS] | [IDLE or FREQ] | type | key | value |
 *
 * The magic is "VALKEY080", "VALKEY081" or "VALKEY900" when there is something that needs it
 * (rdbVersionNeeded), or when a replica reads no other; "REDIS0012" or "REDIS0013" for Redis.
 *
 * All of it may be one compressed frame (base/compressed_stream.h). There is no CRC-64 (it is 0) then, as the
 * frame has checksums of its own, and strings are not compressed with LZF.
 * persist/rdb_file.h is about files with a name. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "data/rdb/rdb.h"

#define RDB_MAGIC_LEN 9

/* ---- The position of the dataset in a replication stream: the fields repl-stream-db, repl-id, repl-offset
 * ---- */
#define RDB_REPLICATION_ID 40
struct rdbReplication {
    bool known;    /* false: the dataset has no such fields */
    int stream_db; /* database that the stream has selected; -1: none yet */
    char id[RDB_REPLICATION_ID + 1];
    int64_t offset;
};
/* Returns what goes into files that this server writes. repl/ sets it; NULL: not known. */
extern void (*rdb_replication_now)(struct rdbReplication *r);

/* ---- Writing ---- */
struct rdbSaveOptions {
    int version;            /* 10 to 13, 80, 81, 900; 0: the lowest of Valkey's that can hold the data */
    bool aof_base;          /* says so in an AUX field */
    bool without_functions; /* rdb-filter-only */
    bool without_keys;
    bool without_checksum;                    /* the transport has one */
    enum streamCodec codec;                   /* of the whole stream, which ends with its frame */
    const struct rdbReplication *replication; /* NULL: use rdb_replication_now */
    void (*progress)(uint64_t keys);          /* may be NULL */
};
/* Returns the options of a file that this server writes for itself, as rdbcompression and
 * rdb-compatible-version say. */
struct rdbSaveOptions rdbFileOptions(void);
/* Returns the lowest version that can hold the whole dataset as it is now, or all of it but what only
 * RDB_VERSION_OWN has: another server gets the dataset without that. */
int rdbVersionNeeded(void);
int rdbVersionForOthers(void);
/* Writes the whole dataset. False: w->error (EPROTO: the version cannot hold the data, which has been
 * logged). */
bool rdbSaveStream(struct rioWriter *w, const struct rdbSaveOptions *options);
const char *rdbSaveErrorText(int error); /* of w->error, for the log */
/* The pieces of a stream: opcodes that select a database and tell how many keys follow; a key with its value,
 * whose head is all that comes before the value. With w->strict, a value that w->version does not have sets
 * w->error. */
void rdbWriteSelectDb(struct rioWriter *w, int dbid);
void rdbWriteDbSizes(struct rioWriter *w, uint64_t keys, uint64_t expires);
/* Tells how many keys each slot of a database has. (Counting those with an expiry would take O(keys).) */
void rdbWriteSlotSizes(struct rioWriter *w, const struct db *db);
void rdbWriteKey(struct rioWriter *w, const struct object *o, int dbid);
void rdbWriteKeyHead(struct rioWriter *w, const struct object *o, int dbid);
/* Writes everything before the databases. */
void rdbWriteHead(struct rioWriter *w, const struct rdbSaveOptions *options);

/* rdbchecksum: write and check checksums. For tests: rdb-key-save-delay, in fork children only, and
 * key-load-delay. persist/snapshot.c registers all three. */
extern bool rdb_checksum;
extern int64_t rdb_key_save_delay_us, rdb_key_load_delay_us;
/* Sleeps after each key. A negative value: one microsecond in so many keys. */
static inline void rdbDelay(int64_t us, uint64_t keys) {
    if (us > 0 || (us < 0 && keys % (uint64_t)-us == 0)) usleep(us > 0 ? (useconds_t)us : 1);
}

/* ---- Reading ---- */
struct rdbLoadOptions {
    bool keep_expired; /* do not drop keys past their expiry */
    bool prefix;       /* more data follows the end (AOF, replication); else the log reports such data */
    bool merge;        /* keys that exist already are replaced; else they are an error */
    /* When set, keyspaces that are filled beside the databases instead of these, one for each. They are
     * created (for the caller to own) with their first key, that of database 0 at once. Sections
     * (function libraries) are loaded aside then, too: rdbSectionsExchange or rdbSectionsDrop says what
     * becomes of them. */
    struct keyspace **into;
    /* Called when magic and version are fine: what was there before may be removed now. May be NULL. */
    void (*accepted)(void *priv);
    /* Called for each key that was dropped because it had expired. May be NULL. */
    void (*expired)(void *priv, int dbid, struct str key);
    void *priv;
};
struct rdbLoadResult {
    uint64_t keys, expired, empty;
    uint64_t skipped; /* keys of unknown types (rdb-skip-unknown-types) */
    struct rdbReplication replication;
};
/* Returns whether an envelope comes next, after which the dataset is compressed. */
bool rdbIsCompressed(struct rioReader *io);
/* If an envelope comes next, reads on within its frame, without a CRC-64, and returns true. */
bool rdbStartFrame(struct rioReader *io);
/* r->io is ready for its first byte, of a dataset or of the envelope of a compressed one, and behind the
 * dataset or its frame in the end. The caller has started loading (command/loading.h), and r->io.progress
 * reports progress. False: r->io.error at r->io.error_offset; some keys may have been loaded. `result` (may
 * be NULL) is filled in either way. */
bool rdbLoadStream(struct rdbReader *r, const struct rdbLoadOptions *options, struct rdbLoadResult *result);
extern struct rdbLoadResult rdb_last_load; /* of the last stream that was read */
/* Receives how much memory the server used that wrote the data; for INFO. command/loading.c sets it. */
extern void (*rdb_load_used_memory)(uint64_t bytes);

/* ---- Data of modules outside of the keyspace. module/ fills this in; NULL: there are no modules. ---- */
struct rdbModules {
    bool (*knowsAside)(uint64_t id);                     /* whether there is a module to read it */
    bool (*loadAside)(struct rdbReader *r, uint64_t id); /* after opcode and id; false: failed (rioFail) */
    void (*saveAside)(struct rioWriter *w, bool behind); /* all of it; behind: after the keys */
    /* Why a dataset cannot be loaded as it comes from the network (beside: while the old one is kept): the
     * text completes "because there are modules that". NULL: it can be. */
    const char *(*wantDisk)(bool beside);
};
extern struct rdbModules rdb_modules;

/* ---- The first bytes ---- */
/* Returns the version in the magic, or -1 when it is no magic. rdbMagicReadable says whether it may be
 * read. */
int rdbMagicVersion(const char magic[RDB_MAGIC_LEN]);
bool rdbMagicReadable(const char magic[RDB_MAGIC_LEN]);
