/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_selector.c - one set of permissions: its rules, and their text. Part of acl.h.
 *
 * A rule changes the selector at once, so no list of rules is evaluated when a command is checked. The rules
 * about commands are also kept as text, for people and for files: in order, each command or category once,
 * where it was named last, since a later version may add commands to a category. */
#include <limits.h>

#include "acl/acl_private.h"
#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "data/keyspace/db.h"

#define RULE_NAME_MAX 128 /* longest name of a command or category that is looked up */

int acl_pubsub_default;

/* ---- Creating and freeing ---- */

static void aclSelectorResetCommands(struct aclSelector *s, bool all) {
    for (int i = 0; i < s->first_arg_count; i++) sdsfree(s->first_args[i].arg);
    zfree(s->first_args);
    s->first_args = NULL;
    s->first_arg_count = 0;
    memset(s->allowed, all ? 0xff : 0, sizeof s->allowed);
    s->flags = (s->flags & ~(unsigned)SELECTOR_ALL_COMMANDS) | (all ? SELECTOR_ALL_COMMANDS : 0);
    sdsfree(s->commands);
    s->commands = sdsnew(all ? "+@all" : "-@all");
}

struct aclSelector *aclSelectorCreate(void) {
    serverAssert(commandCount() < ACL_COMMANDS_MAX);
    struct aclSelector *s = zcalloc(1, sizeof *s);
    s->flags = SELECTOR_ALL_DBS | (unsigned)acl_pubsub_default;
    aclSelectorResetCommands(s, false);
    return s;
}

struct aclSelector *aclSelectorCopy(const struct aclSelector *s) {
    struct aclSelector *copy = zmalloc(sizeof *copy);
    *copy = *s;
    copy->commands = sdsdup(s->commands);
    aclPatternsCopy(&copy->keys, &s->keys);
    aclPatternsCopy(&copy->channels, &s->channels);
    copy->first_args = NULL;
    copy->dbs = NULL;
    if (s->first_arg_count) {
        copy->first_args = zmalloc((size_t)s->first_arg_count * sizeof *s->first_args);
        for (int i = 0; i < s->first_arg_count; i++) {
            copy->first_args[i] = s->first_args[i];
            copy->first_args[i].arg = sdsdup(s->first_args[i].arg);
        }
    }
    if (s->db_count) {
        copy->dbs = zmalloc((size_t)s->db_count * sizeof *s->dbs);
        memcpy(copy->dbs, s->dbs, (size_t)s->db_count * sizeof *s->dbs);
    }
    return copy;
}

void aclSelectorFree(struct aclSelector *s) {
    aclSelectorResetCommands(s, false);
    sdsfree(s->commands);
    aclPatternsClear(&s->keys);
    aclPatternsClear(&s->channels);
    zfree(s->dbs);
    zfree(s);
}

/* ---- Commands ---- */

bool aclHasBlanks(struct str s) {
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\0' || strchr(" \t\n\v\f\r", s.ptr[i])) return true;
    }
    return false;
}

static void aclSelectorDropFirstArgs(struct aclSelector *s, int id) {
    int kept = 0;
    for (int i = 0; i < s->first_arg_count; i++) {
        if (s->first_args[i].id == id)
            sdsfree(s->first_args[i].arg);
        else
            s->first_args[kept++] = s->first_args[i];
    }
    s->first_arg_count = kept;
}

static void aclSelectorSetCommand(struct aclSelector *s, const struct serverCommand *cmd, bool allow) {
    serverAssert(cmd->id < ACL_COMMANDS_MAX);
    uint64_t bit = 1ull << (cmd->id % 64), *word = &s->allowed[cmd->id / 64];
    *word = allow ? *word | bit : *word & ~bit;
    if (!allow) s->flags &= ~(unsigned)SELECTOR_ALL_COMMANDS;
    aclSelectorDropFirstArgs(s, cmd->id);
}

/* Sets the commands of a table and its subtables that are in the categories, subcommands also when their
 * container is; all: every command. */
static void aclSelectorSetCommands(struct aclSelector *s, struct hashtable *table, uint64_t categories,
                                   bool all, bool allow) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, table, false);
    while (hashtableNext(&it, &entry)) {
        const struct serverCommand *cmd = entry;
        bool meant = all || cmd->acl & categories;
        if (meant) aclSelectorSetCommand(s, cmd, allow);
        if (cmd->subcommands) aclSelectorSetCommands(s, cmd->subcommands, categories, meant, allow);
    }
    hashtableStopIterator(&it);
}

