/* client_list.c - the line that describes a client, and CLIENT INFO, LIST and KILL. Part of client.h.
 *
 * LIST and KILL choose clients by the same filters. Most of these compare one property with a value, so they
 * are a table: name, how to check the value, how to match. Each can be turned round by NOT-. A client that
 * kills itself goes when its reply is sent; any other as soon as the running command is done. */
#include "base/num.h"
#include "base/zmalloc.h"
#include "commands/connection.h"
#include "acl/acl.h"
#include "client/client.h"
#include "command/command.h"
#include "registry/cron.h"
#include "data/db.h"
#include "command/multi.h"
#include "command/pubsub.h"
#include "client/reply.h"
#include "client/reply_block.h"
#include "command/tracking.h"
#include "net/connection.h"

/* ---- The line about a client ---- */

/* All letters that there are, also of features that a client here may never have. */
#define FLAG_LETTERS "NOSMPxbtRBdcuAUreTIiE"
#define CAPA_LETTERS "r"

static sds catFlag(sds s, const struct client *c, uint32_t flag, char letter) {
    return c->flags & flag ? sdscatlen(s, &letter, 1) : s;
}

static sds catFlags(sds s, const struct client *c) {
    size_t before = sdslen(s);
    s = catFlag(s, c, CLIENT_MONITOR, 'O');
    s = catFlag(s, c, CLIENT_PUBSUB, 'P');
    s = catFlag(s, c, CLIENT_MULTI, 'x');
    s = catFlag(s, c, CLIENT_BLOCKED | CLIENT_PAUSED, 'b');
    s = trackingCatFlags(s, c);
    s = catFlag(s, c, CLIENT_DIRTY_CAS, 'd');
    s = catFlag(s, c, CLIENT_CLOSE_AFTER_REPLY, 'c');
    s = catFlag(s, c, CLIENT_CLOSE_ASAP, 'A');
    s = catFlag(s, c, CLIENT_UNIX_SOCKET, 'U');
    s = catFlag(s, c, CLIENT_NO_EVICT, 'e');
    s = catFlag(s, c, CLIENT_NO_TOUCH, 'T');
    s = catFlag(s, c, CLIENT_IMPORT_SOURCE, 'I');
    return sdslen(s) == before ? sdscatlen(s, "N", 1) : s;
}

static sds catCapa(sds s, const struct client *c) {
    return catFlag(s, c, CLIENT_REDIRECTABLE, 'r');
}

static sds catEvents(sds s, const struct client *c) {
    if (c->conn && c->conn->read_handler) s = sdscatlen(s, "r", 1);
    if (c->conn && c->conn->write_handler) s = sdscatlen(s, "w", 1);
    return s;
}

static int64_t ageSeconds(const struct client *c) {
    return (cmd_time_ms - c->created_ms) / 1000;
}

static int64_t idleSeconds(const struct client *c) {
    return (cmd_time_ms - c->last_active_ms) / 1000;
}

static sds catIdentity(sds s, struct client *c) {
    s = sdscatprintf(
        s, "id=%llu addr=%s laddr=%s fd=%d name=%s age=%lld idle=%lld flags=", (unsigned long long)c->id,
        clientPeerName(c), clientSockName(c), c->conn ? c->conn->fd : -1, c->name ? c->name : "",
        (long long)ageSeconds(c), (long long)idleSeconds(c));
    s = catFlags(s, c);
    return catCapa(sdscat(s, " capa="), c);
}

/* The first block of output is what others call the reply buffer, the further ones their reply list. */
static sds catBuffers(sds s, const struct client *c) {
    size_t input = !c->querybuf ? 0 : c->in ? c->in_len : sdslen(c->querybuf); /* not what all share */
    size_t arguments = 0, blocks = 0;
    for (int i = 0; i < c->argc; i++) arguments += c->argv[i].len;
    const struct replyBlock *first = c->out_head;
    for (const struct replyBlock *b = first ? first->next : NULL; b; b = b->next) blocks++;
    size_t list_bytes = first ? c->out_mem - (sizeof *first + first->cap) : 0;
    return sdscatprintf(
        s,
        " qbuf=%zu qbuf-free=%zu argv-mem=%zu multi-mem=%zu rbs=%zu rbp=%zu obl=%zu oll=%zu omem=%zu "
        "tot-mem=%zu",
        input + c->parser.big_bytes, c->querybuf ? sdsavail(c->querybuf) : 0, arguments, multiQueuedBytes(c),
        first ? first->cap : 0, first ? first->used : 0, first ? first->used - c->out_sent : 0, blocks,
        list_bytes, clientMemory(c));
}

