/* SPDX-License-Identifier: BSD-3-Clause */
/* db.c - the databases; see db.h. keyspace.h is about their contents. */
#include "data/keyspace/db.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/read_phase.h"
#include "base/zmalloc.h"
#include "data/keyspace/hooks.h"
#include "data/keyspace/key_use.h"
#include "data/lifetime/evict_marks.h"
#include "data/lifetime/lazyfree.h"
#include "data/notify.h"
#include "data/type.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/server_events.h"

#define RANDOM_KEY_TRIES 100
#define VETOES_MAX       8
#define RESIZE_US        1000 /* per table, in one tick */

struct db *dbs;
struct dbStats dbstats;
struct dataHooks data_hooks;
bool db_loading;
static int64_t db_count, databases;
static bool active_rehashing;
static bool (*expiry_vetoes[VETOES_MAX])(void);
static int expiry_veto_count;

/* ---- Hash hints ---- */

__thread const struct keyHint *db_key_hashes;
__thread int db_hint_count;

/* Returns the hint for an argument of the running command, found by its address; NULL: it has not been
 * hashed. */
static inline const struct keyHint *dbHintOf(struct str arg) {
    for (int i = 0; i < db_hint_count; i++) {
        if (db_key_hashes[i].key.ptr == arg.ptr && db_key_hashes[i].key.len == arg.len)
            return &db_key_hashes[i];
    }
    return NULL;
}

static uint64_t dbHashKey(struct str key) {
    const struct keyHint *hint = dbHintOf(key);
    return hint ? hint->hash : keyHash(key);
}

uint64_t dbHashMember(struct str member) {
    const struct keyHint *hint = dbHintOf(member);
    return hint ? hint->hash : hashBytes(member.ptr, member.len);
}

uint64_t dbHashName(struct str name) {
    return keys_by_slot ? hashBytes(name.ptr, name.len) : dbHashKey(name);
}

/* Returns the hash of an object's own key, which no hint points to: most often it is the running
 * command's first key. */
static uint64_t dbHashOfObject(const struct object *o) {
    struct str key = objectKey(o);
    return db_hint_count && strEq(db_key_hashes[0].key, key) ? db_key_hashes[0].hash : keyHash(key);
}

/* ---- Tables ---- */

/* Gives the object this value and expiry, moving it when necessary. The old container is not freed. */
static inline __attribute__((always_inline)) struct object *
dbRewriteObject(struct db *db, struct object *o, struct value v, int64_t expire_ms) {
    bool had_expire = objectHasExpire(o), has_expire = expire_ms != OBJ_NO_EXPIRE;
    keyspaceObjectWillChange(&db->keyspace, o); /* it may have been looked up for reading */
    if (had_expire == has_expire && objectRewrite(o, expire_ms, v)) return o;
    return keyspaceReplace(&db->keyspace, o, v, expire_ms, dbHashOfObject(o));
}

static void dbKeyExistenceChanged(struct db *db, struct str key) {
    if (__builtin_expect(data_hooks.keyExistenceChanged != NULL, 0)) data_hooks.keyExistenceChanged(db, key);
}

static void dbUnlinkObject(struct db *db, struct object *o) {
    keyspaceRemove(&db->keyspace, o, dbHashKey(objectKey(o)));
    dbKeyExistenceChanged(db, objectKey(o));
}

/* ---- Lookup ---- */

bool dbSeesExpired(void) {
    /* Keys with an expiry in a file stay until the file itself deletes them. */
    if (db_loading) return true;
    return data_hooks.clientSeesExpired && data_hooks.clientSeesExpired();
}

bool objectIsExpired(const struct object *o) {
    return objectHasExpire(o) && objectExpire(o) < cmd_time_ms && !dbSeesExpired();
}

struct object *dbFind(struct db *db, struct str key) {
    return keyspaceFind(&db->keyspace, key, dbHashKey(key));
}

