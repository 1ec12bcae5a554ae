/* SPDX-License-Identifier: BSD-3-Clause */
/* db.h - the databases: lookup of keys with expiry, and changes, of which other modules are notified.
 *
 * A database is the number that clients and files know. Its contents are a keyspace (keyspace.h),
 * which can be exchanged for another one. The functions here are those that involve expiry,
 * statistics, events or propagation; sizes, scans, samples and iterators of the keyspace are called
 * directly: keyspaceScan(&db->keyspace, ...).
 *
 * Invariant: a lookup returns an object that is in the keyspace and has not expired, unless the
 * running client sees expired keys; and a key is removed before anybody is notified of the removal.
 * db.c asserts both.
 *
 * Lookups hash the key unless the turn has hashed it already (struct keyHint). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/zmalloc.h"
#include "data/keyspace/database.h"
#include "data/keyspace/keyspace.h"
#include "data/object.h"

extern struct db *dbs; /* dbCount() of them */
int dbCount(void);
void dbRegister(void); /* directives, INFO, cron; called before the configuration is loaded */
void dbInit(void);     /* called after the configuration is loaded */
/* Called before dbInit: keys go by slot, in so many databases. */
void dbUseSlots(int64_t databases);
struct db *dbGet(int64_t id); /* NULL when out of range */

/* ---- Lookup. NULL when absent or (logically) expired. O(1). Commands use command/lookup.h. ---- */
enum {
    LOOKUP_NOTOUCH = 1,   /* leave the LRU/LFU data alone */
    LOOKUP_NOSTATS = 2,   /* do not count keyspace_hits and misses */
    LOOKUP_NOEXPIRE = 4,  /* do not delete an expired key (it still reads as absent) */
    LOOKUP_WRITE = 8,     /* not a read: no hit/miss counting */
    LOOKUP_NONOTIFY = 16, /* no `keymiss` event */
};
struct object *lookupKey(struct db *db, struct str key, int flags);
/* Finds without expiry, statistics or touching. */
struct object *dbFind(struct db *db, struct str key);
/* Whether this object is past its expiry and the running client does not see expired keys. */
bool objectIsExpired(const struct object *o);
/* Whether expired keys (and fields of hashes) look alive to the running client. They do for a file that is
 * loaded, the stream of our primary, and a client that imports (data/server_state/import_mode.h). */
bool dbSeesExpired(void);
extern bool db_loading; /* a file is being read into the databases; set by command/loading.c */

/* ---- Change. These functions notify nobody: handlers call keyChanged (notify.h). ---- */
/* Adds a key, which must be absent, and wakes clients blocked on it. Returns the new object. */
struct object *dbAdd(struct db *db, struct str key, struct value v);
/* Adds or overwrites. keep_ttl keeps the old expiry, else the expiry is removed. The old value is freed
 * (lazily with `lazyfree-lazy-server-del`). In place when layout and allocation class stay the same. */
struct object *dbSet(struct db *db, struct str key, struct value v, bool keep_ttl);
/* Sets value and expiry (OBJ_NO_EXPIRE: none) at once. `o` is what a lookup of the key just returned (may be
 * NULL), which saves another search. */
struct object *dbSetWithExpire(struct db *db, struct str key, struct object *o, struct value v,
                               int64_t expire_ms);
/* Does the same with a value that was made from the old one, or whose change is reported by the caller: no
 * keyspace event says that the key was overwritten. */
struct object *dbUpdate(struct db *db, struct str key, struct object *o, struct value v, int64_t expire_ms);
/* Replaces the value of an existing object and keeps its expiry. The old container is not freed. The object
 * may move: use the result. */
struct object *dbReplaceValue(struct db *db, struct object *o, struct value v);
bool dbDelete(struct db *db, struct str key); /* lazily with lazyfree-lazy-server-del; true when it existed */
bool dbDeleteSync(struct db *db, struct str key);
bool dbDeleteAsync(struct db *db, struct str key); /* large values are freed on the thread */
void dbDeleteObject(struct db *db, struct object *o, bool async);
/* Deletes a key that has been given an expiry in the past. */
void dbDeleteOverdue(struct db *db, struct object *o, bool async);
/* Takes the object out of the tables without freeing it. Returns NULL when absent. */
struct object *dbUnlink(struct db *db, struct str key);
/* Sets the expiry. The object may move: use the result. */
struct object *dbSetExpire(struct db *db, struct object *o, int64_t when_ms);
struct object *dbRemoveExpire(struct db *db, struct object *o);
/* Deletes an expired key and reports it: event `expired`, propagation of the delete, statistics. Returns
 * false, and does nothing, while expired keys are kept. */
bool dbExpireKey(struct db *db, struct object *o);
/* Whether this time, which a command sets for a key or a part of one, is past already. The key is then
 * deleted at once, unless expired keys are kept: a file that is being loaded, for one, may still
 * remove the expiry. */
bool dbTimeHasExpired(int64_t when_ms);
/* Deletes an expired key that only this server decides about, even while expired keys are kept. */
void dbExpireOwnKey(struct db *db, struct object *o);
/* While fn returns true, expired keys are kept although they read as absent, because another server decides
 * what expires or the data has to stay unchanged. Only a lookup for writing deletes an expired key then. */
void dbAddExpiryVeto(bool (*fn)(void));
bool dbKeepsExpired(void);
/* Deletes a key on account of `maxmemory`, with event `evicted`. data/lifetime/evict.c keeps the
 * statistics. */
void dbEvictKey(struct db *db, struct object *o);

/* Deletes all keys of a slot one by one, each with an event `del` and a propagated delete. Returns their
 * number. */
uint64_t dbDeleteSlot(struct db *db, int slot, bool async);
/* Deletes all keys of a slot at once, which is much faster, and propagates nothing; events only
 * when asked for. */
uint64_t dbDropSlot(struct db *db, int slot, bool async, bool events);

/* Deletes all keys of one database, or of all (db NULL). Returns their number. */
uint64_t dbEmpty(struct db *db, bool async);
/* Empties all databases and calls `between` (may be NULL) after each of them. */
uint64_t dbEmptyAll(bool async, void (*between)(void));
/* Exchanges the contents of two databases; clients keep their number. Wakes clients blocked on keys
 * that exist now. */
void dbSwap(struct db *a, struct db *b);
/* Exchanges the contents of a database with a keyspace that was filled beside it, and which then holds
 * the old contents. */
void dbExchange(struct db *db, struct keyspace *ks);

/* ---- Whole databases (keyspace.h) ---- */
/* Hides a slot of all databases, or shows it again. */
void dbHideSlot(int slot, bool hide);
struct object *dbRandomKey(struct db *db); /* never an expired key; NULL when empty */

/* ---- Hash hints ---- */
/* The turn hands over the hashes that it has computed for the keys of the running command, in argument order.
 * Lookups recognize a key by its pointer. */
struct keyHint {
    struct str key;
    uint64_t hash;
};
extern __thread const struct keyHint *db_key_hashes;
extern __thread int db_hint_count;
static inline void dbSetKeyHashes(const struct keyHint *hints, int count) {
    db_key_hashes = hints;
    db_hint_count = count;
}
/* Returns the hash of something that is not a key of the keyspace (whose hash may contain the slot), which
 * may be hinted at too: a member of a value, or a name in another table. Both are hashBytes. */
uint64_t dbHashMember(struct str member);
uint64_t dbHashName(struct str name);

/* Active expiry (data/lifetime/expire.c) */
extern bool active_expire_enabled; /* DEBUG SET-ACTIVE-EXPIRE */
void expireInit(void);
