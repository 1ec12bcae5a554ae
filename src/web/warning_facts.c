/* SPDX-License-Identifier: BSD-3-Clause */
/* warning_facts.c - see warning_facts.h. */
#include "web/warning_facts.h"

#include <string.h>

#include "acl/client_auth.h"
#include "base/assert.h"
#include "base/clock.h"
#include "registry/config.h"
#include "web/info_view.h"
#include "web/recent.h"

#define SYSTEM_AGE_MS 60000 /* settings of the host seldom change */

/* ---- The host ---- */

static warningSystemChecks *system_checks; /* NULL: none */
static struct {
    struct warningSystem found[WARNINGS_SYSTEM_MAX];
    int count;
    bool known;
    int64_t at_ms;
} host;

static void warningFactsAddSystem(void *priv, const char *name, const char *advice, bool note) {
    (void)priv;
    if (host.count < WARNINGS_SYSTEM_MAX)
        host.found[host.count++] = (struct warningSystem){name, sdsnew(advice), note};
}

static void warningFactsCheckSystem(void) {
    int64_t now_ms = monotonicUs() / 1000;
    if (!system_checks || (host.known && now_ms - host.at_ms < SYSTEM_AGE_MS)) return;
    for (int i = 0; i < host.count; i++) sdsfree(host.found[i].advice);
    host.count = 0;
    host.known = true;
    host.at_ms = now_ms;
    system_checks(warningFactsAddSystem, NULL);
}

void warningFactsUseSystemChecks(warningSystemChecks *checks) {
    system_checks = checks;
}

/* ---- Settings ---- */

static bool warningFactsSettingIs(const char *name, const char *value) {
    sds text = configGet(name);
    bool same = text && strcmp(text, value) == 0;
    sdsfree(text);
    return same;
}

/* Tells whether an address of `bind` is one that other machines can reach. */
static bool warningFactsBindsForOthers(void) {
    sds text = configGet("bind");
    int count;
    bool others = text && !sdslen(text); /* none is named: all are used */
    sds *words = sdssplitargs(text ? text : "", text ? sdslen(text) : 0, &count);
    for (int i = 0; words && i < count; i++) {
        const char *address = words[i] + (words[i][0] == '-');
        others |= strncmp(address, "127.", 4) != 0 && strcmp(address, "::1") != 0 &&
                  strcasecmp(address, "localhost") != 0;
    }
    if (words) sdsfreesplitres(words, count);
    sdsfree(text);
    return others;
}

static void warningFactsReadSettings(struct warningFacts *f, struct infoView *info) {
    f->settings_known = true;
    f->no_password = !authRequired();
    f->open_to_others = warningFactsSettingIs("protected-mode", "no") && warningFactsBindsForOthers();
    f->saves = !warningFactsSettingIs("save", "");
    f->stops_writes = warningFactsSettingIs("stop-writes-on-bgsave-error", "yes");
    f->huge_pages_disabled = warningFactsSettingIs("disable-thp", "yes");
    if (infoViewGet(info, "min_slaves_good_slaves").ptr) /* the rule is on */
        f->min_replicas = (double)configNumber("min-replicas-to-write");
    warningFactsCheckSystem();
    memcpy(f->system, host.found, sizeof f->system);
    f->system_count = host.count;
}

/* ---- INFO, in its order ---- */

static bool warningFactsFieldIs(struct infoView *info, const char *name, const char *value) {
    struct str text = infoViewGet(info, name);
    return text.ptr && strIs(text, value);
}

/* Tells whether a field is there and is not `good`. */
static bool warningFactsFails(struct infoView *info, const char *name, const char *good) {
    struct str text = infoViewGet(info, name);
    return text.ptr && !strIs(text, good);
}

static double warningFactsPart(struct str value, const char *name) {
    struct str text = infoViewPart(value, name);
    double number = 0;
    return text.ptr && infoViewParseNumber(text, &number) ? number : 0;
}

static void warningFactsReadMemory(struct warningFacts *f, struct infoView *info) {
    f->clients = infoViewNumber(info, "connected_clients");
    f->max_clients = infoViewNumber(info, "maxclients");
    f->used_memory = infoViewNumber(info, "used_memory");
    f->resident_memory = infoViewNumber(info, "used_memory_rss");
    f->total_memory = infoViewNumber(info, "total_system_memory");
    f->maxmemory = infoViewNumber(info, "maxmemory");
    f->policy = infoViewGet(info, "maxmemory_policy");
    if (!f->policy.ptr) f->policy = STR("");
}

static void warningFactsReadFiles(struct warningFacts *f, struct infoView *info) {
    f->unsaved_changes = infoViewNumber(info, "rdb_changes_since_last_save");
    f->save_failed = warningFactsFails(info, "rdb_last_bgsave_status", "ok");
    f->aof_on = infoViewNumber(info, "aof_enabled") != 0;
    f->aof_rewrite_failed = warningFactsFails(info, "aof_last_bgrewrite_status", "ok");
    f->aof_write_failed = warningFactsFails(info, "aof_last_write_status", "ok");
    f->stale_percent = infoViewNumber(info, "expired_stale_perc");
    f->last_fork_us = infoViewNumber(info, "latest_fork_usec");
}

