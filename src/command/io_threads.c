/* SPDX-License-Identifier: BSD-3-Clause */
/* io_threads.c - see io_threads.h.
 *
 *     threads[0 .. running)    have been started; of these
 *            [0 .. active)     get connections, the others give theirs back and sleep
 *
 * Ten times a second the processor time of all threads is measured, and io_policy.h decides how many are
 * active. Then connections are spread: a new one goes to the thread with the fewest, and a thread with far
 * more than its share gives some back. All clients are only scanned when some have to be moved. */
#define _GNU_SOURCE
#include "command/io_threads.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/processors.h"
#include "base/ticks.h"
#include "base/zmalloc.h"
#include "client/client_info.h"
#include "client/client_output.h"
#include "command/io_client.h"
#include "command/io_input.h"
#include "command/io_policy.h"
#include "command/parallel_read.h"
#include "command/prefetch.h"
#include "net/io_thread.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/memory_report.h"

#define REVIEW_MS        100
#define COUNT_EVERY      10 /* reviews between counts of processors and scans of clients on the main thread */
#define WAITS_OF         8  /* threads whose waiting time is measured */
#define POLL_AT_LEAST_US 500 /* after this time the main thread polls its own sockets and timers */
#define SPIN_US          20 /* time for which it waits for threads without sleeping, if a processor is free */
#define SPIN_LOAD        0.3 /* its share of a processor from which it does so */
#define TRIM_MS          1000

static int64_t configured; /* io-threads, which includes the main thread */
static bool always_active;

static struct ioThread *threads[IO_THREADS_MAX];
static int running, active;
static int time_files[IO_THREADS_MAX]; /* of processorTimeOf, -1: not opened yet */

/* ---- Load ---- */

static int processors = 1; /* as of the last count */

/* Returns for which part of their runnable time the main thread and some others waited for a processor. */
static double ioThreadsMeasureWaits(struct processorTime now) {
    static struct processorTime before;
    for (int i = 0; i < active && i < WAITS_OF; i++) {
        struct processorTime t = processorTimeOf(ioThreadTid(threads[i]), &time_files[i]);
        now.ran_ns += t.ran_ns;
        now.waited_ns += t.waited_ns;
    }
    /* A different set of threads cannot be compared with the previous measurement. */
    uint64_t waited = now.waited_ns - before.waited_ns, wanted_ns = now.ran_ns - before.ran_ns + waited;
    bool comparable = now.waited_ns >= before.waited_ns && now.ran_ns > before.ran_ns;
    before = now;
    return comparable ? (double)waited / (double)wanted_ns : 0;
}

/* Measures the load. The main thread's share includes the time in which it waited for a processor, as all
 * threads depend on it. */
static struct ioLoad ioThreadsMeasure(void) {
    static uint64_t main_before, threads_before[IO_THREADS_MAX];
    static int64_t time_before_us;
    static int main_time_file = -1;
    struct processorTime main = processorTimeOf(getpid(), &main_time_file);
    int64_t now_us = monotonicUs();
    double passed_ns = (double)(now_us - time_before_us) * 1000.0;
    uint64_t main_now = cpuTimeNs(CLOCK_THREAD_CPUTIME_ID) + main.waited_ns;
    struct ioLoad load = {.main = (double)(main_now - main_before) / passed_ns,
                          .waits = ioThreadsMeasureWaits(main)};
    main_before = main_now;
    time_before_us = now_us;
    for (int i = 0; i < running; i++) {
        uint64_t now = ioThreadCpuNs(threads[i]);
        if (now > threads_before[i]) load.threads += (double)(now - threads_before[i]) / passed_ns;
        threads_before[i] = now;
    }
    return load;
}

/* ---- How many ---- */

static bool ioThreadsStartThread(void) {
    struct ioThread *t = ioThreadStart(running + 1, NULL);
    if (!t) {
        serverLog(LL_WARNING, "An I/O thread could not be started: %s", strerror(errno));
        return false;
    }
    time_files[running] = -1;
    threads[running++] = t;
    return true;
}

static void ioThreadsStopLast(void) {
    ioThreadStop(threads[--running]);
    if (time_files[running] != -1) close(time_files[running]);
}

static void ioThreadsSetActive(int n) {
    while (running < n && ioThreadsStartThread()) {
    }
    active = n < running ? n : running;
}

static int ioThreadsMaxUseful(void) {
    int most = (int)configured - 1, spare = processors - 1;
    return always_active || most < spare ? most : spare;
}

/* Returns whether the main thread may wait without sleeping: only when neither an I/O thread nor, as far as
 * can be seen, another process needs the processor. */
