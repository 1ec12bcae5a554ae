/* SPDX-License-Identifier: BSD-3-Clause */
/* migration.h - one atomic migration of slots, as a state machine: what each side sends and does at each
 * step. Messages and time go in, actions come out; migration_jobs.c has the sockets, children and data.
 *
 *     source (export)                                   target (import)
 *     connecting
 *     reading-auth-response         AUTH ─▶
 *     reading-establish-response    ESTABLISH ─▶ ◀─ +OK waiting-for-ack
 *     waiting-to-snapshot           ACK ─▶              receiving-snapshot
 *     snapshotting                  keys, SNAPSHOT-EOF ─▶
 *     replicating                   ◀─ REQUEST-PAUSE    waiting-for-paused
 *     waiting-to-pause              changes ─▶
 *     failover-paused               PAUSED ─▶           waiting-for-paused: for its replica, and most voters
 *     failover-granted              ◀─ REQUEST-FAILOVER failover-requested
 *                                   FAILOVER-GRANTED ─▶ failover-granted
 *     success                       (its claim, by the bus)
 *
 * Invariant: until FAILOVER-GRANTED the source is the owner, and a failure of either side keeps it the owner.
 * After that it writes nothing until it learns of the new owner or its pause ends. When the pause ends, it
 * reclaims the slots with an epoch above any that the target may have claimed with; if it does not reach most
 * voters it cannot know, and the greater epoch decides.
 *
 * Before the target requests the slots, a replica of its own has their keys, and before it takes them,
 * its append-only file has them. So whichever node dies then, what the source's replica has acknowledged
 * is kept. A target whose replicas do not answer requests the slots after MIGRATION_REPLICA_MS
 * nevertheless. A target that most voters do not answer fails after MIGRATION_VOTERS_MS, and has
 * requested nothing (engineReserveEpoch). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum migrationState {
    EXPORT_CONNECTING,
    EXPORT_AUTH,
    EXPORT_ESTABLISH,
    EXPORT_WAITING_TO_SNAPSHOT,
    EXPORT_SNAPSHOTTING,
    EXPORT_REPLICATING,
    EXPORT_WAITING_TO_PAUSE,
    EXPORT_PAUSED,
    EXPORT_GRANTED,
    IMPORT_WAITING_ACK,
    IMPORT_RECEIVING,
    IMPORT_WAITING_PAUSED,
    IMPORT_PAUSED, /* the source has stopped writing; waits for a replica of this node and for voters */
    IMPORT_REQUESTED,
    IMPORT_GRANTED,
    IMPORT_TRACKED, /* by this node's primary, or read from a file: only its end is processed here */
    MIGRATION_SUCCESS,
    MIGRATION_FAILED,
    MIGRATION_CANCELLED
};

enum migrationEvent {
    EV_CONNECTED,
    EV_OK, /* the answer to AUTH or ESTABLISH */
    EV_SNAPSHOT_BEGUN,
    EV_SNAPSHOT_SENT,
    EV_DRAINED,     /* the output that the state needs has been sent */
    EV_PAUSE_ENDED, /* its time is over */
    EV_LOST,        /* the connection */
    EV_REPLICATED,  /* a replica of this node has the imported keys, or there is no replica */
    EV_MAY_CLAIM,   /* the granted slots may be claimed */
    EV_TARGET_OWNS,
    EV_OWNER_LOST, /* another node than the target owns the slots */
    MSG_ACK,
    MSG_SNAPSHOT_EOF,
    MSG_REQUEST_PAUSE,
    MSG_PAUSED,
    MSG_REQUEST_FAILOVER,
    MSG_GRANTED
};

/* Actions, to be done in this order. */
enum {
    DO_SEND_AUTH = 1 << 0,
    DO_SEND_ESTABLISH = 1 << 1,
    DO_SEND_ACK = 1 << 2,
    DO_SEND_SNAPSHOT_EOF = 1 << 3,
    DO_SEND_REQUEST_PAUSE = 1 << 4,
    DO_PAUSE = 1 << 5, /* writes, for twice cluster-manual-failover-timeout */
    DO_SEND_PAUSED = 1 << 6,
    DO_ASK_REPLICAS = 1 << 7, /* for what they have */
    DO_SEND_REQUEST_FAILOVER = 1 << 8,
    DO_EXTEND_PAUSE = 1 << 9, /* to at least MIGRATION_GRANTED_MS from now */
    DO_SEND_GRANTED = 1 << 10,
    DO_TAKE_SLOTS = 1 << 11,
    DO_DELETE_KEYS = 1 << 12, /* the imported ones */
    DO_END = 1 << 13          /* closes the link, ends the pause and the child, if there are any */
};
#define MIGRATION_GRANTED_MS 2000
#define MIGRATION_REPLICA_MS 1000 /* greatest wait of the target for its replica */
#define MIGRATION_VOTERS_MS  2000 /* greatest wait of the target for most primaries */
#define MIGRATION_FRESH_MS   1000 /* greatest age of a grant, since its request */
#define MIGRATION_ACK_MS     1000

struct migration {
    enum migrationState state;
    bool export, auth;       /* auth: a password is sent */
    const char *message;     /* why it has failed; "" before; a static string */
    int64_t paused_until_ms; /* end of a source's pause */
    int64_t created_ms, updated_ms, received_ms, sent_ms;
};

/* Begins in the state connecting, or waiting-for-ack. */
void migrationBegin(struct migration *m, bool export, bool auth, int64_t now_ms);
/* migrationTrackBegin begins in the state occurring-on-primary; migrationTrackEnd takes the end that the
 * primary announced and its reason. */
void migrationTrackBegin(struct migration *m, int64_t now_ms);
void migrationTrackEnd(struct migration *m, enum migrationState end, const char *message, int64_t now_ms);
/* Return the actions to be done. */
unsigned migrationStep(struct migration *m, enum migrationEvent event, int64_t now_ms);
unsigned migrationTick(struct migration *m, int64_t timeout_ms, int64_t now_ms);
unsigned migrationFail(struct migration *m, const char *message, int64_t now_ms); /* 0 if it has ended */
unsigned migrationCancel(struct migration *m, int64_t now_ms);
static inline bool migrationHasEnded(const struct migration *m) {
    return m->state >= MIGRATION_SUCCESS;
}
/* Returns whether this node takes part in the migration. */
static inline bool migrationIsActive(const struct migration *m) {
    return m->state < IMPORT_TRACKED;
}
const char *migrationStateName(enum migrationState state);
