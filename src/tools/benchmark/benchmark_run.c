/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_run.c - the load: threads, each with an event loop and its share of the clients.
 *
 * A client sends a batch of P commands with one write; when P replies have arrived, it records the
 * latency and sends the next batch. To leave the machine to the server, the client side does little:
 *
 *   - the request buffer belongs to the thread and stays in the nearest cache; only digits change in it.
 * A
 *     batch is written with one call; the rare remainder that the socket does not take is copied;
 *   - replies are counted, not parsed (benchmark_scan.c), in one input buffer per thread;
 *   - one read, one write and one look at the clock per batch;
 *   - threads share one counter of commands still to be sent, and touch it once per batch.
 *
 * With --rps a client that has its replies waits until the next batch is due (see below).
 *
 * All clients are connected before the clock starts; it stops with the last reply. Meanwhile the main
 * thread only watches the clock: it ends the warm-up and runs of fixed duration, and shows the progress. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "net/ae.h"
#include "net/connection.h"
#include "tools/benchmark/benchmark.h"
#include "tools/benchmark/benchmark_scan.h"

#define INPUT_SIZE         (256 * 1024)
#define SPARE_FDS          64 /* in addition to those of clients and threads */
#define THREAD_FDS         3  /* two of the event loop, one of the timer */
#define PROGRESS_MS        250
#define PACE_MAX_US        100000
#define SERIES_WIDTH_US    20000 /* initial width */
#define SHOWN_ERROR_GAP_US 1000000
#define TOPOLOGY_PAUSE_US  20000

struct benchRun { /* one call of benchRun */
    const struct benchOptions *options;
    const struct benchRequest *request;
    pthread_barrier_t start;
    sem_t finished;
    _Alignas(64) _Atomic int64_t to_send;
    _Alignas(64) atomic_bool stop;
    atomic_bool measuring;                  /* the warm-up is over */
    _Atomic int64_t counters[BENCH_SHARED]; /* for --sequential */
    _Atomic int64_t batches_taken;          /* --rps: number of batches that were due and have been sent */
    int64_t paced_from_us;                  /* --rps: when the first batch was due */
    const struct benchServer *server;
    _Atomic int64_t started_us; /* start of the measurement, by the main thread's clock */
    bool warmed_up;
    pthread_mutex_t failure_lock;
    sds failure;
    bool aborted;
};

struct benchClient {
    struct worker *worker;
    struct connection *conn;              /* NULL if not connected */
    int number;                           /* index among all clients */
    const struct benchTopology *topology; /* --cluster: the topology that this client uses */
    const struct benchNode *node;         /* the client's node in `topology` */
    int *sent;                            /* mix: number of commands of each part in the batch */
    int batch;                            /* commands in the current batch: P times those of the request */
    int64_t missing;                      /* replies to the batch that have not arrived */
    int64_t sent_us;                      /* when the batch was sent; with --rps, when it was due */
    struct benchClient *next_idle;        /* --rps: next client that waits for a batch to be due */
    bool done;
    bool measured; /* the batch was sent after the warm-up */
    sds unsent;    /* bytes that the socket did not take; nearly always NULL */
    size_t unsent_pos;
    struct replyScan scan;
};

struct worker {
    struct benchRun *run;
    struct aeEventLoop *el;
    pthread_t thread;
    int index;
    struct benchClient *clients;
    int client_room, client_count, active;
    struct benchClient *idle, **last_idle; /* --rps: idle clients, the longest idle first */
    int timer;                             /* timer descriptor for the next batch; -1: none */
    int64_t timer_due_us;                  /* when the timer fires; 0: it is not set */
    sds requests;                          /* P commands */
    struct benchNumbers numbers;
    struct latencies *latency;
    struct latencies **parts;            /* latencies of each part of a mix */
    struct series *series;               /* NULL without --svg */
    _Atomic int64_t replies, latency_us; /* written by the worker, read for the progress line */
    int64_t error_replies, error_shown_us, started_us, ended_us;
    char input[INPUT_SIZE];
};

static void benchRunFail(struct benchRun *run, bool abort, const char *why) {
    pthread_mutex_lock(&run->failure_lock);
    if (run->failure == NULL) run->failure = sdsnew(why);
    if (abort) run->aborted = true;
    pthread_mutex_unlock(&run->failure_lock);
    if (abort) atomic_store(&run->stop, true);
}

