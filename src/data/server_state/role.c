/* SPDX-License-Identifier: BSD-3-Clause */
/* role.c - see role.h. */
#include "data/server_state/role.h"

#include "base/assert.h"

#define HOOKS_MAX 16

bool role_replica, role_read_only, cluster_enabled, sentinel_mode;
int role_propagation_errors;
struct replicationControl replication_control;
const struct clusterMembership *cluster_membership;
bool (*role_data_stale)(void);
const char err_masterdown[] =
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";
static void (*hooks[HOOKS_MAX])(bool replica);
static int hook_count;

const char *roleModeText(void) {
    return sentinel_mode ? "sentinel" : cluster_enabled ? "cluster" : "standalone";
}

void roleOnChange(void (*fn)(bool replica)) {
    serverAssert(fn && hook_count < HOOKS_MAX);
    hooks[hook_count++] = fn;
}

void roleSet(bool replica) {
    if (role_replica == replica) return;
    role_replica = replica;
    for (int i = 0; i < hook_count; i++) hooks[i](replica);
}
