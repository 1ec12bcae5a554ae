/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_check.c - checks whether a user may run a command. Part of acl.h.
 *
 * A selector is checked in the order database, command, keys, channels, up to the first denial. The user may
 * run the command when one selector allows all of it. When none does, the denial that came furthest is
 * reported, as that selector allows nearly everything. Selectors of the user's roles count like its own. */
#include "acl/acl_private.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "commands/cmd_connection.h"
#include "commands/cmd_generic.h"
#include "commands/cmd_grammar.h"
#include "commands/cmd_pubsub.h"
#include "commands/cmd_server.h"
#include "commands/cmd_transactions.h"
#include "data/keyspace/db.h"
#include "registry/server_events.h"

/* The request that selectors are checked for. */
struct question {
    const struct serverCommand *cmd; /* from the request */
    const struct str *argv;
    int argc, db;
    struct str begin; /* the prefix of its key that allowed it; NULL: something else did */
};

static struct question aclCheckSelectors(const struct request *r, int db) {
    return (struct question){.cmd = r->cmd, .argv = r->argv, .argc = r->argc, .db = db};
}

/* ---- Command ---- */

static bool aclCheckCommandAllowed(const struct aclSelector *s, const struct question *q) {
    if (aclSelectorHasCommand(s, q->cmd->id) || q->cmd->flags & CMD_NO_AUTH) return true;
    for (int i = 0; i < s->first_arg_count && q->argc > 1; i++) {
        if (s->first_args[i].id == q->cmd->id && strIs(q->argv[1], s->first_args[i].arg)) return true;
    }
    return false;
}

/* ---- Databases ---- */

/* Commands that read or write, and those that may name keys, whether this call does or not: scripts and
 * functions may use keys that they were not given. */
static bool aclCheckWorksOnData(const struct serverCommand *cmd) {
    if (cmd->acl & (ACL_KEYSPACE | ACL_READ | ACL_WRITE)) return true;
    for (int i = 0; i < cmd->spec->key_spec_count; i++) {
        if (!(cmd->spec->key_specs[i].flags & KEY_NOT_KEY)) return true;
    }
    return cmd->spec->getkeys != NULL;
}

/* Returns false for an argument that is no database number; the command itself refuses it. */
static bool aclCheckArgIsDb(const struct question *q, int i, int64_t *db) {
    return i < q->argc && string2ll(q->argv[i], db) && dbGet(*db);
}

static bool aclCheckDbArgAllowed(const struct aclSelector *s, const struct question *q, int i, int *arg) {
    int64_t db;
    if (!aclCheckArgIsDb(q, i, &db) || aclSelectorHasDb(s, db)) return true;
    *arg = i;
    return false;
}

static bool aclCheckSwapAllowed(const struct aclSelector *s, const struct question *q, int *arg) {
    int64_t db;
    if (!aclCheckArgIsDb(q, 1, &db) || !aclCheckArgIsDb(q, 2, &db)) return true;
    return aclCheckDbArgAllowed(s, q, 1, arg) && aclCheckDbArgAllowed(s, q, 2, arg);
}

/* COPY a b DB n: every n, if the options are well-formed. */
static bool aclCheckCopyTargetAllowed(const struct aclSelector *s, const struct question *q, int *arg) {
    int64_t db;
    int denied = 0;
    for (int i = 3; i < q->argc; i++) {
        if (strIs(q->argv[i], "replace")) continue;
        if (!strIs(q->argv[i], "db") || !aclCheckArgIsDb(q, ++i, &db)) return true;
        if (!denied && !aclSelectorHasDb(s, db)) denied = i;
    }
    *arg = denied ? denied : *arg;
    return !denied;
}

static bool aclCheckEveryDbAllowed(const struct aclSelector *s) {
    int i = 0;
    while (i < dbCount() && aclSelectorHasDb(s, i)) i++;
    return i == dbCount();
}

