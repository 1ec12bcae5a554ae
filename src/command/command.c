/* command.c - registry and call path; see command.h. */
#include "command/command.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/ticks.h"
#include "base/zmalloc.h"
#include "commands/transactions.h"
#include "commands/grammar.h"
#include "command/blocking.h"
#include "acl/client_auth.h"
#include "command/commandlog.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "data/db.h"
#include "command/declared_keys.h"
#include "registry/info.h"
#include "command/latency_histogram.h"
#include "registry/latency.h"
#include "command/monitor.h"
#include "command/multi.h"
#include "command/pause.h"
#include "command/propagate.h"
#include "client/client_session.h"
#include "client/reply.h"
#include "command/tracking.h"

#define FILTERS_MAX      16
#define HTTP_WARNING_MS  60000 /* the log is told of an attack once in so long */
#define UNKNOWN_ARGS_MAX 128   /* bytes of arguments quoted in the error about an unknown command */
/* us: after a command this long the clock of the next one is read anew. */
#define SLOW_ENOUGH_TO_TICK 500

struct hashtable commands;
struct callStats callstats;

/* All that have been added, and those that are asked, in the same order; the list ends with NULL. */
static struct {
    commandFilter *fn;
    bool idle;
} all_filters[FILTERS_MAX];
static commandFilter *filters[FILTERS_MAX + 1], *script_filters[FILTERS_MAX], *protected_filter;
static int filter_count, script_filter_count, next_id;

/* ---- Registry ---- */

/* Subcommands are found by their own name, top-level commands by theirs. */
static struct str commandKey(const void *entry) {
    return strOf(((const struct serverCommand *)entry)->called);
}
static uint64_t nameHash(struct str name) {
    return hashBytesNoCase(name.ptr, name.len);
}
static bool nameEqual(struct str a, struct str b) {
    return a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0;
}
static const struct hashtableType commands_type = {
    .entryKey = commandKey, .hash = nameHash, .keyEqual = nameEqual};

/* The (first, last, step) triple that COMMAND shows: from the specs that are plain index ranges and follow
 * each other without a gap. */
static void legacyKeyTriple(struct serverCommand *cmd) {
    const struct commandSpec *spec = cmd->spec;
    for (int i = 0; i < spec->key_spec_count; i++) {
        const struct keySpec *k = &spec->key_specs[i];
        bool plain = k->begin == KEYS_BEGIN_INDEX && k->find == KEYS_FIND_RANGE;
        if (!plain || k->flags & KEY_INCOMPLETE) cmd->flags |= CMD_MOVABLE_KEYS;
        if (!plain) continue;
        int last = k->lastkey >= 0 ? k->pos + k->lastkey : k->lastkey;
        if (!cmd->first_key) {
            cmd->first_key = k->pos;
            cmd->last_key = last;
            cmd->key_step = k->step;
        } else if (cmd->last_key >= 0 && k->pos == cmd->last_key + 1) {
            cmd->last_key = last;
        }
    }
}

static struct keyRef onlyKey(const struct commandSpec *spec) {
    const struct keySpec *k = spec->key_specs;
    bool fixed = spec->key_spec_count == 1 && k->begin == KEYS_BEGIN_INDEX && k->find == KEYS_FIND_RANGE &&
                 k->lastkey == 0 && !(k->flags & KEY_NOT_KEY) &&
                 (!spec->getkeys || k->flags & KEY_VARIABLE_FLAGS);
    return fixed ? (struct keyRef){.pos = k->pos, .flags = k->flags} : (struct keyRef){0};
}

static uint64_t impliedCategories(const struct commandSpec *spec) {
    uint64_t acl = spec->acl, flags = spec->flags;
    if (flags & CMD_WRITE) acl |= ACL_WRITE;
    if (flags & CMD_READONLY && !(acl & ACL_SCRIPTING)) acl |= ACL_READ;
    if (flags & CMD_ADMIN) acl |= ACL_ADMIN | ACL_DANGEROUS;
    if (flags & CMD_PUBSUB) acl |= ACL_PUBSUB;
    if (flags & CMD_BLOCKING) acl |= ACL_BLOCKING;
    acl |= flags & CMD_FAST ? ACL_FAST : 0;
    return acl & ACL_FAST ? acl : acl | ACL_SLOW;
}

