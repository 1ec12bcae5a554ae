/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_manual.c - a failover that a user requests. No write is lost, because the primary pauses
 * writes until its replica has everything.
 *
 *     replica   ── MFSTART ──────────────▶   primary pauses writes
 *               ◀─ PING, paused, offset ──   again at every tick
 *     has that offset: requests votes, which it gets although the primary is alive */
#include "base/assert.h"
#include "cluster/cluster_engine_private.h"

#define PAUSE_FACTOR 2 /* the primary pauses for this multiple of the failover's time-out */

void manualReset(struct engine *e) {
    bool paused = e->manual.replica; /* set by a primary, which may be a replica by now */
    e->manual = (struct engineManual){0};
    if (paused) e->env->pause(e->ctx, 0);
}

/* ---- The side of the replica ---- */

void engineFailover(struct engine *e, enum failoverKind kind, int64_t now_ms) {
    serverAssert(nodeIsReplica(e->t.myself));
    engineSetTime(e, now_ms);
    struct clusterNode *primary = e->t.myself->primary;
    manualReset(e);
    if (kind == FAILOVER_TAKEOVER) {
        engineLog(e, LL_NOTICE, "CLUSTER FAILOVER TAKEOVER makes this replica the primary");
        engineBumpEpoch(e, now_ms);
        e->self_assigned_epoch = 0; /* this epoch is meant to win */
        electionTakeOver(e);
        return;
    }
    e->election = (struct engineElection){0};
    e->manual.end_ms = now_ms + e->settings.manual_failover_timeout_ms;
    if (kind == FAILOVER_FORCE) {
        e->manual.can_start = true;
        engineAddTodo(e, TODO_ELECTION);
    } else if (primary->connected) {
        messageSend(e, primary->out, messageBegin(e, BUS_MFSTART, 0));
    }
}

void manualProcessOffset(struct engine *e, struct clusterNode *sender, const struct busHeader *h) {
    struct engineManual *m = &e->manual;
    if (!m->end_ms || m->has_offset || sender != e->t.myself->primary || !(h->flags & BUS_PAUSED)) return;
    m->has_offset = true;
    m->paused_offset = h->offset;
    engineLog(e, LL_NOTICE,
              "The primary has paused its clients at replication offset %llu for the manual failover",
              (unsigned long long)m->paused_offset);
}

void manualTick(struct engine *e) {
    struct engineManual *m = &e->manual;
    if (!m->end_ms) return;
    if (e->now_ms > m->end_ms) {
        engineLog(e, LL_WARNING, "Manual failover timed out.");
        manualReset(e);
        return;
    }
    if (nodeIsPrimary(e->t.myself) || m->can_start || !m->has_offset) return;
    /* An offset above paused_offset comes from what a paused primary sends to show that it is alive. */
    struct engineReplication r = e->env->replication(e->ctx);
    if (!r.link_up || r.offset < m->paused_offset) return;
    m->can_start = true;
    engineLog(e, LL_NOTICE,
              "This replica has reached the offset of the paused primary, so the manual failover can start");
    engineAddTodo(e, TODO_ELECTION);
}

/* ---- The side of the primary ---- */

void manualProcessRequest(struct engine *e, struct clusterNode *sender) {
    if (sender->primary != e->t.myself || !nodeIsPrimary(e->t.myself)) return;
    manualReset(e);
    e->manual.end_ms = e->now_ms + e->settings.manual_failover_timeout_ms;
    e->manual.replica = sender;
    engineLog(e, LL_NOTICE, "Manual failover requested by replica %s.", nodeLogName(sender));
    e->env->pause(e->ctx, e->now_ms + PAUSE_FACTOR * e->settings.manual_failover_timeout_ms);
    if (sender->connected) messageSendPing(e, sender->out, BUS_PING);
}
