/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_scan.c - HRANDFIELD and HSCAN: fields in no order that the client chose. */
#include "base/glob.h"
#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "commands/cmd_hash.h"
#include "types/hash/hash_commands.h"
#include "types/hash/hash_private.h"
#include "types/keys/generic.h"

#define DRAW_FACTOR 4 /* draw when at most a quarter of the fields is asked for */
#define DRAW_MIN    64

/* ---- HRANDFIELD ---- */

struct randomReply {
    struct client *c;
    const struct hash *h;
    bool values;
};

static void hashScanReplyLen(const struct randomReply *r, size_t n) {
    replyArrayLen(r->c, (int64_t)(r->values && r->c->resp < 3 ? 2 * n : n));
}

static void hashScanReplyPlace(const struct randomReply *r, const void *place) {
    struct hashItem item;
    hashRead(r->h, place, &item);
    if (r->values && r->c->resp >= 3) replyArrayLen(r->c, 2);
    replyBulk(r->c, item.field.s);
    if (r->values) replyBulk(r->c, item.value.s);
}

static const void **hashScanAllPlaces(const struct hash *h, size_t live) {
    const void **places = zmalloc((live + 1) * sizeof *places);
    struct hashIterator it;
    size_t n = 0;
    hashIterate(&it, h);
    while ((places[n] = hashNextPlace(&it))) n++;
    hashStop(&it);
    return places;
}

/* Replies random fields with repetition. In a small hash, going to a place is a walk, so that is done only
 * once. */
static void hashScanReplyRepeated(const struct randomReply *r, size_t count, size_t live) {
    bool walks = r->h->encoding != HASH_PACKED && r->h->encoding < HASH_TABLE;
    const void **places = walks ? hashScanAllPlaces(r->h, live) : NULL;
    hashScanReplyLen(r, count);
    for (; count; count--) hashScanReplyPlace(r, places ? places[randomBelow(live)] : hashRandomPlace(r->h));
    zfree(places);
}

/* Replies `count` different fields by the beginning of a Fisher-Yates shuffle of all. */
static void hashScanReplyShuffled(const struct randomReply *r, size_t count, size_t live) {
    const void **places = hashScanAllPlaces(r->h, live);
    for (size_t i = 0; i < count; i++) {
        size_t k = i + randomBelow(live - i);
        const void *chosen = places[k];
        places[k] = places[i];
        hashScanReplyPlace(r, chosen);
    }
    zfree(places);
}

static struct str hashScanDrawnKey(const void *entry) {
    return hashEntryField(entry);
}

/* Replies few of many fields: draws until enough different ones were found. */
static void hashScanReplyDrawn(const struct randomReply *r, size_t count) {
    static const struct hashtableType drawn_type = {.entryKey = hashScanDrawnKey};
    struct hashtable drawn;
    hashtableInit(&drawn, &drawn_type);
    hashtableExpand(&drawn, count);
    while (hashtableSize(&drawn) < count) {
        const void *entry = hashRandomPlace(r->h);
        if (hashtableAdd(&drawn, (void *)entry)) hashScanReplyPlace(r, entry);
    }
    hashtableDestroy(&drawn);
}

static void hashScanReplyDistinct(const struct randomReply *r, size_t count, size_t live) {
    struct hashIterator it;
    const void *place;
    hashScanReplyLen(r, count);
    if (count == live) {
        hashIterate(&it, r->h);
        while ((place = hashNextPlace(&it))) hashScanReplyPlace(r, place);
        hashStop(&it);
    } else if (r->h->encoding >= HASH_TABLE && live > DRAW_MIN && count < live / DRAW_FACTOR &&
               live > hashSize(r->h) / DRAW_FACTOR) {
        hashScanReplyDrawn(r, count);
    } else {
        hashScanReplyShuffled(r, count, live);
    }
}

/* The number of reply elements, twice the count, must not overflow. */
static bool hashScanParseCount(struct client *c, int64_t *count, bool *values) {
    if (!argRange(c, c->argv[2], -INT64_MAX, INT64_MAX, count, NULL)) return false;
    *values = c->argc == 4 && strIs(c->argv[3], "withvalues");
    if (c->argc > 4 || (c->argc == 4 && !*values)) return replySyntaxError(c);
    if (*values && (*count < -INT64_MAX / 2 || *count > INT64_MAX / 2))
        return replyError(c, "ERR value is out of range");
    return true;
}

static void hashScanRandomFields(struct client *c) {
    struct hashKey k;
    struct randomReply r = {.c = c, .h = &k.h};
    int64_t count;
    if (!hashScanParseCount(c, &count, &r.values) || !hashKeyRead(c, &k)) return;
    size_t live = count ? hashLive(&k.h) : 0;
    if (!live)
        replyArrayLen(c, 0);
    else if (count < 0)
        hashScanReplyRepeated(&r, (size_t)-count, live);
    else
        hashScanReplyDistinct(&r, (uint64_t)count < live ? (size_t)count : live, live);
}

void hrandfieldCommand(struct client *c) {
    struct hashKey k;
    if (c->argc > 2) {
        hashScanRandomFields(c);
        return;
    }
    if (!hashKeyRead(c, &k)) return;
    const void *place = hashRandomPlace(&k.h);
    if (place)
        hashScanReplyPlace(&(struct randomReply){.c = c, .h = &k.h}, place);
    else
        replyNull(c);
}

/* ---- HSCAN ---- */

struct hscanCall {
    const struct hash *h;
    const struct scanOptions *opt;
    const void **places;
    size_t count, room;
    int64_t seen;
};

/* Entries stay in place while the table is scanned; matches are replied after the cursor. */
static void hashScanCollectPlace(void *priv, const void *place) {
    struct hscanCall *call = priv;
    struct hashItem item;
    call->seen++;
    hashRead(call->h, place, &item);
    if (call->opt->use_pattern && !globMatch(call->opt->pattern, item.field.s, false)) return;
    if (call->count == call->room) {
        call->room = call->room ? call->room * 2 : 32;
        call->places = zrealloc(call->places, call->room * sizeof *call->places);
    }
    call->places[call->count++] = place;
}

static void hashScanReplyScan(struct client *c, uint64_t cursor, const struct hscanCall *call, bool values) {
    char text[LONG_STR_SIZE];
    replyArrayLen(c, 2);
    replyBulk(c, strN(text, ull2string(text, cursor)));
    replyArrayLen(c, (int64_t)(values ? 2 * call->count : call->count));
    for (size_t i = 0; i < call->count; i++) {
        struct hashItem item;
        hashRead(call->h, call->places[i], &item);
        replyBulk(c, item.field.s);
        if (values) replyBulk(c, item.value.s);
    }
}

void hscanCommand(struct client *c) {
    struct hashKey k;
    struct scanOptions opt = {0};
    struct hscanCall call = {.h = &k.h, .opt = &opt};
    uint64_t cursor;
    if (!scanParseCursor(c, c->argv[2], &cursor) || !hashKeyRead(c, &k)) return;
    if (!k.o) {
        hashScanReplyScan(c, 0, &call, true);
        return;
    }
    if (!scanParseOptions(c, 3, "NOVALUES", false, &opt)) return;
    int64_t steps = scanMaxSteps(&opt);
    do {
        cursor = hashScan(&k.h, cursor, hashScanCollectPlace, &call);
    } while (cursor && --steps && call.seen < opt.count);
    hashScanReplyScan(c, cursor, &call, !opt.values_off);
    zfree(call.places);
}
