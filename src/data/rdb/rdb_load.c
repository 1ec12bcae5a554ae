/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb_load.c - reads a whole dataset. Part of rdb_dataset.h.
 *
 * The bucket for a key is a cache miss, as tables are larger than caches. So a key that has been read, with
 * its object, waits in a short queue while its bucket is fetched:
 *
 *     read ──> | hash, object | ... | ──> keyspaceAdd
 *              bucket prefetched      bucket in the cache
 *
 * The file is not trusted: lengths are compared with what is left of it (data/rdb/rdb.c), and tables are made
 * no larger than the rest of the file can fill. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/hash_function.h"
#include "base/log.h"
#include "base/num.h"
#include "data/keyspace/db.h"
#include "data/lifetime/evict.h"
#include "data/lifetime/lazyfree.h"
#include "data/notify.h"
#include "data/rdb/rdb_dataset.h"
#include "data/type.h"
#include "registry/debug.h"

#define QUEUE           8  /* length; a power of two */
#define KEY_BYTES_MIN   3  /* a key and its value in a file: type, length, length */
#define KEY_MEMORY_MIN  24 /* the same in memory: an object, its entry in a table */
#define KEY_SHOWN_MAX   256
#define CHECKSUM_SINCE  5 /* version that introduced checksums */
#define PRE_GA_FUNCTION "Functions in the format of a pre-release version cannot be read"
_Static_assert((QUEUE & (QUEUE - 1)) == 0, "numbers of places wrap");

int64_t rdb_key_load_delay_us;
struct rdbLoadResult rdb_last_load;
struct rdbModules rdb_modules;
void (*rdb_load_used_memory)(uint64_t bytes);

struct rdbLoader {
    struct rdbReader *r;
    const struct rdbLoadOptions *options;
    struct keyspace *keyspace; /* keyspace of the present database */
    int dbid;                  /* number of that database */
    int64_t now_ms;
    struct {
        struct object *o;
        uint64_t hash;
    } queue[QUEUE];
    unsigned in, out;
    sds key;  /* key whose value is being read */
    int type; /* its encoding; -1: no value is being read */
    /* These are set by the opcodes before a key. */
    int64_t expire_ms;           /* OBJ_NO_EXPIRE: none */
    int64_t idle_s, frequency;   /* -1: unknown */
    uint64_t used_memory;        /* of the server that wrote the data; 0: unknown */
    uint64_t announced;          /* keys, added up over the slots */
    struct rdbMetadata metadata; /* of the key that comes next */
    struct rdbSkipped skipped;
    struct rdbLoadResult result;
};

/* ---- Magic ---- */

int rdbMagicVersion(const char magic[RDB_MAGIC_LEN]) {
    size_t name = memcmp(magic, "REDIS", 5) == 0 ? 5 : memcmp(magic, "VALKEY", 6) == 0 ? 6 : 0;
    int version = 0;
    for (size_t i = name; name && i < RDB_MAGIC_LEN; i++) {
        if (magic[i] < '0' || magic[i] > '9') return -1;
        version = version * 10 + magic[i] - '0';
    }
    return name ? version : -1;
}

/* The name in the magic must fit the version, and the version must be known, or newer if that may be
 * tried. */
bool rdbMagicReadable(const char magic[RDB_MAGIC_LEN]) {
    int version = rdbMagicVersion(magic);
    bool valkey = magic[0] == 'V';
    if (version < RDB_VERSION_OLDEST || (valkey && version < RDB_VERSION_EXPIRING)) return false;
    if (rdb_version_check == RDB_CHECK_RELAXED) return valkey || version < RDB_VERSION_EXPIRING;
    return rdbVersionReadable(version) && valkey == (version >= RDB_VERSION_EXPIRING);
}

static bool rdbLoadReadMagic(struct rdbLoader *l) {
    char magic[RDB_MAGIC_LEN];
    struct rdbReader *r = l->r;
    if (!rioRead(&r->io, magic, sizeof magic)) return false;
    r->version = rdbMagicVersion(magic);
    if (r->version < 0) return rioFail(&r->io, "The file does not begin with the signature of an RDB file");
    return rdbMagicReadable(magic) || rioFail(&r->io, "Can't handle RDB format version %d", r->version);
}

