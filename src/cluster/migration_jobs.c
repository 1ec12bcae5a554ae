/* SPDX-License-Identifier: BSD-3-Clause */
/* migration_jobs.c - see migration_jobs.h. */
#include "cluster/migration_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/key_slot.h"
#include "base/log.h"
#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "cluster/cluster_commands.h"
#include "cluster/cluster_settings.h"
#include "cluster/migration_private.h"
#include "command/command.h"
#include "command/pause.h"
#include "data/notify.h"
#include "data/server_state/cluster_view.h"
#include "data/server_state/role.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/server_events.h"

#define TICK_MS 100

struct list migration_jobs;

/* ---- Jobs ---- */

static const char *migrationJobsOtherNode(const struct migrationJob *job) {
    return job->m.export ? job->target : job->source;
}

static sds migrationJobsFormatRanges(const struct slotSet *slots) {
    sds s = sdsempty();
    slotSetForEachRun(slots, slot, last) s = sdscatprintf(s, "%s%d-%d", sdslen(s) ? " " : "", slot, last);
    return s;
}

struct migrationJob *jobFind(const char *name) {
    forEachJob(job) {
        if (memcmp(job->name, name, JOB_NAME_LEN) == 0) return job;
    }
    return NULL;
}

void jobFree(struct migrationJob *job) {
    listRemove(&migration_jobs, &job->node);
    sdsfree(job->ranges);
    zfree(job);
}

/* Frees the oldest jobs that have ended; some are kept to be shown. No caller may be
 * iterating over the jobs. */
static void migrationJobsTrimLog(void) {
    int64_t ended = 0;
    forEachJob(job) {
        if (!migrationHasEnded(&job->m) || job->keys_to_delete || job->hides_slots) continue;
        if (++ended > cluster_settings.migration_log_max) jobFree(job);
    }
}

struct migrationJob *jobAdd(bool export, bool auth, const char *name, const struct slotSet *slots,
                            const char *source, const char *target) {
    struct migrationJob *job = zcalloc(1, sizeof *job);
    memcpy(job->name, name, JOB_NAME_LEN);
    memcpy(job->source, source, NODE_ID_LEN);
    memcpy(job->target, target, NODE_ID_LEN);
    job->slots = *slots;
    job->ranges = migrationJobsFormatRanges(slots);
    migrationBegin(&job->m, export, auth, clusterNow());
    listAddHead(&migration_jobs, &job->node);
    return job;
}

sds jobDescribe(const struct migrationJob *job) {
    const char *other = migrationJobsOtherNode(job);
    return sdscatprintf(sdsempty(), "{name: %s, operation: %s, %s: %s, slots: %s}", job->name,
                        job->m.export ? "export" : "import",
                        job->m.export ? "target_node_id" : "source_node_id", *other ? other : "unknown",
                        job->ranges);
}

void jobLogState(const struct migrationJob *job, enum migrationState before) {
    const char *from = migrationStateName(before), *to = migrationStateName(job->m.state);
    if (strcmp(from, to) == 0) return; /* two states may have one name for users */
    sds text = jobDescribe(job);
    if (migrationHasEnded(&job->m))
        serverLog(LL_NOTICE, "Slot migration %s has ended in state %s: %s", text, to, job->m.message);
    else
        serverLog(LL_NOTICE, "Slot migration %s has gone from state %s to %s", text, from, to);
    sdsfree(text);
}

/* Does the actions of the state machine. */
static void migrationJobsDoActions(struct migrationJob *job, unsigned actions) {
    if (!actions) return;
    if (job->m.export)
        exportDo(job, actions);
    else
        importDo(job, actions);
}

void jobNotifyModules(const struct migrationJob *job, enum eventSlotMigrationStep import_step) {
    if (!serverEventWanted(SERVER_SLOT_MIGRATION)) return;
    int(*ranges)[2] = zmalloc(KEY_SLOTS / 2 * sizeof *ranges), count = 0;
    slotSetForEachRun(&job->slots, first, last) {
        ranges[count][0] = first;
        ranges[count++][1] = last;
    }
    struct eventSlotMigration event = {job->name, (const int(*)[2])ranges, count};
    serverEvent(SERVER_SLOT_MIGRATION, (int)import_step + job->m.export, &event);
    zfree(ranges);
}

static void migrationJobsFinishStep(struct migrationJob *job, enum migrationState before, unsigned actions) {
    if (job->m.state != before) jobLogState(job, before);
    migrationJobsDoActions(job, actions);
    if (job->m.state != before && migrationHasEnded(&job->m))
        jobNotifyModules(job,
                         job->m.state == MIGRATION_SUCCESS ? EVENT_IMPORT_COMPLETED : EVENT_IMPORT_ABORTED);
}

