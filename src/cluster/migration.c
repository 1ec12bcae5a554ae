/* SPDX-License-Identifier: BSD-3-Clause */
/* migration.c - see migration.h. */
#include "cluster/migration.h"

#include <stddef.h>

static const char lost_source[] =
    "Connection lost to source. Check CLUSTER GETSLOTMIGRATIONS on the source node for more information.";
static const char lost_target[] =
    "Connection lost to target. Check CLUSTER GETSLOTMIGRATIONS on the target node for more information.";

const char *migrationStateName(enum migrationState state) {
    static const char *const names[] = {
        [EXPORT_CONNECTING] = "connecting",
        [EXPORT_AUTH] = "reading-auth-response",
        [EXPORT_ESTABLISH] = "reading-establish-response",
        [EXPORT_WAITING_TO_SNAPSHOT] = "waiting-to-snapshot",
        [EXPORT_SNAPSHOTTING] = "snapshotting",
        [EXPORT_REPLICATING] = "replicating",
        [EXPORT_WAITING_TO_PAUSE] = "waiting-to-pause",
        [EXPORT_PAUSED] = "failover-paused",
        [EXPORT_GRANTED] = "failover-granted",
        [IMPORT_WAITING_ACK] = "waiting-for-ack",
        [IMPORT_RECEIVING] = "receiving-snapshot",
        [IMPORT_WAITING_PAUSED] = "waiting-for-paused",
        [IMPORT_PAUSED] = "waiting-for-paused",
        [IMPORT_REQUESTED] = "failover-requested",
        [IMPORT_GRANTED] = "failover-granted",
        [IMPORT_TRACKED] = "occurring-on-primary",
        [MIGRATION_SUCCESS] = "success",
        [MIGRATION_FAILED] = "failed",
        [MIGRATION_CANCELLED] = "cancelled",
    };
    return names[state];
}

void migrationBegin(struct migration *m, bool export, bool auth, int64_t now_ms) {
    *m = (struct migration){.state = export ? EXPORT_CONNECTING : IMPORT_WAITING_ACK,
                            .export = export,
                            .auth = auth,
                            .message = "",
                            .created_ms = now_ms,
                            .updated_ms = now_ms,
                            .received_ms = now_ms,
                            .said_ms = now_ms};
}

void migrationTrack(struct migration *m, int64_t now_ms) {
    migrationBegin(m, false, false, now_ms);
    m->state = IMPORT_TRACKED;
}

static void migrationEnter(struct migration *m, enum migrationState state, int64_t now_ms) {
    m->state = state;
    m->updated_ms = now_ms;
}

static unsigned migrationEnd(struct migration *m, enum migrationState how, const char *message,
                             int64_t now_ms) {
    bool cleans = !m->export && how != MIGRATION_SUCCESS;
    migrationEnter(m, how, now_ms);
    m->message = message;
    return DO_END | (cleans ? DO_DELETE_KEYS : 0);
}

void migrationTold(struct migration *m, enum migrationState how, const char *message, int64_t now_ms) {
    if (m->state == IMPORT_TRACKED) migrationEnd(m, how, message, now_ms);
}

unsigned migrationFail(struct migration *m, const char *message, int64_t now_ms) {
    return migrationEnded(m) ? 0 : migrationEnd(m, MIGRATION_FAILED, message, now_ms);
}

unsigned migrationCancel(struct migration *m, int64_t now_ms) {
    return migrationEnded(m) ? 0 : migrationEnd(m, MIGRATION_CANCELLED, "", now_ms);
}

/* What leads from one state to the next. */
static const struct {
    enum migrationEvent event;
    enum migrationState from, to;
    unsigned actions;
} steps[] = {
    {EV_OK, EXPORT_AUTH, EXPORT_ESTABLISH, DO_SEND_ESTABLISH},
    {EV_OK, EXPORT_ESTABLISH, EXPORT_WAITING_TO_SNAPSHOT, DO_SEND_ACK},
    {EV_SNAPSHOT_BEGUN, EXPORT_WAITING_TO_SNAPSHOT, EXPORT_SNAPSHOTTING, 0},
    {EV_SNAPSHOT_SENT, EXPORT_SNAPSHOTTING, EXPORT_REPLICATING, DO_SEND_SNAPSHOT_EOF},
    {MSG_REQUEST_PAUSE, EXPORT_REPLICATING, EXPORT_WAITING_TO_PAUSE, 0},
    {EV_DRAINED, EXPORT_WAITING_TO_PAUSE, EXPORT_PAUSED, DO_PAUSE | DO_SEND_PAUSED},
    {MSG_REQUEST_FAILOVER, EXPORT_PAUSED, EXPORT_GRANTED, DO_EXTEND_PAUSE | DO_SEND_GRANTED},
    {MSG_ACK, IMPORT_WAITING_ACK, IMPORT_RECEIVING, 0},
    {MSG_SNAPSHOT_EOF, IMPORT_RECEIVING, IMPORT_WAITING_PAUSED, DO_SEND_REQUEST_PAUSE},
    {MSG_PAUSED, IMPORT_WAITING_PAUSED, IMPORT_PAUSED, DO_ASK_REPLICAS},
    {EV_REPLICATED, IMPORT_PAUSED, IMPORT_REQUESTED, DO_SEND_REQUEST_FAILOVER},
    {MSG_GRANTED, IMPORT_REQUESTED, IMPORT_GRANTED, 0},
};

