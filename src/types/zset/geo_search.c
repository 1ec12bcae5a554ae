/* SPDX-License-Identifier: BSD-3-Clause */
/* geo_search.c - GEOSEARCH, GEORADIUS and their kin: the members of a sorted set that lie within a shape.
 *
 * geoCover (ds/geohash.h) turns the shape into a few intervals of scores; their members are read one after
 * the other, and those inside the shape become hits:
 *
 *     items:  | member, score | member, score | ...       as they were found: by interval and score
 *     hits:   | distance, number of the item | ...        this is sorted
 *
 * All commands share this code. They differ in where the arguments begin, and in their options. */
#include <limits.h>
#include <stdlib.h>

#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "commands/cmd_geo.h"
#include "data/keyspace/db.h"
#include "ds/keysort.h"
#include "types/types.h"
#include "types/zset/geo.h"
#include "types/zset/zset_commands.h"

#define VERTICES_MIN 3

/* The properties that a command has by its name. */
struct geoForm {
    int key, options; /* positions of the source key, and of the first option */
    enum { FORM_SEARCH, FORM_POINT, FORM_MEMBER } kind; /* center and radius are options, or precede them */
    bool may_store;                                     /* has the options STORE key and STOREDIST key */
    bool stores;                                        /* stores to argv[1]; STOREDIST is a flag */
};

struct geoQuery {
    enum { FROM_NOTHING, FROM_MEMBER, FROM_POINT } from;
    bool has_shape;
    struct geoShape shape;
    struct geoPoint *vertices; /* owned */
    double unit_m;
    enum { UNSORTED, NEAR_FIRST, FAR_FIRST } order;
    int64_t count; /* 0: all */
    bool any;      /* any `count` hits, not the nearest */
    bool withdist, withhash, withcoord;
    struct str store; /* ptr NULL: reply */
    bool storedist;
};

struct geoHit {
    double distance_m;
    size_t item;
};
struct geoHits {
    struct zsetItems items;
    struct geoHit *hit;
    size_t count, capacity;
};

/* ---- Arguments ---- */

static bool geoSearchParseMember(struct client *c, const struct object *o, struct str member,
                                 struct geoQuery *q) {
    uint64_t hash;
    if (!geoFind(o, member, &hash))
        return replyErrorFmt(c, "ERR member %.*s does not exist", (int)member.len, member.ptr);
    q->shape.center = geoDecode(hash);
    return true;
}

static bool geoSearchParseRadius(struct client *c, const struct str *arg, struct geoQuery *q) {
    double radius;
    if (!argDouble(c, arg[0], &radius, "ERR need numeric radius")) return false;
    if (radius < 0) return replyError(c, "ERR radius cannot be negative");
    if (!geoArgUnit(c, arg[1], &q->unit_m)) return false;
    q->shape.kind = GEO_CIRCLE;
    q->shape.radius_m = radius * q->unit_m;
    return true;
}

static bool geoSearchParseBox(struct client *c, const struct str *arg, struct geoQuery *q) {
    double width, height;
    if (!argDouble(c, arg[0], &width, "ERR need numeric width") ||
        !argDouble(c, arg[1], &height, "ERR need numeric height"))
        return false;
    if (width < 0 || height < 0) return replyError(c, "ERR height or width cannot be negative");
    if (!geoArgUnit(c, arg[2], &q->unit_m)) return false;
    q->shape.kind = GEO_BOX;
    q->shape.width_m = width * q->unit_m;
    q->shape.height_m = height * q->unit_m;
    return true;
}

/* Returns the number of arguments taken, -1 after an error. */
static int geoSearchParsePolygon(struct client *c, int i, struct geoQuery *q) {
    int64_t n;
    if (!argRange(c, c->argv[i], INT_MIN, INT_MAX, &n, "ERR invalid number of vertices")) return -1;
    if (n < VERTICES_MIN || n > (c->argc - i - 1) / 2) {
        replyError(c, "ERR GEOSEARCH BYPOLYGON must have at least 3 vertices");
        return -1;
    }
    q->vertices = zrealloc(q->vertices, (size_t)n * sizeof *q->vertices);
    for (int64_t v = 0; v < n; v++)
        if (!geoArgPoint(c, &c->argv[i + 1 + 2 * v], &q->vertices[v])) return -1;
    q->unit_m = 1;
    q->shape = (struct geoShape){.kind = GEO_POLYGON,
                                 .center = geoMean(q->vertices, (size_t)n),
                                 .vertices = q->vertices,
                                 .vertex_count = (size_t)n};
    return 1 + 2 * (int)n;
}

