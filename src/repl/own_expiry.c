/* SPDX-License-Identifier: BSD-3-Clause */
/* own_expiry.c - see own_expiry.h.
 *
 *     own: key ──▶ struct ownKey, a bit for each database in which it got an expiry here
 *
 * Databases from 64 on have no bit: their keys are not deleted. */
#include "repl/own_expiry.h"

#include "base/clock.h"
#include "base/sds.h"
#include "base/zmalloc.h"
#include "command/call.h"
#include "data/keyspace/db.h"
#include "data/keyspace/hooks.h"
#include "data/notify.h"
#include "data/server_state/role.h"
#include "ds/hashtable.h"
#include "registry/cron.h"
#include "registry/info.h"

#define DATABASES        64
#define KEPT_IN_SEQUENCE 3    /* a tick ends after so many keys that have not expired */
#define BUDGET_US        1000 /* for a tick... */
#define CLOCK_PERIOD     64   /* ...checked every so many keys */

struct ownKey {
    sds key;
    uint64_t dbs;
};

static struct hashtable *own; /* NULL: no key has been remembered */

static struct str ownKeyKey(const void *entry) {
    return sdsview(((const struct ownKey *)entry)->key);
}
static void ownKeyFree(void *entry) {
    struct ownKey *k = entry;
    sdsfree(k->key);
    zfree(k);
}
static const struct hashtableType own_type = {.entryKey = ownKeyKey, .entryFree = ownKeyFree};

/* ---- Remembering ---- */

static void ownExpiryRemember(int dbid, struct str key) {
    struct client *c = callOwner();
    if (dbid >= DATABASES || !c || c->flags & CLIENT_PRIMARY) return;
    if (!own) own = hashtableCreate(&own_type);
    struct ownKey *k = hashtableFind(own, key);
    if (!k) {
        k = zmalloc(sizeof *k);
        *k = (struct ownKey){.key = sdsnewstr(key)};
        hashtableAdd(own, k);
    }
    k->dbs |= UINT64_C(1) << dbid;
}

void ownExpiryEnable(bool on) {
    data_hooks.keyGetsExpiry = on ? ownExpiryRemember : NULL;
}

/* The database is emptied, so its keys are forgotten. */
static void ownExpiryForgetDatabase(int dbid) {
    if (!own || !hashtableSize(own) || dbid >= DATABASES) return;
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, own, true);
    while (hashtableNext(&it, &entry)) {
        struct ownKey *k = entry;
        k->dbs &= ~(UINT64_C(1) << dbid);
        if (!k->dbs) hashtableDelete(own, sdsview(k->key));
    }
    hashtableStopIterator(&it);
}

/* ---- Deleting ---- */

enum ownKeyFate { KEY_GONE, KEY_DELETED, KEY_KEPT };

/* Deletes the key in one database if it has expired. KEY_GONE: there is no key, or no expiry any more. */
static enum ownKeyFate ownExpiryCheckKey(struct db *db, struct str key) {
    struct object *o = dbFind(db, key);
    if (!o || !objectHasExpire(o)) return KEY_GONE;
    if (!objectIsExpired(o)) return KEY_KEPT;
    dbExpireOwnKey(db, o);
    return KEY_DELETED;
}

/* Returns whether the key remains in some database. */
static bool ownExpiryDeleteExpired(struct ownKey *k) {
    bool any = false;
    for (uint64_t left = k->dbs; left; left &= left - 1) {
        int dbid = __builtin_ctzll(left);
        struct db *db = dbGet(dbid);
        enum ownKeyFate ownKeyFate = db ? ownExpiryCheckKey(db, sdsview(k->key)) : KEY_GONE;
        if (ownKeyFate != KEY_KEPT) k->dbs &= ~(UINT64_C(1) << dbid);
        any |= ownKeyFate == KEY_KEPT;
    }
    if (!k->dbs) hashtableDelete(own, sdsview(k->key));
    return any;
}

/* A primary expires all keys alike, so what it remembered as a replica is of no use any more. */
static void ownExpiryForgetAll(void) {
    hashtableRelease(own);
    own = NULL;
}

static void ownExpiryCron(void) {
    if (own && !roleIsReplica()) ownExpiryForgetAll();
    if (!own || !active_expire_enabled) return;
    int64_t start = monotonicUs();
    int kept = 0;
    for (unsigned n = 1; hashtableSize(own) && kept <= KEPT_IN_SEQUENCE; n++) {
        kept = ownExpiryDeleteExpired(hashtableFairRandomEntry(own)) ? kept + 1 : 0;
        if (n % CLOCK_PERIOD == 0 && monotonicUs() - start > BUDGET_US) return;
    }
}

/* ---- Registration ---- */

static sds ownExpiryInfo(sds s) {
    return infoField(s, "slave_expires_tracked_keys:%zu", own ? hashtableSize(own) : 0);
}

void ownExpiryInit(void) {
    cronRegister(ownExpiryCron, 0);
    notifyAddFlushSink(ownExpiryForgetDatabase);
    infoRegister("stats", ownExpiryInfo);
}
