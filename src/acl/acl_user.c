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
    u->selectors = zmalloc(sizeof *u->selectors);
    u->selectors[0] = aclSelectorCreate();
    u->selector_count = 1;
    return u;
}

static void aclUserDropPasswords(struct aclUser *u) {
    for (int i = 0; i < u->password_count; i++) sdsfree(u->passwords[i]);
    zfree(u->passwords);
    u->passwords = NULL;
    u->password_count = 0;
}

static void aclUserDropSelectors(struct aclUser *u, int from) {
    while (u->selector_count > from) aclSelectorFree(u->selectors[--u->selector_count]);
}

static void aclUserFreeContents(struct aclUser *u) {
    aclUserDropPasswords(u);
    aclUserDropSelectors(u, 0);
    zfree(u->selectors);
}

void aclUserFree(struct aclUser *u) {
    aclUserFreeContents(u);
    sdsfree(u->name);
    zfree(u);
}

/* Clears the memos, which contain views of the rules. */
static void aclUserForgetMemos(struct aclUser *u) {
    memset(u->head.memos, 0, sizeof u->head.memos);
}

struct aclUser *aclUserCopy(const struct aclUser *u) {
    struct aclUser *copy = zmalloc(sizeof *copy);
    *copy = *u;
    aclUserForgetMemos(copy);
    copy->name = sdsdup(u->name);
    copy->passwords = u->password_count ? zmalloc((size_t)u->password_count * sizeof *u->passwords) : NULL;
    for (int i = 0; i < u->password_count; i++) copy->passwords[i] = sdsdup(u->passwords[i]);
    copy->selectors = zmalloc((size_t)u->selector_count * sizeof *u->selectors);
    for (int i = 0; i < u->selector_count; i++) copy->selectors[i] = aclSelectorCopy(u->selectors[i]);
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
    }
    serverUnreachable();
}

static void aclUserNoteUnlimited(struct aclUser *u) {
    u->head.unlimited = false;
    for (int i = 0; i < u->selector_count; i++) {
        if ((u->selectors[i]->flags & SELECTOR_EVERYTHING) == SELECTOR_EVERYTHING) u->head.unlimited = true;
    }
}

/* Applies "(+get ~x)". */
static enum aclError aclUserAddSelector(struct aclUser *u, struct str rule) {
    int n;
    enum aclError error = ACL_OK;
    struct aclSelector *s = aclSelectorCreate();
    sds *words = sdssplitargs(rule.ptr + 1, rule.len - 2, &n);
    if (!words) error = ACL_ERR_SYNTAX;
    for (int i = 0; words && i < n && !error; i++) error = aclSelectorApply(s, sdsview(words[i]));
    if (words) sdsfreesplitres(words, n);
    if (error) {
        aclSelectorFree(s);
        return error;
    }
    u->selectors = zrealloc(u->selectors, (size_t)(u->selector_count + 1) * sizeof *u->selectors);
    u->selectors[u->selector_count++] = s;
    return ACL_OK;
}

static void aclUserReset(struct aclUser *u) {
    aclUserDropPasswords(u);
    aclUserDropSelectors(u, 0);
    u->flags = 0;
    u->selectors[u->selector_count++] = aclSelectorCreate();
}

/* Applies rules of the user, not of its root selector, that are a single word. */
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
    } else if (strIs(rule, "clearselectors"))
        aclUserDropSelectors(u, 1);
    else if (strIs(rule, "reset"))
        aclUserReset(u);
    else
        return false;
    return true;
}

static enum aclError aclUserApplyOther(struct aclUser *u, struct str rule) {
    if (!rule.len) return ACL_OK; /* an empty word has no effect */
    char first = rule.ptr[0];
    if (strchr("><#!", first)) return aclUserApplyPassword(u, rule);
    if (first == '(' && rule.len > 1 && rule.ptr[rule.len - 1] == ')') return aclUserAddSelector(u, rule);
    return aclSelectorApply(u->selectors[0], rule);
}

enum aclError aclUserApply(struct aclUser *u, struct str rule) {
    enum aclError error = aclUserApplyWord(u, rule) ? ACL_OK : aclUserApplyOther(u, rule);
    aclUserNoteUnlimited(u);
    aclUserForgetMemos(u);
    return error;
}

bool aclNameIsValid(struct str name) {
    return !aclHasBlanks(name);
}

sds *aclMergeRules(const struct str *words, int count, int *merged, int *bad) {
    sds *rules = zmalloc((size_t)(count + 1) * sizeof *rules);
    int n = 0, open = -1; /* open: index of the word with an open parenthesis */
    for (int i = 0; i < count; i++) {
        bool starts = open < 0 && words[i].len && words[i].ptr[0] == '(';
        if (open < 0)
            rules[n++] = sdsnewstr(words[i]);
        else
            rules[n - 1] = sdscatstr(sdscatlen(rules[n - 1], " ", 1), words[i]);
        if (starts) open = i;
        if (open >= 0 && words[i].len && words[i].ptr[words[i].len - 1] == ')') open = -1;
    }
    *merged = n;
    *bad = open;
    if (open < 0) return rules;
    sdsfreesplitres(rules, n);
    return NULL;
}

