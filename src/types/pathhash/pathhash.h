/* SPDX-License-Identifier: BSD-3-Clause */
/* pathhash.h - path hashes as values: a map from paths, any byte strings, to small hashes.
 *
 *     object ──▶ struct pathHash ──▶ struct pathmap (ds/pathmap.h): path ──▶ payload
 *
 * A payload is a hash without field expiry (types/hash/hash.h) behind one pointer, whose low bits are the
 * hash's encoding:
 *
 *     packed      | used: 8 | field, value, ... |      up to 63 bytes, in an allocation of just that size
 *     listpack    | the listpack |
 *     table       | struct hashtable |
 *
 * So a path with one short field costs a few words besides the bytes that it shares with no other path.
 *
 * A path has at least one field. A path hash may be without paths: the key stays. */
#pragma once

#include "ds/pathmap.h"
#include "types/hash/hash.h"

struct pathHash {
    struct pathmap *paths;
    size_t table_fields; /* fields of the payloads that are tables, to estimate the work of freeing */
};

struct pathHash *pathHashNew(void);
void pathHashFree(struct pathHash *ph);
struct pathHash *pathHashCopy(const struct pathHash *ph);
static inline struct pathHash *pathHashOpen(const struct object *o) {
    return objectPtr(o);
}
struct value pathHashValue(struct pathHash *ph); /* for the keyspace */
static inline size_t pathHashCount(const struct pathHash *ph) {
    return pathmapCount(ph->paths);
}
/* About how many allocations pathHashFree would release. O(1). */
size_t pathHashFreeEffort(const struct pathHash *ph);

/* ---- Payloads ---- */
/* Opens a payload for reading. */
void payloadOpen(struct hash *h, const void *payload);
size_t payloadMemory(const void *payload, size_t samples); /* bytes; samples: of its fields, 0: all */
/* Opens the payload of a path for reading. Returns false when there is no such path. O(length). */
bool pathHashGet(const struct pathHash *ph, struct str path, struct hash *h);

/* A payload that is being changed: its hash may be changed, then payloadCommit puts it back. Meanwhile
 * nothing else may change the path hash. */
struct payloadChange {
    struct hash h;
    struct pathHash *ph;
    struct str path;
    void **place;
    size_t table_fields; /* at the start */
};
/* Opens the payload of a path. Returns false when there is no such path. */
bool payloadFind(struct payloadChange *e, struct pathHash *ph, struct str path);
/* Opens the payload of a path; a new one is empty and must get a field. The path is at most
 * PATHMAP_PATH_MAX bytes long. */
void payloadInsert(struct payloadChange *e, struct pathHash *ph, struct str path);
/* Adds a path, which must be absent, with the fields of the hash, which are taken over. */
void payloadAdd(struct pathHash *ph, struct str path, struct hash *h);
/* Ends the change. A path without fields is removed. */
void payloadCommit(struct payloadChange *e);

/* ---- Removal. `lazy`: what is large is freed on the thread. ---- */
bool pathHashRemove(struct pathHash *ph, struct str path, bool lazy); /* false: there was no such path */
/* Removes all paths that begin with `prefix`, and returns their number. O(length + nodes of the paths), O(1)
 * for the empty prefix when it is freed on the thread. */
size_t pathHashRemovePrefix(struct pathHash *ph, struct str prefix, bool lazy);

void pathHashInit(void); /* type and commands */
