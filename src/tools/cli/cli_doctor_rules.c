/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_doctor_rules.c - see cli_doctor.h.
 *
 * A rule is a function of the facts, which returns a text if the rule applies, else NULL. The table at the
 * end gives each rule its level and the page to read. Numbers that are missing count as 0, so every rule
 * asks for a number above a limit, or for a text that has to be there. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "tools/cli/cli_doctor.h"

#define MB (1024.0 * 1024)

#define FULL_SHARE         0.95 /* of maxmemory, of maxclients */
#define MACHINE_SHARE      0.85 /* of the machine's memory */
#define REPLICA_LAG_S      10
#define FRAGMENTED_RATIO   1.5
#define SWAPPED_RATIO      0.9
#define WORTH_BYTES        (100 * MB) /* smaller amounts of memory are not worth a finding */
#define DATASET_PERCENT    50
#define SLOW_EVENT_MS      100
#define SLOW_COMMAND_US    10000
#define SLOW_FORK_US       500000
#define STALE_PERCENT      25
#define CACHED_SCRIPTS     10000
#define PENDING_FREES      1000000
#define CERTIFICATE_DAYS   14
#define SECONDS_OF_DAY     86400
#define SLOTS_OF_A_CLUSTER 16384

/* ---- Reading facts ---- */

/* Takes the next line, without its end; false at the end of the text. */
static bool doctorNextLine(struct str *text, struct str *line) {
    if (!text->len) return false;
    const char *newline = memchr(text->ptr, '\n', text->len);
    size_t len = newline ? (size_t)(newline - text->ptr) : text->len, taken = newline ? len + 1 : len;
    *line = strN(text->ptr, len && text->ptr[len - 1] == '\r' ? len - 1 : len);
    *text = strN(text->ptr + taken, text->len - taken);
    return true;
}

/* Splits "name:value"; false for other lines. */
static bool doctorSplitLine(struct str line, struct str *name, struct str *value) {
    const char *colon = memchr(line.ptr, ':', line.len);
    if (!colon) return false;
    *name = strN(line.ptr, (size_t)(colon - line.ptr));
    *value = strN(colon + 1, line.len - name->len - 1);
    return true;
}

struct str cliDoctorFact(struct str facts, const char *name) {
    struct str line, found, value;
    while (doctorNextLine(&facts, &line)) {
        if (doctorSplitLine(line, &found, &value) && strIs(found, name)) return value;
    }
    return STR("");
}

static bool doctorFactIs(struct str f, const char *name, const char *value) {
    return strIs(cliDoctorFact(f, name), value);
}

/* Returns the number at the start of the text, such as 12.5 in "12.5%"; 0 if there is none. */
static double doctorParseNumber(struct str text) {
    double number = 0;
    while (text.len && !string2d(text, &number)) text.len--;
    return text.len ? number : 0;
}

static double doctorNumber(struct str f, const char *name) {
    return doctorParseNumber(cliDoctorFact(f, name));
}

/* Returns the value of "name" in "name=value,other=value". */
static struct str doctorPart(struct str value, const char *name) {
    size_t len = strlen(name);
    while (value.len) {
        const char *comma = memchr(value.ptr, ',', value.len);
        size_t part = comma ? (size_t)(comma - value.ptr) : value.len, taken = comma ? part + 1 : part;
        if (part > len && memcmp(value.ptr, name, len) == 0 && value.ptr[len] == '=')
            return strN(value.ptr + len + 1, part - len - 1);
        value = strN(value.ptr + taken, value.len - taken);
    }
    return STR("");
}

/* Returns whether one of the words separated by blanks is `word`. */
static bool doctorHasWord(struct str words, const char *word) {
    size_t len = strlen(word);
    for (size_t at = 0; at + len <= words.len; at++) {
        bool begins = at == 0 || words.ptr[at - 1] == ' ';
        bool ends = at + len == words.len || words.ptr[at + len] == ' ';
        if (begins && ends && memcmp(words.ptr + at, word, len) == 0) return true;
    }
    return false;
}

static bool doctorBeginsWith(struct str text, const char *start) {
    size_t len = strlen(start);
    return text.len >= len && memcmp(text.ptr, start, len) == 0;
}

static bool doctorIsReplica(struct str f) {
    return doctorFactIs(f, "role", "slave") || doctorFactIs(f, "role", "replica");
}

