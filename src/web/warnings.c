/* SPDX-License-Identifier: BSD-3-Clause */
/* warnings.c - see warnings.h.
 *
 * Each rule is a function that returns its sentence, or NULL if it has none for these facts. The table at the
 * end gives each its id, its page and its usual severity, which the rule may change. */
#include "web/warnings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"

#define MEMORY_FULL_SHARE     0.9
#define MEMORY_LARGE_SHARE    0.5  /* of the machine's memory, without maxmemory */
#define FULL_SOON_S           3600 /* maxmemory will be reached within */
#define GROWTH_S              60   /* growth is judged over at least this time */
#define GROWTH_KEYS           1000
#define GROWTH_SHARE          0.01
#define WASTE_BYTES           (256.0 * 1024 * 1024) /* resident beyond used */
#define WASTE_RATIO           1.5
#define SWAPPED_BYTES         (64.0 * 1024 * 1024) /* used beyond resident */
#define STALE_PERCENT         25
#define LONG_FORK_US          100000
#define LAG_S                 10
#define BACKLOG_S             60 /* docs/tuning.md */
#define BUSY_SHARE            0.9
#define CLIENTS_FULL_SHARE    0.9
#define FAILED_LOGINS         10
#define CERTIFICATE_DAYS      14
#define DAY_S                 86400.0
#define SLOTS                 16384
#define MEMORY_GROWTH_NOTABLE (1024.0 * 1024) /* bytes lately; less is noise */
#define COUNT_MAX             1e18            /* shown; the digits have room */

typedef sds warningRule(const struct warningFacts *f, enum warningSeverity *severity);

/* ---- Figures in sentences ---- */

struct warningFigure {
    char text[64];
};

static struct warningFigure warningsBytes(double bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    struct warningFigure f;
    int unit = 0;
    for (; bytes >= 1024 && unit < 4; unit++) bytes /= 1024;
    snprintf(f.text, sizeof f.text, "%.*f %s", unit && bytes < 100 ? 1 : 0, bytes, units[unit]);
    return f;
}

static struct warningFigure warningsTime(double seconds) {
    struct warningFigure f;
    double value = seconds < 0 ? 0 : floor(seconds);
    const char *unit = "second";
    if (value >= 2 * DAY_S)
        value = floor(value / DAY_S), unit = "day";
    else if (value >= 7200)
        value = floor(value / 3600), unit = "hour";
    else if (value >= 120)
        value = floor(value / 60), unit = "minute";
    snprintf(f.text, sizeof f.text, "%.0f %s%s", value, unit, value == 1 ? "" : "s");
    return f;
}

/* "1 replica", "1,234 replicas"; what is no number counts as 0 */
static struct warningFigure warningsCount(double n, const char *thing, const char *things) {
    struct warningFigure f;
    char digits[32], grouped[48];
    int len = snprintf(digits, sizeof digits, "%.0f", fmin(fmax(n, 0), COUNT_MAX)), at = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) grouped[at++] = ',';
        grouped[at++] = digits[i];
    }
    grouped[at] = '\0';
    snprintf(f.text, sizeof f.text, "%s %s", grouped, n == 1 ? thing : things);
    return f;
}

#define BYTES(n)                warningsBytes(n).text
#define TIME(s)                 warningsTime(s).text
#define COUNT(n, thing, things) warningsCount(n, thing, things).text

/* ---- Passwords and certificates ---- */

static sds warningsPassword(const struct warningFacts *f, enum warningSeverity *severity) {
    if (!f->settings_known || !f->no_password) return NULL;
    if (f->open_to_others)
        return sdsnew(
            "The default user needs no password, and protected mode does not refuse other machines: "
            "everybody who reaches the port has its rights.");
    *severity = WARNING_NOTE;
    return sdsnew(
        "The default user needs no password, so every program on this machine has its rights. Other "
        "machines cannot connect.");
}

static sds warningsLogins(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (f->failed_logins_lately < FAILED_LOGINS) return NULL;
    return sdscatprintf(sdsempty(), "%s failed in the last %s; ACL LOG shows who tried.",
                        COUNT(f->failed_logins_lately, "login has", "logins have"), TIME(f->seconds));
}

static sds warningsCertificate(const struct warningFacts *f, enum warningSeverity *severity) {
    if (!f->has_certificate || f->certificate_ends_s > CERTIFICATE_DAYS * DAY_S) return NULL;
    if (f->certificate_ends_s > 0)
        return sdscatprintf(sdsempty(), "The TLS certificate expires in %s.", TIME(f->certificate_ends_s));
    *severity = WARNING_ERROR;
    return sdsnew("The TLS certificate has expired, so clients that check it cannot connect.");
}

