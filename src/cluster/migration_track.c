/* SPDX-License-Identifier: BSD-3-Clause */
/* migration_track.c - imports as seen by others than the two ends of the link: the target's clients, its
 * replicas, files.
 *
 * From ESTABLISH to the end of the import the keys of the slots are hidden (data/keyspace/hidden_slots.h).
 * The target announces both in the stream of changes, for its replicas and its append-only file:
 *
 *     ESTABLISH     keys, as ordinary commands     deletions, if it has failed     FINISH
 *     hidden ───────────────────────────────────────────────────────────────────▶ shown
 *
 * An RDB file has an opcode for each import that is under way:
 *
 *     | 243 | name | number of ranges | first slot, last slot | ... |
 *
 * Invariant: keys of hidden slots are either shown, because this node owns the slots, or deleted by
 * the node that is the primary at that time: a replica that has taken over in the middle, or the
 * same node after a restart. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
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

static const char unknown[NODE_ID_LEN + 1]; /* the id of an unknown node */

bool trackIsDecider(void) {
    return !roleIsReplica() && nodeIsPrimary(clusterMyself()) && !db_loading;
}

/* ---- Hiding ---- */

static void migrationTrackCollectHidden(struct slotSet *slots) {
    *slots = (struct slotSet){0};
    forEachJob(job) {
        for (size_t i = 0; job->hides_slots && i < sizeof slots->bits; i++)
            slots->bits[i] |= job->slots.bits[i];
    }
}

void importHide(struct migrationJob *job) {
    serverAssert(!job->m.export && !job->hides_slots);
    sds text = jobDescribe(job);
    serverLog(LL_NOTICE, "An import of slots begins: %s", text);
    sdsfree(text);
    job->hides_slots = true;
    slotSetForEach(&job->slots, slot) dbHideSlot(slot, true);
}

void importUnhide(struct migrationJob *job) {
    struct slotSet others;
    if (!job->hides_slots) return;
    job->hides_slots = false;
    migrationTrackCollectHidden(&others);
    slotSetForEach(&job->slots, slot) {
        if (!slotSetHas(&others, slot)) dbHideSlot(slot, false);
    }
}

/* ---- Announcing ---- */

void importPropagateEnd(const struct migrationJob *job) {
    struct str argv[] = {STR("CLUSTER"),   STR("SYNCSLOTS"), STR("FINISH"),
                         STR("STATE"),     STR("FAILED"),    STR("NAME"),
                         strOf(job->name), STR("MESSAGE"),   strOf(job->m.message)};
    if (job->m.state == MIGRATION_SUCCESS) argv[4] = STR("SUCCESS");
    propagateNow(0, sizeof argv / sizeof *argv, argv);
}

/* ---- Following the primary ---- */

void trackBegin(const char *name, const struct slotSet *slots) {
    struct migrationJob *job = jobFind(name);
    if (job && job->hides_slots) return;
    job = jobAdd(false, false, name, slots, unknown, unknown);
    migrationTrackBegin(&job->m, clusterNow());
    importHide(job);
    jobNotifyModules(job, EVENT_IMPORT_STARTED);
}

/* The job may be an import of this node from the time when it was a primary. */
void trackEnd(const char *name, bool success, struct str message) {
    struct migrationJob *job = jobFind(name);
    if (!job || !job->hides_slots) return;
    enum migrationState before = job->m.state;
    snprintf(job->reason, sizeof job->reason, "%.*s", (int)message.len, message.ptr);
    migrationTrackEnd(&job->m, success ? MIGRATION_SUCCESS : MIGRATION_FAILED, job->reason, clusterNow());
    if (job->m.state != before) {
        jobLogState(job, before);
        jobNotifyModules(job, success ? EVENT_IMPORT_COMPLETED : EVENT_IMPORT_ABORTED);
    }
    job->keys_to_delete = false;
    importUnhide(job);
}

/* The source was connected to the former primary, which this node has replaced. */
void trackEndOfTurn(struct migrationJob *job) {
    if (job->m.state == IMPORT_TRACKED && trackIsDecider())
        jobFail(job, "A failover occurred during slot import");
}