/* Returns the part of `total` that is used, from 0 on; 0 if the total is unknown. */
static double doctorShare(double used, double total) {
    return total > 0 ? used / total : 0;
}

/* ---- Writing texts ---- */

/* Appends an amount of bytes, "12.00M". */
static sds doctorCatBytes(sds out, double bytes) {
    char text[64];
    bytesToHuman(text, sizeof(text), bytes > 0 ? (uint64_t)bytes : 0);
    return sdscat(out, text);
}

/* Appends "a second", "2 minutes" and the like, in the largest unit that fits. */
static sds doctorCatDuration(sds out, double seconds) {
    static const struct {
        const char *one, *many;
        double seconds;
    } units[] = {{"a day", "days", 86400}, {"an hour", "hours", 3600}, {"a minute", "minutes", 60}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        double count = seconds / units[i].seconds;
        if (count >= 2) return sdscatprintf(out, "%.0f %s", count, units[i].many);
        if (count >= 1) return sdscat(out, units[i].one);
    }
    return seconds < 1.5 ? sdscat(out, "a second") : sdscatprintf(out, "%.0f seconds", seconds);
}

/* Returns the text with one number in place of %.0f, if the fact is above 0. */
static sds doctorIfCounted(struct str f, const char *name, const char *format) {
    double count = doctorNumber(f, name);
    return count > 0 ? sdscatprintf(sdsempty(), format, count) : NULL;
}

/* ---- State of the server ---- */

static sds doctorLoading(struct str f) {
    if (!doctorFactIs(f, "loading", "1")) return NULL;
    sds out = sdsnew("The server loads its data and refuses most commands until it has finished");
    if (doctorNumber(f, "loading_eta_seconds") > 0)
        out = doctorCatDuration(sdscat(out, ", which takes about "), doctorNumber(f, "loading_eta_seconds"));
    return sdscat(out, ".");
}

static sds doctorOpenToAll(struct str f) {
    struct str bind = cliDoctorFact(f, "config.bind");
    bool no_password = doctorHasWord(cliDoctorFact(f, "acl.default"), "nopass") &&
                       doctorHasWord(cliDoctorFact(f, "acl.default"), "on");
    bool listens = doctorNumber(f, "config.port") > 0 || doctorNumber(f, "config.tls-port") > 0;
    if (!no_password || !listens || !doctorFactIs(f, "config.protected-mode", "no")) return NULL;
    bool is_local = bind.len > 0;
    while (bind.len) {
        const char *blank = memchr(bind.ptr, ' ', bind.len);
        struct str word = strN(bind.ptr, blank ? (size_t)(blank - bind.ptr) : bind.len);
        bind = strN(bind.ptr + word.len + (blank != NULL), bind.len - word.len - (blank != NULL));
        if (word.len && word.ptr[0] == '-') word = strN(word.ptr + 1, word.len - 1);
        is_local &= doctorBeginsWith(word, "127.") || strIs(word, "::1") || strIs(word, "localhost");
    }
    if (is_local) return NULL;
    return sdsnew("Everybody who can reach the port may read and change all data: the default user has no "
                  "password, protected-mode is off, and bind allows other machines. Set a password.");
}

static sds doctorFailedLogins(struct str f) {
    return doctorIfCounted(f, "acl_access_denied_auth",
                           "%.0f attempts to log in have failed since the start. ACL LOG names the clients.");
}

static sds doctorClientsFull(struct str f) {
    double now = doctorNumber(f, "connected_clients"), limit = doctorNumber(f, "maxclients");
    if (doctorShare(now, limit) < FULL_SHARE) return NULL;
    return sdscatprintf(
        sdsempty(),
        "%.0f clients are connected and maxclients is %.0f: the server rejects the next ones. "
        "Look for clients that do not close their connections in CLIENT LIST.",
        now, limit);
}

static sds doctorClientsRejected(struct str f) {
    return doctorIfCounted(f, "rejected_connections",
                           "%.0f connections were rejected since the start, as maxclients was reached.");
}

static sds doctorClientsCut(struct str f) {
    double in = doctorNumber(f, "client_query_buffer_limit_disconnections");
    double out = doctorNumber(f, "client_output_buffer_limit_disconnections");
    if (in + out <= 0) return NULL;
    return sdscatprintf(
        sdsempty(),
        "%.0f clients were disconnected since the start because they sent more than the server "
        "buffers, and %.0f because they did not read their replies fast enough.",
        in, out);
}

