/* SPDX-License-Identifier: BSD-3-Clause */
/* metrics_fields.c - fields of INFO that become a metric each. Part of metrics.h.
 *
 * A field that INFO does not show at present (of the append-only file, of a cluster) has
 * no metric, either. */
#include "web/exposition.h"
#include "web/info_view.h"
#include "web/metrics.h"

enum metricValueKind {
    METRIC_VALUE_NUMBER,
    METRIC_VALUE_STATUS /* 1 if the value is "ok" */,
    METRIC_VALUE_CERTIFICATE /* shown only if there is a certificate */
};

struct metricsField {
    const char *info, *metric;
    enum metricType type;
    double units; /* the value is divided by it; 0: not scaled */
    enum metricValueKind kind;
    const char *help;
};

#define GAUGE(info, metric, help)                                                                            \
    { info, metric, METRIC_GAUGE, 0, METRIC_VALUE_NUMBER, help }
#define COUNTER(info, metric, help)                                                                          \
    { info, metric, METRIC_COUNTER, 0, METRIC_VALUE_NUMBER, help }
#define SCALED(info, metric, type, by, help)                                                                 \
    { info, metric, type, by, METRIC_VALUE_NUMBER, help }
#define STATUS(info, metric, help)                                                                           \
    { info, metric, METRIC_GAUGE, 0, METRIC_VALUE_STATUS, help }
#define CERTIFICATE(info, metric, help)                                                                      \
    { info, metric, METRIC_GAUGE, 0, METRIC_VALUE_CERTIFICATE, help }

