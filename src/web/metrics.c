/* SPDX-License-Identifier: BSD-3-Clause */
/* metrics.c - see metrics.h.
 *
 * Almost everything comes from one report of INFO, as in an exporter, so the fields of all modules are
 * included and the page agrees with INFO. Data that INFO lacks (histograms of latencies, the slow log,
 * spikes) is read where it is kept. */
#include "web/metrics.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/ticks.h"
#include "command/command.h"
#include "command/commandlog.h"
#include "command/latency_histogram.h"
#include "data/keyspace/db.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/latency.h"
#include "web/exposition.h"
#include "web/info_view.h"

#define FIRST_BUCKET_NS 256 /* limit of the first bucket of the histograms */
#define DATABASES_SHOWN                                                                                      \
    128 /* if there are more databases, only those with keys are shown, up to this number */

/* ---- The server ---- */

static void metricsLabel(struct exposition *e, struct infoView *info, const char *name, const char *field) {
    struct str value = infoViewGet(info, field);
    metricLabel(e, name, value.ptr ? value : STR(""));
}

static void metricsWriteInstance(struct exposition *e, struct infoView *info) {
    metricFamily(e, "up", METRIC_GAUGE, "Always 1: the server replies.");
    metricPlain(e, 1);
    metricFamily(e, "instance_info", METRIC_GAUGE, "Version and configuration of this server, in labels.");
    metricOpen(e, "");
    metricsLabel(e, info, "redis_version", "redis_version");
    metricsLabel(e, info, "valkey_version", "valkey_version");
    metricsLabel(e, info, "redis_build_id", "redis_build_id");
    metricsLabel(e, info, "redis_mode", "server_mode");
    metricsLabel(e, info, "os", "os");
    metricsLabel(e, info, "process_id", "process_id");
    metricsLabel(e, info, "run_id", "run_id");
    metricsLabel(e, info, "tcp_port", "tcp_port");
    metricsLabel(e, info, "maxmemory_policy", "maxmemory_policy");
    metricsLabel(e, info, "role", "role");
    metricValue(e, 1);
    metricFamily(e, "start_time_seconds", METRIC_GAUGE, "Unix time of the start.");
    metricPlain(e, (double)(cmd_time_ms / 1000) - infoViewNumber(info, "uptime_in_seconds"));
}

static void metricsWriteScrapes(struct exposition *e, const struct metricsOptions *wanted) {
    metricFamily(e, "exporter_scrapes_total", METRIC_COUNTER, "Number of requests for this page.");
    metricPlain(e, (double)wanted->scrapes);
    metricFamily(e, "exporter_last_scrape_duration_seconds", METRIC_GAUGE, "Duration of the last scrape.");
    metricPlain(e, wanted->last_scrape_sec);
    metricFamily(e, "exporter_last_scrape_error", METRIC_GAUGE, "Always 0: there is no separate exporter.");
    metricOpen(e, "");
    metricLabel(e, "err", STR(""));
    metricValue(e, 0);
}

/* ---- Databases ---- */

static bool metricsDatabaseShows(int i) {
    return dbCount() <= DATABASES_SHOWN || keyspaceShownSize(&dbGet(i)->keyspace) > 0;
}

static void metricsWriteDatabases(struct exposition *e, const char *name, const char *help,
                                  double (*value)(const struct db *db)) {
    int shown = 0;
    metricFamily(e, name, METRIC_GAUGE, help);
    for (int i = 0; i < dbCount() && shown < DATABASES_SHOWN; i++) {
        if (!metricsDatabaseShows(i)) continue;
        double number = value(dbGet(i));
        if (number < 0) continue;
        char db[32];
        metricOpen(e, "");
        metricLabel(e, "db", strN(db, (size_t)snprintf(db, sizeof db, "db%d", i)));
        metricValue(e, number);
        shown++;
    }
}

static double metricsKeysOf(const struct db *db) {
    return (double)keyspaceShownSize(&db->keyspace);
}

static double metricsExpiringOf(const struct db *db) {
    return (double)keyspaceShownExpires(&db->keyspace);
}

static double metricsTtlOf(const struct db *db) { /* no value if the database is empty */
    return keyspaceShownSize(&db->keyspace) ? (double)db->keyspace.avg_ttl_ms / 1000 : -1;
}

