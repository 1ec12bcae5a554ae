/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.c - a deterministic machine around unmodified servers: loaded with LD_PRELOAD, it replaces libc's
 * functions for time, threads, processes, random numbers and files.
 *
 * Only one thread runs at a time, in all processes: the one whose slot has the turn. At each replaced call it
 * may give the turn to another, chosen by the seed. What nobody can run for, time passes for: the clock jumps
 * to the next deadline. The driver (simulated.py), which plays the clients and the network, is one more thread: it
 * is called over a socket, and answers when it has done its step.
 *
 *     servers' main threads ┐
 *     their other threads ──┼── one turn, passed on by futex ──── driver: a byte there, a byte back
 *     their children ───────┘
 *
 * Files are real ones, in memory (/dev/shm): they are what the kernel's page cache would be. All changes of
 * files below the present folder are also written to a journal, from which the driver computes what a loss
 * of power would leave.
 *
 * Not simulated: the order of plain and atomic memory accesses between two replaced calls, signals from
 * outside, TCP. */
#define _GNU_SOURCE
#include "machine.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONTROL_FD  900 /* beyond what the server opens; its children close what is below */
#define FDS         900
#define NO_DEADLINE UINT64_MAX
#define DRIVER      (-1)
#define NOBODY      (-2)
#define REAL_BASE_S 1800000000
#define MONO_BASE_S 1000
#define EXPORT      __attribute__((visibility("default")))

static struct machine *m; /* NULL: everything is real */
static char folder[4096]; /* the data's */
static size_t folder_len;
static int trace_fd = -1;
static int main_slot = -1; /* of the server, also in its children */
static __thread int me __attribute__((tls_model("initial-exec"))) = -1;
static struct {
    enum { FD_OTHER, FD_FILE, FD_FOLDER } kind;
    uint64_t inode;
    char path[128]; /* of a folder */
} fds[FDS];
static struct {
    void *(*fn)(void *);
    void *arg;
} starts[SLOTS];

static int (*realCreate)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int (*realJoin)(pthread_t, void **);
static pid_t (*realFork)(void);
static FILE *(*realFopen)(const char *, const char *);

/* ---- System calls ---- */

static long machineCall(long n, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long ret;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}

static long machineResult(long ret) {
    if (ret >= 0 || ret < -4095) return ret;
    errno = (int)-ret;
    return -1;
}

#define RAW0(n)             machineCall(n, 0, 0, 0, 0, 0, 0)
#define RAW1(n, a)          machineCall(n, (long)(a), 0, 0, 0, 0, 0)
#define RAW2(n, a, b)       machineCall(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define RAW3(n, a, b, c)    machineCall(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define RAW4(n, a, b, c, d) machineCall(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

static void machineDie(const char *why) {
    RAW3(SYS_write, 2, why, strlen(why));
    RAW1(SYS_exit_group, 99);
    __builtin_unreachable();
}

/* ---- Random numbers, the trace ---- */

