/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_config.c - the lines of sentinel.conf, parsed and written: settings of users, and what a
 * Sentinel has to know after a restart.
 *
 *     myid X                                     the Sentinel itself: PASS_SELF
 *     monitor NAME HOST PORT QUORUM              PASS_MONITOR
 *     down-after-milliseconds NAME MS  ...       a primary that exists by then: PASS_REST
 *
 * One table describes each line: its first word, its number of words, its pass, and the
 * function that applies it. */
#include <limits.h>
#include <stddef.h>
#include <unistd.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "sentinel/supervisor_private.h"

/* ---- Values ---- */

/* Parses the number at the beginning: 0 if there is none, max + 1 if it is greater than max. */
static int64_t supervisorConfigParseNumber(struct str text, int64_t max) {
    bool negative = text.len && text.ptr[0] == '-';
    int64_t n = 0;
    for (size_t k = negative; k < text.len && text.ptr[k] >= '0' && text.ptr[k] <= '9'; k++) {
        int digit = text.ptr[k] - '0';
        if (n > (max - digit) / 10) return negative ? -1 : max + 1;
        n = 10 * n + digit;
    }
    return negative ? -n : n;
}

/* Parses milliseconds, which must fit an int; -1: they do not. */
static int64_t supervisorConfigParseMilliseconds(struct str text) {
    int64_t ms = supervisorConfigParseNumber(text, INT_MAX);
    return ms > INT_MAX ? -1 : ms;
}

static uint64_t supervisorConfigParseEpoch(struct str text) {
    int64_t epoch = supervisorConfigParseNumber(text, EPOCH_MAX);
    return epoch < 0 ? 0 : epoch > EPOCH_MAX ? EPOCH_MAX : (uint64_t)epoch;
}

static void supervisorConfigSetText(sds *to, struct str value) {
    sdsfree(*to);
    *to = sdsnewstr(value);
}

static const char *supervisorConfigSetYesNo(bool *to, struct str value, const char *err) {
    if (!strIs(value, "yes") && !strIs(value, "no")) return err;
    *to = strIs(value, "yes");
    return NULL;
}

static const char *supervisorConfigSetScript(sds *to, struct str path, const char *err) {
    sds script = sdsnewstr(path);
    bool executable = access(script, X_OK) == 0;
    sdsfree(script);
    if (!executable) return err;
    supervisorConfigSetText(to, path);
    return NULL;
}

/* ---- The Sentinel itself ---- */

static const char *supervisorConfigSetMyid(struct supervisor *s, struct instance *primary,
                                           const struct str *arg) {
    (void)primary;
    if (arg[0].len != RUN_ID_LEN || !runIdIsValid(arg[0])) return "Malformed Sentinel id in myid option.";
    memcpy(s->my_id, arg[0].ptr, RUN_ID_LEN);
    s->my_id[RUN_ID_LEN] = '\0';
    return NULL;
}

static const char *supervisorConfigSetCurrentEpoch(struct supervisor *s, struct instance *primary,
                                                   const struct str *arg) {
    (void)primary;
    uint64_t epoch = supervisorConfigParseEpoch(arg[0]);
    if (epoch > s->current_epoch) s->current_epoch = epoch;
    return NULL;
}

static const char *supervisorConfigSetAnnounceIp(struct supervisor *s, struct instance *primary,
                                                 const struct str *arg) {
    (void)primary;
    if (arg[0].len) supervisorConfigSetText(&s->settings.announce_ip, arg[0]);
    return NULL;
}

static const char *supervisorConfigSetAnnouncePort(struct supervisor *s, struct instance *primary,
                                                   const struct str *arg) {
    (void)primary;
    int64_t port = supervisorConfigParseNumber(arg[0], UINT16_MAX);
    s->settings.announce_port = port < 0 || port > UINT16_MAX ? 0 : (int)port;
    return NULL;
}

/* ---- Primaries, replicas, Sentinels ---- */

/* Returns NULL, or why the address is not valid. The caller frees the address in any case. */
static const char *supervisorConfigReadAddress(struct supervisor *s, struct hostAddress *address,
                                               struct str host, struct str port_text) {
    int64_t port = supervisorConfigParseNumber(port_text, UINT16_MAX);
    *address = (struct hostAddress){0};
    if (port < 0 || port > UINT16_MAX) return "Invalid port number.";
    sds name = sdsnewstr(host);
    bool good = hostAddressInit(s, address, name, (int)port, true);
    sdsfree(name);
    return good ? NULL : "Can't resolve instance hostname.";
}

