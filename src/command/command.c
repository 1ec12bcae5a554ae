/* SPDX-License-Identifier: BSD-3-Clause */
/* command.c - the command registry; see command.h. */
#include "command/command.h"

#include <limits.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "commands/cmd_grammar.h"
#include "data/server_state/role.h"
#include "net/io_thread.h"
#include "registry/config.h"

struct hashtable commands;
static int next_id;

/* ---- Registry ---- */

/* Key of subcommands in their table, and of top-level commands in theirs. */
static struct str commandKey(const void *entry) {
    return strOf(((const struct serverCommand *)entry)->called);
}
static const struct hashtableType commands_type = {
    .entryKey = commandKey, .hash = hashStrNoCase, .keyEqual = strEqNoCase};

/* Computes the (first, last, step) triple that COMMAND shows, from the specs that are plain index ranges and
 * follow each other without a gap. */
static void commandLegacyKeyTriple(struct serverCommand *cmd) {
    const struct commandSpec *spec = cmd->spec;
    for (int i = 0; i < spec->key_spec_count; i++) {
        const struct keySpec *k = &spec->key_specs[i];
        bool plain = k->begin == KEYS_BEGIN_INDEX && k->find == KEYS_FIND_RANGE;
        if (!plain || k->flags & KEY_INCOMPLETE) cmd->flags |= CMD_MOVABLE_KEYS;
        if (!plain) continue;
        int64_t last = k->lastkey >= 0 ? (int64_t)k->pos + k->lastkey : k->lastkey;
        if (last > INT_MAX) last = INT_MAX;
        if (!cmd->first_key) {
            cmd->first_key = k->pos;
            cmd->last_key = (int)last;
            cmd->key_step = k->step > 0 ? k->step : 1; /* a module's value may be anything */
        } else if (cmd->last_key >= 0 && k->pos == (int64_t)cmd->last_key + 1) {
            cmd->last_key = (int)last;
        } else {
            cmd->flags |= CMD_MOVABLE_KEYS;
        }
    }
}

/* A module's own function may find more keys than the specs do. */
static struct keyRef commandOnlyKey(const struct commandSpec *spec) {
    const struct keySpec *k = spec->key_specs;
    bool fixed = spec->key_spec_count == 1 && k->begin == KEYS_BEGIN_INDEX && k->find == KEYS_FIND_RANGE &&
                 k->pos > 0 && k->lastkey == 0 && !(k->flags & KEY_NOT_KEY) &&
                 (!spec->getkeys || (k->flags & KEY_VARIABLE_FLAGS && !(spec->flags & CMD_MODULE)));
    return fixed ? (struct keyRef){.pos = k->pos, .flags = k->flags} : (struct keyRef){0};
}

static uint64_t commandImpliedCategories(const struct commandSpec *spec) {
    uint64_t acl = spec->acl, flags = spec->flags;
    if (flags & CMD_MODULE) return acl;
    if (flags & CMD_WRITE) acl |= ACL_WRITE;
    if (flags & CMD_READONLY && !(acl & ACL_SCRIPTING)) acl |= ACL_READ;
    if (flags & CMD_ADMIN) acl |= ACL_ADMIN | ACL_DANGEROUS;
    if (flags & CMD_PUBSUB) acl |= ACL_PUBSUB;
    if (flags & CMD_BLOCKING) acl |= ACL_BLOCKING;
    acl |= flags & CMD_FAST ? ACL_FAST : 0;
    return acl & ACL_FAST ? acl : acl | ACL_SLOW;
}

/* Computes what follows from the spec. */
static void commandDerive(struct serverCommand *cmd) {
    cmd->flags = cmd->spec->flags;
    cmd->acl = commandImpliedCategories(cmd->spec);
    cmd->first_key = cmd->last_key = cmd->key_step = 0;
    commandLegacyKeyTriple(cmd);
    cmd->only_key = commandOnlyKey(cmd->spec);
}

static sds commandFullName(const struct commandSpec *spec, const struct serverCommand *parent) {
    return parent ? sdscatprintf(sdsempty(), "%s|%s", parent->fullname, spec->name) : sdsnew(spec->name);
}

/* A Sentinel has few of the commands, and some of its own. */
static bool commandIsServed(const struct commandSpec *spec) {
    return spec->flags & CMD_SENTINEL ? sentinel_mode || !(spec->flags & CMD_ONLY_SENTINEL) : !sentinel_mode;
}

