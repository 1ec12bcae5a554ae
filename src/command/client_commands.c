/* SPDX-License-Identifier: BSD-3-Clause */
/* client_commands.c - commands about connections: CLIENT and its subcommands (LIST and KILL are in
 * client_list.c), HELLO, RESET, SELECT, PING, ECHO, QUIT. */
#include "command/client_commands.h"

#include "base/num.h"
#include "base/version.h"
#include "client/client_evict.h"
#include "client/client_info.h"
#include "client/client_session.h"
#include "client/reply.h"
#include "command/blocking.h"
#include "command/command.h"
#include "command/modules.h"
#include "command/monitor.h"
#include "command/multi.h"
#include "command/pubsub.h"
#include "command/tracking.h"
#include "commands/cmd_connection.h"
#include "data/keyspace/db.h"
#include "data/server_state/role.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/product.h"

static sds availability_zone;

static void clientReplyQuoting(struct client *c, const char *what, struct str word) {
    sds s = sdscatprintf(sdsempty(), "ERR %s '", what);
    s = sdscatlen(sdscatstr(s, word), "'", 1);
    replyErrorStr(c, sdsview(s));
    sdsfree(s);
}

/* ---- CLIENT ---- */

void clientIdCommand(struct client *c) {
    replyLongLong(c, (int64_t)c->id);
}

/* Checks a name: CLIENT LIST separates fields by blanks. */
static bool clientCheckName(struct client *c, struct str name, struct str what) {
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] >= '!' && name.ptr[i] <= '~') continue;
        return replyErrorFmt(c, "ERR %.*s cannot contain spaces, newlines or special characters.",
                             (int)what.len, what.ptr);
    }
    return true;
}

void clientGetnameCommand(struct client *c) {
    struct str name = clientLabel(c, CLIENT_NAME);
    if (name.ptr)
        replyBulk(c, name);
    else
        replyNull(c);
}

void clientSetnameCommand(struct client *c) {
    if (!clientCheckName(c, c->argv[2], STR("Client names"))) return;
    clientSetLabel(c, CLIENT_NAME, c->argv[2]);
    replyOk(c);
}

void clientSetinfoCommand(struct client *c) {
    bool is_name = strIs(c->argv[2], "lib-name");
    if (!is_name && !strIs(c->argv[2], "lib-ver")) {
        clientReplyQuoting(c, "Unrecognized option", c->argv[2]);
        return;
    }
    if (!clientCheckName(c, c->argv[3], c->argv[2])) return;
    clientSetLabel(c, is_name ? CLIENT_LIB_NAME : CLIENT_LIB_VERSION, c->argv[3]);
    replyOk(c);
}

void clientReplyCommand(struct client *c) {
    struct str mode = c->argv[2];
    if (strIs(mode, "on")) {
        c->flags &= ~(uint32_t)(CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP);
        replyOk(c);
    } else if (strIs(mode, "off")) {
        c->flags |= CLIENT_REPLY_OFF;
    } else if (strIs(mode, "skip")) {
        if (!(c->flags & CLIENT_REPLY_OFF)) c->flags |= CLIENT_REPLY_SKIP_NEXT;
    } else {
        replySyntaxError(c);
    }
}

/* Sets or clears a flag of the client by its argument ON or OFF. */
static void clientSetFlag(struct client *c, uint32_t flag) {
    bool on = strIs(c->argv[2], "on");
    if (!on && !strIs(c->argv[2], "off")) {
        replySyntaxError(c);
        return;
    }
    c->flags = on ? c->flags | flag : c->flags & ~flag;
    replyOk(c);
}

void clientNoTouchCommand(struct client *c) {
    clientSetFlag(c, CLIENT_NO_TOUCH);
}

void clientNoEvictCommand(struct client *c) {
    clientSetFlag(c, CLIENT_NO_EVICT);
    if (client_accounting) clientAccountMemory(c);
}

/* Unknown capabilities are no error: later versions may know them. */
void clientCapaCommand(struct client *c) {
    for (int i = 2; i < c->argc; i++) {
        if (strIs(c->argv[i], "redirect")) c->flags |= CLIENT_REDIRECTABLE;
    }
    replyOk(c);
}

