/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb_save.c - writes the whole dataset. Part of rdb_dataset.h.
 *
 * It usually runs in a fork child, so it changes no data and writes to as little memory as possible.
 *
 * Iterating over a table returns objects in no order of memory: each would be a cache miss or two. So the
 * iterator runs ahead, and the objects wait in a ring meanwhile:
 *
 *     iterator ──> | o o o o o o o o | o o o o o o o o | ──> written
 *                    object fetched     its container
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/num.h"
#include "base/version.h"
#include "base/zmalloc.h"
#include "data/child.h"
#include "data/forkless/forkless.h"
#include "data/keyspace/db.h"
#include "data/keyspace/read_ahead.h"
#include "data/lifetime/evict.h"
#include "data/rdb/rdb_dataset.h"
#include "data/type.h"

bool rdb_checksum;
void (*rdb_replication_now)(struct rdbReplication *r);
int64_t rdb_key_save_delay_us;

struct rdbSaver {
    struct rioWriter *w;
    void (*progress)(uint64_t keys);
    uint64_t keys, reported_at; /* keys so far; bytes written when progress was last reported */
    int dbid;
    size_t left_in_slot; /* keys, when they go by slot */
};

/* ---- Head ---- */

static int rdbVersionUpTo(int highest) {
    int version = RDB_VERSION;
    for (int i = 0; i < OBJ_TYPES_MAX; i++) {
        if (!objectTypes[i] || !objectTypes[i]->rdbVersionNeeded) continue;
        for (int id = 0; id < dbCount(); id++) {
            int needed = objectTypes[i]->rdbVersionNeeded(&dbs[id].keyspace);
            if (needed > version && needed <= highest) version = needed;
        }
    }
    int count;
    const struct rdbSection *const *sections = rdbSections(&count);
    for (int i = 0; i < count; i++) {
        int needed = sections[i]->rdbVersionNeeded ? sections[i]->rdbVersionNeeded() : 0;
        if (needed > version && needed <= highest) version = needed;
    }
    return version;
}

int rdbVersionNeeded(void) {
    return rdbVersionUpTo(RDB_VERSION_LATEST);
}

int rdbVersionForOthers(void) {
    return rdbVersionUpTo(RDB_VERSION_OWN - 1);
}

struct rdbSaveOptions rdbFileOptions(void) {
    return (struct rdbSaveOptions){.version = rdb_compatible_version, .codec = rdbFileCodec()};
}

static void rdbSaveWriteMagic(struct rioWriter *w, int version) {
    char magic[16];
    int len =
        snprintf(magic, sizeof magic, version >= RDB_VERSION_EXPIRING ? "VALKEY%03d" : "REDIS%04d", version);
    serverAssert(len == RDB_MAGIC_LEN && rdbMagicVersion(magic) == version);
    rioWrite(w, magic, RDB_MAGIC_LEN);
}

static void rdbSaveWriteAux(struct rioWriter *w, const char *name, struct str value) {
    rioWriteByte(w, RDB_OP_AUX);
    rdbWriteString(w, strOf(name));
    rdbWriteString(w, value);
}

static void rdbSaveWriteAuxInt(struct rioWriter *w, const char *name, int64_t value) {
    char text[LONG_STR_SIZE];
    rdbSaveWriteAux(w, name, strN(text, ll2string(text, value)));
}

static void rdbSaveWriteReplication(struct rioWriter *w, const struct rdbReplication *given) {
    struct rdbReplication r = {0};
    if (given)
        r = *given;
    else if (rdb_replication_now)
        rdb_replication_now(&r);
    if (!r.known) return;
    serverAssert(r.id[0] && r.offset >= 0); /* else the reader would not know it */
    rdbSaveWriteAuxInt(w, "repl-stream-db", r.stream_db < 0 ? 0 : r.stream_db);
    rdbSaveWriteAux(w, "repl-id", strN(r.id, RDB_REPLICATION_ID));
    rdbSaveWriteAuxInt(w, "repl-offset", r.offset);
}

static void rdbSaveWriteFields(struct rioWriter *w) {
    int count;
    const struct rdbField *const *fields = rdbFields(&count);
    for (int i = 0; i < count; i++) {
        sds value = fields[i]->value();
        if (value) rdbSaveWriteAux(w, fields[i]->name, sdsview(value));
        sdsfree(value);
    }
}

