/* SPDX-License-Identifier: BSD-3-Clause */
/* multi.c - transactions; see multi.h.
 *
 *     client->multi ─▶ struct multiState: the queue        struct request, struct request ...
 *                                         watched keys     struct keyWatcher ─▶ struct keyWatcher ─▶ ...
 *                                                              │ (in the ring of its key)
 *     tables[db] : key ─▶ struct watchedKey: ring of ──────────┘
 *
 * A queued request is a copy; big arguments keep the buffer that they came in, which the command may then
 * take over as if it had just arrived.
 *
 * A change of a watched key marks its clients CLIENT_DIRTY_CAS. Only the end of the watch removes the mark,
 * so a marked client stops watching all its keys at once. Expiry is a change, too, unless it happened before
 * WATCH: watchers with `expired` saw a key that had expired already. */
#include "command/multi.h"

#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/client_info.h"
#include "client/reply.h"
#include "command/admission.h"
#include "command/call.h"
#include "command/command.h"
#include "command/propagate.h"
#include "commands/cmd_connection.h"
#include "commands/cmd_transactions.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "registry/cron.h"
#include "registry/info.h"

struct watchedKey {
    struct list watchers;
    int dbid;
    size_t len;
    char bytes[];
};

struct keyWatcher {
    struct listNode node;    /* in key->watchers */
    struct keyWatcher *next; /* the client's next one */
    struct watchedKey *key;
    struct client *client;
    bool expired; /* the key had expired, but was not deleted yet, when the watch began */
    bool missing; /* it was missing or expired when the database was last emptied or swapped */
};

struct multiState {
    struct requestQueue queue;
    int db;                         /* the database that the queued SELECTs lead to */
    size_t bytes;                   /* bytes of the queue */
    uint64_t some_flags, all_flags; /* flags that any queued command has, and that all have */
    struct client *client;
    struct listNode watching_node;
    struct keyWatcher *watchers;
    size_t watch_count, watch_bytes;
};

/* One table of struct watchedKey by name per database, created by the first WATCH. */
static struct hashtable *tables;
static struct list watching; /* clients that watch keys */
static size_t watched_keys;

bool (*multi_conditions_hold)(struct client *c);

static struct str multiWatchedKeyName(const void *entry) {
    const struct watchedKey *k = entry;
    return strN(k->bytes, k->len);
}
static const struct hashtableType table_type = {.entryKey = multiWatchedKeyName};

/* ---- State ---- */

static struct multiState *multiEnsureState(struct client *c) {
    if (c->multi) return c->multi;
    c->flags |= CLIENT_MULTI_KNOWN;
    struct multiState *m = zcalloc(1, sizeof *m);
    m->client = c;
    m->all_flags = UINT64_MAX;
    c->multi = m;
    return m;
}

/* Drops the queue, which will not run. */
static void multiDropQueue(struct multiState *m) {
    requestQueueClear(&m->queue);
    m->bytes = 0;
}

static void multiDropStateIfIdle(struct client *c) {
    struct multiState *m = c->multi;
    if (!m || m->watchers || c->flags & CLIENT_MULTI) return;
    zfreeSized(m, sizeof *m);
    c->multi = NULL;
}

/* ---- Watched keys ---- */

static struct watchedKey *multiEnsureKey(struct db *db, struct str name) {
    struct hashtable *table = &tables[db->id];
    uint64_t hash = dbHashName(name);
    struct watchedKey *k = hashtableFindHashed(table, name, hash);
    if (k) return k;
    k = zmalloc(sizeof *k + name.len);
    listInit(&k->watchers);
    k->dbid = db->id;
    k->len = name.len;
    memcpy(k->bytes, name.ptr, name.len);
    hashtableAddUnchecked(table, k, hash);
    watched_keys++;
    return k;
}

static void multiDropKeyIfIdle(struct watchedKey *k) {
    if (k->watchers.length) return;
    hashtablePop(&tables[k->dbid], multiWatchedKeyName(k));
    zfree(k);
    watched_keys--;
}

