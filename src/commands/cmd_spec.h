/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_spec.h - the facts about a command: its flags, categories, keys and handler.
 *
 * The facts are in src/commands/, one file and one header per group, for clients, ACLs, clusters and COMMAND.
 * An entry names its handler. Arguments that do not fit into the entry are in a table above the list; equal
 * tables are written once, under the name of the first command that uses them. Parts that only COMMAND DOCS
 * and the search for keys need are in cmd_grammar.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct client;
struct serverCommand;
struct keySpec;
struct commandArg;
struct commandChange;

#define CMD_WRITE                  (1ull << 0)
#define CMD_READONLY               (1ull << 1)
#define CMD_DENYOOM                (1ull << 2)
#define CMD_ADMIN                  (1ull << 3)
#define CMD_PUBSUB                 (1ull << 4)
#define CMD_NOSCRIPT               (1ull << 5)
#define CMD_BLOCKING               (1ull << 6)
#define CMD_LOADING                (1ull << 7)
#define CMD_STALE                  (1ull << 8)
#define CMD_SKIP_MONITOR           (1ull << 9)
#define CMD_SKIP_COMMANDLOG        (1ull << 10)
#define CMD_ASKING                 (1ull << 11)
#define CMD_FAST                   (1ull << 12)
#define CMD_NO_AUTH                (1ull << 13)
#define CMD_MAY_REPLICATE          (1ull << 14)
#define CMD_SENTINEL               (1ull << 15)
#define CMD_ONLY_SENTINEL          (1ull << 16)
#define CMD_NO_MANDATORY_KEYS      (1ull << 17)
#define CMD_PROTECTED              (1ull << 18)
#define CMD_NO_ASYNC_LOADING       (1ull << 19)
#define CMD_NO_MULTI               (1ull << 20)
#define CMD_ALLOW_BUSY             (1ull << 21)
#define CMD_TOUCHES_ARBITRARY_KEYS (1ull << 22)
/* The handler uses the connection itself, so the client must be on the main thread (command/io_client.h). */
#define CMD_MAIN_THREAD  (1ull << 24)
#define CMD_MODULE       (1ull << 25) /* a module's: its flags imply no category */
#define CMD_GONE         (1ull << 26) /* ours: removed, see commandRemove */
#define CMD_HAS_CHANNELS (1ull << 27) /* a module's: getchannels returns its channels */
#define CMD_ALL_DBS      (1ull << 28) /* it touches all databases, whichever is selected */
/* It changes nothing, and may run in a thread that has the connection (command/parallel_read.h). */
#define CMD_PARALLEL_READ (1ull << 29)
#define CMD_MOVABLE_KEYS  (1ull << 23) /* computed: the legacy key triple is incomplete */

#define ACL_KEYSPACE    (1ull << 0)
#define ACL_READ        (1ull << 1)
#define ACL_WRITE       (1ull << 2)
#define ACL_SET         (1ull << 3)
#define ACL_SORTEDSET   (1ull << 4)
#define ACL_LIST        (1ull << 5)
#define ACL_HASH        (1ull << 6)
#define ACL_STRING      (1ull << 7)
#define ACL_BITMAP      (1ull << 8)
#define ACL_HYPERLOGLOG (1ull << 9)
#define ACL_GEO         (1ull << 10)
#define ACL_STREAM      (1ull << 11)
#define ACL_PUBSUB      (1ull << 12)
#define ACL_ADMIN       (1ull << 13)
#define ACL_FAST        (1ull << 14)
#define ACL_SLOW        (1ull << 15)
#define ACL_BLOCKING    (1ull << 16)
#define ACL_DANGEROUS   (1ull << 17)
#define ACL_CONNECTION  (1ull << 18)
#define ACL_TRANSACTION (1ull << 19)
#define ACL_SCRIPTING   (1ull << 20)
#define ACL_PATHHASH    (1ull << 21)
#define ACL_BUILT_IN    22 /* bits; modules' categories follow */

#define KEY_RO             (1u << 0)
#define KEY_RW             (1u << 1)
#define KEY_OW             (1u << 2)
#define KEY_RM             (1u << 3)
#define KEY_ACCESS         (1u << 4)
#define KEY_UPDATE         (1u << 5)
#define KEY_INSERT         (1u << 6)
#define KEY_DELETE         (1u << 7)
#define KEY_NOT_KEY        (1u << 8)
#define KEY_INCOMPLETE     (1u << 9)
#define KEY_VARIABLE_FLAGS (1u << 10)

#define CHANNEL_PATTERN     (1u << 0)
#define CHANNEL_PUBLISH     (1u << 1)
#define CHANNEL_SUBSCRIBE   (1u << 2)
#define CHANNEL_UNSUBSCRIBE (1u << 3)

typedef void commandProc(struct client *c);
struct keyRef { /* one key of a command */
    int pos;
    unsigned flags;
};
/* For commands whose keys the specs do not describe exactly: those with options that may look like keywords,
 * or that determine what is done to a key. It stands beside the handler and parses options with the handler's
 * own functions, so that the declared keys are those that are touched. -1: syntax error. */
typedef int commandGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc,
                           struct keyRef **keys);

/* Returns the flags of a call if they depend on its arguments, as a script's flags do (c->argv is set). */
typedef uint64_t commandFlagsOf(const struct client *c, uint64_t flags);

/* Returns whether argv[i] is a secret that logs must not show. Not called for the command's name. */
typedef bool commandIsSecret(const struct str *argv, int argc, int i);
commandIsSecret redactAll; /* all arguments are secret (command/redact.c) */

struct commandSpec {     /* arrays end with a NULL name */
    const char *name;    /* lower case; of a subcommand without its container */
    const char *summary; /* in our words */
    const char *complexity, *since, *group;
    const char *module;                  /* the module's name; NULL: the server's own command */
    const struct commandChange *history; /* ends with since NULL */
    const char *deprecated_since, *replaced_by;
    unsigned doc_flags; /* CMD_DOC_* */
    commandProc *proc;
    int arity; /* negative: a minimum; counts the name (and the container's) */
    uint64_t flags, acl;
    const char *const *tips; /* NULL-terminated, lower case */
    const struct keySpec *key_specs;
    int key_spec_count;
    commandGetKeys *getkeys;
    commandGetKeys *getchannels; /* for CMD_HAS_CHANNELS: with CHANNEL_... */
    commandFlagsOf *flags_of;
    commandIsSecret *is_secret; /* NULL: no argument is secret */
    const struct commandArg *args;
    const struct commandSpec *subcommands;
    unsigned prefetch; /* PREFETCH_*, for the type's prefetch hook */
};
enum { CMD_DOC_DEPRECATED = 1, CMD_DOC_SYSCMD = 2 };
/* The parts of its key's value that a command will use. */
enum {
    PREFETCH_HEAD = 1,        /* the first elements */
    PREFETCH_TAIL = 2,        /* the last ones */
    PREFETCH_MEMBER = 4,      /* argv[2], looked up in the value's index */
    PREFETCH_NEW_MEMBER = 8,  /* argv[3], likewise (argv[2] is its score) */
    PREFETCH_RANK = 16,       /* with MEMBER: its rank, too */
    PREFETCH_SCORE = 32,      /* argv[2], a score or a bound: the way to its place, in a batch of several */
    PREFETCH_WHOLE = 64,      /* all bytes of a string */
    PREFETCH_PATH = 128,      /* argv[2], looked up in the value without a hash */
    PREFETCH_INCREMENT = 256, /* with SCORE: argv[2] is added to the member's score */
    PREFETCH_RUN = 512,       /* with SCORE: some elements from there on, up to the score in argv[3] */
};