static sds doctorCertificate(struct str f) {
    static const char *const names[] = {"tls_server_cert", "tls_server_alt_cert", "tls_client_cert",
                                        "tls_ca_cert"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char serial[64], expires[64];
        snprintf(serial, sizeof(serial), "%s_serial", names[i]);
        snprintf(expires, sizeof(expires), "%s_expires_in_seconds", names[i]);
        struct str number = cliDoctorFact(f, serial);
        double left = doctorNumber(f, expires);
        if (!number.len || strIs(number, "none") || left >= CERTIFICATE_DAYS * SECONDS_OF_DAY) continue;
        sds out = sdscatprintf(sdsempty(), "The certificate of %s with the serial number %.*s ", names[i],
                               (int)number.len, number.ptr);
        if (left <= 0) return sdscat(out, "has expired, so clients that check it cannot connect.");
        return sdscat(doctorCatDuration(sdscat(out, "expires in "), left), ".");
    }
    return NULL;
}

/* ---- Memory ---- */

static sds doctorMemoryFull(struct str f) {
    double used = doctorNumber(f, "used_memory"), limit = doctorNumber(f, "maxmemory");
    if (doctorShare(used, limit) < FULL_SHARE || !doctorFactIs(f, "maxmemory_policy", "noeviction"))
        return NULL;
    sds out = doctorCatBytes(sdsnew("Memory is full: "), used);
    out = doctorCatBytes(sdscat(out, " of maxmemory "), limit);
    return sdscat(out, " are used, and with the policy noeviction the server refuses writes at the limit.");
}

static sds doctorMachineFull(struct str f) {
    double rss = doctorNumber(f, "used_memory_rss"), machine = doctorNumber(f, "total_system_memory");
    if (doctorShare(rss, machine) < MACHINE_SHARE) return NULL;
    sds out = doctorCatBytes(sdsnew("The process has "), rss);
    out = doctorCatBytes(sdscat(out, " of the machine's "), machine);
    return sdscat(out, ": the kernel may end it at any time. Lower maxmemory, or move data.");
}

static sds doctorNoMaxmemory(struct str f) {
    if (!doctorFactIs(f, "maxmemory", "0")) return NULL;
    return sdsnew(
        "maxmemory is not set: when the data grows, the server takes all memory of the machine, and "
        "the kernel ends it.");
}

static sds doctorMaxmemoryTooHigh(struct str f) {
    double limit = doctorNumber(f, "maxmemory"), machine = doctorNumber(f, "total_system_memory");
    if (doctorShare(limit, machine) <= MACHINE_SHARE) return NULL;
    sds out = doctorCatBytes(sdsnew("maxmemory is "), limit);
    out = doctorCatBytes(sdscat(out, ", and the machine has "), machine);
    return sdscat(out, ": too little is left for buffers, snapshots and the system.");
}

static sds doctorEvictions(struct str f) {
    return doctorIfCounted(
        f, "evicted_keys",
        "%.0f keys were evicted since the start to stay below maxmemory. A cache does that; other data was "
        "lost.");
}

static sds doctorSwapped(struct str f) {
    double used = doctorNumber(f, "used_memory"), rss = doctorNumber(f, "used_memory_rss");
    if (rss <= 0 || used - rss < WORTH_BYTES || rss / used > SWAPPED_RATIO) return NULL;
    sds out = doctorCatBytes(sdsnew("The server uses "), used);
    out = doctorCatBytes(sdscat(out, ", but only "), rss);
    return sdscat(out, " are in memory: the rest is in swap, which makes every command that needs it slow.");
}

static sds doctorFragmented(struct str f) {
    double ratio = doctorNumber(f, "mem_fragmentation_ratio");
    double wasted = doctorNumber(f, "used_memory_rss") - doctorNumber(f, "used_memory");
    if (ratio < FRAGMENTED_RATIO || wasted < WORTH_BYTES) return NULL;
    sds out = doctorCatBytes(sdsnew("The process has "), wasted);
    return sdscatprintf(out,
                        " more memory than the data takes, a ratio of %.2f. Set activedefrag to yes, or "
                        "restart the server.",
                        ratio);
}

