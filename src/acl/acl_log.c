/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_log.c - ACL LOG: denials, the latest first; and the counters in INFO. Part of acl.h.
 *
 * A denial that is repeated within a minute is counted in the existing entry, which moves to the front. Only
 * the first few entries are compared, so many different denials cannot slow the server down. */
#include "acl/acl_private.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/client_info.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "command/multi.h"
#include "command/script_running.h"
#include "commands/cmd_acl.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"

#define MERGE_WITHIN_MS 60000
#define MERGE_LOOK_AT   10
#define REPLY_DEFAULT   10 /* entries in the reply to ACL LOG without a count */

enum logContext { LOG_TOPLEVEL, LOG_MULTI, LOG_LUA, LOG_SCRIPT, LOG_MODULE };

struct logEntry {
    struct listNode node;
    uint64_t id, count;
    enum aclDenial reason;
    enum logContext context;
    sds object, user, client;
    int64_t created_ms, updated_ms;
};

static struct list entries;
static uint64_t next_id;
static int64_t max_len;
static uint64_t denied[ACL_DENIED_CERTIFICATE + 1]; /* by reason */

static const char *const reasons[] = {
    [ACL_DENIED_COMMAND] = "command", [ACL_DENIED_DB] = "database", [ACL_DENIED_KEY] = "key",
    [ACL_DENIED_CHANNEL] = "channel", [ACL_DENIED_AUTH] = "auth",   [ACL_DENIED_CERTIFICATE] = "tls-cert",
};
static const char *const contexts[] = {"toplevel", "multi", "lua", "script", "module"};

static void aclLogEntryFree(struct logEntry *e) {
    listRemove(&entries, &e->node);
    sdsfree(e->object);
    sdsfree(e->user);
    sdsfree(e->client);
    zfree(e);
}

static void aclLogTrim(int64_t len) {
    while ((int64_t)entries.length > len)
        aclLogEntryFree(listEntry(entries.head.prev, struct logEntry, node));
}

static struct logEntry *aclLogFindSame(enum aclDenial reason, enum logContext context, struct str user,
                                       struct str object) {
    int looked_at = 0;
    listForEach(&entries, it) {
        struct logEntry *e = listEntry(it, struct logEntry, node);
        if (looked_at++ == MERGE_LOOK_AT) break;
        if (e->reason == reason && e->context == context && cmd_time_ms - e->updated_ms <= MERGE_WITHIN_MS &&
            strEq(sdsview(e->user), user) && strEq(sdsview(e->object), object))
            return e;
    }
    return NULL;
}

static struct logEntry *aclLogEntryCreate(enum aclDenial reason, enum logContext context, struct str user,
                                          struct str object) {
    struct logEntry *e = zcalloc(1, sizeof *e);
    e->id = next_id++;
    e->reason = reason;
    e->context = context;
    e->user = sdsnewstr(user);
    e->object = sdsnewstr(object);
    e->created_ms = cmd_time_ms;
    return e;
}

/* Describes the client. A script's client has no connection, so the script's caller is shown. */
static sds aclLogDescribe(struct client *c) {
    return clientInfoLine(callOwner() && !c->conn ? callOwner() : c, sdsempty());
}

static enum logContext aclLogContextOf(const struct client *c, enum aclContext context) {
    bool queued = context == ACL_EXEC || c->flags & CLIENT_MULTI;
    if (context == ACL_MODULE) return LOG_MODULE;
    if (context == ACL_SCRIPT || context == ACL_WITHIN_SCRIPT)
        return strcasecmp(script_run.engine->name, "lua") ? LOG_SCRIPT : LOG_LUA;
    return queued ? LOG_MULTI : LOG_TOPLEVEL;
}