static struct serverCommand *createCommand(const struct commandSpec *spec, struct serverCommand *parent) {
    struct serverCommand *cmd = zcalloc(1, sizeof *cmd);
    cmd->spec = spec;
    cmd->called = spec->name;
    cmd->parent = parent;
    cmd->id = next_id++;
    cmd->fullname =
        parent ? sdscatprintf(sdsempty(), "%s|%s", parent->fullname, spec->name) : sdsnew(spec->name);
    cmd->flags = spec->flags;
    cmd->acl = impliedCategories(spec);
    legacyKeyTriple(cmd);
    cmd->only_key = onlyKey(spec);
    if (!spec->subcommands) return cmd;
    cmd->subcommands = hashtableCreate(&commands_type);
    for (const struct commandSpec *s = spec->subcommands; s->name; s++) {
        bool added = hashtableAdd(cmd->subcommands, createCommand(s, cmd));
        serverAssert(added);
    }
    return cmd;
}

void commandRegister(const struct commandSpec *specs) {
    for (const struct commandSpec *s = specs; s->name; s++) {
        bool added = hashtableAdd(&commands, createCommand(s, NULL));
        serverAssert(added);
    }
}

struct serverCommand *commandLookup(const struct str *argv, int argc) {
    struct serverCommand *cmd = argc ? hashtableFind(&commands, argv[0]) : NULL;
    if (!cmd || !cmd->subcommands || argc < 2) return cmd;
    return hashtableFind(cmd->subcommands, argv[1]);
}

static struct serverCommand *findCalled(struct str name) {
    return hashtableFind(&commands, name);
}

static struct serverCommand *lookupName(struct str fullname, struct serverCommand *(*find)(struct str name)) {
    const char *bar = memchr(fullname.ptr, '|', fullname.len);
    if (!bar) return find(fullname);
    size_t n = (size_t)(bar - fullname.ptr);
    struct serverCommand *cmd = find(strN(fullname.ptr, n));
    if (!cmd || !cmd->subcommands) return NULL;
    return hashtableFind(cmd->subcommands, strN(bar + 1, fullname.len - n - 1));
}

struct serverCommand *commandLookupName(struct str fullname) {
    return lookupName(fullname, findCalled);
}

/* ---- Renaming ---- */

static struct serverCommand **renamed; /* those whose name is not their spec's; they are few */
static size_t renamed_count;

static struct serverCommand *findOriginal(struct str name) {
    for (size_t i = 0; i < renamed_count; i++) {
        if (strIs(name, renamed[i]->spec->name)) return renamed[i];
    }
    struct serverCommand *cmd = findCalled(name);
    return cmd && cmd->called == cmd->spec->name ? cmd : NULL;
}

struct serverCommand *commandLookupOriginal(struct str fullname) {
    return lookupName(fullname, findOriginal);
}

bool commandRename(struct str name, struct str to, const char **err) {
    struct serverCommand *cmd = findCalled(name);
    if (!cmd) {
        *err = "No such command in rename-command";
        return false;
    }
    if (to.len && findCalled(to)) {
        *err = "Target command name already exists";
        return false;
    }
    hashtablePop(&commands, name);
    if (cmd->called == cmd->spec->name) {
        renamed = zrealloc(renamed, (renamed_count + 1) * sizeof *renamed);
        renamed[renamed_count++] = cmd;
    }
    cmd->called = sdsnewstr(to); /* a name replaced twice is kept: the file is read once */
    if (to.len) hashtableAdd(&commands, cmd);
    return true;
}

static bool setRename(const struct configDirective *d, int argc, const struct str *argv, const char **err) {
    (void)d;
    *err = "Bad directive or wrong number of arguments";
    return argc == 2 && commandRename(argv[0], argv[1], err);
}

