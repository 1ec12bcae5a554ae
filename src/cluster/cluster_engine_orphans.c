/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_orphans.c - a replica moves from a shard with several to a primary that has lost all of its
 * own.
 *
 * Each node decides for itself, so the rule must name exactly one: among the primaries with most working
 * replicas, the replica with the smallest id. */
#include <string.h>

#include "cluster/cluster_engine_private.h"

/* Returns whether the rule names this node. */
static bool orphansIsMyTurn(struct engine *e) {
    int most = 0;
    for (int i = 0; i < e->t.count; i++) {
        int count = nodeIsPrimary(e->t.nodes[i]) ? nodeCountHealthyReplicas(e->t.nodes[i]) : 0;
        if (count > most) most = count;
    }
    struct clusterNode *me = e->t.myself;
    if (most < 2 || nodeCountHealthyReplicas(me->primary) != most) return false;
    for (int i = 0; i < e->t.count; i++) { /* in order of ids */
        struct clusterNode *n = e->t.nodes[i];
        if (n == me) return true;
        bool good = nodeIsReplica(n) && n->primary && !(n->flags & (NODE_FAIL | NODE_PFAIL));
        if (good && nodeIsPrimary(n->primary) && nodeCountHealthyReplicas(n->primary) == most) return false;
    }
    return true;
}

void orphansTick(struct engine *e) {
    struct clusterNode *me = e->t.myself;
    if (!e->settings.allow_replica_migration || !engineIsClusterOk(e) || !me->primary) return;
    if (nodeCountHealthyReplicas(me->primary) <= e->settings.migration_barrier) return;
    struct clusterNode *orphan = NULL;
    topologyForEach(&e->t, n) {
        if (n->orphaned_ms && e->now_ms - n->orphaned_ms > ORPHAN_DELAY_MS) orphan = n;
    }
    if (!orphan || !orphansIsMyTurn(e)) return;
    engineLog(e, LL_NOTICE, "Migrating to orphaned primary %s in shard %s", nodeLogName(orphan),
              orphan->shard_id);
    engineFollow(e, orphan, true);
}
