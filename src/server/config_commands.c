/* SPDX-License-Identifier: BSD-3-Clause */
/* config_commands.c - CONFIG, on top of the registry of directives (registry/config.h):
 * permissions and replies.
 *
 * It belongs to src/server because it is about the process: its file, its start, what local
 * connections may do. */
#include "server/config_commands.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/client_log.h"
#include "client/reply.h"
#include "command/loading.h"
#include "command/permit.h"
#include "commands/cmd_server.h"
#include "registry/config.h"
#include "registry/server_events.h"

static int enable_protected_configs;

/* ---- CONFIG GET ---- */

struct configFound {
    struct str name; /* as the client wrote it */
    const struct configDirective *directive;
};

struct configFoundList {
    struct configFound *found;
    size_t count, capacity;
};

static void configAddFound(void *priv, struct str name, const struct configDirective *d) {
    struct configFoundList *list = priv;
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 16;
        list->found = zrealloc(list->found, list->capacity * sizeof *list->found);
    }
    list->found[list->count++] = (struct configFound){name, d};
}

static int configCompareFound(const void *a, const void *b) {
    return strCmp(((const struct configFound *)a)->name, ((const struct configFound *)b)->name);
}

/* Finds what the patterns of a CONFIG command match, sorted by name. The caller frees list->found. */
static void configFindAll(struct client *c, configFoundFn *add, struct configFoundList *list) {
    configMatch(c->argv + 2, c->argc - 2, add, list);
    if (list->count) qsort(list->found, list->count, sizeof *list->found, configCompareFound);
}

void configGetCommand(struct client *c) {
    struct configFoundList list = {0};
    configFindAll(c, configAddFound, &list);
    replyMapLen(c, (int64_t)list.count);
    for (size_t i = 0; i < list.count; i++) {
        replyBulk(c, list.found[i].name);
        sds text = configText(list.found[i].directive);
        replyBulk(c, sdsview(text));
        sdsfree(text);
    }
    zfree(list.found);
}

/* ---- CONFIG INFO ---- */

static const char *const config_types[] = {
    [CONFIG_TYPE_BOOL] = "bool", [CONFIG_TYPE_INT] = "numeric",     [CONFIG_TYPE_STRING] = "string",
    [CONFIG_TYPE_ENUM] = "enum", [CONFIG_TYPE_SPECIAL] = "special",
};

enum { FLAG_IMMUTABLE = 1u << 30, FLAG_ALIAS = 1u << 29 }; /* beside CONFIG_... */
static const struct {
    unsigned flag;
    const char *name;
} config_flags[] = {
    {FLAG_IMMUTABLE, "immutable"},        {CONFIG_SENSITIVE, "sensitive"}, {CONFIG_DEBUG, "debug"},
    {CONFIG_MULTI_ARG, "multi-arg"},      {CONFIG_HIDDEN, "hidden"},       {CONFIG_PROTECTED, "protected"},
    {CONFIG_NOT_LOADING, "deny-loading"}, {FLAG_ALIAS, "alias"},           {CONFIG_MODULE, "module"},
    {CONFIG_VOLATILE, "volatile"},
};
#define CONFIG_FLAGS (sizeof config_flags / sizeof *config_flags)

static void configReplyFlags(struct client *c, unsigned flags) {
    int64_t n = 0;
    for (size_t i = 0; i < CONFIG_FLAGS; i++) n += (flags & config_flags[i].flag) != 0;
    replyArrayLen(c, n);
    for (size_t i = 0; i < CONFIG_FLAGS; i++) {
        if (flags & config_flags[i].flag) replyBulkCstr(c, config_flags[i].name);
    }
}

static void configReplyLimit(struct client *c, const struct configDirective *kind, int64_t limit) {
    char text[LONG_STR_SIZE];
    size_t len = kind->flags & CONFIG_UNSIGNED ? ull2string(text, (uint64_t)limit) : ll2string(text, limit);
    replyBulk(c, strN(text, len));
}

static void configReplyValues(struct client *c, const struct configDirective *kind) {
    int64_t n = 0;
    while (kind->names[n].name) n++;
    replyBulkCstr(c, "values");
    replyArrayLen(c, n);
    for (int64_t i = 0; i < n; i++) replyBulkCstr(c, kind->names[i].name);
}

