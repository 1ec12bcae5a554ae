/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_type.c - the hooks of hashes, their directives, and the registration of the type. */
#include "base/num.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/cmd_hash.h"
#include "data/digest.h"
#include "data/type.h"
#include "registry/config.h"
#include "types/defrag_hooks.h"
#include "types/hash/hash_private.h"
#include "types/hash/hash_shape.h"
#include "types/members_table.h"
#include "types/rdb_hooks.h"
#include "types/types.h"

#define LINE 64

static const char *hashHookEncodingName(const struct object *o) {
    return o->encoding >= HASH_TABLE ? "hashtable" : "listpack";
}

static void hashHookFree(struct value v) {
    struct hash h = {.encoding = v.encoding, .ptr = v.ptr};
    hashDrop(&h);
}

static size_t hashHookFreeEffort(const struct object *o) {
    return o->encoding >= HASH_TABLE ? hashtableSize(objectPtr(o)) : 1;
}

static size_t hashHookEntryMemory(const void *entry) {
    return hashEntryMemory(entry);
}

size_t hashMemory(const struct hash *h, size_t samples) {
    if (h->encoding == HASH_PACKED) return 0;
    if (h->encoding == HASH_TIMED) return hashTimedMemory(h->ptr);
    size_t bytes = zmallocSize(h->ptr);
    if (h->encoding == HASH_LISTPACK || h->encoding == HASH_SHAPED) return bytes;
    bytes += hashtableMemory(h->ptr) + membersTableMemory(h->ptr, samples, hashHookEntryMemory);
    if (h->encoding == HASH_EXPIRING) {
        struct expiringHash *e = hashExpiring(h);
        bytes += zmallocSize(e->due.slot) + (e->tracked.key ? sdsAllocSize(e->tracked.key) : 0);
    }
    return bytes;
}

static size_t hashHookMemoryUsage(const struct object *o, size_t samples) {
    struct hash h;
    hashOpen(&h, o);
    return hashMemory(&h, samples);
}

static struct value hashHookCopy(const struct object *o) {
    struct hash h;
    hashOpen(&h, o);
    if (o->encoding == HASH_PACKED) return hashValue(&h);
    if (o->encoding == HASH_TIMED) return valuePtr(OBJ_HASH, HASH_TIMED, hashTimedCopy(h.ptr));
    if (o->encoding == HASH_SHAPED) return valuePtr(OBJ_HASH, HASH_SHAPED, hashShapedCopy(h.ptr));
    return valuePtr(OBJ_HASH, (int)o->encoding,
                    o->encoding == HASH_LISTPACK ? lpDup(h.ptr) : hashTableCopy(&h));
}

static void hashHookDigest(const struct object *o, uint8_t digest[20]) {
    struct hash h;
    struct hashIterator it;
    struct hashItem item;
    hashOpen(&h, o);
    hashIterate(&it, &h);
    while (hashNext(&it, &item)) {
        uint8_t one[20] = {0};
        digestMix(one, item.field.s);
        digestMix(one, item.value.s);
        if (item.expire_ms != HASH_NO_EXPIRE) {
            char text[LONG_STR_SIZE];
            digestMix(one, strN(text, ll2string(text, item.expire_ms)));
        }
        digestXorDigest(digest, one);
    }
    hashStop(&it);
}

/* A packed hash is in its object, whose second line may be needed. */
static bool hashHookPrefetch(const struct object *o, const struct prefetchRequests *wants, int step,
                             struct prefetchState *state) {
    (void)state;
    if (step == 0) {
        __builtin_prefetch(objectHasPtr(o) ? objectPtr(o) : (const char *)o + LINE - 1);
        return o->encoding == HASH_TIMED || (o->encoding >= HASH_TABLE && wants->member.ptr);
    }
    if (o->encoding == HASH_TIMED) {
        __builtin_prefetch(((const struct timedHash *)objectPtr(o))->lp);
        return false;
    }
    return membersTablePrefetch(objectPtr(o), wants->member_hash, step);
}

/* The elements for SORT and scans are the fields. */
static void hashHookIterate(const struct object *o, bool (*fn)(void *priv, struct str element), void *priv) {
    struct hash h;
    struct hashIterator it;
    struct hashItem item;
    hashOpen(&h, o);
    hashIterate(&it, &h);
    while (hashNext(&it, &item) && fn(priv, item.field.s)) {
    }
    hashStop(&it);
}

static sds hashHookDebugInfo(const struct object *o, sds s) {
    if (!hashEncodingExpires(o->encoding)) return s;
    struct hash h;
    hashOpen(&h, o);
    return sdscatprintf(s, "expiring_fields:%zu ", hashCountExpiringFields(&h));
}

static void hashTypeOnAdded(struct keyspace *ks, const struct object *o) {
    if (!hashEncodingExpires(o->encoding)) return;
    struct hash h;
    hashOpen(&h, o);
    hashTrack(ks, objectKey(o), &h);
}

static void hashTypeOnRemoved(struct keyspace *ks, const struct object *o) {
    if (!hashEncodingExpires(o->encoding)) return;
    struct hash h;
    hashOpen(&h, o);
    hashUntrack(ks, hashTrackedOf(&h));
}

static struct hashtable *hashHookTable(const struct object *o) {
    return o->encoding >= HASH_TABLE ? objectPtr(o) : NULL;
}

static size_t hashHookLength(const struct object *o) {
    struct hash h;
    hashOpen(&h, o);
    return hashSize(&h);
}

static const struct objectType hash_type = {
    .id = OBJ_HASH,
    .name = "hash",
    .encodingName = hashHookEncodingName,
    .free = hashHookFree,
    .freeEffort = hashHookFreeEffort,
    .memoryUsage = hashHookMemoryUsage,
    .length = hashHookLength,
    .plural = "hashes",
    .copy = hashHookCopy,
    .digest = hashHookDigest,
    .prefetch = hashHookPrefetch,
    .iterate = hashHookIterate,
    .table = hashHookTable,
    .debugInfo = hashHookDebugInfo,
    .onAdded = hashTypeOnAdded,
    .onRemoved = hashTypeOnRemoved,
    .onAllRemoved = hashUntrackAll,
    .defrag = hashDefrag,
    .parts = hashParts,
    RDB_HOOK_FIELDS(hash, HASH_RDB_TYPES),
    .rdbVersionNeeded = hashRdbVersionNeeded,
    .volatileCount = hashCountExpiring,
};

void hashTypeInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("hash-max-listpack-entries", "hash-max-ziplist-entries", CONFIG_MODIFIABLE,
                   &hash_max_listpack_entries, 512, 0, INT64_MAX, NULL),
        CONFIG_INT("hash-max-listpack-value", "hash-max-ziplist-value", CONFIG_MODIFIABLE | CONFIG_MEMORY,
                   &hash_max_listpack_value, 64, 0, INT64_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    objectTypeRegister(&hash_type);
    commandRegister(commandsHash);
    hashExpireInit();
    hashShapesInit();
}