/* Searches the client's keys or the key's clients, whichever are fewer. */
static bool multiWatches(const struct multiState *m, struct watchedKey *k) {
    if (m->watch_count < k->watchers.length) {
        for (const struct keyWatcher *w = m->watchers; w; w = w->next) {
            if (w->key == k) return true;
        }
        return false;
    }
    listForEach(&k->watchers, it) {
        if (listEntry(it, struct keyWatcher, node)->client == m->client) return true;
    }
    return false;
}

static void multiWatchKey(struct client *c, struct str name) {
    struct multiState *m = multiEnsureState(c);
    struct watchedKey *k = multiEnsureKey(c->db, name);
    if (multiWatches(m, k)) return;
    const struct object *o = dbFind(c->db, name);
    struct keyWatcher *w = zmalloc(sizeof *w);
    *w = (struct keyWatcher){.key = k, .client = c, .next = m->watchers, .expired = o && objectIsExpired(o)};
    listAddTail(&k->watchers, &w->node);
    if (!m->watchers) listAddTail(&watching, &m->watching_node);
    m->watchers = w;
    m->watch_count++;
    m->watch_bytes += sizeof *w + sizeof *k + name.len;
}

static void multiReleaseKeys(struct multiState *m) {
    if (m->watchers) listRemove(&watching, &m->watching_node);
    while (m->watchers) {
        struct keyWatcher *w = m->watchers;
        m->watchers = w->next;
        listRemove(&w->key->watchers, &w->node);
        multiDropKeyIfIdle(w->key);
        zfreeSized(w, sizeof *w);
    }
    m->watch_count = m->watch_bytes = 0;
}

static void multiUnwatchAll(struct client *c) {
    c->flags &= ~(uint32_t)CLIENT_DIRTY_CAS;
    if (!c->multi) return;
    multiReleaseKeys(c->multi);
    multiDropStateIfIdle(c);
}

static void multiMarkDirty(struct client *c) {
    multiUnwatchAll(c);
    c->flags |= CLIENT_DIRTY_CAS;
    if (c->flags & CLIENT_MULTI) multiDropQueue(c->multi);
}

static struct object *multiObjectOf(const struct watchedKey *k) {
    return dbFind(dbGet(k->dbid), multiWatchedKeyName(k));
}

/* Marking the last client frees the key, so the loop counts the ring instead of comparing with its head. */
static void multiKeyModified(struct client *c, struct db *db, struct str name) {
    (void)c;
    struct watchedKey *k = hashtableFindHashed(&tables[db->id], name, dbHashName(name));
    if (!k) return;
    struct listNode *it = k->watchers.head.next;
    for (size_t n = k->watchers.length; n; n--) {
        struct keyWatcher *w = listEntry(it, struct keyWatcher, node);
        it = it->next;
        if (w->expired && !dbFind(db, name))
            w->expired = false; /* deleted now: from here on it is like any missing key */
        else
            multiMarkDirty(w->client);
    }
}

/* Called when the database is about to be emptied or swapped, and again after a swap. Returns false when
 * nothing changes for the watcher. For it an expired key counts as missing: the one that it saw, and one that
 * replaces a missing key. */
static bool multiWatcherSeesFlush(struct keyWatcher *w) {
    const struct object *o = multiObjectOf(w->key);
    bool comes_expired = o && w->missing && objectIsExpired(o), dirty = o && !w->expired && !comes_expired;
    w->missing = !o || w->expired;
    w->expired = comes_expired;
    return dirty;
}

static void multiDbFlushed(int dbid) {
    listForEach(&watching, it) {
        struct multiState *m = listEntry(it, struct multiState, watching_node);
        bool dirty = false;
        for (struct keyWatcher *w = m->watchers; w && !dirty; w = w->next) {
            if (dbid != -1 && w->key->dbid != dbid) continue;
            dirty = multiWatcherSeesFlush(w);
        }
        if (dirty) multiMarkDirty(m->client);
    }
}

/* Returns whether a watched key has expired without having been deleted. */
static bool multiWatchedKeyExpired(const struct client *c) {
    for (const struct keyWatcher *w = c->multi->watchers; w; w = w->next) {
        const struct object *o = w->expired ? NULL : multiObjectOf(w->key);
        if (o && objectIsExpired(o)) return true;
    }
    return false;
}

