/* SPDX-License-Identifier: BSD-3-Clause */
/* zset.c - sorted sets as values: choice of the encoding, changes that may convert it, and the hooks of the
 * type table. See zset.h.
 *
 * A set starts as a listpack. When it gets more than zset-max-listpack-entries elements, or a member of more
 * than zset-max-listpack-value bytes, it becomes a skiplist or what zset-index says, for good; another
 * zset-index converts the large sets (zset_conversion.c). */
#include "types/zset/zset.h"

#include <math.h>

#include "base/assert.h"
#include "base/num.h"
#include "command/command.h"
#include "commands/cmd_sorted_set.h"
#include "data/digest.h"
#include "registry/config.h"
#include "types/defrag_hooks.h"
#include "types/rdb_hooks.h"
#include "types/types.h"
#include "types/zset/zset_private.h"

/* Elements for which memory may be allocated before they are read: limits the cost of a wrong count
 * in a file. */
#define PRESIZE_MAX (1u << 20)

/* Fewer elements than this are in the cache, so that it does not matter in which order they are loaded. */
#define LOOSE_MIN 4096

bool zset_exact_integers;
static int64_t max_listpack_entries, max_listpack_value;
static int large_encoding; /* encoding of sets that are no listpacks: ZSET_SKIPLIST or ZSET_BTREE */

const struct zsetIndex *const zsetIndexes[ZSET_ENCODINGS + 1] = {
    [ZSET_LISTPACK] = &zsetListpack,
    [ZSET_SKIPLIST] = &zsetSkiplist,
    [ZSET_BTREE] = &zsetBtree,
    [ZSET_CONVERTING] = &zsetConverting,
};

/* ---- Encodings ---- */

bool zsetFitsListpack(size_t entries, size_t longest) {
    return entries <= (size_t)max_listpack_entries && longest <= (size_t)max_listpack_value;
}

int zsetLargeEncoding(void) {
    return large_encoding;
}

const struct zsetIndex *zsetIndexFor(size_t entries, size_t longest) {
    return zsetIndexes[zsetFitsListpack(entries, longest) ? ZSET_LISTPACK : large_encoding];
}

/* `entries` is the expected number of elements. */
static void zsetConvert(struct zsetRef *z, size_t entries) {
    const struct zsetIndex *index = zsetIndexes[large_encoding];
    struct zsetRef to = {index->create(entries), index};
    struct zsetIterator it = zsetIterate(*z, 0);
    struct zsetElement e;
    while (zsetNext(&it, &e)) to.ptr = to.index->append(to.ptr, e.member, e.score);
    zsetFree(*z);
    *z = to;
}

struct zsetRef zsetBuild(const struct zsetItem *items, size_t count) {
    size_t longest = 0, bytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].member.len > longest) longest = items[i].member.len;
        bytes += items[i].member.len + ZSET_LISTPACK_SCORE;
    }
    const struct zsetIndex *index =
        bytes < LISTPACK_MAX_SAFETY_LIMIT ? zsetIndexFor(count, longest) : zsetIndexes[large_encoding];
    return (struct zsetRef){index->build(items, count), index};
}

static bool zsetMustConvert(struct zsetRef z, struct str member) {
    return z.index == &zsetListpack && (!zsetFitsListpack(zsetLength(z) + 1, member.len) ||
                                        !lpSafeToAdd(z.ptr, member.len + ZSET_LISTPACK_SCORE));
}

/* Called before a member is added. Returns true when that converted the set: places are no longer valid. */
static bool zsetMakeRoom(struct zsetRef *z, struct str member) {
    if (!zsetMustConvert(*z, member)) return false;
    zsetConvert(z, zsetLength(*z) + 1);
    return true;
}

struct zsetRef zsetNew(size_t entries, size_t longest) {
    const struct zsetIndex *index = zsetIndexFor(entries, longest);
    return (struct zsetRef){index->create(entries), index};
}

void zsetFree(struct zsetRef z) {
    z.index->destroy(z.ptr);
}

struct value zsetValue(struct zsetRef z) {
    debugAssert(zsetLength(z) > 0);
    return valuePtr(OBJ_ZSET, z.index->encoding, z.ptr);
}

