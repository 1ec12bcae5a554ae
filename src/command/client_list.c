/* SPDX-License-Identifier: BSD-3-Clause */
/* client_list.c - CLIENT INFO, LIST and KILL. Part of client_commands.h.
 *
 * LIST and KILL choose clients by the same filters. Most of these compare one property with a value, so they
 * are a table: name, how to parse the value, how to match. NOT- inverts a filter. A client that kills itself
 * is closed when its reply is sent; other clients as soon as the running command has ended. */
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/client_info.h"
#include "client/client_session.h"
#include "client/reply.h"
#include "commands/cmd_connection.h"
#include "data/keyspace/db.h"

/* ---- Filters of LIST and KILL ---- */

enum { TYPE_ANY, TYPE_NORMAL, TYPE_PRIMARY, TYPE_REPLICA, TYPE_PUBSUB };

static int clientListTypeByName(struct str name) {
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

static int clientListTypeOf(const struct client *c) {
    if (c->flags & CLIENT_PRIMARY) return TYPE_PRIMARY;
    switch (clientClassOf(c)) {
    case CLIENT_CLASS_PUBSUB: return TYPE_PUBSUB;
    case CLIENT_CLASS_REPLICA: return TYPE_REPLICA;
    default: return TYPE_NORMAL;
    }
}

static bool clientListRefuseQuoting(struct client *c, const char *before, struct str word,
                                    const char *after) {
    sds s = sdscat(sdscatstr(sdscat(sdsnew("ERR "), before), word), after);
    replyErrorStr(c, sdsview(s));
    sdsfree(s);
    return false;
}

static bool clientListLettersAmong(struct str letters, const char *known) {
    for (size_t i = 0; i < letters.len; i++) {
        if (!letters.ptr[i] || !strchr(known, letters.ptr[i])) return false;
    }
    return true;
}

static bool clientListAreFlagLetters(struct str letters) {
    for (size_t i = 0; i < letters.len; i++) {
        if (!clientInfoIsLetter(letters.ptr[i])) return false;
    }
    return true;
}

/* Returns whether all the letters occur in what `cat` appends about the client. */
static bool clientListHasLetters(struct client *c, clientFieldFn *cat, struct str letters) {
    sds has = cat(sdsempty(), c);
    bool all = clientListLettersAmong(letters, has);
    sdsfree(has);
    return all;
}

static bool clientListIsLabelled(const struct client *c, enum clientLabel which, struct str text) {
    struct str label = clientLabel(c, which);
    return label.ptr && strEq(label, text);
}

/* Functions that parse a value into *number. On errors they reply and return false. */
static bool clientListTypeValue(struct client *c, struct str v, bool negated, int64_t *number) {
    (void)negated;
    *number = clientListTypeByName(v);
    return *number != TYPE_ANY || clientListRefuseQuoting(c, "Unknown client type '", v, "'");
}
static bool clientListUserValue(struct client *c, struct str v, bool negated, int64_t *number) {
    (void)negated;
    (void)number;
    return client_users->exists(v) || clientListRefuseQuoting(c, "No such user '", v, "'");
}
static bool clientListFlagsValue(struct client *c, struct str v, bool negated, int64_t *number) {
    (void)number;
    return clientListAreFlagLetters(v) ||
           clientListRefuseQuoting(c,
                                   negated ? "Unknown flags found in the NOT-FLAGS filter: "
                                           : "Unknown flags found in the provided filter: ",
                                   v, "");
}
static bool clientListCapaValue(struct client *c, struct str v, bool negated, int64_t *number) {
    (void)number;
    return clientListLettersAmong(v, CLIENT_CAPA_LETTERS) ||
           clientListRefuseQuoting(c,
                                   negated ? "Unknown capa found in the NOT-CAPA filter: "
                                           : "Unknown capa found in the provided filter: ",
                                   v, "");
}
static bool clientListDbValue(struct client *c, struct str v, bool negated, int64_t *number) {
    if (!argLongLong(c, v, number,
                     negated ? "ERR NOT-DB is not an integer or out of range"
                             : "ERR DB is not an integer or out of range"))
        return false;
    if (dbGet(*number)) return true;
    return replyErrorFmt(c, "ERR %s number should be between 0 and %d", negated ? "NOT-DB" : "DB",
                         dbCount() - 1);
}
static bool clientListAgeValue(struct client *c, struct str v, bool negated, int64_t *number) {
    (void)negated;
    if (!argLongLong(c, v, number, "ERR maxage is not an integer or out of range")) return false;
    if (*number <= 0) replyError(c, "ERR maxage should be greater than 0");
    return *number > 0;
}
static bool clientListIdleValue(struct client *c, struct str v, bool negated, int64_t *number) {
    (void)negated;
    if (!argLongLong(c, v, number, "ERR idle is not an integer or out of range")) return false;
    if (*number <= 0) replyError(c, "ERR idle should be greater than 0");
    return *number > 0;
}

static bool clientListTypeMatches(struct client *c, struct str v, int64_t number) {
    (void)v;
    return clientListTypeOf(c) == number;
}
static bool clientListUserMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    return strEq(v, client_users->name(c));
}
static bool clientListAddrMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    return strEq(sdsview(clientPeerName(c)), v);
}
static bool clientListLaddrMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    return strEq(sdsview(clientSockName(c)), v);
}
/* Matches addresses: ip:port, or [ip]:port when the ip contains colons. */
static bool clientListIpMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    struct str addr = sdsview(clientPeerName(c));
    while (addr.len && addr.ptr[addr.len - 1] != ':') addr.len--;
    if (addr.len) addr.len--;
    if (addr.len >= 2 && addr.ptr[0] == '[') addr = strN(addr.ptr + 1, addr.len - 2);
    return strEq(addr, v);
}
static bool clientListNameMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    return clientListIsLabelled(c, CLIENT_NAME, v);
}
static bool clientListLibNameMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    return clientListIsLabelled(c, CLIENT_LIB_NAME, v);
}
static bool clientListLibVerMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    return clientListIsLabelled(c, CLIENT_LIB_VERSION, v);
}
static bool clientListFlagsMatch(struct client *c, struct str v, int64_t number) {
    (void)number;
    return clientListHasLetters(c, clientInfoFlags, v);
}
static bool clientListCapaMatches(struct client *c, struct str v, int64_t number) {
    (void)number;
    return clientListHasLetters(c, clientInfoCapa, v);
}
static bool clientListDbMatches(struct client *c, struct str v, int64_t number) {
    (void)v;
    return c->db->id == number;
}
static bool clientListAgeMatches(struct client *c, struct str v, int64_t number) {
    (void)v;
    return clientAgeSeconds(c) >= number;
}
static bool clientListIdleMatches(struct client *c, struct str v, int64_t number) {
    (void)v;
    return clientIdleSeconds(c) >= number;
}

