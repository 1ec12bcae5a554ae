/* SPDX-License-Identifier: BSD-3-Clause */
/* api_user.c - users for modules: users that a module creates (acl/acl_others.h), checks of rights, entries
 * of ACL LOG. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_others.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/client_session.h"
#include "command/command.h"
#include "module/api.h"
#include "module/parts.h"

#define KEY_USES (KEY_ACCESS | KEY_INSERT | KEY_DELETE | KEY_UPDATE)

/* ---- Users ---- */

static struct ValkeyModuleUser *apiUserNewHandle(struct aclUser *user, bool own) {
    struct ValkeyModuleUser *u = zmalloc(sizeof *u);
    *u = (struct ValkeyModuleUser){user, own};
    return u;
}

struct ValkeyModuleUser *vmCreateModuleUser(const char *name) {
    return apiUserNewHandle(aclModuleUserCreate(strOf(name)), true);
}

void vmFreeModuleUser(struct ValkeyModuleUser *user) {
    if (!user) return;
    if (user->own) aclModuleUserFree(user->user);
    zfree(user);
}

struct ValkeyModuleUser *vmGetModuleUserFromUserName(struct ValkeyModuleString *name) {
    struct aclUser *u = aclFindUser(stringText(name));
    return u ? apiUserNewHandle(u, false) : NULL;
}

int vmSetModuleUserACL(struct ValkeyModuleUser *user, const char *acl) {
    struct str rule = strOf(acl);
    return aclUserSetRules(user->user, &rule, 1, NULL) ? 0 : -1;
}

int vmSetModuleUserACLString(struct ValkeyModuleCtx *ctx, struct ValkeyModuleUser *user, const char *acl,
                             struct ValkeyModuleString **error) {
    (void)ctx;
    int count;
    sds why = NULL;
    sds *words = sdssplitlen(acl, strlen(acl), " ", 1, &count);
    struct str *rules = zmalloc((size_t)(count + 1) * sizeof *rules);
    for (int i = 0; i < count; i++) rules[i] = sdsview(words[i]);
    bool ok = aclUserSetRules(user->user, rules, count, &why);
    zfree(rules);
    sdsfreesplitres(words, count);
    if (why && error)
        *error = stringFromSds(why);
    else
        sdsfree(why);
    return ok ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
}

struct ValkeyModuleString *vmGetModuleUserACLString(struct ValkeyModuleUser *user) {
    return stringFromSds(aclUserText(user->user));
}

struct ValkeyModuleString *vmGetCurrentUserName(struct ValkeyModuleCtx *ctx) {
    if (!ctx || !ctx->client || !ctx->client->user) {
        errno = EINVAL;
        return NULL;
    }
    struct str name = client_users->name(ctx->client);
    return vmCreateString(ctx, name.ptr, name.len);
}

void vmSetContextUser(struct ValkeyModuleCtx *ctx, const struct ValkeyModuleUser *user) {
    ctx->user = user;
}

/* ---- Checks ---- */

/* Sets errno to `unknown` if the command does not exist. */
static int apiUserCheckCommand(struct ValkeyModuleUser *user, struct ValkeyModuleString **argv, int argc,
                               int db, int unknown, ValkeyModuleACLLogEntryReason *reason) {
    struct str *v = stringViews(argv, (size_t)(argc > 0 ? argc : 0));
    struct serverCommand *cmd = argc > 0 ? commandLookup(v, argc) : NULL;
    int arg;
    enum aclDenial denial = cmd ? aclUserMayRun(user->user, cmd, v, argc, db, &arg) : ACL_ALLOWED;
    zfree(v);
    if (cmd && !denial) return VALKEYMODULE_OK;
    if (denial && reason) *reason = (ValkeyModuleACLLogEntryReason)aclReasonNumber(denial);
    errno = denial ? EACCES : unknown;
    return VALKEYMODULE_ERR;
}

