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
    struct queueEntryForm form; /* rdb_type; first_ms: in Redis's format */
    unsigned count;             /* fields that wait for their command */
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

static void hashPartsRead(struct hashItem *item, const struct hashEntry *e) {
    item->field.s = hashEntryField(e);
    item->value.s = hashEntryValue(e);
    item->expire_ms = hashEntryExpire(e);
}

/* In either thread. An entry's position in the heap, which changes with other entries, is not read. */
static void hashPartsWrite(struct rioWriter *w, const void *entry, const struct queueEntryForm *form) {
    struct hashItem item;
    hashPartsRead(&item, entry);
    if (form->rdb_type == RDB_TYPE_REDIS_HASH_EXPIRING) {
        hashRdbWriteForRedis(w, form->first_ms, &item);
    } else {
        rdbWriteString(w, item.field.s);
        rdbWriteString(w, item.value.s);
        if (form->rdb_type == RDB_TYPE_HASH_EXPIRING) rdbWriteInt64(w, item.expire_ms);
    }
}

static void hashPartsSave(void *priv, void *entry) {
    struct hashParts *p = priv;
    if (p->value->commands) {
        struct hashItem item;
        hashPartsRead(&item, entry);
        hashPartsSaveAsCommand(p, entry, &item);
    } else {
        hashPartsWrite(largeValueWriter(p->value), entry, &p->form);
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

static size_t hashPartsFieldBytes(const void *entry) {
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
    p->form = (struct queueEntryForm){.rdb_type = hashRdbType(o, w->version)};
    tablePartsBegin(&p->table, hashTable(&h), v, hashPartsFieldBytes);
    if (v->commands) return;
    if (p->form.rdb_type == RDB_TYPE_REDIS_HASH_EXPIRING) {
        p->form.first_ms = hashRdbRedisExpiry(hashEntryExpire(hashHeapFirst(&hashExpiring(&h)->due)));
        rdbWriteInt64(w, p->form.first_ms);
    }
    rdbWriteLen(w, hashSize(&h));
}

static bool hashPartsNext(struct largeValue *v) {
    struct hashParts *p = hashPartsState(v);
    bool more = tablePartsSlice(&p->table, largeValueWriter(v), hashPartsSave, p);
    hashPartsWriteCommand(p);
    return more;
}

static bool hashPartsGive(struct largeValue *v, struct queueEntries *batch) {
    struct hashParts *p = hashPartsState(v);
    batch->write = hashPartsWrite;
    batch->form = p->form;
    return tablePartsGive(&p->table, batch, hashPartsSave, p);
}

static void hashPartsEnd(struct largeValue *v, bool complete) {
    struct hashParts *p = v->state;
    (void)complete;
    tablePartsEnd(&p->table);
    zfreeSized(p, sizeof *p);
}

const struct valueParts *hashParts(const struct object *o) {
    static const struct valueParts parts = {.isLarge = hashPartsIsLarge,
                                            .begin = hashPartsBegin,
                                            .next = hashPartsNext,
                                            .give = hashPartsGive,
                                            .end = hashPartsEnd};
    return o->encoding >= HASH_TABLE ? &parts : NULL;
}
