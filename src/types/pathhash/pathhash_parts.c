/* SPDX-License-Identifier: BSD-3-Clause */
/* pathhash_parts.c - see pathhash_private.h. */
#include "base/assert.h"
#include "base/zmalloc.h"
#include "data/forkless/large_value.h"
#include "data/lifetime/lazyfree.h"
#include "data/rdb/rdb.h"
#include "types/pathhash/pathhash_private.h"

#define PART_BYTES 4096
#define PART_PATHS 64 /* looked at: many may be noted */

/* A walk over the paths of a map, without those that are noted. */
struct pathHashWalk {
    struct pathHash *taken; /* NULL: the value itself */
    struct pathmap *noted;  /* values mean nothing */
    sds at;                 /* paths up to it are written; NULL: none are */
};

struct pathHashParts {
    struct pathHashWalk *walks; /* the first one is over the value itself */
    size_t count, room;
    size_t current; /* walks before it are done */
    uint64_t left;  /* paths that are left to be written */
};

/* ---- Walks ---- */

static void pathHashWalkAdd(struct pathHashParts *p, struct pathHash *taken, struct pathmap *noted, sds at) {
    if (p->count == p->room) {
        p->room = p->room ? 2 * p->room : 1;
        p->walks = zrealloc(p->walks, p->room * sizeof *p->walks);
    }
    p->walks[p->count++] = (struct pathHashWalk){taken, noted, at};
}

static void pathHashWalkFree(struct pathHashWalk *walk) {
    if (walk->taken) lazyfreeValue(pathHashValue(walk->taken), true, pathHashFreeEffort(walk->taken));
    pathmapFree(walk->noted, NULL);
    sdsfree(walk->at);
}

static bool pathHashWalkIsWritten(const struct pathHashParts *p, struct str path) {
    const sds at = p->walks[0].at;
    return p->current || (at && strCmp(path, sdsview(at)) <= 0);
}

static void pathHashWalkWrite(struct largeValue *v, struct str path, const void *payload) {
    struct pathHashParts *p = v->state;
    serverAssert(p->left);
    p->left--;
    if (v->commands)
        pathHashRdbRewritePath(largeValueWriter(v), v->key, path, payload);
    else
        pathHashRdbSavePath(largeValueWriter(v), path, payload);
}

/* Writes the next part. Returns false when the walk is at its end. */
static bool pathHashWalkNext(struct largeValue *v, struct pathHashWalk *walk) {
    struct rioWriter *w = largeValueWriter(v);
    uint64_t end = rioWritten(w) + PART_BYTES;
    struct str after = walk->at ? sdsview(walk->at) : STR("");
    struct pathmapIterator it;
    void **place = NULL;
    const struct pathHash *ph = walk->taken ? walk->taken : v->container;
    pathmapIterate(&it, ph->paths, STR(""), walk->at ? &after : NULL);
    for (int i = 0; i < PART_PATHS && rioWritten(w) < end && (place = pathmapNext(&it)); i++)
        if (!pathmapRemove(walk->noted, sdsview(it.path))) pathHashWalkWrite(v, sdsview(it.path), *place);
    sds at = place ? sdsnewstr(sdsview(it.path)) : NULL;
    pathmapStop(&it);
    sdsfree(walk->at);
    walk->at = at;
    return place;
}

/* ---- Reports ---- */

void pathHashPartsChange(const struct pathHash *ph, struct str path, const void *payload) {
    struct largeValue *v = largeValueFind(ph);
    if (!v || !v->state) return;
    struct pathHashParts *p = v->state;
    bool added;
    if (pathHashWalkIsWritten(p, path)) return;
    void **place = pathmapInsert(p->walks[0].noted, path, &added);
    if (!added) return;
    *place = p;
    if (payload) pathHashWalkWrite(v, path, payload);
}

bool pathHashPartsTake(const struct pathHash *ph, struct str prefix, struct pathHash *taken) {
    struct largeValue *v = largeValueFind(ph);
    struct pathHashParts *p = v ? v->state : NULL;
    if (!p || p->current) return false;
    struct pathHashWalk *live = &p->walks[0];
    struct pathmap *noted = prefix.len ? pathmapDetach(live->noted, prefix) : live->noted;
    if (!prefix.len) live->noted = pathmapNew();
    largeValueKeepsPart(v, pathHashValue(taken));
    pathHashWalkAdd(p, taken, noted ? noted : pathmapNew(), live->at ? sdsdup(live->at) : NULL);
    return true;
}

/* ---- struct valueParts ---- */

/* Looks at the paths, which are few, and at their fields until they have enough bytes. */
static bool pathHashPartsHasManyBytes(const struct pathHash *ph) {
    struct pathmapIterator it;
    size_t bytes = 0;
    void **place;
    pathmapIterate(&it, ph->paths, STR(""), NULL);
    while (bytes <= LARGE_VALUE_BYTES && (place = pathmapNext(&it)))
        bytes += sdslen(it.path) + payloadMemory(*place, 0);
    pathmapStop(&it);
    return bytes > LARGE_VALUE_BYTES;
}

/* Parts are of no use where there is one path. */
static bool pathHashPartsIsLarge(const struct object *o) {
    const struct pathHash *ph = pathHashOpen(o);
    size_t paths = pathHashCount(ph);
    if (paths > LARGE_VALUE_ELEMENTS) return true;
    return paths > 1 && (ph->table_fields > LARGE_VALUE_ELEMENTS || pathHashPartsHasManyBytes(ph));
}

static void pathHashPartsBegin(struct largeValue *v, const struct object *o) {
    struct pathHashParts *p = zcalloc(1, sizeof *p);
    p->left = pathHashCount(pathHashOpen(o));
    pathHashWalkAdd(p, NULL, pathmapNew(), NULL);
    if (!v->commands) rdbWriteLen(largeValueWriter(v), p->left);
    v->state = p;
}

static bool pathHashPartsNext(struct largeValue *v) {
    struct pathHashParts *p = v->state;
    if (p->current < p->count && !pathHashWalkNext(v, &p->walks[p->current])) p->current++;
    if (p->current < p->count) return true;
    serverAssert(!p->left);
    return false;
}

static void pathHashPartsEnd(struct largeValue *v, bool complete) {
    struct pathHashParts *p = v->state;
    (void)complete;
    for (size_t i = 0; i < p->count; i++) pathHashWalkFree(&p->walks[i]);
    zfree(p->walks);
    zfree(p);
}

const struct valueParts *pathHashPartsOf(const struct object *o) {
    static const struct valueParts parts = {.isLarge = pathHashPartsIsLarge,
                                            .begin = pathHashPartsBegin,
                                            .next = pathHashPartsNext,
                                            .end = pathHashPartsEnd};
    (void)o;
    return &parts;
}