/* ---- Prefetching ---- */

/* Up to so many elements a set is in the cache soon. */
#define AHEAD_MIN 1024

/* The steps are those of a turn (struct objectType), but the first one, which is for the set itself. */
void zsetPrefetchMembers(struct zsetRef z, const uint64_t *hashes, unsigned count) {
    struct prefetchState states[ZSET_AHEAD];
    struct prefetchRequests wants = {.parts = PREFETCH_MEMBER, .member = STR("")};
    debugAssert(count && count <= ZSET_AHEAD);
    if (zsetLength(z) <= AHEAD_MIN) return;
    for (unsigned i = 0; i < count; i++) {
        states[i].at = NULL;
        states[i].next = NULL;
    }
    uint32_t more = UINT32_MAX >> (32 - count);
    for (int step = 1; more; step++) {
        for (uint32_t bits = more; bits; bits &= bits - 1) {
            unsigned i = (unsigned)__builtin_ctz(bits);
            wants.member_hash = hashes[i];
            if (!z.index->prefetch(z.ptr, &wants, step, &states[i])) more &= ~(1u << i);
        }
    }
}

/* ---- Changing ---- */

static enum zsetAdded zsetAddNew(struct zsetRef *z, struct str member, struct zscore score, int flags,
                                 struct zsetPlace *missed) {
    if (flags & ZADD_XX) return ZADD_NOP;
    if (zsetMakeRoom(z, member)) zsetFind(*z, member, missed);
    z->ptr = z->index->insert(z->ptr, member, score, missed);
    return ZADD_ADDED;
}

enum zsetAdded zsetDecide(struct zscore present, struct zscore *score, int flags) {
    if (flags & ZADD_NX) return ZADD_NOP;
    struct zscore wanted = flags & ZADD_INCR ? zsetAddScores(present, *score) : *score;
    if (isnan(wanted.value)) return ZADD_NAN;
    if (flags & (ZADD_GT | ZADD_LT)) {
        int direction = zscoreCompare(wanted, present);
        if (flags & ZADD_GT ? direction <= 0 : direction >= 0) return ZADD_NOP;
    }
    *score = wanted;
    if (__builtin_expect(wanted.value != present.value, 1)) return ZADD_UPDATED;
    return wanted.rest == present.rest ? ZADD_SAME : ZADD_UPDATED;
}

enum zsetAdded zsetAdd(struct zsetRef *z, struct str member, struct zscore *score, int flags) {
    struct zsetPlace p;
    if (!zsetFind(*z, member, &p)) return zsetAddNew(z, member, *score, flags, &p);
    enum zsetAdded done = zsetDecide(p.score, score, flags);
    if (done == ZADD_UPDATED) z->ptr = z->index->update(z->ptr, member, *score, &p);
    return done;
}

bool zsetRemove(struct zsetRef *z, struct str member) {
    struct zsetPlace p;
    if (!zsetFind(*z, member, &p)) return false;
    z->ptr = z->index->erase(z->ptr, &p);
    return true;
}

void zsetRemoveRange(struct zsetRef *z, uint64_t rank, uint64_t count) {
    serverAssert(count <= zsetLength(*z) && rank <= zsetLength(*z) - count);
    z->ptr = z->index->eraseRange(z->ptr, rank, count);
}

/* ---- Loading ---- */

struct zsetLoader zsetLoad(size_t entries) {
    size_t ahead = entries < PRESIZE_MAX ? entries : PRESIZE_MAX;
    return (struct zsetLoader){.z = zsetNew(ahead, 0), .entries = ahead};
}

static bool zsetIsBeforeFirst(struct zsetRef z, struct str member, struct zscore score) {
    struct zsetPlace p;
    struct zsetElement e;
    if (!z.index->atRank(z.ptr, 0, &p)) return true;
    int order = zscoreCompare(score, p.score);
    if (order) return order < 0;
    z.index->read(z.ptr, &p, &e);
    return strCmp(member, e.member) < 0;
}