void watchCommand(struct client *c) {
    if (!tables) {
        tables = zcalloc((size_t)dbCount(), sizeof *tables);
        for (int i = 0; i < dbCount(); i++) hashtableInit(&tables[i], &table_type);
    }
    for (int i = 1; i < c->argc && !(c->flags & CLIENT_DIRTY_CAS); i++) multiWatchKey(c, c->argv[i]);
    replyOk(c);
}

void unwatchCommand(struct client *c) {
    multiUnwatchAll(c);
    replyOk(c);
}

/* ---- The queue ---- */

static bool multiRunsAtOnce(const struct serverCommand *cmd) {
    commandProc *proc = cmd->spec->proc;
    return proc == execCommand || proc == discardCommand || proc == resetCommand || proc == quitCommand;
}

/* Follows a queued SELECT: later commands are checked for that database. */
static void multiFollowSelect(const struct client *c, struct multiState *m) {
    int64_t db;
    bool ends_well = c->argc == 2 && string2ll(c->argv[1], &db) && dbGet(db);
    if (ends_well && !(c->flags & CLIENT_DIRTY_EXEC)) m->db = (int)db;
}

/* The last rule: all others have admitted the request, so it is queued for EXEC. */
static enum admission multiQueueRequest(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (!(c->flags & CLIENT_MULTI) || multiRunsAtOnce(r->cmd)) return ADMITTED;
    struct multiState *m = c->multi;
    uint64_t flags = commandFlags(c, r->cmd);
    m->some_flags |= flags;
    m->all_flags &= flags;
    if (!(c->flags & (CLIENT_DIRTY_EXEC | CLIENT_DIRTY_CAS))) /* otherwise it will not run */
        m->bytes += requestMemory(requestQueueAdd(&m->queue, r));
    if (r->cmd->spec->proc == selectCommand) multiFollowSelect(c, m);
    replyLiteral(c, "+QUEUED\r\n");
    return DEFERRED;
}

static enum admission multiCheckNo(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (!(c->flags & CLIENT_MULTI) || !(r->cmd->flags & CMD_NO_MULTI)) return ADMITTED;
    replyErrorFmt(c, "ERR Command '%s' not allowed inside a transaction", r->cmd->fullname);
    return REFUSED;
}

void multiReset(struct client *c) {
    struct multiState *m = c->multi;
    if (m) {
        multiDropQueue(m);
        m->some_flags = 0;
        m->all_flags = UINT64_MAX;
    }
    c->flags &= ~(uint32_t)(CLIENT_MULTI | CLIENT_DIRTY_EXEC);
    multiUnwatchAll(c);
}

/* Makes EXEC fail after a refused command; when EXEC itself was refused, the transaction ends. */
static void multiNoteRefused(struct client *c) {
    if (c->cmd && c->cmd->spec->proc == execCommand) {
        multiReset(c);
    } else if (c->flags & CLIENT_MULTI && !(c->flags & CLIENT_IN_EXEC)) {
        c->flags |= CLIENT_DIRTY_EXEC;
        multiDropQueue(c->multi);
        c->multi->db = c->db->id; /* its SELECTs will not run */
    }
}

const struct request *multiQueued(const struct client *c, int i) {
    if (!(c->flags & CLIENT_MULTI) || i >= c->multi->queue.count) return NULL;
    return c->multi->queue.at[i];
}

/* EXEC has the effects of the whole queue, and may only run where all of it may. Its conditions read keys. */
uint64_t execFlags(const struct client *c, uint64_t flags) {
    static const uint64_t permissions = CMD_LOADING | CMD_STALE;
    if (c->argc > 1) flags = (flags | CMD_READONLY) & ~permissions;
    if (!(c->flags & CLIENT_MULTI)) return flags;
    uint64_t does = c->multi->some_flags & (CMD_WRITE | CMD_READONLY | CMD_DENYOOM | CMD_MAY_REPLICATE);
    return (flags | does) & (c->multi->all_flags | ~permissions);
}

/* ---- MULTI, EXEC, DISCARD ---- */

void multiCommand(struct client *c) {
    multiEnsureState(c)->db = c->db->id;
    c->flags |= CLIENT_MULTI;
    replyOk(c);
}

void discardCommand(struct client *c) {
    if (!(c->flags & CLIENT_MULTI)) {
        replyError(c, "ERR DISCARD without MULTI");
        return;
    }
    multiReset(c);
    replyOk(c);
}

