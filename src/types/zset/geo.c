/* SPDX-License-Identifier: BSD-3-Clause */
/* geo.c - GEOADD, and the commands that look at given members: GEOPOS, GEODIST, GEOHASH. See geo.h;
 * geo_search.c searches. */
#include "types/zset/geo.h"

#include <math.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "commands/cmd_geo.h"
#include "commands/cmd_sorted_set.h"
#include "data/keyspace/db.h"
#include "types/types.h"

#define COORDINATE_SIZE 32 /* at most 180 with 17 decimals */
#define DISTANCE_SIZE   32 /* any 64-bit number and a point */

/* ---- Shared functions ---- */

bool geoArgPoint(struct client *c, const struct str *lonlat, struct geoPoint *p) {
    if (!argDouble(c, lonlat[0], &p->lon, NULL) || !argDouble(c, lonlat[1], &p->lat, NULL)) return false;
    if (geoValid(*p)) return true;
    return replyErrorFmt(c, "ERR invalid longitude,latitude pair %f,%f", p->lon, p->lat);
}

bool geoArgUnit(struct client *c, struct str arg, double *metres) {
    static const struct {
        const char *name;
        double metres;
    } units[] = {{"m", 1}, {"km", 1000}, {"ft", 0.3048}, {"mi", 1609.34}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!strIs(arg, units[i].name)) continue;
        *metres = units[i].metres;
        return true;
    }
    return replyError(c, "ERR unsupported unit provided. please use M, KM, FT, MI");
}

/* Converts as x86 and Arm processors do: modulo 2^64 where that has a meaning. */
uint64_t geoScoreHash(double score) {
    if (score >= 0x1p64) return 0;
    if (score >= 0) return (uint64_t)score;
    return score > -0x1p63 ? (uint64_t)(int64_t)score : 1ull << 63;
}

bool geoFind(const struct object *o, struct str member, uint64_t *hash) {
    struct zsetPlace p;
    if (!o || !zsetFind(zsetOpen(o), member, &p)) return false;
    *hash = geoScoreHash(p.score.value);
    return true;
}

static void geoReplyCoordinate(struct client *c, double v) {
    char text[COORDINATE_SIZE + 3];
    if (c->resp < 3) {
        replyBulk(c, strN(text, ld2string(text, COORDINATE_SIZE, v)));
        return;
    }
    text[0] = ',';
    size_t len = 1 + ld2string(text + 1, COORDINATE_SIZE, v);
    memcpy(text + len, "\r\n", 2);
    replyRaw(c, text, len + 2);
}

void geoReplyPoint(struct client *c, struct geoPoint p) {
    replyArrayLen(c, 2);
    geoReplyCoordinate(c, p.lon);
    geoReplyCoordinate(c, p.lat);
}

/* Four decimals: rounded to ten-thousandths, halves to the even one. */
void geoReplyDistance(struct client *c, double distance) {
    char text[DISTANCE_SIZE];
    int64_t parts = llrint(distance * 10000);
    unsigned len = ll2string(text, parts / 10000);
    ll2string(text + len, 10000 + parts % 10000); /* with all leading zeros */
    text[len] = '.';
    replyBulk(c, strN(text, len + 5));
}

/* ---- GEOADD ---- */

/* Returns the position of the first longitude, or 0 for a syntax error. Only these options of ZADD are
 * allowed. */
static int geoFirstCoordinate(const struct client *c) {
    bool nx = false, xx = false;
    int i = 2;
    for (; i < c->argc; i++) {
        if (strIs(c->argv[i], "nx"))
            nx = true;
        else if (strIs(c->argv[i], "xx"))
            xx = true;
        else if (!strIs(c->argv[i], "ch"))
            break;
    }
    return i == c->argc || (c->argc - i) % 3 || (nx && xx) ? 0 : i;
}

/* Turns lon lat member ... into score member ...; the scores' text goes to `texts`. */
static bool geoScoreArguments(struct client *c, int first, struct str *argv, char (*texts)[LONG_STR_SIZE]) {
    for (int i = first; i < c->argc; i += 3, texts++) {
        struct geoPoint p;
        if (!geoArgPoint(c, &c->argv[i], &p)) return false;
        *argv++ = strN(*texts, ull2string(*texts, geoEncode(p)));
        *argv++ = c->argv[i + 2];
    }
    return true;
}

/* GEOADD is ZADD with another spelling of the scores, and is propagated as ZADD. */
void geoaddCommand(struct client *c) {
    int first = geoFirstCoordinate(c);
    if (!first) {
        replySyntaxError(c);
        return;
    }
    struct str *given = c->argv;
    int given_count = c->argc, count = (given_count - first) / 3;
    struct str *argv = zmalloc((size_t)(first + 2 * count) * sizeof *argv);
    char(*texts)[LONG_STR_SIZE] = zmalloc((size_t)count * sizeof *texts);
    memcpy(argv, given, (size_t)first * sizeof *argv);
    argv[0] = STR("ZADD");
    if (geoScoreArguments(c, first, argv + first, texts)) {
        uint64_t dirty = dbstats.dirty;
        c->argv = argv;
        c->argc = first + 2 * count;
        zaddCommand(c);
        if (dbstats.dirty != dirty) propagateRewrite(c, c->argc, argv);
        c->argv = given;
        c->argc = given_count;
    }
    zfree(texts);
    zfree(argv);
}

/* ---- GEOPOS, GEODIST, GEOHASH ---- */

/* Replies once for each member that is asked for, with its hash or without. */
static void geoReplyEach(struct client *c, void (*reply)(struct client *c, uint64_t hash),
                         void (*replyNone)(struct client *c)) {
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_ZSET, &o)) return;
    replyArrayLen(c, c->argc - 2);
    for (int i = 2; i < c->argc; i++) {
        uint64_t hash;
        if (geoFind(o, c->argv[i], &hash))
            reply(c, hash);
        else
            replyNone(c);
    }
}

static void geoReplyPlace(struct client *c, uint64_t hash) {
    geoReplyPoint(c, geoDecode(hash));
}

void geoposCommand(struct client *c) {
    geoReplyEach(c, geoReplyPlace, replyNullArray);
}

void geodistCommand(struct client *c) {
    double metres = 1;
    uint64_t a, b;
    if (c->argc > 5) {
        replySyntaxError(c);
        return;
    }
    if (c->argc == 5 && !geoArgUnit(c, c->argv[4], &metres)) return;
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_ZSET, &o)) return;
    if (geoFind(o, c->argv[2], &a) && geoFind(o, c->argv[3], &b))
        geoReplyDistance(c, geoDistance(geoDecode(a), geoDecode(b)) / metres);
    else
        replyNull(c);
}

static void geoReplyText(struct client *c, uint64_t hash) {
    char text[12];
    geoText(hash, text);
    replyBulkCstr(c, text);
}

void geohashCommand(struct client *c) {
    geoReplyEach(c, geoReplyText, replyNull);
}

void geoInit(void) {
    commandRegister(commandsGeo);
}
