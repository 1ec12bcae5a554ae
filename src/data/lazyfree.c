/* lazyfree.c - background threads and what they free.
 *
 * One thread and one bounded ring of jobs per kind. The main thread only unlinks; the thread frees. */
#include "data/lazyfree.h"

#include <pthread.h>
#include <stdlib.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "registry/config.h"
#include "server/cpulist.h"
#include "registry/info.h"
#include "data/type.h"

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

bool lazyfree_lazy_eviction, lazyfree_lazy_expire, lazyfree_lazy_server_del, lazyfree_lazy_user_del,
    lazyfree_lazy_user_flush;

static atomic_size_t pending_objects;
static atomic_ullong freed_objects;

static void *bioThread(void *arg) {
    static const char *names[BIO_KINDS] = {"bio_close_file", "bio_aof", "bio_lazy_free"};
    struct bioQueue *q = arg;
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGUSR2); /* the crash report asks for its stack (server/stack_trace.c) */
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    prctl(PR_SET_NAME, names[q - queues]);
    cpulistApply(CPULIST_BIO);
    zmallocThreadStart();
    pthread_mutex_lock(&q->lock);
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
        if (pthread_create(&q->thread, NULL, bioThread, q) != 0) {
            serverLog(LL_WARNING, "Fatal: Can't initialize Background Jobs.");
            exit(1);
        }
    }
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

/* ---- Lazy free ---- */

static void freedOnThread(size_t objects) {
    atomic_fetch_sub_explicit(&pending_objects, objects, memory_order_relaxed);
    atomic_fetch_add_explicit(&freed_objects, objects, memory_order_relaxed);
}

static void freeObjectJob(void *arg) {
    objectFree(arg);
    freedOnThread(1);
}

static void freeValueJob(void *arg) {
    struct value *v = arg;
    objectTypes[v->type]->free(*v);
    zfree(v);
    freedOnThread(1);
}

void lazyfreeObject(struct object *o, bool async) {
    if (async && objectHasPtr(o) && objectTypeOf(o)->freeEffort(o) > LAZYFREE_THRESHOLD) {
        atomic_fetch_add_explicit(&pending_objects, 1, memory_order_relaxed);
        bioSubmit(BIO_LAZY_FREE, freeObjectJob, o);
    } else {
        objectFree(o);
    }
}

void lazyfreeValue(struct value v, bool async, size_t effort) {
    if (v.embedded) return;
    if (async && effort > LAZYFREE_THRESHOLD) {
        struct value *copy = zmalloc(sizeof *copy);
        *copy = v;
        atomic_fetch_add_explicit(&pending_objects, 1, memory_order_relaxed);
        bioSubmit(BIO_LAZY_FREE, freeValueJob, copy);
    } else {
        objectTypes[v.type]->free(v);
    }
}

struct tables {
    struct hashtable keys, expires;
};

static void freeTablesJob(void *arg) {
    struct tables *t = arg;
    size_t n = hashtableSize(&t->keys);
    hashtableDestroy(&t->expires);
    hashtableDestroy(&t->keys);
    zfree(t);
    freedOnThread(n);
}

void lazyfreeTables(struct hashtable *keys, struct hashtable *expires, bool async) {
    if (!async) {
        hashtableEmpty(expires, NULL);
        hashtableEmpty(keys, NULL);
        return;
    }
    struct tables *t = zmalloc(sizeof *t);
    t->keys = *keys;
    t->expires = *expires;
    hashtableInit(keys, t->keys.type);
    hashtableInit(expires, t->expires.type);
    atomic_fetch_add_explicit(&pending_objects, hashtableSize(&t->keys), memory_order_relaxed);
    bioSubmit(BIO_LAZY_FREE, freeTablesJob, t);
}

size_t lazyfreePendingObjects(void) {
    return atomic_load_explicit(&pending_objects, memory_order_relaxed);
}
uint64_t lazyfreedObjects(void) {
    return atomic_load_explicit(&freed_objects, memory_order_relaxed);
}
void lazyfreeResetStats(void) {
    atomic_store_explicit(&freed_objects, 0, memory_order_relaxed);
}

static sds lazyfreeInfo(sds s) {
    s = infoField(s, "lazyfree_pending_objects:%zu", lazyfreePendingObjects());
    return infoField(s, "lazyfreed_objects:%llu", (unsigned long long)lazyfreedObjects());
}

void lazyfreeInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("lazyfree-lazy-eviction", NULL, CONFIG_MODIFIABLE, &lazyfree_lazy_eviction, true, NULL),
        CONFIG_BOOL("lazyfree-lazy-expire", NULL, CONFIG_MODIFIABLE, &lazyfree_lazy_expire, true, NULL),
        CONFIG_BOOL("lazyfree-lazy-server-del", NULL, CONFIG_MODIFIABLE, &lazyfree_lazy_server_del, true,
                    NULL),
        CONFIG_BOOL("lazyfree-lazy-user-del", NULL, CONFIG_MODIFIABLE, &lazyfree_lazy_user_del, true, NULL),
        CONFIG_BOOL("lazyfree-lazy-user-flush", NULL, CONFIG_MODIFIABLE, &lazyfree_lazy_user_flush, true,
                    NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    configOnResetStat(lazyfreeResetStats);
    infoRegister("memory", lazyfreeInfo);
}
