/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb.h - the RDB encoding: how numbers, strings and values are written down. Datasets are
 * data/rdb/rdb_dataset.h; DUMP and RESTORE use the same encoding for a single value.
 *
 * Numbers are 1, 2, 5 or 9 bytes, by the two highest bits of the first:
 *
 *     00xxxxxx                     0..63                    10000000 + 4 bytes   32 bits, big endian
 *     01xxxxxx + 1 byte            14 bits, big endian      10000001 + 8 bytes   64 bits, big endian
 *     11xxxxxx                     not a number: a string in encoding x (RDB_ENC_*)
 *
 * Strings are a number and so many bytes; or an integer of 8, 16, 32 bits, little endian (RDB_ENC_INT*); or
 * LZF: number of compressed bytes, number of bytes, compressed bytes. All other integers are little endian.
 * (Format as of Valkey 8.1, RDB version 11; version 80 adds RDB_TYPE_HASH_EXPIRING.)
 *
 * Each type encodes and decodes its own values (save and load of struct objectType). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/object.h"
#include "data/rdb/rio.h"
#include "data/type.h"

#define RDB_VERSION          11 /* written by default: what Valkey 8 reads */
#define RDB_VERSION_EXPIRING 80 /* when there are hash fields with an expiry */
#define RDB_VERSION_REDIS_7  10 /* what Redis 7.0 reads */
#define RDB_VERSION_OLDEST   1
#define RDB_HELD_INLINE      248 /* a held string up to this long needs no allocation */
/* May data of this version be read? 12 to 79 belong to others. */
static inline bool rdbVersionReadable(int64_t v) {
    return (v >= RDB_VERSION_OLDEST && v <= RDB_VERSION) || v == RDB_VERSION_EXPIRING;
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
    RDB_TYPE_HASH_EXPIRING = 22,      /* version 80 only */
    RDB_TYPES
};
const char *rdbTypeName(int type); /* as the check tool and the log show it */