/* Updates the text: removes this name (lower case) and its subcommands, and appends the rule. */
static void aclSelectorNoteRule(struct aclSelector *s, struct str name, bool allow) {
    int n;
    sds *words = sdssplitlen(s->commands, sdslen(s->commands), " ", 1, &n);
    sds text = sdsempty();
    for (int i = 0; i < n; i++) {
        struct str old = strN(words[i] + 1, sdslen(words[i]) - 1);
        bool covered = old.len >= name.len && memcmp(old.ptr, name.ptr, name.len) == 0 &&
                       (old.len == name.len || old.ptr[name.len] == '|');
        if (!covered) text = sdscatprintf(text, "%s ", words[i]);
    }
    sdsfreesplitres(words, n);
    text = sdscat(text, allow ? "+" : "-");
    sdsfree(s->commands);
    s->commands = sdscatstr(text, name);
}

static enum aclError aclSelectorApplyCategory(struct aclSelector *s, struct str name, bool allow) {
    if (strEq(name, STR("@all"))) {
        aclSelectorResetCommands(s, allow);
        return ACL_OK;
    }
    for (const struct flagName *f = acl_categories; f->name; f++) {
        if (!strEq(name, strOf(f->name))) continue;
        aclSelectorSetCommands(s, &commands, f->flag, false, allow);
        aclSelectorNoteRule(s, name, allow);
        return ACL_OK;
    }
    return ACL_ERR_UNKNOWN_COMMAND;
}

static bool aclSelectorHasFirstArg(const struct aclSelector *s, int id, struct str arg) {
    for (int i = 0; i < s->first_arg_count; i++) {
        if (s->first_args[i].id == id && strEq(sdsview(s->first_args[i].arg), arg)) return true;
    }
    return false;
}

/* "select|0": if the command is allowed as a whole, this changes only the text. */
static enum aclError aclSelectorApplyFirstArg(struct aclSelector *s, struct str name) {
    size_t bar = name.len;
    while (bar && name.ptr[bar - 1] != '|') bar--;
    if (!bar) return ACL_ERR_UNKNOWN_COMMAND;
    struct str command = strN(name.ptr, bar - 1), arg = strN(name.ptr + bar, name.len - bar);
    const struct serverCommand *cmd = commandLookupOriginal(command);
    if (!cmd) return ACL_ERR_UNKNOWN_COMMAND;
    if (cmd->parent) return ACL_ERR_FIRST_ARG_OF_SUBCOMMAND;
    if (!arg.len || aclHasBlanks(arg)) return ACL_ERR_SYNTAX;
    if (cmd->subcommands) return ACL_ERR_UNKNOWN_COMMAND;
    aclSelectorNoteRule(s, name, true);
    if (aclSelectorHasCommand(s, cmd->id) || aclSelectorHasFirstArg(s, cmd->id, arg)) return ACL_OK;
    s->first_args = zrealloc(s->first_args, (size_t)(s->first_arg_count + 1) * sizeof *s->first_args);
    s->first_args[s->first_arg_count++] = (struct aclFirstArg){.id = cmd->id, .arg = sdsnewstr(arg)};
    return ACL_OK;
}

static enum aclError aclSelectorApplyCommand(struct aclSelector *s, struct str rule) {
    char lower[RULE_NAME_MAX] = "";
    bool allow = rule.ptr[0] == '+';
    if (rule.len > sizeof lower) return ACL_ERR_UNKNOWN_COMMAND;
    for (size_t i = 1; i < rule.len; i++) {
        char ch = rule.ptr[i];
        lower[i - 1] = ch >= 'A' && ch <= 'Z' ? (char)(ch + ('a' - 'A')) : ch;
    }
    struct str name = strN(lower, rule.len - 1);
    if (name.len && name.ptr[0] == '@') return aclSelectorApplyCategory(s, name, allow);
    const struct serverCommand *cmd = commandLookupOriginal(name);
    if (!cmd) return allow ? aclSelectorApplyFirstArg(s, name) : ACL_ERR_UNKNOWN_COMMAND;
    aclSelectorSetCommand(s, cmd, allow);
    if (cmd->subcommands) aclSelectorSetCommands(s, cmd->subcommands, 0, true, allow);
    aclSelectorNoteRule(s, name, allow);
    return ACL_OK;
}

void aclSelectorRefresh(struct aclSelector *s) {
    int n;
    sds rules = s->commands;
    sds *words = sdssplitlen(rules, sdslen(rules), " ", 1, &n);
    s->commands = NULL;
    aclSelectorResetCommands(s, false);
    /* Rules about names that no longer exist are dropped. */
    for (int i = 0; i < n; i++) aclSelectorApplyCommand(s, sdsview(words[i]));
    sdsfreesplitres(words, n);
    sdsfree(rules);
}

