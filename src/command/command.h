/* SPDX-License-Identifier: BSD-3-Clause */
/* command.h - the command registry. How a command is run: call.h.
 *
 * src/commands/ holds the facts (struct commandSpec, one file per group); a room registers the specs of its
 * own commands at start.
 *
 * Invariant: each name finds one command, and what a client calls it (rename-command) is the only name that
 * finds it. */
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

/* Bits and their names; arrays end with name NULL. */
struct flagName {
    uint64_t flag;
    const char *name;
};
extern struct flagName acl_categories[]; /* "@read" ... */
/* One more, which stays. False: there are too many, or (*exists) it is there. */
bool aclCategoryAdd(struct str name, bool *exists);
void aclCategoriesDrop(int count); /* the newest ones */

struct serverCommand { /* runtime */
    const struct commandSpec *spec;
    sds fullname;                      /* "client|kill", "get" */
    const char *called;                /* by clients: the spec's name, or what rename-command made of it */
    struct serverCommand *parent;      /* container */
    struct hashtable *subcommands;     /* of struct serverCommand, NULL when none */
    uint64_t flags, acl;               /* with the computed ones */
    int first_key, last_key, key_step; /* legacy triple, from the first spec */
    struct keyRef only_key; /* of a command with one key, always at the same place; pos 0: it is not so */
    int id;
    /* statistics */
    uint64_t calls, ticks, rejected, failed;
    struct histogram *latency; /* command/latency_histogram.h; NULL: not called yet */
};

/* ---- Registry ---- */
#define COMMAND_IDS_MAX 1024
/* Panics on a duplicate. What is not for a server of this mode (Sentinel or not) is left out. */
void commandRegister(const struct commandSpec *specs);
/* For a server that does something else in a command's place, before the first one runs. */
void commandSetHandler(const char *fullname, commandProc *proc);
/* One that comes while the server runs: a module's. NULL: the name is taken, or there are too many. The spec
 * stays the caller's, until commandRemove. parent may be NULL. */
struct serverCommand *commandAdd(const struct commandSpec *spec, struct serverCommand *parent);
/* Nobody finds it, nor its subcommands, any more. Requests that name it already (in a transaction, in a
 * batch, of clients that wait) are answered as unknown. It is kept, without its spec, for another of this
 * name. */
void commandRemove(struct serverCommand *cmd);
/* After its spec or its categories have been changed. */
void commandRefresh(struct serverCommand *cmd);
/* Is told when commands, or what categories they are in, have changed while the server runs. */
void commandsOnChange(void (*fn)(void));
struct serverCommand *commandLookup(const struct str *argv,
                                    int argc);                /* down to the subcommand; NULL: unknown */
struct serverCommand *commandLookupName(struct str fullname); /* "config|get" */
/* By the name that it had before rename-command: that of rules about users. */
struct serverCommand *commandLookupOriginal(struct str fullname);
extern struct hashtable commands; /* of struct serverCommand, top level */
int commandCount(void);
/* Every command, subcommands behind their containers. */
void commandForEach(void (*fn)(void *priv, struct serverCommand *cmd), void *priv);
void commandAndSubcommands(struct serverCommand *cmd, void (*fn)(void *priv, struct serverCommand *cmd),
                           void *priv);
static inline bool commandArityOk(const struct serverCommand *cmd, int argc) {
    int arity = cmd->spec->arity;
    return arity >= 0 ? argc == arity : argc >= -arity;
}
/* All keys of a command through its key specs: the one place. Returns the count (0: none) with *keys from
 * zmalloc (NULL when 0), -1 when the arguments do not parse. */
int commandGetKeyRefs(const struct serverCommand *cmd, const struct str *argv, int argc,
                      struct keyRef **keys);
/* The same, and besides what is no key but tells the slot as if it were: shard channels, cursors. */
int commandGetRoutes(const struct serverCommand *cmd, const struct str *argv, int argc, struct keyRef **keys);
/* For functions that find keys: adds argv[first], every step-th up to argv[last]; the new count. *keys is
 * NULL before the first. */
int keyRefsAdd(struct keyRef **keys, int count, int first, int last, int step, unsigned flags);

/* The flags that checks look at: CMD_WRITE, CMD_DENYOOM, CMD_STALE ... of the command that c is about to run.
 */
static inline uint64_t commandFlags(const struct client *c, const struct serverCommand *cmd) {
    return __builtin_expect(!cmd->spec->flags_of, 1) ? cmd->flags : cmd->spec->flags_of(c, cmd->flags);
}

void commandCoreInit(void); /* the empty registry; first of all */
void commandInit(void);     /* COMMAND and its subcommands (command_docs.c) */