static sds doctorOverhead(struct str f) {
    struct str percent = cliDoctorFact(f, "memory.dataset.percentage");
    double used = doctorNumber(f, "used_memory"), dataset = doctorParseNumber(percent);
    if (!percent.len || dataset >= DATASET_PERCENT || used < WORTH_BYTES) return NULL;
    sds out = sdscatprintf(sdsempty(), "Only %.0f%% of the memory is data. Clients have ", dataset);
    out = doctorCatBytes(out, doctorNumber(f, "memory.clients.normal"));
    out = doctorCatBytes(sdscat(out, ", replicas "), doctorNumber(f, "memory.clients.slaves"));
    out = doctorCatBytes(sdscat(out, ", the backlog "), doctorNumber(f, "memory.replication.backlog"));
    out = doctorCatBytes(sdscat(out, ", the append-only file "), doctorNumber(f, "memory.aof.buffer"));
    return sdscat(out, ".");
}

static sds doctorScripts(struct str f) {
    double count = doctorNumber(f, "number_of_cached_scripts");
    if (count < CACHED_SCRIPTS) return NULL;
    return sdscatprintf(sdsempty(),
                        "%.0f scripts are cached, so clients probably put values into the text of their "
                        "scripts. They should pass them as arguments of EVAL.",
                        count);
}

static sds doctorPendingFrees(struct str f) {
    double count = doctorNumber(f, "lazyfree_pending_objects");
    if (count < PENDING_FREES) return NULL;
    return sdscatprintf(sdsempty(), "%.0f deleted objects wait to be freed by the background thread.", count);
}

static sds doctorStaleKeys(struct str f) {
    double percent = doctorNumber(f, "expired_stale_perc");
    if (percent < STALE_PERCENT) return NULL;
    return sdscatprintf(sdsempty(),
                        "About %.0f%% of the keys with a time to live have expired and still take memory. "
                        "Raise active-expire-effort, or spread the times.",
                        percent);
}

/* ---- Files ---- */

static sds doctorSnapshotFailed(struct str f) {
    if (!doctorFactIs(f, "rdb_last_bgsave_status", "err")) return NULL;
    sds out = sdsnew("The last snapshot failed; the log says why.");
    if (doctorFactIs(f, "config.stop-writes-on-bgsave-error", "yes") && cliDoctorFact(f, "config.save").len)
        out = sdscat(out, " The server refuses writes until one succeeds (stop-writes-on-bgsave-error).");
    return out;
}

static sds doctorAofWriteFailed(struct str f) {
    if (!doctorFactIs(f, "aof_last_write_status", "err")) return NULL;
    return sdsnew("The last write to the append-only file failed, so the server refuses writes. The disk may "
                  "be full; the log says why.");
}

static sds doctorAofRewriteFailed(struct str f) {
    if (!doctorFactIs(f, "aof_last_bgrewrite_status", "err")) return NULL;
    return sdsnew(
        "The last rewrite of the append-only file failed, so that the file grows. The log says why.");
}

static sds doctorSlowDisk(struct str f) {
    return doctorIfCounted(f, "aof_delayed_fsync",
                           "The disk was too slow for the append-only file %.0f times since the start, and "
                           "commands had to wait for it.");
}

static sds doctorNotSaved(struct str f) {
    bool saves = cliDoctorFact(f, "config.save").len > 0;
    bool known = doctorFactIs(f, "config.appendonly", "no") && !doctorIsReplica(f);
    if (!known || saves || !cliDoctorFact(f, "db0").len) return NULL;
    return sdsnew("Nothing is written to disk: there are no save points, and appendonly is off. The data is "
                  "lost when the server stops.");
}

/* ---- Replication ---- */

static sds doctorLinkDown(struct str f) {
    if (!doctorIsReplica(f) || !doctorFactIs(f, "master_link_status", "down")) return NULL;
    struct str host = cliDoctorFact(f, "master_host"), port = cliDoctorFact(f, "master_port");
    sds out = sdscatprintf(sdsempty(), "The link to the primary %.*s:%.*s is down", (int)host.len, host.ptr,
                           (int)port.len, port.ptr);
    if (doctorFactIs(f, "master_sync_in_progress", "1"))
        return sdscat(out, " while this replica receives a full copy of the data.");
    if (doctorNumber(f, "master_link_down_since_seconds") > 0)
        out = doctorCatDuration(sdscat(out, " for "), doctorNumber(f, "master_link_down_since_seconds"));
    return sdscat(out, ", so the data here grows old. The log says why.");
}