static const struct filterKind {
    const char *name;
    bool (*value)(struct client *c, struct str v, bool negated, int64_t *number); /* NULL: any value */
    bool (*matches)(struct client *c, struct str v, int64_t number);
    bool no_not;
} filter_kinds[] = {
    {"type", clientListTypeValue, clientListTypeMatches, false},
    {"user", clientListUserValue, clientListUserMatches, false},
    {"addr", NULL, clientListAddrMatches, false},
    {"laddr", NULL, clientListLaddrMatches, false},
    {"ip", NULL, clientListIpMatches, false},
    {"name", NULL, clientListNameMatches, false},
    {"lib-name", NULL, clientListLibNameMatches, false},
    {"lib-ver", NULL, clientListLibVerMatches, false},
    {"flags", clientListFlagsValue, clientListFlagsMatch, false},
    {"capa", clientListCapaValue, clientListCapaMatches, false},
    {"db", clientListDbValue, clientListDbMatches, false},
    {"maxage", clientListAgeValue, clientListAgeMatches, true},
    {"idle", clientListIdleValue, clientListIdleMatches, true},
};
#define FILTER_KINDS (sizeof filter_kinds / sizeof *filter_kinds)

/* One filter of each kind, and one inverted; the last one given counts. Ids accumulate. */
struct clientFilter {
    struct oneFilter {
        const struct str *value; /* NULL: not given */
        int64_t number;
    } is[FILTER_KINDS], is_not[FILTER_KINDS];
    struct idSet {
        uint64_t *ids;
        int count;
    } ids, not_ids;
    bool skip_me;
};

static void clientListFilterFree(struct clientFilter *f) {
    zfree(f->ids.ids);
    zfree(f->not_ids.ids);
}

/* Parses ids from argument i on. Returns the argument behind them, 0 after an error. */
static int clientListParseIds(struct client *c, int i, struct idSet *set) {
    int64_t id;
    int from = i;
    if (!set->ids) set->ids = zmalloc((size_t)c->argc * sizeof *set->ids);
    for (; i < c->argc && string2ll(c->argv[i], &id); i++) {
        if (id < 1) {
            replyError(c, "ERR client-id should be greater than 0");
            return 0;
        }
        set->ids[set->count++] = (uint64_t)id;
    }
    if (i == from) replySyntaxError(c);
    return i > from ? i : 0;
}

