/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_settings.c - the directives cluster-*; see cluster.h. */
#include "cluster/cluster_settings.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/bus_links.h"
#include "cluster/state.h"
#include "cluster/topology_file.h"
#include "net/dial.h"
#include "registry/config.h"

#define SET              CONFIG_MODIFIABLE
#define HOSTNAME_MAX_LEN 256

static int bus_port; /* the listening port; it stays when the ports from which it was derived change */
static bool ip_announced;

/* ---- Checks ---- */

static bool clusterSettingsCheckIpv4(const char *value, const char **err) {
    struct in_addr addr;
    *err = "Invalid IPv4 address";
    return !*value || inet_pton(AF_INET, value, &addr) == 1;
}

static bool clusterSettingsCheckIpv6(const char *value, const char **err) {
    struct in6_addr addr;
    *err = "Invalid IPv6 address";
    return !*value || inet_pton(AF_INET6, value, &addr) == 1;
}

static bool clusterSettingsCheckHostname(const char *value, const char **err) {
    if (strlen(value) >= HOSTNAME_MAX_LEN) {
        *err = "Hostnames must be less than 256 characters";
        return false;
    }
    *err = "Hostnames may only contain alphanumeric characters, hyphens or dots";
    for (; *value; value++) {
        bool letter = (*value | 32) >= 'a' && (*value | 32) <= 'z', digit = *value >= '0' && *value <= '9';
        if (!letter && !digit && *value != '-' && *value != '.') return false;
    }
    return true;
}

static bool clusterSettingsCheckNodename(const char *value, const char **err) {
    *err = "Announced human node name contained invalid character";
    return topologyIsTextValid(strOf(value));
}

static bool clusterSettingsCheckAnnounceIp(const char *value, const char **err) {
    if (strlen(value) >= NODE_IP_LEN) {
        *err = "cluster-announce-ip is too long";
        return false;
    }
    *err = "cluster-announce-ip contains invalid character";
    return topologyIsTextValid(strOf(value));
}

/* ---- From directives to the node ---- */

int clusterBusPort(void) {
    if (!bus_port && cluster_settings.port) bus_port = (int)cluster_settings.port;
    if (!bus_port)
        bus_port = (int)configNumber(dial_settings.cluster_tls ? "tls-port" : "port") + BUS_PORT_OFFSET;
    return bus_port;
}

static uint16_t clusterSettingsPort(int64_t announced, int64_t real) {
    return (uint16_t)(announced ? announced : real);
}

static void clusterSettingsAnnounceText(sds *field, const char *value) {
    *field = sdscpylen(*field, value ? value : "", value ? strlen(value) : 0);
}

static void clusterSettingsAnnounceMyself(struct clusterNode *me) {
    const struct clusterSettings *s = &cluster_settings;
    me->tcp_port = clusterSettingsPort(s->announce_port, configNumber("port"));
    me->tls_port = clusterSettingsPort(s->announce_tls_port, configNumber("tls-port"));
    me->bus_port = clusterSettingsPort(s->announce_bus_port, clusterBusPort());
    me->client_tcp_port = (uint16_t)s->announce_client_port;
    me->client_tls_port = (uint16_t)s->announce_client_tls_port;
    if (s->announce_ip || ip_announced) {
        memset(me->ip, 0, NODE_IP_LEN);
        if (s->announce_ip) strncpy(me->ip, s->announce_ip, NODE_IP_LEN - 1);
        ip_announced = s->announce_ip; /* without it, the next MEET or link sets the address */
    }
    bool no_failover = cluster_engine.settings.replica_no_failover == NO_FAILOVER_YES;
    me->flags = (uint16_t)(no_failover ? me->flags | NODE_NOFAILOVER : me->flags & ~NODE_NOFAILOVER);
    me->replica_priority = (uint32_t)s->replica_priority;
    clusterSettingsAnnounceText(&me->hostname, s->announce_hostname);
    clusterSettingsAnnounceText(&me->human_name, s->announce_human_name);
    clusterSettingsAnnounceText(&me->client_ipv4, s->announce_client_ipv4);
    clusterSettingsAnnounceText(&me->client_ipv6, s->announce_client_ipv6);
    sds zone = configGet("availability-zone");
    clusterSettingsAnnounceText(&me->availability_zone, zone);
    sdsfree(zone);
}

