/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_commands.c - ACL. Part of acl.h. */
#include <errno.h>

#include "acl/acl_private.h"
#include "acl/client_auth.h"
#include "base/log.h"
#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "client/client_log.h"
#include "client/reply.h"
#include "command/command.h"
#include "commands/cmd_acl.h"
#include "data/keyspace/db.h"

#define GENPASS_BITS     256
#define GENPASS_BITS_MAX 4096

/* ---- Users ---- */

/* Calls fn for every user, in order of names. */
static void aclForEachUser(struct client *c, void (*fn)(struct client *c, const struct aclUser *u)) {
    struct raxIterator it;
    raxStart(&it, &acl_users);
    bool more = raxSeek(&it, "^", STR(""));
    for (; more; more = raxNext(&it)) fn(c, it.value);
    raxStop(&it);
}

static void aclReplyName(struct client *c, const struct aclUser *u) {
    replyBulk(c, sdsview(u->name));
}

void aclUsersCommand(struct client *c) {
    replyArrayLen(c, (int64_t)acl_users.size);
    aclForEachUser(c, aclReplyName);
}

static void aclReplyLine(struct client *c, const struct aclUser *u) {
    sds line = aclUserCat(u, sdscatprintf(sdsempty(), "user %s ", u->name));
    replyBulk(c, sdsview(line));
    sdsfree(line);
}

void aclListCommand(struct client *c) {
    replyArrayLen(c, (int64_t)acl_users.size);
    aclForEachUser(c, aclReplyLine);
}

void aclWhoamiCommand(struct client *c) {
    if (c->user)
        replyBulk(c, aclUserName(c));
    else
        replyNull(c); /* called by a module */
}

static void aclReplyText(struct client *c, const char *name, sds text) {
    replyBulkCstr(c, name);
    replyBulk(c, sdsview(text));
    sdsfree(text);
}

#define SELECTOR_FIELDS 4
static void aclReplySelector(struct client *c, const struct aclSelector *s) {
    aclReplyText(c, "commands", sdsdup(s->commands));
    aclReplyText(c, "keys", aclSelectorCatKeys(s, sdsempty()));
    aclReplyText(c, "channels", aclSelectorCatChannels(s, sdsempty()));
    aclReplyText(c, "databases", aclSelectorCatDbs(s, sdsempty()));
}

static void aclReplyUserFlags(struct client *c, const struct aclUser *u) {
    bool nopass = u->flags & USER_NOPASS;
    replyBulkCstr(c, "flags");
    replySetLen(c, 1 + nopass);
    replyBulkCstr(c, u->flags & USER_ON ? "on" : "off");
    if (nopass) replyBulkCstr(c, "nopass");
}

void aclGetuserCommand(struct client *c) {
    struct aclUser *u = aclFindUser(c->argv[2]);
    if (!u) {
        replyNull(c);
        return;
    }
    replyMapLen(c, 3 + SELECTOR_FIELDS);
    aclReplyUserFlags(c, u);
    replyBulkCstr(c, "passwords");
    replyArrayLen(c, u->password_count);
    for (int i = 0; i < u->password_count; i++) replyBulk(c, sdsview(u->passwords[i]));
    aclReplySelector(c, u->selectors[0]);
    replyBulkCstr(c, "selectors");
    replyArrayLen(c, u->selector_count - 1);
    for (int i = 1; i < u->selector_count; i++) {
        replyMapLen(c, SELECTOR_FIELDS);
        aclReplySelector(c, u->selectors[i]);
    }
}

/* Logs a printable line, which it frees. */
static void aclLogChange(struct client *c, sds line) {
    sds shown = sdscatrepr(sdsempty(), line, sdslen(line));
    clientLogChange(c, strN(shown + 1, sdslen(shown) - 2));
    sdsfree(shown);
    sdsfree(line);
}

/* ---- SETUSER, DELUSER ---- */

/* Puts the new state in place, also for the user's clients. */
static void aclInstallUser(struct str name, struct aclUser *next) {
    struct aclUser *u = aclFindUser(name);
    if (!u) {
        raxInsert(&acl_users, name, next, NULL);
        return;
    }
    aclKillSubscribers(u, next);
    aclUserReplace(u, next);
}

static void aclReplyRuleError(struct client *c, sds rule, enum aclError error) {
    sds text = sdscatstr(sdsnew("ERR Error in ACL SETUSER modifier '"), sdsview(rule));
    text = sdscatprintf(text, "': %s", aclErrorText(error));
    replyErrorStr(c, sdsview(text));
    sdsfree(text);
}

