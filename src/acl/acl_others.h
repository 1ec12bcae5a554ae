/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_others.h - users in no table, and checks that no request causes: for modules. */
#pragma once

#include <stdbool.h>

#include "acl/acl.h"

/* Creates a module's own user: off, without rights; nobody can log in as it. */
struct aclUser *aclModuleUserCreate(struct str name);
/* Frees it and closes its clients. */
void aclModuleUserFree(struct aclUser *u);

/* Applies rules as ACL SETUSER does: all, or none with *err (the caller's; may be NULL) and errno. */
bool aclUserSetRules(struct aclUser *u, const struct str *rules, int count, sds *err);
sds aclUserText(const struct aclUser *u); /* its rules, as ACL LIST shows them; the caller frees them */
struct str aclUserNameOf(const struct aclUser *u);

/* Returns whether the user may run this command in that database (-1: an unknown one). *arg: the argument
 * that it may not use; 0: none. */
enum aclDenial aclUserMayRun(struct aclUser *u, struct serverCommand *cmd, const struct str *argv, int argc,
                             int db, int *arg);
/* Return whether the user may access the key, or all keys with a prefix, as these flags say (KEY_ACCESS,
 * _INSERT, _DELETE, _UPDATE; none: in some way). */
bool aclUserMayUseKey(struct aclUser *u, struct str key, unsigned key_flags);
bool aclUserMayUsePrefix(const struct aclUser *u, struct str prefix, unsigned key_flags);
bool aclUserMayUseChannel(const struct aclUser *u, struct str channel, bool is_pattern);

/* Adds a line to ACL LOG. */
void aclNoteOther(struct client *c, enum aclDenial reason, struct str user, struct str object);
