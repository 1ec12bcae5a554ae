/* SPDX-License-Identifier: BSD-3-Clause */
/* blocking.c - queues of waiting clients.
 *
 *     queues[db->id]: key -> struct blockingKey, a queue of struct waiter in order of arrival
 *     client->blocked: its waiters (one per key), and a copy of its command
 *
 * A key that becomes ready joins `ready`; after the running command each of its waiters runs its command
 * again, in order. */
#include "command/blocking.h"

#include <math.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/ticks.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/busy.h"
#include "command/call.h"
#include "command/command.h"
#include "command/declared_keys.h"
#include "command/propagate.h"
#include "command/request.h"
#include "command/turn.h"
#include "data/keyspace/hooks.h"
#include "data/notify.h"
#include "data/type.h"
#include "net/ae.h"
#include "registry/cron.h"
#include "registry/info.h"

#define OWNER_DECIDES (-1) /* owner's accepts_value decides */

struct blockingKey {
    struct db *db;
    sds key;
    struct list waiters;
    size_t on_delete; /* waiters that also wait for the key's deletion */
    bool any_type;    /* ready, whatever the value's type */
    struct listNode ready_node;
};

struct waiter {
    struct listNode node;
    struct blockingKey *key;
    struct client *client;
};

struct blockingState {
    int type;
    bool wake_on_delete, uninterruptible;
    bool ending; /* its handler or command runs: effects of that must not end the wait again */
    void (*on_timeout)(struct client *c);
    void *owner; /* for blockForHandler */
    bool (*accepts_value)(const struct object *o);
    void (*on_end)(struct client *c);
    void (*on_unblocked)(struct client *c, void *owner);
    int64_t timer, retry_timer; /* 0: no timer */
    struct request *request;    /* a copy of the request in which it waits */
    int count;
    struct waiter waiters[];
};

/* A table of struct blockingKey per database; created for the first waiter. */
static struct hashtable *queues;
static struct list ready;
struct blockingEnd blocking_end;
/* blocked_timeouts: clients with a deadline; keys_on_delete: keys for whose deletion somebody waits. */
static bool (*is_held_back)(uint64_t command_flags);
static void (*on_inner_end)(struct client *c);
static uint64_t blocked_clients, blocked_timeouts, blocked_keys, keys_on_delete;

static struct str blockingKeyName(const void *entry) {
    return sdsview(((const struct blockingKey *)entry)->key);
}
static const struct hashtableType blocking_type = {.entryKey = blockingKeyName};

/* ---- Timeouts ---- */

bool argTimeout(struct client *c, struct str arg, bool milliseconds, int64_t *deadline_ms) {
    double timeout;
    if (milliseconds) {
        int64_t ms;
        if (!argLongLong(c, arg, &ms, "ERR timeout is not an integer or out of range")) return false;
        timeout = (double)ms;
    } else {
        long double seconds;
        if (!string2ld(arg, &seconds) || isnan(seconds))
            return replyError(c, "ERR timeout is not a float or out of range");
        timeout = (double)ceill(seconds * 1000);
    }
    if (timeout < 0) return replyError(c, "ERR timeout is negative");
    if (timeout > (double)(INT64_MAX / 2)) return replyError(c, "ERR timeout is out of range");
    *deadline_ms = timeout == 0 ? 0 : mstime() + (int64_t)timeout;
    return true;
}

static int64_t blockingTimeoutTimer(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id;
    struct client *c = data;
    unblockWithTimeout(c); /* deletes the timer */
    return AE_NOMORE;
}

/* ---- Queues ---- */

static void blockingCreateQueues(void) {
    if (queues) return;
    queues = zcalloc((size_t)dbCount(), sizeof *queues);
    for (int i = 0; i < dbCount(); i++) hashtableInit(&queues[i], &blocking_type);
}

static void blockingHandleReadyHook(struct client *c) {
    (void)c;
    blockingHandleReady();
}

static void blockingMarkQueue(struct blockingKey *k) {
    if (listLinked(&k->ready_node)) return;
    listAddTail(&ready, &k->ready_node);
    callHookIdle(blockingHandleReadyHook, false);
}

static void blockingMarkReady(struct db *db, struct str key) {
    struct blockingKey *k = hashtableFind(&queues[db->id], key);
    if (k) blockingMarkQueue(k);
}

static struct blockingKey *blockingKeyQueue(struct db *db, struct str key) {
    blockingCreateQueues();
    struct blockingKey *k = hashtableFind(&queues[db->id], key);
    if (k) return k;
    k = zcalloc(1, sizeof *k);
    k->db = db;
    k->key = sdsnewstr(key);
    listInit(&k->waiters);
    hashtableAddUnchecked(&queues[db->id], k, hashtableHash(&queues[db->id], key));
    if (!blocked_keys++) data_hooks.keyExistenceChanged = blockingMarkReady;
    return k;
}

