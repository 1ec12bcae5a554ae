/* SPDX-License-Identifier: BSD-3-Clause */
/* io_thread.c - see io_thread.h.
 *
 *     turn of an I/O thread:   take the messages ──▶ handlers
 *                              publish the messages of this turn, wake the main thread
 *                              a piece of long work, if there is any
 *                              poll (sleep when there is nothing) ──▶ handlers of sockets
 *
 * Messages are published once a turn, or when a batch has come together. Waking a main thread that
 * sleeps costs both of them more than a request does, so with few messages the thread first checks
 * whether its sockets have more. */
#define _GNU_SOURCE
#include "net/io_thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/cpulist.h"
#include "base/thread.h"
#include "base/zmalloc.h"
#include "net/connection.h"

#define QUEUE_SIZE    (4 * 1024)
#define RECEIVE_BATCH 32 /* messages that are prefetched together */
#define WAKE_BATCH    32 /* messages for which a main thread that sleeps is woken in the middle of a turn */
#define UNSENT_FIRST  64
#define LOOP_SIZE     1024 /* initial number of fds */

/* Messages that make a thread end, or stand still; handlers do not get them. */
#define MESSAGE_END  UINT32_MAX
#define MESSAGE_HOLD (UINT32_MAX - 1)

struct ioThread {
    pthread_t thread;
    int number;
    const char *cpulist;
    struct aeEventLoop *loop;
    void *state;
    clockid_t cpu_clock;

    /* Used by the thread only. */
    struct ioMessage *unsent; /* messages for which to_main had no space, in order */
    size_t unsent_count, unsent_cap;
    bool owes_wake;            /* the main thread slept when a message was published */
    unsigned posted;           /* messages since the main thread was last known to be awake */
    unsigned posted_last_turn; /* `posted` when the last turn ended */

    struct ioQueue to_thread, to_main;
    /* set by the thread; a sender clears it and wakes the thread */
    _Alignas(IO_QUEUE_LINE) _Atomic bool sleeps;
    _Atomic bool ended, held;
    _Atomic int tid;
};

static struct aeEventLoop *main_loop;
static const struct ioThreadHandlers *handlers;
static struct ioThread *threads[IO_THREADS_MAX]; /* used by the main thread only */
static int thread_count;
/* held by the main thread while threads stand still */
static pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(IO_QUEUE_LINE) _Atomic bool main_sleeps;

/* ---- The I/O thread ---- */

static __thread struct ioThread *self;

static void ioThreadWakeIfAsleep(_Atomic bool *sleeps, struct aeEventLoop *loop) {
    if (atomic_load(sleeps) && atomic_exchange(sleeps, false)) aeWakeup(loop);
}

/* Publishes all messages for which there is space. */
static void ioThreadPublish(struct ioThread *t) {
    size_t sent = 0;
    while (sent < t->unsent_count && ioQueuePut(&t->to_main, t->unsent[sent])) sent++;
    for (size_t i = sent; sent && i < t->unsent_count; i++) t->unsent[i - sent] = t->unsent[i];
    t->unsent_count -= sent;
    if (!ioQueuePublish(&t->to_main)) return;
    t->owes_wake = atomic_load(&main_sleeps);
    if (!t->owes_wake) t->posted = 0;
}

static void ioThreadWakeMain(struct ioThread *t) {
    if (t->owes_wake) ioThreadWakeIfAsleep(&main_sleeps, main_loop);
    t->owes_wake = false;
    t->posted = 0;
}

static void ioThreadKeepUnsent(struct ioThread *t, struct ioMessage m) {
    if (t->unsent_count == t->unsent_cap) {
        t->unsent_cap = t->unsent_cap ? 2 * t->unsent_cap : UNSENT_FIRST;
        t->unsent = zrealloc(t->unsent, t->unsent_cap * sizeof *t->unsent);
    }
    t->unsent[t->unsent_count++] = m;
}

void ioThreadPost(struct ioThread *t, struct ioMessage m) {
    debugAssert(t == self);
    if (t->unsent_count || !ioQueuePut(&t->to_main, m)) ioThreadKeepUnsent(t, m);
    if (++t->posted < WAKE_BATCH) return;
    ioThreadPublish(t);
    ioThreadWakeMain(t);
}

