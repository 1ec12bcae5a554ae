/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb.h - the RDB encoding of numbers, strings and values. data/rdb/rdb_dataset.h is about whole datasets;
 * DUMP and RESTORE use the same encoding for a single value.
 *
 * Numbers are 1, 2, 5 or 9 bytes, by the two highest bits of the first:
 *
 *     00xxxxxx                     0..63                    10000000 + 4 bytes   32 bits, big endian
 *     01xxxxxx + 1 byte            14 bits, big endian      10000001 + 8 bytes   64 bits, big endian
 *     11xxxxxx                     not a number: a string in encoding x (RDB_ENC_*)
 *
 * A string is a number and so many bytes; or an integer of 8, 16, 32 bits, little endian (RDB_ENC_INT*); or
 * LZF: the number of compressed bytes, the number of bytes, the compressed bytes. All other integers are
 * little endian. (The format is that of Valkey 8.1, RDB version 11.)
 *
 * After version 11 the formats of Redis and Valkey are different ones: 12 to 79 are Redis's, from 80 on they
 * are Valkey's. The same number of a type or opcode may mean different things in them:
 *
 *     number       in Redis's versions                in Valkey's versions
 *     type 22      (a pre-release version's)          hashes with expiry, from 80 on
 *     type 23      (a pre-release version's)          path hashes, from 81 on
 *     24, 25       hashes with expiry, from 12 on     -
 *     type 26      streams, from 13 on                streams, in 900
 *     opcode 243   metadata of a key                  slots that are being imported
 *
 * The version of the data decides (rdbVersionHas).
 *
 * Each type encodes and decodes its own values (save and load of struct objectType). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/object.h"
#include "data/rdb/rio.h"
#include "data/type.h"

#define RDB_VERSION          11  /* written by default: Valkey 8 reads it */
#define RDB_VERSION_EXPIRING 80  /* from Valkey 9.0 on; written when there are hash fields with an expiry */
#define RDB_VERSION_PATHS    81  /* from Valkey 9.2 on; written when there are path hashes */
#define RDB_VERSION_OWN      900 /* Valkey's with what only this server has: idempotence records of streams */
#define RDB_VERSION_LATEST   RDB_VERSION_OWN
#define RDB_VERSION_REDIS_7  10 /* the newest that Redis 7.0 reads */
#define RDB_VERSION_REDIS_74 12 /* of Redis 7.4 to 8.4: hash fields may have an expiry */
#define RDB_VERSION_REDIS_86 13 /* of Redis 8.6: streams may have idempotence records */
#define RDB_VERSION_OLDEST   1
#define RDB_HELD_INLINE      248 /* the longest held string that needs no allocation */
/* Whether the version belongs to Redis's format, beginning with Redis 7.4. */
static inline bool rdbVersionIsRedis(int64_t v) {
    return v > RDB_VERSION && v < RDB_VERSION_EXPIRING;
}
/* Whether data of this version may be read. */
static inline bool rdbVersionReadable(int64_t v) {
    return (v >= RDB_VERSION_OLDEST && v <= RDB_VERSION_REDIS_86) ||
           (v >= RDB_VERSION_EXPIRING && v <= RDB_VERSION_PATHS) || v == RDB_VERSION_OWN;
}

enum rdbType {
    RDB_TYPE_STRING = 0,
    RDB_TYPE_LIST = 1,
    RDB_TYPE_SET = 2,
    RDB_TYPE_ZSET = 3, /* scores as text */
    RDB_TYPE_HASH = 4,
    RDB_TYPE_ZSET_2 = 5, /* scores as IEEE 754 binary64 */
    RDB_TYPE_MODULE = 6,
    RDB_TYPE_MODULE_2 = 7,
    RDB_TYPE_HASH_ZIPMAP = 9,
    RDB_TYPE_LIST_ZIPLIST = 10,
    RDB_TYPE_SET_INTSET = 11,
    RDB_TYPE_ZSET_ZIPLIST = 12,
    RDB_TYPE_HASH_ZIPLIST = 13,
    RDB_TYPE_LIST_QUICKLIST = 14, /* of ziplists */
    RDB_TYPE_STREAM_LISTPACKS = 15,
    RDB_TYPE_HASH_LISTPACK = 16,
    RDB_TYPE_ZSET_LISTPACK = 17,
    RDB_TYPE_LIST_QUICKLIST_2 = 18, /* of listpacks and plain nodes */
    RDB_TYPE_STREAM_LISTPACKS_2 = 19,
    RDB_TYPE_SET_LISTPACK = 20,       /* from version 11 on */
    RDB_TYPE_STREAM_LISTPACKS_3 = 21, /* from version 11 on */
    RDB_TYPE_HASH_EXPIRING = 22,      /* from version 80 on */
    RDB_TYPE_PATH_HASH = 23,          /* from version 81 on */
    /* These two are Redis's own, where 22 and 23 are types of a pre-release version. */
    RDB_TYPE_REDIS_HASH_EXPIRING = 24, /* from version 12 on */
    RDB_TYPE_REDIS_HASH_LISTPACK_EXPIRING = 25,
    /* From version 13 on; in version 900 for streams that have idempotence records. */
    RDB_TYPE_STREAM_LISTPACKS_4 = 26,
    RDB_TYPES
};
/* Returns the name that the check tool and the log print; "" if the version has no such type. */
const char *rdbTypeName(int version, int type);

enum rdbOpcode {
    RDB_OP_LOWEST = 240,      /* smaller numbers are types of values */
    RDB_OP_SLOT_IMPORT = 243, /* the name of a migration, and its ranges of slots */
    RDB_OP_METADATA = 243,    /* of a key, in Redis's versions */
    RDB_OP_SLOT_INFO = 244,
    RDB_OP_FUNCTION = 245,
    RDB_OP_FUNCTION_PRE_GA = 246,
    RDB_OP_MODULE_AUX = 247,
    RDB_OP_IDLE = 248,
    RDB_OP_FREQ = 249,
    RDB_OP_AUX = 250,
    RDB_OP_RESIZEDB = 251,
    RDB_OP_EXPIRETIME_MS = 252,
    RDB_OP_EXPIRETIME = 253,
    RDB_OP_SELECTDB = 254,
    RDB_OP_EOF = 255,
};
enum { RDB_ENC_INT8 = 0, RDB_ENC_INT16 = 1, RDB_ENC_INT32 = 2, RDB_ENC_LZF = 3 };

/* rdbcompression. YES and LZF: strings of more than 20 bytes are compressed with LZF. LZ4 and ZSTD: files are
 * compressed as a whole. */
enum rdbCompression {
    RDB_COMPRESSION_NO,
    RDB_COMPRESSION_YES,
    RDB_COMPRESSION_LZF,
    RDB_COMPRESSION_LZ4,
    RDB_COMPRESSION_ZSTD
};
extern int rdb_compression;
/* Returns what files are compressed with as a whole. Only version 81 has compressed files. */
enum streamCodec rdbFileCodec(void);
/* rdb-compatible-version: the version of all files that this server writes for itself, which must hold the
 * data then. 0: the lowest that holds them. */
extern int rdb_compatible_version;

/* ---- Writing. Errors are the writer's (w->error). ---- */
/* Whether the writer needs a version without what came with version 11. */
static inline bool rdbIsForRedis7(int version) {
    return version && version <= RDB_VERSION_REDIS_7;
}
void rdbWriteLen(struct rioWriter *w, uint64_t n);
/* Writes an integer when the text is one, else compressed bytes when that is shorter, else the text. */
void rdbWriteString(struct rioWriter *w, struct str s);
bool rdbDirectivePacksStrings(void);                /* whether rdbcompression asks for it now */
void rdbWriteDouble(struct rioWriter *w, double d); /* binary64 */
/* Writes a score of RDB_TYPE_ZSET; `text` is used unless it is infinite or NaN. */
void rdbWriteDoubleText(struct rioWriter *w, double d, struct str text);
/* Writes a member of a sorted set and its score: rdbWriteString and rdbWriteDouble. */
void rdbWriteScored(struct rioWriter *w, struct str member, double score);
void rdbWriteInt64(struct rioWriter *w, int64_t n); /* 8 bytes */
/* Writes a string that LZF has compressed already (quicklist nodes). */
void rdbWriteLzf(struct rioWriter *w, struct str compressed, size_t length);
void rdbWriteLzfHead(struct rioWriter *w, size_t compressed, size_t length); /* the bytes follow */

/* ---- Reading. A function that fails has set the error (rioFail) and freed what it made. ---- */
#define RDB_MODULE_NAME 10 /* bytes of the name of a module type, with the final 0 */
struct rdbReader {
    struct rioReader io; /* first */
    int version;         /* of the data */
    /* Check what is read to its last bit (sanitize-dump-payload)? If not, only what keeps reads inside of it
     * and ends loops. */
    bool deep;
    bool from_client;                   /* RESTORE: announced sizes are not trusted for allocations */
    bool keep_expired;                  /* keep hash fields past their expiry: the sender will delete them */
    bool skip_unknown;                  /* skip values of unknown types whose end can be found */
    bool unknown;                       /* reading failed because this is unknown: */
    char unknown_type[RDB_MODULE_NAME]; /* the type of a module whose data were skipped, or are unknown */
    struct str key;                     /* key whose value is read, for types that need it; ptr NULL: none */
    int dbid;                           /* database of that key */
    sds scratch;                        /* the last string read, when it is not in the buffer */
    char small[OBJ_EMBED_MAX + 1];      /* the last string if it is a number; or an embedded value */
};
/* The caller initializes r->io (rioReaderInit…) and the other fields ({0} is fine for scratch). */
void rdbReaderFree(struct rdbReader *r);

bool rdbReadLen(struct rdbReader *r, uint64_t *n); /* fails on an encoded string */
/* Reads the number of elements that follow, each of at least `min_bytes`; fails when there cannot be so
 * many. */
bool rdbReadCount(struct rdbReader *r, size_t min_bytes, uint64_t *n);
/* Reads a string; the view is valid until the next read from r. */
bool rdbReadString(struct rdbReader *r, struct str *s);
sds rdbReadSds(struct rdbReader *r); /* the caller's; NULL on failure */
/* Turns what rdbReadString has just returned into an sds of the caller's; the view is no longer valid. */
sds rdbTakeString(struct rdbReader *r, struct str s);
/* Reads an element of a container; fails when it is longer than elements may be. */
#define RDB_ELEMENT_MAX (UINT32_MAX - 64)
bool rdbReadElement(struct rdbReader *r, struct str *s);
/* An element that stays valid until rdbHeldFree, which may always be called, and repeatedly. */
struct rdbHeld {
    struct str s;
    sds own;
    char room[RDB_HELD_INLINE];
};
bool rdbReadHeld(struct rdbReader *r, struct rdbHeld *h);
static inline void rdbHeldFree(struct rdbHeld *h) {
    if (h->own) sdsfree(h->own);
    h->own = NULL;
}
/* For how many of n announced elements memory may be allocated before they have been read. */
size_t rdbPresize(const struct rdbReader *r, uint64_t n);
/* Reads bytes that become a container (listpack, intset): allocated by zmalloc, the caller's. NULL on
 * failure. */
unsigned char *rdbReadBlob(struct rdbReader *r, size_t *len);
bool rdbReadDouble(struct rdbReader *r, double *d);
/* Reads a score of RDB_TYPE_ZSET and its text, valid until the next read; empty for infinity and NaN. */
bool rdbReadDoubleText(struct rdbReader *r, double *d, struct str *text);
bool rdbReadInt64(struct rdbReader *r, int64_t *n);
bool rdbReadInt32(struct rdbReader *r, int32_t *n);
/* Skips a string without building it. */
bool rdbSkipString(struct rdbReader *r);

/* ---- Values ---- */
/* Returns the byte that says how rdbWriteValue writes this value to this writer (w->version). */
uint8_t rdbValueType(const struct rioWriter *w, const struct object *o);
/* Returns the lowest of Valkey's versions that has such a value, as far as rdbType() cannot choose another
 * form. */
static inline int rdbTypeVersion(uint8_t type) {
    return type == RDB_TYPE_STREAM_LISTPACKS_4 ? RDB_VERSION_OWN
           : type == RDB_TYPE_PATH_HASH        ? RDB_VERSION_PATHS
           : type == RDB_TYPE_HASH_EXPIRING    ? RDB_VERSION_EXPIRING
                                               : RDB_VERSION;
}
/* Whether this version of the format (0: any) has such a value, as far as rdbType() cannot choose another
 * form. */
static inline bool rdbVersionHas(int version, uint8_t type) {
    if (version == 0 || type <= RDB_TYPE_STREAM_LISTPACKS_3) return true;
    if (rdbVersionIsRedis(version))
        return type == RDB_TYPE_STREAM_LISTPACKS_4
                   ? version >= RDB_VERSION_REDIS_86
                   : type == RDB_TYPE_REDIS_HASH_EXPIRING || type == RDB_TYPE_REDIS_HASH_LISTPACK_EXPIRING;
    return rdbTypeVersion(type) > RDB_VERSION && version >= rdbTypeVersion(type);
}
void rdbWriteValue(struct rioWriter *w, const struct object *o);
enum rdbLoaded rdbReadValue(struct rdbReader *r, uint8_t type, struct value *v);

/* ---- What nothing here can use (data/rdb/rdb_unknown.c). What fails sets r->unknown, too. ---- */
extern bool rdb_skip_unknown_types;
enum rdbLoaded rdbFailType(struct rdbReader *r, uint8_t type); /* RDB_FAILED */
/* Handles a value, or data beside the values, of a module type that does not exist, after its id: skips or
 * fails. */
enum rdbLoaded rdbReadUnknownModule(struct rdbReader *r, uint64_t id);
bool rdbSkipAside(struct rdbReader *r, uint64_t id);
bool rdbSkipModuleItems(struct rdbReader *r); /* up to their end */
/* Decodes the name of a module type from an id, which holds it in 9 times 6 bits. */
void rdbModuleName(uint64_t id, char name[RDB_MODULE_NAME]);
/* Metadata that modules of Redis attach to keys. They are read before the key is. */
struct rdbMetadata {
    sds classes; /* their names; NULL: there are none. The caller frees it. */
    bool needed; /* one must not be ignored */
};
bool rdbReadMetadata(struct rdbReader *r, struct rdbMetadata *m); /* after the opcode */
bool rdbAllowMetadata(struct rdbReader *r,
                      const struct rdbMetadata *m); /* false: they end the load (rioFail) */

/* Counts of one load. */
#define RDB_SKIPPED_TYPES 16
struct rdbSkipped {
    uint64_t keys, metadata, listed;
    int types;
    struct {
        char name[RDB_MODULE_NAME];
        uint64_t keys;
    } type[RDB_SKIPPED_TYPES]; /* the first ones */
};
void rdbSkippedCount(struct rdbSkipped *s, const char *type);
/* These log it, too, as long as the list is not too long. */
void rdbSkippedKey(struct rdbSkipped *s, const char *type, struct str key, int dbid);
void rdbSkippedMetadata(struct rdbSkipped *s, const char *classes, struct str key, int dbid);
sds rdbSkippedText(const struct rdbSkipped *s, sds text); /* appends the numbers of keys by type */
void rdbSkippedLogSum(const struct rdbSkipped *s);

/* ---- DUMP payloads: | type | value | version: 2 bytes | CRC-64 of all before: 8 bytes | ---- */
/* Returns a payload that servers read which read this version (0: any), or the lowest of ours when that
 * version cannot hold the value. */
sds rdbDump(const struct object *o, int version);
/* Whether this is a whole payload of a version that can be read. `body` is all but the last 10 bytes; version
 * may be NULL. Used for FUNCTION RESTORE as well. */
bool rdbDumpValid(struct str payload, struct str *body, int *version);
/* Appends the last 10 bytes. */
sds rdbDumpSeal(sds body, int version);

/* ---- Opcodes of other modules in files: function libraries ---- */
struct rdbSection {
    uint8_t opcode;
    void (*save)(struct rioWriter *w);    /* writes opcode and content; called any number of times */
    bool (*load)(struct rdbReader *r);    /* after the opcode; false: failed (rioFail) */
    void (*rewrite)(struct rioWriter *w); /* the same as commands; may be NULL */
    int (*rdbVersionNeeded)(void);        /* the lowest version that has what there is to save; may be NULL */
    void (*empty)(void); /* drops what load has read, before it is loaded again; may be NULL */
    /* Loads like load, but beside the present contents. exchange(true) then replaces those, exchange(false)
     * drops what was loaded; either way only one of the two is left. */
    bool (*loadAside)(struct rdbReader *r);
    void (*exchange)(bool take);
};
void rdbSectionRegister(const struct rdbSection *section); /* must stay valid */
const struct rdbSection *const *rdbSections(int *count);   /* in order of registration */
void rdbSectionsEmpty(void);
void rdbSectionsExchange(bool take);

/* ---- Fields of other modules ---- */
/* An AUX field of datasets that are sent to replicas. `value` returns its content, or NULL to leave it out.
 * `load` may be called while another node's data are read beside ours. */
struct rdbField {
    const char *name;
    sds (*value)(void);
    void (*load)(struct str value);
};
void rdbFieldRegister(const struct rdbField *field); /* must stay valid */
const struct rdbField *const *rdbFields(int *count); /* in order of registration */

/* Directives: rdbcompression, rdb-version-check, rdb-skip-unknown-types, sanitize-dump-payload. */
void rdbInit(void);
/* rdb-version-check: refuse data of an unknown version, or try to read it. */
enum { RDB_CHECK_STRICT, RDB_CHECK_RELAXED };
extern int rdb_version_check;
/* sanitize-dump-payload: no, yes, clients (without the ACL flag skip-sanitize-payload). */
enum { RDB_SANITIZE_NO, RDB_SANITIZE_YES, RDB_SANITIZE_CLIENTS };
extern int rdb_sanitize;
