/* SPDX-License-Identifier: BSD-3-Clause */
/* commandlog.c - see commandlog.h.
 *
 *     logs[type]: newest entry -> ... -> oldest      an entry owns copies of all that it shows
 *
 * An entry is small whatever the command was: only the first arguments are kept, of long arguments only the
 * beginning, and a number says how much is missing. */
#include "command/commandlog.h"

#include <limits.h>

#include "base/num.h"
#include "base/ticks.h"
#include "base/zmalloc.h"
#include "client/client_session.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/redact.h"
#include "commands/cmd_grammar.h"
#include "commands/cmd_server.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/latency.h"

#define ARGS_MAX      32  /* entries kept of a command; the last one may say how many more there were */
#define ARG_BYTES_MAX 128 /* bytes kept of an argument; a text says how many more there were */
#define DEFAULT_COUNT 10
#define ARG_ROOM      (RESP_BIG_ARG + 32) /* upper bound of a request's bytes for an argument that is not big */

struct commandlogEntry {
    struct listNode node;
    int64_t id, time_s, value;
    sds peer, client_name;
    int argc;
    sds argv[];
};

static struct commandlog {
    const char *name;
    int64_t threshold, max_len; /* negative threshold: off */
    int64_t next_id;
    struct list entries;
} logs[COMMANDLOG_TYPES] = {
    [COMMANDLOG_SLOW] = {.name = "slow"},
    [COMMANDLOG_LARGE_REQUEST] = {.name = "large-request"},
    [COMMANDLOG_LARGE_REPLY] = {.name = "large-reply"},
};

struct commandlogLimits commandlog_limits = {UINT64_MAX, INT64_MAX, INT_MAX};

/* ---- Entries ---- */

static sds commandlogKeptArg(struct str arg) {
    if (arg.len <= ARG_BYTES_MAX) return sdsnewstr(arg);
    return sdscatprintf(sdsnewlen(arg.ptr, ARG_BYTES_MAX), "... (%zu more bytes)", arg.len - ARG_BYTES_MAX);
}

static struct commandlogEntry *commandlogEntryCreate(struct client *c, struct client *owner, int64_t value) {
    int kept = c->argc > ARGS_MAX ? ARGS_MAX : c->argc;
    struct commandlogEntry *e = zmalloc(sizeof *e + (size_t)kept * sizeof *e->argv);
    *e = (struct commandlogEntry){.value = value, .time_s = cmd_time_ms / 1000, .argc = kept};
    e->peer = sdsdup(clientPeerName(owner));
    e->client_name = sdsnewstr(clientLabel(owner, CLIENT_NAME));
    for (int i = 0; i < kept; i++) {
        bool rest = i == ARGS_MAX - 1 && c->argc > ARGS_MAX;
        e->argv[i] = rest ? sdscatprintf(sdsempty(), "... (%d more arguments)", c->argc - ARGS_MAX + 1)
                          : commandlogKeptArg(redactedArg(c, i));
    }
    return e;
}

static void commandlogEntryFree(struct commandlogEntry *e) {
    for (int i = 0; i < e->argc; i++) sdsfree(e->argv[i]);
    sdsfree(e->peer);
    sdsfree(e->client_name);
    zfree(e);
}

static void commandlogDropOldest(struct commandlog *log, size_t keep) {
    while (log->entries.length > keep) {
        struct listNode *last = log->entries.head.prev;
        listRemove(&log->entries, last);
        commandlogEntryFree(listEntry(last, struct commandlogEntry, node));
    }
}

static void commandlogAddIfOver(enum commandlogType type, struct client *c, struct client *owner,
                                uint64_t value) {
    struct commandlog *log = &logs[type];
    if (log->threshold < 0 || log->max_len == 0 || value < (uint64_t)log->threshold) return;
    struct commandlogEntry *e = commandlogEntryCreate(c, owner, (int64_t)value);
    e->id = log->next_id++;
    listAddHead(&log->entries, &e->node);
    commandlogDropOldest(log, (size_t)log->max_len);
}