static void blockingDropKeyIfIdle(struct blockingKey *k) {
    if (k->waiters.length || listLinked(&k->ready_node)) return;
    hashtablePop(&queues[k->db->id], sdsview(k->key));
    sdsfree(k->key);
    zfree(k);
    if (!--blocked_keys) data_hooks.keyExistenceChanged = NULL;
}

static void blockingWaitForKey(struct blockingState *b, struct client *c, struct str key) {
    struct blockingKey *k = blockingKeyQueue(c->db, key);
    struct listNode *last = k->waiters.head.prev;
    /* The key was given twice. */
    if (k->waiters.length && listEntry(last, struct waiter, node)->client == c) return;
    struct waiter *w = &b->waiters[b->count++];
    w->key = k;
    w->client = c;
    listAddTail(&k->waiters, &w->node);
    keys_on_delete += b->wake_on_delete && !k->on_delete;
    k->on_delete += b->wake_on_delete;
}

void blockForKeys(struct client *c, const struct str *keys, int count, int type, int64_t deadline_ms,
                  void (*on_timeout)(struct client *c), bool wake_on_delete) {
    if (c->blocked) { /* it was run again and keeps its place */
        c->flags |= CLIENT_BLOCKED;
        return;
    }
    serverAssert(!(c->flags & (CLIENT_DENY_BLOCKING | CLIENT_FAKE | CLIENT_SCRIPT)));
    struct blockingState *b = zcalloc(1, sizeof *b + (size_t)count * sizeof(struct waiter));
    b->type = type;
    b->wake_on_delete = wake_on_delete;
    b->on_timeout = on_timeout ? on_timeout : replyNullArray;
    b->request = call_running->waits = requestCopy(c->request);
    for (int i = 0; i < count; i++) blockingWaitForKey(b, c, keys[i]);
    if (deadline_ms) {
        int64_t delay = deadline_ms - mstime();
        b->timer = aeCreateTimeEvent(server_el, delay < 0 ? 0 : delay, blockingTimeoutTimer, c);
        blocked_timeouts++;
    }
    c->blocked = b;
    c->flags |= CLIENT_BLOCKED;
    blocked_clients += c->conn != NULL;
}

static int64_t blockingRetryTimer(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id;
    struct client *c = data;
    c->blocked->retry_timer = 0;
    for (int i = 0; i < c->blocked->count; i++) blockingMarkQueue(c->blocked->waiters[i].key);
    return AE_NOMORE;
}

void blockedRetryAt(struct client *c, int64_t at_ms) {
    struct blockingState *b = c->blocked;
    int64_t delay = at_ms - mstime();
    if (b->retry_timer) aeDeleteTimeEvent(server_el, b->retry_timer);
    b->retry_timer = aeCreateTimeEvent(server_el, delay < 0 ? 0 : delay, blockingRetryTimer, c);
}

void blockUninterruptibly(struct client *c, void (*on_end)(struct client *c)) {
    blockForKeys(c, NULL, 0, 0, 0, on_end, false);
    c->blocked->uninterruptible = true;
}

bool blockedIsUninterruptible(const struct client *c) {
    return c->blocked && c->blocked->uninterruptible;
}

bool blockedForKeys(const struct client *c) {
    return c->blocked && c->blocked->count;
}

void blockForHandler(struct client *c, const struct str *keys, int count,
                     const struct blockingOptions *options) {
    blockForKeys(c, keys, count, OWNER_DECIDES, options->deadline_ms, NULL, options->wake_on_delete);
    c->blocked->uninterruptible = options->uninterruptible;
    c->blocked->owner = options->owner;
    c->blocked->on_end = options->on_end;
    c->blocked->on_unblocked = options->on_unblocked;
    c->blocked->accepts_value = options->accepts_value;
}

void *blockedOwner(const struct client *c) {
    return c->blocked ? c->blocked->owner : NULL;
}

void blockedAddTime(struct client *c, uint64_t us) {
    struct request *r = c->blocked->request;
    r->ticks += us * ticks_per_us;
    r->cmd->ticks += us * ticks_per_us;
}