static const char *supervisorConfigAddPrimary(struct supervisor *s, struct instance *unused,
                                              const struct str *arg) {
    (void)unused;
    int64_t quorum = supervisorConfigParseNumber(arg[3], INT_MAX);
    if (quorum < 1 || quorum > INT_MAX) return "Quorum must be 1 or greater.";
    struct hostAddress address;
    sds name = sdsnewstr(arg[0]);
    const char *err = supervisorConfigReadAddress(s, &address, arg[1], arg[2]);
    if (!err && supervisorFindPrimary(s, name)) err = "Duplicate master name.";
    if (!err) instanceCreate(s, KIND_PRIMARY, name, &address, NULL)->p.quorum = (int)quorum;
    hostAddressFree(&address);
    sdsfree(name);
    return err;
}

static const char *supervisorConfigAddReplica(struct supervisor *s, struct instance *primary,
                                              const struct str *arg) {
    struct hostAddress address;
    const char *err = supervisorConfigReadAddress(s, &address, arg[1], arg[2]);
    if (!err && instancesFindAddress(&primary->p.replicas, &address))
        err = "Duplicate hostname and port for replica.";
    bool itself = !err && hostAddressIsSame(&address, &primary->address);
    if (!err && !itself) instanceCreate(s, KIND_REPLICA, NULL, &address, primary);
    hostAddressFree(&address);
    return err;
}

static const char *supervisorConfigAddSentinel(struct supervisor *s, struct instance *primary,
                                               const struct str *arg) {
    if (!runIdIsValid(arg[3])) return "Malformed run id of a Sentinel.";
    struct hostAddress address;
    sds run_id = sdsnewstr(arg[3]);
    const char *err = supervisorConfigReadAddress(s, &address, arg[1], arg[2]);
    if (!err && instancesFindSentinel(&primary->p.sentinels, NULL, run_id))
        err = "Duplicate runid for sentinel.";
    if (!err) linkShare(s, instanceCreate(s, KIND_SENTINEL, run_id, &address, primary));
    hostAddressFree(&address);
    sdsfree(run_id);
    return err;
}

/* Old versions wrote no run id; such a Sentinel will be found again by its hellos. */
static const char *supervisorConfigIgnoreSentinel(struct supervisor *s, struct instance *primary,
                                                  const struct str *arg) {
    return (void)s, (void)primary, (void)arg, NULL;
}

/* ---- Settings of a primary ---- */

static const char *supervisorConfigSetDownAfter(struct supervisor *s, struct instance *primary,
                                                const struct str *arg) {
    (void)s;
    int64_t ms = supervisorConfigParseMilliseconds(arg[1]);
    if (ms <= 0) return "negative or zero time parameter.";
    primary->down_after_ms = ms;
    supervisorSpreadDownAfter(primary);
    return NULL;
}

static const char *supervisorConfigSetFailoverTimeout(struct supervisor *s, struct instance *primary,
                                                      const struct str *arg) {
    (void)s;
    int64_t ms = supervisorConfigParseMilliseconds(arg[1]);
    if (ms <= 0) return "negative or zero time parameter.";
    primary->p.failover_timeout_ms = ms;
    return NULL;
}

static const char *supervisorConfigSetRebootPeriod(struct supervisor *s, struct instance *primary,
                                                   const struct str *arg) {
    (void)s;
    int64_t ms = supervisorConfigParseMilliseconds(arg[1]);
    if (ms < 0) return "negative time parameter.";
    primary->p.reboot_down_after_ms = ms;
    return NULL;
}

static const char *supervisorConfigSetParallelSyncs(struct supervisor *s, struct instance *primary,
                                                    const struct str *arg) {
    (void)s;
    int64_t n = supervisorConfigParseNumber(arg[1], INT_MAX);
    primary->p.parallel_syncs = n > INT_MAX ? INT_MAX : (int)n;
    return NULL;
}

static const char *supervisorConfigSetUnclean(struct supervisor *s, struct instance *primary,
                                              const struct str *arg) {
    (void)s;
    return supervisorConfigSetYesNo(&primary->p.unclean_failover, arg[1],
                                    "Please specify yes or no for the unclean-failover option.");
}

static const char *supervisorConfigSetConfigEpoch(struct supervisor *s, struct instance *primary,
                                                  const struct str *arg) {
    primary->config_epoch = supervisorConfigParseEpoch(arg[1]);
    if (primary->config_epoch > s->current_epoch) s->current_epoch = primary->config_epoch;
    return NULL;
}

