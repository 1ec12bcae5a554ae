/* SPDX-License-Identifier: BSD-3-Clause */
/* tracking.c - which clients have cached which keys; see tracking.h.
 *
 *     table     key ─▶ struct trackedKey: the ids of the clients that have read it
 *     prefixes  prefix ─▶ struct prefix: clients that listen; keys changed since the last turn
 *
 * Most keys are read by one client: its id is in the entry itself. More ids are a sorted array beside it. Ids
 * are never reused, so a client that disconnects need not be searched for in the table: its ids are skipped
 * when the key changes, or dropped when the table is full.
 *
 * A changed key is looked up among the prefixes by its own beginnings of the lengths that prefixes have.
 *
 * A message about a change by the running command follows that command's reply, also for the client itself
 * (push.h). Broadcasts are collected until the end of the turn, each key once. */
#include "command/tracking.h"

#include "base/zmalloc.h"
#include "client/client_info.h"
#include "client/push.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "command/propagate.h"
#include "commands/cmd_connection.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "ds/hashtable.h"
#include "ds/rax.h"
#include "net/resp.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"

#define CHANNEL      "__redis__:invalidate"
#define TRIM_KEYS    100 /* dropped from the table in one turn, and more each time it stays too large */
#define TRIM_GROWTH  100
#define TRIM_AT_MOST 100000

static size_t tracking_clients; /* clients that track keys */

enum { OPT_BCAST = 1, OPT_OPTIN = 2, OPT_OPTOUT = 4, OPT_NOLOOP = 8 };

struct trackingClient {
    uint64_t redirect;   /* 0: none */
    uint8_t options;     /* OPT_* */
    bool broken;         /* the client to redirect to has disconnected */
    bool caching;        /* CLIENT CACHING was called: yes with OPTIN, no with OPTOUT */
    struct rax prefixes; /* name -> struct prefix */
};

struct trackedKey {
    uint32_t len, count;
    union {
        uint64_t one;   /* count == 1 */
        uint64_t *many; /* sorted; capacity is the next power of two */
    } ids;
    char name[];
};

struct prefix {
    struct hashtable listeners; /* struct client by id */
    struct rax changed;         /* key -> the client that changed it; NULL: none, or several */
    size_t len;
};

static struct hashtable table;
static size_t table_ids; /* number of ids in all entries */
static int64_t max_keys;
static size_t trim_keys = TRIM_KEYS;

static struct rax prefixes; /* prefix -> struct prefix */
/* Lengths of prefixes, and how many have each. */
static struct prefixLength { size_t len, prefixes; } * lengths;
static size_t length_count;
static size_t changes_matter; /* 0: there are no tracked keys and no prefixes */
static bool broadcast_pending;

static bool flush_pending; /* all keys are invalid; sent when the command has ended */

/* ---- Messages ---- */

/* An invalidation message, composed for its first receiver. */
struct message {
    const struct str *keys; /* NULL: all keys */
    size_t count;
    struct replyShared *forms[2]; /* for RESP2 (a message of the channel) and RESP3 */
};

static char *trackingWriteBulk(char *p, struct str s) {
    p += respWriteHeader(p, '$', (int64_t)s.len);
    memcpy(p, s.ptr, s.len);
    memcpy(p + s.len, "\r\n", 2);
    return p + s.len + 2;
}

static struct replyShared *trackingCompose(const struct message *m, bool resp3) {
    size_t room = 4 * RESP_HDR_SIZE + sizeof CHANNEL + sizeof "invalidate";
    for (size_t i = 0; i < m->count; i++) room += m->keys[i].len + RESP_HDR_SIZE;
    struct replyShared *form = replySharedCreate(room);
    char *p = form->bytes;
    if (resp3) {
        p += respWriteHeader(p, '>', 2);
        p = trackingWriteBulk(p, STR("invalidate"));
    } else {
        p += respWriteHeader(p, '*', 3);
        p = trackingWriteBulk(p, STR("message"));
        p = trackingWriteBulk(p, STR(CHANNEL));
    }
    if (m->keys) {
        p += respWriteHeader(p, '*', (int64_t)m->count);
        for (size_t i = 0; i < m->count; i++) p = trackingWriteBulk(p, m->keys[i]);
    } else {
        struct str null = resp3 ? STR("_\r\n") : STR("$-1\r\n");
        memcpy(p, null.ptr, null.len);
        p += null.len;
    }
    form->len = (size_t)(p - form->bytes);
    return form;
}

