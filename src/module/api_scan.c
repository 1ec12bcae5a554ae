/* SPDX-License-Identifier: BSD-3-Clause */
/* api_scan.c - scans of all keys, or of the elements of a key, in steps. The results of a step are collected
 * before the module sees them, because its callback may change anything. */
#include <errno.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "module/module_key.h"
#include "types/hash/hash.h"
#include "types/set/set.h"

struct ValkeyModuleScanCursor {
    uint64_t cursor;
    bool done;
};

struct ValkeyModuleScanCursor *vmScanCursorCreate(void) {
    return zcalloc(1, sizeof(struct ValkeyModuleScanCursor));
}
void vmScanCursorRestart(struct ValkeyModuleScanCursor *cursor) {
    *cursor = (struct ValkeyModuleScanCursor){0};
}
void vmScanCursorDestroy(struct ValkeyModuleScanCursor *cursor) {
    zfree(cursor);
}

/* ---- Results of a step ---- */

struct scanElement {
    struct scanPair {
        struct ValkeyModuleString *field, *value; /* value NULL: none */
    } * pairs;
    size_t count, capacity;
    const struct hash *hash;  /* set while a hash is scanned, */
    const hashtable *members; /* or a set */
};

static void apiScanAdd(struct scanElement *f, struct str field, const struct str *value) {
    if (f->count == f->capacity) {
        f->capacity = f->capacity ? 2 * f->capacity : 16;
        f->pairs = zrealloc(f->pairs, f->capacity * sizeof *f->pairs);
    }
    f->pairs[f->count++] = (struct scanPair){stringNew(field), value ? stringNew(*value) : NULL};
}

static void apiScanFreeFound(struct scanElement *f) {
    for (size_t i = 0; i < f->count; i++) {
        stringRelease(f->pairs[i].field);
        if (f->pairs[i].value) stringRelease(f->pairs[i].value);
    }
    zfree(f->pairs);
}

/* Returns false and sets errno if the scan has reached its end before. */
static bool apiScanIsOpen(struct ValkeyModuleScanCursor *cursor) {
    errno = cursor->done ? ENOENT : 0;
    return !cursor->done;
}

static int apiScanFinishStep(struct ValkeyModuleScanCursor *cursor, uint64_t next) {
    cursor->cursor = next;
    cursor->done = next == 0;
    errno = 0;
    return !cursor->done;
}

/* ---- Keys ---- */

static void apiScanAddKey(void *priv, void *entry) {
    const struct object *o = entry;
    if (!objectIsExpired(o)) apiScanAdd(priv, objectKey(o), NULL);
}

int vmScan(struct ValkeyModuleCtx *ctx, struct ValkeyModuleScanCursor *cursor, ValkeyModuleScanCB fn,
           void *privdata) {
    if (!apiScanIsOpen(cursor)) return 0;
    struct scanElement f = {0};
    struct db *db = contextClient(ctx)->db;
    uint64_t next = keyspaceScan(&db->keyspace, cursor->cursor, SLOTS_SHOWN, apiScanAddKey, &f);
    for (size_t i = 0; i < f.count; i++) {
        struct ValkeyModuleKey key;
        if (!dbFind(db, stringText(f.pairs[i].field))) continue;
        moduleKeyInit(&key, db, f.pairs[i].field, VALKEYMODULE_READ);
        key.client = ctx->client;
        fn(ctx, f.pairs[i].field, &key, privdata);
        moduleKeyFree(&key);
    }
    apiScanFreeFound(&f);
    return apiScanFinishStep(cursor, next);
}

/* ---- Elements ---- */

static void apiScanAddField(void *priv, const void *place) {
    struct scanElement *f = priv;
    struct hashItem item;
    hashRead(f->hash, place, &item);
    apiScanAdd(f, item.field.s, &item.value.s);
}

static void apiScanAddScored(void *priv, const struct zsetElement *e) {
    char digits[DOUBLE_STR_SIZE];
    struct str score = strN(digits, zsetPrintScore(digits, e->score));
    apiScanAdd(priv, e->member, &score);
}

static void apiScanAddMember(void *priv, void *entry) {
    struct scanElement *f = priv;
    apiScanAdd(f, f->members->type->entryKey(entry), NULL);
}

static uint64_t apiScanSet(struct setRef s, uint64_t cursor, struct scanElement *f) {
    f->members = setTable(s);
    if (f->members) return hashtableScan(setTable(s), cursor, apiScanAddMember, f);
    struct setIterator it;
    struct setMember m;
    setIterate(&it, s);
    while (setNext(&it, &m)) apiScanAdd(f, m.s, NULL);
    setStop(&it);
    return 0;
}

static uint64_t apiScanHash(const struct object *o, uint64_t cursor, struct scanElement *f) {
    struct hash h;
    hashOpen(&h, o);
    f->hash = &h;
    return hashScan(&h, cursor, apiScanAddField, f);
}

int vmScanKey(struct ValkeyModuleKey *key, struct ValkeyModuleScanCursor *cursor, ValkeyModuleScanKeyCB fn,
              void *privdata) {
    struct object *o = key ? moduleKeyObject(key) : NULL;
    if (!o || (o->type != OBJ_HASH && o->type != OBJ_SET && o->type != OBJ_ZSET)) {
        errno = EINVAL;
        return 0;
    }
    if (!apiScanIsOpen(cursor)) return 0;
    struct scanElement f = {0};
    struct zsetRef z;
    uint64_t next;
    if (o->type == OBJ_HASH) {
        next = apiScanHash(o, cursor->cursor, &f);
    } else if (o->type == OBJ_SET) {
        next = apiScanSet(setOpen(o), cursor->cursor, &f);
    } else {
        z = zsetOpen(o);
        next = z.index->scan(z.ptr, cursor->cursor, apiScanAddScored, &f);
    }
    for (size_t i = 0; i < f.count; i++) fn(key, f.pairs[i].field, f.pairs[i].value, privdata);
    apiScanFreeFound(&f);
    return apiScanFinishStep(cursor, next);
}
