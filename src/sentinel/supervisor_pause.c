/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_pause.c - nothing that a primary with min-replicas-sync N has acknowledged is lost by a
 * failover, even if it only hung and goes on in the middle of it.
 *
 *     REPLICAOF ACK PAUSE ─▶ each replica ─▶ OK, then INFO: its offset ─▶ R - N + 1 of R have reported?
 *                                                                                 │ the most of them
 *     REPLICAOF the promoted one ─▶ the others ◀── SLAVEOF NO ONE ◀── candidate ◀─┘
 *
 * The primary acknowledges what N replicas have acknowledged. Any N of R include one of any R - N + 1. So
 * what was acknowledged up to now is on one that has reported, and the candidate has at least as much; and
 * after now there are only N - 1 left that acknowledge to the old primary, which therefore acknowledges
 * nothing. The pauses hold until the replicas follow the promoted one, and are renewed until then.
 *
 * Offsets mean the same only within one history, which has a replication ID. So a replica that has followed
 * the old primary has more than one that has only followed its predecessor, and that one has more than any
 * other: what a former primary alone has got may be many bytes, and is to be dropped.
 *
 * Servers that do not know the order (of other projects, older ones of ours) are failed over as before. */
#include "sentinel/supervisor_private.h"

#define RENEW_MS 1000
#define SURE_MS  10000 /* how long an order that was obeyed is relied on; replicas obey for longer */

int pauseSyncReplicas(const struct instance *primary) {
    const struct primaryState *p = &primary->p;
    if (p->sync_replicas >= 0) return p->sync_replicas;
    int least = 0; /* the safe side: the fewer replicas have it, the more have to be asked */
    for (int i = 0; i < p->replicas.count; i++) {
        int n = p->replicas.items[i]->r.sync_replicas;
        if (n && (!least || n < least)) least = n;
    }
    return least;
}

static bool supervisorPauseIsWanted(const struct instance *primary) {
    const struct primaryState *p = &primary->p;
    return p->failover_state >= FAILOVER_SELECT_REPLICA && p->failover_state <= FAILOVER_RECONF_REPLICAS &&
           !p->handing_over && pauseSyncReplicas(primary);
}

/* A channel that was opened since may lead to a process that was started since. */
static bool supervisorPauseIsSure(const struct supervisor *s, const struct instance *replica) {
    const struct peerLink *link = replica->link;
    return replica->r.acks >= ACKS_PAUSED && link->channel[CHANNEL_COMMAND] &&
           link->since_ms[CHANNEL_COMMAND] == replica->r.pause_channel_ms &&
           s->now_ms - replica->r.pause_sure_ms <= SURE_MS;
}

static bool supervisorPauseHasReported(const struct supervisor *s, const struct instance *replica) {
    return replica->r.acks == ACKS_REPORTED && supervisorPauseIsSure(s, replica);
}

void pauseBegin(struct instance *primary) {
    primary->p.pause_logged = NULL;
    for (int i = 0; i < primary->p.replicas.count; i++) primary->p.replicas.items[i]->r.acks = ACKS_GO_ON;
}

/* ---- Orders ---- */

static void supervisorPauseSend(struct supervisor *s, struct instance *replica, enum peerRequest what,
                                const char *order) {
    instanceSend(s, replica, what, 3, (struct str[]){STR("SLAVEOF"), STR("ACK"), strOf(order)});
}

/* Pauses the replica, or renews that, unless it is the promoted one or follows that one already. */
static void supervisorPauseOrder(struct supervisor *s, struct instance *replica) {
    const unsigned moved = FLAG_PROMOTED | FLAG_RECONF_SENT | FLAG_RECONF_INPROG | FLAG_RECONF_DONE;
    bool is_promoted = replica->primary->p.failover_state >= FAILOVER_WAIT_PROMOTION; /* or will be */
    if (is_promoted && replica->flags & moved) return;
    if (!failoverIsReachable(replica) || linkAwaits(replica->link, REQ_PAUSE)) return;
    if (replica->r.acks >= ACKS_PAUSED && !supervisorPauseIsSure(s, replica)) replica->r.acks = ACKS_GO_ON;
    if (replica->r.acks != ACKS_GO_ON && s->now_ms - replica->r.pause_asked_ms < RENEW_MS) return;
    replica->r.pause_asked_ms = s->now_ms;
    supervisorPauseSend(s, replica, REQ_PAUSE, "PAUSE");
}

void pauseTick(struct supervisor *s, struct instance *primary) {
    if (!supervisorPauseIsWanted(primary)) return;
    for (int i = 0; i < primary->p.replicas.count; i++) supervisorPauseOrder(s, primary->p.replicas.items[i]);
}

void pauseEnd(struct supervisor *s, struct instance *primary) {
    for (int i = 0; i < primary->p.replicas.count; i++) {
        struct instance *replica = primary->p.replicas.items[i];
        bool paused = replica->r.acks >= ACKS_PAUSED || linkAwaits(replica->link, REQ_PAUSE);
        if (paused && failoverIsReachable(replica)) supervisorPauseSend(s, replica, REQ_OTHER, "RESUME");
        replica->r.acks = ACKS_GO_ON;
    }
}

