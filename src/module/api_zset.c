/* SPDX-License-Identifier: BSD-3-Clause */
/* api_zset.c - module functions for keys that hold a sorted set, in any encoding. The bounds of a range are
 * computed when its iteration begins. */
#include <math.h>

#include "module/module_key.h"
#include "types/zset/zset.h"

#define IN_FLAGS (VALKEYMODULE_ZADD_XX | VALKEYMODULE_ZADD_NX | VALKEYMODULE_ZADD_GT | VALKEYMODULE_ZADD_LT)

static bool apiZsetOpen(struct ValkeyModuleKey *key, struct zsetRef *z) {
    struct object *o = key ? moduleKeyObject(key) : NULL;
    if (!o || o->type != OBJ_ZSET) return false;
    *z = zsetOpen(o);
    return true;
}

/* ---- Changing ---- */

static int apiZsetAddFlags(int flags) {
    return (flags & VALKEYMODULE_ZADD_XX ? ZADD_XX : 0) | (flags & VALKEYMODULE_ZADD_NX ? ZADD_NX : 0) |
           (flags & VALKEYMODULE_ZADD_GT ? ZADD_GT : 0) | (flags & VALKEYMODULE_ZADD_LT ? ZADD_LT : 0);
}

/* Opens the set, or makes a new one, which the caller owns. */
static struct zsetRef apiZsetOpenOrNew(const struct object *o, struct str first) {
    return o ? zsetOpen(o) : zsetNew(1, first.len);
}

/* Adds or updates a member. flagsptr may be NULL. *score becomes the new score, or 0 if the flags
 * forbid the change. */
static int apiZsetAdd(struct ValkeyModuleKey *key, double *score, struct ValkeyModuleString *ele,
                      int *flagsptr, int more) {
    struct object *o = key ? moduleKeyObject(key) : NULL;
    int flags = flagsptr ? *flagsptr & IN_FLAGS : 0;
    if (!moduleKeyIsWritable(key) || (o && o->type != OBJ_ZSET)) return VALKEYMODULE_ERR;
    if (flagsptr) *flagsptr = 0;
    if (isnan(*score)) return VALKEYMODULE_ERR;
    moduleKeyEndWalk(key);
    struct str member = stringText(ele);
    struct zsetRef z = apiZsetOpenOrNew(o, member);
    struct zscore now = zscoreOf(*score);
    enum zsetAdded added = zsetAdd(&z, member, &now, apiZsetAddFlags(flags) | more);
    *score = now.value;
    if (o)
        zsetCommit(o, z);
    else if (zsetLength(z))
        dbAdd(key->db, moduleKeyName(key), zsetValue(z));
    else
        zsetFree(z);
    if (flagsptr && added == ZADD_ADDED) *flagsptr = VALKEYMODULE_ZADD_ADDED;
    if (flagsptr && added == ZADD_UPDATED) *flagsptr = VALKEYMODULE_ZADD_UPDATED;
    if (flagsptr && added == ZADD_NOP) *flagsptr = VALKEYMODULE_ZADD_NOP;
    if (added == ZADD_NOP) *score = 0;
    return added == ZADD_NAN ? VALKEYMODULE_ERR : VALKEYMODULE_OK;
}

int vmZsetAdd(struct ValkeyModuleKey *key, double score, struct ValkeyModuleString *ele, int *flagsptr) {
    return apiZsetAdd(key, &score, ele, flagsptr, 0);
}

int vmZsetIncrby(struct ValkeyModuleKey *key, double score, struct ValkeyModuleString *ele, int *flagsptr,
                 double *newscore) {
    int done = apiZsetAdd(key, &score, ele, flagsptr, ZADD_INCR);
    if (done == VALKEYMODULE_OK && newscore) *newscore = score;
    return done;
}

int vmZsetRem(struct ValkeyModuleKey *key, struct ValkeyModuleString *ele, int *deleted) {
    struct object *o = moduleKeyIsWritable(key) ? moduleKeyObject(key) : NULL;
    if (deleted) *deleted = 0;
    if (!moduleKeyIsWritable(key) || (o && o->type != OBJ_ZSET)) return VALKEYMODULE_ERR;
    if (!o) return VALKEYMODULE_OK;
    moduleKeyEndWalk(key);
    struct zsetRef z = zsetOpen(o);
    bool removed = zsetRemove(&z, stringText(ele));
    zsetCommit(o, z);
    if (!zsetLength(z)) dbDelete(key->db, moduleKeyName(key));
    if (deleted) *deleted = removed;
    return VALKEYMODULE_OK;
}