/* ---- Memory ---- */

static bool warningsPolicyIs(const struct warningFacts *f, const char *start) {
    return strStarts(f->policy, strOf(start));
}

static sds warningsNoLimit(const struct warningFacts *f, enum warningSeverity *severity) {
    if (f->maxmemory > 0 || f->total_memory <= 0) return NULL;
    double share = f->used_memory / f->total_memory;
    if (share < MEMORY_LARGE_SHARE) *severity = WARNING_NOTE;
    return sdscatprintf(sdsempty(),
                        "No maxmemory is set: when the data outgrow this machine's %s, the kernel ends the "
                        "server. They take %s now.",
                        BYTES(f->total_memory), BYTES(f->used_memory));
}

static sds warningsFull(const struct warningFacts *f, enum warningSeverity *severity) {
    double share = f->maxmemory > 0 ? f->used_memory / f->maxmemory : 0;
    if (share < MEMORY_FULL_SHARE || !warningsPolicyIs(f, "noeviction")) return NULL;
    if (share < 1)
        return sdscatprintf(sdsempty(),
                            "%.0f%% of maxmemory is in use, and the policy is noeviction: at the limit, "
                            "commands that need memory are refused.",
                            floor(share * 100));
    *severity = WARNING_ERROR;
    return sdsnew("Memory has reached maxmemory, and the policy is noeviction: commands that need memory are "
                  "refused.");
}

static sds warningsNothingToEvict(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (f->is_replica || f->maxmemory <= 0 || !warningsPolicyIs(f, "volatile-") || f->expiring > 0 ||
        f->keys <= 0)
        return NULL;
    return sdscatprintf(sdsempty(),
                        "The policy %.*s evicts only keys with an expiry, and there are none: at maxmemory, "
                        "commands that need memory are refused.",
                        (int)f->policy.len, f->policy.ptr);
}

static sds warningsEviction(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (f->evicted_lately <= 0) return NULL;
    return sdscatprintf(sdsempty(), "%s evicted in the last %s, because memory has reached maxmemory.",
                        COUNT(f->evicted_lately, "key was", "keys were"), TIME(f->seconds));
}

static bool warningsCanJudgeGrowth(const struct warningFacts *f) {
    return f->seconds >= GROWTH_S;
}

static sds warningsFullSoon(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    double left = f->maxmemory - f->used_memory, growth = f->memory_growth_lately;
    if (f->is_replica || left <= 0 || f->maxmemory <= 0 || growth < MEMORY_GROWTH_NOTABLE ||
        !warningsCanJudgeGrowth(f))
        return NULL;
    double seconds = left / growth * f->seconds;
    if (seconds > FULL_SOON_S) return NULL;
    return sdscatprintf(
        sdsempty(), "If memory grows as in the last %s, it reaches maxmemory in %s; then the policy is %.*s.",
        TIME(f->seconds), TIME(seconds), (int)f->policy.len, f->policy.ptr);
}

static sds warningsLastingKeys(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    double lasting = f->keys - f->expiring, growth = f->lasting_growth_lately;
    if (f->is_replica || !warningsCanJudgeGrowth(f) || growth < GROWTH_KEYS ||
        growth < lasting * GROWTH_SHARE)
        return NULL;
    if (f->maxmemory > 0 && warningsPolicyIs(f, "allkeys-")) return NULL; /* eviction limits them */
    return sdscatprintf(sdsempty(),
                        "Keys without an expiry grow: by %s in the last %s, to %s. Nothing deletes them but "
                        "clients.",
                        COUNT(growth, "key", "keys"), TIME(f->seconds), COUNT(lasting, "key", "keys"));
}

static sds warningsStaleKeys(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (f->stale_percent < STALE_PERCENT) return NULL;
    return sdscatprintf(
        sdsempty(),
        "About %.0f%% of the keys with an expiry have expired and still take memory; a higher "
        "active-expire-effort deletes them sooner.",
        f->stale_percent);
}

static sds warningsFragmentation(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    double waste = f->resident_memory - f->used_memory;
    if (waste < WASTE_BYTES || f->resident_memory < WASTE_RATIO * f->used_memory) return NULL;
    return sdscatprintf(sdsempty(),
                        "The process takes %s more than its data, because of fragmentation or because it was "
                        "larger; activedefrag yes returns such memory.",
                        BYTES(waste));
}

static sds warningsSwapped(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    double missing = f->used_memory - f->resident_memory;
    if (f->resident_memory <= 0 || missing < SWAPPED_BYTES || missing < f->used_memory / 10) return NULL;
    return sdscatprintf(sdsempty(),
                        "%s of the data seem to be swapped out to the disk, and commands wait for it.",
                        BYTES(missing));
}