static void trackingMessageDone(struct message *m) {
    for (int i = 0; i < 2; i++) {
        if (m->forms[i]) replySharedRelease(m->forms[i]);
    }
}

/* Tells a RESP3 client that the client it redirected to has disconnected. */
static void trackingRedirectionBroken(struct client *c) {
    struct trackingClient *t = c->tracking;
    t->broken = true;
    if (c->resp < 3) return;
    struct replyShared *form = replySharedCreate(3 * RESP_HDR_SIZE + sizeof "tracking-redir-broken");
    char *p = form->bytes;
    p += respWriteHeader(p, '>', 2);
    p = trackingWriteBulk(p, STR("tracking-redir-broken"));
    p += respWriteHeader(p, ':', (int64_t)t->redirect);
    form->len = (size_t)(p - form->bytes);
    pushSharedAfterReply(c, form);
    replySharedRelease(form);
}

static void trackingSendTo(struct client *c, struct message *m) {
    struct client *target = c;
    if (c->tracking->redirect) {
        target = clientById(c->tracking->redirect);
        if (!target) {
            trackingRedirectionBroken(c);
            return;
        }
    }
    bool resp3 = target->resp >= 3;
    bool subscribed = target != c && target->flags & CLIENT_PUBSUB;
    if (!resp3 && !subscribed) return; /* it could not distinguish the message from a reply */
    if (!m->forms[resp3]) m->forms[resp3] = trackingCompose(m, resp3);
    pushSharedAfterReply(target, m->forms[resp3]);
}

/* ---- The table of keys ---- */

static struct str trackingKeyName(const void *entry) {
    const struct trackedKey *k = entry;
    return strN(k->name, k->len);
}
static const struct hashtableType table_type = {.entryKey = trackingKeyName};

static void trackingFreeKey(struct trackedKey *k) {
    table_ids -= k->count;
    if (k->count > 1) zfree(k->ids.many);
    zfree(k);
}

static const uint64_t *trackingKeyIds(const struct trackedKey *k) {
    return k->count > 1 ? k->ids.many : &k->ids.one;
}

static void trackingAddId(struct trackedKey *k, uint64_t id) {
    const uint64_t *ids = trackingKeyIds(k);
    size_t low = 0, high = k->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (ids[mid] < id)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < k->count && ids[low] == id) return;
    bool full = (k->count & (k->count - 1)) == 0;
    if (k->count == 1) {
        uint64_t first = k->ids.one;
        k->ids.many = zmalloc(2 * sizeof *k->ids.many);
        k->ids.many[0] = first;
    } else if (full) {
        k->ids.many = zrealloc(k->ids.many, 2 * (size_t)k->count * sizeof *k->ids.many);
    }
    memmove(k->ids.many + low + 1, k->ids.many + low, (k->count - low) * sizeof *k->ids.many);
    k->ids.many[low] = id;
    k->count++;
    table_ids++;
}

static void trackingRemember(uint64_t id, struct str name) {
    uint64_t hash = dbHashName(name);
    struct trackedKey *k = hashtableFindHashed(&table, name, hash);
    if (k) {
        trackingAddId(k, id);
        return;
    }
    k = zmalloc(sizeof *k + name.len);
    *k = (struct trackedKey){.len = (uint32_t)name.len, .count = 1, .ids.one = id};
    memcpy(k->name, name.ptr, name.len);
    hashtableAddUnchecked(&table, k, hash);
    table_ids++;
}

/* Notifies the clients that have cached it; `by`: the client that changed it, or NULL. k is not in the
 * table. */
