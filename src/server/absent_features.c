/* absent_features.c - see absent_features.h.
 *
 * A directive here has a value and nothing that reads it. When its feature is built, its line moves to the
 * room of that feature, and this file gets shorter; in the end it is gone.
 *
 * At its default such a directive is right. Any other value is kept, shown and rewritten like all others, and
 * told at start: one block of the log for all of them, as nobody wants to learn of them one restart at a
 * time. CONFIG SET takes what has no effect at Valkey either, as long as there is no replica and no cluster;
 * it refuses what promises something that is not kept (rdma-port). The start is refused where clients or data
 * would be harmed by a server that is not what it was meant to be (cluster-enabled, loadmodule). */
#include "server/absent_features.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "registry/config.h"
#include "registry/info.h"
#include "server/permit.h"

/* ---- Checks ---- */

static bool validIpv4(const char *value, const char **err) {
    struct in_addr addr;
    *err = "Invalid IPv4 address";
    return !*value || inet_pton(AF_INET, value, &addr) == 1;
}

static bool validIpv6(const char *value, const char **err) {
    struct in6_addr addr;
    *err = "Invalid IPv6 address";
    return !*value || inet_pton(AF_INET6, value, &addr) == 1;
}

/* Do these letters and digits, and nothing else, make up the value? */
static bool onlyOf(const char *value, const char *allowed) {
    for (; *value; value++) {
        bool letter = (*value | 32) >= 'a' && (*value | 32) <= 'z', digit = *value >= '0' && *value <= '9';
        if (!letter && !digit && !strchr(allowed, *value)) return false;
    }
    return true;
}

static bool validHostname(const char *value, const char **err) {
    if (strlen(value) >= 256) {
        *err = "Hostnames must be less than 256 characters";
        return false;
    }
    *err = "Hostnames may only contain alphanumeric characters, hyphens or dots";
    return onlyOf(value, "-.");
}

static bool validNodename(const char *value, const char **err) {
    *err = "Announced human node name contained invalid character";
    return onlyOf(value, "-./:_`");
}

static bool validAnnounceIp(const char *value, const char **err) {
    if (strlen(value) >= INET6_ADDRSTRLEN) {
        *err = "cluster-announce-ip is too long";
        return false;
    }
    *err = "cluster-announce-ip contains invalid character";
    return onlyOf(value, "-./:_`");
}

static sds rdma_bind;
static int64_t rdma_port;

static bool noRdma(const char **err) {
    if (rdma_port == 0 && sdslen(rdma_bind) == 0) return true;
    *err = "No RDMA building support.";
    return false;
}

/* ---- loadmodule path argument ... ---- */

static sds modules; /* a line for each */

static bool addModule(const struct configDirective *d, int argc, const struct str *argv, const char **err) {
    (void)d, (void)err;
    if (!modules) modules = sdsempty();
    if (sdslen(modules)) modules = sdscat(modules, "\n");
    for (int i = 0; i < argc; i++) modules = sdscatstr(sdscat(modules, i ? " " : ""), argv[i]);
    return true;
}

static sds getModules(const struct configDirective *d) {
    (void)d;
    return modules ? sdsdup(modules) : sdsempty();
}

/* ---- Directives ---- */

/* Who has no variable of his own here gets one when he is registered. */
#define SET CONFIG_MODIFIABLE

static const struct configEnum save_behavior_names[] = {{"sync", 0}, {"best-effort", 1}, {NULL, 0}};
static const struct configEnum endpoint_names[] = {
    {"ip", 0}, {"hostname", 1}, {"unknown-endpoint", 2}, {NULL, 0}};