/* Logs a change: "ACL SETUSER bob on >(redacted) ~*". */
static void aclLogSetuser(struct client *c, struct str name, const sds *rules, int count) {
    sds line = sdscatstr(sdsnew("ACL SETUSER "), name);
    for (int i = 0; i < count; i++) {
        bool secret = *rules[i] && strchr("><#!", *rules[i]);
        line = secret ? sdscatprintf(line, " %c(redacted)", *rules[i])
                      : sdscatstr(sdscat(line, " "), sdsview(rules[i]));
    }
    aclLogChange(c, line);
}

static void aclSetUserTo(struct client *c, struct str name, sds *rules, int count) {
    const struct aclUser *old = aclFindUser(name);
    struct aclUser *next = old ? aclUserCopy(old) : aclUserCreate(name);
    for (int i = 0; i < count; i++) {
        enum aclError error = aclUserApply(next, sdsview(rules[i]));
        if (!error) continue;
        aclReplyRuleError(c, rules[i], error);
        aclUserFree(next);
        return;
    }
    aclInstallUser(name, next);
    authUsersChanged();
    aclLogSetuser(c, name, rules, count);
    replyOk(c);
}

void aclSetuserCommand(struct client *c) {
    struct str name = c->argv[2];
    if (!aclNameIsValid(name)) {
        replyError(c, "ERR Usernames can't contain spaces or null characters");
        return;
    }
    int count, bad;
    sds *rules = aclMergeRules(c->argv + 3, c->argc - 3, &count, &bad);
    if (!rules) {
        struct str word = c->argv[3 + bad];
        replyErrorFmt(c, "ERR Unmatched parenthesis in acl selector starting at '%.*s'.", (int)word.len,
                      word.ptr);
        return;
    }
    aclSetUserTo(c, name, rules, count);
    sdsfreesplitres(rules, count);
}

static void aclLogDeluser(struct client *c) {
    for (int i = 2; i < c->argc; i++) {
        if (aclFindUser(c->argv[i])) aclLogChange(c, sdscatstr(sdsnew("ACL DELUSER "), c->argv[i]));
    }
}

void aclDeluserCommand(struct client *c) {
    for (int i = 2; i < c->argc; i++) {
        if (!strEq(c->argv[i], STR("default"))) continue;
        replyError(c, "ERR The 'default' user cannot be removed");
        return;
    }
    aclLogDeluser(c); /* first, since the caller's own user may be among them */
    int64_t deleted = 0;
    bool killed_self = false;
    for (int i = 2; i < c->argc; i++) {
        void *u;
        if (!raxRemove(&acl_users, c->argv[i], &u)) continue;
        deleted++;
        killed_self |= aclKillClients(u, c);
        aclUserFree(u);
    }
    authUsersChanged();
    replyLongLong(c, deleted);
    if (killed_self) clientCloseAfterReply(c);
}

/* ---- CAT ---- */

static int64_t aclReplyCommandsIn(struct client *c, struct hashtable *table, uint64_t category) {
    int64_t n = 0;
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, table, false);
    while (hashtableNext(&it, &entry)) {
        struct serverCommand *cmd = entry;
        if (cmd->acl & category) {
            replyBulk(c, sdsview(cmd->fullname));
            n++;
        }
        if (cmd->subcommands) n += aclReplyCommandsIn(c, cmd->subcommands, category);
    }
    hashtableStopIterator(&it);
    return n;
}

static void aclReplyCategories(struct client *c) {
    int64_t n = 0;
    for (const struct flagName *f = acl_categories; f->name; f++) n++;
    replyArrayLen(c, n);
    for (const struct flagName *f = acl_categories; f->name; f++) replyBulkCstr(c, f->name + 1);
}

void aclCatCommand(struct client *c) {
    if (c->argc > 3) {
        replySubcommandError(c);
        return;
    }
    if (c->argc == 2) {
        aclReplyCategories(c);
        return;
    }
    for (const struct flagName *f = acl_categories; f->name; f++) {
        if (!strIs(c->argv[2], f->name + 1)) continue;
        struct replyMark mark = replyDeferLen(c);
        replySetArrayLen(c, mark, aclReplyCommandsIn(c, &commands, f->flag));
        return;
    }
    replyErrorFmt(c, "ERR Unknown category '%.*s'", (int)c->argv[2].len, c->argv[2].ptr);
}

/* ---- DRYRUN ---- */

static void aclReplyDenial(struct client *c, const struct aclUser *u, const struct serverCommand *cmd,
                           enum aclDenial denial, struct str object) {
    sds text = aclDenialText(u, cmd, denial, &object);
    replyBulk(c, sdsview(text));
    sdsfree(text);
}