static bool aclCheckDbsAllowed(const struct aclSelector *s, const struct question *q, int *arg) {
    commandProc *proc = q->cmd->spec->proc;
    if (q->cmd->flags & CMD_ALL_DBS) return aclCheckEveryDbAllowed(s);
    if (proc == execCommand && q->argc == 1) return true; /* no conditions, so it reads nothing */
    if (proc == selectCommand) return aclCheckDbArgAllowed(s, q, 1, arg);
    if (proc == swapdbCommand) return aclCheckSwapAllowed(s, q, arg);
    if (proc == moveCommand && !aclCheckDbArgAllowed(s, q, 2, arg)) return false;
    if (proc == copyCommand && !aclCheckCopyTargetAllowed(s, q, arg)) return false;
    return !aclCheckWorksOnData(q->cmd) || aclSelectorHasDb(s, q->db);
}

/* ---- Keys ---- */

unsigned aclAccessOf(unsigned key_flags) {
    return (key_flags & KEY_ACCESS ? ACL_PATTERN_READ : 0) |
           (key_flags & (KEY_INSERT | KEY_DELETE | KEY_UPDATE) ? ACL_PATTERN_WRITE : 0);
}

static bool aclCheckKeyAllowed(struct aclSelector *s, struct question *q, const struct keyRef *key,
                               int *arg) {
    if (aclPatternsMatchBegin(&s->keys, q->argv[key->pos], aclAccessOf(key->flags), &q->begin)) return true;
    *arg = key->pos;
    return false;
}

/* Returns whether a command may have keys. A module's may find keys without any key spec (getkeys-api). */
static bool aclCheckMayHaveKeys(const struct serverCommand *cmd) {
    return cmd->spec->key_spec_count || cmd->spec->getkeys;
}

static bool aclCheckKeysAllowed(struct aclSelector *s, struct question *q, int *arg) {
    const struct keyRef *only = &q->cmd->only_key;
    if (only->pos && only->pos < q->argc) {
        if (!(only->flags & KEY_VARIABLE_FLAGS)) return aclCheckKeyAllowed(s, q, only, arg);
        if (aclPatternsMatchBegin(&s->keys, q->argv[only->pos], ACL_PATTERN_ALL, &q->begin))
            return true; /* any access */
    }
    if (!aclCheckMayHaveKeys(q->cmd)) return true;
    struct keyRef *keys;
    int n = commandGetKeyRefs(q->cmd, q->argv, q->argc, &keys);
    bool allowed = true;
    for (int i = 0; i < n && allowed; i++) allowed = aclCheckKeyAllowed(s, q, &keys[i], arg);
    zfree(keys);
    q->begin = (struct str){0}; /* the access depends on further arguments */
    return allowed;
}

/* ---- Channels ---- */

/* A pattern is only allowed when the selector has exactly this pattern: matches cannot be compared. */
static bool aclCheckSelectorHasChannel(struct aclSelector *s, struct str channel, bool is_pattern) {
    if (s->flags & SELECTOR_ALL_CHANNELS) return true;
    return is_pattern ? aclPatternsHave(&s->channels, channel, 0)
                      : aclPatternsMatch(&s->channels, channel, 0);
}

bool aclChannelAllowed(const struct aclUser *u, struct str channel, bool is_pattern) {
    for (int i = 0; i < u->grant_count; i++) {
        if (aclCheckSelectorHasChannel(u->grants[i], channel, is_pattern)) return true;
    }
    return false;
}

/* Checks the channels that a module's command names. */
static bool aclCheckNamedChannelsAllowed(struct aclSelector *s, const struct question *q, int *arg) {
    struct keyRef *channels;
    int n = q->cmd->spec->getchannels(q->cmd, q->argv, q->argc, &channels);
    bool allowed = true;
    for (int i = 0; i < n && allowed; i++) {
        const struct keyRef *ch = &channels[i];
        if (!(ch->flags & (CHANNEL_PUBLISH | CHANNEL_SUBSCRIBE))) continue;
        *arg = ch->pos;
        allowed = aclCheckSelectorHasChannel(s, q->argv[ch->pos], ch->flags & CHANNEL_PATTERN);
    }
    zfree(channels);
    return allowed;
}