/* ---- Keys ---- */

/* When two keys have the same name, the later one counts, if that is allowed. */
static bool rdbLoadAddOne(struct rdbLoader *l, struct object *o, uint64_t hash) {
    struct str key = objectKey(o);
    if (__builtin_expect(keyspaceFind(l->keyspace, key, hash) != NULL, 0)) {
        if (!l->options->merge) {
            rioFail(&l->r->io, "The file holds the key '%.*s' in database %d twice",
                    (int)(key.len < 128 ? key.len : 128), key.ptr, l->dbid);
            objectFree(o);
            return false;
        }
        lazyfreeObject(keyspacePop(l->keyspace, key, hash), false);
    }
    keyspaceAdd(l->keyspace, o, hash);
    return true;
}

static bool rdbLoadAddOldest(struct rdbLoader *l) {
    serverAssert(l->in != l->out && l->in - l->out <= QUEUE);
    unsigned at = l->out++ % QUEUE;
    return rdbLoadAddOne(l, l->queue[at].o, l->queue[at].hash);
}

/* Adds all waiting keys. After a failure they are dropped. */
static bool rdbLoadAddAll(struct rdbLoader *l) {
    while (l->out != l->in && !rioFailed(&l->r->io)) rdbLoadAddOldest(l);
    while (l->out != l->in) objectFree(l->queue[l->out++ % QUEUE].o);
    return !rioFailed(&l->r->io);
}

static void rdbLoadFreeValue(struct value v) {
    if (!v.embedded) objectTypes[v.type]->free(v);
}

static bool rdbLoadEnqueue(struct rdbLoader *l, struct value v, uint64_t hash) {
    if (l->in - l->out == QUEUE && !rdbLoadAddOldest(l)) {
        rdbLoadFreeValue(v);
        return false;
    }
    struct object *o = objectCreate(sdsview(l->key), l->expire_ms, v);
    o->lru = objectFirstUse() & 0xffffff;
    objectSetUse(o, l->idle_s, l->frequency);
    unsigned at = l->in++ % QUEUE;
    l->queue[at].o = o;
    l->queue[at].hash = hash;
    return true;
}

static void rdbLoadClearAttributes(struct rdbLoader *l) {
    l->expire_ms = OBJ_NO_EXPIRE;
    l->idle_s = l->frequency = -1;
    if (__builtin_expect(l->metadata.classes != NULL, 0)) {
        sdsfree(l->metadata.classes);
        l->metadata = (struct rdbMetadata){0};
    }
}

static bool rdbLoadKeyHasExpired(const struct rdbLoader *l) {
    return l->expire_ms != OBJ_NO_EXPIRE && l->expire_ms < l->now_ms && !l->options->keep_expired;
}

/* For tests: delays. A client should not have to wait for the delays of a whole buffer. */
static void rdbLoadDelay(struct rdbLoader *l) {
    rdbDelay(rdb_key_load_delay_us, l->result.keys);
    if (l->r->io.progress) l->r->io.progress(&l->r->io);
}

/* Sends the event for a loaded key, which has to be in the keyspace for that. */
static bool rdbLoadNotifyLoaded(struct rdbLoader *l) {
    if (!notifyHasEventSinks()) return true;
    if (!rdbLoadAddAll(l)) return false;
    keyEvent(NOTIFY_LOADED, "loaded", sdsview(l->key), dbGet(l->dbid));
    return true;
}

/* Reads the value of the key into *v. */
static enum rdbLoaded rdbLoadReadValue(struct rdbLoader *l, uint8_t type, struct value *v) {
    l->type = type;
    l->r->key = sdsview(l->key);
    if (__builtin_expect(l->metadata.classes != NULL, 0) && !rdbAllowMetadata(l->r, &l->metadata))
        return RDB_FAILED;
    enum rdbLoaded got = rdbReadValue(l->r, type, v);
    if (got == RDB_FAILED) return RDB_FAILED;
    l->type = -1;
    if (l->metadata.classes && got != RDB_SKIPPED)
        rdbSkippedMetadata(&l->skipped, l->metadata.classes, sdsview(l->key), l->dbid);
    return got;
}

