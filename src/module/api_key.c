/* SPDX-License-Identifier: BSD-3-Clause */
/* api_key.c - keys for modules: opening, closing, deleting, time to live, use, and strings as values. */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "command/blocking.h"
#include "data/lifetime/evict_marks.h"
#include "data/lifetime/lazyfree.h"
#include "data/notify.h"
#include "module/module_key.h"
#include "module/parts.h"
#include "registry/cron.h"
#include "types/hash/hash.h"
#include "types/set/set.h"
#include "types/string/string_commands.h"
#include "types/types.h"

#define STRING_MAX (512ull << 20)

/* ---- Databases ---- */

int vmGetSelectedDb(struct ValkeyModuleCtx *ctx) {
    return contextClient(ctx)->db->id;
}

int vmSelectDb(struct ValkeyModuleCtx *ctx, int newid) {
    struct db *db = dbGet(newid);
    if (!db) return VALKEYMODULE_ERR;
    contextClient(ctx)->db = db;
    return VALKEYMODULE_OK;
}

unsigned long long vmDbSize(struct ValkeyModuleCtx *ctx) {
    return keyspaceShownSize(&contextClient(ctx)->db->keyspace);
}

struct ValkeyModuleString *vmRandomKey(struct ValkeyModuleCtx *ctx) {
    struct object *o = dbRandomKey(contextClient(ctx)->db);
    return o ? vmCreateString(ctx, objectKey(o).ptr, objectKey(o).len) : NULL;
}

int vmKeyExists(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *keyname) {
    return lookupKey(contextClient(ctx)->db, stringText(keyname), LOOKUP_NOTOUCH) != NULL;
}

/* ---- Opening and closing ---- */

static unsigned open_for_writing;

bool moduleKeyAnyWritable(void) {
    return open_for_writing != 0;
}

struct object *moduleKeyObject(const struct ValkeyModuleKey *key) {
    struct object *o = dbFind(key->db, moduleKeyName(key));
    bool hidden = o && objectIsExpired(o) && !dbSeesExpired() && !(key->mode & MODULE_KEY_EXPIRED_TOO);
    if (o && moduleKeyIsWritable(key)) keyspaceObjectWillChange(&key->db->keyspace, o);
    return hidden ? NULL : o;
}

void moduleKeyInit(struct ValkeyModuleKey *key, struct db *db, struct ValkeyModuleString *name,
                   unsigned mode) {
    memset(key, 0, sizeof *key);
    name->refs++;
    key->db = db;
    key->name = name;
    key->mode = mode;
}

void moduleKeyFree(struct ValkeyModuleKey *key) {
    moduleKeyEndWalk(key);
    stringRelease(key->name);
}

static int apiKeyLookupFlags(unsigned mode) {
    int flags = mode & VALKEYMODULE_WRITE ? LOOKUP_WRITE : 0;
    if (mode & VALKEYMODULE_OPEN_KEY_NOEFFECTS) mode = ~0u;
    if (mode & VALKEYMODULE_OPEN_KEY_NOTOUCH) flags |= LOOKUP_NOTOUCH;
    if (mode & VALKEYMODULE_OPEN_KEY_NONOTIFY) flags |= LOOKUP_NONOTIFY;
    if (mode & VALKEYMODULE_OPEN_KEY_NOSTATS) flags |= LOOKUP_NOSTATS;
    if (mode & VALKEYMODULE_OPEN_KEY_NOEXPIRE) flags |= LOOKUP_NOEXPIRE;
    return flags;
}

struct ValkeyModuleKey *vmOpenKey(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *keyname, int mode) {
    struct client *c = contextClient(ctx);
    struct object *o = lookupKey(c->db, stringText(keyname), apiKeyLookupFlags((unsigned)mode));
    if (!o && !(mode & VALKEYMODULE_WRITE)) return NULL;
    struct ValkeyModuleKey *key = zmalloc(sizeof *key);
    moduleKeyInit(key, c->db, keyname, (unsigned)mode);
    key->ctx = ctx;
    key->client = c;
    open_for_writing += (key->mode & VALKEYMODULE_WRITE) != 0;
    contextAutoAdd(ctx, AUTO_KEY, key);
    return key;
}

void moduleKeyEndWalk(struct ValkeyModuleKey *key) {
    if (key->walk == WALK_LIST) listTypeStop(&key->list.it);
    if (key->walk == WALK_STREAM) streamStop(&key->stream.it);
    key->walk = WALK_NONE;
}

