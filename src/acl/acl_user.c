/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_user.c - users: the table of them, their rules and passwords, and what a change does to their clients.
 * Part of acl.h.
 *
 * ACL SETUSER works on a copy, which replaces the user when all rules were valid. Clients point at their
 * user, so its address stays the same and its contents are exchanged. */
#include "acl/acl_private.h"
#include "base/assert.h"
#include "base/zmalloc.h"
#include "command/pubsub.h"

struct rax acl_users;
static struct aclUser *default_user, *nobody; /* nobody: the user of clients that are about to be closed */

/* ---- Creating and freeing ---- */

struct aclUser *aclUserCreate(struct str name) {
    struct aclUser *u = zcalloc(1, sizeof *u);
    u->name = sdsnewstr(name);
    aclRulesInit(&u->rules);
    aclUserCompile(u);
    return u;
}

static void aclUserDropPasswords(struct aclUser *u) {
    for (int i = 0; i < u->password_count; i++) sdsfree(u->passwords[i]);
    zfree(u->passwords);
    u->passwords = NULL;
    u->password_count = 0;
}

static void aclUserFreeContents(struct aclUser *u) {
    aclUserDropPasswords(u);
    aclUserDropRoles(u);
    aclRulesFree(&u->rules);
    zfree(u->grants);
}

void aclUserFree(struct aclUser *u) {
    aclUserFreeContents(u);
    sdsfree(u->name);
    zfree(u);
}

static void aclUserAddGrants(struct aclUser *u, const struct aclRules *r) {
    for (int i = 0; i < r->count; i++) {
        u->grants[u->grant_count++] = r->selectors[i];
        u->head.unlimited |= (r->selectors[i]->flags & SELECTOR_EVERYTHING) == SELECTOR_EVERYTHING;
    }
}

/* Memos contain views of the rules, so they are cleared. */
void aclUserCompile(struct aclUser *u) {
    int n = u->rules.count;
    for (int i = 0; i < u->role_count; i++) n += u->roles[i]->rules.count;
    u->grants = zrealloc(u->grants, (size_t)n * sizeof *u->grants);
    u->grant_count = 0;
    memset(&u->head, 0, sizeof u->head);
    aclUserAddGrants(u, &u->rules);
    for (int i = 0; i < u->role_count; i++) aclUserAddGrants(u, &u->roles[i]->rules);
    debugAssert(u->grant_count == n);
}

struct aclUser *aclUserCopy(const struct aclUser *u) {
    struct aclUser *copy = zcalloc(1, sizeof *copy);
    copy->flags = u->flags;
    copy->name = sdsdup(u->name);
    copy->password_count = u->password_count;
    copy->passwords = u->password_count ? zmalloc((size_t)u->password_count * sizeof *u->passwords) : NULL;
    for (int i = 0; i < u->password_count; i++) copy->passwords[i] = sdsdup(u->passwords[i]);
    copy->rules = aclRulesCopy(&u->rules);
    for (int i = 0; i < u->role_count; i++) aclUserAddRole(copy, u->roles[i]);
    aclUserCompile(copy);
    return copy;
}

void aclUserReplace(struct aclUser *to, struct aclUser *from) {
    sds name = to->name;
    aclUserFreeContents(to);
    *to = *from;
    to->name = name;
    sdsfree(from->name);
    zfree(from);
}

/* ---- Passwords ---- */

static bool aclUserIsHash(struct str s) {
    if (s.len != SHA256_HEX_LEN) return false;
    for (size_t i = 0; i < s.len; i++) {
        if (!memchr("0123456789abcdef", s.ptr[i], 16)) return false;
    }
    return true;
}

/* Compares in constant time, which does not depend on where the two differ. */
static bool aclUserSameHash(const char *a, const char *b) {
    volatile unsigned char difference = 0;
    for (int i = 0; i < SHA256_HEX_LEN; i++) difference |= (unsigned char)(a[i] ^ b[i]);
    return difference == 0;
}

static int aclUserFindPassword(const struct aclUser *u, const char *hash) {
    int found = -1;
    for (int i = 0; i < u->password_count; i++) {
        if (aclUserSameHash(u->passwords[i], hash)) found = i;
    }
    return found;
}

