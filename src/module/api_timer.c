/* SPDX-License-Identifier: BSD-3-Clause */
/* api_timer.c - timers, file descriptors in the server's event loop, functions that the main
 * thread calls once.
 *
 * The id of a timer is the time at which it is due, in microseconds, as eight bytes in big-endian order. It
 * is increased until no other timer has it. */
#include <endian.h>
#include <errno.h>

#include "base/clock.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "data/keyspace/db.h"
#include "ds/hashtable.h"
#include "module/api.h"
#include "module/lock.h"
#include "module/parts.h"
#include "net/ae.h"
#include "net/connection.h"

/* ---- Timers ---- */

struct moduleTimer {
    ValkeyModuleTimerID id;
    struct module *module;
    ValkeyModuleTimerProc callback;
    void *data;
    int dbid;
    int64_t due_us; /* wall clock */
    int64_t event;  /* its event in the loop */
};

static struct str apiTimerKey(const void *entry) {
    return strN((const char *)&((const struct moduleTimer *)entry)->id, sizeof(ValkeyModuleTimerID));
}
static const struct hashtableType timers_type = {.entryKey = apiTimerKey};
static struct hashtable timers;

static struct moduleTimer *apiTimerFind(ValkeyModuleTimerID id) {
    return hashtableFind(&timers, strN((const char *)&id, sizeof id));
}

static void apiTimerDrop(struct moduleTimer *t) {
    hashtablePop(&timers, apiTimerKey(t));
    zfree(t);
}

/* The timer exists while its callback runs, so the callback may stop it. */
static int64_t apiTimerFire(struct aeEventLoop *el, int64_t event, void *data) {
    (void)el, (void)event;
    struct moduleTimer *t = data;
    ValkeyModuleTimerID id = t->id;
    struct ValkeyModuleCtx ctx;
    contextOpen(&ctx, t->module, NULL, 0);
    ctx.dbid = t->dbid;
    moduleUnitBegin();
    t->callback(&ctx, t->data);
    contextClose(&ctx);
    moduleUnitEnd();
    t = apiTimerFind(id);
    if (t) apiTimerDrop(t);
    return AE_NOMORE;
}

ValkeyModuleTimerID vmCreateTimer(struct ValkeyModuleCtx *ctx, mstime_t period,
                                  ValkeyModuleTimerProc callback, void *data) {
    struct moduleTimer *t = zmalloc(sizeof *t);
    *t = (struct moduleTimer){.module = ctx->module, .callback = callback, .data = data};
    t->dbid = contextDb(ctx)->id;
    t->due_us = ustime() + period * 1000;
    uint64_t id = (uint64_t)t->due_us;
    while (apiTimerFind(htobe64(id))) id++;
    t->id = htobe64(id);
    t->event = aeCreateTimeEvent(server_el, period < 0 ? 0 : period, apiTimerFire, t);
    hashtableAdd(&timers, t);
    return t->id;
}

/* Returns NULL for timers of other modules. */
static struct moduleTimer *apiTimerFindOwn(const struct ValkeyModuleCtx *ctx, ValkeyModuleTimerID id) {
    struct moduleTimer *t = apiTimerFind(id);
    return t && t->module == ctx->module ? t : NULL;
}

int vmStopTimer(struct ValkeyModuleCtx *ctx, ValkeyModuleTimerID id, void **data) {
    struct moduleTimer *t = apiTimerFindOwn(ctx, id);
    if (!t) return VALKEYMODULE_ERR;
    if (data) *data = t->data;
    aeDeleteTimeEvent(server_el, t->event);
    apiTimerDrop(t);
    return VALKEYMODULE_OK;
}

int vmGetTimerInfo(struct ValkeyModuleCtx *ctx, ValkeyModuleTimerID id, uint64_t *remaining, void **data) {
    const struct moduleTimer *t = apiTimerFindOwn(ctx, id);
    if (!t) return VALKEYMODULE_ERR;
    if (data) *data = t->data;
    int64_t left_us = t->due_us - ustime();
    if (remaining) *remaining = left_us > 0 ? (uint64_t)left_us / 1000 : 0;
    return VALKEYMODULE_OK;
}

static struct moduleTimer *apiTimerFindByModule(const struct module *m) {
    struct hashtableIterator it;
    void *entry, *found = NULL;
    hashtableInitIterator(&it, &timers, false);
    while (!found && hashtableNext(&it, &entry)) {
        if (((const struct moduleTimer *)entry)->module == m) found = entry;
    }
    hashtableStopIterator(&it);
    return found;
}

static const char *apiTimerHasTimers(struct module *m) {
    return apiTimerFindByModule(m)
               ? "the module holds timer that is not fired. Please stop the timer or wait until it fires."
               : NULL;
}

static void apiTimerDropTimers(struct module *m) {
    for (struct moduleTimer *t; (t = apiTimerFindByModule(m)) != NULL;) {
        aeDeleteTimeEvent(server_el, t->event);
        apiTimerDrop(t);
    }
}