/* ---- Files ---- */

static sds warningsSaveFailed(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (!f->save_failed) return NULL;
    sds s = sdscatprintf(sdsempty(), "The last save has failed: %s only in memory%s.",
                         COUNT(f->unsaved_changes, "change exists", "changes exist"),
                         f->aof_on ? " and in the append-only file" : "");
    if (f->settings_known && f->saves && f->stops_writes)
        s = sdscat(s, " Until a save succeeds, writes are refused (stop-writes-on-bgsave-error).");
    return s;
}

static sds warningsAofWrite(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (!f->aof_on || !f->aof_write_failed) return NULL;
    return sdsnew(
        "The last write to the append-only file has failed, and writes are refused until one succeeds; "
        "the log says why.");
}

static sds warningsAofRewrite(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (!f->aof_on || !f->aof_rewrite_failed) return NULL;
    return sdsnew(
        "The last rewrite of the append-only file has failed, so the file keeps growing; the log says "
        "why.");
}

static sds warningsSlowDisk(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (!f->aof_on || f->delayed_fsyncs_lately <= 0) return NULL;
    return sdscatprintf(sdsempty(),
                        "The disk is slow: %s to the append-only file in the last %s found an fsync that had "
                        "run for more than two seconds.",
                        COUNT(f->delayed_fsyncs_lately, "write", "writes"), TIME(f->seconds));
}

static sds warningsNoFiles(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (!f->settings_known || f->saves || f->aof_on || f->is_replica || f->keys <= 0) return NULL;
    return sdsnew("Nothing is saved: there are no save points and no append-only file, so the data are lost "
                  "when the server ends.");
}

static sds warningsLongFork(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (f->last_fork_us < LONG_FORK_US) return NULL;
    return sdscatprintf(sdsempty(),
                        "The last fork stopped the server for %.0f ms; snapshots can do without a fork.",
                        f->last_fork_us / 1000);
}

/* ---- Replication ---- */

static sds warningsLink(const struct warningFacts *f, enum warningSeverity *severity) {
    if (!f->is_replica || !f->link_down) return NULL;
    if (f->syncing) {
        *severity = WARNING_NOTE;
        return sdsnew("This replica is copying the data of its primary (a full synchronization).");
    }
    if (f->link_down_s <= 0)
        return sdsnew("The link to the primary is down, so reads here may be out of date.");
    return sdscatprintf(sdsempty(),
                        "The link to the primary has been down for %s, so reads here are out of date.",
                        TIME(f->link_down_s));
}

static sds warningsWritableReplica(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (!f->is_replica || !f->replica_writable) return NULL;
    return sdsnew(
        "This replica accepts writes (replica-read-only no). They stay here, and are lost at the next "
        "full synchronization.");
}

static sds warningsReplayErrors(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (!f->is_replica || f->replay_errors <= 0) return NULL;
    return sdscatprintf(
        sdsempty(), "%s failed that had succeeded on the primary, so the data may differ; the log has them.",
        COUNT(f->replay_errors, "command has", "commands have"));
}

static sds warningsReplicaLag(const struct warningFacts *f, enum warningSeverity *severity) {
    if (f->replicas <= 0) return NULL;
    if (f->backlog_bytes > 0 && f->worst_behind_bytes > f->backlog_bytes) {
        *severity = WARNING_ERROR;
        return sdscatprintf(
            sdsempty(),
            "A replica is %s behind, more than the backlog holds (%s): if its link breaks, it "
            "has to copy everything again.",
            BYTES(f->worst_behind_bytes), BYTES(f->backlog_bytes));
    }
    if (f->worst_lag_s < LAG_S) return NULL;
    return sdscatprintf(sdsempty(), "A replica has not reported for %s.", TIME(f->worst_lag_s));
}

static sds warningsFewReplicas(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (!f->settings_known || f->is_replica || f->min_replicas <= f->replicas_good) return NULL;
    return sdscatprintf(sdsempty(), "Writes are refused: min-replicas-to-write is %.0f, and %s well.",
                        f->min_replicas, COUNT(f->replicas_good, "replica is", "replicas are"));
}

static sds warningsReplicaSyncing(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (f->replicas_not_online <= 0) return NULL;
    return sdscatprintf(sdsempty(), "%s still copying the data.",
                        COUNT(f->replicas_not_online, "replica is", "replicas are"));
}

