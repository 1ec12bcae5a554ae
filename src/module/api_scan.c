/* SPDX-License-Identifier: BSD-3-Clause */
/* api_scan.c - all keys, or all elements of a key, some with each call. What a step has found is collected
 * before the module sees it: it may change anything. */
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

/* ---- What a step has found ---- */

struct scanElement {
    struct scanPair {
        struct ValkeyModuleString *field, *value; /* value NULL: none */
    } * pairs;
    size_t count, capacity;
    const struct hash *hash;  /* whose places are found, */
    const hashtable *members; /* or entries */
};

static void apiScanNote(struct scanElement *f, struct str field, const struct str *value) {
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

/* False, and errno: it was at the end before. */
static bool apiScanMayGoOn(struct ValkeyModuleScanCursor *cursor) {
    errno = cursor->done ? ENOENT : 0;
    return !cursor->done;
}

static int apiScanStepped(struct ValkeyModuleScanCursor *cursor, uint64_t next) {
    cursor->cursor = next;
    cursor->done = next == 0;
    errno = 0;
    return !cursor->done;
}

/* ---- Keys ---- */

static void apiScanNoteKey(void *priv, void *entry) {
    const struct object *o = entry;
    if (!objectIsExpired(o)) apiScanNote(priv, objectKey(o), NULL);
}

int vmScan(struct ValkeyModuleCtx *ctx, struct ValkeyModuleScanCursor *cursor, ValkeyModuleScanCB fn,
           void *privdata) {
    if (!apiScanMayGoOn(cursor)) return 0;
    struct scanElement f = {0};
    struct db *db = contextClient(ctx)->db;
    uint64_t next = keyspaceScan(&db->keyspace, cursor->cursor, SLOTS_SHOWN, apiScanNoteKey, &f);
    for (size_t i = 0; i < f.count; i++) {
        struct ValkeyModuleKey key;
        if (!dbFind(db, stringText(f.pairs[i].field))) continue;
        moduleKeyInit(&key, db, f.pairs[i].field, VALKEYMODULE_READ);
        key.client = ctx->client;
        fn(ctx, f.pairs[i].field, &key, privdata);
        moduleKeyDrop(&key);
    }
    apiScanFreeFound(&f);
    return apiScanStepped(cursor, next);
}

/* ---- Elements ---- */

static void apiScanNoteField(void *priv, const void *place) {
    struct scanElement *f = priv;
    struct hashItem item;
    hashRead(f->hash, place, &item);
    apiScanNote(f, item.field.s, &item.value.s);
}

static void apiScanNoteScored(void *priv, const struct zsetElement *e) {
    char digits[DOUBLE_STR_SIZE];
    struct str score = strN(digits, d2string(digits, e->score));
    apiScanNote(priv, e->member, &score);
}

static void apiScanNoteEntry(void *priv, void *entry) {
    struct scanElement *f = priv;
    apiScanNote(f, f->members->type->entryKey(entry), NULL);
}

static uint64_t apiScanSet(struct setRef s, uint64_t cursor, struct scanElement *f) {
    f->members = setTable(s);
    if (f->members) return hashtableScan(setTable(s), cursor, apiScanNoteEntry, f);
    struct setIterator it;
    struct setMember m;
    setIterate(&it, s);
    while (setNext(&it, &m)) apiScanNote(f, m.s, NULL);
    setStop(&it);
    return 0;
}

static uint64_t apiScanHash(const struct object *o, uint64_t cursor, struct scanElement *f) {
    struct hash h;
    hashOpen(&h, o);
    f->hash = &h;
    return hashScan(&h, cursor, apiScanNoteField, f);
}

int vmScanKey(struct ValkeyModuleKey *key, struct ValkeyModuleScanCursor *cursor, ValkeyModuleScanKeyCB fn,
              void *privdata) {
    struct object *o = key ? moduleKeyObject(key) : NULL;
    if (!o || (o->type != OBJ_HASH && o->type != OBJ_SET && o->type != OBJ_ZSET)) {
        errno = EINVAL;
        return 0;
    }
    if (!apiScanMayGoOn(cursor)) return 0;
    struct scanElement f = {0};
    struct zsetRef z;
    uint64_t next;
    if (o->type == OBJ_HASH) {
        next = apiScanHash(o, cursor->cursor, &f);
    } else if (o->type == OBJ_SET) {
        next = apiScanSet(setOpen(o), cursor->cursor, &f);
    } else {
        z = zsetOpen(o);
        next = z.index->scan(z.ptr, cursor->cursor, apiScanNoteScored, &f);
    }
    for (size_t i = 0; i < f.count; i++) fn(key, f.pairs[i].field, f.pairs[i].value, privdata);
    apiScanFreeFound(&f);
    return apiScanStepped(cursor, next);
}
