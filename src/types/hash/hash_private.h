/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_private.h - what the files of the hash container share. */
#pragma once

#include "types/hash/hash.h"
#include "types/hash/hash_heap.h"

struct keyspace;

/* The container of a hash with expiring fields. It begins like one without. */
struct expiringHash {
    struct hashtable fields;
    struct hashHeap due; /* struct hashEntry, those with an expiry; never empty in a database */
    sds key;             /* its key, while it is in a database; else NULL */
    uint32_t pos;        /* in the database's heap of such hashes, ... */
    int64_t due_ms;      /* ... which goes by the time of their first due field */
};

extern int64_t hash_max_listpack_entries, hash_max_listpack_value;

static inline struct expiringHash *hashExpiring(const struct hash *h) {
    return h->ptr;
}
/* Does a listpack of pairs keep within the limits, and is it too long to be packed? */
bool hashListpackStays(unsigned char *lp);
/* A copy of the table with its expiring fields, which is in no database. */
void *hashTableCopy(const struct hash *h);
/* Takes out up to `max` dead fields; the entries are the caller's then. */
size_t hashTakeDead(struct hash *h, struct hashEntry **entries, size_t max);

/* ---- Which hashes of a database have expiring fields (hash_expire.c) ---- */
void hashTrack(struct keyspace *ks, struct str key,
               struct expiringHash *e);                        /* or its first due field has changed */
void hashUntrack(struct keyspace *ks, struct expiringHash *e); /* nothing when it is not tracked */
void hashForgetAll(struct keyspace *ks);                       /* its keys are gone */
bool hashAnyExpiring(const struct keyspace *ks);
size_t hashCountExpiring(const struct keyspace *ks, bool overdue);
/* Takes dead fields out for a millisecond. True when there are more. */
bool hashReclaimSlice(void);
void hashExpireInit(void);