static void trackingInvalidate(struct trackedKey *k, const struct client *by) {
    struct str name = trackingKeyName(k);
    struct message m = {.keys = &name, .count = 1};
    const uint64_t *ids = trackingKeyIds(k);
    for (uint32_t i = 0; i < k->count; i++) {
        struct client *c = clientById(ids[i]);
        if (!c || !c->tracking || c->tracking->options & OPT_BCAST) continue;
        if (c == by && c->tracking->options & OPT_NOLOOP) continue;
        trackingSendTo(c, &m);
    }
    trackingMessageDone(&m);
    trackingFreeKey(k);
}

/* Drops random keys above the limit and notifies the clients that have cached them. Without tracking clients
 * it drops all keys. What remains is dropped in later turns. */
static void trackingTrimTable(void) {
    size_t limit = !tracking_clients ? 0 : max_keys ? (size_t)max_keys : SIZE_MAX;
    if (hashtableSize(&table) <= limit) {
        trim_keys = TRIM_KEYS;
        return;
    }
    for (size_t n = 0; n < trim_keys && hashtableSize(&table) > limit; n++) {
        struct trackedKey *k = hashtableRandomEntry(&table);
        hashtablePop(&table, trackingKeyName(k));
        trackingInvalidate(k, NULL);
    }
    if (trim_keys < TRIM_AT_MOST) trim_keys += TRIM_GROWTH;
}

/* ---- Prefixes ---- */

static struct str trackingIdOf(const void *entry) {
    const struct client *c = entry;
    return strN((const char *)&c->id, sizeof c->id);
}
static const struct hashtableType listeners_type = {.entryKey = trackingIdOf};

static void trackingNoteLength(size_t len, bool more) {
    size_t i = 0;
    while (i < length_count && lengths[i].len != len) i++;
    if (i == length_count) {
        lengths = zrealloc(lengths, ++length_count * sizeof *lengths);
        lengths[i] = (struct prefixLength){.len = len};
    }
    lengths[i].prefixes += more ? 1 : (size_t)-1;
    if (!lengths[i].prefixes) lengths[i] = lengths[--length_count];
}

static void trackingAddPrefix(struct client *c, struct str name) {
    void *found = NULL;
    if (!raxFind(&prefixes, name, &found)) {
        struct prefix *p = zmalloc(sizeof *p);
        *p = (struct prefix){.len = name.len};
        hashtableInit(&p->listeners, &listeners_type);
        raxInit(&p->changed);
        raxInsert(&prefixes, name, p, NULL);
        trackingNoteLength(name.len, true);
        found = p;
    }
    hashtableAdd(&((struct prefix *)found)->listeners, c);
    raxInsert(&c->tracking->prefixes, name, found, NULL);
}

static void trackingRemoveFromPrefix(struct client *c, struct str name, struct prefix *p) {
    hashtablePop(&p->listeners, trackingIdOf(c));
    if (hashtableSize(&p->listeners)) return;
    raxRemove(&prefixes, name, NULL);
    trackingNoteLength(p->len, false);
    hashtableDestroy(&p->listeners);
    raxDestroy(&p->changed, NULL);
    zfree(p);
}

static void trackingRemoveFromPrefixes(struct client *c) {
    struct raxIterator it;
    raxStart(&it, &c->tracking->prefixes);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        trackingRemoveFromPrefix(c, it.key, it.value);
    raxStop(&it);
    raxDestroy(&c->tracking->prefixes, NULL);
}

static void trackingNoteChanged(struct str name, struct client *by) {
    for (size_t i = 0; i < length_count; i++) {
        void *found;
        if (lengths[i].len > name.len || !raxFind(&prefixes, strN(name.ptr, lengths[i].len), &found))
            continue;
        struct rax *changed = &((struct prefix *)found)->changed;
        void *before;
        bool first = !raxFind(changed, name, &before);
        if (first || before != by) raxInsert(changed, name, first ? by : NULL, NULL);
        broadcast_pending = true;
    }
}