/* ---- Commands, errors: fields of INFO for each of them ---- */

/* Returns the command of a line such as "cmdstat_client|list"; ptr NULL: the line is about something else. */
static struct str metricsMatchLine(const struct infoEntry *line, const char *prefix) {
    struct str name = line->name, start = strOf(prefix);
    if (!strStarts(name, start)) return (struct str){0};
    return strN(name.ptr + start.len, name.len - start.len);
}

static void metricsWriteParts(struct exposition *e, struct infoView *info, const char *prefix,
                              const char *label_name, const char *suffix, const char *part, double units) {
    for (int i = 0; i < info->count; i++) {
        struct str of = metricsMatchLine(&info->lines[i], prefix), value = {0};
        if (of.ptr) value = infoViewPart(info->lines[i].value, part);
        double number;
        if (!value.ptr || !infoViewParseNumber(value, &number)) continue;
        metricOpen(e, suffix);
        metricLabel(e, label_name, of);
        metricValue(e, number / units);
    }
}

static void metricsWriteCommands(struct exposition *e, struct infoView *info) {
    static const struct {
        const char *part, *metric;
        double units;
        const char *help;
    } rows[] = {
        {"calls", "commands_total", 1, "Calls of each command."},
        {"usec", "commands_duration_seconds_total", 1e6, "Time in each command."},
        {"rejected_calls", "commands_rejected_calls_total", 1, "Calls that were refused before they ran."},
        {"failed_calls", "commands_failed_calls_total", 1, "Calls that ended in an error."},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        metricFamily(e, rows[i].metric, METRIC_COUNTER, rows[i].help);
        metricsWriteParts(e, info, "cmdstat_", "cmd", "", rows[i].part, rows[i].units);
    }
    metricFamily(e, "errors_total", METRIC_COUNTER, "Errors that were replied, by kind.");
    metricsWriteParts(e, info, "errorstat_", "err", "", "count", 1);
}

/* Writes "p50=1.2,p99=3" of a command. */
static void metricsWriteQuantiles(struct exposition *e, struct str command, struct str value) {
    const char *end = value.ptr + value.len;
    for (const char *p = value.ptr, *comma; p < end; p = comma + 1) {
        comma = memchr(p, ',', (size_t)(end - p));
        if (!comma) comma = end;
        const char *is = memchr(p, '=', (size_t)(comma - p));
        if (!is || *p != 'p') continue;
        metricOpen(e, "");
        metricLabel(e, "cmd", command);
        metricLabel(e, "quantile", strN(p + 1, (size_t)(is - p) - 1));
        metricText(e, strN(is + 1, (size_t)(comma - is) - 1));
    }
}

static void metricsWritePercentiles(struct exposition *e, struct infoView *info) {
    static const char name[] = "latency_percentiles_usec", prefix[] = "latency_percentiles_usec_";
    if (!latency_tracking) return;
    metricFamily(e, name, METRIC_SUMMARY, "Microseconds per call of each command.");
    for (int i = 0; i < info->count; i++) {
        struct str of = metricsMatchLine(&info->lines[i], prefix);
        if (of.ptr) metricsWriteQuantiles(e, of, info->lines[i].value);
    }
    metricSummaryPart(e, name, "_sum", "Microseconds in each command.");
    metricsWriteParts(e, info, "cmdstat_", "cmd", "_sum", "usec", 1);
    metricSummaryPart(e, name, "_count", "Calls of each command.");
    metricsWriteParts(e, info, "cmdstat_", "cmd", "_count", "calls", 1);
}

/* ---- Histograms of latencies ---- */

/* Writes a bucket for each power of two of nanoseconds, up to that of the slowest call. The chunks of a
 * histogram are powers of two, so each is summed once. */
