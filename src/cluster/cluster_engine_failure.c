/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_failure.c - which nodes are alive: heartbeats, suspicion (PFAIL), agreement (FAIL), and the
 * state of the cluster as a whole. */
#include "base/assert.h"
#include "cluster/cluster_engine_private.h"

#define RANDOM_PING_TICKS   10
#define RANDOM_PING_CHOICES 5

/* ---- Heartbeats ---- */

/* Pings one of a few random nodes: the one with the oldest PONG. */
static void failurePingRandomNode(struct engine *e) {
    struct clusterNode *oldest = NULL;
    for (int i = 0; i < RANDOM_PING_CHOICES; i++) {
        struct clusterNode *n = e->t.nodes[e->env->random(e->ctx) % (uint64_t)e->t.count];
        if (!n->connected || n->ping_sent_ms || n->flags & (NODE_MYSELF | NODE_HANDSHAKE)) continue;
        if (!oldest || n->pong_received_ms < oldest->pong_received_ms) oldest = n;
    }
    if (oldest) messageSendPing(e, oldest->out, BUS_PING);
}

/* Returns whether the link may be dead without an error: nothing arrives over it.
 * A new link is tried then. */
static bool failureLinkIsStuck(const struct engine *e, const struct clusterNode *n) {
    int64_t timeout = e->settings.node_timeout_ms;
    return n->out && n->ping_sent_ms && e->now_ms - n->out->created_ms > timeout &&
           e->now_ms - n->ping_sent_ms > timeout / 2 && e->now_ms - n->data_received_ms > timeout / 2;
}

static void failureSuspectIfSilent(struct engine *e, struct clusterNode *n) {
    int64_t waiting = e->now_ms - n->ping_sent_ms, silent = e->now_ms - n->data_received_ms;
    if (!n->ping_sent_ms || (waiting < silent ? waiting : silent) <= e->settings.node_timeout_ms) return;
    if (n->flags & (NODE_PFAIL | NODE_FAIL)) return;
    n->flags |= NODE_PFAIL;
    engineAddTodo(e, TODO_STATE);
    if (nodeIsVoter(n))
        engineLog(e, LL_DEBUG, "*** Node %s does not answer", nodeLogName(n));
    else
        engineLog(e, LL_NOTICE, "Node %s does not answer and may have failed", nodeLogName(n));
    failureMarkIfAgreed(e, n);
}

static void failureHeartbeat(struct engine *e, struct clusterNode *n) {
    int64_t interval = e->settings.ping_interval_ms;
    if (interval <= 0) interval = e->settings.node_timeout_ms / 2;
    if (failureLinkIsStuck(e, n)) nodeDropLink(e, n, true);
    bool due = e->now_ms - n->pong_received_ms > interval;
    bool send_offset = nodeIsPrimary(e->t.myself) && e->manual.end_ms && e->manual.replica == n;
    if (n->connected && ((!n->ping_sent_ms && due) || send_offset)) messageSendPing(e, n->out, BUS_PING);
    failureSuspectIfSilent(e, n);
}

/* Notes since when a primary with slots, to which replicas of other primaries may move, has
 * no working one of its own. */
static void failureWatchOrphan(struct engine *e, struct clusterNode *n) {
    bool orphaned =
        nodeIsVoter(n) && !nodeHasFailed(n) && n->flags & NODE_MIGRATE_TO && nodeCountHealthyReplicas(n) == 0;
    if (!orphaned)
        n->orphaned_ms = 0;
    else if (!n->orphaned_ms)
        n->orphaned_ms = e->now_ms;
}

void heartbeatTick(struct engine *e) {
    if (e->ticks % RANDOM_PING_TICKS == 0 && !e->settings.no_random_pings) failurePingRandomNode(e);
    topologyForEach(&e->t, n) {
        if (!nodeIsUsable(n)) continue;
        failureWatchOrphan(e, n);
        failureHeartbeat(e, n);
    }
}

int nodeCountHealthyReplicas(const struct clusterNode *primary) {
    serverAssert(primary);
    int count = 0;
    for (int i = 0; i < primary->replica_count; i++)
        count += !(primary->replicas[i]->flags & (NODE_FAIL | NODE_PFAIL));
    return count;
}

/* ---- Agreement ---- */

void failureMark(struct engine *e, struct clusterNode *n) {
    serverAssert(n != e->t.myself);
    n->flags = (uint16_t)((n->flags & ~NODE_PFAIL) | NODE_FAIL);
    n->fail_ms = e->now_ms;
    messageBroadcast(e, busAddFail(messageBegin(e, BUS_FAIL, 0), n->id));
    engineAddTodo(e, TODO_SAVE | TODO_STATE | TODO_ELECTION);
}

