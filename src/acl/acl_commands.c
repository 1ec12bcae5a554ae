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

void aclReplyNames(struct client *c, struct rax *table) {
    struct raxIterator it;
    replyArrayLen(c, (int64_t)table->size);
    raxStart(&it, table);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) replyBulk(c, it.key);
    raxStop(&it);
}

void aclUsersCommand(struct client *c) {
    aclReplyNames(c, &acl_users);
}

static void aclReplyLine(void *client, sds line) {
    replyBulk(client, sdsview(line));
}

void aclListCommand(struct client *c) {
    replyArrayLen(c, (int64_t)(acl_roles.size + acl_users.size));
    aclForEachRoleLine("role ", aclReplyLine, c);
    aclForEachUserLine("user ", aclReplyLine, c);
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

void aclReplySelector(struct client *c, const struct aclSelector *s) {
    aclReplyText(c, "commands", sdsdup(s->commands));
    aclReplyText(c, "keys", aclSelectorCatKeys(s, sdsempty()));
    aclReplyText(c, "channels", aclSelectorCatChannels(s, sdsempty()));
    aclReplyText(c, "databases", aclSelectorCatDbs(s, sdsempty()));
}

void aclReplySelectors(struct client *c, const struct aclRules *r) {
    replyBulkCstr(c, "selectors");
    replyArrayLen(c, r->count - 1);
    for (int i = 1; i < r->count; i++) {
        replyMapLen(c, ACL_SELECTOR_FIELDS);
        aclReplySelector(c, r->selectors[i]);
    }
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
    replyMapLen(c, 4 + ACL_SELECTOR_FIELDS);
    aclReplyUserFlags(c, u);
    replyBulkCstr(c, "passwords");
    replyArrayLen(c, u->password_count);
    for (int i = 0; i < u->password_count; i++) replyBulk(c, sdsview(u->passwords[i]));
    aclReplySelector(c, u->rules.selectors[0]);
    aclReplySelectors(c, &u->rules);
    replyBulkCstr(c, "roles");
    replyArrayLen(c, u->role_count);
    for (int i = 0; i < u->role_count; i++) replyBulk(c, sdsview(u->roles[i]->name));
}

void aclLogChange(struct client *c, sds line) {
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

sds *aclReadRules(struct client *c, int from, int *count) {
    int bad;
    sds *rules = aclRulesMerge(c->argv + from, c->argc - from, count, &bad);
    if (rules) return rules;
    struct str word = c->argv[from + bad];
    replyErrorFmt(c, "ERR Unmatched parenthesis in acl selector starting at '%.*s'.", (int)word.len,
                  word.ptr);
    return NULL;
}

void aclReplyRuleError(struct client *c, const char *subcommand, sds rule, enum aclError error) {
    sds text = sdscatprintf(sdsempty(), "ERR Error in ACL %s modifier '", subcommand);
    text = sdscatstr(text, sdsview(rule));
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
    int failed;
    enum aclError error = aclUserApplyAll(next, rules, count, &failed);
    if (error) {
        aclReplyRuleError(c, "SETUSER", rules[failed], error);
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
    int count;
    sds *rules = aclReadRules(c, 3, &count);
    if (!rules) return;
    aclSetUserTo(c, name, rules, count);
    sdsfreesplitres(rules, count);
}

static void aclLogDeluser(struct client *c) {
    for (int i = 2; i < c->argc; i++) {
        if (aclFindUser(c->argv[i])) aclLogChange(c, sdscatstr(sdsnew("ACL DELUSER "), c->argv[i]));
    }
}

static void aclFreeDeletedUser(void *user) {
    aclUserFree(user);
}

void aclDeluserCommand(struct client *c) {
    for (int i = 2; i < c->argc; i++) {
        if (!strEq(c->argv[i], STR("default"))) continue;
        replyError(c, "ERR The 'default' user cannot be removed");
        return;
    }
    aclLogDeluser(c); /* first, since the caller's own user may be among them */
    struct rax deleted;
    bool killed_self = false;
    void *u;
    raxInit(&deleted);
    for (int i = 2; i < c->argc; i++) {
        if (raxRemove(&acl_users, c->argv[i], &u)) raxInsert(&deleted, c->argv[i], u, NULL);
    }
    listForEach(&clients, it) {
        struct client *client = listEntry(it, struct client, node);
        if (aclClientIsOf(client, &deleted)) killed_self |= aclKillClient(client, c);
    }
    replyLongLong(c, (int64_t)deleted.size);
    raxDestroy(&deleted, aclFreeDeletedUser);
    authUsersChanged();
    if (killed_self) clientCloseAfterReply(c);
}

/* ---- DIGEST ---- */

/* XORs the hash of a line into the digits of the digest. */
static void aclDigestAdd(void *digest, sds line) {
    char hash[SHA256_HEX_LEN + 1], *digits = digest;
    sha256Hex(hash, line, sdslen(line));
    for (int i = 0; i < SHA256_HEX_LEN; i++)
        digits[i] = "0123456789abcdef"[charHexDigit(digits[i]) ^ charHexDigit(hash[i])];
}

/* The line of a role begins otherwise than in ACL LIST, so that it differs from the line of every user. */
void aclDigestCommand(struct client *c) {
    char digest[SHA256_HEX_LEN];
    memset(digest, '0', sizeof digest);
    aclForEachRoleLine("role=", aclDigestAdd, digest);
    aclForEachUserLine("", aclDigestAdd, digest);
    replyBulk(c, strN(digest, sizeof digest));
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
                     "DELROLE <rolename> [<rolename> ...]",
                     "    Delete roles that no user has.",
                     "DELUSER <username> [<username> ...]",
                     "    Delete users, and close their connections.",
                     "DIGEST",
                     "    A hash of all users and roles, to compare servers.",
                     "DRYRUN <username> <command> [<arg> ...]",
                     "    Check whether the user may run this command, without running it.",
                     "GENPASS [<bits>]",
                     "    A random password, as hexadecimal digits; 256 bits by default.",
                     "GETROLE <rolename>",
                     "    The rights of a role, field by field, and the users who have it.",
                     "GETUSER <username>",
                     "    The rights of a user, field by field.",
                     "LIST",
                     "    All roles and users with their rules, as lines of a file.",
                     "LOAD",
                     "    Load the roles and users of the ACL file, all or none.",
                     "LOG [<count>|RESET]",
                     "    Recent refusals, newest first; or delete them.",
                     "ROLES",
                     "    The names of all roles.",
                     "SAVE",
                     "    Write all roles and users to the ACL file.",
                     "SETROLE <rolename> [<rule> ...]",
                     "    Change a role, or create one, by rules; all of them or none.",
                     "SETUSER <username> [<rule> ...]",
                     "    Change a user, or create one, by rules; all of them or none.",
                     "USERS",
                     "    The names of all users.",
                     "WHOAMI",
                     "    The user of this connection.",
                     NULL,
                 });
}
