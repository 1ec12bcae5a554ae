/* SPDX-License-Identifier: BSD-3-Clause */
/* acl.h - users, and what each of them may do.
 *
 *     rules:   on >secret ~app:* %R~conf &news.* db=0,1 +@read +set -keys (+@all ~tmp:*) role=a,b
 *
 *     user ──▶ passwords, on/off
 *         ├──▶ selectors: the root one, then one for each (...)
 *         │        commands: a bit for each, by serverCommand.id    a command is allowed when one selector
 *         │        keys, channels: patterns (acl_patterns.h)        allows all of it: itself, its keys, its
 *         │        databases: numbers                               channels, its databases
 *         └──▶ roles ──▶ selectors, which count as if they were the user's own
 *
 * Files: acl_selector.c (what a selector grants, its rules and their text), acl_rules.c (several selectors),
 * acl_role.c (roles), acl_user.c (users, the table of them, their rules and text), acl_check.c (may this
 * command run?), acl_log.c (ACL LOG), acl_file.c (`aclfile`), acl_declared.c (lines of the configuration),
 * acl_commands.c and acl_role_commands.c (ACL), client_auth.c (AUTH). They share acl_private.h.
 *
 * While all users may do everything and need no password, no command is checked (client_auth.c). Otherwise a
 * user with all rights costs one branch. Permissions of other users are cached (struct aclMemo), so that
 * allowing the same command again, for keys with the same prefix, takes a few comparisons.
 *
 * Invariant: no request is admitted (RULE_ACL of command/admission.h) that the user's rules, as they are when
 * it runs, do not allow: a memo only allows what the rules allow. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/sds.h"
#include "base/str.h"
#include "client/client.h"
#include "command/command.h"
#include "command/multi.h"
#include "command/request.h"
#include "data/keyspace/db.h"

/* A cached permission: `cmd` may run in `db` when its key begins with `begin`. */
struct aclMemo {
    const struct serverCommand *cmd; /* NULL: none */
    int db;                          /* ACL_MEMO_ANY_DB: any database */
    int key_pos;                     /* 0: any keys */
    uint64_t mask, start;            /* compared with the first 8 bytes of the key */
    struct str begin;                /* the whole prefix: a view of the rule's text */
};
#define ACL_MEMO_ANY_DB (-1)
#define ACL_MEMOS       16 /* indexed by the low bits of the command's id */

struct aclUserHead {                 /* The start of every struct aclUser. */
    bool unlimited;                  /* some selector grants everything */
    struct aclMemo memos[ACL_MEMOS]; /* cleared when a rule changes */
};
struct aclUser;

/* Returns whether a client may do everything. One without a user (the server's own) may. */
static inline bool aclIsUnlimited(const struct client *c) {
    return !c->user || ((const struct aclUserHead *)c->user)->unlimited;
}

enum aclDenial { /* in the order of the checks */
                 ACL_ALLOWED,
                 ACL_DENIED_DB,
                 ACL_DENIED_COMMAND,
                 ACL_DENIED_KEY,
                 ACL_DENIED_CHANNEL,
                 ACL_DENIED_AUTH,
                 ACL_DENIED_CERTIFICATE
};
/* Modules' number of a reason: authentication, command, key, channel, database. */
static inline int aclReasonNumber(enum aclDenial denial) {
    return denial == ACL_DENIED_COMMAND   ? 1
           : denial == ACL_DENIED_KEY     ? 2
           : denial == ACL_DENIED_CHANNEL ? 3
           : denial == ACL_DENIED_DB      ? 4
                                          : 0;
}
enum aclContext {
    ACL_TOPLEVEL, /* sent by a client, perhaps in MULTI */
    ACL_EXEC,     /* queued before, runs now */
    ACL_SCRIPT,
    ACL_WITHIN_SCRIPT, /* a module's call, while a script runs */
    ACL_MODULE,        /* checked or called by a module */
};

/* Returns the rule of some user or role that names this command, or a subcommand of it ("config",
 * "+config|get"), which the caller frees; NULL: there is none. */
sds aclRuleAbout(struct str command);

/* Checks a request that is about to run. A denial is replied, counted, and added to ACL LOG. */
bool aclRefuses(struct client *c, const struct request *r, enum aclContext context);
/* Checks any request without these effects. */
bool aclMayRun(const struct client *c, const struct request *r);
/* The database that c's command will work on: in MULTI the one that the queued commands select. */
static inline int aclDbOf(const struct client *c) {
    bool queues = (c->flags & (CLIENT_MULTI | CLIENT_IN_EXEC)) == CLIENT_MULTI;
    return queues ? multiSelectedDb(c) : c->db->id;
}
/* Keys that are shorter than the 8 bytes that are compared, or than the prefix, never fit. */
static inline bool aclMemoFits(const struct aclMemo *m, const struct client *c, const struct request *r) {
    if (m->cmd != r->cmd || (m->db != ACL_MEMO_ANY_DB && m->db != aclDbOf(c))) return false;
    if (!m->key_pos) return true;
    if (m->key_pos >= r->argc) return false;
    struct str key = r->argv[m->key_pos];
    uint64_t first;
    if (key.len < sizeof first || key.len < m->begin.len) return false;
    memcpy(&first, key.ptr, sizeof first);
    if ((first & m->mask) != m->start) return false;
    return m->begin.len <= sizeof first || memcmp(key.ptr, m->begin.ptr, m->begin.len) == 0;
}
static inline bool aclAllows(struct client *c, const struct request *r, enum aclContext context) {
    if (aclIsUnlimited(c)) return true;
    const struct aclUserHead *u = (const struct aclUserHead *)c->user;
    if (!aclMemoFits(&u->memos[(unsigned)r->cmd->id % ACL_MEMOS], c, r)) return !aclRefuses(c, r, context);
    debugAssert(aclMayRun(c, r));
    return true;
}
/* Whether c may surely do so; writes nothing, so any thread may ask while no rules change. */
static inline bool aclAllowsSurely(const struct client *c, const struct request *r) {
    if (aclIsUnlimited(c)) return true;
    const struct aclUserHead *u = (const struct aclUserHead *)c->user;
    return aclMemoFits(&u->memos[(unsigned)r->cmd->id % ACL_MEMOS], c, r);
}
/* For a running command of c that reads keys it does not name: may c read all keys? */
bool aclMayReadAllKeys(const struct client *c);

/* ---- Users ---- */
struct aclUser *aclFindUser(struct str name); /* NULL: unknown */
struct aclUser *aclDefaultUser(void);         /* always the same one */
struct str aclUserName(const struct client *c);
bool aclUserHasPassword(const struct aclUser *u); /* needs one to log in */
bool aclUserIsOn(const struct aclUser *u);
/* Returns whether the password is right (in constant time) and the user is on. */
bool aclUserAccepts(const struct aclUser *u, struct str password);
/* Sets the only password of the default user, or none when `password` is empty (`requirepass`). */
void aclSetDefaultPassword(struct str password);
/* Counts a failed login and adds it to ACL LOG with this name. */
void aclNoteFailedAuth(struct client *c, struct str user);
/* As aclNoteFailedAuth, for a user that a TLS certificate names. */
void aclNoteFailedCertificate(struct client *c, struct str user);

bool aclHasLimits(void); /* is there a user that may not do everything? */
void aclInit(void);      /* directives, INFO fields, the default user */
void aclStart(void);     /* after the configuration: loads users from it or the file; exits(1) on errors */
