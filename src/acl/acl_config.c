/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_config.c - roles and users in the configuration file, and the start. Part of acl.h.
 *
 *     role reader ~app:* +@read
 *     user bob on >secret role=reader
 *
 * A line is checked as it is read, but applied when all of the configuration has been read, since its meaning
 * depends on other directives, and a user's on roles that may follow. */
#include <stdlib.h>

#include "acl/acl_private.h"
#include "acl/client_auth.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "registry/config.h"

static sds requirepass; /* the directive's text; the password itself is stored in the default user */

struct declared { /* A `user` or `role` line. */
    sds name;
    sds *rules;
    int count;
};
struct declaredList {
    const char *what, *duplicate;
    struct declared *items;
    int count;
};
static struct declaredList declared_users = {
    .what = "user", .duplicate = "Duplicate user found. A user can only be defined once in config files"};
static struct declaredList declared_roles = {.what = "role", .duplicate = ACL_DUPLICATE_ROLE};

/* ---- Lines ---- */

static bool aclConfigRefuse(const struct declaredList *list, struct str what, const char *why,
                            const char **err) {
    *err = configReason("Error in %s declaration '%.*s': %s", list->what, (int)what.len, what.ptr, why);
    return false;
}

/* Applies the rules to a new user or role, which is not kept. */
static enum aclError aclConfigTryRules(const struct declaredList *list, const struct declared *d,
                                       int *failed) {
    enum aclError error;
    if (list == &declared_roles) {
        struct aclRules rules;
        aclRulesInit(&rules);
        error = aclRulesApplyAll(&rules, d->rules, d->count, failed);
        aclRulesFree(&rules);
    } else {
        struct aclUser *u = aclUserCreate(sdsview(d->name));
        error = aclUserApplyAll(u, d->rules, d->count, failed);
        aclUserFree(u);
    }
    return error;
}

/* Unknown commands and roles are left for aclStart to report. */
static bool aclConfigCheck(const struct declaredList *list, const struct declared *d, const char **err) {
    int failed;
    for (int i = 0; i < list->count; i++) {
        if (sdscmp(list->items[i].name, d->name) == 0)
            return aclConfigRefuse(list, sdsview(d->name), list->duplicate, err);
    }
    enum aclError error = aclConfigTryRules(list, d, &failed);
    if (!error || error == ACL_ERR_UNKNOWN_COMMAND || error == ACL_ERR_NO_SUCH_ROLE) return true;
    return aclConfigRefuse(list, sdsview(d->rules[failed]), aclErrorText(error), err);
}

static void aclConfigFreeDeclared(struct declared *d) {
    sdsfree(d->name);
    sdsfreesplitres(d->rules, d->count);
}

static bool aclConfigDeclare(struct declaredList *list, int argc, const struct str *argv, const char **err) {
    int bad;
    struct declared d;
    d.rules = aclRulesMerge(argv + 1, argc - 1, &d.count, &bad);
    if (!d.rules)
        return aclConfigRefuse(list, argv[1 + bad], "Unmatched parenthesis in selector definition.", err);
    d.name = sdsnewstr(argv[0]);
    if (!aclConfigCheck(list, &d, err)) {
        aclConfigFreeDeclared(&d);
        return false;
    }
    list->items = zrealloc(list->items, (size_t)(list->count + 1) * sizeof *list->items);
    list->items[list->count++] = d;
    return true;
}

static bool aclConfigSetUser(const struct configDirective *d, int argc, const struct str *argv,
                             const char **err) {
    (void)d;
    return aclConfigDeclare(&declared_users, argc, argv, err);
}

static bool aclConfigSetRole(const struct configDirective *d, int argc, const struct str *argv,
                             const char **err) {
    (void)d;
    if (argc == 1 && !argv[0].len) {
        *err = ACL_ROLE_WITHOUT_NAME;
        return false;
    }
    if (!aclRoleNameIsValid(argv[0]))
        return aclConfigRefuse(&declared_roles, argv[0], ACL_BAD_ROLE_NAME, err);
    return aclConfigDeclare(&declared_roles, argc, argv, err);
}

/* Lines of the configuration may have quotes, those of an ACL file have none. */
static void aclConfigAppendLine(void *text, sds line) {
    sds *s = text;
    *s = configAppendWords(sdslen(*s) ? sdscat(*s, "\n") : *s, sdsview(line));
}

/* With a file of users, the configuration contains none. */
static sds aclConfigGetUsers(const struct configDirective *d) {
    (void)d;
    sds text = sdsempty();
    if (!aclHasFile()) aclForEachUserLine("", aclConfigAppendLine, &text);
    return text;
}