static bool clientListCutNot(struct str *name) {
    if (name->len <= 4 || !strIs(strN(name->ptr, 4), "not-")) return false;
    *name = strN(name->ptr + 4, name->len - 4);
    return true;
}

/* Parses an option with one value. */
static bool clientListParseFilter(struct client *c, struct str name, const struct str *value,
                                  struct clientFilter *f) {
    if (strIs(name, "skipme") && (strIs(*value, "yes") || strIs(*value, "no"))) {
        f->skip_me = strIs(*value, "yes");
        return true;
    }
    bool negated = clientListCutNot(&name);
    for (size_t k = 0; k < FILTER_KINDS; k++) {
        const struct filterKind *kind = &filter_kinds[k];
        if (!strIs(name, kind->name) || (negated && kind->no_not)) continue;
        struct oneFilter *one = negated ? &f->is_not[k] : &f->is[k];
        one->value = value;
        return !kind->value || kind->value(c, *value, negated, &one->number);
    }
    return replySyntaxError(c);
}

static bool clientListParseFilters(struct client *c, struct clientFilter *f) {
    for (int i = 2; i < c->argc;) {
        struct str name = c->argv[i];
        bool negated = clientListCutNot(&name);
        if (i + 1 == c->argc) return replySyntaxError(c);
        if (strIs(name, "id")) {
            i = clientListParseIds(c, i + 1, negated ? &f->not_ids : &f->ids);
            if (!i) return false;
        } else {
            if (!clientListParseFilter(c, c->argv[i], &c->argv[i + 1], f)) return false;
            i += 2;
        }
    }
    return true;
}

static bool clientListIdAmong(const struct idSet *set, const struct client *c) {
    for (int i = 0; i < set->count; i++) {
        if (set->ids[i] == c->id) return true;
    }
    return false;
}

static bool clientListFilterMatches(const struct client *self, const struct clientFilter *f,
                                    struct client *c) {
    if (f->skip_me && c == self) return false;
    if (f->ids.count && !clientListIdAmong(&f->ids, c)) return false;
    if (f->not_ids.count && clientListIdAmong(&f->not_ids, c)) return false;
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

static void clientListMatching(struct client *c, const struct clientFilter *f) {
    sds s = sdsempty();
    listForEach(&clients, it) {
        struct client *other = listEntry(it, struct client, node);
        if (clientListFilterMatches(c, f, other)) s = sdscatlen(clientInfoLine(other, s), "\n", 1);
    }
    replyVerbatim(c, sdsview(s), "txt");
    sdsfree(s);
}

void clientListCommand(struct client *c) {
    struct clientFilter f = {0};
    if (clientListParseFilters(c, &f)) clientListMatching(c, &f);
    clientListFilterFree(&f);
}

static int64_t clientListKillMatching(struct client *c, const struct clientFilter *f, bool *self) {
    int64_t killed = 0;
    listForEach(&clients, it) {
        struct client *other = listEntry(it, struct client, node);
        if (other->flags & CLIENT_CLOSE_ASAP || !clientListFilterMatches(c, f, other)) continue;
        killed++;
        if (other == c)
            *self = true;
        else
            clientClose(other);
    }
    return killed;
}

/* CLIENT KILL with only an address, the old form. */
static void clientListKillByAddress(struct client *c, struct clientFilter *f) {
    for (size_t k = 0; k < FILTER_KINDS; k++) {
        if (filter_kinds[k].matches == clientListAddrMatches) f->is[k].value = &c->argv[2];
    }
}

static void clientListKillAndReply(struct client *c, const struct clientFilter *f, bool old_form) {
    bool self = false;
    int64_t killed = clientListKillMatching(c, f, &self);
    if (!old_form)
        replyLongLong(c, killed);
    else if (killed)
        replyOk(c);
    else
        replyError(c, "ERR No such client");
    if (self) clientCloseAfterReply(c);
}

void clientKillCommand(struct client *c) {
    bool old_form = c->argc == 3;
    struct clientFilter f = {.skip_me = !old_form};
    if (old_form) clientListKillByAddress(c, &f);
    if (old_form || clientListParseFilters(c, &f)) clientListKillAndReply(c, &f, old_form);
    clientListFilterFree(&f);
}