void clientUnblockCommand(struct client *c) {
    bool with_error = false;
    int64_t id;
    if (c->argc == 4) { /* as in Valkey, the reason is ignored when more arguments follow */
        with_error = strIs(c->argv[3], "error");
        if (!with_error && !strIs(c->argv[3], "timeout")) {
            replyError(c, "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
            return;
        }
    }
    if (!argLongLong(c, c->argv[2], &id, NULL)) return;
    struct client *other = clientById((uint64_t)id);
    bool woken = other && !blockedIsUninterruptible(other) &&
                 (with_error ? unblockWithError(other) : unblockWithTimeout(other));
    replyLongLong(c, woken);
}

void clientHelpCommand(struct client *c) {
    replyHelp(c,
              (const char *[]){
                  "CACHING (YES|NO)",
                  "    Whether the keys of the next command are tracked, in OPTIN or OPTOUT mode.",
                  "CAPA <capability> [<capability> ...]",
                  "    Announce the capabilities of the client library: REDIRECT.",
                  "GETNAME",
                  "    The name of this connection.",
                  "GETREDIR",
                  "    The id of the connection that gets invalidations: 0 this one, -1 no tracking.",
                  "ID",
                  "    The id of this connection.",
                  "IMPORT-SOURCE (ON|OFF)",
                  "    This connection copies data from another server (in import mode).",
                  "INFO",
                  "    A line about this connection.",
                  "KILL <ip:port>",
                  "    Close the connection from this address.",
                  "KILL <filter> <value> [<filter> <value> ...]",
                  "    Close the connections that match all filters:",
                  "    * ID <id> [<id> ...]",
                  "    * TYPE (NORMAL|PRIMARY|REPLICA|PUBSUB)",
                  "    * USER <name>, NAME <name>, DB <number>",
                  "    * ADDR <ip:port>, LADDR <ip:port>: of the client, of the server; IP <ip>",
                  "    * FLAGS <letters>, CAPA <letters>: all of these",
                  "    * LIB-NAME <name>, LIB-VER <version>",
                  "    * MAXAGE <seconds>: minimum age; IDLE <seconds>: minimum idle time",
                  "    * SKIPME (YES|NO): exclude this connection (default: yes)",
                  "    All except the last two lines may have the prefix NOT-, which negates them.",
                  "LIST [<filter> <value> ...]",
                  "    A line about each connection; filters as for KILL, but SKIPME defaults to no.",
                  "NO-EVICT (ON|OFF)",
                  "    Exclude this connection from client eviction.",
                  "NO-TOUCH (ON|OFF)",
                  "    Commands of this connection do not change the access time of keys.",
                  "PAUSE <milliseconds> [WRITE|ALL]",
                  "    Pause commands of clients for this long: writes only, or all (default).",
                  "REPLY (ON|OFF|SKIP)",
                  "    Send replies, send none, or skip the next one.",
                  "SETINFO (LIB-NAME|LIB-VER) <value>",
                  "    Set name or version of the client library.",
                  "SETNAME <name>",
                  "    Set the name of this connection; an empty one removes it.",
                  "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> ...] [OPTIN] [OPTOUT] [NOLOOP]",
                  "    Send invalidations for cached keys to this connection, or to another.",
                  "TRACKINGINFO",
                  "    How this connection tracks keys.",
                  "UNBLOCK <id> [TIMEOUT|ERROR]",
                  "    Unblock a client, as if its timeout had expired or with an error.",
                  "UNPAUSE",
                  "    Resume paused commands.",
                  NULL,
              });
}

/* ---- HELLO ---- */

static void clientReplyHello(struct client *c) {
    replyMapLen(c, 6 + (sentinel_mode ? 0 : 1) + (availability_zone ? 1 : 0));
    replyBulkCstr(c, "server");
    replyBulkCstr(c, productName());
    replyBulkCstr(c, "version");
    replyBulkCstr(c, productVersion());
    replyBulkCstr(c, "proto");
    replyLongLong(c, c->resp);
    replyBulkCstr(c, "id");
    replyLongLong(c, (int64_t)c->id);
    replyBulkCstr(c, "mode");
    replyBulkCstr(c, roleModeText());
    if (!sentinel_mode) { /* a Sentinel has no such field */
        replyBulkCstr(c, "role");
        replyBulkCstr(c, roleIsReplica() ? "replica" : "master");
    }
    replyBulkCstr(c, "modules");
    moduleReplyList(c);
    if (!availability_zone) return;
    replyBulkCstr(c, "availability_zone");
    replyBulk(c, sdsview(availability_zone));
}

struct helloOptions {
    int64_t version;                    /* 0: not given */
    struct str *user, *password, *name; /* NULL: not given */
};

static bool clientParseHello(struct client *c, struct helloOptions *opt) {
    if (c->argc > 1) {
        const char *bad = "ERR Protocol version is not an integer or out of range";
        if (!argLongLong(c, c->argv[1], &opt->version, bad)) return false;
        if (opt->version != 2 && opt->version != 3)
            return replyError(c, "NOPROTO unsupported protocol version");
    }
    for (int i = 2; i < c->argc; i++) {
        int more = c->argc - i - 1;
        if (strIs(c->argv[i], "auth") && more >= 2) {
            opt->user = &c->argv[++i];
            opt->password = &c->argv[++i];
        } else if (strIs(c->argv[i], "setname") && more) {
            opt->name = &c->argv[++i];
            if (!clientCheckName(c, *opt->name, STR("Client names"))) return false;
        } else {
            clientReplyQuoting(c, "Syntax error in HELLO option", c->argv[i]);
            return false;
        }
    }
    return true;
}

void helloCommand(struct client *c) {
    struct helloOptions opt = {0};
    if (!clientParseHello(c, &opt)) return;
    if (opt.user && !client_users->authenticate(c, *opt.user, *opt.password)) return;
    if (clientAuthMissing(c) || !(c->conn || c->flags & CLIENT_AUTHENTICATED)) {
        replyError(
            c,
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> "
            "AUTH <user> <pass> option can be used to authenticate the client and select the RESP "
            "protocol version at the same time");
        return;
    }
    if (opt.name) clientSetLabel(c, CLIENT_NAME, *opt.name);
    if (opt.version) c->resp = (uint8_t)opt.version;
    clientReplyHello(c);
}

/* ---- Other commands ---- */

void resetCommand(struct client *c) {
    if (!c->conn) {
        replyError(c, "ERR can only reset normal client connections");
        return;
    }
    c->flags &= ~(uint32_t)(CLIENT_REPLY_OFF | CLIENT_NO_TOUCH | CLIENT_NO_EVICT | CLIENT_READONLY |
                            CLIENT_IMPORT_SOURCE);
    trackingDisable(c);
    multiReset(c);
    monitorStop(c);
    pubsubUnsubscribeAll(c);
    c->db = dbGet(0);
    c->resp = 2;
    clientSetLabel(c, CLIENT_NAME, STR(""));
    client_users->logout(c);
    replyStatus(c, "RESET");
}

void selectCommand(struct client *c) {
    int64_t id;
    if (!argRange(c, c->argv[1], INT32_MIN, INT32_MAX, &id, NULL)) return;
    struct db *db = dbGet(id);
    if (!db) {
        replyError(c, "ERR DB index is out of range");
        return;
    }
    c->db = db;
    replyOk(c);
}

/* Replies in RESP2 as a message, since the client expects messages while it is subscribed. */
static void clientReplyPongMessage(struct client *c) {
    replyArrayLen(c, 2);
    replyBulk(c, STR("pong"));
    replyBulk(c, c->argc == 2 ? c->argv[1] : STR(""));
}

void pingCommand(struct client *c) {
    if (c->argc > 2)
        replyErrorFmt(c, "ERR wrong number of arguments for '%s' command", c->cmd->fullname);
    else if (c->flags & CLIENT_PUBSUB && c->resp < 3)
        clientReplyPongMessage(c);
    else if (c->argc == 2)
        replyBulk(c, c->argv[1]);
    else
        replyStatus(c, "PONG");
}

void echoCommand(struct client *c) {
    replyBulk(c, c->argv[1]);
}

void quitCommand(struct client *c) {
    replyOk(c);
    clientCloseAfterReply(c);
}

/* ---- Registration ---- */

static sds clientZoneInfo(sds s) {
    return infoField(s, "availability_zone:%s", availability_zone ? availability_zone : "");
}

/* Name of the running command; for a subcommand that of its container. */
static struct str clientRunningName(const struct client *c) {
    const struct serverCommand *cmd = c->cmd;
    return strOf(cmd->parent ? cmd->parent->spec->name : cmd->spec->name);
}

static sds clientCatLastCommand(sds s, struct client *c) {
    return sdscat(s, c->lastcmd ? c->lastcmd->fullname : "NULL");
}

void clientCommandsInit(void) {
    replySetCommandName(clientRunningName);
    clientInfoField("cmd", clientCatLastCommand);
    static struct configDirective directives[] = {
        CONFIG_STRING("availability-zone", NULL, CONFIG_MODIFIABLE | CONFIG_EMPTY_IS_NULL, &availability_zone,
                      NULL, NULL, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("server", clientZoneInfo);
}
