/* SPDX-License-Identifier: BSD-3-Clause */
/* io_thread.c - see io_thread.h.
 *
 *     turn of an I/O thread:   take the messages ──▶ handlers
 *                              publish what has been told, wake the main thread
 *                              poll (sleep when there is nothing) ──▶ handlers of sockets
 *
 * Published is once a turn, or when a batch has come together. To wake a main thread that sleeps costs both
 * of them more than a request does, so for few messages the thread first looks whether its sockets have more.
 */
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
#define RECEIVE_BATCH 32 /* messages that are fetched together */
#define WAKE_BATCH    32 /* messages for which a main thread that sleeps is woken in the middle of a turn */
#define UNSAID_FIRST  64
#define LOOP_SIZE     1024 /* fds to begin with */

/* What a thread is told when it is to end, or to stand still; handlers know no such messages. */
#define MESSAGE_END  UINT32_MAX
#define MESSAGE_HOLD (UINT32_MAX - 1)

struct ioThread {
    pthread_t thread;
    int number;
    const char *cpulist;
    struct aeEventLoop *loop;
    void *state;
    clockid_t cpu_clock;

    /* Of the thread. */
    struct ioMessage *unsaid; /* what to_main had no room for, in order */
    size_t unsaid_count, unsaid_cap;
    bool owes_wake;          /* the main thread slept when something was said to it */
    unsigned told;           /* messages since it was last known to be awake */
    unsigned told_last_turn; /* the same, when the last turn ended */

    struct ioQueue to_thread, to_main;
    _Alignas(IO_QUEUE_LINE) _Atomic bool sleeps; /* the thread says so, others wake it */
    _Atomic bool ended, held;
    _Atomic int tid;
};

static struct aeEventLoop *main_loop;
static const struct ioThreadHandlers *handlers;
static struct ioThread *threads[IO_THREADS_MAX]; /* of the main thread */
static int thread_count;
static pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER; /* the main thread's while threads stand still */
static _Alignas(IO_QUEUE_LINE) _Atomic bool main_sleeps;

/* ---- The I/O thread ---- */

static __thread struct ioThread *self;

static void ioThreadWakeIfAsleep(_Atomic bool *sleeps, struct aeEventLoop *loop) {
    if (atomic_load(sleeps) && atomic_exchange(sleeps, false)) aeWakeup(loop);
}

/* Says aloud what has been told, as far as there is room. */
static void ioThreadSpeak(struct ioThread *t) {
    size_t said = 0;
    while (said < t->unsaid_count && ioQueuePut(&t->to_main, t->unsaid[said])) said++;
    for (size_t i = said; said && i < t->unsaid_count; i++) t->unsaid[i - said] = t->unsaid[i];
    t->unsaid_count -= said;
    if (!ioQueuePublish(&t->to_main)) return;
    t->owes_wake = atomic_load(&main_sleeps);
    if (!t->owes_wake) t->told = 0;
}

static void ioThreadWakeMain(struct ioThread *t) {
    if (t->owes_wake) ioThreadWakeIfAsleep(&main_sleeps, main_loop);
    t->owes_wake = false;
    t->told = 0;
}

static void ioThreadKeepUnsaid(struct ioThread *t, struct ioMessage m) {
    if (t->unsaid_count == t->unsaid_cap) {
        t->unsaid_cap = t->unsaid_cap ? 2 * t->unsaid_cap : UNSAID_FIRST;
        t->unsaid = zrealloc(t->unsaid, t->unsaid_cap * sizeof *t->unsaid);
    }
    t->unsaid[t->unsaid_count++] = m;
}

void ioThreadPost(struct ioThread *t, struct ioMessage m) {
    debugAssert(t == self);
    if (t->unsaid_count || !ioQueuePut(&t->to_main, m)) ioThreadKeepUnsaid(t, m);
    if (++t->told < WAKE_BATCH) return;
    ioThreadSpeak(t);
    ioThreadWakeMain(t);
}

