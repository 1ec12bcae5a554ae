/* SPDX-License-Identifier: BSD-3-Clause */
/* acl.h - users, and what each of them may do.
 *
 *     rules:   on >secret ~app:* %R~conf &news.* db=0,1 +@read +set -keys (+@all ~tmp:*)
 *
 *     user ──▶ passwords, on/off
 *         └──▶ selectors: the root one, then one for each (...)
 *                  commands: a bit for each, by serverCommand.id    a command is allowed when one selector
 *                  keys, channels: patterns (acl_patterns.h)        allows all of it: itself, its keys, its
 *                  databases: numbers                               channels, its databases
 *
 * Files: acl_selector.c (what a selector grants, its rules and their text), acl_user.c (users, the table of
 * them, their rules and text), acl_check.c (may this command run?), acl_log.c (ACL LOG), acl_file.c (the
 * `user` directive and `aclfile`), acl_commands.c (ACL), client_auth.c (AUTH). What they share is in
 * acl_private.h.
 *
 * While all users may do everything, and need no password, no command is checked (client_auth.c). A user that
 * may do everything costs one branch beside others who may not. What another user was allowed is remembered
 * (struct aclMemo), so that the same command is allowed again, for keys that begin alike, with a few
 * comparisons.
 *
 * Invariant: no request is admitted (RULE_ACL of command/admission.h) that the user's rules, as they are when
 * it runs, do not allow: a memo says yes only where they do. */
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

/* A verdict: `cmd` may run in `db`, when its key begins like this. */
struct aclMemo {
    const struct serverCommand *cmd; /* NULL: none */
    int db;                          /* ACL_MEMO_ANY_DB: in all */
    int key_pos;                     /* 0: whatever its keys are */
    uint64_t mask, start;            /* of the first 8 bytes of the key */
    struct str begin;                /* all of the beginning: a view of the rule's text */
};
#define ACL_MEMO_ANY_DB (-1)
#define ACL_MEMOS       16 /* by the last bits of the command's id */

struct aclUserHead {                 /* what every struct aclUser starts with */
    bool unlimited;                  /* some selector grants everything */
    struct aclMemo memos[ACL_MEMOS]; /* forgotten when a rule changes */
};
struct aclUser;

/* May a client do everything? One without a user (the server's own) may. */
static inline bool aclUnlimited(const struct client *c) {
    return !c->user || ((const struct aclUserHead *)c->user)->unlimited;
}

enum aclDenial { /* in the order in which they are looked for */
                 ACL_ALLOWED,
                 ACL_DENIED_DB,
                 ACL_DENIED_COMMAND,
                 ACL_DENIED_KEY,
                 ACL_DENIED_CHANNEL,
                 ACL_DENIED_AUTH,
                 ACL_DENIED_CERTIFICATE
};
/* The order in which modules number them: authentication, command, key, channel, database. */
static inline int aclReasonNumber(enum aclDenial denial) {
    return denial == ACL_DENIED_COMMAND   ? 1
           : denial == ACL_DENIED_KEY     ? 2
           : denial == ACL_DENIED_CHANNEL ? 3
           : denial == ACL_DENIED_DB      ? 4
                                          : 0;
}
enum aclContext {
    ACL_TOPLEVEL, /* a client sent it, perhaps in MULTI */
    ACL_EXEC,     /* it was queued, and runs now */
    ACL_SCRIPT,
    ACL_WITHIN_SCRIPT, /* a module's call, while a script runs */
    ACL_MODULE,        /* a module asks, or calls it */
};

/* The rule of some user that names this command, or a subcommand of it ("config", "+config|get"); NULL: there
 * is none. The caller's. */
sds aclRuleAbout(struct str command);

/* The request is about to run: may it? If not, the error is replied, counted, and noted in ACL LOG. */
bool aclRefuses(struct client *c, const struct request *r, enum aclContext context);
/* The same of any request, without a trace. */
bool aclMayRun(const struct client *c, const struct request *r);
/* The database that c's command will work on: in MULTI, where the queued commands lead to. */
static inline int aclDbOf(const struct client *c) {
    bool queues = (c->flags & (CLIENT_MULTI | CLIENT_IN_EXEC)) == CLIENT_MULTI;
    return queues ? multiDb(c) : c->db->id;
}
/* A shorter key than the 8 bytes that are compared, or than the beginning, is not remembered. */
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
    if (aclUnlimited(c)) return true;
    const struct aclUserHead *u = (const struct aclUserHead *)c->user;
    if (!aclMemoFits(&u->memos[(unsigned)r->cmd->id % ACL_MEMOS], c, r)) return !aclRefuses(c, r, context);
    debugAssert(aclMayRun(c, r));
    return true;
}
/* c's running command reads keys that it does not name: may it read all keys? */
bool aclMayReadAllKeys(const struct client *c);

/* ---- Users ---- */
struct aclUser *aclFindUser(struct str name); /* NULL: none */
struct aclUser *aclDefaultUser(void);         /* always the same one */
struct str aclUserName(const struct client *c);
bool aclUserHasPassword(const struct aclUser *u); /* cannot come in without one */
bool aclUserIsOn(const struct aclUser *u);
/* Right password (in time that tells nothing about it), and the user is on? */
bool aclUserAccepts(const struct aclUser *u, struct str password);
/* The one password of the default user, or none when `password` is empty (`requirepass`). */
void aclSetDefaultPassword(struct str password);
/* A login failed: count it, and note it in ACL LOG under this name. */
void aclNoteFailedAuth(struct client *c, struct str user);
/* The same for a user that a TLS certificate names. */
void aclNoteFailedCertificate(struct client *c, struct str user);

bool aclHasLimits(void); /* is there a user that may not do everything? */
void aclInit(void);      /* directives, INFO fields, the default user */
void aclStart(void);     /* after the configuration: its users or the file; exits(1) on errors */
