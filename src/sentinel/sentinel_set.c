/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_set.c - subcommands that set how a primary is watched (SENTINEL SET), the Sentinel itself
 * (CONFIG), or its time limits (DEBUG); see sentinel_commands.h.
 *
 * SET and DEBUG apply what precedes an error; CONFIG SET applies all or nothing. */
#include <limits.h>
#include <unistd.h>

#include "base/glob.h"
#include "base/log.h"
#include "base/num.h"
#include "client/reply.h"
#include "registry/config.h"
#include "sentinel/sentinel_commands.h"
#include "sentinel/supervisor_private.h"

#define MAX_MS (INT64_MAX / 1024) /* sums and small multiples of times stay in range */

static bool sentinelSetNumberIn(struct str text, int64_t min, int64_t max, int64_t *out) {
    return string2ll(text, out) && *out >= min && *out <= max;
}

/* An empty value sets NULL. */
static void sentinelSetText(sds *text, struct str value) {
    sdsfree(*text);
    *text = value.len ? sdsnewstr(value) : NULL;
}

/* ---- SET ---- */

/* Applies the value. Returns NULL, an error, or "" if the value is not valid for this option. */
typedef const char *optionSetter(struct instance *primary, const struct str *value);
#define NOT_VALID ""

static const char *sentinelSetTime(int64_t *ms, int64_t min, struct str value) {
    int64_t v;
    if (!sentinelSetNumberIn(value, min, MAX_MS, &v)) return NOT_VALID;
    *ms = v;
    return NULL;
}

static const char *sentinelSetCount(int *count, struct str value) {
    int64_t v;
    if (!sentinelSetNumberIn(value, 1, INT_MAX, &v)) return NOT_VALID;
    *count = (int)v;
    return NULL;
}

static const char *sentinelSetDownAfter(struct instance *primary, const struct str *value) {
    const char *err = sentinelSetTime(&primary->down_after_ms, 1, *value);
    if (!err) supervisorSpreadDownAfter(primary);
    return err;
}

static const char *sentinelSetFailoverTimeout(struct instance *primary, const struct str *value) {
    return sentinelSetTime(&primary->p.failover_timeout_ms, 1, *value);
}

static const char *sentinelSetRebootPeriod(struct instance *primary, const struct str *value) {
    return sentinelSetTime(&primary->p.reboot_down_after_ms, 0, *value);
}

static const char *sentinelSetParallelSyncs(struct instance *primary, const struct str *value) {
    return sentinelSetCount(&primary->p.parallel_syncs, *value);
}

static const char *sentinelSetQuorum(struct instance *primary, const struct str *value) {
    return sentinelSetCount(&primary->p.quorum, *value);
}

static const char *sentinelSetUnclean(struct instance *primary, const struct str *value) {
    bool yes = strIs(*value, "yes");
    if (!yes && !strIs(*value, "no")) return NOT_VALID;
    primary->p.unclean_failover = yes;
    return NULL;
}

static const char *sentinelSetScript(sds *script, struct str path, const char *not_executable) {
    if (sentinel.settings.deny_scripts_reconfig)
        return "ERR Reconfiguration of scripts path is denied for security reasons. Check the "
               "deny-scripts-reconfig configuration directive in your Sentinel configuration";
    sds text = sdsnewstr(path);
    bool good = path.len == 0 || access(text, X_OK) == 0;
    sdsfree(text);
    if (!good) return not_executable;
    sentinelSetText(script, path);
    return NULL;
}

static const char *sentinelSetNotificationScript(struct instance *primary, const struct str *value) {
    return sentinelSetScript(&primary->p.notification_script, *value,
                             "ERR Notification script seems non existing or non executable");
}

static const char *sentinelSetReconfigScript(struct instance *primary, const struct str *value) {
    return sentinelSetScript(&primary->p.reconfig_script, *value,
                             "ERR Client reconfiguration script seems non existing or non executable");
}

static const char *sentinelSetAuthPass(struct instance *primary, const struct str *value) {
    sentinelSetText(&primary->p.auth_pass, *value);
    supervisorDropLinks(&sentinel, primary);
    return NULL;
}

static const char *sentinelSetAuthUser(struct instance *primary, const struct str *value) {
    sentinelSetText(&primary->p.auth_user, *value);
    supervisorDropLinks(&sentinel, primary);
    return NULL;
}