static struct serverCommand *commandCreate(const struct commandSpec *spec, struct serverCommand *parent) {
    struct serverCommand *cmd = zcalloc(1, sizeof *cmd);
    cmd->spec = spec;
    cmd->called = spec->name;
    cmd->parent = parent;
    cmd->id = next_id++;
    cmd->fullname = commandFullName(spec, parent);
    commandDerive(cmd);
    if (!spec->subcommands) return cmd;
    cmd->subcommands = hashtableCreate(&commands_type);
    for (const struct commandSpec *s = spec->subcommands; s->name; s++) {
        if (!commandIsServed(s)) continue;
        bool added = hashtableAdd(cmd->subcommands, commandCreate(s, cmd));
        serverAssert(added);
    }
    return cmd;
}

void commandRegister(const struct commandSpec *specs) {
    for (const struct commandSpec *s = specs; s->name; s++) {
        if (!commandIsServed(s)) continue;
        bool added = hashtableAdd(&commands, commandCreate(s, NULL));
        serverAssert(added);
    }
}

/* ---- Adding and removing at run time ---- */

/* I/O threads look commands up, so they are stopped meanwhile. */

#define ON_CHANGE_MAX 8
static void (*on_change[ON_CHANGE_MAX])(void);
static int on_change_count;
static struct serverCommand **retired; /* removed commands, searched by full name; they are few */
static size_t retired_count;

void commandsOnChange(void (*fn)(void)) {
    serverAssert(on_change_count < ON_CHANGE_MAX);
    on_change[on_change_count++] = fn;
}

static void commandNotifyChange(void) {
    for (int i = 0; i < on_change_count; i++) on_change[i]();
}

static void commandGone(struct client *c) {
    replyErrorFmt(c, "ERR unknown command '%.*s', with args beginning with: ", (int)c->argv[0].len,
                  c->argv[0].ptr);
}
static const struct commandSpec gone_spec = {.name = "", .proc = commandGone, .arity = -1, .flags = CMD_GONE};

static struct serverCommand *commandRevive(const struct commandSpec *spec, struct serverCommand *parent) {
    sds name = commandFullName(spec, parent);
    struct serverCommand *cmd = NULL;
    for (size_t i = 0; i < retired_count && !cmd; i++) {
        if (strcasecmp(retired[i]->fullname, name) != 0) continue;
        cmd = retired[i];
        retired[i] = retired[--retired_count];
        cmd->spec = spec;
        cmd->called = spec->name;
        cmd->parent = parent;
        commandDerive(cmd);
    }
    sdsfree(name);
    return cmd;
}

struct serverCommand *commandAdd(const struct commandSpec *spec, struct serverCommand *parent) {
    struct hashtable *table = parent ? parent->subcommands : &commands;
    if (table && hashtableFind(table, strOf(spec->name))) return NULL;
    ioThreadsHold();
    struct serverCommand *cmd = commandRevive(spec, parent);
    if (!cmd && next_id == COMMAND_IDS_MAX) {
        ioThreadsRelease();
        return NULL;
    }
    if (!table) table = parent->subcommands = hashtableCreate(&commands_type);
    if (!cmd) cmd = commandCreate(spec, parent);
    hashtableAdd(table, cmd);
    ioThreadsRelease();
    commandNotifyChange();
    return cmd;
}

static void commandRetire(struct serverCommand *cmd) {
    retired = zrealloc(retired, (retired_count + 1) * sizeof *retired);
    retired[retired_count++] = cmd;
    cmd->called = cmd->fullname;
    cmd->spec = &gone_spec;
    commandDerive(cmd);
    cmd->calls = cmd->ticks = cmd->rejected = cmd->failed = 0;
}

static void commandRetireOne(void *priv, struct serverCommand *cmd) {
    if (cmd != priv) commandRetire(cmd);
}

void commandRemove(struct serverCommand *cmd) {
    ioThreadsHold();
    hashtablePop(cmd->parent ? cmd->parent->subcommands : &commands, strOf(cmd->called));
    commandAndSubcommands(cmd, commandRetireOne, cmd);
    hashtableRelease(cmd->subcommands);
    cmd->subcommands = NULL;
    commandRetire(cmd);
    ioThreadsRelease();
    commandNotifyChange();
}