/* Parses GEOSEARCH's FROM... and BY... at i. Like all functions for options it returns how many arguments it
 * took; 0: none of its options is at i; -1: an error has been replied. */
static int geoSearchParseArea(struct client *c, const struct object *o, int i, struct geoQuery *q) {
    struct str arg = c->argv[i];
    int more = c->argc - i - 1;
    bool polygon = q->has_shape && q->shape.kind == GEO_POLYGON;
    if (strIs(arg, "frommember") && more >= 1 && q->from != FROM_POINT && !polygon) {
        q->from = FROM_MEMBER;
        return !o || geoSearchParseMember(c, o, c->argv[i + 1], q) ? 2 : -1;
    }
    if (strIs(arg, "fromlonlat") && more >= 2 && q->from != FROM_MEMBER && !polygon) {
        q->from = FROM_POINT;
        return geoArgPoint(c, &c->argv[i + 1], &q->shape.center) ? 3 : -1;
    }
    int taken = 0;
    if (strIs(arg, "byradius") && more >= 2 && (!q->has_shape || q->shape.kind == GEO_CIRCLE))
        taken = geoSearchParseRadius(c, &c->argv[i + 1], q) ? 3 : -1;
    else if (strIs(arg, "bybox") && more >= 3 && (!q->has_shape || q->shape.kind == GEO_BOX))
        taken = geoSearchParseBox(c, &c->argv[i + 1], q) ? 4 : -1;
    else if (strIs(arg, "bypolygon") && more >= 1 && (!q->has_shape || polygon) && q->from == FROM_NOTHING)
        taken = (taken = geoSearchParsePolygon(c, i + 1, q)) < 0 ? -1 : taken + 1;
    if (taken > 0) q->has_shape = true;
    return taken;
}

static int geoSearchParseResult(struct client *c, int i, struct geoQuery *q) {
    struct str arg = c->argv[i];
    if (strIs(arg, "withdist")) {
        q->withdist = true;
    } else if (strIs(arg, "withhash")) {
        q->withhash = true;
    } else if (strIs(arg, "withcoord")) {
        q->withcoord = true;
    } else if (strIs(arg, "any")) {
        q->any = true;
    } else if (strIs(arg, "asc")) {
        q->order = NEAR_FIRST;
    } else if (strIs(arg, "desc")) {
        q->order = FAR_FIRST;
    } else if (strIs(arg, "count") && i + 1 < c->argc) {
        if (!argLongLong(c, c->argv[i + 1], &q->count, NULL)) return -1;
        if (q->count > 0) return 2;
        replyError(c, "ERR COUNT must be > 0");
        return -1;
    } else {
        return 0;
    }
    return 1;
}

static bool geoSearchIsStore(const struct str *argv, int argc, int i) {
    return i + 1 < argc && (strIs(argv[i], "store") || strIs(argv[i], "storedist"));
}

static int geoSearchParseStore(struct client *c, const struct geoForm *f, int i, struct geoQuery *q) {
    bool dist = strIs(c->argv[i], "storedist");
    if (f->stores && dist) {
        q->storedist = true;
        return 1;
    }
    if (!f->may_store || !geoSearchIsStore(c->argv, c->argc, i)) return 0;
    q->store = c->argv[i + 1]; /* the last one counts */
    q->storedist = dist;
    return 2;
}

static bool geoSearchParseOptions(struct client *c, const struct geoForm *f, const struct object *o,
                                  struct geoQuery *q) {
    for (int i = f->options; i < c->argc;) {
        int taken = geoSearchParseResult(c, i, q);
        if (!taken) taken = geoSearchParseStore(c, f, i, q);
        if (!taken && f->kind == FORM_SEARCH) taken = geoSearchParseArea(c, o, i, q);
        if (!taken) replySyntaxError(c);
        if (taken <= 0) return false;
        i += taken;
    }
    return true;
}

/* Parses the arguments before the options. For a member of a key that does not exist, nothing is checked. */
static bool geoSearchParseFixed(struct client *c, const struct geoForm *f, const struct object *o,
                                struct geoQuery *q) {
    if (f->kind == FORM_POINT)
        return geoArgPoint(c, &c->argv[2], &q->shape.center) && geoSearchParseRadius(c, &c->argv[4], q);
    if (f->kind == FORM_MEMBER && o)
        return geoSearchParseMember(c, o, c->argv[2], q) && geoSearchParseRadius(c, &c->argv[3], q);
    if (f->stores) q->store = c->argv[1];
    return true;
}