static void dbExpireNow(struct db *db, struct object *o);

/* A write may put something in the key's place: then it is removed, although expired keys are kept. */
static void dbExpireFound(struct db *db, struct object *o, bool writes) {
    if (readRefuses()) return;
    if (writes || !dbKeepsExpired()) dbExpireNow(db, o);
}

struct object *lookupKey(struct db *db, struct str key, int flags) {
    bool reads = !(flags & (LOOKUP_NOSTATS | LOOKUP_WRITE));
    keyUsed(db, key, reads ? KEY_USE_READ : KEY_USE_LOOKUP);
    struct object *o = keyspaceFind(&db->keyspace, key, dbHashKey(key));
    if (__builtin_expect(db->keyspace.walk != NULL, 0) && flags & LOOKUP_WRITE)
        keyspaceWalkSave(db->keyspace.walk, keyHash(key), o);
    if (o && objectHasExpire(o) && objectIsExpired(o)) {
        if (!(flags & LOOKUP_NOEXPIRE)) dbExpireFound(db, o, flags & LOOKUP_WRITE);
        o = NULL;
    }
    if (reads) {
        dbCountLookup(o != NULL);
        if (!o && !(flags & LOOKUP_NONOTIFY)) keyEvent(NOTIFY_KEY_MISS, "keymiss", key, db);
    }
    if (o && !(flags & LOOKUP_NOTOUCH)) objectTouch(o);
    debugAssert(!o || (!objectIsExpired(o) && dbFind(db, key) == o));
    return o;
}

/* ---- Change ---- */

/* Notifies before the change, as sinks may look at the value; for that it may have to be converted. Returns
 * the object's address afterwards. */
static __attribute__((noinline, cold)) struct object *dbNotifyFate(struct db *db, struct object *o,
                                                                   enum eventKeyFate fate) {
    sds key = sdsnewstr(objectKey(o));
    serverEvent(SERVER_KEY, fate, &(struct eventKey){db, o});
    o = keyspaceFind(&db->keyspace, sdsview(key), keyHash(sdsview(key)));
    serverAssert(o); /* a callback must not delete what is about to be deleted */
    sdsfree(key);
    return o;
}

static inline struct object *dbNotifyFateIfWanted(struct db *db, struct object *o, enum eventKeyFate fate) {
    return serverEventWanted(SERVER_KEY) && o ? dbNotifyFate(db, o, fate) : o;
}

/* Notes that o has been given an expiry, or none. */
static inline void dbNoteExpiry(struct db *db, struct object *o) {
    if (__builtin_expect(data_hooks.keyGetsExpiry != NULL, 0) && objectHasExpire(o))
        data_hooks.keyGetsExpiry(db->id, objectKey(o));
}

static struct object *dbAddObject(struct db *db, struct str key, struct value v, int64_t expire_ms) {
    keyUsed(db, key, KEY_USE_CHANGE);
    struct object *o = objectCreate(key, expire_ms, v);
    o->lru = objectFirstUse() & 0xffffff;
    keyspaceAdd(&db->keyspace, o, dbHashKey(key));
    dbKeyExistenceChanged(db, key);
    keyEvent(NOTIFY_NEW, "new", key, db);
    dbNoteExpiry(db, o);
    return o;
}

struct object *dbAdd(struct db *db, struct str key, struct value v) {
    return dbAddObject(db, key, v, OBJ_NO_EXPIRE);
}

static inline __attribute__((always_inline)) struct object *
dbReplaceObject(struct db *db, struct str key, struct object *o, struct value v, int64_t expire_ms) {
    struct value old = objectValue(o);
    size_t effort = old.embedded ? 0 : objectTypeOf(o)->freeEffort(o);
    keyspaceNotifyRemoved(&db->keyspace, o);
    o = dbRewriteObject(db, o, v, expire_ms);
    keyspaceNotifyAdded(&db->keyspace, o);
    lazyfreeValue(old, lazyfree_lazy_server_del, effort);
    if (old.type != v.type) dbKeyExistenceChanged(db, key);
    dbNoteExpiry(db, o);
    return o;
}

