/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_expire.c - which hashes have fields that expire, and the job that removes fields past their expiry.
 *
 *     keyspace->kept      heap of hashes with expiring fields, by the time of their first due field
 *                            ├─ large: heap of expiring fields, by their time (struct expiringHash)
 *                            └─ small: the first time (struct timedHash)
 *
 * The next due hash is always at the top of the heap: nothing is sampled, and hashes without due fields
 * cost nothing. A hash is known by its key, since objects move; the type's onAdded and onRemoved hooks keep
 * the heap right through RENAME, COPY, overwriting and FLUSHALL.
 *
 * The job works in slices of a millisecond. When a tick of cron leaves something over, a timer
 * continues a few milliseconds later, so that commands run in between, and the job takes a quarter of
 * the time at most. */
#include "base/assert.h"
#include "base/clock.h"
#include "base/zmalloc.h"
#include "command/propagate.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "data/rdb/rdb.h"
#include "net/ae.h"
#include "registry/cron.h"
#include "types/hash/hash_private.h"
#include "types/types.h"

#define SLICE_US  1000
#define PAUSE_MS  3
#define HIDDEN_MS 200
#define BATCH     64 /* fields of one hash between two readings of the clock, and in one HDEL */

static bool running; /* the timer is set */

static int64_t hashWhen(const void *item) {
    return ((const struct hashTracked *)item)->due_ms;
}
static void hashPlaced(void *item, uint32_t pos) {
    ((struct hashTracked *)item)->pos = pos;
}
static const struct hashHeapType dbHeap = {.when = hashWhen, .placed = hashPlaced};

/* ---- Tracking ---- */

void hashTrack(struct keyspace *ks, struct str key, const struct hash *h) {
    serverAssert(hashHasExpiring(h)); /* else it would be a plain listpack or table */
    if (!ks->kept[OBJ_HASH]) ks->kept[OBJ_HASH] = zcalloc(1, sizeof(struct hashHeap));
    struct hashTracked *e = hashTrackedOf(h);
    int64_t due_ms = h->encoding == HASH_TIMED ? hashTimed(h)->first_ms
                                               : hashEntryExpire(hashHeapFirst(&hashExpiring(h)->due));
    if (e->key) {
        if (e->due_ms == due_ms) return;
        e->due_ms = due_ms;
        hashHeapAdjust(ks->kept[OBJ_HASH], &dbHeap, e->pos);
    } else {
        e->key = sdsnewstr(key);
        e->due_ms = due_ms;
        hashHeapAdd(ks->kept[OBJ_HASH], &dbHeap, e);
    }
}

void hashUntrack(struct keyspace *ks, struct hashTracked *t) {
    if (!t->key) return;
    hashHeapRemove(ks->kept[OBJ_HASH], &dbHeap, t->pos);
    sdsfree(t->key);
    t->key = NULL;
}

/* The hashes keep their copies of their keys, and free them with everything else. */
void hashUntrackAll(struct keyspace *ks) {
    if (!ks->kept[OBJ_HASH]) return;
    hashHeapFree(ks->kept[OBJ_HASH]);
    zfree(ks->kept[OBJ_HASH]);
    ks->kept[OBJ_HASH] = NULL;
}

int hashRdbVersionNeeded(const struct keyspace *ks) {
    return hashCountExpiring(ks, false) > 0 ? RDB_VERSION_EXPIRING : RDB_VERSION;
}

size_t hashCountExpiring(const struct keyspace *ks, bool overdue) {
    const struct hashHeap *heap = ks->kept[OBJ_HASH];
    if (!heap) return 0;
    return overdue ? hashHeapCountBefore(heap, &dbHeap, cmd_time_ms, UINT32_MAX) : heap->used;
}

/* ---- The job ---- */