/* Whether the options may be combined. */
static bool geoSearchCheckOptions(struct client *c, const struct geoForm *f, struct geoQuery *q) {
    int name_len = (int)c->argv[0].len;
    const char *name = c->argv[0].ptr; /* as the client wrote it */
    if (q->store.ptr && (q->withdist || q->withhash || q->withcoord))
        return replyErrorFmt(c, "ERR %s is not compatible with WITHDIST, WITHHASH and WITHCOORD options",
                             f->stores ? "GEOSEARCHSTORE" : "STORE option in GEORADIUS");
    if (f->kind == FORM_SEARCH && !q->from && !(q->has_shape && q->shape.kind == GEO_POLYGON))
        return replyErrorFmt(c, "ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for %.*s",
                             name_len, name);
    if (f->kind == FORM_SEARCH && !q->has_shape)
        return replyErrorFmt(c, "ERR exactly one of BYRADIUS, BYBOX and BYPOLYGON can be specified for %.*s",
                             name_len, name);
    if (q->any && !q->count) return replyError(c, "ERR the ANY argument requires COUNT argument");
    if (q->count && !q->any && q->order == UNSORTED) q->order = NEAR_FIRST;
    return true;
}

/* ---- Searching ---- */

static void geoSearchAddHit(struct geoHits *hits, const struct zsetElement *e, double distance_m) {
    if (hits->count == hits->capacity) {
        hits->capacity = hits->capacity ? 2 * hits->capacity : 16;
        hits->hit = zrealloc(hits->hit, hits->capacity * sizeof *hits->hit);
    }
    hits->hit[hits->count] = (struct geoHit){distance_m, hits->count};
    hits->count++;
    zsetItemsAddElement(&hits->items, e);
}

/* Returns false when there are enough hits. */
static bool geoSearchInterval(struct zsetRef z, const struct geoQuery *q, const struct geoBounds *bounds,
                              const struct geoInterval *interval, struct geoHits *hits) {
    struct zsetRange range = {.by = ZRANGE_SCORE,
                              .score = {.min = (double)interval->min, .max = (double)interval->max},
                              .limit = -1};
    struct zsetPlace p;
    uint64_t rank;
    if (!z.index->seek(z.ptr, &range, false, &p, &rank)) return true;
    do {
        struct zsetElement e;
        double distance_m;
        z.index->read(z.ptr, &p, &e);
        if (e.score.value > range.score.max) break;
        struct geoPoint place = geoDecode(geoScoreHash(e.score.value));
        if (!geoInBounds(bounds, place) || !geoContains(&q->shape, place, &distance_m)) continue;
        geoSearchAddHit(hits, &e, distance_m);
        if (q->any && (int64_t)hits->count == q->count) return false;
    } while (z.index->step(z.ptr, &p, false));
    return true;
}

/* Hits at the same distance stay in the order in which they were found. */
static void geoSearchSortHits(struct geoHits *hits, bool near_first) {
    struct sortKey *keys = zmalloc(hits->count * sizeof *keys);
    for (size_t i = 0; i < hits->count; i++) {
        uint64_t key = keysortDouble(hits->hit[i].distance_m);
        keys[i] = (struct sortKey){near_first ? key : ~key, i};
    }
    keysortSort(keys, hits->count, NULL, NULL);
    struct geoHit *sorted = zmalloc(hits->capacity * sizeof *sorted);
    for (size_t i = 0; i < hits->count; i++) sorted[i] = hits->hit[keys[i].at];
    zfree(hits->hit);
    zfree(keys);
    hits->hit = sorted;
}

/* Finds all hits, in the order that the query asks for. */
static void geoSearchFindHits(struct zsetRef z, const struct geoQuery *q, struct geoHits *hits) {
    struct geoInterval intervals[GEO_INTERVALS_MAX];
    int n = geoCover(&q->shape, intervals);
    struct geoBounds bounds = geoBoundsOf(&q->shape);
    for (int i = 0; i < n; i++)
        if (!geoSearchInterval(z, q, &bounds, &intervals[i], hits)) break;
    if (q->order != UNSORTED && hits->count) geoSearchSortHits(hits, q->order == NEAR_FIRST);
    if (q->count && (int64_t)hits->count > q->count) hits->count = (size_t)q->count;
}

/* ---- Results ---- */

