/* SPDX-License-Identifier: BSD-3-Clause */
/* state.c - see state.h. */
#include "cluster/state.h"

#include "base/clock.h"
#include "command/wait.h"

struct engine cluster_engine;
struct clusterSettings cluster_settings;

int clusterReplicasOnline(void) {
    return clusterMyself()->replica_count && wait_sources.online ? wait_sources.online() : 0;
}

int64_t clusterNow(void) {
    return mstime();
}
