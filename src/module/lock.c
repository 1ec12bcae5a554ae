/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.c - the lock, and calls for the main thread; see lock.h. */
#include "module/lock.h"

#include <pthread.h>
#include <stddef.h>

#include "base/zmalloc.h"
#include "command/parallel_read.h"
#include "command/propagate.h"
#include "command/script_running.h"
#include "data/keyspace/database.h"
#include "module/api.h"
#include "module/module.h"
#include "module/parts.h"
#include "net/ae.h"
#include "registry/cron.h"

/* ---- The lock ---- */

/* A ticket lock: the thread whose ticket is `serving` has it. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t ticket_changed;
    uint64_t next, serving;
} lock = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .ticket_changed = PTHREAD_COND_INITIALIZER,
};
static __thread bool mine;
static pthread_t main_thread;
/* With the lock: whether threads could read before it was taken, and dbstats.dirty at that moment. */
static bool reads_reopen;
static uint64_t dirty_before;

/* A module's thread that takes the lock while the main thread polls may change the data, which I/O threads
 * are reading. */
static void lockBegin(void) {
    if (moduleIsMainThread()) return;
    reads_reopen = parallelReadsClose();
    dirty_before = dbstats.dirty;
    clockRefresh();
}

void moduleLockTake(void) {
    pthread_mutex_lock(&lock.mutex);
    uint64_t number = lock.next++;
    while (lock.serving != number) pthread_cond_wait(&lock.ticket_changed, &lock.mutex);
    pthread_mutex_unlock(&lock.mutex);
    mine = true;
    lockBegin();
}

bool moduleLockTry(void) {
    pthread_mutex_lock(&lock.mutex);
    bool free = lock.serving == lock.next;
    if (free) lock.next++;
    pthread_mutex_unlock(&lock.mutex);
    mine |= free;
    if (free) lockBegin();
    return free;
}

/* The main thread writes what this one has changed to the append-only file, and lets others read it
 * afterwards. */
static void lockEnd(void) {
    if (!moduleIsMainThread() && reads_reopen && dbstats.dirty == dirty_before) parallelReadsOpen();
}

void moduleLockRelease(void) {
    lockEnd();
    mine = false;
    pthread_mutex_lock(&lock.mutex);
    lock.serving++;
    pthread_cond_broadcast(&lock.ticket_changed);
    pthread_mutex_unlock(&lock.mutex);
}

bool moduleLockIsHeld(void) {
    return mine;
}

bool moduleIsMainThread(void) {
    return pthread_equal(pthread_self(), main_thread);
}

void moduleLockYield(void) {
    pthread_mutex_lock(&lock.mutex);
    bool wanted = lock.next > lock.serving + 1;
    pthread_mutex_unlock(&lock.mutex);
    if (!wanted) return;
    moduleLockRelease();
    moduleLockTake();
}

/* ---- Units ---- */

void moduleUnitBegin(void) {
    if (!propagation.depth) clockRefresh();
    propagateBegin();
}

void moduleUnitEnd(void) {
    propagateEnd();
}

/* ---- Calls for the main thread ---- */

struct postedCall {
    struct postedCall *next;
    void (*fn)(void *arg);
    void *arg;
    bool of_module;
};
static struct {
    pthread_mutex_t mutex;
    struct postedCall *first, **end;
} posted_calls = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void lockPost(void (*fn)(void *arg), void *arg, bool of_module) {
    moduleThreadRegister();
    struct postedCall *e = zmalloc(sizeof *e);
    *e = (struct postedCall){.fn = fn, .arg = arg, .of_module = of_module};
    pthread_mutex_lock(&posted_calls.mutex);
    bool wake = !posted_calls.first;
    *(posted_calls.first ? posted_calls.end : &posted_calls.first) = e;
    posted_calls.end = &e->next;
    pthread_mutex_unlock(&posted_calls.mutex);
    if (wake && server_el) aeWakeup(server_el);
}

void mainThreadPost(void (*fn)(void *arg), void *arg) {
    lockPost(fn, arg, false);
}

void mainThreadPostForModule(void (*fn)(void *arg), void *arg) {
    lockPost(fn, arg, true);
}

static struct postedCall *lockTakePosted(void) {
    pthread_mutex_lock(&posted_calls.mutex);
    struct postedCall *first = posted_calls.first;
    posted_calls.first = NULL;
    pthread_mutex_unlock(&posted_calls.mutex);
    return first;
}

static void lockRunPosted(struct postedCall *e) {
    void (*fn)(void *arg) = e->fn;
    void *arg = e->arg;
    zfree(e);
    fn(arg);
}

void moduleRunPostedCalls(void) {
    for (struct postedCall *e = lockTakePosted(), *next; e; e = next) {
        next = e->next;
        lockRunPosted(e);
    }
}

/* A module is unloaded: calls of modules' code run now, all others wait for their turn. */
static void lockRunModuleCalls(struct module *m) {
    (void)m;
    for (struct postedCall *e = lockTakePosted(), *next; e; e = next) {
        next = e->next;
        if (e->of_module) {
            lockRunPosted(e);
        } else {
            mainThreadPost(e->fn, e->arg);
            zfree(e);
        }
    }
}

/* ---- Turns ---- */

static void (*presence)(bool any);

static void lockReleaseBeforePoll(struct aeEventLoop *el) {
    (void)el;
    moduleLockRelease();
}

static void lockTakeAfterPoll(struct aeEventLoop *el) {
    (void)el;
    moduleLockTake();
}

void moduleOnPresence(void (*fn)(bool any)) {
    presence = fn;
}

static void lockUpdatePresence(void) {
    struct module *m = modules;
    while (m && !m->file) m = m->next; /* modules without a file have no threads */
    aeSetAroundPoll(server_el, m ? lockReleaseBeforePoll : NULL, m ? lockTakeAfterPoll : NULL);
    if (presence) presence(m != NULL);
}

static bool lockLoaded(struct module *m) {
    (void)m;
    lockUpdatePresence();
    return true;
}

static void lockUnloaded(struct module *m) {
    lockRunModuleCalls(m);
    lockUpdatePresence();
}

void lockPartInit(void) {
    main_thread = pthread_self();
    moduleLockTry();
    scriptServeOthers = moduleYieldToOthers;
    moduleOnLoaded(lockLoaded);
    moduleOnUnload(lockUnloaded);
}
