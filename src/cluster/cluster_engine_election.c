/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_election.c - a replica becomes the primary of its shard: when it tries, which nodes vote for
 * it, and what it does after it has won.
 *
 *     primary FAIL ──▶ wait: a delay, longer for older data ──▶ request votes ──▶ majority: take over
 *                            (a better replica wins meanwhile)              └────▶ time is up: again later
 *
 * The winner's data replaces that of all others in the shard. So a replica tries only if its data is complete
 * and from the history of this primary. A replica that was never synchronized with it, is loading, or came
 * from another shard does not, whatever the validity factor is, unless a user forces it.
 *
 * A vote is a promise for one epoch, made once, and saved to disk before it is sent. So an epoch has at most
 * one winner (the idea of Raft's elections; Ongaro and Ousterhout 2014). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "cluster/cluster_engine_private.h"

#define DELAY_DIVISOR  30
#define DELAY_MAX_MS   500
#define EMPTY_DELAY_MS 500 /* for a replica that never had any data */

static int64_t electionTimeout(const struct engine *e) {
    int64_t timeout = 2 * e->settings.node_timeout_ms;
    return timeout < ELECTION_TIMEOUT_MIN_MS ? ELECTION_TIMEOUT_MIN_MS : timeout;
}

static int64_t electionDelayUnit(const struct engine *e) {
    int64_t delay = e->settings.node_timeout_ms / DELAY_DIVISOR;
    return delay > DELAY_MAX_MS ? DELAY_MAX_MS : delay < 1 ? 1 : delay;
}

/* ---- Ranks: how many others should try first ---- */

/* Compares what counts in this order: more data, then the lower priority number, then the lower id. Data
 * comes first, so that no priority makes acknowledged writes be lost. */
static bool electionIsBetter(const struct clusterNode *n, uint64_t my_offset, const struct clusterNode *me) {
    if (n->offset != my_offset) return n->offset > my_offset;
    if (n->replica_priority != me->replica_priority) return n->replica_priority < me->replica_priority;
    return memcmp(n->id, me->id, NODE_ID_LEN) < 0;
}

static int electionReplicaRank(struct engine *e) {
    struct clusterNode *me = e->t.myself, *primary = me->primary;
    uint64_t offset = engineAnnouncedOffset(e);
    int rank = 0;
    for (int i = 0; i < primary->replica_count; i++) {
        struct clusterNode *n = primary->replicas[i];
        if (n == me || n->flags & NODE_NOFAILOVER) continue;
        rank += electionIsBetter(n, offset, me);
    }
    return rank;
}

/* Other primaries that failed recently and have a replica are replaced in the order of their shard ids. */
static int electionPrimaryRank(struct engine *e) {
    struct clusterNode *mine = e->t.myself->primary;
    int64_t factor = e->settings.replica_validity_factor ? e->settings.replica_validity_factor : 10;
    int64_t since_ms = e->now_ms - e->settings.node_timeout_ms * factor;
    int rank = 0;
    for (int i = 0; i < e->t.count; i++) {
        struct clusterNode *n = e->t.nodes[i];
        if (n == mine || !nodeIsVoter(n) || !nodeHasFailed(n) || n->replica_count == 0 ||
            n->fail_ms < since_ms)
            continue;
        rank += memcmp(n->shard_id, mine->shard_id, NODE_ID_LEN) < 0;
    }
    return rank;
}

/* Returns whether there is nothing to wait for: no replica of the shard has more data, and all of them know
 * that the primary has failed. */
static bool electionMayStartNow(struct engine *e) {
    struct clusterNode *primary = e->t.myself->primary;
    if (e->election.rank || e->election.primary_rank || !engineAnnouncedOffset(e)) return false;
    for (int i = 0; i < primary->replica_count; i++) {
        struct clusterNode *n = primary->replicas[i];
        if (n != e->t.myself && !(n->flags & NODE_PRIMARY_FAIL)) return false;
    }
    return true;
}

/* ---- The election of a replica ---- */

static void electionLogCannot(struct engine *e, enum cannotFailover reason) {
    static const char *const reasons[] = {
        [CANNOT_EMPTY] = "Replication offset is 0, and cluster-replica-no-failover is if-empty.",
        [CANNOT_NOT_WHOLE] = "The data here did not come whole from my primary.",
        [CANNOT_DATA_AGE] =
            "The link to the primary has been down for longer than cluster-replica-validity-factor allows.",
        [CANNOT_WAITING_DELAY] = "The delay before the next election is not over.",
        [CANNOT_EXPIRED] = "Failover attempt expired.",
        [CANNOT_WAITING_VOTES] = "The majority has not voted yet.",
        [CANNOT_WAITING_ACKS] = "Too few replicas have stopped acknowledging to the failed primary."};
    struct engineElection *x = &e->election;
    if (reason == x->reason && e->now_ms - x->reason_ms < RELOG_MS) return;
    x->reason = reason;
    x->reason_ms = e->now_ms;
    engineLog(e, LL_NOTICE, "Currently unable to failover: %s", reasons[reason]);
    if (reason == CANNOT_WAITING_VOTES)
        engineLog(e, LL_NOTICE, "Votes needed: %d, votes received: %d", topologySureQuorum(&e->t), x->votes);
    if (reason == CANNOT_WAITING_ACKS) fenceLogMissing(e);
}

static bool electionIsNeeded(const struct engine *e) {
    const struct clusterNode *primary = e->t.myself->primary;
    if (!primary || primary->slot_count == 0) return false;
    if (electionIsManual(e)) return true;
    bool may = e->settings.replica_no_failover != NO_FAILOVER_YES && !e->settings.failover_on_request;
    return may && nodeHasFailed(primary);
}

uint64_t engineAnnouncedOffset(const struct engine *e) {
    struct engineReplication r = e->env->replication(e->ctx);
    return nodeIsReplica(e->t.myself) && !r.whole ? 0 : r.offset;
}

/* Decides whether the data of this node may replace the primary's. */
static enum cannotFailover electionJudgeData(const struct engine *e) {
    int64_t timeout = e->settings.node_timeout_ms, factor = e->settings.replica_validity_factor;
    struct engineReplication r = e->env->replication(e->ctx);
    int64_t age = e->now_ms - r.data_ms;
    if (age > timeout) age -= timeout;
    if (electionIsManual(e)) return CAN_FAILOVER;
    if (e->settings.replica_no_failover == NO_FAILOVER_IF_EMPTY && !engineAnnouncedOffset(e))
        return CANNOT_EMPTY;
    if (!r.whole) return CANNOT_NOT_WHOLE;
    bool fresh = !factor || age <= e->settings.repl_ping_period_s * 1000 + timeout * factor;
    return fresh ? CAN_FAILOVER : CANNOT_DATA_AGE;
}

static void electionPlan(struct engine *e) {
    struct engineElection *x = &e->election;
    int64_t unit = electionDelayUnit(e);
    *x = (struct engineElection){.start_ms = e->now_ms, .reason = x->reason, .reason_ms = x->reason_ms};
    if (electionIsManual(e)) {
        x->force_ack = true;
        engineAddTodo(e, TODO_ELECTION);
        return;
    }
    x->rank = electionReplicaRank(e);
    x->primary_rank = electionPrimaryRank(e);
    uint64_t offset = engineAnnouncedOffset(e);
    if (electionMayStartNow(e)) {
        x->force_ack = true;
        engineLog(e, LL_NOTICE, "This is the best ranked replica and can initiate the election immediately.");
        engineAddTodo(e, TODO_ELECTION);
    } else {
        x->start_ms += unit + (int64_t)(e->env->random(e->ctx) % (uint64_t)unit) + 2 * unit * x->rank +
                       unit * x->primary_rank + (offset ? 0 : EMPTY_DELAY_MS);
    }
    engineLog(e, LL_NOTICE,
              "Start of election delayed for %lld milliseconds (rank #%d, primary rank #%d, offset %llu, "
              "replica priority %u).",
              (long long)(x->start_ms - e->now_ms), x->rank, x->primary_rank, (unsigned long long)offset,
              e->t.myself->replica_priority);
    messageBroadcastPong(e, TO_SHARD); /* announces the offset to the other replicas */
}

/* Adds to the delay if others turn out to have more data. */
static void electionReplan(struct engine *e) {
    struct engineElection *x = &e->election;
    if (electionIsManual(e)) return;
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
    if (x->start_ms > e->now_ms && electionMayStartNow(e)) {
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
    fenceBegin(e);
    engineLog(e, LL_NOTICE, "The election for epoch %llu begins; the configuration epoch is %llu",
              (unsigned long long)x->epoch, (unsigned long long)e->t.myself->primary->config_epoch);
    e->env->save(e->ctx, true); /* after a restart, votes for this epoch must not be requested again */
    messageBroadcast(e, messageBegin(e, BUS_AUTH_REQUEST, x->force_ack ? BUS_FORCE_ACK : 0));
}

void electionTakeOver(struct engine *e) {
    struct clusterNode *me = e->t.myself, *old = me->primary;
    serverAssert(nodeIsReplica(me));
    if (!old) return;
    engineLog(e, LL_NOTICE,
              "This node is the primary of shard %s after the failover; its former primary is %s",
              me->shard_id, nodeLogName(old));
    nodeBecomePrimary(&e->t, me);
    me->flags |= NODE_MIGRATE_TO;
    slotsInherit(e, old, me);
    e->env->follow(e->ctx, NULL, false);
    manualReset(e);
    e->election = (struct engineElection){0};
    fenceUpdate(e);
    e->env->save(e->ctx, true);
    messageBroadcastPong(e, TO_ALL);
    engineAddTodo(e, TODO_STATE | TODO_SLOTS);
}

static void electionWin(struct engine *e) {
    engineLog(e, LL_NOTICE, "The election is won: this node is the new primary");
    struct clusterNode *me = e->t.myself;
    if (me->config_epoch < e->election.epoch) {
        me->config_epoch = e->election.epoch;
        engineLog(e, LL_NOTICE, "This node takes configuration epoch %llu after the failover",
                  (unsigned long long)me->config_epoch);
    }
    electionTakeOver(e);
}

/* Ends an election for which others have ceased to acknowledge; the next one begins anew. */
static void electionGiveUp(struct engine *e) {
    if (e->election.fence == FENCE_NONE) return;
    fenceWithdraw(e);
    e->election = (struct engineElection){.reason = e->election.reason, .reason_ms = e->election.reason_ms};
}

static void electionExpire(struct engine *e) {
    electionLogCannot(e, CANNOT_EXPIRED);
    fenceWithdraw(e);
}

void electionTick(struct engine *e) {
    serverAssert(nodeIsReplica(e->t.myself));
    struct engineElection *x = &e->election;
    if (!electionIsNeeded(e)) {
        x->reason = CAN_FAILOVER;
        electionGiveUp(e);
        return;
    }
    enum cannotFailover verdict = electionJudgeData(e);
    if (verdict != CAN_FAILOVER) {
        electionLogCannot(e, verdict);
        electionGiveUp(e);
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
    else if (age > timeout || x->fence == FENCE_WITHDRAWN)
        electionExpire(e);
    else if (!x->sent)
        electionStart(e);
    else if (x->votes < topologySureQuorum(&e->t))
        electionLogCannot(e, CANNOT_WAITING_VOTES);
    else if (fenceAllowsTakeOver(e))
        electionWin(e);
    else
        electionLogCannot(e, CANNOT_WAITING_ACKS);
}

void electionAbandon(struct engine *e, const struct clusterNode *by, uint64_t epoch) {
    struct engineElection *x = &e->election;
    if (!x->sent || x->epoch > epoch || by == e->t.myself) return;
    engineLog(e, LL_WARNING,
              "Failover election in progress for epoch %llu, but received a claim from node %s with an "
              "equal or higher epoch %llu. Resetting the election since we cannot win.",
              (unsigned long long)x->epoch, nodeLogName(by), (unsigned long long)epoch);
    e->election = (struct engineElection){0};
}

void voteProcessAck(struct engine *e, struct clusterNode *sender, const struct busHeader *h) {
    if (!e->election.sent || !nodeIsVoter(sender) || h->current_epoch < e->election.epoch) return;
    serverAssert(sender != e->t.myself && e->election.epoch <= e->t.current_epoch);
    if (sender->voted_epoch == e->election.epoch) return; /* a vote counts once */
    sender->voted_epoch = e->election.epoch;
    e->election.votes++;
    engineAddTodo(e, TODO_ELECTION);
}

/* ---- The vote of a primary ---- */

static void electionDeny(struct engine *e, const struct clusterNode *n, const char *fmt, ...) {
    char why[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    engineLog(e, LL_WARNING, "Failover auth denied to %s%s", nodeLogName(n), why);
}

/* Returns a slot whose owner has an epoch above the one that the requester knows, or -1. */
static int electionFindNewerClaim(const struct engine *e, const struct busHeader *h) {
    slotSetForEach(&h->slots, slot) {
        if (e->t.owner[slot] && e->t.owner[slot]->config_epoch > h->config_epoch) return slot;
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
    if (nodeIsPrimary(n) || !primary || (!nodeHasFailed(primary) && !forced)) {
        electionDeny(e, n, " for epoch %llu: %s", epoch,
                     nodeIsPrimary(n) ? "it is a primary node"
                     : !primary       ? "I don't know its primary"
                                      : "its primary is up");
        return false;
    }
    int slot = electionFindNewerClaim(e, h);
    if (slot >= 0) {
        const struct clusterNode *owner = e->t.owner[slot];
        electionDeny(e, n, ": slot %d epoch (%llu) > reqConfigEpoch (%llu)", slot,
                     (unsigned long long)owner->config_epoch, (unsigned long long)h->config_epoch);
        messageSendUpdate(e, n->connected ? n->out : link, owner);
        return false;
    }
    if (e->now_ms - e->started_ms < START_DELAY_MS) {
        electionDeny(e, n, ": it is not safe to vote in this moment)");
        return false;
    }
    return true;
}

void voteProcessRequest(struct engine *e, struct clusterNode *sender, struct busLink *link,
                        const struct busHeader *h) {
    serverAssert(sender && sender != e->t.myself && link);
    if (!nodeIsVoter(e->t.myself) || !electionMayVoteFor(e, sender, link, h)) return;
    serverAssert(e->t.last_vote_epoch < e->t.current_epoch);
    e->t.last_vote_epoch = e->t.current_epoch;
    e->env->save(e->ctx, true);
    messageSend(e, sender->connected ? sender->out : link, messageBegin(e, BUS_AUTH_ACK, 0));
    engineLog(e, LL_NOTICE, "This node votes for %s in epoch %llu", nodeLogName(sender),
              (unsigned long long)e->t.current_epoch);
}
