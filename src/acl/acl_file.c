/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_file.c - a file of roles and users: ACL LOAD, ACL SAVE. Part of acl.h.
 *
 *     role reader ~app:* resetchannels -@all +@read
 *     user bob on #2bb80d... resetchannels -@all role=reader
 *
 * The file is loaded as a whole: into second tables, which replace those in use when every line was valid.
 * Roles are loaded before users, so that lines may have any order. */
#include <errno.h>

#include "acl/acl_private.h"
#include "acl/client_auth.h"
#include "base/file.h"
#include "base/zmalloc.h"
#include "registry/config.h"

static sds aclfile; /* path; "": none */

bool aclHasFile(void) {
    return sdslen(aclfile) > 0;
}

/* ---- Lines ---- */

struct loading {
    struct rax users;
    struct rax old_roles; /* acl_roles has the new ones while a file is loaded */
    sds errors;
};

static void aclFileFreeUser(void *user) {
    aclUserFree(user);
}

static void aclFileFreeRole(void *role) {
    aclRoleFree(role);
}

/* Notes an error. Words that may be secrets are not repeated. */
static void aclFileNoteRuleError(struct loading *l, int line, const char *rule, enum aclError error) {
    l->errors = sdscatprintf(l->errors, "%s:%d: ", aclfile, line);
    if (error == ACL_ERR_UNKNOWN_COMMAND)
        l->errors = sdscatprintf(l->errors, "Error in applying operation '%s': ", rule);
    l->errors = sdscatprintf(l->errors, "%s. ", aclErrorText(error));
}

/* Returns the rules of a line, behind its first two words. NULL: an error has been noted. */
static sds *aclFileReadRules(struct loading *l, int line, const struct str *words, int count, int *merged) {
    int bad;
    sds *rules = aclRulesMerge(words + 2, count - 2, merged, &bad);
    if (!rules)
        l->errors =
            sdscatprintf(l->errors, "%s:%d: Unmatched parenthesis in selector definition.", aclfile, line);
    return rules;
}

static void aclFileLoadUser(struct loading *l, int line, const struct str *words, int count) {
    struct str name = words[1];
    int merged, failed;
    if (raxFind(&l->users, name, NULL)) {
        l->errors = sdscatprintf(l->errors, "WARNING: Duplicate user '%.*s' found on line %d. ",
                                 (int)name.len, name.ptr, line);
        return;
    }
    sds *rules = aclFileReadRules(l, line, words, count, &merged);
    if (!rules) return;
    struct aclUser *u = aclUserCreate(name);
    enum aclError error = aclUserApplyAll(u, rules, merged, &failed);
    if (error) aclFileNoteRuleError(l, line, rules[failed], error);
    sdsfreesplitres(rules, merged);
    raxInsert(&l->users, name, u, NULL);
}

static void aclFileLoadRole(struct loading *l, int line, const struct str *words, int count) {
    struct str name = words[1];
    int merged, failed;
    if (aclFindRole(name)) {
        l->errors = sdscatprintf(l->errors, "%s:%d: %s. ", aclfile, line, ACL_DUPLICATE_ROLE);
        return;
    }
    sds *rules = aclFileReadRules(l, line, words, count, &merged);
    if (!rules) return;
    struct aclRole *role = aclRoleCreate(name);
    enum aclError error = aclRulesApplyAll(&role->rules, rules, merged, &failed);
    if (error) aclFileNoteRuleError(l, line, rules[failed], error);
    sdsfreesplitres(rules, merged);
    raxInsert(&acl_roles, name, role, NULL);
}

static void aclFileLoadRoleLine(struct loading *l, int line, const struct str *words, int count) {
    if (!strEq(words[0], STR("role"))) return;
    if (count < 2)
        l->errors = sdscatprintf(l->errors, "%s:%d: %s. ", aclfile, line, ACL_ROLE_WITHOUT_NAME);
    else if (!aclRoleNameIsValid(words[1]))
        l->errors = sdscatprintf(l->errors, "%s:%d: %s. ", aclfile, line, ACL_BAD_ROLE_NAME);
    else
        aclFileLoadRole(l, line, words, count);
}

static void aclFileLoadUserLine(struct loading *l, int line, const struct str *words, int count) {
    if (strEq(words[0], STR("role"))) return;
    if (count < 2 || !strEq(words[0], STR("user")))
        l->errors = sdscatprintf(l->errors, "%s:%d should start with user keyword followed by the username. ",
                                 aclfile, line);
    else if (!aclNameIsValid(words[1]))
        l->errors = sdscatprintf(l->errors, "%s:%d: username '%.*s' contains invalid characters. ", aclfile,
                                 line, (int)words[1].len, words[1].ptr);
    else
        aclFileLoadUser(l, line, words, count);
}