/* Begins to collect the elements, with those that are in the set. */
static void zsetLoadLoosely(struct zsetLoader *l) {
    l->loose_count = zsetLength(l->z);
    l->loose_room = l->loose_count + l->entries;
    l->loose = zmalloc(l->loose_room * sizeof *l->loose);
    l->z.index->loosen(l->z.ptr, l->loose);
}

static void zsetLoadAddLoose(struct zsetLoader *l, struct str member, struct zscore score,
                             const struct zsetPlace *missed) {
    if (l->loose_count == l->loose_room) {
        l->loose_room *= 2;
        l->loose = zrealloc(l->loose, l->loose_room * sizeof *l->loose);
    }
    l->loose[l->loose_count++] = l->z.index->addLoose(l->z.ptr, member, score, missed);
}

struct zsetRef zsetLoadEnd(struct zsetLoader *l) {
    if (l->loose) l->z.index->link(l->z.ptr, l->loose, l->loose_count);
    zfree(l->loose);
    l->loose = NULL;
    return l->z;
}

bool zsetLoadAdd(struct zsetLoader *l, struct str member, struct zscore score) {
    struct zsetPlace p;
    if (isnan(score.value) || zsetFind(l->z, member, &p)) return false;
    if (zsetMustConvert(l->z, member)) {
        zsetConvert(&l->z, l->entries);
        zsetFind(l->z, member, &p); /* sets the hash */
    }
    const struct zsetIndex *index = l->z.index;
    if (l->loose) {
        zsetLoadAddLoose(l, member, score, &p);
    } else if (zsetIsBeforeFirst(l->z, member, score)) {
        l->z.ptr = index->prepend(l->z.ptr, member, score, &p);
    } else if (index->loosen && zsetLength(l->z) >= LOOSE_MIN) {
        zsetLoadLoosely(l);
        zsetLoadAddLoose(l, member, score, &p);
    } else {
        l->z.ptr = index->insert(l->z.ptr, member, score, &p);
    }
    return true;
}

static bool zsetIsInOrder(struct zsetRef z) {
    struct zsetElement e[2];
    struct zsetIterator it = zsetIterate(z, 0);
    bool ordered = true;
    for (unsigned i = 0; ordered && zsetNext(&it, &e[i % 2]); i++) {
        const struct zsetElement *now = &e[i % 2], *last = &e[1 - i % 2];
        int order = i ? zscoreCompare(last->score, now->score) : -1;
        ordered = order < 0 || (order == 0 && strCmp(last->member, now->member) < 0);
    }
    return ordered;
}

/* Whether each member occurs once, found out by loading all into another set. */
static bool zsetEachOnce(struct zsetRef z) {
    const struct zsetIndex *index = zsetIndexes[large_encoding];
    struct zsetLoader l = {.z = {index->create(zsetLength(z)), index}, .entries = zsetLength(z)};
    struct zsetIterator it = zsetIterateDown(z);
    struct zsetElement e;
    bool once = true;
    while (once && zsetNext(&it, &e)) once = zsetLoadAdd(&l, e.member, e.score);
    zsetFree(zsetLoadEnd(&l));
    return once;
}

bool zsetFromListpack(unsigned char *lp, bool deep, struct zsetRef *z) {
    size_t longest;
    *z = (struct zsetRef){lp, &zsetListpack};
    if (!zsetListpackIsPairs(lp, &longest) || !zsetIsInOrder(*z) || (deep && !zsetEachOnce(*z))) {
        lpFree(lp);
        return false;
    }
    if (!zsetFitsListpack(zsetLength(*z), longest)) zsetConvert(z, zsetLength(*z));
    return true;
}

/* ---- The type ---- */

static const char *zsetHookEncodingName(const struct object *o) {
    return zsetConvertingOld(zsetOpen(o)).index->name;
}

static void zsetHookFree(struct value v) {
    zsetIndexes[v.encoding]->destroy(v.ptr);
}

static size_t zsetHookFreeEffort(const struct object *o) {
    struct zsetRef z = zsetOpen(o);
    return z.index->allocations(z.ptr);
}

static size_t zsetHookMemoryUsage(const struct object *o, size_t samples) {
    struct zsetRef z = zsetOpen(o);
    return z.index->memory(z.ptr, samples);
}