void jobStep(struct migrationJob *job, enum migrationEvent event) {
    enum migrationState before = job->m.state;
    migrationJobsFinishStep(job, before, migrationStep(&job->m, event, clusterNow()));
}

void jobFail(struct migrationJob *job, const char *message) {
    enum migrationState before = job->m.state;
    migrationJobsFinishStep(job, before, migrationFail(&job->m, message, clusterNow()));
}

void jobFailWith(struct migrationJob *job, const char *what, struct str detail) {
    snprintf(job->reason, sizeof job->reason, "%s: %.*s", what, (int)detail.len, detail.ptr);
    jobFail(job, job->reason);
}

#define forEachActiveJob(job) /* jobs that this node takes part in */                                        \
    listForEach(&migration_jobs,                                                                             \
                job##_it) for (struct migrationJob *job = listEntry(job##_it, struct migrationJob, node);    \
                               job && migrationIsActive(&job->m); job = NULL)

/* ---- Queries ---- */

bool migrationIncludesSlot(int slot) {
    forEachActiveJob(job) {
        if (slotSetHas(&job->slots, slot)) return true;
    }
    return false;
}

bool migrationIsRunning(bool export) {
    forEachActiveJob(job) {
        if (job->m.export == export) return true;
    }
    return false;
}

bool migrationHasGranted(int slot, const struct clusterNode *to) {
    forEachActiveJob(job) {
        if (job->m.state == EXPORT_GRANTED && slotSetHas(&job->slots, slot) &&
            memcmp(job->target, to->id, NODE_ID_LEN) == 0)
            return true;
    }
    return false;
}

static bool migrationJobsAnyIn(enum migrationState one, enum migrationState other) {
    forEachActiveJob(job) {
        if (job->m.state == one || job->m.state == other) return true;
    }
    return false;
}

bool jobsAnyGivesSlots(void) {
    return migrationJobsAnyIn(EXPORT_PAUSED, EXPORT_GRANTED);
}

bool jobsAnyClaimsSlots(void) {
    return migrationJobsAnyIn(IMPORT_REQUESTED, IMPORT_GRANTED);
}

/* ---- Events ---- */

/* Returns the owner if all slots have the same one, or NULL. */
static struct clusterNode *migrationJobsFindOwner(const struct slotSet *slots) {
    struct clusterNode *owner = NULL;
    slotSetForEach(slots, slot) {
        struct clusterNode *n = clusterTopology()->owner[slot];
        if (!n || (owner && n != owner)) return NULL;
        owner = n;
    }
    return owner;
}

void migrationSlotsChanged(void) {
    forEachActiveJob(job) {
        struct clusterNode *owner = migrationJobsFindOwner(&job->slots);
        if (owner && memcmp(owner->id, job->source, NODE_ID_LEN) == 0) continue;
        bool is_target = owner && memcmp(owner->id, job->target, NODE_ID_LEN) == 0;
        jobStep(job, job->m.export && is_target ? EV_TARGET_OWNS : EV_OWNER_LOST);
    }
}

static const char data_flushed[] = "Data was flushed";

static void migrationJobsOnFlush(int dbid) {
    (void)dbid;
    forEachActiveJob(job) jobFail(job, data_flushed);
}

void migrationSlotFlushed(int slot) {
    forEachActiveJob(job) {
        if (slotSetHas(&job->slots, slot)) jobFail(job, data_flushed);
    }
}

/* A source that has given its last slot away becomes a replica of the new owner:
 * then the job has succeeded. */
static void migrationJobsOnRoleChange(bool replica) {
    if (!replica || !migration_jobs.length) return;
    migrationSlotsChanged();
    forEachActiveJob(job) jobFail(job, "A failover occurred during slot import");
}

static void migrationJobsTick(void) {
    if (!migration_jobs.length) return;
    int64_t timeout_ms = configNumber("repl-timeout") * 1000;
    forEachActiveJob(job) {
        enum migrationState before = job->m.state;
        importNoteInput(job);
        migrationJobsFinishStep(job, before, migrationTick(&job->m, timeout_ms, clusterNow()));
    }
}

void migrationJobsEndOfTurn(void) {
    forEachJob(job) {
        if (job->m.export) {
            exportEndOfTurn(job);
        } else {
            trackEndOfTurn(job);
            importEndOfTurn(job);
        }
    }
    migrationJobsTrimLog();
    cluster_engine.settings.keeps_epoch = jobsAnyGivesSlots();
}

/* ---- MIGRATESLOTS ---- */

