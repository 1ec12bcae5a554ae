/* SPDX-License-Identifier: BSD-3-Clause */
/* hash.h - hashes as values: the interface for the hash commands, and for other modules that read or build
 * hashes.
 *
 *     packed      a few short fields: inside the object itself, no allocation of their own    "listpack"
 *     listpack    up to hash-max-listpack-entries fields: field, value, field, value ...      "listpack"
 *     timed       the same with an expiry for each field, since some have one                 "listpack"
 *     shaped      a listpack's values, while others have the same fields (hash_shape.h)       "listpack"
 *     table       all others: ds/hashtable over entries (hash_entry.h)                        "hashtable"
 *     expiring    a table some of whose fields expire, and a heap of those                    "hashtable"
 *
 * A `struct hash` is a hash opened for work, on the stack. Reading needs hashOpen only. Changes are
 * made in the struct; hashCommit then updates the object, which may move, be created, or be deleted
 * with its last field.
 *
 * A field past its expiry ("dead") may still be present until the background job removes it. hashSize counts
 * it; every other function here treats it as absent. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "data/object.h"
#include "ds/hashtable.h"
#include "ds/listpack.h"
#include "types/hash/hash_entry.h"

struct db;

enum { HASH_PACKED, HASH_LISTPACK, HASH_TIMED, HASH_SHAPED, HASH_TABLE, HASH_EXPIRING };
#define HASH_PACKED_MAX 63 /* bytes */

struct hash { /* must not be copied: ptr may point to `room` */
    uint8_t encoding;
    uint8_t used;             /* bytes, when packed */
    uint16_t shape_before;    /* the shape that it had when opened, if it has become a listpack; else 0 */
    bool named;               /* fields of the listpack were added or removed, so it may have a shape */
    uint32_t expired_removed; /* dead fields overwritten or removed since opening */
    void *ptr;                /* the container; when packed, the bytes: in the object or in `room` */
    char room[HASH_PACKED_MAX];
};

/* Text that was read: a view of the hash, or of `text`. It must not be copied. */
struct hashText {
    struct str s;
    char text[LP_INTBUF_SIZE];
};
struct hashItem {
    struct hashText field, value;
    int64_t expire_ms; /* or HASH_NO_EXPIRE */
};

/* ---- Life ---- */
void hashOpen(struct hash *h, const struct object *o);
void hashNew(struct hash *h); /* empty */
/* Prepares for so many pairs that are about to be set: chooses the encoding and reserves its memory. */
void hashExpect(struct hash *h, size_t pairs);
/* Sets all fields of an empty hash at once, if it is known that others have these fields. Returns false when
 * nothing was set. */
bool hashSetAll(struct hash *h, const struct str *pairs, size_t count);
hashtable *hashTable(const struct hash *h); /* hash table of the fields; NULL: it has none */
void hashDrop(struct hash *h);              /* frees one that was never committed */
/* Updates the object after a change. `o` is the object that was opened, or NULL for a new hash: then
 * the key is added. Returns false when the hash is empty: the key does not exist (any more); no event
 * has been sent. */
bool hashCommit(struct hash *h, struct db *db, struct str key, struct object *o);
struct value hashValue(struct hash *h);    /* for other ways into the keyspace; a view when packed */
void *hashTableCopy(const struct hash *h); /* of a table or an expiring one; the copy is in no database */
/* Bytes of the container, estimated from `samples` fields (0: all); 0 when packed. */
size_t hashMemory(const struct hash *h, size_t samples);

/* ---- Fields: O(1), O(n) in small hashes ---- */
size_t hashSize(const struct hash *h); /* including dead fields */
size_t hashLive(const struct hash *h); /* without dead fields; O(number of dead ones) */
bool hashGet(const struct hash *h, struct str field, struct hashText *value); /* value may be NULL */
/* Sets a field; true when it did not exist. An existing expiry is removed unless keep_expiry.
 * value.owned: see hashKeepsSds. */
bool hashSet(struct hash *h, struct str field, struct hashInput value, bool keep_expiry);
/* Whether the value of this field belongs to somebody else (HASH_ELSEWHERE). */
bool hashIsElsewhere(const struct hash *h, struct str field);
/* Whether a value of this length would be kept as an sds of its own: then handing over an sds saves a
 * copy. */
bool hashKeepsSds(const struct hash *h, size_t len);
bool hashRemove(struct hash *h, struct str field); /* false: it did not exist */
/* Returns the names of the expired_removed fields, as the command has given them; only while
 * notify_subkey_sink is set. */
const struct str *hashDeadFields(void);
/* Removes a dead field. Returns false when there is none of this name. */
bool hashRemoveDead(struct hash *h, struct str field);

enum { HASH_NO_FIELD = -2 };
int64_t hashExpire(const struct hash *h, struct str field); /* ms, HASH_NO_EXPIRE or HASH_NO_FIELD */
/* Sets the expiry of an existing field. expire_ms may be HASH_NO_EXPIRE. */
void hashSetExpire(struct hash *h, struct str field, int64_t expire_ms);
bool hashHasExpiring(const struct hash *h); /* whether any field has an expiry */
bool hashHasDead(const struct hash *h);     /* O(1) */

/* ---- Iteration. The hash must not change meanwhile. ---- */
struct hashIterator {
    const struct hash *h;
    const unsigned char *next; /* packed, listpack, timed, shaped */
    unsigned index;            /* shaped: of the next field */
    struct hashtableIterator table;
};
void hashIterate(struct hashIterator *it, const struct hash *h);
bool hashNext(struct hashIterator *it, struct hashItem *item);
/* Returns the place of the next field, for hashRead, or NULL at the end. */
const void *hashNextPlace(struct hashIterator *it);
void hashStop(struct hashIterator *it);
void hashRead(const struct hash *h, const void *place, struct hashItem *item);
/* Returns the place of a random field, each equally likely, or NULL when there is none. */
const void *hashRandomPlace(const struct hash *h);
/* Scans with SCAN's guarantee, see hashtableScan. Small hashes come in one piece. */
uint64_t hashScan(const struct hash *h, uint64_t cursor, void (*fn)(void *priv, const void *place),
                  void *priv);

void hashTypeInit(void); /* type, commands, directives, background job */