static void metricsWriteHistogram(void *priv, struct serverCommand *cmd) {
    struct exposition *e = priv;
    const struct histogram *h = cmd->latency;
    uint64_t total = h ? histogramTotal(h) : 0, up_to = 0;
    if (!total) return;
    struct str name = strN(cmd->fullname, sdslen(cmd->fullname));
    int per_chunk = 1 << h->bits;
    for (int i = 0; i < h->buckets && up_to < total; i += per_chunk) {
        for (int k = i; h->chunks[i >> h->bits] && k < i + per_chunk; k++) up_to += histogramAt(h, k);
        uint64_t limit_ns = histogramHighest(h, i + per_chunk - 1) + 1;
        if (limit_ns < FIRST_BUCKET_NS) continue;
        char le[DOUBLE_STR_SIZE];
        metricOpen(e, "_bucket");
        metricLabel(e, "cmd", name);
        metricLabel(e, "le", strN(le, d2string(le, (double)limit_ns / 1000)));
        metricValue(e, (double)up_to);
    }
    metricOpen(e, "_bucket");
    metricLabel(e, "cmd", name);
    metricLabel(e, "le", STR("+Inf"));
    metricValue(e, (double)total);
    metricOpen(e, "_sum");
    metricLabel(e, "cmd", name);
    metricValue(e, (double)(cmd->ticks / ticks_per_us));
    metricOpen(e, "_count");
    metricLabel(e, "cmd", name);
    metricValue(e, (double)total);
}

static void metricsWriteHistograms(struct exposition *e) {
    metricFamily(e, "commands_latencies_usec", METRIC_HISTOGRAM,
                 "Calls of each command that took at most this many microseconds.");
    commandForEach(metricsWriteHistogram, e);
}

/* ---- Logs ---- */

static void metricsWriteSlowLog(struct exposition *e) {
    struct commandlogState slow = commandlogState(COMMANDLOG_SLOW);
    metricFamily(e, "slowlog_length", METRIC_GAUGE, "Entries of the slow log.");
    metricPlain(e, (double)slow.length);
    metricFamily(e, "slowlog_last_id", METRIC_GAUGE, "Id of the last entry of the slow log.");
    metricPlain(e, (double)slow.last_id);
    metricFamily(e, "last_slow_execution_duration_seconds", METRIC_GAUGE,
                 "Duration of the last slow command.");
    metricPlain(e, (double)slow.last_value / 1e6);
}

static void metricsWriteSpikeTime(void *priv, struct latencyEvent *event) {
    struct exposition *e = priv;
    metricOpen(e, "");
    metricLabel(e, "event_name", strOf(event->name));
    metricValue(e, (double)latencySampleAt(event, LATENCY_SAMPLES - 1)->time_s);
}

static void metricsWriteSpikeLength(void *priv, struct latencyEvent *event) {
    struct exposition *e = priv;
    metricOpen(e, "");
    metricLabel(e, "event_name", strOf(event->name));
    metricValue(e, latencySampleAt(event, LATENCY_SAMPLES - 1)->ms / 1e3);
}

static void metricsWriteSpikes(struct exposition *e) {
    if (!latencyEventCount()) return;
    metricFamily(e, "latency_spike_last", METRIC_GAUGE, "Unix time of the last spike of each kind.");
    latencyForEach(metricsWriteSpikeTime, e);
    metricFamily(e, "latency_spike_duration_seconds", METRIC_GAUGE,
                 "Duration of the last spike of each kind.");
    latencyForEach(metricsWriteSpikeLength, e);
}

/* ---- Replication ---- */

static void metricsPrimaryLabels(struct exposition *e, struct infoView *info) {
    metricsLabel(e, info, "master_host", "master_host");
    metricsLabel(e, info, "master_port", "master_port");
}