static unsigned migrationPauseEnded(struct migration *m, int64_t now_ms) {
    if (m->state == EXPORT_PAUSED) return migrationFail(m, "Unpaused before failover completed", now_ms);
    if (m->state != EXPORT_GRANTED) return 0;
    return migrationFail(
        m, "Unpaused before migration completed (migration may have succeeded with lost writes)", now_ms);
}

/* Who has granted waits for the claim: the other one closes when it has all. */
static unsigned migrationLost(struct migration *m, int64_t now_ms) {
    if (m->state == EXPORT_GRANTED) return 0;
    return migrationFail(m, m->export ? lost_target : lost_source, now_ms);
}

/* True: the event is good in any state, or in one in which it ends; *actions is what is to be done. */
static bool migrationStepAnywhere(struct migration *m, enum migrationEvent event, int64_t now_ms,
                                  unsigned *actions) {
    *actions = 0;
    switch (event) {
    case EV_PAUSE_ENDED: *actions = migrationPauseEnded(m, now_ms); return true;
    case EV_LOST: *actions = migrationLost(m, now_ms); return true;
    case EV_TARGET_OWNS:
        *actions = m->state == EXPORT_GRANTED
                       ? migrationEnd(m, MIGRATION_SUCCESS, "", now_ms)
                       : migrationFail(m, "Slots are no longer owned by myself", now_ms);
        return true;
    case EV_OWNER_LOST:
        *actions = migrationFail(
            m, m->export ? "Slots are no longer owned by myself" : "Slots are no longer owned by source node",
            now_ms);
        return true;
    case EV_CONNECTED:
        if (m->state != EXPORT_CONNECTING) return false;
        migrationEnter(m, m->auth ? EXPORT_AUTH : EXPORT_ESTABLISH, now_ms);
        *actions = m->auth ? DO_SEND_AUTH : DO_SEND_ESTABLISH;
        return true;
    case MSG_GRANTED:
        if (m->state != IMPORT_REQUESTED || now_ms - m->updated_ms <= MIGRATION_FRESH_MS) return false;
        *actions = migrationFail(m, "The source has granted, but it may write again since then", now_ms);
        return true;
    case EV_MAY_CLAIM:
        if (m->state != IMPORT_GRANTED) return false;
        *actions = DO_TAKE_SLOTS | migrationEnd(m, MIGRATION_SUCCESS, "", now_ms);
        return true;
    case MSG_ACK: return m->state != IMPORT_WAITING_ACK;
    default: return false;
    }
}

unsigned migrationStep(struct migration *m, enum migrationEvent event, int64_t now_ms) {
    unsigned actions;
    if (!migrationRuns(m)) return 0;
    if (event >= MSG_ACK || event == EV_OK || event == EV_CONNECTED) m->received_ms = now_ms;
    if (migrationStepAnywhere(m, event, now_ms, &actions)) return actions;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i].event != event || steps[i].from != m->state) continue;
        migrationEnter(m, steps[i].to, now_ms);
        return steps[i].actions;
    }
    return migrationFail(m, "Unexpected state machine transition", now_ms);
}

/* From whom has granted, nothing more is expected. */
static bool migrationExpectsWords(const struct migration *m) {
    return m->state != EXPORT_GRANTED;
}

/* While a child makes the snapshot it has the word. */
static bool migrationSays(const struct migration *m) {
    if (m->state == EXPORT_SNAPSHOTTING) return false;
    return m->export ? m->state >= EXPORT_WAITING_TO_SNAPSHOT : m->state >= IMPORT_RECEIVING;
}

unsigned migrationTick(struct migration *m, int64_t timeout_ms, int64_t now_ms) {
    if (!migrationRuns(m)) return 0;
    if (migrationExpectsWords(m) && now_ms - m->received_ms > timeout_ms)
        return migrationFail(m, "Timed out after too long with no interaction", now_ms);
    if (!migrationSays(m) || now_ms - m->said_ms < MIGRATION_ACK_MS) return 0;
    m->said_ms = now_ms;
    return DO_SEND_ACK;
}
