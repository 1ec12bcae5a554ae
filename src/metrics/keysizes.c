/* SPDX-License-Identifier: BSD-3-Clause */
/* keysizes.c - see keysizes.h.
 *
 * No write maintains these figures: a walk through the keys counts them when somebody asks. Where a walk
 * takes no more than a millisecond, INFO does it at once, and the figures are exact. Otherwise INFO shows
 * what the last walk has found, with its age, and asks for the next one, which runs in slices:
 *
 *     INFO ──▶ asked ──▶ walk: a slice of 1 ms in each tick of 100 ms ──▶ pause ──▶ the next, if asked again
 *                        databases in order, keyspaceScan ──▶ bins of one database ──▶ its lines of text
 *
 * The pause is three times as long as the walk, so that walks take at most 0.25% of the time on average.
 *
 *     db0_distrib_strings_sizes:0=1,16=3,1K=2      bytes of strings: one is empty, three have 16 to 31
 *     db0_distrib_lists_items:4=7                  elements of other types
 *     db0_distrib_lists_sizes:64=7                 their memory, with key-memory-histograms
 *
 * A key that is added, deleted or moved during a walk may be counted or not, and seldom twice. */
#include "metrics/keysizes.h"

#include "base/clock.h"
#include "command/call.h"
#include "data/keyspace/db.h"
#include "data/type.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "types/types.h"

#define TICK_MS        100
#define SLICE_US       1000
#define REST           3 /* times the duration of the walk */
#define BINS           65
#define SAMPLES        5    /* elements of a value whose memory is looked at */
#define AT_ONCE        5000 /* keys that INFO itself walks through */
#define AT_ONCE_MEMORY 1000 /* the same if their memory is estimated, too */
#define SPARSE         8    /* slots of the tables for each of these keys */

struct keysizesWalk {
    int db;
    uint64_t cursor, keys;
    bool memory;
    bool touched;                                                      /* the bins are not all zero */
    uint64_t lengths[OBJ_TYPES_MAX][BINS], bytes[OBJ_TYPES_MAX][BINS]; /* of this database */
    sds text;                                                          /* of those before it */
};

static bool memory_wanted;
static struct keysizesWalk walk; /* text NULL: none runs */
static bool asked;               /* since the last walk has begun */
static int64_t began_us, ended_us, rest_until_us;
static sds last; /* what the last walk has found; NULL: none has ended */

/* ---- A walk ---- */

/* Returns the bin of n: 0 has 0, 1 has 1, 2 has 2 and 3, and so on. */
static int keysizesBin(uint64_t n) {
    return n ? 64 - __builtin_clzll(n) : 0;
}

static void keysizesCountKey(void *priv, void *entry) {
    struct keysizesWalk *w = priv;
    const struct object *o = entry;
    const struct objectType *type = objectTypeOf(o);
    w->keys++;
    if (!type->length) return;
    w->touched = true;
    w->lengths[o->type][keysizesBin(type->length(o))]++;
    if (w->memory && o->type != OBJ_STRING)
        w->bytes[o->type][keysizesBin(objectAllocSize(o) + type->memoryUsage(o, SAMPLES))]++;
}

/* Appends the lower end of a bin: 512, 1K, 2K ... */
static sds keysizesAppendBin(sds s, int bin) {
    if (bin == 0) return sdscat(s, "0");
    int unit = (bin - 1) / 10;
    return sdscatprintf(s, "%d%.1s", 1 << (bin - 1) % 10, &"\0KMGTPE"[unit]);
}

static sds keysizesAppendBins(sds s, int db, const char *plural, const char *what,
                              const uint64_t bins[BINS]) {
    bool any = false;
    for (int i = 0; i < BINS; i++) {
        if (!bins[i]) continue;
        s = any ? sdscat(s, ",") : sdscatprintf(s, "db%d_distrib_%s_%s:", db, plural, what);
        s = sdscatprintf(keysizesAppendBin(s, i), "=%llu", (unsigned long long)bins[i]);
        any = true;
    }
    return any ? sdscat(s, "\r\n") : s;
}

