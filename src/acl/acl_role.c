/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_role.c - roles: named rules that users share. Part of acl.h.
 *
 *     role reader ──▶ selectors ◀─────────────┐ views
 *     user bob ─────▶ selectors, roles ──▶ grants: bob's selectors, then those of its roles
 *
 * A check looks at the grants of the user only, so a role costs no more than selectors of the user's own, and
 * permissions are cached as for any user. A change of a role therefore compiles its users anew. That visits
 * all users once: roles do not know their users, but count them, so that a role that is in use is not
 * deleted. */
#include "acl/acl_private.h"
#include "base/assert.h"
#include "base/zmalloc.h"

struct rax acl_roles;

/* ---- Roles ---- */

bool aclRoleNameIsValid(struct str name) {
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] <= ' ' || name.ptr[i] > '~' || memchr(",\"'\\", name.ptr[i], 4)) return false;
    }
    return name.len > 0;
}

struct aclRole *aclFindRole(struct str name) {
    void *found;
    return raxFind(&acl_roles, name, &found) ? found : NULL;
}

struct aclRole *aclRoleCreate(struct str name) {
    struct aclRole *role = zcalloc(1, sizeof *role);
    role->name = sdsnewstr(name);
    aclRulesInit(&role->rules);
    return role;
}

void aclRoleFree(struct aclRole *role) {
    serverAssert(role->user_count == 0);
    aclRulesFree(&role->rules);
    sdsfree(role->name);
    zfree(role);
}

static bool aclRoleCompileUser(void *role, struct aclUser *u) {
    if (aclUserHasRole(u, role)) aclUserCompile(u);
    return true;
}

void aclRoleSetRules(struct aclRole *role, struct aclRules next) {
    struct aclRules old = role->rules;
    role->rules = next;
    if (role->user_count) aclForEachUser(aclRoleCompileUser, role);
    if (aclLacksChannels(old.selectors, old.count, next.selectors, next.count)) aclKillRoleSubscribers(role);
    aclRulesFree(&old); /* last: until they were compiled, users had views of it */
}

void aclForEachRoleLine(const char *before, void (*fn)(void *priv, sds line), void *priv) {
    struct raxIterator it;
    raxStart(&it, &acl_roles);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        const struct aclRole *role = it.value;
        sds line = aclRulesCat(&role->rules, sdscatprintf(sdsempty(), "%s%s ", before, role->name));
        fn(priv, line);
        sdsfree(line);
    }
    raxStop(&it);
}

void aclRolesRefresh(void) {
    struct raxIterator it;
    raxStart(&it, &acl_roles);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        aclRulesRefresh(&((struct aclRole *)it.value)->rules);
    raxStop(&it);
}

sds aclRolesRuleAbout(struct str command) {
    sds found = NULL;
    struct raxIterator it;
    raxStart(&it, &acl_roles);
    for (bool more = raxSeek(&it, "^", STR("")); more && !found; more = raxNext(&it))
        found = aclRulesAbout(&((struct aclRole *)it.value)->rules, command);
    raxStop(&it);
    return found;
}

/* ---- Roles of a user ---- */

bool aclUserHasRole(const struct aclUser *u, const struct aclRole *role) {
    for (int i = 0; i < u->role_count; i++) {
        if (u->roles[i] == role) return true;
    }
    return false;
}

void aclUserAddRole(struct aclUser *u, struct aclRole *role) {
    if (aclUserHasRole(u, role)) return;
    u->roles = zrealloc(u->roles, (size_t)(u->role_count + 1) * sizeof *u->roles);
    u->roles[u->role_count++] = role;
    role->user_count++;
}

void aclUserDropRoles(struct aclUser *u) {
    for (int i = 0; i < u->role_count; i++) {
        serverAssert(u->roles[i]->user_count > 0);
        u->roles[i]->user_count--;
    }
    zfree(u->roles);
    u->roles = NULL;
    u->role_count = 0;
}

enum aclError aclUserApplyRoles(struct aclUser *u, struct str list) {
    int n;
    enum aclError error = list.len ? ACL_OK : ACL_ERR_SYNTAX;
    sds *names = sdssplitlen(list.ptr, list.len, ",", 1, &n);
    for (int i = 0; i < n && !error; i++) {
        if (!sdslen(names[i]))
            error = ACL_ERR_SYNTAX;
        else if (!aclFindRole(sdsview(names[i])))
            error = ACL_ERR_NO_SUCH_ROLE;
    }
    if (!error) aclUserDropRoles(u);
    for (int i = 0; i < n && !error; i++) aclUserAddRole(u, aclFindRole(sdsview(names[i])));
    sdsfreesplitres(names, n);
    return error;
}

sds aclUserCatRoles(const struct aclUser *u, sds text) {
    for (int i = 0; i < u->role_count; i++)
        text = sdscatprintf(text, "%s%s", i ? "," : "", u->roles[i]->name);
    return text;
}
