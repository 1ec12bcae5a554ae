/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_conversion.c - gives all large sorted sets the index that zset-index says, after it has changed.
 *
 *     timer      slice .. pause .. slice .. pause        slice / (slice + pause) = zset-index-convert-percent
 *                  |
 *                  v
 *     pass       for each database: keyspaceScan ──▶ keys of sets with the other index, collected in `found`
 *                a small one is converted at once; a larger one becomes a set that is being converted
 *                (zset_converting.c), and gets STEP elements at a time before the pass continues
 *
 * A pass that has converted something is followed by another one, as keys may have been renamed to where it
 * had been. When zset-index is set back meanwhile, passes go the other way, and a set that was being
 * converted keeps its old index.
 *
 * Slices run between commands only, as those of defragmentation do, and none while a child or a snapshot's
 * thread lives or a file is loaded. A snapshot without a fork finds a large set that is being converted: the
 * conversion of this set is given up then, in O(1), as it reports no changes. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "data/child.h"
#include "data/keyspace/db.h"
#include "data/lifetime/evict.h"
#include "data/lifetime/lazyfree.h"
#include "net/ae.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/latency.h"
#include "types/zset/zset.h"
#include "types/zset/zset_private.h"

#define LOOK_PERIOD_MS 100
#define SLICE_US       500
#define WAIT_MS        100 /* for the end of a child or of loading */
#define STEP           128 /* elements; some 10 to 40 us */
#define MEMORY_SAMPLES 16
#define AT_ONCE        512 /* elements of a set that is converted in one call */

static int64_t percent; /* of the time; 0: sets keep their index */

static struct {
    bool requested; /* zset-index has changed */
    bool running;   /* a timer is set */
    int target;     /* the encoding of this pass */
    int db;
    uint64_t cursor; /* in the keyspace of db */
    bool scanned;    /* the cursor has come to its end */
    uint64_t keys;   /* that this pass has seen */
    uint64_t converted_before;
    sds *found; /* keys of the present database that are still to be done */
    size_t found_count, found_room;
} run;

static struct { uint64_t sets, members; } stats;

/* ---- One set ---- */

static bool zsetConversionConcerns(const struct object *o) {
    return o->type == OBJ_ZSET && o->encoding != ZSET_LISTPACK && (int)o->encoding != run.target;
}

static void zsetConversionDrop(struct zsetRef z) {
    lazyfreeValue(valuePtr(OBJ_ZSET, z.index->encoding, z.ptr), zsetLength(z) > AT_ONCE,
                  z.index->allocations(z.ptr));
}

static void zsetConversionGiveUp(struct object *o) {
    struct zsetRef dropped;
    zsetCommit(o, zsetConvertingEnd(zsetOpen(o), true, &dropped));
    zsetConversionDrop(dropped);
}

/* Whether keys would be evicted, or writes refused, as the set takes up memory twice for a while. */
static bool zsetConversionLacksMemory(struct zsetRef z) {
    size_t limit = evictLimit();
    return limit && zmallocUsedMemory() + z.index->memory(z.ptr, MEMORY_SAMPLES) > limit;
}

/* Does a piece. Returns false when the set has its index, or has to keep its own. */
static bool zsetConversionStepSet(struct object *o) {
    struct zsetRef z = zsetOpen(o), dropped;
    if (z.index != &zsetConverting) {
        if (zsetConversionLacksMemory(z)) return false;
        z = zsetConvertingBegin(z, zsetIndexes[run.target]);
    } else if (zsetConvertingOld(z).index->encoding == run.target) {
        zsetConversionGiveUp(o);
        return false;
    }
    size_t wanted = zsetLength(z) < AT_ONCE ? AT_ONCE : STEP, copied = zsetConvertingStep(z, wanted);
    stats.members += copied;
    if (copied == wanted) {
        zsetCommit(o, z);
        return true;
    }
    z = zsetConvertingEnd(z, false, &dropped);
    zsetCommit(o, z);
    stats.sets++;
    zsetConversionDrop(dropped);
    return false;
}

/* ---- Snapshots ---- */

static bool zsetConversionIsLarge(const struct object *o) {
    return zsetLength(zsetOpen(o)) > LARGE_VALUE_ELEMENTS;
}

/* On the main thread, before the snapshot has seen anything of the value. */
static void zsetConversionPartsBegin(struct largeValue *v, const struct object *o) {
    const void *converting = v->container;
    zsetConversionGiveUp((struct object *)o);
    largeValueMoved(converting, objectPtr(o));
    v->encoding = o->encoding;
    v->parts = zsetParts(o);
    v->parts->begin(v, o);
}