/* Replaces a value where that is told to modules, or to subscribers of keyspace events. */
static __attribute__((noinline, cold)) struct object *
dbReplaceAndTell(struct db *db, struct str key, struct object *o, struct value v, int64_t expire_ms) {
    bool expired = objectIsExpired(o);
    o = dbNotifyFateIfWanted(db, o, EVENT_KEY_OVERWRITTEN);
    unsigned old_type = o->type;
    o = dbReplaceObject(db, key, o, v, expire_ms);
    if (serverEventWanted(SERVER_REPLACEMENT) && !expired) keyReplaced(db, key, old_type, v.type);
    return o;
}

struct object *dbSetWithExpire(struct db *db, struct str key, struct object *o, struct value v,
                               int64_t expire_ms) {
    if (!o) return dbAddObject(db, key, v, expire_ms);
    keyUsed(db, key, KEY_USE_CHANGE);
    debugAssert(dbFind(db, key) == o);
    if (__builtin_expect(server_events_wanted & (1u << SERVER_KEY | 1u << SERVER_REPLACEMENT), 0))
        return dbReplaceAndTell(db, key, o, v, expire_ms);
    return dbReplaceObject(db, key, o, v, expire_ms);
}

struct object *dbUpdate(struct db *db, struct str key, struct object *o, struct value v, int64_t expire_ms) {
    if (!o) return dbAddObject(db, key, v, expire_ms);
    keyUsed(db, key, KEY_USE_CHANGE);
    debugAssert(dbFind(db, key) == o);
    o = dbNotifyFateIfWanted(db, o, EVENT_KEY_OVERWRITTEN);
    return dbReplaceObject(db, key, o, v, expire_ms);
}

struct object *dbSet(struct db *db, struct str key, struct value v, bool keep_ttl) {
    struct object *o = dbFind(db, key);
    return dbSetWithExpire(db, key, o, v, o && keep_ttl ? objectExpire(o) : OBJ_NO_EXPIRE);
}

struct object *dbReplaceValue(struct db *db, struct object *o, struct value v) {
    keyUsed(db, objectKey(o), KEY_USE_CHANGE);
    debugAssert(o->type == v.type && dbFind(db, objectKey(o)) == o);
    return dbRewriteObject(db, o, v, objectExpire(o));
}

struct object *dbUnlink(struct db *db, struct str key) {
    keyUsed(db, key, KEY_USE_CHANGE);
    if (serverEventWanted(SERVER_KEY)) dbNotifyFateIfWanted(db, dbFind(db, key), EVENT_KEY_DELETED);
    struct object *o = keyspacePop(&db->keyspace, key, dbHashKey(key));
    if (o) dbKeyExistenceChanged(db, key);
    return o;
}

static bool dbDeleteKey(struct db *db, struct str key, bool async) {
    struct object *o = dbUnlink(db, key);
    if (!o) return false;
    lazyfreeObject(o, async);
    return true;
}

bool dbDelete(struct db *db, struct str key) {
    return dbDeleteKey(db, key, lazyfree_lazy_server_del);
}
bool dbDeleteSync(struct db *db, struct str key) {
    return dbDeleteKey(db, key, false);
}
bool dbDeleteAsync(struct db *db, struct str key) {
    return dbDeleteKey(db, key, true);
}

static void dbDeleteObjectAs(struct db *db, struct object *o, bool async, enum eventKeyFate fate) {
    keyUsed(db, objectKey(o), KEY_USE_CHANGE);
    debugAssert(dbFind(db, objectKey(o)) == o);
    o = dbNotifyFateIfWanted(db, o, fate);
    dbUnlinkObject(db, o);
    lazyfreeObject(o, async);
}

