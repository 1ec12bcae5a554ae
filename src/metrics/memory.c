/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c - memory statistics; see memory.h.
 *
 *     rss  ─┬─ outside of the allocator: code, stacks          rss_overhead
 *           └─ resident ─┬─ pages kept for later               allocator_rss
 *                        └─ active ─┬─ holes in pages in use   allocator_frag
 *                                   └─ allocated ≈ used ─┬─ startup
 *                                                        ├─ overhead
 *                                                        └─ dataset */
#include "metrics/memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "commands/cmd_server.h"
#include "data/keyspace/db.h"
#include "data/type.h"
#include "registry/background.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/memory_report.h"

#define DEFAULT_SAMPLES 5
/* Bytes of a key in a table: a slot and a share of the bucket's head, at the usual fill. */
#define TABLE_SHARE   11
#define PEAK_PERIOD   100 /* ms */
#define IDLE_PERIOD   1000
#define TEND_PERIOD   100  /* ms */
#define IDLE_COMMANDS 1000 /* fewer commands per period are little work */
#define SAMPLE_AGE    10   /* ms */
#define MB            (1024 * 1024)
#define DOCTOR_LEAST  (5 * MB) /* ratios below it are noise */
#define DOCTOR_WASTE  (10 * MB)
#define DOCTOR_RATIO  1.1
#define DOCTOR_PEAK   1.5
#define DOCTOR_BUFFER (200 * 1024) /* of a client, on average */

struct memoryFigures {
    struct zmallocStats allocator;
    size_t used, rss, clients, parts[MEMORY_PARTS], tables, overhead, dataset, keys;
};

static size_t peak, startup;
static int64_t peak_at_s; /* Unix time */
static uint64_t system_memory;

/* The last answer of the allocator and the kernel, which takes three times as long as the rest of INFO.
 * Frequent calls of INFO use it again. */
static struct {
    int64_t at_ms; /* 0: never */
    struct zmallocStats allocator;
    size_t rss;
} sample;

static double memoryRatio(size_t a, size_t b) {
    return b ? (double)a / (double)b : 0;
}

static int64_t memoryDifference(size_t a, size_t b) {
    return (int64_t)a - (int64_t)b;
}

static void memoryUpdatePeak(size_t used) {
    if (used <= peak) return;
    peak = used;
    peak_at_s = ustime() / 1000000;
}

static void memoryPeakCron(void) {
    memoryUpdatePeak(zmallocUsedMemory());
}

static void memoryResetPeak(void) {
    peak = 0;
    memoryUpdatePeak(zmallocUsedMemory());
}

/* Adds a client's memory; replicas are a part of their own. */
static void memoryAddClient(void *priv, struct client *c) {
    if (clientClassOf(c) == CLIENT_CLASS_REPLICA) return;
    *(size_t *)priv += clientMemory(c);
}

static void memoryAddTables(struct memoryFigures *f, const struct db *db) {
    struct keyspaceMemory m = keyspaceMemory(&db->keyspace);
    f->tables += m.keys + m.expires;
    f->keys += keyspaceShownSize(&db->keyspace);
}

static void memoryTakeSample(int64_t max_age_ms) {
    int64_t now_ms = monotonicUs() / 1000;
    if (sample.at_ms && now_ms - sample.at_ms < max_age_ms) return;
    sample.at_ms = now_ms;
    sample.rss = zmallocRss();
    zmallocGetStats(&sample.allocator);
}

/* Computes all figures. Those of the allocator are at most max_age_ms old. */
static void memoryMeasure(struct memoryFigures *f, size_t used, int64_t max_age_ms) {
    memoryTakeSample(max_age_ms);
    memoryUpdatePeak(used);
    *f = (struct memoryFigures){.used = used, .rss = sample.rss, .allocator = sample.allocator};
    clientForEach(memoryAddClient, &f->clients);
    for (int i = 0; i < dbCount(); i++) memoryAddTables(f, &dbs[i]);
    f->clients -= memoryPartBytes(MEMORY_SLOT_IMPORT); /* a part of its own */
    f->overhead = startup + f->tables + f->clients;
    for (int i = 0; i < MEMORY_PARTS; i++) {
        f->parts[i] = memoryPartBytes((enum memoryPart)i);
        f->overhead += f->parts[i];
    }
    f->dataset = f->used > f->overhead ? f->used - f->overhead : 0;
}

