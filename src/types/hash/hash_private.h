/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_private.h - what the files of the hash container share. */
#pragma once

#include "types/hash/hash.h"
#include "types/hash/hash_heap.h"

struct keyspace;

/* The container of a hash with expiring fields. It begins with the struct of a hash without. */
struct expiringHash {
    struct hashtable fields;
    struct hashHeap due; /* of struct hashEntry, those with an expiry; never empty in a database */
    sds key;             /* the hash's key while it is in a database; else NULL */
    uint32_t pos;        /* position in the database's heap of such hashes, which */
    int64_t due_ms;      /* goes by the time of their first due field */
};

extern int64_t hash_max_listpack_entries, hash_max_listpack_value;

static inline struct expiringHash *hashExpiring(const struct hash *h) {
    return h->ptr;
}
/* hashListpackStays: whether a listpack of pairs is within the limits and too long to be packed. */
bool hashListpackStays(unsigned char *lp);
/* Removes up to `max` dead fields; their entries belong to the caller then. */
size_t hashRemoveDeadBatch(struct hash *h, struct hashEntry **entries, size_t max);

/* ---- Which hashes of a database have expiring fields (hash_expire.c) ---- */
/* Adds the hash, or updates its first due time. */
void hashTrack(struct keyspace *ks, struct str key, struct expiringHash *e);
void hashUntrack(struct keyspace *ks, struct expiringHash *e); /* no effect when it is not tracked */
void hashUntrackAll(struct keyspace *ks);                      /* all its keys are gone */
int hashRdbVersionNeeded(const struct keyspace *ks);
size_t hashCountExpiring(const struct keyspace *ks, bool overdue);
/* Removes dead fields for one millisecond. Returns true when there are more. */
bool hashReclaimSlice(void);
void hashExpireInit(void);
