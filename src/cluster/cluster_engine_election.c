/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_election.c - a replica becomes the primary of its shard: when it tries, who votes for it,
 * and what it does when it has won.
 *
 *     primary FAIL ──▶ wait: a delay, longer the less we have ──▶ ask for votes ──▶ majority: take over
 *                            (a sibling with more wins meanwhile)            └────▶ time is up: later again
 *
 * Who wins gives its data to all others of the shard. So only a replica tries whose data came whole from the
 * history of this primary: not one that has never been synchronized with it, is being loaded, or came from
 * another shard; whatever the validity factor is, unless a user forces it.
 *
 * A vote is a promise for one epoch, made once, and kept on disk before it is given. So there is one winner
 * in an epoch at most (the idea of Raft's elections; Ongaro and Ousterhout 2014). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cluster/cluster_engine_private.h"

#define DELAY_DIVISOR  30
#define DELAY_MAX_MS   500
#define EMPTY_DELAY_MS 500 /* for one that never had any data */

static int64_t electionTimeout(const struct engine *e) {
    int64_t timeout = 2 * e->settings.node_timeout_ms;
    return timeout < ELECTION_TIMEOUT_MIN_MS ? ELECTION_TIMEOUT_MIN_MS : timeout;
}

static int64_t electionDelayUnit(const struct engine *e) {
    int64_t delay = e->settings.node_timeout_ms / DELAY_DIVISOR;
    return delay > DELAY_MAX_MS ? DELAY_MAX_MS : delay < 1 ? 1 : delay;
}

static bool electionManualRuns(const struct engine *e) {
    return e->manual.end_ms && e->manual.can_start;
}

/* ---- Ranks: how many should go first ---- */

static int electionReplicaRank(struct engine *e) {
    struct clusterNode *me = e->t.myself, *primary = me->primary;
    uint64_t offset = engineOffset(e);
    int rank = 0;
    for (int i = 0; i < primary->replica_count; i++) {
        struct clusterNode *n = primary->replicas[i];
        if (n == me || n->flags & NODE_NOFAILOVER) continue;
        rank += n->offset > offset || (n->offset == offset && memcmp(n->id, me->id, NODE_ID_LEN) < 0);
    }
    return rank;
}

/* Other primaries that failed lately, and have somebody to replace them, go in the order of their shards. */
static int electionPrimaryRank(struct engine *e) {
    struct clusterNode *mine = e->t.myself->primary;
    int64_t factor = e->settings.replica_validity_factor ? e->settings.replica_validity_factor : 10;
    int64_t lately = e->now_ms - e->settings.node_timeout_ms * factor;
    int rank = 0;
    for (int i = 0; i < e->t.count; i++) {
        struct clusterNode *n = e->t.nodes[i];
        if (n == mine || !nodeVotes(n) || !nodeFailed(n) || n->replica_count == 0 || n->fail_ms < lately)
            continue;
        rank += memcmp(n->shard_id, mine->shard_id, NODE_ID_LEN) < 0;
    }
    return rank;
}

/* Nobody in the shard has more than we have, and all of them know that the primary has failed: there is
 * nothing to wait for. */
static bool electionMayStartAtOnce(struct engine *e) {
    struct clusterNode *primary = e->t.myself->primary;
    if (e->election.rank || e->election.primary_rank || !engineOffset(e)) return false;
    for (int i = 0; i < primary->replica_count; i++) {
        struct clusterNode *n = primary->replicas[i];
        if (n != e->t.myself && !(n->flags & NODE_PRIMARY_FAIL)) return false;
    }
    return true;
}

/* ---- A replica's election ---- */

static void electionLogCannot(struct engine *e, enum cannotFailover reason) {
    static const char *const reasons[] = {
        [CANNOT_NOT_WHOLE] = "The data here did not come whole from my primary.",
        [CANNOT_DATA_AGE] =
            "The link to the primary has been down for longer than cluster-replica-validity-factor allows.",
        [CANNOT_WAITING_DELAY] = "The delay before the next election is not over.",
        [CANNOT_EXPIRED] = "Failover attempt expired.",
        [CANNOT_WAITING_VOTES] = "The majority has not voted yet."};
    struct engineElection *x = &e->election;
    if (reason == x->reason && e->now_ms - x->reason_ms < RELOG_MS) return;
    x->reason = reason;
    x->reason_ms = e->now_ms;
    engineLog(e, LL_NOTICE, "This replica cannot take over: %s", reasons[reason]);
    if (reason == CANNOT_WAITING_VOTES)
        engineLog(e, LL_NOTICE, "Votes needed: %d, votes received: %d", topologySureQuorum(&e->t), x->votes);
}

static bool electionCalledFor(const struct engine *e) {
    const struct clusterNode *primary = e->t.myself->primary;
    if (!primary || primary->slot_count == 0) return false;
    if (electionManualRuns(e)) return true;
    bool may = !e->settings.replica_no_failover && !e->settings.failover_is_others;
    return may && nodeFailed(primary);
}

uint64_t engineOffset(const struct engine *e) {
    struct engineReplication r = e->env->replication(e->w);
    return nodeIsReplica(e->t.myself) && !r.whole ? 0 : r.offset;
}

/* May our data be taken for the primary's? */
static enum cannotFailover electionDataVerdict(const struct engine *e) {
    int64_t timeout = e->settings.node_timeout_ms, factor = e->settings.replica_validity_factor;
    struct engineReplication r = e->env->replication(e->w);
    int64_t age = e->now_ms - r.data_ms;
    if (age > timeout) age -= timeout;
    if (electionManualRuns(e)) return CAN_FAILOVER;
    if (!r.whole) return CANNOT_NOT_WHOLE;
    bool fresh = !factor || age <= e->settings.repl_ping_period_s * 1000 + timeout * factor;
    return fresh ? CAN_FAILOVER : CANNOT_DATA_AGE;
}

static void electionPlan(struct engine *e) {
    struct engineElection *x = &e->election;
    int64_t unit = electionDelayUnit(e);
    *x = (struct engineElection){.start_ms = e->now_ms, .reason = x->reason, .reason_ms = x->reason_ms};
    if (electionManualRuns(e)) {
        x->force_ack = true;
        engineTodo(e, TODO_ELECTION);
        return;
    }
    x->rank = electionReplicaRank(e);
    x->primary_rank = electionPrimaryRank(e);
    uint64_t offset = engineOffset(e);
    if (electionMayStartAtOnce(e)) {
        x->force_ack = true;
        engineLog(e, LL_NOTICE, "This is the best ranked replica and can initiate the election immediately.");
        engineTodo(e, TODO_ELECTION);
    } else {
        x->start_ms += unit + (int64_t)(e->env->random(e->w) % (uint64_t)unit) + 2 * unit * x->rank +
                       unit * x->primary_rank + (offset ? 0 : EMPTY_DELAY_MS);
    }
    engineLog(e, LL_NOTICE,
              "Start of election delayed for %lld milliseconds (rank #%d, primary rank #%d, offset %llu).",
              (long long)(x->start_ms - e->now_ms), x->rank, x->primary_rank, (unsigned long long)offset);
    broadcastPong(e, TO_SHARD); /* so that the others know what we have */
}

/* Others may have turned out to have more. */
static void electionReplan(struct engine *e) {
    struct engineElection *x = &e->election;
    if (electionManualRuns(e)) return;
    int rank = electionReplicaRank(e), primary_rank = electionPrimaryRank(e);
    if (rank > x->rank) {
        int64_t added = 2 * electionDelayUnit(e) * (rank - x->rank);
        x->start_ms += added;
        engineLog(e, LL_NOTICE,
                  "This replica now ranks #%d, which delays its election by another %lld milliseconds", rank,
                  (long long)added);
    }
    if (primary_rank > x->primary_rank) {
        int64_t added = electionDelayUnit(e) * (primary_rank - x->primary_rank);
        x->start_ms += added;
        engineLog(e, LL_NOTICE,
                  "The failed primary now ranks #%d, which delays its election by another %lld milliseconds",
                  primary_rank, (long long)added);
    }
    x->rank = rank;
    x->primary_rank = primary_rank;
    if (x->start_ms > e->now_ms && electionMayStartAtOnce(e)) {
        x->start_ms = e->now_ms;
        x->force_ack = true;
        engineLog(e, LL_NOTICE, "Myself become the best ranked replica, initiate the election immediately.");
    }
}

static void electionStart(struct engine *e) {
    struct engineElection *x = &e->election;
    x->epoch = ++e->t.current_epoch;
    x->sent = true;
    x->votes = 0;
    engineLog(e, LL_NOTICE, "The election for epoch %llu begins; the configuration epoch is %llu",
              (unsigned long long)x->epoch, (unsigned long long)e->t.myself->primary->config_epoch);
    e->env->save(e->w, true); /* the same epoch must not be asked for again after a restart */
    messageBroadcast(e, messageBegin(e, BUS_AUTH_REQUEST, x->force_ack ? BUS_FORCE_ACK : 0));
}

void takeOver(struct engine *e) {
    struct clusterNode *me = e->t.myself, *old = me->primary;
    if (!old) return;
    engineLog(e, LL_NOTICE,
              "This node is the primary of shard %s after the failover; its former primary is %s",
              me->shard_id, nodeLogName(old));
    nodeBecomePrimary(&e->t, me);
    me->flags |= NODE_MIGRATE_TO;
    slotsInherit(e, old, me);
    e->env->follow(e->w, NULL, false);
    manualReset(e);
    e->election = (struct engineElection){0};
    e->env->save(e->w, true);
    broadcastPong(e, TO_ALL);
    engineTodo(e, TODO_STATE | TODO_SLOTS);
}

static void electionWon(struct engine *e) {
    engineLog(e, LL_NOTICE, "The election is won: this node is the new primary");
    struct clusterNode *me = e->t.myself;
    if (me->config_epoch < e->election.epoch) {
        me->config_epoch = e->election.epoch;
        engineLog(e, LL_NOTICE, "This node takes configuration epoch %llu after the failover",
                  (unsigned long long)me->config_epoch);
    }
    takeOver(e);
}

void electionTick(struct engine *e) {
    struct engineElection *x = &e->election;
    if (!electionCalledFor(e)) {
        x->reason = CAN_FAILOVER;
        return;
    }
    enum cannotFailover verdict = electionDataVerdict(e);
    if (verdict != CAN_FAILOVER) {
        electionLogCannot(e, verdict);
        return;
    }
    int64_t timeout = electionTimeout(e), age = e->now_ms - x->start_ms;
    if (!x->start_ms || age > 2 * timeout) {
        electionPlan(e);
        return;
    }
    if (!x->sent) electionReplan(e);
    if (e->now_ms < x->start_ms)
        electionLogCannot(e, CANNOT_WAITING_DELAY);
    else if (age > timeout)
        electionLogCannot(e, CANNOT_EXPIRED);
    else if (!x->sent)
        electionStart(e);
    else if (x->votes >= topologySureQuorum(&e->t))
        electionWon(e);
    else
        electionLogCannot(e, CANNOT_WAITING_VOTES);
}

void electionOvertaken(struct engine *e, const struct clusterNode *by, uint64_t epoch) {
    struct engineElection *x = &e->election;
    if (!x->sent || x->epoch > epoch || by == e->t.myself) return;
    engineLog(e, LL_WARNING,
              "Failover election in progress for epoch %llu, but received a claim from node %s with an "
              "equal or higher epoch %llu. Resetting the election since we cannot win.",
              (unsigned long long)x->epoch, nodeLogName(by), (unsigned long long)epoch);
    e->election = (struct engineElection){0};
}

void voteReceived(struct engine *e, struct clusterNode *sender, const struct busHeader *h) {
    if (!e->election.sent || !nodeVotes(sender) || h->current_epoch < e->election.epoch) return;
    if (sender->voted_epoch == e->election.epoch) return; /* a vote counts once */
    sender->voted_epoch = e->election.epoch;
    e->election.votes++;
    engineTodo(e, TODO_ELECTION);
}

/* ---- A primary's vote ---- */

static void electionDeny(struct engine *e, const struct clusterNode *n, const char *fmt, ...) {
    char why[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    engineLog(e, LL_WARNING, "Failover auth denied to %s%s", nodeLogName(n), why);
}

/* Somebody has one of its slots with an epoch above what the requester knows. */
static int electionBetterOwner(const struct engine *e, const struct busHeader *h) {
    for (int last, slot = slotSetRun(&h->slots, 0, &last); slot >= 0;
         slot = slotSetRun(&h->slots, last + 1, &last)) {
        for (; slot <= last; slot++) {
            if (e->t.owner[slot] && e->t.owner[slot]->config_epoch > h->config_epoch) return slot;
        }
    }
    return -1;
}

static bool electionMayVoteFor(struct engine *e, struct clusterNode *n, struct busLink *link,
                               const struct busHeader *h) {
    unsigned long long epoch = h->current_epoch;
    if (epoch < e->t.current_epoch) {
        electionDeny(e, n, ": reqEpoch (%llu) < curEpoch(%llu)", epoch,
                     (unsigned long long)e->t.current_epoch);
        return false;
    }
    if (e->t.last_vote_epoch == e->t.current_epoch) {
        electionDeny(e, n, ": already voted for epoch %llu", (unsigned long long)e->t.current_epoch);
        return false;
    }
    const struct clusterNode *primary = n->primary;
    bool forced = h->flags & BUS_FORCE_ACK;
    if (nodeIsPrimary(n) || !primary || (!nodeFailed(primary) && !forced)) {
        electionDeny(e, n, " for epoch %llu: %s", epoch,
                     nodeIsPrimary(n) ? "it is a primary node"
                     : !primary       ? "I don't know its primary"
                                      : "its primary is up");
        return false;
    }
    int slot = electionBetterOwner(e, h);
    if (slot >= 0) {
        const struct clusterNode *owner = e->t.owner[slot];
        electionDeny(e, n, ": slot %d epoch (%llu) > reqConfigEpoch (%llu)", slot,
                     (unsigned long long)owner->config_epoch, (unsigned long long)h->config_epoch);
        sendUpdate(e, n->connected ? n->out : link, owner);
        return false;
    }
    if (e->now_ms - e->started_ms < START_DELAY_MS) {
        electionDeny(e, n, ": it is not safe to vote in this moment)");
        return false;
    }
    return true;
}

void voteRequested(struct engine *e, struct clusterNode *sender, struct busLink *link,
                   const struct busHeader *h) {
    if (!nodeVotes(e->t.myself) || !electionMayVoteFor(e, sender, link, h)) return;
    e->t.last_vote_epoch = e->t.current_epoch;
    e->env->save(e->w, true);
    messageSend(e, sender->connected ? sender->out : link, messageBegin(e, BUS_AUTH_ACK, 0));
    engineLog(e, LL_NOTICE, "This node votes for %s in epoch %llu", nodeLogName(sender),
              (unsigned long long)e->t.current_epoch);
}
