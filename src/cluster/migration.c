/* SPDX-License-Identifier: BSD-3-Clause */
/* migration.c - see migration.h. */
#include "cluster/migration.h"

#include <stddef.h>

#include "base/assert.h"

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
    serverAssert(state <= MIGRATION_CANCELLED);
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
                            .sent_ms = now_ms};
}

void migrationTrackBegin(struct migration *m, int64_t now_ms) {
    migrationBegin(m, false, false, now_ms);
    m->state = IMPORT_TRACKED;
}

static void migrationSetState(struct migration *m, enum migrationState state, int64_t now_ms) {
    m->state = state;
    m->updated_ms = now_ms;
}

static unsigned migrationFinish(struct migration *m, enum migrationState how, const char *message,
                                int64_t now_ms) {
    bool delete_keys = !m->export && how != MIGRATION_SUCCESS;
    migrationSetState(m, how, now_ms);
    m->message = message;
    return DO_END | (delete_keys ? DO_DELETE_KEYS : 0);
}

void migrationTrackEnd(struct migration *m, enum migrationState how, const char *message, int64_t now_ms) {
    serverAssert(how >= MIGRATION_SUCCESS && message);
    if (m->state == IMPORT_TRACKED) migrationFinish(m, how, message, now_ms);
}

unsigned migrationFail(struct migration *m, const char *message, int64_t now_ms) {
    serverAssert(message);
    return migrationHasEnded(m) ? 0 : migrationFinish(m, MIGRATION_FAILED, message, now_ms);
}

unsigned migrationCancel(struct migration *m, int64_t now_ms) {
    return migrationHasEnded(m) ? 0 : migrationFinish(m, MIGRATION_CANCELLED, "", now_ms);
}

/* The steps from one state to the next. */
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

static unsigned migrationEndPause(struct migration *m, int64_t now_ms) {
    if (m->state == EXPORT_PAUSED) return migrationFail(m, "Unpaused before failover completed", now_ms);
    if (m->state != EXPORT_GRANTED) return 0;
    return migrationFail(
        m, "Unpaused before migration completed (migration may have succeeded with lost writes)", now_ms);
}

/* A source that has granted waits for the claim: the target closes the link when it has everything. */
static unsigned migrationLoseConnection(struct migration *m, int64_t now_ms) {
    if (m->state == EXPORT_GRANTED) return 0;
    return migrationFail(m, m->export ? lost_target : lost_source, now_ms);
}

/* Handles events that are valid in any state, or end the migration. Returns true if the event was one;
 * *actions is what has to be done. */
static bool migrationStepAnywhere(struct migration *m, enum migrationEvent event, int64_t now_ms,
                                  unsigned *actions) {
    *actions = 0;
    switch (event) {
    case EV_PAUSE_ENDED: *actions = migrationEndPause(m, now_ms); return true;
    case EV_LOST: *actions = migrationLoseConnection(m, now_ms); return true;
    case EV_TARGET_OWNS:
        *actions = m->state == EXPORT_GRANTED
                       ? migrationFinish(m, MIGRATION_SUCCESS, "", now_ms)
                       : migrationFail(m, "Slots are no longer owned by myself", now_ms);
        return true;
    case EV_OWNER_LOST:
        *actions = migrationFail(
            m, m->export ? "Slots are no longer owned by myself" : "Slots are no longer owned by source node",
            now_ms);
        return true;
    case EV_CONNECTED:
        if (m->state != EXPORT_CONNECTING) return false;
        migrationSetState(m, m->auth ? EXPORT_AUTH : EXPORT_ESTABLISH, now_ms);
        *actions = m->auth ? DO_SEND_AUTH : DO_SEND_ESTABLISH;
        return true;
    case MSG_GRANTED:
        if (m->state != IMPORT_REQUESTED || now_ms - m->updated_ms <= MIGRATION_FRESH_MS) return false;
        *actions = migrationFail(m, "The source has granted, but it may write again since then", now_ms);
        return true;
    case EV_MAY_CLAIM:
        if (m->state != IMPORT_GRANTED) return false;
        *actions = DO_TAKE_SLOTS | migrationFinish(m, MIGRATION_SUCCESS, "", now_ms);
        return true;
    case MSG_ACK: return m->state != IMPORT_WAITING_ACK;
    default: return false;
    }
}

unsigned migrationStep(struct migration *m, enum migrationEvent event, int64_t now_ms) {
    unsigned actions;
    if (!migrationIsActive(m)) return 0;
    if (event >= MSG_ACK || event == EV_OK || event == EV_CONNECTED) m->received_ms = now_ms;
    if (migrationStepAnywhere(m, event, now_ms, &actions)) return actions;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i].event != event || steps[i].from != m->state) continue;
        serverAssert(steps[i].to > steps[i].from);
        migrationSetState(m, steps[i].to, now_ms);
        return steps[i].actions;
    }
    return migrationFail(m, "Unexpected state machine transition", now_ms);
}

/* A target to which the slots were granted need not send anything more. */
static bool migrationExpectsInput(const struct migration *m) {
    return m->state != EXPORT_GRANTED;
}

/* While a child sends the snapshot, this process sends nothing. */
static bool migrationSendsAcks(const struct migration *m) {
    if (m->state == EXPORT_SNAPSHOTTING) return false;
    return m->export ? m->state >= EXPORT_WAITING_TO_SNAPSHOT : m->state >= IMPORT_RECEIVING;
}

unsigned migrationTick(struct migration *m, int64_t timeout_ms, int64_t now_ms) {
    if (!migrationIsActive(m)) return 0;
    if (migrationExpectsInput(m) && now_ms - m->received_ms > timeout_ms)
        return migrationFail(m, "Timed out after too long with no interaction", now_ms);
    if (!migrationSendsAcks(m) || now_ms - m->sent_ms < MIGRATION_ACK_MS) return 0;
    m->sent_ms = now_ms;
    return DO_SEND_ACK;
}
