/* db.c - the keyspace. See db.h; the layout of an object is in object.h.
 *
 * An object can move when its expiry or its embedded value changes. It is then created anew and the pointer
 * is replaced in the tables by identity, without comparing keys. */
#include "data/db.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "command/blocking.h"
#include "client/client.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "command/call.h"
#include "command/declared_keys.h"
#include "data/evict.h"
#include "data/import_mode.h"
#include "registry/info.h"
#include "data/lazyfree.h"
#include "command/loading.h"
#include "data/notify.h"
#include "command/propagate.h"
#include "client/reply.h"
#include "data/type.h"

#define RANDOM_KEY_TRIES 100
#define VETOES_MAX       8

struct db *dbs;
struct dbStats dbstats;
static int64_t db_count;
static bool active_rehashing;
static bool (*expiry_vetoes[VETOES_MAX])(void);
static int expiry_veto_count;

static struct str objectEntryKey(const void *entry) {
    return objectKey(entry);
}
static void objectEntryFree(void *entry) {
    objectFree(entry);
}

static const struct hashtableType keys_type = {.entryKey = objectEntryKey, .entryFree = objectEntryFree};
static const struct hashtableType expires_type = {.entryKey = objectEntryKey};

/* ---- Hash hints ---- */

const struct keyHint *db_hints;
int db_hint_count;

uint64_t dbHashKey(struct str key) {
    for (int i = 0; i < db_hint_count; i++) {
        if (db_hints[i].key.ptr == key.ptr && db_hints[i].key.len == key.len) return db_hints[i].hash;
    }
    return hashBytes(key.ptr, key.len);
}

/* ---- Tables ---- */

/* `now` takes the place of `old` (same key). `old` is still readable. */
static void replaceObject(struct db *db, struct object *old, struct object *now, uint64_t hash) {
    hashtableReplaceEntry(&db->keys, old, now, hash);
    if (objectHasExpire(old) && objectHasExpire(now)) {
        hashtableReplaceEntry(&db->expires, old, now, hash);
    } else if (objectHasExpire(old)) {
        hashtableRemoveEntry(&db->expires, old, hash);
    } else if (objectHasExpire(now)) {
        hashtableAddUnchecked(&db->expires, now, hash);
    }
}

/* Give o this value and expiry, moving it when it must. The old container is not freed. */
static struct object *rewriteObject(struct db *db, struct object *o, struct value v, int64_t expire_ms) {
    bool had_expire = objectHasExpire(o), has_expire = expire_ms != OBJ_NO_EXPIRE;
    if (objectRewrite(o, expire_ms, v)) {
        if (had_expire == has_expire) return o;
        uint64_t hash = dbHashKey(objectKey(o));
        if (has_expire)
            hashtableAddUnchecked(&db->expires, o, hash);
        else
            hashtableRemoveEntry(&db->expires, o, hash);
        return o;
    }
    struct str key = objectKey(o);
    struct object *now = objectCreate(key, expire_ms, v);
    now->lru = o->lru;
    replaceObject(db, o, now, dbHashKey(key));
    objectFreeHeader(o);
    return now;
}

static void entered(struct db *db, const struct object *o) {
    const struct objectType *type = objectTypeOf(o);
    if (type->enter) type->enter(db, o);
}

static void leaving(struct db *db, const struct object *o) {
    const struct objectType *type = objectTypeOf(o);
    if (type->leave) type->leave(db, o);
}

static void unlinkObject(struct db *db, struct object *o, uint64_t hash) {
    leaving(db, o);
    if (objectHasExpire(o)) hashtableRemoveEntry(&db->expires, o, hash);
    hashtableRemoveEntry(&db->keys, o, hash);
    signalKeyGone(db, objectKey(o));
}

/* ---- Lookup ---- */

bool dbSeesExpired(void) {
    /* What a file has set to expire stays until the file itself says that it was deleted. */
    if (loadingActive()) return true;
    return import_mode && callOwner() && callOwner()->flags & CLIENT_IMPORT_SOURCE;
}