/* Reads "slave0:ip=...,port=...,state=online,offset=42,lag=0". */
static void warningFactsReadReplica(struct warningFacts *f, struct str line, double offset) {
    double lag = warningFactsPart(line, "lag"), behind = offset - warningFactsPart(line, "offset");
    struct str state = infoViewPart(line, "state");
    f->replicas++;
    if (!state.ptr || !strIs(state, "online")) {
        f->replicas_not_online++;
        return;
    }
    if (lag > f->worst_lag_s) f->worst_lag_s = lag;
    if (behind > f->worst_behind_bytes) f->worst_behind_bytes = behind;
}

static bool warningFactsIsReplicaLine(struct str name) {
    return strStarts(name, STR("slave")) && name.len > 5 && name.ptr[5] >= '0' && name.ptr[5] <= '9';
}

static void warningFactsReadReplication(struct warningFacts *f, struct infoView *info) {
    f->replay_errors = infoViewNumber(info, "unexpected_error_replies");
    f->is_replica = warningFactsFieldIs(info, "role", "slave");
    f->link_down = f->is_replica && warningFactsFails(info, "master_link_status", "up");
    f->syncing = infoViewNumber(info, "master_sync_in_progress") != 0;
    f->link_down_s = infoViewNumber(info, "master_link_down_since_seconds");
    f->replica_writable = warningFactsFieldIs(info, "slave_read_only", "0");
    f->replicas_good = infoViewNumber(info, "min_slaves_good_slaves");
    f->backlog_bytes = infoViewNumber(info, "repl_backlog_size");
    double offset = infoViewNumber(info, "master_repl_offset");
    for (int i = 0; i < info->count; i++) {
        const struct infoEntry *line = &info->lines[i];
        if (warningFactsIsReplicaLine(line->name)) warningFactsReadReplica(f, line->value, offset);
    }
}

static void warningFactsReadCluster(struct warningFacts *f, struct infoView *info) {
    f->in_cluster = infoViewNumber(info, "cluster_enabled") != 0;
    f->cluster_down = warningFactsFails(info, "cluster_state", "ok");
    f->cluster_slots_assigned = infoViewNumber(info, "cluster_slots_assigned");
    f->cluster_slots_failing =
        infoViewNumber(info, "cluster_slots_pfail") + infoViewNumber(info, "cluster_slots_fail");
    f->cluster_nodes = infoViewNumber(info, "cluster_known_nodes");
}

static void warningFactsReadCertificate(struct warningFacts *f, struct infoView *info) {
    f->has_certificate = warningFactsFails(info, "tls_server_cert_serial", "none");
    f->certificate_ends_s = infoViewNumber(info, "tls_server_cert_expires_in_seconds");
}

static void warningFactsReadKeys(struct warningFacts *f, struct infoView *info) {
    for (int i = 0; i < info->count; i++) {
        const struct infoEntry *line = &info->lines[i];
        if (!strIs(line->section, "Keyspace")) continue;
        f->keys += warningFactsPart(line->value, "keys");
        f->expiring += warningFactsPart(line->value, "expires");
    }
}

/* ---- The last minutes ---- */

static void warningFactsReadRecent(struct warningFacts *f, const struct recent *h) {
    f->seconds = (double)recentSpanMs(h) / 1000;
    f->memory_growth_lately = recentChange(h, RECENT_MEMORY);
    f->lasting_growth_lately = recentChange(h, RECENT_KEYS) - recentChange(h, RECENT_EXPIRING);
    f->evicted_lately = recentIncrease(h, RECENT_EVICTED);
    f->delayed_fsyncs_lately = recentIncrease(h, RECENT_DELAYED_FSYNCS);
    f->written_lately = recentIncrease(h, RECENT_OFFSET);
    f->refused_partial_lately = recentIncrease(h, RECENT_REFUSED_PARTIAL);
    f->rejected_lately = recentIncrease(h, RECENT_REJECTED);
    f->dropped_lately = recentIncrease(h, RECENT_DROPPED);
    f->failed_logins_lately = recentIncrease(h, RECENT_FAILED_LOGINS);
    if (f->seconds > 0) f->busy_share_lately = recentIncrease(h, RECENT_ACTIVE_S) / f->seconds;
}

void warningFactsRead(struct warningFacts *f, struct infoView *info, bool settings) {
    *f = (struct warningFacts){0};
    warningFactsReadCertificate(f, info);
    warningFactsReadMemory(f, info);
    warningFactsReadFiles(f, info);
    warningFactsReadReplication(f, info);
    warningFactsReadCluster(f, info);
    warningFactsReadKeys(f, info);
    warningFactsReadRecent(f, recentCurrent());
    if (settings) warningFactsReadSettings(f, info);
}
