/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_private.h - what the acl_*.c files share. */
#pragma once

#include "acl/acl.h"
#include "acl/acl_patterns.h"
#include "base/sha256.h"
#include "ds/rax.h"

/* ---- Selectors (acl_selector.c) ---- */

#define ACL_COMMANDS_MAX COMMAND_IDS_MAX

enum {
    SELECTOR_ALL_COMMANDS = 1 << 0, /* besides, all bits are set */
    SELECTOR_ALL_KEYS = 1 << 1,
    SELECTOR_ALL_CHANNELS = 1 << 2,
    SELECTOR_ALL_DBS = 1 << 3,
    SELECTOR_EVERYTHING = (1 << 4) - 1,
};

/* `+select|0`: a command that is allowed with this first argument only. */
struct aclFirstArg {
    int id;
    sds arg;
};

struct aclSelector {
    unsigned flags;
    uint64_t allowed[ACL_COMMANDS_MAX / 64];
    struct aclFirstArg *first_args;
    int first_arg_count;
    sds commands; /* the rules about commands as ACL LIST shows them: "-@all +@read -get" */
    struct aclPatterns keys, channels;
    int *dbs; /* in order */
    int db_count;
};

/* Why a rule is refused. */
enum aclError {
    ACL_OK,
    ACL_ERR_SYNTAX,
    ACL_ERR_UNKNOWN_COMMAND, /* or category */
    ACL_ERR_FIRST_ARG_OF_SUBCOMMAND,
    ACL_ERR_PATTERN_AFTER_ALL,
    ACL_ERR_CHANNEL_AFTER_ALL,
    ACL_ERR_DB_RANGE,
    ACL_ERR_NO_SUCH_PASSWORD,
    ACL_ERR_BAD_HASH,
};
const char *aclErrorText(enum aclError error);

struct aclSelector *aclSelectorCreate(void); /* grants nothing but what acl-pubsub-default says, and alldbs */
struct aclSelector *aclSelectorCopy(const struct aclSelector *s);
void aclSelectorFree(struct aclSelector *s);
enum aclError aclSelectorApply(struct aclSelector *s, struct str rule);
void aclSelectorRefresh(struct aclSelector *s); /* commands have come or gone, or changed their categories */
/* The rule about this command, or one of its subcommands; NULL: there is none. The caller's. */
sds aclSelectorRuleAbout(const struct aclSelector *s, struct str command);
static inline bool aclSelectorHasCommand(const struct aclSelector *s, int id) {
    return s->allowed[id / 64] >> (id % 64) & 1;
}
bool aclSelectorHasDb(const struct aclSelector *s, int64_t db);
sds aclSelectorCatKeys(const struct aclSelector *s, sds text); /* "~* ", "~a %R~b" */
sds aclSelectorCatChannels(const struct aclSelector *s, sds text);
sds aclSelectorCatDbs(const struct aclSelector *s, sds text); /* "alldbs", "db=0,1", "" */
sds aclSelectorCat(const struct aclSelector *s, sds text);    /* all of it, as in ACL LIST */
extern int acl_pubsub_default;                                /* SELECTOR_ALL_CHANNELS or 0 */

/* ---- Users (acl_user.c) ---- */

enum { USER_ON = 1, USER_NOPASS = 2 };

struct aclUser {
    struct aclUserHead head;
    unsigned flags;
    sds name;
    sds *passwords; /* SHA-256, as hex */
    int password_count;
    struct aclSelector **selectors; /* the first is the root */
    int selector_count;
};

extern struct rax acl_users; /* name -> struct aclUser */

struct aclUser *aclUserCreate(struct str name); /* in no table */
struct aclUser *aclUserCreateDefault(void);     /* one that may do everything, called "default" */
void aclUserFree(struct aclUser *u);
struct aclUser *aclUserCopy(const struct aclUser *u);
/* `to` becomes what `from` is, but for its name; `from` is freed. */
void aclUserReplace(struct aclUser *to, struct aclUser *from);
/* Users in no table, whose rules are kept up to date all the same. */
void aclUnlistedAdd(struct aclUser *u);
void aclUnlistedRemove(struct aclUser *u);
enum aclError aclUserApply(struct aclUser *u, struct str rule);
sds aclUserCat(const struct aclUser *u, sds text); /* the rules, as in ACL LIST behind the name */
bool aclNameIsValid(struct str name);
/* A name or a rule with one of these would be two words, or two lines, of a file of users. */
bool aclHasBlanks(struct str s);
/* Joins the words of each (...) into one rule. NULL: *bad is the word where one opens that is not closed.
 * Free with sdsfreesplitres. */
sds *aclMergeRules(const struct str *words, int count, int *merged, int *bad);
/* The user is gone: its clients are stripped of all rights and closed. True: so is `self` (may be NULL), but
 * it is left open for a reply. */
bool aclKillClients(const struct aclUser *u, const struct client *self);
/* Closes clients of u with subscriptions that `now` does not allow, when `now` lacks a pattern that u has. */
void aclKillSubscribers(const struct aclUser *u, const struct aclUser *now);
void aclUsersInit(void);

/* ---- Checks (acl_check.c) ---- */

/* In this user's name. *arg: the argument that was denied, when it is about one. */
enum aclDenial aclCheck(struct aclUser *u, const struct request *r, int db, int *arg);
/* "User bob has no permissions to ..."; what: the argument to name (0: the command); NULL: names none. */
sds aclDenialText(const struct aclUser *u, const struct serverCommand *cmd, enum aclDenial denial,
                  const struct str *what);
unsigned aclAccessOf(unsigned key_flags); /* ACL_PATTERN_* that this use of a key needs */
bool aclChannelAllowed(const struct aclUser *u, struct str channel, bool is_pattern);

/* ---- ACL LOG (acl_log.c) ---- */

void aclLogAdd(struct client *c, enum aclDenial denial, enum aclContext context, struct str user,
               struct str object);
void aclLogInit(void);

/* ---- Files (acl_file.c) ---- */

/* aclfile is set? */
bool aclHasFile(void);
/* All or nothing; NULL, or what is wrong. *killed: the user of `self` (may be NULL) is gone, as in
 * aclKillClients. */
sds aclFileLoad(const struct client *self, bool *killed);
bool aclFileSave(void); /* false and errno */
void aclFileInit(void);