/* Returns the text for the first replica of which `say` has something to tell. */
static sds doctorEachReplica(struct str f, sds (*say)(struct str f, struct str replica)) {
    struct str rest = f, line, name, value;
    while (doctorNextLine(&rest, &line)) {
        if (!doctorSplitLine(line, &name, &value) || !doctorBeginsWith(name, "slave")) continue;
        sds out = doctorPart(value, "state").len ? say(f, value) : NULL;
        if (out) return out;
    }
    return NULL;
}

static sds doctorSayLag(struct str f, struct str replica) {
    (void)f;
    struct str ip = doctorPart(replica, "ip"), port = doctorPart(replica, "port");
    double lag = doctorParseNumber(doctorPart(replica, "lag"));
    if (!strIs(doctorPart(replica, "state"), "online") || lag <= REPLICA_LAG_S) return NULL;
    sds out = sdscatprintf(sdsempty(), "The replica %.*s:%.*s has confirmed nothing for ", (int)ip.len,
                           ip.ptr, (int)port.len, port.ptr);
    return sdscat(doctorCatDuration(out, lag), ": it hangs, or the network is down.");
}

static sds doctorReplicaLags(struct str f) {
    return doctorEachReplica(f, doctorSayLag);
}

static sds doctorSayBehind(struct str f, struct str replica) {
    struct str ip = doctorPart(replica, "ip"), port = doctorPart(replica, "port");
    double behind = doctorNumber(f, "master_repl_offset") - doctorParseNumber(doctorPart(replica, "offset"));
    double backlog = doctorNumber(f, "repl_backlog_size");
    if (!strIs(doctorPart(replica, "state"), "online") || doctorShare(behind, backlog) < 0.5) return NULL;
    sds out =
        sdscatprintf(sdsempty(), "The replica %.*s:%.*s is ", (int)ip.len, ip.ptr, (int)port.len, port.ptr);
    out = doctorCatBytes(sdscat(doctorCatBytes(out, behind), " behind, and the backlog has "), backlog);
    return sdscat(out, ": if its link breaks now, it may need a full copy. Raise repl-backlog-size.");
}

static sds doctorReplicaBehind(struct str f) {
    return doctorEachReplica(f, doctorSayBehind);
}

static sds doctorTooFewReplicas(struct str f) {
    struct str good = cliDoctorFact(f, "min_slaves_good_slaves");
    double needed = doctorNumber(f, "config.min-replicas-to-write");
    if (!good.len || needed <= doctorParseNumber(good)) return NULL;
    return sdscatprintf(sdsempty(),
                        "Writes are refused: min-replicas-to-write is %.0f, and %.*s replicas are connected "
                        "without too much delay.",
                        needed, (int)good.len, good.ptr);
}

static sds doctorPartialSyncsFailed(struct str f) {
    double failed = doctorNumber(f, "sync_partial_err"), full = doctorNumber(f, "sync_full");
    if (failed <= 0 || full <= 1) return NULL; /* the first copy of a replica that was one before */
    return sdscatprintf(sdsempty(),
                        "%.0f times since the start a replica wanted to continue and needed a full copy "
                        "instead. A larger repl-backlog-size covers longer interruptions.",
                        failed);
}

static sds doctorWritableReplica(struct str f) {
    if (!doctorIsReplica(f) || !doctorFactIs(f, "slave_read_only", "0")) return NULL;
    return sdsnew(
        "This replica accepts writes of clients (replica-read-only no). They are lost with the next "
        "full copy, and the primary never sees them.");
}

/* ---- Clusters and Sentinels ---- */

static sds doctorClusterDown(struct str f) {
    if (!doctorFactIs(f, "cluster_state", "fail")) return NULL;
    double assigned = doctorNumber(f, "cluster_slots_assigned"),
           failed = doctorNumber(f, "cluster_slots_fail");
    sds out = sdsnew("The cluster is down for this node");
    if (assigned < SLOTS_OF_A_CLUSTER)
        return sdscatprintf(out, ": %.0f slots have no owner.", SLOTS_OF_A_CLUSTER - assigned);
    if (failed > 0)
        return sdscatprintf(out, ": the owner of %.0f slots has failed, and no replica replaced it.", failed);
    return sdscat(out, ", which cannot reach the majority of the primaries.");
}