/* "(~a +get)" is parsed with quotes, and ends with the first word that ends with a parenthesis. */
static sds aclUserCatSelector(const struct aclSelector *s, sds text) {
    int n;
    sds rules = aclSelectorCat(s, sdsempty());
    sds *words = sdssplitlen(rules, sdslen(rules), " ", 1, &n);
    for (int i = 0; i < n; i++) {
        struct str word = sdsview(words[i]);
        bool quote = memchr(word.ptr, '"', word.len) || memchr(word.ptr, '\'', word.len) ||
                     (word.len && word.ptr[word.len - 1] == ')');
        text = sdscat(text, i ? " " : " (");
        text = quote ? sdscatrepr(text, word.ptr, word.len) : sdscatstr(text, word);
    }
    sdsfreesplitres(words, n);
    sdsfree(rules);
    return sdscat(text, ")");
}

sds aclUserCat(const struct aclUser *u, sds text) {
    text = sdscat(text, u->flags & USER_ON ? "on " : "off ");
    if (u->flags & USER_NOPASS) text = sdscat(text, "nopass ");
    for (int i = 0; i < u->password_count; i++) text = sdscatprintf(text, "#%s ", u->passwords[i]);
    text = aclSelectorCat(u->selectors[0], text);
    for (int i = 1; i < u->selector_count; i++) text = aclUserCatSelector(u->selectors[i], text);
    return text;
}

/* ---- The table ---- */

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

/* Calls fn for each user of the table until it returns false. */
static void aclUserForEachUser(bool (*fn)(void *priv, struct aclUser *u), void *priv) {
    struct raxIterator it;
    raxStart(&it, &acl_users);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        if (!fn(priv, it.value)) break;
    }
    raxStop(&it);
}

static bool aclUserIsUnlimited(void *limits, struct aclUser *u) {
    *(bool *)limits |= !u->head.unlimited;
    return u->head.unlimited;
}

bool aclHasLimits(void) {
    bool limits = false;
    aclUserForEachUser(aclUserIsUnlimited, &limits);
    for (int i = 0; i < unlisted_count; i++) aclUserIsUnlimited(&limits, unlisted[i]);
    return limits;
}

static bool aclUserRefreshUser(void *priv, struct aclUser *u) {
    (void)priv;
    for (int i = 0; i < u->selector_count; i++) aclSelectorRefresh(u->selectors[i]);
    memset(u->head.memos, 0, sizeof u->head.memos);
    aclUserNoteUnlimited(u);
    return true;
}

static void aclUserCommandsChanged(void) {
    aclUserForEachUser(aclUserRefreshUser, NULL);
    for (int i = 0; i < unlisted_count; i++) aclUserRefreshUser(NULL, unlisted[i]);
}

struct ruleSearch {
    struct str command;
    sds found;
};
static bool aclUserSearchRule(void *priv, struct aclUser *u) {
    struct ruleSearch *search = priv;
    for (int i = 0; i < u->selector_count && !search->found; i++)
        search->found = aclSelectorRuleAbout(u->selectors[i], search->command);
    return !search->found;
}

sds aclRuleAbout(struct str command) {
    struct ruleSearch search = {.command = command};
    aclUserForEachUser(aclUserSearchRule, &search);
    return search.found;
}

void aclUsersInit(void) {
    commandsOnChange(aclUserCommandsChanged);
    raxInit(&acl_users);
    default_user = aclUserCreateDefault();
    nobody = aclUserCreate(STR("default"));
    raxInsert(&acl_users, STR("default"), default_user, NULL);
}

/* ---- Clients ---- */

bool aclKillClients(const struct aclUser *u, const struct client *self) {
    bool killed_self = false;
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (c->user != u) continue;
        c->user = nobody; /* commands that it has queued must not run with any rights */
        if (c == self)
            killed_self = true;
        else
            clientClose(c);
    }
    return killed_self;
}

/* Returns whether `a` has a channel pattern that `b` does not have. */
static bool aclUserLacksChannels(const struct aclUser *a, const struct aclUser *b) {
    for (int i = 0; i < b->selector_count; i++) {
        if (b->selectors[i]->flags & SELECTOR_ALL_CHANNELS) return false;
    }
    for (int i = 0; i < a->selector_count; i++) {
        const struct aclSelector *s = a->selectors[i];
        if (s->flags & SELECTOR_ALL_CHANNELS) return true;
        for (int j = 0; j < s->channels.count; j++) {
            bool there = false;
            for (int k = 0; k < b->selector_count && !there; k++) {
                there = aclPatternsHave(&b->selectors[k]->channels, sdsview(s->channels.items[j].text), 0);
            }
            if (!there) return true;
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

void aclKillSubscribers(const struct aclUser *u, const struct aclUser *now) {
    if (!aclUserLacksChannels(u, now)) return;
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (c->user != u || !(c->flags & CLIENT_PUBSUB)) continue;
        bool allowed = pubsubAllAccepted(c, PUBSUB_CHANNEL, aclUserChannelAllowed, now) &&
                       pubsubAllAccepted(c, PUBSUB_SHARD, aclUserChannelAllowed, now) &&
                       pubsubAllAccepted(c, PUBSUB_PATTERN, aclUserPatternAllowed, now);
        if (!allowed) clientClose(c);
    }
}