static void ioThreadStandStill(struct ioThread *t) {
    atomic_store_explicit(&t->held, true, memory_order_release);
    pthread_mutex_lock(&hold);
    pthread_mutex_unlock(&hold);
    atomic_store_explicit(&t->held, false, memory_order_release);
}

static void ioThreadHandleMessages(struct ioThread *t) {
    struct ioMessage m;
    while (ioQueueTake(&t->to_thread, &m)) {
        ioQueueRelease(&t->to_thread); /* the main thread may be waiting for space */
        if (m.what == MESSAGE_END)
            aeStop(t->loop);
        else if (m.what == MESSAGE_HOLD)
            ioThreadStandStill(t);
        else
            handlers->to_thread(t, &m);
    }
}

/* With unsent messages the thread polls without waiting: the main thread is emptying a full queue. */
static void ioThreadBeforeSleep(struct aeEventLoop *el) {
    struct ioThread *t = self;
    connServePending(el);
    ioThreadHandleMessages(t);
    bool long_work = handlers->turn(t);
    ioThreadPublish(t);
    /* The main thread is not to wait for the long work, nor if this turn added no message. */
    if (long_work || t->posted == t->posted_last_turn) ioThreadWakeMain(t);
    t->posted_last_turn = t->posted;
    if (long_work) handlers->long_work(t);
    atomic_store(&t->sleeps, true);
    aeSetDontWait(el, long_work || t->owes_wake || t->unsent_count || !ioQueueEmpty(&t->to_thread) ||
                          connHasPending(el));
}

static void ioThreadAfterSleep(struct aeEventLoop *el) {
    (void)el;
    atomic_store_explicit(&self->sleeps, false, memory_order_relaxed);
}

static void ioThreadSetName(const struct ioThread *t) {
    char name[16];
    snprintf(name, sizeof name, "io_thd_%d", t->number);
    prctl(PR_SET_NAME, name);
}

static void *ioThreadMain(void *arg) {
    struct ioThread *t = self = arg;
    atomic_store_explicit(&t->tid, gettid(), memory_order_relaxed);
    ioThreadSetName(t);
    cpulistApply(t->cpulist);
    zmallocThreadStart();
    aeMain(t->loop);
    handlers->end(t);
    for (ioThreadPublish(t); t->unsent_count; ioThreadPublish(t)) sched_yield();
    zfree(t->unsent);
    zmallocThreadExit();
    atomic_store_explicit(&t->ended, true, memory_order_release);
    return NULL;
}

struct aeEventLoop *ioThreadLoop(const struct ioThread *t) {
    return t->loop;
}

void *ioThreadState(const struct ioThread *t) {
    return t->state;
}

/* ---- The main thread ---- */

void ioThreadsInit(struct aeEventLoop *loop, const struct ioThreadHandlers *message_handlers) {
    main_loop = loop;
    handlers = message_handlers;
}

static void ioThreadFree(struct ioThread *t) {
    handlers->destroy(t->state);
    if (t->loop) aeDelete(t->loop);
    ioQueueFree(&t->to_thread);
    ioQueueFree(&t->to_main);
    zfreeSized(t, sizeof *t);
}

struct ioThread *ioThreadStart(int number, const char *cpulist) {
    serverAssert(thread_count < IO_THREADS_MAX);
    struct ioThread *t = zmallocAligned(IO_QUEUE_LINE, sizeof *t);
    *t = (struct ioThread){.number = number, .cpulist = cpulist};
    ioQueueInit(&t->to_thread, QUEUE_SIZE);
    ioQueueInit(&t->to_main, QUEUE_SIZE);
    t->state = handlers->create(t);
    t->loop = aeCreate(LOOP_SIZE);
    int error = t->loop ? 0 : errno;
    if (!error) {
        aeSetBeforeSleep(t->loop, ioThreadBeforeSleep);
        aeSetAfterSleep(t->loop, ioThreadAfterSleep);
        error = threadCreate(&t->thread, ioThreadMain, t);
    }
    if (error) {
        ioThreadFree(t);
        errno = error;
        return NULL;
    }
    pthread_getcpuclockid(t->thread, &t->cpu_clock);
    threads[thread_count++] = t;
    return t;
}

