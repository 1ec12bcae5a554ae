/* client_commands.c - the commands about connections: CLIENT and its subcommands, HELLO, RESET, SELECT, PING,
 * ECHO, QUIT; and the line that describes a client in CLIENT LIST and in the log.
 *
 * CLIENT LIST and CLIENT KILL choose clients by the same filters. A client that closes itself does so when
 * its reply is sent; any other goes as soon as the running command is done. */
#include "core/client.h"

#include "base/num.h"
#include "base/version.h"
#include "commands/commands.h"
#include "core/acl.h"
#include "core/blocking.h"
#include "core/client_auth.h"
#include "core/command.h"
#include "core/config.h"
#include "core/cron.h"
#include "core/db.h"
#include "core/info.h"
#include "core/monitor.h"
#include "core/multi.h"
#include "core/pubsub.h"
#include "core/reply.h"
#include "core/reply_block.h"
#include "net/connection.h"

static sds availability_zone;

/* ---- The line about a client ---- */

static sds catFlags(sds s, const struct client *c) {
    static const struct {
        uint32_t flag;
        char letter;
    } letters[] = {{CLIENT_MONITOR, 'O'},    {CLIENT_PUBSUB, 'P'},      {CLIENT_MULTI, 'x'},
                   {CLIENT_BLOCKED, 'b'},    {CLIENT_DIRTY_CAS, 'd'},   {CLIENT_CLOSE_AFTER_REPLY, 'c'},
                   {CLIENT_CLOSE_ASAP, 'A'}, {CLIENT_UNIX_SOCKET, 'U'}, {CLIENT_NO_EVICT, 'e'},
                   {CLIENT_NO_TOUCH, 'T'}};
    size_t before = sdslen(s);
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        if (c->flags & letters[i].flag) s = sdscatlen(s, &letters[i].letter, 1);
    }
    return sdslen(s) == before ? sdscatlen(s, "N", 1) : s;
}

static sds catEvents(sds s, const struct client *c) {
    if (c->conn && c->conn->read_handler) s = sdscatlen(s, "r", 1);
    if (c->conn && c->conn->write_handler) s = sdscatlen(s, "w", 1);
    return s;
}

static sds catIdentity(sds s, struct client *c) {
    s = sdscatprintf(
        s, "id=%llu addr=%s laddr=%s fd=%d name=%s age=%lld idle=%lld flags=", (unsigned long long)c->id,
        clientPeerName(c), clientSockName(c), c->conn ? c->conn->fd : -1, c->name ? c->name : "",
        (long long)(cmd_time_ms - c->created_ms) / 1000, (long long)(cmd_time_ms - c->last_active_ms) / 1000);
    return catFlags(s, c);
}

/* The first block of output is what others call the reply buffer, the further ones their reply list. */
static sds catBuffers(sds s, const struct client *c) {
    size_t input = c->in ? c->in_len : c->querybuf ? sdslen(c->querybuf) : 0;
    size_t arguments = 0, blocks = 0, block_bytes = 0;
    for (int i = 0; i < c->argc; i++) arguments += c->argv[i].len;
    const struct replyBlock *first = c->out_head;
    for (const struct replyBlock *b = first ? first->next : NULL; b; b = b->next) {
        blocks++;
        block_bytes += sizeof *b + b->cap;
    }
    return sdscatprintf(
        s,
        " qbuf=%zu qbuf-free=%zu argv-mem=%zu multi-mem=%zu rbs=%zu rbp=%zu obl=%zu oll=%zu omem=%zu "
        "tot-mem=%zu",
        input + c->parser.big_bytes, c->querybuf ? sdsavail(c->querybuf) : 0, arguments, multiQueuedBytes(c),
        first ? first->cap : 0, first ? first->used : 0, first ? first->used - c->out_sent : 0, blocks,
        block_bytes, clientMemory(c));
}

sds clientInfoLine(struct client *c, sds s) {
    const struct serverCommand *cmd = c->cmd ? c->cmd : c->lastcmd;
    s = catIdentity(s, c);
    s = sdscatprintf(s, " capa= db=%d sub=%zu psub=%zu ssub=%zu multi=%d watch=%zu", c->db->id,
                     pubsubCount(c, PUBSUB_CHANNEL), pubsubCount(c, PUBSUB_PATTERN),
                     pubsubCount(c, PUBSUB_SHARD), multiCount(c), multiWatchCount(c));
    s = catBuffers(s, c);
    s = catEvents(sdscat(s, " events="), c);
    struct str user = aclUserName(c);
    return sdscatprintf(s,
                        " cmd=%s user=%.*s redir=-1 resp=%d lib-name=%s lib-ver=%s tot-net-in=%llu "
                        "tot-net-out=%llu tot-cmds=%llu",
                        cmd ? cmd->fullname : "NULL", (int)user.len, user.ptr, c->resp,
                        c->lib_name ? c->lib_name : "", c->lib_ver ? c->lib_ver : "",
                        (unsigned long long)c->net_in, (unsigned long long)c->net_out,
                        (unsigned long long)c->commands);
}