void dbDeleteObject(struct db *db, struct object *o, bool async) {
    dbDeleteObjectAs(db, o, async, EVENT_KEY_DELETED);
}

void dbDeleteOverdue(struct db *db, struct object *o, bool async) {
    dbDeleteObjectAs(db, o, async, EVENT_KEY_EXPIRED);
}

struct object *dbSetExpire(struct db *db, struct object *o, int64_t when_ms) {
    keyUsed(db, objectKey(o), KEY_USE_CHANGE);
    debugAssert(dbFind(db, objectKey(o)) == o);
    o = dbRewriteObject(db, o, objectValue(o), when_ms);
    dbNoteExpiry(db, o);
    return o;
}

struct object *dbRemoveExpire(struct db *db, struct object *o) {
    debugAssert(dbFind(db, objectKey(o)) == o);
    keyUsed(db, objectKey(o), KEY_USE_CHANGE);
    return dbRewriteObject(db, o, objectValue(o), OBJ_NO_EXPIRE);
}

/* Removes a key without a command for it. */
static void dbDropKey(struct db *db, struct object *o, bool async, bool propagate, int class,
                      const char *event) {
    o = dbNotifyFateIfWanted(db, o,
                             class == NOTIFY_EXPIRED   ? EVENT_KEY_EXPIRED
                             : class == NOTIFY_EVICTED ? EVENT_KEY_EVICTED
                                                       : EVENT_KEY_DELETED);
    struct str key = objectKey(o);
    dbUnlinkObject(db, o);
    debugAssert(!dbFind(db, key)); /* sinks find it gone */
    if (data_hooks.dropBegins) data_hooks.dropBegins();
    if (propagate && data_hooks.propagateDelete) data_hooks.propagateDelete(db->id, key, async);
    keyDropped(db, key, class, event);
    if (data_hooks.dropEnds) data_hooks.dropEnds();
    lazyfreeObject(o, async);
}

void dbAddExpiryVeto(bool (*fn)(void)) {
    serverAssert(fn && expiry_veto_count < VETOES_MAX);
    expiry_vetoes[expiry_veto_count++] = fn;
}

bool dbKeepsExpired(void) {
    for (int i = 0; i < expiry_veto_count; i++) {
        if (expiry_vetoes[i]()) return true;
    }
    return false;
}

bool dbTimeHasExpired(int64_t when_ms) {
    return when_ms <= cmd_time_ms && !dbKeepsExpired();
}

static void dbExpireNow(struct db *db, struct object *o) {
    serverAssert(objectHasExpire(o) && objectExpire(o) < cmd_time_ms);
    dbstats.expired++;
    dbDropKey(db, o, lazyfree_lazy_expire, true, NOTIFY_EXPIRED, "expired");
}

bool dbExpireKey(struct db *db, struct object *o) {
    if (dbKeepsExpired() || readRefuses()) return false;
    dbExpireNow(db, o);
    return true;
}

void dbExpireOwnKey(struct db *db, struct object *o) {
    dbExpireNow(db, o);
}

void dbEvictKey(struct db *db, struct object *o) {
    dbDropKey(db, o, lazyfree_lazy_eviction, true, NOTIFY_EVICTED, "evicted");
}

uint64_t dbDeleteSlot(struct db *db, int slot, bool async) {
    uint64_t n = 0;
    struct keyspaceIterator it;
    struct object *o;
    keyspaceIteratorInitSlots(&it, &db->keyspace, slot, slot);
    for (; (o = keyspaceIteratorNext(&it)); n++) dbDropKey(db, o, async, true, NOTIFY_GENERIC, "del");
    keyspaceIteratorStop(&it);
    return n;
}

struct droppedSlot {
    struct db *db;
    const char *event;
};

static void dbNotifyDropped(void *priv, const struct object *o) {
    const struct droppedSlot *to = priv;
    dbKeyExistenceChanged(to->db, objectKey(o));
    keyDropped(to->db, objectKey(o), NOTIFY_GENERIC, to->event);
}