static void configReplyRange(struct client *c, const struct configDirective *kind) {
    replyBulkCstr(c, "range");
    replyArrayLen(c, 2);
    configReplyLimit(c, kind, kind->min);
    configReplyLimit(c, kind, kind->max);
}

/* Replies about a directive under one of its two names. */
static void configReplyInfo(struct client *c, const struct configDirective *d, const char *name) {
    const struct configDirective *kind = d->like ? d->like : d;
    bool has_values = kind->type == CONFIG_TYPE_ENUM, has_range = kind->type == CONFIG_TYPE_INT;
    unsigned flags = d->flags | (kind->flags & CONFIG_MULTI_ARG);
    if (!(d->flags & CONFIG_MODIFIABLE)) flags |= FLAG_IMMUTABLE;
    if (name == d->alias) flags |= FLAG_ALIAS;
    replyMapLen(c, 3 + (d->alias != NULL) + has_values + has_range);
    replyBulkCstr(c, "name");
    replyBulkCstr(c, name);
    replyBulkCstr(c, "type");
    replyBulkCstr(c, config_types[kind->type]);
    replyBulkCstr(c, "flags");
    configReplyFlags(c, flags);
    if (d->alias) {
        replyBulkCstr(c, "alias");
        replyBulkCstr(c, name == d->alias ? d->name : d->alias);
    }
    if (has_values) configReplyValues(c, kind);
    if (has_range) configReplyRange(c, kind);
}

/* Returns the registered name for one that may be written otherwise. */
static const char *configRegisteredName(const struct configDirective *d, struct str name) {
    return strIs(name, d->name) ? d->name : d->alias;
}

static void configAddRegistered(void *priv, struct str name, const struct configDirective *d) {
    configAddFound(priv, strOf(configRegisteredName(d, name)), d);
}

void configInfoCommand(struct client *c) {
    struct configFoundList list = {0};
    configFindAll(c, configAddRegistered, &list);
    replyArrayLen(c, (int64_t)list.count);
    for (size_t i = 0; i < list.count; i++)
        configReplyInfo(c, list.found[i].directive, list.found[i].name.ptr);
    zfree(list.found);
}

/* ---- CONFIG SET ---- */

static void configReplySetFailed(struct client *c, struct str name, const char *err) {
    replyErrorFmt(c, "ERR CONFIG SET failed (possibly related to argument '%.*s')%s%s", (int)name.len,
                  name.ptr, err ? " - " : "", err ? err : "");
}

/* Logs a similar name. The reply cannot have it, because clients know its exact text. */
static void configLogSuggestion(struct str name) {
    const char *suggestion = configSuggest(name, true);
    if (suggestion)
        serverLog(LL_NOTICE, "CONFIG SET of a directive that there is not: did you mean '%s'?", suggestion);
}

/* Checks pair i of the request. Returns false after replying an error if it may not be set. An alias is not
 * the same name: with both, the second one wins. */
static bool configCheckChange(struct client *c, struct configPair *pairs, int i) {
    struct str name = c->argv[2 + 2 * i];
    pairs[i] = (struct configPair){.name = name, .value = c->argv[3 + 2 * i]};
    const struct configDirective *d = configFind(name);
    if (!d || d->flags & CONFIG_LINES) {
        configLogSuggestion(name);
        return replyErrorFmt(c, "ERR Unknown option or number of arguments for CONFIG SET - '%.*s'",
                             (int)name.len, name.ptr);
    }
    if (d->flags & CONFIG_NOT_LOADING && loadingActive()) {
        loadingReply(c);
        return false;
    }
    const char *err = NULL;
    if (!(d->flags & CONFIG_MODIFIABLE))
        err = "can't set immutable config";
    else if ((d->flags & CONFIG_PROTECTED) && !permitAllows(enable_protected_configs, c))
        err = "can't set protected config";
    for (int j = 0; j < i; j++) {
        if (!err && strEqNoCase(pairs[j].name, name)) err = "duplicate parameter";
    }
    if (err) configReplySetFailed(c, name, err);
    return err == NULL;
}