void commandRefresh(struct serverCommand *cmd) {
    ioThreadsHold();
    commandDerive(cmd);
    ioThreadsRelease();
    commandNotifyChange();
}

/* ---- Look-ups ---- */

void commandSetHandler(const char *fullname, commandProc *proc) {
    struct serverCommand *cmd = commandLookupName(strOf(fullname));
    struct commandSpec *spec = zmalloc(sizeof *spec);
    *spec = *cmd->spec;
    spec->proc = proc;
    cmd->spec = spec;
}

struct serverCommand *commandLookup(const struct str *argv, int argc) {
    struct serverCommand *cmd = argc ? hashtableFind(&commands, argv[0]) : NULL;
    if (!cmd || !cmd->subcommands || argc < 2) return cmd;
    return hashtableFind(cmd->subcommands, argv[1]);
}

static struct serverCommand *commandFindCalled(struct str name) {
    return hashtableFind(&commands, name);
}

static struct serverCommand *commandLookupIn(struct str fullname,
                                             struct serverCommand *(*find)(struct str name)) {
    const char *bar = memchr(fullname.ptr, '|', fullname.len);
    if (!bar) return find(fullname);
    size_t n = (size_t)(bar - fullname.ptr);
    struct serverCommand *cmd = find(strN(fullname.ptr, n));
    if (!cmd || !cmd->subcommands) return NULL;
    return hashtableFind(cmd->subcommands, strN(bar + 1, fullname.len - n - 1));
}

struct serverCommand *commandLookupName(struct str fullname) {
    return commandLookupIn(fullname, commandFindCalled);
}

/* ---- Renaming ---- */

static struct serverCommand **renamed; /* commands whose name is not their spec's; they are few */
static size_t renamed_count;

static struct serverCommand *commandFindOriginal(struct str name) {
    for (size_t i = 0; i < renamed_count; i++) {
        if (strIs(name, renamed[i]->spec->name)) return renamed[i];
    }
    struct serverCommand *cmd = commandFindCalled(name);
    return cmd && cmd->called == cmd->spec->name ? cmd : NULL;
}

struct serverCommand *commandLookupOriginal(struct str fullname) {
    return commandLookupIn(fullname, commandFindOriginal);
}

/* Makes `to` the command's name for clients; "": none. On errors returns false with *err. */
static bool commandRename(struct str name, struct str to, const char **err) {
    struct serverCommand *cmd = commandFindCalled(name);
    if (!cmd) {
        *err = "No such command in rename-command";
        return false;
    }
    if (to.len && commandFindCalled(to)) {
        *err = "Target command name already exists";
        return false;
    }
    hashtablePop(&commands, name);
    if (cmd->called == cmd->spec->name) {
        renamed = zrealloc(renamed, (renamed_count + 1) * sizeof *renamed);
        renamed[renamed_count++] = cmd;
    }
    cmd->called = sdsnewstr(to); /* an earlier new name is not freed: the file is read only once */
    bool added = !to.len || hashtableAdd(&commands, cmd);
    serverAssert(added);
    return true;
}

static bool commandSetRename(const struct configDirective *d, int argc, const struct str *argv,
                             const char **err) {
    (void)d;
    *err = "Bad directive or wrong number of arguments";
    return argc == 2 && commandRename(argv[0], argv[1], err);
}

static sds commandGetRenames(const struct configDirective *d) {
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

static void commandForEachIn(struct hashtable *table, void (*fn)(void *priv, struct serverCommand *cmd),
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
    if (cmd->subcommands) commandForEachIn(cmd->subcommands, fn, priv);
}

void commandForEach(void (*fn)(void *priv, struct serverCommand *cmd), void *priv) {
    commandForEachIn(&commands, fn, priv);
}

static void commandResetOne(void *priv, struct serverCommand *cmd) {
    (void)priv;
    cmd->calls = cmd->ticks = cmd->rejected = cmd->failed = 0;
}

static void commandResetStats(void) {
    commandForEach(commandResetOne, NULL);
}

void commandCoreInit(void) {
    static struct configDirective directives[] = {
        CONFIG_SPECIAL("rename-command", NULL, CONFIG_MULTI_ARG | CONFIG_LINES | CONFIG_KEEP_LINES,
                       commandSetRename, commandGetRenames, NULL),
    };
    hashtableInit(&commands, &commands_type);
    configRegister(directives, 1);
    configOnResetStat(commandResetStats);
}