void clusterSettingsApply(void) {
    struct engine *e = &cluster_engine;
    e->settings.announced_ip = cluster_settings.announce_ip ? cluster_settings.announce_ip : "";
    e->settings.tls = dial_settings.cluster_tls;
    e->settings.sync_replicas = configNumber("min-replicas-sync");
    e->settings.repl_ping_period_s = configNumber("repl-ping-replica-period");
    if (e->t.myself) clusterSettingsAnnounceMyself(e->t.myself);
}

/* Called after any CONFIG SET, because ports, the zone and periods are directives of other modules. Other
 * nodes get the values in the next messages; nodes.conf has them, too. */
static void clusterSettingsOnChange(void) {
    if (!cluster_enabled || !clusterMyself()) return;
    const struct topology *t = clusterTopology();
    sds before = nodeFormatLine(sdsempty(), t, t->myself, LINE_FILE);
    int64_t sync_before = cluster_engine.settings.sync_replicas;
    clusterSettingsApply();
    /* Replicas have to know, if possible before this node acknowledges by it. */
    if (cluster_engine.settings.sync_replicas != sync_before) engineAddTodo(&cluster_engine, TODO_BROADCAST);
    sds after = nodeFormatLine(sdsempty(), t, t->myself, LINE_FILE);
    engineAddTodo(&cluster_engine, strcmp(before, after) ? TODO_SAVE | TODO_STATE : TODO_STATE);
    sdsfree(before);
    sdsfree(after);
}

/* ---- Directives ---- */

static const struct configEnum save_behavior_names[] = {{"sync", 0}, {"best-effort", 1}, {NULL, 0}};
static const struct configEnum endpoint_names[] = {
    {"ip", ENDPOINT_IP}, {"hostname", ENDPOINT_HOSTNAME}, {"unknown-endpoint", ENDPOINT_UNKNOWN}, {NULL, 0}};

static const struct configEnum no_failover_names[] = {
    {"no", NO_FAILOVER_NO}, {"yes", NO_FAILOVER_YES}, {"if-empty", NO_FAILOVER_IF_EMPTY}, {NULL, 0}};

