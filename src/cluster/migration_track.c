/* SPDX-License-Identifier: BSD-3-Clause */
/* migration_track.c - imports as those see them who do not take part: the target's clients, its replicas,
 * files.
 *
 * From ESTABLISH on nobody sees what is in the slots (data/keyspace/hidden_slots.h), up to the end of the
 * import. The target tells its replicas and its append-only file of both ends, in the stream of changes:
 *
 *     ESTABLISH     keys, as ordinary commands     deletions, if it has failed     FINISH
 *     hidden ───────────────────────────────────────────────────────────────────▶ shown
 *
 * and an RDB file has an opcode for each import that goes on:
 *
 *     | 243 | name | number of ranges | first slot, last slot | ... |
 *
 * Invariant: keys of hidden slots are either shown, because the slots are ours, or deleted by whoever is
 * primary when that is known: a replica that has taken over in the middle, or the same node, started again.
 */
#include <stdio.h>
#include <string.h>

#include "base/key_slot.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "cluster/migration_jobs.h"
#include "cluster/migration_private.h"
#include "command/propagate.h"
#include "data/keyspace/db.h"
#include "data/rdb/rdb.h"
#include "data/rdb/rewrite.h"
#include "data/server_state/role.h"

static const char unknown[NODE_ID_LEN + 1]; /* a node */

bool trackMayChange(void) {
    return !roleIsReplica() && nodeIsPrimary(clusterMyself()) && !db_loading;
}

/* ---- Hiding ---- */

static void migrationTrackHiddenSlots(struct slotSet *slots) {
    *slots = (struct slotSet){0};
    listForEach(&migration_jobs, it) {
        const struct migrationJob *job = listEntry(it, struct migrationJob, node);
        for (size_t i = 0; job->hides && i < sizeof slots->bits; i++) slots->bits[i] |= job->slots.bits[i];
    }
}

void importHide(struct migrationJob *job) {
    sds who = jobText(job);
    serverLog(LL_NOTICE, "An import of slots begins: %s", who);
    sdsfree(who);
    job->hides = true;
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (slotSetHas(&job->slots, slot)) dbHideSlot(slot, true);
    }
}

void importShow(struct migrationJob *job) {
    struct slotSet others;
    if (!job->hides) return;
    job->hides = false;
    migrationTrackHiddenSlots(&others);
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (slotSetHas(&job->slots, slot) && !slotSetHas(&others, slot)) dbHideSlot(slot, false);
    }
}

/* ---- What is told ---- */

void importReportEnd(const struct migrationJob *job) {
    struct str argv[] = {STR("CLUSTER"),   STR("SYNCSLOTS"), STR("FINISH"),
                         STR("STATE"),     STR("FAILED"),    STR("NAME"),
                         strOf(job->name), STR("MESSAGE"),   strOf(job->m.message)};
    if (job->m.state == MIGRATION_SUCCESS) argv[4] = STR("SUCCESS");
    propagateNow(0, sizeof argv / sizeof *argv, argv);
}

/* ---- What is heard ---- */

void trackBegin(const char *name, const struct slotSet *slots) {
    struct migrationJob *job = jobNamed(name);
    if (job && job->hides) return;
    job = jobAdd(false, false, name, slots, unknown, unknown);
    migrationTrack(&job->m, clusterNow());
    importHide(job);
    jobSend(job, EVENT_IMPORT_STARTED);
}

/* It may be one of our own, from the time when we were a primary. */
void trackEnd(const char *name, bool success, struct str message) {
    struct migrationJob *job = jobNamed(name);
    if (!job || !job->hides) return;
    enum migrationState before = job->m.state;
    snprintf(job->reason, sizeof job->reason, "%.*s", (int)message.len, message.ptr);
    migrationTold(&job->m, success ? MIGRATION_SUCCESS : MIGRATION_FAILED, job->reason, clusterNow());
    if (job->m.state != before) {
        jobLogState(job, before);
        jobSend(job, success ? EVENT_IMPORT_COMPLETED : EVENT_IMPORT_ABORTED);
    }
    job->keys_to_delete = false;
    importShow(job);
}

/* Whoever brought the keys spoke to our primary, whose place is ours now. */
void trackEndOfTurn(struct migrationJob *job) {
    if (job->m.state == IMPORT_TRACKED && trackMayChange())
        jobFail(job, "A failover occurred during slot import");
}

void migrationDataLoaded(void) {
    if (!trackMayChange()) return;
    listForEach(&migration_jobs, it) {
        struct migrationJob *job = listEntry(it, struct migrationJob, node);
        if (job->m.state == IMPORT_TRACKED) jobFail(job, "Process restarted");
    }
}

/* ---- In files ---- */

static bool migrationTrackAnyHides(void) {
    listForEach(&migration_jobs, it) {
        if (listEntry(it, struct migrationJob, node)->hides) return true;
    }
    return false;
}

