/* SPDX-License-Identifier: BSD-3-Clause */
/* defrag.c - when to defragment, for how long, and the walk through all data; see defrag.h.
 *
 *     cron, 10 times a second    measure fragmentation ── enough ──▶ a pass begins
 *     timer                      slice .. pause .. slice .. pause          slice / (slice + pause) = percent
 *                                  │
 *                                  ▼
 *     pass    for each database: its tables' arrays, then dbScan over its keys: object, then value.
 *             A value of many allocations waits in `big` and is done, in pieces, before the scan continues.
 *             Then what other modules have registered.
 *
 * Fragmentation is the ratio of holes in the allocator's slabs to bytes in use: only that can be improved by
 * moving. A pass continues to its end once it has begun, and may only become faster on the way; else it would
 * stop and start around the limit. When a pass hardly found anything to move, the next one waits: the holes
 * are then where none of our allocations can be moved. */
#include "data/lifetime/defrag.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "data/child.h"
#include "data/forkless/large_value.h"
#include "data/keyspace/db.h"
#include "data/type.h"
#include "net/ae.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/latency.h"

#define LOOK_PERIOD_MS 100
#define WAIT_MS        100 /* for a child to end */
#define SLICE_LATE     4   /* when the timer comes late, a slice is up to so many times as long */
#define FAST_AGAIN_US  1000000
#define USEFUL_SHARE   100     /* a pass is useful when at least one in so many allocations has moved */
#define REST_MIN_US    1000000 /* after a useless pass; doubles each time */
#define REST_MAX_US    16000000
#define OTHERS_MAX     4
#define PROGRESS_EVERY 4 /* steps between two readings of the clock */

static const char err_unavailable[] =
    "Active defragmentation cannot be enabled: it requires a Valkey server compiled with a modified Jemalloc "
    "like the one shipped by default with the Valkey source distribution";

/* ---- State ---- */

static bool enabled, stress;
static int64_t ignore_bytes, threshold_lower, threshold_upper, cycle_min, cycle_max, cycle_us,
    max_scan_fields;

static struct {
    uint64_t hits, misses, key_hits, key_misses;
    int64_t total_us;
} stats;

static uint64_t (*others[OTHERS_MAX])(uint64_t cursor);
static int other_count;

struct bigValue {
    struct bigValue *next;
    sds key;
    uint8_t type;
    struct defragCursor at;
};

static struct {
    bool timer;      /* whether the timer is set */
    int64_t percent; /* of the time; 0: there is no pass */
    int db, other;   /* position of the pass: database, then registered data, and the cursor in it */
    enum { IN_TABLES, IN_KEYS, BEHIND_KEYS } phase;
    uint64_t cursor;
    struct bigValue *big;
    struct { /* figures at the start */
        int64_t us;
        uint64_t hits, misses;
    } began;
    int64_t stop_us;       /* end of the slice */
    int64_t fragmented_us; /* since when memory is fragmented; 0: it is not */
    int64_t looked_us, slice_end_us, rest_us, rest_until_us;
} run;

/* ---- Moving ---- */

void *defragMove(void *priv, void *ptr) {
    void *now = zmallocMove(priv, ptr);
    if (now)
        stats.hits++;
    else
        stats.misses++;
    return now;
}

void defragPointer(void *pointer) {
    serverAssert(pointer);
    void *at;
    memcpy(&at, pointer, sizeof at);
    void *now = at ? defragMove(NULL, at) : NULL;
    if (now) memcpy(pointer, &now, sizeof now);
}

void defragRegister(uint64_t (*piece)(uint64_t cursor)) {
    serverAssert(other_count < OTHERS_MAX);
    others[other_count++] = piece;
}

/* ---- A pass ---- */

static void defragCountKey(uint64_t hits_before) {
    if (stats.hits != hits_before)
        stats.key_hits++;
    else
        stats.key_misses++;
}

static void defragDeferValue(const struct object *o) {
    struct bigValue *big = zmalloc(sizeof *big);
    *big = (struct bigValue){.next = run.big, .key = sdsnewstr(objectKey(o)), .type = (uint8_t)o->type};
    run.big = big;
}

static void defragDropBig(void) {
    struct bigValue *big = run.big;
    run.big = big->next;
    sdsfree(big->key);
    zfree(big);
}