static double memoryDatasetPercentage(const struct memoryFigures *f) {
    return f->used > startup ? 100 * memoryRatio(f->dataset, f->used - startup) : 0;
}

/* ---- INFO ---- */

static sds memoryHumanField(sds s, const char *name, uint64_t bytes) {
    char human[64];
    bytesToHuman(human, sizeof human, bytes);
    s = infoField(s, "%s:%llu", name, (unsigned long long)bytes);
    return infoField(s, "%s_human:%s", name, human);
}

/* Adds the ratio and the difference of a and b. */
static sds memoryWasteFields(sds s, const char *name, const char *ratio_name, size_t a, size_t b) {
    s = infoField(s, "%s_ratio:%.2f", ratio_name, memoryRatio(a, b));
    return infoField(s, "%s_bytes:%lld", name, (long long)memoryDifference(a, b));
}

static sds memoryFiguresInfo(sds s) {
    struct memoryFigures f;
    memoryMeasure(&f, info_used_memory, SAMPLE_AGE);
    s = memoryHumanField(s, "used_memory", f.used);
    s = memoryHumanField(s, "used_memory_rss", f.rss);
    s = memoryHumanField(s, "used_memory_peak", peak);
    s = infoField(s, "used_memory_peak_time:%lld", (long long)peak_at_s);
    s = infoField(s, "used_memory_peak_perc:%.2f%%", 100 * memoryRatio(f.used, peak));
    s = infoField(s, "used_memory_overhead:%zu", f.overhead);
    s = infoField(s, "used_memory_startup:%zu", startup);
    s = infoField(s, "used_memory_dataset:%zu", f.dataset);
    s = infoField(s, "used_memory_dataset_perc:%.2f%%", memoryDatasetPercentage(&f));
    s = infoField(s, "allocator_allocated:%zu", f.allocator.allocated);
    s = infoField(s, "allocator_active:%zu", f.allocator.active);
    s = infoField(s, "allocator_resident:%zu", f.allocator.resident);
    s = infoField(s, "allocator_muzzy:%zu", f.allocator.muzzy);
    s = memoryHumanField(s, "total_system_memory", system_memory);
    s = memoryWasteFields(s, "allocator_frag", "allocator_frag", f.allocator.allocated + f.allocator.holes,
                          f.allocator.allocated);
    s = memoryWasteFields(s, "allocator_rss", "allocator_rss", f.allocator.resident, f.allocator.active);
    s = memoryWasteFields(s, "rss_overhead", "rss_overhead", f.rss, f.allocator.resident);
    s = memoryWasteFields(s, "mem_fragmentation", "mem_fragmentation", f.rss, f.used);
    s = infoField(s, "mem_replication_backlog:%zu", f.parts[MEMORY_REPL_BACKLOG]);
    s = infoField(s, "mem_total_replication_buffers:%zu",
                  f.parts[MEMORY_REPL_BACKLOG] + f.parts[MEMORY_REPLICAS] + f.parts[MEMORY_PRIMARY_STREAM]);
    s = infoField(s, "mem_replicas_repl_buffer:%zu", f.parts[MEMORY_PRIMARY_STREAM]);
    s = infoField(s, "mem_clients_slaves:%zu", f.parts[MEMORY_REPLICAS]);
    s = infoField(s, "mem_clients_normal:%zu", f.clients);
    s = infoField(s, "mem_cluster_links:%zu", f.parts[MEMORY_CLUSTER_LINKS]);
    s = infoField(s, "mem_aof_buffer:%zu", f.parts[MEMORY_AOF_BUFFER]);
    s = infoField(s, "mem_snapshot_buffer:%zu", f.parts[MEMORY_SNAPSHOT]);
    /* Resizing is finished one piece of a table at a time. */
    s = infoField(s, "mem_overhead_db_hashtable_rehashing:0");
    return infoField(s, "mem_allocator:%s", zmallocName());
}

