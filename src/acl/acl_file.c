/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_file.c - loading users: from `user` lines of the configuration file, or from a file of users. Part of
 * acl.h.
 *
 *     user bob on #2bb80d... ~app:* resetchannels -@all +@read
 *
 * Lines of the configuration are checked as they are read, but applied when all of it has been read, since
 * their meaning depends on other directives. A file of users is loaded as a whole: into a second table, which
 * replaces the one in use when every line was valid. */
#include <errno.h>
#include <stdlib.h>

#include "acl/acl_private.h"
#include "acl/client_auth.h"
#include "base/file.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "registry/config.h"

static sds aclfile;     /* path; "": none */
static sds requirepass; /* the directive's text; the password itself is stored in the default user */

struct declared { /* A `user` line. */
    sds name;
    sds *rules;
    int count;
};
static struct declared *declared;
static int declared_count;

bool aclHasFile(void) {
    return sdslen(aclfile) > 0;
}

/* ---- The directive ---- */

static struct aclUser *aclFileTryRules(struct str name, sds *rules, int count, int *failed,
                                       enum aclError *error) {
    struct aclUser *u = aclUserCreate(name);
    *error = ACL_OK;
    for (int i = 0; i < count && !*error; i++) {
        *failed = i;
        *error = aclUserApply(u, sdsview(rules[i]));
    }
    return u;
}

static bool aclFileRefuseDeclaration(const char *what, const char *why, const char **err) {
    static sds reason;
    sdsfree(reason);
    reason = sdscatprintf(sdsempty(), "Error in user declaration '%s': %s", what, why);
    *err = reason;
    return false;
}

/* Unknown commands are left for aclStart to report. */
static bool aclFileCheckDeclaration(struct str name, sds *rules, int count, const char **err) {
    int failed = 0;
    enum aclError error;
    for (int i = 0; i < declared_count; i++) {
        if (!strEq(sdsview(declared[i].name), name)) continue;
        return aclFileRefuseDeclaration(
            declared[i].name, "Duplicate user found. A user can only be defined once in config files", err);
    }
    aclUserFree(aclFileTryRules(name, rules, count, &failed, &error));
    if (!error || error == ACL_ERR_UNKNOWN_COMMAND) return true;
    return aclFileRefuseDeclaration(rules[failed], aclErrorText(error), err);
}

static bool aclFileSetUser(const struct configDirective *d, int argc, const struct str *argv,
                           const char **err) {
    (void)d;
    int count, bad;
    sds *rules = aclMergeRules(argv + 1, argc - 1, &count, &bad);
    if (!rules) {
        sds word = sdsnewstr(argv[1 + bad]);
        aclFileRefuseDeclaration(word, "Unmatched parenthesis in selector definition.", err);
        sdsfree(word);
        return false;
    }
    if (!aclFileCheckDeclaration(argv[0], rules, count, err)) {
        sdsfreesplitres(rules, count);
        return false;
    }
    declared = zrealloc(declared, (size_t)(declared_count + 1) * sizeof *declared);
    declared[declared_count++] =
        (struct declared){.name = sdsnewstr(argv[0]), .rules = rules, .count = count};
    return true;
}

/* Appends every user on a line of its own, without the first word. A file of users has no quotes: no rule and
 * no name contains a byte that ends a word. Lines of the configuration may have them. */
static sds aclCatUsers(sds text, bool for_users_file) {
    struct raxIterator it;
    raxStart(&it, &acl_users);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        const struct aclUser *u = it.value;
        sds line = aclUserCat(u, sdscatprintf(sdsempty(), "%s ", u->name));
        if (for_users_file)
            text = sdscatprintf(text, "user %s\n", line);
        else
            text = configAppendWords(sdslen(text) ? sdscat(text, "\n") : text, sdsview(line));
        sdsfree(line);
    }
    raxStop(&it);
    return text;
}

/* With a file of users, the configuration contains none. */
static sds aclFileGetUsers(const struct configDirective *d) {
    (void)d;
    return aclHasFile() ? sdsempty() : aclCatUsers(sdsempty(), false);
}

static bool aclFileApplyRequirepass(const char **err) {
    (void)err;
    aclSetDefaultPassword(requirepass ? sdsview(requirepass) : STR(""));
    authUsersChanged();
    return true;
}