sds aclSelectorRuleAbout(const struct aclSelector *s, struct str command) {
    int n;
    sds found = NULL;
    sds *words = sdssplitlen(s->commands, sdslen(s->commands), " ", 1, &n);
    for (int i = 0; i < n && !found; i++) {
        struct str name = strN(words[i] + 1, sdslen(words[i]) - 1);
        bool begins = name.len >= command.len && strncasecmp(name.ptr, command.ptr, command.len) == 0;
        if (begins && (name.len == command.len || name.ptr[command.len] == '|')) found = sdsdup(words[i]);
    }
    sdsfreesplitres(words, n);
    return found;
}

/* ---- Keys and channels ---- */

/* Parses "%R~x" and similar: the letters between % and ~ go to *access; *rule becomes what is behind the ~.
 * Without ~ the pattern is empty. Returns false on other letters. */
static bool aclSelectorReadAccess(struct str *rule, unsigned *access) {
    *access = 0;
    for (size_t i = 1; i < rule->len; i++) {
        if (rule->ptr[i] == '~' && *access) {
            *rule = strN(rule->ptr + i + 1, rule->len - i - 1);
            return true;
        }
        char ch = rule->ptr[i] & ~32;
        unsigned one = ch == 'R' ? ACL_PATTERN_READ : ch == 'W' ? ACL_PATTERN_WRITE : 0;
        if (!one || *access & one) return false;
        *access |= one;
    }
    *rule = STR("");
    return *access;
}

static enum aclError aclSelectorApplyKeys(struct aclSelector *s, struct str rule) {
    unsigned access = ACL_PATTERN_ALL;
    struct str pattern = rule.ptr[0] == '%' ? rule : strN(rule.ptr + 1, rule.len - 1);
    if (s->flags & SELECTOR_ALL_KEYS) return ACL_ERR_PATTERN_AFTER_ALL;
    if (rule.ptr[0] == '%' && !aclSelectorReadAccess(&pattern, &access)) return ACL_ERR_SYNTAX;
    if (aclHasBlanks(pattern)) return ACL_ERR_SYNTAX;
    aclPatternsAdd(&s->keys, pattern, access);
    return ACL_OK;
}

static enum aclError aclSelectorApplyChannels(struct aclSelector *s, struct str rule) {
    struct str pattern = strN(rule.ptr + 1, rule.len - 1);
    if (s->flags & SELECTOR_ALL_CHANNELS) return ACL_ERR_CHANNEL_AFTER_ALL;
    if (aclHasBlanks(pattern)) return ACL_ERR_SYNTAX;
    aclPatternsAdd(&s->channels, pattern, 0);
    return ACL_OK;
}

/* ---- Databases ---- */