typedef void aclFileLineFn(struct loading *l, int line, const struct str *words, int count);

/* Calls fn for each line that is not empty. */
static void aclFileLoadLines(struct loading *l, const sds *lines, int n, aclFileLineFn *fn) {
    for (int i = 0; i < n; i++) {
        if (!sdslen(lines[i])) continue;
        int count;
        sds *tokens = sdssplitlen(lines[i], sdslen(lines[i]), " ", 1, &count);
        struct str *words = zmalloc((size_t)count * sizeof *words);
        for (int k = 0; k < count; k++) words[k] = sdsview(tokens[k]);
        fn(l, i + 1, words, count);
        zfree(words);
        sdsfreesplitres(tokens, count);
    }
}

/* ---- Loading ---- */

/* Gives the client of a user of the old table the user of that name, or closes it. */
static bool aclFileMoveClient(struct client *c, const struct rax *old, const struct client *self) {
    if (!aclClientIsOf(c, old)) return false;
    struct aclUser *was = c->user, *now = aclFindUser(sdsview(was->name));
    if (!now) return aclKillClient(c, self);
    c->user = now;
    if (c->flags & CLIENT_PUBSUB && aclUserLacksChannels(was, now)) aclKillSubscriber(c, now);
    return false;
}

/* Replaces the users. Clients of a user that still exists keep it, even with a new password; clients whose
 * user was deleted, or may not use their subscriptions any more, are closed. Old users are freed before their
 * roles. */
static bool aclFileReplaceUsers(struct loading *l, const struct client *self) {
    bool killed_self = false;
    aclUnlistedRenewRoles();
    struct rax old = acl_users;
    raxRemove(&old, STR("default"), NULL);
    acl_users = l->users;
    void *fresh;
    struct aclUser *u = raxRemove(&acl_users, STR("default"), &fresh) ? fresh : aclUserCreateDefault();
    aclKillSubscribers(aclDefaultUser(), u);
    aclUserReplace(aclDefaultUser(), u);
    raxInsert(&acl_users, STR("default"), aclDefaultUser(), NULL);

    listForEach(&clients, it) {
        killed_self |= aclFileMoveClient(listEntry(it, struct client, node), &old, self);
    }
    raxDestroy(&old, aclFileFreeUser);
    raxDestroy(&l->old_roles, aclFileFreeRole);
    authUsersChanged();
    return killed_self;
}

sds aclFileLoad(const struct client *self, bool *killed) {
    *killed = false;
    struct loading l = {.errors = sdsempty()};
    sds text = fileRead(aclfile, NULL);
    if (!text)
        return sdscatprintf(l.errors, "Error loading ACLs, opening file '%s': %s", aclfile, strerror(errno));
    l.old_roles = acl_roles;
    raxInit(&l.users);
    raxInit(&acl_roles);
    int n;
    sds *lines = sdssplitlen(text, sdslen(text), "\n", 1, &n);
    sdsfree(text);
    for (int i = 0; i < n; i++) lines[i] = sdstrim(lines[i], " \t\r\n");
    aclFileLoadLines(&l, lines, n, aclFileLoadRoleLine);
    aclFileLoadLines(&l, lines, n, aclFileLoadUserLine);
    sdsfreesplitres(lines, n);
    if (sdslen(l.errors)) {
        raxDestroy(&l.users, aclFileFreeUser);
        raxDestroy(&acl_roles, aclFileFreeRole);
        acl_roles = l.old_roles;
        return sdscat(l.errors,
                      "WARNING: ACL errors detected, no change to the previously active ACL rules was "
                      "performed");
    }
    *killed = aclFileReplaceUsers(&l, self);
    sdsfree(l.errors);
    return NULL;
}

/* ---- Saving ---- */

/* The file has no quotes: no rule and no name contains a byte that ends a word. */
static void aclFileAppendLine(void *text, sds line) {
    sds *s = text;
    *s = sdscat(sdscatstr(*s, sdsview(line)), "\n");
}

bool aclFileSave(void) {
    mode_t mode = 0600;
    sds old = fileRead(aclfile, &mode), text = sdsempty();
    aclForEachRoleLine("role ", aclFileAppendLine, &text);
    aclForEachUserLine("user ", aclFileAppendLine, &text);
    bool ok = fileReplace(aclfile, sdsview(text), mode);
    int reason = errno;
    sdsfree(old);
    sdsfree(text);
    errno = reason;
    return ok;
}

void aclFileInit(void) {
    static struct configDirective directives[] = {
        CONFIG_STRING("aclfile", NULL, 0, &aclfile, "", NULL, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