int vmZsetScore(struct ValkeyModuleKey *key, struct ValkeyModuleString *ele, double *score) {
    struct zsetRef z;
    struct zsetPlace place;
    if (!apiZsetOpen(key, &z) || !zsetFind(z, stringText(ele), &place)) return VALKEYMODULE_ERR;
    *score = place.score.value;
    return VALKEYMODULE_OK;
}

/* ---- Ranges ---- */

static int apiZsetStart(struct ValkeyModuleKey *key, const struct zsetRange *r, bool last) {
    struct zsetRef z;
    struct zsetSlice slice;
    if (!apiZsetOpen(key, &z)) return VALKEYMODULE_ERR;
    moduleKeyEndWalk(key);
    zsetSliceOf(z, r, &slice);
    key->walk = WALK_ZSET;
    key->zset.count = slice.count;
    key->zset.end = slice.count == 0;
    if (slice.count) {
        key->zset.at = last ? slice.count - 1 : 0;
        z.index->atRank(z.ptr, slice.rank + key->zset.at, &key->zset.place);
    }
    return VALKEYMODULE_OK;
}

static int apiZsetStartScore(struct ValkeyModuleKey *key, double min, double max, int minex, int maxex,
                             bool last) {
    struct zsetRange r = {.by = ZRANGE_SCORE,
                          .limit = -1,
                          .score = {.min = min, .max = max, .minex = minex != 0, .maxex = maxex != 0}};
    return apiZsetStart(key, &r, last);
}
int vmZsetFirstInScoreRange(struct ValkeyModuleKey *key, double min, double max, int minex, int maxex) {
    return apiZsetStartScore(key, min, max, minex, maxex, false);
}
int vmZsetLastInScoreRange(struct ValkeyModuleKey *key, double min, double max, int minex, int maxex) {
    return apiZsetStartScore(key, min, max, minex, maxex, true);
}

static int apiZsetStartLex(struct ValkeyModuleKey *key, struct ValkeyModuleString *min,
                           struct ValkeyModuleString *max, bool last) {
    struct zsetRange r = {.limit = -1};
    if (!zsetReadLexRange(stringText(min), stringText(max), &r)) return VALKEYMODULE_ERR;
    return apiZsetStart(key, &r, last);
}
int vmZsetFirstInLexRange(struct ValkeyModuleKey *key, struct ValkeyModuleString *min,
                          struct ValkeyModuleString *max) {
    return apiZsetStartLex(key, min, max, false);
}
int vmZsetLastInLexRange(struct ValkeyModuleKey *key, struct ValkeyModuleString *min,
                         struct ValkeyModuleString *max) {
    return apiZsetStartLex(key, min, max, true);
}

/* Checks that the key still holds a sorted set: it may have been deleted through another handle. */
static bool apiZsetIsIterating(struct ValkeyModuleKey *key, struct zsetRef *z) {
    return key && key->walk == WALK_ZSET && key->zset.count && apiZsetOpen(key, z);
}

struct ValkeyModuleString *vmZsetRangeCurrentElement(struct ValkeyModuleKey *key, double *score) {
    struct zsetRef z;
    struct zsetElement e;
    if (!apiZsetIsIterating(key, &z)) return NULL;
    z.index->read(z.ptr, &key->zset.place, &e);
    if (score) *score = e.score.value;
    return vmCreateString(key->ctx, e.member.ptr, e.member.len);
}

static int apiZsetStep(struct ValkeyModuleKey *key, bool back) {
    struct zsetRef z;
    if (!apiZsetIsIterating(key, &z) || key->zset.end) return 0;
    bool at_end = back ? key->zset.at == 0 : key->zset.at + 1 == key->zset.count;
    if (at_end || !z.index->step(z.ptr, &key->zset.place, back)) {
        key->zset.end = true;
        return 0;
    }
    key->zset.at += back ? -1 : 1;
    return 1;
}
int vmZsetRangeNext(struct ValkeyModuleKey *key) {
    return apiZsetStep(key, false);
}
int vmZsetRangePrev(struct ValkeyModuleKey *key) {
    return apiZsetStep(key, true);
}

int vmZsetRangeEndReached(struct ValkeyModuleKey *key) {
    return !key || key->walk != WALK_ZSET || key->zset.end;
}

void vmZsetRangeStop(struct ValkeyModuleKey *key) {
    if (key) moduleKeyEndWalk(key);
}