static uint64_t randomNext(void) {
    uint64_t z = m->random += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static uint64_t randomUpTo(uint64_t n) {
    return n ? randomNext() % n : 0;
}

static bool randomChance(uint64_t parts, uint64_t of) {
    return parts && randomUpTo(of) < parts;
}

static void traceMix(uint64_t v) {
    m->hash = (m->hash ^ v) * 0x100000001b3;
    m->hash ^= m->hash >> 29;
}

static void traceCall(const char *name, int64_t result) {
    for (const char *p = name; *p; p++) traceMix((uint64_t)*p);
    traceMix((uint64_t)result);
    traceMix((uint64_t)me);
    traceMix(m->now_us);
    if (trace_fd < 0) return;
    char line[160];
    int n = snprintf(line, sizeof line, "%llu %llu us slot %d %s %lld\n", (unsigned long long)m->calls,
                     (unsigned long long)m->now_us, me, name, (long long)result);
    RAW3(SYS_write, trace_fd, line, n);
}

/* ---- Turns ---- */

static void waitForTurn(int slot) {
    uint32_t *turn = (uint32_t *)&m->slots[slot].turn;
    while (!__atomic_load_n(turn, __ATOMIC_ACQUIRE))
        machineCall(SYS_futex, (long)turn, FUTEX_WAIT, 0, 0, 0, 0);
    __atomic_store_n(turn, 0, __ATOMIC_RELEASE);
}

static void giveTurn(int slot) {
    uint32_t *turn = (uint32_t *)&m->slots[slot].turn;
    __atomic_store_n(turn, 1, __ATOMIC_RELEASE);
    machineCall(SYS_futex, (long)turn, FUTEX_WAKE, 1, 0, 0, 0);
}

/* The driver plays its step. It never answers after REASON_KILL and REASON_STUCK, but kills us. */
static void callDriver(uint64_t reason) {
    char byte = 0;
    m->reason = reason;
    m->caller = (uint64_t)me;
    m->driver_sent = 0;
    if (RAW3(SYS_write, CONTROL_FD, &byte, 1) != 1 || RAW3(SYS_read, CONTROL_FD, &byte, 1) != 1)
        machineDie("the driver has gone\n");
    if (m->driver_sent) m->activity++;
    m->driver_seen = m->activity;
}

static bool slotCanRun(const struct slot *s) {
    if (m->frozen >> s->host & 1) return false;
    switch (s->state) {
    case SLOT_READY: return true;
    case SLOT_POLLING: return s->seen != m->activity || s->deadline <= m->now_us || s->signal;
    case SLOT_SLEEPING:
    case SLOT_COND: return s->deadline <= m->now_us || s->signal;
    default: return s->signal && s->state != SLOT_EXITED && s->state != SLOT_FREE;
    }
}

static int pickNext(void) {
    for (;;) {
        int able[SLOTS + 1], count = 0;
        uint64_t next = m->driver_due;
        if (m->driver_due <= m->now_us || m->driver_seen != m->activity) able[count++] = DRIVER;
        for (int i = 0; i < SLOTS; i++) {
            const struct slot *s = &m->slots[i];
            if (slotCanRun(s)) able[count++] = i;
            bool waits = s->state == SLOT_POLLING || s->state == SLOT_SLEEPING || s->state == SLOT_COND;
            if (m->frozen >> s->host & 1) waits = false;
            if (waits && s->deadline < next) next = s->deadline;
        }
        if (count) return able[count == 1 ? 0 : randomUpTo((uint64_t)count)];
        if (next == NO_DEADLINE) return NOBODY;
        m->now_us = next;
    }
}

/* Calls the driver until somebody else can run; returns who. */
static int pickSlot(void) {
    for (;;) {
        int next = pickNext();
        if (next >= 0) return next;
        callDriver(next == DRIVER ? REASON_STEP : REASON_STUCK);
    }
}

/* For the driver, when the process that had the turn has ended: gives it to another. Returns DRIVER when it is
 * the driver's, and NOBODY. */
EXPORT int machineHandOver(struct machine *memory) {
    m = memory;
    if (m->driver_sent) m->activity++;
    m->driver_sent = 0;
    m->driver_seen = m->activity;
    int next = pickNext();
    if (next >= 0) giveTurn(next);
    m = NULL;
    return next;
}

/* Gives the turn to whom the seed chooses, and returns when this thread has it again. */
static void turnPass(void) {
    int next = pickSlot();
    if (next != me) {
        m->switches++;
        giveTurn(next);
        waitForTurn(me);
    }
    struct slot *s = &m->slots[me];
    if (s->signal) {
        int sig = (int)s->signal;
        s->signal = 0;
        RAW3(SYS_tgkill, RAW0(SYS_getpid), RAW0(SYS_gettid), sig);
    }
}

/* Before each replaced call: time passes, the machine may be stopped here, or another thread runs. */
static bool machineEnter(void) {
    if (!m || me < 0) return false;
    m->now_us++;
    if (++m->calls == m->kill_at) callDriver(REASON_KILL);
    if (randomChance(m->yield_permille, 1000) || m->frozen >> m->slots[me].host & 1) turnPass();
    return true;
}

/* Waits in this state until somebody sets READY, or until the deadline. */
static bool turnBlock(enum slotState state, uint64_t address, uint64_t deadline) {
    struct slot *s = &m->slots[me];
    s->state = state;
    s->address = address;
    s->deadline = deadline;
    s->seen = m->activity;
    do turnPass();
    while (s->state == SLOT_MUTEX || s->state == SLOT_JOIN); /* a signal interrupted it */
    bool timed_out = s->state == state;
    s->state = SLOT_READY;
    return timed_out;
}

static void turnWake(enum slotState state, uint64_t address) {
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &m->slots[i];
        bool here = state == SLOT_JOIN || s->process == m->slots[me].process;
        if (s->state == state && s->address == address && here) s->state = SLOT_READY;
    }
}

static int newSlot(void) {
    for (int i = 0; i < SLOTS; i++) {
        if (m->slots[i].state != SLOT_FREE) continue;
        m->slots[i] = (struct slot){.state = SLOT_READY};
        return i;
    }
    machineDie("too many threads\n");
    return -1;
}

/* ---- Time ---- */

/* The wall clock of this host, or (monotonic) the time since its start. */
static void timeOf(struct timespec *t, bool wall) {
    uint64_t us = m->now_us;
    if (wall && main_slot >= 0) us += (uint64_t)m->clock_us[m->slots[main_slot].host];
    t->tv_sec = (time_t)((wall ? REAL_BASE_S : MONO_BASE_S) + us / 1000000);
    t->tv_nsec = (long)(us % 1000000) * 1000;
}