/* ---- Filters of LIST and KILL ---- */

enum { TYPE_ANY, TYPE_NORMAL, TYPE_PRIMARY, TYPE_REPLICA, TYPE_PUBSUB };

struct clientFilter {
    int id_from, id_count; /* arguments that are ids */
    int type;
    const struct str *user, *addr, *laddr; /* NULL: any */
    bool skip_me;
    int64_t max_age_s; /* 0: any */
};

static int typeByName(struct str name) {
    static const struct {
        const char *name;
        int type;
    } names[] = {{"normal", TYPE_NORMAL}, {"master", TYPE_PRIMARY},  {"primary", TYPE_PRIMARY},
                 {"slave", TYPE_REPLICA}, {"replica", TYPE_REPLICA}, {"pubsub", TYPE_PUBSUB}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strIs(name, names[i].name)) return names[i].type;
    }
    return TYPE_ANY;
}

static int typeOf(const struct client *c) {
    return clientClassOf(c) == CLIENT_CLASS_PUBSUB ? TYPE_PUBSUB : TYPE_NORMAL;
}

static void replyQuoting(struct client *c, const char *what, struct str word) {
    sds s = sdscatprintf(sdsempty(), "ERR %s '", what);
    s = sdscatlen(sdscatstr(s, word), "'", 1);
    replyErrorStr(c, sdsview(s));
    sdsfree(s);
}

/* The ids from argument i on; returns the argument behind them, 0 after an error. */
static int parseIds(struct client *c, int i, const char *bad_id, int64_t min, struct clientFilter *f) {
    f->id_from = i;
    int64_t id;
    while (i < c->argc && string2ll(c->argv[i], &id) && id >= min) i++;
    f->id_count = i - f->id_from;
    if (f->id_count && (i == c->argc || !string2ll(c->argv[i], &id))) return i;
    replyError(c, bad_id);
    return 0;
}

/* An option with one value. */
static bool parseFilter(struct client *c, struct str name, const struct str *value, struct clientFilter *f) {
    if (strIs(name, "type")) {
        f->type = typeByName(*value);
        if (f->type == TYPE_ANY) replyQuoting(c, "Unknown client type", *value);
        return f->type != TYPE_ANY;
    }
    if (strIs(name, "user")) {
        f->user = value;
        if (!aclFindUser(*value)) replyQuoting(c, "No such user", *value);
        return aclFindUser(*value);
    }
    if (strIs(name, "maxage")) {
        if (!argLongLong(c, *value, &f->max_age_s, "ERR maxage is not an integer or out of range"))
            return false;
        if (f->max_age_s <= 0) replyError(c, "ERR maxage should be greater than 0");
        return f->max_age_s > 0;
    }
    if (strIs(name, "skipme") && (strIs(*value, "yes") || strIs(*value, "no")))
        f->skip_me = strIs(*value, "yes");
    else if (strIs(name, "addr"))
        f->addr = value;
    else if (strIs(name, "laddr"))
        f->laddr = value;
    else {
        replySyntaxError(c);
        return false;
    }
    return true;
}

static bool parseFilters(struct client *c, const char *bad_id, int64_t min_id, struct clientFilter *f) {
    for (int i = 2; i < c->argc;) {
        if (i + 1 == c->argc) {
            replySyntaxError(c);
            return false;
        }
        if (strIs(c->argv[i], "id")) {
            i = parseIds(c, i + 1, bad_id, min_id, f);
            if (!i) return false;
        } else {
            if (!parseFilter(c, c->argv[i], &c->argv[i + 1], f)) return false;
            i += 2;
        }
    }
    return true;
}

static bool idMatches(const struct client *self, const struct clientFilter *f, const struct client *c) {
    for (int i = f->id_from; i < f->id_from + f->id_count; i++) {
        int64_t id;
        if (string2ll(self->argv[i], &id) && (uint64_t)id == c->id) return true;
    }
    return f->id_count == 0;
}

static bool filterMatches(const struct client *self, const struct clientFilter *f, struct client *c) {
    if (f->skip_me && c == self) return false;
    if (f->type != TYPE_ANY && typeOf(c) != f->type) return false;
    if (f->addr && !strEq(*f->addr, sdsview(clientPeerName(c)))) return false;
    if (f->laddr && !strEq(*f->laddr, sdsview(clientSockName(c)))) return false;
    if (f->user && !strEq(*f->user, aclUserName(c))) return false;
    if (f->max_age_s && (cmd_time_ms - c->created_ms) / 1000 < f->max_age_s) return false;
    return idMatches(self, f, c);
}