#define S(field) &cluster_settings.field
#define E(field) &cluster_engine.settings.field
static struct configDirective directives[] = {
    CONFIG_BOOL("cluster-allow-pubsubshard-when-down", NULL, SET, S(pubsub_when_down), true, NULL),
    CONFIG_BOOL("cluster-allow-reads-when-down", NULL, SET, S(reads_when_down), false, NULL),
    CONFIG_BOOL("cluster-allow-replica-migration", NULL, SET, E(allow_replica_migration), true, NULL),
    CONFIG_INT("cluster-announce-bus-port", NULL, SET, S(announce_bus_port), 0, 0, 65535, NULL),
    CONFIG_STRING("cluster-announce-client-ipv4", NULL, SET, S(announce_client_ipv4), "",
                  clusterSettingsCheckIpv4, NULL),
    CONFIG_STRING("cluster-announce-client-ipv6", NULL, SET, S(announce_client_ipv6), "",
                  clusterSettingsCheckIpv6, NULL),
    CONFIG_INT("cluster-announce-client-port", NULL, SET, S(announce_client_port), 0, 0, 65535, NULL),
    CONFIG_INT("cluster-announce-client-tls-port", NULL, SET, S(announce_client_tls_port), 0, 0, 65535, NULL),
    CONFIG_STRING("cluster-announce-hostname", NULL, SET, S(announce_hostname), "",
                  clusterSettingsCheckHostname, NULL),
    CONFIG_STRING("cluster-announce-human-nodename", NULL, SET, S(announce_human_name), "",
                  clusterSettingsCheckNodename, NULL),
    CONFIG_STRING("cluster-announce-ip", NULL, SET | CONFIG_EMPTY_IS_NULL, S(announce_ip), NULL,
                  clusterSettingsCheckAnnounceIp, NULL),
    CONFIG_INT("cluster-announce-port", NULL, SET, S(announce_port), 0, 0, 65535, NULL),
    CONFIG_INT("cluster-announce-tls-port", NULL, SET, S(announce_tls_port), 0, 0, 65535, NULL),
    CONFIG_INT("cluster-blacklist-ttl", NULL, SET, E(blacklist_ttl_s), 60, INT64_MIN, INT64_MAX, NULL),
    CONFIG_STRING("cluster-config-file", NULL, 0, S(config_file), "nodes.conf", NULL, NULL),
    CONFIG_ENUM("cluster-config-save-behavior", NULL, SET, S(save_behavior), 0, save_behavior_names, NULL),
    CONFIG_INT("cluster-databases", NULL, 0, S(databases), 1, 1, INT32_MAX, NULL),
    CONFIG_BOOL("cluster-enabled", NULL, 0, &cluster_enabled, false, NULL),
    CONFIG_INT("cluster-link-sendbuf-limit", NULL, SET | CONFIG_MEMORY, S(link_limit), 0, 0, INT64_MAX, NULL),
    CONFIG_INT("cluster-manual-failover-timeout", NULL, SET, E(manual_failover_timeout_ms), 5000, 1,
               INT32_MAX, NULL),
    CONFIG_INT("cluster-message-gossip-perc", NULL, SET | CONFIG_HIDDEN, E(gossip_percent), 10, 1, 100, NULL),
    CONFIG_INT("cluster-migration-barrier", NULL, SET, E(migration_barrier), 1, 0, INT32_MAX, NULL),
    CONFIG_INT("cluster-node-timeout", NULL, SET, E(node_timeout_ms), 15000, 0, INT64_MAX, NULL),
    CONFIG_INT("cluster-ping-interval", NULL, SET | CONFIG_HIDDEN, E(ping_interval_ms), 0, 0, INT64_MAX,
               NULL),
    CONFIG_INT("cluster-port", NULL, 0, S(port), 0, 0, 65535, NULL),
    CONFIG_ENUM("cluster-preferred-endpoint-type", NULL, SET, S(endpoint_type), ENDPOINT_IP, endpoint_names,
                NULL),
    CONFIG_ENUM("cluster-replica-no-failover", "cluster-slave-no-failover", SET, E(replica_no_failover),
                NO_FAILOVER_NO, no_failover_names, NULL),
    CONFIG_INT("cluster-replica-priority", NULL, SET, S(replica_priority), 0, 0, INT32_MAX, NULL),
    CONFIG_INT("cluster-replica-validity-factor", "cluster-slave-validity-factor", SET,
               E(replica_validity_factor), 10, 0, INT32_MAX, NULL),
    CONFIG_BOOL("cluster-require-full-coverage", NULL, SET, E(require_full_coverage), true, NULL),
    CONFIG_INT("cluster-slot-migration-log-max-len", NULL, SET, S(migration_log_max), 1000, 0, INT64_MAX,
               NULL),
    CONFIG_BOOL("cluster-slot-stats-enabled", NULL, SET, S(slot_stats), false, NULL),
    CONFIG_BOOL("cluster-unclean-failover", NULL, SET, E(unclean_failover), false, NULL),
    CONFIG_INT("slot-migration-max-failover-repl-bytes", NULL, SET | CONFIG_MEMORY,
               S(migration_max_repl_bytes), 0, -1, INT64_MAX, NULL),
};

void clusterSettingsInit(void) {
    configRegister(directives, sizeof directives / sizeof *directives);
    configOnChange(clusterSettingsOnChange);
}