void rdbWriteHead(struct rioWriter *w, const struct rdbSaveOptions *options) {
    rdbSaveWriteMagic(w, w->version);
    rdbSaveWriteAux(w, "valkey-ver", STR(VALKEY_VERSION));
    rdbSaveWriteAuxInt(w, "redis-bits", (int64_t)sizeof(void *) * 8);
    rdbSaveWriteAuxInt(w, "ctime", time(NULL));
    rdbSaveWriteAuxInt(w, "used-mem", (int64_t)zmallocUsedMemory());
    rdbSaveWriteReplication(w, options->replication);
    rdbSaveWriteAuxInt(w, "aof-base", options->aof_base);
    if (options->replication) rdbSaveWriteFields(w);
    if (options->without_functions) return;
    int count;
    const struct rdbSection *const *sections = rdbSections(&count);
    for (int i = 0; i < count; i++) sections[i]->save(w);
}

/* ---- Keys ---- */

/* Fails rather than leaving anything out, which a reader could not notice. */
static void rdbSaveFailVersion(struct rioWriter *w, struct str key, int dbid) {
    if (w->error) return;
    sds shown = hide_user_data ? sdsnew("\"*redacted*\"") : sdscatrepr(sdsempty(), key.ptr, key.len);
    serverLog(LL_WARNING, "Can't store key '%.*s' (db %d) in RDB version %d", (int)sdslen(shown) - 2,
              shown + 1, dbid, w->version);
    sdsfree(shown);
    w->error = EPROTO;
}

/* When keys go by slot, the keys of each slot come together, preceded by their numbers so that a reader
 * can make tables of that size: `slot,keys,with an expiry,0`. (The last is the number of keys with
 * parts that expire.) */
static void rdbSaveWriteSlotInfo(struct rioWriter *w, int slot, size_t keys, size_t expires) {
    char text[4 * LONG_STR_SIZE];
    int len = snprintf(text, sizeof text, "%d,%zu,%zu,0", slot, keys, expires);
    rdbSaveWriteAux(w, "slot-info", strN(text, (size_t)len));
}

static void rdbSaveAnnounceSlot(struct rdbSaver *s, const struct object *o) {
    struct db *db = dbGet(s->dbid);
    int slot = keySlot(objectKey(o));
    bool expires = keyspaceExpiresSize(&db->keyspace) > 0;
    s->left_in_slot = keyspaceSlotSize(&db->keyspace, slot);
    rdbSaveWriteSlotInfo(s->w, slot, s->left_in_slot, expires ? keyspaceSlotExpires(&db->keyspace, slot) : 0);
}

void rdbWriteSlotSizes(struct rioWriter *w, const struct db *db) {
    const struct keyspace *ks = &db->keyspace;
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        size_t keys = keyspaceSlotSize(ks, slot);
        if (keys) rdbSaveWriteSlotInfo(w, slot, keys, 0);
    }
}

static void rdbSaveWriteUse(struct rioWriter *w, const struct object *o) {
    const struct evictClock now = w->clock ? *w->clock : evictClockNow();
    if (now.policy & (BY_LRU | BY_LRM)) {
        rioWriteByte(w, RDB_OP_IDLE);
        rdbWriteLen(w, objectIdleSecondsAt(&now, o));
    } else if (now.policy & (BY_LFU | BY_LHD)) {
        rioWriteByte(w, RDB_OP_FREQ);
        rioWriteByte(w, (uint8_t)objectFrequencyAt(&now, o));
    }
}

void rdbWriteKeyHead(struct rioWriter *w, const struct object *o, int dbid) {
    if (objectHasExpire(o)) {
        rioWriteByte(w, RDB_OP_EXPIRETIME_MS);
        rdbWriteInt64(w, objectExpire(o));
    }
    rdbSaveWriteUse(w, o);
    uint8_t type = rdbValueType(w, o);
    if (w->strict && !rdbVersionHas(w->version, type)) rdbSaveFailVersion(w, objectKey(o), dbid);
    rioWriteByte(w, type);
    rdbWriteString(w, objectKey(o));
}

void rdbWriteKey(struct rioWriter *w, const struct object *o, int dbid) {
    rdbWriteKeyHead(w, o, dbid);
    if (!w->error) rdbWriteValue(w, o);
}