EXPORT int clock_gettime(clockid_t id, struct timespec *t) {
    if (!m) return (int)machineResult(RAW2(SYS_clock_gettime, id, t));
    m->now_us++;
    timeOf(t, id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE);
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    if (!m) return (int)machineResult(RAW2(SYS_gettimeofday, t, zone));
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *t = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

EXPORT time_t time(time_t *t) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t) *t = now.tv_sec;
    return now.tv_sec;
}

static void sleepFor(uint64_t us) {
    traceCall("sleep", (int64_t)us);
    turnBlock(SLOT_SLEEPING, 0, m->now_us + us);
}

EXPORT int usleep(useconds_t us) {
    if (machineEnter()) sleepFor(us);
    return 0;
}

EXPORT int nanosleep(const struct timespec *t, struct timespec *rest) {
    (void)rest;
    if (machineEnter()) sleepFor((uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_nsec / 1000);
    return 0;
}

EXPORT int getrusage(int who, struct rusage *usage) {
    (void)who;
    memset(usage, 0, sizeof *usage);
    return 0;
}

/* ---- Threads ---- */

static void *threadMain(void *arg) {
    me = (int)(intptr_t)arg;
    waitForTurn(me);
    starts[me].fn(starts[me].arg);
    /* The rest of its end happens within pthread_join, while the other thread has the turn. */
    m->slots[me].state = SLOT_EXITED;
    turnWake(SLOT_JOIN, (uint64_t)me);
    traceCall("thread end", 0);
    giveTurn(pickSlot());
    waitForTurn(me);
    me = -1;
    return NULL;
}

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
                          void *(*fn)(void *), void *restrict arg) {
    if (!machineEnter()) return realCreate(thread, attr, fn, arg);
    int slot = newSlot();
    m->slots[slot].process = m->slots[me].process;
    m->slots[slot].host = m->slots[me].host;
    m->slots[slot].real_pid = m->slots[me].real_pid;
    starts[slot].fn = fn;
    starts[slot].arg = arg;
    int error = realCreate(thread, attr, threadMain, (void *)(intptr_t)slot);
    if (error) m->slots[slot].state = SLOT_FREE;
    m->slots[slot].thread = (uint64_t)*thread;
    traceCall("pthread_create", slot);
    return error;
}

EXPORT int pthread_join(pthread_t thread, void **result) {
    if (!machineEnter()) return realJoin(thread, result);
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &m->slots[i];
        if (s->state == SLOT_FREE || s->thread != (uint64_t)thread || s->process != m->slots[me].process)
            continue;
        if (s->state != SLOT_EXITED) turnBlock(SLOT_JOIN, (uint64_t)i, NO_DEADLINE);
        giveTurn(i); /* it only ends */
        int error = realJoin(thread, result);
        s->state = SLOT_FREE;
        traceCall("pthread_join", i);
        return error;
    }
    machineDie("pthread_join of an unknown thread\n");
    return 0;
}

/* Mutexes keep their state in libc's structure, so that pthread_mutex_init and static initializers work. */
static bool mutexTake(pthread_mutex_t *x) {
    bool recursive = (x->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE;
    if (x->__data.__lock && !(recursive && x->__data.__owner == me + 2)) return false;
    x->__data.__lock = 1;
    x->__data.__owner = me + 2;
    x->__data.__count++;
    return true;
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *x) {
    while (!mutexTake(x)) {
        if (!m || me < 0) machineDie("a mutex is taken, and there is no thread to wait for\n");
        turnBlock(SLOT_MUTEX, (uint64_t)(uintptr_t)x, NO_DEADLINE);
    }
    return 0;
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *x) {
    return mutexTake(x) ? 0 : EBUSY;
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *x) {
    if (--x->__data.__count) return 0;
    x->__data.__lock = 0;
    x->__data.__owner = 0;
    if (m && me >= 0) turnWake(SLOT_MUTEX, (uint64_t)(uintptr_t)x);
    return 0;
}

static int condWait(pthread_cond_t *c, pthread_mutex_t *x, uint64_t deadline) {
    pthread_mutex_unlock(x);
    bool timed_out = turnBlock(SLOT_COND, (uint64_t)(uintptr_t)c, deadline);
    pthread_mutex_lock(x);
    traceCall("cond wait", timed_out);
    return timed_out ? ETIMEDOUT : 0;
}

EXPORT int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *x) {
    machineEnter();
    condWait(c, x, NO_DEADLINE);
    return 0;
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict x,
                                  const struct timespec *restrict until) {
    machineEnter();
    bool wall = until->tv_sec >= REAL_BASE_S / 2;
    struct timespec base;
    timeOf(&base, wall);
    int64_t us = (until->tv_sec - base.tv_sec) * 1000000 + (until->tv_nsec - base.tv_nsec) / 1000;
    return condWait(c, x, m->now_us + (uint64_t)(us > 0 ? us : 0));
}