static void sentinelSetDropRename(struct primaryState *p, struct str from) {
    for (int i = 0; i < p->renamed_count; i++) {
        if (!strIs(from, p->renamed[i].from)) continue;
        sdsfree(p->renamed[i].from);
        sdsfree(p->renamed[i].to);
        p->renamed[i] = p->renamed[--p->renamed_count];
        return;
    }
}

/* A command renamed to its own name loses its rename. */
static const char *sentinelSetRename(struct instance *primary, const struct str *value) {
    struct primaryState *p = &primary->p;
    struct str from = value[0], to = value[1];
    if (from.len == 0 || to.len == 0) return NOT_VALID;
    sds old = sdsnewstr(from);
    sentinelSetDropRename(p, from);
    if (strIs(to, old)) {
        sdsfree(old);
        return NULL;
    }
    size_t size = (size_t)(p->renamed_count + 1) * sizeof *p->renamed;
    p->renamed = zrealloc(p->renamed, size);
    p->renamed[p->renamed_count++] = (struct renamedCommand){old, sdsnewstr(to)};
    return NULL;
}

static const struct setOption {
    const char *name;
    int values;
    optionSetter *set;
    bool secret;
} set_options[] = {
    {"down-after-milliseconds", 1, sentinelSetDownAfter, false},
    {"failover-timeout", 1, sentinelSetFailoverTimeout, false},
    {"parallel-syncs", 1, sentinelSetParallelSyncs, false},
    {"quorum", 1, sentinelSetQuorum, false},
    {"unclean-failover", 1, sentinelSetUnclean, false},
    {"notification-script", 1, sentinelSetNotificationScript, false},
    {"client-reconfig-script", 1, sentinelSetReconfigScript, false},
    {"auth-pass", 1, sentinelSetAuthPass, true},
    {"auth-user", 1, sentinelSetAuthUser, false},
    {"rename-command", 2, sentinelSetRename, false},
    {"primary-reboot-down-after-period", 1, sentinelSetRebootPeriod, false},
    {"master-reboot-down-after-period", 1, sentinelSetRebootPeriod, false},
};

static const struct setOption *sentinelSetFindOption(struct str name) {
    for (size_t i = 0; i < sizeof set_options / sizeof *set_options; i++) {
        if (strIs(name, set_options[i].name)) return &set_options[i];
    }
    return NULL;
}

static void sentinelSetPublishChange(const struct instance *primary, const struct setOption *o,
                                     const struct str *words) {
    sds tail = sdscatprintf(sdsempty(), " %.*s", (int)words[0].len, words[0].ptr);
    for (int v = 1; v <= o->values; v++) {
        tail = sdscat(tail, " ");
        tail = o->secret ? sdscat(tail, "******") : sdscatstr(tail, words[v]);
    }
    supervisorEvent(&sentinel, EVENT_WARNING, "+set", primary, "%s", tail);
    sdsfree(tail);
}

/* Applies one option, whose name and values begin at argument i. Returns false after an error reply. */
static bool sentinelSetOne(struct client *c, struct instance *primary, int i,
                           const struct setOption **applied) {
    struct str name = c->argv[i];
    const struct setOption *o = sentinelSetFindOption(name);
    if (!o || i + o->values >= c->argc)
        return replyErrorFmt(c, "ERR Unknown option or number of arguments for SENTINEL SET '%.*s'",
                             (int)name.len, name.ptr);
    const struct str *values = &c->argv[i + 1];
    const char *err = o->set(primary, values);
    if (!err) {
        sentinelSetPublishChange(primary, o, &c->argv[i]);
        *applied = o;
        return true;
    }
    if (*err) return replyError(c, err);
    struct str refused = values[values[0].len ? o->values - 1 : 0]; /* of two values, the empty one */
    return replyErrorFmt(c, "ERR Invalid argument '%.*s' for SENTINEL SET '%.*s'", (int)refused.len,
                         refused.ptr, (int)name.len, name.ptr);
}

void sentinelSetCommand(struct client *c) {
    struct instance *primary = sentinelParsePrimaryArg(c, c->argv[2]);
    if (!primary || sentinelRefuseControls(c, 3, "SENTINEL SET")) return;
    const struct setOption *applied = NULL;
    int i = 3;
    while (i < c->argc && sentinelSetOne(c, primary, i, &applied)) i += 1 + applied->values;
    if (i < c->argc) { /* an error has been replied; the options before it stay */
        if (applied) supervisorSave(&sentinel);
        return;
    }
    if (sentinelSaveOrReply(c)) replyOk(c);
}