/* For a queued command it looks as if the client had just sent it. */
static void multiRunQueue(struct client *c) {
    const struct requestQueue *q = &c->multi->queue;
    replyArrayLen(c, q->count);
    for (int i = 0; i < q->count; i++) {
        commandRun(c, q->at[i], ORIGIN_EXEC);
        serverAssert(!(c->flags & CLIENT_BLOCKED));
    }
    c->flags &= ~(uint32_t)CLIENT_ERROR; /* errors of queued commands are not EXEC's */
}

/* Replies when the conditions do not hold. An error about them ends the transaction, as any error of EXEC. */
static bool multiConditionsHold(struct client *c) {
    if (c->argc == 1) return true;
    reply_error_prefix = admission_exec_refused;
    bool hold = multi_conditions_hold(c);
    reply_error_prefix = NULL;
    return hold;
}

static void multiExec(struct client *c) {
    if (c->flags & CLIENT_DIRTY_EXEC) {
        replyError(c, "EXECABORT Transaction discarded because of previous errors.");
    } else if (c->flags & CLIENT_DIRTY_CAS || multiWatchedKeyExpired(c)) {
        replyNullArray(c);
    } else if (multiConditionsHold(c)) {
        multiReleaseKeys(c->multi); /* changes by the queue must not mark the client */
        multiRunQueue(c);
        propagateSuppress(c); /* the commands have been propagated, as one unit */
    }
    multiReset(c);
}

void execCommand(struct client *c) {
    if (!call_running->outer) clockRefresh(); /* TIME returns this time in all of them */
    uint32_t set = CLIENT_IN_EXEC | (c->flags & CLIENT_DENY_BLOCKING ? 0 : CLIENT_DENY_BLOCKING);
    c->flags |= set;
    if (c->flags & CLIENT_MULTI)
        multiExec(c);
    else
        replyError(c, "ERR EXEC without MULTI");
    c->flags &= ~set;
}

/* ---- About clients ---- */

int multiSelectedDb(const struct client *c) {
    return c->multi->db;
}

const struct request *multiLastQueued(const struct client *c) {
    int count = c->flags & CLIENT_MULTI ? c->multi->queue.count : 0;
    return count ? c->multi->queue.at[count - 1] : NULL;
}

size_t multiQueuedBytes(const struct client *c) {
    return c->multi ? c->multi->bytes : 0;
}

/* ---- Registration ---- */

static size_t multiMemory(const struct client *c) {
    const struct multiState *m = c->multi;
    if (!m) return 0;
    return sizeof *m + m->bytes + (size_t)m->queue.cap * sizeof *m->queue.at + m->watch_bytes;
}

/* Queued commands; -1 before the first MULTI or WATCH. */
static sds multiCatCount(sds s, struct client *c) {
    if (!(c->flags & CLIENT_MULTI_KNOWN)) return clientInfoNumber(s, -1);
    return clientInfoNumber(s, c->flags & CLIENT_MULTI ? c->multi->queue.count : 0);
}
static sds multiCatWatchCount(sds s, struct client *c) {
    return clientInfoNumber(s, c->multi ? (int64_t)c->multi->watch_count : 0);
}
static sds multiCatQueuedBytes(sds s, struct client *c) {
    return clientInfoNumber(s, (int64_t)multiQueuedBytes(c));
}

static sds multiInfo(sds s) {
    s = infoField(s, "watching_clients:%zu", watching.length);
    return infoField(s, "total_watched_keys:%zu", watched_keys);
}

void multiInit(void) {
    listInit(&watching);
    notifyAddModifiedSink(multiKeyModified, &watched_keys);
    notifyAddFlushSink(multiDbFlushed);
    clientOnFree(multiReset);
    clientOnMemory(multiMemory);
    clientInfoField("multi", multiCatCount);
    clientInfoField("watch", multiCatWatchCount);
    clientInfoField("multi-mem", multiCatQueuedBytes);
    infoRegister("clients", multiInfo);
    admissionFill(RULE_NO_MULTI, multiCheckNo);
    admissionFill(RULE_QUEUED, multiQueueRequest);
    callOnRefused(multiNoteRefused);
}