/* ---- MEMORY USAGE ---- */

static bool memoryParseSamples(struct client *c, int64_t *samples) {
    *samples = DEFAULT_SAMPLES;
    for (int i = 3; i < c->argc; i++) {
        bool known = strIs(c->argv[i], "samples") && i + 1 < c->argc;
        if (known && !argLongLong(c, c->argv[++i], samples, NULL)) return false;
        if (known && *samples >= 0) continue;
        return replySyntaxError(c);
    }
    return true;
}

void memoryUsageCommand(struct client *c) {
    int64_t samples;
    if (!memoryParseSamples(c, &samples)) return;
    struct object *o = dbFind(c->db, c->argv[2]); /* an expired key takes memory, too */
    if (!o) {
        replyNull(c);
        return;
    }
    size_t tables = objectHasExpire(o) ? 2 * TABLE_SHARE : TABLE_SHARE;
    size_t value = objectTypeOf(o)->memoryUsage(o, (size_t)samples);
    replyLongLong(c, (int64_t)(objectAllocSize(o) + value + tables));
}

/* ---- MEMORY STATS ---- */

static int64_t memoryStatCount(struct client *c, const char *name, int64_t v) {
    replyBulkCstr(c, name);
    replyLongLong(c, v);
    return 1;
}

static int64_t memoryStatRatio(struct client *c, const char *name, double v) {
    replyBulkCstr(c, name);
    replyDouble(c, v);
    return 1;
}

static int64_t memoryStatParts(struct client *c, const struct memoryFigures *f) {
    return memoryStatCount(c, "replication.backlog", (int64_t)f->parts[MEMORY_REPL_BACKLOG]) +
           memoryStatCount(c, "replicas.repl.buffer", (int64_t)f->parts[MEMORY_PRIMARY_STREAM]) +
           memoryStatCount(c, "clients.slaves", (int64_t)f->parts[MEMORY_REPLICAS]) +
           memoryStatCount(c, "clients.normal", (int64_t)f->clients) +
           memoryStatCount(c, "cluster.links", (int64_t)f->parts[MEMORY_CLUSTER_LINKS]) +
           memoryStatCount(c, "cluster.slot_import", (int64_t)f->parts[MEMORY_SLOT_IMPORT]) +
           memoryStatCount(c, "cluster.slot_export", (int64_t)f->parts[MEMORY_SLOT_EXPORT]) +
           memoryStatCount(c, "aof.buffer", (int64_t)f->parts[MEMORY_AOF_BUFFER]) +
           memoryStatCount(c, "snapshot.buffer", (int64_t)f->parts[MEMORY_SNAPSHOT]) +
           memoryStatCount(c, "lua.caches", (int64_t)f->parts[MEMORY_LUA_CACHES]) +
           memoryStatCount(c, "functions.caches", (int64_t)f->parts[MEMORY_FUNCTION_CACHES]);
}

static int64_t memoryStatDbs(struct client *c) {
    int64_t n = 0;
    for (int i = 0; i < dbCount(); i++) {
        if (!keyspaceShownSize(&dbs[i].keyspace)) continue;
        char name[32];
        snprintf(name, sizeof name, "db.%d", i);
        replyBulkCstr(c, name);
        replyMapLen(c, 2);
        struct keyspaceMemory m = keyspaceMemory(&dbs[i].keyspace);
        memoryStatCount(c, "overhead.hashtable.main", (int64_t)m.keys);
        memoryStatCount(c, "overhead.hashtable.expires", (int64_t)m.expires);
        n++;
    }
    return n;
}