static sds doctorClusterFailing(struct str f) {
    double failed = doctorNumber(f, "cluster_slots_fail") + doctorNumber(f, "cluster_slots_pfail");
    if (!doctorFactIs(f, "cluster_state", "ok") || failed <= 0) return NULL;
    return sdscatprintf(sdsempty(), "The owner of %.0f slots of the cluster does not reply.", failed);
}

/* Lines of a Sentinel: "master0:name=mymaster,status=ok,address=...,slaves=1,sentinels=3". */
static sds doctorSentinelPrimary(struct str f) {
    struct str rest = f, line, field, value;
    while (doctorNextLine(&rest, &line)) {
        if (!doctorSplitLine(line, &field, &value) || !doctorBeginsWith(field, "master")) continue;
        struct str name = doctorPart(value, "name"), status = doctorPart(value, "status");
        if (!name.len || !status.len || strIs(status, "ok")) continue;
        return sdscatprintf(
            sdsempty(), "The primary %.*s, which this Sentinel watches, is %s.", (int)name.len, name.ptr,
            strIs(status, "odown") ? "down for the quorum of the Sentinels" : "down for this Sentinel");
    }
    return NULL;
}

/* ---- Speed ---- */

static sds doctorSlowCommands(struct str f) {
    double count = doctorNumber(f, "slowlog.entries"), usec = doctorNumber(f, "slowlog.usec");
    struct str command = cliDoctorFact(f, "slowlog.command");
    if (count <= 0 || usec < SLOW_COMMAND_US) return NULL;
    return sdscatprintf(
        sdsempty(),
        "The slow log has %.0f commands. The slowest took %.0f ms, in which no other client was "
        "served: %.*s",
        count, usec / 1000, (int)command.len, command.ptr);
}

static sds doctorSlowEvents(struct str f) {
    struct str rest = f, line, name, value, worst = STR("");
    double most = 0, since = 0, now = doctorNumber(f, "server_time_usec") / 1e6;
    while (doctorNextLine(&rest, &line)) {
        if (!doctorSplitLine(line, &name, &value) || !doctorBeginsWith(name, "latency.")) continue;
        double max = doctorParseNumber(doctorPart(value, "max"));
        if (max <= most) continue;
        worst = strN(name.ptr + strlen("latency."), name.len - strlen("latency."));
        most = max;
        since = now - doctorParseNumber(doctorPart(value, "time"));
    }
    if (most < SLOW_EVENT_MS) return NULL;
    sds out = sdscatprintf(sdsempty(), "The event \"%.*s\" has blocked the server for up to %.0f ms",
                           (int)worst.len, worst.ptr, most);
    if (now > 0 && since >= 0)
        out = sdscat(doctorCatDuration(sdscat(out, ", the last time "), since), " ago");
    return sdscat(out, ". LATENCY HISTORY shows more.");
}

static sds doctorSlowFork(struct str f) {
    double usec = doctorNumber(f, "latest_fork_usec");
    if (usec < SLOW_FORK_US) return NULL;
    return sdscatprintf(
        sdsempty(), "The last fork stopped the server for %.0f ms. With forkless-save, snapshots need none.",
        usec / 1000);
}

/* Replies that say that the server is in a state in which it refuses commands. */
static sds doctorRefusals(struct str f) {
    static const char *const words[] = {"OOM", "MISCONF", "NOREPLICAS", "CLUSTERDOWN", "MASTERDOWN", "BUSY"};
    sds out = NULL;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char field[64];
        snprintf(field, sizeof(field), "errorstat_%s", words[i]);
        double count = doctorParseNumber(doctorPart(cliDoctorFact(f, field), "count"));
        if (count <= 0) continue;
        out = sdscatprintf(out ? sdscat(out, ", ") : sdsnew("Commands were refused since the start: "),
                           "%.0f with the error %s", count, words[i]);
    }
    return out ? sdscat(out, ".") : NULL;
}

/* ---- The table ---- */

struct doctorRule {
    const char *name;
    bool is_problem;
    sds (*examine)(struct str facts);
    const char *page;
};

