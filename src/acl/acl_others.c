/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_others.c - see acl_others.h. Part of acl.h. */
#include "acl/acl_others.h"

#include <errno.h>

#include "acl/acl_private.h"
#include "acl/client_auth.h"
#include "base/glob.h"

struct aclUser *aclModuleUserCreate(struct str name) {
    struct aclUser *u = aclUserCreate(name);
    aclUnlistedAdd(u);
    authUsersChanged();
    return u;
}

void aclModuleUserFree(struct aclUser *u) {
    aclKillClients(u, NULL);
    aclUnlistedRemove(u);
    authUsersChanged();
    aclUserFree(u);
}

/* ---- Rules ---- */

static int aclOthersErrnoOf(enum aclError error) {
    switch (error) {
    case ACL_ERR_UNKNOWN_COMMAND:
    case ACL_ERR_NO_SUCH_ROLE: return ENOENT;
    case ACL_ERR_FIRST_ARG_OF_SUBCOMMAND: return ECHILD;
    case ACL_ERR_PATTERN_AFTER_ALL: return EEXIST;
    case ACL_ERR_CHANNEL_AFTER_ALL: return EISDIR;
    case ACL_ERR_DB_RANGE: return ERANGE;
    case ACL_ERR_NO_SUCH_PASSWORD: return ENODEV;
    case ACL_ERR_BAD_HASH: return EBADMSG;
    default: return EINVAL;
    }
}

static bool aclOthersRefuse(sds *err, sds text, int number) {
    if (err)
        *err = text;
    else
        sdsfree(text);
    errno = number;
    return false;
}

bool aclUserSetRules(struct aclUser *u, const struct str *words, int count, sds *err) {
    int rule_count, bad;
    sds *rules = aclRulesMerge(words, count, &rule_count, &bad);
    if (!rules)
        return aclOthersRefuse(err,
                               sdscatprintf(sdsempty(),
                                            "Unmatched parenthesis in acl selector starting at '%.*s'.",
                                            (int)words[bad].len, words[bad].ptr),
                               EINVAL);
    struct aclUser *next = aclUserCopy(u);
    int i;
    enum aclError error = aclUserApplyAll(next, rules, rule_count, &i);
    if (error) {
        sds text = sdscatstr(sdsnew("Error in ACL SETUSER modifier '"), sdsview(rules[i]));
        aclOthersRefuse(err, sdscatprintf(text, "': %s", aclErrorText(error)), aclOthersErrnoOf(error));
        aclUserFree(next);
    } else {
        aclKillSubscribers(u, next);
        aclUserReplace(u, next);
        authUsersChanged();
    }
    sdsfreesplitres(rules, rule_count);
    return !error;
}

sds aclUserText(const struct aclUser *u) {
    return aclUserCat(u, sdsempty());
}

struct str aclUserNameOf(const struct aclUser *u) {
    return sdsview(u->name);
}

/* ---- Checks ---- */

enum aclDenial aclUserMayRun(struct aclUser *u, struct serverCommand *cmd, const struct str *argv, int argc,
                             int db, int *arg) {
    struct request r = {.argv = (struct str *)argv, .argc = argc, .cmd = cmd};
    return aclCheck(u, &r, db, arg);
}

bool aclUserMayUseKey(struct aclUser *u, struct str key, unsigned key_flags) {
    for (int i = 0; i < u->grant_count; i++) {
        struct aclSelector *s = u->grants[i];
        if (s->flags & SELECTOR_ALL_KEYS || aclPatternsMatch(&s->keys, key, aclAccessOf(key_flags)))
            return true;
    }
    return false;
}

/* Returns whether the pattern matches everything that begins with the prefix. Only a pattern with a * at its
 * end does. Matching more bytes shows that the last * is a wildcard, not in a set or escaped. */
static bool aclOthersPatternCovers(struct str pattern, struct str prefix) {
    if (!pattern.len || pattern.ptr[pattern.len - 1] != '*') return false;
    if (prefix.len && !globMatch(pattern, prefix, false))
        return false; /* no pattern matches a name of no bytes */
    sds longer = sdscatlen(sdsnewstr(prefix), "\x01\x02", 2);
    bool covers = globMatch(pattern, sdsview(longer), false);
    sdsfree(longer);
    return covers;
}

bool aclUserMayUsePrefix(const struct aclUser *u, struct str prefix, unsigned key_flags) {
    unsigned access = aclAccessOf(key_flags);
    for (int i = 0; i < u->grant_count; i++) {
        const struct aclSelector *s = u->grants[i];
        if (s->flags & SELECTOR_ALL_KEYS) return true;
        for (int j = 0; j < s->keys.count; j++) {
            const struct aclPattern *p = &s->keys.items[j];
            if ((p->access & access) == access && aclOthersPatternCovers(sdsview(p->text), prefix))
                return true;
        }
    }
    return false;
}

bool aclUserMayUseChannel(const struct aclUser *u, struct str channel, bool is_pattern) {
    return aclChannelAllowed(u, channel, is_pattern);
}

void aclNoteOther(struct client *c, enum aclDenial reason, struct str user, struct str object) {
    aclLogAdd(c, reason, ACL_MODULE, user, object);
}