/* Closes a key. Clients that watch it, or wait for its stream, are signaled now. */
static void apiKeyCloseKey(void *what) {
    struct ValkeyModuleKey *key = what;
    moduleKeyEndWalk(key);
    open_for_writing -= (key->mode & VALKEYMODULE_WRITE) != 0;
    bool implicit = !key->ctx || !key->ctx->module ||
                    !(key->ctx->module->options & VALKEYMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED);
    if (key->mode & VALKEYMODULE_WRITE) {
        struct object *o = moduleKeyObject(key);
        if (implicit) keyChanged(key->client, key->db, moduleKeyName(key), NOTIFY_MODULE, NULL, 0);
        if (o && o->type == OBJ_STREAM) signalKeyReady(key->db, moduleKeyName(key));
    }
    stringRelease(key->name);
    zfree(key);
}

void vmCloseKey(struct ValkeyModuleKey *key) {
    if (!key) return;
    contextAutoRemove(key->ctx, AUTO_KEY, key);
    apiKeyCloseKey(key);
}

bool moduleKeyCheck(struct ValkeyModuleKey *key, int type, unsigned mode, bool absent_ok) {
    struct object *o = key ? moduleKeyObject(key) : NULL;
    errno = !key ? EINVAL : o ? (o->type != (unsigned)type ? ENOTSUP : 0) : (absent_ok ? 0 : ENOTSUP);
    if (!errno && (key->mode & mode) != mode) errno = EBADF;
    return !errno;
}

/* ---- Properties ---- */

int vmKeyType(struct ValkeyModuleKey *key) {
    static const int types[OBJ_TYPES_MAX] = {
        [OBJ_STRING] = VALKEYMODULE_KEYTYPE_STRING, [OBJ_LIST] = VALKEYMODULE_KEYTYPE_LIST,
        [OBJ_SET] = VALKEYMODULE_KEYTYPE_SET,       [OBJ_ZSET] = VALKEYMODULE_KEYTYPE_ZSET,
        [OBJ_HASH] = VALKEYMODULE_KEYTYPE_HASH,     [OBJ_MODULE] = VALKEYMODULE_KEYTYPE_MODULE,
        [OBJ_STREAM] = VALKEYMODULE_KEYTYPE_STREAM,
    };
    struct object *o = key ? moduleKeyObject(key) : NULL;
    return o ? types[o->type] : VALKEYMODULE_KEYTYPE_EMPTY;
}

static size_t apiKeyHashLength(const struct object *o) {
    struct hash h;
    hashOpen(&h, o);
    return hashSize(&h);
}

size_t vmValueLength(struct ValkeyModuleKey *key) {
    struct object *o = key ? moduleKeyObject(key) : NULL;
    char digits[LONG_STR_SIZE];
    if (!o) return 0;
    switch (o->type) {
    case OBJ_STRING: return stringView(o, digits).len;
    case OBJ_LIST: return listTypeLength(listTypeOpen(o));
    case OBJ_SET: return setSize(setOpen(o));
    case OBJ_ZSET: return zsetLength(zsetOpen(o));
    case OBJ_HASH: return apiKeyHashLength(o);
    case OBJ_STREAM: return streamOpen(o)->length;
    default: return 0;
    }
}

const struct ValkeyModuleString *vmGetKeyNameFromModuleKey(struct ValkeyModuleKey *key) {
    return key ? key->name : NULL;
}

int vmGetDbIdFromModuleKey(struct ValkeyModuleKey *key) {
    return key ? key->db->id : -1;
}

/* ---- Deleting, time to live ---- */

static int apiKeyDeleteKey(struct ValkeyModuleKey *key, bool async) {
    if (!moduleKeyIsWritable(key)) return VALKEYMODULE_ERR;
    moduleKeyEndWalk(key);
    if (async)
        dbDeleteAsync(key->db, moduleKeyName(key));
    else
        dbDelete(key->db, moduleKeyName(key));
    return VALKEYMODULE_OK;
}

int vmDeleteKey(struct ValkeyModuleKey *key) {
    return apiKeyDeleteKey(key, false);
}
int vmUnlinkKey(struct ValkeyModuleKey *key) {
    return apiKeyDeleteKey(key, true);
}

mstime_t vmGetAbsExpire(struct ValkeyModuleKey *key) {
    struct object *o = key ? moduleKeyObject(key) : NULL;
    return o ? objectExpire(o) : VALKEYMODULE_NO_EXPIRE;
}

mstime_t vmGetExpire(struct ValkeyModuleKey *key) {
    mstime_t when = vmGetAbsExpire(key);
    if (when == VALKEYMODULE_NO_EXPIRE) return when;
    return when > cmd_time_ms ? when - cmd_time_ms : 0;
}

int vmSetAbsExpire(struct ValkeyModuleKey *key, mstime_t expire) {
    struct object *o = moduleKeyIsWritable(key) ? moduleKeyObject(key) : NULL;
    if (!o || expire < VALKEYMODULE_NO_EXPIRE) return VALKEYMODULE_ERR;
    moduleKeyEndWalk(key);
    if (expire == VALKEYMODULE_NO_EXPIRE)
        dbRemoveExpire(key->db, o);
    else
        dbSetExpire(key->db, o, expire);
    return VALKEYMODULE_OK;
}

