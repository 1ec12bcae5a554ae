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
    ACL_ERR_NO_SUCH_ROLE,
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

/* ---- Rules of a user or of a role (acl_rules.c) ---- */

struct aclRules {
    struct aclSelector **selectors; /* the first is the root selector; (...) adds one */
    int count;
};

void aclRulesInit(struct aclRules *r); /* grants what aclSelectorCreate grants */
void aclRulesFree(struct aclRules *r);
struct aclRules aclRulesCopy(const struct aclRules *r);
enum aclError aclRulesApply(struct aclRules *r, struct str rule);
/* Applies rules up to the first that is refused, whose index is *failed. */
enum aclError aclRulesApplyAll(struct aclRules *r, const sds *rules, int count, int *failed);
void aclRulesRefresh(struct aclRules *r);                        /* as aclSelectorRefresh */
sds aclRulesCat(const struct aclRules *r, sds text);             /* as in ACL LIST */
sds aclRulesAbout(const struct aclRules *r, struct str command); /* as aclSelectorRuleAbout */
/* Joins the words of each (...) into one rule. NULL: *bad is the word with an opening parenthesis that is not
 * closed. Free with sdsfreesplitres. */
sds *aclRulesMerge(const struct str *words, int count, int *merged, int *bad);

/* ---- Roles (acl_role.c) ---- */

struct aclRole {
    sds name;
    struct aclRules rules;
    int user_count; /* users that have it, listed or not */
};
struct aclUser;

extern struct rax acl_roles; /* name -> struct aclRole */

#define ACL_BAD_ROLE_NAME                                                                                    \
    "Role names can't be empty and can only contain printable ASCII characters, excluding commas, quotes "   \
    "and backslashes"
#define ACL_DUPLICATE_ROLE    "Duplicate role found. A role can only be defined once in config files"
#define ACL_ROLE_WITHOUT_NAME "A line of a role requires a role name"
bool aclRoleNameIsValid(struct str name);
struct aclRole *aclFindRole(struct str name);   /* NULL: unknown */
struct aclRole *aclRoleCreate(struct str name); /* in no table */
void aclRoleFree(struct aclRole *role);         /* no user may have it */
/* Replaces the rules of a role, also for its users and their clients. `next` belongs to the role then. */
void aclRoleSetRules(struct aclRole *role, struct aclRules next);
/* Calls fn with a line for each role, in order of names: `before`, the name and the rules. fn does not keep
 * the line. */
void aclForEachRoleLine(const char *before, void (*fn)(void *priv, sds line), void *priv);
void aclRolesRefresh(void);                /* as aclRulesRefresh; their users have to be compiled */
sds aclRolesRuleAbout(struct str command); /* as aclRulesAbout, in any role */

bool aclUserHasRole(const struct aclUser *u, const struct aclRole *role);
/* These three need an aclUserCompile afterwards. */
void aclUserAddRole(struct aclUser *u, struct aclRole *role);
void aclUserDropRoles(struct aclUser *u);
enum aclError aclUserApplyRoles(struct aclUser *u, struct str list); /* "a,b" become its only roles */
sds aclUserCatRoles(const struct aclUser *u, sds text);              /* "a,b" */

/* ---- Users (acl_user.c) ---- */

enum { USER_ON = 1, USER_NOPASS = 2 };

struct aclUser {
    struct aclUserHead head;
    unsigned flags;
    sds name;
    sds *passwords; /* SHA-256, as hex */
    int password_count;
    struct aclRules rules;
    struct aclRole **roles; /* in the order of role= */
    int role_count;
    struct aclSelector **grants; /* derived: the selectors of its rules, then those of its roles */
    int grant_count;
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
/* Calls fn for each user of the table, in order of names, then for the unlisted ones, until it returns false.
 */
void aclForEachUser(bool (*fn)(void *priv, struct aclUser *u), void *priv);
/* Applies rules up to the first that is refused, whose index is *failed. */
enum aclError aclUserApplyAll(struct aclUser *u, const sds *rules, int count, int *failed);
/* Updates what is derived from the rules of the user and of its roles, after these have changed. */
void aclUserCompile(struct aclUser *u);
/* After ACL LOAD: replaces each role of an unlisted user by the present one of its name. */
void aclUnlistedRenewRoles(void);
sds aclUserCat(const struct aclUser *u, sds text); /* appends the rules, as in ACL LIST behind the name */
/* As aclForEachRoleLine, for the users of the table. */
void aclForEachUserLine(const char *before, void (*fn)(void *priv, sds line), void *priv);
bool aclNameIsValid(struct str name);
/* Returns whether s contains a blank or a newline, which would split a name or a rule in a file of users. */
bool aclHasBlanks(struct str s);
/* Takes all rights from a client whose user is deleted and closes it. Returns true when it is `self` (may be
 * NULL), which is left open for its reply. */
bool aclKillClient(struct client *c, const struct client *self);
/* As aclKillClient, for all clients of the user. */
bool aclKillClients(const struct aclUser *u, const struct client *self);
/* Returns whether the client's user is in this table, and not one of the same name. */
bool aclClientIsOf(const struct client *c, const struct rax *users);
/* Closes a client that has a subscription which u does not allow. */
void aclKillSubscriber(struct client *c, const struct aclUser *u);
/* Closes clients of u with subscriptions that `now` does not allow, when `now` lacks a pattern that u has. */
void aclKillSubscribers(const struct aclUser *u, const struct aclUser *now);
/* Closes clients whose user has the role and does not allow their subscriptions. */
void aclKillRoleSubscribers(const struct aclRole *role);
/* Returns whether u has a channel pattern that `now` does not have. */
bool aclUserLacksChannels(const struct aclUser *u, const struct aclUser *now);
/* Returns whether the selectors `a` have a channel pattern that `b` do not have. */
bool aclLacksChannels(struct aclSelector *const *a, int a_count, struct aclSelector *const *b, int b_count);
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

/* ---- ACL (acl_commands.c) ---- */

/* Replies the four fields that ACL GETUSER shows of a selector. */
#define ACL_SELECTOR_FIELDS 4
void aclReplySelector(struct client *c, const struct aclSelector *s);
/* Replies the field "selectors": all but the root one. */
void aclReplySelectors(struct client *c, const struct aclRules *r);
/* Logs a change as a printable line, which it frees. */
void aclLogChange(struct client *c, sds line);
/* Merges the rules of a request, as aclRulesMerge. NULL: an error has been replied. */
sds *aclReadRules(struct client *c, int from, int *count);
/* Replies that a rule of this subcommand (SETUSER, SETROLE) is refused. */
void aclReplyRuleError(struct client *c, const char *subcommand, sds rule, enum aclError error);
/* Replies all names of a table. */
void aclReplyNames(struct client *c, struct rax *table);

/* ---- Files (acl_file.c) ---- */

/* Returns whether aclfile is set. */
bool aclHasFile(void);
/* Creates a user, in no table, with the rules up to the first that is refused, whose index is *failed. */
/* Loads the file, all or nothing. Returns NULL, or an error text. *killed: the user of `self` (may be NULL)
 * is gone, as in aclKillClients. */
sds aclFileLoad(const struct client *self, bool *killed);
bool aclFileSave(void); /* returns false with errno on errors */
void aclFileInit(void);

/* ---- The configuration (acl_config.c) ---- */

void aclConfigInit(void);