void aclDryrunCommand(struct client *c) {
    struct aclUser *u = aclFindUser(c->argv[2]);
    if (!u) {
        replyErrorFmt(c, "ERR User '%.*s' not found", (int)c->argv[2].len, c->argv[2].ptr);
        return;
    }
    struct request r = {.argv = c->argv + 3, .argc = c->argc - 3};
    int arg;
    r.cmd = commandLookup(r.argv, r.argc);
    if (!r.cmd) {
        replyErrorFmt(c, "ERR Command '%.*s' not found", (int)r.argv[0].len, r.argv[0].ptr);
        return;
    }
    if (!commandArityOk(r.cmd, r.argc)) {
        replyErrorFmt(c, "ERR wrong number of arguments for '%s' command", r.cmd->fullname);
        return;
    }
    enum aclDenial denial = aclCheck(u, &r, c->db->id, &arg);
    if (!denial)
        replyOk(c);
    else
        aclReplyDenial(c, u, r.cmd, denial, r.argv[arg]);
}

/* ---- GENPASS ---- */

void aclGenpassCommand(struct client *c) {
    int64_t bits = GENPASS_BITS;
    if (c->argc > 3) {
        replySubcommandError(c);
        return;
    }
    if (c->argc == 3 && !argLongLong(c, c->argv[2], &bits, NULL)) return;
    if (bits <= 0 || bits > GENPASS_BITS_MAX) {
        replyErrorFmt(
            c,
            "ERR ACL GENPASS argument must be the number of bits for the output password, a positive "
            "number up to %d",
            GENPASS_BITS_MAX);
        return;
    }
    char password[GENPASS_BITS_MAX / 4];
    size_t digits = ((size_t)bits + 3) / 4;
    randomHexChars(password, digits);
    replyBulk(c, strN(password, digits));
}

/* ---- LOAD, SAVE ---- */

static bool aclRequireFile(struct client *c) {
    if (aclHasFile()) return true;
    return replyError(
        c,
        "ERR This instance is not configured to use an ACL file. You may want to specify users via the ACL "
        "SETUSER command and then issue a CONFIG REWRITE (assuming you have a configuration file set) in "
        "order to store users in the configuration.");
}

void aclLoadCommand(struct client *c) {
    if (!aclRequireFile(c)) return;
    bool killed_self;
    sds who = clientLogAuthor(c, sdsempty()); /* afterwards the user may not exist any more */
    sds errors = aclFileLoad(c, &killed_self);
    if (!errors) {
        serverLog(LL_NOTICE, "ACL LOAD (by %s)", who);
        sdsfree(who);
        replyOk(c);
        if (killed_self) clientCloseAfterReply(c);
        return;
    }
    sdsfree(who);
    sds text = sdscatprintf(sdsempty(), "ERR %s", errors);
    replyErrorStr(c, sdsview(text));
    sdsfree(text);
    sdsfree(errors);
}

void aclSaveCommand(struct client *c) {
    if (!aclRequireFile(c)) return;
    if (aclFileSave()) {
        clientLogChange(c, STR("ACL SAVE"));
        replyOk(c);
        return;
    }
    serverLog(LL_WARNING, "The ACL file could not be saved: %s", strerror(errno));
    replyError(
        c,
        "ERR There was an error trying to save the ACLs. Please check the server logs for more information");
}

/* ---- HELP ---- */

void aclHelpCommand(struct client *c) {
    replyHelp(c, (const char *[]){
                     "CAT [<category>]",
                     "    The categories of commands, or the commands of one.",
                     "DELUSER <username> [<username> ...]",
                     "    Delete users, and close their connections.",
                     "DRYRUN <username> <command> [<arg> ...]",
                     "    Check whether the user may run this command, without running it.",
                     "GENPASS [<bits>]",
                     "    A random password, as hexadecimal digits; 256 bits by default.",
                     "GETUSER <username>",
                     "    The rights of a user, field by field.",
                     "LIST",
                     "    All users with their rules, as lines of a file.",
                     "LOAD",
                     "    Load the users of the ACL file, all or none.",
                     "LOG [<count>|RESET]",
                     "    Recent refusals, newest first; or delete them.",
                     "SAVE",
                     "    Write all users to the ACL file.",
                     "SETUSER <username> [<rule> ...]",
                     "    Change a user, or create one, by rules; all of them or none.",
                     "USERS",
                     "    The names of all users.",
                     "WHOAMI",
                     "    The user of this connection.",
                     NULL,
                 });
}