/* Collects the changed keys as an array, without those that only `except` has changed (NULL: all). */
static size_t trackingCollectKeys(const struct rax *changed, const struct client *except, struct str *keys,
                                  char *bytes) {
    size_t n = 0;
    struct raxIterator it;
    raxStart(&it, changed);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        if (except && it.value == except) continue;
        memcpy(bytes, it.key.ptr, it.key.len);
        keys[n++] = strN(bytes, it.key.len);
        bytes += it.key.len;
    }
    raxStop(&it);
    return n;
}

static size_t trackingBytesOfKeys(const struct rax *changed) {
    size_t bytes = 0;
    struct raxIterator it;
    raxStart(&it, changed);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) bytes += it.key.len;
    raxStop(&it);
    return bytes;
}

static void trackingBroadcastPrefix(struct prefix *p) {
    struct str *keys = zmalloc(p->changed.size * sizeof *keys);
    char *bytes = zmalloc(trackingBytesOfKeys(&p->changed) + 1);
    struct message all = {.keys = keys, .count = trackingCollectKeys(&p->changed, NULL, keys, bytes)};
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, &p->listeners, false);
    while (hashtableNext(&it, &entry)) {
        struct client *c = entry;
        if (!(c->tracking->options & OPT_NOLOOP)) trackingSendTo(c, &all);
    }
    hashtableStopIterator(&it);
    trackingMessageDone(&all);

    hashtableInitIterator(&it, &p->listeners, false);
    while (hashtableNext(&it, &entry)) {
        struct client *c = entry;
        if (!(c->tracking->options & OPT_NOLOOP)) continue;
        struct message others = {.keys = keys, .count = trackingCollectKeys(&p->changed, c, keys, bytes)};
        if (others.count) trackingSendTo(c, &others);
        trackingMessageDone(&others);
    }
    hashtableStopIterator(&it);
    zfree(keys);
    zfree(bytes);
    raxDestroy(&p->changed, NULL);
}

static void trackingBroadcast(void) {
    broadcast_pending = false;
    struct raxIterator it;
    raxStart(&it, &prefixes);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        struct prefix *p = it.value;
        if (p->changed.size) trackingBroadcastPrefix(p);
    }
    raxStop(&it);
}

/* ---- Changes ---- */

/* No client causes expiry and eviction (c is NULL), even within a command. */
static void trackingKeyModified(struct client *c, struct db *db, struct str name) {
    (void)db;
    struct client *by = c ? callOwner() : NULL;
    if (length_count) trackingNoteChanged(name, by);
    if (!hashtableSize(&table)) {
        changes_matter = tracking_clients || length_count;
        return;
    }
    struct trackedKey *k = hashtablePopHashed(&table, name, dbHashName(name));
    if (k) trackingInvalidate(k, by);
}

static void trackingForgetTable(void) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, &table, false);
    while (hashtableNext(&it, &entry)) trackingFreeKey(entry);
    hashtableStopIterator(&it);
    hashtableDestroy(&table);
    hashtableInit(&table, &table_type);
}

/* One command may empty many databases, which is one message. */
static void trackingDbFlushed(int dbid) {
    (void)dbid;
    if (!tracking_clients) return;
    if (hashtableSize(&table)) trackingForgetTable();
    flush_pending = true;
}

static void trackingSendFlushed(void) {
    flush_pending = false;
    struct message all = {0};
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (c->tracking) trackingSendTo(c, &all);
    }
    trackingMessageDone(&all);
}

static void trackingBeforeSleep(void) {
    if (flush_pending) trackingSendFlushed();
    if (hashtableSize(&table)) trackingTrimTable();
    if (broadcast_pending) trackingBroadcast();
}

/* ---- Reads ---- */

/* Returns whether the command itself reads keys. EVAL_RO does not, as it reads by its script's commands. */
static bool trackingReads(const struct serverCommand *cmd) {
    return cmd->flags & CMD_READONLY && !(cmd->acl & ACL_SCRIPTING);
}

static bool trackingRemembers(const struct trackingClient *t) {
    if (t->options & OPT_BCAST) return false;
    if (t->options & OPT_OPTIN) return t->caching;
    return !(t->options & OPT_OPTOUT && t->caching);
}