static sds getRenames(const struct configDirective *d) {
    (void)d;
    sds s = sdsempty();
    for (size_t i = 0; i < renamed_count; i++) {
        s = sdscatprintf(s, "%s%s ", i ? "\n" : "", renamed[i]->spec->name);
        s = sdscatrepr(s, renamed[i]->called, strlen(renamed[i]->called));
    }
    return s;
}

int commandCount(void) {
    return (int)hashtableSize(&commands);
}

static void forEachIn(struct hashtable *table, void (*fn)(void *priv, struct serverCommand *cmd),
                      void *priv) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, table, false);
    while (hashtableNext(&it, &entry)) commandAndSubcommands(entry, fn, priv);
    hashtableStopIterator(&it);
}

void commandAndSubcommands(struct serverCommand *cmd, void (*fn)(void *priv, struct serverCommand *cmd),
                           void *priv) {
    fn(priv, cmd);
    if (cmd->subcommands) forEachIn(cmd->subcommands, fn, priv);
}

void commandForEach(void (*fn)(void *priv, struct serverCommand *cmd), void *priv) {
    forEachIn(&commands, fn, priv);
}

static void resetOne(void *priv, struct serverCommand *cmd) {
    (void)priv;
    cmd->calls = cmd->ticks = cmd->rejected = cmd->failed = 0;
}

void commandResetStats(void) {
    commandForEach(resetOne, NULL);
    callstats = (struct callStats){0};
}

/* ---- Call path ---- */

static void listFilters(void) {
    int n = 0;
    for (int i = 0; i < filter_count; i++) {
        if (!all_filters[i].idle) filters[n++] = all_filters[i].fn;
    }
    filters[n] = NULL;
}

void commandAddFilter(commandFilter *fn) {
    serverAssert(filter_count < FILTERS_MAX);
    all_filters[filter_count++].fn = fn;
    listFilters();
}

void commandFilterIdle(commandFilter *fn, bool idle) {
    int i = 0;
    while (i < filter_count && all_filters[i].fn != fn) i++;
    serverAssert(i < filter_count);
    all_filters[i].idle = idle;
    listFilters();
}

void commandAddProtectedFilter(commandFilter *fn) {
    serverAssert(!protected_filter);
    protected_filter = fn;
}

void commandAddScriptFilter(commandFilter *fn) {
    serverAssert(script_filter_count < FILTERS_MAX);
    script_filters[script_filter_count++] = fn;
}

bool commandScriptAllowed(struct client *c, struct serverCommand *cmd) {
    for (int i = 0; i < script_filter_count; i++) {
        if (!script_filters[i](c, cmd)) return false;
    }
    return true;
}

/* An argument is quoted up to its first NUL. */
static size_t quotedLen(struct str arg, size_t max) {
    return strnlen(arg.ptr, arg.len < max ? arg.len : max);
}

void commandReplyUnknown(struct client *c) {
    struct serverCommand *container = findCalled(c->argv[0]);
    if (container) {
        sds name = sdsnew(container->called);
        sdstoupper(name);
        int len = (int)quotedLen(c->argv[1], UNKNOWN_ARGS_MAX);
        replyErrorFmt(c, "ERR unknown subcommand '%.*s'. Try %s HELP.", len, c->argv[1].ptr, name);
        sdsfree(name);
        return;
    }
    sds args = sdsempty();
    for (int i = 1; i < c->argc && sdslen(args) < UNKNOWN_ARGS_MAX; i++) {
        size_t n = quotedLen(c->argv[i], UNKNOWN_ARGS_MAX - sdslen(args));
        args = sdscatlen(args, "'", 1);
        args = sdscatlen(args, c->argv[i].ptr, n);
        args = sdscatlen(args, "' ", 2);
    }
    sds name = sdsnewlen(c->argv[0].ptr, quotedLen(c->argv[0], UNKNOWN_ARGS_MAX));
    sds msg = sdsnew("ERR unknown command '");
    msg = sdscatstr(msg, sdsview(name));
    msg = sdscat(msg, "', with args beginning with: ");
    msg = sdscatstr(msg, sdsview(args));
    replyErrorStr(c, sdsview(msg));
    sdsfree(msg);
    sdsfree(name);
    sdsfree(args);
}