static void blockingRelease(struct client *c) {
    struct blockingState *b = c->blocked;
    if (b->timer) {
        aeDeleteTimeEvent(server_el, b->timer);
        blocked_timeouts--;
    }
    if (b->retry_timer) aeDeleteTimeEvent(server_el, b->retry_timer);
    for (int i = 0; i < b->count; i++) {
        struct waiter *w = &b->waiters[i];
        listRemove(&w->key->waiters, &w->node);
        w->key->on_delete -= b->wake_on_delete;
        keys_on_delete -= b->wake_on_delete && !w->key->on_delete;
        blockingDropKeyIfIdle(w->key);
    }
    requestRelease(b->request);
    c->blocked = NULL;
    c->flags &= ~(uint32_t)(CLIENT_BLOCKED | CLIENT_ASKING); /* ASKING was for that request */
    blocked_clients -= c->conn != NULL;
    if (b->on_unblocked) b->on_unblocked(c, b->owner);
    zfree(b);
}

static void blockingOnClientFree(struct client *c) {
    if (c->blocked) blockingRelease(c);
}

void blockingOnInnerEnd(void (*fn)(struct client *c)) {
    serverAssert(!on_inner_end);
    on_inner_end = fn;
}

static void blockingUnblockClient(struct client *c, bool requeue) {
    blockingRelease(c);
    if (!requeue) return;
    if (c->conn)
        turnQueueClient(c);
    else
        on_inner_end(c);
}

/* Ends a command whose reply is written. It counts as called, and as rejected when unblocked by others. */
static void blockingEndCommand(struct client *c, bool rejected) {
    callCountEnded(c, c->blocked->request, rejected);
    blockingUnblockClient(c, true);
}

/* Runs the command of a waiting client again. It keeps its place in the queues when it blocks again. What a
 * module does when its call has ended is propagated together with the effects of the call. */
static void blockingRunAgain(struct client *c, enum requestOrigin origin) {
    c->flags |= CLIENT_REEXECUTING;
    c->flags &= ~(uint32_t)CLIENT_BLOCKED;
    c->blocked->ending = true;
    bool inner = !c->conn;
    if (inner) propagateBegin();
    commandRun(c, c->blocked->request, inner && origin == ORIGIN_UNBLOCKED ? ORIGIN_MODULE : origin);
    c->flags &= ~(uint32_t)CLIENT_REEXECUTING;
    if (c->flags & CLIENT_BLOCKED)
        c->blocked->ending = false;
    else
        blockingUnblockClient(c, true);
    if (inner) propagateEnd();
}

static void blockingRunHandler(struct client *c, struct blockingEnd end) {
    struct blockingEnd outer = blocking_end;
    blocking_end = end;
    if (c->blocked->on_end) {
        c->blocked->ending = true;
        c->blocked->on_end(c);
        blockingUnblockClient(c, true);
    } else {
        blockingRunAgain(c, ORIGIN_RESUMED);
    }
    blocking_end = outer;
}

void blockingResume(struct client *c) {
    if (c->flags & CLIENT_CLOSE_ASAP)
        blockingUnblockClient(c, false);
    else
        blockingRunHandler(c, (struct blockingEnd){.reason = BLOCKING_RESUMED});
}

static bool blockingMayEnd(const struct client *c) {
    return c->blocked && !c->blocked->ending;
}

bool unblockWithTimeout(struct client *c) {
    if (!blockingMayEnd(c)) return false;
    if (c->blocked->on_unblocked) {
        blockingRunHandler(c, (struct blockingEnd){.reason = BLOCKING_TIMEOUT});
        return true;
    }
    c->flags &= ~(uint32_t)CLIENT_ERROR;
    c->blocked->ending = true;
    c->blocked->on_timeout(c);
    blockingEndCommand(c, false);
    return true;
}

bool unblockWithReply(struct client *c, void (*reply)(struct client *c)) {
    if (!blockingMayEnd(c)) return false;
    if (c->blocked->on_end) {
        blockingRunHandler(c, (struct blockingEnd){.reason = BLOCKING_REFUSED});
        return true;
    }
    reply(c);
    blockingEndCommand(c, true);
    return true;
}

static void blockingReplyUnblocked(struct client *c) {
    replyError(c, "UNBLOCKED client unblocked via CLIENT UNBLOCK");
}

bool unblockWithError(struct client *c) {
    return unblockWithReply(c, blockingReplyUnblocked);
}

const struct request *blockedRequest(const struct client *c) {
    return c->blocked ? c->blocked->request : NULL;
}

/* ---- Wake up ---- */

void signalKeyReady(struct db *db, struct str key) {
    if (blocked_keys) blockingMarkReady(db, key);
}

void signalKeyReadyForHandlers(struct db *db, struct str key) {
    struct blockingKey *k = blocked_keys ? hashtableFind(&queues[db->id], key) : NULL;
    if (!k) return;
    k->any_type = true;
    blockingMarkQueue(k);
}

