/* SPDX-License-Identifier: BSD-3-Clause */
/* command_docs.c - COMMAND: descriptions of commands for clients.
 *
 * Everything comes from the tables of src/commands/ through the registry. An answer is a tree: a command is a
 * row of ten fields (INFO) or a map (DOCS), and either contains its subcommands in the same form, so the
 * writers below are recursive. Sets of flags are written from tables of names by one writer. */
#include <string.h>

#include "base/assert.h"
#include "base/glob.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "commands/cmd_grammar.h"
#include "commands/cmd_server.h"

/* Flags that clients see; others are internal. */
static const struct flagName command_flags[] = {
    {CMD_WRITE, "write"},
    {CMD_READONLY, "readonly"},
    {CMD_DENYOOM, "denyoom"},
    {CMD_MODULE, "module"},
    {CMD_ADMIN, "admin"},
    {CMD_PUBSUB, "pubsub"},
    {CMD_NOSCRIPT, "noscript"},
    {CMD_BLOCKING, "blocking"},
    {CMD_LOADING, "loading"},
    {CMD_STALE, "stale"},
    {CMD_SKIP_MONITOR, "skip_monitor"},
    {CMD_SKIP_COMMANDLOG, "skip_commandlog"},
    {CMD_ASKING, "asking"},
    {CMD_FAST, "fast"},
    {CMD_NO_AUTH, "no_auth"},
    {CMD_NO_ASYNC_LOADING, "no_async_loading"},
    {CMD_NO_MULTI, "no_multi"},
    {CMD_NO_MANDATORY_KEYS, "no_mandatory_keys"},
    {CMD_ALLOW_BUSY, "allow_busy"},
    {CMD_MOVABLE_KEYS, "movablekeys"},
    {0, NULL},
};

struct flagName acl_categories[64 + 1] = {
    {ACL_KEYSPACE, "@keyspace"},
    {ACL_READ, "@read"},
    {ACL_WRITE, "@write"},
    {ACL_SET, "@set"},
    {ACL_SORTEDSET, "@sortedset"},
    {ACL_LIST, "@list"},
    {ACL_HASH, "@hash"},
    {ACL_STRING, "@string"},
    {ACL_BITMAP, "@bitmap"},
    {ACL_HYPERLOGLOG, "@hyperloglog"},
    {ACL_GEO, "@geo"},
    {ACL_STREAM, "@stream"},
    {ACL_PUBSUB, "@pubsub"},
    {ACL_ADMIN, "@admin"},
    {ACL_FAST, "@fast"},
    {ACL_SLOW, "@slow"},
    {ACL_BLOCKING, "@blocking"},
    {ACL_DANGEROUS, "@dangerous"},
    {ACL_CONNECTION, "@connection"},
    {ACL_TRANSACTION, "@transaction"},
    {ACL_SCRIPTING, "@scripting"},
    {ACL_PATHHASH, "@pathhash"},
    {0, NULL},
};

static int commandDocsCategoryCount(void) {
    int n = 0;
    while (acl_categories[n].name) n++;
    return n;
}

bool aclCategoryAdd(struct str name, bool *exists) {
    int n = commandDocsCategoryCount();
    *exists = false;
    for (int i = 0; i < n; i++) *exists |= strIs(name, acl_categories[i].name + 1);
    if (*exists || n == 64) return false;
    acl_categories[n] = (struct flagName){1ull << n, sdscatstr(sdsnew("@"), name)};
    return true;
}

void aclCategoriesDrop(int count) {
    int n = commandDocsCategoryCount();
    for (; count > 0; count--) {
        serverAssert(n > ACL_BUILT_IN);
        sdsfree((sds)acl_categories[--n].name);
        acl_categories[n] = (struct flagName){0, NULL};
    }
}