/* ---- Loading a file ---- */

struct loading {
    struct rax users;
    sds errors;
};

static void aclFileFreeUser(void *user) {
    aclUserFree(user);
}

/* Notes an error. Words that may be secrets are not repeated. */
static void aclFileNoteRuleError(struct loading *l, int line, const char *rule, enum aclError error) {
    l->errors = sdscatprintf(l->errors, "%s:%d: ", aclfile, line);
    if (error == ACL_ERR_UNKNOWN_COMMAND)
        l->errors = sdscatprintf(l->errors, "Error in applying operation '%s': ", rule);
    l->errors = sdscatprintf(l->errors, "%s. ", aclErrorText(error));
}

static void aclFileLoadUser(struct loading *l, int line, const struct str *words, int count) {
    int merged, bad, failed = 0;
    enum aclError error;
    if (raxFind(&l->users, words[0], NULL)) {
        sds name = sdsnewstr(words[0]);
        l->errors = sdscatprintf(l->errors, "WARNING: Duplicate user '%s' found on line %d. ", name, line);
        sdsfree(name);
        return;
    }
    sds *rules = aclMergeRules(words + 1, count - 1, &merged, &bad);
    if (!rules) {
        l->errors =
            sdscatprintf(l->errors, "%s:%d: Unmatched parenthesis in selector definition.", aclfile, line);
        return;
    }
    struct aclUser *u = aclFileTryRules(words[0], rules, merged, &failed, &error);
    if (error) aclFileNoteRuleError(l, line, rules[failed], error);
    sdsfreesplitres(rules, merged);
    raxInsert(&l->users, words[0], u, NULL);
}

static void aclFileLoadLine(struct loading *l, int line, sds text) {
    int count;
    sds *tokens = sdssplitlen(text, sdslen(text), " ", 1, &count);
    struct str *words = zmalloc((size_t)(count + 1) * sizeof *words);
    for (int i = 0; i < count; i++) words[i] = sdsview(tokens[i]);
    if (count < 2 || !strEq(words[0], STR("user")))
        l->errors = sdscatprintf(l->errors, "%s:%d should start with user keyword followed by the username. ",
                                 aclfile, line);
    else if (!aclNameIsValid(words[1]))
        l->errors = sdscatprintf(l->errors, "%s:%d: username '%s' contains invalid characters. ", aclfile,
                                 line, tokens[1]);
    else
        aclFileLoadUser(l, line, words + 1, count - 1);
    zfree(words);
    sdsfreesplitres(tokens, count);
}

/* Replaces the users. Clients of a user that still exists keep it, even with a new password; clients whose
 * user was deleted, or may not use their subscriptions any more, are closed. */
static bool aclFileReplaceUsers(struct loading *l, const struct client *self) {
    bool killed_self = false;
    struct rax old = acl_users;
    raxRemove(&old, STR("default"), NULL);
    acl_users = l->users;
    void *fresh;
    struct aclUser *u = raxRemove(&acl_users, STR("default"), &fresh) ? fresh : aclUserCreateDefault();
    aclKillSubscribers(aclDefaultUser(), u);
    aclUserReplace(aclDefaultUser(), u);
    raxInsert(&acl_users, STR("default"), aclDefaultUser(), NULL);

    struct raxIterator it;
    raxStart(&it, &old);
    bool more = raxSeek(&it, "^", STR(""));
    for (; more; more = raxNext(&it)) {
        struct aclUser *was = it.value, *now = aclFindUser(sdsview(was->name));
        if (!now) {
            killed_self |= aclKillClients(was, self);
            continue;
        }
        aclKillSubscribers(was, now);
        listForEach(&clients, c) {
            struct client *client = listEntry(c, struct client, node);
            if (client->user == was) client->user = now;
        }
    }
    raxStop(&it);
    raxDestroy(&old, aclFileFreeUser);
    authUsersChanged();
    return killed_self;
}