static void rdbLoadNoteSkipped(struct rdbLoader *l) {
    l->result.skipped++;
    rdbSkippedKey(&l->skipped, l->r->unknown_type, sdsview(l->key), l->dbid);
}

static bool rdbLoadReadKey(struct rdbLoader *l, uint8_t type) {
    struct str key;
    struct value v;
    if (!rdbReadString(l->r, &key)) return false;
    sdssetlen(l->key, 0);
    l->key = sdscatstr(l->key, key);
    uint64_t hash = keyHash(key);
    keyspacePrefetch(l->keyspace, hash);
    enum rdbLoaded got = rdbLoadReadValue(l, type, &v);
    if (got == RDB_FAILED) return false;
    bool ok = true;
    if (got == RDB_EMPTY) {
        if (l->result.empty++ < 10) serverLog(LL_NOTICE, "rdbLoadObject skipping empty key: %s", l->key);
    } else if (rdbLoadKeyHasExpired(l)) {
        if (got == RDB_LOADED) rdbLoadFreeValue(v);
        l->result.expired++;
        if (l->options->expired) l->options->expired(l->options->priv, l->dbid, sdsview(l->key));
    } else if (got == RDB_SKIPPED) {
        rdbLoadNoteSkipped(l);
    } else {
        ok = rdbLoadEnqueue(l, v, hash);
        l->result.keys++;
        if (ok && !l->options->into) ok = rdbLoadNotifyLoaded(l);
    }
    rdbLoadClearAttributes(l);
    if (__builtin_expect(rdb_key_load_delay_us != 0, 0)) rdbLoadDelay(l);
    return ok;
}

/* ---- Opcodes ---- */

static bool rdbLoadReadExpireSeconds(struct rdbLoader *l) {
    int32_t s;
    if (!rdbReadInt32(l->r, &s)) return false;
    l->expire_ms = (int64_t)s * 1000;
    return true;
}

static bool rdbLoadReadIdle(struct rdbLoader *l) {
    uint64_t s;
    if (!rdbReadLen(l->r, &s)) return false;
    l->idle_s = s > INT64_MAX ? INT64_MAX : (int64_t)s;
    return true;
}

static bool rdbLoadReadFrequency(struct rdbLoader *l) {
    uint8_t uses;
    if (!rioReadByte(&l->r->io, &uses)) return false;
    l->frequency = uses;
    return true;
}

static void rdbLoadSelectDb(struct rdbLoader *l, int dbid) {
    struct keyspace **into = l->options->into;
    serverAssert(dbid >= 0 && dbid < dbCount());
    serverAssert(l->in == l->out); /* waiting keys belong to the previous database */
    l->dbid = l->r->dbid = dbid;
    if (into && !into[dbid]) into[dbid] = keyspaceCreate();
    l->keyspace = into ? into[dbid] : &dbGet(dbid)->keyspace;
}

static bool rdbLoadReadSelectDb(struct rdbLoader *l) {
    uint64_t id;
    if (!rdbReadLen(l->r, &id) || !rdbLoadAddAll(l)) return false;
    if (id >= (uint64_t)dbCount())
        return rioFail(
            &l->r->io,
            "The file has keys in a database beyond the %d that are configured: raise the directive "
            "databases",
            dbCount());
    rdbLoadSelectDb(l, (int)id);
    return true;
}

