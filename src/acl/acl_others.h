/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_others.h - users that are in no table, and questions about users that no request asks: for modules. */
#pragma once

#include <stdbool.h>

#include "acl/acl.h"

/* A user of somebody's own: off, without rights; nobody can log in as it. */
struct aclUser *aclOwnUserCreate(struct str name);
/* Its clients are closed. */
void aclOwnUserFree(struct aclUser *u);

/* Applies rules as ACL SETUSER does: all, or none, and *err (may be NULL; the caller's) says why. Then errno
 * is set, too. */
bool aclUserSetRules(struct aclUser *u, const struct str *rules, int count, sds *err);
sds aclUserText(const struct aclUser *u); /* its rules, as ACL LIST shows them; the caller's */
struct str aclUserNameOf(const struct aclUser *u);

/* May it run this command in that database (-1: in some, which one is not known)? *arg: which argument it may
 * not use; 0: none. */
enum aclDenial aclUserMayRun(struct aclUser *u, struct serverCommand *cmd, const struct str *argv, int argc,
                             int db, int *arg);
/* May it do to the key what these flags say (KEY_ACCESS, _INSERT, _DELETE, _UPDATE; none: something)? Or to
 * all keys that begin like this. */
bool aclUserMayUseKey(struct aclUser *u, struct str key, unsigned key_flags);
bool aclUserMayUsePrefix(const struct aclUser *u, struct str prefix, unsigned key_flags);
bool aclUserMayUseChannel(const struct aclUser *u, struct str channel, bool is_pattern);

/* A line in ACL LOG. */
void aclNoteOther(struct client *c, enum aclDenial reason, struct str user, struct str object);
