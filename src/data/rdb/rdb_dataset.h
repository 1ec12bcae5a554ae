/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb_dataset.h - a whole dataset in the RDB format, on any stream: a file, the base of the append-only file,
 * the socket of a replica or of our primary.
 *
 *     "REDIS0011" | AUX ... | FUNCTION ... | database ... | EOF | CRC-64
 *     database    | SELECTDB | RESIZEDB | key ... |
 *     key         | [EXPIRETIME_MS] | [IDLE or FREQ] | type | key | value |
 *
 * (magic "VALKEY080" when a hash field has an expiry, or when a replica reads no other.) Files with a name of
 * their own are persist/rdb_file.h's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "data/rdb/rdb.h"

#define RDB_MAGIC_LEN 9

/* ---- Where in a replication stream the dataset stands: the fields repl-stream-db, repl-id, repl-offset ----
 */
#define RDB_REPLICATION_ID 40
struct rdbReplication {
    bool known;    /* else there are no such fields */
    int stream_db; /* that the stream has selected; -1: none yet */
    char id[RDB_REPLICATION_ID + 1];
    int64_t offset;
};
/* What goes into files that this server writes. repl/ registers it; NULL: not known. */
extern void (*rdb_replication_now)(struct rdbReplication *r);

/* ---- Writing ---- */
struct rdbSaveOptions {
    int version;            /* 10, 11, RDB_VERSION_EXPIRING; 0: the least that can hold the data */
    bool aof_base;          /* tells so in an AUX field */
    bool without_functions; /* rdb-filter-only */
    bool without_keys;
    bool without_checksum;                    /* the transport checks */
    const struct rdbReplication *replication; /* NULL: as rdb_replication_now says */
    void (*progress)(uint64_t keys);          /* may be NULL */
};
/* The whole dataset. False: w->error (EPROTO: the version cannot hold it, which has been logged). */
bool rdbSaveStream(struct rioWriter *w, const struct rdbSaveOptions *options);

/* rdbchecksum: keep and check checksums. For tests: rdb-key-save-delay, in fork children only, and
 * key-load-delay. All registered by persist/snapshot.c. */
extern bool rdb_checksum;
extern int64_t rdb_key_save_delay_us, rdb_key_load_delay_us;
/* After each key. Negative: one microsecond in so many keys. */
static inline void rdbDelay(int64_t us, uint64_t keys) {
    if (us > 0 || (us < 0 && keys % (uint64_t)-us == 0)) usleep(us > 0 ? (useconds_t)us : 1);
}

/* ---- Reading ---- */
struct rdbLoadOptions {
    bool keep_expired; /* do not drop keys whose time is over */
    bool prefix;       /* more follows the end (AOF, replication); else that is told in the log */
    bool merge;        /* keys that are there already are replaced; else they are an error */
    /* Instead of the databases: a keyspace for each of them, filled beside the living ones, and made (the
     * caller's) when the first key for it comes, database 0's at once. Sections
     * (function libraries) are loaded aside then, too: rdbSectionsExchange or rdbSectionsDrop says what
     * becomes of them. */
    struct keyspace **into;
    /* Magic and version are fine: what was there before may go now. May be NULL. */
    void (*accepted)(void *priv);
    /* A key whose time was over has been dropped. May be NULL. */
    void (*expired)(void *priv, int dbid, struct str key);
    void *priv;
};
struct rdbLoadResult {
    uint64_t keys, expired, empty;
    struct rdbReplication replication;
};
/* r->io is ready for its first byte. Loading has been started (command/loading.h), and progress is told by
 * r->io.progress. False: r->io.error at r->io.error_offset; some keys may have been loaded. `result` (may be
 * NULL) is filled in either way. */
bool rdbLoadStream(struct rdbReader *r, const struct rdbLoadOptions *options, struct rdbLoadResult *result);
extern struct rdbLoadResult rdb_last_load; /* of the last stream that was read */
/* Is told how much memory the server used that wrote the data; for INFO. command/loading.c registers it. */
extern void (*rdb_load_used_memory)(uint64_t bytes);

/* ---- What modules keep outside of the keyspace. module/ fills it in; NULL: nobody has. ---- */
struct rdbModules {
    bool (*knowsAside)(uint64_t id);                     /* is there a module to read it? */
    bool (*loadAside)(struct rdbReader *r, uint64_t id); /* behind opcode and id; false: failed (rioFail) */
    void (*saveAside)(struct rioWriter *w, bool behind); /* all of it: in front of the keys, behind them */
    /* A dataset cannot be loaded as it comes from the network (beside: while the old one is kept), because
     * there are modules that ... (text). NULL: it can. */
    const char *(*wantDisk)(bool beside);
};
extern struct rdbModules rdb_modules;

/* ---- The first bytes ---- */
/* The version that the magic tells, -1 when it is none. Which may be read: rdbMagicReadable. */
int rdbMagicVersion(const char magic[RDB_MAGIC_LEN]);
bool rdbMagicReadable(const char magic[RDB_MAGIC_LEN]);
/* The name of a module (10 bytes with the final 0), which an id tells in 9 times 6 bits. */
void rdbModuleName(uint64_t id, char name[10]);
