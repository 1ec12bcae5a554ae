/* SPDX-License-Identifier: BSD-3-Clause */
/* background.c - background threads; see background.h.
 *
 *     main thread ── bioSubmit ──▶ ring of jobs ──▶ thread      one of each per kind
 *
 * A thread runs its jobs in the order in which they were submitted. */
#include "registry/background.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/cpulist.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/zmalloc.h"
#include "registry/config.h"

#define BIO_QUEUE_SIZE 4096

struct bioQueue {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    struct {
        bioJob *fn;
        void *arg;
    } ring[BIO_QUEUE_SIZE];
    size_t head, count; /* jobs waiting: ring[head .. head+count) */
    bool busy, stop;
};

static struct bioQueue queues[BIO_KINDS];
static bool bio_running;
static sds bio_cpulist;

static void *bioThread(void *arg) {
    static const char *names[BIO_KINDS] = {"bio_close_file", "bio_aof", "bio_lazy_free"};
    struct bioQueue *q = arg;
    prctl(PR_SET_NAME, names[q - queues]);
    cpulistApply(bio_cpulist);
    zmallocThreadStart();
    pthread_mutex_lock(&q->lock);
    q->busy = false;
    pthread_cond_broadcast(&q->idle);
    for (;;) {
        while (!q->count && !q->stop) pthread_cond_wait(&q->work, &q->lock);
        if (!q->count) break;
        bioJob *fn = q->ring[q->head].fn;
        void *job = q->ring[q->head].arg;
        q->head = (q->head + 1) % BIO_QUEUE_SIZE;
        q->count--;
        q->busy = true;
        pthread_mutex_unlock(&q->lock);
        fn(job);
        pthread_mutex_lock(&q->lock);
        q->busy = false;
        if (!q->count) pthread_cond_broadcast(&q->idle);
    }
    pthread_mutex_unlock(&q->lock);
    zmallocThreadExit();
    return NULL;
}

void bioInit(void) {
    for (int i = 0; i < BIO_KINDS; i++) {
        struct bioQueue *q = &queues[i];
        pthread_mutex_init(&q->lock, NULL);
        pthread_cond_init(&q->work, NULL);
        pthread_cond_init(&q->idle, NULL);
        q->busy = true; /* until the thread has its name and waits for work */
        if (threadCreate(&q->thread, bioThread, q) != 0) {
            serverLog(LL_WARNING, "The background threads could not be started, so the server exits");
            exit(1);
        }
    }
    for (int i = 0; i < BIO_KINDS; i++) bioDrain(i);
    bio_running = true;
}

void bioSubmit(enum bioKind kind, bioJob *job, void *arg) {
    struct bioQueue *q = &queues[kind];
    if (bio_running) {
        pthread_mutex_lock(&q->lock);
        bool room = q->count < BIO_QUEUE_SIZE;
        if (room) {
            size_t at = (q->head + q->count) % BIO_QUEUE_SIZE;
            q->ring[at].fn = job;
            q->ring[at].arg = arg;
            q->count++;
            pthread_cond_signal(&q->work);
        }
        pthread_mutex_unlock(&q->lock);
        if (room) return;
    }
    job(arg);
}

size_t bioPending(enum bioKind kind) {
    struct bioQueue *q = &queues[kind];
    pthread_mutex_lock(&q->lock);
    size_t n = q->count + q->busy;
    pthread_mutex_unlock(&q->lock);
    return n;
}

void bioDrain(enum bioKind kind) {
    struct bioQueue *q = &queues[kind];
    pthread_mutex_lock(&q->lock);
    while (q->count || q->busy) pthread_cond_wait(&q->idle, &q->lock);
    pthread_mutex_unlock(&q->lock);
}

void bioStop(void) {
    if (!bio_running) return;
    bio_running = false;
    for (int i = 0; i < BIO_KINDS; i++) {
        pthread_mutex_lock(&queues[i].lock);
        queues[i].stop = true;
        pthread_cond_signal(&queues[i].work);
        pthread_mutex_unlock(&queues[i].lock);
        pthread_join(queues[i].thread, NULL);
    }
}

void bioRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_STRING("bio-cpulist", "bio_cpulist", CONFIG_EMPTY_IS_NULL, &bio_cpulist, NULL, NULL, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