static void benchRunClientDone(struct benchClient *c) {
    struct worker *w = c->worker;
    aeDeleteFileEvent(w->el, c->conn->fd, AE_READABLE | AE_WRITABLE);
    c->done = true;
    if (--w->active == 0) aeStop(w->el);
}

/* Records a failure; in a cluster its text names the node. */
static void benchRunFailAt(struct benchClient *c, bool abort, const char *why) {
    const struct benchServer *at = c->node ? &c->node->server : NULL;
    if (!at) return benchRunFail(c->worker->run, abort, why);
    sds text = sdscatprintf(sdsempty(), "%s:%d: %s", at->host, at->port, why);
    benchRunFail(c->worker->run, abort, text);
    sdsfree(text);
}

static void benchRunClientFail(struct benchClient *c, const char *why) {
    benchRunFailAt(c, true, why);
    benchRunClientDone(c);
}

static void benchRunWriteUnsent(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)mask;
    struct benchClient *c = data;
    struct iovec rest = {c->unsent + c->unsent_pos, sdslen(c->unsent) - c->unsent_pos};
    ssize_t n = connWritev(c->conn, &rest, 1);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return benchRunClientFail(c, strerror(errno));
    if (n > 0) c->unsent_pos += (size_t)n;
    if (c->unsent_pos < sdslen(c->unsent)) return;
    sdsfree(c->unsent);
    c->unsent = NULL;
    aeDeleteFileEvent(el, fd, AE_WRITABLE);
}

/* Writes the batch; the rest that the socket does not take goes to c->unsent. */
static bool benchRunWriteBatch(struct benchClient *c, size_t len) {
    struct worker *w = c->worker;
    ssize_t n = connWritev(c->conn, &(struct iovec){w->requests, len}, 1);
    if (n == (ssize_t)len) return true;
    if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (n < 0) n = 0;
    c->unsent = sdsnewlen(w->requests + n, len - (size_t)n);
    c->unsent_pos = 0;
    return aeCreateFileEvent(w->el, c->conn->fd, AE_WRITABLE, benchRunWriteUnsent, c) == 0;
}

static bool benchRunClientOpen(struct benchClient *c);

static void benchRunClientClose(struct benchClient *c) {
    aeDeleteFileEvent(c->worker->el, c->conn->fd, AE_READABLE);
    connClose(c->conn);
    c->conn = NULL;
}

/* Moves the client to its node of the new topology. Returns false when it cannot connect. */
static bool benchRunMoveToNode(struct benchClient *c, const struct benchTopology *now) {
    const struct benchServer *old = &c->node->server, *fresh = &now->nodes[c->number % now->count].server;
    bool same =
        old->port == fresh->port && strcmp(old->host, fresh->host) == 0 && old->replica == fresh->replica;
    if (same) {
        c->topology = now;
        c->node = &now->nodes[c->number % now->count];
        return true;
    }
    benchRunClientClose(c);
    return benchRunClientOpen(c);
}

/* Makes sure that the client has a node; returns false when the client has to stop. */
static bool benchRunFindNode(struct benchClient *c) {
    struct worker *w = c->worker;
    const struct benchTopology *now = benchClusterNow(w->run->options->nodes);
    if (now == c->topology || benchRunMoveToNode(c, now)) return true;
    c->done = true;
    if (--w->active == 0) aeStop(w->el);
    return false;
}

/* Puts a batch into the worker's buffer and returns its length. */
static size_t benchRunFillRequests(struct benchClient *c, int copies) {
    struct worker *w = c->worker;
    const struct benchRequest *r = w->run->request;
    const struct benchCluster *nodes = w->run->options->nodes;
    if (r->part_count) return benchMixFill(r, w->requests, copies, &w->numbers, nodes, c->node, c->sent);
    if (r->slot_count) benchRequestPatch(r, w->requests, copies, &w->numbers);
    if (r->tag_count) benchRequestTag(r, w->requests, copies, nodes, c->node);
    return sdslen(r->one) * (size_t)copies;
}

