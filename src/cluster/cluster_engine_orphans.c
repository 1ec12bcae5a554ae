/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_orphans.c - a replica goes to a primary that has lost all of its own, where there are
 * replicas to spare.
 *
 * Everybody decides for himself, so the rule must name one: of the primaries with most replicas, the replica
 * with the smallest id. */
#include <string.h>

#include "cluster/cluster_engine_private.h"

/* The primaries with most replicas, and whether of all of their good ones we are the first. */
static bool orphansAmChosen(struct engine *e) {
    int most = 0;
    for (int i = 0; i < e->t.count; i++) {
        int count = nodeIsPrimary(e->t.nodes[i]) ? healthyReplicas(e->t.nodes[i]) : 0;
        if (count > most) most = count;
    }
    struct clusterNode *me = e->t.myself;
    if (most < 2 || healthyReplicas(me->primary) != most) return false;
    for (int i = 0; i < e->t.count; i++) { /* in order of ids */
        struct clusterNode *n = e->t.nodes[i];
        if (n == me) return true;
        bool good = nodeIsReplica(n) && n->primary && !(n->flags & (NODE_FAIL | NODE_PFAIL));
        if (good && nodeIsPrimary(n->primary) && healthyReplicas(n->primary) == most) return false;
    }
    return true;
}

void orphansTick(struct engine *e) {
    struct clusterNode *me = e->t.myself;
    if (!e->settings.allow_replica_migration || !engineStateOk(e) || !me->primary) return;
    if (healthyReplicas(me->primary) <= e->settings.migration_barrier) return;
    struct clusterNode *orphan = NULL;
    topologyForEach(&e->t, n) {
        if (n->orphaned_ms && e->now_ms - n->orphaned_ms > ORPHAN_DELAY_MS) orphan = n;
    }
    if (!orphan || !orphansAmChosen(e)) return;
    engineLog(e, LL_NOTICE, "Migrating to orphaned primary %s in shard %s", nodeLogName(orphan),
              orphan->shard_id);
    engineFollow(e, orphan, true);
}