static void aclUserAddPassword(struct aclUser *u, const char *hash) {
    u->flags &= ~(unsigned)USER_NOPASS;
    if (aclUserFindPassword(u, hash) >= 0) return;
    u->passwords = zrealloc(u->passwords, (size_t)(u->password_count + 1) * sizeof *u->passwords);
    u->passwords[u->password_count++] = sdsnewlen(hash, SHA256_HEX_LEN);
}

static enum aclError aclUserRemovePassword(struct aclUser *u, const char *hash) {
    int at = aclUserFindPassword(u, hash);
    if (at < 0) return ACL_ERR_NO_SUCH_PASSWORD;
    sdsfree(u->passwords[at]);
    u->password_count--;
    memmove(u->passwords + at, u->passwords + at + 1,
            (size_t)(u->password_count - at) * sizeof *u->passwords);
    return ACL_OK;
}

/* Applies >password <password #hash !hash. */
static enum aclError aclUserApplyPassword(struct aclUser *u, struct str rule) {
    char hash[SHA256_HEX_LEN + 1];
    struct str value = strN(rule.ptr + 1, rule.len - 1);
    bool hashed = rule.ptr[0] == '#' || rule.ptr[0] == '!';
    if (hashed && !aclUserIsHash(value)) return ACL_ERR_BAD_HASH;
    if (hashed)
        memcpy(hash, value.ptr, SHA256_HEX_LEN);
    else
        sha256Hex(hash, value.ptr, value.len);
    if (rule.ptr[0] == '<' || rule.ptr[0] == '!') return aclUserRemovePassword(u, hash);
    aclUserAddPassword(u, hash);
    return ACL_OK;
}

bool aclUserAccepts(const struct aclUser *u, struct str password) {
    char hash[SHA256_HEX_LEN + 1];
    sha256Hex(hash, password.ptr, password.len);
    bool right = aclUserFindPassword(u, hash) >= 0;
    return (right || u->flags & USER_NOPASS) && u->flags & USER_ON;
}

bool aclUserHasPassword(const struct aclUser *u) {
    return !(u->flags & USER_NOPASS);
}

bool aclUserIsOn(const struct aclUser *u) {
    return u->flags & USER_ON;
}

void aclSetDefaultPassword(struct str password) {
    aclUserDropPasswords(default_user);
    default_user->flags |= USER_NOPASS;
    if (!password.len) return;
    char hash[SHA256_HEX_LEN + 1];
    sha256Hex(hash, password.ptr, password.len);
    aclUserAddPassword(default_user, hash);
}

/* ---- Rules ---- */

const char *aclErrorText(enum aclError error) {
    switch (error) {
    case ACL_OK: break;
    case ACL_ERR_SYNTAX: return "Syntax error";
    case ACL_ERR_UNKNOWN_COMMAND: return "Unknown command or category name in ACL";
    case ACL_ERR_FIRST_ARG_OF_SUBCOMMAND: return "Allowing first-arg of a subcommand is not supported";
    case ACL_ERR_PATTERN_AFTER_ALL:
        return "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any "
               "effect. Try 'resetkeys' to start with an empty list of patterns";
    case ACL_ERR_CHANNEL_AFTER_ALL:
        return "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any "
               "effect. Try 'resetchannels' to start with an empty list of channels";
    case ACL_ERR_DB_RANGE: return "The provided database ID is out of range";
    case ACL_ERR_NO_SUCH_PASSWORD:
        return "The password you are trying to remove from the user does not exist";
    case ACL_ERR_BAD_HASH:
        return "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters";
    case ACL_ERR_NO_SUCH_ROLE: return "The specified ACL role does not exist";
    }
    serverUnreachable();
}

static void aclUserReset(struct aclUser *u) {
    aclUserDropPasswords(u);
    aclUserDropRoles(u);
    aclRulesFree(&u->rules);
    aclRulesInit(&u->rules);
    u->flags = 0;
}

/* Applies rules that a role cannot have and that are a single word. */
static bool aclUserApplyWord(struct aclUser *u, struct str rule) {
    if (strIs(rule, "on"))
        u->flags |= USER_ON;
    else if (strIs(rule, "off"))
        u->flags &= ~(unsigned)USER_ON;
    else if (strIs(rule, "sanitize-payload") || strIs(rule, "skip-sanitize-payload"))
        return true; /* from older versions: payloads of all users are checked alike */
    else if (strIs(rule, "nopass") || strIs(rule, "resetpass")) {
        aclUserDropPasswords(u);
        u->flags = (u->flags & ~(unsigned)USER_NOPASS) | (strIs(rule, "nopass") ? USER_NOPASS : 0);
    } else if (strIs(rule, "resetroles"))
        aclUserDropRoles(u);
    else if (strIs(rule, "reset"))
        aclUserReset(u);
    else
        return false;
    return true;
}