static void metricsWritePrimary(struct exposition *e, struct infoView *info) {
    static const struct {
        const char *field, *metric, *help;
    } rows[] = {
        {"master_last_io_seconds_ago", "master_last_io_seconds_ago",
         "Seconds since the last message of the primary."},
        {"master_sync_in_progress", "master_sync_in_progress",
         "Whether a full synchronization is in progress."},
        {"slave_repl_offset", "slave_repl_offset", "The replication offset of this replica."},
    };
    if (!infoViewGet(info, "master_host").ptr) return;
    metricFamily(e, "master_link_up", METRIC_GAUGE, "Whether the link to the primary is up.");
    metricOpen(e, "");
    metricsPrimaryLabels(e, info);
    metricValue(e, strIs(infoViewGet(info, "master_link_status"), "up"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        metricFamily(e, rows[i].metric, METRIC_GAUGE, rows[i].help);
        metricOpen(e, "");
        metricsPrimaryLabels(e, info);
        metricValue(e, infoViewNumber(info, rows[i].field));
    }
    metricFamily(e, "slave_info", METRIC_GAUGE, "The primary of this replica, in labels.");
    metricOpen(e, "");
    metricsPrimaryLabels(e, info);
    metricsLabel(e, info, "read_only", "slave_read_only");
    metricValue(e, 1);
}

/* Matches slave0:ip=...,port=...,state=online,offset=42,lag=0. */
static bool metricsIsReplicaLine(const struct infoEntry *line) {
    struct str number = metricsMatchLine(line, "slave");
    return number.ptr && number.len && number.ptr[0] >= '0' && number.ptr[0] <= '9';
}

static void metricsWriteReplicas(struct exposition *e, struct infoView *info, const char *metric,
                                 const char *part, const char *help) {
    bool any = false;
    for (int i = 0; i < info->count; i++) {
        if (!metricsIsReplicaLine(&info->lines[i])) continue;
        struct str value = info->lines[i].value;
        double number;
        if (!infoViewParseNumber(infoViewPart(value, part), &number)) continue;
        if (!any) metricFamily(e, metric, METRIC_GAUGE, help);
        any = true;
        metricOpen(e, "");
        metricLabel(e, "slave_ip", infoViewPart(value, "ip"));
        metricLabel(e, "slave_port", infoViewPart(value, "port"));
        metricLabel(e, "slave_state", infoViewPart(value, "state"));
        metricValue(e, number);
    }
}

/* ---- Directives ---- */

static void metricsWriteDirective(void *priv, struct configDirective *d) {
    struct exposition *e = priv;
    if (d->type != CONFIG_TYPE_INT || d->flags & (CONFIG_SENSITIVE | CONFIG_HIDDEN)) return;
    const char *names[] = {d->name, d->alias};
    for (size_t i = 0; i < 2 && names[i]; i++) {
        metricOpen(e, "");
        metricLabel(e, "key", strOf(names[i]));
        metricValue(e, (double)*d->var.i);
    }
}

static void metricsWriteConfig(struct exposition *e, struct infoView *info, bool all) {
    metricFamily(e, "config_maxmemory", METRIC_GAUGE, "The limit maxmemory; 0: none.");
    metricPlain(e, infoViewNumber(info, "maxmemory"));
    metricFamily(e, "config_io_threads", METRIC_GAUGE, "Threads that may serve connections.");
    metricPlain(e, (double)configNumber("io-threads"));
    if (!all) return;
    metricFamily(e, "config_value", METRIC_GAUGE, "Directives that are numbers.");
    configForEach(metricsWriteDirective, e);
}

/* ---- The page ---- */

sds metricsMakePage(const struct metricsOptions *wanted) {
    struct exposition e;
    struct infoView info;
    infoViewOpen(&info, infoText((struct str[]){STR("everything")}, 1));
    expositionStart(&e, wanted->openmetrics);
    metricsWriteInstance(&e, &info);
    metricsWriteFields(&e, &info);
    metricsWriteDatabases(&e, "db_keys", "Keys of each database.", metricsKeysOf);
    metricsWriteDatabases(&e, "db_keys_expiring", "Keys with an expiry of each database.", metricsExpiringOf);
    metricsWriteDatabases(&e, "db_avg_ttl_seconds", "Their mean time to live, by estimate.", metricsTtlOf);
    metricsWriteCommands(&e, &info);
    metricsWritePercentiles(&e, &info);
    metricsWriteHistograms(&e);
    metricsWriteSlowLog(&e);
    metricsWriteSpikes(&e);
    metricsWritePrimary(&e, &info);
    metricsWriteReplicas(&e, &info, "connected_slave_offset_bytes", "offset",
                         "What each replica has acknowledged.");
    metricsWriteReplicas(&e, &info, "connected_slave_lag_seconds", "lag",
                         "Seconds since the last message of each replica.");
    metricsWriteConfig(&e, &info, wanted->config);
    metricsWriteScrapes(&e, wanted);
    infoViewClose(&info);
    return expositionEnd(&e);
}