bool objectIsExpired(const struct object *o) {
    return objectHasExpire(o) && objectExpire(o) < cmd_time_ms && !dbSeesExpired();
}

struct object *dbFind(struct db *db, struct str key) {
    return hashtableFindHashed(&db->keys, key, dbHashKey(key));
}

struct object *lookupKey(struct db *db, struct str key, int flags) {
    bool reads = !(flags & (LOOKUP_NOSTATS | LOOKUP_WRITE));
    declaredKeysCheck(db, key, reads ? KEY_USE_READ : KEY_USE_LOOKUP);
    struct object *o = dbFind(db, key);
    if (o && objectHasExpire(o) && objectIsExpired(o)) {
        if (!(flags & LOOKUP_NOEXPIRE)) dbExpireKey(db, o);
        o = NULL;
    }
    if (reads) {
        if (o)
            dbstats.hits++;
        else {
            dbstats.misses++;
            if (!(flags & LOOKUP_NONOTIFY)) notifyKeyspaceEvent(NOTIFY_KEY_MISS, "keymiss", key, db->id);
        }
    }
    if (o && !(flags & LOOKUP_NOTOUCH)) objectTouch(o);
    return o;
}

static int touchFlag(const struct client *c) {
    return c->flags & CLIENT_NO_TOUCH ? LOOKUP_NOTOUCH : 0;
}

struct object *lookupKeyRead(struct client *c, struct str key) {
    return lookupKey(c->db, key, touchFlag(c));
}

struct object *lookupKeyWrite(struct client *c, struct str key) {
    return lookupKey(c->db, key, LOOKUP_WRITE | touchFlag(c));
}

static struct object *checkType(struct client *c, struct object *o, int type, bool *wrong) {
    *wrong = o && o->type != (uint32_t)type;
    if (!*wrong) return o;
    replyWrongType(c);
    return NULL;
}

struct object *lookupKeyReadType(struct client *c, struct str key, int type, bool *wrong) {
    return checkType(c, lookupKeyRead(c, key), type, wrong);
}

struct object *lookupKeyWriteType(struct client *c, struct str key, int type, bool *wrong) {
    return checkType(c, lookupKeyWrite(c, key), type, wrong);
}

struct object *lookupFirstKeyWriteType(struct client *c, const struct str *keys, int count, int type,
                                       struct str *key, bool *wrong) {
    *wrong = false;
    for (int i = 0; i < count && !*wrong; i++) {
        struct object *o = lookupKeyWriteType(c, keys[i], type, wrong);
        *key = keys[i];
        if (o) return o;
    }
    return NULL;
}

/* ---- Change ---- */

static struct object *addObject(struct db *db, struct str key, struct value v, int64_t expire_ms) {
    declaredKeysCheck(db, key, KEY_USE_CHANGE);
    uint64_t hash = dbHashKey(key);
    struct object *o = objectCreate(key, expire_ms, v);
    o->lru = objectFirstUse() & 0xffffff;
    hashtableAddUnchecked(&db->keys, o, hash);
    if (expire_ms != OBJ_NO_EXPIRE) hashtableAddUnchecked(&db->expires, o, hash);
    entered(db, o);
    signalKeyReady(db, key, v.type);
    notifyKeyspaceEvent(NOTIFY_NEW, "new", key, db->id);
    return o;
}

struct object *dbAdd(struct db *db, struct str key, struct value v) {
    debugAssert(!dbFind(db, key));
    return addObject(db, key, v, OBJ_NO_EXPIRE);
}

struct object *dbSetWithExpire(struct db *db, struct str key, struct object *o, struct value v,
                               int64_t expire_ms) {
    if (!o) return addObject(db, key, v, expire_ms);
    declaredKeysCheck(db, key, KEY_USE_CHANGE);
    struct value old = objectValue(o);
    size_t effort = old.embedded ? 0 : objectTypeOf(o)->freeEffort(o);
    leaving(db, o);
    o = rewriteObject(db, o, v, expire_ms);
    entered(db, o);
    lazyfreeValue(old, lazyfree_lazy_server_del, effort);
    if (old.type != v.type) {
        signalKeyGone(db, key);
        signalKeyReady(db, key, v.type);
    }
    return o;
}