/* ---- CONFIG ---- */

/* One of the pointers is the value. None: the log level, a directive of the server. */
static const struct parameter {
    const char *name;
    bool *flag;
    sds *text;
    int *port;
    bool peers; /* connections to other Sentinels depend on it */
} parameters[] = {
    {"resolve-hostnames", .flag = &sentinel.settings.resolve_hostnames},
    {"announce-hostnames", .flag = &sentinel.settings.announce_hostnames},
    {"announce-ip", .text = &sentinel.settings.announce_ip},
    {"announce-port", .port = &sentinel.settings.announce_port},
    {"sentinel-user", .text = &sentinel.settings.sentinel_user, .peers = true},
    {"sentinel-pass", .text = &sentinel.settings.sentinel_pass, .peers = true},
    {.name = "loglevel"},
};
#define PARAMETERS ((int)(sizeof parameters / sizeof *parameters))

static int sentinelSetFindParameter(struct str name) { /* the index; -1: unknown */
    for (int i = 0; i < PARAMETERS; i++) {
        if (strIs(name, parameters[i].name)) return i;
    }
    return -1;
}

/* Returns the word as the directive has it, in lower case. */
static const char *sentinelSetLogLevelWord(struct str value) {
    const struct configEnum *level = configFind(STR("loglevel"))->names;
    while (level->name && !strIs(value, level->name)) level++;
    return level->name;
}

static bool sentinelSetIsValueValid(const struct parameter *p, struct str value) {
    int64_t port;
    if (p->flag) return strIs(value, "yes") || strIs(value, "no");
    if (p->port) return sentinelSetNumberIn(value, 0, UINT16_MAX, &port);
    return p->text || sentinelSetLogLevelWord(value);
}

static void sentinelSetApplyParameter(const struct parameter *p, struct str value) {
    int64_t port;
    const char *err;
    if (p->flag)
        *p->flag = strIs(value, "yes");
    else if (p->text)
        sentinelSetText(p->text, value);
    else if (p->port && string2ll(value, &port))
        *p->port = (int)port;
    else
        configSet("loglevel", strOf(sentinelSetLogLevelWord(value)), &err);
}

static sds sentinelSetFormatParameter(const struct parameter *p) {
    if (p->flag) return sdsnew(*p->flag ? "yes" : "no");
    if (p->text) return *p->text ? sdsdup(*p->text) : sdsempty();
    if (p->port) return sdsfromll(*p->port);
    return configGet("loglevel");
}

/* Checks the pair at argument i. Returns false after an error reply. */
static bool sentinelSetCheckPair(struct client *c, int i, bool named[PARAMETERS]) {
    struct str name = c->argv[i];
    int at = sentinelSetFindParameter(name);
    if (at < 0 || named[at])
        return replyErrorFmt(c, "ERR %s argument '%.*s' to SENTINEL CONFIG SET",
                             at < 0 ? "Invalid" : "Duplicate", (int)name.len, name.ptr);
    if (i + 1 == c->argc)
        return replyErrorFmt(c, "ERR Missing argument '%.*s' value", (int)name.len, name.ptr);
    struct str value = c->argv[i + 1];
    if (!sentinelSetIsValueValid(&parameters[at], value))
        return replyErrorFmt(c, "ERR Invalid value '%.*s' to SENTINEL CONFIG SET '%.*s'", (int)value.len,
                             value.ptr, (int)name.len, name.ptr);
    named[at] = true;
    return true;
}

static void sentinelSetConfigSet(struct client *c) {
    bool named[PARAMETERS] = {false}, peers = false;
    if (sentinelRefuseControls(c, 3, "SENTINEL CONFIG SET")) return;
    for (int i = 3; i < c->argc; i += 2) {
        if (!sentinelSetCheckPair(c, i, named)) return;
    }
    for (int i = 3; i < c->argc; i += 2) {
        const struct parameter *p = &parameters[sentinelSetFindParameter(c->argv[i])];
        sentinelSetApplyParameter(p, c->argv[i + 1]);
        peers |= p->peers;
    }
    if (peers) supervisorDropSentinelLinks(&sentinel);
    if (sentinelSaveOrReply(c)) replyOk(c);
}