int vmSetExpire(struct ValkeyModuleKey *key, mstime_t expire) {
    mstime_t when = expire;
    if (expire != VALKEYMODULE_NO_EXPIRE &&
        (expire < 0 || __builtin_add_overflow(expire, (mstime_t)cmd_time_ms, &when)))
        return VALKEYMODULE_ERR;
    return vmSetAbsExpire(key, when);
}

int vmSignalModifiedKey(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *keyname) {
    struct client *c = contextClient(ctx);
    struct object *o = dbFind(c->db, stringText(keyname)); /* which need not be open */
    if (o) keyspaceObjectWillChange(&c->db->keyspace, o);
    keyChanged(c, c->db, stringText(keyname), NOTIFY_MODULE, NULL, 0);
    return VALKEYMODULE_OK;
}

/* ---- Use ---- */

int vmSetLRU(struct ValkeyModuleKey *key, mstime_t lru_idle) {
    struct object *o = key ? moduleKeyObject(key) : NULL;
    if (!o || evictCountsUses()) return VALKEYMODULE_ERR;
    objectSetUse(o, lru_idle / 1000, -1);
    return VALKEYMODULE_OK;
}

int vmGetLRU(struct ValkeyModuleKey *key, mstime_t *lru_idle) {
    struct object *o = key ? moduleKeyObject(key) : NULL;
    *lru_idle = -1;
    if (!o) return VALKEYMODULE_ERR;
    if (!evictCountsUses()) *lru_idle = (mstime_t)objectIdleSeconds(o) * 1000;
    return VALKEYMODULE_OK;
}

int vmSetLFU(struct ValkeyModuleKey *key, long long lfu_freq) {
    struct object *o = key ? moduleKeyObject(key) : NULL;
    if (!o || !evictCountsUses() || lfu_freq < 0 || lfu_freq > LFU_MAX) return VALKEYMODULE_ERR;
    objectSetUse(o, -1, lfu_freq);
    return VALKEYMODULE_OK;
}

int vmGetLFU(struct ValkeyModuleKey *key, long long *lfu_freq) {
    struct object *o = key ? moduleKeyObject(key) : NULL;
    *lfu_freq = -1;
    if (!o) return VALKEYMODULE_ERR;
    if (evictCountsUses()) *lfu_freq = objectFrequency(o);
    return VALKEYMODULE_OK;
}

/* ---- Strings as values ---- */

int vmStringSet(struct ValkeyModuleKey *key, struct ValkeyModuleString *str) {
    char scratch[8];
    if (!moduleKeyIsWritable(key) || key->walk != WALK_NONE) return VALKEYMODULE_ERR;
    dbSet(key->db, moduleKeyName(key), stringValue(stringText(str), scratch), false);
    return VALKEYMODULE_OK;
}

/* Returns the bytes of a string. If they are not stored as bytes (a number), they are converted first. */
char *vmStringDMA(struct ValkeyModuleKey *key, size_t *len, int mode) {
    static char none[1];
    struct object *o = key ? moduleKeyObject(key) : NULL;
    int64_t number;
    *len = 0;
    if (!key || (o && o->type != OBJ_STRING)) return NULL;
    if (!o) return none;
    if ((mode & VALKEYMODULE_WRITE && moduleKeyIsWritable(key)) || stringIsInt(o, &number)) {
        keyspaceObjectWillChange(&key->db->keyspace, o);
        stringWillChange(o, 0, SIZE_MAX);
        return stringForWrite(key->db, moduleKeyName(key), o, 0, len);
    }
    struct str text = objectHasPtr(o) ? sdsview(stringSds(o)) : objectEmbedded(o);
    *len = text.len;
    return (char *)text.ptr;
}

int vmStringTruncate(struct ValkeyModuleKey *key, size_t newlen) {
    if (!moduleKeyIsWritable(key) || newlen > STRING_MAX) return VALKEYMODULE_ERR;
    struct object *o = moduleKeyObject(key);
    if (o && o->type != OBJ_STRING) return VALKEYMODULE_ERR;
    if (!o && !newlen) return VALKEYMODULE_OK;
    sds text = stringEditBegin(o);
    if (newlen > sdslen(text))
        text = sdsgrowzero(text, newlen);
    else
        sdssetlen(text, newlen);
    stringEditEnd(key->db, moduleKeyName(key), o, text);
    return VALKEYMODULE_OK;
}

void keyPartInit(void) {
    contextSetAutoFree(AUTO_KEY, apiKeyCloseKey);
}
