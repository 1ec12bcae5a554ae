/* SPDX-License-Identifier: BSD-3-Clause */
/* pathhash_type.c - the hooks of path hashes, and the registration of the type. A keyspace knows how many
 * path hashes it has: its file needs version 81 as soon as there is one. */
#include "base/assert.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/cmd_pathhash.h"
#include "data/digest.h"
#include "data/keyspace/keyspace.h"
#include "data/type.h"
#include "types/defrag_hooks.h"
#include "types/pathhash/pathhash.h"
#include "types/pathhash/pathhash_private.h"
#include "types/rdb_hooks.h"
#include "types/types.h"

static const char *pathHashHookEncodingName(const struct object *o) {
    (void)o;
    return "pathhash";
}

static void pathHashHookFree(struct value v) {
    pathHashFree(v.ptr);
}

static size_t pathHashHookFreeEffort(const struct object *o) {
    return pathHashFreeEffort(pathHashOpen(o));
}

/* Payloads are estimated from the first ones, in the order of paths. */
static size_t pathHashHookMemoryUsage(const struct object *o, size_t samples) {
    const struct pathHash *ph = pathHashOpen(o);
    struct pathmapIterator it;
    void **place;
    size_t seen = 0, bytes = 0;
    pathmapIterate(&it, ph->paths, STR(""), NULL);
    for (; (!samples || seen < samples) && (place = pathmapNext(&it)); seen++)
        bytes += payloadMemory(*place, samples);
    pathmapStop(&it);
    if (seen) bytes = (size_t)((double)bytes / (double)seen * (double)pathHashCount(ph));
    return zmallocSize(ph) + pathmapMemory(ph->paths) + bytes;
}

static struct value pathHashHookCopy(const struct object *o) {
    return pathHashValue(pathHashCopy(pathHashOpen(o)));
}

static void pathHashDigestPayload(uint8_t digest[20], struct str path, const void *payload) {
    struct hash h;
    struct hashIterator it;
    struct hashItem item;
    payloadOpen(&h, payload);
    hashIterate(&it, &h);
    while (hashNext(&it, &item)) {
        uint8_t one[20] = {0};
        digestMix(one, path);
        digestMix(one, item.field.s);
        digestMix(one, item.value.s);
        digestXorDigest(digest, one);
    }
    hashStop(&it);
}

static void pathHashHookDigest(const struct object *o, uint8_t digest[20]) {
    struct pathmapIterator it;
    void **place;
    pathmapIterate(&it, pathHashOpen(o)->paths, STR(""), NULL);
    while ((place = pathmapNext(&it))) pathHashDigestPayload(digest, sdsview(it.path), *place);
    pathmapStop(&it);
}

/* First comes the struct, then the nodes on the way to the path that the command names. */
static bool pathHashHookPrefetch(const struct object *o, const struct prefetchRequests *wants, int step,
                                 struct prefetchState *state) {
    if (step == 0) {
        __builtin_prefetch(objectPtr(o));
        return wants->parts & PREFETCH_PATH && wants->member.ptr;
    }
    return pathmapPrefetch(pathHashOpen(o)->paths, wants->member, step - 1, &state->at, state->notes);
}

/* ---- The number of path hashes in a keyspace ---- */

static size_t pathHashesIn(const struct keyspace *ks) {
    return (uintptr_t)ks->kept[OBJ_PATH_HASH];
}

static void pathHashesSet(struct keyspace *ks, size_t count) {
    ks->kept[OBJ_PATH_HASH] = (void *)(uintptr_t)count;
}

static void pathHashHookOnAdded(struct keyspace *ks, const struct object *o) {
    (void)o;
    pathHashesSet(ks, pathHashesIn(ks) + 1);
}

static void pathHashHookOnRemoved(struct keyspace *ks, const struct object *o) {
    (void)o;
    serverAssert(pathHashesIn(ks));
    pathHashesSet(ks, pathHashesIn(ks) - 1);
}

static void pathHashHookOnAllRemoved(struct keyspace *ks) {
    pathHashesSet(ks, 0);
}

static int pathHashHookRdbVersionNeeded(const struct keyspace *ks) {
    return pathHashesIn(ks) ? RDB_VERSION_PATHS : RDB_VERSION;
}

static size_t pathHashHookLength(const struct object *o) {
    return pathHashCount(pathHashOpen(o));
}

static const struct objectType path_hash_type = {
    .id = OBJ_PATH_HASH,
    .name = "pathhash",
    .encodingName = pathHashHookEncodingName,
    .free = pathHashHookFree,
    .freeEffort = pathHashHookFreeEffort,
    .memoryUsage = pathHashHookMemoryUsage,
    .length = pathHashHookLength,
    .plural = "pathhashes",
    .copy = pathHashHookCopy,
    .digest = pathHashHookDigest,
    .prefetch = pathHashHookPrefetch,
    .onAdded = pathHashHookOnAdded,
    .onRemoved = pathHashHookOnRemoved,
    .onAllRemoved = pathHashHookOnAllRemoved,
    .defrag = pathHashDefrag,
    RDB_HOOK_FIELDS(pathHash, PATH_HASH_RDB_TYPES),
    .rdbVersionNeeded = pathHashHookRdbVersionNeeded,
    .parts = pathHashPartsOf,
};

void pathHashInit(void) {
    objectTypeRegister(&path_hash_type);
    commandRegister(commandsPathHash);
}