static bool ioThreadsMaySpin(struct ioLoad load) {
    return active && processors > active + 1 && load.main > SPIN_LOAD && load.waits < IO_POLICY_WAITS / 4;
}

static uint64_t spin_ticks; /* how long the main thread waits without sleeping; 0: not at all */

static void ioThreadsReview(void) {
    static struct ioPolicy policy;
    struct ioLoad load = ioThreadsMeasure();
    ioThreadsSetActive(always_active ? ioThreadsMaxUseful()
                                     : ioPolicyReview(&policy, active, ioThreadsMaxUseful(), load));
    spin_ticks = ioThreadsMaySpin(load) ? SPIN_US * ticks_per_us : 0;
}

/* ---- Distribution ---- */

static struct ioThread *ioThreadsLeastUsed(void) {
    struct ioThread *least = threads[0];
    for (int i = 1; i < active; i++) {
        if (ioClientCount(threads[i]) < ioClientCount(least)) least = threads[i];
    }
    return least;
}

bool ioThreadsOffload(struct client *c) {
    return active && ioClientOffload(c, ioThreadsLeastUsed());
}

/* Moves connections. with_main_thread: clients of the main thread, too, go to the thread with the fewest. */
static void ioThreadsDistribute(bool with_main_thread) {
    size_t offloaded = 0, surplus[IO_THREADS_MAX];
    for (int i = 0; i < running; i++) offloaded += surplus[i] = ioClientCount(threads[i]);
    bool give = active && with_main_thread && offloaded < clients.length;
    if (!ioPolicySurplus(surplus, running, active) && !give) return;
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (!(c->flags & CLIENT_OFFLOADED)) {
            if (give) ioThreadsOffload(c);
            continue;
        }
        size_t *too_many = &surplus[ioThreadNumber(ioClientOf(c)->thread) - 1];
        if (!*too_many || c->turn) continue;
        --*too_many;
        ioClientRequestRecall(c);
    }
}

/* Stops threads above the active ones when their last connection has left. */
static void ioThreadsRetire(void) {
    while (running > active && running >= configured && !ioClientCount(threads[running - 1]))
        ioThreadsStopLast();
}

static void ioThreadsTrim(void) {
    static int64_t trimmed_us;
    int64_t now_us = monotonicUs();
    if (now_us - trimmed_us < TRIM_MS * 1000) return;
    trimmed_us = now_us;
    for (int i = 0; i < running; i++) ioClientsTrim(threads[i]);
}

static void ioThreadsJob(void) {
    static int reviews;
    if (configured == 1 && !running) return;
    bool count = reviews++ % COUNT_EVERY == 0;
    int before = active;
    if (count) processors = processorsUsable();
    ioThreadsReview();
    parallelReadsReview();
    ioThreadsDistribute(count || active != before || always_active);
    ioThreadsRetire();
    ioThreadsTrim();
    ioThreadsFlush();
}

/* ---- In each turn ---- */

static int ioThreadsReceiveMessages(void) {
    int received = 0;
    for (int i = 0; i < running; i++) received += ioThreadReceive(threads[i]);
    return received;
}

void ioThreadsReceive(void) {
    ioThreadsReceiveMessages();
}

static uint64_t poll_by;

void ioThreadsTurnBegins(void) {
    if (running) poll_by = ticksNow() + POLL_AT_LEAST_US * ticks_per_us;
}

bool ioThreadsReceiveMore(void) {
    if (!running) return false;
    uint64_t now = ticksNow(), until = now + spin_ticks;
    for (; now < poll_by; now = ticksNow()) {
        if (ioThreadsReceiveMessages()) return true;
        if (now >= until) return false;
        ticksPause();
    }
    return false;
}

void ioThreadsFlush(void) {
    for (int i = 0; i < running; i++) ioThreadFlush(threads[i]);
}

static void ioThreadsFlushOutput(void) {
    if (running) ioClientsFlush();
    ioThreadsFlush();
}

void ioThreadsEnd(void) {
    if (!running) return;
    ioThreadsFlushOutput();
    while (running) ioThreadsStopLast();
    active = 0;
}

/* ---- Registration ---- */

static sds ioThreadsActiveInfo(sds s) {
    return infoField(s, "io_threads_active:%d", active > 0);
}

/* Adds up the counts of all threads, those that have ended included. */
static struct ioClientCounts ioThreadsCountAll(void) {
    struct ioClientCounts all = {0};
    for (int i = 1; i <= IO_THREADS_MAX; i++) {
        all.clients += io_client_counts[i].clients;
        all.reads += io_client_counts[i].reads;
        all.writes += io_client_counts[i].writes;
    }
    return all;
}