static enum aclError aclUserApply(struct aclUser *u, struct str rule) {
    if (aclUserApplyWord(u, rule)) return ACL_OK;
    if (rule.len && strchr("><#!", rule.ptr[0])) return aclUserApplyPassword(u, rule);
    if (rule.len >= 5 && strIs(strN(rule.ptr, 5), "role="))
        return aclUserApplyRoles(u, strN(rule.ptr + 5, rule.len - 5));
    return aclRulesApply(&u->rules, rule);
}

enum aclError aclUserApplyAll(struct aclUser *u, const sds *rules, int count, int *failed) {
    enum aclError error = ACL_OK;
    for (*failed = 0; *failed < count; ++*failed) {
        if ((error = aclUserApply(u, sdsview(rules[*failed])))) break;
    }
    aclUserCompile(u);
    return error;
}

bool aclNameIsValid(struct str name) {
    return !aclHasBlanks(name);
}

sds aclUserCat(const struct aclUser *u, sds text) {
    text = sdscat(text, u->flags & USER_ON ? "on " : "off ");
    if (u->flags & USER_NOPASS) text = sdscat(text, "nopass ");
    for (int i = 0; i < u->password_count; i++) text = sdscatprintf(text, "#%s ", u->passwords[i]);
    text = aclRulesCat(&u->rules, text);
    return u->role_count ? aclUserCatRoles(u, sdscat(text, " role=")) : text;
}

/* ---- The table ---- */

void aclForEachUserLine(const char *before, void (*fn)(void *priv, sds line), void *priv) {
    struct raxIterator it;
    raxStart(&it, &acl_users);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        const struct aclUser *u = it.value;
        sds line = aclUserCat(u, sdscatprintf(sdsempty(), "%s%s ", before, u->name));
        fn(priv, line);
        sdsfree(line);
    }
    raxStop(&it);
}

struct aclUser *aclFindUser(struct str name) {
    void *found;
    return raxFind(&acl_users, name, &found) ? found : NULL;
}

struct aclUser *aclDefaultUser(void) {
    return default_user;
}

struct str aclUserName(const struct client *c) {
    if (c->user) return sdsview(c->user->name);
    return STR("(superuser)");
}

struct aclUser *aclUserCreateDefault(void) {
    static const char *const rules[] = {"+@all", "~*", "&*", "on", "nopass"};
    struct aclUser *u = aclUserCreate(STR("default"));
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) aclUserApply(u, strOf(rules[i]));
    aclUserCompile(u);
    return u;
}

static struct aclUser **unlisted;
static int unlisted_count;

void aclUnlistedAdd(struct aclUser *u) {
    unlisted = zrealloc(unlisted, (size_t)(unlisted_count + 1) * sizeof *unlisted);
    unlisted[unlisted_count++] = u;
}

void aclUnlistedRemove(struct aclUser *u) {
    int i = 0;
    while (unlisted[i] != u) i++;
    unlisted[i] = unlisted[--unlisted_count];
}

/* Calls fn for each user of the table until it returns false, which is returned. */
static bool aclUserForEachListed(bool (*fn)(void *priv, struct aclUser *u), void *priv) {
    struct raxIterator it;
    bool go_on = true;
    raxStart(&it, &acl_users);
    for (bool more = raxSeek(&it, "^", STR("")); more && go_on; more = raxNext(&it))
        go_on = fn(priv, it.value);
    raxStop(&it);
    return go_on;
}

void aclForEachUser(bool (*fn)(void *priv, struct aclUser *u), void *priv) {
    bool go_on = aclUserForEachListed(fn, priv);
    for (int i = 0; i < unlisted_count && go_on; i++) go_on = fn(priv, unlisted[i]);
}

static bool aclUserIsUnlimited(void *limits, struct aclUser *u) {
    *(bool *)limits |= !u->head.unlimited;
    return u->head.unlimited;
}

bool aclHasLimits(void) {
    bool limits = false;
    aclForEachUser(aclUserIsUnlimited, &limits);
    return limits;
}

static bool aclUserRefresh(void *priv, struct aclUser *u) {
    (void)priv;
    aclRulesRefresh(&u->rules);
    aclUserCompile(u);
    return true;
}