static void trackingRememberKeys(struct client *c, uint64_t id) {
    struct keyRef *refs;
    int count = commandGetKeyRefs(c->cmd, c->argv, c->argc, &refs);
    for (int i = 0; i < count; i++) trackingRemember(id, c->argv[refs[i].pos]);
    zfree(refs);
}

/* Called after each command, including those of scripts and EXEC. */
static void trackingAfterCall(struct client *c) {
    struct client *owner = c->conn ? c : callOwner(); /* for commands of scripts and modules */
    bool tracks = owner && owner->tracking && !(c->flags & CLIENT_BLOCKED);
    if (tracks && trackingReads(c->cmd) && trackingRemembers(owner->tracking))
        trackingRememberKeys(c, owner->id);
    if (flush_pending && !propagation.depth) trackingSendFlushed();
}

/* Clears CLIENT CACHING after the next request or transaction; CLIENT commands in between do not count. */
static void trackingAfterRequest(struct client *c) {
    if (!c->tracking || !c->tracking->caching || c->flags & CLIENT_MULTI) return;
    const struct serverCommand *container = c->cmd ? c->cmd->parent : NULL;
    if (!container || strcmp(container->spec->name, "client")) c->tracking->caching = false;
}

static void trackingSetClients(size_t count) {
    tracking_clients = count;
    if (count) changes_matter = 1;
    callHookIdle(trackingAfterCall, !count);
    callHookIdle(trackingAfterRequest, !count);
}

/* ---- A client ---- */

static void trackingEnable(struct client *c, uint64_t redirect, uint8_t options) {
    if (!c->tracking) {
        c->tracking = zcalloc(1, sizeof *c->tracking);
        raxInit(&c->tracking->prefixes);
        trackingSetClients(tracking_clients + 1);
    }
    c->tracking->redirect = redirect;
    c->tracking->options = options;
    c->tracking->broken = false;
}

void trackingDisable(struct client *c) {
    if (!c->tracking) return;
    trackingRemoveFromPrefixes(c);
    zfreeSized(c->tracking, sizeof *c->tracking);
    c->tracking = NULL;
    trackingSetClients(tracking_clients - 1);
}

/* Returns where messages for c go: -1 when it does not track, 0 to itself, otherwise the id of a client. */
static int64_t trackingRedirection(const struct client *c) {
    return c->tracking ? (int64_t)c->tracking->redirect : -1;
}

static sds trackingCatRedirection(sds s, struct client *c) {
    return clientInfoNumber(s, trackingRedirection(c));
}

static bool trackingIsOn(const struct client *c) {
    return c->tracking;
}
static bool trackingIsBroken(const struct client *c) {
    return c->tracking && c->tracking->broken;
}
static bool trackingIsBroadcast(const struct client *c) {
    return c->tracking && c->tracking->options & OPT_BCAST;
}

static size_t trackingMemory(const struct client *c) {
    return c->tracking ? sizeof *c->tracking + c->tracking->prefixes.bytes : 0;
}

/* ---- CLIENT TRACKING ---- */

struct trackingArgs {
    uint64_t redirect;
    uint8_t options;
    struct str *prefixes; /* allocated by zmalloc */
    size_t prefix_count;
};

static bool trackingParseRedirect(struct client *c, struct str word, struct trackingArgs *args) {
    int64_t id;
    if (args->redirect) return replyError(c, "ERR A client can only redirect to a single other client");
    if (!argLongLong(c, word, &id, NULL)) return false;
    args->redirect = (uint64_t)id;
    if (clientById(args->redirect)) return true;
    return replyError(c, "ERR The client ID you want redirect to does not exist");
}