static sds ioThreadsStatsInfo(sds s) {
    struct ioClientCounts all = ioThreadsCountAll();
    s = infoField(s, "io_threaded_reads_processed:%llu", (unsigned long long)all.reads);
    s = infoField(s, "io_threaded_writes_processed:%llu", (unsigned long long)all.writes);
    s = infoField(s, "io_threaded_freed_objects:%llu", (unsigned long long)io_client_stats.freed);
    s = infoField(s, "io_threaded_accept_processed:%llu", (unsigned long long)io_client_stats.accepts);
    s = infoField(s, "io_threaded_poll_processed:%llu", (unsigned long long)io_client_stats.polls);
    s = infoField(s, "io_threaded_total_prefetch_batches:%llu",
                  (unsigned long long)prefetch_stats.threaded_batches);
    return infoField(s, "io_threaded_total_prefetch_entries:%llu",
                     (unsigned long long)prefetch_stats.threaded_keys);
}

static sds ioThreadsCountsField(sds s, int number, const struct ioClientCounts *n) {
    return infoField(s, "io_thread_%d:clients=%zu,reads=%llu,writes=%llu", number, n->clients,
                     (unsigned long long)n->reads, (unsigned long long)n->writes);
}

/* Clients that were freed may still count as their thread's, so `threads` may be larger. */
static uint64_t ioThreadsMainPart(uint64_t total, uint64_t threads) {
    return total > threads ? total - threads : 0;
}

/* Number 0 is the main thread. */
static sds ioThreadsThreadsInfo(sds s) {
    struct ioClientCounts all = ioThreadsCountAll();
    struct ioClientCounts main_thread = {ioThreadsMainPart(clients.length, all.clients),
                                         ioThreadsMainPart(clientstats.reads, all.reads),
                                         ioThreadsMainPart(clientstats.writes, all.writes)};
    s = ioThreadsCountsField(s, 0, &main_thread);
    for (int i = 1; i < configured; i++) s = ioThreadsCountsField(s, i, &io_client_counts[i]);
    return s;
}

static sds ioThreadsCatNumber(sds s, struct client *c) {
    return clientInfoNumber(s, c->flags & CLIENT_OFFLOADED ? ioThreadNumber(ioClientOf(c)->thread) : 0);
}

/* Reports every thread that may exist. */
static sds ioThreadsActiveTimesInfo(sds s) {
    for (int i = 0; i < configured - 1; i++) {
        uint64_t us = i < running ? ioThreadCpuNs(threads[i]) / 1000 : 0;
        s = infoField(s, "used_active_time_io_thread_%d:%llu.%06llu", i + 1, (unsigned long long)us / 1000000,
                      (unsigned long long)us % 1000000);
    }
    return s;
}

static size_t ioThreadsMemory(void) {
    size_t bytes = 0;
    for (int i = 0; i < running; i++) bytes += ioThreadMemory(threads[i]) + ioClientsMemory(threads[i]);
    return bytes;
}

static sds ioThreadsPendingInfo(sds s) {
    size_t reads = 0, writes = 0;
    for (int i = 0; i < running; i++) {
        reads += ioThreadCountToMain(threads[i]);
        writes += ioThreadCountToThread(threads[i]);
    }
    s = infoField(s, "io_threaded_reads_pending:%zu", reads);
    return infoField(s, "io_threaded_writes_pending:%zu", writes);
}

static void ioThreadsResetStats(void) {
    for (int i = 1; i <= IO_THREADS_MAX; i++) io_client_counts[i].reads = io_client_counts[i].writes = 0;
    io_client_stats.accepts = 0;
    io_client_stats.polls = io_client_stats.freed = 0;
}

void ioThreadsRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("io-threads", NULL, CONFIG_MODIFIABLE, &configured, 1, 1, IO_THREADS_MAX + 1, NULL),
        CONFIG_BOOL("io-threads-always-active", NULL, CONFIG_MODIFIABLE | CONFIG_HIDDEN, &always_active,
                    false, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("server", ioThreadsActiveInfo);
    infoRegister("stats", ioThreadsStatsInfo);
    infoRegister("threads", ioThreadsThreadsInfo);
    clientInfoField("io-thread", ioThreadsCatNumber);
    memoryAddPart(MEMORY_IO_THREADS, ioThreadsMemory);
    infoRegister("cpu", ioThreadsActiveTimesInfo);
    infoRegister("debug", ioThreadsPendingInfo);
    configOnResetStat(ioThreadsResetStats);
    cronRegister(ioThreadsJob, REVIEW_MS);
}

void ioThreadsBegin(void) {
    ioClientsStart(server_el, ioThreadsFlushOutput);
}
