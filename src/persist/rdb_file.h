/* rdb_file.h - a whole dataset as an RDB file.
 *
 *     "REDIS0011" | AUX... | FUNCTION... | per db: SELECTDB RESIZEDB { [EXPIRETIME_MS] [IDLE|FREQ] type key
 * value }... | EOF | CRC-64
 *
 * (magic "VALKEY080" when a hash field has an expiry). Writing and reading work on any stream, so the same
 * code serves dump.rdb, the base of the append-only file, and later a replica's socket. */
#pragma once

#include "core/rdb.h"

/* ---- Writing ---- */
enum { RDB_SAVE_AOF_BASE = 1 }; /* tells so in an AUX field */
/* The whole dataset. False: w->error. progress(keys) may be NULL. */
bool rdbSaveStream(struct rioWriter *w, int flags, void (*progress)(uint64_t keys));
/* To a temporary file beside `path`, synced, renamed to it, the directory synced. False: errno, and the old
 * file is as it was; what happened has been logged. */
bool rdbSaveFile(const char *path, int flags, void (*progress)(uint64_t keys));

/* ---- Reading ---- */
enum rdbFileResult {
    RDB_FILE_OK,
    RDB_FILE_MISSING, /* or empty: nothing loaded */
    RDB_FILE_BAD,     /* r->io.error at r->io.error_offset; some keys may have been loaded */
};
enum {
    RDB_LOAD_KEEP_EXPIRED = 1, /* do not drop keys whose time is over */
    RDB_LOAD_PREFIX = 2,       /* more follows the end (AOF): not an error */
};
/* r->io is ready for its first byte. */
enum rdbFileResult rdbLoadStream(struct rdbReader *r, int flags);
enum rdbFileResult rdbLoadFile(const char *path, int flags, sds *error);

/* ---- Opcodes of other rooms: function libraries ---- */
struct rdbSection {
    uint8_t opcode;
    void (*save)(struct rioWriter *w); /* writes opcode and content, any number of times */
    bool (*load)(struct rdbReader *r); /* after the opcode; false: failed */
};
void rdbSectionRegister(const struct rdbSection *section);