static bool trackingParse(struct client *c, struct trackingArgs *args) {
    static const struct {
        const char *word;
        uint8_t option;
    } options[] = {
        {"bcast", OPT_BCAST}, {"optin", OPT_OPTIN}, {"optout", OPT_OPTOUT}, {"noloop", OPT_NOLOOP}};
    args->prefixes = zmalloc((size_t)c->argc * sizeof *args->prefixes);
    for (int i = 3; i < c->argc; i++) {
        bool more = i + 1 < c->argc;
        uint8_t option = 0;
        for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
            if (strIs(c->argv[i], options[k].word)) option = options[k].option;
        }
        args->options |= option;
        if (option) continue;
        if (more && strIs(c->argv[i], "redirect")) {
            if (!trackingParseRedirect(c, c->argv[++i], args)) return false;
        } else if (more && strIs(c->argv[i], "prefix")) {
            args->prefixes[args->prefix_count++] = c->argv[++i];
        } else {
            return replySyntaxError(c);
        }
    }
    return true;
}

static bool trackingOverlap(struct str a, struct str b) {
    size_t n = a.len < b.len ? a.len : b.len;
    return memcmp(a.ptr, b.ptr, n) == 0;
}

static void trackingReplyOverlap(struct client *c, struct str prefix, const char *what, struct str other) {
    sds s = sdscatstr(sdsnew("ERR Prefix '"), prefix);
    s = sdscatprintf(s, "' overlaps with %s prefix '", what);
    s = sdscat(sdscatstr(s, other), "'. Prefixes for a single client must not overlap.");
    replyErrorStr(c, sdsview(s));
    sdsfree(s);
}

static bool trackingDisjointFromOwn(struct client *c, struct str prefix) {
    bool disjoint = true;
    struct raxIterator it;
    raxStart(&it, &c->tracking->prefixes);
    for (bool more = raxSeek(&it, "^", STR("")); more && disjoint; more = raxNext(&it)) {
        disjoint = !trackingOverlap(prefix, it.key);
        if (!disjoint) trackingReplyOverlap(c, prefix, "an existing", it.key);
    }
    raxStop(&it);
    return disjoint;
}

/* Returns whether the prefixes do not overlap with the client's present ones, nor with each other. */
static bool trackingPrefixesDisjoint(struct client *c, const struct trackingArgs *args) {
    bool disjoint = true;
    for (size_t i = 0; i < args->prefix_count && disjoint; i++) {
        struct str prefix = args->prefixes[i];
        if (c->tracking) disjoint = trackingDisjointFromOwn(c, prefix);
        for (size_t k = i + 1; k < args->prefix_count && disjoint; k++) {
            disjoint = !trackingOverlap(prefix, args->prefixes[k]);
            if (!disjoint) trackingReplyOverlap(c, prefix, "another provided", args->prefixes[k]);
        }
    }
    return disjoint;
}

/* Returns why these options conflict; NULL when they do not. */
static const char *trackingOptionsConflict(const struct client *c, const struct trackingArgs *args) {
    uint8_t now = args->options, before = c->tracking ? c->tracking->options : now;
    bool either = now & (OPT_OPTIN | OPT_OPTOUT);
    if (args->prefix_count && !(now & OPT_BCAST))
        return "ERR PREFIX option requires BCAST mode to be enabled";
    if ((now ^ before) & OPT_BCAST)
        return "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then "
               "re-enabling it with a different mode.";
    if (now & OPT_BCAST && either) return "ERR OPTIN and OPTOUT are not compatible with BCAST";
    if (now & OPT_OPTIN && now & OPT_OPTOUT) return "ERR You can't specify both OPTIN mode and OPTOUT mode";
    if ((now & OPT_OPTIN && before & OPT_OPTOUT) || (now & OPT_OPTOUT && before & OPT_OPTIN))
        return "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then "
               "re-enabling it with a different mode.";
    return NULL;
}

static void trackingStart(struct client *c, const struct trackingArgs *args) {
    const char *conflict = trackingOptionsConflict(c, args);
    if (conflict) {
        replyError(c, conflict);
        return;
    }
    if (args->options & OPT_BCAST && !trackingPrefixesDisjoint(c, args)) return;
    trackingEnable(c, args->redirect, args->options);
    for (size_t i = 0; i < args->prefix_count; i++) trackingAddPrefix(c, args->prefixes[i]);
    if (args->options & OPT_BCAST && !args->prefix_count) trackingAddPrefix(c, STR(""));
    replyOk(c);
}