void aclLogAdd(struct client *c, enum aclDenial reason, enum aclContext context, struct str user,
               struct str object) {
    denied[reason]++;
    enum logContext where = aclLogContextOf(c, context);
    struct logEntry *e = aclLogFindSame(reason, where, user, object);
    if (e)
        listRemove(&entries, &e->node);
    else
        e = aclLogEntryCreate(reason, where, user, object);
    e->count++;
    e->updated_ms = cmd_time_ms;
    sdsfree(e->client);
    e->client = aclLogDescribe(c);
    listAddHead(&entries, &e->node);
    aclLogTrim(max_len);
}

void aclNoteFailedAuth(struct client *c, struct str user) {
    aclLogAdd(c, ACL_DENIED_AUTH, ACL_TOPLEVEL, user, c->argv[0]);
}

void aclNoteFailedCertificate(struct client *c, struct str user) {
    aclLogAdd(c, ACL_DENIED_CERTIFICATE, ACL_TOPLEVEL, user, STR(""));
}

/* ---- ACL LOG ---- */

static void aclLogReplyStringField(struct client *c, const char *name, struct str value) {
    replyBulkCstr(c, name);
    replyBulk(c, value);
}

static void aclLogReplyNumberField(struct client *c, const char *name, int64_t value) {
    replyBulkCstr(c, name);
    replyLongLong(c, value);
}

static void aclLogReplyEntry(struct client *c, const struct logEntry *e) {
    replyMapLen(c, 10);
    aclLogReplyNumberField(c, "count", (int64_t)e->count);
    aclLogReplyStringField(c, "reason", strOf(reasons[e->reason]));
    aclLogReplyStringField(c, "context", strOf(contexts[e->context]));
    aclLogReplyStringField(c, "object", sdsview(e->object));
    aclLogReplyStringField(c, "username", sdsview(e->user));
    replyBulkCstr(c, "age-seconds");
    replyDouble(c, (double)(cmd_time_ms - e->updated_ms) / 1000);
    aclLogReplyStringField(c, "client-info", sdsview(e->client));
    aclLogReplyNumberField(c, "entry-id", (int64_t)e->id);
    aclLogReplyNumberField(c, "timestamp-created", e->created_ms);
    aclLogReplyNumberField(c, "timestamp-last-updated", e->updated_ms);
}

void aclLogCommand(struct client *c) {
    int64_t count = REPLY_DEFAULT;
    if (c->argc > 3) {
        replySubcommandError(c);
        return;
    }
    if (c->argc == 3 && strIs(c->argv[2], "reset")) {
        aclLogTrim(0);
        replyOk(c);
        return;
    }
    if (c->argc == 3 && !argLongLong(c, c->argv[2], &count, NULL)) return;
    if (count < 0) count = 0;
    if (count > (int64_t)entries.length) count = (int64_t)entries.length;
    replyArrayLen(c, count);
    listForEach(&entries, it) {
        if (count-- == 0) break;
        aclLogReplyEntry(c, listEntry(it, struct logEntry, node));
    }
}

/* ---- Registration ---- */

static sds aclLogInfo(sds s) {
    s = infoField(s, "acl_access_denied_auth:%llu", (unsigned long long)denied[ACL_DENIED_AUTH]);
    s = infoField(s, "acl_access_denied_cmd:%llu", (unsigned long long)denied[ACL_DENIED_COMMAND]);
    s = infoField(s, "acl_access_denied_key:%llu", (unsigned long long)denied[ACL_DENIED_KEY]);
    s = infoField(s, "acl_access_denied_channel:%llu", (unsigned long long)denied[ACL_DENIED_CHANNEL]);
    s = infoField(s, "acl_access_denied_tls_cert:%llu", (unsigned long long)denied[ACL_DENIED_CERTIFICATE]);
    return infoField(s, "acl_access_denied_db:%llu", (unsigned long long)denied[ACL_DENIED_DB]);
}

void aclLogInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("acllog-max-len", NULL, CONFIG_MODIFIABLE, &max_len, 128, 0, INT64_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    listInit(&entries);
    infoRegister("stats", aclLogInfo);
}
