/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.c - see thread.h. */
#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

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