/* Nobody else runs before the next call: the caller may have a lock of the allocator. */
EXPORT int pthread_cond_signal(pthread_cond_t *c) {
    if (!m || me < 0) return 0;
    int waiting[SLOTS], count = 0;
    for (int i = 0; i < SLOTS; i++) {
        const struct slot *s = &m->slots[i];
        if (s->state == SLOT_COND && s->address == (uint64_t)(uintptr_t)c &&
            s->process == m->slots[me].process)
            waiting[count++] = i;
    }
    if (count) m->slots[waiting[randomUpTo((uint64_t)count)]].state = SLOT_READY;
    return 0;
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *c) {
    if (m && me >= 0) turnWake(SLOT_COND, (uint64_t)(uintptr_t)c);
    return 0;
}

EXPORT int sched_yield(void) {
    if (machineEnter()) turnBlock(SLOT_SLEEPING, 0, m->now_us + 1);
    return 0;
}

EXPORT int sched_getcpu(void) {
    return 0;
}

/* ---- Processes ---- */

EXPORT pid_t getpid(void) {
    return m && me >= 0 ? (pid_t)m->slots[m->slots[me].process].pid : (pid_t)RAW0(SYS_getpid);
}

EXPORT pid_t fork(void) {
    if (!machineEnter()) return realFork();
    if (randomChance(m->fork_faults, 10000)) {
        m->faults++;
        traceCall("fork fails", 0);
        errno = EAGAIN;
        return -1;
    }
    int slot = newSlot();
    struct slot *s = &m->slots[slot];
    s->process = (uint64_t)slot;
    s->host = m->slots[me].host;
    s->pid = (int64_t)(m->first_pid + ++m->pids);
    pid_t pid = realFork();
    if (pid == 0) {
        me = slot;
        waitForTurn(me);
        return 0;
    }
    s->real_pid = pid;
    traceCall("fork", s->pid);
    return (pid_t)s->pid;
}

EXPORT void _exit(int code) {
    if (!m || me < 0 || me == main_slot) {
        RAW1(SYS_exit_group, code);
        __builtin_unreachable();
    }
    machineCall(SYS_close_range, 3, CONTROL_FD - 1, 0, 0, 0, 0);
    struct slot *s = &m->slots[me];
    s->state = SLOT_EXITED;
    s->status = (uint64_t)(code & 255) << 8;
    m->activity++;
    turnWake(SLOT_JOIN, (uint64_t)me);
    traceCall("_exit", code);
    giveTurn(pickSlot());
    RAW1(SYS_exit_group, code);
    __builtin_unreachable();
}

static int slotOfPid(pid_t pid) {
    for (int i = 0; i < SLOTS; i++)
        if (m->slots[i].state != SLOT_FREE && m->slots[i].pid == pid) return i;
    return -1;
}

EXPORT pid_t waitpid(pid_t pid, int *status, int options) {
    if (!machineEnter()) return (pid_t)machineResult(RAW4(SYS_wait4, pid, status, options, NULL));
    int slot = slotOfPid(pid);
    if (slot < 0) {
        errno = ECHILD;
        return -1;
    }
    struct slot *s = &m->slots[slot];
    if (s->state != SLOT_EXITED && options & WNOHANG) return 0;
    if (s->state != SLOT_EXITED) turnBlock(SLOT_JOIN, (uint64_t)slot, NO_DEADLINE);
    RAW4(SYS_wait4, s->real_pid, NULL, 0, NULL);
    if (status) *status = (int)s->status;
    s->state = SLOT_FREE;
    traceCall("waitpid", (int64_t)s->status);
    return pid;
}

EXPORT int kill(pid_t pid, int sig) {
    int slot = m && me >= 0 ? slotOfPid(pid) : -1;
    if (slot < 0) return (int)machineResult(RAW2(SYS_kill, pid, sig));
    if (sig && sig != SIGCONT && m->slots[slot].state != SLOT_EXITED) m->slots[slot].signal = (uint64_t)sig;
    traceCall("kill", sig);
    return 0;
}

/* ---- Waiting for descriptors ---- */