static const char *supervisorConfigSetLeaderEpoch(struct supervisor *s, struct instance *primary,
                                                  const struct str *arg) {
    (void)s;
    primary->p.leader_epoch = supervisorConfigParseEpoch(arg[1]);
    return NULL;
}

static const char *supervisorConfigAddRename(struct supervisor *s, struct instance *primary,
                                             const struct str *arg) {
    (void)s;
    struct primaryState *p = &primary->p;
    for (int n = 0; n < p->renamed_count; n++)
        if (strIs(arg[1], p->renamed[n].from))
            return "Same command renamed multiple times with rename-command.";
    p->renamed = zrealloc(p->renamed, sizeof *p->renamed * (size_t)(p->renamed_count + 1));
    p->renamed[p->renamed_count++] = (struct renamedCommand){sdsnewstr(arg[1]), sdsnewstr(arg[2])};
    return NULL;
}

/* ---- Reading ---- */

static const struct line {
    const char *word;
    int words; /* including the first */
    enum configPass pass;
    /* Applies the line. arg: the words after the first one; in PASS_REST arg[0] is the name of
     * `primary`. NULL: the last word is the value of the field at this offset, of the primary in
     * PASS_REST, else of the supervisor. */
    const char *(*apply)(struct supervisor *s, struct instance *primary, const struct str *arg);
    size_t field;
    const char *err; /* for an invalid flag or script; NULL: the field takes any text */
} lines[] = {
    {"myid", 2, PASS_SELF, .apply = supervisorConfigSetMyid},
    {"current-epoch", 2, PASS_SELF, .apply = supervisorConfigSetCurrentEpoch},
    {"announce-ip", 2, PASS_SELF, .apply = supervisorConfigSetAnnounceIp},
    {"announce-port", 2, PASS_SELF, .apply = supervisorConfigSetAnnouncePort},
    {"deny-scripts-reconfig", 2, PASS_SELF,
     .field = offsetof(struct supervisor, settings.deny_scripts_reconfig),
     .err = "Please specify yes or no for the deny-scripts-reconfig options."},
    {"resolve-hostnames", 2, PASS_SELF, .field = offsetof(struct supervisor, settings.resolve_hostnames),
     .err = "Please specify yes or no for the resolve-hostnames option."},
    {"announce-hostnames", 2, PASS_SELF, .field = offsetof(struct supervisor, settings.announce_hostnames),
     .err = "Please specify yes or no for the announce-hostnames option."},
    {"sentinel-user", 2, PASS_SELF, .field = offsetof(struct supervisor, settings.sentinel_user)},
    {"sentinel-pass", 2, PASS_SELF, .field = offsetof(struct supervisor, settings.sentinel_pass)},
    {"monitor", 5, PASS_MONITOR, .apply = supervisorConfigAddPrimary},
    {"down-after-milliseconds", 3, PASS_REST, .apply = supervisorConfigSetDownAfter},
    {"failover-timeout", 3, PASS_REST, .apply = supervisorConfigSetFailoverTimeout},
    {"parallel-syncs", 3, PASS_REST, .apply = supervisorConfigSetParallelSyncs},
    {"unclean-failover", 3, PASS_REST, .apply = supervisorConfigSetUnclean},
    {"notification-script", 3, PASS_REST, .field = offsetof(struct instance, p.notification_script),
     .err = "Notification script seems non existing or non executable."},
    {"client-reconfig-script", 3, PASS_REST, .field = offsetof(struct instance, p.reconfig_script),
     .err = "Client reconfiguration script seems non existing or non executable."},
    {"auth-pass", 3, PASS_REST, .field = offsetof(struct instance, p.auth_pass)},
    {"auth-user", 3, PASS_REST, .field = offsetof(struct instance, p.auth_user)},
    {"primary-reboot-down-after-period", 3, PASS_REST, .apply = supervisorConfigSetRebootPeriod},
    {"master-reboot-down-after-period", 3, PASS_REST, .apply = supervisorConfigSetRebootPeriod},
    {"config-epoch", 3, PASS_REST, .apply = supervisorConfigSetConfigEpoch},
    {"leader-epoch", 3, PASS_REST, .apply = supervisorConfigSetLeaderEpoch},
    {"known-replica", 4, PASS_REST, .apply = supervisorConfigAddReplica},
    {"known-slave", 4, PASS_REST, .apply = supervisorConfigAddReplica},
    {"known-sentinel", 5, PASS_REST, .apply = supervisorConfigAddSentinel},
    {"known-sentinel", 4, PASS_REST, .apply = supervisorConfigIgnoreSentinel},
    {"rename-command", 4, PASS_REST, .apply = supervisorConfigAddRename},
};
#define LINES (sizeof lines / sizeof *lines)