#define GROUPS_MAX 16
struct migrateSlotsRequest { /* the arguments of one MIGRATESLOTS */
    struct slotSet slots[GROUPS_MAX];
    struct clusterNode *target[GROUPS_MAX];
    int count;
    struct slotSet all;
};

static bool migrationJobsSlotMayLeave(struct client *c, int slot, struct clusterNode **shard) {
    struct clusterNode *owner = clusterTopology()->owner[slot];
    if (!owner) {
        replyErrorFmt(c, "ERR Slot %d has no node served.", slot);
    } else if (*shard && *shard != owner) {
        replyError(c, "ERR Requested slots span multiple shards");
    } else {
        *shard = owner;
        return true;
    }
    return false;
}

/* Returns whether the pair a, b overlaps with one of the valid pairs in argv[from,
 * i), after an error reply. */
static bool migrationJobsPairOverlaps(struct client *c, int from, int i, int64_t a, int64_t b) {
    for (int64_t first, last; from < i; from += 2) {
        if (!string2ll(c->argv[from], &first) || !string2ll(c->argv[from + 1], &last)) continue;
        if (b < first || a > last) continue;
        replyErrorFmt(c, "ERR Slot range %lld-%lld overlaps with previous range %lld-%lld.", (long long)a,
                      (long long)b, (long long)first, (long long)last);
        return true;
    }
    return false;
}

int jobParseRanges(struct client *c, int i, struct slotSet *slots, struct clusterNode **shard) {
    int from = i;
    for (int64_t a, b; i < c->argc && string2ll(c->argv[i], &a); i += 2) {
        if (i + 1 == c->argc || strIs(c->argv[i + 1], "node")) {
            replyError(c, i + 1 == c->argc ? "ERR No end slot for final slot range"
                                           : "ERR Invalid or out of range slot");
            return -1;
        }
        if (!string2ll(c->argv[i + 1], &b) || a < 0 || b < 0 || a >= KEY_SLOTS || b >= KEY_SLOTS) {
            replyError(c, "ERR Invalid or out of range slot");
            return -1;
        }
        if (a > b) {
            replyErrorFmt(c, "ERR Start slot number %lld is greater than end slot number %lld.", (long long)a,
                          (long long)b);
            return -1;
        }
        for (int slot = (int)a; slot <= (int)b; slot++) {
            if (!migrationJobsSlotMayLeave(c, slot, shard)) return -1;
            slotSetAdd(slots, slot);
        }
        if (migrationJobsPairOverlaps(c, from, i, a, b)) return -1;
    }
    if (i == from) replyError(c, "ERR No slot ranges specified");
    return i == from ? -1 : i;
}

static struct clusterNode *migrationJobsParseTarget(struct client *c, struct str id) {
    if (id.len != NODE_ID_LEN) {
        replyErrorFmt(c, "ERR Invalid node name: %.*s", (int)id.len, id.ptr);
        return NULL;
    }
    struct clusterNode *n = topologyFind(clusterTopology(), id.ptr);
    if (!n)
        replyErrorFmt(c, "ERR Unknown node name: %.*s", (int)id.len, id.ptr);
    else if (n == clusterMyself())
        replyError(c, "ERR Target node can not be this node.");
    else
        return n; /* a replica is accepted here, and refuses by itself: it may have become a primary */
    return NULL;
}

/* Parses SLOTSRANGE a b ... NODE id. Returns the index after it, or -1 after an error has been replied. */
static int migrationJobsParseGroup(struct client *c, int i, struct migrateSlotsRequest *request) {
    struct clusterNode *shard = NULL;
    struct slotSet *slots = &request->slots[request->count];
    if (!strIs(c->argv[i], "slotsrange") || request->count == GROUPS_MAX) {
        replySyntaxError(c);
        return -1;
    }
    i = jobParseRanges(c, i + 1, slots, &shard);
    if (i < 0) return -1;
    if (shard != clusterMyself()) {
        replyError(c, "ERR Slots are not served by this node.");
        return -1;
    }
    slotSetForEach(slots, slot) {
        if (migrationIncludesSlot(slot)) {
            replyErrorFmt(c, "ERR I am already migrating slot %d.", slot);
            return -1;
        }
        if (slotSetHas(&request->all, slot)) {
            replyError(c, "ERR Slot ranges in migrations overlap");
            return -1;
        }
        slotSetAdd(&request->all, slot);
    }
    if (i + 1 >= c->argc || !strIs(c->argv[i], "node")) {
        replySyntaxError(c);
        return -1;
    }
    struct clusterNode *target = migrationJobsParseTarget(c, c->argv[i + 1]);
    if (!target) return -1;
    request->target[request->count++] = target;
    return i + 2;
}