static void ioThreadStandStill(struct ioThread *t) {
    atomic_store_explicit(&t->held, true, memory_order_release);
    pthread_mutex_lock(&hold);
    pthread_mutex_unlock(&hold);
    atomic_store_explicit(&t->held, false, memory_order_release);
}

static void ioThreadListen(struct ioThread *t) {
    struct ioMessage m;
    while (ioQueueTake(&t->to_thread, &m)) {
        ioQueueRelease(&t->to_thread); /* the main thread may be waiting for room */
        if (m.what == MESSAGE_END)
            aeStop(t->loop);
        else if (m.what == MESSAGE_HOLD)
            ioThreadStandStill(t);
        else
            handlers->to_thread(t, &m);
    }
}

/* With something unsaid the thread comes back soon: the main thread is taking from a full queue. */
static void ioThreadBeforeSleep(struct aeEventLoop *el) {
    struct ioThread *t = self;
    connServePending(el);
    ioThreadListen(t);
    handlers->turn(t);
    ioThreadSpeak(t);
    if (t->told == t->told_last_turn) ioThreadWakeMain(t); /* nothing more has come */
    t->told_last_turn = t->told;
    atomic_store(&t->sleeps, true);
    aeSetDontWait(el, t->owes_wake || t->unsaid_count || !ioQueueEmpty(&t->to_thread) || connHasPending(el));
}

static void ioThreadAfterSleep(struct aeEventLoop *el) {
    (void)el;
    atomic_store_explicit(&self->sleeps, false, memory_order_relaxed);
}

static void ioThreadNameThread(const struct ioThread *t) {
    char name[16];
    snprintf(name, sizeof name, "io_thd_%d", t->number);
    prctl(PR_SET_NAME, name);
}

static void *ioThreadMain(void *arg) {
    struct ioThread *t = self = arg;
    atomic_store_explicit(&t->tid, gettid(), memory_order_relaxed);
    ioThreadNameThread(t);
    cpulistApply(t->cpulist);
    zmallocThreadStart();
    t->state = handlers->begin(t);
    aeMain(t->loop);
    handlers->end(t);
    for (ioThreadSpeak(t); t->unsaid_count; ioThreadSpeak(t)) sched_yield();
    zfree(t->unsaid);
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

void ioThreadsInit(struct aeEventLoop *loop, const struct ioThreadHandlers *of_messages) {
    main_loop = loop;
    handlers = of_messages;
}

static void ioThreadFreeThread(struct ioThread *t) {
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
    t->loop = aeCreate(LOOP_SIZE);
    int error = t->loop ? 0 : errno;
    if (!error) {
        aeSetBeforeSleep(t->loop, ioThreadBeforeSleep);
        aeSetAfterSleep(t->loop, ioThreadAfterSleep);
        error = threadCreate(&t->thread, ioThreadMain, t);
    }
    if (error) {
        ioThreadFreeThread(t);
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
    ioThreadFreeThread(t);
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
    static bool hearing;
    serverAssert(!hearing); /* messages would be heard out of order */
    hearing = true;
    int heard = 0, n;
    do {
        struct ioMessage batch[RECEIVE_BATCH];
        for (n = 0; n < RECEIVE_BATCH && ioQueueTake(&t->to_main, &batch[n]); n++) {
            __builtin_prefetch((char *)batch[n].port + IO_QUEUE_LINE);
            __builtin_prefetch(batch[n].a);
        }
        ioQueueRelease(&t->to_main);
        for (int i = 0; n > 1 && i < n; i++) handlers->fetch(&batch[i]);
        for (int i = 0; i < n; i++) handlers->to_main(t, &batch[i]);
        heard += n;
    } while (n == RECEIVE_BATCH);
    hearing = false;
    return heard;
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
    ioThreadAwaitHeld(false); /* or the next hold could come before a thread has seen the end of this one */
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

size_t ioThreadUnheard(struct ioThread *t) {
    return ioQueueWaiting(&t->to_main);
}

size_t ioThreadUnread(struct ioThread *t) {
    return ioQueueWaiting(&t->to_thread);
}

uint64_t ioThreadCpuNs(const struct ioThread *t) {
    return cpuTimeNs(t->cpu_clock);
}