static void sentinelSetShowParameter(struct client *c, const struct parameter *p) {
    sds text = sentinelSetFormatParameter(p);
    replyBulkCstr(c, p->name);
    replyBulk(c, sdsview(text));
    sdsfree(text);
}

/* Shows parameters in the order of the patterns, each once. */
static void sentinelSetConfigGet(struct client *c) {
    struct replyMark map = replyDeferLen(c);
    bool shown[PARAMETERS] = {false};
    int count = 0;
    for (int i = 3; i < c->argc; i++) {
        for (int p = 0; p < PARAMETERS; p++) {
            if (shown[p] || !globMatch(c->argv[i], strOf(parameters[p].name), true)) continue;
            sentinelSetShowParameter(c, &parameters[p]);
            shown[p] = true;
            count++;
        }
    }
    replySetMapLen(c, map, count);
}

void sentinelConfigCommand(struct client *c) {
    if (strIs(c->argv[2], "get"))
        sentinelSetConfigGet(c);
    else if (strIs(c->argv[2], "set") && c->argc > 4)
        sentinelSetConfigSet(c);
    else
        replyError(c, "ERR Only SENTINEL CONFIG GET <param> [<param> <param> ...] / SET <param> <value> "
                      "[<param> <value> ...] are supported.");
}

/* ---- DEBUG ---- */

static const struct {
    const char *name;
    int64_t *ms;
} timers[] = {
    {"INFO-PERIOD", &sentinel.timers.info_period},
    {"PING-PERIOD", &sentinel.timers.ping_period},
    {"ASK-PERIOD", &sentinel.timers.ask_period},
    {"PUBLISH-PERIOD", &sentinel.timers.publish_period},
    {"DEFAULT-DOWN-AFTER", &sentinel.timers.default_down_after},
    {"DEFAULT-FAILOVER-TIMEOUT", &sentinel.timers.default_failover_timeout},
    {"TILT-TRIGGER", &sentinel.timers.tilt_trigger},
    {"TILT-PERIOD", &sentinel.timers.tilt_period},
    {"SLAVE-RECONF-TIMEOUT", &sentinel.timers.replica_reconf_timeout},
    {"MIN-LINK-RECONNECT-PERIOD", &sentinel.timers.min_link_reconnect_period},
    {"ELECTION-TIMEOUT", &sentinel.timers.election_timeout},
    {"SCRIPT-MAX-RUNTIME", &sentinel.timers.script_max_runtime},
    {"SCRIPT-RETRY-DELAY", &sentinel.timers.script_retry_delay},
};
#define TIMERS ((int)(sizeof timers / sizeof *timers))

static bool sentinelSetTimer(struct client *c, int i) { /* false: an error has been replied */
    struct str name = c->argv[i];
    int t = 0;
    while (t < TIMERS && !strIs(name, timers[t].name)) t++;
    if (t == TIMERS || i + 1 == c->argc)
        return replyErrorFmt(c, "ERR Unknown option or number of arguments for SENTINEL DEBUG '%.*s'",
                             (int)name.len, name.ptr);
    struct str value = c->argv[i + 1];
    if (sentinelSetTime(timers[t].ms, 1, value) == NULL) return true;
    return replyErrorFmt(c, "ERR Invalid argument '%.*s' for SENTINEL DEBUG '%.*s'", (int)value.len,
                         value.ptr, (int)name.len, name.ptr);
}

void sentinelDebugCommand(struct client *c) {
    if (c->argc == 2) {
        replyMapLen(c, TIMERS);
        for (int t = 0; t < TIMERS; t++) {
            replyBulkCstr(c, timers[t].name);
            replyBulkLongLong(c, *timers[t].ms);
        }
        return;
    }
    for (int i = 2; i < c->argc; i += 2) {
        if (!sentinelSetTimer(c, i)) return;
    }
    replyOk(c);
}

/* ---- Secrets ---- */

bool sentinelSetIsSecret(const struct str *argv, int argc, int i) {
    (void)argc;
    const struct setOption *o = i > 3 ? sentinelSetFindOption(argv[i - 1]) : NULL;
    return o && o->secret;
}

bool sentinelConfigIsSecret(const struct str *argv, int argc, int i) {
    (void)argc;
    return i > 3 && strIs(argv[2], "set") && strIs(argv[i - 1], "sentinel-pass");
}