static bool aclCheckChannelsAllowed(struct aclSelector *s, const struct question *q, int *arg) {
    if (q->cmd->flags & CMD_HAS_CHANNELS) return aclCheckNamedChannelsAllowed(s, q, arg);
    commandProc *proc = q->cmd->spec->proc;
    bool publish = proc == publishCommand || proc == spublishCommand, pattern = proc == psubscribeCommand;
    if (!publish && !pattern && proc != subscribeCommand && proc != ssubscribeCommand) return true;
    for (int i = 1; i < (publish ? 2 : q->argc); i++) {
        *arg = i;
        if (!aclCheckSelectorHasChannel(s, q->argv[i], pattern)) return false;
    }
    return true;
}

/* ---- The whole check ---- */

static enum aclDenial aclCheckSelector(struct aclSelector *s, struct question *q, int *arg) {
    if (!(s->flags & SELECTOR_ALL_DBS) && !aclCheckDbsAllowed(s, q, arg)) return ACL_DENIED_DB;
    if (!aclCheckCommandAllowed(s, q)) return ACL_DENIED_COMMAND;
    if (!(s->flags & SELECTOR_ALL_KEYS) && !aclCheckKeysAllowed(s, q, arg)) return ACL_DENIED_KEY;
    if (q->cmd->flags & (CMD_PUBSUB | CMD_HAS_CHANNELS) && !aclCheckChannelsAllowed(s, q, arg))
        return ACL_DENIED_CHANNEL;
    return ACL_ALLOWED;
}

/* Caches a permission unless it depends on further arguments: for a prefix of the only key, or for all keys,
 * but not for first arguments, or for databases and channels among the arguments. */
static void aclCheckCachePermission(struct aclUser *u, const struct aclSelector *s,
                                    const struct question *q) {
    const struct serverCommand *cmd = q->cmd;
    bool all_keys = s->flags & SELECTOR_ALL_KEYS || !aclCheckMayHaveKeys(cmd);
    bool all_dbs = s->flags & SELECTOR_ALL_DBS;
    if (!aclSelectorHasCommand(s, cmd->id) || cmd->flags & (CMD_PUBSUB | CMD_HAS_CHANNELS | CMD_ALL_DBS))
        return;
    if (!all_dbs && !(cmd->only_key.pos && cmd->spec->proc != moveCommand)) return;
    if (!all_keys && !(cmd->only_key.pos && q->begin.ptr)) return;
    struct aclMemo m = {.cmd = cmd, .db = all_dbs ? ACL_MEMO_ANY_DB : q->db};
    if (!all_keys) {
        m.key_pos = cmd->only_key.pos;
        m.begin = q->begin;
        memset(&m.mask, 0xff, q->begin.len < sizeof m.mask ? q->begin.len : sizeof m.mask);
        memcpy(&m.start, q->begin.ptr, q->begin.len < sizeof m.start ? q->begin.len : sizeof m.start);
    }
    u->head.memos[(unsigned)cmd->id % ACL_MEMOS] = m;
}

enum aclDenial aclCheck(struct aclUser *u, const struct request *r, int db, int *arg) {
    struct question q = aclCheckSelectors(r, db);
    enum aclDenial furthest = ACL_ALLOWED;
    *arg = 0;
    for (int i = 0; i < u->grant_count; i++) {
        int at = 0;
        enum aclDenial denial = aclCheckSelector(u->grants[i], &q, &at);
        if (!denial) {
            aclCheckCachePermission(u, u->grants[i], &q);
            return ACL_ALLOWED;
        }
        if (denial < furthest || (denial == furthest && at <= *arg)) continue;
        furthest = denial;
        *arg = at;
    }
    return furthest;
}

/* EXEC's conditions are about the database that is selected before the queue runs. */
static int aclCheckDbOf(const struct client *c, const struct request *r) {
    return r->cmd->spec->proc == execCommand ? c->db->id : aclDbOf(c);
}