static struct configDirective cluster[] = {
    CONFIG_BOOL("cluster-allow-pubsubshard-when-down", NULL, SET, NULL, true, NULL),
    CONFIG_BOOL("cluster-allow-reads-when-down", NULL, SET, NULL, false, NULL),
    CONFIG_BOOL("cluster-allow-replica-migration", NULL, SET, NULL, true, NULL),
    CONFIG_INT("cluster-announce-bus-port", NULL, SET, NULL, 0, 0, 65535, NULL),
    CONFIG_STRING("cluster-announce-client-ipv4", NULL, SET, NULL, "", validIpv4, NULL),
    CONFIG_STRING("cluster-announce-client-ipv6", NULL, SET, NULL, "", validIpv6, NULL),
    CONFIG_INT("cluster-announce-client-port", NULL, SET, NULL, 0, 0, 65535, NULL),
    CONFIG_INT("cluster-announce-client-tls-port", NULL, SET, NULL, 0, 0, 65535, NULL),
    CONFIG_STRING("cluster-announce-hostname", NULL, SET, NULL, "", validHostname, NULL),
    CONFIG_STRING("cluster-announce-human-nodename", NULL, SET, NULL, "", validNodename, NULL),
    CONFIG_STRING("cluster-announce-ip", NULL, SET | CONFIG_EMPTY_IS_NULL, NULL, NULL, validAnnounceIp, NULL),
    CONFIG_INT("cluster-announce-port", NULL, SET, NULL, 0, 0, 65535, NULL),
    CONFIG_INT("cluster-announce-tls-port", NULL, SET, NULL, 0, 0, 65535, NULL),
    CONFIG_INT("cluster-blacklist-ttl", NULL, SET, NULL, 60, INT64_MIN, INT64_MAX, NULL),
    CONFIG_STRING("cluster-config-file", NULL, 0, NULL, "nodes.conf", NULL, NULL),
    CONFIG_ENUM("cluster-config-save-behavior", NULL, SET, NULL, 0, save_behavior_names, NULL),
    CONFIG_INT("cluster-databases", NULL, 0, NULL, 1, 1, INT32_MAX, NULL),
    CONFIG_BOOL("cluster-enabled", NULL, 0, NULL, false, NULL),
    CONFIG_INT("cluster-link-sendbuf-limit", NULL, SET | CONFIG_MEMORY, NULL, 0, 0, INT64_MAX, NULL),
    CONFIG_INT("cluster-manual-failover-timeout", NULL, SET, NULL, 5000, 1, INT32_MAX, NULL),
    CONFIG_INT("cluster-message-gossip-perc", NULL, SET | CONFIG_HIDDEN, NULL, 10, 1, 100, NULL),
    CONFIG_INT("cluster-migration-barrier", NULL, SET, NULL, 1, 0, INT32_MAX, NULL),
    CONFIG_INT("cluster-node-timeout", NULL, SET, NULL, 15000, 0, INT64_MAX, NULL),
    CONFIG_INT("cluster-ping-interval", NULL, SET | CONFIG_HIDDEN, NULL, 0, 0, INT64_MAX, NULL),
    CONFIG_INT("cluster-port", NULL, 0, NULL, 0, 0, 65535, NULL),
    CONFIG_ENUM("cluster-preferred-endpoint-type", NULL, SET, NULL, 0, endpoint_names, NULL),
    CONFIG_BOOL("cluster-replica-no-failover", "cluster-slave-no-failover", SET, NULL, false, NULL),
    CONFIG_INT("cluster-replica-validity-factor", "cluster-slave-validity-factor", SET, NULL, 10, 0,
               INT32_MAX, NULL),
    CONFIG_BOOL("cluster-require-full-coverage", NULL, SET, NULL, true, NULL),
    CONFIG_INT("cluster-slot-migration-log-max-len", NULL, SET, NULL, 1000, 0, INT64_MAX, NULL),
    CONFIG_BOOL("cluster-slot-stats-enabled", NULL, SET, NULL, false, NULL),
    CONFIG_INT("slot-migration-max-failover-repl-bytes", NULL, SET | CONFIG_MEMORY, NULL, 0, -1, INT64_MAX,
               NULL),
    CONFIG_BOOL("tls-cluster", NULL, SET, NULL, false, NULL),
};

static struct configDirective avoiding_copies[] = {
    CONFIG_INT("min-io-threads-avoid-copy-reply", NULL, SET | CONFIG_HIDDEN, NULL, 7, 0, INT32_MAX, NULL),
    CONFIG_INT("min-string-size-avoid-copy-reply-threaded", NULL, SET | CONFIG_HIDDEN, NULL, 65536, 0,
               INT32_MAX, NULL),
};

static struct configDirective transports[] = {
    CONFIG_BOOL("mptcp", NULL, 0, NULL, false, NULL),
    CONFIG_STRING("rdma-bind", NULL, SET, &rdma_bind, "", NULL, noRdma),
    CONFIG_INT("rdma-completion-vector", NULL, 0, NULL, -1, -1, 1024, NULL),
    CONFIG_INT("rdma-port", NULL, SET, &rdma_port, 0, 0, 65535, noRdma),
    CONFIG_INT("rdma-rx-size", NULL, 0, NULL, 1 << 20, 64 << 10, 16 << 20, NULL),
    CONFIG_INT("socket-mark-id", NULL, 0, NULL, 0, 0, UINT32_MAX, NULL),
};

static struct configDirective others[] = {
    CONFIG_BOOL("aof-disable-auto-gc", NULL, SET | CONFIG_HIDDEN, NULL, false, NULL),
    CONFIG_BOOL("enable-debug-assert", NULL, CONFIG_HIDDEN, NULL, false, NULL),
    CONFIG_ENUM("enable-module-command", NULL, 0, NULL, PERMIT_NO, permit_names, NULL),
    CONFIG_BOOL("extended-redis-compatibility", NULL, SET, NULL, false, NULL),
    CONFIG_STRING("hash-seed", NULL, CONFIG_EMPTY_IS_NULL, NULL, NULL, NULL, NULL),
    CONFIG_STRING("ignore-warnings", NULL, SET, NULL, "", NULL, NULL),
    CONFIG_SPECIAL("loadmodule", NULL, CONFIG_MULTI_ARG | CONFIG_LINES | CONFIG_KEEP_LINES, addModule,
                   getModules, NULL),
    CONFIG_BOOL("lua-enable-deprecated-api", NULL, SET | CONFIG_HIDDEN | CONFIG_PROTECTED, NULL, false, NULL),
    CONFIG_BOOL("lua-enable-insecure-api", NULL, SET | CONFIG_HIDDEN | CONFIG_PROTECTED, NULL, false, NULL),
};