static const struct flagName key_flags[] = {
    {KEY_RO, "RO"},
    {KEY_RW, "RW"},
    {KEY_OW, "OW"},
    {KEY_RM, "RM"},
    {KEY_ACCESS, "access"},
    {KEY_UPDATE, "update"},
    {KEY_INSERT, "insert"},
    {KEY_DELETE, "delete"},
    {KEY_NOT_KEY, "not_key"},
    {KEY_INCOMPLETE, "incomplete"},
    {KEY_VARIABLE_FLAGS, "variable_flags"},
    {0, NULL},
};

static const struct flagName doc_flags[] = {
    {CMD_DOC_DEPRECATED, "deprecated"},
    {CMD_DOC_SYSCMD, "syscmd"},
    {0, NULL},
};

static const struct flagName arg_flags[] = {
    {ARG_OPTIONAL, "optional"},
    {ARG_MULTIPLE, "multiple"},
    {ARG_MULTIPLE_TOKEN, "multiple_token"},
    {0, NULL},
};

static const char *const arg_types[] = {
    [ARG_STRING] = "string", [ARG_INTEGER] = "integer",       [ARG_DOUBLE] = "double",
    [ARG_KEY] = "key",       [ARG_PATTERN] = "pattern",       [ARG_UNIX_TIME] = "unix-time",
    [ARG_ONEOF] = "oneof",   [ARG_PURE_TOKEN] = "pure-token", [ARG_BLOCK] = "block",
};

static void commandDocsReplyFlags(struct client *c, uint64_t flags, const struct flagName *names) {
    int n = 0;
    for (const struct flagName *f = names; f->name; f++) n += (flags & f->flag) != 0;
    replySetLen(c, n);
    for (const struct flagName *f = names; f->name; f++) {
        if (flags & f->flag) replyStatus(c, f->name);
    }
}

/* Replies one field of a map, or nothing when there is no value. Returns how many fields were written. */
static int commandDocsReplyField(struct client *c, const char *name, const char *value) {
    if (!value) return 0;
    replyBulkCstr(c, name);
    replyBulkCstr(c, value);
    return 1;
}

static void commandDocsReplyIntField(struct client *c, const char *name, int value) {
    replyBulkCstr(c, name);
    replyLongLong(c, value);
}

/* ---- Key specs ---- */

/* Replies one of the two steps of a spec: {type: ..., spec: {...}}. */
static void commandDocsReplySpecStep(struct client *c, const char *step, const char *type, int fields) {
    replyBulkCstr(c, step);
    replyMapLen(c, 2);
    commandDocsReplyField(c, "type", type);
    replyBulkCstr(c, "spec");
    replyMapLen(c, fields);
}

static void commandDocsReplyKeySpec(struct client *c, const struct keySpec *spec) {
    replyMapLen(c, spec->notes ? 4 : 3);
    commandDocsReplyField(c, "notes", spec->notes);
    replyBulkCstr(c, "flags");
    commandDocsReplyFlags(c, spec->flags, key_flags);

    if (spec->begin == KEYS_BEGIN_INDEX) {
        commandDocsReplySpecStep(c, "begin_search", "index", 1);
        commandDocsReplyIntField(c, "index", spec->pos);
    } else if (spec->begin == KEYS_BEGIN_KEYWORD) {
        commandDocsReplySpecStep(c, "begin_search", "keyword", 2);
        commandDocsReplyField(c, "keyword", spec->keyword);
        commandDocsReplyIntField(c, "startfrom", spec->pos);
    } else {
        commandDocsReplySpecStep(c, "begin_search", "unknown", 0);
    }

    if (spec->find == KEYS_FIND_RANGE) {
        commandDocsReplySpecStep(c, "find_keys", "range", 3);
        commandDocsReplyIntField(c, "lastkey", spec->lastkey);
        commandDocsReplyIntField(c, "keystep", spec->step);
        commandDocsReplyIntField(c, "limit", spec->limit);
    } else if (spec->find == KEYS_FIND_KEYNUM) {
        commandDocsReplySpecStep(c, "find_keys", "keynum", 3);
        commandDocsReplyIntField(c, "keynumidx", spec->keynumidx);
        commandDocsReplyIntField(c, "firstkey", spec->firstkey);
        commandDocsReplyIntField(c, "keystep", spec->keynum_step);
    } else {
        commandDocsReplySpecStep(c, "find_keys", "unknown", 0);
    }
}