static void configPublishChanges(const struct configPair *pairs, int count) {
    if (!serverEventWanted(SERVER_CONFIG)) return;
    const char **names = zmalloc((size_t)count * sizeof *names);
    for (int i = 0; i < count; i++) names[i] = configRegisteredName(configFind(pairs[i].name), pairs[i].name);
    serverEvent(SERVER_CONFIG, 0, &(struct eventConfig){names, count});
    zfree(names);
}

/* ---- Logging changes ---- */

#define VALUE_LOGGED_MAX 256

static sds configCatValue(sds line, const struct configDirective *d, sds value) {
    if (d->flags & CONFIG_SENSITIVE) return sdscat(line, "(redacted)");
    size_t len = sdslen(value), shown = len < VALUE_LOGGED_MAX ? len : VALUE_LOGGED_MAX;
    line = sdscatrepr(line, value, shown);
    return shown < len ? sdscat(line, "...") : line;
}

static void configLogChange(struct client *c, const struct configDirective *d, sds old) {
    sds now = configText(d);
    if (!strEq(sdsview(old), sdsview(now))) {
        sds line = configCatValue(sdscatprintf(sdsempty(), "CONFIG SET %s: ", d->name), d, old);
        line = configCatValue(sdscat(line, " -> "), d, now);
        clientLogChange(c, sdsview(line));
        sdsfree(line);
    }
    sdsfree(now);
}

/* Makes the changes and logs those that changed a value. */
static bool configChangeLogged(struct client *c, const struct configPair *pairs, int count,
                               const char **failed, const char **err) {
    sds *old = zmalloc((size_t)count * sizeof *old);
    for (int i = 0; i < count; i++) old[i] = configText(configFind(pairs[i].name));
    bool ok = configChange(pairs, count, failed, err);
    for (int i = 0; i < count; i++) {
        if (ok) configLogChange(c, configFind(pairs[i].name), old[i]);
        sdsfree(old[i]);
    }
    zfree(old);
    return ok;
}

void configSetCommand(struct client *c) {
    if (c->argc % 2) {
        replySyntaxError(c);
        return;
    }
    int count = (c->argc - 2) / 2, taken = 0;
    struct configPair *pairs = zmalloc((size_t)count * sizeof *pairs);
    while (taken < count && configCheckChange(c, pairs, taken)) taken++;
    const char *err = NULL, *failed;
    if (taken == count) {
        if (configChangeLogged(c, pairs, count, &failed, &err)) {
            configPublishChanges(pairs, count);
            replyOk(c);
        } else {
            configReplySetFailed(c, strOf(failed), err);
        }
    }
    zfree(pairs);
}

/* Tells which arguments of CONFIG SET name value ... are passwords or the like. */
bool configSetIsSecret(const struct str *argv, int argc, int i) {
    (void)argc;
    const struct configDirective *d = i % 2 ? configFind(argv[i - 1]) : NULL;
    return d && d->flags & CONFIG_SENSITIVE;
}

/* ---- Other subcommands ---- */

void configResetstatCommand(struct client *c) {
    configResetStats();
    replyOk(c);
}

void configRewriteCommand(struct client *c) {
    if (!*configFilePath()) {
        replyError(c, "ERR The server is running without a config file");
        return;
    }
    if (configRewrite(false)) {
        serverLog(LL_NOTICE, "CONFIG REWRITE has written the configuration file");
        replyOk(c);
        return;
    }
    int reason = errno;
    serverLog(LL_WARNING, "CONFIG REWRITE could not write the configuration file: %s", strerror(reason));
    replyErrorFmt(c, "ERR Rewriting config file: %s", strerror(reason));
}

void configHelpCommand(struct client *c) {
    static const char *lines[] = {
        "GET <pattern> [<pattern> ...]",
        "    Directives that match the patterns, with their values.",
        "INFO <pattern> [<pattern> ...]",
        "    What the directives that match the patterns are: type, flags, allowed values.",
        "SET <directive> <value> [<directive> <value> ...]",
        "    Change directives, all of them or none.",
        "RESETSTAT",
        "    Set the counters that INFO shows to zero.",
        "REWRITE",
        "    Write the values in use to the configuration file.",
        NULL,
    };
    replyHelp(c, lines);
}

void configCommandsInit(void) {
    static struct configDirective directives[] = {
        CONFIG_ENUM("enable-protected-configs", NULL, 0, &enable_protected_configs, PERMIT_NO, permit_names,
                    NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