struct object *dbSet(struct db *db, struct str key, struct value v, bool keep_ttl) {
    struct object *o = dbFind(db, key);
    return dbSetWithExpire(db, key, o, v, o && keep_ttl ? objectExpire(o) : OBJ_NO_EXPIRE);
}

struct object *dbReplaceValue(struct db *db, struct object *o, struct value v) {
    declaredKeysCheck(db, objectKey(o), KEY_USE_CHANGE);
    return rewriteObject(db, o, v, objectExpire(o));
}

struct object *dbUnlink(struct db *db, struct str key) {
    declaredKeysCheck(db, key, KEY_USE_CHANGE);
    uint64_t hash = dbHashKey(key);
    struct object *o = hashtablePopHashed(&db->keys, key, hash);
    if (!o) return NULL;
    leaving(db, o);
    if (objectHasExpire(o)) hashtableRemoveEntry(&db->expires, o, hash);
    signalKeyGone(db, key);
    return o;
}

static bool deleteKey(struct db *db, struct str key, bool async) {
    struct object *o = dbUnlink(db, key);
    if (!o) return false;
    lazyfreeObject(o, async);
    return true;
}

bool dbDelete(struct db *db, struct str key) {
    return deleteKey(db, key, lazyfree_lazy_server_del);
}
bool dbDeleteSync(struct db *db, struct str key) {
    return deleteKey(db, key, false);
}
bool dbDeleteAsync(struct db *db, struct str key) {
    return deleteKey(db, key, true);
}

void dbDeleteObject(struct db *db, struct object *o, bool async) {
    declaredKeysCheck(db, objectKey(o), KEY_USE_CHANGE);
    unlinkObject(db, o, dbHashKey(objectKey(o)));
    lazyfreeObject(o, async);
}

struct object *dbSetExpire(struct db *db, struct object *o, int64_t when_ms) {
    declaredKeysCheck(db, objectKey(o), KEY_USE_CHANGE);
    return rewriteObject(db, o, objectValue(o), when_ms);
}

struct object *dbRemoveExpire(struct db *db, struct object *o) {
    declaredKeysCheck(db, objectKey(o), KEY_USE_CHANGE);
    return rewriteObject(db, o, objectValue(o), OBJ_NO_EXPIRE);
}

/* A key goes without a command having asked for it. */
static void dropKey(struct db *db, struct object *o, bool async, int class, const char *event) {
    struct str key = objectKey(o);
    unlinkObject(db, o, dbHashKey(key));
    if (propagateWanted()) propagateNow(db->id, 2, (struct str[]){async ? STR("UNLINK") : STR("DEL"), key});
    notifyKeyspaceEvent(class, event, key, db->id);
    signalModifiedKey(NULL, db, key);
    lazyfreeObject(o, async);
}

void dbAddExpiryVeto(bool (*fn)(void)) {
    serverAssert(expiry_veto_count < VETOES_MAX);
    expiry_vetoes[expiry_veto_count++] = fn;
}

bool dbKeepsExpired(void) {
    for (int i = 0; i < expiry_veto_count; i++) {
        if (expiry_vetoes[i]()) return true;
    }
    return false;
}

bool dbTimeIsOver(int64_t when_ms) {
    return when_ms <= cmd_time_ms && !dbKeepsExpired();
}

bool dbExpireKey(struct db *db, struct object *o) {
    if (dbKeepsExpired()) return false;
    dbstats.expired++;
    dropKey(db, o, lazyfree_lazy_expire, NOTIFY_EXPIRED, "expired");
    return true;
}

void dbEvictKey(struct db *db, struct object *o) {
    dropKey(db, o, lazyfree_lazy_eviction, NOTIFY_EVICTED, "evicted");
}

