/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_fence.c - nothing that a primary with min-replicas-sync N has acknowledged is lost by a
 * failover, even if the primary only hung and goes on in the middle of it.
 *
 * The primary tells clients what N replicas have acknowledged to it. So before a replica takes over,
 * R - N + 1 of the R replicas of the shard, itself included, have ceased to acknowledge, and none of them had
 * more than the new primary has:
 *
 *     candidate ── AUTH-REQUEST with BUS_ELECTING ──▶ each replica: sends no ACK from now on
 *               ◀─ AUTH-ACK: what it has ────────────
 *     ... votes of a majority, and R - N + 1 have answered, with no more than the candidate: takes over
 *               ── PONG: primary in epoch E ────────▶ follows it, and acknowledges to it
 *     ... or the election ends without a winner:
 *               ── PONG without BUS_ELECTING ───────▶ acknowledges to the old primary again
 *
 * Whether the primary has failed is each node's own opinion, and may change between an answer and the
 * take-over. So an answer does not depend on it, but binds until its outcome is known: until a heartbeat of
 * the candidate itself, of this epoch or later, says that it is in no election. Then it has won, and the
 * claim in that heartbeat has been processed; or it never wins in that epoch: it has withdrawn, and an
 * election that has been withdrawn is never resumed, not even by a restart. (A message of an epoch below the
 * election's may be older than the request, since the two links of a pair keep no order.)
 *
 * While an answer binds, the replica acknowledges to no primary, not even to the winner of another election:
 * what that one would tell clients is not in the answer. For the same reason a candidate that answers a later
 * election withdraws its own.
 *
 * More is not only a greater offset: offsets mean the same only within one history (replication ID). A
 * replica notes with the history that it has the epoch of the primary from which it came, its reign. Of two
 * histories, the one of the later reign contains all of the other that was acknowledged. A replica that has
 * not been synchronized since its start, or is being synchronized, answers nothing.
 *
 * Proof. Let C take over in epoch E, after F has answered, R - N + 1 of R members with C. Let Q be a primary
 * of the shard of an earlier epoch that acknowledges a write w, since N of its replicas have acknowledged it.
 *  (1) If Q is the primary that C replaces, its replicas are the R, so one of the N is in F. If Q is another,
 *      it was one of the R before, and N - 1 of its N are among the other R - 1. If Q is not in F, F is among
 *      these, too, and (N - 1) + (R - N + 1) > R - 1, so again one of the N is in F. If Q is in F, it
 *      answered as a replica: it had withdrawn its own earlier election, or had lost its role to a later
 *      primary, and then (3) holds for what that one took over.
 *  (2) That one has acknowledged w before its answer, because the answer binds until C has taken over or
 * never
 *      does. So what it has, and C's data contain, includes w.
 *  (3) A w of a primary before is in the data of each later primary, by induction; so it is in each history
 *      of a later reign, and in the data of any F that follow one.
 * With N >= R, F is C alone, and nothing need be asked.
 *
 * What is not covered. A candidate that is never heard of again binds for FENCE_TIMEOUTS node time-outs,
 * counted in ticks, as clocks may jump. A candidate checks that its election is younger than two of them
 * before it takes over; so it has to stand still for the rest of that time, between this check and its
 * announcement. After a start a replica does not know what it had answered, and acknowledges nothing until
 * each other replica has said that it is in no election, or two time-outs are over. What a primary
 * acknowledges by replicas that this node does not know yet is not counted.
 *
 * Nodes that do not set BUS_FENCES (Valkey, older ones of ours) never answer. As far as R - N + 1 of the
 * others answer, the same holds; else the election goes on as it did before, with a line in the log. */
#include "base/assert.h"
#include "cluster/cluster_engine_private.h"

#define FENCE_TIMEOUTS 10   /* node time-outs for which an answer binds while its candidate is not heard of */
#define START_TIMEOUTS 2    /* the same for what may have been answered before the start */
#define FENCE_MIN_MS   5000 /* the least of both */
#define ASK_AGAIN_MS   500

static int fenceTicks(const struct engine *e, int timeouts) {
    int64_t ms = timeouts * e->settings.node_timeout_ms;
    if (ms < FENCE_MIN_MS) ms = FENCE_MIN_MS;
    return (int)(ms / ENGINE_TICK_MS > INT32_MAX ? INT32_MAX : ms / ENGINE_TICK_MS);
}

/* Returns whether n is another replica of this node's shard, or may become one: a former primary is not one
 * of its replicas before it says so. */
static bool fenceIsSibling(const struct engine *e, const struct clusterNode *n) {
    const struct clusterNode *me = e->t.myself;
    return n != me && n != me->primary && !(n->flags & NODE_HANDSHAKE) && nodesShareShard(n, me);
}

/* Returns how many replicas must have what the primary acknowledges; 0: none. */
static int64_t fenceSyncReplicas(struct engine *e) {
    const struct clusterNode *primary = e->t.myself->primary;
    if (!primary || primary->fence.knows == FENCES_NO) return 0;
    if (primary->fence.knows == FENCES_YES) return primary->fence.sync_replicas;
    int64_t least = e->settings.sync_replicas; /* the safe side: the fewer have it, the more have to answer */
    topologyForEach(&e->t, n) {
        int64_t theirs = fenceIsSibling(e, n) ? n->fence.sync_replicas : 0;
        if (theirs && (!least || theirs < least)) least = theirs;
    }
    return least;
}

/* ---- What this node has ---- */

/* The link is up once after the start before anything is noted: what is loaded from a file may lack what was
 * acknowledged. Later, a new history may have come and the link have ended since the last call. */
void fenceNoteHistory(struct engine *e) {
    if (!nodeIsReplica(e->t.myself) || !e->t.myself->primary) return;
    struct engineReplication r = e->env->replication(e->ctx);
    uint64_t history = r.whole && (r.link_up || e->fence.history) ? e->env->history(e->ctx) : 0;
    if (!history || history == e->fence.history) return;
    e->fence.history = history;
    e->fence.reign = e->t.myself->primary->config_epoch;
}

/* Returns whether it is known what this node has. */
static bool fenceHasHistory(struct engine *e) {
    fenceNoteHistory(e);
    return e->fence.history && e->env->replication(e->ctx).whole;
}

/* Returns whether n, when it answered, had something that this node may lack. */
static bool fenceHasMore(const struct engine *e, const struct clusterNode *n) {
    if (n->fence.history == e->fence.history) return n->fence.offset > engineAnnouncedOffset(e);
    return n->fence.reign >= e->fence.reign;
}

/* ---- Acknowledgements of this node ---- */

void fenceUpdate(struct engine *e) {
    bool hold = e->election.fence == FENCE_ASKED;
    topologyForEach(&e->t, n) hold |= n->fence.for_epoch != 0;
    hold = hold && nodeIsReplica(e->t.myself);
    if (hold == e->fence.held) return;
    e->fence.held = hold;
    e->env->holdAcks(e->ctx, hold);
}

void fenceTick(struct engine *e) {
    if (fenceSyncReplicas(e)) fenceNoteHistory(e);
    if (!e->fence.held) return;
    topologyForEach(&e->t, n) {
        if (!n->fence.for_epoch || n->fence.ticks-- > 0) continue;
        n->fence.for_epoch = 0;
        engineLog(e, LL_WARNING,
                  "The outcome of the election of %s is unknown, as it is not heard of; this replica "
                  "acknowledges again",
                  nodeLogName(n));
    }
    fenceUpdate(e);
    if (e->election.fence == FENCE_ASKED && e->now_ms - e->election.fence_asked_ms >= ASK_AGAIN_MS) {
        e->election.fence_asked_ms = e->now_ms;
        topologyForEach(&e->t, n) {
            bool answered = n->fence.answered_epoch == e->election.epoch;
            if (fenceIsSibling(e, n) && !answered && n->fence.knows != FENCES_NO && n->connected)
                messageSend(e, n->out, messageBegin(e, BUS_AUTH_REQUEST, 0));
        }
    }
}

void engineStart(struct engine *e) {
    if (!nodeIsReplica(e->t.myself) || !e->settings.sync_replicas) return;
    topologyForEach(&e->t, n) {
        if (!fenceIsSibling(e, n)) continue;
        n->fence.for_epoch = 1; /* whatever it sends is later than what was answered */
        n->fence.ticks = fenceTicks(e, START_TIMEOUTS);
    }
    fenceUpdate(e);
}

/* ---- The side of the candidate ---- */

struct fenceCount {
    int replicas, needed, answered, unable;
    bool has_most;
};

static struct fenceCount fenceCount(struct engine *e) {
    struct fenceCount c = {.replicas = 1, .has_most = true, .answered = fenceHasHistory(e)};
    topologyForEach(&e->t, n) {
        if (!fenceIsSibling(e, n)) continue;
        bool answered = e->election.sent && n->fence.answered_epoch == e->election.epoch;
        c.replicas++;
        c.answered += answered;
        c.unable += n->fence.knows == FENCES_NO;
        if (answered && fenceHasMore(e, n)) c.has_most = false;
    }
    int64_t needed = c.replicas - fenceSyncReplicas(e) + 1;
    c.needed = needed < 1 ? 1 : (int)needed;
    return c;
}

void fenceBegin(struct engine *e) {
    e->election.fence = FENCE_NONE;
    if (electionIsManual(e) || !fenceSyncReplicas(e) || fenceCount(e).needed == 1) return;
    e->election.fence = FENCE_ASKED;
    e->election.fence_asked_ms = e->now_ms;
    fenceUpdate(e);
}

void fenceWithdraw(struct engine *e) {
    if (e->election.fence != FENCE_ASKED) return;
    e->election.fence = FENCE_WITHDRAWN;
    fenceUpdate(e);
    messageBroadcastPong(e, TO_SHARD);
}

bool fenceAllowsTakeOver(struct engine *e) {
    struct engineElection *x = &e->election;
    serverAssert(x->sent && x->fence != FENCE_WITHDRAWN);
    if (x->fence == FENCE_NONE || electionIsManual(e)) return true;
    struct fenceCount c = fenceCount(e);
    if (c.answered >= c.needed && c.has_most) return true;
    const char *why = NULL;
    if (c.answered < c.needed && c.answered + c.unable >= c.needed && c.has_most)
        why = "the others do not know how to, so it goes on without";
    else if (e->settings.unclean_failover && e->now_ms - x->start_ms >= e->settings.node_timeout_ms)
        why = "it goes on, and may lose acknowledged writes";
    if (!why) return false;
    engineLog(e, LL_WARNING,
              "Failover: %d of %d replicas have stopped acknowledging, %d are needed with min-replicas-sync "
              "%lld; %s",
              c.answered, c.replicas, c.needed, (long long)fenceSyncReplicas(e), why);
    return true;
}

void fenceLogMissing(struct engine *e) {
    struct fenceCount c = fenceCount(e);
    engineLog(e, LL_WARNING,
              "Failover: %d of %d replicas have stopped acknowledging, %d are needed with min-replicas-sync "
              "%lld; %s",
              c.answered, c.replicas, c.needed, (long long)fenceSyncReplicas(e),
              c.has_most ? "it waits for them (with cluster-unclean-failover yes, it goes on)"
                         : "it waits, as another one has more");
}

void fenceProcessAnswer(struct engine *e, struct clusterNode *sender, const struct busHeader *h) {
    const struct engineElection *x = &e->election;
    if (x->fence != FENCE_ASKED || h->current_epoch < x->epoch || !h->history || !fenceIsSibling(e, sender))
        return;
    sender->fence.answered_epoch = x->epoch;
    sender->fence.history = h->history;
    sender->fence.reign = h->reign;
    sender->fence.offset = h->offset;
    engineAddTodo(e, TODO_ELECTION);
}

/* ---- The side of the other replicas ---- */

void fenceProcessRequest(struct engine *e, struct clusterNode *sender, struct busLink *link,
                         const struct busHeader *h) {
    const struct clusterNode *me = e->t.myself, *primary = me->primary;
    if (!(h->flags & BUS_ELECTING) || !nodeIsReplica(me) || !primary || !nodesShareShard(sender, me)) return;
    if (primary->config_epoch > h->config_epoch) return; /* it cannot win against this one */
    struct engineElection *own = &e->election;
    if (own->fence == FENCE_ASKED && own->epoch > h->current_epoch) return;
    if (!fenceHasHistory(e)) return;
    if (own->fence == FENCE_ASKED && own->epoch < h->current_epoch) fenceWithdraw(e);
    if (!e->fence.held)
        engineLog(e, LL_NOTICE, "This replica acknowledges nothing until the election of %s has ended",
                  nodeLogName(sender));
    sender->fence.for_epoch = e->t.current_epoch;
    sender->fence.ticks = fenceTicks(e, FENCE_TIMEOUTS);
    fenceUpdate(e);
    messageSend(e, sender->connected ? sender->out : link, messageBegin(e, BUS_AUTH_ACK, 0));
}

void fenceProcessHeartbeat(struct engine *e, struct clusterNode *sender, const struct busHeader *h) {
    struct nodeFence *f = &sender->fence;
    if (!f->for_epoch || h->flags & BUS_ELECTING || h->current_epoch < f->for_epoch) return;
    f->for_epoch = 0;
    fenceUpdate(e);
    if (!e->fence.held) engineLog(e, LL_NOTICE, "Acknowledgements to the primary go on");
}
