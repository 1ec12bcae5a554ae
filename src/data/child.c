/* SPDX-License-Identifier: BSD-3-Clause */
/* child.c - one child at a time: a process that is watched through a pipe, or a thread.
 *
 *     parent   report_fd <──── struct report ──── write_fd   child
 *              (an event of the loop)              every REPORT_INTERVAL_US, and at the end
 *
 * Only the child has the writing end, so the pipe ends when the child ends for whatever reason, and no timer
 * is needed to notice. The event only records this; the child is reaped before the loop sleeps, when no
 * command is running.
 *
 * A thread reports through atomics, and wakes the loop at its end. */
#define _GNU_SOURCE /* for pipe2, close_range */

#include "data/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/cpulist.h"
#include "base/log.h"
#include "base/log_signal.h"
#include "base/thread.h"
#include "base/zmalloc.h"
#include "data/keyspace/db.h"
#include "net/ae.h"
#include "net/connection.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/debug.h"
#include "registry/info.h"
#include "registry/latency.h"
#include "registry/server_events.h"

#define REPORT_INTERVAL_US 200000
/* The kernel walks the child's page tables to say how much was copied; this limits the share of time for
 * it. */
#define COW_COST_FACTOR 100
#define EXIT_QUIETLY    255 /* exit code after SIGUSR1 */
#define HOOKS_MAX       8
#define THREAD_WAIT_MS  10

struct report { /* smaller than PIPE_BUF, so written and read as a whole */
    uint64_t keys, cow_bytes, cow_peak, sent;
    double share;      /* done share of work that is not counted in keys */
    int64_t cow_at_us; /* both processes have the same monotonic clock */
    bool almost_done;
};

static struct {
    enum childKind kind;
    pid_t pid;
    int report_fd;
    bool ended; /* the pipe has ended: the child must be reaped */
    bool is_thread;
    childDone *done;
    void *priv;
    uint64_t keys_total;
    int64_t started_us;
    struct report last;
} child = {.pid = -1, .report_fd = -1};

/* The child as a thread. */
static struct {
    pthread_t id;
    childMain *run;
    void *priv;
    const char *cpulist;
    int code; /* its result, once it has ended */
    atomic_bool cancelled, ended, almost_done;
    _Atomic(uint64_t) keys;
} worker;
static _Thread_local bool in_thread;
void (*child_feed)(void);
void (*child_stop_feeding)(void);

static sds bgsave_cpulist, aof_rewrite_cpulist; /* NULL: any processor */

static enum childKind own_kind; /* in a child: its own kind */
static struct {                 /* state in a child */
    int fd;
    int64_t next_report_us, next_cow_us;
    struct report report;
    uint64_t cow_sum, cow_readings;
    void (*when_orphaned)(void);
} self;

static uint64_t last_cow[CHILD_KINDS], forks;
static bool last_was_thread[CHILD_KINDS];
static int64_t last_seconds[CHILD_KINDS] = {[CHILD_RDB] = -1, [CHILD_AOF] = -1};
static int64_t last_fork_us;
static void (*hooks[HOOKS_MAX])(enum childKind kind);
static int hook_count;

enum childKind childRunning(void) {
    return child.kind == CHILD_PROBE ? CHILD_NONE : child.kind;
}
pid_t childPid(void) {
    return child.kind == CHILD_PROBE ? -1 : child.pid;
}
int64_t childSeconds(void) {
    return childRunning() == CHILD_NONE ? -1 : (monotonicUs() - child.started_us) / 1000000;
}
int64_t childLastSeconds(enum childKind kind) {
    serverAssert(kind > CHILD_NONE && kind < CHILD_KINDS);
    return last_seconds[kind];
}
uint64_t childLastCow(enum childKind kind) {
    serverAssert(kind > CHILD_NONE && kind < CHILD_KINDS);
    return last_cow[kind];
}
bool childIs(void) {
    return own_kind != CHILD_NONE;
}
bool childLastWasThread(enum childKind kind) {
    return last_was_thread[kind];
}
bool childIsThread(void) {
    return child.is_thread;
}
bool childInThread(void) {
    return in_thread;
}
bool childIsCancelled(void) {
    return in_thread && atomic_load_explicit(&worker.cancelled, memory_order_relaxed);
}

void childOnFork(void (*fn)(enum childKind kind)) {
    serverAssert(fn && hook_count < HOOKS_MAX);
    hooks[hook_count++] = fn;
}

