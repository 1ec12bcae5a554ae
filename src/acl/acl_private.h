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
    SELECTOR_ALL_COMMANDS = 1 << 0, /* all bits are set, too */
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
    int *dbs; /* sorted */
    int db_count;
};

/* Reasons why a rule is refused. */
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

struct aclSelector *aclSelectorCreate(void); /* grants only what acl-pubsub-default says, and alldbs */
struct aclSelector *aclSelectorCopy(const struct aclSelector *s);
void aclSelectorFree(struct aclSelector *s);
enum aclError aclSelectorApply(struct aclSelector *s, struct str rule);
void aclSelectorRefresh(struct aclSelector *s); /* after commands or their categories have changed */
/* Returns the rule about this command or one of its subcommands, which the caller frees; NULL: none. */
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
    struct aclSelector **selectors; /* the first is the root selector */
    int selector_count;
};

extern struct rax acl_users; /* name -> struct aclUser */

struct aclUser *aclUserCreate(struct str name); /* in no table */
struct aclUser *aclUserCreateDefault(void);     /* has all rights; called "default" */
void aclUserFree(struct aclUser *u);
struct aclUser *aclUserCopy(const struct aclUser *u);
/* `to` becomes what `from` is, except for its name; `from` is freed. */
void aclUserReplace(struct aclUser *to, struct aclUser *from);
/* Users in no table, whose rules are updated like those in the table. */
void aclUnlistedAdd(struct aclUser *u);
void aclUnlistedRemove(struct aclUser *u);
enum aclError aclUserApply(struct aclUser *u, struct str rule);
sds aclUserCat(const struct aclUser *u, sds text); /* appends the rules, as in ACL LIST behind the name */
bool aclNameIsValid(struct str name);
/* Returns whether s contains a blank or a newline, which would split a name or a rule in a file of users. */
bool aclHasBlanks(struct str s);
/* Joins the words of each (...) into one rule. NULL: *bad is the word with an opening parenthesis that is not
 * closed. Free with sdsfreesplitres. */
sds *aclMergeRules(const struct str *words, int count, int *merged, int *bad);
/* Takes all rights from the clients of a deleted user and closes them. Returns true when `self` (may be NULL)
 * is one of them; it is left open for its reply. */
bool aclKillClients(const struct aclUser *u, const struct client *self);
/* Closes clients of u with subscriptions that `now` does not allow, when `now` lacks a pattern that u has. */
void aclKillSubscribers(const struct aclUser *u, const struct aclUser *now);
void aclUsersInit(void);

/* ---- Checks (acl_check.c) ---- */

/* Checks a request on behalf of this user. *arg: the argument that was denied, for a key or channel. */
enum aclDenial aclCheck(struct aclUser *u, const struct request *r, int db, int *arg);
/* Returns "User bob has no permissions to ..."; what: the argument to name; NULL: none. */
sds aclDenialText(const struct aclUser *u, const struct serverCommand *cmd, enum aclDenial denial,
                  const struct str *what);
unsigned aclAccessOf(unsigned key_flags); /* ACL_PATTERN_* that this use of a key needs */
bool aclChannelAllowed(const struct aclUser *u, struct str channel, bool is_pattern);

/* ---- ACL LOG (acl_log.c) ---- */

void aclLogAdd(struct client *c, enum aclDenial denial, enum aclContext context, struct str user,
               struct str object);
void aclLogInit(void);

/* ---- Files (acl_file.c) ---- */

/* Returns whether aclfile is set. */
bool aclHasFile(void);
/* Loads the file, all or nothing. Returns NULL, or an error text. *killed: the user of `self` (may be NULL)
 * is gone, as in aclKillClients. */
sds aclFileLoad(const struct client *self, bool *killed);
bool aclFileSave(void); /* returns false with errno on errors */
void aclFileInit(void);