void ioThreadStop(struct ioThread *t) {
    ioThreadSend(t, (struct ioMessage){.what = MESSAGE_END});
    ioThreadFlush(t);
    while (!atomic_load_explicit(&t->ended, memory_order_acquire)) {
        if (!ioThreadReceive(t)) sched_yield();
    }
    pthread_join(t->thread, NULL);
    while (ioThreadReceive(t)) {
    }
    int at = 0;
    while (threads[at] != t) at++;
    threads[at] = threads[--thread_count];
    ioThreadFree(t);
}

void ioThreadSend(struct ioThread *t, struct ioMessage m) {
    while (!ioQueuePut(&t->to_thread, m)) {
        ioThreadFlush(t);
        sched_yield();
    }
}

void ioThreadFlush(struct ioThread *t) {
    if (ioQueuePublish(&t->to_thread)) ioThreadWakeIfAsleep(&t->sleeps, t->loop);
}

int ioThreadReceive(struct ioThread *t) {
    static bool receiving;
    serverAssert(!receiving); /* otherwise messages would be handled out of order */
    receiving = true;
    int received = 0, n;
    do {
        struct ioMessage batch[RECEIVE_BATCH];
        for (n = 0; n < RECEIVE_BATCH && ioQueueTake(&t->to_main, &batch[n]); n++) {
            __builtin_prefetch((char *)batch[n].port + IO_QUEUE_LINE);
            __builtin_prefetch(batch[n].a);
        }
        ioQueueRelease(&t->to_main);
        for (int i = 0; n > 1 && i < n; i++) handlers->fetch(&batch[i]);
        for (int i = 0; i < n; i++) handlers->to_main(t, &batch[i]);
        received += n;
    } while (n == RECEIVE_BATCH);
    receiving = false;
    return received;
}

void ioThreadAwait(struct ioThread *t) {
    ioThreadFlush(t);
    while (!ioThreadReceive(t)) sched_yield();
}

static void ioThreadAwaitHeld(bool held) {
    for (int i = 0; i < thread_count; i++) {
        while (atomic_load_explicit(&threads[i]->held, memory_order_acquire) != held) sched_yield();
    }
}

void ioThreadsHold(void) {
    pthread_mutex_lock(&hold);
    for (int i = 0; i < thread_count; i++) {
        ioThreadSend(threads[i], (struct ioMessage){.what = MESSAGE_HOLD});
        ioThreadFlush(threads[i]);
    }
    ioThreadAwaitHeld(true);
}

void ioThreadsRelease(void) {
    pthread_mutex_unlock(&hold);
    /* otherwise the next hold could come before a thread has seen the end of this one */
    ioThreadAwaitHeld(false);
}

bool ioMainSleeps(void) {
    if (!thread_count) return true;
    atomic_store(&main_sleeps, true);
    for (int i = 0; i < thread_count; i++) {
        if (!ioQueueEmpty(&threads[i]->to_main)) return false;
    }
    return true;
}

void ioMainWakes(void) {
    atomic_store_explicit(&main_sleeps, false, memory_order_relaxed);
}

size_t ioThreadMemory(const struct ioThread *t) {
    return sizeof *t + 2 * QUEUE_SIZE * sizeof(struct ioMessage);
}

int ioThreadNumber(const struct ioThread *t) {
    return t->number;
}

int ioThreadTid(const struct ioThread *t) {
    return atomic_load_explicit(&t->tid, memory_order_relaxed);
}

size_t ioThreadCountToMain(struct ioThread *t) {
    return ioQueueWaiting(&t->to_main);
}

size_t ioThreadCountToThread(struct ioThread *t) {
    return ioQueueWaiting(&t->to_thread);
}

uint64_t ioThreadCpuNs(const struct ioThread *t) {
    return cpuTimeNs(t->cpu_clock);
}