sds clientInfoLine(struct client *c, sds s) {
    s = catIdentity(s, c);
    s = sdscatprintf(s, " db=%d sub=%zu psub=%zu ssub=%zu multi=%d watch=%zu", c->db->id,
                     pubsubCount(c, PUBSUB_CHANNEL), pubsubCount(c, PUBSUB_PATTERN),
                     pubsubCount(c, PUBSUB_SHARD), multiCount(c), multiWatchCount(c));
    s = catBuffers(s, c);
    s = catEvents(sdscat(s, " events="), c);
    struct str user = aclUserName(c);
    return sdscatprintf(s,
                        " cmd=%s user=%.*s redir=%lld resp=%d lib-name=%s lib-ver=%s tot-net-in=%llu "
                        "tot-net-out=%llu tot-cmds=%llu",
                        c->lastcmd ? c->lastcmd->fullname : "NULL", (int)user.len, user.ptr,
                        (long long)trackingRedirection(c), c->resp, c->lib_name ? c->lib_name : "",
                        c->lib_ver ? c->lib_ver : "", (unsigned long long)c->net_in,
                        (unsigned long long)c->net_out, (unsigned long long)c->commands);
}

/* ---- Filters of LIST and KILL ---- */

enum { TYPE_ANY, TYPE_NORMAL, TYPE_PRIMARY, TYPE_REPLICA, TYPE_PUBSUB };

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
    switch (clientClassOf(c)) {
    case CLIENT_CLASS_PUBSUB: return TYPE_PUBSUB;
    case CLIENT_CLASS_REPLICA: return TYPE_REPLICA;
    default: return TYPE_NORMAL;
    }
}

static bool refuseQuoting(struct client *c, const char *before, struct str word, const char *after) {
    sds s = sdscat(sdscatstr(sdscat(sdsnew("ERR "), before), word), after);
    replyErrorStr(c, sdsview(s));
    sdsfree(s);
    return false;
}

static bool lettersAmong(struct str letters, const char *known) {
    for (size_t i = 0; i < letters.len; i++) {
        if (!letters.ptr[i] || !strchr(known, letters.ptr[i])) return false;
    }
    return true;
}

/* Are all the letters in what `cat` writes about the client? */
static bool hasLetters(const struct client *c, sds (*cat)(sds s, const struct client *c),
                       struct str letters) {
    sds has = cat(sdsempty(), c);
    bool all = lettersAmong(letters, has);
    sdsfree(has);
    return all;
}

static bool sdsIs(const sds s, struct str want) {
    return s && strEq(sdsview(s), want);
}