static uint64_t dbDropSlotNotifying(struct db *db, int slot, bool async, bool events) {
    uint64_t n = 0;
    struct keyspaceIterator it;
    struct object *o;
    keyspaceIteratorInitSlots(&it, &db->keyspace, slot, slot);
    for (; (o = keyspaceIteratorNext(&it)); n++) {
        sds key = sdsnewstr(objectKey(o));
        dbDropKey(db, o, async, false, NOTIFY_GENERIC, events ? "del" : NULL);
        if (!events && data_hooks.keyLeft) data_hooks.keyLeft(db, sdsview(key));
        sdsfree(key);
    }
    keyspaceIteratorStop(&it);
    return n;
}

static void dbNoteKeysDropped(void) {
    if (data_hooks.keysDropped) data_hooks.keysDropped();
}

uint64_t dbDropSlot(struct db *db, int slot, bool async, bool events) {
    dbNoteKeysDropped();
    if (data_hooks.keyLeft || serverEventWanted(SERVER_KEY))
        return dbDropSlotNotifying(db, slot, async, events);
    struct droppedSlot to = {db, events ? "del" : NULL};
    bool notifies = data_hooks.keyExistenceChanged || notifyHasSubscribers(events);
    return keyspaceDropSlot(&db->keyspace, slot, async, notifies ? dbNotifyDropped : NULL, &to);
}

static uint64_t dbEmptyOne(struct db *db, bool async) {
    signalFlushedDb(db->id);
    dbNoteKeysDropped();
    return keyspaceEmpty(&db->keyspace, async);
}

uint64_t dbEmptyAll(bool async, void (*between)(void)) {
    uint64_t n = 0;
    struct eventFlush event = {async, -1};
    serverEvent(SERVER_FLUSH, EVENT_STARTED, &event);
    for (int i = 0; i < dbCount(); i++) {
        n += dbEmptyOne(&dbs[i], async);
        if (between) between();
    }
    serverEvent(SERVER_FLUSH, EVENT_ENDED, &event);
    return n;
}

uint64_t dbEmpty(struct db *db, bool async) {
    if (!db) return dbEmptyAll(async, NULL);
    struct eventFlush event = {async, db->id};
    serverEvent(SERVER_FLUSH, EVENT_STARTED, &event);
    uint64_t n = dbEmptyOne(db, async);
    serverEvent(SERVER_FLUSH, EVENT_ENDED, &event);
    return n;
}

void dbHideSlot(int slot, bool hide) {
    for (int i = 0; i < dbCount(); i++) keyspaceHideSlot(&dbs[i].keyspace, slot, hide);
}

/* Sinks are called before and after, so that both the old keys and the new ones count as changed. */
static void dbExchangeKeys(struct db *db, struct keyspace *ks) {
    serverAssert(ks != &db->keyspace);
    signalFlushedDb(db->id);
    keyspaceExchange(&db->keyspace, ks);
    signalFlushedDb(db->id);
}

void dbExchange(struct db *db, struct keyspace *ks) {
    dbNoteKeysDropped();
    dbExchangeKeys(db, ks);
}

void dbSwap(struct db *a, struct db *b) {
    serverAssert(a && b);
    if (a == b) return;
    signalFlushedDb(a->id);
    dbExchangeKeys(b, &a->keyspace);
    signalFlushedDb(a->id);
}

/* ---- Whole databases ---- */

struct object *dbRandomKey(struct db *db) {
    for (int tries = 0; keyspaceShownSize(&db->keyspace); tries++) {
        struct object *o = keyspaceAnyKey(&db->keyspace, false);
        if (!objectIsExpired(o)) return o;
        /* When all keys expire, this gives up rather than delete the whole database here. */
        bool all_volatile = keyspaceShownSize(&db->keyspace) == keyspaceShownExpires(&db->keyspace);
        if (tries >= RANDOM_KEY_TRIES && dbKeepsExpired()) return o;
        if (tries >= RANDOM_KEY_TRIES && all_volatile) return NULL;
        if (!dbExpireKey(db, o) && read_context.refused) return NULL;
    }
    return NULL;
}