enum configPass supervisorConfigPass(struct str word) {
    for (size_t n = 0; n < LINES; n++)
        if (strIs(word, lines[n].word)) return lines[n].pass;
    return PASS_REST;
}

static const char *supervisorConfigSetField(const struct line *line, void *field, struct str value) {
    if (line->err)
        return line->pass == PASS_SELF ? supervisorConfigSetYesNo(field, value, line->err)
                                       : supervisorConfigSetScript(field, value, line->err);
    supervisorConfigSetText(field, value);
    return NULL;
}

const char *supervisorConfigLine(struct supervisor *s, int argc, const struct str *argv) {
    const struct line *line = NULL;
    for (size_t n = 0; n < LINES && argc; n++)
        if (strIs(argv[0], lines[n].word) && argc == lines[n].words) line = &lines[n];
    if (!line) return "Unrecognized sentinel configuration statement.";
    for (int n = 0; n < argc; n++) /* texts of this file end at a NUL */
        if (argv[n].len && memchr(argv[n].ptr, '\0', argv[n].len))
            return "Unrecognized sentinel configuration statement.";
    struct instance *primary = NULL;
    if (line->pass == PASS_REST) {
        sds name = sdsnewstr(argv[1]);
        primary = supervisorFindPrimary(s, name);
        sdsfree(name);
        if (!primary) return "No such master with specified name.";
    }
    if (line->apply) return line->apply(s, primary, argv + 1);
    char *owner = primary ? (char *)primary : (char *)s;
    return supervisorConfigSetField(line, owner + line->field, argv[argc - 1]);
}

/* ---- Writing ---- */

static sds supervisorConfigAppendQuoted(sds text, const char *before, const char *value) {
    if (!value) return text;
    text = sdscat(text, before);
    text = sdscatrepr(text, value, sdslen(value));
    return sdscat(text, "\n");
}

/* Appends "HOST PORT", with the form of the host that is not empty. Peers announce it. */
static sds supervisorConfigAppendAddress(sds text, const struct supervisor *s,
                                         const struct hostAddress *address) {
    const char *host = hostAddressText(s, address);
    text = sdscatword(text, strOf(*host ? host : address->name));
    return sdscatprintf(text, " %d", address->port);
}

static sds supervisorConfigAppendYesNo(sds text, const char *word, bool value, bool default_value,
                                       bool (*present)(void *priv, struct str word), void *priv) {
    if (value == default_value && !present(priv, strOf(word))) return text;
    return sdscatprintf(text, "%s %s\n", word, value ? "yes" : "no");
}

static sds supervisorConfigAppendSettings(sds text, const struct instance *primary, const char *name) {
    const struct primaryState *p = &primary->p;
    const struct {
        const char *word;
        int64_t value, default_value;
    } numbers[] = {{"down-after-milliseconds", primary->down_after_ms, DOWN_AFTER_MS},
                   {"failover-timeout", p->failover_timeout_ms, FAILOVER_TIMEOUT_MS},
                   {"parallel-syncs", p->parallel_syncs, 1}};
    const struct {
        const char *word;
        sds value;
    } texts[] = {{"notification-script", p->notification_script},
                 {"client-reconfig-script", p->reconfig_script},
                 {"auth-pass", p->auth_pass},
                 {"auth-user", p->auth_user}};
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        if (numbers[n].value != numbers[n].default_value)
            text = sdscatprintf(text, "%s %s %lld\n", numbers[n].word, name, (long long)numbers[n].value);
    for (size_t n = 0; n < sizeof texts / sizeof *texts; n++) {
        if (!texts[n].value) continue;
        text = sdscatprintf(text, "%s %s ", texts[n].word, name);
        text = supervisorConfigAppendQuoted(text, "", texts[n].value);
    }
    if (p->reboot_down_after_ms)
        text = sdscatprintf(text, "primary-reboot-down-after-period %s %lld\n", name,
                            (long long)p->reboot_down_after_ms);
    if (p->unclean_failover) text = sdscatprintf(text, "unclean-failover %s yes\n", name);
    return sdscatprintf(text, "config-epoch %s %llu\nleader-epoch %s %llu\n", name,
                        (unsigned long long)primary->config_epoch, name, (unsigned long long)p->leader_epoch);
}