/* ---- INFO: rows ---- */

static void commandDocsReplyTips(struct client *c, const char *const *tips) {
    int n = 0;
    while (tips && tips[n]) n++;
    replySetLen(c, n);
    for (int i = 0; i < n; i++) replyBulkCstr(c, tips[i]);
}

static void commandDocsReplyCommandRow(struct client *c, const struct serverCommand *cmd) {
    if (!cmd) {
        replyNull(c);
        return;
    }
    replyArrayLen(c, 10);
    replyBulk(c, sdsview(cmd->fullname));
    replyLongLong(c, cmd->spec->arity);
    commandDocsReplyFlags(c, cmd->flags, command_flags);
    replyLongLong(c, cmd->first_key);
    replyLongLong(c, cmd->last_key);
    replyLongLong(c, cmd->key_step);
    commandDocsReplyFlags(c, cmd->acl, acl_categories);
    commandDocsReplyTips(c, cmd->spec->tips);
    replySetLen(c, cmd->spec->key_spec_count);
    for (int i = 0; i < cmd->spec->key_spec_count; i++) commandDocsReplyKeySpec(c, &cmd->spec->key_specs[i]);

    replyArrayLen(c, cmd->subcommands ? (int64_t)hashtableSize(cmd->subcommands) : 0);
    if (!cmd->subcommands) return;
    struct hashtableIterator it;
    hashtableInitIterator(&it, cmd->subcommands, false);
    void *sub;
    while (hashtableNext(&it, &sub)) commandDocsReplyCommandRow(c, sub);
    hashtableStopIterator(&it);
}

static void commandDocsReplyAllRows(struct client *c) {
    replyArrayLen(c, commandCount());
    struct hashtableIterator it;
    hashtableInitIterator(&it, &commands, false);
    void *cmd;
    while (hashtableNext(&it, &cmd)) commandDocsReplyCommandRow(c, cmd);
    hashtableStopIterator(&it);
}

/* ---- DOCS: maps ---- */

static void commandDocsReplyArgDocs(struct client *c, const struct commandArg *args) {
    int n = 0;
    while (args[n].name) n++;
    replyArrayLen(c, n);
    for (const struct commandArg *arg = args; arg->name; arg++) {
        struct replyMark mark = replyDeferLen(c);
        int64_t fields = commandDocsReplyField(c, "name", arg->name);
        fields += commandDocsReplyField(c, "type", arg_types[arg->type]);
        if (arg->type != ARG_ONEOF && arg->type != ARG_BLOCK)
            fields += commandDocsReplyField(c, "display_text", arg->display ? arg->display : arg->name);
        if (arg->key_spec) {
            commandDocsReplyIntField(c, "key_spec_index", arg->key_spec - 1);
            fields++;
        }
        fields += commandDocsReplyField(c, "token", arg->token);
        fields += commandDocsReplyField(c, "summary", arg->summary);
        fields += commandDocsReplyField(c, "since", arg->since);
        fields += commandDocsReplyField(c, "deprecated_since", arg->deprecated_since);
        if (arg->flags) {
            replyBulkCstr(c, "flags");
            commandDocsReplyFlags(c, arg->flags, arg_flags);
            fields++;
        }
        if (arg->args) {
            replyBulkCstr(c, "arguments");
            commandDocsReplyArgDocs(c, arg->args);
            fields++;
        }
        replySetMapLen(c, mark, fields);
    }
}

static int commandDocsReplyHistory(struct client *c, const struct commandChange *history) {
    if (!history) return 0;
    int n = 0;
    while (history[n].since) n++;
    replyBulkCstr(c, "history");
    replySetLen(c, n);
    for (int i = 0; i < n; i++) {
        replyArrayLen(c, 2);
        replyBulkCstr(c, history[i].since);
        replyBulkCstr(c, history[i].what);
    }
    return 1;
}