/* Sends a batch; `due_us` is the time from which its latency counts. */
static void benchRunSendBatch(struct benchClient *c, int64_t due_us) {
    struct worker *w = c->worker;
    struct benchRun *run = w->run;
    int each = run->request->commands, copies = run->options->pipeline;
    c->measured = atomic_load_explicit(&run->measuring, memory_order_relaxed);
    int64_t left = (int64_t)copies * each; /* the main thread ends a warm-up */
    if (c->measured) left = atomic_fetch_sub_explicit(&run->to_send, left, memory_order_relaxed);
    if (left <= 0 || atomic_load_explicit(&run->stop, memory_order_relaxed)) return benchRunClientDone(c);
    if (run->options->cluster && !benchRunFindNode(c)) return;
    if (left < (int64_t)copies * each) copies = (int)((left + each - 1) / each);
    c->batch = copies * each;
    c->missing = c->batch;
    c->sent_us = due_us;
    if (!benchRunWriteBatch(c, benchRunFillRequests(c, copies))) benchRunClientFail(c, strerror(errno));
}

/* ---- --rps: batches are due at fixed times, over all threads, however slow the server is ----
 *
 * A batch that is due while no client is idle is sent when a client becomes idle; the wait counts as latency.
 * So a server that stalls is charged for every batch that was due meanwhile, not for one batch per client. */

static int64_t benchRunDueUs(const struct benchRun *run, int64_t batch) {
    int64_t commands = batch * run->options->pipeline * run->request->commands;
    return run->paced_from_us + commands * 1000000 / run->options->rps;
}

/* Takes the next batch if it is due. Always sets *due_us to the time when it is due. */
static bool benchRunTakeDue(struct benchRun *run, int64_t now_us, int64_t *due_us) {
    int64_t batch = atomic_load(&run->batches_taken);
    do {
        *due_us = benchRunDueUs(run, batch);
        if (*due_us > now_us) return false;
    } while (!atomic_compare_exchange_weak(&run->batches_taken, &batch, batch + 1));
    return true;
}

/* Sets the timer for due_us, or earlier to notice the end of the run. */
static void benchRunSetTimer(struct worker *w, int64_t due_us, int64_t now_us) {
    if (w->timer_due_us == due_us) return;
    int64_t wait_us = due_us - now_us < PACE_MAX_US ? due_us - now_us : PACE_MAX_US;
    struct itimerspec at = {.it_value = {.tv_sec = wait_us / 1000000, .tv_nsec = wait_us % 1000000 * 1000}};
    timerfd_settime(w->timer, 0, &at, NULL);
    w->timer_due_us = due_us;
}

static struct benchClient *benchRunPopIdle(struct worker *w) {
    struct benchClient *c = w->idle;
    w->idle = c->next_idle;
    if (w->idle == NULL) w->last_idle = &w->idle;
    return c;
}

static void benchRunSendDueBatches(struct worker *w) {
    struct benchRun *run = w->run;
    while (w->idle) {
        int64_t due_us, now_us = monotonicUs();
        if (w->idle->done) { /* the server closed its connection */
            benchRunPopIdle(w);
            continue;
        }
        if (atomic_load(&run->stop) || atomic_load(&run->to_send) <= 0) {
            benchRunClientDone(benchRunPopIdle(w));
            continue;
        }
        if (!benchRunTakeDue(run, now_us, &due_us)) return benchRunSetTimer(w, due_us, now_us);
        benchRunSendBatch(benchRunPopIdle(w), due_us);
    }
}

static void benchRunOnTimer(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)el, (void)mask;
    struct worker *w = data;
    uint64_t times;
    if (read(fd, &times, sizeof(times)) < 0 && errno != EAGAIN) return;
    w->timer_due_us = 0;
    benchRunSendDueBatches(w);
}

static bool benchRunTimerInit(struct worker *w) {
    w->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    return w->timer >= 0 && aeCreateFileEvent(w->el, w->timer, AE_READABLE, benchRunOnTimer, w) == 0;
}

/* Sends the next batch of a client without a current one, or makes the client idle until a batch is due. */
static void benchRunSendNext(struct benchClient *c, int64_t now_us) {
    struct worker *w = c->worker;
    if (w->run->options->rps == 0) return benchRunSendBatch(c, now_us);
    c->next_idle = NULL;
    *w->last_idle = c;
    w->last_idle = &c->next_idle;
    benchRunSendDueBatches(w);
}

/* Returns whether the error says that slots or nodes have moved; the next commands go to the new nodes. */
static bool benchRunIsTopologyError(const struct benchClient *c) {
    const char *error = c->scan.error;
    bool moves = c->worker->run->options->cluster && c->worker->run->request->tag_count;
    return moves && (strncmp(error, "MOVED ", 6) == 0 || strncmp(error, "ASK ", 4) == 0 ||
                     strncmp(error, "CLUSTERDOWN ", 12) == 0 || strncmp(error, "TRYAGAIN ", 9) == 0);
}