static uint64_t emptyOne(struct db *db, bool async) {
    uint64_t n = hashtableSize(&db->keys);
    signalFlushedDb(db->id);
    for (int i = 0; i < OBJ_TYPES_MAX; i++) {
        if (objectTypes[i] && objectTypes[i]->leaveAll) objectTypes[i]->leaveAll(db);
    }
    lazyfreeTables(&db->keys, &db->expires, async && n > 0); /* few keys can hold much */
    db->expire_cursor = 0;
    db->avg_ttl_ms = 0;
    blockingRecheckDb(db);
    return n;
}

uint64_t dbEmpty(struct db *db, bool async) {
    if (db) return emptyOne(db, async);
    uint64_t n = 0;
    for (int i = 0; i < dbCount(); i++) n += emptyOne(&dbs[i], async);
    return n;
}

/* Waiting clients belong to the number of a database, everything else to its contents. */
static void takeContents(struct db *to, const struct db *from) {
    to->keys = from->keys;
    to->expires = from->expires;
    to->avg_ttl_ms = from->avg_ttl_ms;
    to->expire_cursor = from->expire_cursor;
    to->inner_expires = from->inner_expires;
}

/* Told before and after, so that both
 * the keys that go and those that come count as changed. */
void dbSwap(struct db *a, struct db *b) {
    if (a == b) return;
    signalFlushedDb(a->id);
    signalFlushedDb(b->id);
    struct db was = *a;
    takeContents(a, b);
    takeContents(b, &was);
    signalFlushedDb(a->id);
    signalFlushedDb(b->id);
    blockingRecheckDb(a);
    blockingRecheckDb(b);
}

/* ---- Whole database ---- */

size_t dbSize(const struct db *db) {
    return hashtableSize(&db->keys);
}
size_t dbExpiresSize(const struct db *db) {
    return hashtableSize(&db->expires);
}
size_t dbVolatileCount(const struct db *db, bool overdue) {
    size_t n = 0;
    for (int i = 0; i < OBJ_TYPES_MAX; i++) {
        if (objectTypes[i] && objectTypes[i]->volatileCount) n += objectTypes[i]->volatileCount(db, overdue);
    }
    return n;
}
void dbExpand(struct db *db, size_t keys) {
    hashtableExpand(&db->keys, keys);
}

bool dbAddLoaded(struct db *db, struct object *o, uint64_t hash) {
    if (hashtableFindHashed(&db->keys, objectKey(o), hash)) return false;
    hashtableAddUnchecked(&db->keys, o, hash);
    if (objectHasExpire(o)) hashtableAddUnchecked(&db->expires, o, hash);
    entered(db, o);
    return true;
}

bool dbTryExpand(struct db *db, size_t keys, size_t with_expire) {
    return hashtableTryExpand(&db->keys, keys) && hashtableTryExpand(&db->expires, with_expire);
}

uint64_t dbScan(struct db *db, uint64_t cursor, hashtableScanFn fn, void *priv) {
    return hashtableScan(&db->keys, cursor, fn, priv);
}

struct object *dbRandomKey(struct db *db) {
    for (int tries = 0; hashtableSize(&db->keys); tries++) {
        struct object *o = hashtableFairRandomEntry(&db->keys);
        if (!objectIsExpired(o)) return o;
        /* When everything expires at once, give up rather than delete the whole database here. */
        bool all_volatile = hashtableSize(&db->keys) == hashtableSize(&db->expires);
        if (tries >= RANDOM_KEY_TRIES && dbKeepsExpired()) return o;
        if (tries >= RANDOM_KEY_TRIES && all_volatile) return NULL;
        dbExpireKey(db, o);
    }
    return NULL;
}

size_t dbSample(struct db *db, bool with_expire, struct object **dst, size_t count) {
    return hashtableSample(with_expire ? &db->expires : &db->keys, (void **)dst, count);
}

struct object *dbAnyKey(struct db *db, bool with_expire) {
    return hashtableFairRandomEntry(with_expire ? &db->expires : &db->keys);
}

