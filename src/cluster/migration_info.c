/* SPDX-License-Identifier: BSD-3-Clause */
/* migration_info.c - what operators see of atomic migration beside its jobs (fields of INFO, a flag in the
 * list of clients), and what DEBUG prevents for tests. */
#include "base/num.h"
#include "client/client_info.h"
#include "client/reply.h"
#include "cluster/migration_jobs.h"
#include "cluster/migration_private.h"
#include "data/child.h"
#include "registry/config.h"
#include "registry/debug.h"
#include "registry/info.h"
#include "registry/memory_report.h"

struct migrationDebug migration_debug;
struct migrationTraffic migration_traffic;

/* ---- INFO ---- */

static size_t migrationInfoExportMemory(void) {
    size_t n = 0;
    forEachJob(job) n += exportJobMemory(job);
    return n;
}

static size_t migrationInfoImportMemory(void) {
    size_t n = 0;
    forEachJob(job) {
        const struct client *c = importClient(job);
        if (c) n += clientMemory(c);
    }
    return n;
}

static sds migrationInfoMemoryInfo(sds s) {
    s = infoField(s, "mem_cluster_slot_import:%zu", memoryPartBytes(MEMORY_SLOT_IMPORT));
    return infoField(s, "mem_cluster_slot_export:%zu", memoryPartBytes(MEMORY_SLOT_EXPORT));
}

static sds migrationInfoPersistenceInfo(sds s) {
    return infoField(s, "slot_migration_fork_in_progress:%d", childRunning() == CHILD_SLOTS);
}

/* Includes the bytes of links that are still open. */
static uint64_t migrationInfoImportedBytes(void) {
    uint64_t n = migration_traffic.imported;
    forEachJob(job) {
        const struct client *c = importClient(job);
        if (c) n += c->net_in - job->net_in_before;
    }
    return n;
}

static sds migrationInfoStatsInfo(sds s) {
    s = infoField(s, "total_net_cluster_slot_import_bytes:%llu",
                  (unsigned long long)migrationInfoImportedBytes());
    uint64_t by_child = childRunning() == CHILD_SLOTS ? childSentBytes() : 0;
    return infoField(s, "total_net_cluster_slot_export_bytes:%llu",
                     (unsigned long long)(migration_traffic.exported + by_child));
}

static void migrationInfoResetStats(void) {
    migration_traffic = (struct migrationTraffic){0};
    forEachJob(job) {
        const struct client *c = importClient(job);
        if (c) job->net_in_before = c->net_in;
    }
}

/* ---- DEBUG SLOTMIGRATION ---- */

static void migrationInfoDebugSlotMigration(struct client *c) {
    int64_t on;
    bool is_on = string2ll(c->argv[3], &on) && on;
    if (strIs(c->argv[2], "prevent-pause")) {
        migration_debug.prevent_pause = is_on;
    } else if (strIs(c->argv[2], "prevent-failover")) {
        migration_debug.prevent_failover = is_on;
    } else {
        replySubcommandError(c);
        return;
    }
    replyOk(c);
}

void migrationInfoInit(void) {
    static const char *const help[] = {
        "SLOTMIGRATION PREVENT-PAUSE <0|1>",
        "    Sources of a migration do not reach their pause.",
        "SLOTMIGRATION PREVENT-FAILOVER <0|1>",
        "    Targets do not take the slots that were granted.",
        NULL,
    };
    static const struct debugSubcommand slot_migration = {"slotmigration", 2, 2,
                                                          migrationInfoDebugSlotMigration, help};
    debugRegister(&slot_migration);
    infoRegister("memory", migrationInfoMemoryInfo);
    infoRegister("persistence", migrationInfoPersistenceInfo);
    infoRegister("stats", migrationInfoStatsInfo);
    configOnResetStat(migrationInfoResetStats);
    memoryAddPart(MEMORY_SLOT_IMPORT, migrationInfoImportMemory);
    memoryAddPart(MEMORY_SLOT_EXPORT, migrationInfoExportMemory);
    clientInfoLetter('i', migrationIsLink);
}