static void commandDocsReplyCommandDocs(struct client *c, const struct serverCommand *cmd) {
    const struct commandSpec *spec = cmd->spec;
    replyBulk(c, sdsview(cmd->fullname));
    struct replyMark mark = replyDeferLen(c);
    int64_t fields = commandDocsReplyField(c, "summary", spec->summary);
    fields += commandDocsReplyField(c, "since", spec->since);
    fields += commandDocsReplyField(c, "group", spec->group);
    fields += commandDocsReplyField(c, "complexity", spec->complexity);
    fields += commandDocsReplyField(c, "module", spec->module);
    if (spec->doc_flags) {
        replyBulkCstr(c, "doc_flags");
        commandDocsReplyFlags(c, spec->doc_flags, doc_flags);
        fields++;
    }
    fields += commandDocsReplyField(c, "deprecated_since", spec->deprecated_since);
    fields += commandDocsReplyField(c, "replaced_by", spec->replaced_by);
    fields += commandDocsReplyHistory(c, spec->history);
    if (spec->args) {
        replyBulkCstr(c, "arguments");
        commandDocsReplyArgDocs(c, spec->args);
        fields++;
    }
    if (cmd->subcommands) {
        replyBulkCstr(c, "subcommands");
        replyMapLen(c, (int64_t)hashtableSize(cmd->subcommands));
        struct hashtableIterator it;
        hashtableInitIterator(&it, cmd->subcommands, false);
        void *sub;
        while (hashtableNext(&it, &sub)) commandDocsReplyCommandDocs(c, sub);
        hashtableStopIterator(&it);
        fields++;
    }
    replySetMapLen(c, mark, fields);
}

/* ---- LIST: names ---- */

enum listFilter { LIST_ALL, LIST_MODULE, LIST_CATEGORY, LIST_PATTERN };

static uint64_t commandDocsAclCategory(struct str name) {
    for (const struct flagName *f = acl_categories; f->name; f++) {
        if (strIs(name, f->name + 1)) return f->flag;
    }
    return 0;
}

/* Replies the names in a table and in the tables of its subcommands. Returns how many. */
static int64_t commandDocsReplyNames(struct client *c, struct hashtable *table, enum listFilter filter,
                                     struct str by) {
    uint64_t category = filter == LIST_CATEGORY ? commandDocsAclCategory(by) : 0;
    int64_t n = 0;
    struct hashtableIterator it;
    hashtableInitIterator(&it, table, false);
    void *entry;
    while (hashtableNext(&it, &entry)) {
        struct serverCommand *cmd = entry;
        struct str name = sdsview(cmd->fullname);
        bool wanted = filter == LIST_ALL ||
                      (filter == LIST_MODULE && cmd->spec->module && strIs(by, cmd->spec->module)) ||
                      (filter == LIST_CATEGORY && (cmd->acl & category)) ||
                      (filter == LIST_PATTERN && globMatch(by, name, true));
        if (wanted) {
            replyBulk(c, name);
            n++;
        }
        if (cmd->subcommands) n += commandDocsReplyNames(c, cmd->subcommands, filter, by);
    }
    hashtableStopIterator(&it);
    return n;
}

/* ---- GETKEYS ---- */

static bool commandDocsTakesKeys(const struct commandSpec *spec) {
    for (int i = 0; i < spec->key_spec_count; i++) {
        if (!(spec->key_specs[i].flags & KEY_NOT_KEY)) return true;
    }
    return spec->getkeys != NULL;
}