static const struct metricsField fields[] = {
    /* Server */
    GAUGE("process_id", "process_id", "Process id of the server."),
    GAUGE("uptime_in_seconds", "uptime_in_seconds", "Seconds since the start."),
    GAUGE("io_threads_active", "io_threads_active", "Whether I/O threads currently serve connections."),
    /* TLS */
    CERTIFICATE("tls_server_cert", "tls_server_cert_expires_in_seconds",
                "Seconds until the server's certificate expires."),
    CERTIFICATE("tls_server_alt_cert", "tls_server_alt_cert_expires_in_seconds",
                "Seconds until the server's second certificate expires."),
    CERTIFICATE("tls_client_cert", "tls_client_cert_expires_in_seconds",
                "Seconds until the certificate for outgoing connections expires."),
    CERTIFICATE("tls_ca_cert", "tls_ca_cert_expires_in_seconds",
                "Seconds until the first certificate of an authority expires."),
    /* Clients */
    GAUGE("connected_clients", "connected_clients", "Connected clients without replicas."),
    GAUGE("connected_priority_clients", "connected_priority_clients", "Clients from priority-subnets."),
    GAUGE("cluster_connections", "cluster_connections", "Connections of the cluster bus."),
    GAUGE("maxclients", "config_maxclients", "The limit maxclients."),
    GAUGE("client_recent_max_input_buffer", "client_recent_max_input_buffer_bytes",
          "The largest recent input buffer."),
    GAUGE("client_recent_max_output_buffer", "client_recent_max_output_buffer_bytes",
          "The largest recent output of a client."),
    GAUGE("blocked_clients", "blocked_clients", "Clients that wait in a blocking command."),
    GAUGE("tracking_clients", "tracking_clients", "Clients with client-side caching."),
    GAUGE("pubsub_clients", "pubsub_clients", "Clients with subscriptions."),
    GAUGE("watching_clients", "watching_clients", "Clients that watch keys."),
    GAUGE("clients_in_timeout_table", "clients_in_timeout_table", "Clients that wait with a time-out."),
    GAUGE("total_watched_keys", "total_watched_keys", "Keys that clients watch."),
    GAUGE("total_blocking_keys", "total_blocking_keys", "Keys that clients wait for."),
    /* Memory */
    GAUGE("used_memory", "memory_used_bytes", "Memory that the server has allocated."),
    GAUGE("used_memory_rss", "memory_used_rss_bytes", "Resident memory of the process."),
    GAUGE("used_memory_peak", "memory_used_peak_bytes", "The highest memory use so far."),
    GAUGE("used_memory_peak_time", "memory_used_peak_timestamp_seconds",
          "Unix time of the highest memory use."),
    GAUGE("used_memory_overhead", "memory_used_overhead_bytes", "Memory in use that is not data."),
    GAUGE("used_memory_startup", "memory_used_startup_bytes", "Memory in use when the server was ready."),
    GAUGE("used_memory_dataset", "memory_used_dataset_bytes", "Memory of the data."),
    GAUGE("allocator_allocated", "allocator_allocated_bytes", "Bytes that the allocator has allocated."),
    GAUGE("allocator_active", "allocator_active_bytes", "Pages of the allocator that are in use."),
    GAUGE("allocator_resident", "allocator_resident_bytes", "Pages of the allocator that are resident."),
    GAUGE("total_system_memory", "total_system_memory_bytes", "Memory of the machine."),
    GAUGE("used_memory_lua", "memory_used_lua_bytes", "Memory of Lua's engine for EVAL."),
    GAUGE("used_memory_vm_eval", "memory_used_vm_eval_bytes", "Memory of the engines for EVAL."),
    GAUGE("used_memory_scripts_eval", "memory_used_scripts_eval_bytes", "Memory of cached scripts."),
    GAUGE("number_of_cached_scripts", "number_of_cached_scripts", "Scripts that are cached for EVALSHA."),
    GAUGE("number_of_functions", "number_of_functions", "Functions that are loaded."),
    GAUGE("number_of_libraries", "number_of_libraries", "Libraries of functions that are loaded."),
    GAUGE("used_memory_vm_functions", "memory_used_vm_functions_bytes",
          "Memory of the engines of functions."),
    GAUGE("used_memory_functions", "memory_used_functions_bytes", "Memory of libraries of functions."),
    GAUGE("used_memory_scripts", "memory_used_scripts_bytes", "Memory of scripts and functions."),
    GAUGE("maxmemory", "memory_max_bytes", "The limit maxmemory; 0: none."),
    GAUGE("allocator_frag_ratio", "allocator_frag_ratio", "Active to allocated memory."),
    GAUGE("allocator_frag_bytes", "allocator_frag_bytes", "Active memory that is not allocated."),
    GAUGE("allocator_rss_ratio", "allocator_rss_ratio", "Resident to active memory."),
    GAUGE("allocator_rss_bytes", "allocator_rss_bytes", "Resident memory that is not active."),
    GAUGE("mem_fragmentation_ratio", "mem_fragmentation_ratio", "Memory of the process to memory in use."),
    GAUGE("mem_fragmentation_bytes", "mem_fragmentation_bytes", "Memory of the process that is not in use."),
    GAUGE("mem_not_counted_for_evict", "mem_not_counted_for_eviction_bytes",
          "Memory that the limit maxmemory leaves out."),
    GAUGE("mem_replication_backlog", "mem_replication_backlog_bytes", "Memory of the replication backlog."),
    GAUGE("mem_clients_slaves", "mem_clients_slaves", "Memory of replicas' connections."),
    GAUGE("mem_clients_normal", "mem_clients_normal", "Memory of the other clients."),
    GAUGE("mem_cluster_links", "mem_cluster_links_bytes", "Memory of the links of the cluster's bus."),
    GAUGE("mem_aof_buffer", "mem_aof_buffer_bytes", "Memory of the append-only file's buffer."),
    GAUGE("mem_snapshot_buffer", "mem_snapshot_buffer_bytes",
          "Old values that wait to be written by a snapshot without a fork."),
    GAUGE("active_defrag_running", "active_defrag_running",
          "Percentage of a processor that defragmentation may use now."),
    GAUGE("lazyfree_pending_objects", "lazyfree_pending_objects", "Values that a thread still has to free."),
    COUNTER("lazyfreed_objects", "lazyfreed_objects_total", "Values that a thread has freed."),
    /* Persistence */
    GAUGE("loading", "loading_dump_file", "Whether a file is being loaded."),
    GAUGE("async_loading", "async_loading", "Whether a dataset is loaded beside the one that is served."),
    GAUGE("rdb_changes_since_last_save", "rdb_changes_since_last_save", "Changes since the last snapshot."),
    GAUGE("rdb_bgsave_in_progress", "rdb_bgsave_in_progress", "Whether a snapshot is being written."),
    GAUGE("rdb_last_save_time", "rdb_last_save_timestamp_seconds",
          "Unix time of the last successful snapshot."),
    STATUS("rdb_last_bgsave_status", "rdb_last_bgsave_status", "Whether the last snapshot succeeded."),
    GAUGE("rdb_last_bgsave_time_sec", "rdb_last_bgsave_duration_sec", "Seconds that the last snapshot took."),
    GAUGE("rdb_current_bgsave_time_sec", "rdb_current_bgsave_duration_sec",
          "Seconds since the current snapshot began; -1: there is none."),
    COUNTER("rdb_saves", "rdb_saves_total", "Snapshots since the start."),
    GAUGE("rdb_saves_consecutive_failures", "rdb_saves_consecutive_failures",
          "Snapshots in the background that have failed since the last success."),
    GAUGE("rdb_last_cow_size", "rdb_last_cow_size_bytes", "Memory that was copied during the last snapshot."),
    GAUGE("aof_enabled", "aof_enabled", "Whether the append-only file is enabled."),
    GAUGE("aof_rewrite_in_progress", "aof_rewrite_in_progress",
          "Whether the append-only file is being rewritten."),
    GAUGE("aof_rewrite_scheduled", "aof_rewrite_scheduled",
          "Whether a rewrite follows the current snapshot."),
    GAUGE("aof_last_rewrite_time_sec", "aof_last_rewrite_duration_sec",
          "Seconds that the last rewrite took."),
    GAUGE("aof_current_rewrite_time_sec", "aof_current_rewrite_duration_sec",
          "Seconds since the current rewrite began; -1: there is none."),
    STATUS("aof_last_bgrewrite_status", "aof_last_bgrewrite_status", "Whether the last rewrite succeeded."),
    STATUS("aof_last_write_status", "aof_last_write_status",
           "Whether the last write to the append-only file succeeded."),
    GAUGE("aof_last_cow_size", "aof_last_cow_size_bytes", "Memory that was copied during the last rewrite."),
    GAUGE("module_fork_in_progress", "module_fork_in_progress", "Whether a child of a module runs."),
    GAUGE("module_fork_last_cow_size", "module_fork_last_cow_size",
          "Memory that was copied during a module's last child."),
    GAUGE("aof_current_size", "aof_current_size_bytes", "Size of the append-only file."),
    GAUGE("aof_base_size", "aof_base_size_bytes", "Size of the append-only file after the last rewrite."),
    GAUGE("aof_pending_rewrite", "aof_pending_rewrite", "Whether a rewrite waits to begin."),
    GAUGE("aof_buffer_length", "aof_buffer_length", "Bytes in the append-only file's buffer."),
    GAUGE("aof_pending_bio_fsync", "aof_pending_bio_fsync", "Calls of fsync that are queued for a thread."),
    GAUGE("aof_delayed_fsync", "aof_delayed_fsync", "Writes during an fsync of more than two seconds."),
    /* Stats */
    COUNTER("total_connections_received", "connections_received_total", "Connections that were accepted."),
    COUNTER("total_commands_processed", "commands_processed_total", "Commands that have run."),
    GAUGE("instantaneous_ops_per_sec", "instantaneous_ops_per_sec", "Commands per second at present."),
    COUNTER("total_net_input_bytes", "net_input_bytes_total", "Bytes from clients."),
    COUNTER("total_net_output_bytes", "net_output_bytes_total", "Bytes to clients."),
    COUNTER("total_net_repl_input_bytes", "net_repl_input_bytes_total", "Bytes from the primary."),
    COUNTER("total_net_repl_output_bytes", "net_repl_output_bytes_total", "Bytes to replicas."),
    COUNTER("rejected_connections", "rejected_connections_total", "Connections that were rejected."),
    COUNTER("rejected_priority_connections", "rejected_priority_connections_total",
            "Connections from priority-subnets that were rejected."),
    GAUGE("sync_full", "replica_resyncs_full", "Full synchronizations of replicas."),
    GAUGE("sync_partial_ok", "replica_partial_resync_accepted", "Partial synchronizations of replicas."),
    GAUGE("sync_partial_err", "replica_partial_resync_denied", "Partial synchronizations that were refused."),
    COUNTER("expired_keys", "expired_keys_total", "Keys that have expired."),
    COUNTER("expired_keys_active", "expired_keys_active_total",
            "Keys that the job for expired keys has deleted."),
    COUNTER("expired_fields", "expired_fields_total", "Fields of hashes that have expired."),
    GAUGE("expired_stale_perc", "expired_stale_percentage",
          "Estimated percentage of keys that have expired and still exist."),
    GAUGE("expired_time_cap_reached_count", "expired_time_cap_reached_total",
          "How often the search for expired keys used up its time limit."),
    COUNTER("evicted_keys", "evicted_keys_total", "Keys that were evicted."),
    COUNTER("evicted_clients", "evicted_clients_total", "Clients that were evicted."),
    COUNTER("evicted_scripts", "evicted_scripts_total", "Cached scripts that were evicted."),
    SCALED("total_eviction_exceeded_time", "eviction_exceeded_time_seconds_total", METRIC_COUNTER, 1e3,
           "Time with more memory in use than maxmemory."),
    COUNTER("keyspace_hits", "keyspace_hits_total", "Lookups of existing keys."),
    COUNTER("keyspace_misses", "keyspace_misses_total", "Lookups of missing keys."),
    GAUGE("pubsub_channels", "pubsub_channels", "Channels with subscribers."),
    GAUGE("pubsub_patterns", "pubsub_patterns", "Patterns with subscribers."),
    GAUGE("pubsubshard_channels", "pubsubshard_channels", "Shard channels with subscribers."),
    SCALED("latest_fork_usec", "latest_fork_seconds", METRIC_GAUGE, 1e6, "Time that the last fork took."),
    COUNTER("total_forks", "forks_total", "Forks since the start."),
    GAUGE("migrate_cached_sockets", "migrate_cached_sockets_total", "Connections that MIGRATE keeps open."),
    GAUGE("slave_expires_tracked_keys", "slave_expires_tracked_keys",
          "Keys with an expiry that a writable replica has created."),
    GAUGE("active_defrag_hits", "defrag_hits", "Allocations that were moved."),
    GAUGE("active_defrag_misses", "defrag_misses", "Allocations that were examined and not moved."),
    GAUGE("active_defrag_key_hits", "defrag_key_hits", "Keys with allocations that were moved."),
    GAUGE("active_defrag_key_misses", "defrag_key_misses", "Keys that were examined and not moved."),
    GAUGE("tracking_total_keys", "tracking_total_keys", "Keys that clients cache."),
    GAUGE("tracking_total_items", "tracking_total_items", "Copies of keys that clients cache."),
    GAUGE("tracking_total_prefixes", "tracking_total_prefixes", "Prefixes of keys that clients track."),
    COUNTER("unexpected_error_replies", "unexpected_error_replies", "Unexpected errors."),
    COUNTER("total_error_replies", "total_error_replies", "Errors that were replied."),
    COUNTER("dump_payload_sanitizations", "dump_payload_sanitizations",
            "Values whose payload was validated."),
    COUNTER("total_reads_processed", "total_reads_processed", "Reads from sockets."),
    COUNTER("total_writes_processed", "total_writes_processed", "Writes to sockets."),
    COUNTER("io_threaded_reads_processed", "io_threaded_reads_processed", "Reads by I/O threads."),
    COUNTER("io_threaded_writes_processed", "io_threaded_writes_processed", "Writes by I/O threads."),
    COUNTER("client_query_buffer_limit_disconnections", "client_query_buffer_limit_disconnections_total",
            "Clients disconnected by the query buffer limit."),
    COUNTER("client_output_buffer_limit_disconnections", "client_output_buffer_limit_disconnections_total",
            "Clients disconnected by the output buffer limit."),
    COUNTER("eventloop_cycles", "eventloop_cycles_total", "Iterations of the event loop."),
    SCALED("eventloop_duration_sum", "eventloop_duration_seconds_total", METRIC_COUNTER, 1e6,
           "Time in iterations of the event loop."),
    SCALED("eventloop_duration_cmd_sum", "eventloop_duration_cmd_seconds_total", METRIC_COUNTER, 1e6,
           "Time in commands."),
    COUNTER("eventloop_priority_cycles", "eventloop_priority_cycles_total",
            "Polls of priority connections within an iteration."),
    SCALED("eventloop_priority_duration_sum", "eventloop_priority_duration_seconds_total", METRIC_COUNTER,
           1e6, "Time in serving priority connections within an iteration."),
    SCALED("eventloop_priority_duration_cmd_sum", "eventloop_priority_duration_cmd_seconds_total",
           METRIC_COUNTER, 1e6, "Time in commands of priority clients within an iteration."),
    COUNTER("acl_access_denied_auth", "acl_access_denied_auth_total", "Logins that failed."),
    COUNTER("acl_access_denied_cmd", "acl_access_denied_cmd_total", "Commands that users may not run."),
    COUNTER("acl_access_denied_key", "acl_access_denied_key_total", "Keys that users may not use."),
    COUNTER("acl_access_denied_channel", "acl_access_denied_channel_total",
            "Channels that users may not use."),
    /* Replication */
    GAUGE("connected_slaves", "connected_slaves", "Replicas that are connected."),
    GAUGE("slave_priority", "slave_priority", "Priority of this replica in a failover."),
    GAUGE("master_repl_offset", "master_repl_offset", "The replication offset."),
    GAUGE("second_repl_offset", "second_repl_offset",
          "Offset up to which the second replication id is valid."),
    GAUGE("repl_backlog_active", "repl_backlog_is_active", "Whether there is a replication backlog."),
    GAUGE("repl_backlog_size", "replication_backlog_bytes", "Size of the replication backlog."),
    GAUGE("repl_backlog_first_byte_offset", "repl_backlog_first_byte_offset",
          "Offset of the first byte of the backlog."),
    GAUGE("repl_backlog_histlen", "repl_backlog_history_bytes", "Bytes in the backlog."),
    /* CPU */
    COUNTER("used_cpu_sys", "cpu_sys_seconds_total", "Processor time in the kernel."),
    COUNTER("used_cpu_user", "cpu_user_seconds_total", "Processor time in user mode."),
    COUNTER("used_cpu_sys_children", "cpu_sys_children_seconds_total",
            "Processor time of children in the kernel."),
    COUNTER("used_cpu_user_children", "cpu_user_children_seconds_total",
            "Processor time of children in user mode."),
    COUNTER("used_cpu_sys_main_thread", "cpu_sys_main_thread_seconds_total",
            "Processor time of the main thread in the kernel."),
    COUNTER("used_cpu_user_main_thread", "cpu_user_main_thread_seconds_total",
            "Processor time of the main thread in user mode."),
    /* Cluster */
    GAUGE("cluster_enabled", "cluster_enabled", "Whether this is a node of a cluster."),
    STATUS("cluster_state", "cluster_state", "Whether the cluster serves, as this node sees it."),
    GAUGE("cluster_slots_assigned", "cluster_slots_assigned", "Slots that are assigned."),
    GAUGE("cluster_slots_ok", "cluster_slots_ok", "Slots whose owner is up."),
    GAUGE("cluster_slots_pfail", "cluster_slots_pfail", "Slots whose owner does not reply to this node."),
    GAUGE("cluster_slots_fail", "cluster_slots_fail", "Slots whose owner has failed."),
    GAUGE("cluster_nodes_pfail", "cluster_nodes_pfail", "Nodes that do not reply to this node."),
    GAUGE("cluster_nodes_fail", "cluster_nodes_fail", "Nodes that have failed."),
    GAUGE("cluster_voting_nodes_pfail", "cluster_voting_nodes_pfail",
          "Voting nodes that do not reply to this node."),
    GAUGE("cluster_voting_nodes_fail", "cluster_voting_nodes_fail", "Voting nodes that have failed."),
    GAUGE("cluster_known_nodes", "cluster_known_nodes", "Nodes that this node knows."),
    GAUGE("cluster_size", "cluster_size", "Primaries with slots."),
    GAUGE("cluster_current_epoch", "cluster_current_epoch", "The cluster's epoch."),
    GAUGE("cluster_my_epoch", "cluster_my_epoch", "This node's epoch."),
    GAUGE("cluster_stats_messages_sent", "cluster_messages_sent_total", "Messages sent over the bus."),
    GAUGE("cluster_stats_messages_received", "cluster_messages_received_total",
          "Messages received over the bus."),
    GAUGE("cluster_stats_bytes_sent", "cluster_stats_bytes_sent", "Bytes sent over the bus."),
    GAUGE("cluster_stats_bytes_received", "cluster_stats_bytes_received", "Bytes received over the bus."),
    GAUGE("cluster_stats_pubsub_bytes_sent", "cluster_stats_pubsub_bytes_sent",
          "Bytes sent for published messages."),
    GAUGE("cluster_stats_pubsub_bytes_received", "cluster_stats_pubsub_bytes_received",
          "Bytes received for published messages."),
    GAUGE("cluster_stats_module_bytes_sent", "cluster_stats_module_bytes_sent",
          "Bytes sent for modules' messages."),
    GAUGE("cluster_stats_module_bytes_received", "cluster_stats_module_bytes_received",
          "Bytes received for modules' messages."),
};

