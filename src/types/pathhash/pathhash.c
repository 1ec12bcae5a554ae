/* SPDX-License-Identifier: BSD-3-Clause */
/* pathhash.c - see pathhash.h.
 *
 * A packed payload is opened where it is and changed in the room of struct hash, on the stack, like a hash
 * that is packed into its object; committing writes it back into an allocation of the new size. */
#include "types/pathhash/pathhash.h"

#include "base/assert.h"
#include "base/zmalloc.h"
#include "data/forkless/large_value.h"
#include "data/lifetime/lazyfree.h"
#include "types/pathhash/pathhash_private.h"
#include "types/types.h"

_Static_assert(HASH_PACKED == 0 && HASH_LISTPACK < 8 && HASH_TABLE < 8, "encodings fit into 3 low bits");
_Static_assert(HASH_PACKED_MAX <= UINT8_MAX, "the length of a packed payload is one byte");

/* ---- Payloads ---- */

static size_t payloadTableFields(const void *payload) {
    return payload && payloadEncoding(payload) == HASH_TABLE ? hashtableSize(payloadAddress(payload)) : 0;
}

void payloadOpen(struct hash *h, const void *payload) {
    char *at = payloadAddress(payload);
    h->encoding = (uint8_t)payloadEncoding(payload);
    h->expired_removed = 0;
    h->used = 0;
    h->ptr = at;
    if (h->encoding != HASH_PACKED) return;
    h->used = (uint8_t)at[0];
    h->ptr = at + 1;
}

static void payloadFree(void *payload) {
    struct hash h;
    payloadOpen(&h, payload);
    if (h.encoding == HASH_PACKED)
        zfree(payload);
    else
        hashDrop(&h);
}

/* Makes a payload of the hash. `was` is the payload from which it was opened, or NULL. */
static void *payloadStore(struct hash *h, void *was) {
    unsigned char *packed = was && payloadEncoding(was) == HASH_PACKED ? was : NULL;
    if (h->encoding != HASH_PACKED) {
        zfree(packed);
        return payloadTag(h->ptr, h->encoding);
    }
    if (h->ptr != h->room) return was;
    packed = zrealloc(packed, 1u + h->used);
    packed[0] = h->used;
    memcpy(packed + 1, h->room, h->used);
    return packed;
}

static void *payloadCopy(const void *payload) {
    struct hash h;
    payloadOpen(&h, payload);
    void *at = payloadAddress(payload);
    switch (h.encoding) {
    case HASH_PACKED: return memcpy(zmalloc(1u + h.used), at, 1u + h.used);
    case HASH_LISTPACK: return payloadTag(lpDup(at), HASH_LISTPACK);
    default: return payloadTag(hashTableCopy(&h), HASH_TABLE);
    }
}

size_t payloadMemory(const void *payload, size_t samples) {
    struct hash h;
    payloadOpen(&h, payload);
    return h.encoding == HASH_PACKED ? zmallocSize(payload) : hashMemory(&h, samples);
}

/* ---- Life ---- */

static struct pathHash *pathHashWrap(struct pathmap *paths, size_t table_fields) {
    struct pathHash *ph = zmalloc(sizeof *ph);
    *ph = (struct pathHash){paths, table_fields};
    return ph;
}

struct pathHash *pathHashNew(void) {
    return pathHashWrap(pathmapNew(), 0);
}

void pathHashFree(struct pathHash *ph) {
    pathmapFree(ph->paths, payloadFree);
    zfreeSized(ph, sizeof *ph);
}

struct pathHash *pathHashCopy(const struct pathHash *ph) {
    struct pathHash *copy = pathHashNew();
    struct pathmapIterator it;
    bool added;
    void **place;
    pathmapIterate(&it, ph->paths, STR(""), NULL);
    while ((place = pathmapNext(&it)))
        *pathmapInsert(copy->paths, sdsview(it.path), &added) = payloadCopy(*place);
    pathmapStop(&it);
    copy->table_fields = ph->table_fields;
    return copy;
}

struct value pathHashValue(struct pathHash *ph) {
    return valuePtr(OBJ_PATH_HASH, 0, ph);
}