static sds warningsBacklog(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (f->replicas <= 0 || f->backlog_bytes <= 0 || !warningsCanJudgeGrowth(f)) return NULL;
    double per_second = f->written_lately / f->seconds;
    if (per_second * BACKLOG_S <= f->backlog_bytes) return NULL;
    return sdscatprintf(
        sdsempty(),
        "The backlog (repl-backlog-size %s) holds the writes of %s: a replica whose link is down "
        "for longer has to copy everything again.",
        BYTES(f->backlog_bytes), TIME(f->backlog_bytes / per_second));
}

static sds warningsRefusedPartial(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (f->refused_partial_lately <= 0) return NULL;
    return sdscatprintf(
        sdsempty(),
        "In the last %s, %s all data because the backlog did not hold what was missing. When that repeats, "
        "repl-backlog-size may be too small.",
        TIME(f->seconds), COUNT(f->refused_partial_lately, "replica has copied", "replicas have copied"));
}

/* ---- The cluster ---- */

static sds warningsCluster(const struct warningFacts *f, enum warningSeverity *severity) {
    double open = SLOTS - f->cluster_slots_assigned;
    if (!f->in_cluster) return NULL;
    if (open > 0)
        return sdscatprintf(sdsempty(), "%s no owner, so commands on their keys are refused%s.",
                            COUNT(open, "slot has", "slots have"),
                            f->cluster_down ? ", as are all others (cluster-require-full-coverage)" : "");
    if (f->cluster_down)
        return sdsnew("The cluster does not serve: some primaries have failed, or this node sees only a "
                      "minority of them.");
    if (f->cluster_slots_failing <= 0) return NULL;
    *severity = WARNING_WARNING;
    return sdscatprintf(sdsempty(), "The primary of %s does not answer.",
                        COUNT(f->cluster_slots_failing, "slot", "slots"));
}

static sds warningsAlone(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (!f->in_cluster || f->is_replica || f->replicas > 0 || f->cluster_nodes < 2) return NULL;
    return sdsnew(
        "No replica follows this primary: if it fails, its slots are not served and its latest data may be "
        "lost.");
}

/* ---- Clients and load ---- */

static sds warningsRejected(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (f->rejected_lately <= 0) return NULL;
    return sdscatprintf(sdsempty(), "%s rejected in the last %s; the limit is maxclients %.0f.",
                        COUNT(f->rejected_lately, "connection was", "connections were"), TIME(f->seconds),
                        f->max_clients);
}

static sds warningsManyClients(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (f->max_clients <= 0 || f->clients < f->max_clients * CLIENTS_FULL_SHARE) return NULL;
    return sdscatprintf(sdsempty(), "%s connected; at maxclients %.0f, further ones are rejected.",
                        COUNT(f->clients, "client is", "clients are"), f->max_clients);
}

static sds warningsDropped(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (f->dropped_lately <= 0) return NULL;
    return sdscatprintf(
        sdsempty(), "%s closed in the last %s for reading replies too slowly (client-output-buffer-limit).",
        COUNT(f->dropped_lately, "client was", "clients were"), TIME(f->seconds));
}

static sds warningsBusy(const struct warningFacts *f, enum warningSeverity *severity) {
    (void)severity;
    if (f->busy_share_lately < BUSY_SHARE || !warningsCanJudgeGrowth(f)) return NULL;
    return sdscatprintf(sdsempty(), "The main thread was busy for %.0f%% of the last %s, so requests wait.",
                        f->busy_share_lately * 100, TIME(f->seconds));
}

/* ---- The table ---- */