/* Whether there is a value behind the object that no snapshot is saving in parts. All other values have been
 * saved: a pass waits while there is a snapshot, but those of DEBUG DEFRAG-ALL and of tests (forkless-always)
 * do not. */
static bool defragMayMoveValue(const struct db *db, const struct object *o) {
    const struct keyspaceWalk *walk = db->keyspace.walk;
    serverAssert(!walk || keyspaceWalkHasSaved(walk, keyHash(objectKey(o)), o));
    return objectHasPtr(o) && !largeValueFind(objectPtr(o));
}

/* Does a piece of the first big value, which may no longer exist. */
static void defragStepBig(struct db *db) {
    struct bigValue *big = run.big;
    uint64_t hits = stats.hits;
    struct object *o = dbFind(db, sdsview(big->key));
    if (o) keyspaceObjectWillChange(&db->keyspace, o);
    big->at.stop_us = run.stop_us;
    bool more =
        o && o->type == big->type && defragMayMoveValue(db, o) && objectTypeOf(o)->defrag(db, o, &big->at);
    if (o) defragCountKey(hits);
    if (!more) defragDropBig();
}

static void defragStepKey(void *priv, void *entry) {
    struct db *db = priv;
    uint64_t hits = stats.hits;
    struct object *o = keyspaceMoveObject(&db->keyspace, entry, defragMove, NULL);
    const struct objectType *type = objectTypeOf(o);
    if (type->defrag && defragMayMoveValue(db, o)) {
        if (type->freeEffort(o) > (size_t)max_scan_fields) {
            defragDeferValue(o);
        } else {
            struct defragCursor at = {.at = {0}};
            while (type->defrag(db, o, &at)) {
            }
        }
    }
    defragCountKey(hits);
}

static bool defragStepOther(void) {
    if (run.other == other_count) return false;
    run.cursor = others[run.other](run.cursor);
    if (!run.cursor) run.other++;
    return true;
}

/* Does a small part of the pass. Returns false when nothing is left. */
static bool defragStep(void) {
    if (run.db == dbCount()) return defragStepOther();
    struct db *db = &dbs[run.db];
    if (run.big) {
        defragStepBig(db);
        return true;
    }
    switch (run.phase) {
    case IN_TABLES:
        keyspaceMoveTables(&db->keyspace, defragMove, NULL);
        run.phase = IN_KEYS;
        return true;
    case IN_KEYS:
        run.cursor = keyspaceScan(&db->keyspace, run.cursor, SLOTS_SHOWN, defragStepKey, db);
        if (!run.cursor) run.phase = BEHIND_KEYS;
        return true;
    default:
        run.phase = IN_TABLES;
        run.db++;
        return true;
    }
}

static void defragPassRewind(void) {
    while (run.big) defragDropBig();
    run.db = run.other = 0;
    run.cursor = 0;
    run.phase = IN_TABLES;
}

/* ---- Fragmentation ---- */

struct fragmentation {
    size_t bytes;
    double percent;
};

static struct fragmentation defragFragmentationNow(void) {
    struct zmallocStats s;
    zmallocGetStats(&s);
    return (struct fragmentation){s.holes, s.allocated ? 100.0 * (double)s.holes / (double)s.allocated : 0};
}

static bool defragIsFragmented(const struct fragmentation *f) {
    return f->bytes >= (size_t)ignore_bytes && f->percent >= (double)threshold_lower;
}

/* Returns the share of the time, in percent, to spend on so much fragmentation. */
static int64_t defragEffortFor(const struct fragmentation *f) {
    double span = (double)(threshold_upper - threshold_lower), above = f->percent - (double)threshold_lower;
    double part = above >= span ? 1 : above / span;
    int64_t percent = cycle_min + (int64_t)(part * (double)(cycle_max - cycle_min));
    int64_t least = cycle_min < cycle_max ? cycle_min : cycle_max;
    return percent < least ? least : percent;
}

/* ---- Beginning and end of passes ---- */

static bool defragMayRun(void) {
    return childRunning() == CHILD_NONE && !db_loading;
}