EXPORT int epoll_wait(int ep, struct epoll_event *events, int max, int timeout_ms) {
    if (!machineEnter()) return (int)machineResult(RAW4(SYS_epoll_wait, ep, events, max, timeout_ms));
    uint64_t deadline = timeout_ms < 0 ? NO_DEADLINE : m->now_us + (uint64_t)timeout_ms * 1000;
    for (;;) {
        int n = (int)RAW4(SYS_epoll_wait, ep, events, max, 0);
        if (n || !timeout_ms || m->now_us >= deadline) {
            traceCall("epoll_wait", n);
            return (int)machineResult(n);
        }
        turnBlock(SLOT_POLLING, 0, deadline);
    }
}

EXPORT int poll(struct pollfd *p, nfds_t count, int timeout_ms) {
    if (!machineEnter()) return (int)machineResult(RAW3(SYS_poll, p, count, timeout_ms));
    uint64_t deadline = timeout_ms < 0 ? NO_DEADLINE : m->now_us + (uint64_t)timeout_ms * 1000;
    for (;;) {
        int n = (int)RAW3(SYS_poll, p, count, 0);
        if (n || !timeout_ms || m->now_us >= deadline) {
            traceCall("poll", n);
            return (int)machineResult(n);
        }
        turnBlock(SLOT_POLLING, 0, deadline);
    }
}

/* ---- Random numbers, /proc ---- */

EXPORT ssize_t getrandom(void *p, size_t n, unsigned flags) {
    if (!m) return machineResult(RAW3(SYS_getrandom, p, n, flags));
    for (size_t i = 0; i < n; i++) ((unsigned char *)p)[i] = (unsigned char)randomNext();
    return (ssize_t)n;
}

/* What the server can learn from /proc is never the same twice. Without it, it also leaves the processor's
 * time-stamp counter alone. */
static bool isProc(const char *path) {
    return m && !strncmp(path, "/proc/", 6);
}

EXPORT FILE *fopen(const char *restrict path, const char *restrict mode) {
    if (isProc(path)) {
        errno = ENOENT;
        return NULL;
    }
    if (!realFopen) *(void **)&realFopen = dlsym(RTLD_NEXT, "fopen");
    return realFopen(path, mode);
}

/* ---- Files ---- */

static void journalAdd(uint64_t kind, uint64_t inode, uint64_t offset, const void *data, size_t len) {
    size_t room = sizeof(struct journalEntry) + ((len + 7) & ~(size_t)7);
    if (JOURNAL_OFFSET + m->journal_used + room > m->journal_size) machineDie("the journal is full\n");
    struct journalEntry *e = (struct journalEntry *)((char *)m + JOURNAL_OFFSET + m->journal_used);
    *e = (struct journalEntry){kind, inode, offset, (uint64_t)me | m->slots[me].host << 32, len};
    memcpy(e + 1, data, len);
    m->journal_used += room;
}

/* Returns the path below the folder of the data; NULL: it is elsewhere. "" is the folder itself. */
static const char *pathInside(const char *path) {
    if (path[0] == '/') {
        if (strncmp(path, folder, folder_len) || (path[folder_len] && path[folder_len] != '/')) return NULL;
        path += folder_len + (path[folder_len] == '/');
    }
    while (path[0] == '.' && path[1] == '/') path += 2;
    return strcmp(path, ".") ? path : "";
}

static bool faultHappens(uint64_t per_ten_thousand, const char *name) {
    if (m->sound >> m->slots[me].host & 1 || !randomChance(per_ten_thousand, 10000)) return false;
    m->faults++;
    traceCall(name, -1);
    return true;
}

static int openFile(const char *path, int flags, mode_t mode) {
    const char *inside = pathInside(path);
    bool write = (flags & O_ACCMODE) != O_RDONLY, unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    if (!inside) return (int)machineResult(RAW4(SYS_openat, AT_FDCWD, path, flags, mode));
    machineEnter();
    if (write && faultHappens(m->name_faults, "open fails")) {
        errno = ENOSPC;
        return -1;
    }
    if (unnamed && randomChance(1, 2)) { /* not all file systems have them */
        errno = EOPNOTSUPP;
        return -1;
    }
    struct stat st;
    bool existed = !unnamed && RAW2(SYS_stat, path, &st) == 0;
    int fd = (int)RAW4(SYS_openat, AT_FDCWD, path, flags, mode);
    traceCall("open", fd >= 0 ? 0 : fd);
    if (fd < 0) return (int)machineResult(fd);
    if (fd >= FDS) machineDie("too many descriptors\n");
    RAW2(SYS_fstat, fd, &st);
    fds[fd].inode = (uint64_t)st.st_ino;
    if (S_ISDIR(st.st_mode)) {
        fds[fd].kind = FD_FOLDER;
        fds[fd].inode = 0;
        snprintf(fds[fd].path, sizeof fds[fd].path, "%s", inside);
    } else {
        fds[fd].kind = FD_FILE;
        if (!existed)
            journalAdd(J_CREATE, fds[fd].inode, 0, inside, strlen(inside));
        else if (write && flags & O_TRUNC)
            journalAdd(J_CUT, fds[fd].inode, 0, "", 0);
    }
    return fd;
}