void pauseEndForgotten(struct supervisor *s, struct instance *replica) {
    if (!failoverIsReachable(replica)) return;
    supervisorPauseSend(s, replica, REQ_OTHER, "RELEASE");
    supervisorLog(s, LL_NOTICE, "%s acknowledges to its primary again: its pause was forgotten",
                  replica->name);
}

/* ---- Answers ---- */

/* An INFO that is requested now reports the offset after the pause began. Errors other than ERR (LOADING,
 * NOPERM) say nothing about the next time. */
void pauseProcessReply(struct supervisor *s, struct instance *replica, const struct respReply *reply) {
    struct sentinelReplicaState *r = &replica->r;
    const struct instance *primary = replica->primary;
    if (!supervisorPauseIsWanted(primary) || r->pause_asked_ms < primary->p.failover_begun_ms) return;
    if (reply->type == RESP_T_STATUS) {
        r->pause_sure_ms = r->pause_asked_ms;
        r->pause_channel_ms = replica->link->since_ms[CHANNEL_COMMAND];
        if (r->acks >= ACKS_PAUSED) return;
        r->acks = ACKS_PAUSED;
        instanceSend(s, replica, REQ_INFO, 1, (struct str[]){STR("INFO")});
    } else {
        bool unknown = reply->type == RESP_T_ERROR && strStarts(reply->str, STR("ERR "));
        r->acks = unknown ? ACKS_UNPAUSABLE : ACKS_GO_ON;
    }
}

void pauseProcessInfo(struct instance *replica) {
    if (replica->r.acks == ACKS_PAUSED) replica->r.acks = ACKS_REPORTED;
}

bool pauseAwaits(const struct supervisor *s, const struct instance *replica) {
    if (!supervisorPauseIsWanted(replica->primary) || replica->r.acks == ACKS_UNPAUSABLE) return false;
    return !supervisorPauseHasReported(s, replica);
}

/* ---- The rule ---- */

/* Sets how much of the history with that ID the replica has. Returns false if it has none of it. */
static bool supervisorPauseOffsetIn(const struct instance *replica, const char *id, uint64_t *offset) {
    const struct sentinelReplicaState *r = &replica->r;
    bool follows = strcmp(replica->replid, id) == 0, left = strcmp(replica->replid2, id) == 0;
    *offset = r->repl_offset;
    if (!follows && r->fork_offset && r->fork_offset - 1 < *offset) *offset = r->fork_offset - 1;
    return *id && (follows || left);
}

bool pauseHasMore(const struct instance *a, const struct instance *b) {
    const struct instance *primary = a->primary;
    const char *ids[] = {primary->replid, primary->replid2};
    for (int i = 0; i < 2; i++) {
        uint64_t offset_a, offset_b;
        bool has_a = supervisorPauseOffsetIn(a, ids[i], &offset_a);
        bool has_b = supervisorPauseOffsetIn(b, ids[i], &offset_b);
        if (has_a != has_b) return has_a;
        if (has_a) return offset_a > offset_b;
    }
    return a->r.repl_offset > b->r.repl_offset;
}

/* Returns whether no replica that has reported has more than the candidate. */
static bool supervisorPauseHasMost(const struct supervisor *s, const struct instance *primary,
                                   const struct instance *candidate) {
    for (int i = 0; i < primary->p.replicas.count; i++) {
        const struct instance *r = primary->p.replicas.items[i];
        if (supervisorPauseHasReported(s, r) && pauseHasMore(r, candidate)) return false;
    }
    return true;
}

static void supervisorPauseLog(struct supervisor *s, struct instance *primary, const char *what, int reported,
                               int needed) {
    if (primary->p.pause_logged == what) return;
    primary->p.pause_logged = what;
    supervisorLog(s, LL_WARNING,
                  "Failover of '%s': %d of %d replicas have stopped acknowledging, %d are needed with "
                  "min-replicas-sync %d; %s",
                  primary->name, reported, primary->p.replicas.count, needed, pauseSyncReplicas(primary),
                  what);
}

bool pauseAllowsPromotion(struct supervisor *s, struct instance *primary, const struct instance *candidate) {
    const struct primaryState *p = &primary->p;
    if (!supervisorPauseIsWanted(primary)) return true;
    int needed = p->replicas.count - pauseSyncReplicas(primary) + 1, reported = 0, unpausable = 0;
    if (needed < 1) needed = 1;
    for (int i = 0; i < p->replicas.count; i++) {
        reported += supervisorPauseHasReported(s, p->replicas.items[i]);
        unpausable += p->replicas.items[i]->r.acks == ACKS_UNPAUSABLE;
    }
    bool has_most = supervisorPauseHasMost(s, primary, candidate);
    if (reported >= needed && has_most) return true;
    if (reported < needed && reported + unpausable >= needed && has_most) {
        supervisorPauseLog(s, primary, "the others do not know REPLICAOF ACK, so it goes on without",
                           reported, needed);
        return true;
    }
    bool anyway = primary->flags & FLAG_FORCE_FAILOVER || p->unclean_failover;
    supervisorPauseLog(s, primary,
                       anyway     ? "it goes on, and may lose acknowledged writes"
                       : has_most ? "it waits for them (with unclean-failover yes, it goes on)"
                                  : "it waits, as the one that has most cannot be promoted",
                       reported, needed);
    return anyway;
}