static void metricsFieldsWriteNumber(struct exposition *e, const struct metricsField *f, struct str value) {
    double number;
    if (!infoViewParseNumber(value, &number)) return;
    metricFamily(e, f->metric, f->type, f->help);
    metricPlain(e, f->units ? number / f->units : number);
}

/* A missing certificate has a serial "none" in INFO and gets no metric. */
static void metricsFieldsWriteCertificate(struct exposition *e, const struct metricsField *f,
                                          struct infoView *info) {
    sds serial_name = sdscat(sdsnew(f->info), "_serial"),
        name = sdscat(sdsnew(f->info), "_expires_in_seconds");
    struct str serial = infoViewGet(info, serial_name);
    if (serial.ptr && !strIs(serial, "none")) {
        metricFamily(e, f->metric, f->type, f->help);
        metricOpen(e, "");
        metricLabel(e, "serial", serial);
        metricValue(e, infoViewNumber(info, name));
    }
    sdsfree(serial_name);
    sdsfree(name);
}

static void metricsFieldsWriteField(struct exposition *e, const struct metricsField *f,
                                    struct infoView *info) {
    if (f->kind == METRIC_VALUE_CERTIFICATE) {
        metricsFieldsWriteCertificate(e, f, info);
        return;
    }
    struct str value = infoViewGet(info, f->info);
    if (!value.ptr) return;
    if (f->kind == METRIC_VALUE_STATUS) {
        metricFamily(e, f->metric, f->type, f->help);
        metricPlain(e, strIs(value, "ok"));
        return;
    }
    metricsFieldsWriteNumber(e, f, value);
}

void metricsWriteFields(struct exposition *e, struct infoView *info) {
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) metricsFieldsWriteField(e, &fields[i], info);
}
