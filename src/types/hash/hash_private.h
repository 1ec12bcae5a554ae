/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_private.h - what the files of the hash container share. */
#pragma once

#include "data/forkless/large_value.h"
#include "data/keyspace/db.h"
#include "ds/hashtable.h"
#include "registry/cron.h"
#include "types/hash/hash.h"
#include "types/hash/hash_heap.h"

struct keyspace;
struct rioWriter;

/* The place of a hash with expiring fields in its database. */
struct hashTracked {
    sds key;        /* the hash's key while it is in a database; else NULL */
    int64_t due_ms; /* the database's heap of such hashes goes by the time of their first due field */
    uint32_t pos;   /* position in that heap */
};

/* The container of a small hash with expiring fields (hash_timed.c). */
struct timedHash {
    struct hashTracked tracked;
    int64_t first_ms; /* the first time at which a field expires; HASH_NEVER: none does */
    unsigned char *lp;
};
#define HASH_NEVER INT64_MAX

/* The container of a large hash with expiring fields. It begins with the struct of a hash without. */
struct expiringHash {
    struct hashtable fields;
    struct hashHeap due; /* of struct hashEntry, those with an expiry; never empty in a database */
    struct hashTracked tracked;
    struct timedHash *before; /* the small hash that this one has replaced, until hashCommit; else NULL */
};

extern int64_t hash_max_listpack_entries, hash_max_listpack_value;

static inline struct expiringHash *hashExpiring(const struct hash *h) {
    return h->ptr;
}
static inline struct timedHash *hashTimed(const struct hash *h) {
    return h->ptr;
}
/* Returns whether a hash of this encoding has expiring fields. */
static inline bool hashEncodingExpires(unsigned encoding) {
    return encoding == HASH_TIMED || encoding == HASH_EXPIRING;
}
static inline struct hashTracked *hashTrackedOf(const struct hash *h) {
    return h->encoding == HASH_TIMED ? &hashTimed(h)->tracked : &hashExpiring(h)->tracked;
}
/* Returns whether a field with this expiry is past it, and is treated as absent. */
static inline bool hashTimeIsDead(int64_t expire_ms) {
    return hashTimeHasExpired(expire_ms, cmd_time_ms) && !dbSeesExpired();
}
size_t hashCountExpiringFields(const struct hash *h);
/* hashListpackStays: whether a listpack of pairs is within the limits and too long to be packed. */
bool hashListpackStays(unsigned char *lp);
/* Gives a listpack a shape if it has one; no effect on other encodings. For the main thread. */
void hashFindShape(struct hash *h);
/* Removes up to `max` dead fields; their entries, or entries with their names, belong to the caller then. */
size_t hashRemoveDeadBatch(struct hash *h, struct hashEntry **entries, size_t max);

/* ---- In files (hash_rdb.c) ---- */
/* Writes a field in Redis's format, of a hash whose first expiry is `first_ms`. */
void hashRdbWriteForRedis(struct rioWriter *w, int64_t first_ms, const struct hashItem *item);
/* Returns the expiry as Redis can read it. */
int64_t hashRdbRedisExpiry(int64_t expire_ms);
void hashRdbRewriteExpiring(struct rioWriter *w, struct str key, const struct hashItem *item);

/* ---- Small hashes with expiring fields (hash_timed.c). A place is the address of a field. ---- */
struct timedHash *hashTimedNew(size_t bytes); /* room for so many bytes of listpack */
void hashTimedFree(struct timedHash *t);
struct timedHash *hashTimedCopy(const struct timedHash *t); /* it is in no database */
size_t hashTimedMemory(const struct timedHash *t);
size_t hashTimedSize(const struct timedHash *t); /* all fields */
unsigned char *hashTimedFind(const struct timedHash *t, struct str field);
unsigned char *hashTimedNext(const struct timedHash *t,
                             unsigned char *p); /* NULL: from the first; at the end */
int64_t hashTimedExpire(unsigned char *p);
struct str hashTimedValue(unsigned char *p, char *text);
size_t hashTimedCountExpiring(const struct timedHash *t, bool dead); /* dead: only those past their expiry */
void hashTimedAppend(struct timedHash *t, struct str field, struct str value, int64_t expire_ms);
void hashTimedSetExpire(struct timedHash *t, unsigned char *p, int64_t expire_ms);
void hashTimedSet(struct timedHash *t, unsigned char *p, struct str value, bool keep_expiry);
void hashTimedRemove(struct timedHash *t, unsigned char *p);
size_t hashTimedRemoveDead(struct timedHash *t, struct hashEntry **entries, size_t max);
unsigned char *hashTimedPairs(const struct timedHash *t); /* a new listpack of fields and values */

/* ---- Which hashes of a database have expiring fields (hash_expire.c) ---- */
/* Adds the hash, or updates its first due time. */
void hashTrack(struct keyspace *ks, struct str key, const struct hash *h);
void hashUntrack(struct keyspace *ks, struct hashTracked *t); /* no effect when it is not tracked */
void hashUntrackAll(struct keyspace *ks);                     /* all its keys are gone */
int hashRdbVersionNeeded(const struct keyspace *ks);
size_t hashCountExpiring(const struct keyspace *ks, bool overdue);
/* Removes dead fields for one millisecond. Returns true when there are more. */
bool hashReclaimSlice(void);
void hashExpireInit(void);

/* Large hashes in a snapshot without a fork (data/forkless/large_value.h). Only tables can be
 * large. hash.c reports each change of a field, of its value or its expiry, before it makes it. */
const struct valueParts *hashParts(const struct object *o); /* the hook `parts` */
void hashPartsBefore(struct largeValue *v, uint64_t hash);
/* Called before a field with this hash is added, removed or changed. */
static inline void hashFieldWillChange(const void *container, uint64_t hash) {
    struct largeValue *v = largeValueFind(container);
    if (__builtin_expect(v != NULL, 0)) hashPartsBefore(v, hash);
}