/* ---- The child's side ---- */

/* Returns the bytes of this process that are not shared: pages that it has written, and pages that the parent
 * has written to since (the child then has the only reference to the old page). */
static uint64_t childPrivateDirty(void) {
    char text[2048];
    int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    const char *line = strstr(text, "\nPrivate_Dirty:");
    unsigned long long kb = 0;
    if (line) sscanf(line, "\nPrivate_Dirty: %llu", &kb);
    return kb * 1024;
}

static void childReadCow(int64_t now_us) {
    struct report *r = &self.report;
    r->cow_bytes = childPrivateDirty();
    r->cow_at_us = monotonicUs();
    if (r->cow_bytes > r->cow_peak) r->cow_peak = r->cow_bytes;
    self.cow_sum += r->cow_bytes;
    self.cow_readings++;
    self.next_cow_us = r->cow_at_us + (r->cow_at_us - now_us) * COW_COST_FACTOR;
}

/* The pipe holds many reports. When the parent is too busy to read them, some are dropped rather than waited
 * for. When the parent has died, nobody needs the child's work, and it could disturb the server that starts
 * in the parent's place. */
static void childSendReport(void) {
    if (write(self.fd, &self.report, sizeof self.report) >= 0 || errno != EPIPE) return;
    serverLog(LL_WARNING, "The parent of this child has gone, exiting.");
    if (self.when_orphaned) self.when_orphaned();
    _exit(1);
}

void childWhenOrphaned(void (*fn)(void)) {
    serverAssert(childIs());
    self.when_orphaned = fn;
}

void childNeedsParent(void) {
    if (childIs()) childSendReport();
}

void childProgress(uint64_t keys) {
    if (in_thread) atomic_store_explicit(&worker.keys, keys, memory_order_relaxed);
    if (!childIs()) return;
    int64_t now_us = monotonicUs();
    if (now_us < self.next_report_us) return;
    self.next_report_us = now_us + REPORT_INTERVAL_US;
    self.report.keys = keys;
    if (now_us >= self.next_cow_us) childReadCow(now_us);
    childSendReport();
}

void childAlmostDone(void) {
    if (in_thread) atomic_store(&worker.almost_done, true);
    if (!childIs()) return;
    self.report.almost_done = true;
    childSendReport();
}