void clientTrackingCommand(struct client *c) {
    struct trackingArgs args = {0};
    if (trackingParse(c, &args)) {
        if (strIs(c->argv[2], "on")) {
            trackingStart(c, &args);
        } else if (strIs(c->argv[2], "off")) {
            trackingDisable(c);
            replyOk(c);
        } else {
            replySyntaxError(c);
        }
    }
    zfree(args.prefixes);
}

/* ---- CLIENT CACHING, GETREDIR, TRACKINGINFO ---- */

void clientCachingCommand(struct client *c) {
    struct trackingClient *t = c->tracking;
    bool yes = strIs(c->argv[2], "yes");
    if (!t)
        replyError(c,
                   "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or "
                   "OPTOUT mode enabled");
    else if (!yes && !strIs(c->argv[2], "no"))
        replySyntaxError(c);
    else if (yes && !(t->options & OPT_OPTIN))
        replyError(c, "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
    else if (!yes && !(t->options & OPT_OPTOUT))
        replyError(c, "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");
    else {
        t->caching = true;
        replyOk(c);
    }
}

void clientGetredirCommand(struct client *c) {
    replyLongLong(c, trackingRedirection(c));
}

static void trackingReplyTrackingFlags(struct client *c) {
    const struct trackingClient *t = c->tracking;
    bool optin = t && t->options & OPT_OPTIN, optout = t && t->options & OPT_OPTOUT;
    const char *flags[8];
    int n = 0;
    flags[n++] = t ? "on" : "off";
    if (t && t->options & OPT_BCAST) flags[n++] = "bcast";
    if (optin) flags[n++] = "optin";
    if (optin && t->caching) flags[n++] = "caching-yes";
    if (optout) flags[n++] = "optout";
    if (optout && t->caching) flags[n++] = "caching-no";
    if (t && t->options & OPT_NOLOOP) flags[n++] = "noloop";
    if (t && t->broken) flags[n++] = "broken_redirect";
    replySetLen(c, n);
    for (int i = 0; i < n; i++) replyBulkCstr(c, flags[i]);
}

void clientTrackinginfoCommand(struct client *c) {
    replyMapLen(c, 3);
    replyBulkCstr(c, "flags");
    trackingReplyTrackingFlags(c);
    replyBulkCstr(c, "redirect");
    replyLongLong(c, trackingRedirection(c));
    replyBulkCstr(c, "prefixes");
    replyArrayLen(c, c->tracking ? (int64_t)c->tracking->prefixes.size : 0);
    if (!c->tracking) return;
    struct raxIterator it;
    raxStart(&it, &c->tracking->prefixes);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) replyBulk(c, it.key);
    raxStop(&it);
}

/* ---- Registration ---- */

static sds trackingClientsInfo(sds s) {
    return infoField(s, "tracking_clients:%zu", tracking_clients);
}

static sds trackingStatsInfo(sds s) {
    s = infoField(s, "tracking_total_keys:%zu", hashtableSize(&table));
    s = infoField(s, "tracking_total_items:%zu", table_ids);
    return infoField(s, "tracking_total_prefixes:%zu", prefixes.size);
}

void trackingInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("tracking-table-max-keys", NULL, CONFIG_MODIFIABLE, &max_keys, 1000000, 0, INT64_MAX,
                   NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    hashtableInit(&table, &table_type);
    raxInit(&prefixes);
    callAddHook(CALL_DONE, trackingAfterCall, true);
    callAddHook(REQUEST_DONE, trackingAfterRequest, true);
    notifyAddModifiedSink(trackingKeyModified, &changes_matter);
    notifyAddFlushSink(trackingDbFlushed);
    clientOnFree(trackingDisable);
    clientOnMemory(trackingMemory);
    clientInfoField("redir", trackingCatRedirection);
    clientInfoLetter('t', trackingIsOn);
    clientInfoLetter('R', trackingIsBroken);
    clientInfoLetter('B', trackingIsBroadcast);
    beforeSleepRegister(trackingBeforeSleep);
    infoRegister("clients", trackingClientsInfo);
    infoRegister("stats", trackingStatsInfo);
}