/* ---- File descriptors ---- */

/* A watched descriptor with a function for each direction. The data is that of the last call. */
struct watched {
    int fd;
    ValkeyModuleEventLoopFunc readable, writable;
    void *data;
};

static struct str apiTimerWatchedKey(const void *entry) {
    return strN((const char *)&((const struct watched *)entry)->fd, sizeof(int));
}
static const struct hashtableType watched_type = {.entryKey = apiTimerWatchedKey};
static struct hashtable watched;

static struct watched *apiTimerWatchedFind(int fd) {
    return hashtableFind(&watched, strN((const char *)&fd, sizeof fd));
}

/* Two functions, because the event loop calls equal ones only once if a descriptor is ready
 * in both directions. */
static void apiTimerCallReadable(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)el, (void)mask;
    const struct watched *w = data;
    w->readable(fd, w->data, VALKEYMODULE_EVENTLOOP_READABLE);
}
static void apiTimerCallWritable(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)el, (void)mask;
    const struct watched *w = data;
    w->writable(fd, w->data, VALKEYMODULE_EVENTLOOP_WRITABLE);
}

/* Returns an errno or 0. */
static int apiTimerWatchError(int fd, int mask) {
    if (fd < 0 || fd >= aeGetSize(server_el)) return ERANGE;
    return mask & ~(VALKEYMODULE_EVENTLOOP_READABLE | VALKEYMODULE_EVENTLOOP_WRITABLE) ? EINVAL : 0;
}

/* Tells whether the descriptor is the socket of a client that an I/O thread serves, in a loop of its own. */
static bool apiTimerIsOffloaded(int fd) {
    listForEach(&clients, it) {
        const struct client *c = listEntry(it, struct client, node);
        if (c->flags & CLIENT_OFFLOADED && c->conn->fd == fd) return true;
    }
    return false;
}

/* Tells whether the server itself uses the descriptor. O(clients) for one that no loop has yet. */
static bool apiTimerIsServerDescriptor(int fd) {
    if (apiTimerWatchedFind(fd)) return false;
    return aeGetFileEvents(server_el, fd) != AE_NONE || apiTimerIsOffloaded(fd);
}

static bool apiTimerWatch(struct watched *w, int mask) {
    if (mask & VALKEYMODULE_EVENTLOOP_READABLE &&
        aeCreateFileEvent(server_el, w->fd, AE_READABLE, apiTimerCallReadable, w) == -1)
        return false;
    return !(mask & VALKEYMODULE_EVENTLOOP_WRITABLE) ||
           aeCreateFileEvent(server_el, w->fd, AE_WRITABLE, apiTimerCallWritable, w) != -1;
}

static void apiTimerDropIfIdle(struct watched *w) {
    if (aeGetFileEvents(server_el, w->fd) != AE_NONE) return;
    hashtablePop(&watched, apiTimerWatchedKey(w));
    zfree(w);
}

int vmEventLoopAdd(int fd, int mask, ValkeyModuleEventLoopFunc func, void *user_data) {
    errno = apiTimerWatchError(fd, mask);
    if (!errno && (!func || apiTimerIsServerDescriptor(fd))) errno = EINVAL;
    if (errno) return VALKEYMODULE_ERR;
    struct watched *w = apiTimerWatchedFind(fd);
    if (!w) {
        w = zcalloc(1, sizeof *w);
        w->fd = fd;
        hashtableAdd(&watched, w);
    }
    bool ok = apiTimerWatch(w, mask);
    int error = errno;
    if (ok && mask & VALKEYMODULE_EVENTLOOP_READABLE) w->readable = func;
    if (ok && mask & VALKEYMODULE_EVENTLOOP_WRITABLE) w->writable = func;
    if (ok) w->data = user_data;
    apiTimerDropIfIdle(w);
    errno = ok ? 0 : error;
    return ok ? VALKEYMODULE_OK : VALKEYMODULE_ERR;
}

int vmEventLoopDel(int fd, int mask) {
    errno = apiTimerWatchError(fd, mask);
    if (errno) return VALKEYMODULE_ERR;
    struct watched *w = apiTimerWatchedFind(fd);
    if (!w) return VALKEYMODULE_OK;
    aeDeleteFileEvent(server_el, fd, mask);
    apiTimerDropIfIdle(w);
    return VALKEYMODULE_OK;
}

/* ---- Once, on the main thread ---- */

int vmEventLoopAddOneShot(ValkeyModuleEventLoopOneShotFunc func, void *user_data) {
    if (!func) {
        errno = EINVAL;
        return VALKEYMODULE_ERR;
    }
    mainThreadPostForModule(func, user_data);
    return VALKEYMODULE_OK;
}

void timerPartInit(void) {
    hashtableInit(&timers, &timers_type);
    hashtableInit(&watched, &watched_type);
    moduleAddObjection(apiTimerHasTimers);
    moduleOnUnload(apiTimerDropTimers);
}