bool childSendWhole(struct connection *conn, const char *p, size_t n, int64_t timeout_ms) {
    serverAssert(childIs() && timeout_ms >= 0);
    while (n) {
        struct iovec iov = {(char *)p, n};
        ssize_t sent = connWritev(conn, &iov, 1);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
        if (sent < 0 && aeWait(conn->fd, AE_WRITABLE, timeout_ms) <= 0) return false;
        if (sent < 0) continue;
        self.report.sent += (uint64_t)sent;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

uint64_t childSentBytes(void) {
    return child.last.sent;
}

static const char *childKindName(enum childKind kind) {
    static const char *const names[CHILD_KINDS] = {[CHILD_RDB] = "RDB",
                                                   [CHILD_AOF] = "AOF rewrite",
                                                   [CHILD_SLOTS] = "Slot migration",
                                                   [CHILD_MODULE] = "Module fork",
                                                   [CHILD_PROBE] = "Probe"};
    return names[kind];
}

void childReportShare(double share) {
    if (!childIs()) return;
    self.report.share = share;
    childReadCow(monotonicUs());
    childSendReport();
}

static void childLastReport(void) {
    childReadCow(monotonicUs());
    childSendReport();
    const struct report *r = &self.report;
    serverLog(LL_NOTICE, "Memory copied by the %s process: %llu MB now, %llu MB at most, %llu MB on average",
              childKindName(own_kind), (unsigned long long)r->cow_bytes >> 20,
              (unsigned long long)r->cow_peak >> 20,
              (unsigned long long)(self.cow_sum / self.cow_readings) >> 20);
}

static void childOnKill(int sig) {
    (void)sig;
    logSignal("Received SIGUSR1 in child, exiting now.");
    _exit(EXIT_QUIETLY);
}

/* Signals that end the parent are the parent's business: it stops its child when it wants to. */
static void childSetSignals(void) {
    struct sigaction act = {.sa_handler = childOnKill};
    sigemptyset(&act.sa_mask);
    sigaction(SIGUSR1, &act, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
}

static int childCompareFds(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

/* both included */
static void childCloseRange(int from, int to) {
    if (from > to) return;
#ifdef CLOSE_RANGE_UNSHARE
    if (close_range((unsigned)from, (unsigned)to, 0) == 0) return;
#endif
    int fds = aeGetSize(server_el);
    for (int fd = from; fd <= to && fd < fds; fd++) close(fd);
}

/* Closes all but the standard descriptors and `keep`, which is sorted. */
static void childCloseDescriptors(const int *keep, int count) {
    int from = STDERR_FILENO + 1;
    for (int i = 0; i < count; i++) {
        childCloseRange(from, keep[i] - 1);
        from = keep[i] + 1;
    }
    childCloseRange(from, INT_MAX);
}

/* keep_count -1: keeps all descriptors. */
static void childBecome(enum childKind kind, int fd, int *keep, int keep_count) {
    own_kind = kind;
    self.fd = fd;
    child.kind = CHILD_NONE;
    logSetRole('C');
    childSetSignals();
    if (keep_count >= 0) {
        keep[keep_count++] = fd;
        qsort(keep, (size_t)keep_count, sizeof *keep, childCompareFds);
        childCloseDescriptors(keep, keep_count);
        logReopenSyslog();
    }
    hashtableSetResizePolicy(HASHTABLE_RESIZE_FORBID);
    cpulistApply(kind == CHILD_RDB ? bgsave_cpulist : aof_rewrite_cpulist);
    for (int i = 0; i < hook_count; i++) hooks[i](kind);
}

void childExit(int code) {
    serverAssert(childIs());
    childLastReport();
    _exit(code);
}

static void __attribute__((noreturn)) childRunMain(childMain *run, void *priv) {
    int code = run(priv);
    if (code == 0) childExit(0);
    _exit(code);
}

/* ---- The parent's side ---- */

static void childReadReports(void) {
    struct report r;
    ssize_t n;
    while ((n = read(child.report_fd, &r, sizeof r)) == (ssize_t)sizeof r) child.last = r;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    child.ended = true;
    aeDeleteFileEvent(server_el, child.report_fd, AE_READABLE);
}

bool childIsAlmostDone(void) {
    if (child.is_thread) return atomic_load(&worker.almost_done);
    if (child.kind != CHILD_NONE && !child.ended) childReadReports();
    return child.last.almost_done;
}

static void childOnReport(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)el, (void)fd, (void)data, (void)mask;
    childReadReports();
}

static uint64_t childCountKeys(void) {
    uint64_t n = 0;
    for (int i = 0; i < dbCount(); i++) n += keyspaceSize(&dbs[i].keyspace);
    return n;
}

/* The slot is free before `done` runs, so that `done` may start the next child. */
static void childCallDone(int code, int sig) {
    last_seconds[child.kind] = childSeconds();
    last_was_thread[child.kind] = child.is_thread;
    childDone *done = child.done;
    void *priv = child.priv;
    child.kind = CHILD_NONE;
    child.is_thread = false;
    child.pid = child.report_fd = -1;
    done(sig ? 1 : code, sig, priv);
}

/* ---- A thread ---- */

static void *childThreadMain(void *arg) {
    (void)arg;
    prctl(PR_SET_NAME, "snapshot");
    cpulistApply(worker.cpulist);
    zmallocThreadStart();
    in_thread = true;
    worker.code = worker.run(worker.priv);
    zmallocThreadExit();
    atomic_store(&worker.ended, true);
    aeWakeup(server_el);
    return NULL;
}

static void childFinishThread(void) {
    pthread_join(worker.id, NULL);
    child.last.keys = 0;
    if (child.kind == CHILD_RDB || child.kind == CHILD_AOF) last_cow[child.kind] = 0;
    childCallDone(worker.code, worker.code && atomic_load(&worker.cancelled) ? SIGUSR1 : 0);
}

/* The thread may need what the main thread would give it in its next turns. Clients' requests, which are
 * ready all the time, do not end the waiting. */
static void childWaitThread(void) {
    while (!atomic_load(&worker.ended)) {
        if (child_feed && !atomic_load(&worker.cancelled)) child_feed();
        if (!atomic_load(&worker.ended)) aeTakeWakeup(server_el, THREAD_WAIT_MS);
    }
    aeWakeup(server_el);
    childFinishThread();
}

bool childStartThread(enum childKind kind, childMain *run, childDone *done, void *priv, const char **err) {
    serverAssert(kind > CHILD_NONE && kind < CHILD_KINDS && run && done);
    childEndProbe();
    if (child.kind != CHILD_NONE) {
        *err = "another child process is active";
        return false;
    }
    worker.run = run;
    worker.priv = priv;
    worker.cpulist = kind == CHILD_RDB ? bgsave_cpulist : aof_rewrite_cpulist;
    atomic_store(&worker.cancelled, false);
    atomic_store(&worker.ended, false);
    atomic_store(&worker.almost_done, false);
    atomic_store(&worker.keys, 0);
    int problem = threadCreate(&worker.id, childThreadMain, NULL);
    if (problem) {
        *err = strerror(problem);
        return false;
    }
    child.kind = kind;
    child.is_thread = true;
    child.pid = getpid();
    child.report_fd = -1;
    child.ended = false;
    child.done = done;
    child.priv = priv;
    child.keys_total = childCountKeys();
    child.last = (struct report){0};
    child.started_us = monotonicUs();
    return true;
}

/* ---- A process ---- */

/* `status` is from waitpid. */
static void childFinish(int status) {
    if (!child.ended) childReadReports();
    if (!child.ended) aeDeleteFileEvent(server_el, child.report_fd, AE_READABLE);
    close(child.report_fd);
    if (child.last.cow_at_us) last_cow[child.kind] = child.last.cow_bytes;
    hashtableSetResizePolicy(HASHTABLE_RESIZE_ALLOW);
    int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (code == EXIT_QUIETLY) sig = SIGUSR1;
    childCallDone(code, sig);
    serverEvent(SERVER_FORK, EVENT_ENDED, NULL);
}

/* Takes almost no time: the child gives its memory back before it closes files, so little of its end is
 * left. */
static void childReap(void) {
    int status;
    if (child.is_thread) {
        if (atomic_load(&worker.ended)) childFinishThread();
        return;
    }
    if (!child.ended || child.kind == CHILD_NONE) return;
    pid_t got = waitpid(child.pid, &status, 0);
    if (got == child.pid) childFinish(status);
    if (got < 0 && errno != EINTR) {
        serverLog(LL_WARNING, "waitpid() failed: %s. The child process is of type %s and has the pid %d.",
                  strerror(errno), child.kind == CHILD_RDB ? "RDB" : "AOF", (int)child.pid);
        childFinish(1 << 8);
    }
}

void childWait(void) {
    if (child.kind == CHILD_NONE) return;
    if (child.is_thread) {
        childWaitThread();
        return;
    }
    int status = 1 << 8;
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    childFinish(status);
}

void childStop(void) {
    if (child.kind == CHILD_NONE) return;
    if (child.is_thread) {
        atomic_store(&worker.cancelled, true);
        if (child_stop_feeding) child_stop_feeding();
        return;
    }
    serverLog(LL_NOTICE, "Killing running %s child: %ld", childKindName(child.kind), (long)child.pid);
    kill(child.pid, SIGUSR1);
    kill(child.pid, SIGCONT); /* the child may have been stopped */
}

void childKill(void) {
    childStop();
    childWait();
}

void childEndProbe(void) {
    if (child.kind == CHILD_PROBE) childKill();
}

/* Opens a pipe whose reading end the loop watches. Returns false with errno. */
static bool childOpenPipe(int fds[2]) {
    if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) < 0) return false;
    if (aeCreateFileEvent(server_el, fds[0], AE_READABLE, childOnReport, NULL) == 0) return true;
    int problem = errno;
    close(fds[0]);
    close(fds[1]);
    errno = problem;
    return false;
}

/* Returns the child's id; 0 in the child; -1 with *err when there is none. */
static pid_t childForkProcess(enum childKind kind, childDone *done, void *priv, const int *keep,
                              int keep_count, const char **err) {
    int fds[2];
    childEndProbe();
    if (child.kind != CHILD_NONE) {
        *err = "another child process is active";
        return -1;
    }
    if (!childOpenPipe(fds)) {
        *err = strerror(errno);
        return -1;
    }
    /* One more for the pipe. */
    int *kept = zmalloc(((size_t)(keep_count > 0 ? keep_count : 0) + 1) * sizeof *kept);
    if (keep_count > 0) memcpy(kept, keep, (size_t)keep_count * sizeof *kept);
    int64_t start_us = monotonicUs();
    pid_t pid = fork();
    if (pid == 0) childBecome(kind, fds[1], kept, keep_count);
    int problem = errno;
    zfree(kept);
    if (pid == 0) return 0;
    last_fork_us = monotonicUs() - start_us;
    latencyAddSampleIfNeeded("fork", last_fork_us / 1000);
    close(fds[1]);
    if (pid < 0) {
        aeDeleteFileEvent(server_el, fds[0], AE_READABLE);
        close(fds[0]);
        *err = strerror(problem);
        return -1;
    }
    forks++;
    child.kind = kind;
    child.pid = pid;
    child.report_fd = fds[0];
    child.ended = false;
    child.done = done;
    child.priv = priv;
    child.keys_total = childCountKeys();
    child.last = (struct report){0};
    hashtableSetResizePolicy(HASHTABLE_RESIZE_AVOID);
    child.started_us = start_us;
    if (debug_switches.pause_after_fork) raise(SIGSTOP);
    serverEvent(SERVER_FORK, EVENT_STARTED, NULL);
    return pid;
}

bool childStartWith(enum childKind kind, childMain *run, childDone *done, void *priv, const int *keep,
                    int keep_count, const char **err) {
    serverAssert(kind > CHILD_NONE && kind < CHILD_KINDS && run && done);
    serverAssert(keep_count >= 0 && (keep || !keep_count));
    pid_t pid = childForkProcess(kind, done, priv, keep, keep_count, err);
    if (pid == 0) childRunMain(run, priv);
    return pid > 0;
}

pid_t childFork(childDone *done, void *priv, const char **err) {
    serverAssert(done);
    return childForkProcess(CHILD_MODULE, done, priv, NULL, -1, err);
}

bool childStart(enum childKind kind, childMain *run, childDone *done, void *priv, const char **err) {
    return childStartWith(kind, run, done, priv, NULL, 0, err);
}

/* ---- INFO ---- */

static sds childPersistenceInfo(sds s) {
    bool alive = childRunning() != CHILD_NONE;
    if (child.is_thread)
        child.last.keys = atomic_load_explicit(&worker.keys, memory_order_relaxed);
    else if (alive && !child.ended)
        childReadReports();
    struct report r = alive ? child.last : (struct report){0};
    int64_t age_s = r.cow_at_us ? (monotonicUs() - r.cow_at_us) / 1000000 : 0;
    uint64_t total = alive ? child.keys_total : 0;
    s = infoField(s, "current_cow_peak:%llu", (unsigned long long)r.cow_peak);
    s = infoField(s, "current_cow_size:%llu", (unsigned long long)r.cow_bytes);
    s = infoField(s, "current_cow_size_age:%lld", (long long)age_s);
    double share = r.share > 0 ? r.share : total ? (double)r.keys / (double)total : 0;
    s = infoField(s, "current_fork_perc:%.2f", 100 * share);
    s = infoField(s, "current_save_keys_processed:%llu", (unsigned long long)r.keys);
    s = infoField(s, "current_save_keys_total:%llu", (unsigned long long)total);
    s = infoField(s, "rdb_last_cow_size:%llu", (unsigned long long)last_cow[CHILD_RDB]);
    s = infoField(s, "aof_last_cow_size:%llu", (unsigned long long)last_cow[CHILD_AOF]);
    s = infoField(s, "module_fork_in_progress:%d", child.kind == CHILD_MODULE);
    return infoField(s, "module_fork_last_cow_size:%llu", (unsigned long long)last_cow[CHILD_MODULE]);
}

static sds childStatsInfo(sds s) {
    s = infoField(s, "latest_fork_usec:%lld", (long long)last_fork_us);
    return infoField(s, "total_forks:%llu", (unsigned long long)forks);
}

static void childResetStats(void) {
    last_fork_us = 0;
    forks = 0;
}

void childInit(void) {
#define LIST(name, alias, var) CONFIG_STRING(name, alias, CONFIG_EMPTY_IS_NULL, &(var), NULL, NULL, NULL)
    static struct configDirective directives[] = {
        LIST("bgsave-cpulist", "bgsave_cpulist", bgsave_cpulist),
        LIST("aof-rewrite-cpulist", "aof_rewrite_cpulist", aof_rewrite_cpulist),
    };
#undef LIST
    configRegister(directives, sizeof directives / sizeof *directives);
    infoRegister("persistence", childPersistenceInfo);
    infoRegister("stats", childStatsInfo);
    configOnResetStat(childResetStats);
    cronRegister(childReap, 0);
    beforeSleepRegister(childReap);
}
