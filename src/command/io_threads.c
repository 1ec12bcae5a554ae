/* io_threads.c - see io_threads.h.
 *
 *     threads[0 .. running)    have been started; of these
 *            [0 .. active)     get connections, the others give theirs back and sleep
 *
 * Ten times a second the processor time of all is looked at. A share of one is a processor that is used up.
 */
#define _GNU_SOURCE
#include "command/io_threads.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "client/client_output.h"
#include "command/io_input.h"
#include "command/port.h"
#include "net/io_thread.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/memory_report.h"

#define REVIEW_MS  100
#define TRIM_MS    1000
#define BUSY       0.6 /* the share of a processor from which a thread needs help */
#define IDLE       0.3 /* what is left of all threads' work when there are too many */
#define BUSY_TURNS 2   /* reviews in a row before something changes */

static int64_t wanted; /* io-threads: the main thread among them */
static bool always_active;

static struct ioThread *threads[IO_THREADS_MAX];
static int running, active;

/* ---- Load ---- */

/* Processors that this process may run on. */
static int processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == -1) return 1;
    return CPU_COUNT(&set);
}

static uint64_t ownCpuNs(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

struct load {
    double main, threads; /* shares of a processor since the last review; of the active ones together */
};

static struct load measure(void) {
    static uint64_t main_before, threads_before[IO_THREADS_MAX];
    static int64_t time_before_us;
    int64_t now_us = monotonicUs();
    double passed_ns = (double)(now_us - time_before_us) * 1000.0;
    uint64_t main_now = ownCpuNs();
    struct load load = {.main = (double)(main_now - main_before) / passed_ns};
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

static bool startThread(void) {
    struct ioThread *t = ioThreadStart(running + 1, NULL);
    if (!t) {
        serverLog(LL_WARNING, "An I/O thread could not be started: %s", strerror(errno));
        return false;
    }
    threads[running++] = t;
    return true;
}

static void setActive(int n) {
    while (running < n && startThread()) {
    }
    active = n < running ? n : running;
}

static int mostUseful(void) {
    int most = (int)wanted - 1, spare = processors() - 1;
    return always_active || most < spare ? most : spare;
}

/* One more or one less at a time, and not for a moment's sake. */
static void review(void) {
    static int too_few, too_many;
    int most = mostUseful();
    struct load load = measure();
    if (always_active || active > most) {
        setActive(most);
        return;
    }
    bool needs_more = active ? load.threads > BUSY * active : load.main > BUSY;
    bool needs_less =
        active > 1 ? load.threads < IDLE * (active - 1) : active && load.main + load.threads < IDLE;
    too_few = needs_more && active < most ? too_few + 1 : 0;
    too_many = needs_less ? too_many + 1 : 0;
    if (too_few >= BUSY_TURNS) setActive(active + 1);
    if (too_many >= BUSY_TURNS) setActive(active - 1);
    if (too_few >= BUSY_TURNS || too_many >= BUSY_TURNS) too_few = too_many = 0;
}

/* ---- Who has whom ---- */

static struct ioThread *leastUsed(void) {
    struct ioThread *least = threads[0];
    for (int i = 1; i < active; i++) {
        if (portCount(threads[i]) < portCount(least)) least = threads[i];
    }
    return least;
}

void ioThreadsTake(struct client *c) {
    if (active) portGive(c, leastUsed());
}

/* Has its thread too many, or nothing to do with connections any more? */
static bool shallMove(const struct client *c, size_t share) {
    const struct port *p = portOf(c);
    return ioThreadNumber(p->thread) > active || portCount(p->thread) > share;
}

static void distribute(void) {
    size_t away = 0;
    for (int i = 0; i < running; i++) away += portCount(threads[i]);
    if (!active && !away) return;
    size_t share = active ? clients.length / (size_t)active + clients.length / 8 + 1 : 0;
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (!(c->flags & CLIENT_AWAY))
            ioThreadsTake(c);
        else if (!c->round && shallMove(c, share))
            portAskHome(c);
    }
}

/* Those that have become too many, when their last connection has left. */
static void retire(void) {
    while (running > active && running >= wanted && !portCount(threads[running - 1]))
        ioThreadStop(threads[--running]);
}

static void trim(void) {
    static int64_t trimmed_us;
    int64_t now_us = monotonicUs();
    if (now_us - trimmed_us < TRIM_MS * 1000) return;
    trimmed_us = now_us;
    for (int i = 0; i < running; i++) portsTrim(threads[i]);
}

static void ioThreadsJob(void) {
    if (wanted == 1 && !running) return;
    review();
    distribute();
    retire();
    trim();
    ioThreadsFlush();
}

/* ---- In each turn ---- */

void ioThreadsHear(void) {
    for (int i = 0; i < running; i++) ioThreadHear(threads[i]);
}

void ioThreadsFlush(void) {
    for (int i = 0; i < running; i++) ioThreadFlush(threads[i]);
}

static void flush(void) {
    if (running) portsFlush();
    ioThreadsFlush();
}

void ioThreadsEnd(void) {
    if (!running) return;
    flush();
    while (running) ioThreadStop(threads[--running]);
    active = 0;
}

/* ---- Registration ---- */

static sds activeInfo(sds s) {
    return infoField(s, "io_threads_active:%d", active > 0);
}

static sds ioThreadsStatsInfo(sds s) {
    s = infoField(s, "io_threaded_reads_processed:%llu", (unsigned long long)portstats.reads);
    s = infoField(s, "io_threaded_writes_processed:%llu", (unsigned long long)portstats.writes);
    return s;
}

static size_t memory(void) {
    size_t bytes = 0;
    for (int i = 0; i < running; i++) bytes += ioThreadMemory(threads[i]) + portsMemory(threads[i]);
    return bytes;
}

static void resetStats(void) {
    portstats = (struct portStats){0};
}

void ioThreadsRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("io-threads", NULL, CONFIG_MODIFIABLE, &wanted, 1, 1, IO_THREADS_MAX + 1, NULL),
        CONFIG_BOOL("io-threads-always-active", NULL, CONFIG_MODIFIABLE | CONFIG_HIDDEN, &always_active,
                    false, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("server", activeInfo);
    infoRegister("stats", ioThreadsStatsInfo);
    memoryAddPart(MEMORY_IO_THREADS, memory);
    configOnResetStat(resetStats);
    cronRegister(ioThreadsJob, REVIEW_MS);
}

void ioThreadsBegin(void) {
    portsStart(server_el, flush);
}