size_t pathHashFreeEffort(const struct pathHash *ph) {
    return pathmapNodes(ph->paths) + pathmapCount(ph->paths) + ph->table_fields;
}

/* ---- One path ---- */

bool pathHashGet(const struct pathHash *ph, struct str path, struct hash *h) {
    void **place = pathmapFind(ph->paths, path);
    if (place) payloadOpen(h, *place);
    return place;
}

/* Before a change of a path, or with a new one (NULL). */
static inline void pathHashReport(const struct pathHash *ph, struct str path, const void *payload) {
    if (__builtin_expect(large_value_count != 0, 0)) pathHashPartsChange(ph, path, payload);
}

static void payloadOpenChange(struct payloadChange *e, struct pathHash *ph, struct str path, void **place) {
    pathHashReport(ph, path, *place);
    e->ph = ph;
    e->path = path;
    e->place = place;
    e->table_fields = payloadTableFields(*place);
    if (*place)
        payloadOpen(&e->h, *place);
    else
        hashNew(&e->h);
}

void payloadAdd(struct pathHash *ph, struct str path, struct hash *h) {
    bool added;
    void **place = pathmapInsert(ph->paths, path, &added);
    serverAssert(added && hashSize(h));
    *place = payloadStore(h, NULL);
    ph->table_fields += payloadTableFields(*place);
}

bool payloadFind(struct payloadChange *e, struct pathHash *ph, struct str path) {
    void **place = pathmapFind(ph->paths, path);
    if (place) payloadOpenChange(e, ph, path, place);
    return place;
}

void payloadInsert(struct payloadChange *e, struct pathHash *ph, struct str path) {
    bool added;
    debugAssert(path.len <= PATHMAP_PATH_MAX);
    payloadOpenChange(e, ph, path, pathmapInsert(ph->paths, path, &added));
}

void payloadCommit(struct payloadChange *e) {
    *e->place = payloadStore(&e->h, *e->place);
    e->ph->table_fields += payloadTableFields(*e->place) - e->table_fields;
    if (hashSize(&e->h) == 0) pathHashRemove(e->ph, e->path, false);
}

/* ---- Removal ---- */

bool pathHashRemove(struct pathHash *ph, struct str path, bool lazy) {
    void *payload = pathmapRemove(ph->paths, path);
    if (!payload) return false;
    pathHashReport(ph, path, payload);
    size_t fields = payloadTableFields(payload);
    ph->table_fields -= fields;
    if (fields)
        lazyfreeValue(valuePtr(OBJ_HASH, HASH_TABLE, payloadAddress(payload)), lazy, fields);
    else
        payloadFree(payload);
    return true;
}

static size_t pathHashCountTableFields(const struct pathmap *paths) {
    struct pathmapIterator it;
    void **place;
    size_t n = 0;
    pathmapIterate(&it, paths, STR(""), NULL);
    while ((place = pathmapNext(&it))) n += payloadTableFields(*place);
    pathmapStop(&it);
    return n;
}

/* Takes the paths that begin with `prefix` out; NULL when there are none. */
static struct pathHash *pathHashDetach(struct pathHash *ph, struct str prefix) {
    if (!prefix.len) {
        if (!pathHashCount(ph)) return NULL;
        struct pathHash *all = pathHashWrap(ph->paths, ph->table_fields);
        *ph = (struct pathHash){pathmapNew(), 0};
        return all;
    }
    struct pathmap *paths = pathmapDetach(ph->paths, prefix);
    if (!paths) return NULL;
    size_t table_fields = ph->table_fields ? pathHashCountTableFields(paths) : 0;
    ph->table_fields -= table_fields;
    return pathHashWrap(paths, table_fields);
}

size_t pathHashRemovePrefix(struct pathHash *ph, struct str prefix, bool lazy) {
    struct pathHash *removed = pathHashDetach(ph, prefix);
    if (!removed) return 0;
    size_t count = pathHashCount(removed);
    if (__builtin_expect(large_value_count != 0, 0) && pathHashPartsTake(ph, prefix, removed)) return count;
    lazyfreeValue(pathHashValue(removed), lazy, pathHashFreeEffort(removed));
    return count;
}