struct object *dbMoveObject(struct db *db, struct object *o, zmoveFn *move, void *priv) {
    struct object *now = move(priv, o);
    if (!now) return o;
    struct str key = objectKey(now);
    uint64_t hash = hashBytes(key.ptr, key.len);
    hashtableReplaceEntry(&db->keys, o, now, hash);
    if (objectHasExpire(now)) hashtableReplaceEntry(&db->expires, o, now, hash);
    return now;
}

void dbMoveTables(struct db *db, zmoveFn *move, void *priv) {
    hashtableMoveArrays(&db->keys, move, priv);
    hashtableMoveArrays(&db->expires, move, priv);
}

void dbIteratorInit(struct dbIterator *it, struct db *db) {
    hashtableInitIterator(&it->it, &db->keys, true);
}

struct object *dbIteratorNext(struct dbIterator *it) {
    void *entry;
    return hashtableNext(&it->it, &entry) ? entry : NULL;
}

void dbIteratorStop(struct dbIterator *it) {
    hashtableStopIterator(&it->it);
}

int dbCount(void) {
    return (int)db_count;
}
struct db *dbGet(int64_t id) {
    return id >= 0 && id < db_count ? &dbs[id] : NULL;
}

static void dbRehashCron(void) {
    if (!active_rehashing) return;
    for (int i = 0; i < dbCount(); i++) {
        if (hashtableRehashMicroseconds(&dbs[i].keys, 1000)) return;
        if (hashtableRehashMicroseconds(&dbs[i].expires, 1000)) return;
    }
}

static void dbResetStats(void) {
    uint64_t dirty = dbstats.dirty;
    dbstats = (struct dbStats){.dirty = dirty};
}

static double volatileStalePercent(void) {
    size_t all = 0, overdue = 0;
    for (int i = 0; i < dbCount(); i++) {
        all += dbVolatileCount(&dbs[i], false);
        overdue += dbVolatileCount(&dbs[i], true);
    }
    return all ? 100.0 * (double)overdue / (double)all : 0;
}

static sds dbInfo(sds s) {
    s = infoField(s, "expired_keys:%llu", (unsigned long long)dbstats.expired);
    s = infoField(s, "expired_fields:%llu", (unsigned long long)dbstats.expired_fields);
    s = infoField(s, "expired_stale_perc:%.2f", dbstats.expired_stale_perc * 100);
    s = infoField(s, "expired_keys_with_volatile_items_stale_perc:%.2f", volatileStalePercent());
    s = infoField(s, "expired_time_cap_reached_count:%llu", (unsigned long long)dbstats.expired_time_cap);
    s = infoField(s, "expire_cycle_cpu_milliseconds:%llu",
                  (unsigned long long)dbstats.expire_cycle_us / 1000);
    s = infoField(s, "keyspace_hits:%llu", (unsigned long long)dbstats.hits);
    return infoField(s, "keyspace_misses:%llu", (unsigned long long)dbstats.misses);
}

/* For who watches the log at level verbose. */
static void logSizes(void) {
    if (logGetLevel() > LL_VERBOSE) return;
    for (int i = 0; i < dbCount(); i++) {
        const struct hashtable *keys = &dbs[i].keys;
        if (!hashtableSize(keys)) continue;
        serverLog(LL_VERBOSE, "DB %d: %zu keys (%zu volatile) in %zu slots HT.", i, hashtableSize(keys),
                  hashtableSize(&dbs[i].expires), hashtableSlots(keys));
    }
}

void dbRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("databases", NULL, 0, &db_count, 16, 1, 10000000, NULL),
        CONFIG_BOOL("activerehashing", NULL, CONFIG_MODIFIABLE, &active_rehashing, true, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    configOnResetStat(dbResetStats);
    infoRegister("stats", dbInfo);
    cronRegister(dbRehashCron, 100);
    cronRegister(logSizes, 5000);
    expireInit();
}

void dbInit(void) {
    dbs = zcalloc((size_t)db_count, sizeof *dbs);
    for (int i = 0; i < db_count; i++) {
        dbs[i].id = i;
        hashtableInit(&dbs[i].keys, &keys_type);
        hashtableInit(&dbs[i].expires, &expires_type);
        blockingInitDb(&dbs[i]);
    }
}
