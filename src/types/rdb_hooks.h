/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb_hooks.h - each type's hooks for files: rdbType, save, load and rewrite of struct objectType.
 *
 * Loaded data come from outside. A blob is checked to its last entry before it is used, whatever its
 * source: its structure, that no member appears twice, and the order where there is one. So no loaded data
 * can make a command fail an assertion. rdbReader.deep adds checks for what is wrong but not dangerous:
 * entries of streams out of order. A value gets the encoding that the present limits ask for, whatever it
 * was saved as. */
#pragma once

#include "data/rdb/rdb.h"

#define RDB_BIT(type) (1ull << (type))
#define RDB_HOOKS(name)                                                                                      \
    uint8_t name##RdbType(const struct object *o, int version);                                              \
    void name##RdbSave(struct rioWriter *w, const struct object *o);                                         \
    enum rdbLoaded name##RdbLoad(struct rdbReader *r, uint8_t rdb_type, struct value *v);                    \
    void name##RdbRewrite(struct rioWriter *w, struct str key, const struct object *o)

#define STRING_RDB_TYPES RDB_BIT(RDB_TYPE_STRING)
RDB_HOOKS(string);

#define LIST_RDB_TYPES                                                                                       \
    (RDB_BIT(RDB_TYPE_LIST) | RDB_BIT(RDB_TYPE_LIST_ZIPLIST) | RDB_BIT(RDB_TYPE_LIST_QUICKLIST) |            \
     RDB_BIT(RDB_TYPE_LIST_QUICKLIST_2))
RDB_HOOKS(list);
/* Write a node of a quicklist; or what comes before its bytes. */
struct qlNodeView;
void listRdbSaveNode(void *writer, const struct qlNodeView *n);
void listRdbSaveNodeHead(struct rioWriter *w, const struct qlNodeView *n);

#define SET_RDB_TYPES (RDB_BIT(RDB_TYPE_SET) | RDB_BIT(RDB_TYPE_SET_INTSET) | RDB_BIT(RDB_TYPE_SET_LISTPACK))
RDB_HOOKS(set);

#define HASH_RDB_TYPES                                                                                       \
    (RDB_BIT(RDB_TYPE_HASH) | RDB_BIT(RDB_TYPE_HASH_ZIPMAP) | RDB_BIT(RDB_TYPE_HASH_ZIPLIST) |               \
     RDB_BIT(RDB_TYPE_HASH_LISTPACK) | RDB_BIT(RDB_TYPE_HASH_EXPIRING) |                                     \
     RDB_BIT(RDB_TYPE_REDIS_HASH_EXPIRING) | RDB_BIT(RDB_TYPE_REDIS_HASH_LISTPACK_EXPIRING))
RDB_HOOKS(hash);
/* Reads the number of fields, then the fields with their values and, if `expiring`, their expiry, into a new
 * hash, which the caller owns. Returns false on failure: then there is none. */
struct hash;
bool hashRdbReadFields(struct rdbReader *r, bool expiring, struct hash *h);

#define ZSET_RDB_TYPES                                                                                       \
    (RDB_BIT(RDB_TYPE_ZSET) | RDB_BIT(RDB_TYPE_ZSET_2) | RDB_BIT(RDB_TYPE_ZSET_ZIPLIST) |                    \
     RDB_BIT(RDB_TYPE_ZSET_LISTPACK))
RDB_HOOKS(zset);

#define STREAM_RDB_TYPES                                                                                     \
    (RDB_BIT(RDB_TYPE_STREAM_LISTPACKS) | RDB_BIT(RDB_TYPE_STREAM_LISTPACKS_2) |                             \
     RDB_BIT(RDB_TYPE_STREAM_LISTPACKS_3) | RDB_BIT(RDB_TYPE_STREAM_LISTPACKS_4))
RDB_HOOKS(stream);

#define PATH_HASH_RDB_TYPES RDB_BIT(RDB_TYPE_PATH_HASH)
RDB_HOOKS(pathHash);

/* The hooks as fields of a struct objectType. */
#define RDB_HOOK_FIELDS(name, types)                                                                         \
    .rdb_types = (types), .rdbType = name##RdbType, .save = name##RdbSave, .load = name##RdbLoad,            \
    .rewrite = name##RdbRewrite

/* Reads a listpack, or its predecessor in older files, and checks it. The caller owns it; it may be empty.
 * Returns NULL on failure, with the reader's error set. */
enum rdbFlatForm { RDB_FLAT_LISTPACK, RDB_FLAT_ZIPLIST, RDB_FLAT_ZIPMAP };
unsigned char *rdbReadFlat(struct rdbReader *r, enum rdbFlatForm form);
/* Whether no two of the elements 0, step, 2 * step ... of a listpack are equal. O(n). */
bool rdbFlatEachOnce(unsigned char *lp, unsigned step);