static void benchRunHandleTopologyError(struct benchClient *c, int64_t now_us) {
    struct worker *w = c->worker;
    c->scan.count = 0;
    if (now_us - w->error_shown_us >= SHOWN_ERROR_GAP_US) {
        w->error_shown_us = now_us;
        fprintf(stderr, "Error from server %s:%d: %s.\n", c->node->server.host, c->node->server.port,
                c->scan.error);
    }
    benchClusterChanged(w->run->options, c->topology);
    usleep(TOPOLOGY_PAUSE_US); /* asking at once would only slow the nodes down */
}

/* Handles error replies: with -e they are shown, one per second and thread, and the run goes on; without
 * it the first one ends the run. */
static void benchRunHandleErrors(struct benchClient *c, int64_t now_us) {
    struct worker *w = c->worker;
    if (benchRunIsTopologyError(c)) return benchRunHandleTopologyError(c, now_us);
    w->error_replies += c->scan.count;
    c->scan.count = 0;
    benchRunFailAt(c, !w->run->options->show_errors, c->scan.error);
    if (!w->run->options->show_errors || now_us - w->error_shown_us < SHOWN_ERROR_GAP_US) return;
    w->error_shown_us = now_us;
    fprintf(stderr, "Error from server: %s\n", c->scan.error);
}

static void benchRunAddTo(_Atomic int64_t *sum, int64_t n) {
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + n, memory_order_relaxed);
}

static void benchRunRecord(struct benchClient *c, int64_t now_us) {
    struct worker *w = c->worker;
    int64_t latency_us = now_us - c->sent_us;
    latenciesRecord(w->latency, latency_us, c->batch);
    for (int i = 0; i < w->run->request->part_count; i++) {
        if (c->sent[i]) latenciesRecord(w->parts[i], latency_us, c->sent[i]);
    }
    if (w->series) seriesRecord(w->series, now_us - atomic_load(&w->run->started_us), latency_us, c->batch);
    benchRunAddTo(&w->replies, c->batch);
    benchRunAddTo(&w->latency_us, latency_us * c->batch);
}

static void benchRunReadReplies(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)fd, (void)mask;
    struct benchClient *c = data;
    struct worker *w = c->worker;
    do {
        ssize_t n = connRead(c->conn, w->input, sizeof(w->input));
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) return benchRunClientFail(c, n == 0 ? "Server closed the connection" : strerror(errno));
        c->missing -= replyScanFeed(&c->scan, w->input, (size_t)n);
    } while (c->missing > 0 && !c->scan.broken && tlsHasInput(c->conn));
    if (c->scan.broken || c->missing < 0) return benchRunClientFail(c, "Protocol error in the replies");
    if (c->scan.count) benchRunHandleErrors(c, monotonicUs());
    if (c->missing > 0) return;
    int64_t now_us = monotonicUs();
    if (c->measured) benchRunRecord(c, now_us);
    if (w->run->options->keepalive) return benchRunSendNext(c, now_us);
    benchRunClientClose(c);
    if (benchRunClientOpen(c)) return benchRunSendNext(c, monotonicUs());
    if (--w->active == 0) aeStop(el);
}

/* Connects the client; a failure ends the run. */
static bool benchRunClientOpen(struct benchClient *c) {
    struct worker *w = c->worker;
    const struct benchServer *server = w->run->server;
    sds err = NULL;
    if (w->run->options->cluster) {
        c->topology = benchClusterNow(w->run->options->nodes);
        c->node = &c->topology->nodes[c->number % c->topology->count];
        server = &c->node->server;
    }
    struct connection *conn = benchConnect(w->run->options, server, &err);
    if (conn == NULL) {
        benchRunFail(w->run, true, err);
        sdsfree(err);
        return false;
    }
    replyScanInit(&c->scan);
    if (aeCreateFileEvent(w->el, conn->fd, AE_READABLE, benchRunReadReplies, c) == 0) {
        c->conn = conn;
        return true;
    }
    connClose(conn);
    benchRunFail(w->run, true, "Too many clients for the limit on open files");
    return false;
}

static void *benchRunWorkerMain(void *arg) {
    struct worker *w = arg;
    zmallocThreadStart();
    randomSeed(w->run->options->seed + (uint64_t)w->index);
    pthread_barrier_wait(&w->run->start);
    w->started_us = monotonicUs();
    for (int i = 0; i < w->client_count; i++) benchRunSendNext(&w->clients[i], w->started_us);
    if (w->active) aeMain(w->el);
    w->ended_us = monotonicUs();
    sem_post(&w->run->finished);
    zmallocThreadExit();
    return NULL;
}