static const struct {
    const char *id;
    warningRule *rule;
    enum warningSeverity severity;
    const char *docs;
} rules[] = {
    {"aof-write-failed", warningsAofWrite, WARNING_ERROR, "troubleshooting.md#writes-are-refused"},
    {"save-failed", warningsSaveFailed, WARNING_ERROR, "troubleshooting.md#writes-are-refused"},
    {"memory-full", warningsFull, WARNING_WARNING, "memory.md#a-limit"},
    {"cluster-down", warningsCluster, WARNING_ERROR, "troubleshooting.md#a-cluster-is-down"},
    {"link-down", warningsLink, WARNING_ERROR, "troubleshooting.md#a-replica-does-not-follow"},
    {"too-few-replicas", warningsFewReplicas, WARNING_ERROR, "troubleshooting.md#writes-are-refused"},
    {"rejected-connections", warningsRejected, WARNING_ERROR, "troubleshooting.md#i-cannot-connect"},
    {"no-password", warningsPassword, WARNING_ERROR, "security.md#who-can-reach-it"},
    {"certificate", warningsCertificate, WARNING_WARNING, "tls.md#renewing-certificates"},
    {"replica-lag", warningsReplicaLag, WARNING_WARNING, "troubleshooting.md#a-replica-does-not-follow"},
    {"replay-errors", warningsReplayErrors, WARNING_WARNING, "troubleshooting.md#a-replica-does-not-follow"},
    {"backlog-small", warningsBacklog, WARNING_WARNING, "tuning.md#replicas"},
    {"replica-writable", warningsWritableReplica, WARNING_WARNING, "troubleshooting.md#writes-are-refused"},
    {"aof-rewrite-failed", warningsAofRewrite, WARNING_WARNING, "backup.md#what-is-on-disk"},
    {"slow-disk", warningsSlowDisk, WARNING_WARNING, "tuning.md#snapshots-and-the-append-only-file"},
    {"memory-full-soon", warningsFullSoon, WARNING_WARNING, "troubleshooting.md#memory-grows"},
    {"nothing-to-evict", warningsNothingToEvict, WARNING_WARNING, "memory.md#a-limit"},
    {"no-maxmemory", warningsNoLimit, WARNING_WARNING, "memory.md#a-limit"},
    {"lasting-keys-grow", warningsLastingKeys, WARNING_WARNING, "troubleshooting.md#memory-grows"},
    {"swapped", warningsSwapped, WARNING_WARNING, "tuning.md#first-the-system"},
    {"busy", warningsBusy, WARNING_WARNING, "tuning.md#threads"},
    {"many-clients", warningsManyClients, WARNING_WARNING, "troubleshooting.md#i-cannot-connect"},
    {"clients-closed", warningsDropped, WARNING_WARNING, "memory.md#clients"},
    {"failed-logins", warningsLogins, WARNING_WARNING, "security.md#passwords"},
    {"eviction", warningsEviction, WARNING_NOTE, "troubleshooting.md#keys-disappear"},
    {"stale-keys", warningsStaleKeys, WARNING_NOTE, "tuning.md#latency"},
    {"fragmentation", warningsFragmentation, WARNING_NOTE, "memory.md#fragmentation"},
    {"long-fork", warningsLongFork, WARNING_NOTE, "backup.md#snapshots-without-a-fork"},
    {"nothing-saved", warningsNoFiles, WARNING_NOTE, "backup.md#how-much-can-be-lost"},
    {"no-replica", warningsAlone, WARNING_NOTE, "cluster.md#when-a-primary-dies"},
    {"partial-sync-refused", warningsRefusedPartial, WARNING_NOTE, "tuning.md#replicas"},
    {"replica-syncing", warningsReplicaSyncing, WARNING_NOTE, "troubleshooting.md#a-replica-does-not-follow"},
};
#define RULES ((int)(sizeof rules / sizeof *rules))
_Static_assert(sizeof rules / sizeof *rules + WARNINGS_SYSTEM_MAX <= WARNINGS_MAX, "all fit");

/* A check of the host does not apply where a setting of this server makes it irrelevant. */
static bool warningsSystemApplies(const struct warningFacts *f, const char *name) {
    if (strcmp(name, "THP") == 0) return !f->huge_pages_disabled;
    if (strcmp(name, "container-memory") == 0) return f->maxmemory <= 0;
    return true;
}

/* Inserts behind those that are at least as severe, so that the order of the table holds among equals. */
static int warningsInsert(struct warning *out, int count, struct warning w) {
    int i = count;
    for (; i > 0 && out[i - 1].severity < w.severity; i--) out[i] = out[i - 1];
    out[i] = w;
    return count + 1;
}

int warningsFind(const struct warningFacts *f, struct warning *out) {
    int count = 0;
    for (int i = 0; i < RULES; i++) {
        struct warning w = {.id = rules[i].id, .severity = rules[i].severity, .docs = rules[i].docs};
        w.text = rules[i].rule(f, &w.severity);
        if (w.text) count = warningsInsert(out, count, w);
    }
    serverAssert(f->system_count <= WARNINGS_SYSTEM_MAX);
    for (int i = 0; f->settings_known && i < f->system_count; i++) {
        const struct warningSystem *check = &f->system[i];
        if (!warningsSystemApplies(f, check->name)) continue;
        struct warning w = {.id = check->name,
                            .severity = check->note ? WARNING_NOTE : WARNING_WARNING,
                            .docs = "tuning.md#first-the-system",
                            .text = sdsdup(check->advice)};
        count = warningsInsert(out, count, w);
    }
    return count;
}

const char *warningsSeverityName(enum warningSeverity severity) {
    static const char *const names[] = {"note", "warning", "error"};
    return names[severity];
}
