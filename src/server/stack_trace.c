/* SPDX-License-Identifier: BSD-3-Clause */
/* stack_trace.c - see stack_trace.h.
 *
 * Only a thread itself can walk its stack. Therefore the other threads are interrupted by a signal, one
 * after another, and write their stacks while we wait. A thread that does not answer in time (it may be deep
 * in the kernel) is left out. Nothing here allocates memory or takes locks, since an interrupted or crashed
 * thread may hold them. */
#define _GNU_SOURCE

#include "server/stack_trace.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/num.h"
#include "server/symbols.h"

#define STACK_DEPTH    100
#define THREADS_MAX    512
#define NAME_SHOWN_MAX 256
#define ANSWER_TIME_S  1
#define STACK_SIGNAL   SIGUSR2

static sem_t answered;
static _Atomic int
    requested; /* the thread that shall answer; it may read what was written before this was set */

static int stackTraceThreadId(void) {
    return (int)syscall(SYS_gettid);
}

static char *stackTraceAppend(char *p, const char *text) {
    return stpcpy(p, text);
}

static char *stackTraceAppendHex(char *p, uint64_t v) {
    int shift = 60;
    while (shift && !(v >> shift)) shift -= 4;
    p = stackTraceAppend(p, "0x");
    for (; shift >= 0; shift -= 4) *p++ = "0123456789abcdef"[v >> shift & 15];
    *p = 0;
    return p;
}

/* Writes "<file>(<function>+<offset>)[<address>]" with names cut to NAME_SHOWN_MAX. */
static void stackTraceWriteFrame(void *frame) {
    char line[2 * NAME_SHOWN_MAX + 80], *p = line;
    size_t offset = 0;
    const char *file = "valkey-server", *name = symbolsFind(frame, &offset);
    Dl_info info;
    if (!name && dladdr(frame, &info) && info.dli_fname) { /* in a library */
        file = info.dli_fname;
        name = info.dli_sname ? info.dli_sname : "";
        offset = (size_t)((char *)frame - (char *)(info.dli_sname ? info.dli_saddr : info.dli_fbase));
    }
    if (name) {
        p = stackTraceAppend(stpncpy(p, file, NAME_SHOWN_MAX), "(");
        p = stackTraceAppend(stpncpy(p, name, NAME_SHOWN_MAX), "+");
        p = stackTraceAppend(stackTraceAppendHex(p, offset), ")");
    }
    stackTraceAppend(stackTraceAppendHex(stackTraceAppend(p, "["), (uintptr_t)frame), "]\n");
    serverLogFromSignal(line);
}

static void stackTraceWriteFrames(void) {
    void *frames[STACK_DEPTH];
    int n = backtrace(frames, STACK_DEPTH);
    for (int i = 0; i < n; i++) stackTraceWriteFrame(frames[i]);
}

/* Writes "\n<id> <name>[ *]\n", with a star for the thread that writes the report. */
static void stackTraceWriteHead(int tid, bool asking) {
    char path[64], name[32] = "", line[128], *p = stackTraceAppend(path, "/proc/self/task/");
    p += ll2string(p, tid);
    stackTraceAppend(p, "/comm");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, name, sizeof name - 1);
    if (fd >= 0) close(fd);
    name[n > 0 ? n - 1 : 0] = 0; /* replaces the newline */
    p = stackTraceAppend(line, "\n");
    p += ll2string(p, tid);
    stackTraceAppend(stackTraceAppend(stackTraceAppend(stackTraceAppend(p, " "), name), asking ? " *" : ""),
                     "\n");
    serverLogFromSignal(line);
}

static void stackTraceOnStackSignal(int sig) {
    int self = stackTraceThreadId(), interrupted = errno;
    (void)sig;
    if (atomic_load_explicit(&requested, memory_order_acquire) != self) return;
    stackTraceWriteHead(self, false);
    stackTraceWriteFrames();
    sem_post(&answered);
    errno = interrupted;
}

/* Tells whether the thread accepts the signal. Threads of libraries may block it. */
static bool stackTraceAcceptsSignal(int tid) {
    static char status[4096];
    char path[64], *p = stackTraceAppend(path, "/proc/self/task/");
    p += ll2string(p, tid);
    stackTraceAppend(p, "/status");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, status, sizeof status - 1);
    if (fd >= 0) close(fd);
    status[n > 0 ? n : 0] = 0;
    const char *blocked = strstr(status, "SigBlk:\t");
    return blocked && !(strtoull(blocked + strlen("SigBlk:\t"), NULL, 16) >> (STACK_SIGNAL - 1) & 1);
}

static bool stackTraceRequest(int tid) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ANSWER_TIME_S;
    atomic_store_explicit(&requested, tid, memory_order_release);
    if (syscall(SYS_tgkill, getpid(), tid, STACK_SIGNAL) != 0) return false;
    return sem_timedwait(&answered, &until) == 0;
}

/* Lists the ids of all threads by system calls, because opendir() allocates memory. */
static int stackTraceListThreads(int *tids, int max) {
    struct directoryEntry {
        uint64_t inode, offset;
        uint16_t len;
        uint8_t type;
        char name[];
    };
    _Alignas(struct directoryEntry) char buf[4096];
    int count = 0, fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return 0;
    for (long n; (n = syscall(SYS_getdents64, fd, buf, sizeof buf)) > 0;) {
        for (long at = 0; at < n;) {
            const struct directoryEntry *e = (const struct directoryEntry *)(buf + at);
            int tid = atoi(e->name); /* 0: "." and ".." */
            if (tid > 0 && count < max) tids[count++] = tid;
            at += e->len;
        }
    }
    close(fd);
    return count;
}

void stackTraceWrite(const void *pc) {
    static int tids[THREADS_MAX];
    int count = stackTraceListThreads(tids, THREADS_MAX), expected = 1, written = 1,
        self = stackTraceThreadId();
    serverLogFromSignal("\n------ STACK TRACE ------\n");
    if (pc) {
        serverLogFromSignal("EIP:\n");
        stackTraceWriteFrame((void *)pc);
    }
    stackTraceWriteHead(self, true);
    stackTraceWriteFrames();
    for (int i = 0; i < count; i++) {
        if (tids[i] == self || !stackTraceAcceptsSignal(tids[i])) continue;
        expected++;
        written += stackTraceRequest(tids[i]);
    }
    char line[64], *p = stackTraceAppend(line, "\n");
    p += ll2string(p, written);
    p = stackTraceAppend(p, "/");
    p += ll2string(p, expected);
    stackTraceAppend(p, " expected stacktraces.\n");
    serverLogFromSignal(line);
    serverLogFromSignal("\n------ STACK TRACE DONE ------\n");
}

void stackTraceInit(void) {
    void *warm[1];
    backtrace(warm, 1); /* loads its library now instead of in a handler */
    symbolsOpen();
    sem_init(&answered, 0, 0);
    struct sigaction act = {.sa_handler = stackTraceOnStackSignal, .sa_flags = SA_RESTART};
    sigemptyset(&act.sa_mask);
    sigaction(STACK_SIGNAL, &act, NULL);
}