EXPORT int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    if (isProc(path)) {
        errno = ENOENT;
        return -1;
    }
    if (!m || me < 0) return (int)machineResult(RAW4(SYS_openat, AT_FDCWD, path, flags, mode));
    return openFile(path, flags, mode);
}

EXPORT int fcntl(int fd, int what, ...) {
    va_list list;
    va_start(list, what);
    long arg = va_arg(list, long);
    va_end(list);
    long ret = RAW3(SYS_fcntl, fd, what, arg);
    bool copies = what == F_DUPFD || what == F_DUPFD_CLOEXEC;
    if (copies && fd >= 0 && fd < FDS && ret >= 0 && ret < FDS) fds[ret] = fds[fd];
    return (int)machineResult(ret);
}

EXPORT int close(int fd) {
    if (fd >= FDS) return 0;
    if (fd >= 0) fds[fd].kind = FD_OTHER;
    long ret = RAW1(SYS_close, fd);
    if (m) m->activity++;
    return (int)machineResult(ret);
}

EXPORT int close_range(unsigned from, unsigned to, int flags) {
    if (to >= FDS) to = FDS - 1;
    for (unsigned fd = from; fd <= to; fd++) fds[fd].kind = FD_OTHER;
    return from > to ? 0 : (int)machineResult(RAW3(SYS_close_range, from, to, flags));
}

static ssize_t writeFile(int fd, const void *p, size_t n) {
    machineEnter();
    if (faultHappens(m->write_faults, "write fails")) {
        int what = (int)randomUpTo(3);
        if (what == 2 && n > 1)
            n = 1 + randomUpTo(n - 1); /* a short write */
        else {
            errno = what ? EIO : ENOSPC;
            return -1;
        }
    }
    ssize_t done = RAW3(SYS_write, fd, p, n);
    off_t end = RAW3(SYS_lseek, fd, 0, SEEK_CUR);
    if (done > 0) journalAdd(J_WRITE, fds[fd].inode, (uint64_t)(end - done), p, (size_t)done);
    traceCall("write", done);
    for (ssize_t i = 0; i < done; i++) traceMix(((const unsigned char *)p)[i]);
    return machineResult(done);
}

/* A descriptor that blocks makes its thread wait as poll does, not with the turn. */
static bool fdBlocks(int fd) {
    return !(RAW3(SYS_fcntl, fd, F_GETFL, 0) & O_NONBLOCK);
}

static void waitUntilReady(int fd, short events) {
    struct pollfd p = {fd, events, 0};
    while (RAW3(SYS_poll, &p, 1, 0) == 0) turnBlock(SLOT_POLLING, 0, NO_DEADLINE);
}

EXPORT ssize_t read(int fd, void *p, size_t n) {
    bool ours = m && me >= 0 && fd > 2 && fd < FDS && fds[fd].kind == FD_OTHER;
    if (ours && fdBlocks(fd)) waitUntilReady(fd, POLLIN);
    ssize_t done = RAW3(SYS_read, fd, p, n);
    if (ours && m->hosts > 1) m->activity++; /* there may be room in a pipe */
    return machineResult(done);
}

EXPORT ssize_t write(int fd, const void *p, size_t n) {
    if (!m || me < 0 || fd < 0 || fd >= FDS || fd <= 2) return machineResult(RAW3(SYS_write, fd, p, n));
    if (fds[fd].kind == FD_FILE) return writeFile(fd, p, n);
    machineEnter();
    bool blocks = fdBlocks(fd);
    if (blocks) {
        waitUntilReady(fd, POLLOUT);
        if (n > PIPE_BUF) n = PIPE_BUF; /* more could block */
    }
    ssize_t done = RAW3(SYS_write, fd, p, n);
    m->activity++;
    traceCall("write to a pipe or socket", done);
    return machineResult(done);
}

static ssize_t machineSent(ssize_t done) {
    m->activity++;
    traceCall("send", done);
    return machineResult(done);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags) {
    if (!machineEnter()) return machineResult(RAW3(SYS_sendmsg, fd, msg, flags));
    if (fdBlocks(fd)) waitUntilReady(fd, POLLOUT);
    return machineSent(RAW3(SYS_sendmsg, fd, msg, flags | MSG_DONTWAIT));
}

EXPORT ssize_t sendto(int fd, const void *p, size_t n, int flags, const struct sockaddr *to, socklen_t len) {
    if (!machineEnter())
        return machineResult(machineCall(SYS_sendto, fd, (long)p, (long)n, flags, (long)to, len));
    if (fdBlocks(fd)) waitUntilReady(fd, POLLOUT);
    return machineSent(machineCall(SYS_sendto, fd, (long)p, (long)n, flags | MSG_DONTWAIT, (long)to, len));
}

