/* command.h - the command registry and the call path.
 *
 * src/commands/ holds the facts (struct commandSpec, one file per group); a room registers the specs of its
 * own commands at start. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "core/client.h"
#include "ds/hashtable.h"

struct serverCommand;
struct histogram;

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
#define CMD_MOVABLE_KEYS           (1ull << 23) /* computed: the legacy key triple does not tell all */

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

enum { KEYS_BEGIN_NONE, KEYS_BEGIN_UNKNOWN, KEYS_BEGIN_INDEX, KEYS_BEGIN_KEYWORD };
enum { KEYS_FIND_NONE, KEYS_FIND_UNKNOWN, KEYS_FIND_RANGE, KEYS_FIND_KEYNUM };

struct keySpec {
    unsigned flags;
    const char *notes;
    uint8_t begin, find;
    int pos;                              /* INDEX: position; KEYWORD: startfrom */
    const char *keyword;                  /* KEYWORD */
    int lastkey, step, limit;             /* RANGE: lastkey relative to the first, or negative from the end */
    int keynumidx, firstkey, keynum_step; /* KEYNUM: relative to begin */
};

enum commandArgType {
    ARG_STRING,
    ARG_INTEGER,
    ARG_DOUBLE,
    ARG_KEY,
    ARG_PATTERN,
    ARG_UNIX_TIME,
    ARG_PURE_TOKEN,
    ARG_ONEOF,
    ARG_BLOCK,
};
#define ARG_OPTIONAL       1
#define ARG_MULTIPLE       2
#define ARG_MULTIPLE_TOKEN 4
struct commandArg { /* arrays end with name NULL */
    const char *name;
    enum commandArgType type;
    int key_spec; /* index + 1 of the key spec for ARG_KEY; 0: none */
    const char *token, *since, *deprecated_since, *summary;
    const char *display; /* how it is shown; NULL: by its name */
    unsigned flags;
    const struct commandArg *args;
};

/* Bits and their names; arrays end with name NULL. */
struct flagName {
    uint64_t flag;
    const char *name;
};
extern const struct flagName acl_categories[]; /* "@read" ... */

struct commandChange { /* what is new in a command since a version */
    const char *since, *what;
};

typedef void commandProc(struct client *c);
struct keyRef { /* one key of a command */
    int pos;
    unsigned flags;
};
/* For commands whose keys the specs do not tell exactly: those with options that may look like keywords, or
 * that decide what is done to a key. It stands beside the handler and reads the options with the handler's
 * own functions, so that what is declared is what is touched. -1: syntax error. */
typedef int commandGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc,
                           struct keyRef **keys);

/* The flags of this call, where they depend on the arguments: what a script says of itself (c->argv is set).
 */
typedef uint64_t commandFlagsOf(const struct client *c, uint64_t flags);

struct commandSpec {     /* arrays end with name NULL */
    const char *name;    /* lower case; of a subcommand without its container */
    const char *summary; /* our words */
    const char *complexity, *since, *group;
    const struct commandChange *history; /* ends with since NULL */
    const char *deprecated_since, *replaced_by;
    unsigned doc_flags; /* CMD_DOC_* */
    commandProc *proc;
    int arity; /* negative: at least; counts the name (and the container's) */
    uint64_t flags, acl;
    const char *const *tips; /* NULL-terminated, lower case */
    const struct keySpec *key_specs;
    int key_spec_count;
    commandGetKeys *getkeys;
    commandFlagsOf *flags_of;
    const struct commandArg *args;
    const struct commandSpec *subcommands;
    unsigned prefetch; /* PREFETCH_* : hints for the type's prefetch hook */
};
enum { CMD_DOC_DEPRECATED = 1, CMD_DOC_SYSCMD = 2 };
/* What a command will touch of its key's value. */
enum {
    PREFETCH_HEAD = 1,       /* the first elements */
    PREFETCH_TAIL = 2,       /* the last ones */
    PREFETCH_MEMBER = 4,     /* argv[2], looked up in the value's index */
    PREFETCH_NEW_MEMBER = 8, /* argv[3], likewise (argv[2] is its score) */
    PREFETCH_RANK = 16,      /* with MEMBER: and then its rank */
};

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
    struct histogram *latency; /* core/latency.h; NULL: not called yet */
};