/* Returns the address to be written for replica n. After a promotion the primary and the promoted replica are
 * written with their places exchanged, so that the next process finds them right if this one ends now. */
static const struct hostAddress *supervisorConfigReplicaAddress(const struct instance *primary, int n) {
    const struct hostAddress *address = &primary->p.replicas.items[n]->address;
    return hostAddressIsSame(address, supervisorCurrentAddress(primary)) ? &primary->address : address;
}

/* Returns whether an earlier replica has the same address. Names that resolve to one IP are one line, because
 * two would be refused. */
static bool supervisorConfigIsRepeated(const struct instance *primary, int n) {
    for (int k = 0; k < n; k++)
        if (hostAddressIsSame(supervisorConfigReplicaAddress(primary, k),
                              supervisorConfigReplicaAddress(primary, n)))
            return true;
    return false;
}

static sds supervisorConfigAppendReplicas(sds text, const struct supervisor *s,
                                          const struct instance *primary, const char *name) {
    for (int n = 0; n < primary->p.replicas.count; n++) {
        if (supervisorConfigIsRepeated(primary, n)) continue;
        const struct hostAddress *address = supervisorConfigReplicaAddress(primary, n);
        text = sdscatprintf(text, "known-replica %s ", name);
        text = sdscat(supervisorConfigAppendAddress(text, s, address), "\n");
    }
    return text;
}

static sds supervisorConfigAppendSentinels(sds text, const struct supervisor *s,
                                           const struct instance *primary, const char *name) {
    for (int n = 0; n < primary->p.sentinels.count; n++) {
        const struct instance *i = primary->p.sentinels.items[n];
        text = sdscatprintf(text, "known-sentinel %s ", name);
        text = sdscatprintf(supervisorConfigAppendAddress(text, s, &i->address), " \"%s\"\n", i->run_id);
    }
    return text;
}

static sds supervisorConfigAppendRenames(sds text, const struct instance *primary, const char *name) {
    for (int n = 0; n < primary->p.renamed_count; n++) {
        const struct renamedCommand *renamed = &primary->p.renamed[n];
        text = sdscatprintf(text, "rename-command %s ", name);
        text = sdscatrepr(text, renamed->from, sdslen(renamed->from));
        text = supervisorConfigAppendQuoted(text, " ", renamed->to);
    }
    return text;
}

static sds supervisorConfigAppendPrimary(sds text, const struct supervisor *s,
                                         const struct instance *primary) {
    const struct hostAddress *current = supervisorCurrentAddress(primary);
    sds name = sdscatword(sdsempty(), strOf(primary->name));
    text = supervisorConfigAppendAddress(sdscatprintf(text, "monitor %s ", name), s, current);
    text = sdscatprintf(text, " %d\n", primary->p.quorum);
    text = supervisorConfigAppendSettings(text, primary, name);
    text = supervisorConfigAppendReplicas(text, s, primary, name);
    text = supervisorConfigAppendSentinels(text, s, primary, name);
    text = supervisorConfigAppendRenames(text, primary, name);
    sdsfree(name);
    return text;
}

sds supervisorConfigLines(const struct supervisor *s, bool (*present)(void *priv, struct str word),
                          void *priv) {
    const struct supervisorSettings *set = &s->settings;
    sds text = sdsempty();
    if (*s->my_id) text = sdscatprintf(text, "myid %s\n", s->my_id);
    text = supervisorConfigAppendYesNo(text, "deny-scripts-reconfig", set->deny_scripts_reconfig, true,
                                       present, priv);
    text =
        supervisorConfigAppendYesNo(text, "resolve-hostnames", set->resolve_hostnames, false, present, priv);
    text = supervisorConfigAppendYesNo(text, "announce-hostnames", set->announce_hostnames, false, present,
                                       priv);
    for (int n = 0; n < s->primaries.count; n++)
        text = supervisorConfigAppendPrimary(text, s, s->primaries.items[n]);
    text = sdscatprintf(text, "current-epoch %llu\n", (unsigned long long)s->current_epoch);
    text = supervisorConfigAppendQuoted(text, "announce-ip ", set->announce_ip);
    if (set->announce_port) text = sdscatprintf(text, "announce-port %d\n", set->announce_port);
    text = supervisorConfigAppendQuoted(text, "sentinel-user ", set->sentinel_user);
    return supervisorConfigAppendQuoted(text, "sentinel-pass ", set->sentinel_pass);
}