#define COUNT(array) (sizeof(array) / sizeof *(array))
static const struct feature {
    const char *name;
    struct configDirective *directives;
    size_t count;
} features[] = {
    {"the cluster", cluster, COUNT(cluster)},
    {"replies without copies", avoiding_copies, COUNT(avoiding_copies)},
    {"the network", transports, COUNT(transports)},
    {"others", others, COUNT(others)},
};

/* ---- The report ---- */

/* What an operator has to know beyond "no effect". */
static const char *consequence(const char *directive) {
    static const struct {
        const char *directive, *text;
    } known[] = {
        {"cluster-enabled", "this server is not a node of a cluster"},
        {"lua-enable-insecure-api", "scripts still cannot call what is insecure"},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        if (strcmp(known[i].directive, directive) == 0) return known[i].text;
    }
    return "no effect";
}

static void reportDirective(const struct feature *feature, const struct configDirective *d) {
    sds value = d->flags & CONFIG_SENSITIVE ? sdsnew("(a secret)") : configGet(d->name);
    serverLog(LL_WARNING, "  %s %s (%s): %s", d->name, value, feature->name, consequence(d->name));
    sdsfree(value);
}

static int asksFor(const struct configDirective *d) {
    return !(d->flags & CONFIG_LINES) && !configIsDefault(d);
}

static void refuseModules(void) {
    if (!modules) return;
    int n;
    sds *lines = sdssplitlen(modules, sdslen(modules), "\n", 1, &n);
    for (int i = 0; i < n; i++)
        serverLog(LL_WARNING, "Module %.*s failed to load: this version cannot load modules yet",
                  (int)strcspn(lines[i], " "), lines[i]);
    serverLog(LL_WARNING, "Can't load module from %.*s: server aborting", (int)strcspn(lines[0], " "),
              lines[0]);
    exit(1);
}

void absentFeaturesReport(void) {
    int asked = 0;
    for (size_t i = 0; i < COUNT(features); i++) {
        for (size_t j = 0; j < features[i].count; j++) asked += asksFor(&features[i].directives[j]);
    }
    if (asked) {
        serverLog(LL_WARNING,
                  "WARNING What this version does not have yet, but the configuration asks for (%d):", asked);
        for (size_t i = 0; i < COUNT(features); i++) {
            for (size_t j = 0; j < features[i].count; j++) {
                if (asksFor(&features[i].directives[j]))
                    reportDirective(&features[i], &features[i].directives[j]);
            }
        }
    }
    refuseModules();
    if (configIsDefault(configFind(STR("cluster-enabled")))) return;
    serverLog(LL_WARNING,
              "Clients of a cluster would be misled by a server that knows nothing of it. Exiting. To "
              "start it alone, take 'cluster-enabled yes' out of the configuration.");
    exit(1);
}

/* ---- INFO ---- */

#define ZERO(field) s = infoField(s, field ":0")

static sds absentClientsInfo(sds s) {
    return infoField(s, "cluster_connections:0");
}

static sds absentMemoryInfo(sds s) {
    ZERO("mem_cluster_slot_import");
    ZERO("mem_cluster_slot_export");
    return s;
}

static sds absentPersistenceInfo(sds s) {
    ZERO("module_fork_in_progress");
    ZERO("module_fork_last_cow_size");
    ZERO("slot_migration_fork_in_progress");
    return s;
}

static sds absentStatsInfo(sds s) {
    ZERO("total_net_cluster_slot_import_bytes");
    ZERO("total_net_cluster_slot_export_bytes");
    return s;
}

void absentFeaturesRegister(void) {
    union value {
        bool b;
        int64_t i;
        sds s;
        int e;
    };
    for (size_t i = 0; i < COUNT(features); i++) {
        for (size_t j = 0; j < features[i].count; j++) {
            struct configDirective *d = &features[i].directives[j];
            if (d->type != CONFIG_TYPE_SPECIAL && !d->var.b) d->var.b = zcalloc(1, sizeof(union value));
        }
        configRegister(features[i].directives, features[i].count);
    }
    infoRegister("clients", absentClientsInfo);
    infoRegister("memory", absentMemoryInfo);
    infoRegister("persistence", absentPersistenceInfo);
    infoRegister("stats", absentStatsInfo);
}