static int64_t memoryStatTotals(struct client *c, const struct memoryFigures *f) {
    size_t net = f->used > startup ? f->used - startup : 0;
    return memoryStatCount(c, "overhead.db.hashtable.lut", (int64_t)f->tables) +
           memoryStatCount(c, "overhead.db.hashtable.rehashing", 0) +
           memoryStatCount(c, "overhead.total", (int64_t)f->overhead) +
           memoryStatCount(c, "db.dict.rehashing.count", 0) +
           memoryStatCount(c, "keys.count", (int64_t)f->keys) +
           memoryStatCount(c, "keys.bytes-per-key", f->keys ? (int64_t)(net / f->keys) : 0) +
           memoryStatCount(c, "dataset.bytes", (int64_t)f->dataset) +
           memoryStatRatio(c, "dataset.percentage", memoryDatasetPercentage(f)) +
           memoryStatRatio(c, "peak.percentage", 100 * memoryRatio(f->used, peak));
}

static int64_t memoryStatAllocator(struct client *c, const struct memoryFigures *f) {
    const struct zmallocStats *a = &f->allocator;
    return memoryStatCount(c, "allocator.allocated", (int64_t)a->allocated) +
           memoryStatCount(c, "allocator.active", (int64_t)a->active) +
           memoryStatCount(c, "allocator.resident", (int64_t)a->resident) +
           memoryStatCount(c, "allocator.muzzy", (int64_t)a->muzzy) +
           memoryStatRatio(c, "allocator-fragmentation.ratio", memoryRatio(a->active, a->allocated)) +
           memoryStatCount(c, "allocator-fragmentation.bytes", memoryDifference(a->active, a->allocated)) +
           memoryStatRatio(c, "allocator-rss.ratio", memoryRatio(a->resident, a->active)) +
           memoryStatCount(c, "allocator-rss.bytes", memoryDifference(a->resident, a->active)) +
           memoryStatRatio(c, "rss-overhead.ratio", memoryRatio(f->rss, a->resident)) +
           memoryStatCount(c, "rss-overhead.bytes", memoryDifference(f->rss, a->resident)) +
           memoryStatRatio(c, "fragmentation", memoryRatio(f->rss, f->used)) +
           memoryStatCount(c, "fragmentation.bytes", memoryDifference(f->rss, f->used));
}

void memoryStatsCommand(struct client *c) {
    struct memoryFigures f;
    memoryMeasure(&f, zmallocUsedMemory(), 0);
    struct replyMark mark = replyDeferLen(c);
    int64_t n = memoryStatCount(c, "peak.allocated", (int64_t)peak);
    n += memoryStatCount(c, "total.allocated", (int64_t)f.used);
    n += memoryStatCount(c, "startup.allocated", (int64_t)startup);
    n += memoryStatParts(c, &f);
    n += memoryStatDbs(c);
    n += memoryStatTotals(c, &f);
    n += memoryStatAllocator(c, &f);
    replySetMapLen(c, mark, n);
}

/* ---- MEMORY DOCTOR ---- */

static bool memoryWasteful(size_t a, size_t b) {
    return memoryRatio(a, b) > DOCTOR_RATIO && memoryDifference(a, b) > DOCTOR_WASTE;
}

static sds memoryFindings(sds s, const struct memoryFigures *f) {
    if (memoryRatio(peak, f->used) > DOCTOR_PEAK) {
        s = sdscatprintf(
            s,
            " * Peak: at its peak the server used %.1f times what it uses now. The system may still "
            "count that memory as resident; MEMORY PURGE can give some of it back.\n",
            memoryRatio(peak, f->used));
    }
    if (memoryWasteful(f->allocator.active, f->allocator.allocated)) {
        s = sdscatprintf(
            s,
            " * Fragmentation: %.0f%% of the pages in use are holes between allocations. A restart, "
            "or data of other sizes over time, closes them.\n",
            100 - 100 * memoryRatio(f->allocator.allocated, f->allocator.active));
    }
    if (memoryWasteful(f->allocator.resident, f->allocator.active)) {
        s = sdscat(s, " * Allocator: it keeps many free pages for later use. MEMORY PURGE returns them.\n");
    }
    if (memoryWasteful(f->rss, f->allocator.resident)) {
        s = sdscat(s, " * Process: much resident memory is not the allocator's: the interpreter of scripts, "
                      "libraries, stacks of threads.\n");
    }
    size_t count = clients.length;
    if (count && f->clients / count > DOCTOR_BUFFER) {
        s = sdscatprintf(
            s,
            " * Clients: their buffers take %zu bytes each on average. Look for clients that read "
            "slowly in CLIENT LIST (omem), and at client-output-buffer-limit.\n",
            f->clients / count);
    }
    return s;
}