const struct valueParts zsetConvertingParts = {.isLarge = zsetConversionIsLarge,
                                               .begin = zsetConversionPartsBegin};

/* ---- A pass ---- */

static void zsetConversionNoteKey(void *priv, void *entry) {
    const struct object *o = entry;
    (void)priv;
    run.keys++;
    if (!zsetConversionConcerns(o)) return;
    if (run.found_count == run.found_room) {
        run.found_room = run.found_room ? 2 * run.found_room : 16;
        run.found = zrealloc(run.found, run.found_room * sizeof *run.found);
    }
    run.found[run.found_count++] = sdsnewstr(objectKey(o));
}

static void zsetConversionDropFound(void) {
    sdsfree(run.found[--run.found_count]);
}

static void zsetConversionBeginPass(void) {
    while (run.found_count) zsetConversionDropFound();
    run.target = zsetLargeEncoding();
    run.db = 0;
    run.cursor = run.keys = 0;
    run.scanned = false;
    run.converted_before = stats.sets;
}

/* Does a small part of the pass. Returns false when nothing is left. */
static bool zsetConversionStep(void) {
    if (run.db == dbCount()) return false;
    struct db *db = &dbs[run.db];
    if (run.found_count) {
        struct object *o = dbFind(db, sdsview(run.found[run.found_count - 1]));
        if (!o || !zsetConversionConcerns(o) || !zsetConversionStepSet(o)) zsetConversionDropFound();
        return true;
    }
    if (run.scanned) {
        run.scanned = false;
        run.db++;
        return true;
    }
    run.cursor = keyspaceScan(&db->keyspace, run.cursor, SLOTS_ALL, zsetConversionNoteKey, NULL);
    run.scanned = run.cursor == 0;
    return true;
}

/* ---- Slices ---- */

static bool zsetConversionMayRun(void) {
    return percent && childRunning() == CHILD_NONE && !db_loading &&
           (run.db == dbCount() || !keyspaceIsWalked(&dbs[run.db].keyspace));
}

static void zsetConversionEnd(void) {
    serverLog(LL_NOTICE, "Sorted sets have been converted to the index %s", zsetIndexes[run.target]->name);
    zfree(run.found);
    run.found = NULL;
    run.found_room = 0;
    run.running = false;
}

static int64_t zsetConversionTimer(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id, (void)data;
    if (run.requested) {
        run.requested = false;
        zsetConversionBeginPass();
    }
    if (!zsetConversionMayRun()) return WAIT_MS;
    int64_t latency_start = latencyTimerStart(), end_us = monotonicUs() + SLICE_US;
    bool more;
    do more = zsetConversionStep();
    while (more && monotonicUs() < end_us && zsetConversionMayRun());
    latencyTimerEnd("zset-conversion-cycle", latency_start);
    if (!more && stats.sets == run.converted_before) {
        zsetConversionEnd();
        return AE_NOMORE;
    }
    if (!more) zsetConversionBeginPass();
    return (SLICE_US * (100 - percent) / percent + 999) / 1000;
}

/* Sets are left as they are while a file is loaded into the databases: it is read with the new index. */
static void zsetConversionCron(void) {
    if (!run.requested || run.running) return;
    run.running = true;
    aeCreateTimeEvent(server_el, 1, zsetConversionTimer, NULL);
}

bool zsetConversionRequest(const char **err) {
    (void)err;
    run.requested = true;
    return true;
}

/* ---- INFO, directive ---- */

static double zsetConversionProgress(void) {
    uint64_t keys = 0;
    if (!run.running) return 0;
    for (int i = 0; i < dbCount(); i++) keys += keyspaceSize(&dbs[i].keyspace);
    uint64_t done = run.keys - run.found_count;
    return done < keys ? 100.0 * (double)done / (double)keys : 100;
}

static sds zsetConversionInfo(sds s) {
    s = infoField(s, "zset_conversion_running:%d", run.requested || run.running);
    s = infoField(s, "zset_conversion_progress:%.2f", zsetConversionProgress());
    s = infoField(s, "zset_converted_sets:%llu", (unsigned long long)stats.sets);
    return infoField(s, "zset_converted_members:%llu", (unsigned long long)stats.members);
}

static void zsetConversionResetStats(void) {
    memset(&stats, 0, sizeof stats);
    run.converted_before = 0;
}

void zsetConversionInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("zset-index-convert-percent", NULL, CONFIG_MODIFIABLE, &percent, 10, 0, 50, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    configOnResetStat(zsetConversionResetStats);
    infoRegister("stats", zsetConversionInfo);
    cronRegister(zsetConversionCron, LOOK_PERIOD_MS);
}