/* ---- CLIENT ---- */

void clientIdCommand(struct client *c) {
    replyLongLong(c, (int64_t)c->id);
}

void clientInfoCommand(struct client *c) {
    sds s = sdscatlen(clientInfoLine(c, sdsempty()), "\n", 1);
    replyVerbatim(c, sdsview(s), "txt");
    sdsfree(s);
}

void clientListCommand(struct client *c) {
    struct clientFilter f = {0};
    if (!parseFilters(c, "ERR Invalid client ID", INT64_MIN, &f)) return;
    sds s = sdsempty();
    listForEach(&clients, it) {
        struct client *other = listEntry(it, struct client, node);
        if (filterMatches(c, &f, other)) s = sdscatlen(clientInfoLine(other, s), "\n", 1);
    }
    replyVerbatim(c, sdsview(s), "txt");
    sdsfree(s);
}

static int64_t killMatching(struct client *c, const struct clientFilter *f, bool *self) {
    int64_t killed = 0;
    listForEach(&clients, it) {
        struct client *other = listEntry(it, struct client, node);
        if (other->flags & CLIENT_CLOSE_ASAP || !filterMatches(c, f, other)) continue;
        killed++;
        if (other == c)
            *self = true;
        else
            clientClose(other);
    }
    return killed;
}

void clientKillCommand(struct client *c) {
    bool old_form = c->argc == 3, self = false;
    struct clientFilter f = {.skip_me = !old_form};
    if (old_form)
        f.addr = &c->argv[2];
    else if (!parseFilters(c, "ERR client-id should be greater than 0", 1, &f))
        return;
    int64_t killed = killMatching(c, &f, &self);
    if (!old_form)
        replyLongLong(c, killed);
    else if (killed)
        replyOk(c);
    else
        replyError(c, "ERR No such client");
    if (self) clientCloseAfterReply(c);
}

/* Names stand in CLIENT LIST, between blanks. */
static bool checkName(struct client *c, struct str name, const char *what) {
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] >= '!' && name.ptr[i] <= '~') continue;
        replyErrorFmt(c, "ERR %s cannot contain spaces, newlines or special characters.", what);
        return false;
    }
    return true;
}

void clientGetnameCommand(struct client *c) {
    replyBulkCstr(c, c->name);
}

void clientSetnameCommand(struct client *c) {
    if (!checkName(c, c->argv[2], "Client names")) return;
    clientSetName(c, c->argv[2]);
    replyOk(c);
}