/* ---- Registry ---- */
void commandRegister(const struct commandSpec *specs); /* panics on a duplicate */
struct serverCommand *commandLookup(const struct str *argv,
                                    int argc);                /* down to the subcommand; NULL: unknown */
struct serverCommand *commandLookupName(struct str fullname); /* "config|get" */
/* By the name that it had before rename-command: that of rules about users. */
struct serverCommand *commandLookupOriginal(struct str fullname);
/* Clients shall use the name `to` from now on; "": they have no name for it. False: *err says why not. */
bool commandRename(struct str name, struct str to, const char **err);
extern struct hashtable commands; /* of struct serverCommand, top level */
int commandCount(void);
static inline bool commandArityOk(const struct serverCommand *cmd, int argc) {
    int arity = cmd->spec->arity;
    return arity >= 0 ? argc == arity : argc >= -arity;
}
/* All keys of a command through its key specs: the one place. Returns the count (0: none) with *keys from
 * zmalloc (NULL when 0), -1 when the arguments do not parse. */
int commandGetKeyRefs(const struct serverCommand *cmd, const struct str *argv, int argc,
                      struct keyRef **keys);
/* For functions that find keys: adds argv[first], every step-th up to argv[last]; the new count. *keys is
 * NULL before the first. */
int keyRefsAdd(struct keyRef **keys, int count, int first, int last, int step, unsigned flags);
void commandResetStats(void);

/* ---- Call path ---- */
/* Checks (known, arity, auth, busy script, memory ...), then call. The client's argv is set. */
void commandProcess(struct client *c);
/* Reply the "unknown command/subcommand" error for c->argv. */
void commandReplyUnknown(struct client *c);
enum { CALL_STATS = 1, CALL_PROPAGATE = 2, CALL_FULL = 3 };
void commandCall(struct client *c, int flags);
/* A blocked command (c->cmd, c->argv) ends without being run again, after `ticks` of work: it counts now. An
 * error of its own is a failure; rejected: it was given another's. */
void commandCountUnblocked(struct client *c, uint64_t ticks, bool rejected);

/* Checks that other rooms add to commandProcess, run in order of registration. False: refused, an error has
 * been replied. */
typedef bool commandFilter(struct client *c, struct serverCommand *cmd);
void commandAddFilter(commandFilter *fn);
/* A filter that has no objection to anything, most of the time, says so (it starts without): it is not asked
 * then. Not from within a filter. */
void commandFilterIdle(commandFilter *fn, bool idle);
/* Only for commands with CMD_PROTECTED. */
void commandAddProtectedFilter(commandFilter *fn);

/* The flags that checks look at: CMD_WRITE, CMD_DENYOOM, CMD_STALE ... of the command that c is about to run.
 */
static inline uint64_t commandFlags(const struct client *c, const struct serverCommand *cmd) {
    return __builtin_expect(!cmd->spec->flags_of, 1) ? cmd->flags : cmd->spec->flags_of(c, cmd->flags);
}

/* The same for the commands that scripts call, which do not pass commandProcess: permissions, replicas that
 * are only read ... `c` is the script's client, with the rights and the database of its caller. */
void commandAddScriptFilter(commandFilter *fn);
bool commandScriptAllowed(struct client *c, struct serverCommand *cmd);

struct callStats {
    uint64_t processed, unexpected_errors;
    uint64_t ticks; /* spent in commands, those of scripts and transactions counted once */
};
extern struct callStats callstats;

void commandCoreInit(void); /* the empty registry; first of all */
void commandInit(void);     /* COMMAND and its subcommands (command_docs.c) */
