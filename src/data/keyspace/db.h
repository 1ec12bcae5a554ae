/* SPDX-License-Identifier: BSD-3-Clause */
/* db.h - the databases: lookup of keys with expiry, and changes, of which other modules are notified.
 *
 * A database is the number that clients and files know. Its contents are a keyspace (keyspace.h), which can
 * be exchanged for another one. The functions here are those that concern expiry, statistics, events or
 * propagation; sizes, scans, samples and iterators are used directly: keyspaceScan(&db->keyspace, ...).
 *
 * Invariant: a lookup returns an object that is in the keyspace and has not expired, unless the running
 * client sees expired keys; and a key has been removed before anybody is notified of that. Both are asserted
 * in db.c.
 *
 * Lookups hash the key unless the round has hashed it already: see struct keyHint. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/zmalloc.h"
#include "data/keyspace/database.h"
#include "data/keyspace/keyspace.h"
#include "data/object.h"

extern struct db *dbs; /* dbCount() of them */
int dbCount(void);
void dbRegister(void); /* directives, INFO, cron: before the configuration is loaded */
void dbInit(void);     /* after it */
/* Before dbInit: keys go by slot, in so many databases. */
void dbUseSlots(int64_t databases);
struct db *dbGet(int64_t id); /* NULL when out of range */

/* ---- Lookup. NULL when absent or (logically) expired. O(1). Commands use command/lookup.h. ---- */
enum {
    LOOKUP_NOTOUCH = 1,   /* leave the LRU/LFU data alone */
    LOOKUP_NOSTATS = 2,   /* keyspace_hits and misses */
    LOOKUP_NOEXPIRE = 4,  /* do not delete an expired key (it still reads as absent) */
    LOOKUP_WRITE = 8,     /* not a read: no hit/miss counting */
    LOOKUP_NONOTIFY = 16, /* no event `keymiss` */
};
struct object *lookupKey(struct db *db, struct str key, int flags);
/* Without expiry, statistics or touching. */
struct object *dbFind(struct db *db, struct str key);
/* Is this object past its expiry, and does that count? */
bool objectIsExpired(const struct object *o);
/* Does whoever runs now see keys (and fields of hashes) past their time as if they had none? So does a file
 * that is loaded, the stream of our primary, and a client that imports (data/server_state/import_mode.h). */
bool dbSeesExpired(void);
extern bool db_loading; /* a file is being read into the databases: command/loading.c says so */

/* ---- Change. These tell nobody that the key has changed: handlers call keyChanged (notify.h). ---- */
/* The key must be absent. Wakes clients blocked on it. Returns the new object. */
struct object *dbAdd(struct db *db, struct str key, struct value v);
/* Add or overwrite. keep_ttl keeps the old expiry, else the expiry is removed. The old value is freed (lazily
 * when `lazyfree-lazy-server-del`). In place when layout and allocation class stay the same. */
struct object *dbSet(struct db *db, struct str key, struct value v, bool keep_ttl);
/* Same with an expiry (OBJ_NO_EXPIRE: none), in one go. `o` is what a lookup of the key just gave (may be
 * NULL): saves searching again. */
struct object *dbSetWithExpire(struct db *db, struct str key, struct object *o, struct value v,
                               int64_t expire_ms);
/* Replace the value of an existing object, keeping its expiry; the old container is NOT freed. The object may
 * move: use the result. */
struct object *dbReplaceValue(struct db *db, struct object *o, struct value v);
bool dbDelete(struct db *db, struct str key); /* as lazyfree-lazy-server-del says; true when it was there */
bool dbDeleteSync(struct db *db, struct str key);
bool dbDeleteAsync(struct db *db, struct str key); /* big values are freed on the thread */
void dbDeleteObject(struct db *db, struct object *o, bool async);
/* The same, because it has been given a time that is over. */
void dbDeleteOverdue(struct db *db, struct object *o, bool async);
/* Take the object out of the tables without freeing it. NULL when absent. */
struct object *dbUnlink(struct db *db, struct str key);
/* Expiry. The object may move: use the result. */
struct object *dbSetExpire(struct db *db, struct object *o, int64_t when_ms);
struct object *dbRemoveExpire(struct db *db, struct object *o);
/* Delete an expired key and tell everybody: event `expired`, propagation of the delete, statistics. False,
 * and nothing done, while expired keys are kept. */
bool dbExpireKey(struct db *db, struct object *o);
/* Has this time, which a command gives a key or a part of one, expired already? Then that goes at once,
 * unless expired keys are kept: a file that is loaded, for one, may still take the expiry back. */
bool dbTimeHasExpired(int64_t when_ms);
/* The same of a key that nobody else decides about, though expired keys are kept. */
void dbExpireOwnKey(struct db *db, struct object *o);
/* While fn says true expired keys are kept, though they read as absent: another server decides what expires,
 * or the data has to stand still. Only a lookup for writing deletes one that it comes upon. */
void dbAddExpiryVeto(bool (*fn)(void));
bool dbKeepsExpired(void);
/* The same for one that `maxmemory` has no room for: event `evicted`; statistics are data/lifetime/evict.c's.
 */
void dbEvictKey(struct db *db, struct object *o);

/* All keys of a slot, one by one, each with an event `del` and a delete that is propagated. Returns how many
 * there were. */
uint64_t dbDeleteSlot(struct db *db, int slot, bool async);
/* The same at once, which is much faster, and propagates nothing; with events only when asked for. */
uint64_t dbDropSlot(struct db *db, int slot, bool async, bool events);

/* All keys of one database (db != NULL) or all (NULL). Returns how many there were. */
uint64_t dbEmpty(struct db *db, bool async);
/* All, with something to do (NULL: nothing) behind each of them. */
uint64_t dbEmptyAll(bool async, void (*between)(void));
/* The two change contents; clients stay with their number. Wakes clients whose keys are there now. */
void dbSwap(struct db *a, struct db *b);
/* The same with a keyspace that was filled beside it, and then holds the old contents. */
void dbExchange(struct db *db, struct keyspace *ks);

/* ---- Whole database: what is shown of it (keyspace.h). ---- */
/* Hides a slot of all databases, or shows it. */
void dbHideSlot(int slot, bool hide);
struct object *dbRandomKey(struct db *db); /* never an expired one; NULL when empty */

/* ---- Hash hints ---- */
/* The round hands over the hashes it has computed for the keys of the running command, in argument order;
 * lookups recognize a key by its pointer. */
struct keyHint {
    struct str key;
    uint64_t hash;
};
extern const struct keyHint *db_key_hashes;
extern int db_hint_count;
static inline void dbSetKeyHashes(const struct keyHint *hints, int count) {
    db_key_hashes = hints;
    db_hint_count = count;
}
/* Of what is not a key of the keyspace, whose hash may have the slot in it: a member of a value, likewise
 * hinted at; a name in a table of somebody's own. Both are hashBytes. */
uint64_t dbHashMember(struct str member);
uint64_t dbHashName(struct str name);

/* Active expiry (data/lifetime/expire.c) */
extern bool active_expire_enabled; /* DEBUG SET-ACTIVE-EXPIRE */
void expireInit(void);