static const struct doctorRule rules[] = {
    {"loading", true, doctorLoading, "troubleshooting.md#it-does-not-start"},
    {"open-to-all", true, doctorOpenToAll, "security.md#who-can-reach-it"},
    {"clients-full", true, doctorClientsFull, "troubleshooting.md#i-cannot-connect"},
    {"certificate", true, doctorCertificate, "tls.md#renewing-certificates"},
    {"memory-full", true, doctorMemoryFull, "memory.md#a-limit"},
    {"machine-full", true, doctorMachineFull, "memory.md#a-limit"},
    {"swapped", true, doctorSwapped, "troubleshooting.md#it-is-slow"},
    {"snapshot-failed", true, doctorSnapshotFailed, "troubleshooting.md#writes-are-refused"},
    {"aof-write-failed", true, doctorAofWriteFailed, "troubleshooting.md#writes-are-refused"},
    {"aof-rewrite-failed", true, doctorAofRewriteFailed, "tuning.md#snapshots-and-the-append-only-file"},
    {"link-down", true, doctorLinkDown, "troubleshooting.md#a-replica-does-not-follow"},
    {"replica-lags", true, doctorReplicaLags, "tuning.md#replicas"},
    {"too-few-replicas", true, doctorTooFewReplicas, "troubleshooting.md#writes-are-refused"},
    {"cluster-down", true, doctorClusterDown, "troubleshooting.md#a-cluster-is-down"},
    {"cluster-failing", true, doctorClusterFailing, "troubleshooting.md#a-cluster-is-down"},
    {"sentinel-primary", true, doctorSentinelPrimary, "sentinel.md#the-primary-dies"},
    {"no-maxmemory", false, doctorNoMaxmemory, "memory.md#a-limit"},
    {"maxmemory-too-high", false, doctorMaxmemoryTooHigh, "memory.md#a-limit"},
    {"not-saved", false, doctorNotSaved, "backup.md#how-much-can-be-lost"},
    {"evictions", false, doctorEvictions, "tuning.md#memory-limit-and-eviction"},
    {"fragmented", false, doctorFragmented, "memory.md#fragmentation"},
    {"overhead", false, doctorOverhead, "memory.md#where-it-is"},
    {"scripts", false, doctorScripts, "troubleshooting.md#memory-grows"},
    {"pending-frees", false, doctorPendingFrees, "troubleshooting.md#memory-grows"},
    {"stale-keys", false, doctorStaleKeys, "troubleshooting.md#memory-grows"},
    {"slow-disk", false, doctorSlowDisk, "tuning.md#snapshots-and-the-append-only-file"},
    {"slow-fork", false, doctorSlowFork, "backup.md#snapshots-without-a-fork"},
    {"slow-commands", false, doctorSlowCommands, "troubleshooting.md#it-is-slow"},
    {"slow-events", false, doctorSlowEvents, "tuning.md#latency"},
    {"refusals", false, doctorRefusals, "troubleshooting.md#writes-are-refused"},
    {"clients-rejected", false, doctorClientsRejected, "troubleshooting.md#i-cannot-connect"},
    {"clients-cut", false, doctorClientsCut, "memory.md#clients"},
    {"failed-logins", false, doctorFailedLogins, "security.md#passwords"},
    {"replica-behind", false, doctorReplicaBehind, "tuning.md#replicas"},
    {"partial-syncs-failed", false, doctorPartialSyncsFailed, "tuning.md#replicas"},
    {"writable-replica", false, doctorWritableReplica, "tuning.md#replicas"},
};

#define RULES (sizeof(rules) / sizeof(rules[0]))

struct cliDoctorReport cliDoctorExamine(struct str facts) {
    struct cliDoctorReport report = {.findings = zcalloc(RULES, sizeof(report.findings[0]))};
    for (size_t i = 0; i < RULES; i++) {
        const struct doctorRule *rule = &rules[i];
        sds text = rule->examine(facts);
        if (!text) continue;
        report.problems += rule->is_problem;
        report.findings[report.count++] = (struct cliDoctorFinding){
            .rule = rule->name, .is_problem = rule->is_problem, .text = text, .page = rule->page};
    }
    return report;
}

void cliDoctorFree(struct cliDoctorReport *report) {
    for (int i = 0; i < report->count; i++) sdsfree(report->findings[i].text);
    zfree(report->findings);
    *report = (struct cliDoctorReport){0};
}