static void commandDocsReplyKeysOfCommand(struct client *c, bool with_flags) {
    const struct str *argv = c->argv + 2;
    int argc = c->argc - 2;
    const struct serverCommand *cmd = commandLookup(argv, argc);
    if (!cmd) {
        replyError(c, "ERR Invalid command specified");
        return;
    }
    if (!commandDocsTakesKeys(cmd->spec)) {
        replyError(c, "ERR The command has no key arguments");
        return;
    }
    if (!commandArityOk(cmd, argc)) {
        replyError(c, "ERR Invalid number of arguments specified for command");
        return;
    }
    struct keyRef *keys;
    int count = commandGetKeyRefs(cmd, argv, argc, &keys);
    if (count <= 0 && !(cmd->flags & CMD_NO_MANDATORY_KEYS)) {
        replyError(c, "ERR Invalid arguments specified for command");
        return;
    }
    replyArrayLen(c, count < 0 ? 0 : count);
    for (int i = 0; i < count; i++) {
        if (with_flags) replyArrayLen(c, 2);
        replyBulk(c, argv[keys[i].pos]);
        if (with_flags) commandDocsReplyFlags(c, keys[i].flags, key_flags);
    }
    zfree(keys);
}

/* ---- Handlers ---- */

void commandCommand(struct client *c) {
    commandDocsReplyAllRows(c);
}

void commandCountCommand(struct client *c) {
    replyLongLong(c, commandCount());
}

void commandInfoCommand(struct client *c) {
    if (c->argc == 2) {
        commandDocsReplyAllRows(c);
        return;
    }
    replyArrayLen(c, c->argc - 2);
    for (int i = 2; i < c->argc; i++) commandDocsReplyCommandRow(c, commandLookupName(c->argv[i]));
}

void commandDocsCommand(struct client *c) {
    struct replyMark mark = replyDeferLen(c);
    int64_t n = 0;
    for (int i = 2; i < c->argc; i++) {
        const struct serverCommand *cmd = commandLookupName(c->argv[i]);
        if (!cmd) continue;
        commandDocsReplyCommandDocs(c, cmd);
        n++;
    }
    if (c->argc == 2) {
        struct hashtableIterator it;
        hashtableInitIterator(&it, &commands, false);
        void *cmd;
        for (; hashtableNext(&it, &cmd); n++) commandDocsReplyCommandDocs(c, cmd);
        hashtableStopIterator(&it);
    }
    replySetMapLen(c, mark, n);
}

void commandListCommand(struct client *c) {
    enum listFilter filter = LIST_ALL;
    struct str by = STR("");
    if (c->argc == 5 && strIs(c->argv[2], "filterby")) {
        by = c->argv[4];
        if (strIs(c->argv[3], "module"))
            filter = LIST_MODULE;
        else if (strIs(c->argv[3], "aclcat"))
            filter = LIST_CATEGORY;
        else if (strIs(c->argv[3], "pattern"))
            filter = LIST_PATTERN;
    }
    if (c->argc != 2 && filter == LIST_ALL) {
        replySyntaxError(c);
        return;
    }
    struct replyMark mark = replyDeferLen(c);
    replySetArrayLen(c, mark, commandDocsReplyNames(c, &commands, filter, by));
}

void commandGetkeysCommand(struct client *c) {
    commandDocsReplyKeysOfCommand(c, false);
}

void commandGetkeysandflagsCommand(struct client *c) {
    commandDocsReplyKeysOfCommand(c, true);
}

void commandHelpCommand(struct client *c) {
    static const char *lines[] = {
        "(no subcommand)",
        "    Facts about every command.",
        "COUNT",
        "    The number of commands.",
        "DOCS [<command-name> ...]",
        "    Documentation of the given commands, or of all.",
        "GETKEYS <full-command>",
        "    The keys in a command line.",
        "GETKEYSANDFLAGS <full-command>",
        "    The keys in a command line, and how the command uses each.",
        "INFO [<command-name> ...]",
        "    Facts about the given commands, or about all.",
        "LIST [FILTERBY (MODULE <module-name>|ACLCAT <category>|PATTERN <pattern>)]",
        "    Names of the commands, subcommands included.",
        NULL,
    };
    replyHelp(c, lines);
}

/* Empty: server/main.c registers the table of this group, as several modules share it. */
void commandInit(void) {}