/* It was slow, or large: for the command log and the latency monitor. */
static void noteUnusual(struct client *c, uint64_t ticks, int64_t reply_bytes) {
    uint64_t us = ticks / ticks_per_us;
    latencyAddSampleIfNeeded(c->cmd->flags & CMD_FAST ? "fast-command" : "command", (int64_t)(us / 1000));
    commandlogNote(c, us, reply_bytes < 0 ? 0 : (uint64_t)reply_bytes);
}

/* Only requests of many arguments, or with big ones, can be large: the exact size is reckoned for those
 * alone. */
static inline bool mayBeUnusual(const struct client *c, uint64_t ticks, int64_t reply_bytes) {
    return ticks >= call_limits.ticks || reply_bytes >= call_limits.reply_bytes || c->big_args ||
           c->argc >= call_limits.args;
}

/* Of a command that has come to its end. */
static inline void countCall(struct client *c, struct serverCommand *cmd, uint64_t ticks) {
    cmd->calls++;
    callstats.processed++;
    c->commands++;
    latencyRecord(&cmd->latency, ticks);
}

/* A command that waits has not come to its end: what it took so far counts when it has. */
static void countBlocked(struct client *c, uint64_t ticks, int64_t reply_bytes) {
    ticks = blockingAddTicks(c, ticks);
    if (c->flags & CLIENT_BLOCKED) return;
    countCall(c, c->cmd, ticks);
    noteUnusual(c, ticks, reply_bytes);
}

void commandCountUnblocked(struct client *c, uint64_t ticks, bool rejected) {
    if (rejected)
        c->cmd->rejected++;
    else if (c->flags & CLIENT_ERROR)
        c->cmd->failed++;
    countCall(c, c->cmd, ticks);
    noteUnusual(c, ticks, 0);
}

static inline void countStats(struct client *c, struct serverCommand *cmd, uint64_t ticks,
                              int64_t reply_bytes) {
    cmd->ticks += ticks;
    if (c->flags & CLIENT_ERROR) cmd->failed++;
    if (__builtin_expect(c->blocked != NULL, 0)) {
        countBlocked(c, ticks, reply_bytes);
    } else if (__builtin_expect(!(c->flags & CLIENT_BLOCKED), 1)) {
        countCall(c, cmd, ticks);
        if (__builtin_expect(mayBeUnusual(c, ticks, reply_bytes), 0)) noteUnusual(c, ticks, reply_bytes);
    }
}

void commandCall(struct client *c, int flags) {
    struct serverCommand *cmd = c->cmd;
    if (__builtin_expect(monitors, 0) && c->conn) monitorFeedScript(c);
    size_t output = c->out.bytes; /* of which nothing is sent while it runs, but in nested rounds */
    uint64_t dirty = dbstats.dirty, start = ticksNow();
    c->flags &= ~(uint32_t)CLIENT_ERROR;
    propagateBegin();
    struct declaredKeys declared;
    declaredKeysBegin(&declared, c);
    cmd->spec->proc(c);
    declaredKeysEnd(&declared);
    uint64_t ticks = ticksNow() - start;
    if (!(c->flags & (CLIENT_SCRIPT | CLIENT_IN_EXEC))) callstats.ticks += ticks;
    if (flags & CALL_STATS) countStats(c, cmd, ticks, (int64_t)(c->out.bytes - output));
    if (__builtin_expect(monitors, 0) && (c->conn || c->flags & CLIENT_SCRIPT)) monitorFeed(c);
    if (flags & CALL_PROPAGATE) propagateAfterCommand(c, dbstats.dirty != dirty);
    propagateEnd();
    if (__builtin_expect(tracking_clients, 0)) trackingAfterCall(c);
    if (ticks > SLOW_ENOUGH_TO_TICK * ticks_per_us && !(c->flags & CLIENT_SCRIPT)) clockRefresh();
}