static struct latencies **benchRunPartsCreate(int count) {
    struct latencies **parts = zcalloc((size_t)count + 1, sizeof(parts[0]));
    for (int i = 0; i < count; i++) parts[i] = latenciesCreate();
    return parts;
}

static void benchRunPartsFree(struct latencies **parts, int count) {
    for (int i = 0; parts && i < count; i++) latenciesFree(parts[i]);
    zfree(parts);
}

static bool benchRunWorkerInit(struct worker *w, struct benchRun *run, int index, int first, int clients) {
    const struct benchOptions *o = run->options;
    w->run = run;
    w->index = index;
    w->el = aeCreate(o->clients + o->threads * THREAD_FDS + SPARE_FDS);
    w->clients = zcalloc((size_t)clients, sizeof(w->clients[0]));
    w->client_room = clients;
    w->requests = benchRequestRepeat(run->request, o->pipeline);
    w->numbers = (struct benchNumbers){
        .range = o->range, .draw = o->draw, .next = o->sequential ? run->counters : NULL};
    w->numbers.digits = o->range > 0 ? numCountDigits((uint64_t)o->range - 1) : 0;
    w->latency = latenciesCreate();
    w->parts = benchRunPartsCreate(run->request->part_count);
    if (o->svg) w->series = seriesCreate(SERIES_WIDTH_US);
    w->last_idle = &w->idle;
    w->timer = -1;
    if (o->rps && !benchRunTimerInit(w)) {
        benchRunFail(run, true, "No timer for --rps");
        return false;
    }
    for (int i = 0; i < clients; i++) {
        w->clients[i].worker = w;
        w->clients[i].sent = zcalloc((size_t)run->request->part_count + 1, sizeof(int));
        w->clients[i].number = first + i; /* gives each thread clients of every node */
        if (!benchRunClientOpen(&w->clients[i])) return false;
        w->client_count++;
    }
    w->active = w->client_count;
    return true;
}

static void benchRunWorkerFree(struct worker *w) {
    for (int i = 0; i < w->client_count; i++) {
        if (w->clients[i].conn) connClose(w->clients[i].conn);
        sdsfree(w->clients[i].unsent);
    }
    for (int i = 0; w->clients && i < w->client_room; i++) zfree(w->clients[i].sent);
    benchRunPartsFree(w->parts, w->run ? w->run->request->part_count : 0);
    seriesFree(w->series);
    if (w->el) aeDelete(w->el);
    if (w->timer > 0) close(w->timer); /* 0: the worker was not initialized */
    zfree(w->clients);
    sdsfree(w->requests);
    if (w->latency) latenciesFree(w->latency);
}

static struct timespec benchRunAfterUs(int64_t us) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += (us % 1000000) * 1000;
    t.tv_sec += us / 1000000 + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static struct benchProgress benchRunProgressOf(const struct benchRun *run, struct worker *workers) {
    struct benchProgress p = {.seconds = (double)(monotonicUs() - atomic_load(&run->started_us)) / 1e6};
    for (int i = 0; i < run->options->threads; i++) {
        p.replies += atomic_load(&workers[i].replies);
        p.latency_us += atomic_load(&workers[i].latency_us);
    }
    const struct benchOptions *o = run->options;
    p.share = o->duration_s ? p.seconds / o->duration_s : (double)p.replies / (double)o->requests;
    if (!atomic_load(&run->measuring)) p.share = -1;
    return p;
}

/* Begins or ends whatever is due; returns when to look at the clock again. */
static int64_t benchRunWatchClock(struct benchRun *run) {
    const struct benchOptions *o = run->options;
    int64_t now_us = monotonicUs(), warm_us = (int64_t)o->warmup_s * 1000000;
    int64_t duration_us = (int64_t)o->duration_s * 1000000, next_us = PROGRESS_MS * 1000;
    if (!atomic_load(&run->measuring)) {
        int64_t left_us = run->started_us + warm_us - now_us;
        if (left_us > 0) return left_us < next_us ? left_us : next_us;
        run->started_us = now_us;
        run->warmed_up = true;
        atomic_store(&run->measuring, true);
    }
    if (duration_us == 0) return next_us;
    int64_t left_us = run->started_us + duration_us - now_us;
    if (left_us <= 0) atomic_store(&run->stop, true);
    return left_us > 0 && left_us < next_us ? left_us : next_us;
}