EXPORT ssize_t sendfile(int out, int in, off_t *at, size_t n) {
    if (!machineEnter()) return machineResult(RAW4(SYS_sendfile, out, in, at, n));
    if (fdBlocks(out)) waitUntilReady(out, POLLOUT);
    return machineSent(RAW4(SYS_sendfile, out, in, at, n));
}

EXPORT int shutdown(int fd, int how) {
    if (m) m->activity++;
    return (int)machineResult(RAW2(SYS_shutdown, fd, how));
}

/* A port is a Unix socket beside the folder of the data: listen-PORT. The driver connects to it. */
EXPORT int bind(int fd, const struct sockaddr *to, socklen_t len) {
    if (!machineEnter() || to->sa_family != AF_INET) return (int)machineResult(RAW3(SYS_bind, fd, to, len));
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%.*s/listen-%d", (int)(strrchr(folder, '/') - folder), folder,
             ntohs(((const struct sockaddr_in *)to)->sin_port));
    RAW1(SYS_unlink, a.sun_path);
    int s = (int)RAW3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    long ret = RAW3(SYS_bind, s, &a, sizeof a);
    if (ret == 0) ret = RAW3(SYS_dup3, s, fd, O_CLOEXEC);
    RAW1(SYS_close, s);
    traceCall("bind", ret < 0 ? ret : 0);
    return ret < 0 ? (int)machineResult(ret) : 0;
}

/* A connection to another host goes to the driver, over another one: net-HOST-PORT. */
EXPORT int connect(int fd, const struct sockaddr *to, socklen_t len) {
    if (!machineEnter() || to->sa_family != AF_INET)
        return (int)machineResult(RAW3(SYS_connect, fd, to, len));
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%.*s/net-%llu-%d", (int)(strrchr(folder, '/') - folder), folder,
             (unsigned long long)m->slots[me].host, ntohs(((const struct sockaddr_in *)to)->sin_port));
    int s = (int)RAW3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    long ret = RAW3(SYS_connect, s, &a, sizeof a);
    if (ret == 0) ret = RAW3(SYS_dup3, s, fd, O_CLOEXEC);
    RAW1(SYS_close, s);
    m->activity++;
    traceCall("connect", ret);
    if (ret < 0) errno = ECONNREFUSED;
    return ret < 0 ? -1 : 0;
}

EXPORT ssize_t send(int fd, const void *p, size_t n, int flags) {
    return sendto(fd, p, n, flags, NULL, 0);
}