void blockingRecheckDb(struct db *db) {
    if (!blocked_keys) return;
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, &queues[db->id], false);
    while (hashtableNext(&it, &entry)) blockingMarkQueue(entry);
    hashtableStopIterator(&it);
}

static bool blockingTypeMatches(const struct blockingState *b, const struct object *o, bool any_type) {
    return b->type != OWNER_DECIDES ? o->type == (uint32_t)b->type : any_type || b->accepts_value(o);
}

static bool blockingShouldRun(const struct blockingState *b, const struct object *o, bool any_type) {
    return (o && blockingTypeMatches(b, o, any_type)) || b->wake_on_delete;
}

static void blockingTryWaiter(struct client *c, const struct blockingKey *k) {
    if (c->blocked->on_unblocked)
        blockingRunHandler(c, (struct blockingEnd){.reason = BLOCKING_KEY, .key = sdsview(k->key)});
    else
        blockingRunAgain(c, ORIGIN_UNBLOCKED);
}

/* Returns whether the command may run again now; otherwise it stays in its queue. */
static bool blockingMayRun(const struct blockingState *b) {
    return !is_held_back || !is_held_back(b->request->cmd->flags);
}

/* Gives every waiter one try, in order; those that block again keep their place. A try can free any waiter,
 * so the position in the queue is a node of our own, which moves towards the end and keeps the queue alive:
 *
 *     tried, waits again | tried, waits again | cursor | to be tried | to be tried | added meanwhile */
static void blockingServeKey(struct blockingKey *k) {
    struct waiter cursor = {0};
    size_t tries = k->waiters.length;
    bool any_type = k->any_type;
    k->any_type = false;
    listAddHead(&k->waiters, &cursor.node);
    for (; tries && cursor.node.next != &k->waiters.head; tries--) {
        struct listNode *next = cursor.node.next;
        struct client *c = listEntry(next, struct waiter, node)->client;
        struct declaredKeys nobodys;
        declaredKeysBegin(&nobodys, NULL);
        struct object *o = lookupKey(k->db, sdsview(k->key), LOOKUP_NOSTATS | LOOKUP_NOTOUCH);
        declaredKeysEnd(&nobodys);
        if (!o && !k->on_delete) break;
        listRemove(&k->waiters, &cursor.node);
        listInsertBefore(&k->waiters, next->next, &cursor.node);
        if (blockingShouldRun(c->blocked, o, any_type) && !(c->flags & CLIENT_CLOSE_ASAP) &&
            blockingMayRun(c->blocked))
            blockingTryWaiter(c, k);
    }
    listRemove(&k->waiters, &cursor.node);
    blockingDropKeyIfIdle(k);
}

/* Returns whether a script or module that lets the server answer is in the middle of its work: clients that
 * its changes wake are run when it has ended. */
static bool blockingIsAmidCommand(void) {
    return busyIsActive() || turnIsNested();
}

void blockingHandleReady(void) {
    static bool running; /* commands that run here may make more keys ready: the outer loop serves them */
    if (!ready.length || running || blockingIsAmidCommand()) return;
    running = true;
    while (ready.length) {
        struct listNode *first = listFirst(&ready);
        struct blockingKey *k = listEntry(first, struct blockingKey, ready_node);
        listRemove(&ready, first); /* removed first, so that it can become ready again */
        if (k->waiters.length)
            blockingServeKey(k);
        else
            blockingDropKeyIfIdle(k);
    }
    callHookIdle(blockingHandleReadyHook, true);
    running = false;
}

void blockingHoldBack(bool (*fn)(uint64_t command_flags)) {
    serverAssert(!is_held_back);
    is_held_back = fn;
}

static void blockingOnFlush(int dbid) {
    blockingRecheckDb(dbGet(dbid));
}

uint64_t blockedClients(void) {
    return blocked_clients;
}

static sds blockingInfo(sds s) {
    s = infoField(s, "clients_in_timeout_table:%llu", (unsigned long long)blocked_timeouts);
    s = infoField(s, "total_blocking_keys:%llu", (unsigned long long)blocked_keys);
    return infoField(s, "total_blocking_keys_on_nokey:%llu", (unsigned long long)keys_on_delete);
}

void blockingInit(void) {
    clientOnFree(blockingOnClientFree);
    infoRegister("clients", blockingInfo);
    notifyAddFlushSink(blockingOnFlush);
    listInit(&ready);
    callAddHook(BETWEEN_CALLS, blockingHandleReadyHook, true);
}