static uint64_t commandlogRequestBytes(const struct client *c) {
    uint64_t bytes = 3 + numCountDigits((uint64_t)c->argc);
    for (int i = 0; i < c->argc; i++) bytes += 5 + numCountDigits(c->argv[i].len) + c->argv[i].len;
    return bytes;
}

/* The size of a request is that of its encoding in the protocol. */
void commandlogRecord(struct client *c, struct client *owner, uint64_t us, uint64_t reply_bytes) {
    if (c->cmd->flags & CMD_SKIP_COMMANDLOG) return;
    commandlogAddIfOver(COMMANDLOG_SLOW, c, owner, us);
    if (c->flags & CLIENT_SCRIPT) return; /* neither request nor reply comes over the network */
    if (commandlog_limits.args != INT_MAX)
        commandlogAddIfOver(COMMANDLOG_LARGE_REQUEST, c, owner, commandlogRequestBytes(c));
    commandlogAddIfOver(COMMANDLOG_LARGE_REPLY, c, owner, reply_bytes);
}

struct commandlogState commandlogState(enum commandlogType type) {
    const struct list *entries = &logs[type].entries;
    struct commandlogState state = {.length = entries->length};
    if (!state.length) return state;
    const struct commandlogEntry *newest = listEntry(entries->head.next, struct commandlogEntry, node);
    state.last_id = newest->id;
    state.last_value = newest->value;
    return state;
}

/* ---- Commands ---- */

static void commandlogReplyEntry(struct client *c, const struct commandlogEntry *e) {
    replyArrayLen(c, 6);
    replyLongLong(c, e->id);
    replyLongLong(c, e->time_s);
    replyLongLong(c, e->value);
    replyArrayLen(c, e->argc);
    for (int i = 0; i < e->argc; i++) replyBulk(c, sdsview(e->argv[i]));
    replyBulk(c, sdsview(e->peer));
    replyBulk(c, sdsview(e->client_name));
}

static void commandlogReplyEntries(struct client *c, struct commandlog *log, struct str arg) {
    int64_t count = DEFAULT_COUNT;
    if (arg.ptr &&
        !argRange(c, arg, -1, INT64_MAX, &count, "ERR count should be greater than or equal to -1"))
        return;
    int64_t length = (int64_t)log->entries.length;
    if (count == -1 || count > length) count = length;
    replyArrayLen(c, count);
    listForEach(&log->entries, it) {
        if (count-- <= 0) break;
        commandlogReplyEntry(c, listEntry(it, struct commandlogEntry, node));
    }
}

static void commandlogReset(struct client *c, struct commandlog *log) {
    commandlogDropOldest(log, 0);
    replyOk(c);
}

static struct commandlog *commandlogLogByName(struct client *c, struct str name) {
    for (int i = 0; i < COMMANDLOG_TYPES; i++) {
        if (strIs(name, logs[i].name)) return &logs[i];
    }
    replyError(c, "ERR type should be one of the following: slow, large-request, large-reply");
    return NULL;
}

void commandlogGetCommand(struct client *c) {
    struct commandlog *log = commandlogLogByName(c, c->argv[3]);
    if (log) commandlogReplyEntries(c, log, c->argv[2]);
}

void commandlogLenCommand(struct client *c) {
    struct commandlog *log = commandlogLogByName(c, c->argv[2]);
    if (log) replyLongLong(c, (int64_t)log->entries.length);
}

void commandlogResetCommand(struct client *c) {
    struct commandlog *log = commandlogLogByName(c, c->argv[2]);
    if (log) commandlogReset(c, log);
}

void commandlogHelpCommand(struct client *c) {
    replyHelp(c, (const char *[]){
                     "GET <count> <type>",
                     "    The newest <count> entries, -1 for all, of one log. <type> is slow,",
                     "    large-request or large-reply. An entry has an id, the time, microseconds or bytes,",
                     "    the command, and the address and the name of the client.",
                     "LEN <type>",
                     "    The number of entries in the log.",
                     "RESET <type>",
                     "    Empty the log.",
                     NULL,
                 });
}

