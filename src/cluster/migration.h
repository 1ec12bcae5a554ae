/* SPDX-License-Identifier: BSD-3-Clause */
/* migration.h - one atomic migration of slots, as a state machine: what each side says and does when.
 * Messages and time go in, actions come out; sockets, children and data are migration_jobs.c's.
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
 * Invariant: up to FAILOVER-GRANTED the source is the owner, and a failure of either side leaves it so. From
 * then on it writes nothing until it hears of the new owner, or its pause is over: then it takes the slots
 * back, by an epoch above any that an unheard claim has; where it does not reach most voters, it does not
 * know, and the greater epoch decides.
 *
 * Before the target asks for the slots, a replica of its own has their keys, and before it takes them, its
 * append-only file: whoever dies then, what the source's replica has acknowledged is there. A target whose
 * replicas do not answer asks after MIGRATION_REPLICA_MS all the same; one that most voters do not answer
 * fails after MIGRATION_VOTERS_MS, and has asked for nothing (engineReserveEpoch). */
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
    IMPORT_PAUSED, /* the source writes no more: does a replica of ours have it all, do voters answer? */
    IMPORT_REQUESTED,
    IMPORT_GRANTED,
    IMPORT_TRACKED, /* by our primary, or one that a file tells of: nothing happens here but its end */
    MIGRATION_SUCCESS,
    MIGRATION_FAILED,
    MIGRATION_CANCELLED
};

enum migrationEvent {
    EV_CONNECTED,
    EV_OK, /* to what was asked: AUTH, ESTABLISH */
    EV_SNAPSHOT_BEGUN,
    EV_SNAPSHOT_SENT,
    EV_DRAINED,     /* what is to be sent has been, as far as was asked for */
    EV_PAUSE_ENDED, /* by its time */
    EV_LOST,        /* the connection */
    EV_REPLICATED,  /* what was brought: a replica of ours has it, if there is one */
    EV_MAY_CLAIM,   /* what was granted */
    EV_TARGET_OWNS,
    EV_OWNER_LOST, /* somebody else owns the slots */
    MSG_ACK,
    MSG_SNAPSHOT_EOF,
    MSG_REQUEST_PAUSE,
    MSG_PAUSED,
    MSG_REQUEST_FAILOVER,
    MSG_GRANTED
};

enum { /* to be done, in this order */
       DO_SEND_AUTH = 1 << 0,
       DO_SEND_ESTABLISH = 1 << 1,
       DO_SEND_ACK = 1 << 2,
       DO_SEND_SNAPSHOT_EOF = 1 << 3,
       DO_SEND_REQUEST_PAUSE = 1 << 4,
       DO_PAUSE = 1 << 5, /* writes, for twice cluster-manual-failover-timeout */
       DO_SEND_PAUSED = 1 << 6,
       DO_ASK_REPLICAS = 1 << 7, /* what they have */
       DO_SEND_REQUEST_FAILOVER = 1 << 8,
       DO_EXTEND_PAUSE = 1 << 9, /* to MIGRATION_GRANTED_MS from now, at least */
       DO_SEND_GRANTED = 1 << 10,
       DO_TAKE_SLOTS = 1 << 11,
       DO_DELETE_KEYS = 1 << 12, /* what was imported */
       DO_END = 1 << 13          /* close, end the pause and the child: whatever there is of it */
};
#define MIGRATION_GRANTED_MS 2000
#define MIGRATION_REPLICA_MS 1000 /* at most, of the source's pause, a target waits for its replica */
#define MIGRATION_VOTERS_MS  2000 /* the same, for most primaries */
#define MIGRATION_FRESH_MS   1000 /* since it was asked for, a grant is good: who stood still has none */
#define MIGRATION_ACK_MS     1000

struct migration {
    enum migrationState state;
    bool export, auth;       /* a password is to be sent */
    const char *message;     /* why it has failed; "" before; of static life */
    int64_t paused_until_ms; /* the writes of a source */
    int64_t created_ms, updated_ms, received_ms, said_ms;
};

/* Begins as connecting, or as waiting-for-ack. */
void migrationBegin(struct migration *m, bool export, bool auth, int64_t now_ms);
/* Begins as occurring-on-primary; what was said of its end: success or not, and why. */
void migrationTrack(struct migration *m, int64_t now_ms);
void migrationTold(struct migration *m, enum migrationState end, const char *message, int64_t now_ms);
/* Both return what is to be done. */
unsigned migrationStep(struct migration *m, enum migrationEvent event, int64_t now_ms);
unsigned migrationTick(struct migration *m, int64_t timeout_ms, int64_t now_ms);
unsigned migrationFail(struct migration *m, const char *message, int64_t now_ms); /* it had not ended */
unsigned migrationCancel(struct migration *m, int64_t now_ms);
static inline bool migrationEnded(const struct migration *m) {
    return m->state >= MIGRATION_SUCCESS;
}
/* Does this node take part in it? */
static inline bool migrationRuns(const struct migration *m) {
    return m->state < IMPORT_TRACKED;
}
const char *migrationStateName(enum migrationState state);