static void geoSearchReplyHits(struct client *c, const struct geoQuery *q, const struct geoHits *hits) {
    int parts = 1 + q->withdist + q->withhash + q->withcoord;
    replyArrayLen(c, (int64_t)hits->count);
    for (size_t i = 0; i < hits->count; i++) {
        const struct geoHit *hit = &hits->hit[i];
        const struct zsetItem *item = &hits->items.item[hit->item];
        uint64_t hash = geoScoreHash(item->score.value);
        if (parts > 1) replyArrayLen(c, parts);
        replyBulk(c, item->member);
        if (q->withdist) geoReplyDistance(c, hit->distance_m / q->unit_m);
        if (q->withhash) replyLongLong(c, (int64_t)hash);
        if (q->withcoord) geoReplyPoint(c, geoDecode(hash));
    }
}

static void geoSearchStoreHits(struct client *c, const struct geoForm *f, const struct geoQuery *q,
                               const struct geoHits *hits) {
    struct zsetItems result;
    zsetItemsInit(&result, hits->count);
    for (size_t i = 0; i < hits->count; i++) {
        const struct zsetItem *item = &hits->items.item[hits->hit[i].item];
        zsetItemsAdd(&result, item->member,
                     q->storedist ? zscoreOf(hits->hit[i].distance_m / q->unit_m) : item->score, false);
    }
    zsetItemsSort(&result);
    zsetStoreResult(c, q->store, zsetItemsToSet(&result), f->stores ? "geosearchstore" : "georadiusstore",
                    hits->count); /* each of them counts as a change */
    zsetItemsFree(&result);
}

static void geoSearchGeneric(struct client *c, const struct geoForm *f) {
    struct geoQuery q = {.unit_m = 1};
    struct geoHits hits = {.count = 0};
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[f->key], OBJ_ZSET, &o)) return;
    if (geoSearchParseFixed(c, f, o, &q) && geoSearchParseOptions(c, f, o, &q) &&
        geoSearchCheckOptions(c, f, &q)) {
        if (o) geoSearchFindHits(zsetOpen(o), &q, &hits);
        if (q.store.ptr)
            geoSearchStoreHits(c, f, &q, &hits);
        else
            geoSearchReplyHits(c, &q, &hits);
    }
    zsetItemsFree(&hits.items);
    zfree(hits.hit);
    zfree(q.vertices);
}

static const struct geoForm form_radius = {.key = 1, .options = 6, .kind = FORM_POINT, .may_store = true};
static const struct geoForm form_member = {.key = 1, .options = 5, .kind = FORM_MEMBER, .may_store = true};

/* COUNT is the only option besides STORE and STOREDIST with an argument, and its number is no keyword. */
static int geoSearchGetKeys(const struct geoForm *f, const struct str *argv, int argc, struct keyRef **keys) {
    int store = 0;
    for (int i = f->options; i < argc; i++)
        if (geoSearchIsStore(argv, argc, i)) store = ++i;
    int count = keyRefsAdd(keys, 0, f->key, f->key, 1, KEY_RO | KEY_ACCESS);
    return store ? keyRefsAdd(keys, count, store, store, 1, KEY_OW | KEY_UPDATE) : count;
}

int georadiusGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc,
                     struct keyRef **keys) {
    (void)cmd;
    return geoSearchGetKeys(&form_radius, argv, argc, keys);
}

int georadiusbymemberGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc,
                             struct keyRef **keys) {
    (void)cmd;
    return geoSearchGetKeys(&form_member, argv, argc, keys);
}

void geosearchCommand(struct client *c) {
    geoSearchGeneric(c, &(struct geoForm){.key = 1, .options = 2, .kind = FORM_SEARCH});
}

void geosearchstoreCommand(struct client *c) {
    geoSearchGeneric(c, &(struct geoForm){.key = 2, .options = 3, .kind = FORM_SEARCH, .stores = true});
}

void georadiusCommand(struct client *c) {
    geoSearchGeneric(c, &form_radius);
}

void georadiusRoCommand(struct client *c) {
    geoSearchGeneric(c, &(struct geoForm){.key = 1, .options = 6, .kind = FORM_POINT});
}

void georadiusbymemberCommand(struct client *c) {
    geoSearchGeneric(c, &form_member);
}

void georadiusbymemberRoCommand(struct client *c) {
    geoSearchGeneric(c, &(struct geoForm){.key = 1, .options = 5, .kind = FORM_MEMBER});
}