void slowlogGetCommand(struct client *c) {
    if (c->argc > 3)
        replySubcommandError(c);
    else
        commandlogReplyEntries(c, &logs[COMMANDLOG_SLOW], c->argc == 3 ? c->argv[2] : strN(NULL, 0));
}

void slowlogLenCommand(struct client *c) {
    replyLongLong(c, (int64_t)logs[COMMANDLOG_SLOW].entries.length);
}

void slowlogResetCommand(struct client *c) {
    commandlogReset(c, &logs[COMMANDLOG_SLOW]);
}

void slowlogHelpCommand(struct client *c) {
    replyHelp(c, (const char *[]){
                     "GET [<count>]",
                     "    The newest <count> slow commands (default: 10, -1: all): id, time, microseconds,",
                     "    the command, and the address and the name of the client.",
                     "LEN",
                     "    The number of entries in the log.",
                     "RESET",
                     "    Empty the log.",
                     NULL,
                 });
}

/* ---- Directives ---- */

static uint64_t commandlogLimitOf(const struct commandlog *log) {
    return log->threshold < 0 || log->max_len == 0 ? UINT64_MAX : (uint64_t)log->threshold;
}

static uint64_t commandlogTicksOf(uint64_t us) {
    return us > UINT64_MAX / ticks_per_us ? UINT64_MAX : us * ticks_per_us;
}

void commandlogRefreshLimits(void) {
    uint64_t slow = commandlogLimitOf(&logs[COMMANDLOG_SLOW]), spike = latencyThresholdUs();
    commandlog_limits.ticks = commandlogTicksOf(slow < spike ? slow : spike);
    uint64_t reply = commandlogLimitOf(&logs[COMMANDLOG_LARGE_REPLY]);
    commandlog_limits.reply_bytes = reply > INT64_MAX ? INT64_MAX : (int64_t)reply;
    uint64_t args = commandlogLimitOf(&logs[COMMANDLOG_LARGE_REQUEST]) / ARG_ROOM;
    commandlog_limits.args = args > INT_MAX ? INT_MAX : (int)args;
}

static bool commandlogApplyLimits(const char **err) {
    (void)err;
    commandlogRefreshLimits();
    for (int i = 0; i < COMMANDLOG_TYPES; i++) commandlogDropOldest(&logs[i], (size_t)logs[i].max_len);
    return true;
}

#define LIMIT_DIRECTIVE(name, alias, var, value, least)                                                      \
    CONFIG_INT(name, alias, CONFIG_MODIFIABLE, var, value, least, INT64_MAX, commandlogApplyLimits)
#define SIZE_DIRECTIVE(name, var) /* -1: off */                                                              \
    CONFIG_INT(name, NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY, var, 1024 * 1024, -1, INT64_MAX,               \
               commandlogApplyLimits)

void commandlogInit(void) {
    static struct configDirective directives[] = {
        LIMIT_DIRECTIVE("commandlog-execution-slower-than", "slowlog-log-slower-than",
                        &logs[COMMANDLOG_SLOW].threshold, 10000, -1),
        LIMIT_DIRECTIVE("commandlog-slow-execution-max-len", "slowlog-max-len",
                        &logs[COMMANDLOG_SLOW].max_len, 128, 0),
        SIZE_DIRECTIVE("commandlog-request-larger-than", &logs[COMMANDLOG_LARGE_REQUEST].threshold),
        LIMIT_DIRECTIVE("commandlog-large-request-max-len", NULL, &logs[COMMANDLOG_LARGE_REQUEST].max_len,
                        128, 0),
        SIZE_DIRECTIVE("commandlog-reply-larger-than", &logs[COMMANDLOG_LARGE_REPLY].threshold),
        LIMIT_DIRECTIVE("commandlog-large-reply-max-len", NULL, &logs[COMMANDLOG_LARGE_REPLY].max_len, 128,
                        0),
    };
    for (int i = 0; i < COMMANDLOG_TYPES; i++) listInit(&logs[i].entries);
    configRegister(directives, sizeof directives / sizeof *directives);
}