/* Values: true when they can be; else an error has been replied. *number is what they stand for. */
static bool typeValue(struct client *c, struct str v, bool negated, int64_t *number) {
    (void)negated;
    *number = typeByName(v);
    return *number != TYPE_ANY || refuseQuoting(c, "Unknown client type '", v, "'");
}
static bool userValue(struct client *c, struct str v, bool negated, int64_t *number) {
    (void)negated;
    (void)number;
    return aclFindUser(v) || refuseQuoting(c, "No such user '", v, "'");
}
static bool flagsValue(struct client *c, struct str v, bool negated, int64_t *number) {
    (void)number;
    return lettersAmong(v, FLAG_LETTERS) ||
           refuseQuoting(c,
                         negated ? "Unknown flags found in the NOT-FLAGS filter: "
                                 : "Unknown flags found in the provided filter: ",
                         v, "");
}
static bool capaValue(struct client *c, struct str v, bool negated, int64_t *number) {
    (void)number;
    return lettersAmong(v, CAPA_LETTERS) ||
           refuseQuoting(c,
                         negated ? "Unknown capa found in the NOT-CAPA filter: "
                                 : "Unknown capa found in the provided filter: ",
                         v, "");
}
static bool dbValue(struct client *c, struct str v, bool negated, int64_t *number) {
    if (!argLongLong(c, v, number,
                     negated ? "ERR NOT-DB is not an integer or out of range"
                             : "ERR DB is not an integer or out of range"))
        return false;
    if (dbGet(*number)) return true;
    replyErrorFmt(c, "ERR %s number should be between 0 and %d", negated ? "NOT-DB" : "DB", dbCount() - 1);
    return false;
}
static bool ageValue(struct client *c, struct str v, bool negated, int64_t *number) {
    (void)negated;
    if (!argLongLong(c, v, number, "ERR maxage is not an integer or out of range")) return false;
    if (*number <= 0) replyError(c, "ERR maxage should be greater than 0");
    return *number > 0;
}
static bool idleValue(struct client *c, struct str v, bool negated, int64_t *number) {
    (void)negated;
    if (!argLongLong(c, v, number, "ERR idle is not an integer or out of range")) return false;
    if (*number <= 0) replyError(c, "ERR idle should be greater than 0");
    return *number > 0;
}

static bool typeMatches(struct client *c, struct str v, int64_t number) {
    (void)v;
    return typeOf(c) == number;
}
static bool userMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    return strEq(v, aclUserName(c));
}
static bool addrMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    return sdsIs(clientPeerName(c), v);
}
static bool laddrMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    return sdsIs(clientSockName(c), v);
}
/* An address is ip:port, or [ip]:port when there are colons in the ip. */
static bool ipMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    struct str addr = sdsview(clientPeerName(c));
    while (addr.len && addr.ptr[addr.len - 1] != ':') addr.len--;
    if (addr.len) addr.len--;
    if (addr.len >= 2 && addr.ptr[0] == '[') addr = strN(addr.ptr + 1, addr.len - 2);
    return strEq(addr, v);
}
static bool nameMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    return sdsIs(c->name, v);
}
static bool libNameMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    return sdsIs(c->lib_name, v);
}
static bool libVerMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    return sdsIs(c->lib_ver, v);
}
static bool flagsMatch(struct client *c, struct str v, int64_t number) {
    (void)number;
    return hasLetters(c, catFlags, v);
}
static bool capaMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    return hasLetters(c, catCapa, v);
}
static bool dbMatches(struct client *c, struct str v, int64_t number) {
    (void)v;
    return c->db->id == number;
}
static bool ageMatches(struct client *c, struct str v, int64_t number) {
    (void)v;
    return ageSeconds(c) >= number;
}
static bool idleMatches(struct client *c, struct str v, int64_t number) {
    (void)v;
    return idleSeconds(c) >= number;
}

static const struct filterKind {
    const char *name;
    bool (*value)(struct client *c, struct str v, bool negated, int64_t *number); /* NULL: any will do */
    bool (*matches)(struct client *c, struct str v, int64_t number);
    bool no_not;
} filter_kinds[] = {
    {"type", typeValue, typeMatches, false},
    {"user", userValue, userMatches, false},
    {"addr", NULL, addrMatches, false},
    {"laddr", NULL, laddrMatches, false},
    {"ip", NULL, ipMatches, false},
    {"name", NULL, nameMatches, false},
    {"lib-name", NULL, libNameMatches, false},
    {"lib-ver", NULL, libVerMatches, false},
    {"flags", flagsValue, flagsMatch, false},
    {"capa", capaValue, capaMatches, false},
    {"db", dbValue, dbMatches, false},
    {"maxage", ageValue, ageMatches, true},
    {"idle", idleValue, idleMatches, true},
};
#define FILTER_KINDS (sizeof filter_kinds / sizeof *filter_kinds)

/* One of each kind, and one of its opposite: the last one given counts. */
struct clientFilter {
    struct oneFilter {
        const struct str *value; /* NULL: not given */
        int64_t number;
    } is[FILTER_KINDS], is_not[FILTER_KINDS];
    struct idRange { /* arguments that are ids */
        int from, count;
    } ids, not_ids;
    bool skip_me;
};