static void migrationJobsMakeName(char name[JOB_NAME_LEN + 1]) {
    for (int i = 0; i < JOB_NAME_LEN; i++) name[i] = "0123456789abcdef"[randomU64() & 15];
    name[JOB_NAME_LEN] = '\0';
}

static bool migrationJobsHasPassword(void) {
    sds password = configGet("primaryauth");
    bool has = password && sdslen(password);
    sdsfree(password);
    return has;
}

static bool migrationJobsModulesAllow(struct client *c) {
    const char *module = cluster_view_keeps_slots ? cluster_view_keeps_slots() : NULL;
    if (module)
        replyErrorFmt(c,
                      "ERR The module %s does not support atomic slot migrations. Please ensure all modules "
                      "have declared support for atomic slot migration and try again",
                      module);
    return !module;
}

bool jobMayBegin(struct client *c) {
    const struct topology *t = clusterTopology();
    bool imports = false;
    for (int i = 0; i < t->open_count; i++) imports |= t->open[i].from != NULL;
    if (!migrationJobsModulesAllow(c)) return false;
    if (nodeIsReplica(t->myself))
        replyError(c, "ERR Slot migration can only be used on primary nodes.");
    else if (t->open_count)
        replyErrorFmt(c, "ERR Slots are being manually %s", imports ? "imported" : "migrated");
    else
        return true;
    return false;
}

void clusterMigrateslotsCommand(struct client *c) {
    struct migrateSlotsRequest request = {.count = 0};
    if (!jobMayBegin(c)) return;
    for (int i = 2; i < c->argc;) {
        i = migrationJobsParseGroup(c, i, &request);
        if (i < 0) return;
    }
    struct migrationJob *jobs[GROUPS_MAX];
    for (int i = request.count - 1; i >= 0; i--) { /* in reverse, so that the first one is shown first */
        char name[JOB_NAME_LEN + 1];
        migrationJobsMakeName(name);
        jobs[i] = jobAdd(true, migrationJobsHasPassword(), name, &request.slots[i], clusterMyself()->id,
                         request.target[i]->id);
    }
    for (int i = 0; i < request.count; i++) {
        jobNotifyModules(jobs[i], EVENT_IMPORT_STARTED);
        exportStart(jobs[i]);
    }
    replyOk(c);
}

void clusterCancelslotmigrationsCommand(struct client *c) {
    int cancelled = 0;
    forEachActiveJob(job) {
        if (!job->m.export) continue;
        enum migrationState before = job->m.state;
        migrationJobsFinishStep(job, before, migrationCancel(&job->m, clusterNow()));
        cancelled++;
    }
    if (cancelled)
        replyOk(c);
    else
        replyError(c, "ERR No migrations ongoing");
}

/* ---- GETSLOTMIGRATIONS ---- */

static void migrationJobsReplyField(struct client *c, const char *name, const char *value) {
    replyBulk(c, strOf(name));
    replyBulk(c, strOf(value));
}
static void migrationJobsReplyFieldInt(struct client *c, const char *name, int64_t value) {
    replyBulk(c, strOf(name));
    replyLongLong(c, value);
}

void clusterGetslotmigrationsCommand(struct client *c) {
    replyArrayLen(c, (int64_t)migration_jobs.length);
    forEachJob(job) {
        bool known = *job->source;
        replyMapLen(c, known ? 12 : 10);
        migrationJobsReplyField(c, "name", job->name);
        migrationJobsReplyField(c, "operation", job->m.export ? "EXPORT" : "IMPORT");
        migrationJobsReplyField(c, "slot_ranges", job->ranges);
        if (known) migrationJobsReplyField(c, "target_node", job->target);
        if (known) migrationJobsReplyField(c, "source_node", job->source);
        migrationJobsReplyFieldInt(c, "create_time", job->m.created_ms / 1000);
        migrationJobsReplyFieldInt(c, "last_update_time", job->m.updated_ms / 1000);
        migrationJobsReplyFieldInt(c, "last_ack_time", job->m.received_ms / 1000);
        migrationJobsReplyField(c, "state", migrationStateName(job->m.state));
        migrationJobsReplyField(c, "message", job->m.message);
        migrationJobsReplyFieldInt(c, "cow_size", (int64_t)job->cow_bytes);
        migrationJobsReplyFieldInt(c, "remaining_repl_size", job->m.export ? (int64_t)exportQueued(job) : 0);
    }
}

void migrationJobsInit(void) {
    listInit(&migration_jobs);
    cronRegister(migrationJobsTick, TICK_MS);
    notifyAddFlushSink(migrationJobsOnFlush);
    roleOnChange(migrationJobsOnRoleChange);
    importInit();
    trackInit();
    migrationInfoInit();
}