static sds aclConfigGetRoles(const struct configDirective *d) {
    (void)d;
    sds text = sdsempty();
    if (!aclHasFile()) aclForEachRoleLine("", aclConfigAppendLine, &text);
    return text;
}

static bool aclConfigApplyRequirepass(const char **err) {
    (void)err;
    aclSetDefaultPassword(requirepass ? sdsview(requirepass) : STR(""));
    authUsersChanged();
    return true;
}

/* ---- Start ---- */

static void aclConfigWarnDisabled(void) {
    struct raxIterator it;
    raxStart(&it, &acl_users);
    bool more = raxSeek(&it, "^", STR(""));
    for (; more; more = raxNext(&it)) {
        const struct aclUser *u = it.value;
        if (aclUserIsOn(u)) continue;
        serverLog(
            LL_NOTICE,
            "The user '%s' cannot log in because its rules do not contain 'on'. Check that this is meant.",
            u->name);
    }
    raxStop(&it);
}

static bool aclConfigCreateUser(const struct declared *d, int *failed, enum aclError *error) {
    if (!aclNameIsValid(sdsview(d->name))) {
        serverLog(LL_WARNING, "The name of an ACL user contains a space");
        return false;
    }
    struct aclUser *u = aclUserCreate(sdsview(d->name));
    *error = aclUserApplyAll(u, d->rules, d->count, failed);
    if (strEq(sdsview(d->name), STR("default")))
        aclUserReplace(aclDefaultUser(), u);
    else
        raxInsert(&acl_users, sdsview(d->name), u, NULL);
    return !*error;
}

static bool aclConfigCreateRole(const struct declared *d, int *failed, enum aclError *error) {
    struct aclRole *role = aclRoleCreate(sdsview(d->name));
    *error = aclRulesApplyAll(&role->rules, d->rules, d->count, failed);
    raxInsert(&acl_roles, sdsview(d->name), role, NULL);
    return !*error;
}

static void aclConfigCreateAll(struct declaredList *list) {
    for (int i = 0; i < list->count; i++) {
        struct declared *d = &list->items[i];
        int failed;
        enum aclError error = ACL_OK;
        bool ok = list == &declared_roles ? aclConfigCreateRole(d, &failed, &error)
                                          : aclConfigCreateUser(d, &failed, &error);
        if (error)
            serverLog(LL_WARNING, "The ACL rule '%s' of the %s '%s' is not accepted: %s", d->rules[failed],
                      list->what, d->name, aclErrorText(error));
        if (!ok) {
            serverLog(LL_WARNING, "Critical error while loading ACLs. Exiting.");
            exit(1);
        }
        aclConfigFreeDeclared(d);
    }
    zfree(list->items);
    list->items = NULL;
    list->count = 0;
}

void aclStart(void) {
    if (declared_users.count + declared_roles.count && aclHasFile()) {
        serverLog(
            LL_WARNING,
            "Users are defined in the configuration file although aclfile is set. It would not be clear "
            "which of the rules hold, so define the users in one of the two places only.");
        exit(1);
    }
    aclSetDefaultPassword(requirepass ? sdsview(requirepass) : STR(""));
    aclConfigCreateAll(&declared_roles);
    aclConfigCreateAll(&declared_users);
    bool killed;
    sds errors = aclHasFile() ? aclFileLoad(NULL, &killed) : NULL;
    if (errors) {
        serverLog(LL_WARNING, "The ACL file has errors, so the server exits: %s", errors);
        exit(1);
    }
    aclConfigWarnDisabled();
    authUsersChanged();
}

void aclConfigInit(void) {
    static const struct configEnum channel_names[] = {
        {"allchannels", SELECTOR_ALL_CHANNELS}, {"resetchannels", 0}, {NULL, 0}};
    static struct configDirective directives[] = {
        CONFIG_ENUM("acl-pubsub-default", NULL, CONFIG_MODIFIABLE, &acl_pubsub_default, 0, channel_names,
                    NULL),
        CONFIG_STRING("requirepass", NULL, CONFIG_MODIFIABLE | CONFIG_SENSITIVE | CONFIG_EMPTY_IS_NULL,
                      &requirepass, NULL, NULL, aclConfigApplyRequirepass),
        CONFIG_SPECIAL("role", NULL, CONFIG_MULTI_ARG | CONFIG_LINES | CONFIG_MAY_STAND_ALONE,
                       aclConfigSetRole, aclConfigGetRoles, NULL),
        CONFIG_SPECIAL("user", NULL, CONFIG_MULTI_ARG | CONFIG_SENSITIVE | CONFIG_LINES, aclConfigSetUser,
                       aclConfigGetUsers, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