static void keysizesEndDb(struct keysizesWalk *w) {
    for (int i = 0; w->touched && i < OBJ_TYPES_MAX; i++) {
        if (objectTypes[i] && objectTypes[i]->length)
            w->text = keysizesAppendBins(w->text, w->db, objectTypes[i]->plural,
                                         i == OBJ_STRING ? "sizes" : "items", w->lengths[i]);
    }
    for (int i = 0; w->touched && w->memory && i < OBJ_TYPES_MAX; i++) {
        if (objectTypes[i] && objectTypes[i]->length)
            w->text = keysizesAppendBins(w->text, w->db, objectTypes[i]->plural, "sizes", w->bytes[i]);
    }
    if (w->touched) {
        memset(w->lengths, 0, sizeof w->lengths);
        memset(w->bytes, 0, sizeof w->bytes);
    }
    w->touched = false;
    w->db++;
}

static void keysizesBegin(struct keysizesWalk *w) {
    w->db = 0;
    w->cursor = w->keys = 0;
    w->memory = memory_wanted;
    w->text = sdsempty();
}

/* Walks on. Returns true when it has seen all databases. */
static bool keysizesWalkOn(struct keysizesWalk *w) {
    if (keyspaceShownSize(&dbGet(w->db)->keyspace))
        w->cursor = keyspaceScan(&dbGet(w->db)->keyspace, w->cursor, SLOTS_SHOWN, keysizesCountKey, w);
    else
        w->cursor = 0;
    if (w->cursor == 0) keysizesEndDb(w);
    return w->db == dbCount();
}

/* ---- In the background ---- */

static void keysizesEnd(int64_t now_us) {
    sdsfree(last);
    last = walk.text;
    walk.text = NULL;
    ended_us = now_us;
    rest_until_us = now_us + REST * (now_us - began_us);
}

static void keysizesCron(void) {
    int64_t start_us = monotonicUs();
    if (!walk.text && (!asked || start_us < rest_until_us)) return;
    if (db_loading || call_running) return;
    if (!walk.text) {
        asked = false;
        began_us = start_us;
        keysizesBegin(&walk);
    }
    bool done = false;
    while (!done && monotonicUs() - start_us < SLICE_US) done = keysizesWalkOn(&walk);
    if (done) keysizesEnd(monotonicUs());
}

/* ---- INFO ---- */

/* Returns whether a walk takes a millisecond at most: the keys are few, and their tables are not sparse. */
static bool keysizesAreFew(void) {
    size_t most = memory_wanted ? AT_ONCE_MEMORY : AT_ONCE, keys = 0, slots = 0;
    for (int i = 0; i < dbCount() && keys <= most; i++) {
        keys += keyspaceSize(&dbGet(i)->keyspace);
        slots += keyspaceSlots(&dbGet(i)->keyspace);
    }
    return keys <= most && slots <= SPARSE * most;
}

static sds keysizesAppendExact(sds s) {
    static struct keysizesWalk now;
    keysizesBegin(&now);
    while (!keysizesWalkOn(&now)) continue;
    s = sdscatstr(s, sdsview(now.text));
    sdsfree(now.text);
    return s;
}

static sds keysizesShowInfo(sds s) {
    if (keysizesAreFew()) return keysizesAppendExact(s);
    asked = true;
    int64_t age_s = last ? (monotonicUs() - ended_us) / 1000000 : -1;
    s = infoField(s, "keysizes_age_seconds:%lld", (long long)age_s);
    s = infoField(s, "keysizes_keys_in_progress:%llu", walk.text ? (unsigned long long)walk.keys : 0ULL);
    return last ? sdscatstr(s, sdsview(last)) : s;
}

void keysizesInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("key-memory-histograms", NULL, CONFIG_MODIFIABLE, &memory_wanted, false, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("keysizes", keysizesShowInfo);
    cronRegister(keysizesCron, TICK_MS);
}