void clientSetinfoCommand(struct client *c) {
    bool is_name = strIs(c->argv[2], "lib-name");
    if (!is_name && !strIs(c->argv[2], "lib-ver")) {
        replyQuoting(c, "Unrecognized option", c->argv[2]);
        return;
    }
    if (!checkName(c, c->argv[3], is_name ? "lib-name" : "lib-ver")) return;
    sds *field = is_name ? &c->lib_name : &c->lib_ver;
    sdsfree(*field);
    *field = c->argv[3].len ? sdsnewstr(c->argv[3]) : NULL;
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

void clientUnblockCommand(struct client *c) {
    bool with_error = false;
    int64_t id;
    if (c->argc > 4) {
        replySubcommandError(c);
        return;
    }
    if (c->argc == 4) {
        with_error = strIs(c->argv[3], "error");
        if (!with_error && !strIs(c->argv[3], "timeout")) {
            replyError(c, "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
            return;
        }
    }
    if (!argLongLong(c, c->argv[2], &id, NULL)) return;
    struct client *other = clientById((uint64_t)id);
    bool woken = other && (with_error ? unblockWithError(other) : unblockWithTimeout(other));
    replyLongLong(c, woken);
}

void clientHelpCommand(struct client *c) {
    replyHelp(c, (const char *[]){
                     "GETNAME",
                     "    The name of this connection.",
                     "ID",
                     "    The number of this connection.",
                     "INFO",
                     "    A line about this connection.",
                     "KILL <ip:port>",
                     "    Close the connection from this address.",
                     "KILL <filter> <value> [<filter> <value> ...]",
                     "    Close the connections that match all filters:",
                     "    * ID <id> [<id> ...]",
                     "    * TYPE (NORMAL|PRIMARY|REPLICA|PUBSUB)",
                     "    * USER <name>",
                     "    * ADDR <ip:port>, LADDR <ip:port>: of the client's and of our end",
                     "    * MAXAGE <seconds>: at least so old",
                     "    * SKIPME (YES|NO): leave this connection out (default: yes)",
                     "LIST [<filter> <value> ...]",
                     "    A line about each connection; filters as for KILL, but SKIPME defaults to no.",
                     "REPLY (ON|OFF|SKIP)",
                     "    Answer commands, do not, or not the next one.",
                     "SETINFO (LIB-NAME|LIB-VER) <value>",
                     "    Say which client library is at work.",
                     "SETNAME <name>",
                     "    Give this connection a name; the empty one removes it.",
                     "UNBLOCK <id> [TIMEOUT|ERROR]",
                     "    Wake a client from a blocking command, as if its time were over or with an error.",
                     NULL,
                 });
}

/* ---- HELLO ---- */

static void replyHello(struct client *c) {
    replyMapLen(c, availability_zone ? 8 : 7);
    replyBulkCstr(c, "server");
    replyBulkCstr(c, SERVER_NAME);
    replyBulkCstr(c, "version");
    replyBulkCstr(c, VALKEY_VERSION);
    replyBulkCstr(c, "proto");
    replyLongLong(c, c->resp);
    replyBulkCstr(c, "id");
    replyLongLong(c, (int64_t)c->id);
    replyBulkCstr(c, "mode");
    replyBulkCstr(c, "standalone");
    replyBulkCstr(c, "role");
    replyBulkCstr(c, "master");
    replyBulkCstr(c, "modules");
    replyArrayLen(c, 0);
    if (!availability_zone) return;
    replyBulkCstr(c, "availability_zone");
    replyBulk(c, sdsview(availability_zone));
}

struct helloOptions {
    int64_t version;                    /* 0: leave it */
    struct str *user, *password, *name; /* NULL: not given */
};

static bool parseHello(struct client *c, struct helloOptions *opt) {
    if (c->argc > 1) {
        const char *bad = "ERR Protocol version is not an integer or out of range";
        if (!argLongLong(c, c->argv[1], &opt->version, bad)) return false;
        if (opt->version != 2 && opt->version != 3) {
            replyError(c, "NOPROTO unsupported protocol version");
            return false;
        }
    }
    for (int i = 2; i < c->argc; i++) {
        int more = c->argc - i - 1;
        if (strIs(c->argv[i], "auth") && more >= 2) {
            opt->user = &c->argv[++i];
            opt->password = &c->argv[++i];
        } else if (strIs(c->argv[i], "setname") && more) {
            opt->name = &c->argv[++i];
            if (!checkName(c, *opt->name, "Client names")) return false;
        } else {
            replyQuoting(c, "Syntax error in HELLO option", c->argv[i]);
            return false;
        }
    }
    return true;
}

void helloCommand(struct client *c) {
    struct helloOptions opt = {0};
    if (!parseHello(c, &opt)) return;
    if (opt.user && !authenticate(c, *opt.user, *opt.password)) return;
    if (!(c->flags & CLIENT_AUTHENTICATED) && authRequired()) {
        replyError(c,
                   "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
                   "AUTH <user> <pass> option can be used to authenticate the client and select the RESP "
                   "protocol version at the same time");
        return;
    }
    if (opt.name) clientSetName(c, *opt.name);
    if (opt.version) c->resp = (uint8_t)opt.version;
    replyHello(c);
}

/* ---- The others ---- */

void resetCommand(struct client *c) {
    c->flags &= ~(uint32_t)(CLIENT_REPLY_OFF | CLIENT_NO_TOUCH | CLIENT_NO_EVICT);
    multiReset(c);
    monitorStop(c);
    pubsubUnsubscribeAll(c);
    c->db = dbGet(0);
    c->resp = 2;
    clientSetName(c, STR(""));
    authLogout(c);
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

/* Among messages of RESP2, an answer has to look like one. */
static void replyPongMessage(struct client *c) {
    replyArrayLen(c, 2);
    replyBulk(c, STR("pong"));
    replyBulk(c, c->argc == 2 ? c->argv[1] : STR(""));
}

void pingCommand(struct client *c) {
    if (c->argc > 2)
        replyErrorFmt(c, "ERR wrong number of arguments for '%s' command", c->cmd->fullname);
    else if (c->flags & CLIENT_PUBSUB && c->resp < 3)
        replyPongMessage(c);
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

static sds zoneInfo(sds s) {
    return infoField(s, "availability_zone:%s", availability_zone ? availability_zone : "");
}

void clientInit(void) {
    static struct configDirective directives[] = {
        CONFIG_STRING("availability-zone", NULL, CONFIG_MODIFIABLE | CONFIG_EMPTY_IS_NULL, &availability_zone,
                      NULL, NULL, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("server", zoneInfo);
}