enum rdbOpcode {
    RDB_OP_SLOT_IMPORT = 243, /* the name of a migration, and its ranges of slots */
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

extern bool rdb_compression; /* rdbcompression: LZF for strings of more than 20 bytes */

/* ---- Writing. Errors are the writer's (w->error). ---- */
/* Does the writer want a version without what came with version 11? */
static inline bool rdbIsForRedis7(int version) {
    return version && version <= RDB_VERSION_REDIS_7;
}
void rdbWriteLen(struct rioWriter *w, uint64_t n);
/* As an integer when the text is one, compressed when that is shorter, or as it is. */
void rdbWriteString(struct rioWriter *w, struct str s);
void rdbWriteDouble(struct rioWriter *w, double d); /* binary64 */
void rdbWriteInt64(struct rioWriter *w, int64_t n); /* 8 bytes */
/* A string that has been compressed by LZF already (quicklist nodes). */
void rdbWriteLzf(struct rioWriter *w, struct str compressed, size_t length);

/* ---- Reading. What fails has told why (rioFail), and freed what it made. ---- */
struct rdbReader {
    struct rioReader io; /* first */
    int version;         /* of the data */
    /* Check what is read to its last bit (sanitize-dump-payload)? If not, only what is needed for not reading
     * outside of it, and not looping. */
    bool deep;
    bool from_client;  /* RESTORE: sizes are not to be trusted for allocations */
    bool keep_expired; /* hash fields whose time is over are kept: whoever sent them will delete them */
    struct str key;    /* whose value is read: for types that want to know; ptr NULL: none */
    int dbid;          /* and in which database */
    sds scratch;       /* the last string read, when it is not in the buffer */
    char small[OBJ_EMBED_MAX + 1]; /* the same, when it is a number; or the bytes of an embedded value */
};
/* The caller inits r->io (rioReaderInit…) and the other fields ({0} is fine for scratch). */
void rdbReaderFree(struct rdbReader *r);

bool rdbReadLen(struct rdbReader *r, uint64_t *n); /* fails on an encoded string */
/* The same for the number of elements that follow, each of at least `min_bytes`: fails when there cannot be
 * so many. */
bool rdbReadCount(struct rdbReader *r, size_t min_bytes, uint64_t *n);
/* A string; the view is good until the next read from r. */
bool rdbReadString(struct rdbReader *r, struct str *s);
sds rdbReadSds(struct rdbReader *r); /* the caller's; NULL on failure */
/* What rdbReadString has just given, as an sds of the caller's; the view is no longer valid. */
sds rdbTakeString(struct rdbReader *r, struct str s);
/* An element of a container: fails when it is longer than those may be. */
#define RDB_ELEMENT_MAX (UINT32_MAX - 64)
bool rdbReadElement(struct rdbReader *r, struct str *s);
/* The same, good until rdbHeldFree (which may always be called, and again). */
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
/* For how many of n announced elements may memory be allocated before they have come? */
size_t rdbPresize(const struct rdbReader *r, uint64_t n);
/* Bytes with room for a container (listpack, intset) that will own them: from zmalloc. NULL on failure. */
unsigned char *rdbReadBlob(struct rdbReader *r, size_t *len);
bool rdbReadDouble(struct rdbReader *r, double *d);
bool rdbReadDoubleText(struct rdbReader *r, double *d); /* of RDB_TYPE_ZSET */
bool rdbReadInt64(struct rdbReader *r, int64_t *n);
bool rdbReadInt32(struct rdbReader *r, int32_t *n);
/* Over a string without making it. */
bool rdbSkipString(struct rdbReader *r);

/* ---- Values ---- */
/* The byte that tells how rdbWriteValue writes this value to this writer (w->version). */
uint8_t rdbValueType(const struct rioWriter *w, const struct object *o);
/* Is there such a value in this version of the format? */
static inline bool rdbVersionHas(int version, uint8_t type) {
    return version == 0 || version >= RDB_VERSION_EXPIRING || type != RDB_TYPE_HASH_EXPIRING;
}
void rdbWriteValue(struct rioWriter *w, const struct object *o);
enum rdbLoaded rdbReadValue(struct rdbReader *r, uint8_t type, struct value *v);

/* ---- DUMP payloads: | type | value | version: 2 bytes | CRC-64 of all before: 8 bytes | ---- */
sds rdbDump(const struct object *o);
/* Is this a payload, whole, and of a version that can be read? `body` is what lies before the last 10 bytes;
 * version may be NULL. Serves FUNCTION RESTORE as well. */
bool rdbDumpValid(struct str payload, struct str *body, int *version);
/* The 10 last bytes, appended. */
sds rdbDumpSeal(sds body, int version);

/* ---- Opcodes of other rooms in files: function libraries ---- */
struct rdbSection {
    uint8_t opcode;
    void (*save)(struct rioWriter *w);    /* writes opcode and content, any number of times */
    bool (*load)(struct rdbReader *r);    /* after the opcode; false: failed (rioFail) */
    void (*rewrite)(struct rioWriter *w); /* the same as commands; may be NULL */
    bool (*needsNewRdb)(void);            /* is there what older versions do not have? may be NULL */
    void (*empty)(void); /* drops what load has brought: it will be loaded anew; may be NULL */
    /* The same as load, but beside what is there: it takes its place (exchange(true)), or goes (false). What
     * was there, or was loaded aside, is gone then. */
    bool (*loadAside)(struct rdbReader *r);
    void (*exchange)(bool take);
};
void rdbSectionRegister(const struct rdbSection *section); /* which must stay */
const struct rdbSection *const *rdbSections(int *count);   /* in order of registration */
void rdbSectionsEmpty(void);
void rdbSectionsExchange(bool take);

/* ---- Fields of other rooms ---- */
/* An AUX field of datasets that replicas are sent. value: what is to be told; NULL: nothing. load may be
 * called while another node's data are read beside ours. */
struct rdbField {
    const char *name;
    sds (*value)(void);
    void (*load)(struct str value);
};
void rdbFieldRegister(const struct rdbField *field); /* which must stay */
const struct rdbField *const *rdbFields(int *count); /* in order of registration */

void rdbInit(void); /* directives: rdbcompression, rdb-version-check, sanitize-dump-payload; data/rdb/rdb.c */
/* rdb-version-check: refuse data of a version that is not known, or try it. */
enum { RDB_CHECK_STRICT, RDB_CHECK_RELAXED };
extern int rdb_version_check;
/* sanitize-dump-payload: no, yes, clients (those without the ACL's skip-sanitize-payload). */
enum { RDB_SANITIZE_NO, RDB_SANITIZE_YES, RDB_SANITIZE_CLIENTS };
extern int rdb_sanitize;
