/* SPDX-License-Identifier: BSD-3-Clause */
/* command.h - the command registry. call.h runs commands.
 *
 * src/commands/ holds the facts (struct commandSpec, one file per group); a module registers the specs of its
 * own commands at start.
 *
 * Invariant: each name finds one command, and the name by which clients call it (rename-command) is the only
 * one that finds it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "client/client.h"
#include "commands/cmd_spec.h"
#include "ds/hashtable.h"

struct serverCommand;
struct histogram;

/* Bits and their names; arrays end with a NULL name. */
struct flagName {
    uint64_t flag;
    const char *name;
};
extern struct flagName acl_categories[]; /* "@read" and so on */
/* Adds a category, which stays. False: there are too many, or (*exists) it exists already. */
bool aclCategoryAdd(struct str name, bool *exists);
void aclCategoriesDrop(int count); /* drops the newest ones */

struct serverCommand { /* a registered command */
    const struct commandSpec *spec;
    sds fullname;                  /* "client|kill", "get" */
    const char *called;            /* clients' name for it: the spec's, or what rename-command made of it */
    struct serverCommand *parent;  /* container */
    struct hashtable *subcommands; /* of struct serverCommand, NULL when none */
    uint64_t flags, acl;           /* the spec's and the computed ones */
    int first_key, last_key, key_step; /* legacy triple, computed from the first key spec */
    struct keyRef only_key; /* for a command with one key, always at the same place; otherwise pos is 0 */
    int id;
    /* statistics */
    uint64_t calls, ticks, rejected, failed;
    struct histogram *latency; /* command/latency_histogram.h; NULL: never called */
};

/* ---- Registry ---- */
#define COMMAND_IDS_MAX 1024
/* Registers commands. Panics on a duplicate. Commands that do not belong to this server's mode (Sentinel or
 * not) are left out. */
void commandRegister(const struct commandSpec *specs);
/* Replaces a command's handler, before the first command runs. */
void commandSetHandler(const char *fullname, commandProc *proc);
/* Adds a module's command while the server runs. NULL: the name is taken, or there are too many. The caller
 * keeps the spec until commandRemove. parent may be NULL. */
struct serverCommand *commandAdd(const struct commandSpec *spec, struct serverCommand *parent);
/* Removes a command and its subcommands: no name finds them any more. Requests that refer to one already (in
 * a transaction, in a batch, of blocked clients) are answered as unknown. The struct is kept, without its
 * spec, for another command of this name. */
void commandRemove(struct serverCommand *cmd);
/* Recomputes what derives from the spec and its categories, after these have changed. */
void commandRefresh(struct serverCommand *cmd);
/* Adds a function that is called when commands or their categories have changed while the server runs. */
void commandsOnChange(void (*fn)(void));
/* Finds a command down to the subcommand; NULL: unknown. */
struct serverCommand *commandLookup(const struct str *argv, int argc);
/* Does the same, quicker when the first word is `before`, for which `cmd` has been found; cmd may be NULL. */
static inline struct serverCommand *commandLookupAfter(struct serverCommand *cmd, struct str before,
                                                       const struct str *argv, int argc) {
    bool same = cmd && !cmd->parent && !cmd->subcommands && strEqShort(before, argv[0]);
    return same ? cmd : commandLookup(argv, argc);
}
struct serverCommand *commandLookupName(struct str fullname); /* such as "config|get" */
/* Finds a command by the name that it had before rename-command, which rules about users contain. */
struct serverCommand *commandLookupOriginal(struct str fullname);
extern struct hashtable commands; /* top-level commands: struct serverCommand */
int commandCount(void);
/* Calls fn for every command; subcommands follow their containers. */
void commandForEach(void (*fn)(void *priv, struct serverCommand *cmd), void *priv);
void commandAndSubcommands(struct serverCommand *cmd, void (*fn)(void *priv, struct serverCommand *cmd),
                           void *priv);
static inline bool commandArityOk(const struct serverCommand *cmd, int argc) {
    int arity = cmd->spec->arity;
    return arity >= 0 ? argc == arity : argc >= -arity;
}
/* Finds all keys of a command. This is the only place that interprets key specs. Returns the count with *keys
 * from zmalloc (NULL when 0), or -1 when the arguments do not parse. */
int commandGetKeyRefs(const struct serverCommand *cmd, const struct str *argv, int argc,
                      struct keyRef **keys);
/* As commandGetKeyRefs, plus other arguments that determine the slot: shard channels, cursors. */
int commandGetRoutes(const struct serverCommand *cmd, const struct str *argv, int argc, struct keyRef **keys);
/* For functions that find keys: adds argv[first], and then every step-th up to argv[last]. Returns the new
 * count. *keys is NULL before the first. */
int keyRefsAdd(struct keyRef **keys, int count, int first, int last, int step, unsigned flags);

/* The flags of the command that c is about to run, for checks: CMD_WRITE, CMD_DENYOOM and so on. */
static inline uint64_t commandFlags(const struct client *c, const struct serverCommand *cmd) {
    return __builtin_expect(!cmd->spec->flags_of, 1) ? cmd->flags : cmd->spec->flags_of(c, cmd->flags);
}

void commandCoreInit(void); /* creates the empty registry, before anything else */
void commandInit(void);     /* COMMAND and its subcommands (command_docs.c) */