static void hashExpirePropagateRemoved(struct db *db, struct str key, struct hashEntry **entries, size_t n) {
    if (!propagateWanted()) return;
    struct str argv[BATCH + 2] = {STR("HDEL"), key};
    for (size_t i = 0; i < n; i++) argv[i + 2] = hashEntryField(entries[i]);
    propagateNow(db->id, (int)n + 2, argv);
}

static void hashExpireReportRemoved(const struct db *db, struct str key, struct hashEntry **entries,
                                    size_t n) {
    struct str fields[BATCH];
    if (!notify_subkey_sink) return;
    for (size_t i = 0; i < n; i++) fields[i] = hashEntryField(entries[i]);
    notify_subkey_sink("hexpired", key, db->id, &(struct subkeys){fields, n, 1});
}

/* Removes a batch of dead fields from a hash. */
static void hashExpireReclaim(struct db *db, const struct hashTracked *e) {
    struct hashEntry *entries[BATCH];
    sds key = sdsdup(e->key);
    struct str view = sdsview(key);
    struct object *o = dbFind(db, view);
    serverAssert(o && hashEncodingExpires(o->encoding));
    keyspaceObjectWillChange(&db->keyspace, o);
    struct hash h;
    hashOpen(&h, o);
    serverAssert(hashTrackedOf(&h) == e);
    size_t n = hashRemoveDeadBatch(&h, entries, BATCH);
    hashExpirePropagateRemoved(db, view, entries, n);
    bool left = hashCommit(&h, db, view, o);
    if (n) {
        dbstats.expired_fields += n;
        dbstats.expired_fields_actively += n;
        keyChanged(NULL, db, view, NOTIFY_HASH, "hexpired", n);
        hashExpireReportRemoved(db, view, entries, n);
    }
    for (size_t i = 0; i < n; i++) hashEntryFree(entries[i]);
    if (!left) keyEvent(NOTIFY_GENERIC, "del", view, db);
    sdsfree(key);
}

/* Returns the hash of this database with the field that is due first, if that is past its expiry. */
static struct hashTracked *hashExpireOverdue(struct db *db) {
    struct hashTracked *e = db->keyspace.kept[OBJ_HASH] ? hashHeapFirst(db->keyspace.kept[OBJ_HASH]) : NULL;
    return e && hashTimeHasExpired(e->due_ms, cmd_time_ms) ? e : NULL;
}

/* Postpones a hash in a hidden slot: its fields are removed once the slot is shown, or when its owner deletes
 * them. */
static void hashExpirePostpone(struct db *db, struct hashTracked *e) {
    e->due_ms = cmd_time_ms + HIDDEN_MS;
    hashHeapAdjust(db->keyspace.kept[OBJ_HASH], &dbHeap, e->pos);
}

/* Each slice begins with the next database, so that every database gets its turn. */
bool hashReclaimSlice(void) {
    static int next_db;
    int64_t start = monotonicUs();
    for (int i = 0; i < dbCount(); i++) {
        struct db *db = &dbs[(next_db + i) % dbCount()];
        struct hashTracked *e;
        while ((e = hashExpireOverdue(db))) {
            if (monotonicUs() - start > SLICE_US) {
                next_db = (next_db + i + 1) % dbCount();
                return true;
            }
            if (keyspaceHidesKey(&db->keyspace, sdsview(e->key)))
                hashExpirePostpone(db, e);
            else
                hashExpireReclaim(db, e);
        }
    }
    return false;
}

static int64_t hashExpireReclaimTimer(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id, (void)data;
    clockRefresh();
    running = active_expire_enabled && !dbKeepsExpired() && hashReclaimSlice();
    return running ? PAUSE_MS : AE_NOMORE;
}

static void hashExpireReclaimCron(void) {
    if (running || !active_expire_enabled || dbKeepsExpired() || !hashReclaimSlice()) return;
    running = true;
    aeCreateTimeEvent(server_el, PAUSE_MS, hashExpireReclaimTimer, NULL);
}

void hashExpireInit(void) {
    cronRegister(hashExpireReclaimCron, 0);
}