int dbCount(void) {
    return (int)db_count;
}
struct db *dbGet(int64_t id) {
    return id >= 0 && id < db_count ? &dbs[id] : NULL;
}

static void dbResizeCron(void) {
    if (!active_rehashing) return;
    for (int i = 0; i < dbCount(); i++) {
        if (keyspaceResize(&dbs[i].keyspace, RESIZE_US)) return;
    }
}

static void dbResetStats(void) {
    uint64_t dirty = dbstats.dirty;
    dbstats = (struct dbStats){.dirty = dirty};
}

static double dbVolatileStalePercent(void) {
    size_t all = 0, overdue = 0;
    for (int i = 0; i < dbCount(); i++) {
        all += keyspaceVolatileCount(&dbs[i].keyspace, false);
        overdue += keyspaceVolatileCount(&dbs[i].keyspace, true);
    }
    return all ? 100.0 * (double)overdue / (double)all : 0;
}

static sds dbInfo(sds s) {
    s = infoField(s, "expired_keys:%llu", (unsigned long long)dbstats.expired);
    s = infoField(s, "expired_keys_active:%llu", (unsigned long long)dbstats.expired_actively);
    s = infoField(s, "expired_fields:%llu", (unsigned long long)dbstats.expired_fields);
    s = infoField(s, "expired_subkeys:%llu", (unsigned long long)dbstats.expired_fields);
    s = infoField(s, "expired_subkeys_active:%llu", (unsigned long long)dbstats.expired_fields_actively);
    s = infoField(s, "expired_stale_perc:%.2f", dbstats.expired_stale_perc * 100);
    s = infoField(s, "expired_keys_with_volatile_items_stale_perc:%.2f", dbVolatileStalePercent());
    s = infoField(s, "expired_time_cap_reached_count:%llu", (unsigned long long)dbstats.expired_time_cap);
    s = infoField(s, "expire_cycle_cpu_milliseconds:%llu",
                  (unsigned long long)dbstats.expire_cycle_us / 1000);
    s = infoField(s, "keyspace_hits:%llu", (unsigned long long)dbstats.hits);
    return infoField(s, "keyspace_misses:%llu", (unsigned long long)dbstats.misses);
}

/* Logs the sizes of the databases at level verbose. */
static void dbLogSizes(void) {
    if (logGetLevel() > LL_VERBOSE) return;
    for (int i = 0; i < dbCount(); i++) {
        const struct db *db = &dbs[i];
        if (!keyspaceShownSize(&db->keyspace)) continue;
        serverLog(LL_VERBOSE, "Database %d: %zu keys, %zu of them with an expiry, in a table of %zu slots", i,
                  keyspaceShownSize(&db->keyspace), keyspaceShownExpires(&db->keyspace),
                  keyspaceSlots(&db->keyspace));
    }
}

void dbRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("databases", NULL, 0, &databases, 16, 1, 10000000, NULL),
        CONFIG_BOOL("activerehashing", NULL, CONFIG_MODIFIABLE, &active_rehashing, true, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    configOnResetStat(dbResetStats);
    infoRegister("stats", dbInfo);
    cronRegister(dbResizeCron, 100);
    cronRegister(dbLogSizes, 5000);
    expireInit();
}

void dbUseSlots(int64_t count) {
    serverAssert(!dbs && count > 0);
    keys_by_slot = true;
    db_count = count;
}

void dbInit(void) {
    serverAssert(!dbs);
    if (!db_count) db_count = databases;
    dbs = zcalloc((size_t)db_count, sizeof *dbs);
    for (int i = 0; i < db_count; i++) {
        dbs[i].id = i;
        keyspaceInit(&dbs[i].keyspace);
    }
}