int vmACLCheckCommandPermissions(struct ValkeyModuleUser *user, struct ValkeyModuleString **argv, int argc) {
    return apiUserCheckCommand(user, argv, argc, -1, ENOENT, NULL);
}

int vmACLCheckPermissions(struct ValkeyModuleUser *user, struct ValkeyModuleString **argv, int argc, int dbid,
                          ValkeyModuleACLLogEntryReason *denial_reason) {
    if (!dbGet(dbid)) {
        errno = EINVAL;
        return VALKEYMODULE_ERR;
    }
    return apiUserCheckCommand(user, argv, argc, dbid, EINVAL, denial_reason);
}

static int apiUserResult(bool valid, bool allowed) {
    if (valid && allowed) return VALKEYMODULE_OK;
    errno = valid ? EACCES : EINVAL;
    return VALKEYMODULE_ERR;
}

int vmACLCheckKeyPermissions(struct ValkeyModuleUser *user, struct ValkeyModuleString *key, int flags) {
    bool valid = !((unsigned)flags & ~(unsigned)KEY_USES);
    return apiUserResult(valid, valid && aclUserMayUseKey(user->user, stringText(key), (unsigned)flags));
}

int vmACLCheckKeyPrefixPermissions(struct ValkeyModuleUser *user, const char *key, size_t len,
                                   unsigned int flags) {
    bool valid = !(flags & ~(unsigned)KEY_USES);
    return apiUserResult(valid, valid && aclUserMayUsePrefix(user->user, strN(key, len), flags));
}

int vmACLCheckChannelPermissions(struct ValkeyModuleUser *user, struct ValkeyModuleString *ch, int flags) {
    const int all = VALKEYMODULE_CMD_CHANNEL_PATTERN | VALKEYMODULE_CMD_CHANNEL_PUBLISH |
                    VALKEYMODULE_CMD_CHANNEL_SUBSCRIBE | VALKEYMODULE_CMD_CHANNEL_UNSUBSCRIBE;
    if (flags & ~all) {
        errno = EINVAL;
        return VALKEYMODULE_ERR;
    }
    if (flags & VALKEYMODULE_CMD_CHANNEL_UNSUBSCRIBE) return VALKEYMODULE_OK;
    bool allowed = aclUserMayUseChannel(user->user, stringText(ch), flags & VALKEYMODULE_CMD_CHANNEL_PATTERN);
    return allowed ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
}

/* ---- ACL LOG ---- */

static void apiUserAddLogEntry(struct ValkeyModuleCtx *ctx, struct str user,
                               struct ValkeyModuleString *object, ValkeyModuleACLLogEntryReason reason) {
    static const enum aclDenial denials[] = {
        [VALKEYMODULE_ACL_LOG_AUTH] = ACL_DENIED_AUTH, [VALKEYMODULE_ACL_LOG_CMD] = ACL_DENIED_COMMAND,
        [VALKEYMODULE_ACL_LOG_KEY] = ACL_DENIED_KEY,   [VALKEYMODULE_ACL_LOG_CHANNEL] = ACL_DENIED_CHANNEL,
        [VALKEYMODULE_ACL_LOG_DB] = ACL_DENIED_DB,
    };
    if ((unsigned)reason >= sizeof denials / sizeof *denials) return;
    aclNoteOther(contextClient(ctx), denials[reason], user, stringText(object));
}

void vmACLAddLogEntry(struct ValkeyModuleCtx *ctx, struct ValkeyModuleUser *user,
                      struct ValkeyModuleString *object, ValkeyModuleACLLogEntryReason reason) {
    apiUserAddLogEntry(ctx, aclUserNameOf(user->user), object, reason);
}

void vmACLAddLogEntryByUserName(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString *user,
                                struct ValkeyModuleString *object, ValkeyModuleACLLogEntryReason reason) {
    apiUserAddLogEntry(ctx, stringText(user), object, reason);
}