sds aclFileLoad(const struct client *self, bool *killed) {
    *killed = false;
    struct loading l = {.errors = sdsempty()};
    sds text = fileRead(aclfile, NULL);
    if (!text)
        return sdscatprintf(l.errors, "Error loading ACLs, opening file '%s': %s", aclfile, strerror(errno));
    raxInit(&l.users);
    int n;
    sds *lines = sdssplitlen(text, sdslen(text), "\n", 1, &n);
    sdsfree(text);
    for (int i = 0; i < n; i++) {
        lines[i] = sdstrim(lines[i], " \t\r\n");
        if (sdslen(lines[i])) aclFileLoadLine(&l, i + 1, lines[i]);
    }
    sdsfreesplitres(lines, n);
    if (sdslen(l.errors)) {
        raxDestroy(&l.users, aclFileFreeUser);
        return sdscat(l.errors,
                      "WARNING: ACL errors detected, no change to the previously active ACL rules was "
                      "performed");
    }
    *killed = aclFileReplaceUsers(&l, self);
    sdsfree(l.errors);
    return NULL;
}

bool aclFileSave(void) {
    mode_t mode = 0600;
    sds old = fileRead(aclfile, &mode), text = aclCatUsers(sdsempty(), true);
    bool ok = fileReplace(aclfile, sdsview(text), mode);
    int reason = errno;
    sdsfree(old);
    sdsfree(text);
    errno = reason;
    return ok;
}

/* ---- Start ---- */

static void aclFileWarnDisabled(void) {
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

static bool aclFileDeclare(const struct declared *d) {
    int failed = 0;
    enum aclError error;
    if (!aclNameIsValid(sdsview(d->name))) {
        serverLog(LL_WARNING, "The name of an ACL user contains a space");
        return false;
    }
    struct aclUser *u = aclFileTryRules(sdsview(d->name), d->rules, d->count, &failed, &error);
    if (error) {
        serverLog(LL_WARNING, "The ACL rule '%s' of the user '%s' is not accepted: %s", d->rules[failed],
                  d->name, aclErrorText(error));
        aclUserFree(u);
        return false;
    }
    if (strEq(sdsview(d->name), STR("default")))
        aclUserReplace(aclDefaultUser(), u);
    else
        raxInsert(&acl_users, sdsview(d->name), u, NULL);
    return true;
}

static void aclFileDeclareAll(void) {
    for (int i = 0; i < declared_count; i++) {
        if (!aclFileDeclare(&declared[i])) {
            serverLog(LL_WARNING, "Critical error while loading ACLs. Exiting.");
            exit(1);
        }
        sdsfree(declared[i].name);
        sdsfreesplitres(declared[i].rules, declared[i].count);
    }
    zfree(declared);
    declared = NULL;
    declared_count = 0;
}

void aclStart(void) {
    if (declared_count && aclHasFile()) {
        serverLog(
            LL_WARNING,
            "Users are defined in the configuration file although aclfile is set. It would not be clear "
            "which of the rules hold, so define the users in one of the two places only.");
        exit(1);
    }
    aclSetDefaultPassword(requirepass ? sdsview(requirepass) : STR(""));
    aclFileDeclareAll();
    bool killed;
    sds errors = aclHasFile() ? aclFileLoad(NULL, &killed) : NULL;
    if (errors) {
        serverLog(LL_WARNING, "The ACL file has errors, so the server exits: %s", errors);
        exit(1);
    }
    aclFileWarnDisabled();
    authUsersChanged();
}

void aclFileInit(void) {
    static const struct configEnum channel_names[] = {
        {"allchannels", SELECTOR_ALL_CHANNELS}, {"resetchannels", 0}, {NULL, 0}};
    static struct configDirective directives[] = {
        CONFIG_STRING("aclfile", NULL, 0, &aclfile, "", NULL, NULL),
        CONFIG_ENUM("acl-pubsub-default", NULL, CONFIG_MODIFIABLE, &acl_pubsub_default, 0, channel_names,
                    NULL),
        CONFIG_STRING("requirepass", NULL, CONFIG_MODIFIABLE | CONFIG_SENSITIVE | CONFIG_EMPTY_IS_NULL,
                      &requirepass, NULL, NULL, aclFileApplyRequirepass),
        CONFIG_SPECIAL("user", NULL, CONFIG_MULTI_ARG | CONFIG_SENSITIVE | CONFIG_LINES, aclFileSetUser,
                       aclFileGetUsers, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
