/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_role_commands.c - ACL SETROLE, DELROLE, GETROLE, ROLES. Part of acl.h. */
#include "acl/acl_private.h"
#include "acl/client_auth.h"
#include "client/reply.h"
#include "commands/cmd_acl.h"

void aclRolesCommand(struct client *c) {
    aclReplyNames(c, &acl_roles);
}

/* ---- SETROLE ---- */

static void aclLogSetrole(struct client *c, struct str name, const sds *rules, int count) {
    sds line = sdscatstr(sdsnew("ACL SETROLE "), name);
    for (int i = 0; i < count; i++) line = sdscatstr(sdscat(line, " "), sdsview(rules[i]));
    aclLogChange(c, line);
}

static void aclSetRoleTo(struct client *c, struct str name, const sds *rules, int count) {
    struct aclRole *role = aclFindRole(name);
    struct aclRules next;
    int failed;
    if (role)
        next = aclRulesCopy(&role->rules);
    else
        aclRulesInit(&next);
    enum aclError error = aclRulesApplyAll(&next, rules, count, &failed);
    if (error) {
        aclReplyRuleError(c, "SETROLE", rules[failed], error);
        aclRulesFree(&next);
        return;
    }
    if (!role) {
        role = aclRoleCreate(name);
        raxInsert(&acl_roles, name, role, NULL);
    }
    aclRoleSetRules(role, next);
    authUsersChanged();
    aclLogSetrole(c, name, rules, count);
    replyOk(c);
}

void aclSetroleCommand(struct client *c) {
    int count;
    if (!aclRoleNameIsValid(c->argv[2])) {
        replyError(c, "ERR " ACL_BAD_ROLE_NAME);
        return;
    }
    sds *rules = aclReadRules(c, 3, &count);
    if (!rules) return;
    aclSetRoleTo(c, c->argv[2], rules, count);
    sdsfreesplitres(rules, count);
}

/* ---- DELROLE ---- */

void aclDelroleCommand(struct client *c) {
    for (int i = 2; i < c->argc; i++) {
        const struct aclRole *role = aclFindRole(c->argv[i]);
        if (!role || !role->user_count) continue;
        replyErrorFmt(c, "ERR Role '%s' is assigned to one or more users. Remove it from them first.",
                      role->name);
        return;
    }
    int64_t deleted = 0;
    for (int i = 2; i < c->argc; i++) {
        void *role;
        if (!raxRemove(&acl_roles, c->argv[i], &role)) continue;
        aclRoleFree(role);
        aclLogChange(c, sdscatstr(sdsnew("ACL DELROLE "), c->argv[i]));
        deleted++;
    }
    replyLongLong(c, deleted);
}

/* ---- GETROLE ---- */

static void aclReplyUsersOf(struct client *c, const struct aclRole *role) {
    int64_t n = 0;
    struct replyMark mark = replyDeferLen(c);
    struct raxIterator it;
    raxStart(&it, &acl_users);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        if (!aclUserHasRole(it.value, role)) continue;
        replyBulk(c, it.key);
        n++;
    }
    raxStop(&it);
    replySetArrayLen(c, mark, n);
}

void aclGetroleCommand(struct client *c) {
    const struct aclRole *role = aclFindRole(c->argv[2]);
    if (!role) {
        replyNull(c);
        return;
    }
    replyMapLen(c, 2 + ACL_SELECTOR_FIELDS);
    aclReplySelector(c, role->rules.selectors[0]);
    aclReplySelectors(c, &role->rules);
    replyBulkCstr(c, "users");
    aclReplyUsersOf(c, role);
}