void migrationDataLoaded(void) {
    if (!trackIsDecider()) return;
    forEachJob(job) {
        if (job->m.state == IMPORT_TRACKED) jobFail(job, "Process restarted");
    }
}

/* ---- Files ---- */

static int migrationTrackRdbVersionNeeded(void) {
    forEachJob(job) {
        if (job->hides_slots) return RDB_VERSION_EXPIRING;
    }
    return RDB_VERSION;
}

static void migrationTrackSaveJob(struct rioWriter *w, const struct migrationJob *job) {
    rioWriteByte(w, RDB_OP_SLOT_IMPORT);
    rdbWriteString(w, strOf(job->name));
    rdbWriteLen(w, (uint64_t)slotSetCountRuns(&job->slots));
    slotSetForEachRun(&job->slots, first, last) {
        rdbWriteLen(w, (uint64_t)first);
        rdbWriteLen(w, (uint64_t)last);
    }
}

/* Readers of older RDB versions see the keys. */
static void migrationTrackSave(struct rioWriter *w) {
    if (w->version < RDB_VERSION_EXPIRING) return;
    forEachJob(job) {
        if (job->hides_slots) migrationTrackSaveJob(w, job);
    }
}

void jobWriteEstablish(struct rioWriter *w, const struct migrationJob *job) {
    static const char no_node[] = "0000000000000000000000000000000000000000";
    _Static_assert(sizeof no_node == NODE_ID_LEN + 1, "it looks like a node's id");
    rewriteCommand(w, 8 + 2 * slotSetCountRuns(&job->slots));
    rewriteWord(w, "CLUSTER");
    rewriteWord(w, "SYNCSLOTS");
    rewriteWord(w, "ESTABLISH");
    rewriteWord(w, "SOURCE");
    rewriteArg(w, strOf(*job->source ? job->source : no_node));
    rewriteWord(w, "NAME");
    rewriteArg(w, strOf(job->name));
    rewriteWord(w, "SLOTSRANGE");
    slotSetForEachRun(&job->slots, first, last) {
        rewriteArgInt(w, first);
        rewriteArgInt(w, last);
    }
}

static void migrationTrackRewrite(struct rioWriter *w) {
    forEachJob(job) {
        if (job->hides_slots) jobWriteEstablish(w, job);
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

/* Forgets all imports when the data is emptied. Those that this node takes part in fail. */
static void migrationTrackForget(void) {
    forEachJob(job) {
        if (job->m.export) continue;
        if (migrationIsActive(&job->m)) jobFail(job, "A new RDB is being loaded");
        importUnhide(job);
        jobFree(job);
    }
}

/* An import in data that is being loaded beside the current data, which it replaces later. */
struct stagedImport {
    struct listNode node;
    char name[JOB_NAME_LEN + 1];
    struct slotSet slots;
};
static struct list staged;

static bool migrationTrackLoadAside(struct rdbReader *r) {
    struct stagedImport *import = zcalloc(1, sizeof *import);
    listAddHead(&staged, &import->node);
    return migrationTrackReadJob(r, import->name, &import->slots);
}

static void migrationTrackExchange(bool take) {
    if (take) migrationTrackForget();
    listForEach(&staged, it) {
        struct stagedImport *import = listEntry(it, struct stagedImport, node);
        if (take && cluster_enabled) trackBegin(import->name, &import->slots);
        listRemove(&staged, &import->node);
        zfree(import);
    }
}

void trackInit(void) {
    static const struct rdbSection section = {.opcode = RDB_OP_SLOT_IMPORT,
                                              .save = migrationTrackSave,
                                              .load = migrationTrackLoad,
                                              .rewrite = migrationTrackRewrite,
                                              .rdbVersionNeeded = migrationTrackRdbVersionNeeded,
                                              .empty = migrationTrackForget,
                                              .loadAside = migrationTrackLoadAside,
                                              .exchange = migrationTrackExchange};
    listInit(&staged);
    rdbSectionRegister(&section);
}