static struct value zsetHookCopy(const struct object *o) {
    struct zsetRef z = zsetConvertingOld(zsetOpen(o));
    return valuePtr(OBJ_ZSET, z.index->encoding, z.index->copy(z.ptr));
}

/* The elements count in any order; -0 is digested as 0, as a listpack has no -0. */
static void zsetHookDigest(const struct object *o, uint8_t digest[20]) {
    struct zsetIterator it = zsetIterate(zsetOpen(o), 0);
    struct zsetElement e;
    while (zsetNext(&it, &e)) {
        uint8_t element[20] = {0};
        char text[ZSCORE_TEXT_SIZE];
        digestMix(element, e.member);
        if (e.score.value == 0) e.score = zscoreOf(0);
        digestMix(element,
                  strN(text, e.score.rest ? zscorePrint(text, e.score) : d2string(text, e.score.value)));
        digestXorDigest(digest, element);
    }
}

static bool zsetHookPrefetch(const struct object *o, const struct prefetchRequests *wants, int step,
                             struct prefetchState *state) {
    struct zsetRef z = zsetOpen(o);
    return z.index->prefetch(z.ptr, wants, step, state);
}

static sds zsetHookDebugInfo(const struct object *o, sds s) {
    struct zsetRef z = zsetOpen(o);
    return z.index->debugInfo(z.ptr, s);
}

static void zsetHookIterate(const struct object *o, bool (*fn)(void *priv, struct str element), void *priv) {
    struct zsetIterator it = zsetIterate(zsetOpen(o), 0);
    struct zsetElement e;
    while (zsetNext(&it, &e) && fn(priv, e.member)) {
    }
}

static struct hashtable *zsetHookTable(const struct object *o) {
    return zsetTable(zsetOpen(o));
}

static bool zsetDefrag(struct db *db, struct object *o, struct defragCursor *at) {
    (void)db;
    struct zsetRef z = zsetOpen(o);
    z.ptr = z.index->defrag(z.ptr, &at->at[0], defragMove, NULL);
    zsetCommit(o, z);
    return at->at[0] != 0;
}

static size_t zsetHookLength(const struct object *o) {
    return zsetLength(zsetOpen(o));
}

static const struct objectType zsetType = {
    .id = OBJ_ZSET,
    .name = "zset",
    .encodingName = zsetHookEncodingName,
    .free = zsetHookFree,
    .freeEffort = zsetHookFreeEffort,
    .memoryUsage = zsetHookMemoryUsage,
    .length = zsetHookLength,
    .plural = "zsets",
    .copy = zsetHookCopy,
    .digest = zsetHookDigest,
    .prefetch = zsetHookPrefetch,
    .iterate = zsetHookIterate,
    .table = zsetHookTable,
    .debugInfo = zsetHookDebugInfo,
    .defrag = zsetDefrag,
    .parts = zsetParts,
    RDB_HOOK_FIELDS(zset, ZSET_RDB_TYPES),
};

static const struct configEnum large_encodings[] = {
    {"skiplist", ZSET_SKIPLIST}, {"btree", ZSET_BTREE}, {NULL, 0}};

static struct configDirective directives[] = {
    CONFIG_INT("zset-max-listpack-entries", "zset-max-ziplist-entries", CONFIG_MODIFIABLE,
               &max_listpack_entries, 128, 0, INT64_MAX, NULL),
    CONFIG_INT("zset-max-listpack-value", "zset-max-ziplist-value", CONFIG_MODIFIABLE | CONFIG_MEMORY,
               &max_listpack_value, 64, 0, INT64_MAX, NULL),
    CONFIG_BOOL("zset-exact-integers", NULL, CONFIG_MODIFIABLE, &zset_exact_integers, false, NULL),
    CONFIG_ENUM("zset-index", NULL, CONFIG_MODIFIABLE, &large_encoding, ZSET_SKIPLIST, large_encodings,
                zsetConversionRequest),
};

void zsetInit(void) {
    objectTypeRegister(&zsetType);
    configRegister(directives, sizeof directives / sizeof *directives);
    zsetConversionInit();
    commandRegister(commandsSortedSet);
}