static uint64_t rdbLoadMin(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Returns how many keys fit into the rest of the file; for a stream of unknown length, into the memory that
 * its writer reported. */
static uint64_t rdbLoadPossibleKeys(const struct rdbLoader *l) {
    const struct rioReader *io = &l->r->io;
    return io->size == RIO_SIZE_UNKNOWN ? l->used_memory / KEY_MEMORY_MIN : rioLeft(io) / KEY_BYTES_MIN;
}

/* When a table cannot be allocated now, it may still grow step by step. */
static bool rdbLoadReadSizes(struct rdbLoader *l) {
    uint64_t keys, with_expire;
    if (!rdbReadLen(l->r, &keys) || !rdbReadLen(l->r, &with_expire)) return false;
    uint64_t possible = rdbLoadPossibleKeys(l);
    keyspaceTryExpand(l->keyspace, keyspaceSize(l->keyspace) + rdbLoadMin(keys, possible),
                      keyspaceExpiresSize(l->keyspace) + rdbLoadMin(with_expire, possible));
    return true;
}

/* Makes room for the keys of a slot that are announced to follow. All keys announced so far must have come or
 * fit into the rest of the file; else the number is wrong. */
static void rdbLoadExpandSlot(struct rdbLoader *l, uint64_t slot, uint64_t keys) {
    uint64_t possible = rdbLoadPossibleKeys(l);
    if (!keys_by_slot || slot >= KEY_SLOTS || keys > possible) return;
    l->announced += keys;
    uint64_t come = l->result.keys + l->result.expired + l->result.empty + l->result.skipped;
    if (l->announced <= come + possible) keyspaceTryExpandSlot(l->keyspace, (int)slot, keys);
}

static bool rdbLoadReadSlotInfo(struct rdbLoader *l) {
    uint64_t slot, keys, with_expire;
    if (!rdbReadLen(l->r, &slot) || !rdbReadLen(l->r, &keys) || !rdbReadLen(l->r, &with_expire)) return false;
    rdbLoadExpandSlot(l, slot, keys);
    return true;
}

/* Reads the announcement as text: `slot,keys,...`. */
static void rdbLoadNoteSlotInfo(struct rdbLoader *l, struct str value) {
    const char *first = memchr(value.ptr, ',', value.len), *end = value.ptr + value.len;
    const char *second = first ? memchr(first + 1, ',', (size_t)(end - first - 1)) : NULL;
    uint64_t slot, keys;
    if (second && string2ull(strN(value.ptr, (size_t)(first - value.ptr)), &slot) &&
        string2ull(strN(first + 1, (size_t)(second - first - 1)), &keys))
        rdbLoadExpandSlot(l, slot, keys);
}

static bool rdbLoadNoteReplicationAux(struct rdbReplication *r, struct str name, struct str value,
                                      int64_t n) {
    if (strIs(name, "repl-stream-db")) {
        r->stream_db = n >= 0 && n < dbCount() ? (int)n : -1;
    } else if (strIs(name, "repl-id") && value.len == RDB_REPLICATION_ID) {
        memcpy(r->id, value.ptr, value.len);
    } else if (strIs(name, "repl-offset")) {
        r->offset = n;
    } else {
        return false;
    }
    r->known = r->id[0] && r->offset >= 0;
    return true;
}

static bool rdbLoadNoteField(struct str name, struct str value) {
    int count;
    const struct rdbField *const *fields = rdbFields(&count);
    for (int i = 0; i < count; i++) {
        if (!strIs(name, fields[i]->name)) continue;
        fields[i]->load(value);
        return true;
    }
    return false;
}

static void rdbLoadNoteAux(struct rdbLoader *l, struct str name, struct str value) {
    int64_t n = 0;
    bool number = string2ll(value, &n);
    if (strIs(name, "valkey-ver") || strIs(name, "redis-ver")) {
        serverLog(LL_NOTICE, "Loading RDB produced by %s version %.*s",
                  strIs(name, "valkey-ver") ? "Valkey" : "Redis", (int)rdbLoadMin(value.len, 64), value.ptr);
    } else if (strIs(name, "ctime") && number) {
        int64_t age_s = time(NULL) - n;
        serverLog(LL_NOTICE, "The RDB file is %lld seconds old", (long long)(age_s < 0 ? 0 : age_s));
    } else if (strIs(name, "used-mem") && number) {
        serverLog(LL_NOTICE, "The server that wrote the RDB file was using %.2f MB",
                  (double)n / (1024 * 1024));
        l->used_memory = n > 0 ? (uint64_t)n : 0;
        if (rdb_load_used_memory) rdb_load_used_memory(l->used_memory);
    } else if (strIs(name, "aof-base") && number) {
        if (n) serverLog(LL_NOTICE, "The RDB file is the base of an append-only file");
    } else if (name.len && name.ptr[0] == '%') {
        serverLog(LL_NOTICE, "RDB '%.*s': %.*s", (int)rdbLoadMin(name.len, 64), name.ptr,
                  (int)rdbLoadMin(value.len, 256), value.ptr);
    } else if (strEq(name, STR("slot-info"))) {
        rdbLoadNoteSlotInfo(l, value);
    } else if (rdbLoadNoteField(name, value)) {
        return;
    } else if (!rdbLoadNoteReplicationAux(&l->result.replication, name, value, number ? n : -1)) {
        serverLog(LL_DEBUG, "Unknown auxiliary field in the RDB file: '%.*s'", (int)rdbLoadMin(name.len, 64),
                  name.ptr);
    }
}

static bool rdbLoadReadAux(struct rdbLoader *l) {
    struct str name, value;
    if (!rdbReadString(l->r, &name)) return false;
    sdssetlen(l->key, 0);
    l->key = sdscatstr(l->key, name);
    if (!rdbReadString(l->r, &value)) return false;
    rdbLoadNoteAux(l, sdsview(l->key), value);
    return true;
}

static bool rdbLoadReadModuleAside(struct rdbLoader *l) {
    uint64_t id;
    if (!rdbReadLen(l->r, &id)) return false;
    if (rdb_modules.knowsAside && rdb_modules.knowsAside(id)) return rdb_modules.loadAside(l->r, id);
    if (!rdbSkipAside(l->r, id)) return false;
    serverLog(LL_WARNING, "Skipped: auxiliary data of the module '%s', which is not loaded",
              l->r->unknown_type);
    return true;
}

static bool rdbLoadReadSection(struct rdbLoader *l, uint8_t opcode) {
    int count;
    const struct rdbSection *const *sections = rdbSections(&count);
    if (opcode == RDB_OP_METADATA && rdbVersionIsRedis(l->r->version))
        return rdbReadMetadata(l->r, &l->metadata);
    for (int i = 0; i < count; i++) {
        if (sections[i]->opcode != opcode) continue;
        return l->options->into ? sections[i]->loadAside(l->r) : sections[i]->load(l->r);
    }
    return rioFail(&l->r->io, "unknown opcode %d", opcode);
}

/* Handles all opcodes except those of keys and the end. */
static bool rdbLoadReadOpcode(struct rdbLoader *l, uint8_t opcode) {
    switch (opcode) {
    case RDB_OP_EXPIRETIME_MS: return rdbReadInt64(l->r, &l->expire_ms);
    case RDB_OP_EXPIRETIME: return rdbLoadReadExpireSeconds(l);
    case RDB_OP_IDLE: return rdbLoadReadIdle(l);
    case RDB_OP_FREQ: return rdbLoadReadFrequency(l);
    case RDB_OP_SELECTDB: return rdbLoadReadSelectDb(l);
    case RDB_OP_RESIZEDB: return rdbLoadReadSizes(l);
    case RDB_OP_SLOT_INFO: return rdbLoadReadSlotInfo(l);
    case RDB_OP_AUX: return rdbLoadReadAux(l);
    case RDB_OP_MODULE_AUX: return rdbLoadReadModuleAside(l);
    case RDB_OP_FUNCTION_PRE_GA: return rioFail(&l->r->io, PRE_GA_FUNCTION);
    default: return rdbLoadReadSection(l, opcode);
    }
}

static bool rdbLoadReadChecksum(struct rdbLoader *l) {
    struct rdbReader *r = l->r;
    if (r->version < CHECKSUM_SINCE) return true;
    uint64_t computed = rioReaderCrc(&r->io);
    int64_t stored;
    r->io.checksum = false;
    if (!rdbReadInt64(r, &stored)) return false;
    if (r->io.frame) return true; /* the frame has its own checksums */
    if (!rdb_checksum || debug_switches.skip_checksum || (uint64_t)stored == computed) return true;
    if (stored == 0) {
        serverLog(LL_NOTICE, "The RDB file has no checksum, so its contents were not verified");
        return true;
    }
    return rioFail(&r->io, "The contents have the checksum %llx, but the file says %llx",
                   (unsigned long long)computed, (unsigned long long)stored);
}

bool rdbIsCompressed(struct rioReader *io) {
    const char *p = rioPeek(io, STREAM_ENVELOPE);
    return p && streamDetect(p, STREAM_ENVELOPE) == STREAM_IS_COMPRESSED;
}

bool rdbStartFrame(struct rioReader *io) {
    if (!rdbIsCompressed(io)) return false;
    rioReaderStartFrame(io, STREAM_KIND_RDB);
    io->checksum = false;
    return true;
}

static bool rdbLoadReadAll(struct rdbLoader *l) {
    struct rioReader *io = &l->r->io;
    uint8_t opcode;
    if (rdbStartFrame(io)) serverLog(LL_NOTICE, "Logical RDB CRC64 skipped for streaming-compressed input");
    if (!rdbLoadReadMagic(l)) return false;
    if (l->options->accepted) l->options->accepted(l->options->priv);
    for (;;) {
        if (!rioReadByte(io, &opcode)) return false;
        if (opcode == RDB_OP_EOF) break;
        bool ok = opcode < RDB_OP_LOWEST ? rdbLoadReadKey(l, opcode) : rdbLoadReadOpcode(l, opcode);
        if (!ok) return false;
    }
    return rdbLoadAddAll(l) && rdbLoadReadChecksum(l) && (!io->frame || rioReaderEndFrame(io));
}

/* Logs the key's name, so that an operator finds out what is lost and whether there is another copy of it. */
static void rdbLoadLogKey(const struct rdbLoader *l) {
    struct str key = sdsview(l->key);
    sds shown = sdscatrepr(sdsempty(), key.ptr, key.len < KEY_SHOWN_MAX ? key.len : KEY_SHOWN_MAX);
    serverLog(LL_WARNING,
              "Loading failed within the value of key %s in database %d, which has RDB type %d (%s).", shown,
              l->dbid, l->type, rdbTypeName(l->r->version, l->type));
    sdsfree(shown);
}

/* Logs what can be done about data that nothing here can use. */
static void rdbLoadLogAdvice(const struct rdbLoader *l) {
    bool end_is_known = l->type < 0 || l->type == RDB_TYPE_MODULE_2 || l->metadata.needed;
    if (!l->r->unknown) return;
    serverLog(LL_WARNING, "%s",
              end_is_known
                  ? "With rdb-skip-unknown-types yes, the rest is loaded without it. Otherwise load "
                    "the module, or delete it on the server that wrote the data."
                  : "The end of such a value cannot be found. Delete the key on the server that wrote "
                    "the data.");
}

bool rdbLoadStream(struct rdbReader *r, const struct rdbLoadOptions *options, struct rdbLoadResult *result) {
    struct rdbLoader l = {.r = r, .options = options, .now_ms = mstime(), .key = sdsempty(), .type = -1};
    l.result.replication = (struct rdbReplication){.stream_db = -1, .offset = -1};
    rdbLoadSelectDb(&l, 0);
    rdbLoadClearAttributes(&l);
    r->io.checksum = rdb_checksum;
    r->keep_expired = options->keep_expired;
    r->deep = rdb_sanitize == RDB_SANITIZE_YES;
    r->skip_unknown = rdb_skip_unknown_types;
    bool ok = rdbLoadReadAll(&l);
    rdbLoadAddAll(&l);
    serverAssert(ok || r->io.error);
    if (!ok && l.type >= 0) rdbLoadLogKey(&l);
    if (!ok) rdbLoadLogAdvice(&l);
    sdsfree(l.key);
    rdbLoadClearAttributes(&l);
    rdb_last_load = l.result;
    if (result) *result = l.result;
    if (!ok || rioFailed(&r->io)) return false;
    if (!options->prefix && !rioAtEnd(&r->io))
        serverLog(LL_WARNING, "There is more behind the end of the RDB data: it is ignored.");
    rdbSkippedLogSum(&l.skipped);
    char empty[64] = "";
    if (l.result.empty)
        snprintf(empty, sizeof empty, ", empty keys skipped: %llu", (unsigned long long)l.result.empty);
    serverLog(LL_NOTICE,
              "Done loading RDB, keys loaded: %llu, keys expired: %llu, all fields expired hashes: 0%s.",
              (unsigned long long)l.result.keys, (unsigned long long)l.result.expired, empty);
    return true;
}
