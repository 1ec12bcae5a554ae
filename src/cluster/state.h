/* SPDX-License-Identifier: BSD-3-Clause */
/* state.h - what the parts of this room share: the engine of this node, and its directives. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "cluster/cluster_engine.h"
#include "data/server_state/role.h"

/* The state of this node. Only when enabled. Whoever changes it says what is to be done (engineTodo). */
extern struct engine cluster_engine;
static inline struct topology *clusterTopology(void) {
    return &cluster_engine.t;
}
static inline struct clusterNode *clusterMyself(void) {
    return cluster_engine.t.myself;
}
/* Replicas that are to have something before this node goes on. A primary without replicas in the cluster has
 * none, whoever else follows it (tools that copy data, which may never acknowledge anything). */
int clusterReplicasOnline(void);
int64_t clusterNow(void); /* of the wall clock, in ms: what engine functions are given */

/* The directives that are not the engine's. */
enum endpointType { ENDPOINT_IP, ENDPOINT_HOSTNAME, ENDPOINT_UNKNOWN };
struct clusterSettings {
    int64_t port, link_limit, databases, migration_log_max, migration_max_repl_bytes;
    int64_t announce_port, announce_tls_port, announce_bus_port, announce_client_port,
        announce_client_tls_port;
    sds announce_ip, announce_hostname, announce_human_name, announce_client_ipv4, announce_client_ipv6;
    sds config_file;
    int endpoint_type, save_behavior;
    bool reads_when_down, pubsub_when_down, slot_stats;
};
extern struct clusterSettings cluster_settings;