void memoryDoctorCommand(struct client *c) {
    struct memoryFigures f;
    memoryMeasure(&f, zmallocUsedMemory(), 0);
    static const char heading[] = "What is unusual about the memory of this server:\n\n";
    sds s = memoryFindings(sdsnew(heading), &f);
    const char *short_answer = NULL;
    if (f.used < DOCTOR_LEAST)
        short_answer = "Hardly any memory is in use: there is nothing to say about it yet.\n";
    else if (sdslen(s) == strlen(heading))
        short_answer = "Nothing unusual about the memory of this server.\n";
    if (short_answer) {
        sdsfree(s);
        s = sdsnew(short_answer);
    }
    replyVerbatim(c, sdsview(s), "txt");
    sdsfree(s);
}

/* ---- Other subcommands ---- */

void memoryPurgeCommand(struct client *c) {
    zmallocPurge();
    replyOk(c);
}

static void memoryAppendText(void *priv, const char *text) {
    sds *s = priv;
    *s = sdscat(*s, text);
}

void memoryMallocStatsCommand(struct client *c) {
    sds s = sdsempty();
    if (!zmallocReport(memoryAppendText, &s)) s = sdscat(s, "Stats not supported for the current allocator");
    replyVerbatim(c, sdsview(s), "txt");
    sdsfree(s);
}

void memoryHelpCommand(struct client *c) {
    replyHelp(c, (const char *[]){
                     "DOCTOR",
                     "    A report on problems of the server's memory.",
                     "MALLOC-STATS",
                     "    The allocator's own report.",
                     "PURGE",
                     "    Make the allocator return free pages to the system.",
                     "STATS",
                     "    Memory by use, in figures.",
                     "USAGE <key> [SAMPLES <count>]",
                     "    Memory of <key> and its value in bytes. Of a large value <count> elements are",
                     "    sampled (default: 5), and the rest is estimated; 0 samples all.",
                     NULL,
                 });
}

/* After a second of little work, this thread's cache in the allocator is emptied. After a load it holds
 * segments of tables that have grown since, which keep whole slabs from being returned. */
static void memoryIdleCron(void) {
    static uint64_t seen;
    if (callstats.processed - seen < IDLE_COMMANDS) zmallocThreadRests();
    seen = callstats.processed;
}

/* Returns pages to the kernel in the background, since the kernel takes a microsecond for every few pages. */
static atomic_bool giving_back;

static void memoryGiveBackJob(void *arg) {
    (void)arg;
    zmallocGiveBack();
    atomic_store(&giving_back, false);
}

static void memoryTendCron(void) {
    if (!zmallocTend() || atomic_exchange(&giving_back, true)) return;
    bioSubmit(BIO_LAZY_FREE, memoryGiveBackJob, NULL);
}

static bool purge_thread;

static bool memoryApplyPurgeThread(const char **err) {
    (void)err;
    zmallocSetBackgroundThread(purge_thread);
    return true;
}

void memoryMarkStarted(void) {
    zmallocSetBackgroundThread(purge_thread); /* not earlier, as a thread does not survive daemonizing */
    memoryResetPeak();
    startup = peak;
}

void memoryInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("jemalloc-bg-thread", NULL, CONFIG_MODIFIABLE, &purge_thread, true,
                    memoryApplyPurgeThread),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    system_memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    infoRegister("memory", memoryFiguresInfo);
    cronRegister(memoryPeakCron, PEAK_PERIOD);
    cronRegister(memoryIdleCron, IDLE_PERIOD);
    cronRegister(memoryTendCron, TEND_PERIOD);
    configOnResetStat(memoryResetPeak);
}
