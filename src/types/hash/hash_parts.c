/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_parts.c - see hash_private.h.
 *
 *     RDB        what hash_rdb.c writes in front of the fields, then the fields as they are saved. The
 *                type that the value had at the start says whether they have expiries
 *     commands   HSET key field value ..., with as many fields as are at hand; HSETEX for one that expires
 *
 * The container moves when the first expiry comes or the last one goes; the table keeps its contents. */
#include "base/zmalloc.h"
#include "data/forkless/table_parts.h"
#include "data/rdb/rdb.h"
#include "data/rdb/rewrite.h"
#include "types/hash/hash_private.h"
#include "types/rdb_hooks.h"

struct hashParts {
    struct tableParts table;
    struct largeValue *value;
    uint8_t rdb_type;
    int64_t first_ms; /* in Redis's format */
    unsigned count;   /* fields that wait for their command */
    const struct hashEntry *fields[REWRITE_ITEMS_PER_COMMAND];
};

static void hashPartsWriteCommand(struct hashParts *p) {
    struct rioWriter *w = largeValueWriter(p->value);
    if (!p->count) return;
    rewriteCommand(w, 2 + 2 * (int64_t)p->count);
    rewriteArgs(w, STR("HSET"), p->value->key);
    for (unsigned i = 0; i < p->count; i++)
        rewriteArgs(w, hashEntryField(p->fields[i]), hashEntryValue(p->fields[i]));
    p->count = 0;
}

static void hashPartsSaveAsCommand(struct hashParts *p, const struct hashEntry *e,
                                   const struct hashItem *item) {
    if (item->expire_ms != HASH_NO_EXPIRE) {
        hashRdbRewriteExpiring(largeValueWriter(p->value), p->value->key, item);
        return;
    }
    p->fields[p->count++] = e;
    if (p->count == REWRITE_ITEMS_PER_COMMAND) hashPartsWriteCommand(p);
}

static void hashPartsSave(void *priv, void *entry) {
    struct hashParts *p = priv;
    struct rioWriter *w = largeValueWriter(p->value);
    struct hashItem item;
    item.field.s = hashEntryField(entry);
    item.value.s = hashEntryValue(entry);
    item.expire_ms = hashEntryExpire(entry);
    if (p->value->commands) {
        hashPartsSaveAsCommand(p, entry, &item);
    } else if (p->rdb_type == RDB_TYPE_REDIS_HASH_EXPIRING) {
        hashRdbWriteForRedis(w, p->first_ms, &item);
    } else {
        rdbWriteString(w, item.field.s);
        rdbWriteString(w, item.value.s);
        if (p->rdb_type == RDB_TYPE_HASH_EXPIRING) rdbWriteInt64(w, item.expire_ms);
    }
}

/* Returns the state, with the table where it is now: at the beginning of the container. */
static struct hashParts *hashPartsState(struct largeValue *v) {
    struct hashParts *p = v->state;
    tablePartsMove(&p->table, v->container);
    return p;
}

void hashPartsBefore(struct largeValue *v, uint64_t hash) {
    struct hashParts *p = hashPartsState(v);
    tablePartsBefore(&p->table, hash, hashPartsSave, p);
    hashPartsWriteCommand(p);
}

/* ---- Hooks ---- */

static size_t hashPartsFieldBytes(const struct hashtable *table, const void *entry) {
    (void)table;
    return hashEntryField(entry).len + hashEntryValue(entry).len;
}

static bool hashPartsIsLarge(const struct object *o) {
    return tablePartsIsLarge(objectPtr(o), hashPartsFieldBytes);
}

static void hashPartsBegin(struct largeValue *v, const struct object *o) {
    struct rioWriter *w = largeValueWriter(v);
    struct hashParts *p = v->state = zmalloc(sizeof *p);
    struct hash h;
    hashOpen(&h, o);
    p->value = v;
    p->count = 0;
    p->rdb_type = hashRdbType(o, w->version);
    tablePartsBegin(&p->table, hashTable(&h));
    if (v->commands) return;
    if (p->rdb_type == RDB_TYPE_REDIS_HASH_EXPIRING) {
        p->first_ms = hashRdbRedisExpiry(hashEntryExpire(hashHeapFirst(&hashExpiring(&h)->due)));
        rdbWriteInt64(w, p->first_ms);
    }
    rdbWriteLen(w, hashSize(&h));
}

static bool hashPartsNext(struct largeValue *v) {
    struct hashParts *p = hashPartsState(v);
    bool more = tablePartsSlice(&p->table, largeValueWriter(v), hashPartsSave, p);
    hashPartsWriteCommand(p);
    return more;
}

static void hashPartsEnd(struct largeValue *v, bool complete) {
    struct hashParts *p = v->state;
    (void)complete;
    tablePartsEnd(&p->table);
    zfreeSized(p, sizeof *p);
}

const struct valueParts *hashParts(const struct object *o) {
    static const struct valueParts parts = {hashPartsIsLarge, hashPartsBegin, hashPartsNext, hashPartsEnd,
                                            NULL};
    return o->encoding >= HASH_TABLE ? &parts : NULL;
}