/* The server sends and receives with it. */
EXPORT long syscall(long n, ...) {
    va_list list;
    long a[6];
    va_start(list, n);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (n == SYS_sendto)
        return sendto((int)a[0], (void *)a[1], (size_t)a[2], (int)a[3], (void *)a[4], (socklen_t)a[5]);
    bool receives = n == SYS_recvfrom && machineEnter();
    long ret = machineCall(n, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (receives) traceCall("recv", ret);
    if (receives && ret > 0 && m->hosts > 1) m->activity++;
    return machineResult(ret);
}

static int syncFile(int fd, long call) {
    if (!m || me < 0 || fd < 0 || fd >= FDS || fds[fd].kind == FD_OTHER)
        return (int)machineResult(RAW1(call, fd));
    machineEnter();
    const char *path = fds[fd].kind == FD_FOLDER ? fds[fd].path : "";
    uint64_t inode = fds[fd].inode, began = m->now_us;
    journalAdd(J_SYNC_BEGIN, inode, 0, path, strlen(path));
    uint64_t us = m->sync_least_us + randomUpTo(m->sync_most_us - m->sync_least_us + 1);
    if (randomChance(m->slow_sync_permille, 1000)) us += randomUpTo(m->slow_sync_us);
    turnBlock(SLOT_SLEEPING, 0, m->now_us + us);
    if (m->now_us - began > m->longest_sync_us) m->longest_sync_us = m->now_us - began;
    if (faultHappens(m->sync_faults, "fsync fails")) {
        journalAdd(J_SYNC_FAIL, inode, 0, path, strlen(path));
        errno = EIO;
        return -1;
    }
    journalAdd(J_SYNC_END, inode, 0, path, strlen(path));
    traceCall("fsync", (int64_t)us);
    return 0;
}

EXPORT int fsync(int fd) {
    return syncFile(fd, SYS_fsync);
}

EXPORT int fdatasync(int fd) {
    return syncFile(fd, SYS_fdatasync);
}

EXPORT int ftruncate(int fd, off_t size) {
    if (!m || me < 0 || fd < 0 || fd >= FDS || fds[fd].kind != FD_FILE)
        return (int)machineResult(RAW2(SYS_ftruncate, fd, size));
    machineEnter();
    if (faultHappens(m->write_faults, "ftruncate fails")) {
        errno = EIO;
        return -1;
    }
    journalAdd(J_CUT, fds[fd].inode, (uint64_t)size, "", 0);
    traceCall("ftruncate", size);
    return (int)machineResult(RAW2(SYS_ftruncate, fd, size));
}

EXPORT int truncate(const char *path, off_t size) {
    struct stat st;
    if (!m || me < 0 || !pathInside(path) || RAW2(SYS_stat, path, &st) != 0)
        return (int)machineResult(RAW2(SYS_truncate, path, size));
    machineEnter();
    journalAdd(J_CUT, (uint64_t)st.st_ino, (uint64_t)size, "", 0);
    traceCall("truncate", size);
    return (int)machineResult(RAW2(SYS_truncate, path, size));
}

EXPORT int rename(const char *from, const char *to) {
    const char *a = pathInside(from), *b = pathInside(to);
    if (!m || me < 0 || !a || !b) return (int)machineResult(RAW2(SYS_rename, from, to));
    machineEnter();
    if (faultHappens(m->name_faults, "rename fails")) {
        errno = EIO;
        return -1;
    }
    long ret = RAW2(SYS_rename, from, to);
    char both[512];
    int n = snprintf(both, sizeof both, "%s%c%s", a, 0, b);
    if (ret == 0) journalAdd(J_RENAME, 0, 0, both, (size_t)n);
    traceCall("rename", ret);
    return (int)machineResult(ret);
}

EXPORT int unlink(const char *path) {
    const char *inside = pathInside(path);
    if (!m || me < 0 || !inside) return (int)machineResult(RAW1(SYS_unlink, path));
    machineEnter();
    long ret = RAW1(SYS_unlink, path);
    if (ret == 0) journalAdd(J_UNLINK, 0, 0, inside, strlen(inside));
    traceCall("unlink", ret);
    return (int)machineResult(ret);
}

EXPORT int mkdir(const char *path, mode_t mode) {
    const char *inside = pathInside(path);
    if (!m || me < 0 || !inside) return (int)machineResult(RAW2(SYS_mkdir, path, mode));
    machineEnter();
    long ret = RAW2(SYS_mkdir, path, mode);
    if (ret == 0) journalAdd(J_MKDIR, 0, 0, inside, strlen(inside));
    traceCall("mkdir", ret);
    return (int)machineResult(ret);
}

EXPORT int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags) {
    const char *inside = pathInside(to), *proc = "/proc/self/fd/";
    int fd = strncmp(from, proc, strlen(proc)) ? -1 : atoi(from + strlen(proc));
    long ret = machineCall(SYS_linkat, from_dir, (long)from, to_dir, (long)to, flags, 0);
    if (!m || me < 0 || !inside || fd < 0 || fd >= FDS || ret) return (int)machineResult(ret);
    machineEnter();
    journalAdd(J_LINK, fds[fd].inode, 0, inside, strlen(inside));
    traceCall("linkat", ret);
    return 0;
}

/* ---- Start ---- */

/* SIMULATION: the descriptors of the shared memory and of the control socket, the slot, and the folder of the
 * data. The process waits for its turn like any thread. */
static __attribute__((constructor)) void machineStart(void) {
    *(void **)&realCreate = dlsym(RTLD_NEXT, "pthread_create");
    *(void **)&realJoin = dlsym(RTLD_NEXT, "pthread_join");
    *(void **)&realFork = dlsym(RTLD_NEXT, "fork");
    *(void **)&realFopen = dlsym(RTLD_NEXT, "fopen");
    const char *text = getenv("SIMULATION"), *trace_path = getenv("SIMULATION_TRACE");
    int memory, control;
    if (!text || sscanf(text, "%d:%d:%d:%4095s", &memory, &control, &main_slot, folder) != 4) return;
    folder_len = strlen(folder);
    struct stat st;
    RAW2(SYS_fstat, memory, &st);
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (p == MAP_FAILED) machineDie("no shared memory\n");
    RAW3(SYS_dup3, control, CONTROL_FD, O_CLOEXEC);
    RAW1(SYS_close, control);
    RAW1(SYS_close, memory);
    if (trace_path) {
        int fd = (int)RAW4(SYS_openat, AT_FDCWD, trace_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        trace_fd = (int)RAW3(SYS_dup3, fd, CONTROL_FD + 1, O_CLOEXEC);
        RAW1(SYS_close, fd);
    }
    unsetenv("LD_PRELOAD");
    m = p;
    me = main_slot;
    waitForTurn(me);
}
