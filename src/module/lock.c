/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.c - the lock, and errands for the main thread; see lock.h. */
#include "module/lock.h"

#include <pthread.h>
#include <stddef.h>

#include "base/zmalloc.h"
#include "command/propagate.h"
#include "command/script_running.h"
#include "module/api.h"
#include "module/module.h"
#include "module/parts.h"
#include "net/ae.h"
#include "registry/cron.h"

/* ---- The lock ---- */

/* Tickets: whose number is `serving` has it. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t next_is_served;
    uint64_t next, serving;
} lock = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .next_is_served = PTHREAD_COND_INITIALIZER,
};
static __thread bool mine;
static pthread_t main_thread;

void moduleLockTake(void) {
    pthread_mutex_lock(&lock.mutex);
    uint64_t number = lock.next++;
    while (lock.serving != number) pthread_cond_wait(&lock.next_is_served, &lock.mutex);
    pthread_mutex_unlock(&lock.mutex);
    mine = true;
}

bool moduleLockTry(void) {
    pthread_mutex_lock(&lock.mutex);
    bool free = lock.serving == lock.next;
    if (free) lock.next++;
    pthread_mutex_unlock(&lock.mutex);
    mine |= free;
    return free;
}

void moduleLockGive(void) {
    mine = false;
    pthread_mutex_lock(&lock.mutex);
    lock.serving++;
    pthread_cond_broadcast(&lock.next_is_served);
    pthread_mutex_unlock(&lock.mutex);
}

bool moduleLockIsMine(void) {
    return mine;
}

bool moduleIsMainThread(void) {
    return pthread_equal(pthread_self(), main_thread);
}

void moduleLockLend(void) {
    pthread_mutex_lock(&lock.mutex);
    bool wanted = lock.next > lock.serving + 1;
    pthread_mutex_unlock(&lock.mutex);
    if (!wanted) return;
    moduleLockGive();
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

/* ---- Errands ---- */

struct errand {
    struct errand *next;
    void (*fn)(void *arg);
    void *arg;
    bool of_module;
};
static struct {
    pthread_mutex_t mutex;
    struct errand *first, **end;
} errands = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void lockTell(void (*fn)(void *arg), void *arg, bool of_module) {
    moduleThreadEnters();
    struct errand *e = zmalloc(sizeof *e);
    *e = (struct errand){.fn = fn, .arg = arg, .of_module = of_module};
    pthread_mutex_lock(&errands.mutex);
    bool wake = !errands.first;
    *(errands.first ? errands.end : &errands.first) = e;
    errands.end = &e->next;
    pthread_mutex_unlock(&errands.mutex);
    if (wake && server_el) aeWakeup(server_el);
}

void mainTell(void (*fn)(void *arg), void *arg) {
    lockTell(fn, arg, false);
}

void mainTellOfModule(void (*fn)(void *arg), void *arg) {
    lockTell(fn, arg, true);
}

static struct errand *lockTakeAll(void) {
    pthread_mutex_lock(&errands.mutex);
    struct errand *first = errands.first;
    errands.first = NULL;
    pthread_mutex_unlock(&errands.mutex);
    return first;
}

static void lockRun(struct errand *e) {
    void (*fn)(void *arg) = e->fn;
    void *arg = e->arg;
    zfree(e);
    fn(arg);
}

void moduleTurnEnds(void) {
    for (struct errand *e = lockTakeAll(), *next; e; e = next) {
        next = e->next;
        lockRun(e);
    }
}

/* A module goes: what is code of modules is called now, the rest waits for its turn. */
static void lockRunThoseOfModules(struct module *m) {
    (void)m;
    for (struct errand *e = lockTakeAll(), *next; e; e = next) {
        next = e->next;
        if (e->of_module) {
            lockRun(e);
        } else {
            mainTell(e->fn, e->arg);
            zfree(e);
        }
    }
}

/* ---- Turns ---- */

static void (*presence)(bool any);

static void lockPollBegins(struct aeEventLoop *el) {
    (void)el;
    moduleLockGive();
}

static void lockPollEnds(struct aeEventLoop *el) {
    (void)el;
    moduleLockTake();
}

void moduleOnPresence(void (*fn)(bool any)) {
    presence = fn;
}

static void lockLookWhoIsThere(void) {
    struct module *m = modules;
    while (m && !m->file) m = m->next; /* one that is built in has no threads */
    aeSetAroundPoll(server_el, m ? lockPollBegins : NULL, m ? lockPollEnds : NULL);
    if (presence) presence(m != NULL);
}

static bool lockLoaded(struct module *m) {
    (void)m;
    lockLookWhoIsThere();
    return true;
}

static void lockUnloaded(struct module *m) {
    lockRunThoseOfModules(m);
    lockLookWhoIsThere();
}

void lockPartInit(void) {
    main_thread = pthread_self();
    moduleLockTry();
    scriptServeOthers = moduleLetOthers;
    moduleOnLoaded(lockLoaded);
    moduleOnUnload(lockUnloaded);
}