static void aclUserCommandsChanged(void) {
    aclRolesRefresh(); /* first, since users are compiled from them */
    aclForEachUser(aclUserRefresh, NULL);
}

struct ruleSearch {
    struct str command;
    sds found;
};
static bool aclUserSearchRule(void *priv, struct aclUser *u) {
    struct ruleSearch *search = priv;
    search->found = aclRulesAbout(&u->rules, search->command);
    return !search->found;
}

sds aclRuleAbout(struct str command) {
    struct ruleSearch search = {.command = command, .found = aclRolesRuleAbout(command)};
    if (!search.found) aclUserForEachListed(aclUserSearchRule, &search);
    return search.found;
}

void aclUnlistedRenewRoles(void) {
    for (int i = 0; i < unlisted_count; i++) {
        struct aclUser *u = unlisted[i];
        if (!u->role_count) continue;
        struct aclUser *next = aclUserCopy(u);
        aclUserDropRoles(next);
        for (int k = 0; k < u->role_count; k++) {
            struct aclRole *now = aclFindRole(sdsview(u->roles[k]->name));
            if (now) aclUserAddRole(next, now);
        }
        aclUserCompile(next);
        aclKillSubscribers(u, next);
        aclUserReplace(u, next);
    }
}

void aclUsersInit(void) {
    commandsOnChange(aclUserCommandsChanged);
    raxInit(&acl_users);
    raxInit(&acl_roles);
    default_user = aclUserCreateDefault();
    nobody = aclUserCreate(STR("default"));
    raxInsert(&acl_users, STR("default"), default_user, NULL);
}

/* ---- Clients ---- */

bool aclKillClient(struct client *c, const struct client *self) {
    c->user = nobody; /* commands that it has queued must not run with any rights */
    if (c == self) return true;
    clientClose(c);
    return false;
}

bool aclKillClients(const struct aclUser *u, const struct client *self) {
    bool killed_self = false;
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (c->user == u) killed_self |= aclKillClient(c, self);
    }
    return killed_self;
}

bool aclClientIsOf(const struct client *c, const struct rax *users) {
    void *u;
    return c->user && raxFind(users, sdsview(c->user->name), &u) && u == c->user;
}

static bool aclUserHaveChannel(struct aclSelector *const *selectors, int count, struct str pattern) {
    for (int i = 0; i < count; i++) {
        if (aclPatternsHave(&selectors[i]->channels, pattern, 0)) return true;
    }
    return false;
}

bool aclLacksChannels(struct aclSelector *const *a, int a_count, struct aclSelector *const *b, int b_count) {
    for (int i = 0; i < b_count; i++) {
        if (b[i]->flags & SELECTOR_ALL_CHANNELS) return false;
    }
    for (int i = 0; i < a_count; i++) {
        if (a[i]->flags & SELECTOR_ALL_CHANNELS) return true;
        for (int k = 0; k < a[i]->channels.count; k++) {
            if (!aclUserHaveChannel(b, b_count, sdsview(a[i]->channels.items[k].text))) return true;
        }
    }
    return false;
}

static bool aclUserChannelAllowed(const void *user, struct str name) {
    return aclChannelAllowed(user, name, false);
}
static bool aclUserPatternAllowed(const void *user, struct str name) {
    return aclChannelAllowed(user, name, true);
}

bool aclUserLacksChannels(const struct aclUser *u, const struct aclUser *now) {
    return aclLacksChannels(u->grants, u->grant_count, now->grants, now->grant_count);
}

void aclKillSubscriber(struct client *c, const struct aclUser *u) {
    if (!(c->flags & CLIENT_PUBSUB)) return;
    bool allowed = pubsubAllAccepted(c, PUBSUB_CHANNEL, aclUserChannelAllowed, u) &&
                   pubsubAllAccepted(c, PUBSUB_SHARD, aclUserChannelAllowed, u) &&
                   pubsubAllAccepted(c, PUBSUB_PATTERN, aclUserPatternAllowed, u);
    if (!allowed) clientClose(c);
}

void aclKillSubscribers(const struct aclUser *u, const struct aclUser *now) {
    if (!aclUserLacksChannels(u, now)) return;
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (c->user == u) aclKillSubscriber(c, now);
    }
}

void aclKillRoleSubscribers(const struct aclRole *role) {
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (c->user && aclUserHasRole(c->user, role)) aclKillSubscriber(c, c->user);
    }
}