static void rdbSaveWriteObject(struct rdbSaver *s, const struct object *o) {
    if (keys_by_slot && !s->left_in_slot) rdbSaveAnnounceSlot(s, o);
    s->left_in_slot -= keys_by_slot;
    rdbWriteKey(s->w, o, s->dbid);
}

/* Reports progress once per buffer, so that small keys need no clock. */
static void rdbSaveCountKey(struct rdbSaver *s, const struct object *o) {
    s->keys++;
    if (childIs()) {
        if (__builtin_expect(rdb_key_save_delay_us != 0, 0)) rdbDelay(rdb_key_save_delay_us, s->keys);
        const struct objectType *type = objectTypeOf(o);
        if (type->dismiss && objectHasPtr(o)) type->dismiss(o);
    }
    if (!s->progress || (s->reported_at == s->w->flushed && !rdb_key_save_delay_us)) return;
    s->reported_at = s->w->flushed;
    s->progress(s->keys);
}

static bool rdbSaveWriteKeys(struct rdbSaver *s, struct db *db) {
    struct iteratorAhead ahead = {.in = 0};
    const struct object *o;
    uint64_t before = s->keys;
    keyspaceIteratorInit(&ahead.it, &db->keyspace, SLOTS_ALL);
    while (!s->w->error && (o = iteratorAheadNext(&ahead))) {
        rdbSaveWriteObject(s, o);
        rdbSaveCountKey(s, o);
    }
    keyspaceIteratorStop(&ahead.it);
    if (s->w->error) return false;
    serverAssert(s->keys - before == keyspaceSize(&db->keyspace)); /* as many as RESIZEDB announced */
    return true;
}

void rdbWriteSelectDb(struct rioWriter *w, int dbid) {
    rioWriteByte(w, RDB_OP_SELECTDB);
    rdbWriteLen(w, (uint64_t)dbid);
}

void rdbWriteDbSizes(struct rioWriter *w, uint64_t keys, uint64_t expires) {
    rioWriteByte(w, RDB_OP_RESIZEDB);
    rdbWriteLen(w, keys);
    rdbWriteLen(w, expires);
}

static bool rdbSaveWriteDb(struct rdbSaver *s, struct db *db) {
    if (keyspaceSize(&db->keyspace) == 0) return true;
    s->dbid = db->id;
    rdbWriteSelectDb(s->w, db->id);
    rdbWriteDbSizes(s->w, keyspaceSize(&db->keyspace), keyspaceExpiresSize(&db->keyspace));
    return rdbSaveWriteKeys(s, db);
}

const char *rdbSaveErrorText(int error) {
    return error == EPROTO    ? "rdb-compatible-version names a version that can't hold the data"
           : error == ENOBUFS ? "forkless-buffer-limit has been reached"
                              : strerror(error);
}

/* Everything between magic and end mark, as the databases are now. */
static bool rdbSaveWriteDataset(struct rioWriter *w, const struct rdbSaveOptions *options) {
    struct rdbSaver s = {.w = w, .progress = options->progress};
    rdbWriteHead(w, options);
    bool aside = rdb_modules.saveAside && !options->without_keys;
    if (aside) rdb_modules.saveAside(w, false);
    for (int i = 0; i < dbCount() && !options->without_keys; i++) {
        if (!rdbSaveWriteDb(&s, &dbs[i])) return false;
    }
    if (aside) rdb_modules.saveAside(w, true);
    return true;
}

bool rdbSaveStream(struct rioWriter *w, const struct rdbSaveOptions *options) {
    serverAssert(!options->version || rdbVersionReadable(options->version));
    bool checksum = rdb_checksum && !options->without_checksum, in_thread = childInThread();
    if (options->codec != STREAM_PLAIN) rioWriterStartFrame(w, options->codec, STREAM_KIND_RDB, checksum);
    w->checksum = checksum && !w->frame;
    w->lzf_learns = true;
    w->strict = options->version != 0;
    w->version = in_thread ? forklessVersion() : options->version ? options->version : rdbVersionNeeded();
    if (!(in_thread ? forklessWriteAll(w, options->progress) : rdbSaveWriteDataset(w, options))) return false;
    rioWriteByte(w, RDB_OP_EOF);
    uint64_t crc = rioWriterCrc(w); /* 0 means that there is none */
    w->checksum = false;
    rdbWriteInt64(w, (int64_t)crc);
    return w->frame ? rioWriterEndFrame(w) : rioFlush(w);
}