static void defragNoteFragmented(bool is, int64_t now_us) {
    if (is && !run.fragmented_us) run.fragmented_us = now_us;
    if (is || !run.fragmented_us) return;
    stats.total_us += now_us - run.fragmented_us;
    run.fragmented_us = 0;
}

static void defragPassBegin(const struct fragmentation *f, int64_t now_us) {
    run.percent = stress ? 50 : defragEffortFor(f);
    run.began.us = run.slice_end_us = run.looked_us = now_us;
    run.began.hits = stats.hits;
    run.began.misses = stats.misses;
    defragPassRewind();
    defragNoteFragmented(true, now_us);
    serverLog(LL_VERBOSE, "Starting active defrag, frag=%.0f%%, frag_bytes=%zu, cpu=%d%%", f->percent,
              f->bytes, (int)run.percent);
}

static void defragPassStop(int64_t now_us) {
    run.percent = 0;
    run.rest_us = run.rest_until_us = 0;
    defragPassRewind();
    defragNoteFragmented(false, now_us);
}

static void defragPassEnd(int64_t now_us) {
    struct fragmentation f = defragFragmentationNow();
    uint64_t moved = stats.hits - run.began.hits, stayed = stats.misses - run.began.misses;
    serverLog(LL_VERBOSE, "Active defrag done in %dms, reallocated=%llu, frag=%.0f%%, frag_bytes=%zu",
              (int)((now_us - run.began.us) / 1000), (unsigned long long)moved, f.percent, f.bytes);
    if (!stress && !defragIsFragmented(&f)) {
        defragPassStop(now_us);
        return;
    }
    if (!stress && moved * USEFUL_SHARE < moved + stayed) {
        run.rest_us = run.rest_us ? run.rest_us * 2 : REST_MIN_US;
        if (run.rest_us > REST_MAX_US) run.rest_us = REST_MAX_US;
        run.rest_until_us = now_us + run.rest_us;
        run.percent = 0;
        return;
    }
    run.rest_us = 0;
    defragPassBegin(&f, now_us);
}

/* Raises the share when fragmentation has grown during the pass. */
static void defragAdjustPercent(int64_t now_us) {
    if (stress || now_us - run.looked_us < FAST_AGAIN_US) return;
    run.looked_us = now_us;
    struct fragmentation f = defragFragmentationNow();
    int64_t percent = defragEffortFor(&f);
    if (percent > run.percent) run.percent = percent;
}

/* New limits apply at once, to the present pass as well. */
static bool defragLimitsChanged(const char **err) {
    (void)err;
    struct fragmentation f = defragFragmentationNow();
    run.rest_us = run.rest_until_us = 0;
    if (run.percent && !stress) run.percent = defragEffortFor(&f);
    return true;
}

/* ---- Slices ---- */

static int64_t defragPauseUs(void) {
    return cycle_us * (100 - run.percent) / run.percent;
}

/* When the loop is busy the timer comes late, and the slice is lengthened accordingly. */
static int64_t defragSliceUs(int64_t start_us) {
    int64_t due = (start_us - run.slice_end_us) * run.percent / (100 - run.percent);
    if (due > cycle_us * SLICE_LATE) due = cycle_us * SLICE_LATE;
    return due < cycle_us ? cycle_us : due;
}

static int64_t defragSliceTimer(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id, (void)data;
    int64_t start_us = monotonicUs(), now_us = start_us;
    if (!enabled && !stress && run.percent) defragPassStop(start_us);
    if (!run.percent) {
        run.timer = false;
        return AE_NOMORE;
    }
    if (!defragMayRun()) {
        run.slice_end_us = start_us;
        return WAIT_MS;
    }
    int64_t latency_start = latencyTimerStart(), end_us = start_us + defragSliceUs(start_us);
    run.stop_us = end_us;
    bool more;
    unsigned steps = 0;
    do {
        more = defragStep();
        if (run.big || ++steps % PROGRESS_EVERY == 0) now_us = monotonicUs();
    } while (more && now_us < end_us);
    latencyTimerEnd("active-defrag-cycle", latency_start);
    now_us = run.slice_end_us = monotonicUs();
    if (more)
        defragAdjustPercent(now_us);
    else
        defragPassEnd(now_us);
    if (!run.percent) {
        run.timer = false;
        return AE_NOMORE;
    }
    int64_t pause_ms = (defragPauseUs() + 999) / 1000;
    return pause_ms ? pause_ms : 1;
}

