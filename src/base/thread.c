/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.c - see thread.h. */
#define _GNU_SOURCE /* syscall, SCHED_BATCH */
#include "base/thread.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A fault whose signal is blocked ends the process at once, without a crash report. */
static const int taken[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGUSR2};

int threadCreate(pthread_t *thread, void *(*fn)(void *), void *arg) {
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) sigdelset(&blocked, taken[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int error = pthread_create(thread, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* The kernel's struct sched_attr, for which glibc has had a declaration only since 2.41. */
struct threadSchedule {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

/* A system that forbids the calls goes on as before. */
void threadSetSlice(int64_t us) {
    struct threadSchedule s = {.size = sizeof s};
    if (syscall(SYS_sched_getattr, 0, &s, sizeof s, 0) != 0) return;
    if (s.policy != SCHED_OTHER && s.policy != SCHED_BATCH) return;
    s.runtime_ns = (uint64_t)us * 1000;
    syscall(SYS_sched_setattr, 0, &s, 0);
}
