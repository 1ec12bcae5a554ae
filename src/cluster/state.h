/* SPDX-License-Identifier: BSD-3-Clause */
/* state.h - what the files of this module share: the engine of this node, and its directives. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "cluster/cluster_engine.h"
#include "data/server_state/role.h"

/* The state of this node, valid only if the cluster is enabled. A function that changes it adds the work that
 * follows from the change (engineAddTodo). */
extern struct engine cluster_engine;
static inline struct topology *clusterTopology(void) {
    return &cluster_engine.t;
}
static inline struct clusterNode *clusterMyself(void) {
    return cluster_engine.t.myself;
}
/* Returns how many replicas have to acknowledge something before this node goes on. It is 0 for a primary
 * without replicas in the cluster: tools that copy its data may never acknowledge anything. */
int clusterReplicasOnline(void);
int64_t clusterNow(void); /* wall clock in ms, for functions of the engine */

/* The directives that the engine does not have. */
enum endpointType { ENDPOINT_IP, ENDPOINT_HOSTNAME, ENDPOINT_UNKNOWN };
struct clusterSettings {
    int64_t port, link_limit, databases, migration_log_max, migration_max_repl_bytes;
    int64_t announce_port, announce_tls_port, announce_bus_port, announce_client_port,
        announce_client_tls_port, replica_priority;
    sds announce_ip, announce_hostname, announce_human_name, announce_client_ipv4, announce_client_ipv6;
    sds config_file;
    int endpoint_type, save_behavior;
    bool reads_when_down, pubsub_when_down, slot_stats;
};
extern struct clusterSettings cluster_settings;