/* Returns the index of the number in the sorted list, or where it would be inserted. */
static int aclSelectorDbPlace(const struct aclSelector *s, int64_t db) {
    int low = 0, high = s->db_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (s->dbs[middle] < db)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool aclSelectorHasDb(const struct aclSelector *s, int64_t db) {
    if (s->flags & SELECTOR_ALL_DBS) return true;
    int at = aclSelectorDbPlace(s, db);
    return at < s->db_count && s->dbs[at] == db;
}

static void aclSelectorSetDbs(struct aclSelector *s, bool all) {
    zfree(s->dbs);
    s->dbs = NULL;
    s->db_count = 0;
    s->flags = (s->flags & ~(unsigned)SELECTOR_ALL_DBS) | (all ? SELECTOR_ALL_DBS : 0);
}

static void aclSelectorAddDb(struct aclSelector *s, int db) {
    if (aclSelectorHasDb(s, db)) return;
    int at = aclSelectorDbPlace(s, db);
    s->dbs = zrealloc(s->dbs, (size_t)(s->db_count + 1) * sizeof *s->dbs);
    memmove(s->dbs + at + 1, s->dbs + at, (size_t)(s->db_count++ - at) * sizeof *s->dbs);
    s->dbs[at] = db;
}

/* Applies "db=0,3". */
static enum aclError aclSelectorApplyDbs(struct aclSelector *s, struct str list) {
    int n;
    enum aclError error = ACL_OK;
    sds *numbers = sdssplitlen(list.ptr, list.len, ",", 1, &n);
    if (!n) error = ACL_ERR_SYNTAX;
    for (int i = 0; i < n && !error; i++) {
        int64_t id;
        if (!string2ll(sdsview(numbers[i]), &id))
            error = ACL_ERR_SYNTAX;
        else if (id < 0 || id > INT_MAX)
            error = ACL_ERR_DB_RANGE;
    }
    if (!error) aclSelectorSetDbs(s, false);
    for (int i = 0; i < n && !error; i++) {
        int64_t id;
        string2ll(sdsview(numbers[i]), &id);
        aclSelectorAddDb(s, (int)id);
    }
    sdsfreesplitres(numbers, n);
    return error;
}

/* ---- All rules ---- */

static void aclSelectorSetAll(struct aclSelector *s, struct aclPatterns *patterns, unsigned flag, bool all) {
    aclPatternsClear(patterns);
    s->flags = (s->flags & ~flag) | (all ? flag : 0);
}

/* Applies rules that are a single word. */
static bool aclSelectorApplyWord(struct aclSelector *s, struct str rule) {
    if (strIs(rule, "allkeys") || strEq(rule, STR("~*")))
        aclSelectorSetAll(s, &s->keys, SELECTOR_ALL_KEYS, true);
    else if (strIs(rule, "resetkeys"))
        aclSelectorSetAll(s, &s->keys, SELECTOR_ALL_KEYS, false);
    else if (strIs(rule, "allchannels") || strEq(rule, STR("&*")))
        aclSelectorSetAll(s, &s->channels, SELECTOR_ALL_CHANNELS, true);
    else if (strIs(rule, "resetchannels"))
        aclSelectorSetAll(s, &s->channels, SELECTOR_ALL_CHANNELS, false);
    else if (strIs(rule, "allcommands") || strIs(rule, "nocommands"))
        aclSelectorResetCommands(s, strIs(rule, "allcommands"));
    else if (strIs(rule, "alldbs") || strIs(rule, "resetdbs"))
        aclSelectorSetDbs(s, strIs(rule, "alldbs"));
    else
        return false;
    return true;
}

enum aclError aclSelectorApply(struct aclSelector *s, struct str rule) {
    if (aclSelectorApplyWord(s, rule)) return ACL_OK;
    if (rule.len > 3 && strIs(strN(rule.ptr, 3), "db="))
        return aclSelectorApplyDbs(s, strN(rule.ptr + 3, rule.len - 3));
    switch (rule.len ? rule.ptr[0] : '\0') {
    case '~':
    case '%': return aclSelectorApplyKeys(s, rule);
    case '&': return aclSelectorApplyChannels(s, rule);
    case '+':
    case '-': return aclSelectorApplyCommand(s, rule);
    default: return ACL_ERR_SYNTAX;
    }
}

/* ---- Text ---- */

/* "%RW~*" stays as it was given: "~*" would be the flag, after which no further pattern is accepted. */
sds aclSelectorCatKeys(const struct aclSelector *s, sds text) {
    static const char *const marks[] = {
        [ACL_PATTERN_READ] = "%R~", [ACL_PATTERN_WRITE] = "%W~", [ACL_PATTERN_ALL] = "~"};
    if (s->flags & SELECTOR_ALL_KEYS) return sdscat(text, "~*");
    for (int i = 0; i < s->keys.count; i++) {
        const struct aclPattern *p = &s->keys.items[i];
        bool star = p->access == ACL_PATTERN_ALL && strcmp(p->text, "*") == 0;
        text = sdscatprintf(text, "%s%s%s", i ? " " : "", star ? "%RW~" : marks[p->access], p->text);
    }
    return text;
}

sds aclSelectorCatChannels(const struct aclSelector *s, sds text) {
    if (s->flags & SELECTOR_ALL_CHANNELS) return sdscat(text, "&*");
    for (int i = 0; i < s->channels.count; i++) {
        text = sdscatprintf(text, "%s&%s", i ? " " : "", s->channels.items[i].text);
    }
    return text;
}

sds aclSelectorCatDbs(const struct aclSelector *s, sds text) {
    if (s->flags & SELECTOR_ALL_DBS) return sdscat(text, "alldbs");
    for (int i = 0; i < s->db_count; i++) text = sdscatprintf(text, "%s%d", i ? "," : "db=", s->dbs[i]);
    return text;
}

/* Appends one part of the text and a blank, unless it is empty. */
static sds aclSelectorCatPart(const struct aclSelector *s, sds (*cat)(const struct aclSelector *s, sds text),
                              sds text) {
    size_t before = sdslen(text);
    text = cat(s, text);
    return sdslen(text) == before ? text : sdscatlen(text, " ", 1);
}

/* Defaults of a new selector are omitted, except that of channels, which can be configured. */
sds aclSelectorCat(const struct aclSelector *s, sds text) {
    text = aclSelectorCatPart(s, aclSelectorCatKeys, text);
    if (!(s->flags & SELECTOR_ALL_CHANNELS)) text = sdscat(text, "resetchannels ");
    text = aclSelectorCatPart(s, aclSelectorCatChannels, text);
    if (!(s->flags & SELECTOR_ALL_DBS)) {
        text = s->db_count ? aclSelectorCatPart(s, aclSelectorCatDbs, text) : sdscat(text, "resetdbs ");
    }
    return sdscat(text, s->commands);
}