bool aclMayRun(const struct client *c, const struct request *r) {
    int arg;
    return aclIsUnlimited(c) || !aclCheck(c->user, r, aclCheckDbOf(c, r), &arg);
}

bool aclMayReadAllKeys(const struct client *c) {
    if (aclIsUnlimited(c)) return true;
    struct question q = aclCheckSelectors(c->request, aclDbOf(c));
    for (int i = 0; i < c->user->grant_count; i++) {
        struct aclSelector *s = c->user->grants[i];
        int arg;
        bool all = s->flags & SELECTOR_ALL_KEYS || aclPatternsHave(&s->keys, STR("*"), ACL_PATTERN_READ);
        if (all && !aclCheckSelector(s, &q, &arg)) return true;
    }
    return false;
}

/* The object that the log names: the denied argument, or the command. */
static struct str aclCheckObjectOf(const struct request *r, int arg) {
    return arg ? r->argv[arg] : sdsview(r->cmd->fullname);
}

/* ---- Refusals ---- */

sds aclDenialText(const struct aclUser *u, const struct serverCommand *cmd, enum aclDenial denial,
                  const struct str *what) {
    const char *kind = denial == ACL_DENIED_KEY ? "key" : "channel";
    if (denial == ACL_DENIED_COMMAND) {
        return sdscatprintf(sdsempty(), "User %s has no permissions to run the '%s' command", u->name,
                            cmd->fullname);
    }
    if (!what && denial == ACL_DENIED_DB) return sdsnew("No permissions to access database");
    if (!what) return sdscatprintf(sdsempty(), "No permissions to access a %s", kind);
    sds text = sdscatprintf(sdsempty(), "User %s has no permissions to access ", u->name);
    if (denial == ACL_DENIED_DB) return sdscatstr(sdscat(text, "database "), *what);
    return sdscatprintf(sdscatstr(sdscat(text, "the '"), *what), "' %s", kind);
}

static void aclCheckReplyRefusal(struct client *c, const struct request *r, enum aclContext context,
                                 enum aclDenial denial) {
    static const char *const queued[] = {
        [ACL_DENIED_COMMAND] = "no permission to execute the command or subcommand",
        [ACL_DENIED_DB] = "no permission",
        [ACL_DENIED_KEY] = "no permission to touch the specified keys",
        [ACL_DENIED_CHANNEL] = "no permission to access one of the channels used as arguments"};
    if (context == ACL_EXEC) {
        replyErrorFmt(
            c,
            "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC "
            "call. This command is no longer allowed for the following reason: %s",
            queued[denial]);
        return;
    }
    sds text = aclDenialText(c->user, r->cmd, denial, NULL);
    if (context == ACL_SCRIPT) {
        sds error = sdscatstr(sdsnew("ERR ACL failure in script: "), sdsview(text));
        replyErrorCount(c, strOf("NOPERM ACL failure in script")); /* INFO counts it by its code */
        replyErrorCounted(c, sdsview(error));
        sdsfree(error);
    } else {
        replyErrorFmt(c, "NOPERM %s", text);
    }
    sdsfree(text);
}

static void aclCheckNotifyDenial(struct client *c, const struct request *r, enum aclDenial denial, int arg) {
    struct eventDenial event = {.client = c};
    if (denial == ACL_DENIED_KEY || denial == ACL_DENIED_CHANNEL) event.object = aclCheckObjectOf(r, arg);
    serverEvent(SERVER_COMMAND_DENIED, aclReasonNumber(denial), &event);
}

bool aclRefuses(struct client *c, const struct request *r, enum aclContext context) {
    int arg;
    enum aclDenial denial = aclCheck(c->user, r, aclCheckDbOf(c, r), &arg);
    if (!denial) return false;
    aclLogAdd(c, denial, context, sdsview(c->user->name), aclCheckObjectOf(r, arg));
    aclCheckReplyRefusal(c, r, context, denial);
    aclCheckNotifyDenial(c, r, denial, arg);
    return true;
}