static void defragStartTimer(void) {
    if (run.timer) return;
    run.timer = true;
    aeCreateTimeEvent(server_el, 1, defragSliceTimer, NULL);
}

static void defragCron(void) {
    int64_t now_us = monotonicUs();
    if (!enabled && !stress) {
        if (!run.percent) defragNoteFragmented(false, now_us);
        return;
    }
    if (run.percent || now_us < run.rest_until_us || !defragMayRun()) return;
    struct fragmentation f = defragFragmentationNow();
    if (!stress && !defragIsFragmented(&f)) {
        defragNoteFragmented(false, now_us);
        return;
    }
    defragPassBegin(&f, now_us);
    defragStartTimer();
}

/* ---- For tests: all allocations move ---- */

void defragAll(void) {
    defragPassRewind();
    zmallocMoveAll(true);
    run.stop_us = INT64_MAX;
    while (defragStep()) {
    }
    zmallocMoveAll(stress);
    defragPassRewind();
}

void defragStress(bool on) {
    if (stress && !on && run.percent) defragPassStop(monotonicUs());
    stress = on;
    zmallocMoveAll(on);
}

/* ---- INFO, directives ---- */

static sds defragInfoMemory(sds s) {
    return infoField(s, "active_defrag_running:%lld", (long long)run.percent);
}

static sds defragInfoStats(sds s) {
    int64_t current_us = run.fragmented_us ? monotonicUs() - run.fragmented_us : 0;
    s = infoField(s, "active_defrag_hits:%llu", (unsigned long long)stats.hits);
    s = infoField(s, "active_defrag_misses:%llu", (unsigned long long)stats.misses);
    s = infoField(s, "active_defrag_key_hits:%llu", (unsigned long long)stats.key_hits);
    s = infoField(s, "active_defrag_key_misses:%llu", (unsigned long long)stats.key_misses);
    s = infoField(s, "total_active_defrag_time:%lld", (long long)(stats.total_us + current_us) / 1000);
    return infoField(s, "current_active_defrag_time:%lld", (long long)current_us / 1000);
}

static void defragResetStats(void) {
    memset(&stats, 0, sizeof stats);
    run.began.hits = run.began.misses = 0;
}

static bool defragAvailable(const char *value, const char **err) {
    if (strcmp(value, "yes") != 0 || zmallocCanMove()) return true;
    *err = err_unavailable;
    return false;
}

void defragInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("activedefrag", NULL, CONFIG_MODIFIABLE, &enabled, false, NULL),
        CONFIG_INT("active-defrag-ignore-bytes", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY, &ignore_bytes,
                   100 << 20, 1, INT64_MAX, NULL),
        CONFIG_INT("active-defrag-threshold-lower", NULL, CONFIG_MODIFIABLE, &threshold_lower, 10, 0, 1000,
                   defragLimitsChanged),
        CONFIG_INT("active-defrag-threshold-upper", NULL, CONFIG_MODIFIABLE, &threshold_upper, 100, 0, 1000,
                   defragLimitsChanged),
        CONFIG_INT("active-defrag-cycle-min", NULL, CONFIG_MODIFIABLE, &cycle_min, 1, 1, 99,
                   defragLimitsChanged),
        CONFIG_INT("active-defrag-cycle-max", NULL, CONFIG_MODIFIABLE, &cycle_max, 25, 1, 99,
                   defragLimitsChanged),
        CONFIG_INT("active-defrag-cycle-us", NULL, CONFIG_MODIFIABLE, &cycle_us, 500, 0, 100000, NULL),
        CONFIG_INT("active-defrag-max-scan-fields", NULL, CONFIG_MODIFIABLE, &max_scan_fields, 1000, 1,
                   INT64_MAX, NULL),
    };
    directives[0].valid = defragAvailable;
    configRegister(directives, sizeof directives / sizeof *directives);
    configOnResetStat(defragResetStats);
    infoRegister("memory", defragInfoMemory);
    infoRegister("stats", defragInfoStats);
    cronRegister(defragCron, LOOK_PERIOD_MS);
}
