/* SPDX-License-Identifier: BSD-3-Clause */
/* pathhash_rdb.c - path hashes in files (part of rdb_hooks.h):
 *
 *     number of paths, then each: path | number of fields, then each: field | value
 *
 * There may be no paths, but no path is without fields. */
#include "data/rdb/rewrite.h"
#include "types/pathhash/pathhash_private.h"
#include "types/rdb_hooks.h"
#include "types/types.h"

#define PATH_BYTES_MIN 4 /* of a path with one field */

uint8_t pathHashRdbType(const struct object *o, int version) {
    (void)o, (void)version;
    return RDB_TYPE_PATH_HASH;
}

void pathHashRdbSavePath(struct rioWriter *w, struct str path, const void *payload) {
    struct hash h;
    struct hashIterator it;
    struct hashItem item;
    rdbWriteString(w, path);
    payloadOpen(&h, payload);
    rdbWriteLen(w, hashSize(&h));
    hashIterate(&it, &h);
    while (hashNext(&it, &item)) {
        rdbWriteString(w, item.field.s);
        rdbWriteString(w, item.value.s);
    }
    hashStop(&it);
}

void pathHashRdbSave(struct rioWriter *w, const struct object *o) {
    const struct pathHash *ph = pathHashOpen(o);
    struct pathmapIterator it;
    void **place;
    rdbWriteLen(w, pathHashCount(ph));
    pathmapIterate(&it, ph->paths, STR(""), NULL);
    while ((place = pathmapNext(&it))) pathHashRdbSavePath(w, sdsview(it.path), *place);
    pathmapStop(&it);
}

/* ---- Loading ---- */

static bool pathHashRdbLoadPayload(struct rdbReader *r, struct pathHash *ph, struct str path) {
    struct hash h;
    if (!hashRdbReadFields(r, false, &h)) return false;
    const char *wrong = !hashSize(&h)                  ? "a path has no fields"
                        : pathmapFind(ph->paths, path) ? "a path is in the path hash twice"
                                                       : NULL;
    if (wrong) {
        hashDrop(&h);
        return rioFail(&r->io, "%s", wrong);
    }
    payloadAdd(ph, path, &h);
    return true;
}

enum rdbLoaded pathHashRdbLoad(struct rdbReader *r, uint8_t rdb_type, struct value *v) {
    (void)rdb_type;
    uint64_t n;
    if (!rdbReadCount(r, PATH_BYTES_MIN, &n)) return RDB_FAILED;
    struct pathHash *ph = pathHashNew();
    for (; n; n--) {
        struct rdbHeld path;
        bool ok = rdbReadHeld(r, &path) && pathHashRdbLoadPayload(r, ph, path.s);
        rdbHeldFree(&path);
        if (ok) continue;
        pathHashFree(ph);
        return RDB_FAILED;
    }
    *v = pathHashValue(ph);
    return RDB_LOADED;
}

/* ---- Rewriting ---- */

static void pathHashRdbRewriteField(struct rioWriter *w, struct str key, struct str path, struct str field,
                                    struct str value) {
    rewriteCommand(w, 7);
    rewriteArgs(w, STR("PHSET"), key, path, STR("FIELDS"), STR("1"), field, value);
}

/* A path hash without paths is what is left when its only path has been deleted. */
static void pathHashRdbRewriteEmpty(struct rioWriter *w, struct str key) {
    pathHashRdbRewriteField(w, key, STR(""), STR(""), STR(""));
    rewriteCommand(w, 3);
    rewriteArgs(w, STR("PHDEL"), key, STR(""));
}

void pathHashRdbRewritePath(struct rioWriter *w, struct str key, struct str path, const void *payload) {
    struct hash h;
    struct hashIterator it;
    struct hashItem item;
    payloadOpen(&h, payload);
    hashIterate(&it, &h);
    while (hashNext(&it, &item)) pathHashRdbRewriteField(w, key, path, item.field.s, item.value.s);
    hashStop(&it);
}

void pathHashRdbRewrite(struct rioWriter *w, struct str key, const struct object *o) {
    struct pathmapIterator it;
    void **place;
    if (!pathHashCount(pathHashOpen(o))) {
        pathHashRdbRewriteEmpty(w, key);
        return;
    }
    pathmapIterate(&it, pathHashOpen(o)->paths, STR(""), NULL);
    while ((place = pathmapNext(&it))) pathHashRdbRewritePath(w, key, sdsview(it.path), *place);
    pathmapStop(&it);
}