/* Waits until all workers have ended; meanwhile updates the progress line, if it is shown. */
static void benchRunWaitForWorkers(struct benchRun *run, struct worker *workers, const char *title) {
    struct benchProgress before = {0};
    for (int ended = 0; ended < run->options->threads;) {
        struct timespec until = benchRunAfterUs(benchRunWatchClock(run));
        if (sem_timedwait(&run->finished, &until) == 0) {
            ended++;
            continue;
        }
        if (!benchProgressWanted(run->options)) continue;
        struct benchProgress now = benchRunProgressOf(run, workers);
        benchPrintProgress(title, &now, &before);
        before = atomic_load(&run->measuring) ? now : (struct benchProgress){0};
    }
}

static void benchRunCollect(struct benchRun *run, struct benchResult *result, struct worker *workers) {
    int64_t started_us = run->warmed_up ? run->started_us : INT64_MAX, ended_us = 0;
    for (int i = 0; i < run->options->threads; i++) {
        struct worker *w = &workers[i];
        latenciesMerge(result->latency, w->latency);
        for (int part = 0; part < result->part_count; part++)
            latenciesMerge(result->parts[part], w->parts[part]);
        if (result->series) seriesMerge(result->series, w->series);
        result->replies += atomic_load(&w->replies);
        result->error_replies += w->error_replies;
        if (w->started_us < started_us) started_us = w->started_us;
        if (w->ended_us > ended_us) ended_us = w->ended_us;
    }
    result->seconds = ended_us > started_us ? (double)(ended_us - started_us) / 1e6 : 0;
}

static void benchRunThreads(struct benchRun *run, struct worker *workers, const char *title,
                            struct benchResult *result) {
    int threads = run->options->threads;
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&workers[i].thread, NULL, benchRunWorkerMain, &workers[i]) == 0) continue;
        fprintf(stderr, "Could not start a thread\n");
        _exit(1); /* the other threads would wait at the barrier forever */
    }
    run->paced_from_us = monotonicUs();
    atomic_store(&run->started_us, run->paced_from_us);
    pthread_barrier_wait(&run->start);
    benchRunWaitForWorkers(run, workers, title);
    for (int i = 0; i < threads; i++) pthread_join(workers[i].thread, NULL);
    benchRunCollect(run, result, workers);
}

void benchRaiseFileLimit(int clients) {
    rlim_t wanted = (rlim_t)clients + SPARE_FDS;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == -1 || limit.rlim_cur >= wanted) return;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

bool benchRun(const struct benchOptions *o, const struct benchServer *server,
              const struct benchRequest *request, const char *title, struct benchResult *result) {
    struct benchRun run = {.options = o, .request = request, .server = server};
    *result = (struct benchResult){.latency = latenciesCreate(), .part_count = request->part_count};
    result->parts = benchRunPartsCreate(request->part_count);
    if (o->svg) result->series = seriesCreate(SERIES_WIDTH_US);
    benchRaiseFileLimit(o->clients + o->threads * THREAD_FDS);
    atomic_store(&run.to_send, o->duration_s ? INT64_MAX / 2 : o->requests);
    atomic_store(&run.measuring, o->warmup_s == 0);
    pthread_barrier_init(&run.start, NULL, (unsigned)o->threads + 1);
    pthread_mutex_init(&run.failure_lock, NULL);
    sem_init(&run.finished, 0, 0);
    struct worker *workers = zcalloc((size_t)o->threads, sizeof(workers[0]));
    bool ready = true;
    for (int i = 0, first = 0, clients; i < o->threads && ready; i++, first += clients) {
        clients = o->clients / o->threads + (i < o->clients % o->threads);
        ready = benchRunWorkerInit(&workers[i], &run, i, first, clients);
    }
    if (ready) benchRunThreads(&run, workers, title, result);
    for (int i = 0; i < o->threads; i++) benchRunWorkerFree(&workers[i]);
    zfree(workers);
    sem_destroy(&run.finished);
    pthread_mutex_destroy(&run.failure_lock);
    pthread_barrier_destroy(&run.start);
    result->failure = run.failure;
    return !run.aborted;
}

void benchResultFree(struct benchResult *result) {
    latenciesFree(result->latency);
    benchRunPartsFree(result->parts, result->part_count);
    seriesFree(result->series);
    sdsfree(result->failure);
}