void failureMarkIfAgreed(struct engine *e, struct clusterNode *n) {
    if (!(n->flags & NODE_PFAIL) || nodeHasFailed(n)) return;
    int reports = failureReportCount(n, e->now_ms - 2 * e->settings.node_timeout_ms);
    if (nodeIsVoter(e->t.myself)) reports++;
    if (reports < topologySureQuorum(&e->t)) return;
    engineLog(e, LL_NOTICE, "Node %s has failed, as a majority of the primaries agrees", nodeLogName(n));
    failureMark(e, n);
}

/* Clears FAIL of a node that answers again. A voter may have lost its slots to a replica of its own,
 * and must learn that first. */
void failureClearIfSafe(struct engine *e, struct clusterNode *n) {
    if (!nodeIsVoter(n)) {
        engineLog(e, LL_NOTICE, "Node %s is no longer considered failed: this %s is reachable again",
                  nodeLogName(n), nodeIsReplica(n) ? "replica" : "primary without slots");
    } else {
        if (e->now_ms - n->fail_ms <= 2 * e->settings.node_timeout_ms) return;
        engineLog(
            e, LL_NOTICE,
            "Node %s is no longer considered failed: it is reachable again and its slots were not taken over",
            nodeLogName(n));
    }
    n->flags &= (uint16_t)~NODE_FAIL;
    engineAddTodo(e, TODO_SAVE | TODO_STATE);
}

/* ---- The state of the cluster ---- */

static bool failureIsEverySlotServed(const struct engine *e) {
    int served = 0;
    for (int i = 0; i < e->t.count; i++) {
        if (!nodeHasFailed(e->t.nodes[i])) served += e->t.nodes[i]->slot_count;
    }
    return served == KEY_SLOTS;
}

static int failureCountReachableVoters(const struct engine *e) {
    int count = 0;
    for (int i = 0; i < e->t.count; i++)
        count += nodeIsVoter(e->t.nodes[i]) && !(e->t.nodes[i]->flags & (NODE_FAIL | NODE_PFAIL));
    return count;
}

static int64_t failureRejoinDelay(const struct engine *e) {
    int64_t delay = e->settings.node_timeout_ms;
    return delay > REJOIN_MAX_MS ? REJOIN_MAX_MS : delay < REJOIN_MIN_MS ? REJOIN_MIN_MS : delay;
}

static void failureLogWhyDown(struct engine *e, enum downReason why) {
    static const char *const reasons[] = {
        [DOWN_COVERAGE] = "At least one hash slot is not served by any available node. Please check the "
                          "'cluster-require-full-coverage' configuration.",
        [DOWN_MINORITY] = "I am part of a minority partition."};
    if (why != DOWN_COVERAGE && why != DOWN_MINORITY) return;
    if (why == e->logged_down && e->now_ms - e->logged_down_ms < RELOG_MS) return;
    e->logged_down = why;
    e->logged_down_ms = e->now_ms;
    engineLog(e, LL_WARNING, "The cluster is down: %s", reasons[why]);
}

void engineUpdateState(struct engine *e) {
    bool primary = nodeIsPrimary(e->t.myself);
    if (primary && e->down == DOWN_STARTING && e->now_ms - e->started_ms < START_DELAY_MS) return;
    enum downReason now = DOWN_NOT;
    if (e->settings.require_full_coverage && !failureIsEverySlotServed(e)) now = DOWN_COVERAGE;
    if (failureCountReachableVoters(e) < topologyQuorum(&e->t)) {
        now = DOWN_MINORITY;
        e->minority_ms = e->now_ms;
    }
    /* A primary that comes back waits for a while, to receive what has been decided without it. */
    if (now == DOWN_NOT && e->down != DOWN_NOT && primary && e->minority_ms &&
        e->now_ms - e->minority_ms < failureRejoinDelay(e))
        return;
    failureLogWhyDown(e, now);
    bool was_ok = engineIsClusterOk(e);
    e->down = now;
    if (was_ok == engineIsClusterOk(e)) return;
    if (engineIsClusterOk(e)) e->logged_down = DOWN_NOT;
    engineLog(e, LL_NOTICE, "The cluster state is now %s", engineIsClusterOk(e) ? "ok" : "fail");
    e->env->stateChanged(e->ctx, engineIsClusterOk(e));
}