/* The ids from argument i on; returns the argument behind them, 0 after an error. */
static int parseIds(struct client *c, int i, struct idRange *ids) {
    int64_t id;
    ids->from = i;
    for (; i < c->argc && string2ll(c->argv[i], &id); i++) {
        if (id >= 1) continue;
        replyError(c, "ERR client-id should be greater than 0");
        return 0;
    }
    ids->count = i - ids->from;
    if (!ids->count) replySyntaxError(c);
    return ids->count ? i : 0;
}

static bool cutNot(struct str *name) {
    if (name->len <= 4 || !strIs(strN(name->ptr, 4), "not-")) return false;
    *name = strN(name->ptr + 4, name->len - 4);
    return true;
}

/* An option with one value. */
static bool parseFilter(struct client *c, struct str name, const struct str *value, struct clientFilter *f) {
    if (strIs(name, "skipme") && (strIs(*value, "yes") || strIs(*value, "no"))) {
        f->skip_me = strIs(*value, "yes");
        return true;
    }
    bool negated = cutNot(&name);
    for (size_t k = 0; k < FILTER_KINDS; k++) {
        const struct filterKind *kind = &filter_kinds[k];
        if (!strIs(name, kind->name) || (negated && kind->no_not)) continue;
        struct oneFilter *one = negated ? &f->is_not[k] : &f->is[k];
        one->value = value;
        return !kind->value || kind->value(c, *value, negated, &one->number);
    }
    replySyntaxError(c);
    return false;
}

static bool parseFilters(struct client *c, struct clientFilter *f) {
    for (int i = 2; i < c->argc;) {
        struct str name = c->argv[i];
        bool negated = cutNot(&name);
        if (i + 1 == c->argc) {
            replySyntaxError(c);
            return false;
        }
        if (strIs(name, "id")) {
            i = parseIds(c, i + 1, negated ? &f->not_ids : &f->ids);
            if (!i) return false;
        } else {
            if (!parseFilter(c, c->argv[i], &c->argv[i + 1], f)) return false;
            i += 2;
        }
    }
    return true;
}

static bool idAmong(const struct client *self, const struct idRange *ids, const struct client *c) {
    for (int i = ids->from; i < ids->from + ids->count; i++) {
        int64_t id;
        if (string2ll(self->argv[i], &id) && (uint64_t)id == c->id) return true;
    }
    return false;
}

static bool filterMatches(const struct client *self, const struct clientFilter *f, struct client *c) {
    if (f->skip_me && c == self) return false;
    if (f->ids.count && !idAmong(self, &f->ids, c)) return false;
    if (f->not_ids.count && idAmong(self, &f->not_ids, c)) return false;
    for (size_t k = 0; k < FILTER_KINDS; k++) {
        const struct oneFilter *is = &f->is[k], *is_not = &f->is_not[k];
        if (is->value && !filter_kinds[k].matches(c, *is->value, is->number)) return false;
        if (is_not->value && filter_kinds[k].matches(c, *is_not->value, is_not->number)) return false;
    }
    return true;
}

/* ---- CLIENT INFO, LIST, KILL ---- */

void clientInfoCommand(struct client *c) {
    sds s = sdscatlen(clientInfoLine(c, sdsempty()), "\n", 1);
    replyVerbatim(c, sdsview(s), "txt");
    sdsfree(s);
}

void clientListCommand(struct client *c) {
    struct clientFilter f = {0};
    if (!parseFilters(c, &f)) return;
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

/* In the old form the only argument is an address. */
static void killByAddress(struct client *c, struct clientFilter *f) {
    for (size_t k = 0; k < FILTER_KINDS; k++) {
        if (filter_kinds[k].matches == addrMatches) f->is[k].value = &c->argv[2];
    }
}

void clientKillCommand(struct client *c) {
    bool old_form = c->argc == 3, self = false;
    struct clientFilter f = {.skip_me = !old_form};
    if (old_form)
        killByAddress(c, &f);
    else if (!parseFilters(c, &f))
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