static bool refused(struct client *c, struct serverCommand *cmd) {
    if (!commandArityOk(cmd, c->argc)) {
        if (!authMissing(c))
            replyErrorFmt(c, "ERR wrong number of arguments for '%s' command", cmd->fullname);
        return true;
    }
    if (c->flags & CLIENT_MULTI && cmd->flags & CMD_NO_MULTI) {
        replyErrorFmt(c, "ERR Command '%s' not allowed inside a transaction", cmd->fullname);
        return true;
    }
    for (commandFilter **filter = filters; *filter; filter++) {
        if (!(*filter)(c, cmd)) return true;
    }
    return cmd->flags & CMD_PROTECTED && protected_filter && !protected_filter(c, cmd);
}

/* A browser can be tricked into posting a page here, with commands in it: the headers before them end it. */
static bool refusedAsHttp(struct client *c) {
    static int64_t told_ms;
    if (!c->conn || (!strIs(c->argv[0], "post") && !strIs(c->argv[0], "host:"))) return false;
    if (cmd_time_ms - told_ms >= HTTP_WARNING_MS) {
        serverLog(
            LL_WARNING,
            "Possible SECURITY ATTACK detected. It looks like somebody is sending POST or Host: commands "
            "to Valkey. This is likely due to an attacker attempting to use Cross Protocol Scripting to "
            "compromise your Valkey instance. Connection from %s aborted.",
            clientPeerName(c));
        told_ms = cmd_time_ms;
    }
    clientClose(c);
    return true;
}

void commandProcess(struct client *c) {
    /* CLIENT REPLY SKIP is about the next command only. */
    c->flags &= ~(uint32_t)CLIENT_REPLY_SKIP;
    if (c->flags & CLIENT_REPLY_SKIP_NEXT) {
        c->flags = (c->flags & ~(uint32_t)CLIENT_REPLY_SKIP_NEXT) | CLIENT_REPLY_SKIP;
    }
    c->lastcmd = c->cmd;
    if (!c->cmd) {
        if (!refusedAsHttp(c) && !authMissing(c)) commandReplyUnknown(c);
        multiRefused(c);
        return;
    }
    if (__builtin_expect(c->cmd->spec->proc == execCommand, 0)) reply_error_lead = err_exec_refused;
    bool no = refused(c, c->cmd);
    reply_error_lead = NULL;
    if (no) {
        c->cmd->rejected++;
        multiRefused(c);
        return;
    }
    if (__builtin_expect(pause_level, 0) && pausePostpones(c)) {
        if (c->flags & CLIENT_REPLY_SKIP) c->flags |= CLIENT_REPLY_SKIP_NEXT;
        return;
    }
    if (c->flags & CLIENT_MULTI && multiQueue(c)) return;
    commandCall(c, CALL_FULL);
}

static sds callInfo(sds s) {
    s = infoField(s, "total_commands_processed:%llu", (unsigned long long)callstats.processed);
    s = infoField(s, "unexpected_error_replies:%llu", (unsigned long long)callstats.unexpected_errors);
    return infoField(s, "total_error_replies:%llu", (unsigned long long)errorStatsTotal());
}

static void resetErrors(void) {
    errorStatsReset();
}

void commandCoreInit(void) {
    static struct configDirective directives[] = {
        CONFIG_SPECIAL("rename-command", NULL, CONFIG_MULTI_ARG | CONFIG_LINES | CONFIG_KEEP_LINES, setRename,
                       getRenames, NULL),
    };
    hashtableInit(&commands, &commands_type);
    configRegister(directives, 1);
    infoRegister("stats", callInfo);
    configOnResetStat(commandResetStats);
    configOnResetStat(resetErrors);
}