static void migrationTrackSaveJob(struct rioWriter *w, const struct migrationJob *job) {
    uint64_t ranges = 0;
    int first, last = -1;
    while ((first = slotSetRun(&job->slots, last + 1, &last)) >= 0) ranges++;
    rioWriteByte(w, RDB_OP_SLOT_IMPORT);
    rdbWriteString(w, strOf(job->name));
    rdbWriteLen(w, ranges);
    for (last = -1; (first = slotSetRun(&job->slots, last + 1, &last)) >= 0;) {
        rdbWriteLen(w, (uint64_t)first);
        rdbWriteLen(w, (uint64_t)last);
    }
}

/* Who reads an older version sees the keys. */
static void migrationTrackSave(struct rioWriter *w) {
    if (w->version < RDB_VERSION_EXPIRING) return;
    listForEach(&migration_jobs, it) {
        const struct migrationJob *job = listEntry(it, struct migrationJob, node);
        if (job->hides) migrationTrackSaveJob(w, job);
    }
}

static void migrationTrackRewriteJob(struct rioWriter *w, const struct migrationJob *job) {
    static const char nobody[] = "0000000000000000000000000000000000000000";
    _Static_assert(sizeof nobody == NODE_ID_LEN + 1, "it looks like a node's id");
    int runs = 0, first, last = -1;
    while ((first = slotSetRun(&job->slots, last + 1, &last)) >= 0) runs++;
    rewriteCommand(w, 8 + 2 * runs);
    rewriteWord(w, "CLUSTER");
    rewriteWord(w, "SYNCSLOTS");
    rewriteWord(w, "ESTABLISH");
    rewriteWord(w, "SOURCE");
    rewriteArg(w, strOf(*job->source ? job->source : nobody));
    rewriteWord(w, "NAME");
    rewriteArg(w, strOf(job->name));
    rewriteWord(w, "SLOTSRANGE");
    for (last = -1; (first = slotSetRun(&job->slots, last + 1, &last)) >= 0;) {
        rewriteArgInt(w, first);
        rewriteArgInt(w, last);
    }
}

static void migrationTrackRewrite(struct rioWriter *w) {
    listForEach(&migration_jobs, it) {
        const struct migrationJob *job = listEntry(it, struct migrationJob, node);
        if (job->hides) migrationTrackRewriteJob(w, job);
    }
}

static bool migrationTrackReadJob(struct rdbReader *r, char name[JOB_NAME_LEN + 1], struct slotSet *slots) {
    struct str text;
    uint64_t ranges, first, last;
    if (!rdbReadString(r, &text)) return false;
    if (text.len != JOB_NAME_LEN)
        return rioFail(&r->io, "the name of a slot import has %zu characters", text.len);
    memcpy(name, text.ptr, JOB_NAME_LEN);
    if (!rdbReadLen(r, &ranges)) return false;
    for (; ranges; ranges--) {
        if (!rdbReadLen(r, &first) || !rdbReadLen(r, &last)) return false;
        if (first > last || last >= KEY_SLOTS)
            return rioFail(&r->io, "a slot import has slots that there are not");
        for (uint64_t slot = first; slot <= last; slot++) slotSetAdd(slots, (int)slot);
    }
    return true;
}

static bool migrationTrackLoad(struct rdbReader *r) {
    char name[JOB_NAME_LEN + 1] = {0};
    struct slotSet slots = {0};
    if (!migrationTrackReadJob(r, name, &slots)) return false;
    if (cluster_enabled) trackBegin(name, &slots);
    return true;
}

/* All data go, and what is known of imports with them. Those that this node took part in have failed. */
static void migrationTrackForget(void) {
    listForEach(&migration_jobs, it) {
        struct migrationJob *job = listEntry(it, struct migrationJob, node);
        if (job->m.export) continue;
        if (migrationRuns(&job->m)) jobFail(job, "A new RDB is being loaded");
        importShow(job);
        jobFree(job);
    }
}

/* Of data that are loaded beside ours, whose place they take later. */
struct asideImport {
    struct listNode node;
    char name[JOB_NAME_LEN + 1];
    struct slotSet slots;
};
static struct list aside;

static bool migrationTrackLoadAside(struct rdbReader *r) {
    struct asideImport *import = zcalloc(1, sizeof *import);
    listAddHead(&aside, &import->node);
    return migrationTrackReadJob(r, import->name, &import->slots);
}

static void migrationTrackExchange(bool take) {
    if (take) migrationTrackForget();
    listForEach(&aside, it) {
        struct asideImport *import = listEntry(it, struct asideImport, node);
        if (take && cluster_enabled) trackBegin(import->name, &import->slots);
        listRemove(&aside, &import->node);
        zfree(import);
    }
}

void trackInit(void) {
    static const struct rdbSection section = {.opcode = RDB_OP_SLOT_IMPORT,
                                              .save = migrationTrackSave,
                                              .load = migrationTrackLoad,
                                              .rewrite = migrationTrackRewrite,
                                              .needsNewRdb = migrationTrackAnyHides,
                                              .empty = migrationTrackForget,
                                              .loadAside = migrationTrackLoadAside,
                                              .exchange = migrationTrackExchange};
    listInit(&aside);
    rdbSectionRegister(&section);
}
